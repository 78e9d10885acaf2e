//! What HPBvalve's policy knows of apps.

use std::collections::{BTreeSet, VecDeque};

use units::SegmentId;

use crate::booster::profiles::{AppCounters, Phase, ProfileLimits, Profiles};

/// What is known of apps.
pub(super) struct AppState {
    pub profiles: Profiles,
    pub phase: Phase,
    /// To be fetched ahead, in order.
    pub wanted: VecDeque<SegmentId>,
    /// Being fetched ahead, and during which time in the foreground they were wanted.
    pub fetching: BTreeSet<(SegmentId, u32)>,
    /// Dirty segments that are to be written back and dropped.
    pub shedding: usize,
    pub stats: AppCounters,
}

impl AppState {
    pub fn new(limits: ProfileLimits) -> AppState {
        AppState {
            profiles: Profiles::new(limits),
            phase: Phase::Running,
            wanted: VecDeque::new(),
            fetching: BTreeSet::new(),
            shedding: 0,
            stats: AppCounters::default(),
        }
    }

    /// Bytes of the profile lists.
    pub fn bytes(&self) -> u64 {
        self.profiles.bytes()
    }

    /// What has been counted.
    pub fn counters(&self) -> AppCounters {
        AppCounters { hpbvalve_profile_bytes: self.bytes(), ..self.stats }
    }
}
