//! The changes that a map flush writes: those of the log up to a number, one for each address, by map unit.
//!
//! A flush that runs beside commands can not wait until no program is in flight. So it covers the changes up to a
//! *cut*: the number before the first one that is still in flight. All changes up to the cut are known, and the map
//! units become what the table was at the cut. Later changes may be in the log already, because programs finish out of
//! order. They stay there. If one of them has replaced an earlier change of its address in the log's index, the flush
//! takes the earlier one from the entries, because a power cut may lose the later one, if it is a trim.

use units::{Lpa, Ppa, Seq, Superblock};

use ftl::seat::{Change, Core};

units::kinds! {
    /// Order in which a flush takes the map units with changes.
    pub Order {
        /// That in which the log names them first.
        Log = "log";
        /// That of their addresses. The index for sorting takes 2 bytes of SRAM for each entry of the log.
        Address = "address";
    }
}

/// One effective change of the log.
#[derive(Clone, Copy, Hash, Debug)]
pub struct Update {
    /// Position of its map unit among those that the log names.
    pub rank: u32,
    pub lpa: Lpa,
    pub ppa: Option<Ppa>,
    pub source: Option<Superblock>,
    /// False for a copy that the host has overtaken.
    pub holds: bool,
}

/// Sorts updates by rank and address into `sorted`. `starts` has the number of updates of each rank, and is
/// overwritten. Ranks are dense, so counting takes a fraction of the time of a sort that compares.
pub fn order(updates: &[Update], starts: &mut [u32], sorted: &mut Vec<Update>) {
    let mut next = 0;
    for start in &mut *starts {
        next += std::mem::replace(start, next);
    }
    sorted.clear();
    sorted.extend_from_slice(updates);
    for update in updates {
        let at = &mut starts[update.rank as usize];
        sorted[*at as usize] = *update;
        *at += 1;
    }
    for of_unit in sorted.chunk_by_mut(|a, b| a.rank == b.rank) {
        of_unit.sort_unstable_by_key(|update| update.lpa);
    }
}

/// The changes of a flush.
#[cfg_attr(feature = "explore", derive(Clone, Hash))]
#[derive(Debug)]
pub struct Updates {
    order: Order,
    /// By map unit and address.
    pub sorted: Vec<Update>,
    /// The updates as the log has them, and where those of each map unit begin, while they are being sorted.
    unsorted: Vec<Update>,
    starts: Vec<u32>,
    /// Changes up to the cut of addresses that have later ones in the log.
    followed: Vec<Change>,
    /// Per map unit: the last flush that changed it, and its position in that flush. An index of the simulator;
    /// firmware would sort the log.
    seen: Vec<(u32, u32)>,
    flush_number: u32,
}

impl Updates {
    /// No updates, of a table of so many map units.
    pub fn new(order: Order, map_units: u32) -> Updates {
        Updates {
            order,
            sorted: Vec::new(),
            unsorted: Vec::new(),
            starts: Vec::new(),
            followed: Vec::new(),
            seen: vec![(0, 0); map_units as usize],
            flush_number: 0,
        }
    }

    /// True if they are sorted by address, for which firmware needs an index.
    pub fn is_by_address(&self) -> bool {
        self.order == Order::Address
    }

    /// Collects the changes up to the cut that hold, and sorts them. Calls `named` for the superblock of every place
    /// that the log names up to there.
    pub fn collect(&mut self, core: &Core, cut: Seq, mut named: impl FnMut(Superblock)) {
        self.unsorted.clear();
        self.starts.clear();
        self.flush_number += 1;
        for entry in core.log().entries_up_to(cut) {
            for i in 0..u32::from(entry.len) {
                let (lpa, seq) = (entry.lpa.offset(i), entry.seq.plus(i));
                let ppa = entry.ppa.map(|first| first.offset(i));
                if let Some(ppa) = ppa {
                    named(core.superblock_of(ppa));
                }
                match core.log().get(lpa) {
                    Some(logged) if logged.seq == seq => self.add(core, lpa, logged.ppa, logged.source),
                    Some(logged) if logged.seq > cut => {
                        self.rank(core, lpa);
                        self.followed.push(Change { lpa, ppa, seq, source: entry.source });
                    }
                    // Another change up to the cut holds, or this is a copy that did not hold when it was logged.
                    _ => {}
                }
            }
        }
        self.add_followed(core);
        match self.order {
            Order::Log => order(&self.unsorted, &mut self.starts, &mut self.sorted),
            Order::Address => {
                std::mem::swap(&mut self.sorted, &mut self.unsorted);
                self.sorted.sort_unstable_by_key(|update| update.lpa);
            }
        }
    }

    /// The position of an address's map unit.
    #[inline]
    fn rank(&mut self, core: &Core, lpa: Lpa) -> u32 {
        let seen = &mut self.seen[core.units().of(lpa).index()];
        if seen.0 != self.flush_number {
            *seen = (self.flush_number, self.starts.len() as u32);
            self.starts.push(0);
        }
        seen.1
    }

    #[inline]
    fn add(&mut self, core: &Core, lpa: Lpa, ppa: Option<Ppa>, source: Option<Superblock>) {
        let rank = self.rank(core, lpa);
        self.starts[rank as usize] += 1;
        self.unsorted.push(Update { rank, lpa, ppa, source, holds: true });
    }

    /// Adds the change at the cut of each address that has later ones. A copy that comes after another of these changes
    /// was overtaken by it, because GC collects no superblock that the log names.
    fn add_followed(&mut self, core: &Core) {
        let mut followed = std::mem::take(&mut self.followed);
        followed.sort_unstable_by_key(|change| (change.lpa, change.seq));
        for of_address in followed.chunk_by(|a, b| a.lpa == b.lpa) {
            let last = of_address.iter().rfind(|change| change.source.is_none()).unwrap_or(&of_address[0]);
            self.add(core, last.lpa, last.ppa, last.source);
        }
        followed.clear();
        self.followed = followed;
    }
}
