//! Superblocks and the log: what may be opened or collected, what is still valid, and when the log has to be emptied.

use super::tests::core;
use super::*;
use crate::small;
use ftl::seat::State;

fn dftl(core: &Core) -> Dftl {
    Dftl::with_cache(core, &small::params::<crate::Dftl>(), 8 * 64)
}

/// Fills a superblock for the host. Its programs are still under way. Gives its number.
fn fill(core: &mut Core) -> Superblock {
    let units = core.layout().superblock_units();
    let sb = core.blocks_in_test().open_next(Stream::Host).expect("a free superblock");
    let seq = core.take_seq_in_test(units);
    core.blocks_in_test().place(Stream::Host, units, units, seq.plus(units - 1));
    sb
}

/// A copy of an address by GC, from `source`.
fn copy(core: &mut Core, lpa: u32, ppa: Ppa, source: Superblock) -> Commit {
    Commit { lpa: Lpa(lpa), ppa, seq: core.take_seq_in_test(1), source: Some(source), newest: true, overtaken: false }
}

/// Puts so many trims into the log, none of which continues the one before.
fn trim(map: &mut Dftl, core: &mut Core, n: u32) {
    for i in 0..n {
        let seq = core.take_seq_in_test(1);
        map.trimmed(core, Lpa(2 * i), 1, seq);
    }
}

/// A trim takes up to 32 entries, a row of the host and one of GC take one each.
#[test]
fn the_log_is_emptied_when_a_trim_and_two_rows_might_not_fit() {
    let mut core = core();
    let mut map = dftl(&core);
    assert!(!map.wants_flush(&core), "nothing in it");
    trim(&mut map, &mut core, 1);
    assert!(!map.wants_flush(&core));
    trim(&mut map, &mut core, 94);
    assert_eq!((core.log().room(), map.wants_flush(&core)), (128 - 95, true));

    let mut core = super::tests::core();
    let mut map = dftl(&core);
    trim(&mut map, &mut core, 94);
    assert_eq!((core.log().room(), map.wants_flush(&core)), (32 + 2, false));
}

#[test]
fn an_empty_log_is_never_crowded() {
    let cfg = small::config();
    let cfg = EngineConfig { log: ftl::LogConfig { entries: 8, ..cfg.log }, ..cfg };
    let units = Dftl::map_units(&cfg, &small::params::<crate::Dftl>());
    let core = Core::in_test(cfg, units);
    assert!(!dftl(&core).wants_flush(&core), "8 entries are too few for a trim, but a flush would gain nothing");
}

#[test]
fn a_victim_or_a_host_that_waits_has_the_log_emptied() {
    let asks: [fn(&mut Dftl, &mut Core); 2] =
        [|map, core| map.starved(core), |map, core| map.collected(core, Superblock(70))];
    for ask in asks {
        let mut core = core();
        let mut map = dftl(&core);
        map.valid.add(Superblock(70));
        ask(&mut map, &mut core);
        assert!(!map.wants_flush(&core), "there is nothing in it");
        trim(&mut map, &mut core, 1);
        assert!(!map.wants_flush(&core));
        ask(&mut map, &mut core);
        assert!(map.wants_flush(&core));
        ask(&mut map, &mut core);
        assert!(map.wants_flush(&core), "asked twice");
    }
}

/// Recovery scans eight log blocks at most. The host leaves the last one to GC.
#[test]
fn no_superblock_is_opened_beyond_the_log_blocks_that_recovery_may_scan() {
    let mut core = core();
    let mut map = dftl(&core);
    for _ in 0..6 {
        fill(&mut core);
    }
    assert!(map.may_open(&mut core, Stream::Host));
    assert!(!map.wants_flush(&core));
    fill(&mut core);
    assert_eq!(map.log_blocks(&core), (0..7).map(Superblock).collect::<Vec<_>>());
    assert!(map.may_open(&mut core, Stream::Gc));
    assert!(!map.wants_flush(&core));
    assert!(!map.may_open(&mut core, Stream::Host));
    assert!(map.wants_flush(&core), "a flush makes room");
}

/// The log could not tell a copy of a copy from a copy that was overtaken.
#[test]
fn a_superblock_with_copies_in_the_log_is_neither_collected_nor_settled() {
    let mut core = core();
    let mut map = dftl(&core);
    for sb in [0, 1, 2].map(Superblock) {
        assert_eq!(fill(&mut core), sb);
        core.blocks_in_test().programmed(sb, 64);
        map.valid.add(sb);
    }
    assert_eq!(map.victim(&mut core, None).map(|victim| victim.sb), Some(Superblock(0)));
    assert!(map.log_blocks(&core).is_empty());
    // Two copies into superblock 0 and one into superblock 1.
    for (lpa, place) in [(700, 10), (900, 64), (800, 12)] {
        let copy = copy(&mut core, lpa, Ppa(place), Superblock(lpa / 64));
        map.committed(&mut core, copy);
    }
    assert_eq!(map.logged_blocks(&core), [Superblock(0), Superblock(1)]);
    assert_eq!(map.log_blocks(&core), [Superblock(0), Superblock(1)]);
    assert_eq!(map.victim(&mut core, None).map(|victim| victim.sb), Some(Superblock(2)));
    assert_eq!(map.victim(&mut core, Some(Superblock(1))).map(|victim| victim.sb), Some(Superblock(2)));
}

#[test]
fn a_page_that_was_read_for_a_copy_counts_only_while_the_cache_names_it() {
    let core = core();
    let mut map = dftl(&core);
    map.cmt.insert(Lpa(301), Some(Ppa(4000)));
    map.cmt.insert(Lpa(302), None);
    let answers = [(301, 4000), (301, 301), (302, 302)].map(|(lpa, ppa)| map.still_valid(&core, Lpa(lpa), Ppa(ppa)));
    assert_eq!(answers, [true, false, false]);
}

/// Its pages were overwritten while the last program was under way.
#[test]
fn a_superblock_without_valid_pages_is_erased_as_soon_as_it_is_whole() {
    let mut core = core();
    let mut map = dftl(&core);
    let sb = fill(&mut core);
    map.program_done(&mut core, sb);
    assert_eq!(core.blocks().state(sb), State::Closed, "programs are under way");
    core.blocks_in_test().programmed(sb, 64);
    map.valid.add(sb);
    map.program_done(&mut core, sb);
    assert_eq!(core.blocks().state(sb), State::Closed, "a page is valid");
    map.valid.remove(sb);
    map.program_done(&mut core, sb);
    assert_eq!(core.blocks().state(sb), State::Erasing);
}
