use super::*;
use crate::request::tests::request;
use crate::{Flags, ProcessId};

const LIMITS: MergeLimits = MergeLimits {
    bytes: 1 << 20,
    segments: 128,
    plug_requests: 4,
    plug_gap: Nanos(50_000),
    plug_sync_gap: Nanos(50_000),
};

/// A write of a page at a microsecond.
fn write(us: u64, page: u64) -> WorkRequest {
    WorkRequest { arrival: SimTime(us * 1000), op: WorkOp::Write, ..request(page * 8, 4096) }
}

fn trace(requests: &[WorkRequest]) -> Trace {
    Trace { requests: requests.to_vec(), ..Trace::default() }
}

/// Which requests are one, and the microsecond at which they go on.
fn merged(requests: &[WorkRequest], limits: &MergeLimits) -> Vec<(Vec<u32>, u64)> {
    let merged = trace(requests).merged(limits);
    (0..merged.len()).map(|n| merged.get(n)).map(|(members, at)| (members.to_vec(), at.0 / 1000)).collect()
}

#[test]
fn neighbours_in_a_plug_are_one_whichever_comes_first() {
    // Behind, before, and not a neighbour; all go on when the last of them has come.
    let requests = [write(0, 10), write(1, 11), write(2, 9), write(3, 50), write(4, 12)];
    assert_eq!(merged(&requests, &LIMITS), [(vec![0, 1, 2, 4], 4), (vec![3], 4)]);
}

#[test]
fn a_pause_ends_a_plug_and_nobody_waits_for_it() {
    let requests = [write(0, 1), write(50, 2), write(101, 3), write(300, 4)];
    assert_eq!(merged(&requests, &LIMITS), [(vec![0, 1], 50), (vec![2], 101), (vec![3], 300)]);
}

#[test]
fn a_shorter_pause_ends_a_plug_after_what_somebody_waits_for() {
    let limits = MergeLimits { plug_sync_gap: Nanos(10_000), ..LIMITS };
    let flagged = |r: WorkRequest, flags| WorkRequest { flags, ..r };
    let sync = |r| flagged(r, Flags { sync: true, ..Flags::default() });
    let read = |r: WorkRequest| WorkRequest { op: WorkOp::Read, ..r };
    let ahead = |r| flagged(read(r), Flags { sync: true, readahead: true, ..Flags::default() });
    // The pause counts after the first of two, whatever comes then.
    assert_eq!(merged(&[write(0, 1), sync(write(20, 9))], &limits), [(vec![0], 20), (vec![1], 20)]);
    assert_eq!(merged(&[sync(write(0, 1)), write(20, 9)], &limits), [(vec![0], 0), (vec![1], 20)]);
    assert_eq!(merged(&[sync(write(0, 1)), write(10, 9)], &limits), [(vec![0], 10), (vec![1], 10)]);
    assert_eq!(merged(&[read(write(0, 1)), read(write(20, 9))], &limits), [(vec![0], 0), (vec![1], 20)]);
    assert_eq!(merged(&[ahead(write(0, 1)), ahead(write(20, 9))], &limits), [(vec![0], 20), (vec![1], 20)]);
}

#[test]
fn a_plug_belongs_to_a_process_on_a_cpu() {
    let other = |r: WorkRequest| WorkRequest { process: ProcessId(1), ..r };
    let cpu = |r: WorkRequest| WorkRequest { stream: StreamId(1), ..r };
    let requests = [write(0, 1), other(write(1, 2)), cpu(write(2, 2)), write(3, 2), other(write(4, 3))];
    assert_eq!(merged(&requests, &LIMITS), [(vec![2], 2), (vec![0, 3], 3), (vec![1, 4], 4)]);
}

#[test]
fn a_full_plug_goes_on_when_another_request_comes() {
    let apart = |n: u64| write(n, 10 * n);
    let requests = [apart(0), apart(1), apart(2), apart(3), write(4, 31), apart(5)];
    // The neighbour still finds a place; the sixth does not.
    let expected = [(vec![0], 5), (vec![1], 5), (vec![2], 5), (vec![3, 4], 5), (vec![5], 5)];
    assert_eq!(merged(&requests, &LIMITS), expected);
    let large = WorkRequest { bytes: 128 << 10, ..write(0, 0) };
    assert_eq!(merged(&[large, write(1, 100), write(2, 101)], &LIMITS), [(vec![0], 1), (vec![1, 2], 2)]);
}

#[test]
fn merging_ends_at_the_largest_transfer_and_at_the_segments() {
    let requests: Vec<_> = (0..6).map(|n| write(n, n)).collect();
    let bytes = MergeLimits { bytes: 3 * 4096, ..LIMITS };
    assert_eq!(merged(&requests, &bytes), [(vec![0, 1, 2], 5), (vec![3, 4, 5], 5)]);
    let segments = MergeLimits { segments: 2, ..LIMITS };
    assert_eq!(merged(&requests, &segments), [(vec![0, 1], 5), (vec![2, 3], 5), (vec![4, 5], 5)]);
    // Half a page takes a segment as well.
    let half = |n: u64| WorkRequest { bytes: 2048, sector: n * 4, ..write(n, 0) };
    assert_eq!(merged(&[half(0), half(1), half(2)], &segments), [(vec![0, 1], 2), (vec![2], 2)]);
}

#[test]
fn what_is_durable_trims_and_flushes_stay_alone_and_do_not_wait() {
    let flagged = |us, page, flags| WorkRequest { flags, ..write(us, page) };
    let fua = flagged(2, 12, Flags { fua: true, ..Flags::default() });
    let preflush = flagged(4, 14, Flags { preflush: true, ..Flags::default() });
    let flush = WorkRequest { op: WorkOp::Flush, bytes: 0, ..write(6, 0) };
    let trim = WorkRequest { op: WorkOp::Trim, ..write(8, 17) };
    let requests = [write(0, 10), write(1, 11), fua, write(3, 13), preflush, write(5, 15), flush, write(7, 16), trim];
    assert_eq!(
        merged(&requests, &LIMITS),
        [
            (vec![0, 1], 1),
            (vec![2], 2),
            (vec![3], 3),
            (vec![4], 4),
            (vec![5], 5),
            (vec![6], 6),
            (vec![7], 7),
            (vec![8], 8)
        ]
    );
}

#[test]
fn reads_and_writes_are_not_one() {
    let read = WorkRequest { op: WorkOp::Read, ..write(1, 2) };
    assert_eq!(merged(&[write(0, 1), read, write(2, 3)], &LIMITS), [(vec![0], 2), (vec![1], 2), (vec![2], 2)]);
}

/// Page 1 is written twice. Were the second merged with page 0, the first would come after it.
#[test]
fn what_overlaps_keeps_its_order() {
    let requests = [write(0, 0), write(1, 5), write(2, 1), write(3, 1), write(4, 2)];
    assert_eq!(merged(&requests, &LIMITS), [(vec![0, 2], 2), (vec![1], 2), (vec![3, 4], 4)]);
}

#[test]
fn every_request_is_there_once() {
    let mut rng = crate::Rng::from_seed(7);
    for _ in 0..50 {
        let mut us = 0;
        let requests: Vec<_> = (0..300)
            .map(|_| {
                us += rng.below(80);
                let op = [WorkOp::Read, WorkOp::Write, WorkOp::Write, WorkOp::Trim][rng.below(4) as usize];
                WorkRequest { op, process: ProcessId(rng.below(3) as u16), ..write(us, rng.below(40)) }
            })
            .collect();
        let merged = trace(&requests).merged(&LIMITS);
        let mut seen = vec![0; requests.len()];
        let mut before = SimTime::START;
        for (members, release) in (0..merged.len()).map(|number| merged.get(number)) {
            assert!(release >= before, "in order of release");
            before = release;
            assert!(members.is_sorted(), "the oldest first");
            let of = |&n: &u32| requests[n as usize];
            let (first, end) =
                (members.iter().map(|n| of(n).sector).min(), members.iter().map(|n| end_of(&of(n))).max());
            assert_eq!(end.unwrap() - first.unwrap(), 8 * members.len() as u64, "side by side without a hole");
            for member in members {
                assert!(of(member).arrival <= release, "nothing goes on before it has come");
                seen[*member as usize] += 1;
            }
        }
        assert!(seen.iter().all(|&times| times == 1));
    }
}
