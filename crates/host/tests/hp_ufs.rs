//! HP-UFS step by step: which command is sent when, and what it carries.

use ufs::{
    BitmapFor, Command, DataIn, DataOut, DeviceInfo, HpbNotice, L2pEntry, Notice, Op, PiggyBack, Response,
    SegmentImage, Status,
};
use ufsim_host::{BoosterKind, Driver, HostConfig, Request, RequestOp};
use units::{AppId, Lpa, Ppa, SegmentId, Seq, SimTime, Superblock};

/// Eight segments, eight blocks of 64 units.
const INFO: DeviceInfo = DeviceInfo { capacity_units: 8192, superblocks: 8, superblock_units: 64, ..DeviceInfo::USUAL };
const NOW: SimTime = SimTime::START;
const WRITE: RequestOp = RequestOp::Write { fua: false };

struct Host {
    driver: Driver,
    seq: Seq,
}

impl Host {
    fn new(limit_segments: u64) -> Host {
        let config = HostConfig {
            booster: BoosterKind::HpUfs,
            memory_limit_bytes: Some(limit_segments * 4096),
            ..HostConfig::default()
        };
        Host { driver: Driver::new(config, INFO), seq: Seq(0) }
    }

    /// A host that has cached the segments below `segments`, which are empty.
    fn with_segments(limit: u64, segments: u32) -> Host {
        let mut host = Host::new(limit);
        for segment in 0..segments {
            let sent = host.request(RequestOp::Read, segment * 1024, 1);
            assert_eq!(ops(&sent), [segment_read(segment)]);
            host.bring(&sent[0]);
            let read = host.commands();
            host.good(&read[0], DataIn::One(None));
        }
        host
    }

    fn commands(&mut self) -> Vec<Command> {
        std::iter::from_fn(|| self.driver.next_command(NOW)).collect()
    }

    fn request(&mut self, op: RequestOp, lpa: u32, len: u32) -> Vec<Command> {
        self.driver.submit(NOW, Request { id: 0, op, lpa: Lpa(lpa), len, stamp: 1, app: AppId::SYSTEM });
        self.commands()
    }

    fn respond(&mut self, command: &Command, status: Status, data: DataIn, piggyback: PiggyBack) {
        let (tag, hpb) = (command.tag, HpbNotice::None);
        self.driver.on_response(NOW, Response { tag, status, data, hpb, piggyback });
    }

    fn good(&mut self, command: &Command, data: DataIn) {
        self.respond(command, Status::Good, data, PiggyBack::default());
    }

    /// Answers a segment read with an empty segment.
    fn bring(&mut self, command: &Command) {
        self.good(command, image([]));
    }

    /// Sends a flush, answers it with `piggyback`, and gives the commands that follow.
    fn notice(&mut self, piggyback: PiggyBack) -> Vec<Command> {
        let flush = self.request(RequestOp::Flush, 0, 0);
        self.respond(flush.last().unwrap(), Status::Good, DataIn::None, piggyback);
        self.commands()
    }

    /// Sends the next change to the host.
    fn change(&mut self, lpa: u32, ppa: Option<u32>, source: Option<u32>) -> Vec<Command> {
        self.seq = self.seq.plus(1);
        let entry = entry(self.seq.0, lpa, ppa, 1);
        self.notice(note(Notice::Entry(L2pEntry { source: source.map(Superblock), ..entry })))
    }

    fn seq(&self) -> u64 {
        self.driver.counter("host_seq")
    }
}

fn entry(seq: u64, lpa: u32, ppa: Option<u32>, len: u8) -> L2pEntry {
    L2pEntry { lpa: Lpa(lpa), ppa: ppa.map(Ppa), len, seq: Seq(seq), source: None }
}

fn image<const N: usize>(entries: [(usize, u32); N]) -> DataIn {
    let mut image: SegmentImage = [0; 1024];
    entries.into_iter().for_each(|(slot, ppa)| image[slot] = Ppa::pack(Some(Ppa(ppa))));
    DataIn::Segment(Box::new(image).into())
}

fn note(notice: Notice) -> PiggyBack {
    PiggyBack { notice, ..PiggyBack::default() }
}

fn ops(commands: &[Command]) -> Vec<Op> {
    commands.iter().map(|command| command.op).collect()
}

fn segment_read(segment: u32) -> Op {
    Op::SegmentRead { segment: SegmentId(segment) }
}

fn segment_write(segment: u32) -> Op {
    Op::SegmentWrite { segment: SegmentId(segment) }
}

fn mapped(lpa: u32, len: u32, ppa: Option<u32>) -> Op {
    Op::MappedRead { lpa: Lpa(lpa), len, ppa: ppa.map(Ppa) }
}

#[test]
fn a_write_sends_the_segment_read_first_and_does_not_wait_for_it() {
    let mut host = Host::new(8);
    let write = |lpa| Op::Write { lpa: Lpa(lpa), len: 1, fua: false };
    assert_eq!(ops(&host.request(WRITE, 5, 1)), [segment_read(0), write(5)]);
    assert_eq!(ops(&host.request(WRITE, 6, 1)), [write(6)], "the segment is on its way");
    assert_eq!((host.driver.counter("write_misses"), host.driver.counter("write_hits")), (1, 1));
}

#[test]
fn a_write_across_a_border_needs_both_segments() {
    let mut host = Host::new(8);
    let sent = host.request(WRITE, 1020, 8);
    assert_eq!(ops(&sent[..2]), [segment_read(0), segment_read(1)]);
    assert_eq!(sent.len(), 3);
}

#[test]
fn a_read_waits_for_its_segment_and_lets_others_pass() {
    let mut host = Host::new(8);
    let load = host.request(RequestOp::Read, 5, 1);
    assert_eq!(ops(&load), [segment_read(0)]);
    assert_eq!(ops(&host.request(RequestOp::Read, 6, 1)), [], "the segment is asked for once");
    assert_eq!(ops(&host.request(RequestOp::Flush, 0, 0)), [Op::Flush]);
    host.good(&load[0], image([(5, 70)]));
    assert_eq!(ops(&host.commands()), [mapped(5, 1, Some(70)), mapped(6, 1, None)]);
    let stats = host.driver.stats();
    assert_eq!((stats.booster_misses, stats.booster_hits, host.driver.counter("segment_reads")), (2, 0, 1));
}

#[test]
fn a_failed_segment_read_is_repeated() {
    let mut host = Host::new(8);
    let load = host.request(RequestOp::Read, 5, 1);
    host.respond(&load[0], Status::UnrecoveredRead, DataIn::None, PiggyBack::default());
    let again = host.commands();
    assert_eq!(ops(&again), [segment_read(0)]);
    host.bring(&again[0]);
    assert_eq!(ops(&host.commands()), [mapped(5, 1, None)]);
}

#[test]
fn a_read_is_cut_into_runs_of_consecutive_addresses() {
    let mut host = Host::new(8);
    let load = host.request(RequestOp::Read, 10, 8);
    host.request(RequestOp::Read, 20, 1);
    host.good(&load[0], image([(10, 70), (11, 71), (12, 73), (15, 63), (16, 64), (17, 65)]));
    let mut runs = vec![mapped(10, 2, Some(70)), mapped(12, 1, Some(73)), mapped(13, 2, None), mapped(15, 3, Some(63))];
    runs.push(mapped(20, 1, None));
    assert_eq!(ops(&host.commands()), runs, "request by request");
}

#[test]
fn a_run_may_cross_the_border_of_a_segment() {
    let mut host = Host::new(8);
    let load = host.request(RequestOp::Read, 1022, 4);
    assert_eq!(ops(&load), [segment_read(0), segment_read(1)], "both are fetched at once");
    host.good(&load[1], image([(0, 72), (1, 90)]));
    assert_eq!(ops(&host.commands()), []);
    host.good(&load[0], image([(1022, 70), (1023, 71)]));
    assert_eq!(ops(&host.commands()), [mapped(1022, 3, Some(70)), mapped(1025, 1, Some(90))]);
}

#[test]
fn changes_are_applied_in_order_and_reads_use_them() {
    let mut host = Host::with_segments(8, 1);
    host.notice(note(Notice::Entry(entry(3, 7, Some(9), 1))));
    assert_eq!(host.seq(), 0, "1 and 2 are missing");
    host.notice(note(Notice::Entry(entry(1, 7, Some(4), 2))));
    assert_eq!(host.seq(), 3);
    let sent = host.request(RequestOp::Read, 7, 2);
    assert_eq!(ops(&sent), [mapped(7, 1, Some(9)), mapped(8, 1, Some(5))]);
    assert_eq!(sent[0].host_seq, Seq(3));
    let held = host.driver.validity(Superblock(0)).unwrap();
    assert_eq!((held.valid, &held.bitmap[..]), (2, &[1 << 5 | 1 << 9][..]));
}

#[test]
fn a_change_that_comes_twice_counts_once() {
    let mut host = Host::with_segments(8, 1);
    for seq in [1, 1, 3, 3, 2] {
        host.notice(note(Notice::Entry(entry(seq, seq as u32, Some(seq as u32), 1))));
    }
    let counters = ["host_seq", "entries_duplicate", "units_applied"].map(|name| host.driver.counter(name));
    assert_eq!(counters, [3, 2, 3]);
    assert_eq!(host.driver.validity(Superblock(0)).unwrap().valid, 3);
}

#[test]
fn a_change_waits_for_its_segment() {
    let mut host = Host::new(8);
    let load = host.notice(note(Notice::Entry(entry(1, 7, Some(9), 1))));
    assert_eq!(ops(&load), [segment_read(0)]);
    assert_eq!(host.seq(), 0);
    host.bring(&load[0]);
    assert_eq!((host.seq(), host.driver.mapping(Lpa(7))), (1, Some(Some(Ppa(9)))));
}

#[test]
fn a_block_is_told_when_its_last_page_goes_and_a_mapped_read_cannot_tell() {
    let mut host = Host::with_segments(8, 1);
    host.change(7, Some(9), None);
    host.change(7, Some(64), None);
    let read = host.request(RequestOp::Read, 7, 1);
    assert_eq!((read[0].op, read[0].freed), (mapped(7, 1, Some(64)), None));
    let write = host.request(WRITE, 8, 1);
    assert_eq!(write[0].freed, Some(Superblock(0)));
    assert_eq!(host.request(WRITE, 8, 1)[0].freed, None);
}

#[test]
fn a_copy_that_a_write_overtook_is_discarded_and_its_block_is_told() {
    let mut host = Host::with_segments(8, 1);
    host.change(7, Some(9), None);
    host.change(7, Some(64), None);
    assert_eq!(host.request(WRITE, 8, 1)[0].freed, Some(Superblock(0)));
    host.change(7, Some(130), Some(0));
    assert_eq!(host.driver.mapping(Lpa(7)), Some(Some(Ppa(64))));
    assert_eq!(host.driver.counter("units_discarded"), 1);
    assert_eq!(host.request(WRITE, 8, 1)[0].freed, Some(Superblock(2)), "nothing valid ever landed in it");
    host.change(7, Some(131), Some(1));
    assert_eq!(host.driver.mapping(Lpa(7)), Some(Some(Ppa(131))), "this copy is in time");
}

#[test]
fn a_trim_unmaps() {
    let mut host = Host::with_segments(8, 1);
    host.change(7, Some(9), None);
    host.change(7, None, None);
    assert_eq!(ops(&host.request(RequestOp::Read, 7, 1)), [mapped(7, 1, None)]);
    assert_eq!(host.driver.validity(Superblock(0)).unwrap().valid, 0);
}

#[test]
fn a_hint_brings_a_dirty_segment_once_and_attests_after_that() {
    let mut host = Host::with_segments(8, 1);
    host.change(7, Some(9), None);
    let sent = host.notice(note(Notice::WriteSegment(SegmentId(0))));
    assert_eq!((ops(&sent), sent[0].host_seq), (vec![segment_write(0)], Seq(1)));
    let DataOut::Segment(state) = &sent[0].data else { panic!("no segment came along") };
    let image = state.image();
    assert_eq!((image[7], image.iter().filter(|&&raw| raw != 0).count()), (10, 1));
    assert_eq!(host.notice(note(Notice::WriteSegment(SegmentId(0)))), [], "it is on its way");
    host.good(&sent[0], DataIn::None);
    let clean = host.notice(note(Notice::WriteSegment(SegmentId(0))));
    assert_eq!((clean[0].op, &clean[0].data), (segment_write(0), &DataOut::None));
    let absent = host.notice(note(Notice::WriteSegment(SegmentId(3))));
    assert_eq!((absent[0].op, &absent[0].data), (segment_write(3), &DataOut::None));
}

#[test]
fn a_hint_during_a_writeback_counts_if_the_segment_has_changed_since() {
    let mut host = Host::with_segments(8, 1);
    host.change(7, Some(9), None);
    let first = host.notice(note(Notice::WriteSegment(SegmentId(0))));
    host.change(8, Some(10), None);
    assert_eq!(host.notice(note(Notice::WriteSegment(SegmentId(0)))), [], "one at a time");
    host.good(&first[0], DataIn::None);
    let second = host.commands();
    assert_eq!((second[0].op, second[0].host_seq), (segment_write(0), Seq(2)));
}

#[test]
fn a_failed_writeback_leaves_the_segment_dirty() {
    let mut host = Host::with_segments(8, 1);
    host.change(7, Some(9), None);
    let first = host.notice(note(Notice::WriteSegment(SegmentId(0))));
    host.respond(&first[0], Status::InvalidField, DataIn::None, PiggyBack::default());
    let second = host.notice(note(Notice::WriteSegment(SegmentId(0))));
    assert!(matches!(second[0].data, DataOut::Segment(_)));
}

#[test]
fn the_oldest_segment_makes_room_and_is_written_back_first_if_dirty() {
    let mut host = Host::with_segments(2, 2);
    host.change(7, Some(9), None);
    host.request(RequestOp::Read, 1024, 1);
    let sent = host.request(RequestOp::Read, 2048, 1);
    assert_eq!(ops(&sent), [segment_write(0)], "segment 0 is the oldest, and there is no room for another");
    assert_eq!(host.driver.stats().dram_bytes_used, 2 * 4096);
    host.good(&sent[0], DataIn::None);
    let load = host.commands();
    assert_eq!(ops(&load), [segment_read(2)]);
    assert_eq!(host.driver.mapping(Lpa(7)), None);
    assert_eq!(host.driver.mapping(Lpa(1024)), Some(None));
}

#[test]
fn a_clean_segment_makes_room_at_once() {
    let mut host = Host::with_segments(2, 2);
    assert_eq!(ops(&host.request(RequestOp::Read, 2048, 1)), [segment_read(2)]);
    assert_eq!(host.driver.mapping(Lpa(0)), None, "segment 0 was the oldest");
    assert_eq!(host.driver.counter("segment_writebacks"), 0);
}

#[test]
fn the_reorder_buffer_finds_a_slot_though_requests_want_them_all() {
    let mut host = Host::new(2);
    for segment in 0..4 {
        host.request(RequestOp::Read, segment * 1024, 1);
    }
    assert_eq!(host.driver.counter("segment_reads"), 1, "requests leave one of the two slots alone");
    let load = host.notice(note(Notice::Entry(entry(1, 7 * 1024, Some(9), 1))));
    assert_eq!(ops(&load), [segment_read(7)]);
}

#[test]
fn a_segment_stays_until_the_read_that_waited_for_it_is_sent() {
    let mut host = Host::new(2);
    let load = host.request(RequestOp::Read, 0, 1);
    host.request(RequestOp::Read, 1024, 1);
    let flushes: Vec<Command> = (0..24).flat_map(|_| host.request(RequestOp::Flush, 0, 0)).collect();
    host.bring(&load[0]);
    assert_eq!(host.commands(), [], "no tag for the read, no slot for another segment");
    host.good(&flushes[0], DataIn::None);
    assert_eq!(ops(&host.commands()), [mapped(0, 1, None), segment_read(1)]);
}

#[test]
fn a_segment_being_attested_is_not_written_back_beside_it() {
    let mut host = Host::with_segments(2, 2);
    assert_eq!(ops(&host.notice(note(Notice::WriteSegment(SegmentId(0))))), [segment_write(0)]);
    host.change(7, Some(9), None);
    assert_eq!(ops(&host.request(RequestOp::Read, 2048, 1)), [segment_read(2)], "segment 1 goes instead");
    assert_eq!(host.driver.mapping(Lpa(7)), Some(Some(Ppa(9))));
}

#[test]
fn a_hint_waits_for_a_loading_segment_and_counts_once() {
    let mut host = Host::new(8);
    let load = host.request(WRITE, 7, 1);
    for _ in 0..2 {
        assert_eq!(host.notice(note(Notice::WriteSegment(SegmentId(0)))), []);
    }
    host.bring(&load[0]);
    let sent = host.commands();
    assert_eq!(ops(&sent), [segment_write(0)]);
    host.good(&sent[0], DataIn::None);
    assert_eq!(host.commands(), []);
}

#[test]
fn memory_pressure_writes_back_and_drops() {
    let mut host = Host::with_segments(8, 4);
    host.change(7, Some(9), None);
    host.driver.set_memory_limit(NOW, 2 * 4096).unwrap();
    let sent = host.commands();
    assert_eq!(ops(&sent), [segment_write(0)]);
    host.good(&sent[0], DataIn::None);
    host.commands();
    assert_eq!(host.driver.stats().dram_bytes_used, 2 * 4096);
    assert_eq!(host.driver.set_memory_limit(NOW, 4096).unwrap_err().field, "memory_limit_bytes");
}

#[test]
fn a_backlog_is_fetched_by_one_transfer_at_a_time() {
    let mut host = Host::with_segments(8, 1);
    let hint = PiggyBack { want_entries: true, ..PiggyBack::default() };
    let transfer = host.notice(hint);
    assert_eq!(ops(&transfer), [Op::EntryTransfer]);
    assert_eq!(host.notice(hint), [], "one is under way");
    let entries = vec![entry(1, 1, Some(9), 2), entry(3, 6, None, 1)];
    host.good(&transfer[0], DataIn::Entries(entries));
    assert_eq!(host.seq(), 3);
    assert_eq!(ops(&host.commands()), [Op::EntryTransfer], "the second hint was not forgotten");
}

#[test]
fn progress_is_told_when_no_user_command_can() {
    for (last_len, told) in [(31, vec![]), (32, vec![Op::EntryTransfer])] {
        let mut host = Host::with_segments(8, 1);
        let transfer = host.notice(PiggyBack { want_entries: true, ..PiggyBack::default() });
        (0..25).for_each(|i| drop(host.request(WRITE, i, 1)));
        let whole = (0..7).map(|i| entry(1 + 32 * i, 0, Some(32 * i as u32), 32));
        let last = entry(225, 0, Some(224), last_len);
        host.good(&transfer[0], DataIn::Entries(whole.chain([last]).collect()));
        let sent = host.commands();
        assert_eq!(ops(&sent), told);
        assert!(sent.iter().all(|command| command.host_seq == Seq(256)));
    }
}

/// The device can speak only in responses. While it has none to send, the driver asks periodically.
#[test]
fn a_silent_device_is_asked_whether_it_wants_anything() {
    let at = |micros: u64| SimTime(micros * 1_000);
    let write = Request { id: 0, op: WRITE, lpa: Lpa(5), len: 1, stamp: 1, app: AppId::SYSTEM };
    let mut host = Host::with_segments(8, 1);
    assert_eq!(host.driver.next_wake(), None, "nothing is outstanding");
    host.driver.submit(at(5_000), write);
    assert!(matches!(host.driver.next_command(at(5_000)).unwrap().op, Op::Write { .. }));
    assert_eq!(host.driver.next_command(at(5_000)), None, "the device has not been silent, it had nothing to do");
    assert_eq!(host.driver.next_wake(), Some(at(5_200)));
    assert_eq!(host.driver.next_command(SimTime(at(5_200).0 - 1)), None);
    let poll = host.driver.next_command(at(5_200)).unwrap();
    assert_eq!(poll.op, Op::EntryTransfer);
    assert_eq!(host.driver.next_wake(), None, "the poll will be answered");
    assert_eq!(host.driver.next_command(at(9_000)), None);
    assert_eq!(host.driver.counter("polls"), 1);
}

const WANT_VICTIM: PiggyBack =
    PiggyBack { notice: Notice::None, want_entries: false, want_victim: true, works_when_idle: false };

fn bitmap(block: u32, reason: BitmapFor) -> Op {
    Op::ValidBitmap { block: Superblock(block), reason }
}

#[test]
fn the_victim_is_the_emptiest_block_that_the_device_takes() {
    let mut host = Host::with_segments(8, 1);
    assert_eq!(host.notice(WANT_VICTIM), [], "nothing is valid, so there is no victim");
    for (lpa, ppa) in [(0, 64), (1, 65), (2, 130), (3, 200)] {
        host.change(lpa, Some(ppa), None);
    }
    let sent = host.notice(WANT_VICTIM);
    assert_eq!(sent[0].op, bitmap(2, BitmapFor::Gc), "as empty as block 3, and lower");
    assert_eq!(sent[0].data, DataOut::Bitmap([1 << 2].into()));
    assert_eq!(host.notice(WANT_VICTIM), [], "one at a time");
    host.respond(&sent[0], Status::InvalidField, DataIn::None, PiggyBack::default());
    let next = host.commands();
    assert_eq!(next[0].op, bitmap(3, BitmapFor::Gc), "block 2 was refused");
    host.good(&next[0], DataIn::None);
    host.change(4, Some(131), None);
    host.change(5, Some(201), None);
    host.change(6, Some(202), None);
    let again = host.notice(WANT_VICTIM);
    assert_eq!(again[0].op, bitmap(1, BitmapFor::Gc), "fewest first, then lowest");
    host.good(&again[0], DataIn::None);
    host.change(0, None, None);
    host.change(1, None, None);
    assert_eq!(host.notice(WANT_VICTIM)[0].op, bitmap(2, BitmapFor::Gc), "something new has landed in it");
}

#[test]
fn refused_blocks_are_offered_again_when_no_other_is_left() {
    let mut host = Host::with_segments(8, 1);
    host.change(0, Some(64), None);
    let sent = host.notice(WANT_VICTIM);
    host.respond(&sent[0], Status::InvalidField, DataIn::None, PiggyBack::default());
    assert_eq!(host.notice(WANT_VICTIM), [], "the only block was refused");
    assert_eq!(host.notice(WANT_VICTIM)[0].op, bitmap(1, BitmapFor::Gc));
}

#[test]
fn the_device_may_name_the_block_itself() {
    let mut host = Host::with_segments(8, 1);
    let sent = host.notice(note(Notice::BitmapOf(Superblock(6))));
    assert_eq!(sent[0].op, bitmap(6, BitmapFor::WearLevelling));
    assert_eq!(sent[0].data, DataOut::Bitmap([0].into()));
}

#[test]
fn a_falsified_address_is_sent_as_it_is() {
    let mut host = Host::with_segments(8, 1);
    host.change(7, Some(9), None);
    assert!(host.driver.tamper(Lpa(7), Some(Ppa(500))));
    assert!(!host.driver.tamper(Lpa(1024), Some(Ppa(500))), "segment 1 is not cached");
    assert_eq!(ops(&host.request(RequestOp::Read, 7, 1)), [mapped(7, 1, Some(500))]);
    // The bit of the false address was never set, so this does not disturb the counts.
    host.change(7, Some(10), None);
    assert_eq!(host.driver.validity(Superblock(7)).unwrap().valid, 0);
}

#[test]
fn sizes_are_those_of_the_paper() {
    let info = DeviceInfo { capacity_units: 32 << 20, superblocks: 8192, superblock_units: 4096, ..INFO };
    let config = HostConfig { booster: BoosterKind::HpUfs, ..HostConfig::default() };
    let driver = Driver::new(config, info);
    // Sec. IV-A: 4 MB of bitmap, 32 KB of counts for 8 K blocks, 2K reorder entries of 16 B; the whole table is 128
    // MiB.
    assert_eq!((driver.counter("valid_bitmap_bytes"), driver.counter("valid_count_bytes")), (4 << 20, 32 << 10));
    assert_eq!((driver.counter("reorder_buffer_bytes"), driver.stats().dram_bytes_limit), (32 << 10, 128 << 20));
    assert_eq!(driver.stats().dram_bytes_used, 0);
}

#[test]
#[should_panic(expected = "the device sent a bad range")]
fn an_entry_across_a_segment_border_is_a_bug() {
    Host::with_segments(8, 1).notice(note(Notice::Entry(entry(1, 1023, Some(9), 2))));
}
