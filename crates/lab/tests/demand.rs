//! Where TPFTL (Zhou et al., EuroSys 2015) and S-FTL (Jiang et al., MSST 2011) beat DFTL, by their papers, with a cache
//! of the same bytes: in hit ratio, and in reads and writes of translation pages. TPFTL under random accesses with
//! locality and under accesses that are partly sequential, S-FTL with sequential streams, with strides, where data was
//! written in order, and under sparse writes; where nothing is in order, it hits as often as DFTL and writes more.
//!
//! The device is a small relative of MAP+'s, with translation pages of 512 entries. An entry of DFTL's cache takes 8
//! bytes there, as in its paper. Our DFTL writes all changed entries of a page at once, as TPFTL does; the paper's DFTL
//! writes one at a time. So this measures what clusters, prefetches and clean victims are worth beside that.

use std::ops::ControlFlow;
use std::sync::Arc;

use crate::common::emmc;
use ufsim_lab::{RunResult, Workload, simulate_workload};
use workload::{Replay, ReplayMode, Rng, Trace, WorkOp, WorkRequest};

/// Pages of the device that are used: 488 translation pages. DFTL's cache holds 2048 entries.
const PAGES: u64 = 250_000;

fn request(rng: &mut Rng, page: u64, pages: u64) -> WorkRequest {
    // Three of four are writes, as in the random traces of the paper.
    WorkRequest::plain(if rng.below(4) == 0 { WorkOp::Read } else { WorkOp::Write }, page, pages)
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

/// Four streams of requests of 1 to 16 pages, each of which goes on where it ended, and begins elsewhere now and then.
fn streams(n: u64) -> Vec<WorkRequest> {
    let mut rng = Rng::from_seed(5);
    let mut streams = [0, 60_000, 120_000, 180_000];
    let one = |_| {
        let (stream, pages) = (rng.below(4) as usize, 1 + rng.below(16));
        if rng.below(1000) == 0 || streams[stream] + pages > PAGES {
            streams[stream] = rng.below(PAGES - 64);
        }
        let page = streams[stream];
        streams[stream] += pages;
        request(&mut rng, page, pages)
    };
    (0..n).map(one).collect()
}

/// Hit ratios of all lookups and of those of reads, number of misses, and translation pages read and written.
struct Cost {
    hits: f64,
    read_hits: f64,
    misses: f64,
    reads: f64,
    writes: f64,
}

/// A run with these parameters of the scheme.
fn run(scheme: &str, set: &[(&str, serde_json::Value)], requests: &[WorkRequest]) -> Cost {
    let mut spec = emmc::small(scheme);
    for (key, value) in set {
        spec.set.insert(format!("scheme.{scheme}.{key}"), value.clone());
    }
    let profile = spec.resolve().expect("overrides within their limits").profile;
    let trace = Trace { name: "generated".into(), requests: requests.to_vec(), ..Trace::default() };
    let mode = ReplayMode::Closed { depth: 1, per_file: false };
    let source = Replay::new(Arc::new(trace), mode, profile.capacity_units()).expect("requests within the device");
    let workload = Workload::generated(Box::new(source));
    let result = simulate_workload(&spec, workload, &mut |_| ControlFlow::Continue(())).expect("a run without faults");
    cost(scheme, set, &result)
}

fn cost(scheme: &str, set: &[(&str, serde_json::Value)], result: &RunResult) -> Cost {
    let count = |name: &str| result.counters.device[name] as f64;
    let [reads, read_misses, writes, write_misses] =
        ["read_hits", "read_misses", "write_hits", "write_misses"].map(|name| count(&format!("cmt_{name}")));
    let misses = read_misses + write_misses;
    let hits = (reads + writes) / (reads + writes + misses);
    let read_hits = reads / (reads + read_misses);
    let pages_read = result.nand_ops["map_read"]["read"] as f64;
    let pages_written = count("cmt_page_writes");
    println!(
        "{scheme} with {set:?}: hit ratio {hits:.4}, of reads {read_hits:.4}, {misses} misses, {pages_read} pages \
         read, {pages_written} written"
    );
    Cost { hits, read_hits, misses, reads: pages_read, writes: pages_written }
}

#[test]
fn under_random_accesses_with_locality_it_hits_more_often_and_writes_fewer_pages() {
    let requests = random(60_000);
    let (dftl, tpftl) = (run("dftl", &[], &requests), run("tpftl", &[], &requests));
    assert!(tpftl.hits > dftl.hits, "{} {}", tpftl.hits, dftl.hits);
    assert!(tpftl.writes < dftl.writes, "{} {}", tpftl.writes, dftl.writes);
    let dirty = run("tpftl", &[("clean_first", false.into())], &requests);
    assert!(tpftl.writes < dirty.writes, "that is what clean victims are for");
}

#[test]
fn under_partly_sequential_accesses_it_hits_more_often_and_writes_fewer_pages() {
    let requests = mixed(30_000);
    let (dftl, tpftl) = (run("dftl", &[], &requests), run("tpftl", &[], &requests));
    assert!(tpftl.hits > dftl.hits, "{} {}", tpftl.hits, dftl.hits);
    assert!(tpftl.writes < dftl.writes, "{} {}", tpftl.writes, dftl.writes);
    // Each of the two kinds of prefetch adds to the other.
    let by_sequence = run("tpftl", &[("request_prefetch", false.into())], &requests);
    let by_request = run("tpftl", &[("selective_prefetch", false.into())], &requests);
    let neither = [("request_prefetch", false.into()), ("selective_prefetch", false.into())];
    let none = run("tpftl", &neither, &requests);
    assert!(none.hits < by_sequence.hits && by_sequence.hits < tpftl.hits);
    assert!(none.hits < by_request.hits && by_request.hits < tpftl.hits);
}

#[test]
fn with_sequential_streams_pages_of_runs_save_misses_and_reads_and_writes_of_pages() {
    let requests = streams(30_000);
    let (dftl, sftl) = (run("dftl", &[], &requests), run("sftl", &[], &requests));
    // Each page of a request of 1 to 16 misses in DFTL, unless its stream was here before; S-FTL misses when a stream
    // enters a translation page of 512.
    assert!(sftl.misses < dftl.misses / 50.0, "{} {}", sftl.misses, dftl.misses);
    assert!(sftl.reads < dftl.reads / 50.0, "{} {}", sftl.reads, dftl.reads);
    assert!(sftl.writes < dftl.writes, "{} {}", sftl.writes, dftl.writes);
}

/// Every eighth page is read, once.
#[test]
fn with_a_stride_each_translation_page_is_read_once() {
    let mut rng = Rng::from_seed(6);
    let reads = (0..PAGES).step_by(8).map(|page| WorkRequest { op: WorkOp::Read, ..request(&mut rng, page, 1) });
    let requests: Vec<_> = reads.collect();
    let (dftl, sftl) = (run("dftl", &[], &requests), run("sftl", &[], &requests));
    let (lookups, pages) = (PAGES.div_ceil(8) as f64, PAGES.div_ceil(512) as f64);
    assert!(dftl.misses > 0.95 * lookups && dftl.reads >= dftl.misses, "{} {}", dftl.misses, dftl.reads);
    assert!(sftl.misses <= pages && sftl.reads <= pages, "{} {}", sftl.misses, sftl.reads);
}

/// Writes of single pages anywhere leave no runs, so that a page takes its 4 KiB and a header, and nearly every lookup
/// misses in both schemes. That is where S-FTL has to pay: changed entries gather in a buffer of 214 entries, less 9
/// that stay free, and not in 2048. Beside the entry that has to leave, each of the other 204 lies in the same one of
/// 489 translation pages with a chance of 1 in 489, and these are all that a page is written with.
#[test]
fn where_nothing_is_in_order_it_misses_no_more_and_writes_what_a_small_buffer_must() {
    let mut places = Rng::from_seed(7);
    let mut rng = Rng::from_seed(8);
    let requests: Vec<_> = (0..60_000).map(|_| request(&mut rng, places.below(PAGES), 1)).collect();
    let (dftl, sftl) = (run("dftl", &[], &requests), run("sftl", &[], &requests));
    assert!(sftl.misses <= dftl.misses, "{} {}", sftl.misses, dftl.misses);
    let writes = requests.iter().filter(|request| request.op == WorkOp::Write).count() as f64;
    let expected = writes / (1.0 + 204.0 / 489.0);
    assert!((sftl.writes / expected - 1.0).abs() < 0.05, "{} {expected}", sftl.writes);
    assert!(sftl.reads <= sftl.misses + sftl.writes, "a miss reads a page, and so does a write of one");
}

/// Everything is written in order, and read at random. A translation page takes 80 bytes, of these 8 in the header, 64
/// of bits and 8 for each run, or few more; S-FTL has 10,500 for such pages beside the one that is being read. So it
/// holds about every fourth one of 489, and DFTL 2048 of 250,000 entries.
#[test]
fn where_data_was_written_in_order_pages_of_runs_serve_random_reads() {
    let mut rng = Rng::from_seed(3);
    let mut all = |op, page, pages| WorkRequest { op, ..request(&mut rng, page, pages) };
    let mut requests: Vec<_> = (0..PAGES / 250).map(|i| all(WorkOp::Write, 250 * i, 250)).collect();
    let mut places = Rng::from_seed(4);
    requests.extend((0..30_000).map(|_| all(WorkOp::Read, places.below(PAGES), 1)));
    let (dftl, sftl) = (run("dftl", &[], &requests), run("sftl", &[], &requests));
    assert!(sftl.read_hits > 0.2 && sftl.read_hits > 10.0 * dftl.read_hits, "{} {}", sftl.read_hits, dftl.read_hits);
}

/// Single writes, which change one entry here and one there.
#[test]
fn the_buffer_of_sparse_changes_saves_writes_of_pages() {
    let requests = random(30_000);
    let with = run("sftl", &[], &requests);
    let without = run("sftl", &[("sparse_entries", 0.into())], &requests);
    assert!(with.writes < without.writes / 2.0, "{} {}", with.writes, without.writes);
}
