//! A store in a file.
//!
//! # Layout
//! All numbers are little-endian. What was never written is a hole of the file.
//!
//! | from byte | what |
//! |---|---|
//! | 0 | header of 4096 bytes: `ufsim store v1\n\0`, units of the device (u64), CRC-32 of these 24 bytes, zeroes |
//! | 4096 | table: an entry of 16 bytes for each slot, of which there are 64 more than units |
//! | the next multiple of 4096 | slots of 4096 bytes |
//!
//! An entry is the unit plus one (u32; 0 = the slot is free), a CRC-32 (u32) of unit, order and data as they stand in
//! the file, and the order (u64), which counts what was put.
//!
//! New data of a unit goes into a free slot; then the entry of that slot is written, then that of the old slot is
//! cleared. An entry never lies across two pages. So whenever the process ends, the data of each unit is there, whole,
//! the old or the new. Of two entries of a unit that of the higher order counts, and the other one is cleared when the
//! file is opened. This holds for the end of the process in any way. That of the machine is another matter: only an
//! ordinary end waits for the disk, and what a crash of the machine has torn is found by its checksum.
//!
//! Slots are taken from the front, so the file grows with what is held. It does not shrink.

use std::fs::File;
use std::io::{self, ErrorKind};
use std::os::unix::fs::FileExt;
use std::path::Path;

use super::{Page, Store, StoreError, runs};
use crate::UNIT;

const MAGIC: &[u8; 16] = b"ufsim store v1\n\0";
const HEADER: usize = 4096;
const ENTRY: usize = 16;
/// Slots beyond one for each unit. One is enough; more let stale ones wait.
const SPARE: u64 = 64;

/// What a store lies on.
pub trait Disk: Send {
    /// Reads bytes that have been written, or holes.
    ///
    /// # Errors
    /// If they cannot be read, or lie beyond the end.
    fn read(&self, bytes: &mut [u8], at: u64) -> io::Result<()>;

    /// Writes bytes.
    ///
    /// # Errors
    /// If that is not possible. Then some of them may have been written.
    fn write(&mut self, bytes: &[u8], at: u64) -> io::Result<()>;

    /// The length.
    ///
    /// # Errors
    /// If it cannot be found out.
    fn len(&self) -> io::Result<u64>;

    /// Waits for the disk.
    ///
    /// # Errors
    /// If something was lost.
    fn sync(&mut self) -> io::Result<()>;
}

impl Disk for File {
    fn read(&self, bytes: &mut [u8], at: u64) -> io::Result<()> {
        self.read_exact_at(bytes, at)
    }

    fn write(&mut self, bytes: &[u8], at: u64) -> io::Result<()> {
        self.write_all_at(bytes, at)
    }

    fn len(&self) -> io::Result<u64> {
        self.metadata().map(|about| about.len())
    }

    fn sync(&mut self) -> io::Result<()> {
        self.sync_all()
    }
}

/// Data in a file.
#[derive(Debug)]
pub struct FileStore<D: Disk = File> {
    disk: D,
    /// Where the first slot begins.
    data: u64,
    /// By unit: the slot plus one; 0 = no data.
    slot_of: Vec<u32>,
    free: Vec<u32>,
    /// Slots from here on have never been used.
    fresh: u32,
    slots: u32,
    /// Slots whose data is out of date, and whose entry could not be cleared.
    stale: Vec<u32>,
    order: u64,
}

/// An entry of the table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Entry {
    unit: u32,
    crc: u32,
    order: u64,
}

impl Entry {
    fn of(unit: u32, order: u64, page: &Page) -> Entry {
        let mut crc = crc32fast::Hasher::new();
        crc.update(&(unit + 1).to_le_bytes());
        crc.update(&order.to_le_bytes());
        crc.update(page);
        Entry { unit, crc: crc.finalize(), order }
    }

    fn to_bytes(self) -> [u8; ENTRY] {
        let mut bytes = [0; ENTRY];
        bytes[..4].copy_from_slice(&(self.unit + 1).to_le_bytes());
        bytes[4..8].copy_from_slice(&self.crc.to_le_bytes());
        bytes[8..].copy_from_slice(&self.order.to_le_bytes());
        bytes
    }

    /// `None` for a free slot.
    fn from_bytes(bytes: &[u8]) -> Option<Entry> {
        let number = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"));
        let order = u64::from_le_bytes(bytes[8..16].try_into().expect("eight bytes"));
        Some(Entry { unit: number(0).checked_sub(1)?, crc: number(4), order })
    }
}

impl FileStore {
    /// Opens the store of a device of `units` units, or makes it if there is no file or an empty one.
    ///
    /// # Errors
    /// If the file is another's, damaged, of another device, or in use. Then it stays as it is.
    pub fn open(path: &Path, units: u32) -> Result<FileStore, StoreError> {
        let told = |error: io::Error| StoreError::Io { path: path.display().to_string(), error };
        let unfit = |what: String| StoreError::Unfit { path: path.display().to_string(), what };
        let mut options = File::options();
        let file = options.read(true).write(true).create(true).truncate(false).open(path).map_err(told)?;
        if !file.metadata().map_err(told)?.is_file() {
            return Err(unfit("is no ordinary file".into()));
        }
        if file.try_lock().is_err() {
            return Err(unfit("is in use by another process".into()));
        }
        FileStore::on(file, units).map_err(|error| match error.kind() {
            ErrorKind::InvalidData => unfit(error.to_string()),
            _ => told(error),
        })
    }
}

fn damaged(what: impl Into<String>) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, what.into())
}

impl<D: Disk> FileStore<D> {
    /// The store on a disk, which is made if the disk is empty.
    ///
    /// # Errors
    /// `InvalidData` with a reason if it does not fit, others from the disk.
    pub fn on(mut disk: D, units: u32) -> io::Result<FileStore<D>> {
        let slots = u64::from(units) + SPARE;
        let data = (HEADER as u64 + slots * ENTRY as u64).next_multiple_of(UNIT as u64);
        let slots = u32::try_from(slots).map_err(|_| damaged("has no room for so many units"))?;
        let length = disk.len()?;
        if length == 0 {
            disk.write(&header(units), 0)?;
        } else {
            check_header(&disk, length, units)?;
        }
        let slot_of = vec![0; units as usize];
        let (free, stale) = (Vec::new(), Vec::new());
        let mut store = FileStore { disk, data, slot_of, free, fresh: 0, slots, stale, order: 0 };
        store.fresh = (length.saturating_sub(data).div_ceil(UNIT as u64)).min(slots.into()) as u32;
        store.read_table(units)?;
        Ok(store)
    }

    fn read_table(&mut self, units: u32) -> io::Result<()> {
        const AT_ONCE: u32 = 1 << 16;
        let mut doubles = Vec::new();
        for first in (0..self.fresh).step_by(AT_ONCE as usize) {
            let count = AT_ONCE.min(self.fresh - first);
            let mut table = vec![0; count as usize * ENTRY];
            self.disk.read(&mut table, entry_at(first))?;
            for (slot, entry) in (first..).zip(table.chunks_exact(ENTRY)) {
                let Some(entry) = Entry::from_bytes(entry) else {
                    self.free.push(slot);
                    continue;
                };
                if entry.unit >= units {
                    return Err(damaged(format!("is damaged: slot {slot} names unit {} of {units}", entry.unit)));
                }
                self.order = self.order.max(entry.order);
                match self.slot_of[entry.unit as usize] {
                    0 => self.slot_of[entry.unit as usize] = slot + 1,
                    _ => doubles.push(slot),
                }
            }
        }
        // The lowest free slots are taken first.
        self.free.reverse();
        doubles.into_iter().try_for_each(|slot| self.choose(slot))
    }

    /// Two slots are of one unit: the process has ended between two writes.
    fn choose(&mut self, slot: u32) -> io::Result<()> {
        let Some(one) = self.entry(slot)? else { return Ok(()) };
        let other = self.slot_of[one.unit as usize] - 1;
        let newer = self.entry(other)?.is_none_or(|other| one.order > other.order);
        let (right, wrong) = if newer { (slot, other) } else { (other, slot) };
        let mut page = [0; UNIT];
        let whole = self.read_slot(right, one.unit, &mut page).is_ok();
        let (right, wrong) = if whole { (right, wrong) } else { (wrong, right) };
        self.slot_of[one.unit as usize] = right + 1;
        self.clear(wrong)
    }

    fn entry(&self, slot: u32) -> io::Result<Option<Entry>> {
        let mut bytes = [0; ENTRY];
        self.disk.read(&mut bytes, entry_at(slot))?;
        Ok(Entry::from_bytes(&bytes))
    }

    fn read_slot(&self, slot: u32, unit: u32, page: &mut Page) -> io::Result<()> {
        self.disk.read(page, self.data + u64::from(slot) * UNIT as u64)?;
        match self.entry(slot)? {
            Some(entry) if entry == Entry::of(unit, entry.order, page) => Ok(()),
            _ => Err(damaged(format!("unit {unit} is damaged in slot {slot}"))),
        }
    }

    /// The slot is free.
    fn clear(&mut self, slot: u32) -> io::Result<()> {
        self.disk.write(&[0; ENTRY], entry_at(slot))?;
        self.free.push(slot);
        Ok(())
    }

    fn clear_stale(&mut self) -> io::Result<()> {
        while let Some(&slot) = self.stale.last() {
            self.clear(slot)?;
            self.stale.pop();
        }
        Ok(())
    }

    fn fill(&mut self, slot: u32, unit: u32, page: &Page) -> io::Result<()> {
        self.order += 1;
        self.disk.write(page, self.data + u64::from(slot) * UNIT as u64)?;
        self.disk.write(&Entry::of(unit, self.order, page).to_bytes(), entry_at(slot))
    }
}

impl<D: Disk> Store for FileStore<D> {
    fn get(&mut self, unit: u32, page: &mut Page) -> io::Result<()> {
        match self.slot_of[unit as usize].checked_sub(1) {
            Some(slot) => self.read_slot(slot, unit, page),
            None => {
                page.fill(0);
                Ok(())
            }
        }
    }

    fn put(&mut self, unit: u32, page: &Page) -> io::Result<()> {
        let slot = match self.free.pop() {
            Some(slot) => slot,
            None if self.fresh < self.slots => {
                self.fresh += 1;
                self.fresh - 1
            }
            None => {
                self.clear_stale()?;
                self.free.pop().ok_or(ErrorKind::StorageFull)?
            }
        };
        if let Err(error) = self.fill(slot, unit, page) {
            // A part of an entry may have been written.
            self.stale.push(slot);
            return Err(error);
        }
        if let Some(old) = std::mem::replace(&mut self.slot_of[unit as usize], slot + 1).checked_sub(1)
            && self.clear(old).is_err()
        {
            self.stale.push(old);
        }
        Ok(())
    }

    fn remove(&mut self, unit: u32) -> io::Result<()> {
        // What is stale may be of this unit, and would come back.
        self.clear_stale()?;
        if let Some(slot) = self.slot_of[unit as usize].checked_sub(1) {
            self.clear(slot)?;
            self.slot_of[unit as usize] = 0;
        }
        Ok(())
    }

    fn held(&self) -> Vec<(u32, u32)> {
        let held = (0u32..).zip(&self.slot_of).filter(|(_, slot)| **slot != 0);
        runs(held.map(|(unit, _)| unit))
    }

    fn close(&mut self) -> io::Result<()> {
        self.clear_stale()?;
        self.disk.sync()
    }
}

fn entry_at(slot: u32) -> u64 {
    HEADER as u64 + u64::from(slot) * ENTRY as u64
}

fn header(units: u32) -> [u8; HEADER] {
    let mut header = [0; HEADER];
    header[..16].copy_from_slice(MAGIC);
    header[16..24].copy_from_slice(&u64::from(units).to_le_bytes());
    let crc = crc32fast::hash(&header[..24]);
    header[24..28].copy_from_slice(&crc.to_le_bytes());
    header
}

fn check_header(disk: &impl Disk, length: u64, units: u32) -> io::Result<()> {
    let mut found = [0; HEADER];
    let there = length.min(HEADER as u64) as usize;
    disk.read(&mut found[..there], 0)?;
    if &found[..16] != MAGIC {
        return Err(damaged("is no store of ufsim"));
    }
    let held = u64::from_le_bytes(found[16..24].try_into().expect("eight bytes"));
    if there < HEADER || found[24..28] != crc32fast::hash(&found[..24]).to_le_bytes() {
        return Err(damaged("has a damaged header"));
    }
    if held != u64::from(units) {
        let bytes = |units: u64| units * UNIT as u64;
        let wanted = bytes(units.into());
        return Err(damaged(format!("is of a device of {} bytes, and this one has {wanted}", bytes(held))));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;

    /// A disk in memory on which only so many writes succeed.
    #[derive(Clone, Debug)]
    struct Failing {
        bytes: Arc<Mutex<Vec<u8>>>,
        left: usize,
        /// How much of a page reaches the disk with the first write that fails. An entry does, or does not.
        torn: usize,
        error: ErrorKind,
    }

    impl Failing {
        fn new() -> Failing {
            Failing { bytes: Arc::default(), left: usize::MAX, torn: 0, error: ErrorKind::StorageFull }
        }

        fn lasting(&self, left: usize, torn: usize) -> Failing {
            Failing { left, torn, ..self.clone() }
        }
    }

    impl Disk for Failing {
        fn read(&self, bytes: &mut [u8], at: u64) -> io::Result<()> {
            let all = self.bytes.lock().unwrap();
            let found = all.get(at as usize..at as usize + bytes.len()).ok_or(ErrorKind::UnexpectedEof)?;
            bytes.copy_from_slice(found);
            Ok(())
        }

        fn write(&mut self, bytes: &[u8], at: u64) -> io::Result<()> {
            let fails = self.left == 0;
            let torn = if bytes.len() > ENTRY { self.torn.min(bytes.len()) } else { 0 };
            let bytes = if fails { &bytes[..torn] } else { bytes };
            self.left = self.left.saturating_sub(1);
            let mut all = self.bytes.lock().unwrap();
            let end = at as usize + bytes.len();
            if !bytes.is_empty() {
                let longer = all.len().max(end);
                all.resize(longer, 0);
                all[at as usize..end].copy_from_slice(bytes);
            }
            if fails { Err(self.error.into()) } else { Ok(()) }
        }

        fn len(&self) -> io::Result<u64> {
            Ok(self.bytes.lock().unwrap().len() as u64)
        }

        fn sync(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    const UNITS: u32 = 1000;

    fn page(byte: u8) -> Page {
        [byte; UNIT]
    }

    fn get(store: &mut impl Store, unit: u32) -> u8 {
        let mut page = page(99);
        store.get(unit, &mut page).expect("it is whole");
        assert_eq!(page, [page[0]; UNIT]);
        page[0]
    }

    /// Puts and removals of three units, the same each time; `None` is a removal.
    fn changes() -> Vec<(u32, Option<u8>)> {
        let put = |unit: u32, byte: u8| (unit, Some(byte));
        vec![put(5, 1), put(7, 2), put(5, 3), (7, None), put(900, 4), put(5, 5), put(7, 6), (5, None), put(5, 7)]
    }

    fn apply(store: &mut impl Store, (unit, byte): (u32, Option<u8>)) -> io::Result<()> {
        match byte {
            Some(byte) => store.put(unit, &page(byte)),
            None => store.remove(unit),
        }
    }

    #[test]
    fn what_is_put_is_found_again_in_the_file() {
        let path = std::env::temp_dir().join(format!("ufsim-store-{}", std::process::id()));
        let mut store = FileStore::open(&path, UNITS).expect("a new file");
        changes().into_iter().for_each(|change| apply(&mut store, change).expect("the disk has room"));
        assert!(FileStore::open(&path, UNITS).is_err_and(|error| error.to_string().contains("is in use")));
        store.close().expect("the disk has room");
        drop(store);
        let mut again = FileStore::open(&path, UNITS).expect("the file is whole");
        assert_eq!(again.held(), [(5, 1), (7, 1), (900, 1)]);
        assert_eq!([5, 7, 900, 6].map(|unit| get(&mut again, unit)), [7, 6, 4, 0]);
        drop(again);
        let other = FileStore::open(&path, UNITS + 1).expect_err("it is of another device");
        assert!(other.to_string().ends_with("is of a device of 4096000 bytes, and this one has 4100096"), "{other}");
        std::fs::remove_file(&path).expect("it was there");
    }

    /// Whatever the moment at which the process ends or the disk is full: each unit has its last data, or that before.
    #[test]
    fn the_end_of_the_process_at_any_write_leaves_old_or_new_data() {
        for left in 0..40 {
            for torn in [0, 7, 100] {
                let disk = Failing::new();
                drop(FileStore::on(disk.clone(), UNITS).expect("an empty disk"));
                let mut store = FileStore::on(disk.lasting(left, torn), UNITS).expect("nothing is written");
                let mut last = [0; UNITS as usize];
                let mut open = None;
                for change @ (unit, byte) in changes() {
                    if apply(&mut store, change).is_err() {
                        open = Some((unit, byte.unwrap_or(0)));
                        break;
                    }
                    last[unit as usize] = byte.unwrap_or(0);
                }
                // A process that goes on sees what was there.
                if let Some((unit, _)) = open {
                    assert_eq!(get(&mut store, unit), last[unit as usize], "{left} writes, {torn} bytes");
                }
                drop(store);
                let Ok(mut again) = FileStore::on(disk.clone(), UNITS) else {
                    panic!("{left} writes, {torn} bytes: cannot be opened");
                };
                for unit in [5, 7, 900] {
                    let (got, old) = (get(&mut again, unit), last[unit as usize]);
                    let new = open.filter(|(of, _)| *of == unit).map(|(_, byte)| byte);
                    assert!(got == old || Some(got) == new, "{left} writes, {torn} bytes: unit {unit} has {got}");
                }
            }
        }
    }

    #[test]
    fn a_disk_that_was_full_takes_data_again_later() {
        let disk = Failing::new();
        let mut store = FileStore::on(disk.lasting(4, 0), UNITS).expect("an empty disk");
        store.put(1, &page(1)).expect("three writes");
        assert!(store.put(1, &page(2)).is_err());
        assert_eq!(get(&mut store, 1), 1);
        store.disk.left = usize::MAX;
        store.put(1, &page(3)).expect("there is room again");
        store.remove(1).expect("there is room again");
        drop(store);
        assert_eq!(get(&mut FileStore::on(disk, UNITS).expect("whole"), 1), 0, "nothing stale comes back");
    }

    #[test]
    fn what_is_damaged_or_foreign_is_refused_and_stays() {
        let disk = Failing::new();
        let mut store = FileStore::on(disk.clone(), UNITS).expect("an empty disk");
        store.put(3, &page(1)).expect("the disk has room");
        drop(store);
        let whole = disk.bytes.lock().unwrap().clone();
        for (at, told) in
            [(0, "is no store of ufsim"), (17, "has a damaged header"), (HEADER + 2, "is damaged: slot 0")]
        {
            let mut bytes = whole.clone();
            bytes[at] ^= 0x40;
            *disk.bytes.lock().unwrap() = bytes.clone();
            let error = FileStore::on(disk.clone(), UNITS).expect_err("it is damaged");
            assert!(error.to_string().starts_with(told), "{error}");
            assert!(*disk.bytes.lock().unwrap() == bytes, "it stays as it is");
        }
        let mut bytes = whole.clone();
        *bytes.last_mut().unwrap() ^= 1;
        *disk.bytes.lock().unwrap() = bytes;
        let mut store = FileStore::on(disk.clone(), UNITS).expect("the table is whole");
        assert!(store.get(3, &mut page(0)).is_err_and(|error| error.kind() == ErrorKind::InvalidData));
        *disk.bytes.lock().unwrap() = b"#!/bin/sh\n".to_vec();
        assert!(FileStore::on(disk, UNITS).is_err());
    }
}
