//! Two copies of a map unit under way to flash, and a trim that the host has applied before the journal holds it.

use nand::Geometry;
use ufs::SegmentState;

use super::writebacks::{Programming, Writeback, keep_content};
use super::*;
use crate::small;
use ftl::seat::Blocks;
use units::MapUnit;

pub(super) const UNIT: MapUnit = MapUnit(1);
const LPA: Lpa = Lpa(1024 + 7);

pub(super) fn copy(seq: u64) -> Writeback {
    Writeback { unit: UNIT, seq: Seq(seq), entries: Entries::Whole(SegmentState::of(&[seq as u32; 1024])) }
}

/// Fills a superblock with changes up to `last`.
pub(super) fn fill(blocks: &mut Blocks, last: u64) -> Superblock {
    let sb = blocks.open_next(Stream::Host).expect("a free superblock");
    let units = blocks.room(Stream::Host);
    blocks.place(Stream::Host, units, units, Seq(last));
    blocks.programmed(sb, units);
    sb
}

/// Copies of a map unit are being programmed, each complete up to one of these numbers. Metadata begins with unit 8.
fn being_programmed<const N: usize>(numbers: [u64; N]) -> (Core, HpUfs) {
    let geometry = Geometry { pages_per_block: 8, data_superblocks: 1, ..small::config().geometry };
    let (mut core, mut map) = device_of(EngineConfig { geometry, ..small::config() });
    for seq in numbers {
        map.writebacks.queue(&mut core, UNIT, Seq(seq), copy(seq).entries);
        map.writebacks.program(&mut core, 1);
    }
    (core, map)
}

pub(super) fn device_of(cfg: EngineConfig) -> (Core, HpUfs) {
    let own = small::params::<crate::HpUfs>();
    let units = HpUfs::map_units(&cfg, &own);
    let core = Core::in_test(cfg, units);
    let map = HpUfs::new(&core, &own);
    (core, map)
}

/// Two copies of a map unit are being programmed. One holds all changes up to 5, the other up to 9.
fn two_copies() -> (Core, HpUfs) {
    let (core, mut map) = device_of(small::config());
    map.writebacks.programming =
        [(Ppa(10), 5), (Ppa(20), 9)].map(|(ppa, seq)| Programming { ppa, copy: copy(seq) }).into();
    map.writebacks.coming[UNIT.index()] = Seq(9);
    (core, map)
}

/// The copies at these places were being programmed when the power was cut, and can be read.
fn survivors(places: &[u32]) -> ProgrammedSet {
    let mut set = ProgrammedSet::default();
    for &place in places {
        set.add(Programmed::in_test(Piece::of(UNIT), Ppa(place)));
    }
    set
}

#[test]
fn an_attest_is_for_the_newer_of_two_copies() {
    let (mut core, mut map) = two_copies();
    map.writebacks.attest(&mut core, UNIT, Seq(12));
    assert_eq!(map.writebacks.programming.iter().map(|p| p.copy.seq.0).collect::<Vec<_>>(), [5, 12]);
    assert_eq!(map.writebacks.coming[UNIT.index()], Seq(12));
}

#[test]
fn of_two_copies_the_newer_one_counts_whichever_survives_a_power_cut() {
    for (survived, expected) in [(vec![10, 20], 9), (vec![20], 9), (vec![10], 5)] {
        let (mut core, mut map) = two_copies();
        map.on_power_loss(&mut core, &survivors(&survived));
        let found = core.inspect(LPA);
        assert_eq!(found, (Ppa::unpack(expected), Seq(expected.into())), "{survived:?}");
    }
}

#[test]
fn a_copy_that_was_overtaken_does_not_come_back_after_a_power_cut() {
    let (mut core, mut map) = two_copies();
    let newer = map.writebacks.programming.pop_back().expect("two copies").copy;
    let programmed = survivors(&[20]);
    keep_content(&mut core, programmed.next(&mut 0, Piece::of(UNIT)).expect("it is on flash"), newer);
    map.on_power_loss(&mut core, &survivors(&[10]));
    assert_eq!(core.inspect(LPA), (Ppa::unpack(9), Seq(9)));
}

/// Both programs end well, and either may end first. A read shows at each place what was programmed there.
#[test]
fn both_copies_stand_at_their_places_whichever_program_ends_first() {
    for order in [[0, 1], [1, 0]] {
        let (mut core, mut map) = being_programmed([5, 9]);
        let places = [10, 20].map(Ppa);
        map.writebacks.programming.iter_mut().zip(places).for_each(|(p, place)| p.ppa = place);
        for at in order {
            let newest = map.piece_programmed(&mut core, &Programmed::in_test(Piece::of(UNIT), places[at]));
            assert_eq!(newest, at == 1 || order == [0, 1], "copy {at} of {order:?}");
        }
        assert_eq!(core.meta().segment_seq(UNIT), Seq(9));
        for (place, number) in places.into_iter().zip([5, 9]) {
            core.meta_in_test().moved(Piece::of(UNIT), place);
            let loaded = core.read_in_test(UNIT);
            let view = core.view(&loaded);
            assert_eq!((view.entry(LPA), view.seq()), (Ppa::unpack(number), Seq(number.into())), "{order:?}");
        }
    }
}

/// Programmed again, it would have the later stamp, and recovery would take it for the newer copy.
#[test]
fn the_older_of_two_copies_is_not_programmed_again_when_its_program_fails() {
    for newer_on_flash in [false, true] {
        let (mut core, mut map) = being_programmed([5, 9]);
        let (older, newer) = (Ppa(10), Ppa(20));
        (map.writebacks.programming[0].ppa, map.writebacks.programming[1].ppa) = (older, newer);
        assert!(map.repeats(&mut core, Piece::of(UNIT), newer), "the newer copy is programmed again");
        if newer_on_flash {
            map.piece_programmed(&mut core, &Programmed::in_test(Piece::of(UNIT), newer));
        }
        assert!(!map.repeats(&mut core, Piece::of(UNIT), older), "on flash: {newer_on_flash}");
        assert_eq!(map.writebacks.held(), u16::from(!newer_on_flash), "its buffer is free");
    }
}

/// A copy with the same number is no newer one.
#[test]
fn a_copy_as_new_as_the_one_on_flash_is_programmed_again() {
    for (on_flash, repeated) in [(8, true), (9, true), (10, false)] {
        let (mut core, mut map) = being_programmed([9]);
        core.raise_segment_seq(UNIT, Seq(on_flash));
        let place = map.writebacks.programming[0].ppa;
        assert_eq!(map.repeats(&mut core, Piece::of(UNIT), place), repeated, "{on_flash}");
    }
}

#[test]
fn a_block_that_a_trim_has_emptied_stays_in_the_record_until_the_trim_is_safe() {
    let (mut core, mut map) = two_copies();
    let sb = core.blocks_in_test().open_next(Stream::Host).expect("a free superblock");
    map.opened(&mut core, sb);
    let units = core.layout().superblock_units();
    let seq = core.take_seq_in_test(units);
    core.blocks_in_test().place(Stream::Host, units, units, seq.plus(units - 1));
    core.blocks_in_test().programmed(sb, units);
    let trim = core.take_seq_in_test(units);
    core.trims_in_test().push(Lpa(0), units, trim);
    map.retire(&mut core, sb);
    assert!(map.log_blocks(&core).is_empty(), "the mapping does not need it any more");
    assert_eq!(core.trims_in_test().held().collect::<Vec<_>>(), [sb]);
    let page = core.trims_in_test().start_write().expect("an empty journal");
    core.trims_in_test().written(page);
    assert_eq!(core.trims_in_test().held().count(), 0);
}
