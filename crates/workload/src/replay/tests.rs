use units::{Lpa, Nanos, SimTime};

use super::*;
use crate::{Flags, UnitRange, WorkOp, WorkRequest};

fn request(at: u64, unit: u64, stream: u16) -> WorkRequest {
    WorkRequest {
        arrival: SimTime(at),
        line: unit,
        phone_latency: Some(Nanos(5)),
        stream: StreamId(stream),
        ..WorkRequest::plain(if unit.is_multiple_of(2) { WorkOp::Read } else { WorkOp::Write }, unit, 1)
    }
}

/// Units 0.. at times 0, 100, ...; even units are reads; file 0 has the first two of every three.
fn trace(count: u64) -> Arc<Trace> {
    let requests = (0..count).map(|i| request(i * 100, i, u16::from(i % 3 == 2))).collect();
    Arc::new(Trace {
        name: "t".into(),
        requests,
        files: vec!["t/trace.0".into(), "t/trace.1".into()],
        ..Trace::default()
    })
}

fn drain(replay: &mut Replay, now: u64) -> (Vec<Issued>, Next) {
    let mut issued = Vec::new();
    loop {
        match replay.next(SimTime(now)) {
            Next::Request(i) => issued.push(i),
            other => return (issued, other),
        }
    }
}

fn units_of(issued: &[Issued]) -> Vec<u32> {
    issued.iter().map(|i| i.request.units().0.0).collect()
}

#[test]
fn timed_replay_keeps_recorded_times_relative_to_its_start() {
    let mut replay = Replay::new(trace(3), ReplayMode::Timed, 10).unwrap();
    let (first, next) = drain(&mut replay, 1000);
    assert_eq!(units_of(&first), [0]);
    assert_eq!(next, Next::Wait(SimTime(1100)));
    // Asked late, it still reports when the request was due: latency counts from there.
    let (rest, next) = drain(&mut replay, 1250);
    assert_eq!(rest.iter().map(|i| i.request.arrival).collect::<Vec<_>>(), [SimTime(1100), SimTime(1200)]);
    assert_eq!(next, Next::Done);
    assert_eq!(rest[1].ticket, Ticket(2));
}

#[test]
fn queued_replay_lets_in_what_there_is_room_for() {
    let mut replay = Replay::new(trace(5), ReplayMode::Queued { depth: 2 }, 10).unwrap();
    let (first, next) = drain(&mut replay, 150);
    assert_eq!((units_of(&first), next), (vec![0], Next::Wait(SimTime(250))));
    let (second, next) = drain(&mut replay, 260);
    assert_eq!((units_of(&second), next), (vec![1], Next::Blocked));
    // Units 2 and 3 were due at 350 and 450: they come in when there is room, unit 4 at its own time.
    let mut after = |ticket, time, asked| {
        replay.completed(ticket, SimTime(time));
        let (issued, next) = drain(&mut replay, asked);
        (issued[0].request.units().0.0, issued[0].request.arrival.0, next)
    };
    assert_eq!(after(first[0].ticket, 500, 500), (2, 500, Next::Blocked));
    assert_eq!(after(second[0].ticket, 520, 520), (3, 520, Next::Blocked));
    assert_eq!(after(Ticket(0), 530, 560), (4, 550, Next::Done));
}

#[test]
fn closed_replay_keeps_its_depth_and_order() {
    let mut replay = Replay::new(trace(5), ReplayMode::Closed { depth: 2, per_file: false }, 10).unwrap();
    let (first, next) = drain(&mut replay, 7);
    assert_eq!((units_of(&first), next), (vec![0, 1], Next::Blocked));
    assert!(first.iter().all(|i| i.request.arrival == SimTime(7)));
    replay.completed(first[1].ticket, SimTime(9));
    let (second, next) = drain(&mut replay, 9);
    assert_eq!((units_of(&second), next), (vec![2], Next::Blocked));
    assert_eq!(second[0].ticket, first[1].ticket, "tickets are reused");
    replay.completed(first[0].ticket, SimTime(9));
    replay.completed(second[0].ticket, SimTime(9));
    let (third, next) = drain(&mut replay, 9);
    assert_eq!((units_of(&third), next), (vec![3, 4], Next::Done));
    assert_eq!(replay.progress(), Progress { done: 3 * 4096, total: Some(5 * 4096) });
}

#[test]
fn closed_replay_per_file_gives_every_file_its_depth() {
    let mut replay = Replay::new(trace(9), ReplayMode::Closed { depth: 1, per_file: true }, 10).unwrap();
    let (first, next) = drain(&mut replay, 0);
    assert_eq!((units_of(&first), next), (vec![0, 2], Next::Blocked));
    assert_eq!(first.iter().map(|i| i.group).collect::<Vec<_>>(), [GroupId(0), GroupId(1)]);
    assert_eq!(replay.groups()[1].name, "t/trace.1");
    replay.completed(first[1].ticket, SimTime(1));
    assert_eq!(units_of(&drain(&mut replay, 1).0), [5]);
}

#[test]
fn a_trace_knows_its_footprints() {
    let replay = Replay::new(trace(4), ReplayMode::Timed, 4).unwrap();
    let range = |first, count| UnitRange { first: Lpa(first), count };
    assert_eq!(replay.footprint().ranges(), [range(0, 1), range(2, 1)]);
    assert_eq!(replay.preconditioning_ranges().ranges(), [range(0, 4)]);
}

#[test]
fn a_request_beyond_the_device_is_named() {
    let error = Replay::new(trace(4), ReplayMode::Timed, 3).unwrap_err();
    assert_eq!(
        error.to_string(),
        "t/trace.0: event 3: sector 24 with 4096 bytes ends beyond the device of 24 sectors (3 units of 4 KiB)"
    );
}

#[test]
fn depth_has_a_range() {
    let error = Replay::new(trace(1), ReplayMode::Closed { depth: 65537, per_file: true }, 9).unwrap_err();
    assert_eq!(error.to_string(), "depth: 65537 is not allowed; allowed are 1 to 65536");
}

#[test]
#[should_panic(expected = "not outstanding")]
fn completing_twice_is_our_bug() {
    let mut replay = Replay::new(trace(1), ReplayMode::Timed, 10).unwrap();
    let (issued, _) = drain(&mut replay, 0);
    replay.completed(issued[0].ticket, SimTime(1));
    replay.completed(issued[0].ticket, SimTime(1));
}

/// A write of sectors 4 to 20 (units 0 and 2 in part), then a read of unit 5.
fn partial() -> Arc<Trace> {
    let flags = Flags { fua: true, preflush: true, sync: true, ..Flags::default() };
    let write = WorkRequest { op: WorkOp::Write, sector: 4, bytes: 16 * 512, flags, ..request(0, 1, 0) };
    let read = WorkRequest { op: WorkOp::Read, ..request(100, 5, 0) };
    Arc::new(Trace { name: "t".into(), requests: vec![write, read], files: vec!["f".into()], ..Trace::default() })
}

fn kinds(issued: &[Issued]) -> Vec<(WorkOp, u32, u32)> {
    issued.iter().map(|i| (i.request.op, i.request.units().0.0, i.request.units().1)).collect()
}

#[test]
fn a_partial_write_waits_for_the_reads_of_its_ends() {
    let mut replay = Replay::new(partial(), ReplayMode::Timed, 10).unwrap();
    assert_eq!(replay.footprint().units(), 3, "what is read before the write counts as read");
    let (first, next) = drain(&mut replay, 10);
    assert_eq!(kinds(&first), [(WorkOp::Read, 0, 1), (WorkOp::Read, 2, 1)]);
    assert_eq!(next, Next::Wait(SimTime(110)));
    assert_eq!(first[0].request.flags, Flags { sync: true, ..Flags::default() });
    replay.completed(first[1].ticket, SimTime(20));
    assert_eq!(drain(&mut replay, 20).0, []);
    let (second, next) = drain(&mut replay, 110);
    assert_eq!((kinds(&second), next), (vec![(WorkOp::Read, 5, 1)], Next::Blocked), "a write is still to come");
    replay.completed(first[0].ticket, SimTime(120));
    let (third, next) = drain(&mut replay, 120);
    assert_eq!((kinds(&third), next), (vec![(WorkOp::Write, 0, 3)], Next::Done));
    assert!(third[0].request.flags.fua && third[0].request.flags.preflush);
    assert_eq!(third[0].request.arrival, SimTime(10), "its latency includes that of the reads");
    assert_eq!(replay.progress().done, 0);
    replay.completed(third[0].ticket, SimTime(130));
    replay.completed(second[0].ticket, SimTime(130));
    assert_eq!(replay.progress(), Progress { done: 16 * 512 + 4096, total: Some(16 * 512 + 4096) });
}

#[test]
fn a_partial_write_takes_one_place_of_the_depth() {
    let mut replay = Replay::new(partial(), ReplayMode::Closed { depth: 1, per_file: false }, 10).unwrap();
    let (first, next) = drain(&mut replay, 0);
    assert_eq!((first.len(), next), (2, Next::Blocked));
    first.iter().for_each(|i| replay.completed(i.ticket, SimTime(5)));
    let (second, next) = drain(&mut replay, 5);
    assert_eq!((kinds(&second), next), (vec![(WorkOp::Write, 0, 3)], Next::Blocked));
    replay.completed(second[0].ticket, SimTime(9));
    assert_eq!(kinds(&drain(&mut replay, 9).0), [(WorkOp::Read, 5, 1)]);
}

const MERGE: MergeLimits =
    MergeLimits { bytes: 1 << 20, segments: 128, plug_requests: 16, plug_gap: Nanos(150), plug_sync_gap: Nanos(150) };

/// The next request and what rides with it, by first unit.
fn together(replay: &mut Replay, now: u64) -> Option<(Issued, Vec<Issued>)> {
    let Next::Request(issued) = replay.next(SimTime(now)) else { return None };
    let mut riders = Vec::new();
    replay.take_riders(&mut riders);
    Some((issued, riders))
}

/// Writes of one unit, at times 0, 100, ...
fn writes(units: &[u64]) -> Arc<Trace> {
    let write = |(number, unit): (u64, &u64)| WorkRequest { op: WorkOp::Write, ..request(number * 100, *unit, 0) };
    let requests = (0..).zip(units).map(write).collect();
    Arc::new(Trace { name: "t".into(), requests, files: vec!["f".into()], ..Trace::default() })
}

#[test]
fn merged_requests_wait_for_the_last_of_their_plug_and_keep_their_arrivals() {
    let mut replay = Replay::new(writes(&[4, 5, 9, 3]), ReplayMode::Timed, 10).unwrap().merging(&MERGE);
    assert!(replay.merges());
    assert_eq!(replay.next(SimTime(1000)), Next::Wait(SimTime(1300)));
    let (first, riders) = together(&mut replay, 1300).unwrap();
    assert_eq!((units_of(&[first]), units_of(&riders)), (vec![4], vec![5, 3]));
    let arrivals: Vec<_> = riders.iter().map(|rider| rider.request.arrival.0).collect();
    assert_eq!((first.request.arrival, arrivals), (SimTime(1000), vec![1100, 1300]));
    let (alone, none) = together(&mut replay, 1300).unwrap();
    assert_eq!((units_of(&[alone]), none.len()), (vec![9], 0));
    assert_eq!(replay.next(SimTime(1300)), Next::Done);
    for issued in riders.iter().chain([&first, &alone]) {
        replay.completed(issued.ticket, SimTime(2000));
    }
    assert_eq!((replay.progress().done, replay.progress().total), (4 * 4096, Some(4 * 4096)));
}

#[test]
fn a_merged_request_takes_one_place_of_a_depth() {
    let mode = ReplayMode::Closed { depth: 1, per_file: false };
    let mut replay = Replay::new(writes(&[4, 5, 9]), mode, 10).unwrap().merging(&MERGE);
    let (first, riders) = together(&mut replay, 0).unwrap();
    assert_eq!((units_of(&riders), replay.next(SimTime(0))), (vec![5], Next::Blocked));
    // The place is free when the request itself has completed.
    replay.completed(riders[0].ticket, SimTime(5));
    assert_eq!(replay.next(SimTime(5)), Next::Blocked);
    replay.completed(first.ticket, SimTime(5));
    assert_eq!(units_of(&[together(&mut replay, 5).unwrap().0]), [9]);
}

/// Two halves of a unit need no read of it when they are one; a unit and a half need one.
#[test]
fn a_merged_write_reads_what_it_leaves_of_its_units() {
    let half = |at: u64, sector: u64| WorkRequest { op: WorkOp::Write, sector, bytes: 2048, ..request(at, 0, 0) };
    for (sectors, read) in [([8, 12], None), ([12, 16], Some([1, 2]))] {
        let requests = vec![half(0, sectors[0]), half(100, sectors[1])];
        let trace = Trace { name: "t".into(), requests, files: vec!["f".into()], ..Trace::default() };
        let mut replay = Replay::new(Arc::new(trace), ReplayMode::Timed, 10).unwrap().merging(&MERGE);
        assert_eq!(replay.next(SimTime(0)), Next::Wait(SimTime(100)));
        let (mut issued, mut riders) = together(&mut replay, 100).unwrap();
        if let Some([first, last]) = read {
            assert_eq!((issued.request.op, issued.request.units()), (WorkOp::Read, (Lpa(first), last)));
            assert_eq!((riders.len(), replay.next(SimTime(100))), (0, Next::Blocked));
            replay.completed(issued.ticket, SimTime(150));
            (issued, riders) = together(&mut replay, 150).unwrap();
        }
        assert_eq!((issued.request.op, issued.request.sector), (WorkOp::Write, sectors[0]));
        assert_eq!(riders.iter().map(|rider| rider.request.sector).collect::<Vec<_>>(), [sectors[1]]);
        assert_eq!(riders[0].request.arrival, SimTime(100));
    }
}
