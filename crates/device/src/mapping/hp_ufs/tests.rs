//! Two copies of a map unit under way to flash, and a trim that the host has applied before the journal holds it.

use ufs::SegmentState;

use super::writebacks::{Programming, Writeback, keep_content};
use super::*;
use crate::mapping::small;

const UNIT: SegmentId = SegmentId(1);
const LPA: Lpa = Lpa(1024 + 7);

fn copy(seq: u64) -> Writeback {
    Writeback { unit: UNIT, seq: Seq(seq), entries: Entries::Whole(SegmentState::of(&[seq as u32; 1024])) }
}

/// Two copies of a map unit are being programmed. One holds all changes up to 5, the other up to 9.
fn two_copies() -> (Core, HpUfs) {
    let cfg = small::config();
    let units = HpUfs::map_units(&cfg, &small::params().HpUfs);
    let core = Core::in_test(cfg, units);
    let mut map = HpUfs::new(&core, &small::params().HpUfs);
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
        let found = core.meta().pages().inspect(LPA);
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
    assert_eq!(core.meta().pages().inspect(LPA), (Ppa::unpack(9), Seq(9)));
}

/// Programmed again, it would have the later stamp, and recovery would take it for the newer copy.
#[test]
fn the_older_of_two_copies_is_not_programmed_again_when_its_program_fails() {
    for newer_on_flash in [false, true] {
        let (mut core, mut map) = two_copies();
        map.writebacks.programming.clear();
        for seq in [5, 9] {
            let entries = Entries::Whole(SegmentState::of(&[seq as u32; 1024]));
            map.writebacks.queue(&mut core, UNIT, Seq(seq), entries);
            map.writebacks.program(&mut core, 1);
        }
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
