//! How much of a victim is read at a time, and how many pages are taken.

use nand::Geometry;
use units::{MapUnit, Superblock};

use super::*;
use crate::small;
use ftl::EngineConfig;
use ftl::seat::MapShape;

/// 4096 addresses in 4 segments of which the first so many are on flash. Rows of 8 units, 96 in a superblock.
fn core(on_flash: u32) -> Core {
    let cfg = small::config();
    let geometry = Geometry { planes: 2, units_per_page: 4, pages_per_block: 96, data_superblocks: 6, ..cfg.geometry };
    let mut core = Core::in_test(EngineConfig { geometry, ..cfg }, MapUnits::new(4096, MapShape::SEGMENT));
    let first = core.layout().first_ppa(Superblock(6));
    for unit in (0..on_flash).map(MapUnit) {
        let piece = core.meta().segment_piece(unit);
        core.meta_in_test().moved(piece, first.offset(unit.0));
    }
    core
}

/// A victim with these pages still to look up: every address is mapped to the place of the same number.
fn victim(lpas: &[u32]) -> Victim {
    let mut victim = Victim::new(Superblock(0), false, 0);
    victim.plan = lpas.iter().map(|&lpa| (Lpa(lpa), Ppa(lpa))).collect();
    victim
}

/// A scheme that knows everything.
struct Known;

impl LooksUp for Known {
    fn current(&self, _core: &Core, lpa: Lpa, _loaded: Option<&Loaded>) -> Option<Ppa> {
        Some(Ppa(lpa.0))
    }

    fn read_plan(&self, core: &mut Core, victim: &mut Victim) -> bool {
        read_map_units(core, victim, |_, _| None)
    }
}

/// 64 rows of 8 units are 512 units, whose addresses and places fill a buffer of 4 KiB. A superblock has 96 rows.
#[test]
fn a_portion_has_as_many_rows_as_fill_a_buffer_and_the_last_one_the_rest() {
    let mut core = core(0);
    let mut victim = victim(&[]);
    let mut step = |victim: &mut Victim| (search(&Known, &mut core, victim, 8), victim.scanned);
    assert_eq!(step(&mut victim), (Search::Reading, 512));
    assert_eq!(step(&mut victim), (Search::Reading, 768));
    assert_eq!(step(&mut victim), (Search::Exhausted, 768));
}

#[test]
fn every_segment_on_flash_takes_a_buffer_while_it_is_searched() {
    let mut core = core(3);
    // The last one was never written, so nothing is read for it.
    let mut victim = victim(&[5, 900, 1030, 2050, 2060, 3100]);
    let before = core.buffers_available(Owner::Map);
    assert!(read_map_units(&mut core, &mut victim, |_, _| None));
    assert_eq!((victim.held, victim.loaded), (3, 6));
    assert_eq!(core.buffers_available(Owner::Map), before - 3);
    assert_eq!(core.stats_in_test().search_segment_reads, 3);
}

#[test]
fn a_search_reads_as_many_segments_as_there_are_buffers() {
    let mut core = core(3);
    let mut victim = victim(&[5, 900, 1030, 2050, 2060, 3100]);
    let all = core.buffers_available(Owner::Map);
    assert!(core.take_buffers(Owner::Gc, all - 2));
    assert!(read_map_units(&mut core, &mut victim, |_, _| None));
    assert_eq!((victim.held, victim.loaded, core.buffers_available(Owner::Map)), (2, 3, 0));
}

#[test]
fn no_more_pages_are_taken_than_asked_for() {
    let core = core(0);
    let mut victim = victim(&[5, 6, 7, 8, 9]);
    victim.loaded = 4;
    let take = |victim: &mut Victim, budget| {
        take_valid(core.units(), victim, budget, |lpa, _| (lpa.0 != 6).then_some(Ppa(lpa.0)));
        (victim.found.clone(), victim.cursor)
    };
    assert_eq!(take(&mut victim, 0), (vec![], 0));
    assert_eq!(take(&mut victim, 2), (vec![Ppa(5), Ppa(7)], 3), "6 is elsewhere now");
    assert_eq!(take(&mut victim, 8), (vec![Ppa(5), Ppa(7), Ppa(8)], 4), "the map unit of 9 is not in SRAM");
}
