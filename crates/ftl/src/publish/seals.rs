//! Seals of entries: what makes the device recognise an entry as its own, and as up to date (HPB 2017 Sec. 2.2.5).
//!
//! A sealed entry is 8 bytes: packed PPA (32 bits), length minus one of the physically contiguous run that starts there
//! (8 bits), tag (24 bits). The tag is a MAC over LPA, PPA, run, the *epoch* of the group and the *change counter* of
//! the page, under a key of this boot. The paper also encrypts the entry; here the host can read the PPA in it.
//!
//! - The epoch of a group grows whenever the host reads the whole group, so older entries fail.
//! - A *tracked* group also has a two-bit counter per page of its changes since then. Each change goes to the host
//!   sealed with the new count, so the entry before it fails. A page that has changed three times is not trusted until
//!   the host reads the group again.
//! - Both ways of refreshing in the paper, whole groups and single entries in responses, need no trust in the host: a
//!   stale entry fails its seal. The device checks the PPA for range and against the spare area all the same.

use siphasher::sip::SipHasher13;
use units::{Lpa, Ppa};

/// Longest run that one entry covers.
const MAX_RUN: u32 = 256;
const SATURATED: u8 = 3;

#[derive(Clone, Hash, Debug)]
struct Tracker {
    group: u32,
    /// Two bits per page.
    counts: Vec<u8>,
}

#[cfg_attr(feature = "explore", derive(Clone, Hash))]
#[derive(Debug)]
pub(super) struct Seals {
    group_entries: u32,
    /// Key of this boot.
    key: [u64; 2],
    epochs: Vec<u32>,
    /// Number of the tracker of each group, plus one. An index of the simulator; firmware would search the trackers.
    tracker_of: Vec<u16>,
    trackers: Vec<Tracker>,
    next_tracker: usize,
}

impl Seals {
    pub fn new(group_entries: u32, key: [u64; 2], groups: usize) -> Seals {
        Seals {
            group_entries,
            key,
            epochs: vec![0; groups],
            tracker_of: vec![0; groups],
            trackers: Vec::new(),
            next_tracker: 0,
        }
    }

    fn count(&self, lpa: Lpa) -> u8 {
        match self.tracker_of[(lpa.0 / self.group_entries) as usize] {
            0 => 0,
            t => {
                let page = (lpa.0 % self.group_entries) as usize;
                self.trackers[usize::from(t) - 1].counts[page / 4] >> (page % 4 * 2) & 3
            }
        }
    }

    fn tag(&self, lpa: Lpa, ppa: Ppa, run: u32, count: u8) -> u64 {
        let epoch = self.epochs[(lpa.0 / self.group_entries) as usize];
        let place = u64::from(lpa.0) << 32 | u64::from(ppa.0);
        let state = u64::from(epoch) << 32 | u64::from(run) << 8 | u64::from(count);
        let mut sealed = [0; 16];
        sealed[..8].copy_from_slice(&place.to_le_bytes());
        sealed[8..].copy_from_slice(&state.to_le_bytes());
        SipHasher13::new_with_keys(self.key[0], self.key[1]).hash(&sealed) & 0xff_ffff
    }

    fn seal(&self, lpa: Lpa, ppa: Ppa, run: u32, count: u8) -> u64 {
        u64::from(Ppa::pack(Some(ppa))) << 32 | u64::from(run - 1) << 24 | self.tag(lpa, ppa, run, count)
    }

    /// The entries of a group whose first page is `first`. All older ones fail.
    pub fn publish(&mut self, group: u32, first: Lpa, mapping: &[Option<Ppa>]) -> Vec<u64> {
        self.epochs[group as usize] += 1;
        let mut sealed = vec![0; mapping.len()];
        let mut run = 0;
        for i in (0..mapping.len()).rev() {
            let Some(ppa) = mapping[i] else {
                run = 0;
                continue;
            };
            let follows = mapping.get(i + 1).copied().flatten() == Some(ppa.offset(1));
            run = if follows { (run + 1).min(MAX_RUN) } else { 1 };
            sealed[i] = self.seal(first.offset(i as u32), ppa, run, 0);
        }
        sealed
    }

    /// Place of `len` pages of one group from `lpa` on, if the entry for the first one is genuine, up to date and
    /// covers all of them.
    pub fn check(&self, lpa: Lpa, len: u32, entry: u64) -> Option<Ppa> {
        let ppa = Ppa::unpack((entry >> 32) as u32)?;
        let run = (entry >> 24 & 0xff) as u32 + 1;
        let count = self.count(lpa);
        if count == SATURATED || len > run || entry & 0xff_ffff != self.tag(lpa, ppa, run, count) {
            return None;
        }
        (1..len).all(|i| self.count(lpa.offset(i)) == 0).then_some(ppa)
    }

    /// A page of a tracked group has changed. Gives the number of the change, unless there have been too many.
    pub fn changed(&mut self, lpa: Lpa) -> Option<u8> {
        let page = (lpa.0 % self.group_entries) as usize;
        let tracker = &mut self.trackers[usize::from(self.tracker_of[(lpa.0 / self.group_entries) as usize]) - 1];
        let (byte, shift) = (page / 4, page % 4 * 2);
        let count = (tracker.counts[byte] >> shift & 3).saturating_add(1).min(SATURATED);
        tracker.counts[byte] = tracker.counts[byte] & !(3 << shift) | count << shift;
        (count < SATURATED).then_some(count)
    }

    /// The entry of a page after its change of this number, if it has not changed again since.
    pub fn changed_entry(&self, lpa: Lpa, ppa: Ppa, count: u8) -> Option<u64> {
        (self.count(lpa) == count).then(|| self.seal(lpa, ppa, 1, count))
    }

    /// Makes sure that a group has one of `limit` trackers. The group that has had one for the longest time may lose
    /// it, and is given.
    pub fn track(&mut self, group: u32, limit: usize) -> Option<u32> {
        if self.tracker_of[group as usize] != 0 {
            return None;
        }
        let mut loser = None;
        let slot = if self.trackers.len() < limit {
            let bytes = self.group_entries.div_ceil(4) as usize;
            self.trackers.push(Tracker { group, counts: vec![0; bytes] });
            self.trackers.len() - 1
        } else {
            let slot = self.next_tracker % limit;
            self.next_tracker = slot + 1;
            let old = self.trackers[slot].group;
            if usize::from(self.tracker_of[old as usize]) == slot + 1 {
                self.untrack(old);
                loser = Some(old);
            }
            self.trackers[slot].group = group;
            self.trackers[slot].counts.fill(0);
            slot
        };
        self.tracker_of[group as usize] = slot as u16 + 1;
        loser
    }

    /// Takes the tracker of a group away, if it has one.
    pub fn untrack(&mut self, group: u32) {
        self.tracker_of[group as usize] = 0;
    }

    /// Bytes of SRAM: the epoch of every group, and the counters of the pages of `tracked` groups.
    pub fn table_bytes(&self, tracked: u64) -> u64 {
        4 * self.epochs.len() as u64 + tracked * u64::from(self.group_entries.div_ceil(4))
    }
}
