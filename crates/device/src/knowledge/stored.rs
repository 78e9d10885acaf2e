//! Saving and loading the content of metadata pages.

use std::io::{Read, Write};

use archive::{ArchiveError, Reader, Writer};
use live::SegmentImage;
use units::{Lpa, SEGMENT_ENTRIES, SegmentId, Seq, Superblock};

use super::pages::{Pages, Record, SNAPSHOTS, Snapshot, TrimRecord};
use crate::directory::JOURNAL_PAGES;
use crate::map_units::MapUnits;
use crate::trims::RECORDS_PER_PAGE;

/// Longest list of log blocks, free or bad superblocks that a file may have.
const LONGEST_LIST: usize = 1 << 24;

/// Lengths of tables that the file does not state.
#[derive(Clone, Copy, Debug)]
pub struct Sizes {
    /// Places in the directory.
    pub pieces: u32,
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
        to.table("segments.seq", &self.seqs.iter().map(|seq| seq.0).collect::<Vec<_>>())?;
        self.records.iter().try_for_each(|record| record.save(to))?;
        if !self.labels.is_empty() {
            to.table("labels.len", &self.labels.iter().map(|label| label.len() as u32).collect::<Vec<_>>())?;
            to.table("labels.piece", &self.labels.concat())?;
        }
        for page in &self.journal {
            to.table("journal.lpa", &page.iter().map(|trim| trim.lpa.0).collect::<Vec<_>>())?;
            to.table("journal.len", &page.iter().map(|trim| trim.len).collect::<Vec<_>>())?;
            to.table("journal.seq", &page.iter().map(|trim| trim.seq.0).collect::<Vec<_>>())?;
        }
        to.table("snapshots", &self.snapshots.iter().map(|s| s.sb.0).collect::<Vec<_>>())?;
        for snapshot in &self.snapshots {
            to.table("snapshot.place", &snapshot.place)?;
            to.table("snapshot.next", &snapshot.next.iter().map(|sb| sb.0).collect::<Vec<_>>())?;
        }
        Ok(())
    }

    /// Reads metadata pages that [`Pages::save`] has written. The table is divided into `units`.
    ///
    /// # Errors
    /// If the file is damaged or belongs to a device of another capacity.
    pub fn load<R: Read>(
        units: MapUnits,
        Sizes { pieces, labelled }: Sizes,
        from: &mut Reader<R>,
    ) -> Result<Pages, ArchiveError> {
        let segments = units.capacity_units().div_ceil(SEGMENT_ENTRIES);
        let mut pages = Pages::new(units, JOURNAL_PAGES as usize);
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
        let mut seqs = vec![0; units.count() as usize];
        from.table_into("segments.seq", &mut seqs)?;
        pages.seqs = seqs.into_iter().map(Seq).collect();
        pages.records = [Record::load(from)?, Record::load(from)?];
        pages.labels = load_labels(labelled, units.per_flash_unit(), from)?;
        for page in &mut pages.journal {
            *page = load_trims(units.capacity_units(), from)?;
        }
        for sb in from.table("snapshots", SNAPSHOTS)?.into_iter().map(Superblock) {
            let mut place = vec![0; pieces as usize];
            from.table_into("snapshot.place", &mut place)?;
            let next = from.table("snapshot.next", LONGEST_LIST)?;
            pages.snapshots.push(Snapshot { sb, place, next: next.into_iter().map(Superblock).collect() });
        }
        Ok(pages)
    }
}

impl Record {
    fn save<W: Write>(&self, to: &mut Writer<W>) -> Result<(), ArchiveError> {
        to.table("record.number", &[self.number])?;
        to.table("record.log_blocks", &self.log_blocks.iter().map(|sb| sb.0).collect::<Vec<_>>())?;
        to.table("record.free", &self.free)?;
        to.table("record.bad", &self.bad)
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
