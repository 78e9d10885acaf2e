//! The driver without a booster: splitting, order, completion.

use ufs::{Command, Content, DataIn, DataOut, DeviceInfo, HpbNotice, Op, PiggyBack, Response, Status, Tag};
use ufsim_host::{Completion, Driver, HostConfig, Request, RequestOp};
use units::{AppId, Lpa, Seq, SimTime};

const INFO: DeviceInfo =
    DeviceInfo { capacity_units: 1000, superblocks: 4, superblock_units: 512, ..DeviceInfo::USUAL };
const NOW: SimTime = SimTime::START;
const WRITE: RequestOp = RequestOp::Write { fua: false };

fn driver(max_transfer_units: u32) -> Driver {
    Driver::new(HostConfig { max_transfer_units, tags: 4, internal_tags: 1, ..HostConfig::default() }, INFO)
}

fn submit(driver: &mut Driver, id: u32, op: RequestOp, lpa: u32, len: u32) {
    driver.submit(NOW, Request { id, op, lpa: Lpa(lpa), len, stamp: id + 100, app: AppId::SYSTEM });
}

fn commands(driver: &mut Driver) -> Vec<Command> {
    std::iter::from_fn(|| driver.next_command(NOW)).collect()
}

fn ops(driver: &mut Driver) -> Vec<Op> {
    commands(driver).into_iter().map(|command| command.op).collect()
}

fn respond(driver: &mut Driver, tag: Tag, status: Status, data: DataIn) {
    let (hpb, piggyback) = (HpbNotice::None, PiggyBack::default());
    driver.on_response(NOW, Response { tag, status, data, hpb, piggyback });
}

fn content(lpa: u32) -> Option<Content> {
    Some(Content { lpa: Lpa(lpa), stamp: lpa })
}

#[test]
fn long_requests_are_split_and_their_contents_joined() {
    let mut driver = driver(8);
    submit(&mut driver, 1, RequestOp::Read, 10, 20);
    let sent = commands(&mut driver);
    let pieces: Vec<Op> = sent.iter().map(|c| c.op).collect();
    let read = |lpa, len| Op::Read { lpa: Lpa(lpa), len };
    assert_eq!(pieces, [read(10, 8), read(18, 8), read(26, 4)]);
    for i in [2, 0, 1] {
        assert_eq!(driver.pop_completion(), None);
        let Op::Read { lpa, len } = sent[i].op else { unreachable!() };
        let contents = (lpa.0..lpa.0 + len).map(content).collect();
        respond(&mut driver, sent[i].tag, Status::Good, DataIn::Many(contents));
    }
    let data = DataIn::Many((10..30).map(content).collect());
    assert_eq!(driver.pop_completion(), Some(Completion { id: 1, status: Status::Good, data, dispatched: Some(NOW) }));
    assert_eq!(driver.pop_completion(), None);
}

#[test]
fn writes_and_unmaps_are_split_too_and_writes_carry_their_stamp() {
    let mut driver = driver(8);
    submit(&mut driver, 1, RequestOp::Write { fua: true }, 0, 9);
    let sent = commands(&mut driver);
    assert_eq!(sent[1].op, Op::Write { lpa: Lpa(8), len: 1, fua: true });
    assert!(sent.iter().all(|c| c.data == DataOut::Stamp(101) && c.host_seq == Seq(0) && c.freed.is_none()));
    sent.iter().for_each(|c| respond(&mut driver, c.tag, Status::Good, DataIn::None));
    submit(&mut driver, 2, RequestOp::Unmap, 0, 9);
    assert_eq!(ops(&mut driver), [Op::Unmap { lpa: Lpa(0), len: 8 }, Op::Unmap { lpa: Lpa(8), len: 1 }]);
}

#[test]
fn the_rest_of_a_request_goes_before_later_requests() {
    let mut driver = driver(8);
    submit(&mut driver, 1, WRITE, 0, 30);
    submit(&mut driver, 2, WRITE, 100, 1);
    let sent = commands(&mut driver);
    assert_eq!(sent.len(), 3, "four tags, one of them for internal commands");
    respond(&mut driver, sent[0].tag, Status::Good, DataIn::None);
    assert_eq!(ops(&mut driver), [Op::Write { lpa: Lpa(24), len: 6, fua: false }]);
    respond(&mut driver, sent[1].tag, Status::Good, DataIn::None);
    assert_eq!(ops(&mut driver), [Op::Write { lpa: Lpa(100), len: 1, fua: false }]);
}

#[test]
fn what_is_not_on_the_device_ends_at_once() {
    let mut driver = driver(8);
    for (id, lpa, len) in [(1, 0, 0), (2, 1000, 1), (3, 990, 11), (4, u32::MAX, u32::MAX)] {
        submit(&mut driver, id, RequestOp::Read, lpa, len);
        let done = driver.pop_completion().expect("it ends at once");
        assert_eq!((done.id, done.status), (id, Status::OutOfRange));
    }
    assert_eq!(ops(&mut driver), []);
    submit(&mut driver, 5, RequestOp::Read, 990, 8);
    assert_eq!(ops(&mut driver).len(), 1);
}

#[test]
fn a_flush_has_no_address() {
    let mut driver = driver(8);
    submit(&mut driver, 1, RequestOp::Flush, u32::MAX, 0);
    let sent = commands(&mut driver);
    assert_eq!(sent[0].op, Op::Flush);
    respond(&mut driver, sent[0].tag, Status::Good, DataIn::None);
    let (status, data) = (Status::Good, DataIn::None);
    assert_eq!(driver.pop_completion(), Some(Completion { id: 1, status, data, dispatched: Some(NOW) }));
}

#[test]
fn a_bad_part_spoils_the_request() {
    let mut driver = driver(8);
    submit(&mut driver, 1, RequestOp::Read, 0, 16);
    let sent = commands(&mut driver);
    respond(&mut driver, sent[1].tag, Status::UnrecoveredRead, DataIn::None);
    assert_eq!(driver.pop_completion(), None, "the other part is still under way");
    respond(&mut driver, sent[0].tag, Status::Good, DataIn::Many((0..8).map(content).collect()));
    let done = driver.pop_completion().unwrap();
    assert_eq!((done.status, done.data), (Status::UnrecoveredRead, DataIn::None));
}

#[test]
fn other_limits_and_tests_of_boosters_mean_nothing_here() {
    let mut driver = driver(8);
    assert_eq!(driver.next_wake(), None);
    assert!(driver.set_memory_limit(NOW, 0).is_ok());
    assert!(!driver.tamper(Lpa(0), None) && !driver.tamper_sealed(Lpa(0), 1));
    assert_eq!((driver.sealed(Lpa(0)), driver.mapping(Lpa(0))), (None, None));
}

#[test]
#[should_panic(expected = "tags = 1: must be 2 to 256")]
fn unchecked_settings_are_a_bug() {
    Driver::new(HostConfig { tags: 1, ..HostConfig::default() }, INFO);
}

#[test]
fn counters_of_schemes_that_are_not_in_use_are_zero() {
    let mut driver = driver(4);
    submit(&mut driver, 1, RequestOp::Read, 0, 1);
    assert_eq!((driver.counter("requests"), driver.counter("sched_batches"), driver.counter("hpb_reads")), (1, 0, 0));
}

#[test]
#[should_panic(expected = "no counter hpb_raeds")]
fn a_counter_that_no_driver_has_is_a_bug() {
    driver(4).counter("hpb_raeds");
}
