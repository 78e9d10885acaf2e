//! State of HPBvalve's policy about apps.

use std::collections::{BTreeSet, VecDeque};

use units::SegmentId;

use crate::booster::profiles::{AppCounters, Phase, ProfileLimits, Profiles};

/// State of the policy about apps.
#[derive(Clone, Hash)]
pub(super) struct AppState {
    pub profiles: Profiles,
    pub phase: Phase,
    /// Segments to prefetch, in order.
    pub wanted: VecDeque<SegmentId>,
    /// Segments being prefetched, with the session in the foreground that wanted them.
    pub fetching: BTreeSet<(SegmentId, u32)>,
    /// Number of dirty segments that reclaim still has to write back and drop.
    pub reclaim_writebacks: usize,
    pub stats: AppCounters,
}

impl AppState {
    pub fn new(limits: ProfileLimits) -> AppState {
        AppState {
            profiles: Profiles::new(limits),
            phase: Phase::Running,
            wanted: VecDeque::new(),
            fetching: BTreeSet::new(),
            reclaim_writebacks: 0,
            stats: AppCounters::default(),
        }
    }

    /// Bytes of the profile lists.
    pub fn bytes(&self) -> u64 {
        self.profiles.bytes()
    }

    /// The present values of the counters.
    pub fn counters(&self) -> AppCounters {
        AppCounters { hpbvalve_profile_bytes: self.bytes(), ..self.stats }
    }
}
