//! Saving and loading the content of metadata pages.

use std::collections::{BTreeMap, VecDeque};
use std::io::{Read, Write};

use archive::{ArchiveError, Reader, Writer};
use live::SegmentImage;
use units::{Lpa, Ppa, SEGMENT_ENTRIES, SegmentId, Seq, Superblock};

use super::history::{Halves, History, MOST_STEPS, Step};
use super::own_pages::{Covered, OwnPages, OwnPiece, RECORDS_PER_PAGE, Record, Snapshot, TrimRecord};
use super::pages::{Newest, Pages};
use crate::table::directory::Piece;
use crate::table::map_units::MapUnits;

/// Longest list of log blocks, free or bad superblocks that a file may have.
const LONGEST_LIST: usize = 1 << 24;
/// Most snapshots that a file may have.
const MOST_SNAPSHOTS: usize = 1 << 16;

/// Lengths of tables that the file does not state.
#[derive(Clone, Copy, Debug)]
pub struct Sizes {
    /// Places in the directory.
    pub pieces: u32,
    /// Flash units of metadata.
    pub units: u32,
    /// Flash units that map units share.
    pub labelled: usize,
}

impl Pages {
    /// Writes the content of all metadata pages.
    ///
    /// # Errors
    /// Errors of the archive.
    pub fn save<W: Write>(&self, to: &mut Writer<W>) -> Result<(), ArchiveError> {
        let written: Vec<u32> = self.written_segments().map(|segment| segment.0).collect();
        to.table("segments.written", &written)?;
        for segment in self.written_segments() {
            to.table("segment", &self.segment(segment)[..])?;
        }
        to.table("segments.at", &self.newest.iter().map(|copy| copy.at).collect::<Vec<_>>())?;
        to.table("segments.seq", &self.newest.iter().map(|copy| copy.number.whole().0).collect::<Vec<_>>())?;
        to.table(
            "segments.before",
            self.history.newest_first().rev().map(Step::to_words).collect::<Vec<_>>().as_flattened(),
        )?;
        if !self.labels.is_empty() {
            to.table("labels.len", &self.labels.iter().map(|label| label.len() as u32).collect::<Vec<_>>())?;
            to.table("labels.piece", &self.labels.concat())?;
        }
        self.own.save(to)
    }

    /// Reads metadata pages that [`Pages::save`] has written. The table is divided into `units`.
    ///
    /// # Errors
    /// If the file is damaged or belongs to a device of another capacity.
    pub fn load<R: Read>(units: MapUnits, sizes: Sizes, from: &mut Reader<R>) -> Result<Pages, ArchiveError> {
        let segments = units.capacity_units().div_ceil(SEGMENT_ENTRIES);
        let mut pages = Pages::new(units);
        let written = from.table::<u32>("segments.written", segments as usize)?;
        if let Some(segment) = written.iter().find(|&&segment| segment >= segments) {
            let problem = format!("names segment {segment}: must be below {segments}");
            return Err(ArchiveError::table("segments.written", problem));
        }
        for segment in written.into_iter().map(SegmentId) {
            let mut image: SegmentImage = [0; SEGMENT_ENTRIES as usize];
            from.table_into("segment", &mut image[..])?;
            let first = segment.first_lpa().0;
            pages.set_entries(first..first + SEGMENT_ENTRIES, &image);
        }
        let (mut at, mut numbers) = (vec![0; units.count() as usize], vec![0; units.count() as usize]);
        from.table_into("segments.at", &mut at)?;
        from.table_into("segments.seq", &mut numbers)?;
        let copies = at.into_iter().zip(numbers);
        pages.newest = copies.map(|(at, number)| Newest { at, number: Halves::of(Seq(number)) }).collect();
        let words = from.table::<u32>("segments.before", MOST_STEPS * WORDS)?;
        pages.history = History::of(segments as usize, words.as_chunks().0.iter().map(Step::from_words).collect());
        pages.labels = load_labels(sizes.labelled, units.per_flash_unit(), from)?;
        pages.own = OwnPages::load(sizes, units.capacity_units(), from)?;
        Ok(pages)
    }
}

/// Numbers of a step in a file.
const WORDS: usize = 5;

impl Step {
    fn to_words(self) -> [u32; WORDS] {
        match self {
            Step::Moved { unit, from, number: Halves([high, low]) } => [0, unit, from, high, low],
            Step::Changed { unit, first, n, old } => [1, unit, first.into(), n.into(), old],
            Step::Replaced { unit, image } => [2, unit, image, 0, 0],
        }
    }

    /// The step with these numbers. Numbers of no step give a step about a unit that has no such copy. A damaged file
    /// is told by its checksum.
    fn from_words(&[kind, unit, a, b, c]: &[u32; WORDS]) -> Step {
        match kind {
            0 => Step::Moved { unit, from: a, number: Halves([b, c]) },
            2 => Step::Replaced { unit, image: a },
            _ => Step::Changed { unit, first: a as u16, n: b as u16, old: c },
        }
    }
}

impl OwnPages {
    fn save<W: Write>(&self, to: &mut Writer<W>) -> Result<(), ArchiveError> {
        let copies = self.copies.iter();
        let numbers: Vec<[u32; 3]> = copies.map(|(place, (piece, own))| [piece.0, place.0, own.kind()]).collect();
        to.table("own", numbers.as_flattened())?;
        self.copies.values().try_for_each(|(_, content)| content.save(to))?;
        to.table("snapshots", self.snapshots.iter().map(|s| [s.sb.0, s.stamp]).collect::<Vec<_>>().as_flattened())?;
        for snapshot in &self.snapshots {
            to.table("snapshot.place", &snapshot.place)?;
            to.table("snapshot.next", &snapshot.next.iter().map(|sb| sb.0).collect::<Vec<_>>())?;
        }
        Ok(())
    }

    fn load<R: Read>(sizes: Sizes, capacity_units: u32, from: &mut Reader<R>) -> Result<OwnPages, ArchiveError> {
        let (mut copies, mut snapshots) = (BTreeMap::new(), VecDeque::new());
        let pieces = sizes.pieces;
        let numbers = from.table::<u32>("own", 3 * sizes.units as usize)?;
        for numbers in numbers.chunks(3) {
            let &[piece, place, kind] = numbers else {
                return Err(ArchiveError::table("own", "must have three numbers for each copy"));
            };
            if piece >= pieces {
                return Err(ArchiveError::table("own", format!("names piece {piece}: must be below {pieces}")));
            }
            copies.insert(Ppa(place), (Piece(piece), OwnPiece::load(kind, capacity_units, from)?));
        }
        for numbers in from.table::<u32>("snapshots", 2 * MOST_SNAPSHOTS)?.chunks(2) {
            let &[sb, stamp] = numbers else {
                return Err(ArchiveError::table("snapshots", "must have two numbers for each snapshot"));
            };
            let mut place = vec![0; pieces as usize];
            from.table_into("snapshot.place", &mut place)?;
            let next = from.table("snapshot.next", LONGEST_LIST)?.into_iter().map(Superblock).collect();
            snapshots.push_back(Snapshot { sb: Superblock(sb), stamp, place, next });
        }
        Ok(OwnPages::stored(copies, snapshots))
    }
}

impl OwnPiece {
    fn kind(&self) -> u32 {
        match self {
            OwnPiece::Record(_) => 0,
            OwnPiece::Journal(_) => 1,
            OwnPiece::Bitmap(_) => 2,
        }
    }

    fn save<W: Write>(&self, to: &mut Writer<W>) -> Result<(), ArchiveError> {
        match self {
            OwnPiece::Record(record) => record.save(to),
            OwnPiece::Journal(trims) => {
                to.table("journal.lpa", &trims.iter().map(|trim| trim.lpa.0).collect::<Vec<_>>())?;
                to.table("journal.len", &trims.iter().map(|trim| trim.len).collect::<Vec<_>>())?;
                to.table("journal.seq", &trims.iter().map(|trim| trim.seq.0).collect::<Vec<_>>())
            }
            OwnPiece::Bitmap(covered) => to.table("bitmap", &[u64::from(covered.erases), covered.last.0]),
        }
    }

    fn load<R: Read>(kind: u32, capacity_units: u32, from: &mut Reader<R>) -> Result<OwnPiece, ArchiveError> {
        match kind {
            0 => Ok(OwnPiece::Record(Record::load(from)?.into())),
            1 => Ok(OwnPiece::Journal(load_trims(capacity_units, from)?.into())),
            2 => {
                let mut numbers = [0u64; 2];
                from.table_into("bitmap", &mut numbers)?;
                Ok(OwnPiece::Bitmap(Covered { erases: numbers[0] as u32, last: Seq(numbers[1]) }))
            }
            _ => Err(ArchiveError::table("own", format!("has a piece of kind {kind}: must be at most 2"))),
        }
    }
}

impl Record {
    fn save<W: Write>(&self, to: &mut Writer<W>) -> Result<(), ArchiveError> {
        to.table("record.number", &[self.number])?;
        to.table("record.log_blocks", &self.log_blocks.iter().map(|sb| sb.0).collect::<Vec<_>>())?;
        to.table("record.free", &self.free)?;
        to.table("record.bad", &self.bad)?;
        to.table("record.slc", &self.slc)
    }

    fn load<R: Read>(from: &mut Reader<R>) -> Result<Record, ArchiveError> {
        let mut number = [0];
        from.table_into("record.number", &mut number)?;
        let log_blocks = from.table("record.log_blocks", LONGEST_LIST)?;
        Ok(Record {
            number: number[0],
            log_blocks: log_blocks.into_iter().map(Superblock).collect(),
            free: from.table("record.free", LONGEST_LIST)?,
            bad: from.table("record.bad", LONGEST_LIST)?,
            slc: from.table("record.slc", LONGEST_LIST)?,
        })
    }
}

/// The labels of `labelled` flash units: the pieces that share each of them, at most `most`.
fn load_labels<R: Read>(labelled: usize, most: u32, from: &mut Reader<R>) -> Result<Vec<Vec<u32>>, ArchiveError> {
    if labelled == 0 {
        return Ok(Vec::new());
    }
    let mut lens = vec![0u32; labelled];
    from.table_into("labels.len", &mut lens)?;
    if let Some(len) = lens.iter().find(|&&len| len > most) {
        return Err(ArchiveError::table("labels.len", format!("names {len} pieces in a unit: must be at most {most}")));
    }
    let mut pieces = vec![0u32; lens.iter().sum::<u32>() as usize];
    from.table_into("labels.piece", &mut pieces)?;
    let mut rest = pieces.as_slice();
    let next = |&len: &u32| {
        let (label, others) = rest.split_at(len as usize);
        rest = others;
        label.to_vec()
    };
    Ok(lens.iter().map(next).collect())
}

fn load_trims<R: Read>(capacity_units: u32, from: &mut Reader<R>) -> Result<Vec<TrimRecord>, ArchiveError> {
    let lpas = from.table::<u32>("journal.lpa", RECORDS_PER_PAGE)?;
    let mut lens = vec![0u32; lpas.len()];
    from.table_into("journal.len", &mut lens)?;
    let mut seqs = vec![0u64; lpas.len()];
    from.table_into("journal.seq", &mut seqs)?;
    let trims = lpas.into_iter().zip(lens).zip(seqs);
    let trims: Vec<_> = trims.map(|((lpa, len), seq)| TrimRecord { lpa: Lpa(lpa), len, seq: Seq(seq) }).collect();
    match trims.iter().find(|t| u64::from(t.lpa.0) + u64::from(t.len) > u64::from(capacity_units)) {
        None => Ok(trims),
        Some(t) => {
            let problem = format!("has a trim of {} units at {}: must end by {capacity_units}", t.len, t.lpa);
            Err(ArchiveError::table("journal.len", problem))
        }
    }
}
