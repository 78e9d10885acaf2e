//! The content of metadata pages. Flash keeps it through a power cut; everything else about metadata is in SRAM.
//!
//! Content belongs to a *place*: a read shows what was programmed on that page and nothing else. The newest copy of
//! every map unit is stored as a whole, and the last of the older ones as differences ([`History`]). Of all other
//! pieces every copy is stored that is on flash ([`OwnPages`]). A place that was erased or whose program was torn needs
//! no care here: the flash array shows no spare area there, and without one nobody gets a proof of a read.
//!
//! Firmware reaches content only with a proof (see the head of the module above).

use std::ops::Range;
use std::sync::Arc;

use live::{SegmentImage, SegmentState, SentSegment, copy_segment, recycle_segment};
use units::{Lpa, MapUnit, Ppa, SEGMENT_ENTRIES, SegmentId, Seq, Superblock};

use super::history::{Halves, History, OlderCopy};
use super::images::Images;
use super::own_pages::{Covered, OwnPages, OwnPiece, Record, Snapshot, TrimRecord};
use super::proof::{Loaded, PiecesRead, Programmed};
use crate::table::directory::Piece;
use crate::table::map_units::{MapUnits, Numbered};

/// Where the newest copy of a map unit is. Both parts are used together, millions of times.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub(super) struct Newest {
    /// Its place, packed; 0 = never written.
    pub(super) at: u32,
    /// The sequence number stored with it: it holds every change up to there.
    pub(super) number: Halves,
}

/// Contents of metadata pages.
#[cfg_attr(feature = "explore", derive(Clone, Hash))]
#[derive(Debug)]
pub struct Pages {
    /// Division of the table into map units.
    units: MapUnits,
    /// L2P entries that the device has put together, packed, by segment of 1024 addresses, whatever the size of a map
    /// unit.
    images: Images,
    /// Whole segments as a host has sent them, for segments without image; empty before the first one. A segment with
    /// neither was never written.
    states: Vec<Option<SegmentState>>,
    /// The newest copy of each map unit, which images and states hold.
    pub(super) newest: Vec<Newest>,
    /// Older copies of map units.
    pub(super) history: History,
    /// Records, journal, segment bitmaps and snapshots.
    pub(super) own: OwnPages,
    /// Map units that share a flash unit, by flash unit of the metadata superblocks; empty if none do. On flash each
    /// ECC codeword of 1 KiB has a spare area that names its map unit (MSFTL Sec. 3.1).
    pub(super) labels: Vec<Vec<u32>>,
    /// First unit of the metadata superblocks.
    first: Ppa,
}

impl Pages {
    /// Pages of a new device: nothing is written.
    pub fn new(units: MapUnits) -> Pages {
        let images = Images::new(units.capacity_units().div_ceil(SEGMENT_ENTRIES) as usize);
        Pages {
            units,
            states: Vec::new(),
            newest: vec![Newest::default(); units.count() as usize],
            history: History::new(images.segments()),
            images,
            own: OwnPages::default(),
            labels: Vec::new(),
            first: Ppa(0),
        }
    }

    /// The division of the table into map units.
    pub fn units(&self) -> MapUnits {
        self.units
    }

    /// The content of a map unit that is in SRAM: what was programmed at the place from which it was read.
    ///
    /// # Panics
    /// If no copy of the unit was programmed there, or it is forgotten.
    #[inline]
    pub fn view(&self, loaded: &Loaded) -> MapView<'_> {
        self.view_at(loaded.unit(), loaded.place())
    }

    /// The content of a map unit at a place; all entries are unmapped at no place.
    #[inline(always)] // See `MapView::entry`.
    pub(super) fn view_at(&self, unit: MapUnit, place: Option<Ppa>) -> MapView<'_> {
        let newest = Ppa::pack(place) == self.newest[unit.index()].at;
        MapView { pages: self, unit, older: if newest { None } else { Some(self.older(unit, place)) } }
    }

    /// A copy that is not the newest one of its unit.
    #[cold]
    fn older(&self, unit: MapUnit, place: Option<Ppa>) -> Box<OlderCopy> {
        let range = self.units.range(unit);
        let Some(place) = place else { return Box::new(OlderCopy { entries: vec![0; range.len()], number: Seq(0) }) };
        let copy = self.history.copy_at(unit, place, self.entries(range));
        let newest = Ppa::unpack(self.newest[unit.index()].at);
        Box::new(copy.unwrap_or_else(|| {
            panic!("{unit} was never programmed at {place}, or long ago; its newest copy: {newest:?}")
        }))
    }

    /// True if a map unit in SRAM is the newest copy on flash.
    #[inline]
    pub(super) fn has_newest(&self, loaded: &Loaded) -> bool {
        self.newest[loaded.unit().index()].at == Ppa::pack(loaded.place())
    }

    /// The entry of an address in the newest copy of its map unit.
    #[inline]
    pub(super) fn entry(&self, lpa: Lpa) -> Option<Ppa> {
        match self.images.get(lpa.segment()) {
            Some(image) => Ppa::unpack(image[lpa.slot()]),
            None => self.state(lpa.segment()).and_then(|state| Ppa::unpack(state.entry(lpa.slot()))),
        }
    }

    /// True if the newest copy of a map unit is the one that was programmed here.
    #[inline]
    fn is_newest(&self, programmed: &Programmed) -> bool {
        self.newest[programmed.piece().0 as usize].at == Ppa::pack(Some(programmed.place()))
    }

    /// A map unit has been programmed, with the content that a unit (itself) had at a place when it was read there.
    /// Changes of it follow.
    #[inline]
    pub fn taken_over(&mut self, programmed: &Programmed, (read, from): (MapUnit, Option<Ppa>)) {
        let unit = MapUnit(programmed.piece().0);
        let before = self.newest[unit.index()];
        let other = (read != unit || before.at != Ppa::pack(from)).then(|| {
            let view = self.view_at(read, from);
            (view.entries(), view.seq())
        });
        self.history.moved(unit, Ppa::unpack(before.at), before.number.whole());
        self.newest[unit.index()].at = Ppa::pack(Some(programmed.place()));
        if let Some((mut entries, number)) = other {
            self.newest[unit.index()].number = Halves::of(number);
            entries.resize(self.units.range(unit).len(), 0);
            self.replace(unit, &entries);
        }
    }

    /// Sabotage: the place of the copy before the newest one of a map unit, if it had one.
    pub fn before(&self, unit: MapUnit) -> Option<Ppa> {
        self.history.before(unit)
    }

    /// A map unit has been programmed, complete up to `seq`. Its content follows, or has been taken over.
    #[inline]
    pub fn set_seq(&mut self, programmed: &Programmed, seq: Seq) {
        let unit = programmed.piece().0 as usize;
        if !self.is_newest(programmed) {
            self.taken_over(programmed, (MapUnit(programmed.piece().0), Ppa::unpack(self.newest[unit].at)));
        }
        self.newest[unit].number = Halves::of(seq);
    }

    /// A map unit with these entries, packed, has been programmed after a newer copy of it.
    pub fn set_older(&mut self, programmed: &Programmed, seq: Seq, packed: &[u32]) {
        let unit = MapUnit(programmed.piece().0);
        let (newest, entries) = (self.newest[unit.index()], self.entries(self.units.range(unit)));
        self.set_seq(programmed, seq);
        self.replace(unit, packed);
        self.history.moved(unit, Some(programmed.place()), seq);
        self.replace(unit, &entries);
        self.newest[unit.index()] = newest;
    }

    #[inline]
    fn check(&self, programmed: &Programmed, unit: MapUnit) {
        let right = programmed.piece() == Piece::of(unit) && self.is_newest(programmed);
        assert!(right, "{programmed:?} does not change the newest copy of {unit}");
    }

    /// Sets an entry of a map unit that has been programmed.
    #[inline(always)] // A map flush does little else.
    pub fn set_entry(&mut self, programmed: &Programmed, lpa: Lpa, ppa: Option<Ppa>) {
        let unit = self.units.of(lpa);
        self.check(programmed, unit);
        let old = std::mem::replace(&mut self.image_mut(lpa.segment())[lpa.slot()], Ppa::pack(ppa));
        self.history.changed(unit, self.units.slot(lpa), old);
    }

    /// Prefetches what [`MapView::entry`] looks at, if the device has put the segment together.
    #[inline]
    pub fn prefetch_entry(&self, lpa: Lpa) {
        if let Some(image) = self.images.get(lpa.segment()) {
            table::prefetch(&image[lpa.slot()]);
        }
    }

    /// Prefetches what [`Pages::set_unit_state`] and [`Pages::set_seq`] look at.
    #[inline]
    pub fn prefetch(&self, unit: MapUnit) {
        table::prefetch(&self.newest[unit.index()]);
        let segment = self.units.segment_of(unit);
        self.images.prefetch(segment);
        if let Some(state) = self.states.get(segment.index()) {
            table::prefetch(state);
        }
    }

    /// Sets all entries of a map unit that has been programmed.
    pub fn set_unit(&mut self, programmed: &Programmed, packed: &[u32]) {
        let unit = MapUnit(programmed.piece().0);
        self.check(programmed, unit);
        self.replace(unit, packed);
    }

    /// Sets the content of a map unit that is a whole segment from a host, and has been programmed.
    pub fn set_unit_state(&mut self, programmed: &Programmed, state: SegmentState) {
        let unit = MapUnit(programmed.piece().0);
        self.check(programmed, unit);
        self.replace_by(unit, state);
    }

    /// Replaces a whole segment by a state that a host has sent, and notes what it was.
    fn replace_by(&mut self, unit: MapUnit, state: SegmentState) {
        let segment = self.units.segment_of(unit);
        if self.states.is_empty() {
            self.states.resize_with(self.images.segments(), || None);
        }
        match (self.images.take(segment), self.states[segment.index()].take()) {
            (Some(image), _) => self.note_replaced(unit, image, &state),
            (None, Some(old)) => {
                if let Some(replaced) = old.replaced_until(&state) {
                    self.history.changed_in_turn(unit, replaced);
                } else {
                    self.note_replaced(unit, old.into_image(), &state);
                }
            }
            (None, None) => self.history.was_unmapped(unit),
        }
        self.states[segment.index()] = Some(state);
    }

    fn note_replaced(&mut self, unit: MapUnit, old: Box<SegmentImage>, new: &SegmentState) {
        if self.history.compares() {
            self.history.differs(unit, &old[..], &new.image()[..]);
            recycle_segment(old);
        } else {
            self.history.replaced(unit, old);
        }
    }

    /// Replaces the entries of a map unit, and notes what they were.
    fn replace(&mut self, unit: MapUnit, packed: &[u32]) {
        let range = self.units.range(unit);
        let old = self.entries(range.clone());
        self.history.differs(unit, &old, packed);
        self.set_entries(range, packed);
    }

    /// A part of a record has been programmed. [`Meta`](crate::knowledge::meta::Meta) numbers the pieces.
    pub fn set_record(&mut self, part: &Programmed, record: Arc<Record>) {
        self.own.set(part.piece(), part.place(), OwnPiece::Record(record));
    }

    /// A page of the journal has been programmed.
    pub fn set_journal(&mut self, page: &Programmed, trims: Arc<[TrimRecord]>) {
        self.own.set(page.piece(), page.place(), OwnPiece::Journal(trims));
    }

    /// A part of a segment bitmap has been programmed.
    pub fn set_bitmap(&mut self, part: &Programmed, covered: Covered) {
        self.own.set(part.piece(), part.place(), OwnPiece::Bitmap(covered));
    }

    /// A piece that is no map unit has been programmed with the content that it had at `from` when it was read there.
    ///
    /// # Panics
    /// If it had none there.
    pub fn copied(&mut self, piece: &Programmed, from: Ppa) {
        let content = self.own_at(piece.piece(), from).clone();
        self.own.set(piece.piece(), piece.place(), content);
    }

    fn own_at(&self, piece: Piece, place: Ppa) -> &OwnPiece {
        let content = self.own.at(piece, place);
        content.unwrap_or_else(|| panic!("{piece:?} was never programmed at {place}, or that is erased"))
    }

    /// A superblock of metadata, at these places, has been erased.
    pub fn erased(&mut self, places: Range<Ppa>) {
        self.own.erased(places);
    }

    /// A copy of the entries of these addresses in the newest copies of their map units, packed.
    fn entries(&self, range: Range<u32>) -> Vec<u32> {
        let mut packed = Vec::with_capacity(range.len());
        let mut lpa = Lpa(range.start);
        while lpa.0 < range.end {
            let n = (SEGMENT_ENTRIES - lpa.slot() as u32).min(range.end - lpa.0);
            let slots = lpa.slot()..lpa.slot() + n as usize;
            match self.images.get(lpa.segment()) {
                Some(image) => packed.extend_from_slice(&image[slots]),
                None => packed.extend_from_slice(&self.segment(lpa.segment())[slots]),
            }
            lpa = lpa.offset(n);
        }
        packed
    }

    /// Replaces the entries of these addresses, and notes nothing.
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

    /// A whole segment.
    fn sent(&self, segment: SegmentId) -> SentSegment {
        match self.state(segment).filter(|_| !self.images.has(segment)) {
            Some(state) => state.again(),
            None => self.segment(segment).into(),
        }
    }

    /// A copy of a whole segment.
    pub(super) fn segment(&self, segment: SegmentId) -> Box<SegmentImage> {
        match (self.images.get(segment), self.state(segment)) {
            (Some(image), _) => copy_segment(image),
            (None, Some(state)) => state.image(),
            (None, None) => Box::new([0; SEGMENT_ENTRIES as usize]),
        }
    }

    /// True if a segment was ever written.
    fn is_written(&self, segment: SegmentId) -> bool {
        self.images.has(segment) || self.state(segment).is_some()
    }

    /// All segments that were ever written.
    pub(super) fn written_segments(&self) -> impl Iterator<Item = SegmentId> {
        (0..self.images.segments() as u32).map(SegmentId).filter(|&segment| self.is_written(segment))
    }

    #[inline]
    fn state(&self, segment: SegmentId) -> Option<&SegmentState> {
        self.states.get(segment.index())?.as_ref()
    }

    /// The entries of a segment, for changes.
    #[inline(always)] // A map flush does little else.
    fn image_mut(&mut self, segment: SegmentId) -> &mut SegmentImage {
        if !self.images.has(segment) {
            self.make_image(segment);
        }
        self.images.held_mut(segment)
    }

    #[cold]
    fn make_image(&mut self, segment: SegmentId) {
        match self.states.get_mut(segment.index()).and_then(Option::take) {
            Some(state) => {
                let image = state.into_image();
                self.images.insert(segment, &image);
                recycle_segment(image);
            }
            None => self.images.insert(segment, &[0; SEGMENT_ENTRIES as usize]),
        }
    }

    /// Adds a snapshot that is about to be written.
    pub fn add_snapshot(&mut self, snapshot: Snapshot) {
        self.own.add_snapshot(snapshot);
    }

    /// The snapshot in a superblock, from `first` on, of whose units some have been read, the first with
    /// `stamp`. Places in units that have not been read are 0. `None` if no such snapshot was written.
    pub fn snapshot(&self, sb: Superblock, first: Ppa, stamp: u32, read: &PiecesRead) -> Option<Snapshot> {
        let written = self.own.snapshot(sb, stamp)?;
        let bytes = match self.units.numbered() {
            Numbered::Directory => 8,
            Numbered::Spare => 4,
        };
        Some(Snapshot { place: written.places_read(first, bytes, read), ..written.clone() })
    }

    /// The record whose parts are at these places and have been read; `None` if these are parts of different records.
    ///
    /// # Panics
    /// If one has not been read, or is no part of a record.
    pub fn record(&self, parts: impl Iterator<Item = (Piece, Ppa)>, read: &PiecesRead) -> Option<Arc<Record>> {
        let part = |(piece, place): (Piece, Ppa)| {
            assert!(read.shows(piece, place), "the read of {piece:?} at {place} shows something else");
            match self.own_at(piece, place) {
                OwnPiece::Record(record) => record,
                other => panic!("{piece:?} at {place} is no part of a record: {other:?}"),
            }
        };
        let mut parts = parts.map(part);
        let first = parts.next()?;
        parts.all(|part| part.number == first.number).then(|| Arc::clone(first))
    }

    /// A page of the journal that has been read at this place. `None` if something else is there: the page was dropped
    /// after the snapshot that names it.
    ///
    /// # Panics
    /// If it is no page of the journal.
    pub fn journal(&self, page: Piece, place: Ppa, read: &PiecesRead) -> Option<&[TrimRecord]> {
        assert!(read.covers(place, 1), "{page:?} has not been read at {place}");
        if !read.shows(page, place) {
            return None;
        }
        match self.own_at(page, place) {
            OwnPiece::Journal(trims) => Some(trims),
            other => panic!("{page:?} at {place} is no page of the journal: {other:?}"),
        }
    }

    /// The pages that a part of a segment bitmap covers, which is at this place and has been read.
    ///
    /// # Panics
    /// If it is no part of a segment bitmap.
    pub fn bitmap(&self, part: Piece, place: Ppa) -> Covered {
        match self.own_at(part, place) {
            OwnPiece::Bitmap(covered) => *covered,
            other => panic!("{part:?} at {place} is no part of a bitmap: {other:?}"),
        }
    }

    /// True if the spare area of the flash unit at `place`, which has `mark`, names this piece.
    #[inline]
    pub fn names(&self, place: Ppa, mark: u32, piece: Piece) -> bool {
        mark == piece.0 && self.labels.is_empty()
            || self.label_at(place, mark).map_or(mark == piece.0, |label| label.contains(&piece.0))
    }

    /// The map units that share the flash unit at a place, for changes; `None` if no units are shared.
    pub fn label(&mut self, place: Ppa) -> Option<&mut Vec<u32>> {
        self.labels.get_mut(place.0.checked_sub(self.first.0)? as usize)
    }

    /// The map units that share the flash unit at a place, whose spare area has `mark`; `None` if no units are shared,
    /// or this unit holds something else.
    pub fn label_at(&self, place: Ppa, mark: u32) -> Option<&[u32]> {
        let label = self.labels.get(place.0.checked_sub(self.first.0)? as usize)?;
        Some(label.as_slice()).filter(|label| label.first() == Some(&mark))
    }

    /// Metadata begins at `first`. Makes room for labels of `n` flash units.
    pub fn resize_labels(&mut self, first: Ppa, n: usize) {
        self.first = first;
        self.labels.resize_with(n, Vec::new);
    }

    /// Number of flash units that have a label.
    pub fn labelled(&self) -> usize {
        self.labels.len()
    }

    /// Sets an entry without proof, for tests of code that reads entries on flash. See [`Loaded::assumed`].
    #[cfg(any(test, feature = "testing"))]
    pub fn assume_entry(&mut self, lpa: Lpa, ppa: Option<Ppa>) {
        self.newest[self.units.of(lpa).index()].at = Ppa::pack(Some(Loaded::ASSUMED_PLACE));
        self.image_mut(lpa.segment())[lpa.slot()] = Ppa::pack(ppa);
    }

    /// An entry and its number without proof, for tests of what is on flash in the end.
    #[cfg(any(test, feature = "testing"))]
    pub fn inspect(&self, lpa: Lpa) -> (Option<Ppa>, Seq) {
        (self.entry(lpa), self.newest[self.units.of(lpa).index()].number.whole())
    }
}

/// A map unit in SRAM.
///
/// It borrows the pages, so nothing can change while it is used.
#[derive(Debug)]
pub struct MapView<'a> {
    pages: &'a Pages,
    unit: MapUnit,
    /// The copy, if it is not the newest one on flash.
    older: Option<Box<OlderCopy>>,
}

impl MapView<'_> {
    /// The entry of an address.
    ///
    /// # Panics
    /// If the address belongs to another map unit.
    #[inline(always)] // A read that finds its map unit in SRAM asks for one.
    pub fn entry(&self, lpa: Lpa) -> Option<Ppa> {
        assert!(self.pages.units.of(lpa) == self.unit, "{lpa} does not belong to {}", self.unit);
        match &self.older {
            None => self.pages.entry(lpa),
            Some(older) => older.entry(self.pages.units.slot(lpa)),
        }
    }

    /// True if this is the newest copy of the map unit on flash.
    #[inline]
    pub fn is_newest(&self) -> bool {
        self.older.is_none()
    }

    /// Copies of all entries, packed.
    pub fn entries(&self) -> Vec<u32> {
        self.entries_in(self.pages.units.range(self.unit))
    }

    /// Copies of the entries of some of its addresses, packed.
    ///
    /// # Panics
    /// If an address belongs to another map unit.
    pub fn entries_in(&self, range: Range<u32>) -> Vec<u32> {
        let unit = self.pages.units.range(self.unit);
        assert!(unit.start <= range.start && range.end <= unit.end, "{range:?} does not lie in {}", self.unit);
        match &self.older {
            None => self.pages.entries(range),
            Some(older) => {
                let slots = range.start - unit.start..range.end - unit.start;
                older.entries[slots.start as usize..slots.end as usize].to_vec()
            }
        }
    }

    /// All entries of a map unit that is a whole segment.
    pub fn sent(&self) -> SentSegment {
        assert!(self.pages.units.is_plain(), "{} is no segment", self.unit);
        match &self.older {
            None => self.pages.sent(self.pages.units.segment_of(self.unit)),
            Some(older) => {
                let mut image = copy_segment(&[0; SEGMENT_ENTRIES as usize]);
                image[..older.entries.len()].copy_from_slice(&older.entries);
                image.into()
            }
        }
    }

    /// The number of the last change that the unit holds; it is complete up to there.
    pub fn seq(&self) -> Seq {
        self.older.as_ref().map_or(self.pages.newest[self.unit.index()].number.whole(), |older| older.number)
    }
}

#[cfg(test)]
#[path = "pages_tests.rs"]
mod tests;
