//! The directory after a power cut: the places in the snapshot, replaced by those found in what was programmed since.

use units::Ppa;

use super::state::Recovery;
use crate::directory::Piece;
use crate::engine::core::Core;
use crate::sabotage::Sabotage;

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
        let is_sabotaged = |promise| core.sabotaged(promise);
        if !is_sabotaged(Sabotage::StaleDirectory) && !is_sabotaged(Sabotage::DoubledSegment) {
            return Places { numbered: all.clone(), all };
        }
        let found = all.clone();
        let map_units = all.iter_mut().zip(in_snapshot).take(core.meta.units().count() as usize);
        map_units.filter(|(_, old)| *old != 0).for_each(|(place, old)| *place = old);
        Places { numbered: if is_sabotaged(Sabotage::DoubledSegment) { found } else { all.clone() }, all }
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
