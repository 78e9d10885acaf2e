//! A disk in memory that remembers what was written and fails when it is told to.

use std::io::{self, ErrorKind};
use std::sync::{Arc, Mutex};

use ufsim_attach::{Disk, FileStore, Page, Store, UNIT};

/// Which writes fail.
#[derive(Clone, Copy, Debug, Default)]
pub struct Failing {
    /// Writes that succeed before.
    pub after: usize,
    /// Writes that fail then.
    pub count: usize,
    /// Bytes of the first of these that reach the disk all the same, and of each of the others.
    pub torn: usize,
    pub torn_later: usize,
}

#[derive(Debug, Default)]
struct Inner {
    bytes: Vec<u8>,
    writes: Vec<(u64, Vec<u8>)>,
    failing: Failing,
}

/// A disk; its copies are the same disk.
#[derive(Clone, Debug, Default)]
pub struct MemoryDisk(Arc<Mutex<Inner>>);

impl MemoryDisk {
    pub fn of(bytes: Vec<u8>) -> MemoryDisk {
        let disk = MemoryDisk::default();
        disk.0.lock().expect("one thread").bytes = bytes;
        disk
    }

    pub fn bytes(&self) -> Vec<u8> {
        self.0.lock().expect("one thread").bytes.clone()
    }

    /// From now on writes fail so.
    pub fn fail(&self, failing: Failing) {
        self.0.lock().expect("one thread").failing = failing;
    }

    /// Number of writes so far, also of those that failed.
    pub fn writes(&self) -> usize {
        self.0.lock().expect("one thread").writes.len()
    }

    /// What was there after the first so many writes.
    pub fn after(&self, writes: usize) -> Vec<u8> {
        let inner = self.0.lock().expect("one thread");
        let mut bytes = Vec::new();
        inner.writes[..writes].iter().for_each(|(at, written)| put(&mut bytes, written, *at));
        bytes
    }
}

fn put(bytes: &mut Vec<u8>, written: &[u8], at: u64) {
    let end = at as usize + written.len();
    if !written.is_empty() {
        bytes.resize(bytes.len().max(end), 0);
        bytes[at as usize..end].copy_from_slice(written);
    }
}

impl Disk for MemoryDisk {
    fn read(&self, bytes: &mut [u8], at: u64) -> io::Result<()> {
        let inner = self.0.lock().expect("one thread");
        let found = inner.bytes.get(at as usize..at as usize + bytes.len()).ok_or(ErrorKind::UnexpectedEof)?;
        bytes.copy_from_slice(found);
        Ok(())
    }

    fn write(&mut self, bytes: &[u8], at: u64) -> io::Result<()> {
        let mut inner = self.0.lock().expect("one thread");
        let Failing { after, count, torn, torn_later } = inner.failing;
        let fails = after == 0 && count > 0;
        let written = if fails { &bytes[..torn.min(bytes.len())] } else { bytes };
        put(&mut inner.bytes, written, at);
        inner.writes.push((at, written.to_vec()));
        match after {
            0 => inner.failing = Failing { count: count.saturating_sub(1), torn: torn_later, ..inner.failing },
            _ => inner.failing.after = after - 1,
        }
        if fails { Err(ErrorKind::StorageFull.into()) } else { Ok(()) }
    }

    fn len(&self) -> io::Result<u64> {
        Ok(self.0.lock().expect("one thread").bytes.len() as u64)
    }

    fn sync(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Data of a unit that is like no other; 0 is zeroes.
pub fn page(value: u64) -> Page {
    let mut page = [0; UNIT];
    page.chunks_exact_mut(8).for_each(|word| word.copy_from_slice(&value.to_le_bytes()));
    page
}

/// The value of a unit.
pub fn get(store: &mut FileStore<impl Disk>, unit: u32) -> u64 {
    let mut found = [9; UNIT];
    store.get(unit, &mut found).expect("what was opened is whole");
    let value = u64::from_le_bytes(found[..8].try_into().expect("eight bytes"));
    assert_eq!(found, page(value), "unit {unit} is of one put");
    value
}

/// Puts a value, or removes the unit if it is 0.
pub fn change(store: &mut FileStore<impl Disk>, unit: u32, value: u64) -> io::Result<()> {
    if value == 0 { store.remove(unit) } else { store.put(unit, &page(value)) }
}
