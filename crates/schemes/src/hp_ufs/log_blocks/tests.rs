//! Which segments writeback asks for, and when a log block becomes a normal one.

use super::*;
use crate::hp_ufs::tests::fill;
use crate::small;

/// Segments on both sides of the border between words of a bitmap.
const A: SegmentId = SegmentId(1);
const B: SegmentId = SegmentId(70);
const C: SegmentId = SegmentId(129);

/// At most four log blocks, of 130 segments.
fn log_blocks() -> LogBlocks {
    let mut cfg = small::config();
    cfg.capacity_units = 130 * SEGMENT_ENTRIES;
    cfg.log.max_log_blocks = 4;
    LogBlocks::new(&cfg)
}

/// Numbers up to which segments are complete, on flash and when what is in SRAM is on flash, too.
#[derive(Default)]
struct Copies {
    written: Vec<(SegmentId, u64)>,
    coming: Vec<(SegmentId, u64)>,
}

fn number(copies: &[(SegmentId, u64)], segment: SegmentId) -> Option<Seq> {
    copies.iter().rfind(|(of, _)| *of == segment).map(|(_, seq)| Seq(*seq))
}

/// Three full log blocks, so that writeback is due. Changes 1 to 5 are in the first, in segments A and B, and change 9
/// in the second, in segment C.
struct Bench {
    log: LogBlocks,
    blocks: Blocks,
    full: [Superblock; 3],
    copies: Copies,
}

impl Bench {
    fn new() -> Bench {
        let mut blocks = Blocks::new(small::config().geometry.layout(), ftl::SlcConfig::NONE);
        let full = [5, 9, 9].map(|last| fill(&mut blocks, last));
        let mut log = log_blocks();
        full.iter().for_each(|&sb| log.add(sb));
        for (sb, segment, seq) in [(0, A, 5), (0, B, 2), (1, C, 9)] {
            log.note(full[sb], segment, Seq(seq));
        }
        Bench { log, blocks, full, copies: Copies::default() }
    }

    /// What a response asks for when the host has applied changes up to `host_seq`.
    fn ask(&mut self, host_seq: u64) -> Option<SegmentId> {
        let Copies { written, coming } = &self.copies;
        let on_flash = |segment| number(written, segment).unwrap_or(Seq(0));
        self.log.next_to_write(Seq(host_seq), &self.blocks, on_flash, |segment| number(coming, segment))
    }
}

#[test]
fn writeback_is_due_when_one_more_log_block_reaches_the_limit() {
    let mut log = log_blocks();
    for n in 0..3 {
        assert_eq!((log.len(), log.writeback_due()), (n, false));
        log.add(Superblock(n as u32));
    }
    assert_eq!((log.len(), log.writeback_due()), (3, true));
    log.remove(Superblock(1));
    assert_eq!((log.len(), log.writeback_due()), (2, false));
    assert!(log.superblocks().eq([0, 2].map(Superblock)));
}

#[test]
fn a_segment_may_lack_the_changes_of_a_log_block() {
    let mut log = log_blocks();
    log.add(Superblock(0));
    log.note(Superblock(0), B, Seq(5));
    let lacks = |segment, on_flash| log.may_lack_change(segment, Seq(on_flash));
    assert!(lacks(B, 0) && lacks(B, 4));
    assert!(!lacks(B, 5) && !lacks(B, 6), "the copy on flash holds the change");
    for other in [A, SegmentId(6), SegmentId(69), SegmentId(71), C] {
        assert!(!lacks(other, 0), "nothing in {other} has changed");
    }
}

#[test]
fn a_segment_may_lack_trims_until_they_are_on_flash() {
    let mut log = log_blocks();
    assert_eq!(log.trims_covered_below(), Seq(u64::MAX), "no trim");
    log.close_trims();
    assert!(!log.writeback_due(), "no trim has to be written back");
    log.note_trim(B, Seq(3), Seq(5));
    let lacks = |log: &LogBlocks, segment, on_flash| log.may_lack_change(segment, Seq(on_flash));
    for closed in [false, true] {
        if closed {
            log.close_trims();
        }
        assert_eq!((log.trims_covered_below(), log.writeback_due()), (Seq(3), closed));
        assert!(lacks(&log, B, 4) && !lacks(&log, B, 5) && !lacks(&log, B, 6));
        assert!([A, SegmentId(6), SegmentId(69), SegmentId(71), C].iter().all(|&other| !lacks(&log, other, 0)));
    }
    log.note_trim(C, Seq(8), Seq(9));
    log.close_trims();
    assert_eq!(log.trims_covered_below(), Seq(3), "the first trims are still being written back");
    assert!(lacks(&log, C, 8) && lacks(&log, B, 4));
}

#[test]
fn trims_are_covered_when_their_segments_are_on_flash() {
    let mut bench = Bench::new();
    bench.log = log_blocks();
    bench.log.note_trim(B, Seq(3), Seq(5));
    bench.log.close_trims();
    assert_eq!(bench.ask(4), None, "the host has not applied the last trim");
    assert_eq!((bench.ask(5), bench.ask(5)), (Some(B), None));
    bench.log.answered(B);
    bench.copies.written.push((B, 5));
    assert_eq!(bench.ask(5), None);
    assert!(!bench.log.writeback_due());
    assert_eq!(bench.log.trims_covered_below(), Seq(u64::MAX));
}

/// The oldest block's segments are asked for in order, each once, as soon as the host has applied all of its changes.
/// The block becomes normal when the last of them is on flash, not when it is in SRAM.
#[test]
fn a_log_block_becomes_normal_when_all_of_its_segments_are_on_flash() {
    let mut bench = Bench::new();
    assert_eq!(bench.ask(4), None, "the host has not applied change 5");
    assert_eq!([0; 3].map(|_| bench.ask(5)), [Some(A), Some(B), None]);
    assert!(!bench.log.waits_for_last(), "two answers are missing");
    bench.log.answered(A);
    bench.copies.coming.push((A, 5));
    assert_eq!(bench.ask(5), None);
    assert!(!bench.log.waits_for_last(), "an answer is missing");
    bench.log.answered(B);
    bench.copies.coming.push((B, 5));
    assert_eq!(bench.ask(5), None);
    assert!(bench.log.waits_for_last());
    bench.copies.written.push((A, 5));
    assert_eq!(bench.ask(5), None);
    assert_eq!((bench.log.len(), bench.log.waits_for_last()), (3, true), "B is not on flash");
    bench.copies.written.push((B, 5));
    assert_eq!(bench.ask(9), None);
    assert!(bench.log.superblocks().eq(bench.full[1..].iter().copied()));
    assert!(!bench.log.writeback_due() && !bench.log.waits_for_last(), "two log blocks are no reason to write");
}

#[test]
fn a_segment_that_is_safe_is_not_asked_for() {
    let mut bench = Bench::new();
    bench.log.note(bench.full[0], C, Seq(4));
    bench.copies = Copies { written: vec![(A, 5), (C, 3)], coming: vec![(B, 6), (C, 4)] };
    assert_eq!((bench.ask(5), bench.ask(5)), (Some(C), None));
}

/// The answer that came may have been sent before the host applied the block's last change.
#[test]
fn an_answer_that_came_too_early_is_asked_for_again_after_the_others() {
    let mut bench = Bench::new();
    assert_eq!((bench.ask(5), bench.ask(5)), (Some(A), Some(B)));
    bench.log.answered(A);
    bench.copies.written.push((A, 4));
    assert_eq!([0; 3].map(|_| bench.ask(5)), [None; 3], "the answer for B is missing");
    bench.log.answered(B);
    bench.copies.written.push((B, 5));
    assert_eq!(bench.ask(5).or_else(|| bench.ask(5)), Some(A));
    assert_eq!(bench.log.len(), 3);
}

/// GC has collected the block that writeback handles.
#[test]
fn writeback_goes_on_with_the_next_block_when_its_own_is_erased() {
    let mut bench = Bench::new();
    assert_eq!(bench.ask(9), Some(A));
    bench.log.remove(bench.full[0]);
    assert_eq!(bench.ask(9), None, "two log blocks are no reason to write");
    let another = fill(&mut bench.blocks, 9);
    bench.log.add(another);
    assert_eq!(bench.ask(9), Some(C));
}

#[test]
fn a_block_with_segments_to_ask_for_does_not_wait_for_the_last() {
    let mut bench = Bench::new();
    assert!(!bench.log.waits_for_last(), "no block has been chosen");
    assert_eq!(bench.ask(5), Some(A));
    bench.log.answered(A);
    assert!(!bench.log.waits_for_last(), "B has not been asked for");
}

/// 130 segments take three words of 8 bytes, and a number takes 8: for four log blocks and two sets of trims.
#[test]
fn the_table_takes_a_bitmap_and_a_number_for_each_block() {
    assert_eq!(log_blocks().table_bytes(), 6 * (3 * 8 + 8));
}

#[test]
fn what_was_asked_is_asked_again_when_the_host_has_lost_it() {
    let mut bench = Bench::new();
    assert_eq!([bench.ask(9), bench.ask(9), bench.ask(9)], [Some(A), Some(B), None]);
    bench.log.ask_again();
    assert_eq!([bench.ask(9), bench.ask(9), bench.ask(9)], [Some(A), Some(B), None]);
    bench.log.answered(A);
    bench.copies.written.push((A, 9));
    bench.log.ask_again();
    assert_eq!([bench.ask(9), bench.ask(9)], [Some(B), None], "A is on flash");
}
