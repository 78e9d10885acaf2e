//! The state of the HP-UFS booster.

use ufs::DeviceInfo;
use units::{Nanos, SegmentId, Seq, SimTime};

use super::app_state::AppState;
use super::at_once::AtOnce;
use super::expiry::Expiry;
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
#[derive(Clone, Hash)]
pub(crate) struct HpUfs {
    pub(super) info: DeviceInfo,
    pub(super) cache: SegmentCache,
    pub(super) wants: Wants,
    pub(super) reorder: ReorderBuffer,
    pub(super) validity: Validity,
    pub(super) freed: Freed,
    pub(super) pending: Pending,
    /// Search for the valid pages after a power cut; `None` when they are known.
    pub(super) survey: Option<Survey>,
    /// State of HPBvalve's policy, if it is used.
    pub(super) apps: Option<AppState>,
    /// Gives up what is not used; `None` if it stays.
    pub(super) expiry: Option<Expiry>,
    /// Writes changed segments back at once; `None` if they wait.
    pub(super) at_once: Option<AtOnce>,
    /// Memory is given back while a phone is short of it.
    pub(super) shrinks: bool,
    /// The latest change applied; all before it are applied too.
    pub(super) host_seq: Seq,
    /// `host_seq` in the last command.
    pub(super) reported_seq: Seq,
    /// Time of the last response, or of the first request after a pause.
    pub(super) last_activity: SimTime,
    pub(super) stats: HpUfsCounters,
    /// Hits and misses.
    pub(super) usage: Usage,
}

impl HpUfs {
    /// An empty cache that may hold nothing yet.
    pub fn new(own: &Params, info: &DeviceInfo) -> HpUfs {
        HpUfs {
            info: *info,
            cache: SegmentCache::new(info.segments(), 0, info.map_page_entries),
            wants: Wants::new(info.segments()),
            reorder: ReorderBuffer::new(own.reorder_entries),
            validity: Validity::new(info),
            freed: Freed::new(info.superblocks),
            pending: Pending::new(info),
            survey: None,
            apps: None,
            expiry: own.unused_ms.count().map(|ms| Expiry::new(Nanos::from_millis(ms.into()))),
            at_once: own.write_after_entries.count().map(AtOnce::new),
            shrinks: own.shrinks,
            host_seq: Seq(0),
            reported_seq: Seq(0),
            last_activity: SimTime::START,
            stats: HpUfsCounters::default(),
            usage: Usage::default(),
        }
    }

    /// Applies HPBvalve's policy from now on.
    pub fn watch_apps(&mut self, limits: ProfileLimits) {
        self.apps = Some(AppState::new(limits));
        self.cache.lists = Some(AppLists::new());
    }

    /// Queues a load of a segment. True if it was not queued before.
    pub(super) fn want(&mut self, segment: SegmentId) -> bool {
        self.pending.work = true;
        self.wants.want(segment)
    }
}
