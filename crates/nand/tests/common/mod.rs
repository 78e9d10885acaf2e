//! The smallest event loop that can drive an array, and functions that make operations.
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::panic::{AssertUnwindSafe, catch_unwind};

use ufsim_nand::{
    Cause, CellTiming, Completed, CutProgram, Geometry, Nand, NandEvent, Op, Priority, Sensed, Spare, Timing, Work,
};
use units::{Nanos, Ppa, Seq, SimTime, Superblock};

/// The prototype of the HP-UFS authors (Sec. IV), with four superblocks of data and one of metadata.
pub const HP_UFS: Geometry = Geometry {
    channels: 8,
    dies_per_channel: 1,
    superblock_dies: 8,
    planes: 2,
    units_per_page: 4,
    pages_per_block: 64,
    word_line_pages: 1,
    data_superblocks: 4,
    meta_superblocks: 1,
};

/// Two dies with two planes. A page has two units, a row four, a superblock 24.
pub const SMALL: Geometry = Geometry {
    channels: 2,
    dies_per_channel: 1,
    superblock_dies: 2,
    planes: 2,
    units_per_page: 2,
    pages_per_block: 3,
    word_line_pages: 1,
    data_superblocks: 2,
    meta_superblocks: 1,
};

/// The prototype's cells, with transfers that take no time and without page register reads.
pub const CELLS: Timing = Timing::of(
    CellTiming { read: Nanos::from_micros(25), program: Nanos::from_micros(150), erase: Nanos::from_millis(5) },
    CellTiming { read: Nanos::from_micros(60), program: Nanos::from_micros(550), erase: Nanos::from_millis(5) },
);

/// A finished operation, as the tests record it.
#[derive(Clone, Copy)]
pub struct Finished {
    pub time: SimTime,
    pub token: u32,
    pub work: Work,
    pub failed: bool,
}

pub struct Sim {
    pub nand: Nand,
    pub now: SimTime,
    /// Finished operations, in order.
    pub done: Vec<Finished>,
    pub pending: BinaryHeap<Reverse<(SimTime, u64, NandEvent)>>,
    wakes: Vec<(SimTime, NandEvent)>,
    pushed: u64,
}

impl Sim {
    pub fn new(geometry: Geometry, timing: Timing) -> Sim {
        Sim {
            nand: Nand::new(geometry, timing),
            now: SimTime::START,
            done: Vec::new(),
            pending: BinaryHeap::new(),
            wakes: Vec::new(),
            pushed: 0,
        }
    }

    pub fn submit(&mut self, op: Op) {
        self.nand.submit(self.now, op, &mut self.wakes);
        self.collect();
    }

    pub fn program(&mut self, op: Op, spares: &[Option<Spare>], seq: u64) {
        self.nand.submit_program(self.now, op, spares, Seq(seq), &mut self.wakes);
        self.collect();
    }

    /// Handles the earliest event. Gives the operation that it finished.
    pub fn step(&mut self) -> Option<Completed> {
        let Reverse((now, _, event)) = self.pending.pop()?;
        assert!(now >= self.now, "an event lies in the past");
        self.now = now;
        let done = self.nand.wake(now, event, &mut self.wakes);
        self.collect();
        let note =
            |done: &Completed| Finished { time: now, token: done.token(), work: done.work(), failed: done.failed() };
        self.done.extend(done.as_ref().map(note));
        done
    }

    /// Cuts the power; `dice` decide what is left.
    pub fn power_cut(&mut self, dice: &mut dyn FnMut(u32) -> u32) -> Vec<CutProgram> {
        self.pending.clear();
        let cut = self.nand.power_cut(self.now, dice);
        assert!(self.nand.idle() && (0..self.nand.geometry().dies()).all(|die| self.nand.die_idle(die)));
        cut
    }

    /// What a read of a unit would find at this moment, if it took no time.
    pub fn sensed(&self, ppa: u32) -> (Sensed, Seq) {
        self.nand.observe(Ppa(ppa))
    }

    /// Time of the earliest event.
    pub fn next(&self) -> Option<SimTime> {
        self.pending.peek().map(|Reverse((time, ..))| *time)
    }

    /// Runs until no event is pending.
    pub fn drain(&mut self) {
        self.last();
    }

    /// Runs until no event is pending. Gives the operation that finished last.
    pub fn last(&mut self) -> Option<Completed> {
        let mut last = None;
        while !self.pending.is_empty() {
            last = self.step().or(last);
        }
        assert!(self.nand.idle(), "{} operations have no event left", self.nand.inflight());
        last
    }

    /// The finished operations as (time in ns, token).
    pub fn history(&self) -> Vec<(u64, u32)> {
        self.done.iter().map(|done| (done.time.0, done.token)).collect()
    }

    fn collect(&mut self) {
        for (time, event) in self.wakes.drain(..) {
            self.pending.push(Reverse((time, self.pushed, event)));
            self.pushed += 1;
        }
        let mut events: Vec<_> = self.pending.iter().map(|Reverse((_, _, event))| *event).collect();
        events.sort_unstable();
        events.dedup();
        let timing = self.nand.timing();
        if !timing.suspend.is_on() && !timing.sharing.planes {
            assert_eq!(events.len(), self.pending.len(), "two events of one die or channel");
        }
    }
}

pub fn read(token: u32, priority: Priority, ppa: u32, units: u32) -> Op {
    let work = Work::Read { ppa: Ppa(ppa), units };
    Op { work, priority, cause: Cause::HostRead, token }
}

pub fn program(token: u32, priority: Priority, ppa: u32, units: u32) -> Op {
    let work = Work::Program { ppa: Ppa(ppa), units };
    Op { work, priority, cause: Cause::HostWrite, token }
}

pub fn erase(token: u32, priority: Priority, superblock: u32, die: u32) -> Op {
    let work = Work::Erase { superblock: Superblock(superblock), die };
    Op { work, priority, cause: Cause::Erase, token }
}

/// Spares of `units` units without padding; their LPAs count up from `lpa`, and so do their versions.
pub fn spares(lpa: u32, units: u32) -> Vec<Option<Spare>> {
    (lpa..lpa + units).map(|lpa| Some(Spare { lpa, stamp: !lpa, version: lpa + 1 })).collect()
}

/// Runs one operation to its end.
pub fn run(sim: &mut Sim, op: Op) -> Completed {
    sim.submit(op);
    sim.last().expect("the operation has finished")
}

/// Erases a superblock on all its dies.
pub fn erase_superblock(sim: &mut Sim, superblock: u32) {
    for die in 0..sim.nand.geometry().dies() {
        sim.submit(erase(die, Priority::Background, superblock, die));
    }
    sim.drain();
}

/// The message of the panic that `action` ends in.
pub fn refusal(action: impl FnOnce()) -> String {
    let panic = catch_unwind(AssertUnwindSafe(action)).expect_err("this should have been refused");
    *panic.downcast::<String>().expect("our messages are formatted")
}
