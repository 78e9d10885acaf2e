//! Trims on their way to flash. A trim leaves no page behind that recovery could find, so it goes into a journal.
//!
//! A trim is *volatile* while it is only here, *journaled* once its page of the journal is on flash, and *covered* when
//! the segment on flash has it too. A flush waits until no trim before it is volatile; so does the erase of a
//! superblock, for a trim may have freed it, and after a power cut the old mapping would name a page that is no more.
//!
//! A volatile trim may be lost, and then what it took away has to be found. So a superblock that recovery has to look
//! at is *held* in the record of log blocks while the only reason to leave it out is a volatile trim.

use units::{Lpa, Seq, Superblock};

use crate::knowledge::TrimRecord;

/// Records in a page of the journal, at 16 bytes each.
pub const RECORDS_PER_PAGE: usize = 256;

/// State of a page of the journal.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Page {
    Free,
    /// Being programmed.
    Coming,
    /// On flash, with trims up to this number.
    Holds(Seq),
}

/// Trims that no segment on flash has yet.
#[derive(Debug)]
pub struct Trims {
    volatile: Vec<TrimRecord>,
    pages: Vec<Page>,
    /// What is being programmed, by page.
    coming: Vec<(usize, Vec<TrimRecord>)>,
    /// Pages on flash.
    journaled: usize,
    /// Superblocks that are held, until every trim with a number below this is safe.
    held: Vec<(Superblock, Seq)>,
    /// What recovery has found in the journal, until a scheme asks for it.
    restored: Vec<TrimRecord>,
    /// Flushes and erases that wait want volatile trims written at once.
    pub wanted: bool,
}

impl Trims {
    /// None.
    pub fn new(pages: usize) -> Trims {
        let pages = vec![Page::Free; pages];
        Trims {
            volatile: Vec::new(),
            pages,
            coming: Vec::new(),
            journaled: 0,
            held: Vec::new(),
            restored: Vec::new(),
            wanted: false,
        }
    }

    /// Can another trim be taken in?
    pub fn has_room(&self) -> bool {
        self.volatile.len() < RECORDS_PER_PAGE
    }

    /// Takes in a trim of `n` units that has numbers from `seq`.
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
        let waiting = self.volatile.iter().chain(self.coming.iter().flat_map(|(_, records)| records));
        waiting.map(|r| r.seq).min().unwrap_or(Seq(u64::MAX))
    }

    /// Trims with numbers below `below` are why this superblock may be left out of the record.
    pub fn hold(&mut self, sb: Superblock, below: Seq) {
        if self.all_safe() {
            return;
        }
        match self.held.iter_mut().find(|(held, _)| *held == sb) {
            Some((_, until)) => *until = below,
            None => self.held.push((sb, below)),
        }
    }

    /// Superblocks that a record has to hold. The trims that they wait for are wanted in the journal now, for each of
    /// these superblocks costs a recovery time.
    pub fn held(&mut self) -> impl Iterator<Item = Superblock> {
        let safe = self.safe_below();
        self.held.retain(|&(_, below)| below > safe);
        let last = self.held.iter().map(|&(_, below)| below).max();
        self.wanted |= last.is_some_and(|below| self.volatile.iter().any(|r| r.seq < below));
        self.held.iter().map(|&(sb, _)| sb)
    }

    /// Is there no trim at all that a segment on flash may lack?
    pub fn none(&self) -> bool {
        self.journaled == 0 && self.all_safe()
    }

    /// Is every trim journaled?
    pub fn all_safe(&self) -> bool {
        self.volatile.is_empty() && self.coming.is_empty()
    }

    /// Should the volatile trims be written now?
    pub fn due(&self) -> bool {
        !self.volatile.is_empty() && (self.wanted || !self.has_room())
    }

    /// Is no page of the journal left, or only the last one?
    pub fn crowded(&self) -> bool {
        self.pages.iter().filter(|&&page| page == Page::Free).count() <= 1
    }

    /// After a power cut: these pages hold trims.
    pub fn restore(&mut self, page: usize, records: &[TrimRecord]) {
        let last = records.iter().map(|r| r.seq.plus(r.len - 1)).max();
        if let Some(last) = last {
            self.pages[page] = Page::Holds(last);
            self.journaled += 1;
            self.restored.extend_from_slice(records);
        }
    }

    /// What recovery has found in the journal, for a scheme that keeps it.
    pub fn take_restored(&mut self) -> Vec<TrimRecord> {
        std::mem::take(&mut self.restored)
    }

    /// Begins to write the volatile trims: gives the page to program, if one is free.
    pub fn start_write(&mut self) -> Option<usize> {
        let page = self.pages.iter().position(|&page| page == Page::Free)?;
        self.pages[page] = Page::Coming;
        self.coming.push((page, std::mem::take(&mut self.volatile)));
        self.wanted = false;
        Some(page)
    }

    /// A page is on flash: gives its content.
    pub fn written(&mut self, page: usize) -> Vec<TrimRecord> {
        let at = self.coming.iter().position(|(coming, _)| *coming == page);
        let (_, records) = self.coming.swap_remove(at.expect("a page is programmed once at a time"));
        let last = records.iter().map(|r| r.seq.plus(r.len - 1)).max();
        self.pages[page] = Page::Holds(last.expect("a page is written with records"));
        self.journaled += 1;
        records
    }

    /// Every trim with a number below this is in a segment on flash: volatile ones need no journal.
    pub fn drop_covered(&mut self, below: Seq) {
        if !self.volatile.is_empty() {
            self.volatile.retain(|r| r.seq.plus(r.len - 1) >= below);
        }
    }

    /// Every trim with a number below this is in a segment on flash: gives a page that is not needed any more.
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
}
