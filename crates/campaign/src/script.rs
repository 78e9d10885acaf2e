//! What happens in a case: a device, and a list of acts. The seed decides all of it before anything runs, so that a
//! part can be left out without a change of the rest.

use ftl::MappingKind;
use host::{AppSignal, RequestOp, SchedulerKind};
use lab::profile::{Override, Profile, ProfileError, parse_override};
use lab::{Parts, Preset, schemes};
use nand::Faults;
use ufs::LinkConfig;
use units::{AppId, Lpa, Nanos};

use crate::report::{COMMON, Doing, MOMENTS, OVERTAKEN, applies};
use crate::rng::Rng;

/// A cut that waits for something happens after this many events anyway.
pub(crate) const PATIENCE: u32 = 3000;

/// One thing that happens.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Act {
    /// The whole device is written in order.
    Fill,
    /// So many random units are written to `part` (first unit and length), in pieces of up to `most`.
    Age { units: u32, part: (u32, u32), most: u32, seed: u64 },
    /// A request is submitted when the queue has room.
    Request { op: RequestOp, lpa: Lpa, len: u32, app: AppId },
    /// A page whose copy by GC waits for a full row is overwritten with FUA: number `which` of them, counted round and
    /// round, or `lpa` if there is none.
    Overtake { lpa: Lpa, which: u32 },
    /// So many events happen before the next act.
    Wait(u32),
    /// The driver is told of an app.
    Signal(AppSignal),
    /// The driver is asked for memory; see [`host::Driver::reclaim`].
    Reclaim { victim: AppId, bytes: u64 },
    /// The driver may use no more memory than this.
    Memory { bytes: u64 },
    /// A power cut is due. It happens while the acts that follow go on.
    Cut(Cut),
}

/// A power cut.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Cut {
    pub when: When,
    /// For each further cut during the recovery, events between power-on and that cut.
    pub again: Vec<u32>,
    /// Everything is read as soon as the device is ready.
    pub look: bool,
    /// Decides what is left of operations in flight.
    pub dice: u64,
}

/// When a power cut happens.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum When {
    /// After so many events.
    Events(u32),
    /// The device begins with `moment` for the `nth` time, and `then` more events happen.
    Moment { moment: usize, nth: u32, then: u32 },
    /// The next flush or FUA write completes, and `then` more events happen.
    Durable { then: u32 },
}

/// What kind of device a case has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    /// A hundred superblocks, new.
    Fresh,
    /// The same, written full and overwritten.
    Full,
    /// The same, as much written to a small part of it: then GC copies little, but what it copies is soon written
    /// again, so the copy and the write overtake each other.
    Worn,
    /// 8 to 64 GiB, of which little is used.
    Large,
}

/// A case in full.
#[derive(Clone, Debug)]
pub(crate) struct Script {
    pub preset: &'static Preset,
    pub parts: Parts,
    pub kind: Kind,
    /// Keys of the profile `tiny` and their values.
    pub set: Vec<(&'static str, String)>,
    pub link: LinkConfig,
    pub faults: Faults,
    /// Most requests outstanding.
    pub depth: usize,
    pub acts: Vec<Act>,
}

impl Script {
    /// The script of a seed.
    pub fn of_seed(seed: u64) -> Script {
        let presets = schemes();
        let (scheme, index) = (seed % presets.len() as u64, seed / presets.len() as u64);
        let preset = &presets[scheme as usize];
        let mut rng = Rng::new(seed);
        // The generator takes a few steps to leave small seeds behind.
        (0..8).for_each(|_| _ = rng.below(2));
        // Large devices are rare, but not at the same time under every scheme.
        let kind = match (index + 5 * scheme) % 64 {
            11 => Kind::Large,
            n if n % 2 == 1 => Kind::Fresh,
            n if n % 4 == 0 => Kind::Full,
            _ => Kind::Worn,
        };
        let mut set = match kind {
            Kind::Large => large_device(&mut rng),
            _ => small_device(&mut rng, kind),
        };
        // Each scheme gets whole segments and parts of 1 or 2 KiB, with both paces of GC.
        set.push(("scheme.*.segment_kib", [4, 1, 2][(index % 3) as usize].to_string()));
        set.extend(collection(index / 3));
        if index % 7 == 5 && kind != Kind::Large {
            word_lines(&mut set);
        }
        if index / 3 % 4 < 2 && kind != Kind::Large {
            hot_apart(&mut set);
        } else if index % 2 == 1 {
            dedicated(&mut set, index);
        }
        if index % 5 == 2 {
            set.extend([("nand.program_suspends", "2".into()), ("nand.erase_suspends", "3".into())]);
        }
        if index % 3 == 2 {
            set.push(("nand.cache_program", "true".into()));
        }
        set.extend(reads(index));
        if preset.parts.mapping == MappingKind::of::<schemes::SegmentLog>() && preset.parts.brings.is_empty() {
            map_flushes(&mut set, index / 6);
        }
        let capacity = capacity_units(&set);
        let mut script = Script {
            preset,
            parts: Parts { scheduler: scheduler(&mut rng), ..preset.parts },
            kind,
            set,
            link: link(&mut rng),
            faults: faults(&mut rng, seed),
            depth: 1 + rng.below(48) as usize,
            acts: Vec::new(),
        };
        script.acts = Writer { habits: Habits::new(&mut rng, capacity), rng, kind, capacity, acts: Vec::new() }.acts();
        script
    }

    /// The profile.
    ///
    /// # Errors
    /// If the values do not go together, which may be when some are left out.
    pub fn profile(&self) -> Result<Profile, ProfileError> {
        let set: Result<Vec<Override>, _> = self.set.iter().map(|(k, v)| parse_override(&format!("{k}={v}"))).collect();
        let profile = Profile::load("tiny", &set?)?;
        profile.check_parts(self.parts)?;
        Ok(profile)
    }

    /// True if all requests lie within a device of so many units.
    pub fn fits(&self, capacity: u32) -> bool {
        self.acts.iter().all(|act| match *act {
            Act::Request { lpa, len, .. } => lpa.0 + len <= capacity,
            Act::Overtake { lpa, .. } => lpa.0 < capacity,
            Act::Age { part: (first, len), .. } => first + len <= capacity,
            _ => true,
        })
    }

    /// Addresses that requests of this script concern, and some around them: first units and lengths, in order.
    pub fn concerned(&self, capacity: u32) -> Vec<(u32, u32)> {
        const AROUND: u32 = 8;
        let range = |act: &Act| match *act {
            Act::Request { lpa, len, .. } if len > 0 => Some((lpa.0.saturating_sub(AROUND), lpa.0 + len + AROUND)),
            _ => None,
        };
        let mut ranges: Vec<_> = self.acts.iter().filter_map(range).collect();
        ranges.sort_unstable();
        let mut joined: Vec<(u32, u32)> = Vec::new();
        for (first, end) in ranges {
            match joined.last_mut() {
                Some((_, last)) if first <= *last => *last = end.max(*last),
                _ => joined.push((first, end)),
            }
        }
        joined.into_iter().map(|(first, end)| (first, end.min(capacity) - first)).collect()
    }
}

impl Act {
    /// Lets a power cut happen as soon as it is due.
    pub fn cut_at_once(&mut self) {
        if let Act::Cut(cut) = self {
            cut.when = When::Events(0);
        }
    }
}

impl When {
    /// True if the device has begun with what a cut waits for.
    pub fn is_met(self, before: Doing, now: Doing) -> bool {
        match self {
            When::Moment { moment, .. } => !applies(before)[moment] && applies(now)[moment],
            When::Events(_) | When::Durable { .. } => false,
        }
    }
}

impl std::fmt::Display for Act {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Act::Fill => write!(f, "write the whole device in order"),
            Act::Age { units, part: (first, len), .. } => {
                write!(f, "write {units} units at random to the {len} from {first} on")
            }
            Act::Request { op: RequestOp::Flush, .. } => write!(f, "flush"),
            Act::Request { op, lpa, len, .. } => {
                let name = match op {
                    RequestOp::Read => "read",
                    RequestOp::Write { fua: true } => "write with FUA",
                    RequestOp::Write { fua: false } => "write",
                    _ => "trim",
                };
                write!(f, "{name} {} units at {}", len, lpa.0)
            }
            Act::Overtake { lpa, .. } => write!(f, "write with FUA over a page that GC is copying, or at {}", lpa.0),
            Act::Wait(events) => write!(f, "let {events} events happen"),
            Act::Signal(signal) => write!(f, "tell the driver {signal:?}"),
            Act::Reclaim { victim, bytes } => write!(f, "ask the driver for {bytes} bytes instead of app {}", victim.0),
            Act::Memory { bytes } => write!(f, "leave the driver {bytes} bytes"),
            Act::Cut(cut) => write!(f, "{cut}"),
        }
    }
}

impl std::fmt::Display for Cut {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.when {
            When::Events(events) => write!(f, "cut the power after {events} events")?,
            When::Moment { moment, nth, then } => {
                write!(f, "cut the power {then} events after the {nth}. {} begins", MOMENTS[moment])?;
            }
            When::Durable { then } => write!(f, "cut the power {then} events after a flush or FUA write")?,
        }
        for events in &self.again {
            write!(f, ", again after {events} of recovery")?;
        }
        if self.look { write!(f, ", and read everything") } else { Ok(()) }
    }
}

fn scheduler(rng: &mut Rng) -> SchedulerKind {
    match rng.below(2) {
        0 => SchedulerKind::Noop,
        _ => SchedulerKind::ALL[rng.below(SchedulerKind::ALL.len() as u32) as usize],
    }
}

/// Ways of flushing the map, for presets that bring none.
fn map_flushes(set: &mut Vec<(&'static str, String)>, index: u64) {
    let mode = ["background", "rounds", "pipelined"][(index % 3) as usize];
    set.push(("scheme.segment-log.flush_mode", mode.into()));
    set.push(("scheme.segment-log.flush_order", ["address", "log"][(index / 3 % 2) as usize].into()));
    set.push(("scheme.segment-log.flush_buffers", ["3", "64"][(index / 6 % 2) as usize].into()));
}

/// A link without time on the wire, or one of three speeds.
fn link(rng: &mut Rng) -> LinkConfig {
    let rate = pick(rng, &[0, 150, 700, 2300]);
    let latency = Nanos::from_micros(u64::from(1 + rng.below(20)));
    LinkConfig { down_bytes_per_us: rate, up_bytes_per_us: rate, upiu_latency: latency }
}

/// A third of the cases have flash that fails.
fn faults(rng: &mut Rng, seed: u64) -> Faults {
    match rng.below(3) {
        0 => Faults { seed, program_per_million: 3000, erase_per_million: 3000, read_per_million: 1000 },
        _ => Faults::default(),
    }
}

fn pick<T: Copy>(rng: &mut Rng, values: &[T]) -> T {
    values[rng.below(values.len() as u32) as usize]
}

fn capacity_units(set: &[(&'static str, String)]) -> u32 {
    let capacity = set.iter().find(|(key, _)| *key == "device.capacity_mib");
    capacity.and_then(|(_, value)| value.parse::<u32>().ok()).expect("every device has a capacity") * 256
}

/// A random device of about a hundred superblocks. Most are as small as a device may be, so that GC comes soon and much
/// fits into a short time.
fn small_device(rng: &mut Rng, kind: Kind) -> Vec<(&'static str, String)> {
    let (channels, dies) = (pick(rng, &[2, 2, 4]), pick(rng, &[1, 1, 2]));
    let (planes, page_kib) = match kind {
        // Small superblocks are erased more often, up to wear levelling.
        Kind::Full => pick(rng, &[(2, 4), (2, 8), (2, 4), (2, 16), (4, 8), (4, 16)]),
        _ => (pick(rng, &[2, 4]), pick(rng, &[4, 8, 16])),
    };
    let pages = pick(rng, &[8, 16]);
    // With eight dies, superblocks lie on half of them.
    let wide = (channels * dies).min(4);
    let superblock_kib = wide * planes * page_kib * pages;
    let superblocks: u32 = pick(rng, &[50, 70, 100]);
    let capacity_mib = (superblocks * superblock_kib / 1024).next_multiple_of(4).max(16);
    let shape = Shape { channels, dies, wide, planes, page_kib, pages, capacity_mib };
    let mut set = shape.keys(rng);
    // A GC step and a map flush need room for two rows.
    let rows_kib = 2 * planes * page_kib;
    let keys: [(&'static str, u32); 11] = [
        ("nand.transfer_mib_per_s", pick(rng, &[0, 400])),
        ("sram.pool_kib", pick(rng, &[384, 512])),
        ("sram.segment_cache_kib", pick(rng, &[32, 64])),
        ("sram.reserve_kib", pick(rng, &[64, 96]).max(rows_kib)),
        ("log.max_log_blocks", pick(rng, &[4, 6, 8])),
        ("gc.start_superblocks", pick(rng, &[24, 40])),
        ("gc.relaxed_superblocks", 20),
        ("gc.units_per_step", pick(rng, &[32, 64, 256])),
        ("firmware.idle_flush_us", pick(rng, &[200, 2000])),
        ("wear.spread_erases", pick(rng, &[2, 4, 16])),
        ("scheme.*.cache_kib", pick(rng, &[8, 16, 64])),
    ];
    set.extend(keys.into_iter().map(|(key, value)| (key, value.to_string())));
    set.push(("scheme.*.background_us", pick(rng, &[50, 500]).to_string()));
    set.push(("scheme.msftl.segment_bytes", pick(rng, &[1024, 2048]).to_string()));
    set
}

/// When GC runs, and beside what: each way of it under every scheme.
fn collection(index: u64) -> Vec<(&'static str, String)> {
    let pace = ["gained", "searched"][(index % 2) as usize];
    let runs = if index % 6 == 2 { "beside" } else { "alone" };
    let mut set = vec![("gc.pace", pace.into()), ("gc.runs", runs.into())];
    if index % 5 == 3 {
        set.extend([("gc.idle_after_ms", "1".into()), ("gc.idle_superblocks", "44".into())]);
    }
    if index % 3 == 1 {
        set.extend([("slc.superblocks", "10".into()), ("slc.least_free_superblocks", "30".into())]);
        if index.is_multiple_of(2) {
            set.push(("slc.fold_after_ms", "1".into()));
        }
        if index % 9 == 7 {
            set.push(("slc.write_booster", "true".into()));
        }
    }
    if index % 4 == 2 {
        set.push(("wear.refresh_reads", "300".into()));
    }
    if index % 4 == 1 {
        let policy = ["cost_benefit", "fifo", "choices"][(index / 4 % 3) as usize];
        set.push(("gc.victim", policy.into()));
    }
    set
}

/// How reads share a die, and how often they are repeated: each way of it, with and without suspended programs.
fn reads(index: u64) -> Vec<(&'static str, String)> {
    let on = |key, on: bool| on.then(|| (key, "true".into()));
    let planes = on("nand.independent_plane_reads", index % 4 == 2);
    let mut set: Vec<_> = planes.into_iter().chain(on("nand.cache_read", index % 6 == 4)).collect();
    if index % 10 == 4 {
        let keys = [("nand.retry_fresh_steps", "[0, 2]"), ("nand.retry_cycles", "[0, 8]")];
        set.extend(keys.map(|(key, value)| (key, value.into())));
    }
    set
}

/// A number that is set.
fn number(set: &[(&'static str, String)], wanted: &str) -> Option<u32> {
    let found = set.iter().rev().find(|(key, _)| *key == wanted);
    found.and_then(|(_, value)| value.parse().ok())
}

/// An HPB region of the profile that cases change.
const HPB_REGION_MIB: u32 = 32;

/// KiB that a program writes at once on all planes of a die.
fn row_kib(set: &[(&'static str, String)]) -> u32 {
    let of = |key| number(set, key).expect("a small device has this key");
    of("nand.planes") * of("nand.page_kib") * number(set, "nand.word_line_pages").unwrap_or(1)
}

/// Hot data have superblocks of their own, where the pool of a small device has room for the rows that wait then. Few
/// regions, so that they grow hot and cold within a case.
fn hot_apart(set: &mut Vec<(&'static str, String)>) {
    let row_kib = row_kib(set);
    if row_kib <= 32 {
        let reserve_kib = number(set, "sram.reserve_kib").unwrap_or(0).max(4 * row_kib);
        set.extend([("gc.hot_region_kib", "2048".into()), ("log.max_log_blocks", "8".into())]);
        set.push(("sram.reserve_kib", reserve_kib.to_string()));
    }
}

/// WriteBooster, if there is one, is dedicated to one of two logical units, where the pool of a small device has room
/// for rows of both. The first is as large as an HPB region.
fn dedicated(set: &mut Vec<(&'static str, String)>, index: u64) {
    let boosted = set.iter().any(|(key, _)| *key == "slc.write_booster");
    let further = number(set, "device.capacity_mib").map_or(0, |mib| mib.saturating_sub(HPB_REGION_MIB));
    if boosted && further > 0 && row_kib(set) <= 32 {
        set.push(("device.further_lus_mib", further.to_string()));
        set.push(("slc.dedicated_lu", (index / 2 % 2).to_string()));
    }
}

/// Two pages of a word line are programmed at once, where the pool of a small device has room for two such programs.
fn word_lines(set: &mut Vec<(&'static str, String)>) {
    let row_kib = 2 * row_kib(set);
    if row_kib <= 64 {
        let reserve_kib = number(set, "sram.reserve_kib").unwrap_or(0).max(2 * row_kib);
        set.extend([("nand.word_line_pages", "2".into()), ("sram.reserve_kib", reserve_kib.to_string())]);
    }
}

/// A device of 8 to 64 GiB with superblocks of 64 MiB.
fn large_device(rng: &mut Rng) -> Vec<(&'static str, String)> {
    let capacity_mib = pick(rng, &[8, 32, 64]) * 1024;
    let mut set = Shape { channels: 4, dies: 4, wide: 16, planes: 2, page_kib: 8, pages: 256, capacity_mib }.keys(rng);
    set.push(("sram.pool_kib", "1024".into()));
    set
}

/// Sizes of a device.
struct Shape {
    channels: u32,
    dies: u32,
    /// Dies of a superblock.
    wide: u32,
    planes: u32,
    page_kib: u32,
    pages: u32,
    capacity_mib: u32,
}

impl Shape {
    /// The keys of the flash, within the limits of the profile.
    fn keys(&self, rng: &mut Rng) -> Vec<(&'static str, String)> {
        let superblock_kib = self.wide * self.planes * self.page_kib * self.pages;
        let full = self.capacity_mib * 1024 / superblock_kib;
        let data = full + full / pick(rng, &[5, 3]) + 20;
        // As few metadata superblocks as are allowed, so that they are collected all the time, or some more.
        let (pieces, units) = (self.capacity_mib / 2 + data + 40, superblock_kib / 4);
        let snapshot = (4 * self.capacity_mib + 12 * data).div_ceil(4096) + 8;
        let metadata = pieces.div_ceil(units - snapshot) + 4 + pick(rng, &[0, 6]);
        let keys = [
            ("nand.channels", self.channels),
            ("nand.dies_per_channel", self.dies),
            ("superblock.dies", self.wide),
            ("nand.planes", self.planes),
            ("nand.page_kib", self.page_kib),
            ("nand.pages_per_block", self.pages),
            ("device.capacity_mib", self.capacity_mib),
            ("nand.data_superblocks", data),
            ("nand.meta_superblocks", metadata),
            // As large as a row, so a translation page takes two or four flash units.
            ("scheme.base-dftl.page_kib", (2 * self.page_kib).min(16)),
        ];
        keys.into_iter().map(|(key, value)| (key, value.to_string())).collect()
    }
}

/// What the host of a case does, and where.
struct Habits {
    /// Parts that are used most, as first unit and length.
    hot: Vec<(u32, u32)>,
    /// Of a hundred requests: those that go anywhere, and those that are long.
    wide: u32,
    long: u32,
    /// Of a thousand requests: writes and so on; the rest are reads.
    writes: u32,
    trims: u32,
    flushes: u32,
    /// Of a hundred writes, those with FUA.
    fua: u32,
    /// Of a thousand acts: pauses, and messages about apps and memory.
    waits: u32,
    apps: u32,
    /// Most requests between two power cuts.
    requests: u32,
}

impl Habits {
    fn new(rng: &mut Rng, capacity: u32) -> Habits {
        let part = |rng: &mut Rng| {
            let len = pick(rng, &[64, 300, 2000]).min(capacity);
            (rng.below(capacity - len + 1), len)
        };
        Habits {
            hot: (0..1 + rng.below(3)).map(|_| part(rng)).collect(),
            wide: pick(rng, &[0, 20, 60, 100]),
            long: pick(rng, &[5, 25]),
            writes: pick(rng, &[500, 600, 800]),
            trims: pick(rng, &[5, 40, 120]),
            flushes: pick(rng, &[5, 20, 60]),
            fua: pick(rng, &[0, 5, 30]),
            waits: pick(rng, &[0, 10, 50]),
            apps: pick(rng, &[0, 10, 40]),
            requests: pick(rng, &[60, 250, 700]),
        }
    }
}

/// Writes the acts of a script.
struct Writer {
    rng: Rng,
    habits: Habits,
    kind: Kind,
    capacity: u32,
    acts: Vec<Act>,
}

impl Writer {
    fn acts(mut self) -> Vec<Act> {
        if self.rng.below(2) == 0 {
            self.memory();
        }
        match self.kind {
            Kind::Full => self.fill(),
            Kind::Worn => self.wear(),
            Kind::Fresh | Kind::Large => {}
        }
        // What is used of a large device is found by going through all requests, of which there are few.
        let cuts = if self.kind == Kind::Large { 2 } else { 2 + self.rng.below(6) };
        let mut looked = true;
        for n in 0..cuts {
            // Nobody has looked yet, so the next cut may meet the driver's own survey.
            let soon = !looked && self.rng.below(2) == 0;
            let requests = if soon { self.rng.below(20) } else { 1 + self.rng.below(self.habits.requests) };
            let after = if soon { requests } else { requests.min(self.rng.below(120)) };
            (after..requests).for_each(|_| self.step());
            let when = if soon { When::Events(self.soon()) } else { self.when() };
            looked = n + 1 == cuts || self.rng.below(4) > 0;
            let cut = Cut { when, again: self.again(), look: looked, dice: self.rng.below(u32::MAX).into() };
            self.acts.push(Act::Cut(cut));
            (0..after).for_each(|_| self.step());
        }
        (0..1 + self.habits.requests / 4).for_each(|_| self.step());
        if matches!(self.kind, Kind::Full | Kind::Worn) {
            (0..2).for_each(|_| self.overtake());
        }
        self.acts
    }

    /// Aims for [`OVERTAKEN`], which chance meets too seldom: GC reads pages, some of them wait for a full row, the
    /// host overwrites them, GC programs them all the same, and the power is cut before a map flush settles which is
    /// newer.
    fn overtake(&mut self) {
        let (first, units) = if self.kind == Kind::Worn { self.habits.hot[0] } else { (0, self.capacity) };
        let rng = &mut self.rng;
        let most = pick(rng, &[1, 6, 30]);
        let when = When::Moment { moment: OVERTAKEN, nth: 1, then: rng.below(most) };
        let cut = Cut { when, again: Vec::new(), look: true, dice: rng.below(u32::MAX).into() };
        // The cut before has its time first.
        self.acts.extend([Act::Wait(PATIENCE), Act::Cut(cut)]);
        for _ in 0..100 {
            let len = 1 + rng.below(16);
            let lpa = Lpa(first + rng.below(units - len + 1));
            self.acts.push(match rng.below(10) {
                0..4 => Act::Overtake { lpa, which: rng.below(64) },
                _ => Act::Request { op: RequestOp::Write { fua: false }, lpa, len, app: AppId::SYSTEM },
            });
        }
    }

    fn fill(&mut self) {
        let rng = &mut self.rng;
        let (units, seed) = (self.capacity / pick(rng, &[4, 2, 1]), rng.below(u32::MAX).into());
        self.acts.extend([Act::Fill, Act::Age { units, part: (0, self.capacity), most: 16, seed }]);
    }

    fn wear(&mut self) {
        let rng = &mut self.rng;
        let (len, seed) = (pick(rng, &[150, 400, 1000]), rng.below(u32::MAX).into());
        let part = (rng.below(self.capacity - len + 1), len);
        let often = (part.0 + rng.below(len - 64 + 1), 64);
        self.habits.hot = vec![part, part, often];
        self.habits.wide = 0;
        self.acts.push(Act::Age { units: self.capacity, part, most: 4, seed });
    }

    fn when(&mut self) -> When {
        let rng = &mut self.rng;
        match rng.below(5) {
            0 => When::Durable { then: rng.below(6) },
            1 | 2 => {
                let moment = rng.below(COMMON as u32) as usize;
                When::Moment { moment, nth: 1 + rng.below(3), then: rng.below(12) }
            }
            _ => When::Events(rng.below(400)),
        }
    }

    fn again(&mut self) -> Vec<u32> {
        let times = pick(&mut self.rng, &[0, 0, 0, 1, 2]);
        (0..times).map(|_| self.soon()).collect()
    }

    /// Events after power-on: often few, for the first moments of a boot.
    fn soon(&mut self) -> u32 {
        let most = pick(&mut self.rng, &[8, 40, 100, 400]);
        self.rng.below(most)
    }

    /// The next request, or what comes between requests.
    fn step(&mut self) {
        let habits = &self.habits;
        match self.rng.below(1000) {
            n if n < habits.waits => {
                let events = self.rng.below(200);
                self.acts.push(Act::Wait(events));
            }
            n if n < habits.waits + habits.apps => self.app(),
            _ => self.request(),
        }
    }

    fn app(&mut self) {
        let rng = &mut self.rng;
        let app = AppId(1 + rng.below(3) as u16);
        let act = match rng.below(8) {
            0..3 => Act::Signal(AppSignal::LaunchStart(app)),
            3 | 4 => Act::Signal(AppSignal::LaunchEnd(app)),
            5 => Act::Signal(AppSignal::Ended(app)),
            6 => Act::Reclaim { victim: app, bytes: u64::from(1 + rng.below(64)) << 10 },
            _ => return self.memory(),
        };
        self.acts.push(act);
    }

    fn memory(&mut self) {
        let bytes = u64::from(pick(&mut self.rng, &[8u32, 12, 16, 32, 64, 1024])) << 10;
        self.acts.push(Act::Memory { bytes });
    }

    fn request(&mut self) {
        let (habits, rng) = (&self.habits, &mut self.rng);
        let (first, units) = match rng.below(100) < habits.wide && self.kind != Kind::Large {
            true => (0, self.capacity),
            false => pick(rng, &habits.hot),
        };
        let len = if rng.below(100) < habits.long { 1 + rng.below(40) } else { 1 };
        let lpa = Lpa(first + rng.below(units - len + 1));
        let app = AppId(rng.below(4) as u16);
        let n = rng.below(1000);
        let (op, lpa, len) = match n {
            n if n < habits.flushes => (RequestOp::Flush, Lpa(0), 0),
            n if n < habits.flushes + habits.trims => (RequestOp::Unmap, lpa, len),
            n if n < habits.flushes + habits.trims + habits.writes => {
                (RequestOp::Write { fua: rng.below(100) < habits.fua }, lpa, len)
            }
            _ => (RequestOp::Read, lpa, len),
        };
        self.acts.push(Act::Request { op, lpa, len, app });
    }
}
