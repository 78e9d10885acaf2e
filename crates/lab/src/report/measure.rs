//! What a run records while it goes.

use std::collections::BTreeMap;

use ftl::DeviceStats;
use hdrhistogram::Histogram;
use host::HostStats;
use host::block::BlockAccount;
use ufs::PowerAccount;
use units::{Counter, CounterSet, Nanos, SimTime};
use workload::{GroupInfo, WorkOp};

use crate::report::digest::Digest;
use crate::report::over_time::Intervals;
use crate::report::recording::Recording;
use crate::report::requests::Slot;
use crate::stack::Stack;

/// Significant decimal digits of recorded latencies.
const DIGITS: u8 = 3;

/// An empty histogram of latencies in nanoseconds. It grows to whatever it is given.
pub(crate) fn latency_histogram() -> Histogram<u64> {
    Histogram::new(DIGITS).expect("3 digits are allowed")
}

/// Number of kinds of request.
pub const KINDS: usize = WorkOp::NAMES.len();

/// All counters at one moment.
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    /// Of the driver.
    pub host: HostStats,
    /// Of the scheduler and the booster.
    pub host_schemes: Vec<(&'static Counter, u64)>,
    /// Of the firmware.
    pub device: DeviceStats,
    /// Of the mapping scheme.
    pub mapping: Vec<(&'static Counter, u64)>,
    /// Of the flash.
    pub nand: nand::Counters,
    /// Times in power states; `None` if there are none.
    pub power: Option<PowerAccount>,
    /// Of the block layer and the processors; `None` if they take no time.
    pub host_time: Option<BlockAccount>,
    /// The moment.
    pub at: SimTime,
}

impl Snapshot {
    /// Those of a stack.
    pub fn of(stack: &Stack) -> Snapshot {
        Snapshot {
            host: stack.driver.stats(),
            host_schemes: stack.driver.scheme_counters(),
            device: stack.device.stats(),
            mapping: stack.device.scheme_counters(),
            nand: *stack.device.nand_counters(),
            power: stack.power_account(),
            host_time: None,
            at: stack.now(),
        }
    }

    /// Adds what another driver has counted before.
    pub fn add_host(&mut self, earlier: &Snapshot) {
        self.host = self.host.with_earlier(&earlier.host);
        add_schemes(&mut self.host_schemes, &earlier.host_schemes);
    }

    /// Adds what the device has counted before it was switched off and on. Flash counts on.
    pub fn add_device(&mut self, earlier: &Snapshot) {
        self.device = self.device.with_earlier(&earlier.device);
        add_schemes(&mut self.mapping, &earlier.mapping);
    }

    /// Every counter of the driver, those of its scheduler and its booster included.
    pub fn of_host(&self) -> impl Iterator<Item = (&'static Counter, u64)> {
        HostStats::COUNTERS.iter().zip(self.host.values()).chain(self.host_schemes.iter().copied())
    }

    /// The counter of this name of the driver; 0 if it has none of this name.
    pub fn host_counter(&self, name: &str) -> u64 {
        self.of_host().filter(|(counter, _)| counter.name == name).map(|(_, value)| value).sum()
    }

    /// Every counter of the device, those of its mapping scheme included.
    pub fn of_device(&self) -> impl Iterator<Item = (&'static Counter, u64)> {
        DeviceStats::COUNTERS.iter().zip(self.device.values()).chain(self.mapping.iter().copied())
    }

    /// The counter of this name of the device; 0 if it has none of this name.
    pub fn device_counter(&self, name: &str) -> u64 {
        self.of_device().filter(|(counter, _)| counter.name == name).map(|(_, value)| value).sum()
    }

    /// Flash operations of every kind.
    pub fn operations(&self) -> u64 {
        nand::Kind::ALL.iter().map(|&kind| self.nand.total_ops(kind)).sum()
    }
}

/// Adds counters of the same schemes; without earlier ones there is nothing to add.
fn add_schemes(later: &mut [(&'static Counter, u64)], earlier: &[(&'static Counter, u64)]) {
    for ((counter, value), (_, before)) in later.iter_mut().zip(earlier) {
        if !counter.gauge {
            *value += before;
        }
    }
}

/// Requests of one kind in one group.
#[derive(Clone, Debug)]
pub struct KindStats {
    /// Requests completed.
    pub count: u64,
    /// Bytes that they asked for.
    pub bytes: u64,
    /// Their latencies in nanoseconds.
    pub latency: Histogram<u64>,
    /// Sum of the times from their arrivals until their first commands were sent, in nanoseconds.
    pub waiting_ns: u64,
    /// When the first of them was submitted.
    pub first: SimTime,
    /// When the last of them completed.
    pub last: SimTime,
}

impl KindStats {
    #[cold]
    fn new(first: SimTime) -> KindStats {
        KindStats { count: 0, bytes: 0, latency: latency_histogram(), waiting_ns: 0, first, last: first }
    }

    /// Adds another group's requests of the same kind, or another kind's.
    pub fn add(&mut self, other: &KindStats) {
        self.count += other.count;
        self.bytes += other.bytes;
        self.waiting_ns += other.waiting_ns;
        self.latency.add(&other.latency).expect("histograms resize and have the same precision");
        self.first = self.first.min(other.first);
        self.last = self.last.max(other.last);
    }
}

/// Requests of one group by kind; `None` where there were none.
#[derive(Clone, Debug, Default)]
pub struct GroupStats {
    /// Name of the fio job or trace file.
    pub name: String,
    /// See [`GroupInfo::options`].
    pub options: BTreeMap<String, String>,
    /// By kind, in the order of [`WorkOp::NAMES`].
    pub kinds: [Option<KindStats>; KINDS],
}

/// Everything that a run records.
#[derive(Debug, Default)]
pub struct Measure {
    /// Measured requests by group.
    pub groups: Vec<GroupStats>,
    /// Measured requests.
    pub submitted: u64,
    /// Measured requests that have completed.
    pub completed: u64,
    /// Of these, requests that failed because flash did.
    pub failed: u64,
    /// Measured requests that were merged with another, with which they completed.
    pub merged: u64,
    /// Requests of warm-up and preconditioning.
    pub unmeasured: u64,
    /// Measured requests that do not begin and end on unit borders.
    pub unaligned: u64,
    /// Unmeasured requests that were under way when measuring began.
    pub overlap: u32,
    /// Counters when measuring began.
    pub before: Snapshot,
    /// When the last measured request completed.
    pub ended: SimTime,
    /// Of every completion, measured or not.
    pub digest: Digest,
    /// Measured completions over time.
    pub over_time: Intervals,
    /// What the traced device took for measured requests.
    pub recording: Recording,
    began: Option<SimTime>,
}

impl Measure {
    /// Names the groups of the workload that runs now.
    pub fn name_groups(&mut self, groups: &[GroupInfo]) {
        self.groups.resize_with(groups.len(), GroupStats::default);
        for (stats, info) in self.groups.iter_mut().zip(groups) {
            stats.name.clone_from(&info.name);
            stats.options.clone_from(&info.options);
        }
    }

    /// True once a measured request has been submitted.
    #[inline]
    pub fn began(&self) -> bool {
        self.began.is_some()
    }

    /// The first measured request is about to be submitted.
    pub fn begin(&mut self, now: SimTime, before: Snapshot, outstanding: u32) {
        self.began = Some(now);
        self.ended = now;
        self.over_time.begin(now);
        self.before = before;
        self.overlap = outstanding;
    }

    /// A request is being submitted.
    #[inline(always)]
    pub fn submitted(&mut self, slot: &Slot, aligned: bool) {
        if slot.measured {
            self.submitted += 1;
            self.unaligned += u64::from(!aligned);
        } else {
            self.unmeasured += 1;
        }
    }

    /// A request has completed.
    #[inline(always)]
    pub fn completed(&mut self, slot: &Slot, now: SimTime) {
        self.digest.completion(slot.kind as usize, slot.status, (slot.lpa, slot.len), slot.content, now);
        if !slot.measured {
            return;
        }
        self.completed += 1;
        self.ended = now;
        self.over_time.completed(slot, now);
        self.recording.add(slot.kind, slot.phone_latency);
        let kind = &mut self.groups[slot.group.index()].kinds[slot.kind as usize];
        let stats = kind.get_or_insert_with(|| KindStats::new(slot.arrival));
        stats.count += 1;
        stats.bytes += slot.bytes;
        stats.last = now;
        stats.waiting_ns += slot.dispatched.map_or(0, |at| at.since(slot.arrival).0);
        stats.latency.record(now.since(slot.arrival).0).expect("histograms resize");
    }

    /// Time from the first measured request to the last measured completion.
    pub fn duration(&self) -> Nanos {
        self.began.map_or(Nanos::ZERO, |began| self.ended.since(began))
    }

    /// When the first measured request was submitted.
    pub fn began_at(&self) -> SimTime {
        self.began.unwrap_or_default()
    }

    /// All groups together.
    pub fn total(&self) -> GroupStats {
        let mut total = GroupStats::default();
        for group in &self.groups {
            for (sum, kind) in total.kinds.iter_mut().zip(&group.kinds) {
                match (sum, kind) {
                    (Some(sum), Some(kind)) => sum.add(kind),
                    (sum @ None, Some(kind)) => *sum = Some(kind.clone()),
                    (_, None) => {}
                }
            }
        }
        total
    }
}

#[cfg(test)]
mod tests {
    use ufs::Status;
    use units::Lpa;
    use workload::{GroupId, Issued, Ticket, WorkRequest};

    use super::*;
    use crate::report::requests::Requests;

    /// The digest of one read that was changed before it completed.
    fn digest(change: impl FnOnce(&mut Slot), at: u64) -> String {
        let request = WorkRequest::plain(WorkOp::Read, 10, 2);
        let mut requests = Requests::default();
        let slot = requests.enter(&Issued { ticket: Ticket(0), group: GroupId(0), measured: false, request });
        change(slot);
        let mut measure = Measure::default();
        measure.completed(slot, SimTime(at));
        measure.digest.hex()
    }

    #[test]
    fn kind_range_status_content_and_time_are_in_the_digest() {
        let all = [
            digest(|_| (), 5),
            digest(|slot| slot.kind = WorkOp::Write, 5),
            digest(|slot| slot.lpa = Lpa(11), 5),
            digest(|slot| slot.len = 3, 5),
            digest(|slot| slot.status = Status::UnrecoveredRead, 5),
            digest(|slot| slot.content = 1, 5),
            digest(|_| (), 6),
        ];
        for (i, one) in all.iter().enumerate() {
            assert!(!all[..i].contains(one), "number {i} of {all:?}");
        }
        assert_eq!(all[0], digest(|_| (), 5));
    }
}
