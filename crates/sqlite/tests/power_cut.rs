//! Power cuts from outside: the device knows only which write each unit holds, like the simulated one.

use sqlite_load::spec::{JournalMode, Synchronous};
use sqlite_load::{Found, SqliteSource, SqliteSpec};
use units::{Lpa, SimTime};
use workload::{Next, Rng, Source, Ticket, named_stream};

fn spec(mode: JournalMode) -> SqliteSpec {
    SqliteSpec {
        transactions: 10,
        fill_rows: 50,
        journal_mode: mode,
        synchronous: Synchronous::Extra,
        think_us: 3000,
        ..SqliteSpec::default()
    }
}

/// Runs a workload for `completions` completions, each at its own time. `None` if it ended before.
fn run_for(source: &mut SqliteSource, completions: u64, rng: &mut Rng) -> Option<SimTime> {
    let mut now = SimTime(0);
    let mut outstanding: Vec<Ticket> = Vec::new();
    let mut done = 0;
    loop {
        match source.next(now) {
            Next::Request(issued) => outstanding.push(issued.ticket),
            Next::Wait(at) => now = at,
            Next::Driver(_) => unreachable!("a database knows no driver"),
            Next::Done => return None,
            Next::Blocked if done == completions => return Some(now),
            Next::Blocked => {
                now = SimTime(now.0 + 1 + rng.below(500_000));
                let index = rng.below(outstanding.len() as u64) as usize;
                source.completed(outstanding.swap_remove(index), now);
                done += 1;
            }
        }
    }
}

/// For each unit, any write that it may hold.
fn survivors(source: &SqliteSource, rng: &mut Rng) -> Vec<(Lpa, u32)> {
    let pick = |(lpa, numbers): (Lpa, Vec<u32>)| (lpa, numbers[rng.below(numbers.len() as u64) as usize]);
    source.versions().possible().map(|(lpa, numbers)| (lpa, numbers.collect())).map(pick).collect()
}

#[test]
fn what_had_returned_is_there() {
    let mut cuts = 0;
    for mode in [JournalMode::Delete, JournalMode::Truncate, JournalMode::Persist, JournalMode::Wal] {
        for seed in 0..40 {
            let mut rng = named_stream(seed, "power cut", 0);
            let mut source = SqliteSource::new(&spec(mode), 1 << 20).unwrap();
            // The first hundred or so completions make the file system and fill it.
            let Some(now) = run_for(&mut source, 50 + rng.below(200), &mut rng) else { continue };
            let survived = survivors(&source, &mut rng);
            let number = |lpa| survived[survived.binary_search_by_key(&lpa, |&(lpa, _)| lpa).unwrap()].1;
            let Found { integrity, transactions } = source.inspect_cut(now, number).unwrap();
            assert_eq!(integrity, "ok", "{mode:?} seed {seed}");
            let returned = source.written_by(now);
            assert!(
                transactions.is_some_and(|found| found == returned || found == returned + 1),
                "{mode:?} seed {seed}: {transactions:?} of {returned}"
            );
            cuts += 1;
        }
    }
    assert!(cuts > 100, "{cuts} runs were cut");
}

#[test]
#[should_panic(expected = "completion of a request that is not outstanding")]
fn a_request_completes_once() {
    let mut source = SqliteSource::new(&spec(JournalMode::Wal), 1 << 20).unwrap();
    let mut next = || match source.next(SimTime(0)) {
        Next::Request(issued) => issued.ticket,
        other => unreachable!("{other:?}"),
    };
    let (first, _second) = (next(), next());
    source.completed(first, SimTime(1));
    source.completed(first, SimTime(2));
}

#[test]
fn a_unit_can_not_hold_what_was_overwritten_durably() {
    let mut source = SqliteSource::new(&spec(JournalMode::Wal), 1 << 20).unwrap();
    let now = run_for(&mut source, 100, &mut named_stream(1, "power cut", 0)).unwrap();
    let error = source.inspect_cut(now, |_| 0).unwrap_err().to_string();
    assert!(error.starts_with("SQLite: LPA 0 can not hold write 0"), "{error}");
}
