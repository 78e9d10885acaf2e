//! Data superblocks: which are free, open or closed, the next row of each stream, and when a superblock may be erased.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use nand::{CellType, Layout};
use units::{Ppa, Seq, Superblock};

use crate::knowledge::Record;
use crate::slc_config::SlcConfig;
pub use crate::space::block_states::State;
use crate::space::block_states::States;
use crate::space::slc::SlcCache;

/// Who fills a superblock. Host data and GC copies never share one, so that copies, which live long, stay together.
/// Nor do hot and other data, if they are told apart: what is overwritten soon then leaves whole superblocks empty.
/// Hot streams are a wish: where one has no superblock and may not open any, its data go to the other stream.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Stream {
    /// Data from the host.
    Host,
    /// Copies by GC and wear levelling.
    Gc,
    /// Hot data from the host.
    HotHost,
    /// Copies of hot data.
    HotGc,
}

impl Stream {
    /// How many there are.
    pub(crate) const COUNT: usize = 4;

    /// True for copies by GC.
    #[inline]
    pub fn is_of_copies(self) -> bool {
        matches!(self, Stream::Gc | Stream::HotGc)
    }

    /// True for hot data.
    pub fn is_hot(self) -> bool {
        matches!(self, Stream::HotHost | Stream::HotGc)
    }
}

#[derive(Clone, Copy, Hash, Debug, Default)]
struct Cursor {
    superblock: Option<Superblock>,
    offset: u32,
    /// Units that the superblock has room for.
    end: u32,
}

/// All data superblocks.
#[cfg_attr(feature = "explore", derive(Clone))]
#[derive(Debug)]
pub struct Blocks {
    layout: Layout,
    states: States,
    /// Superblocks with the fewest erases first, then with the lowest number: dynamic wear levelling.
    free: BinaryHeap<Reverse<(u32, u32)>>,
    cursors: [Cursor; Stream::COUNT],
    /// An open superblock of host data in the other mode, while WriteBooster is switched on or off, or is full.
    parked: Cursor,
    /// Erases of all data superblocks.
    erases: u64,
    /// Reads in flight that have been resolved to a page of the superblock, and copies from it that are being
    /// programmed while commands go on.
    readers: Vec<u32>,
    /// Units submitted for programming whose programs have not finished.
    in_flight: Vec<u16>,
    /// Highest sequence number placed in the superblock.
    last_seq: Vec<Seq>,
    /// Superblocks whose erase waits for readers, or until trims with numbers below this are safe.
    waiting: Vec<(Superblock, Seq)>,
    max_erases: u32,
    /// Superblocks in which a program has failed. Such a superblock is not erased again, but given up when it is empty.
    suspect: Vec<bool>,
    suspects: u32,
    bad: u32,
    slc: SlcCache,
}

impl Blocks {
    /// All data superblocks of a new device: free.
    pub fn new(layout: Layout, slc: SlcConfig) -> Blocks {
        let n = layout.geometry().data_superblocks;
        Blocks {
            states: States::new(n as usize),
            free: (0..n).map(|b| Reverse((0, b))).collect(),
            cursors: [Cursor::default(); Stream::COUNT],
            parked: Cursor::default(),
            erases: 0,
            readers: vec![0; n as usize],
            in_flight: vec![0; n as usize],
            last_seq: vec![Seq(0); n as usize],
            waiting: Vec::new(),
            max_erases: 0,
            suspect: vec![false; n as usize],
            suspects: 0,
            bad: 0,
            slc: SlcCache::new(slc, n),
            layout,
        }
    }

    /// Number of data superblocks.
    pub fn count(&self) -> u32 {
        self.states.len() as u32
    }

    /// Erased superblocks, without those that are kept for WriteBooster.
    #[inline]
    pub fn free(&self) -> u32 {
        let all = self.free.len() as u32;
        all - self.slc.kept(all)
    }

    /// State of a superblock.
    #[inline]
    pub fn state(&self, sb: Superblock) -> State {
        self.states.get(sb)
    }

    /// True if this is the number of a data superblock.
    pub fn exists(&self, sb: Superblock) -> bool {
        sb.index() < self.states.len()
    }

    /// The superblock that a stream is filling.
    pub fn open(&self, stream: Stream) -> Option<Superblock> {
        self.cursors[stream as usize].superblock
    }

    /// All superblocks that are being filled.
    pub fn all_open(&self) -> impl Iterator<Item = Superblock> {
        self.cursors.iter().chain([&self.parked]).filter_map(|cursor| cursor.superblock)
    }

    /// Those in SLC mode that are being filled.
    fn open_in_slc(&self) -> impl Iterator<Item = (Superblock, Cursor)> {
        let open = self.cursors.into_iter().chain([self.parked]);
        open.filter_map(|cursor| Some((cursor.superblock?, cursor))).filter(|&(sb, _)| self.slc.holds(sb))
    }

    /// Units from the next place of the stream to the end of its row. 0 if a new superblock is needed.
    #[inline]
    pub fn room_in_row(&self, stream: Stream) -> u32 {
        let cursor = &self.cursors[stream as usize];
        match cursor.superblock {
            Some(sb) => self.layout.units_left_in_row(self.layout.first_ppa(sb).offset(cursor.offset)),
            None => 0,
        }
    }

    /// Units that still fit the open superblock of a stream.
    pub fn room(&self, stream: Stream) -> u32 {
        let cursor = &self.cursors[stream as usize];
        cursor.end - cursor.offset
    }

    /// Units that a superblock has room for, in its mode.
    #[inline]
    pub fn units_of(&self, sb: Superblock) -> u32 {
        match self.slc.holds(sb) {
            true => self.slc_units(),
            false => self.layout.superblock_units(),
        }
    }

    /// The superblocks in SLC mode.
    #[inline]
    pub fn slc(&self) -> &SlcCache {
        &self.slc
    }

    /// The same, to switch it on or off, or resize it.
    pub fn slc_mut(&mut self) -> &mut SlcCache {
        &mut self.slc
    }

    /// Units that a superblock in SLC mode has room for.
    pub fn slc_units(&self) -> u32 {
        self.slc.pages(self.layout.geometry().pages_per_block) * self.layout.stripe_units()
    }

    /// Units that the cache has, or could have with what is free, and those of them that can be written.
    pub fn slc_size(&self) -> (u32, u32) {
        let (more, units) = (self.slc.could_take(self.free.len() as u32), self.slc_units());
        let left: u32 = self.open_in_slc().map(|(_, cursor)| cursor.end - cursor.offset).sum();
        ((self.slc.count() + more) * units, more * units + left)
    }

    /// Units in SLC mode that are written and not folded, whether they are valid or not.
    pub fn slc_unfolded_units(&self) -> u32 {
        let left: u32 = self.open_in_slc().map(|(_, cursor)| cursor.end - cursor.offset).sum();
        self.slc.unfolded() * self.slc_units() - left
    }

    /// True if the next superblock for host data is opened in SLC mode.
    pub fn next_is_slc(&self) -> bool {
        let free = self.free.len() as u32;
        free > 0 && self.slc.takes_one_more(free - 1)
    }

    /// True if the next superblock for host data is one that was kept for the cache.
    pub fn next_is_kept(&self) -> bool {
        self.slc.kept(1) > 0 && self.next_is_slc()
    }

    /// Host data go on in SLC mode while WriteBooster is enabled, serves them and has room, and else in ordinary
    /// superblocks. The superblock in the other mode is left as it is, and filled later.
    pub fn choose_mode(&mut self, served: bool) {
        self.slc.serve_next(served);
        let open = self.open_in_slc().next().is_some();
        let slc = self.slc.is_enabled() && (open || self.next_is_slc());
        let is = |cursor: &Cursor, slc| cursor.superblock.is_some_and(|sb| self.slc.holds(sb) == slc);
        let host = &self.cursors[Stream::Host as usize];
        if is(host, !slc) || host.superblock.is_none() && is(&self.parked, slc) {
            std::mem::swap(&mut self.cursors[Stream::Host as usize], &mut self.parked);
        }
    }

    /// Erases of all data superblocks.
    pub fn erases(&self) -> u64 {
        self.erases
    }

    /// GC has copied everything in a superblock. True if that was the last one in SLC mode that could be folded.
    pub fn folded(&mut self, sb: Superblock) -> bool {
        let in_slc = self.slc.holds(sb);
        self.slc.fold(sb);
        in_slc && !self.fills_slc()
    }

    /// True if a superblock that was folded is not being erased yet.
    pub fn keeps_folded(&self) -> bool {
        self.slc.folded().iter().any(|&sb| self.state(sb) == State::Closed)
    }

    /// True if superblocks in SLC mode are full and not folded, or being erased.
    #[inline]
    pub fn fills_slc(&self) -> bool {
        self.slc.unfolded() > self.open_in_slc().count() as u32
    }

    /// The full superblock in SLC mode that was filled first.
    pub fn first_in_slc(&self) -> Option<Superblock> {
        let full = |&sb: &Superblock| self.slc.holds(sb) && self.settled(sb) && !self.slc.is_folded(sb);
        (0..self.count()).map(Superblock).filter(full).min_by_key(|&sb| self.last_seq(sb))
    }

    /// Units of which a program of a stream is a multiple.
    #[inline]
    pub fn program_units(&self, stream: Stream) -> u32 {
        let in_slc = self.open(stream).is_some_and(|sb| self.slc.holds(sb));
        self.layout.geometry().program_units(if in_slc { CellType::Slc } else { CellType::Tlc })
    }

    /// True if the next row of host data goes to a superblock in SLC mode.
    pub fn host_fills_slc(&self) -> bool {
        match self.open(Stream::Host) {
            Some(sb) => self.slc.holds(sb),
            None => self.next_is_slc(),
        }
    }

    /// Opens the least worn free superblock for a stream; for host data in SLC mode, if the cache has room.
    pub fn open_next(&mut self, stream: Stream) -> Option<Superblock> {
        let slc = stream == Stream::Host && self.next_is_slc();
        let Reverse((_, number)) = self.free.pop()?;
        let sb = Superblock(number);
        assert_eq!(self.state(sb), State::Free, "{sb} in the free list");
        self.states.set(sb, State::Open);
        self.slc.set(sb, slc);
        self.cursors[stream as usize] = Cursor { superblock: Some(sb), offset: 0, end: self.units_of(sb) };
        Some(sb)
    }

    /// Takes the next place of a stream for `padded` units. `used` of them carry data, the last with `last_seq`.
    #[inline]
    pub fn place(&mut self, stream: Stream, used: u32, padded: u32, last_seq: Seq) -> Ppa {
        let cursor = &mut self.cursors[stream as usize];
        let sb = cursor.superblock.expect("a stream places units in an open superblock");
        let ppa = self.layout.first_ppa(sb).offset(cursor.offset);
        cursor.offset += padded;
        self.in_flight[sb.index()] += used as u16;
        let last = &mut self.last_seq[sb.index()];
        *last = (*last).max(last_seq);
        if cursor.offset == cursor.end {
            *cursor = Cursor::default();
            self.states.set(sb, State::Closed);
        }
        ppa
    }

    /// `n` units of a superblock have been programmed.
    #[inline]
    pub fn programmed(&mut self, sb: Superblock, n: u32) {
        self.in_flight[sb.index()] -= n as u16;
    }

    /// True if the superblock is full and all of it is on flash.
    #[inline]
    pub fn settled(&self, sb: Superblock) -> bool {
        self.state(sb) == State::Closed && self.in_flight[sb.index()] == 0
    }

    /// Highest sequence number placed in the superblock.
    pub fn last_seq(&self, sb: Superblock) -> Seq {
        self.last_seq[sb.index()]
    }

    /// A read was resolved to a page of this superblock, or a copy from it is being programmed. It is not erased until
    /// that has ended.
    #[inline]
    pub fn pin(&mut self, sb: Superblock) {
        self.readers[sb.index()] += 1;
    }

    /// What was pinned has ended. True if an erase waited for it and waits for nothing else in flight.
    #[inline]
    pub fn unpin(&mut self, sb: Superblock) -> bool {
        self.readers[sb.index()] -= 1;
        self.states.get(sb) == State::Erasing && self.readers[sb.index()] == 0
    }

    /// Marks a settled superblock without valid pages for erase. The erase has to wait until nothing reads the
    /// superblock, and until trims with numbers below `trims` are safe. True if it may begin now.
    pub fn retire(&mut self, sb: Superblock, trims: Option<Seq>) -> bool {
        assert!(self.settled(sb), "{sb} retired while {:?}", self.state(sb));
        self.states.set(sb, State::Erasing);
        self.slc.retire(sb);
        let now = self.readers[sb.index()] == 0 && trims.is_none();
        if !now {
            self.waiting.push((sb, trims.unwrap_or(Seq(0))));
        }
        now
    }

    /// A superblock whose erase need not wait any longer; trims with numbers below `safe` are safe. The caller erases
    /// it.
    pub fn take_unread(&mut self, safe: Seq) -> Option<Superblock> {
        let free = |&(sb, trims): &(Superblock, Seq)| self.readers[sb.index()] == 0 && trims <= safe;
        let at = self.waiting.iter().position(free)?;
        Some(self.waiting.remove(at).0)
    }

    /// True if an erase waits for trims that are not safe yet.
    pub fn waits_for_trims(&self, safe: Seq) -> bool {
        self.waiting.iter().any(|&(_, trims)| trims > safe)
    }

    /// Bytes of SRAM: erase count and highest sequence number of every data superblock. Counts of readers and programs
    /// in flight are mostly 0; an array of them is an index of the simulator.
    pub fn table_bytes(&self) -> u64 {
        8 * u64::from(self.count())
    }

    /// Highest erase count of a data superblock.
    pub fn max_erases(&self) -> u32 {
        self.max_erases
    }

    /// The erase of a superblock has ended.
    pub fn erased(&mut self, sb: Superblock, erase_count: u32) {
        assert_eq!(self.state(sb), State::Erasing, "{sb} erased");
        self.states.set(sb, State::Free);
        self.slc.set(sb, false);
        self.max_erases = self.max_erases.max(erase_count);
        self.erases += 1;
        self.free.push(Reverse((erase_count, sb.0)));
    }

    /// State after a power cut: every superblock is erased, full or bad.
    pub fn restore(&mut self, record: &Record, erases: impl Fn(Superblock) -> u32) {
        self.free.clear();
        self.bad = 0;
        self.erases = (0..self.count()).map(|sb| u64::from(erases(Superblock(sb)))).sum();
        for sb in (0..self.count()).map(Superblock) {
            let erased = record.is_free(sb);
            self.max_erases = self.max_erases.max(erases(sb));
            self.states.set(sb, if erased { State::Free } else { State::Closed });
            self.slc.set(sb, !erased && record.is_slc(sb));
            if record.is_bad(sb) {
                self.set_bad(sb);
            }
            if erased {
                self.free.push(Reverse((erases(sb), sb.0)));
            }
        }
    }

    /// The states of all superblocks.
    pub(crate) fn states(&self) -> &States {
        &self.states
    }

    /// A program in this superblock has failed.
    pub fn suspect(&mut self, sb: Superblock) {
        self.suspects += u32::from(!std::mem::replace(&mut self.suspect[sb.index()], true));
    }

    /// True if a program in this superblock has failed.
    pub fn is_suspect(&self, sb: Superblock) -> bool {
        self.suspect[sb.index()]
    }

    /// Gives a superblock up.
    pub fn set_bad(&mut self, sb: Superblock) {
        self.suspects -= u32::from(std::mem::take(&mut self.suspect[sb.index()]));
        self.states.set(sb, State::Bad);
        self.slc.set(sb, false);
        self.bad += 1;
    }

    /// Superblocks that have been given up, or will be when they are empty.
    pub fn lost(&self) -> u32 {
        self.bad + self.suspects
    }

    /// True if there is no place for another page, and none will come by itself: every superblock is full or bad.
    pub fn none_left(&self) -> bool {
        let used_up = |state| matches!(state, State::Closed | State::Bad);
        self.free.is_empty() && self.states.iter().all(used_up)
    }

    /// The full superblock with the fewest erases, and their number.
    pub fn least_worn_closed(&self, erases: impl Fn(Superblock) -> u32) -> Option<(Superblock, u32)> {
        (0..self.count())
            .map(Superblock)
            .filter(|&sb| self.settled(sb))
            .map(|sb| (sb, erases(sb)))
            .min_by_key(|&(sb, n)| (n, sb))
    }

    /// Panics unless free + open + full + erasing superblocks are all of them.
    pub fn check(&self) {
        let in_state = |state| self.states.iter().filter(|&s| s == state).count();
        assert_eq!(in_state(State::Free), self.free.len(), "free superblocks and the free list");
        assert_eq!(in_state(State::Open), self.all_open().count(), "open superblocks and streams");
    }
}

/// Everything but the sizes; the free superblocks in the order in which they will be opened.
#[cfg(feature = "explore")]
impl std::hash::Hash for Blocks {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        let Blocks { layout: _, states, free, cursors, readers, in_flight, .. } = self;
        (states, cursors, readers, in_flight, &self.last_seq, &self.waiting).hash(state);
        (self.max_erases, &self.suspect, self.suspects, self.bad, &self.slc, &self.parked).hash(state);
        let mut free: Vec<(u32, u32)> = free.iter().map(|Reverse(sb)| *sb).collect();
        free.sort_unstable();
        free.hash(state);
    }
}

#[cfg(test)]
mod tests {
    use nand::Geometry;

    use super::*;

    #[test]
    fn after_a_power_cut_a_superblock_is_erased_or_given_up_as_recorded_and_full_otherwise() {
        let geometry = Geometry {
            channels: 1,
            dies_per_channel: 1,
            superblock_dies: 1,
            planes: 1,
            units_per_page: 1,
            pages_per_block: 4,
            word_line_pages: 1,
            data_superblocks: 67,
            meta_superblocks: 1,
        };
        let mut blocks = Blocks::new(geometry.layout(), SlcConfig::NONE);
        let record = Record { free: vec![1 << 3, 1], bad: vec![1 << 5, 1 << 2], ..Record::default() };
        blocks.restore(&record, |_| 1);
        let of = |state| (0..67).filter(|&sb| blocks.state(Superblock(sb)) == state).collect::<Vec<u32>>();
        assert_eq!((of(State::Free), of(State::Bad)), (vec![3, 64], vec![5, 66]));
        assert_eq!((of(State::Closed).len(), blocks.free(), blocks.lost()), (63, 2, 2));
    }
}
