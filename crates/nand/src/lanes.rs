//! Reads that share a die: reads of different planes at the same time (independent plane reads), and the cell phase of
//! a read during the transfer of the one before (cached read). Without either, a die does one thing at a time.
//!
//! A plane has two registers. Cells are sensed into its page register; what crosses the channel lies in its cache
//! register. A read occupies the cells and page registers of its planes until its data are in their cache registers,
//! and these until they have crossed the channel. Without cached reads, both are occupied from the first to the last.
//! Programs and erases take the whole die.

use std::hash::{Hash, Hasher};

use units::{Nanos, Ppa, SimTime};

use crate::op::{Kind, NandEvent, Op, Slot};
use crate::suspend::History;
use crate::timeline::{Phase, Timeline, goes_first};

/// How reads share a die.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Sharing {
    /// Reads of different planes go on at the same time, whatever they read there.
    pub planes: bool,
    /// The cells of a plane are sensed while the data of the read before cross the channel.
    pub cache: bool,
}

impl Sharing {
    /// A die does one thing at a time.
    pub const NONE: Sharing = Sharing { planes: false, cache: false };

    /// True if reads share a die in any way.
    pub fn is_on(&self) -> bool {
        self.planes || self.cache
    }
}

/// Most planes of a die.
const MOST_PLANES: usize = 8;

/// What a read does.
#[derive(Clone, Copy, Hash, Debug)]
enum Stage {
    /// The cells are sensed until this time.
    Cell(SimTime),
    /// The data are in the page registers, and the cache registers hold those of another read.
    Sensed,
    /// The data are in the cache registers: they wait for the channel or cross it.
    Channel,
}

/// A read that has its planes.
#[derive(Clone, Copy, Debug)]
struct Lane {
    slot: Slot,
    planes: u8,
    stage: Stage,
    /// It had waited for its planes.
    waited: bool,
    /// How often it will be repeated. So long it keeps its cells.
    left: u8,
}

/// The reads of a die.
#[derive(Clone, Debug)]
pub(crate) struct Lanes {
    /// In the order in which they started.
    reads: Vec<Lane>,
    /// By plane: what is in the page register, as far as reads may use it.
    sensed: [Option<Ppa>; MOST_PLANES],
    /// Bits of planes that there are not.
    none: u8,
}

impl Lanes {
    /// No read on a die with so many planes. Unless these are independent, a read has all bits of the mask.
    pub fn new(planes: u32, sharing: Sharing) -> Lanes {
        assert!(planes as usize <= MOST_PLANES, "{planes} planes do not fit a mask of {MOST_PLANES}");
        let none = if sharing.planes { !(u8::MAX >> (MOST_PLANES as u32 - planes)) } else { 0 };
        Lanes { reads: Vec::new(), sensed: [None; MOST_PLANES], none }
    }

    /// The slots of the reads under way.
    pub fn slots(&self) -> impl Iterator<Item = &Slot> {
        self.reads.iter().map(|lane| &lane.slot)
    }

    /// Programs and erases overwrite the registers.
    pub fn overwrite(&mut self) {
        self.sensed = [None; MOST_PLANES];
    }

    /// Drops all reads at a power cut.
    ///
    /// # Panics
    /// If the end of a phase before `now` was not delivered.
    pub fn power_cut(&mut self, now: SimTime, die: usize) -> impl Iterator<Item = Slot> {
        self.overwrite();
        std::mem::take(&mut self.reads).into_iter().map(move |lane| {
            let Stage::Cell(end) = lane.stage else { return lane.slot };
            assert!(end >= now, "power cut at {now}, but die {die} was not woken at {end}");
            lane.slot
        })
    }

    /// The planes that no other read can begin on.
    fn taken(&self, sharing: Sharing) -> u8 {
        let keeps = |lane: &&Lane| !sharing.cache || !matches!(lane.stage, Stage::Channel) || lane.left > 0;
        self.reads.iter().filter(keeps).fold(self.none, |planes, lane| planes | lane.planes)
    }

    /// Puts what a read senses into the page registers of its planes. True if it is there already.
    fn sense(&mut self, planes: u8, sense: Option<Ppa>) -> bool {
        let registers = (0..MOST_PLANES).filter(|plane| planes >> plane & 1 != 0);
        let is_there = sense.is_some() && registers.clone().all(|plane| self.sensed[plane] == sense);
        registers.for_each(|plane| self.sensed[plane] = sense);
        is_there
    }
}

impl Timeline {
    /// What else begins with an operation that can be interrupted or shares its die.
    #[cold]
    #[inline(never)]
    pub(crate) fn begin_refined(&mut self, now: SimTime, die: u16) {
        self.dies[die as usize].history = History::from(now);
        self.lanes.get_mut(usize::from(die)).into_iter().for_each(Lanes::overwrite);
    }

    /// Queues an operation, and starts what can start.
    #[cold]
    #[inline(never)]
    pub(crate) fn submit_shared<E: From<NandEvent>>(
        &mut self,
        now: SimTime,
        die: u16,
        slot: Slot,
        wakes: &mut Vec<(SimTime, E)>,
    ) {
        let (phase, op) = (self.dies[usize::from(die)].phase, self.slab[slot as usize].task.op);
        if let (Phase::Idle, true) = (phase, op.work.kind() == Kind::Read) {
            self.start_lane(now, die, slot, wakes);
        } else if let Phase::Idle = phase {
            self.start(now, die, slot, wakes);
        } else {
            self.queue(die, slot);
            self.charge(now, die);
            if self.waits.is_some() {
                self.note_queued(now, die.into(), slot);
            }
            if let Phase::Reading = phase {
                self.proceed(now, die, wakes);
            } else {
                self.press(now, die, slot, wakes);
            }
        }
    }

    /// A cell phase of a read may have ended on a die that reads. Gives the read if it has no transfer, or `Err` if no
    /// cell phase ends now.
    #[cold]
    #[inline(never)]
    pub(crate) fn sensed_lane<E: From<NandEvent>>(
        &mut self,
        now: SimTime,
        die: u16,
        wakes: &mut Vec<(SimTime, E)>,
    ) -> Result<Option<Slot>, ()> {
        let reads = &mut self.lanes[usize::from(die)].reads;
        let ends = |lane: &Lane| matches!(lane.stage, Stage::Cell(end) if end == now);
        let at = reads.iter().position(ends).ok_or(())?;
        if self.slab[reads[at].slot as usize].task.transfer == Nanos::ZERO {
            return Ok(self.finish_lane(now, die, at, wakes));
        }
        reads[at].stage = Stage::Sensed;
        self.fill_cache_registers(now, die, wakes);
        self.proceed(now, die, wakes);
        Ok(None)
    }

    /// The data of a read of this die have crossed the channel. Gives the read unless it has to be repeated.
    #[cold]
    #[inline(never)]
    pub(crate) fn transferred_lane<E: From<NandEvent>>(
        &mut self,
        now: SimTime,
        die: u16,
        slot: Slot,
        wakes: &mut Vec<(SimTime, E)>,
    ) -> Option<Slot> {
        let at = self.lanes[usize::from(die)].reads.iter().position(|lane| lane.slot == slot);
        self.finish_lane(now, die, at.expect("a read that has transferred data has its planes"), wakes)
    }

    /// After the end of an operation, or when one more waits: reads that have their planes start, in the order of
    /// urgency and submission. None goes past a program or erase, which waits until all planes are free. While one of
    /// these is interrupted, only reads go on that may go first.
    pub(crate) fn proceed<E: From<NandEvent>>(&mut self, now: SimTime, die: u16, wakes: &mut Vec<(SimTime, E)>) {
        self.charge(now, die);
        let is_suspended = self.dies[usize::from(die)].suspended.is_some();
        self.start_reads(now, die, is_suspended, wakes);
        if !self.lanes[usize::from(die)].reads.is_empty() {
            return;
        }
        if is_suspended {
            self.resume(now, die, wakes);
        } else if let Some(next) = self.take_next(die) {
            self.start(now, die, next, wakes);
        } else {
            self.dies[usize::from(die)].phase = Phase::Idle;
        }
    }

    fn start_reads<E: From<NandEvent>>(
        &mut self,
        now: SimTime,
        die: u16,
        is_suspended: bool,
        wakes: &mut Vec<(SimTime, E)>,
    ) {
        let mut taken = self.lanes[usize::from(die)].taken(self.sharing);
        for queue in 0..self.dies[usize::from(die)].queues.len() {
            let mut at = 0;
            while let Some(&slot) = self.dies[usize::from(die)].queues[queue].get(at) {
                let task = &self.slab[slot as usize].task;
                let is_read = task.op.work.kind() == Kind::Read;
                if !is_suspended && !is_read || taken == u8::MAX {
                    return;
                }
                if is_suspended && !goes_first(task) {
                    at += 1;
                    continue;
                }
                // Nor does one go past a read of the same planes that waits.
                let is_taken = taken & task.planes != 0;
                taken |= task.planes;
                if is_taken {
                    at += 1;
                } else {
                    self.unqueue(die, queue, at);
                    self.start_lane(now, die, slot, wakes);
                }
            }
        }
    }

    fn start_lane<E: From<NandEvent>>(&mut self, now: SimTime, die: u16, slot: Slot, wakes: &mut Vec<(SimTime, E)>) {
        let (lanes, state) = (&mut self.lanes[usize::from(die)], &mut self.dies[usize::from(die)]);
        let entry = &mut self.slab[slot as usize];
        let planes = entry.task.planes;
        entry.register_hit = lanes.sense(planes, entry.task.sense);
        entry.started = now;
        if lanes.reads.is_empty() {
            state.history = History::from(now);
            state.phase = Phase::Reading;
        }
        let waited = self.waits.as_mut().is_some_and(|waits| waits.take_waited(die));
        let has_data = entry.register_hit && entry.task.transfer > Nanos::ZERO;
        let end = now + if entry.register_hit { Nanos::ZERO } else { entry.task.cell };
        let stage = if has_data { Stage::Sensed } else { Stage::Cell(end) };
        let left = if entry.register_hit { 0 } else { entry.task.retries };
        lanes.reads.push(Lane { slot, planes, stage, waited, left });
        if has_data {
            self.fill_cache_registers(now, die, wakes);
        } else {
            wakes.push((end, NandEvent::Die(die).into()));
        }
    }

    /// Moves data to cache registers that are free, and asks for the channel.
    fn fill_cache_registers<E: From<NandEvent>>(&mut self, now: SimTime, die: u16, wakes: &mut Vec<(SimTime, E)>) {
        for at in 0..self.lanes[usize::from(die)].reads.len() {
            let reads = &mut self.lanes[usize::from(die)].reads;
            let Lane { slot, planes, stage: Stage::Sensed, .. } = reads[at] else { continue };
            let crosses = |lane: &Lane| matches!(lane.stage, Stage::Channel) && lane.planes & planes != 0;
            if !reads.iter().any(crosses) {
                reads[at].stage = Stage::Channel;
                self.request_channel(now, die, slot, wakes);
            }
        }
    }

    fn finish_lane<E: From<NandEvent>>(
        &mut self,
        now: SimTime,
        die: u16,
        at: usize,
        wakes: &mut Vec<(SimTime, E)>,
    ) -> Option<Slot> {
        let lane = &mut self.lanes[usize::from(die)].reads[at];
        if let Some(left) = lane.left.checked_sub(1) {
            let end = now + self.slab[lane.slot as usize].task.cell;
            (lane.left, lane.stage) = (left, Stage::Cell(end));
            wakes.push((end, NandEvent::Die(die).into()));
            return None;
        }
        self.charge(now, die);
        let Lane { slot, waited, .. } = self.lanes[usize::from(die)].reads.remove(at);
        if let Some(waits) = &mut self.waits {
            waits.goes_on(die, waited);
            waits.ended(die, slot, None);
        }
        self.free.push(slot);
        self.paused = Nanos::ZERO;
        self.fill_cache_registers(now, die, wakes);
        self.proceed(now, die, wakes);
        Some(slot)
    }

    /// For reports: the time since the last charge is that of the read that has been under way longest, so that what
    /// a die did while an operation waited for it is the time that it waited.
    fn charge(&mut self, now: SimTime, die: u16) {
        let state = &mut self.dies[usize::from(die)];
        let (Some(waits), Phase::Reading) = (&mut self.waits, state.phase) else { return };
        if let Some(first) = self.lanes[usize::from(die)].reads.first() {
            let cause = self.slab[first.slot as usize].task.op.cause;
            waits.worked(die, cause, now.since(state.history.since));
        }
        state.history.since = now;
    }

    /// The cause of the read that has been under way longest on a die that reads.
    pub(crate) fn first_lane(&self, die: u16) -> Option<&Op> {
        let first = self.lanes.get(usize::from(die))?.reads.first()?;
        Some(&self.slab[first.slot as usize].task.op)
    }

    /// What the reads of a die are, without the names of their slots.
    pub(crate) fn hash_lanes<H: Hasher>(&self, die: usize, state: &mut H) {
        let Some(lanes) = self.lanes.get(die) else { return };
        lanes.sensed.hash(state);
        for lane in &lanes.reads {
            (self.slab[lane.slot as usize].task.op, lane.stage, lane.left).hash(state);
        }
    }
}
