//! HPBvalve (Sec. 5) above HP-UFS: who evicts whom, what is fetched ahead, and what is given back.
//!
//! The rules are those of the booster `hpbvalve`, for segments instead of subregions, with two differences that HP-UFS
//! makes:
//! - A segment that is not cached holds up whoever needs it, also changes that the device has sent. So AFG is evicted,
//!   too, but last of all, and never to fetch ahead.
//! - A dirty segment is dearer than a clean one, for it has to be written back first: of BG and IFG the clean ones go
//!   first. Reclaim gives clean ones back at once and has as many dirty ones written back as are still missing; what
//!   they take follows.

use ufs::Op;
use units::{AppId, SegmentId, UNIT_BYTES};

use super::segment_cache::{Lookup, SlotIndex};
use super::state::HpUfs;
use crate::app::AppSignal;
use crate::booster::app_lists::{AFG, BG, IFG};
use crate::booster::profiles::Phase;
use crate::booster::seat::Internal;

/// Segments fetched ahead at a time.
const AHEAD: usize = 2;

impl HpUfs {
    /// An app reads or changes a segment.
    #[inline(always)]
    pub(super) fn note_use(&mut self, app: AppId, segment: SegmentId, read: bool) {
        if self.apps.is_some() {
            self.note_use_of_app(app, segment, read);
        }
    }

    #[inline(never)]
    fn note_use_of_app(&mut self, app: AppId, segment: SegmentId, read: bool) {
        let (Some(apps), Some(lists)) = (&mut self.apps, &mut self.cache.lists) else { return };
        if read && lists.foreground() == Some(app) {
            apps.profiles.record(apps.phase, segment.0);
        }
        if let Lookup::Cached(slot) = self.cache.lookup(segment)
            && let Some(lists) = &mut self.cache.lists
        {
            lists.reference(slot, app, || apps.profiles.knows(app));
        }
    }

    pub(super) fn app_signal(&mut self, signal: AppSignal) {
        let (Some(apps), Some(lists)) = (&mut self.apps, &mut self.cache.lists) else { return };
        match signal {
            AppSignal::LaunchStart(app) => {
                lists.enter(app);
                apps.phase = Phase::Launch;
                apps.profiles.launched(app);
                let listed = [Phase::Launch, Phase::Running].map(|phase| apps.profiles.list(phase).collect::<Vec<_>>());
                apps.wanted = listed.into_iter().flatten().map(SegmentId).collect();
                self.keep_listed();
                self.pending.work = true;
            }
            AppSignal::LaunchEnd(app) if lists.foreground() == Some(app) => apps.phase = Phase::Running,
            AppSignal::Ended(app) if lists.foreground() == Some(app) => {
                lists.leave();
                apps.profiles.left();
                apps.wanted.clear();
            }
            AppSignal::LaunchEnd(_) | AppSignal::Ended(_) => {}
        }
    }

    /// What is cached already of the lists of the app that is being launched is its own from now on.
    fn keep_listed(&mut self) {
        let Some(apps) = &self.apps else { return };
        let slot = |&segment: &SegmentId| match self.cache.lookup(segment) {
            Lookup::Cached(slot) => Some(slot),
            _ => None,
        };
        let slots: Vec<SlotIndex> = apps.wanted.iter().filter_map(slot).collect();
        let Some(lists) = &mut self.cache.lists else { return };
        for slot in slots {
            if !lists.is_active(slot) {
                lists.place(slot, AFG, true);
            }
        }
    }

    /// The next segment to fetch ahead, if that costs the foreground nothing.
    pub(super) fn next_ahead(&mut self, spare: isize) -> Option<SegmentId> {
        let lists = self.cache.lists.as_ref()?;
        let replaceable = lists.oldest(BG).or_else(|| lists.oldest(IFG)).is_some();
        let session = lists.session();
        let apps = self.apps.as_mut()?;
        if apps.fetching.len() >= AHEAD || !(replaceable || self.cache.free_slots() > spare) {
            return None;
        }
        while let Some(segment) = apps.wanted.pop_front() {
            if self.cache.lookup(segment) == Lookup::Absent {
                apps.fetching.insert((segment, session));
                apps.stats.hpbvalve_launch_fetches += 1;
                return Some(segment);
            }
        }
        None
    }

    /// A segment has been loaded, into this slot unless that failed.
    pub(super) fn loaded_for_app(&mut self, segment: SegmentId, slot: Option<SlotIndex>) {
        let (Some(apps), Some(lists)) = (&mut self.apps, &mut self.cache.lists) else { return };
        let ahead = apps.fetching.range((segment, 0)..=(segment, u32::MAX)).next().copied();
        if let Some(fetched) = ahead {
            apps.fetching.remove(&fetched);
        }
        if let Some(slot) = slot {
            match ahead {
                Some((_, session)) if lists.is_now(session) => lists.place(slot, AFG, true),
                Some(_) => lists.place(slot, IFG, false),
                None => lists.place(slot, BG, false),
            }
        }
    }

    /// HPBvalve Sec. 5.3. Gives back what is clean at once.
    pub(super) fn give_back(&mut self, victim: AppId, bytes: u64) -> u64 {
        if !self.apps.as_ref().is_some_and(|apps| apps.profiles.knows(victim)) {
            return 0;
        }
        let mut freed = 0;
        while freed < bytes
            && let Some(slot) = self.cache.spare(false, |segment| self.pending.is_writing(segment))
        {
            self.cache.drop_clean(slot);
            self.stats.segments_dropped += 1;
            freed += UNIT_BYTES;
        }
        let missing = bytes.saturating_sub(freed).div_ceil(UNIT_BYTES);
        if let Some(apps) = &mut self.apps {
            apps.shedding = missing as usize;
            apps.stats.hpbvalve_reclaimed_bytes += freed;
            apps.stats.hpbvalve_reclaims_short += u64::from(missing > 0);
        }
        self.pending.work |= missing > 0;
        freed
    }

    /// The next dirty segment that is written back to be dropped.
    pub(super) fn shed(&mut self, most: usize) -> Option<Internal> {
        let apps = self.apps.as_mut().filter(|apps| apps.shedding > 0)?;
        if self.cache.leaving() >= most {
            return None;
        }
        let Some(slot) = self.cache.spare(true, |segment| self.pending.is_writing(segment)) else {
            apps.shedding = 0;
            return None;
        };
        apps.shedding -= 1;
        let segment = self.cache.segment(slot);
        let internal = self.write_back(segment, true);
        assert_eq!(internal.op, Op::SegmentWrite { segment });
        Some(internal)
    }
}
