//! Whether a store is whole.

use std::io::{self, ErrorKind};

use super::disk::Disk;
use super::layout::{Entry, HEAD, HEAD_USED, Head, Layout, Record};
use super::{Page, list, runs};
use crate::UNIT;

/// Slots that are looked at together: their entries are a page.
const AT_ONCE: u32 = 256;

/// What to do about damage.
const RESCUE: &str = "`ufsim store rescue OLD NEW` saves what is whole";

/// A store that is whole.
#[derive(Debug)]
pub(super) struct Examined {
    pub layout: Layout,
    pub record: Record,
    /// By slot.
    pub entries: Vec<Entry>,
    /// By unit: the slot plus one; 0 = no data.
    pub slot_of: Vec<u32>,
    /// Slots that may be used again, the highest first, without the next one.
    pub free: Vec<u32>,
}

pub(super) fn damaged(what: impl Into<String>) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, what.into())
}

/// Both heads, as far as they can be read.
pub(super) fn read_heads(disk: &impl Disk) -> [Head; 2] {
    [0, 1].map(|number| {
        let mut head = [0; HEAD_USED];
        match disk.read(&mut head, number * HEAD as u64) {
            Ok(()) => Head::from_bytes(&head, number),
            Err(_) => Head::default(),
        }
    })
}

/// The record that counts.
pub(super) fn newest(heads: &[Head; 2]) -> Option<Record> {
    heads.iter().filter_map(|head| head.record).max_by_key(|record| record.generation)
}

/// Looks at everything. Nothing is written.
///
/// # Errors
/// `InvalidData` with a reason if anything is not as it was written, or if it is of another device than one of `units`
/// units; others from the disk.
pub(super) fn examine(disk: &impl Disk, units: Option<u32>) -> io::Result<Examined> {
    look(disk, units, true)
}

/// The same, perhaps without a word about what is not as it was written.
pub(super) fn look(disk: &impl Disk, units: Option<u32>, checks: bool) -> io::Result<Examined> {
    let length = disk.len()?;
    if length == 0 {
        return Err(damaged("is empty, which a store never is; without the file, a new one is made"));
    }
    let heads = read_heads(disk);
    match heads.map(|head| head.version) {
        [None, None] => return Err(damaged("is no store of ufsim")),
        [Some(1), _] => {
            return Err(damaged("is a store of an earlier version, which `ufsim store rescue OLD NEW` takes over"));
        }
        _ => {}
    }
    let found = heads[0].units.or(heads[1].units);
    if let (Some(found), Some(units)) = (found, units)
        && found != u64::from(units)
    {
        let wanted = u64::from(units) * UNIT as u64;
        return Err(damaged(format!(
            "is of a device of {} bytes, and this one has {wanted}",
            found.saturating_mul(UNIT as u64)
        )));
    }
    if heads[0].units != heads[1].units || heads[0].units.is_none() {
        return Err(damaged(format!("has a damaged header; {RESCUE}")));
    }
    let layout = found.and_then(Layout::new).ok_or_else(|| damaged("has no room for so many units"))?;
    let record = newest(&heads).filter(|record| record.is_possible(&layout));
    let record = record.ok_or_else(|| damaged(format!("is damaged: it has no whole commit record; {RESCUE}")))?;
    Look::new(layout, record, length).all(disk, checks)
}

/// Examining what a record says.
struct Look {
    found: Examined,
    length: u64,
    digest: u64,
    /// Units whose data is not what was put.
    lost: Vec<u32>,
    /// Units whose data is what was put.
    intact: u32,
    /// Slots out of date that have changed all the same.
    changed: u32,
    /// Something has been written after the record.
    newer: bool,
}

impl Look {
    fn new(layout: Layout, record: Record, length: u64) -> Look {
        let slot_of = vec![0; layout.units as usize];
        let entries = Vec::with_capacity(record.used as usize);
        let found = Examined { layout, record, entries, slot_of, free: Vec::new() };
        Look { found, length, digest: 0, lost: Vec::new(), intact: 0, changed: 0, newer: false }
    }

    fn all(mut self, disk: &impl Disk, checks: bool) -> io::Result<Examined> {
        let (layout, used) = (self.found.layout, self.found.record.used);
        let slots = used.max(self.found.record.next + 1);
        scan(disk, &layout, slots, self.length, &mut |slot, entry, page| self.slot(slot, entry, page));
        let wrong = self.wrong();
        if checks && !wrong.is_empty() {
            return Err(damaged(format!("is damaged: {}; {RESCUE}", wrong.join("; "))));
        }
        // The lowest free slots are taken first.
        self.found.free.reverse();
        Ok(self.found)
    }

    fn slot(&mut self, slot: u32, on_disk: Entry, page: Option<&Page>) {
        let record = &self.found.record;
        if slot == record.used {
            // It was not used before the next operation.
            self.newer |= !on_disk.is_blank();
            return;
        }
        let changed = record.changed(slot);
        // What the record changes may not have come to the table. But what came there later tells that the record is
        // not the last one.
        if let Some(entry) = changed {
            self.newer |= on_disk.order > record.generation || (!entry.is_free() && on_disk == entry.freed());
        }
        let entry = changed.unwrap_or(on_disk);
        self.digest = self.digest.wrapping_add(entry.term(slot));
        self.found.entries.push(entry);
        let whole = page.is_some_and(|page| entry.fits(page));
        match entry.unit() {
            // No unit of this device: whose data it was, nothing tells.
            Some(unit) if unit >= self.found.layout.units => {}
            Some(unit) if whole => {
                self.intact += 1;
                self.found.slot_of[unit as usize] = slot + 1;
            }
            Some(unit) => self.lost.push(unit),
            None if slot == record.next => {}
            None => {
                self.changed += u32::from(!whole && !entry.is_blank());
                self.found.free.push(slot);
            }
        }
    }

    /// What is wrong, in words.
    fn wrong(&mut self) -> Vec<String> {
        let mut wrong = Vec::new();
        let (layout, record) = (&self.found.layout, &self.found.record);
        let end = if record.used == 0 { 2 * HEAD as u64 } else { layout.slot_at(record.used) };
        // The next data may be there already.
        let most = layout.slot_at(record.used.max(record.next + 1));
        if self.length < end {
            wrong.push(format!("it ends {} bytes too early", end - self.length));
        } else if self.length > most {
            wrong.push(format!("it ends {} bytes too late", self.length - most));
        }
        self.lost.sort_unstable();
        self.lost.dedup();
        let named = self.lost.len() as u32;
        let unnamed = record.held.saturating_sub(self.intact + named);
        if named + unnamed > 0 {
            wrong.push(format!("{} of {} units are lost{}", named + unnamed, record.held, self.names(unnamed)));
        }
        let twice = self.found.slot_of.iter().filter(|&&slot| slot != 0).count() != self.intact as usize;
        if self.digest != record.digest || self.intact > record.held || twice {
            wrong.push("its table is not the one that was written last".into());
        }
        if self.newer {
            wrong.push("its last commit record is missing".into());
        }
        if self.changed > 0 {
            wrong.push(format!("{} free slots are not what they were", self.changed));
        }
        wrong
    }

    fn names(&self, unnamed: u32) -> String {
        let names = list(&runs(self.lost.iter().copied()));
        match (self.lost.len(), unnamed) {
            (0, _) => ", which the table does not name".into(),
            (_, 0) => format!(": {names}"),
            _ => format!(": {names}, and {unnamed} that the table does not name"),
        }
    }
}

/// Hands over, slot by slot, what the table says of it, and its data, if it can be read.
pub(super) fn scan(
    disk: &impl Disk,
    layout: &Layout,
    slots: u32,
    length: u64,
    see: &mut dyn FnMut(u32, Entry, Option<&Page>),
) {
    let there = (length.saturating_sub(layout.data) / UNIT as u64).min(slots.into()) as u32;
    let mut data = vec![0; AT_ONCE as usize * UNIT];
    for first in (0..slots).step_by(AT_ONCE as usize) {
        let entries = read_entries(disk, layout.entry_at(first), length);
        let pages = AT_ONCE.min(there.saturating_sub(first)) as usize;
        let data = &mut data[..pages * UNIT];
        let readable = read_pages(disk, data, layout.slot_at(first));
        for i in 0..AT_ONCE.min(slots - first) as usize {
            let page = readable.get(i).filter(|&&readable| readable).map(|_| &data[i * UNIT..(i + 1) * UNIT]);
            let page = page.map(|page| page.try_into().expect("a slice of a unit's length"));
            see(first + i as u32, entries[i], page);
        }
    }
}

/// A page of the table. Entries that cannot be read are blank.
fn read_entries(disk: &impl Disk, at: u64, length: u64) -> Vec<Entry> {
    let mut table = [0; UNIT];
    let there = length.saturating_sub(at).min(UNIT as u64) as usize;
    if disk.read(&mut table[..there], at).is_err() {
        table.fill(0);
    }
    table.chunks_exact(super::layout::ENTRY).map(Entry::from_bytes).collect()
}

/// Reads pages. Tells which of them can be read.
fn read_pages(disk: &impl Disk, pages: &mut [u8], at: u64) -> Vec<bool> {
    if disk.read(pages, at).is_ok() {
        return vec![true; pages.len() / UNIT];
    }
    let pages = (at..).step_by(UNIT).zip(pages.chunks_exact_mut(UNIT));
    pages.map(|(at, page)| disk.read(page, at).is_ok()).collect()
}
