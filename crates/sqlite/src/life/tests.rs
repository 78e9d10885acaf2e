//! SQLite itself on the file systems: its requests to the disk, and power cuts.

use std::collections::BTreeMap;

use workload::named_stream;

use super::*;
use crate::fs::Kind;
use crate::ram::{Counts, RamDisk};
use crate::spec::{JournalMode, Operation, Synchronous};

const KINDS: [Kind; 3] = [Kind::Ext4, Kind::F2fs, Kind::F2fsOutOfPlace];
const MODES: [JournalMode; 4] = [JournalMode::Delete, JournalMode::Truncate, JournalMode::Persist, JournalMode::Wal];

/// Counts transactions, and the requests of each phase.
#[derive(Default)]
struct Log {
    disk: RamDisk,
    phase: Option<usize>,
    before: Counts,
    /// By phase.
    asked: BTreeMap<usize, Counts>,
    writing: u64,
}

impl Log {
    fn new(disk: &RamDisk) -> Log {
        Log { disk: disk.clone(), ..Log::default() }
    }
}

impl Watch for Log {
    fn phase(&mut self, phase: Option<usize>) {
        let now = self.disk.counts();
        if let Some(phase) = self.phase {
            self.asked.insert(phase, now.since(self.before));
        }
        (self.phase, self.before) = (phase, now);
    }

    fn returned(&mut self, step: &Step, _started: SimTime, _ended: SimTime) {
        self.writing += u64::from(step.writes());
    }
}

fn spec(kind: Kind, mode: JournalMode, synchronous: Synchronous) -> SqliteSpec {
    SqliteSpec {
        transactions: 20,
        fill_rows: 100,
        file_system: kind,
        journal_mode: mode,
        synchronous,
        volume_mib: 16,
        ..SqliteSpec::default()
    }
}

/// Runs a workload to its end.
fn run_whole(spec: &SqliteSpec) -> (RamDisk, Log) {
    let disk = RamDisk::default();
    let mut log = Log::new(&disk);
    run(spec, Box::new(disk.clone()), &mut log).unwrap();
    (disk, log)
}

#[test]
fn every_mode_runs_to_its_end_on_every_file_system() {
    for (kind, mode) in KINDS.into_iter().flat_map(|kind| MODES.map(|mode| (kind, mode))) {
        for synchronous in [Synchronous::Off, Synchronous::Normal, Synchronous::Full, Synchronous::Extra] {
            let spec = SqliteSpec { tables: 3, ..spec(kind, mode, synchronous) };
            let (disk, log) = run_whole(&spec);
            assert_eq!(log.writing, 3 + 3 + 60);
            let found = inspect(&spec, disk.latest(), 0, u64::MAX).unwrap();
            assert_eq!(found, whole(log.writing), "{kind:?} {mode:?} {synchronous:?}");
        }
    }
}

fn whole(transactions: u64) -> Found {
    Found { integrity: "ok".into(), transactions: Some(transactions) }
}

/// Flushes per transaction of one operation.
fn flushes(kind: Kind, mode: JournalMode, synchronous: Synchronous, operation: Operation) -> f64 {
    // Large enough that F2FS needs no checkpoint for lack of space.
    let spec = SqliteSpec { volume_mib: 64, ..spec(kind, mode, synchronous) };
    let (_, log) = run_whole(&spec);
    let phase = spec.operations.iter().position(|&o| o == operation).unwrap();
    log.asked[&phase].flushes as f64 / f64::from(spec.transactions)
}

/// Syncs of SQLite in a transaction (<https://www.sqlite.org/atomiccommit.html>, pragma.html "synchronous", wal.html):
/// - OFF: nothing.
/// - NORMAL: the journal, the database; PERSIST also the journal's zeroed header; WAL nothing.
/// - FULL: the journal's content, then its header, the database; TRUNCATE and PERSIST also the journal after that; WAL
///   the log.
/// - EXTRA: with DELETE also the directory.
///
/// SQLite opens a rollback journal for each transaction, and its first sync also syncs the directory. On ext4 the
/// commit for the journal file has already written the name, so nothing is left to do, but a journal that PERSISTs does
/// not change its length, and needs no commit: then there is a flush. On F2FS the directory sync is a checkpoint, with
/// a flush. All of them are Linux's (docs/explanation/two-hosts.md).
#[test]
fn flushes_per_transaction_follow_from_journal_mode_and_level() {
    use JournalMode::{Delete, Persist, Truncate, Wal};
    use Synchronous::{Extra, Full, Normal, Off};
    for (mode, expected) in
        [(Delete, [0, 2, 3, 4]), (Truncate, [0, 2, 4, 4]), (Persist, [0, 3, 4, 4]), (Wal, [0, 0, 1, 1])]
    {
        for (synchronous, count) in [Off, Normal, Full, Extra].into_iter().zip(expected) {
            for operation in [Operation::Insert, Operation::Update, Operation::Delete] {
                let got = KINDS[..2].iter().map(|&kind| flushes(kind, mode, synchronous, operation));
                let synced = mode != Wal && synchronous != Off;
                let directory = [synced && mode == Persist, synced].map(u32::from);
                let expected = directory.map(|more| f64::from(count + more));
                assert_eq!(got.collect::<Vec<_>>(), expected, "{mode:?} {synchronous:?} {operation:?}");
            }
            assert_eq!(flushes(Kind::Ext4, mode, synchronous, Operation::Select), 0.0);
        }
    }
}

/// Cuts the power of a run at a random moment, and often again while the database is opened. Gives the number of
/// missing transactions that had returned (-1 if there is one more), or the error.
fn cut(spec: &SqliteSpec, seed: u64) -> Result<i64, String> {
    let mut rng = named_stream(seed, "cut", 0);
    let disk = RamDisk::default();
    drop(Volume::format(Box::new(disk.clone()), spec.file_system, spec.geometry()).unwrap());
    let formatted = disk.moments();
    // The disk is formatted at this moment; a run formats it again.
    let (whole_disk, _) = run_whole(spec);
    let disk = RamDisk::default();
    disk.cut_after(formatted + rng.below(whole_disk.moments() - formatted));
    let mut log = Log::new(&disk);
    run(spec, Box::new(disk.clone()), &mut log).expect_err("the power was cut");
    let mut image = disk.after_cut(&mut rng);
    if rng.below(2) == 0 {
        let disk = RamDisk::with(&image);
        disk.cut_after(rng.below(60));
        let opened = Volume::mount(Box::new(disk.clone()), spec.file_system, spec.geometry())
            .map_err(DatabaseError::from)
            .and_then(|volume| Database::open(volume, spec)?.integrity());
        drop(opened);
        image = disk.after_cut(&mut rng);
    }
    let found = inspect(spec, image, 0, log.writing + 1).map_err(|error| error.to_string())?;
    match found {
        Found { transactions: Some(count), integrity } if integrity == "ok" => Ok(log.writing as i64 - count as i64),
        other => Err(format!("{other:?}, {} had returned", log.writing)),
    }
}

/// Three databases of three tables, and a row of each in a transaction.
fn programs(mode: JournalMode) -> SqliteSpec {
    SqliteSpec {
        programs: 2,
        databases: 3,
        tables: 3,
        transactions: 20,
        fill_rows: 20,
        auto_vacuum: true,
        ..spec(Kind::Ext4, mode, Synchronous::Full)
    }
}

#[test]
fn programs_run_to_their_end_on_attached_databases() {
    for mode in MODES {
        for pads_log in [false, true] {
            let spec = SqliteSpec { pads_log, ..programs(mode) };
            let (disk, log) = run_whole(&spec);
            let found = inspect(&spec, disk.latest(), log.writing, log.writing).unwrap();
            assert_eq!(found, whole(log.writing), "{mode:?}");
        }
    }
}

/// The databases that the HP-UFS authors left behind: 5000 rows in each of three tables are 1,691,648 bytes, with a
/// page of pointers as auto-vacuum has, and no index. Their journals have 12,824 bytes: a header of 512, and three
/// pages.
#[test]
fn a_database_has_the_size_of_those_that_the_authors_left_behind() {
    let spec = SqliteSpec {
        programs: 1,
        operations: vec![Operation::Insert],
        transactions: 5000,
        volume_mib: 64,
        ..programs(JournalMode::Persist)
    };
    let (disk, _) = run_whole(&spec);
    let volume = Volume::mount(Box::new(disk.latest()), spec.file_system, spec.geometry()).unwrap();
    for (name, size) in [("main.db", 1_691_648), ("db1.db", 1_691_648), ("db2.db", 1_691_648)] {
        let ino = volume.find(name).unwrap();
        assert_eq!(volume.size(ino), size, "{name}");
    }
}

/// A commit to three databases has three write-ahead logs to sync. A log is overwritten from its start after a
/// checkpoint at 1000 pages (SQLite's default): without one, 2000 commits of three pages would not fit the volume.
#[test]
fn each_database_has_a_log_of_its_own_with_checkpoints_at_a_thousand_pages() {
    let (operations, volume_mib) = (vec![Operation::Update], 32);
    let sizes =
        SqliteSpec { programs: 1, transactions: 2000, fill_rows: 400, volume_mib, ..programs(JournalMode::Wal) };
    let [plain, padded] = [false, true].map(|pads_log| {
        let (_, log) = run_whole(&SqliteSpec { operations: operations.clone(), pads_log, ..sizes.clone() });
        let asked = log.asked[&0];
        let flushes = asked.flushes as f64 / 2000.0;
        assert!((3.0..3.1).contains(&flushes), "{flushes}");
        asked.units_written as f64 / 6000.0
    });
    // Three frames of 4120 bytes lie in four blocks; ext4's metadata come to it while a log grows. A frame more fills
    // the sector.
    assert!((4.0..5.5).contains(&plain) && (plain + 0.5..plain + 1.1).contains(&padded), "{plain} {padded}");
}

/// A super-journal makes a transaction of several databases one; with write-ahead logs each commits by itself.
#[test]
fn attached_databases_commit_together_with_rollback_journals() {
    for mode in [JournalMode::Truncate, JournalMode::Persist] {
        let spec = SqliteSpec { transactions: 6, fill_rows: 6, programs: 1, ..programs(mode) };
        assert_eq!(spec.may_lose(), Some(0));
        for seed in 0..CUTS {
            let lost = cut(&spec, seed).unwrap_or_else(|error| panic!("{mode:?} {seed}: {error}"));
            assert!((-1..=0).contains(&lost), "{mode:?} seed {seed}: {lost} lost");
        }
    }
    assert_eq!(programs(JournalMode::Wal).may_lose(), None);
}

/// Seeds of the cuts of one combination.
const CUTS: u64 = 25;

fn small(kind: Kind, mode: JournalMode, synchronous: Synchronous) -> SqliteSpec {
    SqliteSpec { transactions: 8, fill_rows: 40, ..spec(kind, mode, synchronous) }
}

#[test]
fn committed_transactions_survive_power_cuts() {
    for (kind, mode) in KINDS.into_iter().flat_map(|kind| MODES.map(|mode| (kind, mode))) {
        for synchronous in [Synchronous::Full, Synchronous::Extra] {
            let spec = small(kind, mode, synchronous);
            let lost: Vec<i64> = (0..CUTS)
                .map(|seed| {
                    let lost =
                        cut(&spec, seed).unwrap_or_else(|e| panic!("{kind:?} {mode:?} {synchronous:?} {seed}: {e}"));
                    assert!((-1..=1).contains(&lost), "{kind:?} {mode:?} {synchronous:?} seed {seed}: {lost} lost");
                    lost
                })
                .collect();
            // The last transaction may be undone exactly where SQLite's documentation says so.
            assert_eq!(lost.contains(&1), spec.may_lose() == Some(1), "{kind:?} {mode:?} {synchronous:?} {lost:?}");
        }
    }
}

#[test]
fn a_write_ahead_log_with_normal_loses_transactions_but_is_never_damaged() {
    for kind in KINDS {
        let spec = small(kind, JournalMode::Wal, Synchronous::Normal);
        let lost: Vec<i64> = (0..CUTS).map(|seed| cut(&spec, seed).unwrap()).collect();
        assert!(lost.iter().any(|&lost| lost > 1), "{kind:?} {lost:?}");
    }
}

#[test]
fn a_file_system_that_ignores_syncs_is_caught() {
    for mode in MODES {
        let broken = small(Kind::IgnoresSync, mode, Synchronous::Extra);
        let caught = |seed: &u64| !matches!(cut(&broken, *seed), Ok(-1..=0));
        assert!((0..CUTS).any(|seed| caught(&seed)), "{mode:?}");
    }
}

/// A log frame of SQLite is 24 bytes longer than a page, so a commit rewrites the block in which the previous commit
/// ended.
#[test]
fn a_node_that_overtakes_its_data_is_caught() {
    let broken = small(Kind::F2fsOvertaken, JournalMode::Wal, Synchronous::Full);
    let caught = |seed: &u64| !matches!(cut(&broken, *seed), Ok(-1..=0));
    assert!((0..4 * CUTS).any(|seed| caught(&seed)));
}
