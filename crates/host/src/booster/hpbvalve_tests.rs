use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use ufs::{HpbNotice, Op, Status};

use super::super::seat::{Apps as _, Counted as _, HostMemory as _};
use super::super::subregion::bench::{Bench, INFO, happenings};
use super::*;

const FRONT: u16 = 1;
const OTHER: u16 = 2;
const BACK: u16 = 9;

fn bench(slots: u64) -> Bench<Hpbvalve> {
    Bench::new(attach(&Params::default(), slots * 4096, &INFO))
}

fn start(b: &mut Bench<Hpbvalve>, app: u16) {
    b.signal(AppSignal::LaunchStart(AppId(app)));
}

fn end(b: &mut Bench<Hpbvalve>, app: u16) {
    b.signal(AppSignal::LaunchEnd(AppId(app)));
}

/// The subregions of a list, oldest first.
fn list(b: &Bench<Hpbvalve>, list: usize) -> Vec<u32> {
    b.booster.policy.lists.oldest_first(list).map(|slot| b.booster.cache.subregions.group(slot)).collect()
}

/// An app in the background reads a subregion until it has been fetched.
fn fetch_behind(b: &mut Bench<Hpbvalve>, group: u32) {
    for _ in 0..8 {
        assert!(!b.read(BACK, group));
    }
    assert_eq!(b.fetched(), [group]);
}

#[test]
fn what_the_foreground_misses_is_fetched_at_once() {
    let mut b = bench(8);
    start(&mut b, FRONT);
    assert!(!b.read(FRONT, 3) && !b.read(BACK, 4));
    assert_eq!(b.fetched(), [3]);
    assert!(b.read(FRONT, 3));
    assert_eq!((list(&b, AFG), b.counter("hpbvalve_miss_fetches")), (vec![3], 1));
    fetch_behind(&mut b, 5);
    assert_eq!(list(&b, BG), [5]);
}

#[test]
fn a_launch_prefetches_its_launch_list_and_then_its_running_list() {
    let mut b = bench(16);
    start(&mut b, FRONT);
    for group in [7, 3, 4] {
        b.read(FRONT, group);
    }
    end(&mut b, FRONT);
    for group in [3, 12] {
        b.read(FRONT, group);
    }
    b.serve();
    start(&mut b, OTHER);
    assert_eq!(b.booster.reclaim(b.now, AppId(OTHER), u64::MAX), 4 * 4096);
    start(&mut b, FRONT);
    assert_eq!(b.fetched(), [7, 3, 4, 12], "in order of the first launch");
    assert_eq!((b.counter("hpbvalve_launch_fetches"), b.counter("hpbvalve_running_fetches")), (3, 1));
    assert_eq!(b.counter("hpbvalve_profile_bytes"), 4 * 4, "runs of 7, of 3 and 4, of 3, of 12");
}

/// Parts of the policy can be switched off, as wrong models beside it.
#[test]
fn what_is_switched_off_is_not_done() {
    let fetched_again = |own: Params| {
        let mut b = Bench::new(attach(&own, 16 * 4096, &INFO));
        start(&mut b, FRONT);
        for group in [7, 3] {
            b.read(FRONT, group);
        }
        b.serve();
        start(&mut b, OTHER);
        let kept = list(&b, IFG);
        let freed = b.booster.reclaim(b.now, AppId(FRONT), u64::MAX) / 4096;
        start(&mut b, FRONT);
        b.read(FRONT, 3);
        (kept, freed, b.fetched())
    };
    let all = Params::default();
    assert_eq!(fetched_again(all), (vec![7, 3], 2, vec![3, 7]));
    assert_eq!(fetched_again(Params { prefetch: false, ..all }), (vec![7, 3], 2, vec![3]));
    assert_eq!(fetched_again(Params { keeps_left: false, ..all }), (vec![], 0, vec![3, 7]));
    assert_eq!(fetched_again(Params { gives_back: false, ..all }), (vec![7, 3], 0, vec![]));
}

#[test]
fn prefetched_ones_enter_at_the_old_end_and_referenced_ones_at_the_young() {
    let mut b = bench(16);
    start(&mut b, FRONT);
    (0..3).for_each(|group| {
        b.read(FRONT, group);
    });
    b.serve();
    start(&mut b, OTHER);
    b.booster.reclaim(b.now, AppId(FRONT), u64::MAX);
    start(&mut b, FRONT);
    b.read(FRONT, 8);
    assert_eq!(b.fetched(), [8, 0, 1, 2], "a miss goes before the list");
    assert_eq!(list(&b, AFG), [2, 1, 0, 8]);
    b.read(FRONT, 1);
    assert_eq!(list(&b, AFG), [2, 0, 8, 1]);
}

#[test]
fn another_app_in_the_foreground_demotes_the_last_ones_list() {
    let mut b = bench(16);
    start(&mut b, FRONT);
    (0..2).for_each(|group| {
        b.read(FRONT, group);
    });
    b.serve();
    start(&mut b, OTHER);
    assert_eq!((list(&b, AFG), list(&b, IFG)), (vec![], vec![0, 1]));
    b.read(OTHER, 0);
    assert_eq!((list(&b, AFG), list(&b, IFG)), (vec![0], vec![1]), "promoted by a reference");
    b.read(FRONT, 0);
    assert_eq!(list(&b, AFG), [0], "the active list is the foreground's alone");
    b.read(BACK, 1);
    assert_eq!((list(&b, IFG), list(&b, BG)), (vec![], vec![1]), "last referenced by an app that is never in front");
    b.read(FRONT, 1);
    assert_eq!((list(&b, IFG), list(&b, BG)), (vec![1], vec![]));
    start(&mut b, FRONT);
    assert_eq!((list(&b, AFG), list(&b, IFG)), (vec![1, 0], vec![]), "cached ones of the list are the app's again");
}

#[test]
fn the_active_list_is_never_evicted() {
    let mut b = bench(4);
    fetch_behind(&mut b, 20);
    start(&mut b, FRONT);
    (0..6).for_each(|group| {
        b.read(FRONT, group);
    });
    assert_eq!(b.fetched(), [0, 1, 2, 3]);
    assert_eq!((b.held(), b.counter("subregions_refused")), (vec![0, 1, 2, 3], 2));
    (0..8).for_each(|_| {
        b.read(BACK, 30);
    });
    assert_eq!(b.fetched(), []);
    assert_eq!(b.booster.reclaim(b.now, AppId(FRONT), 1), 0, "nothing can be spared");
    assert_eq!(b.counter("hpbvalve_reclaims_short"), 1);
}

#[test]
fn reclaim_takes_the_background_first_and_only_for_apps_used_lately() {
    let mut b = bench(16);
    start(&mut b, FRONT);
    (0..2).for_each(|group| {
        b.read(FRONT, group);
    });
    b.serve();
    for group in 20..23 {
        fetch_behind(&mut b, group);
    }
    start(&mut b, OTHER);
    assert_eq!(b.booster.reclaim(b.now, AppId(BACK), 4096), 0, "it was never in the foreground");
    assert_eq!(b.booster.reclaim(b.now, AppId(FRONT), 4097), 2 * 4096);
    assert_eq!(b.held(), [0, 1, 22]);
    assert_eq!(b.booster.reclaim(b.now, AppId(FRONT), 2 * 4096), 2 * 4096);
    assert_eq!(b.held(), [1]);
    assert_eq!(b.booster.reclaim(b.now, AppId(FRONT), 1 << 20), 4096);
    assert_eq!((b.counter("hpbvalve_reclaimed_bytes"), b.counter("hpbvalve_reclaims_short")), (5 * 4096, 1));
}

#[test]
fn an_ended_app_is_remembered_but_not_in_front() {
    let mut b = bench(16);
    start(&mut b, FRONT);
    b.read(FRONT, 0);
    b.serve();
    b.signal(AppSignal::Ended(AppId(FRONT)));
    assert_eq!(list(&b, IFG), [0]);
    assert!(!b.read(FRONT, 5));
    assert_eq!(b.fetched(), [], "an app in the background has to read eight times");
    assert!(b.booster.policy.profiles.knows(AppId(FRONT)));
    assert_eq!(b.booster.memory_bytes(), 4096 + 4);
}

#[test]
fn an_app_that_leaves_takes_its_wishes_along() {
    let mut b = bench(16);
    start(&mut b, FRONT);
    (0..5).for_each(|group| {
        b.read(FRONT, group);
    });
    let first = b.command().expect("a fetch");
    start(&mut b, OTHER);
    b.answer(first, Status::Good, HpbNotice::None);
    assert_eq!((b.fetched(), list(&b, IFG), list(&b, AFG)), (vec![], vec![0], vec![]));
}

#[test]
fn a_refresh_does_not_take_a_subregion_out_of_its_list() {
    let mut b = bench(16);
    start(&mut b, FRONT);
    b.read(FRONT, 0);
    b.serve();
    b.notice(HpbNotice::DirtyGroup(0));
    assert_eq!(b.fetched(), [0], "the foreground's are read again at once");
    b.write(BACK, 0);
    for _ in 0..8 {
        assert!(!b.read(BACK, 0));
    }
    assert_eq!((b.fetched(), list(&b, AFG)), (vec![0], vec![0]));
    start(&mut b, OTHER);
    b.notice(HpbNotice::DirtyGroup(0));
    assert_eq!(b.fetched(), [], "others when they are needed");
    assert!(!b.read(OTHER, 0));
    assert_eq!(b.fetched(), [0]);
}

#[test]
fn a_lower_limit_is_kept_whatever_it_takes() {
    let mut b = bench(8);
    fetch_behind(&mut b, 20);
    start(&mut b, FRONT);
    (0..3).for_each(|group| {
        b.read(FRONT, group);
    });
    b.serve();
    b.booster.set_limit(2 * 4096);
    assert_eq!(b.held(), [1, 2]);
}

#[derive(Clone, Copy, Debug)]
enum Event {
    Start(u16),
    End(u16),
    Gone(u16),
    Read(u16, u32),
    Write(u16, u32),
    Notice(u32),
    Reclaim(u16, u64),
}

fn event() -> impl Strategy<Value = Event> {
    let (app, group) = (0..5u16, 0..24u32);
    prop_oneof![
        2 => app.clone().prop_map(Event::Start),
        2 => app.clone().prop_map(Event::End),
        1 => app.clone().prop_map(Event::Gone),
        12 => (app.clone(), group.clone()).prop_map(|(app, group)| Event::Read(app, group)),
        2 => (app.clone(), group.clone()).prop_map(|(app, group)| Event::Write(app, group)),
        2 => group.prop_map(Event::Notice),
        1 => (app, 0..40_000u64).prop_map(|(app, bytes)| Event::Reclaim(app, bytes)),
    ]
}

/// The rules implemented again, with plain lists that are searched. Fetches are answered at once, so none is under way
/// between two events.
#[derive(Default)]
struct Oracle {
    front: Option<u16>,
    launching: bool,
    /// Apps used recently, most recently used first, with what they have read in launches and afterwards.
    apps: Vec<(u16, [BTreeSet<u32>; 2])>,
    /// By list, oldest first.
    lists: [Vec<u32>; 3],
    reads: BTreeMap<u32, u32>,
    /// Cached subregions that need another fetch: written, or reported by the device.
    stale: BTreeSet<u32>,
    written: BTreeSet<u32>,
}

impl Oracle {
    fn knows(&self, app: u16) -> bool {
        self.apps.iter().any(|(other, _)| *other == app)
    }

    fn list_of(&self, group: u32) -> Option<usize> {
        self.lists.iter().position(|list| list.contains(&group))
    }

    fn put(&mut self, group: u32, list: usize) {
        self.lists.iter_mut().for_each(|list| list.retain(|&other| other != group));
        self.lists[list].push(group);
    }

    fn reference(&mut self, group: u32, app: u16) {
        match self.list_of(group) {
            None => {}
            Some(_) if self.front == Some(app) => self.put(group, AFG),
            Some(AFG) => {}
            Some(_) => self.put(group, if self.knows(app) { IFG } else { BG }),
        }
    }

    fn leave(&mut self) {
        let active = std::mem::take(&mut self.lists[AFG]);
        self.lists[IFG].extend(active);
        self.front = None;
    }

    fn drop_one(&mut self) -> bool {
        let Some(list) = [BG, IFG].into_iter().find(|&list| !self.lists[list].is_empty()) else { return false };
        let group = self.lists[list].remove(0);
        self.reads.remove(&group);
        self.stale.remove(&group);
        self.written.remove(&group);
        true
    }

    fn held(&self) -> BTreeSet<u32> {
        self.lists.iter().flatten().copied().collect()
    }

    fn launched(&mut self, app: u16, apps: usize) {
        let at = self.apps.iter().position(|(other, _)| *other == app);
        let entry = at.map_or_else(|| (app, Default::default()), |at| self.apps.remove(at));
        self.apps.insert(0, entry);
        self.apps.truncate(apps);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Lists are those of the oracle, except for the order of prefetched subregions. The limit holds. The active list
    /// only grows while its app is in the foreground. Reclaim gives back as much as was asked for, or all that is not
    /// in AFG.
    #[test]
    fn lists_limits_and_priorities_are_those_of_the_rules(
        events in prop::collection::vec(event(), 0..250),
        slots in 1..12u64,
        profile_apps in 1..4u16,
    ) {
        let profiles = ProfileParams { profile_apps: profile_apps.into(), profile_kib: 64 };
        let own = Params { profiles, ..Params::default() };
        let mut b = Bench::new(attach(&own, slots * 4096, &INFO));
        let mut o = Oracle::default();
        for event in events {
            let active: BTreeSet<u32> = list(&b, AFG).into_iter().collect();
            let mut stays = true;
            match event {
                Event::Start(app) => {
                    start(&mut b, app);
                    stays = o.front == Some(app);
                    if !stays {
                        o.leave();
                    }
                    o.front = Some(app);
                    o.launching = true;
                    o.launched(app, profile_apps.into());
                    let wanted: BTreeSet<u32> = o.apps[0].1.iter().flatten().copied().collect();
                    for group in wanted {
                        if o.list_of(group).is_some_and(|list| list != AFG) {
                            o.put(group, AFG);
                        }
                    }
                }
                Event::End(app) => {
                    end(&mut b, app);
                    o.launching &= o.front != Some(app);
                }
                Event::Gone(app) => {
                    b.signal(AppSignal::Ended(AppId(app)));
                    stays = o.front != Some(app);
                    if !stays {
                        o.leave();
                    }
                }
                Event::Read(app, group) => {
                    let hit = b.read(app, group);
                    let cached = o.list_of(group).is_some();
                    prop_assert_eq!(hit, cached && !o.stale.contains(&group) && !o.written.contains(&group));
                    *o.reads.entry(group).or_default() += 1;
                    o.reference(group, app);
                    if o.front == Some(app) {
                        let phase = usize::from(!o.launching);
                        o.apps[0].1[phase].insert(group);
                    }
                }
                Event::Write(app, group) => {
                    b.write(app, group);
                    o.reads.remove(&group);
                    o.reference(group, app);
                    if o.list_of(group).is_some() {
                        o.written.insert(group);
                    }
                }
                Event::Notice(group) => {
                    b.notice(HpbNotice::DirtyGroup(group));
                    if o.list_of(group).is_some() {
                        o.stale.insert(group);
                    }
                }
                Event::Reclaim(app, bytes) => {
                    let spare = (o.lists[BG].len() + o.lists[IFG].len()) as u64 * 4096;
                    let freed = b.booster.reclaim(b.now, AppId(app), bytes);
                    let right = if o.knows(app) { bytes.next_multiple_of(4096).min(spare) } else { 0 };
                    prop_assert_eq!(freed, right);
                    (0..freed / 4096).for_each(|_| assert!(o.drop_one()));
                }
            }
            // Everything requested is fetched. The oracle follows the fetches and checks that each has a reason.
            while let Some(op) = b.command() {
                let Op::HpbReadBuffer { group } = op else { panic!("{op:?}") };
                let list = o.list_of(group);
                let of_front = o.apps.first().is_some_and(|(_, read)| read.iter().any(|set| set.contains(&group)));
                let for_front = o.front.is_some() && of_front;
                let counted = o.reads.get(&group).is_some_and(|&reads| reads >= 8);
                prop_assert!(for_front || counted || list == Some(AFG), "{} was fetched for nobody", group);
                if list.is_none() && o.held().len() as u64 == slots {
                    prop_assert!(o.drop_one(), "the active list had to make room");
                }
                b.answer(op, Status::Good, HpbNotice::None);
                o.stale.remove(&group);
                o.written.remove(&group);
                let to = [BG, IFG, AFG].into_iter().find(|&to| self::list(&b, to).contains(&group));
                let to = to.expect("what has come is in a list");
                prop_assert!(if for_front { to == AFG } else { to == list.unwrap_or(BG) }, "{} went to {}", group, to);
                o.put(group, to);
            }
            for at in [BG, IFG, AFG] {
                let (mut found, mut expected) = (self::list(&b, at), o.lists[at].clone());
                if at != BG {
                    // Prefetched subregions are at the old end, in the order of the profile list.
                    o.lists[at].clone_from(&found);
                    found.sort_unstable();
                    expected.sort_unstable();
                }
                prop_assert_eq!(found, expected, "list {}", at);
            }
            prop_assert!(b.booster.memory_bytes() <= slots * 4096 + (1 << 16));
            prop_assert!(b.booster.usage().dram_bytes <= slots * 4096);
            let now: BTreeSet<u32> = list(&b, AFG).into_iter().collect();
            prop_assert!(!stays || now.is_superset(&active), "the active list has lost {:?}", active.difference(&now));
        }
    }
}

proptest! {
    #[test]
    fn the_limit_holds_whatever_comes(happenings in happenings(), slots in 1..40u64) {
        bench(slots).endure(&happenings, slots * 4096);
    }
}
