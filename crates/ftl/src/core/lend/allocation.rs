//! Data superblocks.

use nand::Layout;
use units::Superblock;

use crate::core::Core;
use crate::space::blocks::{Blocks, Stream};

impl Core {
    /// Address arithmetic.
    #[inline(always)]
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// The data superblocks: state, use and wear.
    #[inline(always)]
    pub fn blocks(&self) -> &Blocks {
        &self.blocks
    }

    /// True if the stream may open one more superblock beside the `log_blocks`, whose number limits how long recovery
    /// takes. The last one is left to GC, without which nothing becomes free.
    pub fn log_block_fits(&self, log_blocks: usize, stream: Stream) -> bool {
        let for_gc = stream == Stream::Host && self.blocks.open(Stream::Gc).is_none();
        log_blocks + usize::from(for_gc) < usize::from(self.cfg.log.max_log_blocks)
    }

    /// True if copies that wait for a full row come from this superblock.
    pub fn is_being_copied(&self, sb: Superblock) -> bool {
        self.waiting_sources.contains(&sb)
    }

    /// True if GC goes on in idle time, as far as the device knows.
    pub fn collects_when_idle(&self) -> bool {
        self.cfg.gc.idle.is_some_and(|idle| self.blocks.free() < idle.until && !self.idle_gc_is_futile)
    }

    /// The superblock is empty, but only by trims that a power cut may still lose. Recovery has to scan it until the
    /// trims are safe.
    pub fn hold_for_trims(&mut self, sb: Superblock) {
        self.trims.hold(sb, self.next_seq());
    }
}
