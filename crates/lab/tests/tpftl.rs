//! Where TPFTL (Zhou et al., EuroSys 2015) beats DFTL, by its paper: hit ratio and writes of translation pages, with a
//! cache of the same bytes, under random accesses with locality and under accesses that are partly sequential.
//!
//! The device is a small relative of MAP+'s, with translation pages of 512 entries. An entry of DFTL's cache takes 8
//! bytes there, as in its paper. Our DFTL writes all changed entries of a page at once, as TPFTL does; the paper's DFTL
//! writes one at a time. So this measures what clusters, prefetches and clean victims are worth beside that.

use std::ops::ControlFlow;
use std::sync::Arc;

use ufsim_lab::{RunResult, Spec, Workload, simulate_workload};
use units::SimTime;
use workload::{Flags, ProcessId, Replay, ReplayMode, Rng, StreamId, Trace, WorkOp, WorkRequest};

/// Pages of the device that are used: 488 translation pages. DFTL's cache holds 2048 entries.
const PAGES: u64 = 250_000;

fn request(rng: &mut Rng, page: u64, pages: u64) -> WorkRequest {
    WorkRequest {
        arrival: SimTime::START,
        sector: 8 * page,
        bytes: 4096 * pages,
        line: 1,
        phone_latency: None,
        // Three of four are writes, as in the random traces of the paper.
        op: if rng.below(4) == 0 { WorkOp::Read } else { WorkOp::Write },
        flags: Flags::default(),
        process: ProcessId(0),
        stream: StreamId(0),
    }
}

/// Clusters of 100 pages, one in every twelfth translation page. DFTL's cache holds half of their entries.
const CLUSTERS: u64 = 40;

/// An address: nine of ten lie in the clusters, the others anywhere.
fn local(rng: &mut Rng) -> u64 {
    match rng.below(10) {
        0 => rng.below(PAGES),
        _ => rng.below(CLUSTERS) * (PAGES / CLUSTERS) + rng.below(100),
    }
}

/// Single pages at random, with locality.
fn random(n: u64) -> Vec<WorkRequest> {
    let mut rng = Rng::from_seed(1);
    let one = |_| {
        let page = local(&mut rng);
        request(&mut rng, page, 1)
    };
    (0..n).map(one).collect()
}

/// The same, and between them four streams of requests of 1 to 16 pages, which begin elsewhere now and then.
fn mixed(n: u64) -> Vec<WorkRequest> {
    let mut rng = Rng::from_seed(2);
    let mut streams = [0; 4];
    let one = |_| {
        if rng.below(2) == 0 {
            let page = local(&mut rng);
            return request(&mut rng, page, 1);
        }
        let pages = 1 + rng.below(16);
        let stream = rng.below(4) as usize;
        if rng.below(100) == 0 || streams[stream] + pages > PAGES {
            streams[stream] = rng.below(PAGES - 64);
        }
        let page = streams[stream];
        streams[stream] += pages;
        request(&mut rng, page, pages)
    };
    (0..n).map(one).collect()
}

/// Hit ratio and written translation pages.
struct Cost {
    hits: f64,
    writes: f64,
}

fn run(scheme: &str, set: &[&str], requests: &[WorkRequest]) -> Cost {
    let mut spec = Spec::new(scheme, "generated");
    (spec.profile, spec.precondition, spec.verify) = ("emmc-map-plus".into(), "touched".into(), true);
    let sizes = [
        ("device.capacity_mib", 1024),
        ("nand.pages_per_block", 256),
        ("nand.data_superblocks", 1200),
        ("nand.meta_superblocks", 1000),
        ("gc.start_superblocks", 40),
        ("gc.relaxed_superblocks", 30),
        ("gc.hurried_superblocks", 20),
    ];
    spec.set = sizes.map(|(key, value)| (key.to_owned(), value.into())).into();
    spec.set.insert("scheme.*.background_us".into(), "never".into());
    for switch in set {
        spec.set.insert(format!("scheme.tpftl.{switch}"), false.into());
    }
    let profile = spec.resolve().expect("overrides within their limits").profile;
    let trace = Trace { name: "generated".into(), requests: requests.to_vec(), ..Trace::default() };
    let mode = ReplayMode::Closed { depth: 1, per_file: false };
    let source = Replay::new(Arc::new(trace), mode, profile.capacity_units()).expect("requests within the device");
    let workload = Workload::generated(Box::new(source));
    let result = simulate_workload(&spec, workload, &mut |_| ControlFlow::Continue(())).expect("a run without faults");
    cost(scheme, set, &result)
}

fn cost(scheme: &str, without: &[&str], result: &RunResult) -> Cost {
    let count = |name: &str| result.counters.device[name] as f64;
    let hits = count("cmt_read_hits") + count("cmt_write_hits");
    let hits = hits / (hits + count("cmt_read_misses") + count("cmt_write_misses"));
    let cost = Cost { hits, writes: count("cmt_page_writes") };
    println!("{scheme} without {without:?}: hit ratio {hits:.4}, {} pages written", cost.writes);
    cost
}

#[test]
fn under_random_accesses_with_locality_it_hits_more_often_and_writes_fewer_pages() {
    let requests = random(60_000);
    let (dftl, tpftl) = (run("dftl", &[], &requests), run("tpftl", &[], &requests));
    assert!(tpftl.hits > dftl.hits, "{} {}", tpftl.hits, dftl.hits);
    assert!(tpftl.writes < dftl.writes, "{} {}", tpftl.writes, dftl.writes);
    let dirty = run("tpftl", &["clean_first"], &requests);
    assert!(tpftl.writes < dirty.writes, "that is what clean victims are for");
}

#[test]
fn under_partly_sequential_accesses_it_hits_more_often_and_writes_fewer_pages() {
    let requests = mixed(30_000);
    let (dftl, tpftl) = (run("dftl", &[], &requests), run("tpftl", &[], &requests));
    assert!(tpftl.hits > dftl.hits, "{} {}", tpftl.hits, dftl.hits);
    assert!(tpftl.writes < dftl.writes, "{} {}", tpftl.writes, dftl.writes);
    // Each of the two kinds of prefetch adds to the other.
    let by_sequence = run("tpftl", &["request_prefetch"], &requests);
    let by_request = run("tpftl", &["selective_prefetch"], &requests);
    let none = run("tpftl", &["request_prefetch", "selective_prefetch"], &requests);
    assert!(none.hits < by_sequence.hits && by_sequence.hits < tpftl.hits);
    assert!(none.hits < by_request.hits && by_request.hits < tpftl.hits);
}
