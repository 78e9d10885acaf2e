//! Superblocks with mappings that have not been flushed, of schemes that write the changes of their log all at once
//! (`segment-log`, `base-dftl`, `mini-page`, `msftl`).
//!
//! Such a scheme sees the old entry of an address only in a map flush. Until then it neither knows all valid pages of a
//! superblock that the log names, nor may it erase a superblock that lost its last valid page, so a flush is wanted
//! whenever that would help.

use units::Superblock;

use crate::blocks::{State, Stream};
use crate::engine::core::Core;
use crate::gc::Victim;
use crate::validity::ValidCounts;

/// Valid page counts, and what keeps them from being complete.
#[derive(Debug)]
pub struct Unflushed {
    /// Valid page counts as of the last flush.
    pub valid: ValidCounts,
    /// Units of each superblock whose mapping has not been flushed.
    units: Vec<u32>,
    /// Something waits for a flush.
    pub flush_wanted: bool,
    /// Map flushes at the time when no victim was found: before the next one there will be none.
    no_victim_at: Option<u64>,
}

impl Unflushed {
    /// Nothing is written.
    pub fn new(core: &Core) -> Unflushed {
        Unflushed {
            valid: ValidCounts::new(core),
            units: vec![0; core.blocks().count() as usize],
            flush_wanted: false,
            no_victim_at: None,
        }
    }

    /// After recovery: all is flushed. Counts follow from the pieces of the table, all of which have been read.
    pub fn restored(core: &mut Core) -> Unflushed {
        let mut unflushed = Unflushed { valid: ValidCounts::restored(core), ..Unflushed::new(core) };
        unflushed.valid.retire_all_empty(core);
        unflushed
    }

    /// `n` units were submitted for programming.
    #[inline]
    pub fn placed(&mut self, sb: Superblock, n: u32) {
        self.units[sb.index()] += n;
    }

    /// They will be placed elsewhere, or their mapping is in the flush that is under way.
    #[inline]
    pub fn settle(&mut self, sb: Superblock, n: u32) {
        self.units[sb.index()] -= n;
    }

    /// A stream wants to open a superblock. A map flush makes log blocks normal ones, so it is wanted if there are too
    /// many.
    pub fn may_open(&mut self, core: &Core, stream: Stream) -> bool {
        let may = core.log_block_fits(self.log_blocks(core).len(), stream);
        self.flush_wanted |= !may;
        may
    }

    /// Open superblocks, and those with changes that have not been flushed.
    pub fn log_blocks(&self, core: &Core) -> Vec<Superblock> {
        let all = (0..core.blocks().count()).map(Superblock);
        all.filter(|&sb| self.units[sb.index()] > 0 || core.blocks().state(sb) == State::Open).collect()
    }

    /// A superblock without valid pages, all of whose mappings have been flushed, is erased.
    pub fn retire_if_empty(&mut self, core: &mut Core, sb: Superblock) {
        if self.units[sb.index()] == 0 {
            self.valid.retire_if_empty(core, sb);
        }
    }

    /// What to collect, among superblocks all of whose mappings have been flushed.
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

    /// Everything valid in the victim has been copied. It becomes free with the next flush; when free ones are short,
    /// that has to be soon.
    pub fn collected(&mut self, core: &mut Core, sb: Superblock) {
        self.valid.mark_collected(sb);
        let gc = &core.cfg().gc;
        if core.blocks().free() <= gc.hurried.min(2 * gc.reserve) {
            self.flush_wanted = true;
        }
        self.retire_if_empty(core, sb);
    }

    /// True if the next flush, and nothing else, may make superblocks free or fit to be collected.
    pub fn flush_would_help(&self, core: &Core) -> bool {
        self.valid.await_erase() || self.no_victim_at == Some(core.map_flushes())
    }
}
