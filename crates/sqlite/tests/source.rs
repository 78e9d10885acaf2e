//! The workload without a device.

use sqlite_load::spec::JournalMode;
use sqlite_load::{SqliteSource, SqliteSpec};
use units::SimTime;
use workload::{Next, Source};

fn spec(mode: JournalMode) -> SqliteSpec {
    SqliteSpec { transactions: 30, fill_rows: 200, journal_mode: mode, ..SqliteSpec::default() }
}

#[test]
fn an_interrupted_run_ends_the_database() {
    for requests in [0, 1, 50, 400] {
        let mut source = SqliteSource::new(&spec(JournalMode::Wal), 1 << 20).unwrap();
        let (mut now, mut issued) = (SimTime(0), Vec::new());
        for _ in 0..requests {
            match source.next(now) {
                Next::Request(request) => issued.push(request.ticket),
                Next::Wait(at) => now = at,
                Next::Blocked => source.completed(issued.remove(0), now),
                Next::Done | Next::Driver(_) => unreachable!(),
            }
        }
        // This joins the thread; if the database did not end, it would wait for ever.
        drop(source);
    }
}

/// A device that completes every request at once.
struct AtOnce {
    source: SqliteSource,
    now: SimTime,
    requests: Vec<(u64, u64)>,
}

impl AtOnce {
    fn new(spec: &SqliteSpec) -> AtOnce {
        AtOnce { source: SqliteSource::new(spec, 1 << 20).unwrap(), now: SimTime(0), requests: Vec::new() }
    }

    /// Takes one request. False at the end.
    fn step(&mut self) -> bool {
        match self.source.next(self.now) {
            Next::Request(issued) => {
                self.requests.push((issued.request.sector, issued.request.bytes));
                self.source.completed(issued.ticket, self.now);
            }
            Next::Wait(at) => self.now = at,
            Next::Blocked | Next::Driver(_) => unreachable!("everything has completed"),
            Next::Done => return false,
        }
        true
    }
}

/// Connections must not take pages of SQLite's cache from each other.
#[test]
fn another_database_changes_nothing() {
    let spec = spec(JournalMode::Truncate);
    let greedy = SqliteSpec { sqlite_cache_kib: 64, page_cache_kib: 64, fill_rows: 4000, ..spec.clone() };
    let mut single = AtOnce::new(&spec);
    while single.step() {}
    assert_eq!(single.source.outcome(), Some(&Ok(())));
    let (mut first, mut second) = (AtOnce::new(&spec), AtOnce::new(&greedy));
    while first.step() {
        (0..10).all(|_| second.step());
    }
    assert_eq!(first.requests, single.requests);
}

/// Programs are recorded, and played with whatever processor time and barriers a device is asked with.
#[test]
fn programs_are_played_as_they_were_recorded() {
    let spec = SqliteSpec { programs: 2, databases: 3, tables: 3, fill_rows: 30, ..spec(JournalMode::Persist) };
    let mut plain = AtOnce::new(&spec);
    while plain.step() {}
    assert_eq!(plain.source.outcome(), Some(&Ok(())));
    for transactions in plain.source.transactions() {
        assert_eq!((transactions.programs, transactions.latencies_ns.len(), transactions.called.len()), (2, 60, 60));
        assert!(transactions.latencies_ns.iter().all(|&ns| ns == 0), "on a device that takes no time");
    }
    let mut other = AtOnce::new(&SqliteSpec { transaction_cpu_ns: 1000, barriers: false, ..spec });
    while other.step() {}
    let flushes = |source: &AtOnce| source.source.transactions()[0].requests.flushes;
    assert!(flushes(&plain) > 60 * 3 && flushes(&other) == 0);
    let blocks = |source: &AtOnce| source.requests.iter().copied().filter(|request| request.1 > 0).collect::<Vec<_>>();
    assert_eq!(blocks(&plain), blocks(&other));
    for transactions in other.source.transactions() {
        assert!(transactions.latencies_ns.iter().all(|&ns| ns == 1000));
        assert!(transactions.called.is_sorted() && transactions.duration.0 >= 60 * 1000);
    }
    // The clock by which they are called has begun at another part of a second with each seed.
    let usual = SqliteSpec { fill_rows: 1, ..SqliteSpec::default() };
    let begun = |seed| {
        let mut source = AtOnce::new(&SqliteSpec { transactions: 1, programs: 1, seed, ..usual.clone() });
        while source.step() {}
        source.source.transactions()[0].called[0].0
    };
    assert!(begun(1) != begun(2) && begun(1) < 1_000_000_000 && begun(2) < 1_000_000_000);
}
