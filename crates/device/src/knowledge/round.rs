//! Map units that a job works on together.

use units::{Ppa, SegmentId};

use super::proof::{Expected, JobRead, JobReads, Loaded, PiecesRead};
use crate::directory::{Directory, Piece};

/// How units that share a flash unit are read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sharing {
    /// One read for all of them, in the order in which the places are first named.
    InOrder,
    /// One read for all of them, in order of place.
    ByPlace,
    /// One read for those that follow each other.
    IfAdjacent,
}

#[derive(Debug)]
enum Content {
    /// To be read, and with which read of the job.
    Missing(Expected, Option<JobRead>),
    /// In a buffer of the job.
    Here(Loaded),
    /// In a cache that the scheme keeps itself.
    Elsewhere(SegmentId),
}

/// Map units that a job brings to SRAM together, in the order in which they were added.
#[derive(Debug, Default)]
pub struct Round {
    units: Vec<Content>,
}

impl Round {
    /// Gives all units up.
    pub fn clear(&mut self) {
        self.units.clear();
    }

    /// Number of units.
    pub fn len(&self) -> usize {
        self.units.len()
    }

    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.units.is_empty()
    }

    /// Adds a unit whose content is known.
    pub fn add_loaded(&mut self, loaded: Loaded) {
        self.units.push(Content::Here(loaded));
    }

    /// Adds a unit that the scheme holds in a cache of its own. There is no proof for it here.
    pub fn add_elsewhere(&mut self, unit: SegmentId) {
        self.units.push(Content::Elsewhere(unit));
    }

    /// Adds a unit that stands where the directory says. Gives that place if it has to be read.
    pub fn add(&mut self, directory: &Directory, unit: SegmentId) -> Option<Ppa> {
        let expected = Expected::new(directory, unit);
        let place = expected.place();
        self.units.push(match expected.unwritten() {
            Some(loaded) => Content::Here(loaded),
            None => Content::Missing(expected, None),
        });
        place
    }

    /// Submits the reads of the units that are missing; `submit` does it for a place. Gives the number of reads.
    pub fn read(&mut self, sharing: Sharing, mut submit: impl FnMut(Ppa) -> JobRead) -> u64 {
        if sharing == Sharing::IfAdjacent {
            return self.read_in_order(submit);
        }
        let mut missing: Vec<(Ppa, usize)> = Vec::with_capacity(self.units.len());
        for (i, content) in self.units.iter().enumerate() {
            if let Content::Missing(expected, None) = content {
                missing.extend(expected.place().map(|ppa| (ppa, i)));
            }
        }
        if sharing == Sharing::ByPlace {
            missing.sort_unstable();
        }
        let mut submitted: Vec<(Ppa, JobRead)> = Vec::new();
        for (ppa, i) in missing {
            let last = submitted.last().filter(|(place, _)| *place == ppa);
            let shared = last.or_else(|| submitted.iter().find(|(place, _)| *place == ppa));
            let read = match shared {
                Some(&(_, read)) => read,
                None => {
                    let read = submit(ppa);
                    submitted.push((ppa, read));
                    read
                }
            };
            if let Content::Missing(_, of) = &mut self.units[i] {
                *of = Some(read);
            }
        }
        submitted.len() as u64
    }

    /// The same where one read serves only those that follow each other.
    fn read_in_order(&mut self, mut submit: impl FnMut(Ppa) -> JobRead) -> u64 {
        let (mut reads, mut last) = (0, None);
        for content in &mut self.units {
            let Content::Missing(expected, of @ None) = content else { continue };
            let Some(ppa) = expected.place() else { continue };
            let read = match last {
                Some((place, read)) if place == ppa => read,
                _ => {
                    reads += 1;
                    submit(ppa)
                }
            };
            last = Some((ppa, read));
            *of = Some(read);
        }
        reads
    }

    /// All reads of the job are done: every unit is here.
    ///
    /// # Panics
    /// If the read of a unit is not among `reads`.
    pub fn arrive(&mut self, reads: &JobReads, flash_units: u32) {
        for content in &mut self.units {
            if let Content::Missing(expected, read) = content {
                let loaded = read.and_then(|read| expected.arrived_with(reads, read, flash_units));
                *content = Content::Here(loaded.unwrap_or_else(|| panic!("{expected:?} has not been read")));
            }
        }
    }

    /// The same for reads of recovery.
    pub fn arrive_with(&mut self, reads: &PiecesRead, flash_units: u32) {
        for content in &mut self.units {
            if let Content::Missing(expected, _) = content {
                let loaded = expected.among(reads, flash_units);
                *content = Content::Here(loaded.unwrap_or_else(|| panic!("{expected:?} has not been read")));
            }
        }
    }

    /// Keeps the units for which `keep` holds. All are here.
    pub fn retain(&mut self, keep: impl Fn(&Loaded) -> bool) {
        self.units.retain(|content| match content {
            Content::Here(loaded) => keep(loaded),
            Content::Missing(..) | Content::Elsewhere(_) => true,
        });
    }

    /// All units, in order.
    pub fn units(&self) -> impl Iterator<Item = SegmentId> {
        self.units.iter().map(|content| match content {
            Content::Missing(expected, _) => expected.unit(),
            Content::Here(loaded) => loaded.unit(),
            Content::Elsewhere(unit) => *unit,
        })
    }

    /// Their pieces.
    pub fn pieces(&self) -> Vec<Piece> {
        self.units().map(Piece::of).collect()
    }

    /// The units that are here, in order.
    pub fn loaded(&self) -> impl Iterator<Item = &Loaded> {
        self.units.iter().filter_map(|content| match content {
            Content::Missing(..) | Content::Elsewhere(_) => None,
            Content::Here(loaded) => Some(loaded),
        })
    }

    /// The proof for a unit, which is at position `at` or behind it. `at` moves there.
    ///
    /// # Panics
    /// If the unit is not here.
    #[inline]
    pub fn from(&self, at: &mut usize, unit: SegmentId) -> &Loaded {
        loop {
            match self.units.get(*at) {
                Some(Content::Here(loaded)) if loaded.unit() == unit => return loaded,
                Some(_) => *at += 1,
                None => panic!("{unit} is not in SRAM"),
            }
        }
    }

    /// The proof for a unit, if it is here, where units are in ascending order. `at` moves there, and units are asked
    /// for in ascending order.
    pub fn seek(&self, at: &mut usize, unit: SegmentId) -> Option<&Loaded> {
        loop {
            match self.units.get(*at)? {
                Content::Here(loaded) if loaded.unit() < unit => *at += 1,
                Content::Here(loaded) => return Some(loaded).filter(|loaded| loaded.unit() == unit),
                Content::Missing(..) | Content::Elsewhere(_) => *at += 1,
            }
        }
    }

    /// The proof for a unit, if it is here.
    pub fn find(&self, unit: SegmentId) -> Option<&Loaded> {
        self.loaded().find(|loaded| loaded.unit() == unit)
    }
}
