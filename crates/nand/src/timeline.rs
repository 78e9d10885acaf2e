//! Use of dies and channels over time. It knows durations, but neither addresses nor contents.
//!
//! What only some devices do, such as suspends and repeated reads, is `#[cold]`: it lies apart, because what every
//! request passes through hardly fits a processor's cache of instructions.

use std::collections::VecDeque;
use std::hash::{Hash, Hasher};

use units::{Nanos, Ppa, SimTime};

use crate::geometry::Geometry;
use crate::lanes::{Lanes, Sharing};
use crate::op::{Kind, NandEvent, Op, Priority, Slot};
use crate::suspend::{History, Suspend, Suspended};
use crate::timing::Timing;
use crate::waits::{Wait, Waits};

/// An operation with everything that decides its timing.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Task {
    pub op: Op,
    /// Duration of the cell phase without a page register hit.
    pub cell: Nanos,
    /// Time on the channel.
    pub transfer: Nanos,
    /// First unit of the row that this operation leaves in the page register. `None` for programs and erases, which
    /// overwrite the register, and for all operations of an array without page register reads.
    pub sense: Option<Ppa>,
    /// Bit `p` is set if a read occupies plane `p` of its die; where reads do not share dies, none is.
    pub planes: u8,
    /// How often a read is repeated, unless the page register has its row.
    pub retries: u8,
}

/// Operations that a power cut has ended.
#[derive(Debug, Default)]
pub(crate) struct Lost {
    /// Operations in their cell phase, interrupted ones included, by die.
    pub in_cells: Vec<Op>,
    /// Operations that were queued, or that transferred data or waited for the channel. By die, and then in the order
    /// in which they would have run.
    pub not_begun: Vec<Op>,
}

/// State of a die.
#[derive(Clone, Copy, Hash, Debug)]
pub(crate) enum Phase {
    Idle,
    /// The cells work until this time.
    Cell(SimTime),
    /// The operation waits for the channel or transfers data.
    Channel,
    /// The cells are being stopped until this time.
    Stopping(SimTime),
    /// Reads share the die (`lanes.rs`).
    Reading,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct InFlight {
    pub task: Task,
    /// Set when it starts.
    pub started: SimTime,
    /// Set when it starts.
    pub register_hit: bool,
    /// How often a read will be repeated; set when it starts.
    pub left: u8,
}

#[derive(Clone, Debug)]
pub(crate) struct Die {
    pub phase: Phase,
    /// The operation that runs; meaningless while the die is idle, or while reads share it.
    pub running: Slot,
    /// Bit `p` is set if the queue of priority `p` is not empty.
    pub waiting: u8,
    channel: u16,
    /// First unit of the row in the page register.
    pub sensed: Option<Ppa>,
    /// What has become of the operation that runs, if some may be interrupted.
    pub history: History,
    /// An operation that waits until reads have gone first.
    pub suspended: Option<Suspended>,
    /// A program whose data comes while the cells program others (cached program), and whether all of it is there.
    pub loading: Option<(Slot, bool)>,
    /// Ends of cell phases that have been announced and will not come: they were interrupted.
    stale: u32,
    pub queues: [VecDeque<Slot>; Priority::COUNT],
}

#[derive(Clone, Debug)]
struct Channel {
    /// The die that transfers, its operation, and the end of the transfer.
    transfer: Option<(u16, Slot, SimTime)>,
    /// Dies that wait for the channel with their operations, in order of arrival.
    waiting: VecDeque<(u16, Slot)>,
}

/// The dies and channels of the array.
#[derive(Clone, Debug)]
pub(crate) struct Timeline {
    pub dies: Vec<Die>,
    channels: Vec<Channel>,
    /// Submitted operations that have not finished. One that has finished stays readable until the next is submitted.
    pub slab: Vec<InFlight>,
    /// Slots of those that have finished.
    pub free: Vec<Slot>,
    /// How long the operation that has ended last stood still in between, interrupted by others.
    pub paused: Nanos,
    /// By die, if reads share dies; else nothing.
    pub lanes: Vec<Lanes>,
    pub sharing: Sharing,
    suspend: Suspend,
    pub cache_program: bool,
    /// One of these is in use: whoever has none pays nothing for them.
    is_refined: bool,
    /// For reports; `None` until somebody wants them.
    pub waits: Option<Box<Waits>>,
}

/// Operations that fit a queue before it grows for the first time.
const QUEUE_CAPACITY: usize = 64;

impl Timeline {
    pub fn new(geometry: &Geometry, timing: &Timing) -> Timeline {
        let (dies, channels) = (geometry.dies(), geometry.channels);
        let of_die = geometry.planes / geometry.word_line_pages;
        assert!(dies <= u32::from(u16::MAX), "{dies} dies do not fit the numbers of events");
        let die = |die: u32| Die {
            phase: Phase::Idle,
            running: 0,
            waiting: 0,
            channel: (die % channels) as u16,
            sensed: None,
            history: History::default(),
            suspended: None,
            loading: None,
            stale: 0,
            queues: std::array::from_fn(|_| VecDeque::with_capacity(QUEUE_CAPACITY)),
        };
        let waiting = || VecDeque::with_capacity((dies / channels) as usize);
        Timeline {
            dies: (0..dies).map(die).collect(),
            channels: (0..channels).map(|_| Channel { transfer: None, waiting: waiting() }).collect(),
            slab: Vec::with_capacity(QUEUE_CAPACITY),
            free: Vec::with_capacity(QUEUE_CAPACITY),
            paused: Nanos::ZERO,
            lanes: (0..dies).filter(|_| timing.sharing.is_on()).map(|_| Lanes::new(of_die, timing.sharing)).collect(),
            sharing: timing.sharing,
            suspend: timing.suspend,
            cache_program: timing.cache_program,
            is_refined: timing.suspend.is_on() || timing.cache_program || timing.sharing.is_on(),
            waits: None,
        }
    }

    /// Notes from now on what operations wait for, or no more.
    pub fn watch(&mut self, wanted: bool) {
        if wanted != self.waits.is_some() {
            self.waits = wanted.then(|| Box::new(Waits::new(self.dies.len())));
        }
    }

    /// The wait of the operation that has ended last; `None` if it found its die idle, or if waits are not noted.
    #[inline]
    pub fn last_wait(&self) -> Option<&Wait> {
        self.waits.as_ref()?.last()
    }

    /// Number of submitted operations that have not finished.
    #[inline]
    pub fn inflight(&self) -> u32 {
        (self.slab.len() - self.free.len()) as u32
    }

    /// True if a die neither runs nor queues an operation.
    #[inline]
    pub fn die_idle(&self, die: u32) -> bool {
        matches!(self.dies[die as usize].phase, Phase::Idle)
    }

    /// Queues an operation, or starts it if its die is free. Always inlined, so that the task is made where it stays.
    #[inline(always)]
    pub fn submit<E: From<NandEvent>>(&mut self, now: SimTime, die: u32, task: Task, wakes: &mut Vec<(SimTime, E)>) {
        let entry = |task| InFlight { task, started: now, register_hit: false, left: 0 };
        let slot = self.free.pop().unwrap_or(self.slab.len() as Slot);
        match self.slab.get_mut(slot as usize) {
            Some(place) => *place = entry(task),
            None => self.slab.push(entry(task)),
        }
        if !self.lanes.is_empty() {
            self.submit_shared(now, die as u16, slot, wakes);
        } else if let Phase::Idle = self.dies[die as usize].phase {
            self.start(now, die as u16, slot, wakes);
        } else {
            self.queue(die as u16, slot);
            if self.waits.is_some() {
                self.note_queued(now, die, slot);
            }
            if self.is_refined {
                self.press(now, die as u16, slot, wakes);
            }
        }
    }

    #[inline]
    pub fn queue(&mut self, die: u16, slot: Slot) {
        let queue = self.slab[slot as usize].task.op.priority.index();
        let state = &mut self.dies[die as usize];
        state.waiting |= 1 << queue;
        state.queues[queue].push_back(slot);
    }

    /// An operation has been queued behind one that has the whole die.
    #[cold]
    #[inline(never)]
    pub fn press<E: From<NandEvent>>(&mut self, now: SimTime, die: u16, slot: Slot, wakes: &mut Vec<(SimTime, E)>) {
        if goes_first(&self.slab[slot as usize].task) {
            self.stop_cells(now, die, wakes);
        }
        self.load_ahead(now, die, wakes);
    }

    /// Ends a phase and begins those that follow from it. Gives the operation if this was its last phase.
    #[inline]
    pub fn wake<E: From<NandEvent>>(
        &mut self,
        now: SimTime,
        event: NandEvent,
        wakes: &mut Vec<(SimTime, E)>,
    ) -> Option<Slot> {
        let die = match event {
            NandEvent::Die(die) => {
                let has_ended = matches!(self.dies[die as usize].phase, Phase::Cell(end) if end == now);
                if !has_ended {
                    return self.wake_refined(now, die, wakes);
                }
                let task = &self.running(die).task;
                if task.op.work.kind() == Kind::Read && task.transfer > Nanos::ZERO {
                    self.transfer_running(now, die, wakes);
                    return None;
                }
                die
            }
            NandEvent::Channel(channel) => {
                let state = &mut self.channels[channel as usize];
                let (die, slot) = match state.transfer.take() {
                    Some((die, slot, end)) if end == now => (die, slot),
                    other => panic!("wake of channel {channel} at {now} without the end of a transfer: {other:?}"),
                };
                // A waiting die gets the channel before the die that it has just served can ask again.
                if let Some((next, its)) = state.waiting.pop_front() {
                    self.begin_transfer(now, next, its, wakes);
                }
                if self.is_refined
                    && let Some((loading, is_there)) = &mut self.dies[die as usize].loading
                    && *loading == slot
                {
                    *is_there = true;
                    return None;
                }
                if let Phase::Reading = self.dies[die as usize].phase {
                    return self.transferred_lane(now, die, slot, wakes);
                }
                if self.running(die).task.op.work.kind() == Kind::Program {
                    self.begin_cell(now, die, wakes);
                    return None;
                }
                die
            }
        };
        self.finish_or_repeat(now, die, wakes)
    }

    /// A wake of a die that is not the end of a cell phase that it has to itself: its reads share it, its cells stand
    /// still now, or they were interrupted before the end that was announced.
    #[cold]
    #[inline(never)]
    fn wake_refined<E: From<NandEvent>>(
        &mut self,
        now: SimTime,
        die: u16,
        wakes: &mut Vec<(SimTime, E)>,
    ) -> Option<Slot> {
        if let Phase::Reading = self.dies[die as usize].phase
            && let Ok(finished) = self.sensed_lane(now, die, wakes)
        {
            return finished;
        }
        match self.dies[die as usize].phase {
            Phase::Stopping(end) if end == now => self.have_stopped(now, die, wakes),
            _ if self.dies[die as usize].stale > 0 => self.dies[die as usize].stale -= 1,
            other => panic!("wake of die {die} at {now} without the end of a cell phase: {other:?}"),
        }
        None
    }

    /// The last phase of an operation has ended, unless it is a read that has to be repeated.
    #[inline(always)]
    fn finish_or_repeat<E: From<NandEvent>>(
        &mut self,
        now: SimTime,
        die: u16,
        wakes: &mut Vec<(SimTime, E)>,
    ) -> Option<Slot> {
        let slot = self.dies[die as usize].running;
        if self.slab[slot as usize].left == 0 {
            return Some(self.finish(now, die, wakes));
        }
        self.repeat(now, die, wakes);
        None
    }

    /// Begins a read of the running operation's pages once more.
    #[cold]
    #[inline(never)]
    fn repeat<E: From<NandEvent>>(&mut self, now: SimTime, die: u16, wakes: &mut Vec<(SimTime, E)>) {
        self.slab[self.dies[die as usize].running as usize].left -= 1;
        self.begin_cell(now, die, wakes);
    }

    /// The operations that have not finished, in no particular order.
    pub fn under_way(&self) -> impl Iterator<Item = &Op> {
        let running = self.dies.iter().filter_map(Die::has).chain(self.lanes.iter().flat_map(Lanes::slots));
        let queued = self.dies.iter().flat_map(|die| die.queues.iter().flatten());
        let suspended = self.dies.iter().filter_map(Die::interrupted);
        let loading = self.dies.iter().filter_map(|die| Some(&die.loading.as_ref()?.0));
        running.chain(queued).chain(suspended).chain(loading).map(|&slot| &self.slab[slot as usize].task.op)
    }

    /// The transfer on a channel: its operation, its beginning and its end.
    pub fn transfer(&self, channel: u16) -> Option<(&Op, SimTime, SimTime)> {
        let (_, slot, end) = self.channels[usize::from(channel)].transfer?;
        let task = &self.slab[slot as usize].task;
        Some((&task.op, SimTime(end.0 - task.transfer.0), end))
    }

    /// The operations that have started and not finished: die, operation, and when it started.
    pub fn started(&self) -> impl Iterator<Item = (u16, &Op, SimTime)> {
        let slots = (0u16..).zip(&self.dies).flat_map(|(number, die)| {
            let reads = self.lanes.get(usize::from(number)).into_iter().flat_map(Lanes::slots);
            die.interrupted().into_iter().chain(die.has()).chain(reads).map(move |&slot| (number, slot))
        });
        slots.map(|(number, slot)| {
            let InFlight { task, started, .. } = &self.slab[slot as usize];
            (number, &task.op, *started)
        })
    }

    /// Drops all operations and empties the page registers.
    pub fn power_cut(&mut self, now: SimTime) -> Lost {
        let mut lost = Lost::default();
        for (number, die) in self.dies.iter_mut().enumerate() {
            let running = || self.slab[die.running as usize].task.op;
            lost.in_cells.extend(die.interrupted().map(|&slot| self.slab[slot as usize].task.op));
            match die.phase {
                Phase::Idle => {}
                Phase::Cell(end) | Phase::Stopping(end) => {
                    assert!(end >= now, "power cut at {now}, but die {number} was not woken at {end}");
                    lost.in_cells.push(running());
                }
                Phase::Channel => lost.not_begun.push(running()),
                Phase::Reading => {
                    let reads = self.lanes[number].power_cut(now, number);
                    lost.not_begun.extend(reads.map(|slot| self.slab[slot as usize].task.op));
                }
            }
            lost.not_begun.extend(die.loading.take().map(|(slot, _)| self.slab[slot as usize].task.op));
            let queued = die.queues.iter_mut().flat_map(|queue| queue.drain(..));
            lost.not_begun.extend(queued.map(|slot| self.slab[slot as usize].task.op));
            (die.phase, die.waiting, die.sensed) = (Phase::Idle, 0, None);
            (die.suspended, die.stale) = (None, 0);
        }
        for (number, channel) in self.channels.iter_mut().enumerate() {
            if let Some((_, _, end)) = channel.transfer.take() {
                assert!(end >= now, "power cut at {now}, but channel {number} was not woken at {end}");
            }
            channel.waiting.clear();
        }
        self.slab.clear();
        self.free.clear();
        lost
    }

    #[inline]
    pub fn start<E: From<NandEvent>>(&mut self, now: SimTime, die: u16, slot: Slot, wakes: &mut Vec<(SimTime, E)>) {
        if self.is_refined {
            self.begin_refined(now, die);
        }
        let state = &mut self.dies[die as usize];
        let entry = &mut self.slab[slot as usize];
        let sense = entry.task.sense;
        entry.register_hit = sense.is_some() && sense == state.sensed;
        entry.left = if entry.register_hit { 0 } else { entry.task.retries };
        entry.started = now;
        state.sensed = sense;
        state.running = slot;
        let channel_first = match entry.task.op.work.kind() {
            Kind::Read => entry.register_hit,
            Kind::Program => true,
            Kind::Erase => false,
        };
        if channel_first && entry.task.transfer > Nanos::ZERO {
            self.transfer_running(now, die, wakes);
        } else {
            self.begin_cell(now, die, wakes);
        }
    }

    #[inline]
    pub fn begin_cell<E: From<NandEvent>>(&mut self, now: SimTime, die: u16, wakes: &mut Vec<(SimTime, E)>) {
        let running = self.running(die);
        let cell = if running.register_hit { Nanos::ZERO } else { running.task.cell };
        let end = now + cell;
        self.dies[die as usize].phase = Phase::Cell(end);
        wakes.push((end, NandEvent::Die(die).into()));
        if self.is_refined {
            self.load_ahead(now, die, wakes);
        }
    }

    /// The data of the operation that runs has to cross the channel.
    fn transfer_running<E: From<NandEvent>>(&mut self, now: SimTime, die: u16, wakes: &mut Vec<(SimTime, E)>) {
        let state = &mut self.dies[die as usize];
        state.phase = Phase::Channel;
        let slot = state.running;
        self.request_channel(now, die, slot, wakes);
    }

    pub fn request_channel<E: From<NandEvent>>(
        &mut self,
        now: SimTime,
        die: u16,
        slot: Slot,
        wakes: &mut Vec<(SimTime, E)>,
    ) {
        let channel = &mut self.channels[self.dies[die as usize].channel as usize];
        if channel.transfer.is_some() {
            channel.waiting.push_back((die, slot));
        } else {
            self.begin_transfer(now, die, slot, wakes);
        }
    }

    fn begin_transfer<E: From<NandEvent>>(
        &mut self,
        now: SimTime,
        die: u16,
        slot: Slot,
        wakes: &mut Vec<(SimTime, E)>,
    ) {
        let end = now + self.slab[slot as usize].task.transfer;
        let channel = self.dies[die as usize].channel;
        self.channels[channel as usize].transfer = Some((die, slot, end));
        wakes.push((end, NandEvent::Channel(channel).into()));
    }

    /// Removes the running operation from its die and starts the next one.
    #[inline]
    fn finish<E: From<NandEvent>>(&mut self, now: SimTime, die: u16, wakes: &mut Vec<(SimTime, E)>) -> Slot {
        let state = &mut self.dies[die as usize];
        let slot = state.running;
        if self.is_refined {
            self.paused = state.history.paused;
        }
        if self.waits.is_some() {
            self.note_ended(now, die, slot);
        }
        self.free.push(slot);
        if self.is_refined && self.continues(now, die, wakes) {
            return slot;
        }
        match self.take_next(die) {
            Some(next) => self.start(now, die, next, wakes),
            None => self.dies[die as usize].phase = Phase::Idle,
        }
        slot
    }

    /// Takes the most urgent operation that waits for a die out of its queue.
    #[inline(always)]
    pub fn take_next(&mut self, die: u16) -> Option<Slot> {
        let waiting = self.dies[die as usize].waiting;
        (waiting != 0).then(|| self.unqueue(die, waiting.trailing_zeros() as usize, 0))
    }

    /// Takes an operation out of a queue, so that it can start.
    #[inline]
    pub fn unqueue(&mut self, die: u16, queue: usize, at: usize) -> Slot {
        let state = &mut self.dies[die as usize];
        let waiting = &mut state.queues[queue];
        let next = if at == 0 { waiting.pop_front() } else { waiting.remove(at) }.expect("an operation waits there");
        if waiting.is_empty() {
            state.waiting &= !(1 << queue);
        }
        if self.waits.is_some() {
            self.note_started(die, next);
        }
        next
    }

    // What follows for reports is out of the way of runs that nobody watches.

    #[cold]
    #[inline(never)]
    fn note_ended(&mut self, now: SimTime, die: u16, slot: Slot) {
        let Some(waits) = &mut self.waits else { return };
        let (state, InFlight { task, started, .. }) = (&self.dies[die as usize], &self.slab[slot as usize]);
        let others = state.waiting != 0 || state.loading.is_some();
        let since = if self.is_refined { state.history.since } else { *started };
        waits.ended(die, slot, others.then(|| (task.op.cause, now.since(since))));
    }

    #[cold]
    #[inline(never)]
    fn note_started(&mut self, die: u16, slot: Slot) {
        if let Some(waits) = &mut self.waits {
            waits.started(die, slot);
        }
    }

    #[cold]
    #[inline(never)]
    pub fn note_queued(&mut self, now: SimTime, die: u32, slot: Slot) {
        let running = match self.first_lane(die as u16) {
            Some(op) => (op.cause, Nanos::ZERO),
            None => {
                let running = self.running(die as u16);
                let since = if self.is_refined { self.dies[die as usize].history.since } else { running.started };
                (running.task.op.cause, now.since(since))
            }
        };
        if let Some(waits) = &mut self.waits {
            waits.queued(now, die, slot, running);
        }
    }

    /// Stops the cells of a die for a read that has been queued: if they program or erase, may be interrupted once
    /// more, and would not be done before they have stopped.
    #[inline(never)]
    fn stop_cells<E: From<NandEvent>>(&mut self, now: SimTime, die: u16, wakes: &mut Vec<(SimTime, E)>) {
        let state = &mut self.dies[die as usize];
        let (Phase::Cell(end), None) = (state.phase, &state.suspended) else { return };
        let kind = self.slab[state.running as usize].task.op.work.kind();
        let stopped = now + self.suspend.stop;
        if state.history.suspensions >= self.suspend.most(kind) || stopped >= end {
            return;
        }
        state.history.suspensions += 1;
        // What the cells do until they stand still is lost.
        let left = end.since(now);
        state.suspended =
            Some(Suspended { slot: state.running, left, since: stopped, waited: false, history: state.history });
        state.stale += 1;
        state.phase = Phase::Stopping(stopped);
        wakes.push((stopped, NandEvent::Die(die).into()));
    }

    /// The cells of a die stand still: reads go first.
    #[inline(never)]
    fn have_stopped<E: From<NandEvent>>(&mut self, now: SimTime, die: u16, wakes: &mut Vec<(SimTime, E)>) {
        let state = &mut self.dies[die as usize];
        let cause = self.slab[state.running as usize].task.op.cause;
        let suspended = state.suspended.as_mut().expect("its cells have been stopped");
        suspended.history = state.history;
        if let Some(waits) = &mut self.waits {
            suspended.waited = waits.paused(die, cause, now.since(state.history.since));
        }
        self.go_on(now, die, wakes);
    }

    /// True if a die goes on with what it was interrupted in, or with a program whose data has been coming.
    #[cold]
    #[inline(never)]
    fn continues<E: From<NandEvent>>(&mut self, now: SimTime, die: u16, wakes: &mut Vec<(SimTime, E)>) -> bool {
        let state = &mut self.dies[die as usize];
        if state.suspended.is_some() {
            self.go_on(now, die, wakes);
            return true;
        }
        let loading = state.loading.take();
        loading.into_iter().for_each(|loading| self.follow(now, die, loading, wakes));
        if loading.is_none() && !self.lanes.is_empty() {
            self.proceed(now, die, wakes);
            return true;
        }
        loading.is_some()
    }

    /// The next read that goes first on a die whose operation is interrupted, or else the operation itself.
    fn go_on<E: From<NandEvent>>(&mut self, now: SimTime, die: u16, wakes: &mut Vec<(SimTime, E)>) {
        if !self.lanes.is_empty() {
            self.proceed(now, die, wakes);
            return;
        }
        let (state, slab) = (&self.dies[die as usize], &self.slab);
        let first = |queue: &VecDeque<Slot>| queue.iter().position(|&slot| goes_first(&slab[slot as usize].task));
        let found = FIRST.into_iter().find_map(|class| Some((class.index(), first(&state.queues[class.index()])?)));
        match found {
            Some((queue, place)) => {
                let next = self.unqueue(die, queue, place);
                self.start(now, die, next, wakes);
            }
            None => self.resume(now, die, wakes),
        }
    }

    /// The operation of a die that was interrupted goes on.
    pub fn resume<E: From<NandEvent>>(&mut self, now: SimTime, die: u16, wakes: &mut Vec<(SimTime, E)>) {
        self.lanes.get_mut(usize::from(die)).into_iter().for_each(Lanes::overwrite);
        let state = &mut self.dies[die as usize];
        let Suspended { slot, left, since, waited, history } = state.suspended.take().expect("one is interrupted");
        let end = now + self.suspend.resume + left;
        (state.running, state.sensed, state.phase) = (slot, None, Phase::Cell(end));
        state.history = History { since: now, paused: history.paused + now.since(since), ..history };
        if let Some(waits) = &mut self.waits {
            waits.goes_on(die, waited);
        }
        wakes.push((end, NandEvent::Die(die).into()));
        self.load_ahead(now, die, wakes);
    }

    #[inline]
    pub fn running(&self, die: u16) -> &InFlight {
        &self.slab[self.dies[die as usize].running as usize]
    }
}

/// One line of a processor's cache.
const _: () = assert!(size_of::<InFlight>() <= 64);

/// Classes of reads that interrupt programs and erases.
const FIRST: [Priority; 2] = [Priority::HostRead, Priority::MapRead];

/// True for a read that interrupts a program or erase of its die.
#[inline]
pub(crate) fn goes_first(task: &Task) -> bool {
    task.op.work.kind() == Kind::Read && FIRST.contains(&task.op.priority)
}

impl Die {
    /// The operation that waits while others run.
    fn interrupted(&self) -> Option<&Slot> {
        // Until the cells stand still it is the one that runs.
        let stands = |slot: &&Slot| matches!(self.phase, Phase::Reading) || **slot != self.running;
        self.suspended.as_ref().map(|suspended| &suspended.slot).filter(stands)
    }

    /// The operation that has the whole die.
    fn has(&self) -> Option<&Slot> {
        (!matches!(self.phase, Phase::Idle | Phase::Reading)).then_some(&self.running)
    }
}

/// What runs and waits on each die, and the channels. Slots of the slab are names, so the operations stand for them.
/// Durations follow from the operations.
impl Hash for Timeline {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let op = |slot: &Slot| self.slab[*slot as usize].task.op;
        for (number, die) in self.dies.iter().enumerate() {
            match die.phase {
                Phase::Idle => state.write_u8(0),
                Phase::Cell(end) => (1u8, end, op(&die.running)).hash(state),
                Phase::Channel => (2u8, op(&die.running)).hash(state),
                Phase::Stopping(end) => (3u8, end, op(&die.running)).hash(state),
                Phase::Reading => state.write_u8(4),
            }
            die.has().into_iter().for_each(|&slot| self.slab[slot as usize].left.hash(state));
            self.hash_lanes(number, state);
            if let Some(suspended) = &die.suspended {
                (suspended.left, suspended.since, op(&suspended.slot), die.stale).hash(state);
            }
            die.sensed.hash(state);
            if self.is_refined {
                (die.history.paused, die.history.suspensions).hash(state);
            }
            if let Some((slot, is_there)) = &die.loading {
                (op(slot), is_there).hash(state);
            }
            for queue in &die.queues {
                state.write_usize(queue.len());
                queue.iter().for_each(|slot| op(slot).hash(state));
            }
        }
        for channel in &self.channels {
            // A die has two operations there at most, and one of them is loading.
            let transfer = channel.transfer.map(|(die, slot, end)| (die, op(&slot), end));
            transfer.hash(state);
            channel.waiting.iter().for_each(|(die, slot)| (die, op(slot)).hash(state));
            state.write_usize(channel.waiting.len());
        }
    }
}
