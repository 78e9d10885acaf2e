//! Timer-based eviction (HP-UFS Sec. III-F): what no request has used for long leaves the cache.
//!
//! The time is divided into periods. At the end of each the segments are looked at, from the one used longest ago on.
//! Clean ones are dropped, dirty ones are written back first. A use before the writeback has ended keeps the segment.

use units::{Nanos, SimTime};

use super::state::HpUfs;
use crate::booster::seat::Internal;

/// Periods in the time after which a segment is given up.
const PERIODS: u32 = 8;

/// When the cache is looked at.
#[derive(Clone, Hash)]
pub(super) struct Expiry {
    period: Nanos,
    /// End of the present period; `None` until there is a segment.
    due: Option<SimTime>,
    /// Segments are being given up.
    under_way: bool,
}

impl Expiry {
    /// Segments go when they have not been used for `unused`.
    pub fn new(unused: Nanos) -> Expiry {
        Expiry { period: Nanos((unused.0 / u64::from(PERIODS)).max(1)), due: None, under_way: false }
    }
}

impl HpUfs {
    /// Starts the clock if something is cached and it does not run.
    pub(super) fn start_expiry(&mut self, now: SimTime) {
        if let Some(expiry) = &mut self.expiry {
            expiry.due.get_or_insert(now + expiry.period);
        }
    }

    /// When the cache has to be looked at next.
    pub(super) fn expiry_due(&self) -> Option<SimTime> {
        self.expiry.as_ref()?.due
    }

    /// Ends a period that is over. True if it did: then there may be internal work.
    pub(super) fn look_for_unused(&mut self, now: SimTime) -> bool {
        let Some(expiry) = self.expiry.as_mut().filter(|expiry| expiry.due.is_some_and(|due| due <= now)) else {
            return false;
        };
        expiry.due = (!self.cache.is_empty()).then_some(now + expiry.period);
        expiry.under_way = true;
        self.cache.next_period();
        self.pending.work = true;
        true
    }

    /// Drops clean segments that nothing uses. Gives a writeback if one of them is dirty.
    pub(super) fn give_up_unused(&mut self, most: usize) -> Option<Internal> {
        if !self.expiry.as_ref()?.under_way {
            return None;
        }
        while self.cache.leaving() < most
            && let Some(slot) = self.cache.unused_for(PERIODS, |segment| self.pending.is_writing(segment))
        {
            self.stats.segments_expired += 1;
            if self.cache.is_dirty(slot) {
                return Some(self.write_back(self.cache.segment(slot), true));
            }
            self.cache.drop_clean(slot);
            self.stats.segments_dropped += 1;
        }
        // A writeback that ends makes room for the next one.
        self.expiry.as_mut()?.under_way = self.cache.leaving() >= most;
        None
    }
}
