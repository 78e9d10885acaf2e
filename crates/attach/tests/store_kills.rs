//! A store whose process ends, or whose disk fails, at every write of random changes: every unit has its old or its new
//! data, and who goes on sees the old.

use std::io::ErrorKind;

use crate::disk::{Failing, MemoryDisk, change, get};
use ufsim_attach::{FileStore, Store};
use workload::Rng;

const UNITS: u32 = 6;
/// How much of a write that fails reaches the disk: parts of entries, records and pages, or all.
const TORN: [usize; 9] = [0, 1, 8, 13, 27, 40, 71, 2000, 4096];

/// Units and their new values; 0 is a removal.
fn changes(seed: u64, count: u64) -> Vec<(u32, u64)> {
    let mut rng = Rng::from_seed(seed);
    let mut change = |value| (rng.below(UNITS.into()) as u32, if rng.below(4) == 0 { 0 } else { value });
    (1..=count).map(&mut change).collect()
}

fn new_store(disk: &MemoryDisk) -> FileStore<MemoryDisk> {
    FileStore::on(disk.clone(), UNITS).expect("an empty disk")
}

/// What each unit holds, and what it may hold as well if the process ends now.
#[derive(Clone, Default)]
struct Model {
    now: [u64; UNITS as usize],
    or: Option<(u32, u64)>,
}

impl Model {
    /// Opens copies of the disk that have lost one or the other head. Each is refused, or has what there was: an
    /// operation leaves two traces, so the loss of the last record is noticed.
    fn check_without_a_head(&self, disk: &MemoryDisk, case: &str) {
        for head in 0..2 {
            let mut bytes = disk.bytes();
            bytes[head * 4096 + 64..(head + 1) * 4096].fill(0);
            if FileStore::on(MemoryDisk::of(bytes.clone()), UNITS).is_ok() {
                self.check(&MemoryDisk::of(bytes), &format!("{case}, without head {head}"));
            }
        }
    }

    /// Opens a copy of the disk and compares.
    fn check(&self, disk: &MemoryDisk, case: &str) {
        let opened = FileStore::on(MemoryDisk::of(disk.bytes()), UNITS);
        let mut opened = opened.unwrap_or_else(|error| panic!("{case}: {error}"));
        for unit in 0..UNITS {
            let (got, old) = (get(&mut opened, unit), self.now[unit as usize]);
            let new = self.or.filter(|(of, _)| *of == unit).map(|(_, value)| value);
            assert!(got == old || Some(got) == new, "{case}: unit {unit} has {got}, not {old} or {new:?}");
        }
    }
}

#[test]
fn the_end_of_the_process_at_any_write_leaves_old_or_new_data() {
    for seed in 0..8 {
        let changes = changes(seed, 24);
        for after in 0.. {
            let mut reached = false;
            for torn in TORN {
                let case = format!("seed {seed}, {after} writes, {torn} bytes");
                let disk = MemoryDisk::default();
                let (mut store, mut model) = (new_store(&disk), Model::default());
                disk.fail(Failing { after, count: usize::MAX, torn, torn_later: 0 });
                for &(unit, value) in &changes {
                    if change(&mut store, unit, value).is_err() {
                        model.or = Some((unit, value));
                        reached = true;
                        break;
                    }
                    model.now[unit as usize] = value;
                }
                drop(store);
                model.check(&disk, &case);
            }
            if !reached {
                break;
            }
        }
    }
}

/// The next process goes on, and finds what it has written.
#[test]
fn a_store_goes_on_after_the_end_of_the_process_at_any_write() {
    let changes = changes(77, 16);
    for after in 0..40 {
        for torn in TORN {
            let disk = MemoryDisk::default();
            let mut store = new_store(&disk);
            disk.fail(Failing { after, count: usize::MAX, torn, torn_later: 0 });
            let done = changes.iter().take_while(|(unit, value)| change(&mut store, *unit, *value).is_ok()).count();
            drop(store);
            disk.fail(Failing::default());
            let mut store = FileStore::on(disk.clone(), UNITS).expect("whole");
            let mut model = Model::default();
            (0..UNITS).for_each(|unit| model.now[unit as usize] = get(&mut store, unit));
            model.check_without_a_head(&disk, &format!("{after} writes, {torn} bytes, opened"));
            for &(unit, value) in &changes[done..] {
                change(&mut store, unit, value).expect("there is room again");
                model.now[unit as usize] = value;
                model.check(&disk, &format!("{after} writes, {torn} bytes"));
            }
        }
    }
}

/// The disk fails for a while, at any write, and the process goes on. What has failed may come back only as long as
/// nothing has succeeded since.
#[test]
fn errors_that_go_away_leave_a_store_that_is_right() {
    for seed in 0..2 {
        let changes = changes(100 + seed, 16);
        for after in 0..48 {
            for (torn, count) in [0, 13, 71, 4096].into_iter().flat_map(|torn| [1, 2, 5].map(|count| (torn, count))) {
                let case = format!("seed {seed}, {after} writes, {count} fail after {torn} bytes");
                let disk = MemoryDisk::default();
                let (mut store, mut model) = (new_store(&disk), Model::default());
                // As much of later ones, or nothing.
                let torn_later = if after % 2 == 0 { torn } else { 0 };
                disk.fail(Failing { after, count, torn, torn_later });
                for &(unit, value) in &changes {
                    match change(&mut store, unit, value) {
                        Ok(()) => {
                            model.or = None;
                            model.now[unit as usize] = value;
                        }
                        Err(error) => {
                            assert_eq!(error.kind(), ErrorKind::StorageFull, "{case}");
                            model.check_failed(&disk, (unit, value), &case);
                        }
                    }
                    assert_eq!(get(&mut store, unit), model.now[unit as usize], "{case}: unit {unit}");
                    model.check(&disk, &case);
                    // If the entry and the second record both fail, the first record is the only trace.
                    if count == 1 {
                        model.check_without_a_head(&disk, &case);
                    }
                }
                disk.fail(Failing::default());
                store.close().expect("there is room again");
                model.or = None;
                model.check(&disk, &case);
            }
        }
    }
}

impl Model {
    /// A change has failed. One that failed before may be there instead, until something succeeds.
    fn check_failed(&mut self, disk: &MemoryDisk, failed: (u32, u64), case: &str) {
        let mut opened = FileStore::on(MemoryDisk::of(disk.bytes()), UNITS).unwrap_or_else(|e| panic!("{case}: {e}"));
        let there = |opened: &mut FileStore<MemoryDisk>, (unit, value)| get(opened, unit) == value;
        // Of two in a row only one can be there: the second one begins by taking back the first.
        if self.or.is_none_or(|before| !there(&mut opened, before)) {
            self.or = Some(failed);
        }
    }
}

#[test]
fn a_full_store_takes_new_data_of_every_unit() {
    let disk = MemoryDisk::default();
    let mut store = new_store(&disk);
    for value in 1..200 {
        let unit = (value * 5 % u64::from(UNITS)) as u32;
        store.put(unit, &crate::disk::page(value)).expect("one slot is always free");
    }
    let mut model = Model::default();
    (1..200).for_each(|value| model.now[(value * 5 % u64::from(UNITS)) as usize] = value);
    model.check(&disk, "all units are held");
    assert_eq!(store.held(), [(0, UNITS)]);
}
