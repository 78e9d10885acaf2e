//! The valid page bitmap, and what becomes of superblocks and trims, without a device around.

use ufs::LpaRun;

use super::*;
use crate::small;
use ftl::seat::*;
use units::{Lpa, MapUnit, Seq, Superblock};

/// 4096 addresses; superblocks of 96 units, so that every second one begins within a word of the bitmap.
fn device() -> (Core, Ideal) {
    let cfg = small::config();
    let cfg = ftl::EngineConfig { geometry: nand::Geometry { pages_per_block: 96, ..cfg.geometry }, ..cfg };
    let units = Ideal::map_units(&cfg, &NoParams::default());
    let core = Core::in_test(cfg, units);
    let map = Ideal::new(&core, &NoParams::default());
    (core, map)
}

/// Writes the next units of the host, one for each address. They fill superblocks from the first one on.
fn write(core: &mut Core, map: &mut Ideal, lpas: impl Iterator<Item = u32>) {
    for lpa in lpas {
        if core.blocks().open(Stream::Host).is_none() {
            core.blocks_in_test().open_next(Stream::Host).expect("a free superblock");
        }
        let seq = core.take_seq_in_test(1);
        let ppa = core.blocks_in_test().place(Stream::Host, 1, 1, seq);
        let sb = core.superblock_of(ppa);
        core.blocks_in_test().programmed(sb, 1);
        map.committed(core, Commit { lpa: Lpa(lpa), ppa, seq, source: None, newest: true, overtaken: false });
    }
}

/// The places of the valid pages of a victim, within its superblock.
fn valid_pages(core: &mut Core, map: &mut Ideal, victim: &mut Victim) -> Vec<u32> {
    let first = core.layout().first_ppa(victim.sb);
    assert_eq!(map.search(core, victim, 1000), Search::Exhausted);
    victim.found.iter().map(|ppa| ppa.0 - first.0).collect()
}

/// Another die has programmed a newer write first. The page counts only while that one is not on flash.
#[test]
fn a_page_that_a_newer_one_on_flash_has_overtaken_counts_for_nothing() {
    let (mut core, mut map) = device();
    core.buffer_in_test().put(Lpa(7), 1, None);
    let place = |map: &mut Ideal, core: &mut Core| map.resolve(core, Lpa(7), HostSays::Nothing);
    for (at, overtaken, holds) in [(10, false, true), (5, true, false), (12, false, true)] {
        let (lpa, seq) = (Lpa(7), Seq(u64::from(at)));
        let before = place(&mut map, &mut core);
        map.committed(&mut core, Commit { lpa, ppa: Ppa(at), seq, source: None, newest: false, overtaken });
        assert_eq!(place(&mut map, &mut core) == Resolved::own(Some(Ppa(at))), holds, "{at}");
        assert!(holds || place(&mut map, &mut core) == before);
    }
}

#[test]
fn the_bitmap_of_a_victim_has_its_valid_pages_and_no_others() {
    let (mut core, mut map) = device();
    // Superblock 0 has the first 96 addresses, and so on. Then all but five of superblock 1 are overwritten or trimmed.
    write(&mut core, &mut map, 0..288);
    write(&mut core, &mut map, 97..159);
    let seq = core.take_seq_in_test(29);
    map.trimmed(&mut core, Lpa(161), 29, seq);
    let mut victim = map.victim(&mut core, None).expect("three superblocks are full");
    assert_eq!((victim.sb, victim.valid), (Superblock(1), 5));
    // Addresses 96, 159, 160, 190 and 191.
    assert_eq!(valid_pages(&mut core, &mut map, &mut victim), [0, 63, 64, 94, 95]);
    let mut whole = map.victim(&mut core, Some(Superblock(2))).expect("named");
    assert_eq!(valid_pages(&mut core, &mut map, &mut whole), (0..96).collect::<Vec<_>>());
}

#[test]
fn a_page_is_worth_a_copy_while_the_table_names_it() {
    let (mut core, mut map) = device();
    write(&mut core, &mut map, [5, 6, 5].into_iter());
    let seq = core.take_seq_in_test(1);
    map.trimmed(&mut core, Lpa(6), 1, seq);
    let answers = [(5, 0), (6, 1), (5, 2)].map(|(lpa, ppa)| map.still_valid(&core, Lpa(lpa), Ppa(ppa)));
    assert_eq!(answers, [false, false, true]);
}

#[test]
fn the_table_answers_whatever_was_loaded() {
    let (mut core, mut map) = device();
    write(&mut core, &mut map, [7, 5].into_iter());
    let loaded = core.unwritten(MapUnit(0)).expect("no segment was ever written");
    let answers = [5, 6].map(|lpa| map.resolve_loaded(&mut core, &loaded, Lpa(lpa), LoadedFor::Group));
    assert_eq!(answers, [Some(Ppa(1)), None]);
    let mut runs = Vec::new();
    map.cached_runs(&core, &mut runs);
    assert_eq!(runs, [LpaRun { lpa: Lpa(0), len: 4096 }]);
    assert_eq!(map.cache_entries(&core), 4096);
}

/// Copies of its pages may wait for a full row.
#[test]
fn a_superblock_that_was_collected_is_no_victim_again() {
    let (mut core, mut map) = device();
    write(&mut core, &mut map, 0..192);
    write(&mut core, &mut map, 0..10);
    assert_eq!(map.victim(&mut core, None).map(|victim| victim.sb), Some(Superblock(0)));
    map.collected(&mut core, Superblock(0));
    assert_eq!(core.blocks().state(Superblock(0)), State::Closed, "its copies are not on flash");
    assert!(map.victim(&mut core, None).is_none(), "the other one is valid as a whole");
    write(&mut core, &mut map, 10..96);
    assert_eq!(core.blocks().state(Superblock(0)), State::Erasing);
}

#[test]
fn a_superblock_that_was_overwritten_before_its_last_program_ended_is_erased() {
    let (mut core, mut map) = device();
    let sb = core.blocks_in_test().open_next(Stream::Host).expect("a free superblock");
    let seq = core.take_seq_in_test(96);
    core.blocks_in_test().place(Stream::Host, 96, 96, seq.plus(95));
    map.program_done(&mut core, sb);
    assert_eq!(core.blocks().state(sb), State::Closed, "programs are under way");
    core.blocks_in_test().programmed(sb, 96);
    map.program_done(&mut core, sb);
    assert_eq!(core.blocks().state(sb), State::Erasing);
}

/// Trims of both segments are being written when power goes. Only the program of segment 1 survives.
#[test]
fn a_power_cut_leaves_the_trims_whose_programs_survived() {
    let (mut core, mut map) = device();
    write(&mut core, &mut map, [9, 1500, 1501].into_iter());
    for lpa in [9, 1500] {
        let seq = core.take_seq_in_test(1);
        map.trimmed(&mut core, Lpa(lpa), 1, seq);
    }
    for lpa in [9, 1500, 1501] {
        core.assume_entry(Lpa(lpa), Some(Ppa(3)));
    }
    map.absorb_trims(&mut core);
    assert!(map.wants_flush(&core) && !map.flush(&mut core), "programs are under way");
    let mut survived = ProgrammedSet::default();
    survived.add(Programmed::in_test(Piece(1), Ppa(3)));
    map.on_power_loss(&mut core, &survived);
    let found = [9, 1500, 1501].map(|lpa| core.inspect(Lpa(lpa)));
    assert_eq!(found, [(Some(Ppa(3)), Seq(0)), (None, Seq(5)), (Some(Ppa(2)), Seq(5))]);
}
