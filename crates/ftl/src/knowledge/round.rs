//! Map units that a job works on together.

use units::{Lpa, MapUnit, Ppa};

use super::pages::Pages;
use super::proof::{Expected, JobRead, JobReads, Loaded, PiecesRead};
use crate::table::directory::{Directory, Piece};
use crate::table::map_units::MapUnits;

/// How units that share a flash unit are read.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Sharing {
    /// One read for all of them, in the order in which the places are first named.
    InOrder,
    /// One read for all of them, in order of place.
    ByPlace,
    /// One read for those that are adjacent in the round.
    IfAdjacent,
}

#[cfg_attr(feature = "explore", derive(Clone, Hash))]
#[derive(Debug)]
enum Content {
    /// Has to be read; the number of its read, once that is submitted.
    Missing(Expected, Option<JobRead>),
    /// In a buffer of the job.
    Loaded(Loaded),
    /// In a cache that belongs to the scheme.
    SchemeCache(MapUnit),
}

/// Map units that a job brings to SRAM together, in the order in which they were added.
#[cfg_attr(feature = "explore", derive(Clone, Hash))]
#[derive(Debug, Default)]
pub struct Round {
    units: Vec<Content>,
}

impl Round {
    /// Removes all units.
    pub fn clear(&mut self) {
        self.units.clear();
    }

    /// Number of units.
    pub fn len(&self) -> usize {
        self.units.len()
    }

    /// True if the round has no units.
    pub fn is_empty(&self) -> bool {
        self.units.is_empty()
    }

    /// Adds a unit that is in SRAM.
    pub fn add_loaded(&mut self, loaded: Loaded) {
        self.units.push(Content::Loaded(loaded));
    }

    /// Adds a unit that the scheme has in its own cache. The round has no proof for it.
    pub fn add_in_scheme_cache(&mut self, unit: MapUnit) {
        self.units.push(Content::SchemeCache(unit));
    }

    /// Adds a unit at its place in the directory. Gives that place if the unit has to be read.
    pub fn add(&mut self, directory: &Directory, unit: MapUnit) -> Option<Ppa> {
        let expected = Expected::new(directory, unit);
        let place = expected.place();
        self.units.push(match expected.unwritten() {
            Some(loaded) => Content::Loaded(loaded),
            None => Content::Missing(expected, None),
        });
        place
    }

    /// Submits the reads of the missing units; `submit` submits one for a place. Gives the number of reads.
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

    /// Submits the reads of the missing units. One read serves only adjacent units.
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

    /// Turns all missing units into loaded ones: all reads of the job are done.
    ///
    /// # Panics
    /// If the read of a unit is not among `reads`, or shows something else.
    pub fn arrive(&mut self, reads: &JobReads, flash_units: u32, pages: &Pages) {
        for content in &mut self.units {
            if let Content::Missing(expected, read) = content {
                let loaded = read.and_then(|read| expected.arrived_with(reads, read, flash_units, pages));
                *content = Content::Loaded(loaded.unwrap_or_else(|| panic!("{expected:?} has not been read")));
            }
        }
    }

    /// Turns all missing units into loaded ones, with reads of recovery.
    ///
    /// # Panics
    /// If a unit has not been read, or the reads show something else.
    pub fn arrive_with(&mut self, reads: &PiecesRead, flash_units: u32, pages: &Pages) {
        for content in &mut self.units {
            if let Content::Missing(expected, _) = content {
                let loaded = expected.among(reads, flash_units, pages);
                *content = Content::Loaded(loaded.unwrap_or_else(|| panic!("{expected:?} has not been read")));
            }
        }
    }

    /// Keeps the loaded units for which `keep` holds. No unit may be missing.
    pub fn retain(&mut self, keep: impl Fn(&Loaded) -> bool) {
        self.units.retain(|content| match content {
            Content::Loaded(loaded) => keep(loaded),
            Content::Missing(..) | Content::SchemeCache(_) => true,
        });
    }

    /// All units, in order.
    pub fn units(&self) -> impl Iterator<Item = MapUnit> {
        self.units.iter().map(|content| match content {
            Content::Missing(expected, _) => expected.unit(),
            Content::Loaded(loaded) => loaded.unit(),
            Content::SchemeCache(unit) => *unit,
        })
    }

    /// The pieces of all units, in order.
    pub fn pieces(&self) -> Vec<Piece> {
        self.units().map(Piece::of).collect()
    }

    /// The units in buffers of the job, in order.
    pub fn loaded(&self) -> impl Iterator<Item = &Loaded> {
        self.units.iter().filter_map(|content| match content {
            Content::Missing(..) | Content::SchemeCache(_) => None,
            Content::Loaded(loaded) => Some(loaded),
        })
    }

    /// The proof for a unit, which must be at position `at` or after it. Moves `at` there.
    ///
    /// # Panics
    /// If the unit is not in a buffer of the job.
    #[inline]
    pub fn from(&self, at: &mut usize, unit: MapUnit) -> &Loaded {
        loop {
            match self.units.get(*at) {
                Some(Content::Loaded(loaded)) if loaded.unit() == unit => return loaded,
                Some(_) => *at += 1,
                None => panic!("{unit} is not in SRAM"),
            }
        }
    }

    /// Adds the entries of addresses whose map units are in buffers of the job to `found`. The addresses have the order
    /// of the units.
    ///
    /// Nearly always these units are the newest copies on flash. Then the loop has nothing to wait for: the entries are
    /// spread over the memory of the simulator, and the processor can fetch many of them at once.
    ///
    /// # Panics
    /// If the map unit of an address is not in a buffer of the job.
    pub fn look_up(
        &self,
        pages: &Pages,
        units: MapUnits,
        addresses: impl Iterator<Item = Lpa>,
        found: &mut Vec<Option<Ppa>>,
    ) {
        let mut at = 0;
        if self.loaded().all(|loaded| pages.has_newest(loaded)) {
            found.extend(addresses.map(|lpa| {
                self.from(&mut at, units.of(lpa));
                pages.entry(lpa)
            }));
        } else {
            found.extend(addresses.map(|lpa| pages.view(self.from(&mut at, units.of(lpa))).entry(lpa)));
        }
    }

    /// The proof for a unit, if it is in a buffer of the job. Moves `at` there. Units must be in ascending order, and
    /// asked for in ascending order.
    pub fn seek(&self, at: &mut usize, unit: MapUnit) -> Option<&Loaded> {
        loop {
            match self.units.get(*at)? {
                Content::Loaded(loaded) if loaded.unit() < unit => *at += 1,
                Content::Loaded(loaded) => return Some(loaded).filter(|loaded| loaded.unit() == unit),
                Content::Missing(..) | Content::SchemeCache(_) => *at += 1,
            }
        }
    }

    /// The proof for a unit, if it is in a buffer of the job.
    pub fn find(&self, unit: MapUnit) -> Option<&Loaded> {
        self.loaded().find(|loaded| loaded.unit() == unit)
    }
}
