//! The directory after a power cut: the places in the snapshot, replaced by those found in what was programmed since.

use units::Ppa;

use super::state::Recovery;
use crate::core::Core;
use crate::sabotage::Sabotage;
use crate::table::directory::Piece;

/// Places of all pieces, packed.
pub(super) struct Places {
    /// The directory.
    pub(super) all: Vec<u32>,
    /// Where the number of each map unit is stored: with the copy that the directory names.
    pub(super) numbered: Vec<u32>,
}

impl Recovery {
    /// The places of all pieces, from those `in_snapshot`, packed.
    pub(super) fn places(&self, core: &Core, in_snapshot: Vec<u32>) -> Places {
        let mut all = in_snapshot.clone();
        for (&piece, &(_, ppa)) in self.newest.range(..core.meta.pieces()) {
            all[piece as usize] = Ppa::pack(Some(ppa));
        }
        for (place, piece) in all.iter_mut().zip((0..).map(Piece)) {
            if self.is_gone(core, piece, *place) {
                *place = 0;
            }
        }
        match core.cfg.sabotage {
            Some(Sabotage::StaleDirectory) => {
                let all = stale(core, all, in_snapshot);
                Places { numbered: all.clone(), all }
            }
            Some(Sabotage::DoubledSegment) => Places { numbered: all.clone(), all: stale(core, all, in_snapshot) },
            _ => Places { numbered: all.clone(), all },
        }
    }

    /// True for a piece that was dropped after the snapshot, if the superblock in which the snapshot names it was
    /// erased since.
    fn is_gone(&self, core: &Core, piece: Piece, place: u32) -> bool {
        if !core.meta.kind(piece).can_be_dropped() || self.newest.contains_key(&piece.0) {
            return false;
        }
        let Some(sb) = Ppa::unpack(place).map(|ppa| core.superblock_of(ppa)) else { return false };
        self.next.contains(&sb) || self.firsts.iter().any(|first| first.blank && first.sb == sb)
    }
}

/// Sabotage: the places found, but each map unit in the snapshot stays where the snapshot names it.
fn stale(core: &Core, mut found: Vec<u32>, in_snapshot: Vec<u32>) -> Vec<u32> {
    let map_units = found.iter_mut().zip(in_snapshot).take(core.meta.units().count() as usize);
    map_units.filter(|(_, old)| *old != 0).for_each(|(place, old)| *place = old);
    found
}
