//! Which superblock is collected: the host chooses, and sends the bitmap of its valid pages.
//!
//! The bitmap is only as new as what the host has applied. One that may name the older of two pages of one address is
//! refused, and asked for again.

use ufs::{BitmapFor, DataOut, Status};
use units::{Seq, Superblock};

use crate::engine::core::Core;
use crate::gc::Victim;

/// A superblock being collected.
#[derive(Clone, Copy, Debug)]
struct Collecting {
    sb: Superblock,
    /// The host has found it empty meanwhile.
    found_empty: bool,
}

/// A superblock whose bitmap is wanted for wear levelling.
#[derive(Clone, Copy, Debug)]
struct Asked {
    sb: Superblock,
    /// The host has been told.
    told: bool,
}

/// A valid page bitmap, as the host sends it.
#[derive(Debug)]
pub struct SentBitmap {
    /// The superblock.
    pub block: Superblock,
    /// For whom.
    pub reason: BitmapFor,
    /// What came with the command, which ought to be the bitmap.
    pub data: DataOut,
}

/// What is asked of the host, and what it has answered.
#[derive(Debug)]
pub struct Victims {
    /// The next to be collected, as the host has answered.
    answered: Option<Victim>,
    collecting: Option<Collecting>,
    /// Number of the last copy when each superblock was collected: until the host has applied it, its bitmap of the
    /// superblock is out of date.
    collected_at: Vec<Seq>,
    /// GC wants a victim.
    wanted: bool,
    wear: Option<Asked>,
    /// The answer for wear levelling was refused: GC has its turn before it is asked for again.
    wear_refused: bool,
}

impl Victims {
    /// Nothing is asked.
    pub fn new(core: &Core) -> Victims {
        Victims {
            answered: None,
            collecting: None,
            collected_at: vec![Seq(0); core.blocks().count() as usize],
            wanted: false,
            wear: None,
            wear_refused: false,
        }
    }

    /// True if the host shall name a superblock.
    #[inline]
    pub fn wanted(&self) -> bool {
        self.wanted
    }

    /// The superblock whose bitmap the host shall send, given once.
    #[inline]
    pub fn question(&mut self) -> Option<Superblock> {
        let asked = self.wear.as_mut().filter(|asked| !asked.told)?;
        asked.told = true;
        Some(asked.sb)
    }

    /// What the host has answered; else it is asked, one question at a time. After a refused answer about the cold
    /// superblock comes GC's turn.
    pub fn choose(&mut self, core: &Core, named: Option<Superblock>) -> Option<Victim> {
        if let Some(victim) = self.answered.take() {
            self.collecting = Some(Collecting { sb: victim.sb, found_empty: false });
            return Some(victim);
        }
        match named.filter(|&sb| core.blocks().settled(sb) && !self.wear_refused) {
            Some(sb) if self.wear.is_none() => self.wear = Some(Asked { sb, told: false }),
            Some(_) => {}
            None => {
                self.wanted = true;
                self.wear_refused = false;
            }
        }
        None
    }

    /// The host sends a bitmap. Refused if the superblock can not be collected now. `host_seq` is the latest change
    /// that the host has applied.
    pub fn bitmap(&mut self, core: &Core, sent: SentBitmap, host_seq: Seq) -> Status {
        let SentBitmap { block, reason, data } = sent;
        let wear = reason == BitmapFor::WearLevelling;
        if wear {
            if self.wear.is_none_or(|asked| asked.sb != block) {
                return Status::InvalidField;
            }
            // Answered; should it be refused below, it is asked for again, but not at once.
            self.wear = None;
            self.wear_refused = true;
        }
        let DataOut::Bitmap(bitmap) = data else { return Status::InvalidField };
        let expected = (core.layout().superblock_units() as usize).div_ceil(64);
        // A bitmap from before the host had applied all of the block's changes may name the older of two pages of one
        // address in this very block. Its copy would pass the source check, which knows blocks only (Sec. III-E).
        let complete = core.blocks().last_seq(block) <= host_seq;
        let current = complete && self.collected_at[block.index()] <= host_seq;
        if bitmap.len() != expected || !core.blocks().settled(block) || !current || self.answered.is_some() {
            return Status::InvalidField;
        }
        if self.collecting.is_some_and(|c| c.sb == block) || core.is_being_copied(block) {
            return Status::InvalidField;
        }
        if !wear && !self.wanted {
            return Status::InvalidField;
        }
        self.wear_refused = false;
        self.wanted = false;
        let valid = bitmap.iter().map(|bits| bits.count_ones()).sum();
        let mut victim = Victim::new(block, wear, valid);
        victim.bitmap = bitmap;
        self.answered = Some(victim);
        Status::Good
    }

    /// A copy of a page of `source` is on flash.
    #[inline(always)]
    pub fn copied(&mut self, source: Superblock, seq: Seq) {
        self.collected_at[source.index()] = seq;
    }

    /// The host has found a superblock empty. True if it is the one being collected, which is erased when that is over.
    pub fn found_empty(&mut self, sb: Superblock) -> bool {
        let collecting = self.collecting.as_mut().filter(|collecting| collecting.sb == sb);
        collecting.map(|collecting| collecting.found_empty = true).is_some()
    }

    /// Everything in the superblock has been copied; `newest` is the latest change. True if it can be erased already.
    pub fn collected(&mut self, sb: Superblock, newest: Seq) -> bool {
        self.collected_at[sb.index()] = newest;
        self.collecting.take().is_some_and(|collecting| collecting.found_empty)
    }

    /// It is being erased.
    pub fn erased(&mut self, sb: Superblock) {
        if self.answered.as_ref().is_some_and(|victim| victim.sb == sb) {
            self.answered = None;
        }
        self.collected_at[sb.index()] = Seq(0);
    }

    /// SRAM: a number for each superblock.
    pub fn table_bytes(&self) -> u64 {
        4 * self.collected_at.len() as u64
    }
}
