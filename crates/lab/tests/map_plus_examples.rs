//! The worked examples of MAP+, run through the driver and its schedulers: Table I with Fig. 5, Fig. 6, Table II with
//! Fig. 7. The device is the paper's: one request at a time, so many cycles for a page, so many more for a translation
//! page.

use std::collections::BTreeSet;

use host::{CacheView, Driver, HostConfig, Request, RequestOp, SchedulerKind};
use serde::Serialize;
use ufs::{Command, DataIn, DataOut, DeviceInfo, HpbNotice, Op, PiggyBack, Response, Status};
use units::{AppId, Lpa, Nanos, SimTime};

/// One example under one scheduler. Times are in cycles, by request in the order of their numbers.
#[derive(Serialize)]
struct Example {
    /// Figure or table of the paper.
    name: &'static str,
    /// Scheduler.
    scheduler: &'static str,
    /// Numbers of the requests, from 1, in the order in which they are sent.
    sequence: Vec<u32>,
    /// Prioritised requests (Table I: PRN).
    prioritised: u64,
    /// Reads of translation pages.
    map_reads: u32,
    /// From being sent to completion.
    access: Vec<u64>,
    /// From arrival to being sent.
    waiting: Vec<u64>,
    /// The sum of both.
    latency: Vec<u64>,
    /// Mean of `waiting`.
    mean_waiting: f64,
    /// Mean of `latency`.
    mean_latency: f64,
}

/// What an example is about.
struct Case {
    name: &'static str,
    /// First page and length of each request; all of them read.
    requests: &'static [(u32, u32)],
    /// Pages whose mapping entries are cached.
    cached: &'static [u32],
    /// When all requests arrive, and when the device is ready for the first.
    arrival: u64,
    ready: u64,
    page_cycles: u64,
    map_cycles: u64,
}

/// "Assume that a translation page stores the mapping entries of 100 sequential pages" (Sec. V-B).
const MAP_PAGE_ENTRIES: u32 = 100;

/// Fig. 5. The text tells which requests hit (5 and 8 to 12) and which share a translation page (1 and 4, 2 and 3, 6
/// and 7); the addresses are chosen to fit.
const FIG_5: Case = Case {
    name: "Table I",
    requests: &[
        (110, 1),
        (220, 1),
        (250, 1),
        (130, 1),
        (15, 1),
        (330, 1),
        (360, 1),
        (16, 1),
        (420, 1),
        (421, 1),
        (17, 1),
        (422, 1),
    ],
    cached: &[15, 16, 17, 420, 421, 422],
    arrival: 0,
    ready: 0,
    page_cycles: 1,
    map_cycles: 1,
};

/// Fig. 6: a miss of 20 cycles and a hit of 10 arrive at 10; the device is ready at 20.
const FIG_6: Case = Case {
    name: "Fig. 6",
    requests: &[(110, 1), (15, 1)],
    cached: &[15],
    arrival: 10,
    ready: 20,
    page_cycles: 10,
    map_cycles: 10,
};

/// Fig. 7: requests 1 and 3 of two pages share a translation page; 2, 4 and 5 of one, one and two pages another.
const FIG_7: Case = Case {
    name: "Table II",
    requests: &[(110, 2), (220, 1), (130, 2), (240, 1), (260, 2)],
    cached: &[],
    arrival: 0,
    ready: 0,
    page_cycles: 1,
    map_cycles: 1,
};

/// Every example under the schedulers that the paper compares in it.
fn map_plus() -> Vec<Example> {
    let runs: [(&Case, &[SchedulerKind]); 3] = [
        (&FIG_5, &[SchedulerKind::Noop, SchedulerKind::Hp, SchedulerKind::Map]),
        (&FIG_6, &[SchedulerKind::Noop, SchedulerKind::Hp]),
        (&FIG_7, &[SchedulerKind::Rb, SchedulerKind::MapPlus]),
    ];
    runs.into_iter().flat_map(|(case, kinds)| kinds.iter().map(|&kind| run(case, kind))).collect()
}

/// The paper's device.
struct PaperDevice {
    cached: BTreeSet<u32>,
    /// A batch was announced, and its translation page has not been read yet.
    announced: bool,
    map_reads: u32,
}

impl CacheView for PaperDevice {
    fn cached(&self, lpa: Lpa, len: u32) -> bool {
        (0..len).all(|i| self.cached.contains(&lpa.offset(i).0))
    }
}

impl PaperDevice {
    /// Carries out a command; gives the cycles that it takes.
    fn execute(&mut self, command: &Command, case: &Case) -> u64 {
        match (&command.op, &command.data) {
            (Op::BatchNotice { .. }, DataOut::Runs(runs)) => {
                self.announced = true;
                self.cached.extend(runs.iter().flat_map(|run| run.lpa.0..run.end().0));
                0
            }
            (Op::Read { lpa, len }, _) => {
                let misses = !self.cached(*lpa, *len) || self.announced;
                self.announced = false;
                self.map_reads += u32::from(misses);
                u64::from(*len) * case.page_cycles + if misses { case.map_cycles } else { 0 }
            }
            (op, _) => unreachable!("{op:?} is in no example"),
        }
    }
}

fn run(case: &Case, kind: SchedulerKind) -> Example {
    // One command at a time, and a tag for notices.
    let config = HostConfig { tags: 2, internal_tags: 1, scheduler: kind, ..HostConfig::default() };
    let info = DeviceInfo {
        capacity_units: 1000,
        superblocks: 1,
        superblock_units: 1000,
        hpb_group_entries: 1000,
        map_page_entries: MAP_PAGE_ENTRIES,
        ..DeviceInfo::USUAL
    };
    let mut driver = Driver::new(config, info);
    for (&(lpa, len), id) in case.requests.iter().zip(1..) {
        let request = Request { id, op: RequestOp::Read, lpa: Lpa(lpa), len, stamp: 0, app: AppId::SYSTEM };
        driver.submit(SimTime(case.arrival), request);
    }
    let mut device = PaperDevice { cached: case.cached.iter().copied().collect(), announced: false, map_reads: 0 };
    let mut now = SimTime(case.ready);
    let (mut sequence, mut access, mut waiting) =
        (Vec::new(), vec![0; case.requests.len()], vec![0; case.requests.len()]);
    while let Some(command) = driver.next_command_seeing(now, &device) {
        let sent = now;
        let cycles = device.execute(&command, case);
        now = now + Nanos(cycles);
        driver.on_response(now, answer(&command));
        if let Some(done) = driver.pop_completion() {
            sequence.push(done.id);
            let at = done.id as usize - 1;
            (access[at], waiting[at]) = (cycles, sent.0 - case.arrival);
        }
    }
    let latency: Vec<u64> = access.iter().zip(&waiting).map(|(a, w)| a + w).collect();
    Example {
        name: case.name,
        scheduler: kind.name(),
        sequence,
        prioritised: driver.counter("sched_prioritised"),
        map_reads: device.map_reads,
        mean_waiting: mean(&waiting),
        mean_latency: mean(&latency),
        access,
        waiting,
        latency,
    }
}

fn mean(values: &[u64]) -> f64 {
    values.iter().sum::<u64>() as f64 / values.len() as f64
}

fn answer(command: &Command) -> Response {
    let data = match command.op {
        Op::Read { len: 1, .. } => DataIn::One(None),
        Op::Read { len, .. } => DataIn::Many(vec![None; len as usize]),
        _ => DataIn::None,
    };
    let (hpb, piggyback) = (HpbNotice::None, PiggyBack::default());
    Response { tag: command.tag, status: Status::Good, data, hpb, piggyback }
}

/// The figures of papers/map-plus/ show this file.
#[test]
fn the_recorded_examples_are_what_the_schedulers_do() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../papers/map-plus/examples.json");
    let recorded = std::fs::read_to_string(path).expect("the file is part of the project");
    let made = serde_json::to_string_pretty(&map_plus()).expect("plain values");
    let parsed = |text: &str| serde_json::from_str::<serde_json::Value>(text).expect("a JSON document");
    assert_eq!(parsed(&recorded), parsed(&made), "papers/map-plus/examples.json should be:\n{made}");
}
