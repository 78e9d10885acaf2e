//! A test bench for a device without driver and link. It checks all data that is read.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};

use ftl::{
    Device, DeviceConfig, DeviceEvent, DeviceStats, GcConfig, GcCopy, GcPace, GcRuns, LogConfig, MappingKind, Moment,
    SramConfig, WritePathConfig,
};
use nand::{CellTiming, Counters, Geometry, Timing};
use ufs::{Command, DataIn, DataOut, Op, Protocol, Response, Status, Tag};
use units::{Lpa, Nanos, Seq, SimTime};

/// Schemes that work with any host.
pub fn self_reliant() -> impl Iterator<Item = MappingKind> {
    ufsim_schemes::all().iter().copied().filter(|kind| kind.speaks() != Protocol::HpUfs)
}

/// A device of a few MiB on which everything happens often: 2 dies, superblocks of 256 units, 4 segments.
pub fn tiny() -> DeviceConfig {
    let us = Nanos::from_micros;
    let mut mappings = ufsim_schemes::defaults();
    for (key, value) in [
        ("flush_above_entries", 160),
        ("handover_above_entries", 24),
        ("gc_pause_at_entries", 96),
        ("cache_kib", 8),
        ("entry_bytes", 8),
        ("background_us", 200),
        ("flush_mib", 1),
        ("gc_mib", 1),
        ("hpb_group_entries", 512),
        ("hpb_tracked_groups", 2),
        ("hpb_pending_entries", 64),
        ("hpb_max_active_regions", 1),
    ] {
        mappings.set("*", key, value).expect("a parameter of some scheme");
    }
    DeviceConfig {
        geometry: Geometry {
            channels: 2,
            dies_per_channel: 1,
            superblock_dies: 2,
            planes: 2,
            units_per_page: 4,
            pages_per_block: 16,
            word_line_pages: 1,
            data_superblocks: 28,
            meta_superblocks: 6,
        },
        timing: Timing {
            page_register: true,
            ..Timing::of(
                CellTiming { read: us(25), program: us(150), erase: us(5000) },
                CellTiming { read: us(60), program: us(550), erase: us(5000) },
            )
        },
        capacity_units: 4096,
        command_cost: Nanos(1000),
        idle_flush: us(1000),
        write_through: false,
        write_path: WritePathConfig::default(),
        sram: SramConfig { pool: 96, segment_cache: 2, reserve: 24, entries: false, own_cache: None },
        mappings,
        log: LogConfig { entries: 192, max_log_blocks: 6 },
        gc: GcConfig {
            pace: GcPace::Searched,
            start: 10,
            relaxed: 8,
            hurried: 6,
            reserve: 3,
            units_per_step: 64,
            victims: ufs::Victims::GREEDY,
            runs: GcRuns::Alone,
            idle: None,
            copies_percent: 0,
            hot_region: None,
        },
        slc: ftl::SlcConfig::NONE,
        wear_spread: 8,
        refresh_reads: None,
        host_tags: 32,
        endurance: ftl::Endurance::default(),
        faults: nand::Faults::default(),
        sabotage: None,
        seal_key: [7, 9],
    }
}

/// Deterministic random numbers.
pub struct Rng(pub u64);

impl Rng {
    pub fn below(&mut self, n: u32) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 33) as u32 % n
    }
}

/// What a test sees of the firmware between two events.
#[derive(Debug)]
pub struct Seen {
    pub moment: Moment,
    pub counters: Counters,
    pub copies: Vec<GcCopy>,
    pub ready: bool,
}

impl Seen {
    fn of(device: &Device) -> Seen {
        Seen {
            moment: device.moment(),
            counters: *device.nand_counters(),
            copies: device.copies(),
            ready: device.is_ready(),
        }
    }
}

/// A device with an event queue, commands in flight, and what every address may hold.
pub struct Bench {
    pub device: Device,
    now: SimTime,
    queue: BinaryHeap<Reverse<(SimTime, u64, usize)>>,
    events: Vec<DeviceEvent>,
    order: u64,
    free_tags: VecDeque<u8>,
    /// Commands under way by tag, with their stamps.
    pub in_flight: BTreeMap<u8, (Op, u32)>,
    /// Acknowledged content of each address: its stamp, or 0 after a trim.
    acked: BTreeMap<u32, u32>,
    /// The same at the last flush, or as a FUA write has left it since: what a power cut cannot take back.
    durable: BTreeMap<u32, u32>,
    /// What has been acknowledged since, and may be there after a power cut.
    recent: BTreeMap<u32, Vec<u32>>,
    /// All that is read may be what was flushed last, or newer.
    after_cut: bool,
    /// Called with the state before each step and after it.
    pub watch: Option<fn(&Seen, &Seen)>,
    /// With `watch`, what the firmware was seen doing.
    pub met: Vec<Moment>,
    stamp: u32,
    pub responses: Vec<Response>,
    /// The latest change that the host has applied, as every command says.
    pub host_seq: Seq,
    /// The status with which commands have to end.
    pub expected: Status,
    silent: u32,
}

impl Bench {
    pub fn new(cfg: DeviceConfig, kind: MappingKind) -> Bench {
        Bench {
            device: Device::new(cfg, kind),
            now: SimTime::START,
            queue: BinaryHeap::new(),
            events: Vec::new(),
            order: 0,
            free_tags: (0..32).collect(),
            in_flight: BTreeMap::new(),
            acked: BTreeMap::new(),
            durable: BTreeMap::new(),
            recent: BTreeMap::new(),
            after_cut: false,
            watch: None,
            met: Vec::new(),
            stamp: 0,
            responses: Vec::new(),
            host_seq: Seq(0),
            expected: Status::Good,
            silent: 0,
        }
    }

    fn drain(&mut self) {
        let effects = self.device.effects();
        for (at, event) in effects.wakes.drain(..) {
            self.order += 1;
            self.events.push(event);
            self.queue.push(Reverse((at, self.order, self.events.len() - 1)));
        }
        let responses: Vec<_> = effects.responses.drain(..).collect();
        for (_, response) in responses {
            self.digest(response);
        }
    }

    fn digest(&mut self, response: Response) {
        let (op, stamp) = self.in_flight.remove(&response.tag.0).expect("a response answers a command in flight");
        self.free_tags.push_back(response.tag.0);
        // A device that only reads refuses a write of one unit as a whole.
        let refused = response.status == Status::WriteProtected && self.device.has_lost_superblocks();
        if refused && matches!(op, Op::Write { len: 1, .. }) {
            return;
        }
        assert_eq!(response.status, self.expected, "{op:?}");
        match (op, &response.data) {
            (Op::Write { lpa, len, fua }, _) => (0..len).for_each(|i| {
                self.acked_write(lpa.0 + i, stamp);
                if fua {
                    self.durable.insert(lpa.0 + i, stamp);
                    self.recent.remove(&(lpa.0 + i));
                }
            }),
            (Op::Unmap { lpa, len }, _) => (0..len).for_each(|i| self.acked_write(lpa.0 + i, 0)),
            (Op::Read { lpa, .. } | Op::HpbRead { lpa, .. }, DataIn::One(content)) => self.check(lpa.0, *content),
            (Op::Read { lpa, .. } | Op::HpbRead { lpa, .. }, DataIn::Many(contents)) => {
                for (i, content) in contents.iter().enumerate() {
                    self.check(lpa.0 + i as u32, *content);
                }
            }
            _ => {}
        }
        self.responses.push(response);
        self.silent = 0;
    }

    fn acked_write(&mut self, lpa: u32, stamp: u32) {
        self.acked.insert(lpa, stamp);
        self.recent.entry(lpa).or_default().push(stamp);
    }

    fn check(&mut self, lpa: u32, content: Option<ufs::Content>) {
        if let Some(content) = content {
            assert_eq!(content.lpa, Lpa(lpa), "data of another address");
        }
        let found = content.map_or(0, |c| c.stamp);
        if self.after_cut {
            let flushed = self.durable.get(&lpa).copied().unwrap_or(0);
            let fits = found == flushed || self.recent.get(&lpa).is_some_and(|recent| recent.contains(&found));
            assert!(fits, "LPA {lpa} holds {found} after a cut, {flushed} was flushed: {:?}", self.recent.get(&lpa));
            self.acked.insert(lpa, found);
            return;
        }
        let expected = self.acked.get(&lpa).copied().unwrap_or(0);
        assert_eq!(found, expected, "LPA {lpa}");
    }

    /// True if a command in flight touches the range, so that the result of another one would be undefined.
    fn busy(&self, lpa: u32, len: u32) -> bool {
        self.in_flight.values().any(|(op, _)| match *op {
            Op::Read { lpa: l, len: n }
            | Op::HpbRead { lpa: l, len: n, .. }
            | Op::Write { lpa: l, len: n, .. }
            | Op::Unmap { lpa: l, len: n } => l.0 < lpa + len && lpa < l.0 + n,
            _ => false,
        })
    }

    /// Sends a command as soon as a tag is free and nothing in flight overlaps it.
    pub fn send(&mut self, op: Op) {
        let data = if matches!(op, Op::Write { .. }) { DataOut::Stamp(self.stamp + 1) } else { DataOut::None };
        self.send_with(op, data);
    }

    /// Sends a command with this data, as soon as a tag is free and nothing in flight overlaps it.
    pub fn send_with(&mut self, op: Op, data: DataOut) {
        let range = match op {
            Op::Read { lpa, len }
            | Op::HpbRead { lpa, len, .. }
            | Op::Write { lpa, len, .. }
            | Op::Unmap { lpa, len } => (lpa.0, len),
            _ => (0, 0),
        };
        while self.free_tags.is_empty() || self.busy(range.0, range.1) {
            self.step();
        }
        let tag = self.free_tags.pop_front().expect("waited for one");
        self.stamp += 1;
        self.in_flight.insert(tag, (op, self.stamp));
        let at = self.now + Nanos(500);
        while self.queue.peek().is_some_and(|Reverse((due, ..))| *due <= at) {
            self.step();
        }
        self.now = at;
        self.device.command(self.now, Command { tag: Tag(tag), op, host_seq: self.host_seq, freed: None, data });
        self.drain();
    }

    fn step(&mut self) {
        let before = self.watch.map(|_| Seen::of(&self.device));
        self.advance();
        if let (Some(watch), Some(before)) = (self.watch, before) {
            watch(&before, &Seen::of(&self.device));
            if !self.met.contains(&before.moment) {
                self.met.push(before.moment);
            }
        }
    }

    fn advance(&mut self) {
        let Reverse((at, _, event)) = self.queue.pop().expect("commands in flight, but nothing will ever happen");
        self.now = at;
        self.silent += 1;
        assert!(self.silent < 20_000, "no response for 20000 events: {:?}, {:?}", self.in_flight, self.device.stats());
        self.device.wake(self.now, self.events[event]);
        self.drain();
    }

    /// The host controls WriteBooster.
    pub fn control(&mut self, control: ufs::BoosterControl) {
        self.device.control_booster(self.now, control);
        self.drain();
    }

    /// Lets up to `n` things happen.
    pub fn steps(&mut self, n: u32) {
        (0..n).for_each(|_| {
            if !self.queue.is_empty() {
                self.step()
            }
        });
    }

    /// Waits until every command is answered, and for a flush after that. The device may go on with work of its own.
    pub fn flush(&mut self) {
        while !self.in_flight.is_empty() {
            self.step();
        }
        self.send(Op::Flush);
        while !self.in_flight.is_empty() {
            self.step();
        }
        self.durable = self.acked.clone();
        self.recent.clear();
    }

    /// Checks that what GC holds is content that somebody wrote.
    pub fn check_copies(&self, copies: &[GcCopy]) {
        for copy in copies {
            assert!(copy.stamp > 0 && copy.stamp <= self.stamp, "{copy:?} is of content that nobody wrote");
        }
    }

    /// Cuts the power at once and waits until the device is ready again. Then all data is read, and what stands there
    /// has to be what was flushed, or newer. Gives how long the recovery took, and its counters.
    pub fn cut(mut self, rng: &mut Rng, units: u32) -> (Bench, Nanos, DeviceStats) {
        for (op, stamp) in std::mem::take(&mut self.in_flight).into_values() {
            if let Op::Write { lpa, len, .. } = op {
                (0..len).for_each(|i| self.recent.entry(lpa.0 + i).or_default().push(stamp));
            } else if let Op::Unmap { lpa, len } = op {
                (0..len).for_each(|i| self.recent.entry(lpa.0 + i).or_default().push(0));
            }
        }
        self.free_tags = (0..32).collect();
        self.queue.clear();
        let (from, before) = (self.now, *self.device.nand_counters());
        let unpowered = self.device.power_cut(from, &mut |n| rng.below(n));
        assert_eq!(*unpowered.nand_counters(), before, "a power cut ends no operation");
        self.device = Device::power_on(unpowered, from);
        self.drain();
        while !self.device.is_ready() {
            self.step();
        }
        let (took, stats) = (self.now - from, self.device.stats());
        self.after_cut = true;
        for lpa in (0..units).step_by(16) {
            self.send(Op::Read { lpa: Lpa(lpa), len: 16 });
        }
        while !self.in_flight.is_empty() {
            self.step();
        }
        self.after_cut = false;
        self.durable = self.acked.clone();
        self.recent.clear();
        (self, took, stats)
    }

    /// Waits until every command is answered and the device is quiet.
    pub fn settle(&mut self) {
        while !self.in_flight.is_empty() || !self.queue.is_empty() {
            self.step();
        }
        assert!(self.device.is_idle());
        self.device.check();
    }
}
