//! What is saved of damaged stores, in files, and what files are opened at all.

use files::Real;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use crate::disk::{MemoryDisk, change, get, page};
use ufsim_attach::{FileStore, Rescued, Store, StoreError, UNIT, check, rescue};
use workload::Rng;

const UNITS: u32 = 300;
const TABLE: usize = 2 * 4096;
const DATA: usize = TABLE + 2 * 4096;

/// A folder that goes with the test.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let folder = std::env::temp_dir().join(format!("ufsim-store-{}-{name}", std::process::id()));
        fs::create_dir(&folder).expect("a new folder");
        Folder(folder)
    }

    fn at(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    fn names(&self) -> Vec<String> {
        let names = fs::read_dir(&self.0).expect("just made").map(|entry| entry.expect("readable").file_name());
        let mut names: Vec<String> = names.map(|name| name.into_string().expect("UTF-8")).collect();
        names.sort();
        names
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.0).expect("it is there");
    }
}

/// A store with units 0 to 9, put in this order, then unit 4 again, which goes to slot 10. Slot 4 is out of date.
fn ten_units() -> Vec<u8> {
    let disk = MemoryDisk::default();
    let mut store = FileStore::on(disk.clone(), UNITS).expect("an empty disk");
    (0..10).for_each(|unit| store.put(unit, &page(100 + u64::from(unit))).expect("memory"));
    store.put(4, &page(200)).expect("memory");
    store.close().expect("memory");
    disk.bytes()
}

fn refused<T: std::fmt::Debug>(result: Result<T, StoreError>) -> String {
    result.expect_err("it is refused").to_string()
}

/// Opens what was saved and compares it, units of no value being lost.
fn compare(path: &Path, values: [u64; 10]) {
    let mut store = FileStore::open(&Real, path, UNITS).expect("a rescued store is whole");
    for (unit, value) in (0..).zip(values) {
        assert_eq!(get(&mut store, unit), value, "unit {unit}");
    }
}

#[test]
fn what_is_lost_is_told_and_the_rest_is_saved() {
    let folder = Folder::new("lost");
    let (old, new) = (folder.at("old"), folder.at("new"));
    let mut bytes = ten_units();
    for slot in [2, 7, 8] {
        bytes[DATA + slot * UNIT + 5] ^= 1;
    }
    bytes[TABLE + 16 * 3..][..16].fill(0);
    fs::write(&old, &bytes).expect("room");
    let told = refused(FileStore::open(&Real, &old, UNITS));
    let lost = "is damaged: 4 of 10 units are lost: 2, 7..=8, and 1 that the table does not name; ";
    assert!(told.contains(lost) && told.ends_with("`ufsim store rescue OLD NEW` saves what is whole"), "{told}");
    assert_eq!(told, refused(check(&Real, &old)));
    let rescued = rescue(&Real, &old, &new, None).expect("there is room");
    let expected = Rescued {
        device_bytes: u64::from(UNITS) * UNIT as u64,
        version: 2,
        kept: 6,
        lost: vec![(2, 1), (7, 2)],
        unnamed: Some(1),
        damaged_slots: 4,
        may_be_old: true,
    };
    assert_eq!(rescued, expected);
    assert!(!rescued.is_whole());
    assert!(fs::read(&old).expect("it is there") == bytes, "the old file stays as it is");
    compare(&new, [100, 101, 0, 0, 200, 105, 106, 0, 0, 109]);
    assert_eq!(fs::metadata(&new).expect("it is there").permissions().mode() & 0o777, 0o600);
    assert!(refused(rescue(&Real, &old, &new, None)).contains("is there already"));
    assert_eq!(folder.names(), ["new", "old"]);
}

/// Also if the older data is there, and even if the table still names it.
#[test]
fn a_unit_does_not_fall_back_to_older_data() {
    for named in [false, true] {
        let folder = Folder::new(&format!("older-{named}"));
        let mut bytes = ten_units();
        bytes[DATA + 10 * UNIT] ^= 1;
        if named {
            bytes[TABLE + 16 * 4 + 3] &= 0x7f;
        }
        fs::write(folder.at("old"), bytes).expect("room");
        let rescued = rescue(&Real, &folder.at("old"), &folder.at("new"), None).expect("there is room");
        assert_eq!((rescued.kept, rescued.lost, rescued.unnamed), (9, vec![(4, 1)], Some(0)));
        compare(&folder.at("new"), [100, 101, 102, 103, 0, 105, 106, 107, 108, 109]);
    }
}

#[test]
fn a_file_that_was_cut_short_tells_what_is_gone() {
    let folder = Folder::new("short");
    let mut bytes = ten_units();
    bytes.truncate(DATA + 6 * UNIT + 100);
    fs::write(folder.at("old"), bytes).expect("room");
    let told = refused(check(&Real, &folder.at("old")));
    assert!(told.contains("it ends 20380 bytes too early; 5 of 10 units are lost: 4, 6..=9; "), "{told}");
    let rescued = rescue(&Real, &folder.at("old"), &folder.at("new"), None).expect("there is room");
    assert_eq!((rescued.kept, rescued.lost), (5, vec![(4, 1), (6, 4)]));
}

#[test]
fn without_heads_the_size_of_the_device_has_to_be_said() {
    let folder = Folder::new("heads");
    let mut bytes = ten_units();
    bytes[..64].fill(0);
    fs::write(folder.at("one"), &bytes).expect("room");
    assert!(refused(check(&Real, &folder.at("one"))).contains("has a damaged header"));
    assert!(rescue(&Real, &folder.at("one"), &folder.at("new one"), None).expect("there is room").lost.is_empty());
    bytes[4096..4160].fill(0);
    fs::write(folder.at("two"), &bytes).expect("room");
    assert!(refused(check(&Real, &folder.at("two"))).contains("is no store of ufsim"));
    assert!(refused(rescue(&Real, &folder.at("two"), &folder.at("new two"), None)).contains("is no store of ufsim"));
    let size = u64::from(UNITS) * UNIT as u64;
    let rescued = rescue(&Real, &folder.at("two"), &folder.at("new two"), Some(size)).expect("there is room");
    assert_eq!((rescued.kept, rescued.unnamed, rescued.may_be_old), (10, None, true));
    compare(&folder.at("new two"), [100, 101, 102, 103, 200, 105, 106, 107, 108, 109]);
}

/// A store of version 1: entries and data by slot; a free slot has no entry.
fn version_1(slots: &[Option<(u32, u64, u64)>]) -> Vec<u8> {
    let mut bytes = b"ufsim store v1\n\0".to_vec();
    bytes.extend(u64::from(UNITS).to_le_bytes());
    bytes.extend(crc32fast::hash(&bytes).to_le_bytes());
    bytes.resize((4096 + 16 * (UNITS as usize + 64)).next_multiple_of(4096), 0);
    let data = bytes.len();
    bytes.resize(data + slots.len() * UNIT, 0);
    for (slot, &(unit, order, value)) in slots.iter().enumerate().filter_map(|(slot, of)| Some((slot, of.as_ref()?))) {
        let (unit, order) = ((unit + 1).to_le_bytes(), order.to_le_bytes());
        let crc = crc32fast::hash(&[&unit[..], &order[..], &page(value)[..]].concat());
        bytes[4096 + 16 * slot..][..16].copy_from_slice(&[&unit[..], &crc.to_le_bytes()[..], &order[..]].concat());
        bytes[data + slot * UNIT..][..UNIT].copy_from_slice(&page(value));
    }
    bytes
}

#[test]
fn a_store_of_version_1_is_taken_over() {
    let folder = Folder::new("v1");
    // The process has ended between two writes: unit 1 is there twice.
    let mut bytes = version_1(&[Some((0, 1, 100)), Some((1, 2, 7)), None, Some((1, 5, 101)), Some((9, 4, 109))]);
    fs::write(folder.at("old"), &bytes).expect("room");
    let told = refused(FileStore::open(&Real, &folder.at("old"), UNITS));
    assert!(told.contains("earlier version") && told.contains("ufsim store rescue OLD NEW"), "{told}");
    let rescued = rescue(&Real, &folder.at("old"), &folder.at("new"), None).expect("there is room");
    assert_eq!((rescued.version, rescued.kept, rescued.unnamed, rescued.is_whole()), (1, 3, None, true));
    compare(&folder.at("new"), [100, 101, 0, 0, 0, 0, 0, 0, 0, 109]);
    let end = bytes.len();
    bytes[end - UNIT - 1] ^= 1;
    fs::write(folder.at("damaged"), &bytes).expect("room");
    let rescued = rescue(&Real, &folder.at("damaged"), &folder.at("rest"), None).expect("there is room");
    assert_eq!((rescued.kept, rescued.lost, rescued.damaged_slots), (2, vec![(1, 1)], 1));
}

/// A store that a rescue has written has what is right, or says that it may be old; and what it lacks is told.
#[test]
fn of_damaged_copies_nothing_wrong_is_saved_unsaid() {
    let folder = Folder::new("copies");
    let mut rng = Rng::from_seed(5);
    let disk = MemoryDisk::default();
    let mut store = FileStore::on(disk.clone(), UNITS).expect("an empty disk");
    let (mut model, mut old) = (vec![0; 40], Vec::new());
    for value in 1..=200 {
        let (unit, value) = (rng.below(40) as usize, if rng.below(6) == 0 { 0 } else { value });
        change(&mut store, unit as u32, value).expect("memory");
        model[unit] = value;
        if value % 40 == 1 {
            old = disk.bytes();
        }
    }
    let whole = disk.bytes();
    for number in 0..200 {
        let mut bytes = whole.clone();
        let begin = rng.below([DATA, bytes.len()][number % 2] as u64) as usize;
        let end = (begin + 1 + rng.below(9000) as usize).min(bytes.len());
        match rng.below(3) {
            0 => bytes[begin..end].fill(0),
            1 => (begin..end).for_each(|at| bytes[at] = old.get(at).copied().unwrap_or(0)),
            _ => bytes[begin] ^= 1 << rng.below(8),
        }
        let (from, to) = (folder.at("from"), folder.at(&format!("to {number}")));
        fs::write(&from, &bytes).expect("room");
        let Ok(rescued) = rescue(&Real, &from, &to, None) else { continue };
        let saved = MemoryDisk::of(fs::read(&to).expect("it is there"));
        let mut saved = FileStore::on(saved, UNITS).expect("a rescued store is whole");
        let told = |unit: u32| rescued.lost.iter().any(|&(first, len)| (first..first + len).contains(&unit));
        for (unit, &value) in (0..).zip(&model) {
            let got = get(&mut saved, unit);
            let lacks = got == 0 && (told(unit) || rescued.unnamed != Some(0));
            assert!(got == value || rescued.may_be_old || lacks, "copy {number}: unit {unit}: {got}, {rescued:?}");
        }
        if FileStore::on(MemoryDisk::of(bytes), UNITS).is_ok() {
            assert!(rescued.is_whole(), "copy {number}: {rescued:?}");
        }
        fs::remove_file(&to).expect("it is there");
    }
}

#[test]
fn only_ordinary_files_are_opened() {
    let folder = Folder::new("files");
    let (store, link) = (folder.at("store"), folder.at("link"));
    symlink(&store, &link).expect("a new name");
    let through = "is a symbolic link";
    assert!(refused(FileStore::open(&Real, &link, UNITS)).contains(through), "it would make what it points to");
    assert!(!store.exists());
    let mut made = FileStore::open(&Real, &store, UNITS).expect("a new file");
    assert_eq!(fs::metadata(&store).expect("just made").permissions().mode() & 0o777, 0o600);
    assert!(refused(FileStore::open(&Real, &store, UNITS)).contains("is in use"));
    assert!(refused(check(&Real, &store)).contains("is in use"));
    made.put(3, &page(9)).expect("room");
    drop(made);
    assert!(refused(FileStore::open(&Real, &link, UNITS)).contains(through));
    assert!(
        refused(check(&Real, &link)).contains(through)
            && refused(rescue(&Real, &link, &folder.at("new"), None)).contains(through)
    );
    symlink(folder.at("nowhere"), folder.at("taken")).expect("a new name");
    assert!(refused(rescue(&Real, &store, &folder.at("taken"), None)).contains("is there already"));
    let other = refused(FileStore::open(&Real, &store, UNITS + 1));
    assert!(other.ends_with("is of a device of 1228800 bytes, and this one has 1232896"), "{other}");
    assert!(refused(FileStore::open(&Real, &folder.0, UNITS)).contains("irectory"));
    fs::write(folder.at("empty"), b"").expect("room");
    assert!(refused(FileStore::open(&Real, &folder.at("empty"), UNITS)).contains("is empty"));
    fs::write(folder.at("script"), b"#!/bin/sh\n").expect("room");
    assert!(refused(FileStore::open(&Real, &folder.at("script"), UNITS)).contains("is no store of ufsim"));
    assert_eq!(check(&Real, &store).expect("it is whole").units, 1);
    assert_eq!(folder.names(), ["empty", "link", "script", "store", "taken"]);
}
