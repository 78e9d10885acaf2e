//! Tests of the HPB booster by itself.

use ufs::{DataIn, PiggyBack, Status, Tag};
use units::AppId;

use super::*;

const GROUP: u32 = 16;
const T0: SimTime = SimTime(0);

fn booster(limit_groups: u64, max_defer: Option<Nanos>) -> Hpb {
    booster_of(limit_groups, max_defer, true)
}

fn booster_of(limit_groups: u64, max_defer: Option<Nanos>, eager: bool) -> Hpb {
    let info = DeviceInfo {
        capacity_units: 4 * GROUP,
        superblocks: 1,
        superblock_units: 64,
        hpb_group_entries: GROUP,
        ..DeviceInfo::USUAL
    };
    let own = Params { eager, ..Params::default() };
    let mut hpb = attach(&own, limit_groups * u64::from(GROUP) * 8, &info);
    (hpb.max_defer, hpb.idle) = (max_defer, Nanos(100));
    hpb
}

/// With plain entries: those of a group follow each other, but for the one of page 4.
fn plain_booster(limit_bytes: u64) -> Hpb {
    let info = DeviceInfo {
        capacity_units: 4 * GROUP,
        superblocks: 1,
        superblock_units: 64,
        hpb_group_entries: GROUP,
        hpb_entry_bytes: 4,
        ..DeviceInfo::USUAL
    };
    let mut hpb = attach(&Params::default(), limit_bytes, &info);
    hpb.idle = Nanos(100);
    assert_eq!(ask(&mut hpb), Some(0));
    let places = (0..GROUP).map(|i| if i == 4 { 900 } else { 100 + i }).collect();
    respond(&mut hpb, Op::HpbReadBuffer { group: 0 }, DataIn::Plain(places), HpbNotice::None);
    hpb
}

/// HPB 2017 Sec. 3.4.
#[test]
fn only_contiguous_chunks_get_a_plain_entry() {
    let mut hpb = plain_booster(64);
    let with = |lpa, len, entry| Op::HpbRead { lpa: Lpa(lpa), len, entry };
    let without = |lpa, len| Op::Read { lpa: Lpa(lpa), len };
    assert_eq!(read(&mut hpb, 0, 4), with(0, 4, 100));
    assert_eq!(read(&mut hpb, 0, 5), without(0, 5), "page 4 is elsewhere");
    assert_eq!(read(&mut hpb, 4, 1), with(4, 1, 900));
    assert_eq!(read(&mut hpb, 4, 2), without(4, 2));
    assert_eq!(read(&mut hpb, 5, 11), with(5, 11, 105));
    assert_eq!(read(&mut hpb, 5, 12), without(5, 12), "reaches into the next group");
    notice(&mut hpb, HpbNotice::Entry { lpa: Lpa(4), entry: 104 });
    assert_eq!(read(&mut hpb, 0, 16), with(0, 16, 100));
    sent(&mut hpb, RequestOp::Write { fua: false }, 7, 1);
    assert_eq!(read(&mut hpb, 0, 8), without(0, 8), "no entry for page 7");
    assert_eq!(read(&mut hpb, 0, 7), with(0, 7, 100));
    notice(&mut hpb, HpbNotice::Entry { lpa: Lpa(6), entry: 0 });
    assert_eq!([read(&mut hpb, 6, 1), read(&mut hpb, 5, 2)], [without(6, 1), without(5, 2)], "trimmed");
}

#[test]
fn plain_entries_take_half_the_memory() {
    let hpb = plain_booster(3 * 64 + 63);
    assert_eq!((hpb.usage().dram_bytes, hpb.usage().dram_bytes_limit), (64, 192));
}

fn part(op: RequestOp, lpa: u32, len: u32) -> Part {
    Part { request: 0, op, lpa: Lpa(lpa), len, app: AppId::SYSTEM, counted: false, pinned: false }
}

fn read(hpb: &mut Hpb, lpa: u32, len: u32) -> Op {
    sent(hpb, RequestOp::Read, lpa, len)
}

fn sent(hpb: &mut Hpb, op: RequestOp, lpa: u32, len: u32) -> Op {
    match hpb.plan(T0, &mut part(op, lpa, len), 128) {
        Step::Send { op, .. } => op,
        step => panic!("{step:?}"),
    }
}

fn respond(hpb: &mut Hpb, op: Op, data: DataIn, notice: HpbNotice) {
    let mut response =
        Response { tag: Tag(0), status: Status::Good, data, hpb: notice, piggyback: PiggyBack::default() };
    hpb.on_response(T0, &op, &mut response, &mut VecDeque::new());
}

fn notice(hpb: &mut Hpb, notice: HpbNotice) {
    respond(hpb, Op::Flush, DataIn::None, notice);
}

/// The group that the booster reads in idle time.
fn ask(hpb: &mut Hpb) -> Option<u32> {
    match hpb.lazy(SimTime(100), Some(T0))?.op {
        Op::HpbReadBuffer { group } => Some(group),
        op => panic!("{op:?}"),
    }
}

fn load(hpb: &mut Hpb, group: u32) {
    assert_eq!(ask(hpb), Some(group));
    bring(hpb, group);
}

fn bring(hpb: &mut Hpb, group: u32) {
    let sealed = (0..GROUP).map(|i| u64::from(1000 + group * GROUP + i)).collect();
    respond(hpb, Op::HpbReadBuffer { group }, DataIn::Sealed(sealed), HpbNotice::None);
}

#[test]
fn a_driver_that_is_not_eager_reads_only_what_a_read_has_missed() {
    let mut hpb = booster_of(4, Some(Nanos(0)), false);
    assert_eq!(ask(&mut hpb), None, "nothing at boot");
    assert_eq!(read(&mut hpb, 20, 1), Op::Read { lpa: Lpa(20), len: 1 });
    load(&mut hpb, 1);
    assert!(matches!(read(&mut hpb, 20, 1), Op::HpbRead { .. }));
    notice(&mut hpb, HpbNotice::DirtyGroup(1));
    assert_eq!(ask(&mut hpb), None, "a change alone is no reason");
    assert_eq!(read(&mut hpb, 21, 1), Op::Read { lpa: Lpa(21), len: 1 }, "its entries are not used any more");
    load(&mut hpb, 1);
    assert!(matches!(read(&mut hpb, 21, 1), Op::HpbRead { .. }));
}

#[test]
fn the_cache_is_populated_in_idle_time_up_to_the_limit() {
    let mut hpb = booster(2, None);
    assert_eq!(hpb.next_wake(Some(SimTime(7))), Some(SimTime(107)));
    assert_eq!(hpb.next_wake(None), None, "a busy device is left alone");
    assert_eq!(hpb.lazy(SimTime(99), Some(T0)), None);
    load(&mut hpb, 0);
    load(&mut hpb, 1);
    assert_eq!(ask(&mut hpb), None);
    assert_eq!(hpb.next_wake(Some(T0)), None);
    assert_eq!(read(&mut hpb, 3, 1), Op::HpbRead { lpa: Lpa(3), len: 1, entry: 1003 });
}

#[test]
fn one_read_buffer_at_a_time() {
    let mut hpb = booster(2, None);
    assert_eq!(ask(&mut hpb), Some(0));
    assert_eq!(ask(&mut hpb), None);
    bring(&mut hpb, 0);
    assert_eq!(ask(&mut hpb), Some(1));
}

#[test]
fn a_deferred_read_buffer_is_sent_at_last() {
    let mut hpb = booster(1, Some(Nanos(5_000)));
    assert_eq!(hpb.next_wake(None), Some(SimTime(5_000)));
    assert_eq!(hpb.lazy(SimTime(4_999), None), None);
    assert!(hpb.lazy(SimTime(5_000), None).is_some());
}

#[test]
fn a_read_that_leaves_its_group_is_plain() {
    let mut hpb = booster(2, None);
    load(&mut hpb, 0);
    load(&mut hpb, 1);
    assert_eq!(read(&mut hpb, 14, 2), Op::HpbRead { lpa: Lpa(14), len: 2, entry: 1014 });
    assert_eq!(read(&mut hpb, 14, 3), Op::Read { lpa: Lpa(14), len: 3 });
}

#[test]
fn a_write_drops_the_entries_that_it_makes_stale() {
    let mut hpb = booster(2, None);
    load(&mut hpb, 0);
    load(&mut hpb, 1);
    sent(&mut hpb, RequestOp::Write { fua: false }, 15, 2);
    assert_eq!([14, 15, 16, 17].map(|lpa| hpb.sealed(Lpa(lpa))), [Some(1014), Some(0), Some(0), Some(1017)]);
    assert_eq!(read(&mut hpb, 15, 1), Op::Read { lpa: Lpa(15), len: 1 });
    notice(&mut hpb, HpbNotice::Entry { lpa: Lpa(15), entry: 77 });
    assert_eq!(read(&mut hpb, 15, 1), Op::HpbRead { lpa: Lpa(15), len: 1, entry: 77 });
}

#[test]
fn a_dirty_group_is_unused_until_it_is_read_again() {
    let mut hpb = booster(1, None);
    load(&mut hpb, 0);
    notice(&mut hpb, HpbNotice::DirtyGroup(0));
    notice(&mut hpb, HpbNotice::DirtyGroup(3));
    notice(&mut hpb, HpbNotice::Entry { lpa: Lpa(2), entry: 77 });
    assert_eq!(hpb.sealed(Lpa(2)), Some(77));
    assert_eq!(read(&mut hpb, 2, 1), Op::Read { lpa: Lpa(2), len: 1 });
    load(&mut hpb, 0);
    assert_eq!(read(&mut hpb, 2, 1), Op::HpbRead { lpa: Lpa(2), len: 1, entry: 1002 });
    assert_eq!(ask(&mut hpb), None, "group 3 is not cached, so its state does not matter");
}

#[test]
fn what_changes_during_a_load_makes_it_void() {
    let changes: [fn(&mut Hpb); 3] = [
        |hpb| notice(hpb, HpbNotice::DirtyGroup(0)),
        |hpb| notice(hpb, HpbNotice::Entry { lpa: Lpa(5), entry: 77 }),
        |hpb| {
            sent(hpb, RequestOp::Unmap, 5, 1);
        },
    ];
    for change in changes {
        let mut hpb = booster(1, None);
        assert_eq!(ask(&mut hpb), Some(0));
        change(&mut hpb);
        bring(&mut hpb, 0);
        assert_eq!(read(&mut hpb, 5, 1), Op::Read { lpa: Lpa(5), len: 1 });
        load(&mut hpb, 0);
        assert_eq!(read(&mut hpb, 5, 1), Op::HpbRead { lpa: Lpa(5), len: 1, entry: 1005 });
    }
}

#[test]
fn a_miss_brings_its_group_in_for_the_least_recently_used_one() {
    let mut hpb = booster(2, None);
    load(&mut hpb, 0);
    load(&mut hpb, 1);
    read(&mut hpb, 0, 1);
    assert_eq!(read(&mut hpb, 40, 1), Op::Read { lpa: Lpa(40), len: 1 });
    load(&mut hpb, 2);
    assert_eq!([0, 16, 40].map(|lpa| hpb.sealed(Lpa(lpa))), [Some(1000), None, Some(1040)]);
    let usage = hpb.usage();
    assert_eq!((usage.dram_bytes, usage.dram_bytes_limit), (256, 256));
    assert_eq!((usage.hits, usage.misses, hpb.stats.hpb_read_buffers), (1, 1, 3));
}

#[test]
fn a_lower_limit_drops_groups_at_once() {
    let mut hpb = booster(4, None);
    (0..3).for_each(|group| load(&mut hpb, group));
    assert_eq!(ask(&mut hpb), Some(3));
    hpb.set_limit(128);
    bring(&mut hpb, 3);
    assert_eq!(hpb.usage().dram_bytes, 128);
}

#[test]
fn a_failed_read_buffer_is_repeated_when_a_read_misses() {
    let mut hpb = booster(1, None);
    assert_eq!(ask(&mut hpb), Some(0));
    respond(&mut hpb, Op::HpbReadBuffer { group: 0 }, DataIn::None, HpbNotice::None);
    assert_eq!(ask(&mut hpb), None);
    assert_eq!(read(&mut hpb, 0, 1), Op::Read { lpa: Lpa(0), len: 1 });
    load(&mut hpb, 0);
}
