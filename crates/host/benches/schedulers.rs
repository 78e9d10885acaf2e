//! Cost of a scheduler: nanoseconds of the simulating processor per request that passes the driver with a full pending
//! queue. The difference to `noop` is the cost of the scheduler: adding a request and choosing one.
//!
//! `cargo bench -p ufsim-host --bench schedulers`. Fails if a scheduler with the view of the device takes more than
//! [`LIMIT_NS`]. Other columns: the cost of a host's own knowledge of the cache, the cost of notices (each is a
//! command), and a hot spot where every third request overlaps another.

use std::hint::black_box;

use params::Owners;
use ufs::{Command, DataIn, DeviceInfo, HpbNotice, Op, PiggyBack, Response, Status};
use ufsim_host::{CacheKnowledge, CacheView, Driver, HostConfig, Request, RequestOp, SchedulerKind, SchedulerParams};
use units::{AppId, Lpa, Nanos, SimTime};

/// Requests that are pending all the time.
const PENDING: u32 = 128;
/// Enough requests that the tick of the processor clock, up to 4 ms, is less than 3 ns per request.
const REQUESTS: u32 = 1_500_000;
const RUNS: u32 = 5;
/// Highest cost of a request, submission and choice together.
const LIMIT_NS: f64 = 200.0;

const INFO: DeviceInfo = DeviceInfo { capacity_units: 1 << 22, superblocks: 1024, ..DeviceInfo::USUAL };

/// A view in which every fourth stretch of 64 units is cached.
struct Stretches;

impl CacheView for Stretches {
    fn cached(&self, lpa: Lpa, _len: u32) -> bool {
        lpa.0 >> 6 & 3 == 0
    }
}

/// Processor time of this process in nanoseconds, which other processes hardly influence; Linux only.
fn processor_ns() -> u64 {
    let text = std::fs::read_to_string("/proc/self/schedstat").expect("a Linux kernel with schedstat");
    let field = text.split_whitespace().next().and_then(|field| field.parse().ok());
    field.expect("the first field of schedstat is a time")
}

/// The best of [`RUNS`], in nanoseconds per request, with accesses to `span` units.
fn cost(scheduler: SchedulerKind, schedulers: SchedulerParams, span: u32) -> f64 {
    let config = HostConfig { scheduler, schedulers, tags: 3, internal_tags: 2, ..HostConfig::default() };
    let run = || {
        let mut driver = Driver::new(config, INFO);
        let start = processor_ns();
        churn(&mut driver, span);
        (processor_ns() - start) as f64 / f64::from(REQUESTS)
    };
    (0..RUNS).map(|_| run()).fold(f64::INFINITY, f64::min)
}

fn churn(driver: &mut Driver, span: u32) {
    let mut state = 7u64;
    let mut now = SimTime::START;
    for id in 0..REQUESTS + PENDING {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let (random, kind) = ((state >> 33) as u32, state >> 29 & 7);
        let op = if kind < 5 { RequestOp::Read } else { RequestOp::Write { fua: false } };
        let request =
            Request { id, op, lpa: Lpa(random % span), len: 1 + (random >> 29), stamp: 1, app: AppId::SYSTEM };
        driver.submit(now, request);
        if id < PENDING {
            continue;
        }
        // Until one request has been sent; queries and notices do not count.
        loop {
            let command = driver.next_command_seeing(now, &Stretches).expect("128 requests are pending");
            let user = command.op.is_user();
            driver.on_response(now, answer(&command));
            if user {
                break;
            }
        }
        black_box(driver.pop_completion().expect("the request has been answered"));
        now = now + Nanos(20_000);
    }
}

fn answer(command: &Command) -> Response {
    let data = match command.op {
        // The content of a read does not matter, and the time to make a list would be measured.
        Op::Read { .. } => DataIn::One(None),
        Op::CacheQuery => DataIn::Runs(Vec::new()),
        _ => DataIn::None,
    };
    let (hpb, piggyback) = (HpbNotice::None, PiggyBack::default());
    Response { tag: command.tag, status: Status::Good, data, hpb, piggyback }
}

/// Number of units accessed: a whole device, and a hot spot.
const WIDE: u32 = 1 << 22;
const HOT: u32 = 2_000;

fn main() {
    let with = |knowledge: CacheKnowledge, notices: bool| {
        let mut all = SchedulerParams::default();
        all.set("*", "cache_knowledge", knowledge.name()).expect("it is a kind");
        all.set("*", "cache_entries", 2_048).expect("it is allowed");
        all.set("*", "batch_notice", notices).expect("it is allowed");
        all
    };
    let plain = with(CacheKnowledge::Full, false);
    let noop = cost(SchedulerKind::Noop, plain, WIDE);
    println!("ns per request; noop takes {noop:.0}, which the other figures leave out");
    println!("{:<12} {:>9} {:>9} {:>9} {:>9} {:>9}", "scheduler", "full", "poll", "lru", "notices", "hot spot");
    let mut slow = 0;
    for &kind in SchedulerKind::ALL.iter().filter(|&&kind| kind != SchedulerKind::Noop) {
        let more = |sched, span| cost(kind, sched, span) - noop;
        let full = more(plain, WIDE);
        let known = |knowledge| match kind.queries_cache() {
            true => format!("{:.0}", more(with(knowledge, false), WIDE)),
            false => "-".into(),
        };
        let (poll, lru) = (known(CacheKnowledge::Poll), known(CacheKnowledge::Lru));
        let notices = more(with(CacheKnowledge::Full, true), WIDE);
        let hot = more(plain, HOT);
        println!("{:<12} {full:>9.0} {poll:>9} {lru:>9} {notices:>9.0} {hot:>9.0}", kind.name());
        slow += i32::from(full > LIMIT_NS);
    }
    std::process::exit(slow);
}
