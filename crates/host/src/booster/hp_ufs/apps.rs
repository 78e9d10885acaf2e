//! HPBvalve (Sec. 5) on the cache of HP-UFS: priorities of eviction, prefetches, and reclaim.
//!
//! The rules are those of the booster `hpbvalve`, for segments instead of subregions. HP-UFS requires two differences:
//! - Requests and changes from the device wait for a segment that is not cached. So segments in AFG are evicted, too,
//!   but last of all, and never for a prefetch.
//! - A dirty segment has to be written back before it can be dropped, so in BG and IFG clean segments are evicted
//!   first. Reclaim drops clean segments at once, and starts writebacks of as many dirty ones as are still needed.
//!   Their memory is given back when the writebacks end.

use ufs::Op;
use units::{AppId, SegmentId, UNIT_BYTES};

use super::segment_cache::{Lookup, SlotIndex};
use super::state::HpUfs;
use crate::app::AppSignal;
use crate::booster::app_lists::{AFG, BG, IFG};
use crate::booster::profiles::Phase;
use crate::booster::seat::Internal;

/// Most segments being prefetched at a time.
const MAX_PREFETCHES: usize = 2;

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

    /// Moves segments on the lists of the app that is being launched to AFG, if they are cached already.
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

    /// The next segment to prefetch, if that evicts nothing of the foreground app.
    pub(super) fn next_prefetch(&mut self, spare: isize) -> Option<SegmentId> {
        let lists = self.cache.lists.as_ref()?;
        let replaceable = lists.oldest(BG).or_else(|| lists.oldest(IFG)).is_some();
        let session = lists.session();
        let apps = self.apps.as_mut()?;
        if apps.fetching.len() >= MAX_PREFETCHES || !(replaceable || self.cache.free_slots() > spare) {
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

    /// A segment has been loaded into `slot`; `None` if the load has failed.
    pub(super) fn loaded_for_app(&mut self, segment: SegmentId, slot: Option<SlotIndex>) {
        let (Some(apps), Some(lists)) = (&mut self.apps, &mut self.cache.lists) else { return };
        let prefetch = apps.fetching.range((segment, 0)..=(segment, u32::MAX)).next().copied();
        if let Some(fetched) = prefetch {
            apps.fetching.remove(&fetched);
        }
        if let Some(slot) = slot {
            match prefetch {
                Some((_, session)) if lists.is_current(session) => lists.place(slot, AFG, true),
                Some(_) => lists.place(slot, IFG, false),
                None => lists.place(slot, BG, false),
            }
        }
    }

    /// Reclaim (HPBvalve Sec. 5.3). Drops clean segments at once. Gives the number of bytes.
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
            apps.reclaim_writebacks = missing as usize;
            apps.stats.hpbvalve_reclaimed_bytes += freed;
            apps.stats.hpbvalve_reclaims_short += u64::from(missing > 0);
        }
        self.pending.work |= missing > 0;
        freed
    }

    /// The next dirty segment that reclaim writes back and then drops.
    pub(super) fn next_reclaim_writeback(&mut self, most: usize) -> Option<Internal> {
        let apps = self.apps.as_mut().filter(|apps| apps.reclaim_writebacks > 0)?;
        if self.cache.leaving() >= most {
            return None;
        }
        let Some(slot) = self.cache.spare(true, |segment| self.pending.is_writing(segment)) else {
            apps.reclaim_writebacks = 0;
            return None;
        };
        apps.reclaim_writebacks -= 1;
        let segment = self.cache.segment(slot);
        let internal = self.write_back(segment, true);
        assert_eq!(internal.op, Op::SegmentWrite { segment });
        Some(internal)
    }
}
