//! Whole map units being written as part of an exclusive job.

use units::{Ppa, SegmentId, Seq};

use crate::engine::core::Core;
use crate::meta::Piece;

/// Map units on their way to flash with their entries, packed, and the last change that they hold.
#[derive(Debug, Default)]
pub struct Round {
    images: Vec<(SegmentId, Vec<u32>)>,
    seq: Seq,
}

impl Round {
    /// Programs map units. They become the content of their pages with [`Round::finish`].
    pub fn write(&mut self, core: &mut Core, images: Vec<(SegmentId, Vec<u32>)>, seq: Seq) {
        let pieces: Vec<Piece> = images.iter().map(|(segment, _)| core.meta().segment_piece(*segment)).collect();
        (self.images, self.seq) = (images, seq);
        core.program_map_units(&pieces);
    }

    /// The programs are over; the pieces `lost` did not make it.
    pub fn finish(&mut self, core: &mut Core, lost: &[(Piece, Ppa)]) {
        for (segment, image) in self.images.drain(..) {
            let piece = core.meta().segment_piece(segment);
            if !lost.iter().any(|&(gone, _)| gone == piece) {
                core.segment_written(segment, self.seq);
                let range = core.units().range(segment);
                core.set_entries(range, &image);
            }
        }
    }
}
