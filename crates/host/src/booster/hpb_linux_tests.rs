use proptest::prelude::*;
use ufs::{HpbNotice, Status};
use units::Nanos;

use super::super::seat::{Counted as _, HostMemory as _, OwnCommands as _};
use super::super::subregion::bench::{Bench, INFO, happenings};
use super::*;

/// A bench with memory for `regions` regions.
fn bench(regions: u64, device_control: bool) -> Bench<HpbLinux> {
    let info = DeviceInfo { hpb_device_control: device_control, ..INFO };
    Bench::new(attach(&Params::default(), regions * 4 * 4096, &info))
}

fn reads(bench: &mut Bench<HpbLinux>, group: u32, n: u32) {
    for _ in 0..n {
        bench.read(0, group);
    }
}

/// The next look at the timeouts, at which it does what is on its lists.
fn look(bench: &mut Bench<HpbLinux>) -> Vec<Op> {
    bench.now = bench.booster.next_wake(None).expect("it looks again");
    bench.serve()
}

fn buffer(group: u32) -> Op {
    Op::HpbReadBuffer { group }
}

#[test]
fn eight_reads_without_a_write_activate_a_subregion_at_the_next_look() {
    let mut b = bench(4, false);
    reads(&mut b, 5, 7);
    b.write(0, 5);
    reads(&mut b, 5, 7);
    assert_eq!(look(&mut b), []);
    reads(&mut b, 5, 1);
    assert_eq!(b.serve(), []);
    b.now = b.booster.next_wake(None).expect("it looks again");
    assert_eq!(b.command(), Some(buffer(5)));
    assert!(!b.read(0, 5), "it is not there yet");
    b.answer(buffer(5), Status::Good, HpbNotice::None);
    assert!(b.read(0, 5));
    assert_eq!(["hit_cnt", "miss_cnt", "map_req_cnt", "rcmd_active_cnt"].map(|name| b.counter(name)), [1, 16, 1, 1]);
    assert_eq!(b.booster.usage().dram_bytes, 4096);
    b.write(0, 5);
    assert!(!b.read(0, 5), "the block is dirty");
}

#[test]
fn so_many_map_requests_at_a_time_and_the_others_wait_for_the_next_look() {
    let mut b = bench(4, false);
    reads(&mut b, 5, 8);
    reads(&mut b, 9, 8);
    b.now = b.booster.next_wake(None).expect("it looks again");
    assert_eq!((b.command(), b.command()), (Some(buffer(5)), None));
    b.answer(buffer(5), Status::Good, HpbNotice::None);
    assert_eq!(b.command(), None);
    b.notice(HpbNotice::DirtyGroup(40));
    assert_eq!(b.serve(), [buffer(9)], "what the device says begins a turn, too");
}

#[test]
fn a_region_enters_a_full_memory_only_with_many_reads_and_in_place_of_one_with_few() {
    let mut b = bench(1, false);
    reads(&mut b, 0, 8);
    assert_eq!(look(&mut b), [buffer(0)]);
    reads(&mut b, 4, 8);
    reads(&mut b, 1, 8);
    assert_eq!(look(&mut b), [], "8 of 256 reads, and what is behind it waits");
    reads(&mut b, 4, 248);
    assert_eq!(look(&mut b), [Op::HpbInactivate { region: 0 }, buffer(4)], "the other one is not of the region");
    assert_eq!(b.counter("umap_req_cnt"), 1);
    reads(&mut b, 8, 258);
    assert_eq!(look(&mut b), [], "region 1 has more than 128 reads and stays");
}

#[test]
fn counts_are_halved_when_a_region_has_more_than_a_subregion_has_entries() {
    let mut b = bench(1, false);
    reads(&mut b, 0, 512);
    reads(&mut b, 4, 1);
    assert_eq!((b.booster.policy.reads[0], b.booster.policy.reads[4]), (512, 1));
    reads(&mut b, 0, 1);
    assert_eq!((b.booster.policy.reads[0], b.booster.policy.reads[4], b.booster.policy.regions[1].reads), (256, 0, 0));
}

#[test]
fn regions_that_are_not_read_leave_after_100_timeouts_and_written_ones_after_one() {
    let mut b = bench(4, false);
    for group in [0, 4] {
        reads(&mut b, group, 8);
    }
    assert_eq!((look(&mut b).len(), look(&mut b).len()), (1, 1));
    b.write(0, 4);
    let mut dropped = Vec::new();
    while b.booster.policy.active > 0 {
        dropped.extend(look(&mut b).into_iter().map(|op| (op, b.now)));
    }
    let seconds = |at: SimTime| at.0 / 1_000_000_000;
    assert_eq!(dropped.len(), 2, "{dropped:?}");
    assert_eq!((dropped[0].0, seconds(dropped[0].1)), (Op::HpbInactivate { region: 1 }, 1));
    // Each of the 100 timeouts is noticed up to one polling interval too late.
    assert_eq!(dropped[1].0, Op::HpbInactivate { region: 0 });
    assert!((100..=121).contains(&seconds(dropped[1].1)), "{dropped:?}");
    assert_eq!(b.counter("rcmd_inactive_cnt"), 2);
}

#[test]
fn reads_rewind_the_timer() {
    let mut b = bench(4, false);
    reads(&mut b, 0, 8);
    look(&mut b);
    for _ in 0..600 {
        reads(&mut b, 0, 1);
        assert_eq!(look(&mut b), []);
    }
    assert!(b.now.0 > 100_000_000_000 && b.holds(0));
}

#[test]
fn a_device_that_controls_decides() {
    let mut b = bench(1, true);
    reads(&mut b, 0, 300);
    assert_eq!(b.serve(), [], "counts of reads do not matter");
    let both = Recommendation { activate: [Some(1), Some(2)], inactivate: [None; 2] };
    b.notice(HpbNotice::Recommend(both));
    assert_eq!(b.serve(), [buffer(1), buffer(2)]);
    b.notice(HpbNotice::DirtyGroup(2));
    assert!(!b.read(0, 2), "it is not used before it has been read again");
    assert_eq!(b.serve(), [buffer(2)]);
    // Another region takes the place of the first. The device is not told.
    b.notice(HpbNotice::DirtyGroup(9));
    assert_eq!(b.serve(), [buffer(9)]);
    assert_eq!(b.held(), [9]);
    b.notice(HpbNotice::Recommend(Recommendation { activate: [None; 2], inactivate: [Some(2), None] }));
    assert_eq!((b.serve(), b.held()), (vec![], vec![]));
    assert_eq!(b.booster.next_wake(None), None, "there is no timer");
    assert_eq!(["rcmd_noti_cnt", "rcmd_active_cnt", "rcmd_inactive_cnt"].map(|name| b.counter(name)), [4, 4, 1]);
}

#[test]
fn a_host_that_controls_listens_only_where_it_has_not_written() {
    let mut b = bench(4, false);
    reads(&mut b, 0, 8);
    reads(&mut b, 4, 8);
    look(&mut b);
    look(&mut b);
    b.write(0, 4);
    b.notice(HpbNotice::DirtyGroup(8));
    b.notice(HpbNotice::DirtyGroup(5));
    assert_eq!(b.serve(), [], "one region is not active, one is written");
    b.notice(HpbNotice::DirtyGroup(0));
    assert_eq!(b.serve(), [buffer(0)]);
    b.notice(HpbNotice::Recommend(Recommendation { activate: [None; 2], inactivate: [Some(0), Some(9999)] }));
    assert!(b.read(0, 0), "it drops nothing because the device says so");
    b.notice(HpbNotice::DirtyGroup(u32::MAX));
}

#[test]
fn a_failed_read_buffer_passes_for_an_empty_one() {
    let mut b = bench(4, false);
    reads(&mut b, 0, 8);
    b.now = b.booster.next_wake(None).expect("it looks again");
    let op = b.command().expect("a fetch");
    b.answer(op, Status::InvalidField, HpbNotice::None);
    assert!(!b.read(0, 0));
    assert_eq!((b.serve(), b.held()), (vec![], vec![0]));
}

#[test]
fn what_is_reserved_is_taken_whether_it_is_used_or_not() {
    use params::CountOr::{Count, Word};
    for (reserved_mib, taken) in [(Count(0), 4096), (Count(1024), 4 * 4 * 4096), (Word("all"), 4 * 4 * 4096)] {
        let own = Params { memory: MemoryParams { reserved_mib, ..MemoryParams::default() }, ..Params::default() };
        let mut b = Bench::new(attach(&own, 4 * 4 * 4096, &INFO));
        reads(&mut b, 0, 8);
        look(&mut b);
        assert_eq!(b.booster.memory_bytes(), taken, "{reserved_mib:?}");
        assert_eq!(b.booster.cache.subregions.bytes_taken(Some(8192)), 8192);
    }
}

#[test]
fn a_smaller_limit_drops_the_regions_activated_longest_ago() {
    let mut b = bench(3, false);
    for group in [0, 4, 8] {
        reads(&mut b, group, 8);
        look(&mut b);
    }
    b.booster.set_limit(4 * 4096);
    assert_eq!(b.held(), [8]);
    assert_eq!(b.serve(), [Op::HpbInactivate { region: 0 }, Op::HpbInactivate { region: 1 }]);
    b.now = b.now + Nanos::from_millis(1);
    assert_eq!(b.booster.usage().dram_bytes_limit, 4 * 4096);
}

proptest! {
    #[test]
    fn the_limit_holds_whatever_comes(happenings in happenings(), regions in 1..6u64, control in any::<bool>()) {
        bench(regions, control).endure(&happenings, regions * 4 * 4096);
    }
}
