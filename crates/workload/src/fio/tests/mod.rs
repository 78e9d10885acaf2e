use std::cmp::Reverse;
use std::collections::BinaryHeap;

use proptest::prelude::*;
use units::{Nanos, SimTime};

use super::*;
use crate::{Issued, Next, Source, Ticket, WorkOp};

mod around;
mod options;
mod pace;
mod place;
mod strided;

/// Units of the test device: 1 GiB.
const UNITS: u32 = 1 << 18;
const LATENCY: Nanos = Nanos(1000);

fn bind(text: &str) -> FioSource {
    JobFile::parse(text, "t.fio").unwrap().bind(UNITS, 1).unwrap()
}

/// Why `text` is refused.
fn refused(text: &str) -> String {
    match JobFile::parse(text, "t.fio") {
        Err(error) => error.to_string(),
        Ok(file) => file.bind(UNITS, 1).unwrap_err().to_string(),
    }
}

/// Runs a source against a device that answers everything after [`LATENCY`], for at most `limit` requests. Returns the
/// requests and the time of the last completion.
fn run_for(source: &mut FioSource, limit: usize) -> (Vec<Issued>, SimTime) {
    let mut issued = Vec::new();
    let mut outstanding: BinaryHeap<Reverse<(SimTime, u32)>> = BinaryHeap::new();
    let mut now = SimTime(5000);
    while issued.len() < limit {
        let wake = match source.next(now) {
            Next::Request(i) => {
                assert_eq!(i.request.arrival, now);
                outstanding.push(Reverse((now + LATENCY, i.ticket.0)));
                issued.push(i);
                continue;
            }
            Next::Wait(time) => {
                assert!(time > now, "a wait must be for later");
                Some(time)
            }
            Next::Driver(_) => unreachable!("only a phone talks to the driver"),
            Next::Blocked => None,
            Next::Done => {
                if outstanding.is_empty() {
                    break;
                }
                None
            }
        };
        let first = outstanding.peek().map(|r| r.0.0);
        match (first, wake) {
            (Some(time), wake) if wake.is_none_or(|w| time <= w) => {
                let Reverse((_, ticket)) = outstanding.pop().unwrap();
                now = time;
                source.completed(Ticket(ticket), now);
            }
            (_, Some(time)) => now = time,
            (None, None) => panic!("the source is blocked with nothing outstanding"),
            (Some(_), None) => unreachable!("the first arm takes it"),
        }
    }
    (issued, now)
}

fn run(text: &str) -> Vec<Issued> {
    let mut source = bind(text);
    let (issued, _) = run_for(&mut source, 1_000_000);
    let progress = source.progress();
    assert_eq!(progress.done, issued.iter().map(|i| i.request.bytes).sum::<u64>());
    assert_eq!(progress.total.unwrap_or(progress.done), progress.done);
    issued
}

fn units_of(issued: &[Issued]) -> Vec<u32> {
    issued.iter().map(|i| i.request.units().0.0).collect()
}

fn ops_of(issued: &[Issued]) -> String {
    issued.iter().map(|i| i.request.op.name().chars().next().unwrap()).collect()
}

/// Arrival times since the start of the run, in microseconds.
fn times_of(issued: &[Issued]) -> Vec<u64> {
    issued.iter().map(|i| (i.request.arrival.0 - 5000) / 1000).collect()
}

const LINES: [&str; 35] = [
    "[a]",
    "[global]",
    "[b]",
    "size=64k",
    "size=10%",
    "rw=randrw",
    "rw=randwrite",
    "bs=4k,8k",
    "bssplit=4k/50:8k/50",
    "iodepth=4",
    "numjobs=3",
    "fsync=2",
    "end_fsync=1",
    "loops=2",
    "runtime=1ms",
    "time_based",
    "rate_iops=100000",
    "thinktime=3",
    "stonewall",
    "random_distribution=zipf:1.2",
    "random_distribution=zoned:80/20:20/80",
    "filename=f",
    "offset=4k",
    "; ufsim: warmup",
    "io_size=100k",
    "bsrange=4k-12k",
    "bs=512-4k,8k",
    "nrfiles=3",
    "filename=f:g:h",
    "file_service_type=random:2",
    "file_service_type=sequential",
    "rate=40m",
    "rate=,1g",
    "ramp_time=3us",
    "filesize=40k",
];

proptest! {
    #[test]
    fn arbitrary_text_does_not_panic(text in "[\\x20-\\x7e\\n\\[\\]=é]{0,300}") {
        let _ = JobFile::parse(&text, "t.fio");
    }

    #[test]
    fn arbitrary_values_do_not_panic(
        key in prop::sample::select(vec!["rw", "bs", "bssplit", "size", "io_size", "offset", "numjobs", "iodepth",
            "runtime", "rate_iops", "thinktime", "random_distribution", "filesize", "offset_increment", "loops",
            "bsrange", "rate", "ramp_time", "nrfiles", "filename", "file_service_type", "read_iolog"]),
        value in "[0-9kmgi%/:.,\\\\-]{0,12}",
    ) {
        if let Ok(file) = JobFile::parse(&format!("[a]\nsize=1m\n{key}={value}\n"), "t.fio") {
            let _ = file.bind(UNITS, 1);
        }
    }

    #[test]
    fn jobs_made_of_valid_lines_run_to_their_end_on_the_device(lines in prop::collection::vec(0..LINES.len(), 1..20)) {
        let lines: Vec<_> = lines.into_iter().map(|l| LINES[l]).collect();
        let text = format!("[first]\nsize=32k\n{}\n", lines.join("\n"));
        let Ok(mut source) = JobFile::parse(&text, "t.fio").and_then(|f| f.bind(UNITS, 1)) else { return Ok(()) };
        let ranges = source.preconditioning_ranges();
        let (issued, _) = run_for(&mut source, 3000);
        for i in issued.iter().filter(|i| i.request.op != WorkOp::Flush) {
            let (first, count) = i.request.units();
            let inside = |r: &crate::UnitRange| r.first <= first && first.0 + count <= r.first.0 + r.count;
            prop_assert!(ranges.ranges().iter().any(inside), "{text}: {i:?}");
        }
    }
}
