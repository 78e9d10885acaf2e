//! The driver: queue, tags, splitting. Read [`Driver::next_command`] first.

mod relay;
mod tamper;

use std::collections::VecDeque;

use ufs::{Command, DataIn, DataOut, DeviceInfo, Op, Response, Status, Tag};
use units::{AppId, Counter, Lpa, Seq, SimTime};

use crate::app::AppSignal;
use crate::assembly::RequestTable;
use crate::booster::BoosterKind;
use crate::booster::{AnyBooster, Apps, Booster, HostMemory, Internal, OwnCommands, Step};
use crate::config::{HostConfig, HostConfigError};
use crate::knowledge::Knowledge;
use crate::knowledge::view::{Blind, CacheView};
use crate::request::{Completion, HostMapping, InFlight, Noted, Part, Request, RequestOp};
use crate::sched::SchedulerKind;
use crate::sched::{AnyScheduler, Batch};
use crate::stats::HostStats;
use crate::tags::{Owner, Sent, TagTable};

/// The UFS driver.
#[derive(Clone, Hash)]
pub struct Driver {
    config: HostConfig,
    info: DeviceInfo,
    scheduler: AnyScheduler,
    /// The scheduler has to see new parts before it is asked for one.
    reorders: bool,
    /// A batch is announced to the device before its requests.
    announces: bool,
    /// Requests of an announced batch share the firmware's cost of a command.
    packs: bool,
    knowledge: Knowledge,
    booster: AnyBooster,
    /// Parts that go before those in the scheduler: their wait has ended, or a command of the same request has been
    /// sent.
    ready: VecDeque<Part>,
    tags: TagTable,
    requests: RequestTable,
    completions: VecDeque<Completion>,
    /// Time when the last request completed; `None` while one is under way.
    idle_since: Option<SimTime>,
    /// Memory that the phone has for the driver in all, and what pressure leaves of the limit, in bytes.
    room: u64,
    pressed_to: u64,
    /// The limit that the booster has been given.
    limit: u64,
    /// Commands that have fetched mappings.
    map_fetches: u64,
    /// Since when the part of the last user command had waited for the booster.
    waited: Noted,
    stats: HostStats,
}

impl Driver {
    /// A driver for a device that has just been attached and holds no data yet.
    ///
    /// # Panics
    /// If the settings do not pass [`HostConfig::check`]; the caller should have called it.
    pub fn new(config: HostConfig, info: DeviceInfo) -> Driver {
        if let Err(error) = config.check(&info) {
            panic!("the settings of the driver were not checked: {error}");
        }
        let shared = config.scheduler.shared(&config.schedulers);
        let limit = config.memory_limit_bytes.unwrap_or(u64::MAX);
        Driver {
            scheduler: AnyScheduler::of_kind(config.scheduler, &config.schedulers, info.map_page_entries),
            announces: shared.batch.batch_notice,
            packs: shared.batch.packed_commands,
            reorders: config.scheduler != SchedulerKind::Noop,
            knowledge: match config.scheduler.queries_cache() {
                true => Knowledge::new(&shared.knowledge, &info),
                false => Knowledge::Unused,
            },
            booster: AnyBooster::attach(config.booster, &config.boosters, limit, &info),
            ready: VecDeque::new(),
            tags: TagTable::new(config.tags, config.internal_tags),
            requests: RequestTable::default(),
            completions: VecDeque::new(),
            idle_since: Some(SimTime::START),
            room: u64::MAX,
            pressed_to: u64::MAX,
            limit,
            map_fetches: 0,
            waited: Noted::default(),
            stats: HostStats::default(),
            config,
            info,
        }
    }

    /// A driver for a device that has recovered from a power cut with its mapping up to change `applied`. A booster
    /// that keeps the mapping first finds the valid pages; requests wait until then.
    ///
    /// # Panics
    /// See [`Driver::new`].
    pub fn after_power_cut(config: HostConfig, info: DeviceInfo, applied: Seq) -> Driver {
        let mut driver = Driver::new(config, info);
        driver.booster.after_power_cut(applied);
        driver
    }

    /// True while requests wait because the driver has to find out first what the device holds, after
    /// [`Driver::after_power_cut`].
    pub fn is_surveying(&self) -> bool {
        self.booster.holds_back()
    }

    /// Prefetches what is known of an address: a request for it is expected, which reads or changes what lies there.
    /// Nothing else comes of it.
    #[inline(always)]
    pub fn prefetch(&self, lpa: Lpa, changes: bool) {
        self.booster.prefetch(lpa, changes);
    }

    /// Accepts a request of the block layer. A request that is empty or reaches beyond the device completes at once
    /// with [`Status::OutOfRange`].
    #[inline(always)]
    pub fn submit(&mut self, now: SimTime, request: Request) {
        self.stats.requests += 1;
        let flush = request.op == RequestOp::Flush;
        let end = u64::from(request.lpa.0) + u64::from(request.len);
        if !flush && (request.len == 0 || end > u64::from(self.info.capacity_units)) {
            let (id, status) = (request.id, Status::OutOfRange);
            self.complete(Completion { id, status, data: DataIn::None, dispatched: None });
            return;
        }
        let len = if flush { 1 } else { request.len };
        if self.idle_since.take().is_some() {
            self.booster.resume(now);
        }
        let index = self.requests.insert(request, len);
        let (op, lpa, app) = (request.op, request.lpa, request.app);
        if self.reorders {
            self.knowledge.requested();
        }
        self.scheduler.push(Part { request: index, op, lpa, len, app, counted: false, pinned: false });
    }

    /// The next command to put on the link, if any can be sent now.
    pub fn next_command(&mut self, now: SimTime) -> Option<Command> {
        self.next_command_seeing(now, &Blind)
    }

    /// The next command, for a scheduler that knows what the device's mapping cache holds from `device`. A simulator
    /// can arrange that; a phone can not ([`CacheKnowledge::Full`](crate::CacheKnowledge::Full)).
    pub fn next_command_seeing(&mut self, now: SimTime, device: &dyn CacheView) -> Option<Command> {
        self.issue(now, device).map(|tag| self.fetch(tag))
    }

    /// The command that [`issue`](Driver::issue) has prepared under this tag.
    #[inline]
    pub fn command(&self, tag: Tag) -> &Command {
        self.tags.command(tag)
    }

    /// Hands this command to the device, when it has crossed the link. Must be called once for each command.
    #[inline(always)]
    pub fn fetch(&mut self, tag: Tag) -> Command {
        self.tags.fetch(tag)
    }

    /// Prepares the next command to put on the link, if any can be sent now; see
    /// [`next_command_seeing`](Driver::next_command_seeing). The command stays under its tag until the device fetches
    /// it.
    pub fn issue(&mut self, now: SimTime, device: &dyn CacheView) -> Option<Tag> {
        if self.reorders {
            self.admit(now, device);
        }
        while self.tags.any_free() {
            if let Some(internal) = self.booster.urgent() {
                return Some(self.send_internal(internal));
            }
            if !self.tags.user_free() || self.booster.holds_back() {
                break;
            }
            if self.reorders
                && let Some(internal) = self.scheduler_command(now)
            {
                return Some(self.send_internal(internal));
            }
            if self.reorders && self.ready.is_empty() {
                self.ready.extend(self.scheduler.pop(now, self.knowledge.view(device)));
            }
            let queue = match self.scheduler.fifo() {
                Some(fifo) if self.ready.is_empty() => fifo,
                _ => &mut self.ready,
            };
            let Some(part) = queue.front_mut() else { break };
            // Looked at where it stands: a copy would have to wait until what has just been written is in memory.
            let step = self.booster.plan(now, part, self.config.max_transfer_units);
            let Part { request, op: kind, lpa, len, .. } = *part;
            match step {
                Step::Send { op, units } => {
                    if units == len {
                        queue.pop_front();
                    } else if let Some(part) = queue.pop_front() {
                        self.ready.push_front(part.after(units));
                    }
                    return Some(self.send_user(now, request, kind, lpa, op, units));
                }
                Step::InternalFirst => {
                    self.requests.wait(request, now);
                    if let Some(part) = queue.pop_front() {
                        self.ready.push_front(part);
                    }
                }
                Step::Park => {
                    self.requests.park(request, now);
                    queue.pop_front();
                }
            }
        }
        if !self.tags.any_free() {
            return None;
        }
        let internal = self.booster.lazy(now, self.idle_since)?;
        Some(self.send_internal(internal))
    }

    /// Handles a response.
    ///
    /// # Panics
    /// If its tag names no command in flight, or it does not fit the command: a bug in the caller or the device.
    pub fn on_response(&mut self, now: SimTime, mut response: Response) {
        let sent = self.tags.release(response.tag);
        if sent.op == Op::CacheQuery {
            self.knowledge.answered(&mut response.data);
        }
        self.booster.on_response(now, &sent.op, &mut response, &mut self.ready);
        let Some(owner) = sent.owner else { return };
        if self.requests.answer(owner, response.status, response.data, &mut self.completions) {
            self.stats.completions += 1;
            if self.requests.is_empty() {
                self.idle_since = Some(now);
            }
        }
    }

    /// True if a request is under way; otherwise what the driver sends is for itself.
    pub fn has_requests(&self) -> bool {
        self.idle_since.is_none()
    }

    /// How many requests have come.
    pub fn requests(&self) -> u64 {
        self.stats.requests
    }

    /// The next completion, without taking it.
    #[inline]
    pub fn completion(&self) -> Option<&Completion> {
        self.completions.front()
    }

    /// Takes the next completion.
    #[inline]
    pub fn pop_completion(&mut self) -> Option<Completion> {
        self.completions.pop_front()
    }

    /// The earliest time at which [`Driver::next_command`] could give a command without any other event. `None` while
    /// all tags are in use, because then a response has to come first.
    #[inline]
    pub fn next_wake(&self) -> Option<SimTime> {
        if !self.tags.any_free() {
            return None;
        }
        self.booster.next_wake(self.idle_since)
    }

    /// Sets the memory limit from now on. The commands that follow write back and drop what no longer fits.
    ///
    /// # Errors
    /// If the limit is below the smallest that the booster can work with; see [`HostConfig::memory_limit_bytes`].
    pub fn set_memory_limit(&mut self, _now: SimTime, bytes: u64) -> Result<(), HostConfigError> {
        self.config.check_limit(&self.info, bytes)?;
        self.config.memory_limit_bytes = Some(bytes);
        self.apply_limits();
        Ok(())
    }

    /// Whether the booster can work with so much memory.
    ///
    /// # Errors
    /// If the limit is below the smallest that it can work with.
    pub fn check_memory_limit(&self, bytes: u64) -> Result<(), HostConfigError> {
        self.config.check_limit(&self.info, bytes)
    }

    /// The phone lacks `bytes` of memory. A booster that follows pressure (HP-UFS Sec. III-D) gives up so many bytes of
    /// cached mappings, those used longest ago first, as far as it can work with what is left, and takes no more until
    /// [`Driver::relieved`]. Clean ones go at once, or after commands that write back the others.
    pub fn pressed(&mut self, _now: SimTime, bytes: u64) {
        if self.booster.follows_pressure() {
            self.pressed_to = self.booster.usage().dram_bytes.saturating_sub(bytes);
            self.apply_limits();
        }
    }

    /// The phone has memory again: a booster that has given some up may take what its limit allows.
    pub fn relieved(&mut self, _now: SimTime) {
        self.pressed_to = u64::MAX;
        self.apply_limits();
    }

    /// The phone has at most `bytes` of memory for the driver in all, lists and tables included: an allocation beyond
    /// them fails, whatever the limit is. `u64::MAX` takes the bound away. A booster keeps what it cannot work without.
    pub fn set_room(&mut self, bytes: u64) {
        self.room = bytes;
        self.apply_limits();
    }

    /// Gives the booster the least of what the settings, pressure and the phone's memory allow.
    fn apply_limits(&mut self) {
        let least = self.config.booster.smallest_limit(&self.info);
        let allowed = self.config.memory_limit_bytes.unwrap_or(u64::MAX);
        let room = self.room.saturating_sub(if self.room < u64::MAX { self.booster.fixed_bytes() } else { 0 });
        let limit = allowed.min(self.pressed_to).min(room).max(least);
        if limit != self.limit {
            self.limit = limit;
            self.booster.set_limit(limit);
        }
    }

    /// Tells the driver that the state of an app has changed. The caller has to ask [`Driver::next_command`]
    /// afterwards.
    pub fn signal(&mut self, now: SimTime, signal: AppSignal) {
        self.booster.signal(now, signal);
    }

    /// The low-memory killer has chosen `victim` and expects `bytes` from its end. The booster gives back what it can
    /// spare, so that the app may live. Returns the bytes given back; 0 if the booster does not support this (HPBvalve
    /// Sec. 5.3).
    pub fn reclaim(&mut self, now: SimTime, victim: AppId, bytes: u64) -> u64 {
        self.booster.reclaim(now, victim, bytes)
    }

    /// DRAM that the booster takes from the phone now, in bytes.
    pub fn memory_bytes(&self) -> u64 {
        self.booster.memory_bytes()
    }

    /// Commands so far by which the booster has fetched mappings from the device; each is a read for it.
    pub fn map_fetches(&self) -> u64 {
        self.map_fetches
    }

    /// Commands that have been sent and not answered.
    pub fn commands_in_flight(&self) -> u32 {
        self.tags.in_flight()
    }

    /// Whose command is in flight under this tag; `None` for the driver's own commands. For reports; to be called
    /// before the response is handled.
    #[inline]
    pub fn in_flight(&self, tag: Tag) -> Option<InFlight> {
        let Sent { op, owner: Some(owner) } = self.tags.sent(tag)? else { return None };
        let mapping = match op {
            Op::HpbRead { .. } => Some(HostMapping::Known),
            Op::MappedRead { .. } if self.requests.has_parked(owner.request) => Some(HostMapping::Fetched),
            Op::MappedRead { .. } => Some(HostMapping::Known),
            Op::Read { .. } => Some(HostMapping::Unknown),
            _ => None,
        };
        Some(InFlight { request: self.requests.request(owner.request).id, mapping })
    }

    /// Since when the part of the user command that was issued last had waited for the booster: until its mapping was
    /// in the host's cache, or had been asked for. `None` if it did not have to wait. For reports.
    pub fn waited_since(&self) -> Option<SimTime> {
        self.waited.0
    }

    /// Counters and sizes of the driver.
    pub fn stats(&self) -> HostStats {
        let mut stats = self.stats;
        stats.tags_peak = self.tags.peak().into();
        stats.sched_bytes = self.knowledge.memory_bytes();
        let usage = self.booster.usage();
        (stats.booster_hits, stats.booster_misses) = (usage.hits, usage.misses);
        (stats.dram_bytes_used, stats.dram_bytes_limit) = (usage.dram_bytes, usage.dram_bytes_limit);
        stats
    }

    /// Counters that only this scheduler and this booster have: [`SchedulerKind::counters`], then
    /// [`BoosterKind::counters`](crate::BoosterKind::counters).
    pub fn scheme_counters(&self) -> Vec<(&'static Counter, u64)> {
        [self.scheduler.counted(), self.booster.counted()].concat()
    }

    /// The counter of this name. It is 0 if it belongs to a scheduler or booster that is not in use.
    ///
    /// # Panics
    /// If no driver has a counter of this name.
    pub fn counter(&self, name: &str) -> u64 {
        let own = self.scheme_counters().into_iter().map(|(counter, value)| (counter.name, value));
        if let Some((_, value)) = self.stats().fields().chain(own).find(|(counter, _)| *counter == name) {
            return value;
        }
        let schedulers = SchedulerKind::ALL.iter().flat_map(|kind| kind.counters());
        let mut others = schedulers.chain(BoosterKind::ALL.iter().flat_map(|kind| kind.counters()));
        assert!(others.any(|counter| counter.name == name), "no counter {name}");
        0
    }

    /// Lets a scheduler that reorders look at what has come.
    #[inline(never)]
    fn admit(&mut self, now: SimTime, device: &dyn CacheView) {
        self.scheduler.admit(now, self.knowledge.view(device));
        if let Some(comparison) = self.knowledge.compare(device) {
            self.stats.sched_entries_simulated += comparison.believed;
            self.stats.sched_entries_right += comparison.right;
        }
    }

    /// The command that the scheduler needs before its next part: a query that is due, or the notice of a batch that
    /// the part opens.
    fn scheduler_command(&mut self, now: SimTime) -> Option<Internal> {
        if let Some(query) = self.knowledge.query() {
            self.stats.sched_polls += 1;
            return Some(query.into());
        }
        if !self.announces || !self.ready.is_empty() {
            return None;
        }
        let batch = self.scheduler.open_batch(now).filter(Batch::needs_notice)?;
        self.stats.sched_notices += 1;
        let Batch { write, requests, runs } = batch;
        let op = Op::BatchNotice { write, packed: self.packs, requests };
        Some(Internal { op, data: DataOut::Runs(runs) })
    }

    fn complete(&mut self, completion: Completion) {
        self.stats.completions += 1;
        self.completions.push_back(completion);
    }

    #[inline(always)]
    fn send_user(&mut self, now: SimTime, index: u32, kind: RequestOp, lpa: Lpa, op: Op, units: u32) -> Tag {
        self.stats.user_commands += 1;
        if self.reorders && kind != RequestOp::Flush {
            self.knowledge.accessed(lpa, units);
        }
        let (request, waited) = self.requests.send(index, now);
        self.waited = Noted(waited);
        let offset = if kind == RequestOp::Flush { 0 } else { lpa.0 - request.lpa.0 };
        let stamp = matches!(kind, RequestOp::Write { .. }).then_some(request.stamp);
        let owner = Some(Owner { request: index, offset, units });
        self.send(op, owner, |data| {
            if let Some(stamp) = stamp {
                data.put(DataOut::Stamp(stamp));
            }
        })
    }

    #[inline(always)]
    fn send_internal(&mut self, internal: Internal) -> Tag {
        assert!(!internal.op.is_user(), "a booster sent {:?} on its own account", internal.op);
        self.stats.internal_commands += 1;
        self.map_fetches += u64::from(matches!(internal.op, Op::HpbReadBuffer { .. } | Op::SegmentRead { .. }));
        self.send(internal.op, None, |data| data.put(internal.data))
    }

    /// Makes a command under a tag of its own. `load` writes its data where it is to be: moving it there is slow.
    #[inline(always)]
    fn send(&mut self, op: Op, owner: Option<Owner>, load: impl FnOnce(&mut DataOut)) -> Tag {
        let command = self.tags.take(op, owner);
        load(&mut command.data);
        self.booster.stamp(command);
        command.tag
    }
}
