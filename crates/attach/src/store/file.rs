//! A store in a file: how its data changes. [`super::layout`] says how it lies there and why that is safe.

use std::io;
use std::path::Path;

use files::{Access, File, Files};

use super::disk::{Disk, existing};
use super::examine::{Examined, examine, look};
use super::layout::{Entry, HEAD, Layout, RECORD_AT, Record, heads};
use super::{Page, Store, StoreError, runs};
use crate::hole::Hole;

/// Data in a file.
#[derive(Debug)]
pub struct FileStore<D: Disk = Box<dyn File>> {
    disk: D,
    layout: Layout,
    /// The last one that is in the file for sure.
    record: Record,
    /// A later record could not be written, and may be in the file all the same.
    doubt: bool,
    /// Slots whose entries in the table may be other than those in the record.
    unwritten: Vec<u32>,
    /// By slot.
    entries: Vec<Entry>,
    /// By unit: the slot plus one; 0 = no data.
    slot_of: Vec<u32>,
    /// Slots that may be used again, without the next one.
    free: Vec<u32>,
}

impl FileStore {
    /// Opens the store of a device of `units` units, or makes it if there is no file. All of it is read.
    ///
    /// # Errors
    /// If the file is another's, of another device, in use, or damaged in any place. Then it stays as it is.
    pub fn open(files: &dyn Files, path: &Path, units: u32) -> Result<FileStore, StoreError> {
        FileStore::sabotaged(files, path, units, None)
    }

    /// The same with a promise that is broken.
    ///
    /// # Errors
    /// See [`FileStore::open`].
    pub fn sabotaged(files: &dyn Files, path: &Path, units: u32, hole: Option<Hole>) -> Result<FileStore, StoreError> {
        if let Some(file) = existing(files, path, true)? {
            let found = look(&file, Some(units), hole != Some(Hole::UncheckedStore))
                .map_err(|error| StoreError::io(path, error))?;
            return Ok(FileStore::of(file, found));
        }
        let made = files::make_new(files, path, Access::Private, |mut file| make(&mut file, units));
        let file = made.map_err(|error| StoreError::unwritten(path, error))?;
        FileStore::on(file, units).map_err(|error| StoreError::io(path, error))
    }
}

fn make(disk: &mut impl Disk, units: u32) -> io::Result<()> {
    Layout::new(units.into()).ok_or(io::ErrorKind::FileTooLarge)?;
    disk.write(&heads(units), 0)
}

impl<D: Disk> FileStore<D> {
    /// The store on a disk, which is made if the disk is empty. All of it is read.
    ///
    /// # Errors
    /// `InvalidData` with a reason if it is not whole or does not fit, others from the disk.
    pub fn on(mut disk: D, units: u32) -> io::Result<FileStore<D>> {
        if disk.len()? == 0 {
            make(&mut disk, units)?;
        }
        let found = examine(&disk, Some(units))?;
        Ok(FileStore::of(disk, found))
    }

    fn of(disk: D, found: Examined) -> FileStore<D> {
        let Examined { layout, record, entries, slot_of, free } = found;
        let unwritten = record.changes.iter().flatten().map(|(slot, _)| *slot).collect();
        let mut store = FileStore { disk, layout, record, doubt: false, unwritten, entries, slot_of, free };
        store.leave_traces();
        store
    }

    /// Writes entries to the table, but not that of slot `but`, which is about to change.
    fn write_entries(&mut self, but: Option<u32>) -> io::Result<()> {
        for &slot in self.unwritten.iter().filter(|&&slot| Some(slot) != but) {
            self.disk.write(&self.entries[slot as usize].to_bytes(), self.layout.entry_at(slot))?;
        }
        Ok(())
    }

    /// An operation leaves two traces, so that one of them may be damaged: its record and what it writes to the table.
    /// If that cannot be written, the record stands in both heads.
    fn leave_traces(&mut self) {
        match self.write_entries(None) {
            Ok(()) => self.unwritten.clear(),
            // In memory, and in a record, is what counts. It is tried again before the next operation.
            Err(_) => drop(self.confirm()),
        }
    }

    /// Writes the record of the last operation again, in place of one that may be in the file or not.
    fn confirm(&mut self) -> io::Result<()> {
        let again = Record { generation: self.record.generation + 1, ..self.record };
        self.write_record(again)
    }

    fn write_record(&mut self, record: Record) -> io::Result<()> {
        // Until it is known what has become of it, the other head stays as it is.
        self.doubt = true;
        let at = record.head() * HEAD as u64 + RECORD_AT as u64;
        self.disk.write(&record.to_bytes(self.layout.units), at)?;
        self.record = record;
        self.doubt = false;
        Ok(())
    }

    /// No operation that has failed can come back.
    fn be_certain(&mut self) -> io::Result<()> {
        if self.doubt { self.confirm() } else { Ok(()) }
    }

    /// Does an operation.
    fn commit(&mut self, record: Record) -> io::Result<()> {
        self.write_record(record)?;
        self.entries.resize(record.used as usize, Entry::default());
        self.unwritten.clear();
        for (slot, entry) in record.changes.into_iter().flatten() {
            self.entries[slot as usize] = entry;
            self.unwritten.push(slot);
        }
        Ok(())
    }

    /// What the digest becomes when a slot gets another entry.
    fn digest_with(&self, digest: u64, (slot, entry): (u32, Entry)) -> u64 {
        let before = self.entries.get(slot as usize).map_or(0, |before| before.term(slot));
        digest.wrapping_sub(before).wrapping_add(entry.term(slot))
    }

    fn changed(&self, changes: [Option<(u32, Entry)>; 2]) -> Record {
        let Record { generation, digest, .. } = self.record;
        let digest = changes.iter().flatten().fold(digest, |digest, &change| self.digest_with(digest, change));
        Record { generation: generation + 1, digest, changes, ..self.record }
    }
}

impl<D: Disk> Store for FileStore<D> {
    fn get(&mut self, unit: u32, page: &mut Page) -> io::Result<()> {
        let Some(slot) = self.slot_of[unit as usize].checked_sub(1) else {
            page.fill(0);
            return Ok(());
        };
        self.disk.read(page, self.layout.slot_at(slot))?;
        if self.entries[slot as usize].fits(page) {
            Ok(())
        } else {
            Err(super::examine::damaged(format!("unit {unit} is damaged in slot {slot}")))
        }
    }

    fn put(&mut self, unit: u32, page: &Page) -> io::Result<()> {
        self.be_certain()?;
        let slot = self.record.next;
        self.write_entries(Some(slot))?;
        self.disk.write(page, self.layout.slot_at(slot))?;
        let entry = Entry::of(unit, self.record.generation + 1, page);
        let old = self.slot_of[unit as usize].checked_sub(1);
        let freed = old.map(|old| (old, self.entries[old as usize].freed()));
        let record = self.changed([Some((slot, entry)), freed]);
        let used = record.used.max(slot + 1);
        let (held, next) = match old {
            Some(old) => (record.held, old),
            None => (record.held + 1, self.free.last().copied().unwrap_or(used)),
        };
        self.commit(Record { used, held, next, ..record })?;
        self.slot_of[unit as usize] = slot + 1;
        if old.is_none() {
            self.free.pop();
        }
        // The entry of the old slot can wait: what is put next goes there.
        match self.disk.write(&entry.to_bytes(), self.layout.entry_at(slot)) {
            Ok(()) => self.unwritten.retain(|&unwritten| unwritten != slot),
            Err(_) => drop(self.confirm()),
        }
        Ok(())
    }

    fn remove(&mut self, unit: u32) -> io::Result<()> {
        // What is in doubt may be of this unit, and would come back.
        self.be_certain()?;
        let Some(slot) = self.slot_of[unit as usize].checked_sub(1) else { return Ok(()) };
        self.write_entries(None)?;
        let record = self.changed([Some((slot, self.entries[slot as usize].freed())), None]);
        self.commit(Record { held: record.held - 1, ..record })?;
        self.slot_of[unit as usize] = 0;
        self.free.push(slot);
        self.leave_traces();
        Ok(())
    }

    fn held(&self) -> Vec<(u32, u32)> {
        let held = (0u32..).zip(&self.slot_of).filter(|(_, slot)| **slot != 0);
        runs(held.map(|(unit, _)| unit))
    }

    fn close(&mut self) -> io::Result<()> {
        self.be_certain()?;
        self.write_entries(None)?;
        self.unwritten.clear();
        self.disk.sync()
    }
}
