//! HPB 2.0 in device control mode: subregions that the device recommends to read, and regions that it recommends to
//! drop.
//!
//! The standard leaves the choice to the device. Here a few subregions have a counter of reads that had to fetch their
//! mapping from flash. The host may have a limited number of active regions; the one that was activated first is
//! dropped first.

use std::collections::VecDeque;

use ufs::Recommendation;

/// Subregions that are counted at a time. A subregion's counter is found by its number modulo this.
const COUNTERS: usize = 64;
/// Most recommendations that may wait for a response.
const WAITING: usize = 16;

/// State of the recommendations.
#[cfg_attr(feature = "explore", derive(Clone, Hash))]
#[derive(Debug)]
pub struct Recommender {
    /// Map reads after which a subregion is recommended; `None` in host control mode.
    after: Option<u8>,
    /// Regions that the host may have active.
    max_regions: usize,
    /// Subregions in a region.
    region_groups: u32,
    counters: Vec<(u32, u8)>,
    activate: VecDeque<u32>,
    inactivate: VecDeque<u32>,
    /// Active regions, in the order of their activation.
    active: VecDeque<u32>,
    is_active: Vec<bool>,
}

impl Recommender {
    /// No region is active. With `after` = `None` nothing is ever recommended.
    pub fn new(after: Option<u8>, max_regions: u16, groups: u32, region_groups: u32) -> Recommender {
        let regions = if after.is_some() { groups.div_ceil(region_groups) } else { 0 };
        Recommender {
            after,
            max_regions: max_regions.into(),
            region_groups,
            counters: vec![(0, 0); COUNTERS],
            activate: VecDeque::new(),
            inactivate: VecDeque::new(),
            active: VecDeque::new(),
            is_active: vec![false; regions as usize],
        }
    }

    /// True in device control mode.
    #[inline]
    pub fn controls(&self) -> bool {
        self.after.is_some()
    }

    /// A read had to fetch the mapping of this subregion, which the host does not have.
    pub fn missed(&mut self, group: u32) {
        let Some(after) = self.after else { return };
        let counter = &mut self.counters[group as usize % COUNTERS];
        if counter.0 != group {
            *counter = (group, 0);
        }
        // A command counts each of its units, also while no more recommendations may wait.
        counter.1 = counter.1.saturating_add(1);
        if counter.1 >= after && self.activate.len() < WAITING {
            counter.1 = 0;
            if !self.activate.contains(&group) {
                self.activate.push_back(group);
            }
        }
    }

    /// The host has read a subregion, so its region is active. What was to be recommended of it is out of date.
    pub fn published(&mut self, group: u32) {
        if !self.controls() {
            return;
        }
        let region = group / self.region_groups;
        self.activate.retain(|&waiting| waiting != group);
        if std::mem::replace(&mut self.is_active[region as usize], true) {
            return;
        }
        self.inactivate.retain(|&waiting| waiting != region);
        self.active.push_back(region);
        if self.active.len() > self.max_regions
            && let Some(oldest) = self.active.pop_front()
        {
            self.is_active[oldest as usize] = false;
            self.inactivate.push_back(oldest);
        }
    }

    /// The host has dropped a region, by itself or because it was recommended.
    pub fn dropped(&mut self, region: u32) {
        if self.controls() && std::mem::replace(&mut self.is_active[region as usize], false) {
            self.active.retain(|&active| active != region);
        }
        self.inactivate.retain(|&waiting| waiting != region);
    }

    /// The recommendation for the next response.
    pub fn next(&mut self) -> Option<Recommendation> {
        let next = Recommendation {
            activate: [self.activate.pop_front(), self.activate.pop_front()],
            inactivate: [self.inactivate.pop_front(), self.inactivate.pop_front()],
        };
        (next != Recommendation::default()).then_some(next)
    }

    /// Bytes of SRAM: counters of 5 bytes, waiting subregions of 4, the list of active regions of 2, and two bits per
    /// region: active, and to be dropped.
    pub fn table_bytes(&self) -> u64 {
        let regions = self.is_active.len().div_ceil(8);
        let lists = (5 * COUNTERS + 4 * WAITING + 2 * self.max_regions + 2 * regions) as u64;
        if self.controls() { lists } else { 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missed_often_is_recommended_once() {
        let mut r = Recommender::new(Some(3), 8, 1000, 4);
        (0..2).for_each(|_| r.missed(5));
        assert_eq!(r.next(), None);
        r.missed(5);
        (0..3).for_each(|_| r.missed(6));
        (0..3).for_each(|_| r.missed(5));
        assert_eq!(r.next(), Some(Recommendation { activate: [Some(5), Some(6)], inactivate: [None, None] }));
        assert_eq!(r.next(), None);
        (0..2).for_each(|_| r.missed(5));
        r.missed(5 + COUNTERS as u32);
        (0..2).for_each(|_| r.missed(5));
        assert_eq!(r.next(), None, "another one has taken its counter");
    }

    #[test]
    fn what_is_missed_while_enough_wait_is_recommended_later() {
        let mut r = Recommender::new(Some(200), 8, 1000, 4);
        for group in 0..WAITING as u32 {
            (0..200).for_each(|_| r.missed(group));
        }
        let late = WAITING as u32;
        (0..300).for_each(|_| r.missed(late));
        assert!(r.next().is_some());
        r.missed(late);
        let told: Vec<_> = std::iter::from_fn(|| r.next()).flat_map(|next| next.activate).flatten().collect();
        assert_eq!(told.last(), Some(&late));
    }

    #[test]
    fn the_oldest_region_goes_when_there_are_too_many() {
        let mut r = Recommender::new(Some(1), 2, 1000, 4);
        for group in [0, 3, 4, 1, 8] {
            r.published(group);
        }
        assert_eq!(r.next(), Some(Recommendation { activate: [None, None], inactivate: [Some(0), None] }));
        r.published(2);
        assert_eq!(r.next().map(|next| next.inactivate), Some([Some(1), None]), "it is active again");
    }

    #[test]
    fn a_dropped_region_makes_room() {
        let mut r = Recommender::new(Some(1), 2, 1000, 4);
        [0, 4].into_iter().for_each(|group| r.published(group));
        r.dropped(0);
        r.published(8);
        assert_eq!(r.next(), None, "two regions are active");
        r.published(12);
        r.dropped(1);
        assert_eq!(r.next(), None, "the host has dropped it already");
    }

    #[test]
    fn what_the_host_does_meanwhile_is_not_recommended() {
        let mut r = Recommender::new(Some(1), 1, 1000, 4);
        r.missed(5);
        r.published(5);
        assert_eq!(r.next(), None, "it has been read");
        r.published(8);
        r.published(5);
        let next = r.next().expect("one region too many");
        assert_eq!(next.inactivate, [Some(2), None], "the other one is read again");
    }

    #[test]
    fn nothing_is_recommended_to_a_host_that_decides() {
        let mut r = Recommender::new(None, 1, 1000, 4);
        (0..50).for_each(|group| r.missed(group % 2));
        (0..50).for_each(|group| r.published(group));
        assert_eq!((r.next(), r.table_bytes()), (None, 0));
    }
}
