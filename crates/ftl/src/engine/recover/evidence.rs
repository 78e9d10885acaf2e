//! The pages and trims that recovery has found, and the mapping that follows from them.
//!
//! # Which page of an address is the right one
//! While the device runs, a copy by GC is checked against the block that it came from. After a power cut that cannot
//! work: the entry that made the block the current one may be lost with the host's memory, and the block erased. So
//! every page carries the *version* of its content, the number of the write that made it, and copies keep it. The page
//! with the highest version is right, and of several copies the last. A segment on flash with number `s` holds every
//! change up to `s`, so a page numbered above `s` decides by its version `v`:
//! - `v > s`: the segment has never contained this version. The page is right.
//! - `v <= s`: the page is a copy of content that the segment has contained, or has already replaced. It is right if
//!   the page that the segment names has the same version or does not exist any more. Recovery reads that page.
//!
//! A trim numbered `t` makes every version below `t` invalid.

use std::collections::BTreeMap;
use std::ops::Range;

use units::{Lpa, Ppa, Seq};

use crate::knowledge::TrimRecord;

/// A page of a log block.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Found {
    /// Address in its spare area.
    pub lpa: Lpa,
    /// Number of the write that made its content.
    pub version: Seq,
    /// Sequence number of the page.
    pub seq: Seq,
    /// Its place.
    pub ppa: Ppa,
}

/// All pages and trims found.
#[cfg_attr(feature = "explore", derive(Clone, Hash))]
#[derive(Debug, Default)]
pub struct Evidence {
    found: Vec<Found>,
    trims: Vec<TrimRecord>,
    /// Content of the pages that segments name: address and version.
    bases: BTreeMap<Ppa, Option<(Lpa, Seq)>>,
    /// The highest sequence number found.
    pub last_seq: Seq,
}

impl Evidence {
    /// Adds a page of a log block. `version` has the low bits of a number that is not above `seq`.
    pub fn add_page(&mut self, lpa: Lpa, version: u32, seq: Seq, ppa: Ppa) {
        self.last_seq = self.last_seq.max(seq);
        self.found.push(Found { lpa, version: full(version, seq), seq, ppa });
    }

    /// Adds trims of the journal.
    pub fn add_trims(&mut self, trims: &[TrimRecord]) {
        self.trims.extend_from_slice(trims);
        let last = trims.iter().map(|r| r.seq.plus(r.len - 1)).max();
        self.last_seq = self.last_seq.max(last.unwrap_or(Seq(0)));
    }

    /// Adds the content of a page that a segment names; `None` if it cannot be read, or does not exist any more.
    pub fn add_base(&mut self, ppa: Ppa, content: Option<(Lpa, u32, Seq)>) {
        self.bases.insert(ppa, content.map(|(lpa, version, seq)| (lpa, full(version, seq))));
    }

    /// Forgets the pages that the segments of the last round name.
    pub fn clear_bases(&mut self) {
        self.bases.clear();
    }

    /// Sorts the pages for lookups. All pages have been added.
    pub fn sort(&mut self) {
        self.found.sort_unstable();
    }

    /// Sabotage for tests: sorts as if the page programmed last were the right one.
    pub fn sort_wrongly(&mut self) {
        self.found.sort_unstable_by_key(|f| (f.lpa, f.seq));
    }

    /// Number of pages found.
    pub fn len(&self) -> usize {
        self.found.len()
    }

    /// The best page of each address of a map unit, if the map unit lacks it.
    pub fn missing_pages(&self, range: Range<u32>, on_flash: Seq) -> impl Iterator<Item = Found> {
        let first = self.found.partition_point(|f| f.lpa.0 < range.start);
        let last = self.found.partition_point(|f| f.lpa.0 < range.end);
        let pages = &self.found[first..last];
        let best = pages.iter().enumerate().filter(|(i, f)| pages.get(i + 1).is_none_or(|next| next.lpa != f.lpa));
        best.map(|(_, f)| *f).filter(move |f| f.seq > on_flash)
    }

    /// The trims that a map unit lacks: positions in it and sequence numbers.
    fn trims_of(&self, range: Range<u32>, on_flash: Seq) -> impl Iterator<Item = (usize, Seq)> {
        let within = move |r: &TrimRecord| {
            let first = r.lpa.0.max(range.start);
            let end = (r.lpa.0 + r.len).min(range.end);
            let begin = range.start;
            let start = r.lpa.0;
            let seq = r.seq;
            (first..end).map(move |lpa| ((lpa - begin) as usize, seq.plus(lpa - start)))
        };
        self.trims.iter().flat_map(within).filter(move |&(_, seq)| seq > on_flash)
    }

    /// True if a map unit that is complete up to `on_flash` lacks any change.
    pub fn concerns(&self, range: Range<u32>, on_flash: Seq) -> bool {
        self.missing_pages(range.clone(), on_flash).next().is_some() || self.trims_of(range, on_flash).next().is_some()
    }

    /// Corrects the packed entries of a map unit that is complete up to `on_flash`.
    pub fn correct(&self, range: Range<u32>, on_flash: Seq, image: &mut [u32]) {
        let mut trimmed = vec![Seq(0); image.len()];
        for (slot, seq) in self.trims_of(range.clone(), on_flash) {
            trimmed[slot] = trimmed[slot].max(seq);
        }
        let first = range.start;
        for page in self.missing_pages(range, on_flash) {
            let slot = (page.lpa.0 - first) as usize;
            if page.version > trimmed[slot] {
                trimmed[slot] = Seq(0);
                if self.wins(&page, on_flash, Ppa::unpack(image[slot])) {
                    image[slot] = Ppa::pack(Some(page.ppa));
                }
            }
        }
        for (entry, _) in image.iter_mut().zip(trimmed).filter(|(_, trim)| *trim > Seq(0)) {
            *entry = 0;
        }
    }

    /// True if the page is right, not the one that the segment names (`base`).
    fn wins(&self, page: &Found, on_flash: Seq, base: Option<Ppa>) -> bool {
        if page.version > on_flash {
            return true;
        }
        let Some(base) = base else { return false };
        match self.bases.get(&base).copied().flatten() {
            Some((lpa, version)) if lpa == page.lpa => version <= page.version,
            _ => true,
        }
    }
}

/// The number with these low bits that is not above `seq`.
fn full(low: u32, seq: Seq) -> Seq {
    Seq(seq.0.saturating_sub(u64::from(seq.wire().wrapping_sub(low))))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LPA: Lpa = Lpa(7);
    const ON_FLASH: Seq = Seq(100);

    /// The place of [`LPA`] after recovery. The segment names `base`, which holds version `base_version`, or does not
    /// exist any more if that is `None`. The log blocks hold `pages` of (version, number, place).
    fn place(base: Option<(u32, Option<u64>)>, pages: &[(u64, u64, u32)], trim: Option<u64>) -> Option<Ppa> {
        let mut evidence = Evidence::default();
        for &(version, seq, ppa) in pages {
            evidence.add_page(LPA, version as u32, Seq(seq), Ppa(ppa));
        }
        if let Some(seq) = trim {
            evidence.add_trims(&[TrimRecord { lpa: Lpa(5), len: 10, seq: Seq(seq - 2) }]);
        }
        let mut image = [0; 1024];
        if let Some((ppa, content)) = base {
            image[7] = Ppa::pack(Some(Ppa(ppa)));
            evidence.add_base(Ppa(ppa), content.map(|v| (LPA, v as u32, Seq(v))));
        }
        evidence.sort();
        evidence.correct(0..1024, ON_FLASH, &mut image);
        assert!(!evidence.concerns(0..1024, Seq(u64::MAX)));
        Ppa::unpack(image[7])
    }

    #[test]
    fn the_newest_version_is_right_and_of_copies_the_last() {
        assert_eq!(place(Some((1, Some(50))), &[(110, 110, 2), (105, 120, 3)], None), Some(Ppa(2)));
        assert_eq!(place(None, &[(110, 110, 2), (110, 130, 3)], None), Some(Ppa(3)));
    }

    #[test]
    fn what_the_segment_has_seen_changes_nothing() {
        assert_eq!(place(Some((1, Some(90))), &[(80, 80, 2), (90, 90, 1)], None), Some(Ppa(1)));
    }

    #[test]
    fn a_copy_of_what_the_segment_names_replaces_it() {
        assert_eq!(place(Some((1, Some(50))), &[(50, 120, 2)], None), Some(Ppa(2)), "both are there");
        assert_eq!(place(Some((1, None)), &[(50, 120, 2)], None), Some(Ppa(2)), "the source is erased");
    }

    #[test]
    fn pages_that_segments_name_take_memory_for_one_round() {
        let mut evidence = Evidence::default();
        for round in 1..=3 {
            evidence.clear_bases();
            (0..4).for_each(|at| evidence.add_base(Ppa(10 * round + at), Some((LPA, 60, Seq(60)))));
            assert_eq!(evidence.bases.len(), 4);
        }
    }

    #[test]
    fn a_copy_of_what_was_replaced_or_trimmed_before_is_worth_nothing() {
        assert_eq!(place(Some((1, Some(60))), &[(50, 120, 2)], None), Some(Ppa(1)));
        assert_eq!(place(None, &[(50, 120, 2)], None), None);
        assert_eq!(place(None, &[(100, 120, 2)], None), None, "of the last change that the segment has seen");
    }

    #[test]
    fn the_last_number_is_that_of_a_page_or_of_the_last_unit_of_a_trim() {
        let mut evidence = Evidence::default();
        evidence.add_trims(&[TrimRecord { lpa: LPA, len: 3, seq: Seq(10) }]);
        assert_eq!(evidence.last_seq, Seq(12));
        evidence.add_page(LPA, 11, Seq(11), Ppa(1));
        assert_eq!(evidence.last_seq, Seq(12));
        evidence.add_page(LPA, 20, Seq(20), Ppa(2));
        assert_eq!((evidence.last_seq, evidence.len()), (Seq(20), 2));
    }

    #[test]
    fn a_trim_ends_what_was_written_before_it() {
        assert_eq!(place(Some((1, Some(50))), &[], Some(110)), None);
        assert_eq!(place(Some((1, Some(50))), &[(105, 105, 2)], Some(110)), None);
        assert_eq!(place(Some((1, Some(50))), &[(105, 140, 2)], Some(110)), None, "also a copy made later");
        assert_eq!(place(Some((1, Some(50))), &[(115, 115, 2)], Some(110)), Some(Ppa(2)));
        for seen in [90, 100] {
            assert_eq!(place(Some((1, Some(50))), &[], Some(seen)), Some(Ppa(1)), "the segment has seen it");
        }
    }

    #[test]
    fn versions_are_compared_beyond_the_wrap_of_their_wire_form() {
        let wrap = 1u64 << 32;
        assert_eq!(full(u32::MAX, Seq(wrap + 5)), Seq(wrap - 1));
        assert_eq!(full(3, Seq(wrap + 5)), Seq(wrap + 3));
        assert_eq!(full(5, Seq(5)), Seq(5));
    }
}
