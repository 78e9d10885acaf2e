//! The state of the HP-UFS booster.

use ufs::DeviceInfo;
use units::{SegmentId, Seq, SimTime};

use super::app_state::AppState;
use super::freed::Freed;
use super::pending::Pending;
use super::reorder::ReorderBuffer;
use super::segment_cache::SegmentCache;
use super::survey::Survey;
use super::validity::Validity;
use super::wants::Wants;
use super::{HpUfsCounters, Params};
use crate::booster::app_lists::AppLists;
use crate::booster::profiles::ProfileLimits;
use crate::booster::seat::Usage;

/// The HP-UFS booster.
pub(crate) struct HpUfs {
    pub(super) info: DeviceInfo,
    pub(super) cache: SegmentCache,
    pub(super) wants: Wants,
    pub(super) reorder: ReorderBuffer,
    pub(super) validity: Validity,
    pub(super) freed: Freed,
    pub(super) pending: Pending,
    /// After a power cut, until it is known which pages are valid.
    pub(super) survey: Option<Survey>,
    /// With HPBvalve's policy.
    pub(super) apps: Option<AppState>,
    /// The latest change applied; all before it are applied too.
    pub(super) host_seq: Seq,
    /// `host_seq` in the last command.
    pub(super) told_seq: Seq,
    /// Last response, or first request after a pause.
    pub(super) last_activity: SimTime,
    pub(super) stats: HpUfsCounters,
    /// Hits and misses.
    pub(super) usage: Usage,
}

impl HpUfs {
    /// Nothing is cached, and nothing may be.
    pub fn new(own: &Params, info: &DeviceInfo) -> HpUfs {
        HpUfs {
            info: *info,
            cache: SegmentCache::new(info.segments(), 0, info.map_page_entries),
            wants: Wants::new(info.segments()),
            reorder: ReorderBuffer::new(own.reorder_entries),
            validity: Validity::new(info),
            freed: Freed::new(info.superblocks as usize),
            pending: Pending::new(info),
            survey: None,
            apps: None,
            host_seq: Seq(0),
            told_seq: Seq(0),
            last_activity: SimTime::START,
            stats: HpUfsCounters::default(),
            usage: Usage::default(),
        }
    }

    /// Looks at apps from now on.
    pub fn watch_apps(&mut self, limits: ProfileLimits) {
        self.apps = Some(AppState::new(limits));
        self.cache.lists = Some(AppLists::new());
    }

    /// A segment is to be loaded. True if it was not wanted before.
    pub(super) fn want(&mut self, segment: SegmentId) -> bool {
        self.pending.work = true;
        self.wants.want(segment)
    }
}
