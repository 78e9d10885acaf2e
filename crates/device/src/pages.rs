//! What stands in the pages of metadata superblocks. Flash keeps it through a power cut; everything else about metadata
//! is in SRAM.
//!
//! The content is kept by piece, as the newest finished program of the piece left it. The rule for firmware: look only
//! after the read of that page has been charged, or for a piece that is in SRAM.

use std::ops::Range;

use live::{SegmentImage, SegmentState, copy_segment, recycle_segment};
use units::{Lpa, Ppa, SEGMENT_ENTRIES, SegmentId, Seq, Superblock};

use crate::map_units::MapUnits;

/// The log blocks, and which superblocks are free: written whenever a data superblock is opened, before anything is
/// programmed in it (HP-UFS Sec. III-G: "records log blocks in a meta block").
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Record {
    /// Grows with every record.
    pub number: u64,
    /// Superblocks whose mappings may be missing from the segments on flash.
    pub log_blocks: Vec<Superblock>,
    /// Erased data superblocks, one bit each.
    pub free: Vec<u64>,
    /// Data superblocks that are not used any more.
    pub bad: Vec<u64>,
}

impl Record {
    /// Was this superblock free?
    pub fn is_free(&self, sb: Superblock) -> bool {
        bit(&self.free, sb)
    }

    /// Was it given up?
    pub fn is_bad(&self, sb: Superblock) -> bool {
        bit(&self.bad, sb)
    }
}

fn bit(bits: &[u64], sb: Superblock) -> bool {
    bits.get(sb.index() / 64).is_some_and(|word| word >> (sb.0 % 64) & 1 != 0)
}

/// A trimmed range.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TrimRecord {
    /// First unit.
    pub lpa: Lpa,
    /// Number of units.
    pub len: u32,
    /// Sequence number of the first unit; the others follow.
    pub seq: Seq,
}

/// The directory of pieces as it was when a metadata superblock was opened, on its first pages.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// The superblock that begins with it.
    pub sb: Superblock,
    /// Place of every piece, packed.
    pub place: Vec<u32>,
    /// The superblocks that will be opened next. One whose first program lost power may look erased.
    pub next: Vec<Superblock>,
}

/// Snapshots that may still be needed: that of the open superblock may be incomplete at a power cut.
pub const SNAPSHOTS: usize = 3;

/// Contents of metadata pages.
#[derive(Debug)]
pub struct Pages {
    /// L2P entries, packed, by 1024 addresses whatever the size of a map unit, as the device has put them together.
    images: Vec<Option<Box<SegmentImage>>>,
    /// Whole segments as they came from a host, where there is no image; empty before the first one. With neither, a
    /// segment was never written.
    states: Vec<Option<SegmentState>>,
    /// The sequence number stored with each map unit: it holds every change up to it.
    pub(super) seqs: Vec<Seq>,
    /// Two places for records take turns, so that one is always whole.
    pub records: [Record; 2],
    /// Map units that share a flash unit, by flash unit of the metadata superblocks; empty if none do. Each codeword of
    /// ECC, 1 KiB (MSFTL Sec. 3.1), has a spare area that names its own.
    pub(super) labels: Vec<Vec<u32>>,
    /// Trims, by page of the journal.
    pub journal: Vec<Vec<TrimRecord>>,
    /// The last snapshots, oldest first.
    pub(super) snapshots: Vec<Snapshot>,
}

impl Pages {
    /// Nothing written yet.
    pub fn new(units: MapUnits, journal_pages: usize) -> Pages {
        Pages {
            images: (0..units.capacity_units().div_ceil(SEGMENT_ENTRIES)).map(|_| None).collect(),
            states: Vec::new(),
            seqs: vec![Seq(0); units.count() as usize],
            records: Default::default(),
            labels: Vec::new(),
            journal: vec![Vec::new(); journal_pages],
            snapshots: Vec::new(),
        }
    }

    /// The entry of an address.
    #[inline]
    pub fn entry(&self, lpa: Lpa) -> Option<Ppa> {
        match &self.images[lpa.segment().index()] {
            Some(image) => Ppa::unpack(image[lpa.slot()]),
            None => self.state(lpa.segment()).and_then(|state| Ppa::unpack(state.entry(lpa.slot()))),
        }
    }

    /// Sets an entry of a segment that has just been programmed.
    #[inline]
    pub fn set_entry(&mut self, lpa: Lpa, ppa: Option<Ppa>) {
        self.own(lpa.segment())[lpa.slot()] = Ppa::pack(ppa);
    }

    /// Copies of the entries of some addresses, packed.
    pub fn entries(&self, range: Range<u32>) -> Vec<u32> {
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

    /// Replaces the entries of some addresses.
    pub fn set_entries(&mut self, range: Range<u32>, packed: &[u32]) {
        assert_eq!(range.len(), packed.len(), "an entry for each address");
        let (mut lpa, mut rest) = (Lpa(range.start), packed);
        while !rest.is_empty() {
            let (now, later) = rest.split_at(rest.len().min(SEGMENT_ENTRIES as usize - lpa.slot()));
            let image = self.own(lpa.segment());
            image[lpa.slot()..lpa.slot() + now.len()].copy_from_slice(now);
            (lpa, rest) = (lpa.offset(now.len() as u32), later);
        }
    }

    /// A copy of a whole segment.
    pub fn segment(&self, segment: SegmentId) -> Box<SegmentImage> {
        match (&self.images[segment.index()], self.state(segment)) {
            (Some(image), _) => copy_segment(image),
            (None, Some(state)) => state.image(),
            (None, None) => Box::new([0; SEGMENT_ENTRIES as usize]),
        }
    }

    /// Was a segment ever written?
    pub fn is_written(&self, segment: SegmentId) -> bool {
        self.images[segment.index()].is_some() || self.state(segment).is_some()
    }

    /// All that were.
    pub fn written_segments(&self) -> impl Iterator<Item = SegmentId> {
        (0..self.images.len() as u32).map(SegmentId).filter(|&segment| self.is_written(segment))
    }

    #[inline]
    fn state(&self, segment: SegmentId) -> Option<&SegmentState> {
        self.states.get(segment.index())?.as_ref()
    }

    /// The entries of a segment, to change them.
    #[inline]
    fn own(&mut self, segment: SegmentId) -> &mut SegmentImage {
        if self.images[segment.index()].is_none() {
            self.images[segment.index()] = Some(self.segment(segment));
            if let Some(state) = self.states.get_mut(segment.index()) {
                *state = None;
            }
        }
        self.images[segment.index()].as_mut().expect("made so above")
    }

    /// Replaces a whole segment by what came from a host.
    pub fn set_state(&mut self, segment: SegmentId, state: SegmentState) {
        if self.states.is_empty() {
            self.states.resize_with(self.images.len(), || None);
        }
        self.states[segment.index()] = Some(state);
        if let Some(old) = self.images[segment.index()].take() {
            recycle_segment(old);
        }
    }

    /// The sequence number stored with a map unit.
    pub fn seq(&self, segment: SegmentId) -> Seq {
        self.seqs[segment.index()]
    }

    /// Notes the sequence number stored with a map unit that has just been programmed.
    pub fn set_seq(&mut self, segment: SegmentId, seq: Seq) {
        self.seqs[segment.index()] = seq;
    }

    /// A snapshot is being written.
    pub fn add_snapshot(&mut self, snapshot: Snapshot) {
        if self.snapshots.len() == SNAPSHOTS {
            self.snapshots.remove(0);
        }
        self.snapshots.push(snapshot);
    }

    /// The snapshot at the beginning of a superblock. Several may have been written there over time; the last counts.
    pub fn snapshot(&self, sb: Superblock) -> Option<&Snapshot> {
        self.snapshots.iter().rev().find(|s| s.sb == sb)
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
