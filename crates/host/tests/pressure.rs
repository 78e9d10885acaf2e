//! A phone that is short of memory, and memory that nobody uses: what boosters give up, and when.

use params::CountOr;
use ufs::{Command, DataIn, DeviceInfo, HpbNotice, L2pEntry, Notice, Op, PiggyBack, Response, Status};
use ufsim_host::{BoosterKind, Driver, HostConfig, Request, RequestOp};
use units::{AppId, Lpa, Nanos, Ppa, SegmentId, Seq, SimTime};

/// 64 segments, which are groups as well.
const INFO: DeviceInfo = DeviceInfo {
    capacity_units: 64 << 10,
    superblocks: 8,
    superblock_units: 64,
    hpb_group_entries: 1024,
    ..DeviceInfo::USUAL
};
const SECOND: Nanos = Nanos(1_000_000_000);

struct Host {
    driver: Driver,
    now: SimTime,
    /// Segments that the device was asked to write, those without data left out.
    written: Vec<SegmentId>,
    /// After a read so much time passes: Linux fetches at its next look, one group at a time.
    pause: Nanos,
}

impl Host {
    fn new(config: HostConfig) -> Host {
        let pause = if config.booster == BoosterKind::HpbLinux { Nanos::from_millis(200) } else { Nanos(0) };
        Host { driver: Driver::new(config, INFO), now: SimTime::START, written: Vec::new(), pause }
    }

    /// Sends what the driver wants to send, and answers each command at once.
    fn answer_all(&mut self) {
        while let Some(command) = self.driver.next_command(self.now) {
            self.answer(command, PiggyBack::default());
        }
        while self.driver.pop_completion().is_some() {}
    }

    fn answer(&mut self, command: Command, piggyback: PiggyBack) {
        let data = match command.op {
            Op::SegmentRead { .. } => DataIn::Segment(Box::new([0; 1024]).into()),
            Op::HpbReadBuffer { .. } => DataIn::Sealed(vec![7; 1024]),
            Op::MappedRead { .. } | Op::Read { .. } | Op::HpbRead { .. } => DataIn::One(None),
            _ => DataIn::None,
        };
        if let Op::SegmentWrite { segment } = command.op
            && !matches!(command.data, ufs::DataOut::None)
        {
            self.written.push(segment);
        }
        let hpb = HpbNotice::None;
        self.driver.on_response(self.now, Response { tag: command.tag, status: Status::Good, data, hpb, piggyback });
    }

    fn request(&mut self, op: RequestOp, segment: u32) {
        let lpa = Lpa(segment * 1024);
        self.driver.submit(self.now, Request { id: 0, op, lpa, len: 1, stamp: 1, app: AppId::SYSTEM });
    }

    /// Reads a unit of each of these segments, and lets what follows happen.
    fn read(&mut self, segments: impl IntoIterator<Item = u32>) {
        for segment in segments {
            self.request(RequestOp::Read, segment);
            self.answer_all();
            self.wait(self.now + self.pause);
        }
    }

    /// Makes a segment dirty: number `seq` of the changes.
    fn change(&mut self, segment: u32, seq: u64) {
        self.request(RequestOp::Flush, 0);
        let flush = self.driver.next_command(self.now).expect("a flush");
        let entry = L2pEntry { lpa: Lpa(segment * 1024), ppa: Some(Ppa(9)), len: 1, seq: Seq(seq), source: None };
        self.answer(flush, PiggyBack { notice: Notice::Entry(entry), ..PiggyBack::default() });
        self.answer_all();
    }

    /// Lets time pass to `until`, with what the driver does on its own.
    fn wait(&mut self, until: SimTime) {
        while let Some(wake) = self.driver.next_wake().filter(|&wake| wake <= until) {
            assert!(wake >= self.now, "time goes on");
            self.now = wake;
            self.answer_all();
        }
        self.now = until;
    }

    fn cached(&self) -> u64 {
        self.driver.stats().dram_bytes_used
    }
}

/// A driver that may keep 32 segments, and follows pressure if `shrinks`.
fn config(booster: BoosterKind, shrinks: bool) -> HostConfig {
    let bytes = if booster == BoosterKind::HpUfs { 32 * 4096 } else { 32 * 8192 };
    let mut config = HostConfig { booster, memory_limit_bytes: Some(bytes), ..HostConfig::default() };
    config.boosters.Hpb.shrinks = shrinks;
    // Groups are read when a read misses them, at once.
    config.boosters.Hpb.max_defer_us = CountOr::Count(0);
    config.boosters.Hpb.eager = false;
    config.boosters.HpbLinux.memory.shrinks = shrinks;
    config.boosters.HpbLinux.memory.reserved_mib = CountOr::Count(0);
    config.boosters.HpbLinux.subregions.activation_thld = 1;
    config.boosters.Foam.memory.shrinks = shrinks;
    config.boosters.Foam.memory.reserved_mib = CountOr::Count(0);
    config.boosters.Foam.subregions.activation_thld = 1;
    config.boosters.HpUfs.shrinks = shrinks;
    config
}

#[test]
fn every_booster_can_follow_pressure_and_recovers() {
    for booster in [BoosterKind::HpUfs, BoosterKind::Hpb, BoosterKind::HpbLinux, BoosterKind::Foam] {
        let each = if booster == BoosterKind::HpUfs { 4096 } else { 8192 };
        let mut host = Host::new(config(booster, true));
        host.read(0..20);
        host.read(0..20);
        let before = host.cached();
        assert_eq!(before, 20 * each, "{booster:?}");
        host.driver.pressed(host.now, 12 * each);
        host.answer_all();
        assert!(host.cached() <= 8 * each, "{booster:?} keeps {} bytes", host.cached());
        // While memory is short, it takes no more.
        host.read(30..50);
        host.read(30..50);
        assert!(host.cached() <= 8 * each, "{booster:?} takes {} bytes", host.cached());
        host.driver.relieved(host.now);
        // Others than before: Linux does not fetch twice what has not been written in between.
        host.read((20..30).chain(50..64));
        host.read((20..30).chain(50..64));
        assert!(host.cached() >= 20 * each, "{booster:?} has {} bytes again", host.cached());
    }
}

#[test]
fn a_booster_that_does_not_follow_pressure_keeps_what_it_has() {
    for booster in [BoosterKind::HpUfs, BoosterKind::Hpb, BoosterKind::HpbLinux, BoosterKind::Foam] {
        let mut host = Host::new(config(booster, false));
        host.read(0..20);
        host.read(0..20);
        let before = host.cached();
        host.driver.pressed(host.now, u64::MAX);
        host.answer_all();
        assert_eq!(host.cached(), before, "{booster:?}");
    }
}

#[test]
fn pressure_leaves_what_the_booster_needs_to_work() {
    let mut host = Host::new(config(BoosterKind::HpUfs, true));
    host.read(0..20);
    host.driver.pressed(host.now, u64::MAX);
    host.answer_all();
    host.read(20..24);
    assert!((4096..=2 * 4096).contains(&host.cached()), "{}", host.cached());
    assert_eq!(host.driver.stats().dram_bytes_limit, 2 * 4096);
}

#[test]
fn a_limit_that_has_changed_under_pressure_holds_afterwards() {
    let mut host = Host::new(config(BoosterKind::HpUfs, true));
    host.read(0..20);
    host.driver.pressed(host.now, 4096);
    host.driver.set_memory_limit(host.now, 6 * 4096).unwrap();
    host.driver.relieved(host.now);
    host.answer_all();
    assert_eq!(host.driver.stats().dram_bytes_limit, 6 * 4096);
    assert!(host.cached() <= 6 * 4096);
}

/// An allocation fails where the phone has no memory left, whatever the limit is, and also under boosters that do not
/// follow pressure. What was taken stays.
#[test]
fn no_booster_takes_memory_that_the_phone_has_not_got() {
    for booster in [BoosterKind::HpUfs, BoosterKind::Hpb, BoosterKind::HpbLinux, BoosterKind::Foam] {
        let each = if booster == BoosterKind::HpUfs { 4096 } else { 8192 };
        let mut host = Host::new(HostConfig { memory_limit_bytes: None, ..config(booster, false) });
        host.read(0..8);
        host.read(0..8);
        let held = host.driver.memory_bytes();
        assert_eq!(host.cached(), 8 * each, "{booster:?}");
        host.driver.set_room(held + 4 * each);
        host.read(8..40);
        host.read(8..40);
        assert!(host.driver.memory_bytes() <= held + 4 * each, "{booster:?}");
        assert!(host.cached() >= 8 * each, "{booster:?} has {} bytes", host.cached());
        host.driver.set_room(u64::MAX);
        host.read(40..64);
        host.read(40..64);
        assert!(host.cached() >= 20 * each, "{booster:?} has {} bytes again", host.cached());
    }
}

/// Memory reserved from boot on that the phone has not got is not taken either.
#[test]
fn a_reservation_is_what_the_phone_has_at_most() {
    let mut own = HostConfig { memory_limit_bytes: None, ..config(BoosterKind::Foam, false) };
    own.boosters.Foam.memory.reserved_mib = CountOr::Word("all");
    let mut host = Host::new(own);
    assert_eq!(host.driver.memory_bytes(), 64 * 8192, "the whole table");
    host.driver.set_room(20 * 8192);
    assert_eq!(host.driver.memory_bytes(), 20 * 8192);
}

#[test]
fn fetches_of_mappings_are_counted_and_nothing_else() {
    for booster in [BoosterKind::HpUfs, BoosterKind::Hpb, BoosterKind::HpbLinux, BoosterKind::Foam] {
        let mut host = Host::new(config(booster, false));
        host.read(0..8);
        host.read(0..8);
        assert_eq!(host.driver.map_fetches(), 8, "{booster:?}");
        host.change(3, 1);
        host.request(RequestOp::Write { fua: false }, 5);
        host.answer_all();
        assert_eq!(host.driver.map_fetches(), 8, "{booster:?}");
    }
}

#[test]
fn what_has_changed_is_written_back_before_it_is_given_up() {
    let mut host = Host::new(config(BoosterKind::HpUfs, true));
    host.read(0..8);
    host.change(3, 1);
    host.read([0, 1, 2, 4, 5, 6, 7]);
    host.driver.pressed(host.now, 2 * 4096);
    host.answer_all();
    assert_eq!(host.written, [SegmentId(3)]);
    assert!(host.driver.mapping(Lpa(3 * 1024)).is_none(), "it was used longest ago");
}

/// A driver of HP-UFS that gives up what has not been used for eight seconds, which is eight periods.
fn forgetful() -> Host {
    let mut config = config(BoosterKind::HpUfs, true);
    config.boosters.HpUfs.unused_ms = CountOr::Count(8000);
    Host::new(config)
}

#[test]
fn segments_that_nobody_uses_are_given_up() {
    let mut host = forgetful();
    host.read(0..6);
    host.change(2, 1);
    host.wait(SimTime(4 * SECOND.0));
    host.read([0, 1]);
    host.wait(SimTime(8 * SECOND.0));
    assert_eq!(host.cached(), 6 * 4096, "eight periods may not have been enough");
    host.wait(SimTime(9 * SECOND.0));
    assert_eq!(host.cached(), 2 * 4096, "0 and 1 have been used since");
    assert_eq!(host.written, [SegmentId(2)]);
    assert_eq!(host.driver.counter("segments_expired"), 4);
    host.wait(SimTime(14 * SECOND.0));
    assert_eq!((host.cached(), host.driver.next_wake()), (0, None), "then there is nothing to look at");
    host.read([5]);
    assert_eq!(host.cached(), 4096);
    assert!(host.driver.next_wake().is_some());
}

#[test]
fn many_changed_segments_go_a_few_at_a_time_and_all_of_them() {
    let mut host = forgetful();
    host.read(0..20);
    (0..20).for_each(|segment| host.change(segment, u64::from(segment) + 1));
    host.wait(SimTime(30 * SECOND.0));
    assert_eq!((host.cached(), host.written.len()), (0, 20));
}

#[test]
fn by_default_nothing_is_given_up_for_its_age() {
    let mut host = Host::new(config(BoosterKind::HpUfs, true));
    host.read(0..6);
    assert_eq!(host.driver.next_wake(), None);
    host.wait(SimTime(100_000 * SECOND.0));
    assert_eq!(host.cached(), 6 * 4096);
}

#[test]
fn without_memory_there_is_nothing_to_give() {
    let mut host = Host::new(HostConfig { booster: BoosterKind::None, ..HostConfig::default() });
    host.read(0..3);
    host.driver.pressed(host.now, 1 << 20);
    host.driver.relieved(host.now);
    assert_eq!(host.driver.memory_bytes(), 0);
}
