//! What can be saved of a damaged store, or taken over from an earlier version.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use files::{Access, File, Files};

use super::disk::{Disk, existing};
use super::examine::{damaged, examine, newest, read_heads, scan};
use super::file::FileStore;
use super::layout::{Entry, Head, Layout, Record};
use super::{Page, Store, StoreError, runs};
use crate::UNIT;

/// A store that is whole.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Checked {
    /// Bytes of the device.
    pub device_bytes: u64,
    /// Units that have data.
    pub units: u32,
}

/// Looks at all of a store, of whatever device.
///
/// # Errors
/// If it is not whole, with what is lost.
pub fn check(files: &dyn Files, path: &Path) -> Result<Checked, StoreError> {
    let found = examine(&opened(files, path)?, None).map_err(|error| StoreError::io(path, error))?;
    Ok(Checked { device_bytes: u64::from(found.layout.units) * UNIT as u64, units: found.record.held })
}

/// What was saved of a store.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Rescued {
    /// Bytes of the device.
    pub device_bytes: u64,
    /// Version of the old file.
    pub version: u32,
    /// Units that are in the new store.
    pub kept: u32,
    /// Runs of units whose last data is damaged: first unit and number of units.
    pub lost: Vec<(u32, u32)>,
    /// Units that are lost and that nothing names any more. `None` if the file does not tell how many it held.
    pub unnamed: Option<u32>,
    /// Slots that were used and whose data is not what it was.
    pub damaged_slots: u32,
    /// The table is not the one that was written last, so units that were kept may have older data.
    pub may_be_old: bool,
}

impl Rescued {
    /// True if nothing is lost, as far as the file tells.
    pub fn is_whole(&self) -> bool {
        self.lost.is_empty() && self.unnamed.unwrap_or(0) == 0 && !self.may_be_old
    }
}

/// Writes to a new file what is whole in a store, which stays as it is. A unit whose last data is damaged is lost, also
/// if older data of it is there. `device_bytes` is the size of the device, if the file does not tell it any more.
///
/// # Errors
/// If there is nothing to be found, the new file is there already, or it cannot be written. Then it does not appear.
pub fn rescue(files: &dyn Files, from: &Path, to: &Path, device_bytes: Option<u64>) -> Result<Rescued, StoreError> {
    let old = opened(files, from)?;
    let source = Source::of(&old, device_bytes).map_err(|error| StoreError::io(from, error))?;
    let length = old.len().map_err(|error| StoreError::io(from, error))?;
    if files.about(to).map_err(|error| StoreError::io(to, error))?.is_some() {
        return Err(StoreError::unfit(to, "is there already, and rescue only makes new files"));
    }
    let mut rescued = Rescued::default();
    let made = files::make_new(files, to, Access::Private, |file| {
        let mut new = FileStore::on(file, source.layout.units)?;
        rescued = source.copy(&old, length, &mut new)?;
        new.close()
    });
    made.map_err(|error| StoreError::unwritten(to, error))?;
    rescued.device_bytes = u64::from(source.layout.units) * UNIT as u64;
    Ok(rescued)
}

fn opened(files: &dyn Files, path: &Path) -> Result<Box<dyn File>, StoreError> {
    let missing = || StoreError::io(path, io::Error::new(io::ErrorKind::NotFound, "no such file"));
    existing(files, path, false)?.ok_or_else(missing)
}

/// The best that was found of a unit.
#[derive(Clone, Copy)]
struct Best {
    order: u64,
    whole: bool,
    slot: u32,
    entry: Entry,
}

/// A store that may be damaged.
struct Source {
    layout: Layout,
    version: u32,
    heads: [Head; 2],
}

impl Source {
    fn of(disk: &impl Disk, device_bytes: Option<u64>) -> io::Result<Source> {
        let heads = read_heads(disk);
        let named = heads[0].version.or(heads[1].version);
        let given = device_bytes.map(|bytes| bytes / UNIT as u64);
        let version = named.or(given.map(|_| 2)).ok_or_else(|| damaged("is no store of ufsim"))?;
        let units = heads[0].units.or(heads[1].units).or(given);
        let units =
            units.ok_or_else(|| damaged("does not tell any more how large its device is: say it with --bytes"))?;
        let layout = if version == 1 { Layout::v1(units) } else { Layout::new(units) };
        let layout = layout.ok_or_else(|| damaged("has no room for so many units"))?;
        Ok(Source { layout, version, heads })
    }

    fn records(&self) -> impl Iterator<Item = Record> {
        self.heads.iter().filter_map(|head| head.record)
    }

    fn last(&self) -> Option<Record> {
        newest(&self.heads).filter(|record| record.is_possible(&self.layout))
    }

    fn copy(&self, disk: &impl Disk, length: u64, new: &mut impl Store) -> io::Result<Rescued> {
        let mut found = Found { units: BTreeMap::new(), damaged_slots: 0, digest: 0 };
        // Also slots that were not used when the record was written: it may be an old one.
        scan(disk, &self.layout, self.layout.slots, length, &mut |slot, entry, page| {
            self.look(&mut found, (slot, entry), page)
        });
        let (mut kept, mut lost) = (0, Vec::new());
        let mut page = [0; UNIT];
        for (&unit, best) in &found.units {
            let at = self.layout.slot_at(best.slot);
            if best.whole && disk.read(&mut page, at).is_ok() && best.entry.fits(&page) {
                new.put(unit, &page)?;
                kept += 1;
            } else {
                lost.push(unit);
            }
        }
        let held = self.last().map(|record| record.held);
        Ok(Rescued {
            device_bytes: 0,
            version: self.version,
            kept,
            unnamed: held.map(|held| held.saturating_sub(kept + lost.len() as u32)),
            lost: runs(lost.into_iter()),
            damaged_slots: found.damaged_slots,
            may_be_old: self.version > 1 && self.last().is_none_or(|record| record.digest != found.digest),
        })
    }

    /// Entries come from the table and from records, one of which may be out of date. The one that its data fits is
    /// right, else the newest; and what was once out of date stays so.
    fn look(&self, found: &mut Found, (slot, on_disk): (u32, Entry), page: Option<&Page>) {
        let fits = |entry: Entry| page.is_some_and(|page| entry.fits(page));
        let recorded = self.records().filter_map(|record| record.changed(slot));
        let entries = recorded.chain([on_disk]).filter(|entry| !entry.is_blank());
        let Some(entry) = entries.max_by_key(|&entry| (fits(entry), entry.order, entry.is_free())) else {
            found.damaged_slots += u32::from(self.last().is_some_and(|record| slot < record.used));
            return;
        };
        let whole = fits(entry);
        if !whole && self.last().is_some_and(|record| slot > record.used) {
            // Where nothing was written yet.
            return;
        }
        found.digest = found.digest.wrapping_add(entry.term(slot));
        let counts = self.last().is_none_or(|record| record.next != slot);
        found.damaged_slots += u32::from(!whole && counts);
        let Some(unit) = entry.unit().filter(|&unit| unit < self.layout.units) else { return };
        let best = Best { order: entry.order, whole, slot, entry };
        let known = found.units.entry(unit).or_insert(best);
        if (known.order, known.whole) < (best.order, best.whole) {
            *known = best;
        }
    }
}

struct Found {
    units: BTreeMap<u32, Best>,
    damaged_slots: u32,
    /// Of the entries that were taken.
    digest: u64,
}
