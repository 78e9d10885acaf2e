//! GC victims: the host chooses the superblock, and sends the bitmap of its valid pages.
//!
//! A bitmap is only as new as the changes that the host has applied. The device refuses a bitmap that may name the
//! older of two pages of one address, and asks again.

use ufs::{BitmapFor, DataOut, Status};
use units::{Seq, Superblock};

use crate::portions::read_map_units;
use ftl::seat::{Core, Owner, Search, Victim};

/// A superblock being collected.
#[derive(Clone, Copy, Hash, Debug)]
struct Collecting {
    sb: Superblock,
    /// The host has reported it empty since.
    found_empty: bool,
}

/// A superblock whose bitmap the device wants for wear levelling.
#[derive(Clone, Copy, Hash, Debug)]
struct Asked {
    sb: Superblock,
    /// A response has carried the question to the host.
    sent: bool,
}

/// A valid page bitmap, as the host sends it.
#[cfg_attr(feature = "explore", derive(Clone, Hash))]
#[derive(Debug)]
pub struct SentBitmap {
    /// The superblock.
    pub block: Superblock,
    /// What the device wanted it for.
    pub reason: BitmapFor,
    /// Data of the command; refused if it is not a bitmap.
    pub data: DataOut,
}

/// What the device has asked the host, and what the host has answered.
#[cfg_attr(feature = "explore", derive(Clone, Hash))]
#[derive(Debug)]
pub struct Victims {
    /// The next victim, as the host has answered.
    answered: Option<Victim>,
    collecting: Option<Collecting>,
    /// Number of the last copy when each superblock was collected. Until the host has applied it, its bitmap of the
    /// superblock is out of date.
    collected_at: Vec<Seq>,
    /// GC wants a victim.
    wanted: bool,
    asked_for_wear: Option<Asked>,
    /// The answer for wear levelling was refused. GC gets a victim before the device asks for it again.
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
            asked_for_wear: None,
            wear_refused: false,
        }
    }

    /// True if the host shall name a superblock.
    #[inline]
    pub fn wanted(&self) -> bool {
        self.wanted
    }

    /// The superblock whose bitmap the host shall send. Gives each question once.
    #[inline]
    pub fn question(&mut self) -> Option<Superblock> {
        let asked = self.asked_for_wear.as_mut().filter(|asked| !asked.sent)?;
        asked.sent = true;
        Some(asked.sb)
    }

    /// The host has lost what it was asked.
    pub fn ask_again(&mut self) {
        self.asked_for_wear.iter_mut().for_each(|asked| asked.sent = false);
    }

    /// The victim that the host has answered. Else asks the host, one question at a time. After a refused answer for
    /// wear levelling, GC asks first.
    pub fn choose(&mut self, core: &Core, named: Option<Superblock>) -> Option<Victim> {
        if let Some(victim) = self.answered.take() {
            self.collecting = Some(Collecting { sb: victim.sb, found_empty: false });
            return Some(victim);
        }
        match named.filter(|&sb| core.blocks().settled(sb) && !self.wear_refused) {
            Some(sb) if self.asked_for_wear.is_none() => self.asked_for_wear = Some(Asked { sb, sent: false }),
            Some(_) => {}
            None => {
                self.wanted = true;
                self.wear_refused = false;
            }
        }
        None
    }

    /// The host sends a bitmap. Refused if the superblock can not be collected now. `host_seq` is the latest change
    /// that the host had applied when it made the bitmap.
    pub fn bitmap(&mut self, core: &Core, sent: SentBitmap, host_seq: Seq) -> Status {
        let SentBitmap { block, reason, data } = sent;
        let for_wear = reason == BitmapFor::WearLevelling;
        if for_wear {
            if self.asked_for_wear.is_none_or(|asked| asked.sb != block) {
                return Status::InvalidField;
            }
            // The question is answered. If the answer is refused below, the device asks again, but not at once.
            self.asked_for_wear = None;
            self.wear_refused = true;
        }
        let DataOut::Bitmap(bitmap) = data else { return Status::InvalidField };
        let expected = (core.layout().superblock_units() as usize).div_ceil(64);
        // The host may have made the bitmap before it applied all of the block's changes. Then the bitmap may name the
        // older of two pages of one address in this block. A copy of that page would pass the source check, which knows
        // blocks only (Sec. III-E).
        let complete = core.blocks().last_seq(block) <= host_seq;
        let current = complete && self.collected_at[block.index()] <= host_seq;
        if bitmap.len() != expected || !core.blocks().settled(block) || !current || self.answered.is_some() {
            return Status::InvalidField;
        }
        if self.collecting.is_some_and(|c| c.sb == block) || core.is_being_copied(block) {
            return Status::InvalidField;
        }
        if !for_wear && (!self.wanted || !gains(core, block)) {
            return Status::InvalidField;
        }
        self.wear_refused = false;
        self.wanted = false;
        let valid = bitmap.iter().map(|bits| bits.count_ones()).sum();
        let mut victim = Victim::new(block, for_wear, valid);
        victim.bitmap = bitmap;
        self.answered = Some(victim);
        Status::Good
    }

    /// A copy of a page of `source` has been programmed, with number `seq`.
    #[inline(always)]
    pub fn copied(&mut self, source: Superblock, seq: Seq) {
        self.collected_at[source.index()] = seq;
    }

    /// The host has found a superblock empty. True if it is the one being collected; it is erased after its collection.
    pub fn found_empty(&mut self, sb: Superblock) -> bool {
        let collecting = self.collecting.as_mut().filter(|collecting| collecting.sb == sb);
        collecting.map(|collecting| collecting.found_empty = true).is_some()
    }

    /// Everything in the superblock has been copied; `newest` is the latest change. True if it can be erased already.
    pub fn collected(&mut self, sb: Superblock, newest: Seq) -> bool {
        self.collected_at[sb.index()] = newest;
        self.collecting.take().is_some_and(|collecting| collecting.found_empty)
    }

    /// The superblock is being erased.
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

/// Whether GC gains what it needs by this victim: as long as ordinary superblocks are short, folding must gain one.
fn gains(core: &Core, block: Superblock) -> bool {
    core.blocks().free() > core.cfg().gc.start || !core.blocks().slc().keeps_room_of(block)
}

/// Takes valid pages from the host's bitmap, but only when every segment that has a page in the victim, valid or not,
/// has been read in the order of addresses: what a search costs UFS and HPB. One read stands for that of the victim's
/// segment bitmap, which is on their flash alone. What the segments hold is not looked at, since the host knows better.
pub(super) fn search_on_flash(core: &mut Core, victim: &mut Victim, budget: usize) -> Search {
    core.give_buffers(Owner::Map, std::mem::take(&mut victim.held));
    let (first, units) = (core.layout().first_ppa(victim.sb), core.layout().superblock_units());
    if !victim.planned {
        victim.planned = true;
        core.scan_for_search(first, 1);
        victim.plan = core.addresses(first, units);
        victim.plan.sort_unstable();
        return Search::Reading;
    }
    loop {
        while victim.cursor < victim.loaded && victim.found.len() < budget {
            let ppa = victim.plan[victim.cursor].1;
            victim.cursor += 1;
            let bit = (ppa.0 - first.0) as usize;
            if victim.bitmap[bit / 64] >> (bit % 64) & 1 == 1 {
                victim.found.push(ppa);
            }
        }
        victim.searched = (victim.cursor * units as usize / victim.plan.len().max(1)) as u32;
        if victim.cursor == victim.plan.len() {
            return Search::Exhausted;
        }
        if victim.found.len() >= budget {
            // As in every search on flash, their buffers go to the copies, and the next step reads again.
            victim.loaded = victim.cursor;
            return Search::Found;
        }
        if read_map_units(core, victim, |_, _| None) {
            return Search::Reading;
        }
    }
}

#[cfg(test)]
mod tests;
