//! The device's part of HPB (HPB 2017 Sec. 2.2.4, 2.2.5, 3.2): groups whose entries the host may have, whether these
//! entries are up to date, and what responses tell the host of changes.
//!
//! - **The dirty bitmap** (Sec. 3.2) has one bit for each group. None of the entries of a dirty group is used. The bit
//!   is cleared when the host reads the whole group.
//! - A change goes to the host as a single entry in a response (Sec. 2.2.4), for so many groups at a time as are
//!   *tracked*. While a change of a group waits to leave, none of its entries is used.
//! - A group that is not tracked, or whose changes can not be delivered in time, is dirty, and the device tells the
//!   host to read it again.
//!
//! An entry is **sealed** (`seals`), 8 bytes that the device recognises as its own and up to date, whatever the host
//! sends; or **plain**, the bare address in 4 bytes that the paper has built (Sec. 2.2.5: its device has no hardware
//! for seals). Nothing in a plain entry tells when it was made, so the device knows only what it has told the host:
//!
//! - An entry is used again when the host *has* the new one, not when it has left. A command that was sent before could
//!   still bring the old one, and could wait for a map flush until the log has forgotten the change. The device knows
//!   that the host has handled a response when the host uses its tag again. Responses arrive in the order in which they
//!   leave, so those before it have been handled, too. All of the group waits for that, or only the page (`CleanFrom`).
//! - A trim is delivered as entry 0. Otherwise an entry that was in a response when the host trimmed its page would be
//!   believed for ever.
//! - A host that sends an entry which it should have replaced gets older data of the same address, as under `hp-ufs`
//!   (ARCHITECTURE, "Trust in the host"). Any other page fails the check against its spare area.

use std::collections::{BTreeSet, VecDeque};

use ufs::{DataIn, HpbNotice, Recommendation};
use units::{Lpa, Ppa};

use self::recommend::Recommender;
use crate::config::{CleanFrom, HpbConfig};

mod recommend;
mod seals;

use seals::Seals;

/// A change that the host has to be told of.
#[derive(Clone, Copy, Hash, Debug)]
struct Pending {
    lpa: Lpa,
    ppa: Option<Ppa>,
    /// Number of the change, for a seal.
    count: u8,
}

/// A response that the host may not have handled.
#[derive(Clone, Copy, Hash, Debug)]
struct InTransit {
    tag: u8,
    /// The page whose entry it carries.
    entry: Option<Lpa>,
}

/// State of all groups.
#[cfg_attr(feature = "explore", derive(Clone, Hash))]
#[derive(Debug)]
pub struct Publisher {
    cfg: HpbConfig,
    capacity: u32,
    /// False until the host reads its first group. Without an HPB host no call costs any time.
    active: bool,
    /// The dirty bitmap: groups that the host has not read since power-on, has dropped, or has to read again.
    dirty: Vec<bool>,
    /// `None` if entries are plain.
    seals: Option<Seals>,
    pending: VecDeque<Pending>,
    /// Number of changes that the host does not have, by group.
    undelivered: Vec<u16>,
    /// Groups with such changes.
    waiting_groups: usize,
    /// Plain entries: responses from the first one on that carries an entry which the host may not have.
    in_transit: VecDeque<InTransit>,
    /// Dirty groups that the host has to be told of.
    notices: BTreeSet<u32>,
    recommender: Recommender,
}

impl Publisher {
    /// Nothing is published. `key` is that of this boot.
    pub fn new(cfg: &HpbConfig, key: [u64; 2], capacity_units: u32) -> Publisher {
        let groups = capacity_units.div_ceil(cfg.group_entries) as usize;
        Publisher {
            cfg: *cfg,
            capacity: capacity_units,
            active: false,
            dirty: vec![true; groups],
            seals: cfg.sealed.then(|| Seals::new(cfg.group_entries, key, groups)),
            pending: VecDeque::new(),
            undelivered: vec![0; groups],
            waiting_groups: 0,
            in_transit: VecDeque::new(),
            notices: BTreeSet::new(),
            recommender: Recommender::new(
                cfg.recommend_after,
                cfg.max_active_regions,
                groups as u32,
                cfg.region_groups,
            ),
        }
    }

    /// The configuration.
    pub fn config(&self) -> &HpbConfig {
        &self.cfg
    }

    /// Number of groups.
    pub fn groups(&self) -> u32 {
        self.dirty.len() as u32
    }

    /// First address and number of entries of a group.
    pub fn range(&self, group: u32) -> (Lpa, u32) {
        let first = group * self.cfg.group_entries;
        (Lpa(first), self.cfg.group_entries.min(self.capacity - first))
    }

    fn group_of(&self, lpa: Lpa) -> u32 {
        lpa.0 / self.cfg.group_entries
    }

    /// The host reads a group. `mapping` has the present place of each of its pages. All older entries of the group
    /// fail, if they are sealed.
    pub fn publish(&mut self, group: u32, mapping: &[Option<Ppa>]) -> DataIn {
        self.active = true;
        self.dirty[group as usize] = false;
        self.settle(group);
        self.notices.remove(&group);
        self.recommender.published(group);
        let (first, n) = self.range(group);
        assert_eq!(mapping.len(), n as usize, "a group is published whole");
        match &mut self.seals {
            Some(seals) => DataIn::Sealed(seals.publish(group, first, mapping)),
            None => DataIn::Plain(mapping.iter().map(|&ppa| Ppa::pack(ppa)).collect()),
        }
    }

    /// Place of `len` pages from `lpa` on, if the entry for the first one may be used for all of them. A sealed entry
    /// is genuine, up to date and covers them. With a plain one, the host answers for that (Sec. 3.4: it has seen that
    /// they are contiguous), and the pages have to be checked.
    pub fn check(&self, lpa: Lpa, len: u32, entry: u64) -> Option<Ppa> {
        let group = self.group_of(lpa);
        let inside = self.group_of(lpa.offset(len - 1)) == group;
        if self.dirty[group as usize] || self.undelivered[group as usize] > 0 || !inside {
            return None;
        }
        if self.cfg.clean_from == CleanFrom::Response && self.is_under_way(lpa, len) {
            return None;
        }
        match &self.seals {
            Some(seals) => seals.check(lpa, len, entry),
            None => u32::try_from(entry).ok().and_then(Ppa::unpack),
        }
    }

    /// True if a new entry of one of these pages is under way to the host.
    fn is_under_way(&self, lpa: Lpa, len: u32) -> bool {
        let asked = lpa.0..lpa.0 + len;
        self.in_transit.iter().any(|response| response.entry.is_some_and(|entry| asked.contains(&entry.0)))
    }

    /// The mapping of a page has changed.
    #[inline]
    pub fn changed(&mut self, lpa: Lpa, ppa: Option<Ppa>) {
        if self.active && !self.dirty[self.group_of(lpa) as usize] {
            self.changed_in_clean_group(lpa, ppa);
        }
    }

    fn changed_in_clean_group(&mut self, lpa: Lpa, ppa: Option<Ppa>) {
        let group = self.group_of(lpa);
        if !self.track(group) || self.pending.len() >= usize::from(self.cfg.pending_entries) {
            self.mark_dirty(group);
            return;
        }
        let count = match &mut self.seals {
            None => 0,
            Some(seals) => match seals.changed(lpa) {
                Some(count) if ppa.is_some() => count,
                // No entry of this page passes any more.
                _ => return,
            },
        };
        self.pending.push_back(Pending { lpa, ppa, count });
        self.waiting_groups += usize::from(self.undelivered[group as usize] == 0);
        self.undelivered[group as usize] += 1;
    }

    /// True if single changes of a group can be delivered. The group that has been tracked for the longest time may
    /// have to give way. Plain entries need no counters, so a group is tracked only while changes of it wait.
    fn track(&mut self, group: u32) -> bool {
        let limit = usize::from(self.cfg.tracked_groups);
        if limit == 0 {
            return false;
        }
        let Some(seals) = &mut self.seals else {
            return self.undelivered[group as usize] > 0 || self.waiting_groups < limit;
        };
        if let Some(other) = seals.track(group, limit) {
            self.mark_dirty(other);
        }
        true
    }

    /// Forgets the changes of a group that wait: the host reads it as a whole, or uses none of its entries.
    fn settle(&mut self, group: u32) {
        if let Some(seals) = &mut self.seals {
            seals.untrack(group);
        }
        if std::mem::take(&mut self.undelivered[group as usize]) > 0 {
            let entries = self.cfg.group_entries;
            self.waiting_groups -= 1;
            self.pending.retain(|p| p.lpa.0 / entries != group);
            let inside = |response: &InTransit| response.entry.is_some_and(|lpa| lpa.0 / entries == group);
            self.in_transit.iter_mut().filter(|response| inside(response)).for_each(|response| response.entry = None);
        }
    }

    fn delivered(&mut self, group: u32) {
        self.undelivered[group as usize] -= 1;
        self.waiting_groups -= usize::from(self.undelivered[group as usize] == 0);
    }

    /// Marks a group as dirty: its entries are not used until the host reads it again.
    fn mark_dirty(&mut self, group: u32) {
        if !std::mem::replace(&mut self.dirty[group as usize], true) {
            self.settle(group);
            self.notices.insert(group);
        }
    }

    /// Adds the next notice for the host to the response to the command with this tag.
    #[inline]
    pub fn notify(&mut self, tag: u8, notice: &mut HpbNotice) {
        if self.active || self.recommender.controls() {
            *notice = self.next_notice();
            if self.seals.is_none() {
                self.sent(tag, notice);
            }
        }
    }

    fn sent(&mut self, tag: u8, notice: &HpbNotice) {
        let entry = match *notice {
            HpbNotice::Entry { lpa, .. } => Some(lpa),
            _ => None,
        };
        if entry.is_some() || !self.in_transit.is_empty() {
            self.in_transit.push_back(InTransit { tag, entry });
        }
        if let Some(lpa) = entry.filter(|_| self.cfg.clean_from == CleanFrom::Response) {
            self.delivered(self.group_of(lpa));
        }
    }

    /// A command with this tag starts, so the host has handled the response to the one before it, and all responses
    /// that left earlier.
    #[inline]
    pub fn heard(&mut self, tag: u8) {
        if !self.in_transit.is_empty() {
            self.heard_until(tag);
        }
    }

    fn heard_until(&mut self, tag: u8) {
        let Some(last) = self.in_transit.iter().position(|response| response.tag == tag) else { return };
        for _ in 0..=last {
            let handled = self.in_transit.pop_front().and_then(|response| response.entry);
            if let Some(lpa) = handled.filter(|_| self.cfg.clean_from == CleanFrom::NextCommand) {
                self.delivered(self.group_of(lpa));
            }
        }
        while self.in_transit.front().is_some_and(|response| response.entry.is_none()) {
            self.in_transit.pop_front();
        }
    }

    fn next_notice(&mut self) -> HpbNotice {
        if let Some(group) = self.notices.pop_first() {
            return HpbNotice::DirtyGroup(group);
        }
        while let Some(Pending { lpa, ppa, count }) = self.pending.pop_front() {
            let Some(seals) = &self.seals else {
                return HpbNotice::Entry { lpa, entry: Ppa::pack(ppa).into() };
            };
            let entry = ppa.and_then(|ppa| seals.changed_entry(lpa, ppa, count));
            self.delivered(self.group_of(lpa));
            // Otherwise the page has changed again. A dirty group has no pending changes.
            if let Some(entry) = entry {
                return HpbNotice::Entry { lpa, entry };
            }
        }
        self.recommender.next().map_or(HpbNotice::None, |next| match next {
            Recommendation { activate: [Some(group), None], inactivate: [None, None] } => HpbNotice::DirtyGroup(group),
            _ => HpbNotice::Recommend(next),
        })
    }

    /// A read had to fetch the mapping of this page from flash.
    #[inline]
    pub fn missed(&mut self, lpa: Lpa) {
        let group = self.group_of(lpa);
        if self.recommender.controls() && self.dirty[group as usize] {
            self.recommender.missed(group);
        }
    }

    /// The host has dropped its entries of a region, so it needs no news of changes there.
    pub fn inactivated(&mut self, region: u32) {
        let first = region * self.cfg.region_groups;
        for group in first..(first + self.cfg.region_groups).min(self.groups()) {
            self.dirty[group as usize] = true;
            self.settle(group);
            self.notices.remove(&group);
        }
        self.recommender.dropped(region);
    }

    /// Number of regions.
    pub fn regions(&self) -> u32 {
        self.groups().div_ceil(self.cfg.region_groups)
    }

    /// Bytes of SRAM, for a host that has asked for entries or does `asks`: two bits for each group, dirty and to be
    /// told; for each tracked group its number and how many of its changes the host lacks; changes that wait for a
    /// response; the buffer in which the entries of a group are collected; and what seals need, or the tag and the
    /// page of a response for each of the host's tags.
    pub fn table_bytes(&self, asks: bool, host_tags: u16) -> u64 {
        let tracked = u64::from(self.cfg.tracked_groups);
        let bits = 2 * u64::from(self.groups()).div_ceil(8);
        let pending = u64::from(self.cfg.pending_entries) * 8;
        let group_buffer = u64::from(self.cfg.group_entries) * 4;
        let own = self.seals.as_ref().map_or(u64::from(host_tags) * 5, |seals| seals.table_bytes(tracked));
        let published = if self.active || asks { bits + 6 * tracked + pending + group_buffer + own } else { 0 };
        published + self.recommender.table_bytes()
    }
}

#[cfg(test)]
mod tests;
