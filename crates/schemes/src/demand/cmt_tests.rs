//! The cache compared with a naive model, and the worked example of segmented LRU.

use std::collections::BTreeSet;
use std::collections::VecDeque;

use proptest::prelude::*;

use super::*;
use ftl::seat::{MapShape, Numbered};

fn cmt(capacity: u64) -> Cmt {
    Cmt::with_entries(
        capacity,
        MapUnits::new(4096, MapShape { entries: 512, bytes: 4096, numbered: Numbered::Directory }),
        8,
    )
}

fn cached(cmt: &Cmt) -> Vec<u32> {
    (0..8).map(MapUnit).flat_map(|unit| cmt.cached_in(unit)).map(|lpa| lpa.0).collect()
}

/// Uses an address as a lookup does: a hit touches the entry; a miss drops the victim and inserts the entry.
fn look_up(cmt: &mut Cmt, lpa: u32) -> bool {
    if cmt.touch(Lpa(lpa)) {
        return true;
    }
    if cmt.room() == 0 {
        let victim = cmt.victim().expect("nothing is pinned");
        cmt.clean(victim);
        cmt.remove(victim);
    }
    cmt.insert(Lpa(lpa), Some(Ppa(lpa + 1)));
    false
}

/// Two lists in order of use, most recent first.
struct Naive {
    capacity: usize,
    probationary: VecDeque<u32>,
    protected: VecDeque<u32>,
}

impl Naive {
    fn look_up(&mut self, lpa: u32) -> bool {
        let cached = self.probationary.contains(&lpa) || self.protected.contains(&lpa);
        self.probationary.retain(|&other| other != lpa);
        self.protected.retain(|&other| other != lpa);
        if cached {
            self.protected.push_front(lpa);
            if self.protected.len() > self.capacity / 8 {
                let demoted = self.protected.pop_back().unwrap();
                self.probationary.push_front(demoted);
            }
            return true;
        }
        if self.probationary.len() + self.protected.len() == self.capacity && self.probationary.pop_back().is_none() {
            self.protected.pop_back();
        }
        self.probationary.push_front(lpa);
        false
    }
}

#[test]
fn an_entry_that_is_used_again_outlives_a_scan() {
    let mut cmt = cmt(16);
    for lpa in [1, 2, 1, 2] {
        look_up(&mut cmt, lpa);
    }
    (100..200).for_each(|lpa| assert!(!look_up(&mut cmt, lpa)));
    assert!(cmt.is_cached(Lpa(1)) && cmt.is_cached(Lpa(2)), "two are protected, an eighth of 16");
    look_up(&mut cmt, 199);
    assert!(cmt.is_cached(Lpa(1)), "demoted, not dropped");
    (200..214).for_each(|lpa| assert!(!look_up(&mut cmt, lpa)));
    assert!(!cmt.is_cached(Lpa(1)));
}

#[test]
fn a_pinned_entry_stays_and_knows_the_newest_change() {
    let mut cmt = cmt(8);
    cmt.insert(Lpa(7), None);
    cmt.pin(Lpa(7));
    cmt.pin(Lpa(7));
    (100..150).for_each(|lpa| assert!(!look_up(&mut cmt, lpa)));
    assert!(cmt.unpin(Lpa(7), 12));
    assert!(!cmt.unpin(Lpa(7), 11), "programs may finish in another order");
    cmt.trimmed(Lpa(7), 20);
    assert!(cmt.is_cached(Lpa(7)));
    (150..200).for_each(|lpa| assert!(!look_up(&mut cmt, lpa)));
    assert!(!cmt.is_cached(Lpa(7)));
}

#[test]
fn dirty_entries_are_listed_by_translation_page() {
    let mut cmt = cmt(64);
    for lpa in [3, 5, 700, 511, 512] {
        cmt.insert(Lpa(lpa), Some(Ppa(1)));
    }
    for lpa in [511, 3, 700] {
        assert_eq!(cmt.set(Lpa(lpa), Some(Ppa(9))), (Some(Ppa(1)), false));
    }
    assert_eq!(cmt.dirty_in(MapUnit(0)).collect::<Vec<_>>(), [Lpa(3), Lpa(511)]);
    assert_eq!(cmt.dirty_in(MapUnit(1)).collect::<Vec<_>>(), [Lpa(700)]);
    assert_eq!(cached(&cmt), [3, 5, 511, 512, 700]);
    assert_eq!(cmt.coldest_dirty(2), Some(MapUnit(0)), "3 came first");
    cmt.set(Lpa(512), Some(Ppa(8)));
    let of = |place: u32| cmt.dirty_pages(move |ppa| ppa.0 == place).collect::<BTreeSet<_>>();
    assert_eq!((of(8), of(9), of(1)), ([1].map(MapUnit).into(), [0, 1].map(MapUnit).into(), [].into()));
    cmt.clean(Lpa(3));
    cmt.clean(Lpa(511));
    cmt.clean(Lpa(512));
    assert!(cmt.dirty().pages().eq([MapUnit(1)]));
    assert_eq!(cmt.set(Lpa(700), None), (Some(Ppa(9)), true));
}

/// The number of entries by translation page has 16 bits.
#[test]
fn an_entry_is_listed_however_often_another_comes_and_goes() {
    let mut cmt = cmt(2);
    cmt.insert(Lpa(3), None);
    for _ in 0..0x1_0001 {
        cmt.insert(Lpa(5), None);
        assert_eq!(cmt.cached_in(MapUnit(0)).next(), Some(Lpa(3)));
        cmt.remove(Lpa(5));
    }
    assert_eq!(cached(&cmt), [3]);
}

proptest! {
    #[test]
    fn hits_and_contents_are_those_of_two_plain_lists(
        capacity in 1u64..40,
        uses in prop::collection::vec((0u32..80, any::<bool>()), 1..400),
    ) {
        let mut real = cmt(capacity);
        let (probationary, protected) = (VecDeque::new(), VecDeque::new());
        let mut naive = Naive { capacity: capacity as usize, probationary, protected };
        for (lpa, change) in uses {
            prop_assert_eq!(look_up(&mut real, lpa), naive.look_up(lpa));
            if change {
                real.set(Lpa(lpa), Some(Ppa(lpa)));
            }
            let mut held: Vec<u32> = naive.probationary.iter().chain(&naive.protected).copied().collect();
            held.sort_unstable();
            prop_assert_eq!(cached(&real), held);
            let colder = naive.probationary.back().or(naive.protected.back()).copied();
            prop_assert_eq!(real.victim().map(|lpa| lpa.0), colder);
        }
    }
}

#[test]
fn an_entry_and_its_links_take_half_a_cache_line() {
    assert_eq!(size_of::<Entry>() + 2 * size_of::<u32>(), 32);
}

/// With a protected part an entry used twice outlives many that are used once; without, the last use decides.
#[test]
fn without_a_protected_part_it_is_a_plain_lru() {
    let shape = MapShape { entries: 512, bytes: 4096, numbered: Numbered::Directory };
    for (one_in, survives) in [(8, true), (0, false)] {
        let mut cmt = Cmt::with_entries(16, MapUnits::new(4096, shape), one_in);
        (0..2).for_each(|lpa| cmt.insert(Lpa(lpa), None));
        assert!(cmt.touch(Lpa(0)));
        for lpa in 2..40 {
            look_up(&mut cmt, lpa);
        }
        assert_eq!((cmt.is_cached(Lpa(0)), cmt.is_cached(Lpa(1))), (survives, false), "one in {one_in}");
    }
}
