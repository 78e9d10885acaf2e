//! The clusters compared with plain lists, and what is loaded ahead.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;
use ftl::seat::{MapShape, Numbered};

/// 4096 addresses, 512 in a translation page, and room for `entries` entries, in as many nodes as there are pages.
fn cache(entries: u64, own: TpftlParams) -> Nodes {
    let units = MapUnits::new(4096, MapShape { entries: 512, bytes: 4096, numbered: Numbered::Directory });
    Nodes::new(&own, entries * 6 + (8 + NEW_NODES) * 8, units)
}

fn cached(cache: &Nodes) -> Vec<u32> {
    (0..8).map(MapUnit).flat_map(|unit| cache.cached_in(unit)).map(|lpa| lpa.0).collect()
}

/// Inserts what is missing of these addresses, in order; where there is no room, victims leave, and are returned.
fn take(cache: &mut Nodes, lpas: impl IntoIterator<Item = u32>) -> Vec<u32> {
    let mut left = Vec::new();
    for lpa in lpas.into_iter().map(Lpa) {
        if cache.touch(lpa) {
            continue;
        }
        while cache.room() == 0 {
            let victim = cache.victim().expect("nothing is pinned");
            cache.clean(victim);
            cache.remove(victim);
            left.push(victim.0);
        }
        cache.insert(lpa, Some(Ppa(lpa.0 + 1)));
    }
    left
}

fn ahead(cache: &Nodes, lpa: u32) -> (u32, u32) {
    let Range { start, end } = cache.ahead(Lpa(lpa));
    (start, end)
}

#[test]
fn an_entry_takes_six_bytes_and_a_node_eight() {
    let own = TpftlParams::default();
    let units = MapUnits::new(4096, MapShape { entries: 512, bytes: 4096, numbered: Numbered::Directory });
    let mut cache = Nodes::new(&own, 1000, units);
    assert_eq!(cache.room(), (1000 - 24) / 6);
    assert_eq!(cache.capacity(), (1000 - 24) / 14, "each in a page of its own");
    take(&mut cache, [5, 6, 7, 600]);
    assert_eq!(cache.taken, 4 * 6 + 2 * 8);
    [5, 6, 7].into_iter().for_each(|lpa| cache.remove(Lpa(lpa)));
    assert_eq!(cache.taken, 6 + 8);
    assert_eq!(Nodes::sram(&own, u64::MAX, units), 4096 * 6 + 8 * 8 + 24, "the whole table");
}

#[test]
fn the_coldest_page_loses_its_oldest_clean_entry() {
    let mut cache = cache(64, TpftlParams::default());
    take(&mut cache, [3, 600, 4, 601, 5]);
    // Averages of the times of use: (1 + 3 + 5) / 3 and (2 + 4) / 2, so both are 3.
    assert_eq!(cache.victim(), Some(Lpa(3)), "the lower page of equally cold ones");
    cache.touch(Lpa(5));
    assert_eq!(cache.victim(), Some(Lpa(600)), "(1 + 3 + 6) / 3 is more than (2 + 4) / 2");
    cache.set(Lpa(600), None);
    assert_eq!(cache.victim(), Some(Lpa(601)), "clean first");
    cache.set(Lpa(601), None);
    assert_eq!(cache.victim(), Some(Lpa(600)), "all are dirty");
    cache.pin(Lpa(600));
    assert_eq!(cache.victim(), Some(Lpa(601)));
    cache.pin(Lpa(601));
    assert_eq!(cache.victim(), Some(Lpa(3)), "writes need all of the coldest page");
    [3, 4, 5].into_iter().for_each(|lpa| cache.pin(Lpa(lpa)));
    assert_eq!(cache.victim(), None);
}

#[test]
fn without_the_rule_dirty_entries_leave_in_their_turn() {
    let mut cache = cache(64, TpftlParams { clean_first: false, ..TpftlParams::default() });
    take(&mut cache, [3, 4]);
    cache.set(Lpa(3), None);
    assert_eq!(cache.victim(), Some(Lpa(3)));
}

#[test]
fn a_miss_takes_the_rest_of_its_request_in_as_far_as_the_page_goes() {
    let mut cache = cache(600, TpftlParams::default());
    cache.request(LpaRun { lpa: Lpa(500), len: 40 });
    assert_eq!(ahead(&cache, 500), (501, 512), "the page ends");
    assert_eq!(ahead(&cache, 515), (516, 540));
    assert_eq!(ahead(&cache, 539), (540, 540));
    assert_eq!(ahead(&cache, 540), (541, 541), "not of this request");
    cache.own.request_prefetch = false;
    assert_eq!(ahead(&cache, 515), (516, 516));
}

#[test]
fn what_a_prefetch_replaces_belongs_to_one_page() {
    let mut cache = cache(16, TpftlParams::default());
    take(&mut cache, [0, 1, 2, 3, 4]);
    take(&mut cache, 600..620);
    let room = cache.room() as u32;
    cache.request(LpaRun { lpa: Lpa(1100), len: 100 });
    let coldest = cache.nodes[cache.order.first().unwrap() as usize].len;
    assert_eq!(ahead(&cache, 1100), (1101, 1101 + room + coldest - 1), "the missed entry comes first");
}

/// Threshold 3: three nodes less than before switch the selective prefetch on, three more switch it off.
#[test]
fn pages_that_become_fewer_switch_the_prefetch_on() {
    let mut cache = cache(600, TpftlParams::default());
    take(&mut cache, (0..5).map(|page| page * 512));
    let mut states = vec![cache.sequential];
    take(&mut cache, [2560, 2561, 2562, 2563]);
    assert_eq!(cache.change, 0, "six came");
    for page in 0..3 {
        cache.remove(Lpa(page * 512));
        states.push(cache.sequential);
    }
    assert_eq!(states, [false, false, false, true]);
    assert_eq!(ahead(&cache, 2564), (2565, 2569), "four are cached before it");
    assert_eq!(ahead(&cache, 2562), (2563, 2565), "two");
    assert_eq!(ahead(&cache, 2570), (2571, 2571), "none right before it");
    cache.request(LpaRun { lpa: Lpa(2564), len: 9 });
    assert_eq!(ahead(&cache, 2564), (2565, 2573), "the longer one");
    take(&mut cache, [0, 512]);
    assert!(cache.sequential);
    take(&mut cache, [1024]);
    assert!(!cache.sequential);
    cache.sequential = true;
    cache.own.selective_prefetch = false;
    assert_eq!(ahead(&cache, 2563), (2564, 2564));
}

#[test]
fn dirty_entries_are_listed_by_translation_page() {
    let mut cache = cache(64, TpftlParams::default());
    take(&mut cache, [3, 5, 700, 511, 512]);
    for lpa in [511, 3, 700] {
        assert_eq!(cache.set(Lpa(lpa), Some(Ppa(9))), (Some(Ppa(lpa + 1)), false));
    }
    assert_eq!(cache.set(Lpa(3), Some(Ppa(8))), (Some(Ppa(9)), true));
    assert_eq!(cache.dirty_in(MapUnit(0)).collect::<Vec<_>>(), [Lpa(3), Lpa(511)]);
    let of = |place: u32| cache.dirty_pages(move |ppa| ppa.0 == place).collect::<BTreeSet<_>>();
    assert_eq!((of(8), of(9), of(6)), ([0].map(MapUnit).into(), [0, 1].map(MapUnit).into(), [].into()));
    assert_eq!(cache.coldest_dirty(8), Some(MapUnit(0)));
    cache.clean(Lpa(3));
    cache.clean(Lpa(511));
    assert_eq!((cache.coldest_dirty(8), cache.coldest_dirty(0)), (Some(MapUnit(1)), Some(MapUnit(1))));
    assert!(cache.dirty().pages().eq([MapUnit(1)]));
}

#[test]
fn the_coldest_page_with_dirty_entries_is_written_first() {
    let mut cache = cache(64, TpftlParams::default());
    take(&mut cache, [1100, 600, 3]);
    [600, 3].into_iter().for_each(|lpa| _ = cache.set(Lpa(lpa), None));
    assert_eq!(cache.coldest_dirty(8), Some(MapUnit(1)), "page 2 is colder, and clean");
    assert_eq!(cache.coldest_dirty(1), Some(MapUnit(0)), "any, if the first one is clean");
}

/// Each entry may be in a page of its own.
#[test]
fn the_smallest_cache_holds_the_entries_wherever_they_belong() {
    let own = TpftlParams::default();
    let units = MapUnits::new(1 << 17, MapShape { entries: 512, bytes: 4096, numbered: Numbered::Directory });
    let capacity = |bytes: u32| Nodes::new(&own, bytes.into(), units).capacity();
    for entries in [290, 291, 583, 584, 5000] {
        let least = own.least_bytes(entries, false);
        assert!(capacity(least) >= entries.into(), "{entries} in {least} bytes");
        assert!(least == 4096 || capacity(least - 4096) < entries.into(), "{entries} in less than {least} bytes");
    }
}

#[test]
fn a_pinned_entry_knows_the_newest_change() {
    let mut cache = cache(64, TpftlParams::default());
    take(&mut cache, [7]);
    (0..3).for_each(|_| cache.pin(Lpa(7)));
    assert!(cache.unpin(Lpa(7), 12));
    assert!(!cache.unpin(Lpa(7), 11), "programs may finish in another order");
    cache.trimmed(Lpa(7), 20);
    assert!(!cache.unpin(Lpa(7), 19));
    assert_eq!(cache.victim(), Some(Lpa(7)));
}

/// Pages as lists of (address, last use, dirty), the oldest first.
#[derive(Default)]
struct Naive {
    pages: Vec<Vec<(u32, u64, bool)>>,
    uses: u64,
}

impl Naive {
    fn used(&mut self, lpa: u32, dirty: bool) {
        self.uses += 1;
        let page = &mut self.pages[lpa as usize / 512];
        let was_dirty = page.iter().any(|entry| entry.0 == lpa && entry.2);
        page.retain(|entry| entry.0 != lpa);
        page.push((lpa, self.uses, dirty || was_dirty));
    }

    fn victim(&self) -> Option<u32> {
        let held = self.pages.iter().filter(|page| !page.is_empty());
        let sum = |page: &[(u32, u64, bool)]| page.iter().map(|entry| entry.1).sum::<u64>();
        // Averages a / n < b / m as products.
        let coldest = held.reduce(|a, b| if sum(b) * (a.len() as u64) < sum(a) * (b.len() as u64) { b } else { a })?;
        coldest.iter().find(|entry| !entry.2).or(coldest.first()).map(|entry| entry.0)
    }
}

proptest! {
    #[test]
    fn contents_and_victims_are_those_of_plain_lists(
        uses in prop::collection::vec((0u32..8, 0u32..6, any::<bool>(), any::<bool>()), 1..300),
    ) {
        let mut real = cache(12, TpftlParams::default());
        let mut naive = Naive { pages: vec![Vec::new(); 8], ..Naive::default() };
        for (page, slot, dirty, drop) in uses {
            let lpa = page * 512 + slot;
            for victim in take(&mut real, [lpa]) {
                prop_assert_eq!(Some(victim), naive.victim());
                naive.pages[victim as usize / 512].retain(|entry| entry.0 != victim);
            }
            if dirty {
                real.set(Lpa(lpa), None);
            }
            naive.used(lpa, dirty);
            prop_assert_eq!(real.victim().map(|lpa| lpa.0), naive.victim());
            if drop {
                real.clean(Lpa(lpa));
                real.remove(Lpa(lpa));
                naive.pages[page as usize].retain(|entry| entry.0 != lpa);
            }
            let mut held: Vec<u32> = naive.pages.iter().flatten().map(|entry| entry.0).collect();
            held.sort_unstable();
            let nodes = naive.pages.iter().filter(|page| !page.is_empty()).count();
            prop_assert_eq!(real.taken, held.len() as u64 * 6 + nodes as u64 * 8);
            prop_assert_eq!(cached(&real), held);
        }
    }
}
