//! When a row is due, and who waits for the reads.

use nand::Geometry;

use super::*;
use crate::segment_log::{Mode, SegmentLogParams};
use crate::small;
use ftl::EngineConfig;
use ftl::seat::{MapShape, MapUnits};

/// Rows of two units, and eight segments.
fn core() -> Core {
    let cfg = small::config();
    let geometry = Geometry { units_per_page: 2, ..cfg.geometry };
    let cfg = EngineConfig { geometry, capacity_units: 8192, ..cfg };
    let units = MapUnits::new(cfg.capacity_units, MapShape::SEGMENT);
    Core::in_test(cfg, units)
}

/// Units under way, by letters: `p` is being programmed, `c` has been changed, `r` is being read.
fn pipeline(steps: &str) -> Pipeline {
    let mut pipeline = Pipeline::new(8, Priority::MapRead);
    for (unit, step) in (0..).map(MapUnit).zip(steps.chars()) {
        let step = match step {
            'p' => Step::Programming,
            'c' => Step::Changed,
            _ => Step::Reading(Ppa(unit.0), ExpectedSet::default()),
        };
        pipeline.units.push_back(UnderWay { unit, updates: 0..1, step });
    }
    pipeline
}

#[test]
fn a_row_is_due_when_it_is_full_or_nothing_under_way_will_fill_it() {
    // The units under way, and how many of them are programmed next, if more will enter and if not.
    let cases = [
        ("", 0, 0),
        ("ccr", 2, 2),
        ("ccc", 2, 2),
        ("cr", 0, 0),
        ("rcc", 0, 0),
        ("c", 1, 1),
        // What is being programmed gives a buffer back, and then another unit enters.
        ("pc", 0, 1),
        ("ppcc", 2, 2),
        ("pcr", 0, 0),
        ("pp", 0, 0),
    ];
    for (steps, more, last) in cases {
        for (expected, no_more) in [(more, false), (last, true)] {
            let (mut core, mut pipeline) = (core(), pipeline(steps));
            let before = pipeline.in_programs().count();
            assert_eq!(pipeline.program_row(&mut core, no_more), expected > 0, "{steps}");
            assert_eq!(pipeline.in_programs().count() - before, expected, "{steps}, the last: {no_more}");
        }
    }
}

/// Reads of an exclusive flush come before the programs of host data.
#[test]
fn commands_wait_for_the_reads_of_an_exclusive_flush_only() {
    let reads = |flush_mode| {
        let own = SegmentLogParams { flush_mode, ..SegmentLogParams::default() };
        own.flush_mode.pipeline(&own).reads
    };
    assert_eq!((reads(Mode::Pipelined), reads(Mode::Background)), (Priority::MapRead, Priority::HostWrite));
}
