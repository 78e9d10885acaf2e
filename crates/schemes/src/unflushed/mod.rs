//! Superblocks with mappings that have not been flushed, for schemes that write all changes of their log at once
//! (`segment-log`, `base-dftl`, `mini-page`, `msftl`).
//!
//! Such a scheme sees the old entry of an address only in a map flush. Before the flush it does not know all valid
//! pages of a superblock that the log names. Nor may it erase a superblock that has lost its last valid page. So it
//! asks for a flush whenever one would help.

use std::collections::BTreeSet;

use units::Superblock;

use ftl::parts::ValidCounts;
use ftl::seat::{Core, Stream, Victim};

/// Valid page counts, and the number of changes that they do not contain yet.
#[cfg_attr(feature = "explore", derive(Clone, Hash))]
#[derive(Debug)]
pub struct Unflushed {
    /// Valid page counts as of the last flush.
    pub valid: ValidCounts,
    /// Units of each superblock whose mapping has not been flushed.
    units: Vec<u32>,
    /// Superblocks with such units.
    holding: BTreeSet<Superblock>,
    /// Something waits for a flush.
    pub flush_wanted: bool,
    /// Number of map flushes when no victim was found. Until the next flush there will be none.
    no_victim_at: Option<u64>,
}

impl Unflushed {
    /// State of a new device: nothing is written.
    pub fn new(core: &Core) -> Unflushed {
        Unflushed {
            valid: ValidCounts::new(core),
            units: vec![0; core.blocks().count() as usize],
            holding: BTreeSet::new(),
            flush_wanted: false,
            no_victim_at: None,
        }
    }

    /// State after recovery: everything is flushed. Recovery has read all pieces of the table; the counts follow from
    /// them.
    pub fn restored(core: &mut Core) -> Unflushed {
        let mut unflushed = Unflushed { valid: ValidCounts::restored(core), ..Unflushed::new(core) };
        unflushed.valid.retire_all_empty(core);
        unflushed
    }

    /// `n` units of the superblock were submitted for programming.
    #[inline]
    pub fn placed(&mut self, sb: Superblock, n: u32) {
        let units = &mut self.units[sb.index()];
        if *units == 0 && n > 0 {
            self.holding.insert(sb);
        }
        *units += n;
    }

    /// `n` units of the superblock will be placed elsewhere, or their mapping is in the flush that is under way.
    #[inline(always)] // A map flush does little else.
    pub fn settle(&mut self, sb: Superblock, n: u32) {
        let units = &mut self.units[sb.index()];
        *units -= n;
        if *units == 0 {
            self.settled(sb);
        }
    }

    #[cold]
    fn settled(&mut self, sb: Superblock) {
        self.holding.remove(&sb);
    }

    /// True if a stream may open a superblock. If there are too many log blocks, a map flush is wanted, which makes log
    /// blocks normal ones.
    pub fn may_open(&mut self, core: &Core, stream: Stream) -> bool {
        let may = core.log_block_fits(self.log_blocks(core).len(), stream);
        self.flush_wanted |= !may;
        may
    }

    /// Open superblocks, and superblocks with changes that have not been flushed.
    pub fn log_blocks(&self, core: &Core) -> Vec<Superblock> {
        let mut all: Vec<Superblock> = self.holding.iter().copied().chain(core.blocks().all_open()).collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    /// Erases a superblock without valid pages, if all of its mappings have been flushed.
    pub fn retire_if_empty(&mut self, core: &mut Core, sb: Superblock) {
        if self.units[sb.index()] == 0 {
            self.valid.retire_if_empty(core, sb);
        }
    }

    /// The superblock to collect, among those whose mappings have all been flushed.
    pub fn victim(&mut self, core: &Core, named: Option<Superblock>) -> Option<Victim> {
        let flushed = |sb: Superblock| self.units[sb.index()] == 0;
        if self.no_victim_at == Some(core.map_flushes()) {
            return self.valid.named_victim(core, named, flushed);
        }
        let victim = self.valid.victim(core, named, flushed);
        if victim.is_none() {
            self.no_victim_at = Some(core.map_flushes());
        }
        victim
    }

    /// All valid pages of the victim have been copied. It becomes free with the next flush. If free superblocks are
    /// short, a flush is wanted now.
    pub fn collected(&mut self, core: &Core, sb: Superblock) {
        self.valid.mark_collected(sb);
        self.flush_wanted |= Unflushed::is_short(core);
    }

    fn is_short(core: &Core) -> bool {
        let gc = &core.cfg().gc;
        core.blocks().free() <= gc.hurried.min(2 * gc.reserve)
    }

    /// A flush has ended, which may have made superblocks fit to be collected. Whatever waits for a flush now asks for
    /// it again, but not GC for a victim that it has `collected` during the flush.
    pub fn flush_ended(&mut self, core: &Core, collected: bool) {
        self.flush_wanted = collected && self.valid.await_erase() && Unflushed::is_short(core);
        self.no_victim_at = None;
    }

    /// GC can not go on. A flush is wanted if only that may make superblocks free or fit to be collected, or if the log
    /// has little room: a GC step needs room for a row, beside copies of another row that wait already.
    pub fn starved(&mut self, core: &Core, room: usize) {
        let short = room < 2 * core.layout().row_units() as usize;
        self.flush_wanted |= !core.log().is_empty() && (short || core.fold_waits() || self.flush_would_help(core));
    }

    /// True if only the next flush may make superblocks free or fit to be collected.
    fn flush_would_help(&self, core: &Core) -> bool {
        self.valid.await_erase() || self.no_victim_at == Some(core.map_flushes())
    }
}

#[cfg(test)]
mod tests;
