//! Which superblocks are log blocks, and when a map flush is asked for.

use nand::Geometry;
use units::{Lpa, Ppa};

use super::*;
use crate::small;
use ftl::seat::{Change, MapShape, MapUnits};
use ftl::{EngineConfig, GcConfig};

fn device(cfg: EngineConfig) -> (Core, Unflushed) {
    let units = MapUnits::new(cfg.capacity_units, MapShape::SEGMENT);
    let core = Core::in_test(cfg, units);
    let unflushed = Unflushed::new(&core);
    (core, unflushed)
}

/// Fills superblocks until `free` are left.
fn fill(core: &mut Core, free: u32) {
    let units = core.layout().superblock_units();
    while core.blocks().free() > free {
        let sb = core.blocks_in_test().open_next(Stream::Host).expect("a free superblock");
        let seq = core.take_seq_in_test(units);
        core.blocks_in_test().place(Stream::Host, units, units, seq.plus(units - 1));
        core.blocks_in_test().programmed(sb, units);
    }
}

fn log_one(core: &mut Core) {
    let seq = core.take_seq_in_test(1);
    core.log_change(Change { lpa: Lpa(9), ppa: Some(Ppa(9)), seq, source: None });
}

#[test]
fn a_superblock_is_a_log_block_from_its_first_unit_to_its_last() {
    let (core, mut unflushed) = device(small::config());
    unflushed.placed(Superblock(3), 0);
    assert_eq!(unflushed.log_blocks(&core), [], "no unit was placed");
    unflushed.placed(Superblock(5), 2);
    unflushed.placed(Superblock(4), 1);
    unflushed.placed(Superblock(5), 1);
    assert_eq!(unflushed.log_blocks(&core), [4, 5].map(Superblock));
    unflushed.settle(Superblock(4), 1);
    unflushed.settle(Superblock(5), 2);
    assert_eq!(unflushed.log_blocks(&core), [Superblock(5)]);
    unflushed.settle(Superblock(5), 1);
    assert_eq!(unflushed.log_blocks(&core), []);
}

/// Of eight log blocks, one more may be opened beside seven, and the last is left to GC.
#[test]
fn a_flush_is_wanted_when_no_log_block_may_be_opened() {
    let (core, mut unflushed) = device(small::config());
    (0..6).for_each(|sb| unflushed.placed(Superblock(sb), 1));
    assert!(unflushed.may_open(&core, Stream::Host));
    unflushed.placed(Superblock(6), 1);
    assert!(unflushed.may_open(&core, Stream::Gc));
    assert!(!unflushed.flush_wanted, "both may open one");
    assert!(!unflushed.may_open(&core, Stream::Host));
    assert!(unflushed.flush_wanted);
}

/// The victim is erased only after a flush. It is worth one at `hurried` free superblocks, and not above twice the
/// reserve.
#[test]
fn a_collected_victim_wants_a_flush_when_free_superblocks_are_short() {
    for (hurried, reserve, limit) in [(9, 3, 6), (5, 3, 5)] {
        for (free, wanted) in [(limit + 1, false), (limit, true), (limit - 1, true)] {
            let cfg = small::config();
            let (mut core, mut unflushed) = device(EngineConfig { gc: GcConfig { hurried, reserve, ..cfg.gc }, ..cfg });
            fill(&mut core, free);
            unflushed.valid.add(Superblock(0));
            unflushed.collected(&core, Superblock(0));
            assert_eq!(unflushed.flush_wanted, wanted, "{free} free, hurried at {hurried}, reserve {reserve}");
        }
    }
}

/// Rows of 8 units: a step needs log room for one beside copies of another.
#[test]
fn gc_that_lacks_log_room_for_two_rows_wants_a_flush() {
    let cfg = small::config();
    let geometry = Geometry { planes: 2, units_per_page: 4, ..cfg.geometry };
    let (mut core, mut unflushed) = device(EngineConfig { geometry, ..cfg });
    unflushed.starved(&core, 0);
    assert!(!unflushed.flush_wanted, "there is nothing to flush");
    log_one(&mut core);
    unflushed.starved(&core, 16);
    assert!(!unflushed.flush_wanted, "there is room, and the flush would free nothing");
    unflushed.starved(&core, 15);
    assert!(unflushed.flush_wanted);
}

#[test]
fn gc_wants_a_flush_for_the_erase_of_what_it_has_collected() {
    let (mut core, mut unflushed) = device(small::config());
    log_one(&mut core);
    unflushed.valid.mark_collected(Superblock(0));
    unflushed.starved(&core, 100);
    assert!(unflushed.flush_wanted);
}

/// A superblock with changes that have not been flushed is no victim; the flush makes it one.
#[test]
fn gc_without_a_victim_wants_a_flush() {
    let (mut core, mut unflushed) = device(small::config());
    log_one(&mut core);
    fill(&mut core, 79);
    unflushed.placed(Superblock(0), 1);
    assert!(unflushed.victim(&core, None).is_none());
    unflushed.starved(&core, 100);
    assert!(unflushed.flush_wanted);
}
