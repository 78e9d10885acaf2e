//! Random operations, compared with a plain simulation of the same rules that has neither queues nor events nor packed
//! state.

mod model;

use std::collections::BTreeMap;

use self::model::{Reference, Stage};
use crate::common::Sim;
use proptest::prelude::*;
use ufsim_nand::{
    Cause, CellTiming, Completed, Faults, FreeWork, Geometry, Kind, MetadataPrograms, Op, Priority, Sensed, Sharing,
    Spare, Suspend, Timing, Work,
};
use units::{Nanos, Ppa, Seq, SimTime, Superblock};

/// Both simulations, and what the generator needs to stay within the rules.
struct Pair {
    sim: Sim,
    reference: Reference,
    /// Next page by superblock, die, plane; counted at submission.
    next_page: BTreeMap<(u32, u32, u32), u32>,
    erasing: Vec<(u32, u32)>,
    seq: u64,
    submitted: u32,
    /// Operations lost to power cuts.
    lost: usize,
}

/// Random input for an operation. What it becomes depends on what is legal at that moment.
#[derive(Clone, Copy, Debug)]
struct Attempt {
    delay: u64,
    /// True if phases that end at the moment of submission end before it.
    after_ends: bool,
    kind: u32,
    priority: usize,
    place: u32,
    units: u32,
    padding: u32,
    /// Age of a program's content: how many changes ago it was written first.
    age: u32,
    dice: u64,
}

impl Pair {
    fn new(geometry: Geometry, timing: Timing, faults: Faults, first_seq: u64) -> Pair {
        let mut sim = Sim::new(geometry, timing);
        sim.nand.set_faults(faults);
        Pair {
            sim,
            reference: Reference::new(geometry, timing),
            next_page: BTreeMap::new(),
            erasing: Vec::new(),
            seq: first_seq,
            submitted: 0,
            lost: 0,
        }
    }

    fn attempt(&mut self, attempt: Attempt) {
        let now = SimTime(self.sim.now.0 + attempt.delay);
        while self.sim.next().is_some_and(|end| end < now || end == now && attempt.after_ends) {
            self.step();
        }
        self.sim.now = now;
        match attempt.kind {
            0..12 => self.read(attempt),
            12..25 => self.program(attempt),
            25..28 => self.erase(attempt),
            _ => self.power_cut(attempt.dice),
        }
    }

    fn op(&mut self, work: Work, priority: Priority) -> Op {
        self.submitted += 1;
        let cause = Cause::ALL[self.submitted as usize % Cause::COUNT];
        Op { work, priority, cause, token: self.submitted }
    }

    fn read(&mut self, attempt: Attempt) {
        let geometry = *self.sim.nand.geometry();
        let ppa = Ppa(attempt.place % geometry.total_units());
        let units = 1 + attempt.units % geometry.units_left_in_row(ppa);
        let op = self.op(Work::Read { ppa, units }, Priority::ALL[attempt.priority]);
        self.sim.submit(op);
        self.reference.submit(self.sim.now.0, op, Vec::new());
    }

    fn program(&mut self, attempt: Attempt) {
        let geometry = *self.sim.nand.geometry();
        let (block, superblock, die) = block_at(&geometry, attempt.place);
        let plane = attempt.units % geometry.planes;
        let next = |plane| self.next_page.get(&(superblock, die, plane)).copied().unwrap_or(0);
        let page = next(plane);
        if page == geometry.pages_per_block || self.erasing.contains(&(superblock, die)) {
            return;
        }
        let planes = (plane..geometry.planes).take_while(|&plane| next(plane) == page).count() as u32;
        let ppa = geometry.first_ppa(Superblock(superblock)).0
            + page * geometry.stripe_units()
            + (die - geometry.dies_of(Superblock(superblock)).start) * geometry.row_units()
            + plane * geometry.units_per_page;
        let mut spares = Vec::new();
        let mut contents = Vec::new();
        let first_seq = self.seq;
        for unit in 0..planes * geometry.units_per_page {
            let filled = geometry.units_per_page - attempt.padding % (geometry.units_per_page + 1);
            let used = unit % geometry.units_per_page < filled;
            let version = (self.seq as u32).wrapping_sub(attempt.age);
            let spare = Spare { lpa: unit + attempt.place, stamp: self.submitted, version };
            spares.push(used.then_some(spare));
            if used {
                contents.push((ppa + unit, Sensed::Unit(spare), Seq(self.seq)));
                self.seq += 1;
            } else {
                contents.push((ppa + unit, Sensed::Padding, Seq(0)));
            }
        }
        for plane in plane..plane + planes {
            self.next_page.insert((superblock, die, plane), page + 1);
        }
        // One priority class for all programs of a block, so that none overtakes another.
        let priority = Priority::ALL[block as usize % Priority::COUNT];
        let work = Work::Program { ppa: Ppa(ppa), units: spares.len() as u32 };
        let op = self.op(work, priority);
        self.sim.program(op, &spares, first_seq);
        self.reference.submit(self.sim.now.0, op, contents);
    }

    fn erase(&mut self, attempt: Attempt) {
        let geometry = *self.sim.nand.geometry();
        let (_, superblock, die) = block_at(&geometry, attempt.place);
        if self.erasing.contains(&(superblock, die)) {
            return;
        }
        self.erasing.push((superblock, die));
        let work = Work::Erase { superblock: Superblock(superblock), die };
        let op = self.op(work, Priority::Background);
        self.sim.submit(op);
        self.reference.submit(self.sim.now.0, op, Vec::new());
    }

    /// Cuts the power of both simulations with the same dice and compares what is left.
    fn power_cut(&mut self, dice: u64) {
        let mut state = dice;
        let mut rolls = Vec::new();
        let cut = self.sim.power_cut(&mut |n| {
            state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
            let roll = (state >> 32) as u32 % n;
            rolls.push((n, roll));
            roll
        });
        let mut rolls = rolls.into_iter();
        let expected = self.reference.power_cut(&mut |n| {
            let (sides, roll) = rolls.next().expect("the array has thrown the dice less often");
            assert_eq!(sides, n);
            roll
        });
        let cut: Vec<_> = cut.iter().map(|cut| (cut.token(), cut.ppa(), cut.units(), cut.readable())).collect();
        assert_eq!(cut, expected);
        assert_eq!(rolls.next(), None, "the array has thrown the dice more often");
        self.lost = self.submitted as usize - self.sim.done.len();
        self.erasing.clear();
        self.next_page.clear();
        for &ppa in self.reference.contents.keys() {
            let at = self.sim.nand.layout().place(Ppa(ppa));
            self.next_page.insert((at.superblock.0, at.die, at.plane), at.page + 1);
        }
        for (superblock, die) in self.reference.half_erased.clone() {
            self.use_up(superblock, die);
        }
        self.compare_contents();
    }

    /// No page of these blocks can be programmed.
    fn use_up(&mut self, superblock: u32, die: u32) {
        let &Geometry { planes, pages_per_block, .. } = self.sim.nand.geometry();
        self.next_page.extend((0..planes).map(|plane| ((superblock, die, plane), pages_per_block)));
    }

    fn compare_contents(&self) {
        for ppa in 0..self.sim.nand.geometry().total_units() {
            assert_eq!(self.sim.sensed(ppa), self.reference.sensed(ppa), "unit {ppa}");
        }
    }

    /// Ends one phase in both simulations and compares the results.
    fn step(&mut self) {
        let done = self.sim.step();
        self.reference.step(done.as_ref().is_some_and(Completed::failed));
        assert_eq!(self.sim.done.len(), self.reference.history.len(), "at {}", self.sim.now);
        let Some(done) = done else { return };
        let last = (self.sim.now.0, done.token());
        assert_eq!(self.reference.history.last(), Some(&last), "another operation finished");
        match done.work() {
            Work::Read { ppa, units } => {
                for i in 0..units {
                    let found = self.reference.sensed(ppa.0 + i);
                    let (sensed, seq) = if done.failed() { (Sensed::Unreadable, Seq(0)) } else { found };
                    let spare = if let Sensed::Unit(spare) = sensed { Some(spare) } else { None };
                    assert_eq!(self.sim.nand.sensed(&done, i), sensed);
                    assert_eq!(self.sim.nand.spare(&done, i), spare);
                    assert_eq!(self.sim.nand.unit_seq(&done, i), seq);
                }
            }
            Work::Program { .. } => {}
            Work::Erase { superblock, die } => {
                self.erasing.retain(|erasing| *erasing != (superblock.0, die));
                self.next_page.retain(|&(s, d, _), _| (s, d) != (superblock.0, die));
                if done.failed() {
                    self.use_up(superblock.0, die);
                }
            }
        }
    }

    /// Runs to the end and compares the sums.
    fn finish(mut self) {
        while self.sim.next().is_some() {
            self.step();
        }
        let (nand, entries) = (&self.sim.nand, &self.reference.entries);
        assert!(nand.idle() && self.reference.next().is_none());
        assert_eq!(self.sim.done.len() + self.lost, self.submitted as usize, "submitted = completed + lost");
        let finished = || entries.iter().filter(|entry| entry.stage == Stage::Finished);
        assert_eq!(finished().count(), self.sim.done.len());
        for entry in finished() {
            assert_eq!(entry.finished - entry.started, entry.worked + entry.waited);
        }
        for cause in Cause::ALL {
            let of_cause = || finished().filter(|entry| entry.op.cause == cause);
            let busy: u64 = of_cause().map(|entry| entry.worked + entry.waited).sum();
            assert_eq!(nand.counters().busy_ns(cause), busy, "busy time of {}", cause.name());
            for kind in Kind::ALL {
                let of_kind = || of_cause().filter(|entry| entry.op.work.kind() == kind);
                assert_eq!(nand.counters().ops(cause, kind), of_kind().count() as u64);
                let units: u64 = of_kind().map(|entry| u64::from(entry.op.work.units())).sum();
                assert_eq!(nand.counters().bytes(cause, kind), 4096 * units);
            }
        }
        for kind in Kind::ALL {
            let failed = self.sim.done.iter().filter(|done| done.failed && done.work.kind() == kind);
            assert_eq!(nand.counters().failures(kind), failed.count() as u64);
        }
        self.compare_contents();
        let geometry = nand.geometry();
        let mut most = 0;
        for superblock in 0..geometry.superblocks() {
            let of_die = |die| self.reference.erases.get(&(superblock, die)).copied().unwrap_or(0);
            let all = geometry.dies_of(Superblock(superblock)).map(of_die).min().expect("there is a die");
            assert_eq!(nand.erase_count(Superblock(superblock)), all);
            most = most.max(all);
            let programmed = self.next_page.keys().any(|&(s, ..)| s == superblock);
            assert_eq!(nand.is_erased(Superblock(superblock)), !programmed);
        }
        assert_eq!(nand.max_erase_count(), most);
    }
}

/// One of all blocks: its number, superblock and die.
fn block_at(geometry: &Geometry, place: u32) -> (u32, u32, u32) {
    let wide = geometry.superblock_dies;
    let block = place % (geometry.superblocks() * wide);
    let superblock = block / wide;
    (block, superblock, geometry.dies_of(Superblock(superblock)).start + block % wide)
}

fn geometries() -> impl Strategy<Value = Geometry> {
    (1..4u32, 1..4u32, any::<bool>(), 1..3u32, 1..5u32, 1..5u32, 0..3u32).prop_map(
        |(channels, dies_per_channel, narrow, planes, units_per_page, pages_per_block, meta)| Geometry {
            channels,
            dies_per_channel,
            superblock_dies: if narrow { dies_per_channel } else { channels * dies_per_channel },
            planes,
            units_per_page,
            pages_per_block,
            word_line_pages: 1,
            data_superblocks: 3 - meta,
            meta_superblocks: meta,
        },
    )
}

/// Durations of a few nanoseconds, so that many phases end at the same time.
fn timings() -> impl Strategy<Value = Timing> {
    let cell = || {
        (0..5u64, 0..9u64, 0..20u64).prop_map(|(read, program, erase)| CellTiming {
            read: Nanos(read),
            program: Nanos(program),
            erase: Nanos(erase),
        })
    };
    let bandwidth = prop::sample::select(vec![0, 4_096_000, 1_500_000, 20_000_000]);
    let free = prop::sample::select(FreeWork::ALL);
    let metadata = prop::sample::select(MetadataPrograms::ALL);
    (cell(), cell(), bandwidth, any::<bool>(), free, metadata).prop_map(
        |(slc, tlc, channel_bytes_per_us, page_register, free, metadata_programs)| Timing {
            slc,
            tlc,
            by_page: None,
            cache_program: false,
            sharing: Sharing::NONE,
            retry: None,
            suspend: Suspend::NEVER,
            channel_bytes_per_us,
            page_register,
            free,
            metadata_programs,
        },
    )
}

fn attempts() -> impl Strategy<Value = Attempt> {
    let delay = prop_oneof![Just(0), 0..6u64, 0..60u64];
    let age = prop_oneof![3 => Just(0), 1 => 0..100u32, 1 => any::<u32>()];
    (delay, any::<bool>(), 0..30u32, 0..Priority::COUNT, 0..2_000u32, 0..64u32, 0..5u32, age, any::<u64>()).prop_map(
        |(delay, after_ends, kind, priority, place, units, padding, age, dice)| Attempt {
            delay,
            after_ends,
            kind,
            priority,
            place,
            units,
            padding,
            age,
            dice,
        },
    )
}

fn faults() -> impl Strategy<Value = Faults> {
    let rate = || 0..400_000u32;
    let some = (any::<u64>(), rate(), rate(), rate()).prop_map(
        |(seed, program_per_million, erase_per_million, read_per_million)| Faults {
            seed,
            program_per_million,
            erase_per_million,
            read_per_million,
        },
    );
    prop_oneof![Just(Faults::default()), some]
}

/// Beginnings of the sequence numbers, some of them before a wrap of their low 32 bits.
fn first_seqs() -> impl Strategy<Value = u64> {
    prop_oneof![Just(1), (1..100u64).prop_map(|n| (7 << 32) - n)]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, ..ProptestConfig::default() })]

    #[test]
    fn the_array_does_what_the_plain_simulation_does(
        geometry in geometries(),
        timing in timings(),
        faults in faults(),
        first_seq in first_seqs(),
        attempts in prop::collection::vec(attempts(), 1..120),
    ) {
        let mut pair = Pair::new(geometry, timing, faults, first_seq);
        for attempt in attempts {
            pair.attempt(attempt);
        }
        pair.finish();
    }
}
