use proptest::prelude::*;
use ufs::{HpbNotice, Status};

use super::super::seat::{Apps as _, HostMemory as _, OwnCommands as _};
use super::super::subregion::bench::{Bench, INFO, happenings};
use super::*;

const FRONT: u16 = 1;
const BACK: u16 = 2;

/// A bench with room for `slots` subregions. App 1 is in the foreground.
fn bench(slots: u64) -> Bench<Foam> {
    let memory = MemoryParams { reserved_mib: params::CountOr::Count(0), ..MemoryParams::default() };
    let mut bench = Bench::new(attach(&Params { memory, ..Params::default() }, slots * 4096, &INFO));
    bench.signal(AppSignal::LaunchStart(AppId(FRONT)));
    bench
}

/// Reads until the subregion has been fetched.
fn fetch(b: &mut Bench<Foam>, app: u16, group: u32) {
    for _ in 0..8 {
        assert!(!b.read(app, group));
    }
    assert_eq!(b.fetched(), [group]);
}

#[test]
fn what_goes_first_is_as_the_paper_lists_it() {
    let mut b = bench(5);
    for (app, group) in [(FRONT, 0), (FRONT, 1), (BACK, 2), (BACK, 3), (BACK, 4)] {
        fetch(&mut b, app, group);
    }
    b.write(FRONT, 1);
    b.write(BACK, 3);
    // FR 0, FW 1, BR 2 and 4, BW 3. Each new subregion enters FR.
    let mut evicted = Vec::new();
    let mut held = b.held();
    for group in 10..15 {
        fetch(&mut b, FRONT, group);
        let now = b.held();
        evicted.extend(held.iter().copied().filter(|group| !now.contains(group)));
        held = now;
    }
    assert_eq!(evicted, [2, 4, 3, 0, 10], "background reads and writes, then foreground reads in order of age");
    assert!(b.holds(1), "a foreground write goes last");
    assert_eq!(b.counter("subregions_evicted"), 5);
}

#[test]
fn the_last_reference_decides() {
    let mut b = bench(2);
    fetch(&mut b, FRONT, 0);
    fetch(&mut b, BACK, 1);
    assert!(b.read(FRONT, 1) && b.read(BACK, 0));
    fetch(&mut b, FRONT, 2);
    assert_eq!(b.held(), [1, 2]);
    b.signal(AppSignal::LaunchStart(AppId(BACK)));
    assert!(b.read(BACK, 1));
    fetch(&mut b, FRONT, 3);
    assert_eq!(b.held(), [1, 3], "subregion 2 was referenced in the foreground, but longer ago");
}

#[test]
fn nobody_is_in_the_foreground_after_its_end() {
    let mut b = bench(2);
    b.signal(AppSignal::Ended(AppId(BACK)));
    fetch(&mut b, FRONT, 0);
    b.signal(AppSignal::Ended(AppId(FRONT)));
    fetch(&mut b, FRONT, 1);
    fetch(&mut b, BACK, 2);
    assert_eq!(b.held(), [0, 2], "subregion 1 was read in the background");
}

#[test]
fn what_nobody_references_for_100_seconds_is_dropped() {
    let mut b = bench(4);
    fetch(&mut b, FRONT, 0);
    fetch(&mut b, BACK, 1);
    while b.now.0 < 90_000_000_000 {
        b.now = b.booster.next_wake(None).expect("it looks again");
        assert_eq!(b.serve(), []);
    }
    assert!(b.read(BACK, 1));
    while b.booster.memory_bytes() > 4096 {
        b.now = b.booster.next_wake(None).expect("it looks again");
        b.serve();
    }
    assert_eq!((b.held(), b.now.0 / 1_000_000_000), (vec![1], 100));
    while let Some(at) = b.booster.next_wake(None) {
        b.now = at;
        b.serve();
    }
    assert_eq!((b.held(), b.counter("subregions_expired")), (vec![], 2));
    fetch(&mut b, FRONT, 0);
}

#[test]
fn what_the_device_has_moved_is_fetched_again() {
    let mut b = bench(4);
    fetch(&mut b, BACK, 0);
    b.notice(HpbNotice::DirtyGroup(0));
    assert!(!b.read(BACK, 0));
    assert_eq!(b.fetched(), [0]);
    assert!(b.read(BACK, 0));
    b.write(BACK, 0);
    b.notice(HpbNotice::DirtyGroup(0));
    assert_eq!(b.fetched(), [], "the host decides about what it has written");
    for group in [7, u32::MAX] {
        b.notice(HpbNotice::DirtyGroup(group));
    }
    assert_eq!(b.fetched(), [], "it has not got them");
}

#[test]
fn a_failed_fetch_leaves_nothing() {
    let mut b = bench(1);
    for _ in 0..8 {
        b.read(BACK, 0);
    }
    let op = b.command().expect("a fetch");
    b.answer(op, Status::InvalidField, HpbNotice::None);
    assert_eq!((b.booster.memory_bytes(), b.held()), (0, vec![]));
    assert!(!b.read(BACK, 0));
    assert_eq!(b.fetched(), [0]);
}

#[test]
fn nothing_is_given_back_to_the_killer() {
    let mut b = bench(4);
    fetch(&mut b, BACK, 0);
    assert_eq!(b.booster.reclaim(b.now, AppId(FRONT), 4096), 0);
    b.booster.set_limit(1);
    assert_eq!(b.held(), [0], "one fits whatever the limit");
}

proptest! {
    #[test]
    fn the_limit_holds_whatever_comes(happenings in happenings(), slots in 1..40u64) {
        bench(slots).endure(&happenings, slots * 4096);
    }
}
