//! How a store lies in its file.
//!
//! # Layout
//! All numbers are little-endian. What was never written is a hole of the file.
//!
//! | from byte | what |
//! |---|---|
//! | 0 and 4096 | two heads, of a page each |
//! | 8192 | table: an entry of 16 bytes for each slot, of which there is one more than units |
//! | the next multiple of 4096 | slots of 4096 bytes |
//!
//! A **head** never changes but in its record: `ufsim store v2\n\0`, units of the device (u64), CRC-32 of these 24
//! bytes; from byte 64 on a record of 72 bytes, see [`Record`].
//!
//! An **entry** is the unit plus one (u32; 0 = the slot was never used; the highest bit = its data is out of date), a
//! CRC-32 (u32) of unit, order and data as they stand in the file, and the order (u64), which is the generation of the
//! record that made it. It keeps all of that when its data is out of date, so each slot that was ever used can be
//! checked: who finds the table as it was some time ago finds also that data has been written since.
//!
//! The **record** alone says what the table is, in all: how many units are held, how many slots were used, and a digest
//! of their entries, so that nothing is missing or older unnoticed. It also holds the entries that the last operation
//! changes, for these may be written later, and names the one slot whose data counts for nothing: the next data goes
//! there. Records go to the heads in turn, each with the next generation, an even one to the first. So a record that
//! is torn leaves the one before.
//!
//! # An operation
//! 1. The entries that the last record holds are written, unless this operation changes them.
//! 2. Data goes into the slot that the last record names.
//! 3. The record is written. This is the moment at which the operation is done.
//! 4. Its entry is written. That of the old slot may wait: often the next data goes there.
//!
//! Whenever the process ends, the data of each unit is there, whole, the old or the new. Each operation leaves two
//! traces, its record and an entry with that order, so if one of them is damaged afterwards, the other one tells.
//!
//! What passes [`super::examine::examine`] is whole, but for accidents of 2^-32. One thing no file can tell of itself:
//! that all of it was put back to an earlier state, where what came later has left no trace but data in the next slot.
//!
//! Slots are taken from the front, so the file grows with what is held. It does not shrink.
//!
//! # Version 1
//! One head without a record, 64 slots more than units, and free slots have an entry of zeroes.

use super::Page;
use crate::UNIT;

pub(super) const MAGIC: &[u8; 16] = b"ufsim store v2\n\0";
pub(super) const MAGIC_V1: &[u8; 16] = b"ufsim store v1\n\0";
/// Bytes from one head to the next. A write to one of them never touches the page of the other.
pub(super) const HEAD: usize = 4096;
pub(super) const ENTRY: usize = 16;
/// Where the record stands in its head.
pub(super) const RECORD_AT: usize = 64;
const RECORD: usize = 72;
const NAME: usize = 28;
/// Bytes of a head that mean something.
pub(super) const HEAD_USED: usize = RECORD_AT + RECORD;

/// Marks an entry whose data is out of date.
const FREE: u32 = 1 << 31;
/// More units have no numbers in entries.
const MOST_UNITS: u64 = FREE as u64 - 2;

/// Where everything is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Layout {
    pub units: u32,
    pub slots: u32,
    table: u64,
    /// Where the first slot begins.
    pub data: u64,
}

impl Layout {
    /// That of a device of `units` units; `None` if there are too many.
    pub fn new(units: u64) -> Option<Layout> {
        Layout::with(units, 1, 2 * HEAD as u64)
    }

    /// The same in version 1.
    pub fn v1(units: u64) -> Option<Layout> {
        Layout::with(units, 64, HEAD as u64)
    }

    fn with(units: u64, spare: u64, table: u64) -> Option<Layout> {
        let units = u32::try_from(units).ok().filter(|&units| u64::from(units) <= MOST_UNITS - 64)?;
        let slots = units + spare as u32;
        let data = (table + u64::from(slots) * ENTRY as u64).next_multiple_of(UNIT as u64);
        Some(Layout { units, slots, table, data })
    }

    pub fn entry_at(&self, slot: u32) -> u64 {
        self.table + u64::from(slot) * ENTRY as u64
    }

    pub fn slot_at(&self, slot: u32) -> u64 {
        self.data + u64::from(slot) * UNIT as u64
    }
}

/// An entry of the table.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) struct Entry {
    mark: u32,
    crc: u32,
    pub order: u64,
}

impl Entry {
    pub fn of(unit: u32, order: u64, page: &Page) -> Entry {
        let entry = Entry { mark: unit + 1, crc: 0, order };
        Entry { crc: entry.crc_with(page), ..entry }
    }

    fn crc_with(&self, page: &Page) -> u32 {
        let mut crc = crc32fast::Hasher::new();
        crc.update(&(self.mark & !FREE).to_le_bytes());
        crc.update(&self.order.to_le_bytes());
        crc.update(page);
        crc.finalize()
    }

    /// True if this is the data that was put.
    pub fn fits(&self, page: &Page) -> bool {
        self.crc == self.crc_with(page)
    }

    /// The same for data that is out of date.
    pub fn freed(self) -> Entry {
        Entry { mark: self.mark | FREE, ..self }
    }

    /// True if the slot was never used.
    pub fn is_blank(&self) -> bool {
        *self == Entry::default()
    }

    /// The unit whose data this is, or was.
    pub fn named(&self) -> Option<u32> {
        (self.mark & !FREE).checked_sub(1)
    }

    /// The unit whose data this is.
    pub fn unit(&self) -> Option<u32> {
        self.named().filter(|_| !self.is_free())
    }

    /// True if the data is out of date.
    pub fn is_free(&self) -> bool {
        self.mark & FREE != 0
    }

    /// What it adds to the digest of the table in this slot.
    pub fn term(&self, slot: u32) -> u64 {
        if self.is_blank() {
            return 0;
        }
        let words = [u64::from(slot), u64::from(self.mark) << 32 | u64::from(self.crc), self.order];
        words.into_iter().fold(0, |hash, word| mix(hash ^ word))
    }

    pub fn to_bytes(self) -> [u8; ENTRY] {
        let mut bytes = [0; ENTRY];
        bytes[..4].copy_from_slice(&self.mark.to_le_bytes());
        bytes[4..8].copy_from_slice(&self.crc.to_le_bytes());
        bytes[8..].copy_from_slice(&self.order.to_le_bytes());
        bytes
    }

    pub fn from_bytes(bytes: &[u8]) -> Entry {
        Entry { mark: u32_at(bytes, 0), crc: u32_at(bytes, 4), order: u64_at(bytes, 8) }
    }
}

/// Spreads the bits of a word: the finalizer of SplitMix64 (Steele, Lea, Flood 2014).
fn mix(word: u64) -> u64 {
    let word = word.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let word = (word ^ word >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let word = (word ^ word >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ word >> 31
}

/// A slot that an operation changes, and its entry from then on.
pub(super) type Change = (u32, Entry);

/// What a store is after an operation. In the file: generation (u64), digest (u64), units held, slots used, next slot
/// (u32 each), two changes (slot plus one, u32, 0 = none, and its entry), and the CRC-32 of the head's first 28 bytes
/// and of all of this.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Record {
    pub generation: u64,
    /// The sum of what all entries add to it, with those of `changes`.
    pub digest: u64,
    pub held: u32,
    /// Slots from here on have never been used.
    pub used: u32,
    /// Where the next data goes. What lies there now counts for nothing.
    pub next: u32,
    pub changes: [Option<Change>; 2],
}

impl Record {
    /// That of an empty store.
    pub fn empty(generation: u64) -> Record {
        Record { generation, digest: 0, held: 0, used: 0, next: 0, changes: [None; 2] }
    }

    /// Which head it stands in.
    pub fn head(&self) -> u64 {
        self.generation % 2
    }

    /// True if it can be one of this layout.
    pub fn is_possible(&self, layout: &Layout) -> bool {
        let Record { held, used, next, .. } = *self;
        let changed = self.changes.iter().flatten().all(|(slot, _)| *slot < used);
        held <= layout.units && held <= used && used <= layout.slots && next <= used && next < layout.slots && changed
    }

    /// The entry that it holds for a slot.
    pub fn changed(&self, slot: u32) -> Option<Entry> {
        self.changes.iter().flatten().find(|(changed, _)| *changed == slot).map(|(_, entry)| *entry)
    }

    /// The record in the file, of a device of `units` units.
    pub fn to_bytes(self, units: u32) -> [u8; RECORD] {
        let mut bytes = [0; RECORD];
        bytes[..8].copy_from_slice(&self.generation.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.digest.to_le_bytes());
        bytes[16..20].copy_from_slice(&self.held.to_le_bytes());
        bytes[20..24].copy_from_slice(&self.used.to_le_bytes());
        bytes[24..28].copy_from_slice(&self.next.to_le_bytes());
        for (change, bytes) in self.changes.iter().zip(bytes[28..].chunks_exact_mut(4 + ENTRY)) {
            let (slot, entry) = change.map_or((0, Entry::default()), |(slot, entry)| (slot + 1, entry));
            bytes[..4].copy_from_slice(&slot.to_le_bytes());
            bytes[4..].copy_from_slice(&entry.to_bytes());
        }
        let crc = Record::crc(&name(units), &bytes);
        bytes[RECORD - 4..].copy_from_slice(&crc.to_le_bytes());
        bytes
    }

    fn crc(name: &[u8], record: &[u8]) -> u32 {
        let mut crc = crc32fast::Hasher::new();
        crc.update(name);
        crc.update(&record[..RECORD - 4]);
        crc.finalize()
    }

    /// The record in a head; `None` if it is not whole.
    fn in_head(head: &[u8; HEAD_USED]) -> Option<Record> {
        let bytes = &head[RECORD_AT..];
        let changes = [28, 48].map(|at| {
            let slot = u32_at(bytes, at).checked_sub(1)?;
            Some((slot, Entry::from_bytes(&bytes[at + 4..at + 4 + ENTRY])))
        });
        let record = Record {
            generation: u64_at(bytes, 0),
            digest: u64_at(bytes, 8),
            held: u32_at(bytes, 16),
            used: u32_at(bytes, 20),
            next: u32_at(bytes, 24),
            changes,
        };
        (u32_at(bytes, RECORD - 4) == Record::crc(&head[..NAME], bytes)).then_some(record)
    }
}

/// What a head says.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Head {
    /// The version, if it names one.
    pub version: Option<u32>,
    /// Units of the device, if the head is whole.
    pub units: Option<u64>,
    /// The record, if it is whole and that of this head.
    pub record: Option<Record>,
}

impl Head {
    /// The first (0) or second (1) head.
    pub fn from_bytes(head: &[u8; HEAD_USED], number: u64) -> Head {
        let version = match &head[..16] {
            magic if magic == MAGIC => Some(2),
            magic if magic == MAGIC_V1 => Some(1),
            _ => None,
        };
        let whole = version.is_some() && u32_at(head, 24) == crc32fast::hash(&head[..24]);
        let record = Record::in_head(head).filter(|record| whole && version == Some(2) && record.head() == number);
        Head { version, units: whole.then(|| u64_at(head, 16)), record }
    }
}

fn name(units: u32) -> [u8; NAME] {
    let mut name = [0; NAME];
    name[..16].copy_from_slice(MAGIC);
    name[16..24].copy_from_slice(&u64::from(units).to_le_bytes());
    let crc = crc32fast::hash(&name[..24]);
    name[24..].copy_from_slice(&crc.to_le_bytes());
    name
}

/// What an empty store begins with. Its record is the second one: the first head is written first.
pub(super) fn heads(units: u32) -> Vec<u8> {
    let mut heads = vec![0; 2 * HEAD];
    for (generation, head) in (0..).zip(heads.chunks_exact_mut(HEAD)) {
        head[..NAME].copy_from_slice(&name(units));
        head[RECORD_AT..HEAD_USED].copy_from_slice(&Record::empty(generation).to_bytes(units));
    }
    heads
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_and_entries_are_read_as_they_were_written() {
        let entry = Entry::of(7, 1 << 40, &[3; UNIT]);
        assert_eq!(Entry::from_bytes(&entry.to_bytes()), entry);
        assert!(entry.fits(&[3; UNIT]) && entry.freed().fits(&[3; UNIT]) && !entry.fits(&[4; UNIT]));
        assert_eq!((entry.unit(), entry.freed().unit(), entry.freed().named()), (Some(7), None, Some(7)));
        let changes = [Some((4, entry)), Some((0, entry.freed()))];
        let record = Record { generation: 8, digest: 5, held: 3, used: 5, next: 0, changes };
        let mut head = [0; HEAD_USED];
        head[..NAME].copy_from_slice(&name(9));
        head[RECORD_AT..].copy_from_slice(&record.to_bytes(9));
        assert_eq!(Head::from_bytes(&head, 0).record, Some(record));
        assert_eq!(Head::from_bytes(&head, 1).record, None, "it is that of the other head");
        for at in 0..HEAD_USED {
            let mut head = head;
            head[at] ^= 4;
            let unused = (NAME..RECORD_AT).contains(&at);
            assert_eq!(Head::from_bytes(&head, 0).record.is_some(), unused, "byte {at}");
        }
    }

    #[test]
    fn the_digest_tells_places_and_contents_apart() {
        let entry = Entry::of(7, 3, &[3; UNIT]);
        let others = [entry.term(1), entry.freed().term(0), Entry::of(7, 4, &[3; UNIT]).term(0)];
        assert!(others.iter().all(|&other| other != entry.term(0)), "{others:?}");
        assert_eq!(Entry::default().term(5), 0, "slots that were never used add nothing");
    }
}
