//! SQLite itself on the file systems: what it asks of the disk, and power cuts.

use std::collections::BTreeMap;

use workload::named_stream;

use super::*;
use crate::fs::Kind;
use crate::ram::{Counts, RamDisk};
use crate::spec::{JournalMode, Operation, Synchronous};

const KINDS: [Kind; 3] = [Kind::Ext4, Kind::F2fs, Kind::F2fsOutOfPlace];
const MODES: [JournalMode; 4] = [JournalMode::Delete, JournalMode::Truncate, JournalMode::Persist, JournalMode::Wal];

/// Counts transactions, and what each phase asked of the disk.
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

#[test]
fn every_mode_runs_to_its_end_on_every_file_system() {
    for (kind, mode) in KINDS.into_iter().flat_map(|kind| MODES.map(|mode| (kind, mode))) {
        for synchronous in [Synchronous::Off, Synchronous::Normal, Synchronous::Full, Synchronous::Extra] {
            let spec = SqliteSpec { tables: 3, ..spec(kind, mode, synchronous) };
            let disk = RamDisk::default();
            let mut log = Log::new(&disk);
            run(&spec, Box::new(disk.clone()), &mut log).unwrap();
            let found = inspect(&spec, disk.latest(), 0, u64::MAX).unwrap();
            let expected = Found { integrity: "ok".into(), transactions: Some(log.writing) };
            assert_eq!(found, expected, "{kind:?} {mode:?} {synchronous:?}");
            eprintln!("{kind:?} {mode:?} {synchronous:?} {:?}", log.asked);
        }
    }
}

#[test]
fn tmp_operation() {
    let _ = Operation::Insert;
    let _ = named_stream(1, "x", 0);
}
