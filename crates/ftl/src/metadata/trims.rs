//! The journal of trims. A trim leaves no page behind that recovery could find, so it is written to a journal.
//!
//! A trim is *volatile* while it is only in SRAM, *journaled* once its page of the journal is on flash, and *covered*
//! when its segment on flash has it, too. A flush waits until no trim before it is volatile. So does the erase of a
//! superblock: a trim may have freed it, and without that trim the old mapping would name an erased page after a power
//! cut.
//!
//! A power cut may lose a volatile trim, and then recovery has to find the pages that it trimmed. A superblock that may
//! be left out of the record of log blocks only because of a volatile trim is *held*: the record names it until the
//! trim is journaled.

use units::{Lpa, Seq, Superblock};

use crate::knowledge::RECORDS_PER_PAGE;
use crate::knowledge::TrimRecord;

/// State of a page of the journal.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Page {
    Free,
    /// Being programmed.
    Programming,
    /// On flash, with trims up to this number.
    Holds(Seq),
}

/// Trims that no segment on flash has yet.
#[cfg_attr(feature = "explore", derive(Clone, Hash))]
#[derive(Debug)]
pub struct Trims {
    volatile: Vec<TrimRecord>,
    pages: Vec<Page>,
    /// Trims being programmed, by page of the journal.
    programming: Vec<(usize, Vec<TrimRecord>)>,
    /// Number of pages on flash.
    journaled: usize,
    /// Superblocks that are held, each until every trim with a number below this is journaled.
    held: Vec<(Superblock, Seq)>,
    /// Trims that recovery has found in the journal, until a scheme asks for them.
    restored: Vec<TrimRecord>,
    /// True if waiting flushes or erases want volatile trims to be written at once.
    pub wanted: bool,
}

impl Trims {
    /// No trims.
    pub fn new(pages: usize) -> Trims {
        let pages = vec![Page::Free; pages];
        Trims {
            volatile: Vec::new(),
            pages,
            programming: Vec::new(),
            journaled: 0,
            held: Vec::new(),
            restored: Vec::new(),
            wanted: false,
        }
    }

    /// True if another trim fits.
    pub fn has_room(&self) -> bool {
        self.volatile.len() < RECORDS_PER_PAGE
    }

    /// Adds a trim of `n` units with sequence numbers from `seq`.
    pub fn push(&mut self, lpa: Lpa, n: u32, seq: Seq) {
        if let Some(last) = self.volatile.last_mut()
            && last.lpa.0 + last.len == lpa.0
            && last.seq.plus(last.len) == seq
        {
            last.len += n;
            return;
        }
        self.volatile.push(TrimRecord { lpa, len: n, seq });
    }

    /// Every trim with a number below this is journaled.
    pub fn safe_below(&self) -> Seq {
        let waiting = self.volatile.iter().chain(self.programming.iter().flat_map(|(_, records)| records));
        waiting.map(|r| r.seq).min().unwrap_or(Seq(u64::MAX))
    }

    /// Holds a superblock: without trims with numbers below `below` it could not be left out of the record.
    pub fn hold(&mut self, sb: Superblock, below: Seq) {
        if self.all_safe() {
            return;
        }
        match self.held.iter_mut().find(|(held, _)| *held == sb) {
            Some((_, until)) => *until = below,
            None => self.held.push((sb, below)),
        }
    }

    /// Superblocks that a record has to name. Each of them costs recovery time, so the trims that they wait for are
    /// wanted in the journal now.
    pub fn held(&mut self) -> impl Iterator<Item = Superblock> {
        let safe = self.safe_below();
        self.held.retain(|&(_, below)| below > safe);
        let last = self.held.iter().map(|&(_, below)| below).max();
        self.wanted |= last.is_some_and(|below| self.volatile.iter().any(|r| r.seq < below));
        self.held.iter().map(|&(sb, _)| sb)
    }

    /// True if no segment on flash lacks a trim.
    pub fn none(&self) -> bool {
        self.journaled == 0 && self.all_safe()
    }

    /// True if every trim is journaled or covered.
    pub fn all_safe(&self) -> bool {
        self.volatile.is_empty() && self.programming.is_empty()
    }

    /// True if the volatile trims should be written now.
    pub fn due(&self) -> bool {
        !self.volatile.is_empty() && (self.wanted || !self.has_room())
    }

    /// True if at most one page of the journal is free.
    pub fn crowded(&self) -> bool {
        self.pages.iter().filter(|&&page| page == Page::Free).count() <= 1
    }

    /// State after a power cut: adds the trims in a page of the journal.
    pub fn restore(&mut self, page: usize, records: &[TrimRecord]) {
        let last = records.iter().map(|r| r.seq.plus(r.len - 1)).max();
        if let Some(last) = last {
            self.pages[page] = Page::Holds(last);
            self.journaled += 1;
            self.restored.extend_from_slice(records);
        }
    }

    /// The trims that recovery has found in the journal. Gives them once.
    pub fn take_restored(&mut self) -> Vec<TrimRecord> {
        std::mem::take(&mut self.restored)
    }

    /// Begins to write the volatile trims. Gives the page to program, if one is free.
    pub fn start_write(&mut self) -> Option<usize> {
        let page = self.pages.iter().position(|&page| page == Page::Free)?;
        self.pages[page] = Page::Programming;
        self.programming.push((page, std::mem::take(&mut self.volatile)));
        self.wanted = false;
        Some(page)
    }

    /// A page is on flash. Gives its content.
    pub fn written(&mut self, page: usize) -> Vec<TrimRecord> {
        let at = self.programming.iter().position(|(programming, _)| *programming == page);
        let (_, records) = self.programming.swap_remove(at.expect("a page is programmed once at a time"));
        let last = records.iter().map(|r| r.seq.plus(r.len - 1)).max();
        self.pages[page] = Page::Holds(last.expect("a page is written with records"));
        self.journaled += 1;
        records
    }

    /// Every trim with a number below this is in a segment on flash. Drops volatile trims that need no journal any
    /// more.
    pub fn drop_covered(&mut self, below: Seq) {
        if !self.volatile.is_empty() {
            self.volatile.retain(|r| r.seq.plus(r.len - 1) >= below);
        }
    }

    /// Every trim with a number below this is in a segment on flash. Gives a page of the journal that is not needed any
    /// more.
    pub fn take_covered(&mut self, below: Seq) -> Option<usize> {
        if self.journaled == 0 {
            return None;
        }
        let page = self.pages.iter().position(|page| matches!(page, Page::Holds(last) if *last < below))?;
        self.pages[page] = Page::Free;
        self.journaled -= 1;
        Some(page)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_superblock_is_held_until_the_trims_before_are_safe() {
        let mut trims = Trims::new(2);
        trims.hold(Superblock(1), Seq(5));
        assert_eq!(trims.held().count(), 0, "there is no trim to wait for");
        trims.push(Lpa(0), 1, Seq(5));
        trims.hold(Superblock(1), Seq(6));
        assert!(trims.held().count() == 1 && trims.due());
        let page = trims.start_write().unwrap();
        assert!(trims.held().count() == 1 && !trims.wanted, "it is on its way");
        trims.push(Lpa(9), 1, Seq(7));
        trims.hold(Superblock(2), Seq(8));
        assert_eq!(trims.held().collect::<Vec<_>>(), [1, 2].map(Superblock));
        trims.written(page);
        assert_eq!(trims.held().collect::<Vec<_>>(), [Superblock(2)]);
        trims.drop_covered(Seq(8));
        assert_eq!(trims.held().count(), 0);
    }

    #[test]
    fn a_trim_is_safe_once_its_page_is_on_flash() {
        let mut trims = Trims::new(2);
        trims.push(Lpa(0), 32, Seq(5));
        trims.push(Lpa(32), 8, Seq(37));
        trims.push(Lpa(90), 1, Seq(45));
        assert!(!trims.all_safe() && !trims.due());
        trims.wanted = true;
        assert!(trims.due());
        let page = trims.start_write().unwrap();
        trims.push(Lpa(7), 1, Seq(46));
        assert!(!trims.all_safe());
        let records = trims.written(page);
        assert_eq!(records, [(0, 40, 5), (90, 1, 45)].map(|(l, len, s)| TrimRecord { lpa: Lpa(l), len, seq: Seq(s) }));
        assert!(trims.crowded());
        assert_eq!(trims.take_covered(Seq(45)), None);
        assert_eq!(trims.take_covered(Seq(46)), Some(page));
        assert!(!trims.crowded() && !trims.all_safe(), "the later one is still volatile");
    }

    #[test]
    fn a_full_page_is_due_and_so_is_what_a_held_superblock_waits_for() {
        let mut trims = Trims::new(2);
        for i in 0..RECORDS_PER_PAGE as u32 {
            assert!(trims.has_room() && !trims.due(), "{i} trims");
            trims.push(Lpa(2 * i), 1, Seq(5).plus(i));
        }
        assert!(!trims.has_room() && trims.due());
        trims.hold(Superblock(1), Seq(5));
        assert_eq!(trims.held().count(), 0, "no trim has a number below 5");
        trims.hold(Superblock(1), Seq(6));
        let page = trims.start_write().unwrap();
        trims.push(Lpa(9), 1, Seq(6));
        assert!(trims.held().count() == 1 && !trims.wanted, "the trim with the number 6 is not waited for");
        trims.written(page);
        assert_eq!(trims.held().count(), 0);
    }

    #[test]
    fn trims_in_the_journal_come_back_until_they_are_covered() {
        let mut trims = Trims::new(2);
        assert!(trims.none() && trims.take_covered(Seq(100)).is_none());
        let records = [(7, 3, 20), (50, 1, 9)].map(|(l, len, s)| TrimRecord { lpa: Lpa(l), len, seq: Seq(s) });
        trims.restore(0, &records);
        trims.restore(1, &[]);
        assert!(!trims.none() && trims.all_safe() && trims.crowded());
        assert_eq!(trims.take_restored(), records);
        assert_eq!(trims.take_restored(), []);
        assert_eq!(trims.take_covered(Seq(22)), None, "the last of three units has the number 22");
        assert_eq!(trims.take_covered(Seq(23)), Some(0));
        assert!(trims.none() && !trims.crowded());
        trims.push(Lpa(0), 1, Seq(30));
        assert!(!trims.none());
    }
}
