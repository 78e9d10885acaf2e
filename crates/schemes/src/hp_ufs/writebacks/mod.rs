//! Map units that the host writes back, until they are on flash.
//!
//! They wait in SRAM until a row is full. If the host changes a map unit again, two copies of it may be under way. The
//! newer one counts, whichever is programmed first.

use std::collections::VecDeque;
use std::ops::Range;

use live::{copy_segment, recycle_segment};
use ufs::{DataIn, SegmentImage, SegmentState};
use units::{Lpa, MapUnit, Ppa, SEGMENT_ENTRIES, SegmentId, Seq};

use ftl::Sabotage;
use ftl::seat::{Core, LoadedSet, Owner, Piece, Programmed, ProgrammedSet, UnitRun, UnitSet};

/// Programmed units between a prefetch and its use: as long as memory takes.
const AHEAD: usize = 3;

/// A map unit from the host, in SRAM until its program is done.
#[cfg_attr(feature = "explore", derive(Clone, Hash))]
#[derive(Debug)]
pub struct Writeback {
    pub unit: MapUnit,
    /// Host sequence number that it came with: the copy holds every change up to this one.
    pub seq: Seq,
    pub entries: Entries,
}

/// The entries of a map unit, packed.
#[cfg_attr(feature = "explore", derive(Clone, Hash))]
#[derive(Debug)]
pub enum Entries {
    /// A whole segment.
    Whole(SegmentState),
    /// Less than one.
    Part(Box<[u32]>),
}

/// Some quarters of a segment, as the host sends them.
#[cfg_attr(feature = "explore", derive(Clone, Hash))]
#[derive(Debug)]
pub struct SentParts {
    /// Which quarters have been sent: bits of [`ufs::Quarters`].
    pub quarters: u8,
    /// The segment. Only the sent quarters of it mean anything.
    pub image: Box<SegmentImage>,
}

/// A copy that is being programmed, and its place.
#[cfg_attr(feature = "explore", derive(Clone, Hash))]
#[derive(Debug)]
pub struct Programming {
    pub ppa: Ppa,
    pub copy: Writeback,
}

impl Programming {
    fn is_at(&self, piece: Piece, ppa: Ppa) -> bool {
        self.ppa == ppa && self.copy.unit.0 == piece.0
    }
}

/// Positions of these addresses in their segment.
fn slots_in_segment(range: Range<u32>) -> Range<usize> {
    let first = Lpa(range.start).slot();
    first..first + range.len()
}

/// The number up to which a whole segment is complete on flash.
pub fn written(core: &Core, segment: SegmentId) -> Seq {
    let parts = core.units().of_segment(segment).iter();
    parts.map(|unit| core.meta().segment_seq(unit)).min().unwrap_or(Seq(0))
}

/// Makes a programmed map unit the content of flash.
pub fn keep_content(core: &mut Core, programmed: &Programmed, written: Writeback) {
    let again = core.place_of(written.unit).is_some();
    core.segment_written(programmed, written.seq);
    if again && core.cfg().sabotage == Some(Sabotage::StaleHostSegment) {
        return;
    }
    match written.entries {
        Entries::Whole(state) => core.set_unit_state(programmed, state),
        Entries::Part(packed) => core.set_unit(programmed, &packed),
    }
}

/// A map unit has been programmed after a newer copy of it.
fn keep_older(core: &mut Core, programmed: &Programmed, written: &Writeback) {
    match &written.entries {
        Entries::Whole(state) => {
            let len = core.units().range(written.unit).len();
            core.older_copy_written(programmed, written.seq, &state.image()[..len]);
        }
        Entries::Part(packed) => core.older_copy_written(programmed, written.seq, packed),
    }
}

/// Map units that wait for a full row, and those being programmed. Both lists are in the order in which the host sent
/// them, so of two copies of one unit the later is the newer.
#[cfg_attr(feature = "explore", derive(Clone, Hash))]
#[derive(Debug)]
pub struct Writebacks {
    pub queued: VecDeque<Writeback>,
    pub programming: VecDeque<Programming>,
    /// Position in `programming` of the unit that was found last. Units are removed as they are found, so the next unit
    /// of the same row is at this position now.
    found_at: usize,
    /// SRAM buffers that all copies take.
    held: u16,
    /// Highest number among the copies of each map unit in both lists; 0 = none. An index of the simulator: firmware
    /// would search the lists, which are at most as long as the pool.
    pub coming: Vec<Seq>,
}

impl Writebacks {
    /// No map units.
    pub fn new(core: &Core) -> Writebacks {
        Writebacks {
            queued: VecDeque::new(),
            programming: VecDeque::new(),
            found_at: 0,
            held: 0,
            coming: vec![Seq(0); core.units().count() as usize],
        }
    }

    /// True if any map unit waits to be programmed.
    #[inline]
    pub fn has_queued(&self) -> bool {
        !self.queued.is_empty()
    }

    /// Number of map units that wait to be programmed.
    pub fn queue_len(&self) -> usize {
        self.queued.len()
    }

    /// SRAM buffers that all copies take.
    pub fn held(&self) -> u16 {
        self.held
    }

    /// The number up to which a whole segment will be complete, if any part of it is under way to flash.
    pub fn complete_when_done(&self, core: &Core, segment: SegmentId) -> Option<Seq> {
        let coming = &self.coming;
        let parts = || core.units().of_segment(segment).iter();
        let when_done = |unit: MapUnit| coming[unit.index()].max(core.meta().segment_seq(unit));
        if parts().any(|unit| coming[unit.index()] > Seq(0)) { parts().map(when_done).min() } else { None }
    }

    /// Latest copy of a map unit whose program is not done.
    fn in_sram(&self, unit: MapUnit) -> Option<&Entries> {
        if self.coming[unit.index()] == Seq(0) {
            return None;
        }
        let newest = self.queued.iter().chain(self.programming.iter().map(|p| &p.copy));
        newest.filter(|w| w.unit == unit).max_by_key(|w| w.seq).map(|w| &w.entries)
    }

    /// The host has sent some quarters of a segment, which `run` covers.
    pub fn queue_parts(&mut self, core: &mut Core, run: UnitRun, sent: SentParts, seq: Seq) {
        let units = core.units();
        let SentParts { quarters, image } = sent;
        for unit in run.iter().filter(|&unit| units.quarters(unit) & quarters != 0) {
            let entries = slots_in_segment(units.range(unit));
            self.queue(core, unit, seq, Entries::Part(image[entries].into()));
        }
        recycle_segment(image);
    }

    /// The host has sent a map unit.
    pub fn queue(&mut self, core: &mut Core, unit: MapUnit, seq: Seq, entries: Entries) {
        let coming = &mut self.coming[unit.index()];
        let fresh = *coming == Seq(0);
        *coming = (*coming).max(seq);
        // Two copies in one flash unit could not be told apart, so the older one is replaced.
        let shares = core.units().per_flash_unit() > 1;
        if shares
            && !fresh
            && let Some(older) = self.queued.iter_mut().find(|w| w.unit == unit)
        {
            (older.seq, older.entries) = (older.seq.max(seq), entries);
            return;
        }
        self.queued.push_back(Writeback { unit, seq, entries });
        let more = self.buffers(core) - self.held;
        let taken = core.take_buffers(Owner::Load, more);
        assert!(taken, "a segment write starts only with a buffer");
        self.held += more;
    }

    /// Orders the first `n` of the queue. Segments whose parts are all among them come first, so they share flash units
    /// with no other segment. A later read of such a segment then needs one page.
    fn put_whole_segments_first(&mut self, core: &Core, n: usize) {
        let units = core.units();
        if units.is_plain() {
            return;
        }
        let segment = |w: &Writeback| units.segment_of(w.unit);
        let first = &mut self.queued.make_contiguous()[..n];
        let parts = |of: SegmentId| first.iter().filter(|w| segment(w) == of).count() as u32;
        let whole: Vec<SegmentId> = first.iter().map(segment).filter(|&s| parts(s) == units.of_segment(s).n).collect();
        first.sort_by_key(|w| if whole.contains(&segment(w)) { w.unit.0 } else { u32::MAX });
    }

    /// SRAM buffers for all copies. Map units that share a flash unit share a buffer.
    fn buffers(&self, core: &Core) -> u16 {
        core.units().buffers((self.queued.len() + self.programming.len()) as u32) as u16
    }

    /// The host has no change of the map unit that it has not written. So the latest copy, on flash or under way, is
    /// complete up to `seq`.
    pub fn attest(&mut self, core: &mut Core, unit: MapUnit, seq: Seq) {
        if self.coming[unit.index()] == Seq(0) {
            core.raise_segment_seq(unit, seq);
            return;
        }
        let copies = self.programming.iter_mut().map(|p| &mut p.copy).chain(&mut self.queued);
        if let Some(latest) = copies.filter(|w| w.unit == unit).last() {
            latest.seq = latest.seq.max(seq);
            self.coming[unit.index()] = latest.seq;
        }
    }

    /// The image of a segment for the host. It is put together from map units that are under way to flash, those that
    /// were `read` for it, and those that were in SRAM.
    pub fn segment_image(&self, core: &Core, segment: SegmentId, read: &LoadedSet) -> DataIn {
        let units = core.units();
        if units.is_plain() {
            let unit = units.of(segment.first_lpa());
            return DataIn::Segment(match self.in_sram(unit) {
                Some(Entries::Whole(newer)) => newer.again(),
                _ => core.for_command(unit, read).sent(),
            });
        }
        let mut image = copy_segment(&[0; SEGMENT_ENTRIES as usize]);
        for unit in units.of_segment(segment).iter() {
            let entries = slots_in_segment(units.range(unit));
            let len = entries.len();
            match self.in_sram(unit) {
                Some(Entries::Part(newer)) => image[entries].copy_from_slice(&newer[..len]),
                _ => image[entries].copy_from_slice(&core.for_command(unit, read).entries()),
            }
        }
        DataIn::Segment(image.into())
    }

    /// The map units that have to be read from flash before the host can get the segment.
    pub fn missing(&self, core: &mut Core, segment: SegmentId) -> UnitSet {
        let mut missing = UnitSet::default();
        for unit in core.units().of_segment(segment).iter() {
            let on_flash = core.place_of(unit).is_some();
            if on_flash && self.in_sram(unit).is_none() && !core.segment_hit(unit) {
                missing.add(unit);
            }
        }
        missing
    }

    /// Programs up to `room` of the waiting map units.
    #[inline(never)]
    pub fn program(&mut self, core: &mut Core, room: usize) {
        let n = self.queued.len().min(room);
        self.put_whole_segments_first(core, n);
        let pieces: Vec<Piece> = self.queued.iter().take(n).map(|w| core.meta().segment_piece(w.unit)).collect();
        let (ppa, taken) = core.program_in_background(&pieces);
        let mut placing = core.meta().placing();
        let mut place = |w: &Writeback| ppa.offset(placing.put(core.meta().segment_piece(w.unit)).start);
        let placed = self.queued.drain(..taken).map(|copy| Programming { ppa: place(&copy), copy });
        self.programming.extend(placed);
    }

    fn take_programming(&mut self, piece: Piece, ppa: Ppa) -> Option<Writeback> {
        if !self.programming.get(self.found_at).is_some_and(|p| p.is_at(piece, ppa)) {
            self.found_at = self.programming.iter().position(|p| p.is_at(piece, ppa))?;
        }
        self.programming.remove(self.found_at).map(|p| p.copy)
    }

    /// The units of a row come one after the other. What they replace is far away in memory, so it is asked for
    /// [`AHEAD`] units before its turn.
    fn prefetch_next(&self, core: &Core) {
        if let Some(Programming { copy: Writeback { entries: Entries::Whole(state), unit, .. }, .. }) =
            self.programming.get(self.found_at + AHEAD - 1)
        {
            core.prefetch_unit(*unit);
            state.prefetch_changes();
        }
    }

    /// A program is done. True if it holds the newest copy of its map unit on flash.
    pub fn programmed(&mut self, core: &mut Core, programmed: &Programmed) -> bool {
        let written = self
            .take_programming(programmed.piece(), programmed.place())
            .expect("a map unit is listed until it is on flash");
        self.prefetch_next(core);
        self.give_buffers(core);
        if written.seq == self.coming[written.unit.index()] {
            self.coming[written.unit.index()] = Seq(0);
        }
        let newest = written.seq >= core.meta().segment_seq(written.unit);
        match newest {
            true => keep_content(core, programmed, written),
            false => keep_older(core, programmed, &written),
        }
        newest
    }

    /// Gives back the buffers of copies that have left the lists.
    fn give_buffers(&mut self, core: &mut Core) {
        let less = self.held - self.buffers(core);
        core.give_buffers(Owner::Load, less);
        self.held -= less;
    }

    /// A program has failed. Drops the copy if a newer one of its map unit is on flash or being programmed. True if it
    /// did. Nobody counts on the older copy: only a copy on flash makes a log block a normal one.
    pub fn drop_overtaken(&mut self, core: &mut Core, piece: Piece, from: Ppa) -> bool {
        let Some(at) = self.programming.iter().position(|p| p.is_at(piece, from)) else { return false };
        let Writeback { unit, seq, .. } = self.programming[at].copy;
        let newer_under_way = self.programming.iter().skip(at + 1).any(|p| p.copy.unit == unit);
        let overtaken = newer_under_way || core.meta().segment_seq(unit) > seq;
        if overtaken {
            self.programming.remove(at);
            self.give_buffers(core);
        }
        overtaken
    }

    /// A program has failed; the engine repeats it at `to`.
    pub fn moved(&mut self, piece: Piece, from: Ppa, to: Ppa) {
        if let Some(written) = self.programming.iter_mut().find(|p| p.is_at(piece, from)) {
            written.ppa = to;
        }
    }

    /// The power is gone. Copies whose programs survived become the content of flash, in the order in which the host
    /// sent them, unless flash has a newer one.
    pub fn on_power_loss(&mut self, core: &mut Core, survived: &ProgrammedSet) {
        for Programming { ppa, copy } in std::mem::take(&mut self.programming) {
            match survived.get_at(Piece::of(copy.unit), ppa) {
                Some(programmed) if copy.seq >= core.meta().segment_seq(copy.unit) => {
                    keep_content(core, programmed, copy);
                }
                Some(programmed) => keep_older(core, programmed, &copy),
                None => {}
            }
        }
    }
}

#[cfg(test)]
mod tests;
