//! The analytical model of MAP+ (Sec. IV-A, eqs. 1 to 8) against the simulator, on a small relative of its device.
//!
//! The model gets from the run what it takes for given: miss ratio, share of misses that evict a changed entry, and
//! write amplification. It must then give the mean latency within 2 %. On top of the model come, in every test:
//! - 1 us of firmware for each command (`firmware.command_ns`), added below; the link takes no time in this profile
//! - what makes recovery possible and the paper does not have: snapshots of the directory and records of log blocks,
//!   less than 3 % more programs of metadata here, asserted below; the model does without them
//! - with GC, reads that find the valid pages of a victim: one for each of its pages, added to eq. 5

use std::cell::RefCell;
use std::ops::ControlFlow;
use std::rc::Rc;
use std::sync::Arc;

use crate::common::emmc;
use ufsim_lab::{RunResult, Spec, Workload, simulate_workload};
use units::{Nanos, SimTime};
use workload::{
    Footprint, GroupInfo, Next, Progress, Replay, ReplayMode, Rng, Source, Ticket, Trace, WorkOp, WorkRequest,
};

/// Times of a page in microseconds (Sec. VI-A).
const T_READP: f64 = 35.0;
const T_WRITEP: f64 = 350.0;
const T_ERASE: f64 = 3000.0;
/// T_RAM of the model: what the firmware needs for a command.
const T_COMMAND: f64 = 1.0;
/// Most of what the model may be wrong.
const TOLERANCE: f64 = 0.02;

/// The small device with DFTL, and with these values.
fn small(set: &[(&str, serde_json::Value)]) -> Spec {
    let mut spec = emmc::small("dftl");
    spec.set.extend(set.iter().map(|(key, value)| ((*key).to_owned(), value.clone())));
    spec
}

/// A request for whole pages.
fn request(op: WorkOp, page: u64, pages: u64) -> WorkRequest {
    WorkRequest::plain(op, page, pages)
}

/// Random requests of 1 to `most` pages over `pages` pages, a share of `writes` per cent of them writes, about `gap_us`
/// apart.
fn random(count: u64, pages: u64, most: u64, writes: u64, gap_us: u64) -> Vec<WorkRequest> {
    let mut rng = Rng::from_seed(pages + most);
    let mut at = 0;
    let one = |_| {
        let op = if rng.below(100) < writes { WorkOp::Write } else { WorkOp::Read };
        let units = 1 + rng.below(most);
        let mut next = request(op, rng.below(pages - units), units);
        // Bursts of about eight, and pauses.
        at += if rng.below(8) == 0 { rng.below(16 * gap_us * 1000 + 1) } else { rng.below(100) };
        next.arrival = SimTime(at);
        next
    };
    (0..count).map(one).collect()
}

/// When each request arrived and completed, in order.
type Times = Rc<RefCell<Vec<(SimTime, SimTime)>>>;

/// A replay that notes the times of its requests.
struct Noted {
    inner: Replay,
    /// Request of each ticket.
    of: Vec<usize>,
    times: Times,
}

impl Source for Noted {
    fn next(&mut self, now: SimTime) -> Next {
        let next = self.inner.next(now);
        if let Next::Request(issued) = &next {
            let index = issued.ticket.index();
            self.of.resize(self.of.len().max(index + 1), 0);
            self.of[index] = self.times.borrow().len();
            self.times.borrow_mut().push((issued.request.arrival, SimTime::START));
        }
        next
    }

    fn completed(&mut self, ticket: Ticket, now: SimTime) {
        self.times.borrow_mut()[self.of[ticket.index()]].1 = now;
        self.inner.completed(ticket, now);
    }

    fn progress(&self) -> Progress {
        self.inner.progress()
    }

    fn groups(&self) -> &[GroupInfo] {
        self.inner.groups()
    }

    fn footprint(&self) -> Footprint {
        self.inner.footprint()
    }

    fn preconditioning_ranges(&self) -> Footprint {
        self.inner.preconditioning_ranges()
    }
}

fn run(spec: &Spec, requests: Vec<WorkRequest>, mode: ReplayMode) -> (RunResult, Vec<(SimTime, SimTime)>) {
    let profile = spec.resolve().expect("overrides within their limits").profile;
    let trace = Trace { name: "generated".into(), requests, ..Trace::default() };
    let inner = Replay::new(Arc::new(trace), mode, profile.capacity_units()).expect("requests within the device");
    let times = Times::default();
    let source = Noted { inner, of: Vec::new(), times: times.clone() };
    let workload = Workload::generated(Box::new(source));
    let result = simulate_workload(spec, workload, &mut |_| ControlFlow::Continue(())).expect("a run without faults");
    (result, times.take())
}

const ONE_BY_ONE: ReplayMode = ReplayMode::Closed { depth: 1, per_file: false };

/// What the model is given.
struct Ratios {
    read_miss: f64,
    write_miss: f64,
    dirty: f64,
}

fn counter(result: &RunResult, name: &str) -> f64 {
    result.counters.device[name] as f64
}

fn ratios(result: &RunResult) -> Ratios {
    let [rh, rm, wh, wm] =
        ["read_hits", "read_misses", "write_hits", "write_misses"].map(|name| counter(result, &format!("cmt_{name}")));
    assert_eq!(counter(result, "cmt_unwritten_misses"), 0.0, "every page was written before");
    let share = |part: f64, rest: f64| if part + rest > 0.0 { part / (part + rest) } else { 0.0 };
    let dirty = counter(result, "cmt_dirty_evictions") / (rm + wm).max(1.0);
    Ratios { read_miss: share(rm, rh), write_miss: share(wm, wh), dirty }
}

/// Eqs. 3 and 4 for one page: reads and writes.
fn page_times(ratios: &Ratios) -> (f64, f64) {
    let miss = ratios.dirty * (T_WRITEP + T_READP) + T_READP;
    (T_READP + ratios.read_miss * miss, T_WRITEP + ratios.write_miss * miss)
}

fn mean_pages(requests: &[WorkRequest], op: WorkOp) -> f64 {
    let pages: Vec<u64> = requests.iter().filter(|r| r.op == op).map(|r| r.bytes / 4096).collect();
    pages.iter().sum::<u64>() as f64 / pages.len() as f64
}

#[track_caller]
fn close(what: &str, measured: f64, model: f64) {
    let off = measured / model - 1.0;
    println!("{what}: measured {measured:.1}, model {model:.1}, {:+.2} %", 100.0 * off);
    assert!(off.abs() <= TOLERANCE, "{what}: measured {measured}, model {model}");
}

/// Programs of metadata that are no translation pages.
#[track_caller]
fn little_else_is_programmed(result: &RunResult) {
    let pages = counter(result, "cmt_page_writes");
    let all = counter(result, "map_units_programmed");
    assert!(all <= 1.03 * pages + 1000.0, "{all} units of metadata for {pages} translation pages");
}

#[test]
fn eqs_1_to_6_give_the_access_times_of_reads_and_writes() {
    // Ranges that the cache holds in part, hardly, and as a whole.
    for (pages, most, cache) in [(4096, 1, "16"), (250_000, 1, "16"), (65_536, 8, "128"), (65_536, 4, "unlimited")] {
        let requests = random(20_000, pages, most, 50, 0);
        let (reads, writes) = (mean_pages(&requests, WorkOp::Read), mean_pages(&requests, WorkOp::Write));
        let cache = cache.parse::<u32>().map_or(cache.into(), Into::into);
        let (result, _) = run(&small(&[("scheme.*.cache_kib", cache)]), requests, ONE_BY_ONE);
        let ratios = ratios(&result);
        let (read, write) = page_times(&ratios);
        let mean = |latency: &Option<ufsim_lab::Latency>| latency.as_ref().expect("there were some").mean / 1000.0;
        println!("{pages} pages: miss {:.3} and {:.3}, dirty {:.3}", ratios.read_miss, ratios.write_miss, ratios.dirty);
        close("read", mean(&result.latency_ns.read), reads * read + T_COMMAND);
        close("write", mean(&result.latency_ns.write), writes * write + T_COMMAND);
        little_else_is_programmed(&result);
    }
}

/// Eq. 5: with the whole table in SRAM, what a write costs beyond its program is GC.
#[test]
fn eq_5_gives_the_share_of_gc() {
    let pages = 255_000;
    let mut requests: Vec<_> = (0..pages / 100).map(|i| request(WorkOp::Write, 100 * i, 100)).collect();
    requests.extend(random(150_000, pages, 1, 100, 0));
    let mean_pages = mean_pages(&requests, WorkOp::Write);
    let mut spec = small(&[("scheme.*.cache_kib", "unlimited".into()), ("nand.data_superblocks", 1120.into())]);
    spec.precondition = "none".into();
    let (result, _) = run(&spec, requests, ONE_BY_ONE);
    let (written, copied) = (counter(&result, "data_units_programmed"), counter(&result, "gc_units_programmed"));
    let waf = 1.0 + copied / written;
    let per_victim = copied / counter(&result, "erases");
    let search = f64::from(emmc::BLOCK_PAGES) * T_READP;
    let gc = (waf - 1.0) * (T_WRITEP + T_READP + (T_ERASE + search) / per_victim);
    let maps = counter(&result, "map_units_programmed") * T_WRITEP + counter(&result, "segment_reads") * T_READP;
    println!("waf {waf:.3}, {per_victim:.1} copies for each erase, {:.1} us of maps", maps / written);
    assert!(waf > 1.5, "GC hardly ran");
    let mean = result.latency_ns.write.as_ref().expect("writes").mean / 1000.0;
    close("write with GC", mean, mean_pages * (T_WRITEP + gc + maps / written) + T_COMMAND);
}

/// Eqs. 7 and 8: from the arrivals, and the access times of the same requests one by one, follow the latencies in a
/// queue.
#[test]
fn eq_8_gives_the_waiting_times_of_a_queue() {
    let requests = random(20_000, 16_384, 4, 30, 1400);
    let (_, alone) = run(&small(&[]), requests.clone(), ONE_BY_ONE);
    let (result, queued) = run(&small(&[]), requests, ReplayMode::Timed);
    let (mut wait, mut latency, mut sum) = (Nanos(0), Nanos(0), 0);
    let mut before: Option<SimTime> = None;
    let mut waited = 0;
    for (&(began, ended), &(arrival, _)) in alone.iter().zip(&queued) {
        if let Some(last) = before {
            wait = Nanos((last + latency).0.saturating_sub(arrival.0));
        }
        latency = Nanos(wait.0 + ended.since(began).0);
        (sum, waited) = (sum + latency.0, waited + u64::from(wait.0 > 0));
        before = Some(arrival);
    }
    let count = queued.len() as f64;
    println!("{:.0} % of requests wait", 100.0 * waited as f64 / count);
    assert!(waited as f64 > 0.5 * count, "too few requests wait");
    let mean = result.latency_ns.all.as_ref().expect("requests").mean / 1000.0;
    close("latency in a queue", mean, sum as f64 / count / 1000.0);
}
