//! Which pages a flush writes, and what a power cut leaves of them.

use super::*;
use crate::demand::tests::core;
use crate::demand::{Cdftl, Dftl};
use crate::small;
use ftl::seat::{Flush, Loaded, Programmed, Recover};

fn dftl(core: &Core) -> Dftl {
    Dftl::with_cache(core, &small::params::<crate::Dftl>(), 8 * 64)
}

/// A command that arrives breaks an idle flush off, but not one that has to make room.
#[test]
fn a_flush_with_a_reason_is_no_idle_flush() {
    let reasons: [(Wanted, bool, &[u32]); 4] = [
        (Wanted { idle: true, ..Wanted::default() }, true, &[1]),
        (Wanted { idle: true, evict: Some(MapUnit(3)), ..Wanted::default() }, false, &[3]),
        (Wanted { evict: Some(MapUnit(3)), ..Wanted::default() }, false, &[3]),
        (Wanted { trims: true, ..Wanted::default() }, false, &[]),
    ];
    for (wanted, idle, pages) in reasons {
        let mut core = core();
        let mut map = dftl(&core);
        map.cmt.insert(Lpa(600), None);
        map.cmt.set(Lpa(600), Some(Ppa(5)));
        let what = format!("{wanted:?}");
        map.wanted = wanted;
        map.begin(&mut core);
        assert_eq!(map.flush.idle, idle, "{what}");
        assert_eq!(map.flush.todo.iter().map(|unit| unit.0).collect::<Vec<_>>(), pages, "{what}");
    }
}

#[test]
#[should_panic(expected = "the reserve leaves buffers for a map flush")]
fn a_flush_without_a_buffer_is_a_mistake_of_the_firmware() {
    let mut core = core();
    let mut map = dftl(&core);
    map.flush.todo = [MapUnit(1)].into();
    let all = core.buffers_available(Owner::Map);
    assert!(core.take_buffers(Owner::Map, all));
    map.read_round(&mut core);
}

#[test]
fn changes_in_either_cache_are_written_in_idle_time() {
    let core = core();
    let mut map = Cdftl::with_cache(&core, &small::params::<crate::Dftl>(), 8 * 1024);
    let wait = Some(units::Nanos(7));
    map.background = wait;
    map.ctp.insert(&core, &Loaded::assumed(MapUnit(2)));
    map.cmt.insert(Lpa(5), None);
    assert_eq!(map.idle_flush_after(), None);
    map.ctp.set(&core, Lpa(1030), Some(Ppa(5)));
    assert_eq!(map.idle_flush_after(), wait);
    map.ctp.forget_change(Lpa(1030));
    assert_eq!(map.idle_flush_after(), None);
    map.cmt.set(Lpa(5), Some(Ppa(5)));
    assert_eq!(map.idle_flush_after(), wait);
}

/// Translation pages 1 and 2 have been read for a flush and changed; only the program of page 1 survives the cut.
#[test]
fn a_power_cut_leaves_the_pages_whose_programs_survived() {
    for phase in [Phase::Start, Phase::Read, Phase::Apply, Phase::Written] {
        let mut core = core();
        let mut map = dftl(&core);
        let mut round = Round::default();
        for unit in [1, 2].map(MapUnit) {
            round.add(core.meta().directory(), unit);
        }
        let content = [(1, 600, Some(Ppa(9))), (1, 601, None), (2, 1100, Some(Ppa(10)))];
        let content = content.map(|(unit, lpa, ppa)| (MapUnit(unit), Lpa(lpa), ppa)).into();
        map.flush = FlushState { phase, round, content, seq: Seq(40), ..FlushState::default() };
        let mut survived = ProgrammedSet::default();
        survived.add(Programmed::in_test(Piece(1), Ppa(3)));
        map.on_power_loss(&mut core, &survived);
        let found = [600, 601, 602, 1100].map(|lpa| core.inspect(Lpa(lpa)));
        let old = |lpa| (Some(Ppa(lpa)), Seq(0));
        if phase == Phase::Written {
            let same = (Some(Ppa(602)), Seq(40));
            assert_eq!(found, [(Some(Ppa(9)), Seq(40)), (None, Seq(40)), same, old(1100)]);
        } else {
            assert_eq!(found, [600, 601, 602, 1100].map(old), "{phase:?}: nothing was being programmed");
        }
    }
}
