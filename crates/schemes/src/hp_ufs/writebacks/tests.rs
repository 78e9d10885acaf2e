//! Map units from the host on their way to flash.

use super::*;
use crate::hp_ufs::HpUfs;
use crate::small;
use ftl::seat::Scheme;

/// A device with map units of this size.
fn device(kib: u32) -> (Core, Writebacks) {
    let (cfg, mut own) = (small::config(), small::params::<crate::HpUfs>());
    own.segment_kib = kib;
    let units = HpUfs::map_units(&cfg, &own);
    let core = Core::in_test(cfg, units);
    let writebacks = Writebacks::new(&core);
    (core, writebacks)
}

fn part(value: u32) -> Entries {
    Entries::Part([value; 256].into())
}

fn whole(value: u32) -> Entries {
    Entries::Whole(SegmentState::of(&[value; 1024]))
}

/// Number and first entry of the map units that wait.
fn queued(writebacks: &Writebacks) -> Vec<(MapUnit, Seq, u32)> {
    let first = |entries: &Entries| match entries {
        Entries::Whole(state) => state.entry(0),
        Entries::Part(packed) => packed[0],
    };
    writebacks.queued.iter().map(|w| (w.unit, w.seq, first(&w.entries))).collect()
}

#[test]
fn each_copy_of_a_whole_segment_waits_for_a_place_of_its_own() {
    let (mut core, mut writebacks) = device(4);
    assert_eq!((writebacks.queue_len(), writebacks.held()), (0, 0));
    let (a, b) = (MapUnit(1), MapUnit(2));
    writebacks.queue(&mut core, a, Seq(3), whole(30));
    writebacks.queue(&mut core, b, Seq(4), whole(40));
    writebacks.queue(&mut core, a, Seq(5), whole(50));
    assert_eq!(queued(&writebacks), [(a, Seq(3), 30), (b, Seq(4), 40), (a, Seq(5), 50)]);
    assert_eq!((writebacks.queue_len(), writebacks.held()), (3, 3));
}

/// Four parts share a buffer. Two copies of a part in one flash unit could not be told apart, so only the newer waits.
#[test]
fn a_newer_copy_of_a_part_replaces_the_one_that_waits() {
    let (mut core, mut writebacks) = device(1);
    let (a, b) = (MapUnit(5), MapUnit(9));
    writebacks.queue(&mut core, a, Seq(3), part(30));
    writebacks.queue(&mut core, b, Seq(4), part(40));
    writebacks.queue(&mut core, a, Seq(5), part(50));
    assert_eq!(queued(&writebacks), [(a, Seq(5), 50), (b, Seq(4), 40)]);
    assert_eq!((writebacks.queue_len(), writebacks.held()), (2, 1));
    writebacks.program(&mut core, 4);
    writebacks.queue(&mut core, a, Seq(6), part(60));
    assert_eq!((queued(&writebacks), writebacks.programming.len()), (vec![(a, Seq(6), 60)], 2));
}

/// A segment is as complete as the oldest of its parts, and a part as the newest of its copies.
#[test]
fn a_segment_is_complete_when_its_parts_are_on_flash() {
    let (mut core, mut writebacks) = device(1);
    let segment = SegmentId(1);
    for (unit, seq) in [(4, 7), (5, 3), (6, 12), (7, 8)] {
        core.raise_segment_seq(MapUnit(unit), Seq(seq));
    }
    assert_eq!(written(&core, segment), Seq(3));
    assert_eq!(writebacks.complete_when_done(&core, segment), None, "nothing is under way");
    writebacks.queue(&mut core, MapUnit(8), Seq(9), part(1));
    assert_eq!(writebacks.complete_when_done(&core, segment), None, "a part of another segment is under way");
    writebacks.queue(&mut core, MapUnit(5), Seq(6), part(1));
    assert_eq!(writebacks.complete_when_done(&core, segment), Some(Seq(6)));
    writebacks.queue(&mut core, MapUnit(5), Seq(9), part(1));
    assert_eq!(writebacks.complete_when_done(&core, segment), Some(Seq(7)));
    assert_eq!(written(&core, segment), Seq(3), "what is under way is not on flash");
}
