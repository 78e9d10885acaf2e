//! What the simulator knows and firmware does not.

use nand::{Nand, Sensed};
use units::{Lpa, Ppa, SegmentId, Seq};

use super::pages::Pages;
use super::proof::Loaded;

/// Shortcuts of the simulator. Each stands for knowledge that firmware has, in another form or at another moment, and
/// has paid for; the method says why. There are no others.
///
/// The engine alone asks it. What schemes get of it are methods of [`Core`](crate::engine::core::Core), each for one
/// purpose and with conditions.
#[derive(Clone, Copy, Debug)]
pub struct Truth<'a> {
    nand: &'a Nand,
    pages: &'a Pages,
}

impl<'a> Truth<'a> {
    /// About these pages and what was programmed.
    pub(crate) fn new(nand: &'a Nand, pages: &'a Pages) -> Truth<'a> {
        Truth { nand, pages }
    }

    /// Address and place of every unit of user data in the `units` units from `first` on.
    ///
    /// It stands for the segment bitmap of a superblock, which names the same segments and is read before the result is
    /// used; and for the spare areas of a portion of a victim, which are read before the result is used.
    pub(crate) fn addresses(&self, first: Ppa, units: u32) -> Vec<(Lpa, Ppa)> {
        let mut found = Vec::with_capacity(units as usize);
        for ppa in (0..units).map(|i| first.offset(i)) {
            if let (Sensed::Unit(spare), _) = self.nand.observe(ppa) {
                found.push((Lpa(spare.lpa), ppa));
            }
        }
        found
    }

    /// The entry on flash of an address whose page GC has found valid with the map unit in SRAM, and has read since.
    ///
    /// Firmware keeps the list of the pages found. An entry on flash changes only in a map flush, which sees the old
    /// entry and can take its page off the list. So the list tells what the entry tells.
    #[inline]
    pub(crate) fn entry_when_found(&self, lpa: Lpa) -> Option<Ppa> {
        self.pages.entry(lpa)
    }

    /// An entry in the entry cache of `segment-log`, which keeps no values.
    ///
    /// The entry was copied from a map unit that had been read. A map flush changes both.
    #[inline]
    pub(crate) fn cached_entry(&self, lpa: Lpa) -> Option<Ppa> {
        self.pages.entry(lpa)
    }

    /// A map unit in the buffer in which the entries of an HPB group come together.
    ///
    /// Each unit of the group was read or was in the segment cache when the command began, and was copied to that
    /// buffer. A map flush that changes it meanwhile changes it in SRAM.
    pub(crate) fn in_group_buffer(&self, unit: SegmentId) -> Loaded {
        Loaded::by_argument(unit)
    }

    /// A part of a segment that was in the segment cache when a host asked for the segment, and has left since, while
    /// other parts were read.
    ///
    /// Firmware copies it to the buffer of the command when the command begins.
    pub(crate) fn copied_for_command(&self, unit: SegmentId) -> Loaded {
        Loaded::by_argument(unit)
    }

    /// A map unit that was in the segment cache when a search planned to use it, and may leave while others are read.
    ///
    /// Firmware looks the addresses of the plan up when it finds the unit in the cache, and keeps one bit for each. No
    /// entry on flash changes during the search, which is an exclusive job.
    pub(crate) fn searched_in_cache(&self, cached: &Loaded) -> Loaded {
        Loaded::by_argument(cached.unit())
    }

    /// Up to which change a map unit on flash is complete, after a power cut.
    ///
    /// The number stands in the snapshot of the directory, or in the spare area of the map unit. Recovery has read both
    /// when it asks: the snapshot, and everything that was programmed since.
    pub(crate) fn number_on_flash(&self, unit: SegmentId) -> Seq {
        self.pages.seq(unit)
    }
}
