//! The device's part of HPB (HPB 2017 Sec. 2.2.4, 2.2.5, 3.2): groups whose entries the host may have, whether these
//! entries are up to date, and the seal by which the device recognises them.
//!
//! An entry is 8 bytes: packed PPA (32 bits), length minus one of the physically contiguous run that starts there (8
//! bits), tag (24 bits). The tag is a MAC over LPA, PPA, run, the *epoch* of the group and the *change counter* of the
//! page, under a key of this boot. The paper describes such a seal, and left it out for lack of hardware.
//!
//! - The epoch of a group grows whenever the host reads the whole group, so older entries fail.
//! - A *tracked* group also has a two-bit counter per page of its changes since then. Each change goes to the host as a
//!   single entry in a response, sealed with the new count, so the entry before it fails. Until the last of these
//!   entries has left, none of the group's entries is used: its bit in the dirty bitmap is set (Sec. 3.2). A page that
//!   has changed three times is not trusted until the host reads the group again.
//! - Both ways of refreshing in the paper, whole groups and single entries in responses, need no trust in the host: a
//!   stale entry fails its seal. The device checks the PPA for range and against the spare area all the same.
//! - A group that is not tracked, or whose changes can not be delivered in time, is *dirty*: none of its entries is
//!   used, and the device tells the host to read it again.

use std::collections::VecDeque;

use siphasher::sip::SipHasher13;
use ufs::{HpbNotice, Recommendation};
use units::{Lpa, Ppa};

use crate::config::HpbConfig;
use crate::recommend::Recommender;

/// Longest run that one entry covers.
pub const MAX_RUN: u32 = 256;
const SATURATED: u8 = 3;

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Group {
    /// The host has not read it since power-on, or has dropped it.
    Unpublished,
    /// Its entries are valid unless a page counter says otherwise.
    Clean,
    /// The device uses none of its entries.
    Dirty,
}

#[derive(Clone, Hash, Debug)]
struct Tracker {
    group: u32,
    /// Two bits per page.
    counts: Vec<u8>,
}

#[derive(Clone, Copy, Hash, Debug)]
struct Pending {
    lpa: Lpa,
    ppa: Ppa,
    count: u8,
}

/// State of all groups.
#[cfg_attr(feature = "explore", derive(Clone, Hash))]
#[derive(Debug)]
pub struct Publisher {
    cfg: HpbConfig,
    /// Key of this boot.
    key: [u64; 2],
    capacity: u32,
    /// False until the host reads its first group. Without an HPB host no call costs any time.
    active: bool,
    groups: Vec<Group>,
    epochs: Vec<u32>,
    /// Number of the tracker of each group, plus one.
    tracker_of: Vec<u16>,
    trackers: Vec<Tracker>,
    next_tracker: usize,
    pending: VecDeque<Pending>,
    /// Number of pending changes, by group.
    undelivered: Vec<u16>,
    notices: VecDeque<u32>,
    recommender: Recommender,
}

impl Publisher {
    /// Nothing is published.
    pub fn new(cfg: &HpbConfig, key: [u64; 2], capacity_units: u32) -> Publisher {
        let groups = capacity_units.div_ceil(cfg.group_entries) as usize;
        Publisher {
            cfg: *cfg,
            key,
            capacity: capacity_units,
            active: false,
            groups: vec![Group::Unpublished; groups],
            epochs: vec![0; groups],
            tracker_of: vec![0; groups],
            trackers: Vec::new(),
            next_tracker: 0,
            pending: VecDeque::new(),
            undelivered: vec![0; groups],
            notices: VecDeque::new(),
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
        self.groups.len() as u32
    }

    /// First address and number of entries of a group.
    pub fn range(&self, group: u32) -> (Lpa, u32) {
        let first = group * self.cfg.group_entries;
        (Lpa(first), self.cfg.group_entries.min(self.capacity - first))
    }

    fn group_of(&self, lpa: Lpa) -> u32 {
        lpa.0 / self.cfg.group_entries
    }

    fn count(&self, lpa: Lpa) -> u8 {
        match self.tracker_of[self.group_of(lpa) as usize] {
            0 => 0,
            t => {
                let page = (lpa.0 % self.cfg.group_entries) as usize;
                self.trackers[usize::from(t) - 1].counts[page / 4] >> (page % 4 * 2) & 3
            }
        }
    }

    fn tag(&self, lpa: Lpa, ppa: Ppa, run: u32, count: u8) -> u64 {
        let epoch = self.epochs[self.group_of(lpa) as usize];
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

    /// The host reads a group. `mapping` has the present place of each of its pages. All older entries of the group
    /// fail.
    pub fn publish(&mut self, group: u32, mapping: &[Option<Ppa>]) -> Vec<u64> {
        self.active = true;
        let g = group as usize;
        self.groups[g] = Group::Clean;
        self.epochs[g] += 1;
        self.untrack(group);
        self.recommender.published(group);
        let (first, n) = self.range(group);
        assert_eq!(mapping.len(), n as usize, "a group is published whole");
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

    /// Place of `len` pages from `lpa` on, if the entry for the first one is genuine, up to date and covers all of
    /// them.
    pub fn check(&self, lpa: Lpa, len: u32, entry: u64) -> Option<Ppa> {
        let group = self.group_of(lpa);
        let ppa = Ppa::unpack((entry >> 32) as u32)?;
        let run = (entry >> 24 & 0xff) as u32 + 1;
        let count = self.count(lpa);
        let inside = self.group_of(lpa.offset(len - 1)) == group;
        let dirty = self.groups[group as usize] != Group::Clean || self.undelivered[group as usize] > 0;
        if dirty || count == SATURATED || len > run || !inside {
            return None;
        }
        if entry & 0xff_ffff != self.tag(lpa, ppa, run, count) {
            return None;
        }
        (1..len).all(|i| self.count(lpa.offset(i)) == 0).then_some(ppa)
    }

    /// The mapping of a page has changed.
    #[inline]
    pub fn changed(&mut self, lpa: Lpa, ppa: Option<Ppa>) {
        if self.active && self.groups[self.group_of(lpa) as usize] == Group::Clean {
            self.changed_in_clean_group(lpa, ppa);
        }
    }

    fn changed_in_clean_group(&mut self, lpa: Lpa, ppa: Option<Ppa>) {
        let group = self.group_of(lpa);
        if !self.track(group) || self.pending.len() >= usize::from(self.cfg.pending_entries) {
            self.mark_dirty(group);
            return;
        }
        let page = (lpa.0 % self.cfg.group_entries) as usize;
        let tracker = &mut self.trackers[usize::from(self.tracker_of[group as usize]) - 1];
        let (byte, shift) = (page / 4, page % 4 * 2);
        let count = (tracker.counts[byte] >> shift & 3).saturating_add(1).min(SATURATED);
        tracker.counts[byte] = tracker.counts[byte] & !(3 << shift) | count << shift;
        if let (Some(ppa), true) = (ppa, count < SATURATED) {
            self.pending.push_back(Pending { lpa, ppa, count });
            self.undelivered[group as usize] += 1;
        }
    }

    /// Makes sure that a group has a tracker. The group that has had one for the longest time may lose it.
    fn track(&mut self, group: u32) -> bool {
        if self.tracker_of[group as usize] != 0 {
            return true;
        }
        let limit = usize::from(self.cfg.tracked_groups);
        if limit == 0 {
            return false;
        }
        let bytes = self.cfg.group_entries.div_ceil(4) as usize;
        let slot = if self.trackers.len() < limit {
            self.trackers.push(Tracker { group, counts: vec![0; bytes] });
            self.trackers.len() - 1
        } else {
            let slot = self.next_tracker % limit;
            self.next_tracker = slot + 1;
            let old = self.trackers[slot].group;
            if usize::from(self.tracker_of[old as usize]) == slot + 1 {
                self.mark_dirty(old);
            }
            self.trackers[slot].group = group;
            self.trackers[slot].counts.fill(0);
            slot
        };
        self.tracker_of[group as usize] = slot as u16 + 1;
        true
    }

    fn untrack(&mut self, group: u32) {
        self.tracker_of[group as usize] = 0;
        if std::mem::take(&mut self.undelivered[group as usize]) > 0 {
            let entries = self.cfg.group_entries;
            self.pending.retain(|p| p.lpa.0 / entries != group);
        }
    }

    /// Marks a group as dirty: its entries are not used until the host reads it again.
    fn mark_dirty(&mut self, group: u32) {
        if self.groups[group as usize] == Group::Clean {
            self.groups[group as usize] = Group::Dirty;
            self.untrack(group);
            self.notices.push_back(group);
        }
    }

    /// Adds the next notice for the host to a response.
    #[inline]
    pub fn notify(&mut self, notice: &mut HpbNotice) {
        if self.active || self.recommender.controls() {
            *notice = self.next_notice();
        }
    }

    fn next_notice(&mut self) -> HpbNotice {
        if let Some(group) = self.notices.pop_front() {
            return HpbNotice::DirtyGroup(group);
        }
        while let Some(p) = self.pending.pop_front() {
            let group = self.group_of(p.lpa) as usize;
            self.undelivered[group] -= 1;
            // Otherwise the page has changed again. A group that is not clean has no pending changes.
            if self.count(p.lpa) == p.count {
                return HpbNotice::Entry { lpa: p.lpa, entry: self.seal(p.lpa, p.ppa, 1, p.count) };
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
        if self.recommender.controls() && self.groups[group as usize] != Group::Clean {
            self.recommender.missed(group);
        }
    }

    /// The host has dropped its entries of a region, so it needs no news of changes there.
    pub fn inactivated(&mut self, region: u32) {
        let first = region * self.cfg.region_groups;
        for group in first..(first + self.cfg.region_groups).min(self.groups()) {
            self.groups[group as usize] = Group::Unpublished;
            self.untrack(group);
        }
    }

    /// Number of regions.
    pub fn regions(&self) -> u32 {
        self.groups().div_ceil(self.cfg.region_groups)
    }

    /// Bytes of SRAM, for a host that has asked for entries or does `asks`: state and epoch of every group, the page
    /// counters of the tracked ones, changes that wait for a response, and the buffer in which the entries of a group
    /// are collected.
    pub fn table_bytes(&self, asks: bool) -> u64 {
        let groups = self.groups.len() as u64;
        let trackers = u64::from(self.cfg.tracked_groups) * u64::from(self.cfg.group_entries.div_ceil(4));
        let pending = u64::from(self.cfg.pending_entries) * 8;
        let group_buffer = u64::from(self.cfg.group_entries) * 4;
        let published =
            if self.active || asks { groups.div_ceil(4) + 4 * groups + trackers + pending + group_buffer } else { 0 };
        published + self.recommender.table_bytes()
    }
}

#[cfg(test)]
mod tests {
    use units::Nanos;

    use super::*;

    fn config(tracked: u16) -> HpbConfig {
        HpbConfig {
            group_entries: 16,
            tracked_groups: tracked,
            pending_entries: 8,
            seal_cost: Nanos(0),
            region_groups: 2,
            max_blocks: 255,
            recommend_after: None,
            max_active_regions: 1,
        }
    }

    /// Four groups, and half a one.
    fn publisher(tracked: u16) -> Publisher {
        Publisher::new(&config(tracked), [1, 2], 72)
    }

    /// Same, in device control mode.
    fn controlling(tracked: u16, after: u8) -> Publisher {
        Publisher::new(&HpbConfig { recommend_after: Some(after), ..config(tracked) }, [1, 2], 72)
    }

    fn notice(p: &mut Publisher) -> HpbNotice {
        let mut notice = HpbNotice::None;
        p.notify(&mut notice);
        notice
    }

    fn contiguous() -> Vec<Option<Ppa>> {
        (100..116).map(|p| Some(Ppa(p))).collect()
    }

    #[test]
    fn an_entry_serves_its_own_run_and_nothing_else() {
        let mut p = publisher(1);
        let sealed = p.publish(0, &contiguous());
        assert_eq!(p.check(Lpa(3), 1, sealed[3]), Some(Ppa(103)));
        assert_eq!(p.check(Lpa(3), 13, sealed[3]), Some(Ppa(103)));
        assert_eq!(p.check(Lpa(3), 14, sealed[3]), None, "reaches into the next group");
        assert_eq!(p.check(Lpa(4), 1, sealed[3]), None, "swapped");
        assert_eq!(p.check(Lpa(3), 1, sealed[3] ^ 1 << 32), None, "forged address");
        assert_eq!(p.check(Lpa(3), 1, 0), None);
    }

    #[test]
    fn a_change_makes_old_entries_fail_and_the_delivered_one_good() {
        let mut p = publisher(1);
        let old = p.publish(0, &contiguous());
        p.changed(Lpa(3), Some(Ppa(7)));
        assert_eq!(p.check(Lpa(3), 1, old[3]), None, "stale");
        assert_eq!(p.check(Lpa(2), 2, old[2]), None, "run over a changed page");
        assert_eq!(p.check(Lpa(2), 1, old[2]), None, "the group is dirty until the host has been told");
        let HpbNotice::Entry { lpa, entry } = p.next_notice() else { panic!("an entry is due") };
        assert_eq!(p.check(Lpa(2), 1, old[2]), Some(Ppa(102)));
        assert_eq!(p.check(lpa, 1, entry), Some(Ppa(7)));
        p.changed(Lpa(3), Some(Ppa(8)));
        assert_eq!(p.check(lpa, 1, entry), None, "replayed");
        p.changed(Lpa(3), Some(Ppa(9)));
        assert_eq!(p.next_notice(), HpbNotice::None, "three changes: not trusted until the group is read");
        let fresh = p.publish(0, &contiguous());
        assert_eq!(p.check(Lpa(3), 1, old[3]), None, "entry of an older epoch");
        assert_eq!(p.check(Lpa(3), 1, fresh[3]), Some(Ppa(103)));
    }

    #[test]
    fn an_untracked_group_becomes_dirty_as_a_whole() {
        let mut p = publisher(1);
        let (a, b) = (p.publish(0, &contiguous()), p.publish(1, &contiguous()));
        p.changed(Lpa(0), Some(Ppa(7)));
        p.changed(Lpa(16), Some(Ppa(8)));
        assert_eq!(p.next_notice(), HpbNotice::DirtyGroup(0), "the only tracker went to the other group");
        assert_eq!(p.check(Lpa(5), 1, a[5]), None);
        assert_eq!(p.check(Lpa(21), 1, b[5]), None, "dirty until its change has left");
        assert!(matches!(p.next_notice(), HpbNotice::Entry { lpa: Lpa(16), .. }));
        assert_eq!(p.check(Lpa(21), 1, b[5]), Some(Ppa(105)));
    }

    #[test]
    fn a_region_that_the_host_has_dropped_is_not_spoken_of() {
        let mut p = publisher(0);
        let old = p.publish(1, &contiguous());
        p.publish(2, &contiguous());
        p.inactivated(0);
        assert_eq!(p.check(Lpa(17), 1, old[1]), None, "its entries are of no use any more");
        p.changed(Lpa(17), Some(Ppa(7)));
        assert_eq!(p.next_notice(), HpbNotice::None);
        p.changed(Lpa(33), Some(Ppa(8)));
        assert_eq!(p.next_notice(), HpbNotice::DirtyGroup(2), "it is of another region");
    }

    #[test]
    fn a_trim_is_never_delivered_but_ends_the_entry() {
        let mut p = publisher(1);
        let sealed = p.publish(0, &contiguous());
        p.changed(Lpa(1), None);
        assert_eq!(p.check(Lpa(1), 1, sealed[1]), None);
        assert_eq!(p.next_notice(), HpbNotice::None);
    }

    #[test]
    fn a_host_that_makes_a_run_longer_is_not_believed() {
        let mut p = publisher(1);
        let mut mapping = contiguous();
        mapping[6] = Some(Ppa(50));
        let sealed = p.publish(0, &mapping)[5];
        assert_eq!(p.check(Lpa(5), 1, sealed), Some(Ppa(105)));
        assert_eq!(p.check(Lpa(5), 2, sealed), None, "the next page is elsewhere");
        let longer = sealed + (1 << 24);
        assert_eq!(p.check(Lpa(5), 2, longer), None);
        assert_eq!(p.check(Lpa(5), 1, longer), None);
    }

    #[test]
    fn neighbours_change_one_by_one() {
        let mut p = publisher(1);
        let mut entries = p.publish(0, &contiguous());
        let mut places = contiguous();
        for (from, page) in [(20, 4), (20, 5), (20, 6), (20, 7), (40, 4), (40, 5), (40, 6), (40, 7)] {
            let place = Some(Ppa(from + page));
            let old = entries[page as usize];
            p.changed(Lpa(page), place);
            let HpbNotice::Entry { lpa: Lpa(lpa), entry } = notice(&mut p) else { panic!("an entry is due") };
            assert_eq!(lpa, page);
            (entries[page as usize], places[page as usize]) = (entry, place);
            assert_eq!(p.check(Lpa(page), 1, old), None, "stale entry of {page}");
            for (i, &entry) in entries.iter().enumerate() {
                assert_eq!(p.check(Lpa(i as u32), 1, entry), places[i], "page {i} after a change of {page}");
            }
        }
    }

    #[test]
    fn of_two_changes_only_the_later_one_is_delivered() {
        let mut p = publisher(1);
        p.publish(0, &contiguous());
        p.changed(Lpa(3), Some(Ppa(7)));
        p.changed(Lpa(3), Some(Ppa(8)));
        let HpbNotice::Entry { lpa, entry } = notice(&mut p) else { panic!("an entry is due") };
        assert_eq!(p.check(lpa, 1, entry), Some(Ppa(8)));
        assert_eq!(notice(&mut p), HpbNotice::None);
    }

    #[test]
    fn what_the_host_has_not_read_takes_no_tracker() {
        let mut p = publisher(1);
        p.publish(0, &contiguous());
        p.changed(Lpa(0), Some(Ppa(7)));
        p.changed(Lpa(16), Some(Ppa(8)));
        assert!(matches!(notice(&mut p), HpbNotice::Entry { lpa: Lpa(0), .. }));
        assert_eq!(notice(&mut p), HpbNotice::None);
    }

    #[test]
    fn the_group_that_was_tracked_first_becomes_dirty_first() {
        let mut p = publisher(2);
        for group in 0..5 {
            let (_, entries) = p.range(group);
            p.publish(group, &contiguous()[..entries as usize]);
        }
        (0..5).for_each(|group| p.changed(Lpa(16 * group), Some(Ppa(group))));
        for group in 0..3 {
            assert_eq!(notice(&mut p), HpbNotice::DirtyGroup(group));
        }
        assert!(matches!(notice(&mut p), HpbNotice::Entry { lpa: Lpa(48), .. }));
        assert!(matches!(notice(&mut p), HpbNotice::Entry { lpa: Lpa(64), .. }));
        assert_eq!(notice(&mut p), HpbNotice::None);
    }

    /// A recommendation of one group has the bytes of a dirty group, so it is one.
    #[test]
    fn groups_without_good_entries_are_recommended() {
        let mut p = controlling(0, 2);
        p.missed(Lpa(15));
        assert_eq!(notice(&mut p), HpbNotice::None, "once is not often");
        p.missed(Lpa(0));
        assert_eq!(notice(&mut p), HpbNotice::DirtyGroup(0));
        p.publish(0, &contiguous());
        (0..2).for_each(|_| p.missed(Lpa(0)));
        assert_eq!(notice(&mut p), HpbNotice::None, "the host has good entries");
        p.changed(Lpa(0), Some(Ppa(7)));
        assert_eq!(notice(&mut p), HpbNotice::DirtyGroup(0), "nothing is tracked");
        [0, 0, 32, 32].into_iter().for_each(|lpa| p.missed(Lpa(lpa)));
        let both = Recommendation { activate: [Some(0), Some(2)], inactivate: [None, None] };
        assert_eq!(notice(&mut p), HpbNotice::Recommend(both));
        let mut p = publisher(0);
        (0..2).for_each(|_| p.missed(Lpa(0)));
        assert_eq!(notice(&mut p), HpbNotice::None, "the host decides");
    }

    #[test]
    fn the_last_region_may_be_short() {
        let mut p = publisher(0);
        assert_eq!((p.groups(), p.regions(), p.range(4)), (5, 3, (Lpa(64), 8)));
        let sealed: Vec<_> = (0..5).map(|group| p.publish(group, &contiguous()[..p.range(group).1 as usize])).collect();
        let serve = |p: &Publisher| [0, 1, 2, 3, 4].map(|g| p.check(Lpa(16 * g), 1, sealed[g as usize][0]).is_some());
        p.inactivated(1);
        assert_eq!(serve(&p), [true, true, false, false, true]);
        p.inactivated(2);
        assert_eq!(serve(&p), [true, true, false, false, false]);
    }

    #[test]
    fn tables_take_what_they_hold() {
        let (mut p, mut controlling) = (publisher(3), controlling(3, 2));
        // 64 counters of 5 bytes, 16 waiting subregions of 4, one active region of 2, bits of 3 regions.
        let recommender = 320 + 64 + 2 + 1;
        assert_eq!((p.table_bytes(false), controlling.table_bytes(false)), (0, recommender));
        p.publish(1, &contiguous());
        controlling.publish(1, &contiguous());
        // States of 5 groups, two bits each; their epochs; three groups of 16 counters of two bits; 8 changes of 8
        // bytes; 16 places of 4 bytes.
        let published = 2 + 20 + 12 + 64 + 64;
        assert_eq!((p.table_bytes(false), controlling.table_bytes(false)), (published, published + recommender));
    }
}
