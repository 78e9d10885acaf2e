//! Superblocks that the device is filling, and those that recovery has to scan.

use units::Superblock;

use crate::core::Core;
use crate::space::blocks::Stream;

/// Log blocks: superblocks whose changes are not all in segments on flash. Recovery scans them, so their number limits
/// how long recovery takes.
pub trait Placement {
    /// True if the stream may open another superblock.
    fn may_open(&mut self, core: &mut Core, stream: Stream) -> bool;

    /// A stream has opened a superblock.
    fn opened(&mut self, core: &mut Core, sb: Superblock) {
        let _ = (core, sb);
    }

    /// The engine has submitted `n` units for programming in this superblock.
    fn placed(&mut self, sb: Superblock, n: u32) {
        let _ = (sb, n);
    }

    /// The program of `n` units in this superblock has failed. The engine places them elsewhere.
    fn unplaced(&mut self, sb: Superblock, n: u32) {
        let _ = (sb, n);
    }

    /// True if the host data of a row are to be programmed in the order of their addresses, not of their arrival.
    /// [`Reclaim::copies_in_order`](super::Reclaim::copies_in_order) says the same of copies by GC.
    fn rows_in_order(&self) -> bool {
        false
    }

    /// The log blocks, open superblocks included.
    fn log_blocks(&self, core: &Core) -> Vec<Superblock>;
}

/// Marks a scheme without log blocks: any number of superblocks may be open or full.
pub trait NoPlacement {}

impl<M: NoPlacement> Placement for M {
    #[inline(always)]
    fn may_open(&mut self, _core: &mut Core, _stream: Stream) -> bool {
        true
    }

    fn log_blocks(&self, _core: &Core) -> Vec<Superblock> {
        Vec::new()
    }
}
