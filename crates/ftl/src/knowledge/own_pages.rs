//! The engine's own metadata on flash, by place: records of log blocks, pages of the journal, segment bitmaps, and
//! snapshots of the directory.
//!
//! A copy is kept until its superblock is erased, however many newer ones there are. After a power cut the directory
//! may name any of them again: of a piece that was dropped, the newer copies may be erased before the older ones. No
//! record is ever dropped, so of these only some hundreds are kept.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;
use std::sync::Arc;

use units::{Lpa, Ppa, Seq, Superblock, UNIT_BYTES};

use super::proof::PiecesRead;
use crate::table::directory::Piece;

/// Records in a page of the journal, at 16 bytes each.
pub const RECORDS_PER_PAGE: usize = 256;

/// Parts of records that are kept.
const MOST_RECORDS: usize = 256;
/// Places in all snapshots that are kept, at 4 bytes each: 1 MiB.
const MOST_PLACES: usize = 1 << 18;
/// Snapshots that are kept, however large they are. The one in the open superblock may be incomplete at a power cut.
const FEWEST_SNAPSHOTS: usize = 3;

/// The record: the log blocks, and which superblocks are free. It is written whenever a data superblock is opened,
/// before anything is programmed there (HP-UFS Sec. III-G: "records log blocks in a meta block").
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Record {
    /// Number of the record; each has a higher one than those before.
    pub number: u64,
    /// Superblocks whose mappings may be missing from the segments on flash.
    pub log_blocks: Vec<Superblock>,
    /// Erased data superblocks, one bit each.
    pub free: Vec<u64>,
    /// Data superblocks that have been given up, one bit each.
    pub bad: Vec<u64>,
    /// Data superblocks in SLC mode, neither free nor given up. So a superblock takes two bits.
    pub slc: Vec<u64>,
}

impl Record {
    /// True if this superblock was free.
    pub fn is_free(&self, sb: Superblock) -> bool {
        bit(&self.free, sb)
    }

    /// True if this superblock was in SLC mode.
    pub fn is_slc(&self, sb: Superblock) -> bool {
        bit(&self.slc, sb)
    }

    /// True if this superblock was given up.
    pub fn is_bad(&self, sb: Superblock) -> bool {
        bit(&self.bad, sb)
    }
}

fn bit(bits: &[u64], sb: Superblock) -> bool {
    bits.get(sb.index() / 64).is_some_and(|word| word >> (sb.0 % 64) & 1 != 0)
}

/// A trimmed range.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct TrimRecord {
    /// First unit.
    pub lpa: Lpa,
    /// Number of units.
    pub len: u32,
    /// Sequence number of the first unit; the others follow.
    pub seq: Seq,
}

/// The pages of a superblock that its segment bitmap covers. It stands for the bits of the bitmap, which follow from
/// these pages.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Covered {
    /// Erases of the superblock before it was filled with these pages.
    pub erases: u32,
    /// The highest sequence number among the pages.
    pub last: Seq,
}

/// What a piece of the engine's own metadata holds.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum OwnPiece {
    /// A part of this record.
    Record(Arc<Record>),
    /// A page of the journal.
    Journal(Arc<[TrimRecord]>),
    /// A part of a segment bitmap.
    Bitmap(Covered),
}

impl OwnPiece {
    fn record(&self) -> Option<&Record> {
        if let OwnPiece::Record(record) = self { Some(record) } else { None }
    }
}

/// The directory of pieces as it was at some moment: when a metadata superblock was opened, on its first pages, or when
/// the scheme had it written.
#[derive(Clone, Hash, Debug)]
pub struct Snapshot {
    /// The superblock that it lies in.
    pub sb: Superblock,
    /// Stamp of its first flash unit; those of the others follow.
    pub stamp: u32,
    /// Place of every piece, packed.
    pub place: Vec<u32>,
    /// The superblocks that are opened next. One of them may look erased although its first program had begun before a
    /// power cut.
    pub next: Vec<Superblock>,
}

impl Snapshot {
    /// The places in those flash units of the snapshot, from `first` on, that have been read; 0 in others. A place
    /// takes `bytes` bytes.
    pub(super) fn places_read(&self, first: Ppa, bytes: u32, read: &PiecesRead) -> Vec<u32> {
        let per_unit = UNIT_BYTES as usize / bytes as usize;
        let is_read = |part: usize| read.spare(first.offset(part as u32)).is_some();
        let units = self.place.chunks(per_unit).enumerate();
        units
            .flat_map(|(part, places)| places.iter().map(move |&place| if is_read(part) { place } else { 0 }))
            .collect()
    }
}

/// The engine's own metadata on flash.
#[cfg_attr(feature = "explore", derive(Clone))]
#[derive(Debug, Default)]
pub(super) struct OwnPages {
    /// All copies that are on flash, by place.
    pub(super) copies: BTreeMap<Ppa, (Piece, OwnPiece)>,
    /// The last snapshots, oldest first.
    pub(super) snapshots: VecDeque<Snapshot>,
    /// Number and place of the last parts of records, in the order of their programs.
    records: VecDeque<(u64, Ppa)>,
}

/// When records are forgotten is left out: nobody reads those that may be.
#[cfg(feature = "explore")]
impl std::hash::Hash for OwnPages {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        (&self.copies, &self.snapshots).hash(state);
    }
}

impl OwnPages {
    /// What a file of an aged state holds.
    pub fn stored(copies: BTreeMap<Ppa, (Piece, OwnPiece)>, snapshots: VecDeque<Snapshot>) -> OwnPages {
        let number = |(&place, (_, content)): (&Ppa, &(Piece, OwnPiece))| Some((content.record()?.number, place));
        let mut records: Vec<(u64, Ppa)> = copies.iter().filter_map(number).collect();
        records.sort_unstable();
        OwnPages { copies, snapshots, records: records.into() }
    }

    /// A piece has been programmed at this place. Of records, those that have long been replaced are forgotten.
    pub fn set(&mut self, piece: Piece, place: Ppa, content: OwnPiece) {
        if let Some(record) = content.record() {
            self.records.push_back((record.number, place));
            if self.records.len() > MOST_RECORDS {
                self.forget_oldest_record();
            }
        }
        self.copies.insert(place, (piece, content));
    }

    /// A record is as large as the list of superblocks, and recovery looks for the newest one only.
    fn forget_oldest_record(&mut self) {
        let Some((number, place)) = self.records.pop_front() else { return };
        let there = self.copies.get(&place).and_then(|(_, content)| content.record());
        if there.is_some_and(|record| record.number == number) {
            self.copies.remove(&place);
        }
    }

    /// The copy of a piece at this place; `None` if it is not there.
    pub fn at(&self, piece: Piece, place: Ppa) -> Option<&OwnPiece> {
        self.copies.get(&place).filter(|(of, _)| *of == piece).map(|(_, content)| content)
    }

    /// These places have been erased.
    pub fn erased(&mut self, places: Range<Ppa>) {
        while let Some((&place, _)) = self.copies.range(places.clone()).next() {
            self.copies.remove(&place);
        }
    }

    /// Adds a snapshot that is about to be programmed.
    pub fn add_snapshot(&mut self, snapshot: Snapshot) {
        let most = (MOST_PLACES / snapshot.place.len().max(1)).max(FEWEST_SNAPSHOTS);
        while self.snapshots.len() >= most {
            self.snapshots.pop_front();
        }
        self.snapshots.push_back(snapshot);
    }

    /// The snapshot whose first flash unit has this stamp.
    pub fn snapshot(&self, sb: Superblock, stamp: u32) -> Option<&Snapshot> {
        self.snapshots.iter().rev().find(|snapshot| (snapshot.sb, snapshot.stamp) == (sb, stamp))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bitmap(last: u64) -> OwnPiece {
        OwnPiece::Bitmap(Covered { erases: 0, last: Seq(last) })
    }

    #[test]
    fn a_copy_is_found_at_its_own_place_only() {
        let mut own = OwnPages::default();
        let (piece, other) = (Piece(3), Piece(4));
        own.set(piece, Ppa(10), bitmap(1));
        own.set(other, Ppa(11), bitmap(2));
        own.set(piece, Ppa(12), bitmap(3));
        let at = |piece, place| own.at(piece, Ppa(place)).cloned();
        assert_eq!([at(piece, 10), at(piece, 12)], [Some(bitmap(1)), Some(bitmap(3))]);
        assert_eq!([at(piece, 11), at(other, 12)], [None, None]);
    }

    #[test]
    fn a_place_that_is_used_again_shows_what_was_programmed_last() {
        let mut own = OwnPages::default();
        [(10, 1), (12, 2), (10, 3), (13, 4)]
            .into_iter()
            .for_each(|(place, last)| own.set(Piece(3), Ppa(place), bitmap(last)));
        assert_eq!(own.at(Piece(3), Ppa(10)), Some(&bitmap(3)));
    }

    #[test]
    fn a_copy_is_kept_until_its_place_is_erased() {
        let mut own = OwnPages::default();
        (10..5010).for_each(|place| own.set(Piece(3), Ppa(place), bitmap(u64::from(place))));
        assert_eq!(own.at(Piece(3), Ppa(10)), Some(&bitmap(10)));
        own.erased(Ppa(10)..Ppa(20));
        assert_eq!([10, 19, 20].map(|place| own.at(Piece(3), Ppa(place)).is_some()), [false, false, true]);
    }

    fn record(number: u64) -> OwnPiece {
        OwnPiece::Record(Arc::new(Record { number, ..Record::default() }))
    }

    #[test]
    fn records_that_were_replaced_long_ago_are_forgotten() {
        let mut own = OwnPages::default();
        own.set(Piece(4), Ppa(2000), bitmap(1));
        for number in 1..=1000 {
            own.set(Piece(3), Ppa(number as u32), record(number));
        }
        let held = |own: &OwnPages, place| own.at(Piece(3), Ppa(place)).is_some();
        assert_eq!((own.copies.len(), held(&own, 744), held(&own, 745), held(&own, 1000)), (257, false, true, true));
        let mut own = OwnPages::stored(own.copies, own.snapshots);
        own.set(Piece(3), Ppa(1001), record(1001));
        assert_eq!((own.copies.len(), held(&own, 745), held(&own, 746)), (257, false, true), "as before the file");
    }

    #[test]
    fn a_record_at_the_place_of_one_that_is_forgotten_stays() {
        let mut own = OwnPages::default();
        for number in 1..=300 {
            // The first place is erased after the second record, and used again for the last one.
            let place = if number == 300 { 1 } else { number as u32 };
            own.set(Piece(3), Ppa(place), record(number));
            (number == 2).then(|| own.erased(Ppa(1)..Ppa(2)));
        }
        for number in 301..=350 {
            own.set(Piece(3), Ppa(number as u32), record(number));
        }
        assert_eq!(own.at(Piece(3), Ppa(1)), Some(&record(300)));
    }

    #[test]
    fn snapshots_of_large_directories_are_few() {
        let mut own = OwnPages::default();
        for stamp in 0..9 {
            let place = vec![0; MOST_PLACES / 4];
            own.add_snapshot(Snapshot { sb: Superblock(stamp), stamp, place, next: Vec::new() });
        }
        assert_eq!(own.snapshots.len(), 4);
        assert!(own.snapshot(Superblock(8), 8).is_some() && own.snapshot(Superblock(8), 7).is_none());
    }
}
