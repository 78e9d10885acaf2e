use super::*;
use crate::{TraceFile, TraceOptions};

const HEADER: &str = "time_ns,op,device,sector,bytes,flags,latency_ns,process";

fn parse(name: &str, text: &str) -> Trace {
    let file = TraceFile::new(name, text.into());
    Trace::parse(name, vec![file], &TraceOptions::default()).unwrap()
}

/// A trace with a write of a page at each of these seconds, at sectors 8, 16, ... of device `sd`.
fn part(label: &str, shift: u64, seconds: &[u64]) -> JoinPart {
    let line = |(number, second): (u64, &u64)| format!("{},write,sd,{},4096,,,p\n", second * SECOND, number * 8);
    let text = format!("{HEADER}\n{}", (1..).zip(seconds).map(line).collect::<String>());
    JoinPart { label: label.into(), shift: Nanos(shift * SECOND), trace: parse(label, &text) }
}

const SECOND: u64 = 1_000_000_000;
const TURN: JoinRule = JoinRule::Alternate { turn: Nanos(10 * SECOND) };

/// Seconds and first letter of the process of each request.
fn told(trace: &Trace) -> Vec<(u64, char)> {
    let who = |r: &WorkRequest| trace.processes[usize::from(r.process.0)].chars().next().unwrap();
    trace.requests.iter().map(|r| (r.arrival.0 / SECOND, who(r))).collect()
}

fn join(parts: &[JoinPart], rule: JoinRule) -> Vec<(u64, char)> {
    told(&Trace::joined("j", parts, rule, JoinAddresses::Shared).unwrap())
}

#[test]
fn traces_run_at_once_from_their_shifts_on() {
    let parts = [part("a", 0, &[0, 10, 20]), part("b", 5, &[0, 10])];
    assert_eq!(join(&parts, JoinRule::Merge), [(0, 'a'), (5, 'b'), (10, 'a'), (15, 'b'), (20, 'a')]);
    // At the same moment the one that is named first goes first.
    let parts = [part("b", 10, &[0]), part("a", 0, &[0, 10])];
    assert_eq!(join(&parts, JoinRule::Merge), [(0, 'a'), (10, 'b'), (10, 'a')]);
    // The first request comes at time 0, however long all of them are silent.
    let parts = [part("a", 7, &[0, 1]), part("b", 9, &[0])];
    assert_eq!(join(&parts, JoinRule::Merge), [(0, 'a'), (1, 'a'), (2, 'b')]);
}

#[test]
fn one_after_another_begins_with_the_last_request_of_the_one_before() {
    let parts = [part("a", 0, &[0, 10]), part("b", 3, &[0, 1]), part("c", 0, &[0, 2])];
    assert_eq!(join(&parts, JoinRule::Append), [(0, 'a'), (10, 'a'), (13, 'b'), (14, 'b'), (14, 'c'), (16, 'c')]);
}

#[test]
fn in_turns_each_goes_on_where_it_stopped() {
    let parts = [part("a", 0, &[0, 9, 10, 25]), part("b", 0, &[0, 12])];
    // a 0..10, b 0..10, a 10..20, b 10..12 (its end), a 20..25 (its end).
    let expected = [(0, 'a'), (9, 'a'), (10, 'b'), (20, 'a'), (32, 'b'), (37, 'a')];
    assert_eq!(join(&parts, TURN), expected);
}

#[test]
fn a_turn_without_requests_takes_its_time_and_a_shift_is_silence() {
    let parts = [part("a", 0, &[0, 35]), part("b", 12, &[0])];
    // a 0..10, b 0..10 (silent), a 10..20 (silent), b 10..12 (its end), a 20..30 (silent), a 30..35.
    assert_eq!(join(&parts, TURN), [(0, 'a'), (32, 'b'), (47, 'a')]);
}

#[test]
fn requests_keep_what_they_are_and_addresses_are_shared() {
    let rich = format!("{HEADER}\n0,write,x,80,4096,fua|meta,77,k/1\n5,flush,x,0,0,,,k/1\n9,read,y,8,512,,,q\n");
    let rich = JoinPart { label: "r".into(), shift: Nanos(2), trace: parse("r", &rich) };
    let parts = [part("a", 0, &[0]), rich.clone()];
    let joined = Trace::joined("j", &parts, JoinRule::Merge, JoinAddresses::Shared).unwrap();
    assert_eq!(joined.devices.iter().map(|d| (d.name.as_str(), d.first_sector)).collect::<Vec<_>>(), [("shared", 0)]);
    for (own, joined) in rich.trace.requests.iter().zip(&joined.requests[1..]) {
        assert_eq!((joined.op, joined.sector, joined.bytes), (own.op, own.sector, own.bytes));
        assert_eq!((joined.flags, joined.phone_latency), (own.flags, own.phone_latency));
    }
    assert_eq!(joined.processes, ["a: p", "r: k/1", "r: q"]);
    assert_eq!((joined.report.requests, joined.report.writes, joined.report.flushes), (4, 2, 1));
}

#[test]
fn stacked_addresses_lie_one_after_another_in_the_order_of_naming() {
    let far = format!("{HEADER}\n0,read,x,4096,512,,,p\n");
    let far = JoinPart { label: "far".into(), shift: Nanos(0), trace: parse("far", &far) };
    let mut parts = vec![far];
    // More than nine, so that an order by letters would be another.
    parts.extend((0..10).map(|_| part("b", 1, &[0])));
    let joined = Trace::joined("j", &parts, JoinRule::Merge, JoinAddresses::Stacked).unwrap();
    let firsts: Vec<_> = joined.devices.iter().map(|d| d.first_sector).collect();
    assert_eq!(firsts[..4], [0, 6144, 8192, 10240], "whole MiB, in the order of naming");
    assert_eq!(joined.requests.iter().map(|r| r.sector).collect::<Vec<_>>()[..3], [4096, 6144 + 8, 8192 + 8]);
}

/// What the file says is what was joined: the same requests, origin and place of recording.
#[test]
fn a_joined_trace_is_read_back_as_it_was() {
    let parts: Vec<_> = (0..12).map(|n| part("a, \u{7}b", n, &[0, 3, 4])).collect();
    for addresses in [JoinAddresses::Shared, JoinAddresses::Stacked] {
        for rule in [JoinRule::Merge, JoinRule::Append, TURN] {
            let joined = Trace::joined("j", &parts, rule, addresses).unwrap();
            let text = String::from_utf8(joined.to_bytes(Format::Csv).unwrap()).unwrap();
            let again = parse("j", &text);
            let all = |trace: &Trace| -> Vec<_> {
                let name = |r: &WorkRequest| trace.processes[usize::from(r.process.0)].clone();
                trace.requests.iter().map(|r| (r.arrival, r.sector, r.bytes, r.op, name(r))).collect()
            };
            assert_eq!(all(&again), all(&joined), "{rule:?} {addresses:?}");
            assert_eq!(again.devices, joined.devices);
            assert_eq!((&again.report.origin, again.report.recorded), (&joined.report.origin, joined.report.recorded));
            assert_eq!(again.report.origin.len(), 13);
            // And so is what it is converted to.
            let converted = parse("j", &String::from_utf8(again.to_bytes(Format::Csv).unwrap()).unwrap());
            assert_eq!(converted.report.origin, joined.report.origin);
        }
    }
}

#[test]
fn the_origin_says_rule_addresses_and_parts() {
    let mut parts = [part("a", 0, &[0, 5]), part("b", 3, &[0])];
    parts[0].trace.report.recorded = Recorded::Above;
    let joined = Trace::joined("j", &parts, TURN, JoinAddresses::Stacked).unwrap();
    assert_eq!(
        joined.report.origin,
        [
            "2 traces joined; alternate: in turns of 10 s; addresses stacked, a range for each trace",
            "1 a: a, csv, 2 requests in 5 s",
            "2 b: b, csv, 1 requests in 0 s, 3 s of silence before",
        ]
    );
    assert_eq!(joined.report.recorded, Recorded::Unknown, "one was recorded above, the other does not tell");
    parts[1].trace.report.recorded = Recorded::Above;
    let nested = [
        JoinPart { label: "n".into(), shift: Nanos(0), trace: joined },
        JoinPart { label: "m".into(), shift: Nanos(0), trace: parts[0].trace.clone() },
    ];
    let nested = Trace::joined("k", &nested, JoinRule::Append, JoinAddresses::Shared).unwrap();
    assert_eq!(nested.report.origin[3], "1 n: 1 a: a, csv, 2 requests in 5 s");
    let both = Trace::joined("j", &parts, TURN, JoinAddresses::Shared).unwrap();
    assert_eq!(both.report.recorded, Recorded::Above);
}

#[test]
fn what_cannot_be_joined_is_refused_with_one_sentence() {
    let told =
        |parts: &[JoinPart], rule, addresses| Trace::joined("j", parts, rule, addresses).unwrap_err().to_string();
    let one = [part("a", 0, &[0])];
    assert_eq!(told(&one, JoinRule::Merge, JoinAddresses::Shared), "join: 1 trace cannot be joined; name at least two");
    let long = [part("a", 0, &[0, 1_000_000_000]), part("b", 0, &[0])];
    let error = told(&long, JoinRule::Alternate { turn: Nanos(1_000) }, JoinAddresses::Shared);
    assert_eq!(error, "join: turns of 0.000001 s make 1000000000000002 turns; allowed are at most 100000000");
    let zero = JoinRule::Alternate { turn: Nanos::ZERO };
    assert!(told(&long, zero, JoinAddresses::Shared).contains("turns of 0 s"));
    let late = [part("b", 0, &[0]), part("a", 4_000_000_000, &[0]), part("c", 1_000_000_000, &[0])];
    let error = told(&late, JoinRule::Append, JoinAddresses::Shared);
    assert!(error.starts_with("c: line 2: its time is 5000000000000000000 ns"), "{error}");
    let end = format!("{HEADER}\n0,read,x,{},4096,,,p\n", ((1_u64 << 32) - 8) * 8);
    let end = JoinPart { label: "e".into(), shift: Nanos(0), trace: parse("e", &end) };
    let error = told(&[end.clone(), part("b", 0, &[0])], JoinRule::Merge, JoinAddresses::Stacked);
    assert!(error.starts_with("b: line 2: sector 34359738376 with 4096 bytes ends beyond 16 TiB"), "{error}");
}
