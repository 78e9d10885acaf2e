//! Host performance booster (Jeong et al., HotStorage 2017): the host keeps the device's L2P entries and sends one
//! along with a read.
//!
//! Plain entries are addresses of 4 bytes, which the paper has built. The host sees whether a chunk is contiguous on
//! flash, and only then sends the entry of its first page (Sec. 3.4). Sealed entries have 8 bytes, which the host keeps
//! and sends as they came. It could read the PPA in one, but cannot forge one; the length of the contiguous run is in
//! it, and the device checks it.
//!
//! Entries arrive in groups by READ BUFFER, in idle time (Sec. 2.2.2), and one by one with responses (Sec. 3.3). The
//! device uses no entry of a group in which something has changed that the host does not know. The host drops entries
//! of units that it has written itself, because they are stale.

use std::collections::VecDeque;
use ufs::Protocol;

use lists::Lru;
use params::ParamError;
use ufs::{DeviceInfo, HpbNotice, Op, Response};
use units::{Lpa, Nanos, SimTime};

use super::group_entries::GroupEntries;
use super::seat::{self, Apps, Booster, Counted, HostMemory, Internal, OwnCommands, Step, Tamper, Usage, plain};
use crate::request::{Part, RequestOp};

params::params! {
    /// `hpb`: when groups are read.
    pub Params {
        /// A wanted group is read after this time at the latest, or only when the device is idle.
        max_defer_us: count_or("idle-only" 0 to 10000000) = "idle-only",
            "HPB 2017 Secs. 2.2.2, 3.3: READ BUFFER is executed during device idle time";
        /// Groups are also read at boot and when the device reports a change; otherwise only when a read misses.
        eager: switch = true,
            "HPB 2017 Secs. 2.2.1, 2.2.4: the driver populates the cache at boot time, and reads a group again when \
             the device reports a change";
        /// Idle means that no user command has been outstanding for this long.
        idle_us: count(1 to 10000000) = 1000, "assumed: the paper does not define idle time";
        /// Groups are dropped while a phone is short of memory.
        shrinks: switch = false, "HPB 2017 Secs. 2.2.1, 3.3: the driver allocates its memory at boot";
    }
}

units::counters! {
    /// What every booster of HPB counts.
    HpbCounters
    /// HPB READ commands sent.
    hpb_reads: always,
    /// READ BUFFER commands sent.
    hpb_read_buffers: always,
    /// Single entries received.
    hpb_entries: always,
    /// Dirty group notices received.
    hpb_dirty_notices: always,
}

/// The host keeps entries of the device.
pub(crate) const SPEAKS: Protocol = Protocol::Hpb;

/// One group.
pub(crate) fn smallest_limit(info: &DeviceInfo) -> u64 {
    u64::from(info.hpb_group_entries) * u64::from(info.hpb_entry_bytes)
}

/// Every combination of values is allowed.
pub(crate) fn check(_own: &Params) -> Result<(), ParamError> {
    Ok(())
}

/// A booster for a device that has just been attached. It may use at most `limit` bytes.
pub(crate) fn attach(own: &Params, limit: u64, info: &DeviceInfo) -> Hpb {
    Hpb::new(own, limit, info)
}

/// State of a group.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum State {
    /// Not cached.
    Absent,
    /// READ BUFFER is under way. `touched`: entries have changed since it was sent, so some entries that it brings are
    /// older than those that the host had.
    Loading { touched: bool },
    /// Its entries may be used.
    Valid,
    /// The device does not accept its entries until they have been read again (Sec. 2.2.4).
    Dirty,
}

#[derive(Clone, Copy, Hash)]
struct Group {
    state: State,
    /// 0, or the slot plus one. Every group that is not absent has a slot.
    slot: u32,
    /// Time at which READ BUFFER became necessary; `None` if it is not.
    wanted: Option<SimTime>,
}

/// The HPB booster.
#[derive(Clone, Hash)]
pub(crate) struct Hpb {
    group_entries: u32,
    /// Size of an entry in host memory.
    entry_bytes: u64,
    /// Entries are addresses that the host can read.
    plain: bool,
    max_defer: Option<Nanos>,
    eager: bool,
    idle: Nanos,
    shrinks: bool,
    limit: usize,
    groups: Vec<Group>,
    /// Groups to read, in order. Groups that are not wanted any more are skipped.
    queue: VecDeque<u32>,
    entries: Vec<GroupEntries>,
    owners: Vec<u32>,
    free: Vec<u32>,
    in_use: usize,
    /// The cached groups in order of use, without the one that is loading.
    lru: Lru<u32>,
    loading: bool,
    stats: HpbCounters,
    /// Hits and misses.
    usage: Usage,
}

impl Booster for Hpb {
    /// Plans with cached entries. An eager driver starts with as many wanted groups as fit (Sec. 2.2.1: it populates
    /// the cache at boot time).
    #[inline]
    fn plan(&mut self, now: SimTime, part: &mut Part, max_units: u32) -> Step {
        let len = part.len.min(max_units);
        match part.op {
            RequestOp::Read => {
                if let Some(entry) = self.entry_for(now, part.lpa, len) {
                    self.usage.hits += 1;
                    self.stats.hpb_reads += 1;
                    return Step::Send { op: Op::HpbRead { lpa: part.lpa, len, entry }, units: len };
                }
                self.usage.misses += 1;
            }
            RequestOp::Write { .. } | RequestOp::Unmap => self.forget(part.lpa, len),
            RequestOp::Flush => {}
        }
        plain(part, max_units)
    }

    #[inline]
    fn on_response(&mut self, now: SimTime, op: &Op, response: &mut Response, _: &mut VecDeque<Part>) {
        if let Op::HpbReadBuffer { group } = *op {
            let entries = seat::entries_in(response);
            self.loaded(now, group, entries);
        }
        match response.hpb {
            HpbNotice::None => {}
            HpbNotice::DirtyGroup(group) => self.dirtied(now, group),
            HpbNotice::Entry { lpa, entry } => self.take_entry(lpa, entry),
            // HPB 2.0. The host of the 2017 paper knows only dirty groups, and reads those again that it has.
            HpbNotice::Recommend(next) => {
                let groups = self.groups.len() as u32;
                let listed = next.activate.into_iter().flatten().filter(|&group| group < groups);
                listed.for_each(|group| self.dirtied(now, group));
            }
        }
    }
}

impl Counted for Hpb {
    type Counters = (HpbCounters,);

    fn counters(&self) -> Self::Counters {
        (self.stats,)
    }

    fn usage(&self) -> Usage {
        let dram_bytes_limit = self.limit as u64 * self.group_bytes();
        Usage { dram_bytes: self.memory_bytes(), dram_bytes_limit, ..self.usage }
    }
}

impl OwnCommands for Hpb {
    fn lazy(&mut self, now: SimTime, idle_since: Option<SimTime>) -> Option<Internal> {
        if self.next_wake(idle_since)? > now {
            return None;
        }
        let group = self.next_wanted()?;
        self.start_load(group);
        Some(Op::HpbReadBuffer { group }.into())
    }

    fn next_wake(&self, idle_since: Option<SimTime>) -> Option<SimTime> {
        if self.loading {
            return None;
        }
        let group = *self.queue.iter().find(|&&group| self.groups[group as usize].wanted.is_some())?;
        let in_idle_time = idle_since.map(|since| since + self.idle);
        let wanted = self.groups[group as usize].wanted;
        let at_the_latest = self.max_defer.and_then(|defer| wanted.map(|since| since + defer));
        [in_idle_time, at_the_latest].into_iter().flatten().min()
    }
}

impl HostMemory for Hpb {
    fn set_limit(&mut self, bytes: u64) {
        let fitting = bytes / self.group_bytes();
        self.limit = fitting.min(self.groups.len() as u64).max(1) as usize;
        while self.in_use > self.limit && self.evict() {}
    }

    fn memory_bytes(&self) -> u64 {
        self.in_use as u64 * self.group_bytes()
    }

    fn follows_pressure(&self) -> bool {
        self.shrinks
    }
}

impl Apps for Hpb {}

impl Tamper for Hpb {
    fn tamper_sealed(&mut self, lpa: Lpa, entry: u64) -> bool {
        self.place(lpa).map(|(slot, at)| self.entries[slot].set(at, entry)).is_some()
    }

    fn sealed(&self, lpa: Lpa) -> Option<u64> {
        self.place(lpa).map(|(slot, at)| self.entries[slot].get(at))
    }
}

/// The cached entries.
impl Hpb {
    fn new(own: &Params, limit: u64, info: &DeviceInfo) -> Hpb {
        let groups = info.capacity_units.div_ceil(info.hpb_group_entries);
        let mut hpb = Hpb {
            group_entries: info.hpb_group_entries,
            entry_bytes: info.hpb_entry_bytes.into(),
            plain: info.has_plain_entries(),
            max_defer: own.max_defer_us.count().map(|us| Nanos::from_micros(us.into())),
            eager: own.eager,
            idle: Nanos::from_micros(own.idle_us.into()),
            shrinks: own.shrinks,
            limit: 0,
            groups: vec![Group { state: State::Absent, slot: 0, wanted: None }; groups as usize],
            queue: VecDeque::new(),
            entries: Vec::new(),
            owners: Vec::new(),
            free: Vec::new(),
            in_use: 0,
            lru: Lru::new(),
            loading: false,
            stats: HpbCounters::default(),
            usage: Usage::default(),
        };
        hpb.set_limit(limit);
        let at_boot = if hpb.eager { hpb.limit as u32 } else { 0 };
        for group in 0..at_boot {
            hpb.want(SimTime::START, group);
        }
        hpb
    }

    fn group_bytes(&self) -> u64 {
        u64::from(self.group_entries) * self.entry_bytes
    }

    #[inline]
    fn locate(&self, lpa: Lpa) -> (u32, usize) {
        (lpa.0 / self.group_entries, (lpa.0 % self.group_entries) as usize)
    }

    /// Slot of an address's group, if it has one, and position in it.
    fn place(&self, lpa: Lpa) -> Option<(usize, usize)> {
        let (group, at) = self.locate(lpa);
        let slot = self.groups[group as usize].slot.checked_sub(1)?;
        Some((slot as usize, at))
    }

    /// The entry to send with a read: that of the first block, if it serves all of them. The device accepts no entry of
    /// a dirty group, so all blocks must be in valid groups.
    #[inline]
    fn entry_for(&mut self, now: SimTime, lpa: Lpa, len: u32) -> Option<u64> {
        let (first, at) = self.locate(lpa);
        let (last, _) = self.locate(lpa.offset(len - 1));
        let mut entry = 0;
        for number in first..=last {
            let group = self.groups[number as usize];
            match group.state {
                State::Absent => self.want(now, number),
                State::Dirty if !self.eager => self.want(now, number),
                State::Valid => {
                    self.lru.touch(group.slot - 1);
                    let entries = &self.entries[group.slot as usize - 1];
                    entry = if entries.serve(at..at + len as usize) { entries.get(at) } else { 0 };
                }
                State::Loading { .. } | State::Dirty => {}
            }
        }
        (first == last && entry != 0).then_some(entry)
    }

    /// Drops the entries of units that are about to change.
    #[inline]
    fn forget(&mut self, lpa: Lpa, len: u32) {
        let mut next = lpa.0;
        let end = lpa.0 + len;
        while next < end {
            let (group, at) = self.locate(Lpa(next));
            let units = (self.group_entries - at as u32).min(end - next);
            let group = &mut self.groups[group as usize];
            if let State::Loading { touched } = &mut group.state {
                *touched = true;
            }
            if let Some(slot) = group.slot.checked_sub(1) {
                self.entries[slot as usize].forget(at..at + units as usize);
            }
            next += units;
        }
    }

    fn take_entry(&mut self, lpa: Lpa, sealed: u64) {
        self.stats.hpb_entries += 1;
        let (group, _) = self.locate(lpa);
        if let State::Loading { touched } = &mut self.groups[group as usize].state {
            *touched = true;
        }
        if let Some((slot, at)) = self.place(lpa) {
            self.entries[slot].set(at, sealed);
        }
    }

    fn dirtied(&mut self, now: SimTime, number: u32) {
        self.stats.hpb_dirty_notices += 1;
        let group = &mut self.groups[number as usize];
        match &mut group.state {
            State::Absent => {}
            State::Loading { touched } => *touched = true,
            State::Valid | State::Dirty => {
                group.state = State::Dirty;
                if self.eager {
                    self.want(now, number);
                }
            }
        }
    }
}

/// READ BUFFER.
impl Hpb {
    fn want(&mut self, now: SimTime, number: u32) {
        let group = &mut self.groups[number as usize];
        if group.wanted.is_none() {
            group.wanted = Some(now);
            self.queue.push_back(number);
        }
    }

    fn next_wanted(&mut self) -> Option<u32> {
        while let Some(number) = self.queue.pop_front() {
            if self.groups[number as usize].wanted.take().is_some() {
                return Some(number);
            }
        }
        None
    }

    fn start_load(&mut self, number: u32) {
        self.loading = true;
        self.stats.hpb_read_buffers += 1;
        let cached = self.groups[number as usize].slot;
        let slot = match cached.checked_sub(1) {
            Some(slot) => {
                self.lru.remove(slot);
                slot
            }
            None => self.take_slot(number),
        };
        let group = &mut self.groups[number as usize];
        group.slot = slot + 1;
        group.state = State::Loading { touched: false };
    }

    fn take_slot(&mut self, owner: u32) -> u32 {
        if self.in_use >= self.limit {
            let evicted = self.evict();
            assert!(evicted, "no group could be evicted, yet only one is loading at a time");
        }
        self.in_use += 1;
        if let Some(slot) = self.free.pop() {
            self.owners[slot as usize] = owner;
            self.entries[slot as usize].forget_all();
            return slot;
        }
        self.owners.push(owner);
        self.entries.push(GroupEntries::none(self.group_entries, self.plain));
        (self.owners.len() - 1) as u32
    }

    /// Drops the least recently used group. A dirty group is then not read again.
    fn evict(&mut self) -> bool {
        let oldest = self.lru.oldest();
        oldest.inspect(|&slot| self.release(slot)).is_some()
    }

    fn release(&mut self, slot: u32) {
        self.lru.remove(slot);
        let owner = self.owners[slot as usize];
        self.groups[owner as usize] = Group { state: State::Absent, slot: 0, wanted: None };
        self.free.push(slot);
        self.in_use -= 1;
    }

    /// READ BUFFER has ended; `None` if it has failed. Then the group is dropped until a read misses it.
    fn loaded(&mut self, now: SimTime, number: u32, entries: Option<Vec<u64>>) {
        self.loading = false;
        let group = &mut self.groups[number as usize];
        let State::Loading { touched } = group.state else {
            panic!("group {number} came without being asked for");
        };
        let slot = group.slot - 1;
        self.lru.insert(slot);
        let Some(entries) = entries else {
            self.release(slot);
            return;
        };
        assert!(entries.len() <= self.group_entries as usize, "group {number} came with {} entries", entries.len());
        let kept = &mut self.entries[slot as usize];
        entries.iter().enumerate().for_each(|(at, &entry)| kept.set(at, entry));
        // If entries have changed during the load, the whole group counts as dirty; the next READ BUFFER brings them.
        group.state = if touched { State::Dirty } else { State::Valid };
        if touched && self.eager {
            self.want(now, number);
        }
        while self.in_use > self.limit && self.evict() {}
    }
}

#[cfg(test)]
#[path = "hpb_tests.rs"]
mod tests;
