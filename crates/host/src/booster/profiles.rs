//! Profiles of apps: the subregions that each has read during launches, and those that it has read afterwards (HPBvalve
//! Sec. 5.2, FG-Profiler).
//!
//! A list has runs of neighbouring subregions, in the order in which the app first read them. It grows with every
//! launch. A run takes 4 bytes: 21 bits of start, 11 of length.

use std::collections::{BTreeMap, VecDeque};

use units::AppId;

params::params! {
    /// What is remembered of apps.
    pub ProfileParams {
        /// Apps with profile lists.
        profile_apps: count(1 to 1000) = 20, "HPBvalve Sec. 5.2: 20 apps";
        /// All profile lists together.
        profile_kib: count(1 to 1048576) = 1024, "HPBvalve Sec. 5.2: 1 MB for all lists";
    }
}

impl ProfileParams {
    /// The limits in these parameters.
    pub(crate) fn limits(&self) -> ProfileLimits {
        ProfileLimits { profile_apps: self.profile_apps as u16, profile_bytes: u64::from(self.profile_kib) * 1024 }
    }
}

/// Limits of the profiles.
#[derive(Clone, Copy, Hash, Debug)]
pub(crate) struct ProfileLimits {
    /// Apps that have profile lists, from 1.
    pub profile_apps: u16,
    /// Bytes of all profile lists.
    pub profile_bytes: u64,
}

units::counters! {
    /// What HPBvalve's rules count.
    AppCounters
    /// Fetches of what the app in the foreground had missed.
    hpbvalve_miss_fetches,
    /// Fetches of an app's launch list.
    hpbvalve_launch_fetches,
    /// Fetches of an app's running list.
    hpbvalve_running_fetches,
    /// Bytes given back for apps that were about to be killed.
    hpbvalve_reclaimed_bytes,
    /// Times when fewer bytes could be given back than were asked for.
    hpbvalve_reclaims_short,
    /// Bytes of profile lists now.
    hpbvalve_profile_bytes: gauge,
}

const LENGTH_BITS: u32 = 11;
/// Longest run, in subregions.
const MAX_RUN: u32 = 1 << LENGTH_BITS;
/// Bytes of a run (Sec. 5.2: "the size of an entry of the profiled per-app list is only 4 bytes").
const RUN_BYTES: u64 = 4;

/// A start and a length, packed.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Run(u32);

impl Run {
    fn new(start: u32, len: u32) -> Run {
        assert!(start < 1 << (32 - LENGTH_BITS) && (1..=MAX_RUN).contains(&len), "{len} subregions from {start}");
        Run(start << LENGTH_BITS | (len - 1))
    }

    fn start(self) -> u32 {
        self.0 >> LENGTH_BITS
    }

    fn len(self) -> u32 {
        (self.0 & (MAX_RUN - 1)) + 1
    }

    fn groups(self) -> std::ops::Range<u32> {
        self.start()..self.start() + self.len()
    }
}

/// A list, and an index into it while it grows.
#[derive(Clone, Hash, Default, Debug)]
struct List {
    runs: Vec<Run>,
    /// Number of the run of each subregion; empty unless the app is in the foreground.
    index: BTreeMap<u32, usize>,
}

impl List {
    /// Builds the index, so that the list can grow.
    fn open(&mut self) {
        for (i, run) in self.runs.iter().enumerate() {
            self.index.extend(run.groups().map(|group| (group, i)));
        }
    }

    fn close(&mut self) {
        self.index.clear();
    }

    /// Adds a subregion, to the run beside it if there is one. True if it needed a new run.
    fn add(&mut self, group: u32) -> bool {
        if self.index.contains_key(&group) {
            return false;
        }
        let neighbour = |near: Option<u32>| near.and_then(|near| self.index.get(&near).copied());
        let (before, behind) = (neighbour(group.checked_sub(1)), neighbour(group.checked_add(1)));
        for (i, start) in [(before, None), (behind, Some(group))] {
            let Some(i) = i else { continue };
            let run = self.runs[i];
            // The run can be extended only if the neighbour is at the end that is next to the new subregion.
            let faces = if start.is_some() { run.start() == group + 1 } else { run.groups().end == group };
            if faces && run.len() < MAX_RUN {
                self.runs[i] = Run::new(start.unwrap_or(run.start()), run.len() + 1);
                self.index.insert(group, i);
                return false;
            }
        }
        self.index.insert(group, self.runs.len());
        self.runs.push(Run::new(group, 1));
        true
    }

    fn groups(&self) -> impl Iterator<Item = u32> + '_ {
        self.runs.iter().flat_map(|run| run.groups())
    }
}

/// Phase of an app in which it has read a subregion.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Phase {
    /// From launch-start to launch-end.
    Launch,
    /// After launch-end.
    Running,
}

#[derive(Clone, Hash, Default, Debug)]
struct Profile {
    lists: [List; 2],
}

impl Profile {
    fn bytes(&self) -> u64 {
        self.lists.iter().map(|list| list.runs.len() as u64 * RUN_BYTES).sum()
    }
}

/// The apps used recently, most recently used first. The first one may be in the foreground, and then its lists grow.
#[derive(Clone, Hash, Debug)]
pub(super) struct Profiles {
    limit: ProfileLimits,
    apps: VecDeque<(AppId, Profile)>,
    bytes: u64,
}

impl Profiles {
    /// No profiles.
    pub fn new(limit: ProfileLimits) -> Profiles {
        Profiles { limit, apps: VecDeque::new(), bytes: 0 }
    }

    /// An app comes to the foreground and to the head of the app-LRU list. If there are too many apps, the least
    /// recently used one is removed.
    pub fn launched(&mut self, app: AppId) {
        self.left();
        let at = self.apps.iter().position(|(other, _)| *other == app);
        let mut profile = at.and_then(|at| self.apps.remove(at)).map_or_else(Profile::default, |(_, profile)| profile);
        profile.lists.iter_mut().for_each(List::open);
        self.apps.push_front((app, profile));
        if self.apps.len() > self.limit.profile_apps.into() {
            self.forget_oldest();
        }
    }

    /// No app is in the foreground.
    pub fn left(&mut self) {
        if let Some((_, profile)) = self.apps.front_mut() {
            profile.lists.iter_mut().for_each(List::close);
        }
    }

    /// True if this app has a profile.
    pub fn knows(&self, app: AppId) -> bool {
        self.apps.iter().any(|(other, _)| *other == app)
    }

    /// The app launched last has read a subregion. If all lists together become too long, the least recently used app
    /// is removed; if there is no other app, the subregion is not recorded.
    pub fn record(&mut self, phase: Phase, group: u32) {
        while self.bytes + RUN_BYTES > self.limit.profile_bytes {
            if self.apps.len() < 2 {
                return;
            }
            self.forget_oldest();
        }
        if let Some((_, profile)) = self.apps.front_mut() {
            self.bytes += u64::from(profile.lists[phase as usize].add(group)) * RUN_BYTES;
        }
    }

    /// The subregions of a list of the app launched last.
    pub fn list(&self, phase: Phase) -> impl Iterator<Item = u32> + '_ {
        self.apps.front().into_iter().flat_map(move |(_, profile)| profile.lists[phase as usize].groups())
    }

    /// Bytes of all lists.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    fn forget_oldest(&mut self) {
        if let Some((_, profile)) = self.apps.pop_back() {
            self.bytes -= profile.bytes();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    const PLENTY: ProfileLimits = ProfileLimits { profile_apps: 20, profile_bytes: 1 << 20 };

    fn list(profiles: &Profiles, phase: Phase) -> Vec<u32> {
        profiles.list(phase).collect()
    }

    #[test]
    fn neighbours_become_runs_of_four_bytes() {
        let mut profiles = Profiles::new(PLENTY);
        profiles.launched(AppId(1));
        for group in [5, 9, 6, 4, 9, 5] {
            profiles.record(Phase::Launch, group);
        }
        profiles.record(Phase::Running, 5);
        assert_eq!(list(&profiles, Phase::Launch), [4, 5, 6, 9]);
        assert_eq!(list(&profiles, Phase::Running), [5]);
        assert_eq!(profiles.bytes(), 3 * 4);
    }

    #[test]
    fn lists_grow_from_launch_to_launch() {
        let mut profiles = Profiles::new(PLENTY);
        for (app, group) in [(1, 7), (2, 1), (1, 8), (1, 7)] {
            profiles.launched(AppId(app));
            profiles.record(Phase::Launch, group);
        }
        assert_eq!(list(&profiles, Phase::Launch), [7, 8]);
        assert_eq!(profiles.bytes(), 2 * 4);
    }

    #[test]
    fn the_app_used_least_recently_is_forgotten() {
        let mut profiles = Profiles::new(ProfileLimits { profile_apps: 2, profile_bytes: 16 });
        for app in [1, 2, 1, 3] {
            profiles.launched(AppId(app));
            profiles.record(Phase::Launch, u32::from(app) * 10);
        }
        assert!(profiles.knows(AppId(1)) && !profiles.knows(AppId(2)) && profiles.knows(AppId(3)));
        assert_eq!(profiles.bytes(), 8);
        for group in [40, 50] {
            profiles.record(Phase::Running, group);
        }
        profiles.record(Phase::Running, 60);
        assert!(!profiles.knows(AppId(1)), "its list had to make room");
        profiles.record(Phase::Running, 70);
        assert_eq!(list(&profiles, Phase::Running), [40, 50, 60], "and then there is no more");
        assert_eq!(profiles.bytes(), 16);
    }

    #[test]
    fn the_longest_run_fits_its_bits() {
        let run = Run::new((1 << 21) - 1, MAX_RUN);
        assert_eq!((run.start(), run.len()), ((1 << 21) - 1, 2048));
        let mut profiles = Profiles::new(PLENTY);
        profiles.launched(AppId(1));
        (0..2049).for_each(|group| profiles.record(Phase::Launch, group));
        assert_eq!(profiles.bytes(), 8);
        assert!(list(&profiles, Phase::Launch).into_iter().eq(0..2049));
    }

    proptest! {
        /// Each list has each subregion once, and all lists together stay within the limit.
        #[test]
        fn lists_are_sets_within_the_limit(
            steps in prop::collection::vec((0..6u16, any::<bool>(), 0..40u32, 0..20u32), 0..300),
            profile_apps in 1..5u16,
            profile_bytes in 4..200u64,
        ) {
            let mut profiles = Profiles::new(ProfileLimits { profile_apps, profile_bytes });
            let mut sets: BTreeMap<(u16, bool), BTreeSet<u32>> = BTreeMap::new();
            profiles.launched(AppId(0));
            let mut app = 0;
            for (number, launching, group, dice) in steps {
                if dice == 0 {
                    app = number;
                    profiles.launched(AppId(app));
                }
                let phase = if launching { Phase::Launch } else { Phase::Running };
                let before = list(&profiles, phase).len();
                profiles.record(phase, group);
                sets.retain(|(app, _), _| profiles.knows(AppId(*app)));
                let set = sets.entry((app, launching)).or_default();
                let now = list(&profiles, phase);
                if now.len() > before || set.contains(&group) {
                    set.insert(group);
                }
                let mut sorted = now.clone();
                sorted.sort_unstable();
                prop_assert_eq!(&sorted, &set.iter().copied().collect::<Vec<_>>());
                prop_assert!(profiles.bytes() <= profile_bytes);
                prop_assert!(profiles.apps.len() <= usize::from(profile_apps));
                let sum: u64 = profiles.apps.iter().map(|(_, profile)| profile.bytes()).sum();
                prop_assert_eq!(profiles.bytes(), sum);
            }
        }
    }
}
