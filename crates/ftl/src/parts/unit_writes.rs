//! Writing whole map units in an exclusive job.

use units::{MapUnit, Seq};

use crate::core::Core;
use crate::knowledge::ProgrammedSet;
use crate::table::directory::Piece;

/// Map units being programmed, with their entries, packed, and the number up to which they are complete.
#[cfg_attr(feature = "explore", derive(Clone, Hash))]
#[derive(Debug, Default)]
pub struct UnitWrites {
    images: Vec<(MapUnit, Vec<u32>)>,
    seq: Seq,
}

impl UnitWrites {
    /// Programs map units. They become the content of their pages with [`UnitWrites::finish`].
    pub fn write(&mut self, core: &mut Core, images: Vec<(MapUnit, Vec<u32>)>, seq: Seq) {
        let pieces: Vec<Piece> = images.iter().map(|(segment, _)| Piece::of(*segment)).collect();
        (self.images, self.seq) = (images, seq);
        core.program_map_units(&pieces);
    }

    /// The programs have ended. Makes the map units that are on flash the content of their pages.
    pub fn finish(&mut self, core: &mut Core, programmed: &ProgrammedSet) {
        let mut at = 0;
        for (segment, image) in self.images.drain(..) {
            if let Some(programmed) = programmed.next(&mut at, Piece::of(segment)) {
                core.segment_written(programmed, self.seq);
                core.set_unit(programmed, &image);
            }
        }
    }
}
