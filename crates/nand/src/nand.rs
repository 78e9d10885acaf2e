//! The array, as firmware uses it.

use std::hash::{Hash, Hasher};
use std::ops::Range;

use units::{Nanos, Ppa, Seq, SimTime, Superblock};

use crate::completed::Completed;
use crate::counters::Counters;
use crate::fault::{Faults, Injector};
use crate::geometry::{CellType, Geometry, Layout};
use crate::op::{Cause, Kind, NandEvent, Op, Sensed, Slot, Spare, Work};
use crate::retry::Retry;
use crate::state::{Mark, State};
use crate::timeline::{InFlight, Task, Timeline};
use crate::timing::Timing;
use crate::usage::Usage;
use crate::waits::Wait;

/// A flash array: dies behind channels, and what is programmed on them. A new array is erased.
///
/// The caller owns the clock. Every call adds the events that follow from it to `wakes`. The caller has to pass each of
/// them to [`Nand::wake`] at its time, and events of the same time in the order in which they were added.
#[derive(Clone, Debug)]
pub struct Nand {
    pub(crate) layout: Layout,
    timing: Timing,
    /// See [`Timing::is_plain`].
    is_plain: bool,
    /// Transfer time of 0, 1, .. `row_units` units.
    transfers: Vec<Nanos>,
    pub(crate) timeline: Timeline,
    pub(crate) state: State,
    counters: Counters,
    /// `None` = nothing fails.
    faults: Option<Injector>,
    /// Decides which pages need a retry more than others.
    seed: u64,
    /// For tests: half written units that count as whole.
    pub(crate) blind: Option<Blind>,
    /// What dies and channels were used for; `None` if nobody wants to know.
    pub(crate) usage: Option<Vec<Usage>>,
}

/// For tests: what an array takes for whole although it is half written.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Blind {
    /// User data, whose units then have contents that were never written.
    ToUserData,
    /// Metadata: the blocks of SLC.
    ToMetadata,
}

impl Nand {
    /// An erased array.
    ///
    /// # Panics
    /// If [`Geometry::checked_total_units`] gives `None`, or there are more than 65,535 dies or pages per block.
    pub fn new(geometry: Geometry, timing: Timing) -> Nand {
        let layout = geometry.layout();
        Nand {
            layout,
            timing,
            is_plain: timing.is_plain(&geometry),
            transfers: (0..=geometry.row_units()).map(|units| timing.transfer(units)).collect(),
            timeline: Timeline::new(&geometry, &timing),
            state: State::new(layout),
            counters: Counters::default(),
            faults: None,
            seed: 0,
            blind: None,
            usage: None,
        }
    }

    /// Sets the failure rates of operations that finish from now on, and the seed of all that is drawn. In a new array
    /// none fails.
    pub fn set_faults(&mut self, faults: Faults) {
        self.seed = faults.seed;
        self.faults = Injector::new(faults);
    }

    /// What is programmed now has lain for the retention age that [`Retry`] speaks of, until its block is erased.
    pub fn rest(&mut self) {
        if self.timing.retry.is_some() {
            self.state.rest();
        }
    }

    /// For tests: from now on half written units of this kind can not be told from whole ones.
    pub fn without_ecc(&mut self, blind: Blind) {
        self.blind = Some(blind);
    }

    /// Submits a read or an erase to its die, where it may start at once.
    ///
    /// # Panics
    /// If the work is a program, lies outside the array, crosses the border of a row, or is a second erase of blocks
    /// whose erase has not finished.
    // Never inlined: callers are, so that they make the purpose of an operation in its place, and would grow.
    #[inline(never)]
    pub fn submit<E: From<NandEvent>>(&mut self, now: SimTime, op: Op, wakes: &mut Vec<(SimTime, E)>) {
        let (die, superblock, sense) = match op.work {
            Work::Read { ppa, units } => {
                self.check_row(ppa, units);
                self.state.prefetch(ppa);
                let sense = if self.timing.page_register { self.sensed_by(ppa, units) } else { None };
                (self.layout.die_of(ppa), self.layout.superblock_of(ppa), sense)
            }
            Work::Erase { superblock, die } => {
                self.state.submit_erase(superblock, die);
                (die, superblock, None)
            }
            Work::Program { .. } => {
                panic!("a program needs the spares that submit_program takes: {op:?}")
            }
        };
        let task = self.task(op, superblock, sense);
        self.timeline.submit(now, die, task, wakes);
    }

    /// Submits a program to its die, where it may start at once. `spares` has an entry for each of its units; `None` is
    /// padding, which is only allowed at the end of a plane page. The units that are not padding have the sequence
    /// numbers `seq`, `seq + 1`, and so on.
    ///
    /// If the work is not a program, lies outside the array, crosses the border of a row, or does not consist of whole
    /// plane pages. If one of these is not the next page of its block, or its block is being erased or half erased. If
    /// `seq` is 2^30 or more away from that of the first program of the same blocks since their erase, because only the
    /// low bits are stored.
    #[inline]
    pub fn submit_program<E: From<NandEvent>>(
        &mut self,
        now: SimTime,
        op: Op,
        spares: &[Option<Spare>],
        seq: Seq,
        wakes: &mut Vec<(SimTime, E)>,
    ) {
        let Work::Program { ppa, units } = op.work else {
            panic!("submit_program takes programs only: {op:?}");
        };
        assert!(spares.len() == units as usize, "{} spares for {units} units: {op:?}", spares.len());
        self.check_row(ppa, units);
        self.state.submit_program(ppa, spares, seq);
        let task = self.task(op, self.layout.superblock_of(ppa), None);
        self.timeline.submit(now, self.layout.die_of(ppa), task, wakes);
    }

    /// Ends the phase of this event and begins those that follow. Gives the operation if this was its last phase.
    ///
    /// If no phase ends with this event at this time. If an operation has overtaken a program of the same block that
    /// was submitted before it: programs of a block, and its erase, have to keep their order, so a more urgent priority
    /// must not let a later one go first.
    #[inline]
    pub fn wake<E: From<NandEvent>>(
        &mut self,
        now: SimTime,
        event: NandEvent,
        wakes: &mut Vec<(SimTime, E)>,
    ) -> Option<Completed> {
        if self.usage.is_some() {
            return self.wake_noted(now, event, wakes);
        }
        let finished = self.timeline.wake(now, event, wakes)?;
        Some(self.completed(now, finished))
    }

    /// Out of the way of runs that nobody watches.
    #[cold]
    #[inline(never)]
    fn wake_noted<E: From<NandEvent>>(
        &mut self,
        now: SimTime,
        event: NandEvent,
        wakes: &mut Vec<(SimTime, E)>,
    ) -> Option<Completed> {
        self.note_transfer(event);
        let finished = self.timeline.wake(now, event, wakes)?;
        let InFlight { task, started, .. } = self.timeline.slab[finished as usize];
        self.note_operation(task.op, started, now);
        Some(self.completed(now, finished))
    }

    /// What the end of an operation means for the array and its counters.
    #[inline]
    fn completed(&mut self, now: SimTime, finished: Slot) -> Completed {
        let InFlight { task, started, register_hit, .. } = &self.timeline.slab[finished as usize];
        let work = task.op.work;
        let failed = self.faults.as_mut().is_some_and(|faults| faults.fails(work.kind()));
        match work {
            Work::Read { .. } => {}
            Work::Program { ppa, units } => self.state.finish_program(ppa, units),
            Work::Erase { superblock, die } => self.state.finish_erase(superblock, die),
        }
        self.counters.count(&task.op, now - (*started + self.timeline.paused), *register_hit);
        if task.retries > 0 && !register_hit {
            self.counters.count_retries(task.op.cause, task.retries);
        }
        let completed = Completed::new(task.op, failed);
        if failed {
            self.fail(work);
        }
        completed
    }

    /// The spare of unit `i` of a finished read; `None` for units that are padding, not programmed or not readable.
    /// Must be called before the next call that changes the array.
    ///
    /// # Panics
    /// If `read` is not a read, or has no unit `i`.
    #[inline]
    pub fn spare(&self, read: &Completed, i: u32) -> Option<Spare> {
        let ppa = read.unit(i);
        if read.failed() { None } else { self.state.spare(ppa) }
    }

    /// The address or mark in the spare of unit `i` of a finished read; see [`Nand::spare`].
    ///
    /// # Panics
    /// If `read` is not a read, or has no unit `i`.
    #[inline]
    pub fn spare_lpa(&self, read: &Completed, i: u32) -> Option<u32> {
        let ppa = read.unit(i);
        if read.failed() { None } else { self.state.spare_lpa(ppa) }
    }

    /// The units that are programmed together with this one at least, itself included: a page of a plane, or a whole
    /// word line of data cells.
    #[inline]
    pub fn together(&self, ppa: Ppa) -> Range<u32> {
        let slc = self.state.slc[self.layout.superblock_of(ppa).index()];
        let n = self.layout.geometry().program_units(if slc { CellType::Slc } else { CellType::Tlc });
        let start = ppa.0 - ppa.0 % n;
        start..start + n
    }

    /// Places and addresses of the units that were programmed together with unit `i` of a finished read and are at most
    /// `reach` away from it, in order. A unit's spare area has these addresses beside its own (LeaFTL, ASPLOS
    /// 2023); they were known when it was programmed. None if the read has failed.
    ///
    /// # Panics
    /// If `read` is not a read, or has no unit `i`.
    pub fn neighbours(&self, read: &Completed, i: u32, reach: u32) -> impl DoubleEndedIterator<Item = (Ppa, u32)> {
        let (ppa, together) = (read.unit(i), self.together(read.unit(i)));
        let first = together.start.max(ppa.0.saturating_sub(reach));
        let end = if read.failed() { first } else { together.end.min(ppa.0 + reach + 1) };
        (first..end).filter_map(|place| Some((Ppa(place), self.state.spare_lpa(Ppa(place))?)))
    }

    /// What a finished read found in its unit `i`. Must be called before the next call that changes the array.
    ///
    /// # Panics
    /// If `read` is not a read, or has no unit `i`.
    #[inline]
    pub fn sensed(&self, read: &Completed, i: u32) -> Sensed {
        let ppa = read.unit(i);
        if read.failed() { Sensed::Unreadable } else { self.state.sensed(ppa) }
    }

    /// The sequence number of the first unit of the plane page in which a finished read begins; 0 if the first unit of
    /// the read is blank or not readable.
    ///
    /// # Panics
    /// If `read` is not a read.
    pub fn seq(&self, read: &Completed) -> Seq {
        match self.sensed(read, 0) {
            Sensed::Blank | Sensed::Unreadable => Seq(0),
            Sensed::Padding | Sensed::Unit(_) => self.state.page_seq(read.unit(0)),
        }
    }

    /// The sequence number of unit `i` of a finished read; 0 for units that are padding, not programmed or not
    /// readable.
    ///
    /// # Panics
    /// If `read` is not a read, or has no unit `i`.
    #[inline]
    pub fn unit_seq(&self, read: &Completed, i: u32) -> Seq {
        match self.spare(read, i) {
            Some(_) => self.state.unit_seq(read.unit(i)),
            None => Seq(0),
        }
    }

    /// Content of a unit, and its sequence number (0 if it has none), without a read. Only an observer outside the
    /// device may use this: a test, or a simulator with a shortcut that it can justify. Firmware has to read.
    pub fn observe(&self, ppa: Ppa) -> (Sensed, Seq) {
        match self.state.sensed(ppa) {
            unit @ Sensed::Unit(_) => (unit, self.state.unit_seq(ppa)),
            other => (other, Seq(0)),
        }
    }

    /// Uses the cells of an erased data superblock for one bit each, or as usual. Firmware programs no more than the
    /// part of its pages for which that leaves room.
    ///
    /// # Panics
    /// If the superblock is not erased.
    pub fn set_slc(&mut self, superblock: Superblock, slc: bool) {
        assert!(self.state.is_erased(superblock), "{superblock} changes its mode while something is programmed in it");
        self.state.slc[superblock.index()] = slc;
    }

    /// How many times all dies of a superblock were erased. Failed erases wear the cells like others and count; erases
    /// that lost power do not.
    pub fn erase_count(&self, superblock: Superblock) -> u32 {
        self.state.erase_count(superblock)
    }

    /// The erase count of the most worn superblock.
    pub fn max_erase_count(&self) -> u32 {
        self.state.max_erase_count()
    }

    /// True if a superblock can be programmed from its first page on every die: it is new or erased, no erase is under
    /// way, and no program has been submitted since.
    pub fn is_erased(&self, superblock: Superblock) -> bool {
        self.state.is_erased(superblock)
    }

    /// What the operation that has completed last had waited for; `None` if it found its die idle, or if nobody
    /// watches. Has to be asked for before another operation is submitted.
    #[inline]
    pub fn last_wait(&self) -> Option<&Wait> {
        self.timeline.last_wait()
    }

    /// Operations submitted and not finished.
    #[inline]
    pub fn inflight(&self) -> u32 {
        self.timeline.inflight()
    }

    /// True if no operation is in flight.
    #[inline]
    pub fn idle(&self) -> bool {
        self.timeline.inflight() == 0
    }

    /// True if nothing but reads is in flight.
    pub fn only_reads(&self) -> bool {
        self.timeline.under_way().all(|op| op.work.kind() == Kind::Read)
    }

    /// True if a die neither runs nor queues an operation.
    #[inline]
    pub fn die_idle(&self, die: u32) -> bool {
        self.timeline.die_idle(die)
    }

    /// Counters of the array since it was made or loaded.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// The sizes of the array.
    #[inline]
    pub fn geometry(&self) -> &Geometry {
        self.layout.geometry()
    }

    /// The arithmetic of addresses of the array.
    #[inline]
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// The durations of the array's phases.
    pub fn timing(&self) -> &Timing {
        &self.timing
    }

    #[cold]
    fn fail(&mut self, work: Work) {
        match work {
            Work::Read { .. } => {}
            Work::Program { ppa, units } => self.state.mark(ppa, units, Mark::Unreadable),
            Work::Erase { superblock, die } => self.state.half_erase(superblock, die),
        }
        self.counters.count_failure(work.kind());
    }

    #[inline(always)]
    fn task(&self, op: Op, superblock: Superblock, sense: Option<Ppa>) -> Task {
        let (cell, transfer, planes, retries) = match self.is_plain {
            true => {
                let cell = self.timing.cell(self.state.cell(superblock), op.work.kind());
                (cell, self.transfers[op.work.units() as usize], 0, 0)
            }
            false => self.durations(op.work, op.cause, superblock),
        };
        Task { op, cell, transfer, sense, planes, retries }
    }

    /// Of a [`Task`], where more than the kind of the work and of the cells decides: cell phase, transfer, planes and
    /// repeats.
    #[cold]
    #[inline(never)]
    fn durations(&self, work: Work, cause: Cause, superblock: Superblock) -> (Nanos, Nanos, u8, u8) {
        let planes = if self.timing.sharing.is_on() { self.planes(work) } else { 0 };
        let retries = self.timing.retry.map_or(0, |retry| self.retries(&retry, work, superblock));
        if self.timing.free.covers(cause) {
            return (Nanos::ZERO, Nanos::ZERO, planes, retries);
        }
        (self.cell_of(work), self.transfers[work.units() as usize], planes, retries)
    }

    /// The duration of a cell phase, where pages may differ, a program may have several, or units may count.
    fn cell_of(&self, work: Work) -> Nanos {
        let (Work::Read { ppa, units } | Work::Program { ppa, units }) = work else {
            let Work::Erase { superblock, .. } = work else { unreachable!("the only other work") };
            return self.timing.cell(self.state.cell(superblock), Kind::Erase);
        };
        let geometry = self.layout.geometry();
        let (place, sense) = (self.layout.place(ppa), geometry.sense_units());
        let in_row = ppa.0 - self.layout.row_start(ppa).0;
        let (first, last) = (in_row / sense, (in_row + units - 1) / sense);
        let page = place.page * geometry.word_line_pages + first;
        let one_shot = geometry.word_line_pages > 1;
        let cell = self.state.cell(place.superblock);
        // User data may be in SLC mode, too.
        let is_metadata = geometry.cell(place.superblock) == CellType::Slc;
        if let Some(published) = self.timing.as_published(is_metadata, work.kind(), units) {
            return published;
        }
        self.timing.cell_of_pages(cell, work.kind(), page, last - first + 1, one_shot)
    }

    /// How often a read is repeated: as often as that of its pages needs that needs it most.
    #[inline(never)]
    fn retries(&self, retry: &Retry, work: Work, superblock: Superblock) -> u8 {
        let Work::Read { ppa, units } = work else { return 0 };
        if self.state.cell(superblock) == CellType::Slc {
            return 0;
        }
        let (first, last) = (self.layout.plane_page(ppa).0, self.layout.plane_page(ppa.offset(units - 1)).0);
        let (erases, page_units) = (self.state.erases_at(ppa), self.layout.geometry().units_per_page);
        let of_page = |page: usize| {
            let aged = self.state.has_rested(Ppa(page as u32 * page_units));
            retry.steps(self.seed, page, erases, aged)
        };
        (first..=last).map(of_page).max().unwrap_or(0)
    }

    /// A bit for each plane that work has to itself: all of them, unless it reads one of those that are independent.
    fn planes(&self, work: Work) -> u8 {
        let Work::Read { ppa, units } = work else { return u8::MAX };
        if !self.timing.sharing.planes {
            return u8::MAX;
        }
        let geometry = self.layout.geometry();
        let in_row = ppa.0 - self.layout.row_start(ppa).0;
        let pages = in_row / geometry.units_per_page..=(in_row + units - 1) / geometry.units_per_page;
        let of_die = geometry.planes / geometry.word_line_pages;
        pages.fold(0, |planes, page| planes | 1 << (page % of_die))
    }

    /// The first unit of what a read leaves in the page register: a page of every plane. A read of several leaves
    /// nothing that another finds.
    #[inline]
    fn sensed_by(&self, ppa: Ppa, units: u32) -> Option<Ppa> {
        let row = self.layout.row_start(ppa);
        match self.layout.geometry().word_line_pages {
            1 => Some(row),
            _ => self.sensed_in_word_line(row, ppa, units),
        }
    }

    /// The same in a row of several pages of each plane.
    #[inline(never)]
    fn sensed_in_word_line(&self, row: Ppa, ppa: Ppa, units: u32) -> Option<Ppa> {
        let (in_row, sense) = (ppa.0 - row.0, self.layout.geometry().sense_units());
        let first = in_row / sense;
        (first == (in_row + units - 1) / sense).then(|| row.offset(first * sense))
    }

    #[inline]
    fn check_row(&self, ppa: Ppa, units: u32) {
        assert!(ppa.0 < self.layout.total_units(), "{ppa} is outside the array of {} units", self.layout.total_units());
        let left = self.layout.units_left_in_row(ppa);
        assert!(units >= 1 && units <= left, "{units} units at {ppa}: its row has {left} from there");
    }
}

/// Content, wear and what is under way. Sizes, durations and counters are no state.
impl Hash for Nand {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (&self.timeline, &self.state, &self.faults, self.blind).hash(state);
    }
}
