//! The content of metadata pages. Flash keeps it through a power cut; everything else about metadata is in SRAM.
//!
//! The content is stored by piece, as the newest finished program of the piece left it. Firmware reaches it only with a
//! proof (see the head of the module above).

use std::ops::Range;

use live::{SegmentImage, SegmentState, copy_segment, recycle_segment};
use units::{Lpa, Ppa, SEGMENT_ENTRIES, SegmentId, Seq, Superblock};

use super::proof::{Loaded, PiecesRead, Programmed};
use crate::directory::Piece;
use crate::map_units::MapUnits;

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
}

impl Record {
    /// True if this superblock was free.
    pub fn is_free(&self, sb: Superblock) -> bool {
        bit(&self.free, sb)
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

/// The directory of pieces as it was when a metadata superblock was opened, on its first pages.
#[derive(Clone, Hash, Debug)]
pub struct Snapshot {
    /// The superblock that it starts.
    pub sb: Superblock,
    /// Place of every piece, packed.
    pub place: Vec<u32>,
    /// The superblocks that are opened next. One of them may look erased although its first program had begun before a
    /// power cut.
    pub next: Vec<Superblock>,
}

/// Snapshots that are kept. The one in the open superblock may be incomplete at a power cut.
pub const SNAPSHOTS: usize = 3;

/// Contents of metadata pages.
#[cfg_attr(feature = "explore", derive(Clone, Hash))]
#[derive(Debug)]
pub struct Pages {
    /// Division of the table into map units.
    units: MapUnits,
    /// L2P entries that the device has put together, packed, by segment of 1024 addresses, whatever the size of a map
    /// unit.
    images: Vec<Option<Box<SegmentImage>>>,
    /// Whole segments as a host has sent them, for segments without image; empty before the first one. A segment with
    /// neither was never written.
    states: Vec<Option<SegmentState>>,
    /// The sequence number stored with each map unit, which holds every change up to it.
    pub(super) seqs: Vec<Seq>,
    /// Records are written to two places in turn, so that one of them is always whole.
    pub(super) records: [Record; 2],
    /// Map units that share a flash unit, by flash unit of the metadata superblocks; empty if none do. On flash each
    /// ECC codeword of 1 KiB has a spare area that names its map unit (MSFTL Sec. 3.1).
    pub(super) labels: Vec<Vec<u32>>,
    /// Trims, by page of the journal.
    pub(super) journal: Vec<Vec<TrimRecord>>,
    /// The last snapshots, oldest first.
    pub(super) snapshots: Vec<Snapshot>,
}

impl Pages {
    /// Pages of a new device: nothing is written.
    pub fn new(units: MapUnits, journal_pages: usize) -> Pages {
        Pages {
            units,
            images: (0..units.capacity_units().div_ceil(SEGMENT_ENTRIES)).map(|_| None).collect(),
            states: Vec::new(),
            seqs: vec![Seq(0); units.count() as usize],
            records: Default::default(),
            labels: Vec::new(),
            journal: vec![Vec::new(); journal_pages],
            snapshots: Vec::new(),
        }
    }

    /// The same pages with the table divided in another way. Allowed only if nothing has been written.
    pub fn divided(self, units: MapUnits) -> Pages {
        Pages { units, ..self }
    }

    /// The content of a map unit that is in SRAM.
    #[inline]
    pub fn view(&self, loaded: &Loaded) -> MapView<'_> {
        MapView { pages: self, unit: loaded.unit() }
    }

    /// The entry of an address.
    #[inline]
    pub(super) fn entry(&self, lpa: Lpa) -> Option<Ppa> {
        match &self.images[lpa.segment().index()] {
            Some(image) => Ppa::unpack(image[lpa.slot()]),
            None => self.state(lpa.segment()).and_then(|state| Ppa::unpack(state.entry(lpa.slot()))),
        }
    }

    fn check(&self, programmed: &Programmed, unit: SegmentId) {
        assert!(programmed.piece() == Piece::of(unit), "{programmed:?} does not change {unit}");
    }

    /// Sets an entry of a map unit that has been programmed.
    #[inline]
    pub fn set_entry(&mut self, programmed: &Programmed, lpa: Lpa, ppa: Option<Ppa>) {
        self.check(programmed, self.units.of(lpa));
        self.image_mut(lpa.segment())[lpa.slot()] = Ppa::pack(ppa);
    }

    /// Sets all entries of a map unit that has been programmed.
    pub fn set_unit(&mut self, programmed: &Programmed, packed: &[u32]) {
        self.set_entries(self.units.range(SegmentId(programmed.piece().0)), packed);
    }

    /// Sets the content of a map unit that is a whole segment from a host, and has been programmed.
    pub fn set_unit_state(&mut self, programmed: &Programmed, state: SegmentState) {
        let range = self.units.range(SegmentId(programmed.piece().0));
        self.set_state(Lpa(range.start).segment(), state);
    }

    /// Sets the sequence number that was programmed with a map unit.
    pub fn set_seq(&mut self, programmed: &Programmed, seq: Seq) {
        self.seqs[programmed.piece().0 as usize] = seq;
    }

    /// Sets a record whose last part has been programmed. [`Meta`](crate::meta::Meta) numbers the pieces, and has
    /// checked that this is a part of the record.
    pub fn set_record(&mut self, _last: &Programmed, slot: usize, record: Record) {
        self.records[slot] = record;
    }

    /// Sets a page of the journal that has been programmed. [`Meta`](crate::meta::Meta) has checked that it is this
    /// page.
    pub fn set_journal(&mut self, _page: &Programmed, page: usize, trims: Vec<TrimRecord>) {
        self.journal[page] = trims;
    }

    /// A copy of the entries of these addresses, packed.
    fn entries(&self, range: Range<u32>) -> Vec<u32> {
        let mut packed = Vec::with_capacity(range.len());
        let mut lpa = Lpa(range.start);
        while lpa.0 < range.end {
            let n = (SEGMENT_ENTRIES - lpa.slot() as u32).min(range.end - lpa.0);
            let slots = lpa.slot()..lpa.slot() + n as usize;
            match &self.images[lpa.segment().index()] {
                Some(image) => packed.extend_from_slice(&image[slots]),
                None => packed.extend_from_slice(&self.segment(lpa.segment())[slots]),
            }
            lpa = lpa.offset(n);
        }
        packed
    }

    /// Replaces the entries of these addresses.
    pub(super) fn set_entries(&mut self, range: Range<u32>, packed: &[u32]) {
        assert_eq!(range.len(), packed.len(), "an entry for each address");
        let (mut lpa, mut rest) = (Lpa(range.start), packed);
        while !rest.is_empty() {
            let (now, later) = rest.split_at(rest.len().min(SEGMENT_ENTRIES as usize - lpa.slot()));
            let image = self.image_mut(lpa.segment());
            image[lpa.slot()..lpa.slot() + now.len()].copy_from_slice(now);
            (lpa, rest) = (lpa.offset(now.len() as u32), later);
        }
    }

    /// A copy of a whole segment.
    pub(super) fn segment(&self, segment: SegmentId) -> Box<SegmentImage> {
        match (&self.images[segment.index()], self.state(segment)) {
            (Some(image), _) => copy_segment(image),
            (None, Some(state)) => state.image(),
            (None, None) => Box::new([0; SEGMENT_ENTRIES as usize]),
        }
    }

    /// True if a segment was ever written.
    fn is_written(&self, segment: SegmentId) -> bool {
        self.images[segment.index()].is_some() || self.state(segment).is_some()
    }

    /// All segments that were ever written.
    pub(super) fn written_segments(&self) -> impl Iterator<Item = SegmentId> {
        (0..self.images.len() as u32).map(SegmentId).filter(|&segment| self.is_written(segment))
    }

    #[inline]
    fn state(&self, segment: SegmentId) -> Option<&SegmentState> {
        self.states.get(segment.index())?.as_ref()
    }

    /// The entries of a segment, for changes.
    #[inline]
    fn image_mut(&mut self, segment: SegmentId) -> &mut SegmentImage {
        if self.images[segment.index()].is_none() {
            self.images[segment.index()] = Some(self.segment(segment));
            if let Some(state) = self.states.get_mut(segment.index()) {
                *state = None;
            }
        }
        self.images[segment.index()].as_mut().expect("made so above")
    }

    /// Replaces a whole segment by a state that a host has sent.
    fn set_state(&mut self, segment: SegmentId, state: SegmentState) {
        if self.states.is_empty() {
            self.states.resize_with(self.images.len(), || None);
        }
        self.states[segment.index()] = Some(state);
        if let Some(old) = self.images[segment.index()].take() {
            recycle_segment(old);
        }
    }

    /// The sequence number stored with a map unit.
    #[inline]
    pub(super) fn seq(&self, segment: SegmentId) -> Seq {
        self.seqs[segment.index()]
    }

    /// Adds a snapshot that is about to be written.
    pub fn add_snapshot(&mut self, snapshot: Snapshot) {
        if self.snapshots.len() == SNAPSHOTS {
            self.snapshots.remove(0);
        }
        self.snapshots.push(snapshot);
    }

    /// The snapshot at the start of a superblock, from `first` on. All of its `units` must have been read. If the
    /// superblock was used several times, this is the last snapshot.
    ///
    /// # Panics
    /// If a unit has not been read.
    pub fn snapshot(&self, sb: Superblock, first: Ppa, units: u32, read: &PiecesRead) -> Option<&Snapshot> {
        let all = (0..units).all(|i| read.covers(first.offset(i), 1));
        assert!(all, "the snapshot in {sb} has not been read");
        self.snapshots.iter().rev().find(|s| s.sb == sb)
    }

    /// A record whose parts are at these places and have been read.
    ///
    /// # Panics
    /// If one has not been read.
    pub fn record(&self, slot: usize, mut places: impl Iterator<Item = Ppa>, read: &PiecesRead) -> &Record {
        assert!(places.all(|ppa| read.covers(ppa, 1)), "record {slot} has not been read");
        &self.records[slot]
    }

    /// A page of the journal that is at this place and has been read.
    ///
    /// # Panics
    /// If it has not been read.
    pub fn journal(&self, page: usize, place: Ppa, read: &PiecesRead) -> &[TrimRecord] {
        assert!(read.covers(place, 1), "page {page} of the journal has not been read");
        &self.journal[page]
    }

    /// The list of map units that share the flash unit of a slot, for changes.
    pub fn label(&mut self, slot: usize) -> &mut Vec<u32> {
        &mut self.labels[slot]
    }

    /// The map units that share the flash unit of a slot; `None` if no units are shared.
    pub fn label_at(&self, slot: usize) -> Option<&[u32]> {
        self.labels.get(slot).map(Vec::as_slice)
    }

    /// Makes room for labels of `n` flash units.
    pub fn resize_labels(&mut self, n: usize) {
        self.labels.resize_with(n, Vec::new);
    }

    /// Number of flash units that have a label.
    pub fn labelled(&self) -> usize {
        self.labels.len()
    }

    /// Sets an entry without proof, for tests of code that reads entries on flash.
    #[cfg(test)]
    pub fn assume_entry(&mut self, lpa: Lpa, ppa: Option<Ppa>) {
        self.image_mut(lpa.segment())[lpa.slot()] = Ppa::pack(ppa);
    }

    /// An entry and its number without proof, for tests of what is on flash in the end.
    #[cfg(test)]
    pub fn inspect(&self, lpa: Lpa) -> (Option<Ppa>, Seq) {
        (self.entry(lpa), self.seq(self.units.of(lpa)))
    }
}

/// A map unit in SRAM.
///
/// It borrows the pages, so nothing can change while it is used.
#[derive(Clone, Copy, Debug)]
pub struct MapView<'a> {
    pages: &'a Pages,
    unit: SegmentId,
}

impl MapView<'_> {
    /// The entry of an address.
    ///
    /// # Panics
    /// If the address belongs to another map unit.
    #[inline]
    pub fn entry(&self, lpa: Lpa) -> Option<Ppa> {
        assert!(self.pages.units.of(lpa) == self.unit, "{lpa} does not belong to {}", self.unit);
        self.pages.entry(lpa)
    }

    /// Copies of all entries, packed.
    pub fn entries(&self) -> Vec<u32> {
        self.pages.entries(self.pages.units.range(self.unit))
    }

    /// A copy of all entries of a map unit that is a whole segment.
    pub fn image(&self) -> Box<SegmentImage> {
        assert!(self.pages.units.is_plain(), "{} is no segment", self.unit);
        self.pages.segment(self.unit)
    }

    /// The number of the last change that the unit holds; it is complete up to there.
    pub fn seq(&self) -> Seq {
        self.pages.seq(self.unit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::map_units::MapShape;

    #[test]
    fn entries_are_replaced_across_segments_and_nowhere_else() {
        let mut pages = Pages::new(MapUnits::new(4096, MapShape::part_of_segment(1024)), 1);
        let packed: Vec<u32> = (1..=1500).collect();
        pages.set_entries(900..2400, &packed);
        assert_eq!(pages.entries(900..2400), packed);
        assert_eq!((pages.entry(Lpa(899)), pages.entry(Lpa(2400))), (None, None));
        pages.set_entries(1024..1280, &[7; 256]);
        assert_eq!(pages.entries(1023..1281), [&[124][..], &[7; 256], &[381]].concat());
        pages.set_state(SegmentId(1), SegmentState::of(&[8; 1024]));
        assert_eq!(pages.entries(1023..2049), [&[124][..], &[8; 1024], &[1149]].concat());
    }
}
