//! Data superblocks.

use std::ops::Range;

use nand::Layout;
use units::{Nanos, Ppa, Superblock};

use crate::core::Core;
use crate::space::blocks::{Blocks, Stream};
use crate::space::gc::Reason;

impl Core {
    /// Address arithmetic.
    #[inline(always)]
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// True if user data can be on these `n` pages. Every address that a host supplies has to be checked with it.
    #[inline]
    pub fn is_data(&self, ppa: Ppa, n: u32) -> bool {
        let units = u64::from(self.blocks.count()) * u64::from(self.layout.superblock_units());
        u64::from(ppa.0) + u64::from(n) <= units
    }

    /// Least erases of a data superblock.
    pub(crate) fn min_erases(&self) -> u32 {
        let all = (0..self.blocks.count()).map(Superblock);
        all.map(|sb| self.nand.erase_count(sb)).min().unwrap_or(0)
    }

    /// The pages that are always programmed together with a page of user data, itself included.
    #[inline]
    pub fn programmed_together(&self, ppa: Ppa) -> Range<u32> {
        self.nand.together(ppa)
    }

    /// The data superblocks: state, use and wear.
    #[inline(always)]
    pub fn blocks(&self) -> &Blocks {
        &self.blocks
    }

    /// True if the stream may open one more superblock beside the `log_blocks`, whose number limits how long recovery
    /// takes. The last one is left to GC, without which nothing becomes free, and by hot data one to other host data,
    /// too.
    pub fn log_block_fits(&self, log_blocks: usize, stream: Stream) -> bool {
        let before: &[Stream] = match stream {
            Stream::Gc => &[],
            Stream::Host => &[Stream::Gc],
            Stream::HotHost | Stream::HotGc => &[Stream::Gc, Stream::Host],
        };
        let left = before.iter().filter(|&&other| self.blocks.open(other).is_none()).count();
        log_blocks + left < usize::from(self.cfg.log.max_log_blocks)
    }

    /// True if copies that wait for a full row come from this superblock.
    pub fn is_being_copied(&self, sb: Superblock) -> bool {
        self.waiting_sources.contains(&sb)
    }

    /// True if GC goes on in idle time, as far as the device knows.
    #[inline]
    pub fn collects_when_idle(&self) -> bool {
        self.has_more_occasions && self.idle_gc_wanted().is_some()
    }

    /// While a scheme is told that GC is starved: what it can not collect are superblocks to be folded for a host, and
    /// a map flush may be all that they wait for.
    pub fn fold_waits(&self) -> bool {
        self.fold_waits
    }

    /// What GC is wanted for in idle time, and how long the device has to be idle for it, as far as the device knows.
    pub(crate) fn idle_gc_wanted(&self) -> Option<(Reason, Nanos)> {
        if !self.cfg.works_in_idle_time() {
            return None;
        }
        let short = self.cfg.gc.idle.filter(|idle| !self.futile.collect && self.blocks.free() < idle.until);
        let idle = short.map(|idle| (Reason::Idle, idle.after));
        let fold = self.folds_after().filter(|_| !self.futile.fold).map(|after| (Reason::Fold, after));
        idle.into_iter().chain(fold).min_by_key(|&(_, after)| after)
    }

    /// The superblock that is to be refreshed next, if all of it is on flash.
    pub(crate) fn refresh_due(&self) -> Option<Superblock> {
        self.disturb.as_ref()?.due(|sb| self.blocks.settled(sb))
    }

    /// The superblock is empty, but only by trims that a power cut may still lose. Recovery has to scan it until the
    /// trims are safe.
    pub fn hold_for_trims(&mut self, sb: Superblock) {
        self.trims.hold(sb, self.next_seq());
    }
}
