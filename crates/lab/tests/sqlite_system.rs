//! SQLite under the run loop, with every preset.

use std::ops::ControlFlow;

use sqlite_load::spec::{JournalMode, Operation};
use sqlite_load::{Found, SqliteSource, SqliteSpec};
use ufsim_lab::profile::Profile;
use ufsim_lab::{System, assemble, schemes};

const TRANSACTIONS: u32 = 30;

fn spec(mode: JournalMode) -> SqliteSpec {
    SqliteSpec { transactions: TRANSACTIONS, fill_rows: 200, journal_mode: mode, ..SqliteSpec::default() }
}

/// Runs a workload to its end on the tiny device.
fn run(scheme: &str, spec: &SqliteSpec) -> (SqliteSource, System) {
    let preset = schemes().iter().find(|preset| preset.name == scheme).unwrap();
    let profile = Profile::load("tiny", &[]).unwrap();
    let mut source = SqliteSource::new(spec, profile.capacity_units()).unwrap();
    let mut system = assemble(&profile, preset.parts, 1).unwrap();
    system.run(&mut source, &mut |_, _| ControlFlow::Continue(())).unwrap();
    // Before anything is asked of the system: what was measured has to stay.
    assert!(system.read_back(&mut |_, _| ControlFlow::Continue(())).unwrap().data_units > 0);
    (source, system)
}

fn mean_ns(source: &SqliteSource, operation: Operation) -> u64 {
    let transactions = source.transactions().iter().find(|t| t.operation == operation).unwrap();
    transactions.latencies_ns.iter().sum::<u64>() / transactions.latencies_ns.len() as u64
}

#[test]
fn it_runs_to_its_end_under_every_scheme() {
    for preset in schemes() {
        let mut reference = None;
        for mode in [JournalMode::Delete, JournalMode::Wal] {
            let (source, system) = run(preset.name, &spec(mode));
            assert_eq!(source.outcome(), Some(&Ok(())), "{}", preset.name);
            // One table, the fill in one transaction, and three operations that write.
            let whole = Found { integrity: "ok".into(), transactions: Some(2 + 3 * u64::from(TRANSACTIONS)) };
            assert_eq!(source.inspect().unwrap(), whole, "{}", preset.name);
            let (measure, _) = system.outcome();
            let asked = source.transactions().iter().map(|t| t.requests);
            let asked: u64 = asked.map(|r| r.reads + r.writes + r.flushes).sum();
            assert_eq!((measure.submitted, measure.completed), (asked, asked));
            for transactions in source.transactions() {
                assert_eq!(transactions.latencies_ns.len() as u32, TRANSACTIONS);
                assert!(transactions.duration.0 >= transactions.latencies_ns.iter().sum());
            }
            let mean = mean_ns(&source, Operation::Insert);
            let slower = *reference.get_or_insert(mean);
            assert!(mode == JournalMode::Delete || 2 * mean < slower, "{}: {mean} and {slower}", preset.name);
        }
    }
}

#[test]
fn the_same_seed_gives_the_same_run() {
    let once = |seed| {
        let (source, system) = run("hp-ufs", &SqliteSpec { seed, ..spec(JournalMode::Truncate) });
        (system.outcome().0.digest, source.transactions().to_vec())
    };
    let first = once(1);
    assert_eq!(once(1), first);
    assert_ne!(once(2).0, first.0);
}

#[test]
fn think_time_and_processor_time_pass() {
    let quick = spec(JournalMode::Truncate);
    let slow = SqliteSpec { think_us: 50_000, transaction_cpu_ns: 2_000_000, ..quick.clone() };
    let (quick, slow) = (run("ideal", &quick).0, run("ideal", &slow).0);
    let select = |source: &SqliteSource| source.transactions()[3].clone();
    assert!(select(&quick).latencies_ns[1..].iter().all(|&ns| ns == 0), "{:?}", select(&quick));
    assert!(select(&slow).latencies_ns[1..].iter().all(|&ns| ns == 2_000_000));
    let least = u64::from(TRANSACTIONS - 1) * 50_000_000;
    assert!(select(&slow).duration.0 > least && select(&quick).duration.0 < least);
}

#[test]
fn rows_that_do_not_fit_the_caches_are_read_from_the_device() {
    let large = SqliteSpec {
        operations: vec![Operation::Select],
        transactions: 200,
        fill_rows: 4000,
        value_bytes: 1000,
        sqlite_cache_kib: 64,
        page_cache_kib: 64,
        page_bytes: 1024,
        ..SqliteSpec::default()
    };
    let (source, _) = run("ufs", &large);
    let requests = source.transactions()[0].requests;
    assert!(requests.reads > 150 && requests.writes == 0, "{requests:?}");
    assert_eq!(source.inspect().unwrap().integrity, "ok");
}

#[test]
fn a_volume_that_is_too_small_is_reported() {
    let full = SqliteSpec { volume_mib: 16, fill_rows: 20_000, value_bytes: 1000, ..SqliteSpec::default() };
    let (source, _) = run("ufs", &full);
    assert_eq!(source.outcome(), Some(&Err("SQLite: database or disk is full".into())));
    assert_eq!(source.inspect().unwrap().integrity, "ok");
    let error = SqliteSource::new(&SqliteSpec { volume_mib: 200, ..full }, 32_768).err().unwrap();
    assert_eq!(error.to_string(), "sqlite.volume_mib = 200: must be 16..=128, the size of the device");
}

#[test]
fn without_barriers_nothing_is_flushed_and_transactions_are_faster() {
    let with = spec(JournalMode::Truncate);
    let without = SqliteSpec { barriers: false, ..with.clone() };
    assert_eq!(without.may_lose(), None);
    let (with, without) = (run("ideal", &with).0, run("ideal", &without).0);
    assert_eq!(without.outcome(), Some(&Ok(())));
    assert_eq!(without.inspect().unwrap().integrity, "ok");
    for (ours, theirs) in without.transactions().iter().zip(with.transactions()) {
        let (asked, flushed) = (ours.requests, theirs.requests);
        assert_eq!((asked.flushes, asked.fua_writes), (0, 0));
        assert_eq!((asked.reads, asked.units_written), (flushed.reads, flushed.units_written));
    }
    assert!(4 * mean_ns(&without, Operation::Insert) < mean_ns(&with, Operation::Insert));
}
