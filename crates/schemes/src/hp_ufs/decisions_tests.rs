//! What the scheme decides: what it believes of the host, when work is due, what is valid.

use ufs::{HpbNotice, PiggyBack, Tag};

use super::tests::{UNIT, copy, device_of, fill};
use super::*;
use crate::small;
use ftl::seat::State;

/// A new device: at most 8 log blocks, a log of 128 entries.
fn device() -> (Core, HpUfs) {
    device_of(small::config())
}

/// Logs `n` changes, each with an entry of its own.
fn log(core: &mut Core, map: &mut HpUfs, n: u32) {
    for _ in 0..n {
        let seq = core.take_seq_in_test(1);
        let at = 2 * seq.0 as u32;
        map.log(core, Change { lpa: Lpa(at), ppa: Some(Ppa(at)), seq, source: None });
    }
}

/// The piggyback of a response.
fn respond(core: &mut Core, map: &mut HpUfs) -> PiggyBack {
    let (hpb, piggyback) = (HpbNotice::None, PiggyBack::default());
    let mut response = Response { tag: Tag(0), status: Status::Good, data: DataIn::None, hpb, piggyback };
    map.respond(core, &mut response);
    response.piggyback
}

/// The log holds 128 entries of 16 bytes. The directory has a place of 4 bytes for each of 4 segments, 80 superblocks,
/// two records and 32 pages of the journal, and a number for each segment. Ten bitmaps of log blocks and trims take 16
/// bytes, with their numbers; each superblock has one for the bitmap that the host sends.
#[test]
fn the_tables_take_sram() {
    let (core, map) = device();
    let sram = 128 * 16 + 4 * (4 + 80 + 2 + 32) + 4 * 4 + 10 * 16 + 80 * 4;
    assert_eq!(map.memory(&core), MapMemory { sram, ..MapMemory::default() });
}

/// After recovery all changes are in segments on flash, so the host begins with the last.
#[test]
fn recovery_ends_with_the_last_change_applied() {
    let mut core = device().0;
    core.take_seq_in_test(5);
    let map = HpUfs::restored(&mut core, &small::params::<crate::HpUfs>());
    assert_eq!((map.host_seq, map.newest), (Seq(5), Seq(5)));
}

#[test]
fn the_log_forgets_what_the_host_has_applied_and_not_what_it_can_not_have_applied() {
    let (mut core, mut map) = device();
    log(&mut core, &mut map, 3);
    assert_eq!(core.transfer(3).len(), 3);
    for (claimed, believed, left) in [(4, 0, 3), (2, 2, 1), (1, 2, 1), (4, 2, 1), (3, 3, 0)] {
        map.on_command(&mut core, Seq(claimed), None);
        assert_eq!((map.host_seq, core.log().len()), (Seq(believed), left), "the host claims {claimed}");
    }
}

#[test]
fn a_superblock_is_free_only_if_the_host_has_applied_all_of_its_changes() {
    for (host_seq, expected) in [(8, State::Closed), (9, State::Erasing), (10, State::Erasing)] {
        let (mut core, mut map) = device();
        let sb = fill(core.blocks_in_test(), 9);
        (map.host_seq, map.newest) = (Seq(host_seq), Seq(10));
        map.on_command(&mut core, Seq(host_seq), Some(sb));
        assert_eq!(core.blocks().state(sb), expected, "applied up to {host_seq}");
    }
}

/// Another command may have told a larger number since; the block may have been filled meanwhile.
#[test]
fn a_freed_block_is_believed_as_of_the_command_that_names_it() {
    let (mut core, mut map) = device();
    let sb = fill(core.blocks_in_test(), 9);
    (map.host_seq, map.newest) = (Seq(9), Seq(10));
    map.on_command(&mut core, Seq(8), Some(sb));
    assert_eq!(core.blocks().state(sb), State::Closed, "it was named before change 9 came to it");
    map.on_command(&mut core, Seq(9), Some(sb));
    assert_eq!(core.blocks().state(sb), State::Erasing);
}

#[test]
fn a_host_that_has_lost_responses_gets_every_entry_that_is_left() {
    let (mut core, mut map) = device();
    log(&mut core, &mut map, 3);
    let numbers = |map: &mut HpUfs, core: &mut Core, op| {
        let answer = map.metadata(core, op, DataOut::None, Seq(0));
        let Answer::Now(Status::Good, DataIn::Entries(entries)) = answer else { panic!("{answer:?}") };
        entries.iter().map(|entry| entry.seq.0).collect::<Vec<_>>()
    };
    assert_eq!(numbers(&mut map, &mut core, Op::EntryTransfer), [1, 2, 3]);
    assert_eq!(numbers(&mut map, &mut core, Op::EntryTransfer), [0; 0]);
    map.on_command(&mut core, Seq(1), None);
    assert_eq!(numbers(&mut map, &mut core, Op::EntriesAgain), [2, 3]);
    assert_eq!(numbers(&mut map, &mut core, Op::EntryTransfer), [0; 0]);
}

#[test]
fn a_transfer_hands_entries_over() {
    let (mut core, mut map) = device();
    log(&mut core, &mut map, 3);
    let answer = map.metadata(&mut core, Op::EntryTransfer, DataOut::None, Seq(0));
    let Answer::Now(Status::Good, DataIn::Entries(entries)) = answer else { panic!("{answer:?}") };
    assert_eq!(entries.iter().map(|entry| entry.seq.0).collect::<Vec<_>>(), [1, 2, 3]);
}

#[test]
fn the_host_is_told_of_a_backlog_of_more_entries_than_the_parameter_says() {
    let (mut core, mut map) = device();
    map.own.handover_above_entries = 2;
    log(&mut core, &mut map, 4);
    // Each response takes one entry along.
    for (expected, seq) in [(true, 1), (true, 2), (false, 3), (false, 4)] {
        let piggyback = respond(&mut core, &mut map);
        assert_eq!(piggyback.want_entries, expected, "before entry {seq}");
        assert!(matches!(piggyback.notice, Notice::Entry(entry) if entry.seq == Seq(seq)));
    }
    assert_eq!(respond(&mut core, &mut map).notice, Notice::None);
}

#[test]
fn gc_pauses_while_the_host_lags_behind_or_the_log_is_filling() {
    let (mut core, mut map) = device();
    (map.own.handover_above_entries, map.own.gc_pause_at_entries) = (2, 5);
    for ready in [true, true, true, false] {
        assert_eq!(map.gc_ready(&core), ready, "{} entries, none sent", core.log().len());
        log(&mut core, &mut map, 1);
    }
    core.transfer(4);
    assert!(map.gc_ready(&core), "4 entries, all sent");
    log(&mut core, &mut map, 1);
    assert!(!map.gc_ready(&core), "5 entries");
}

/// The host may have made its bitmap before a change that the log has.
#[test]
fn a_page_is_valid_unless_the_log_has_a_newer_place() {
    let (mut core, mut map) = device();
    let units = core.layout().superblock_units();
    let page = Ppa(3 * units + 1);
    let changes = [
        (10, Some(page), None),
        (11, Some(Ppa(7)), None),
        (12, None, None),
        (13, Some(Ppa(8)), Some(Superblock(3))),
        (14, Some(Ppa(9)), Some(Superblock(4))),
    ];
    for (seq, (lpa, ppa, source)) in (1..).zip(changes) {
        map.log(&mut core, Change { lpa: Lpa(lpa), ppa, seq: Seq(seq), source });
    }
    let valid = |lpa| map.still_valid(&core, Lpa(lpa), page);
    assert!(valid(9) && valid(4095), "the log has nothing of it");
    assert!(valid(10) && !valid(11) && !valid(12));
    assert!(!valid(13), "it has been copied from this superblock");
    assert!(valid(14), "a copy from another superblock is not of this page");
    assert!(!valid(4096) && !valid(u32::MAX), "no address of this device");
}

#[test]
fn a_trim_of_four_units_has_four_numbers() {
    let (mut core, mut map) = device();
    map.trimmed(&mut core, Lpa(1030), 4, Seq(1));
    assert_eq!([3, 4].map(|on_flash| map.log_blocks.may_lack_change(SegmentId(1), Seq(on_flash))), [true, false]);
    assert_eq!((core.log().get(Lpa(1033)).map(|logged| logged.seq), map.newest), (Some(Seq(4)), Seq(4)));
    assert!(!map.log_blocks.writeback_due());
    map.absorb_trims(&mut core);
    assert!(map.log_blocks.writeback_due(), "the journal is nearly full");
}

/// The host's stream leaves the last of eight log blocks to GC. A stall counts once, however often the stream asks.
#[test]
fn a_stall_is_counted_when_it_begins() {
    let (mut core, mut map) = device();
    let mut may_open = |map: &mut HpUfs, stream| (map.may_open(&mut core, stream), map.counters.log_block_stalls);
    for n in 0..7 {
        assert_eq!(may_open(&mut map, Stream::Host), (true, 0), "{n} log blocks");
        map.log_blocks.add(Superblock(n));
    }
    assert_eq!(may_open(&mut map, Stream::Gc), (true, 0));
    for _ in 0..3 {
        assert_eq!(may_open(&mut map, Stream::Host), (false, 1));
        assert_eq!(may_open(&mut map, Stream::Gc), (true, 1), "another stream");
    }
    map.log_blocks.remove(Superblock(0));
    assert_eq!(may_open(&mut map, Stream::Host), (true, 1));
    [7, 8].into_iter().for_each(|n| map.log_blocks.add(Superblock(n)));
    assert_eq!(may_open(&mut map, Stream::Gc), (false, 1), "only the host's stream is counted");
    assert_eq!(may_open(&mut map, Stream::Host), (false, 2), "it is the second stall");
}

/// Without a segment in SRAM, what was never written and what the log has need no flash read. A copy in the log does
/// not tell what stands in the segment below it.
#[test]
fn the_device_alone_resolves_what_it_is_sure_of() {
    let (mut core, mut map) = device();
    let sb = core.blocks_in_test().open_next(Stream::Host).expect("a free superblock");
    map.opened(&mut core, sb);
    for (seq, lpa, source) in [(1, 10, None), (2, 20, Some(Superblock(4)))] {
        let (ppa, seq) = (Ppa(lpa), Seq(seq));
        map.committed(&mut core, Commit { lpa: Lpa(lpa), ppa, seq, source, newest: true, overtaken: false });
    }
    let page = |ppa| Resolved::Page { ppa: Ppa(ppa), from_host: false };
    let expected = [(10, true, page(10)), (20, false, Resolved::Unknown), (30, false, Resolved::Unknown)];
    for (lpa, cached, resolved) in [&expected[..], &[(1024, true, Resolved::Unmapped)]].concat() {
        assert_eq!(map.cached(&core, Lpa(lpa)), cached, "LPA {lpa}");
        assert_eq!(map.resolve(&mut core, Lpa(lpa), HostSays::Nothing), resolved, "LPA {lpa}");
    }
}

#[test]
fn the_log_corrects_the_host() {
    let (mut core, mut map) = device();
    for (seq, lpa, ppa) in [(1, 10, Some(Ppa(100))), (2, 20, None)] {
        map.log(&mut core, Change { lpa: Lpa(lpa), ppa, seq: Seq(seq), source: None });
    }
    let page = |ppa, from_host| Resolved::Page { ppa: Ppa(ppa), from_host };
    for (lpa, host, resolved) in [
        (10, HostSays::At(Ppa(99)), page(100, false)),
        (10, HostSays::At(Ppa(100)), page(100, true)),
        (10, HostSays::Unmapped, page(100, false)),
        (20, HostSays::At(Ppa(99)), Resolved::Unmapped),
        (30, HostSays::At(Ppa(99)), page(99, true)),
        (30, HostSays::Unmapped, Resolved::Unmapped),
    ] {
        assert_eq!(map.resolve(&mut core, Lpa(lpa), host), resolved, "LPA {lpa}, {host:?}");
    }
    assert_eq!(core.stats_in_test().log_hits, 4);
}

/// A row of this device is one unit.
#[test]
fn a_full_row_of_segments_is_programmed_at_once() {
    let (mut core, mut map) = device();
    map.background(&mut core, false);
    for n in 1..=2 {
        map.writebacks.queue(&mut core, UNIT, Seq(n), copy(n).entries);
        assert_eq!(map.held_map_buffers(), n as usize);
        map.background(&mut core, false);
        assert_eq!((map.writebacks.queue_len(), map.writebacks.programming.len()), (0, n as usize));
    }
}
