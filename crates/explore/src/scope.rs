//! What is explored: the device, where the exploration starts, and what may happen.

use std::collections::VecDeque;

use device::{Config, DeviceConfig, GcConfig, GcPace, LogConfig, MappingKind, MappingParams, Sabotage, SramConfig};
use host::{BoosterKind, HostConfig, RequestOp};
use nand::{CellTiming, Faults, FreeWork, Geometry, Timing};
use params::Owners;
use ufs::Protocol;
use units::{Lpa, Nanos};

use crate::dice::Dice;
use crate::system::{Power, Step, System};

/// Mapping schemes that are explored.
pub const SCHEMES: [&str; 4] = ["hp-ufs", "segment-log", "dftl", "msftl"];

/// Addresses of the device.
const CAPACITY: u32 = 24;

/// How much may still happen: part of the state of a search. At a start it is the level of the search.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Left {
    /// Requests.
    pub requests: u8,
    /// Power cuts.
    pub cuts: u8,
}

/// The device before the first step of an exploration.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Start {
    /// What is about to happen, for reports.
    pub name: &'static str,
    /// The counter of the device that this raises for the first time; `None` for a new device.
    pub counter: Option<&'static str>,
    /// Writes between the start and the one that raises it, each with a flush.
    pub before: usize,
}

/// An exploration: a scheme, where it starts, and what may happen.
#[derive(Clone, Debug)]
pub struct Scope {
    /// The mapping scheme. Its host keeps the mapping if it asks for that, and nothing else.
    pub scheme: MappingKind,
    /// Where it starts.
    pub starts: Vec<Start>,
    /// How much may happen from each start, one level after another.
    pub levels: Vec<Left>,
    /// Most new states of a start and a level. Then the search leaves that level incomplete and goes on with the next
    /// start, so that it sees something of each.
    pub most: u64,
    /// Requests that may be submitted, with the addresses.
    pub requests: Vec<(RequestOp, Lpa)>,
    /// Most requests under way at a time.
    pub depth: usize,
    /// A promise that the device breaks.
    pub sabotage: Option<Sabotage>,
}

impl Scope {
    /// The exploration of a scheme from all its starts.
    ///
    /// # Panics
    /// If there is none of this name.
    pub fn new(scheme: &str, levels: Vec<Left>) -> Scope {
        let scheme = MappingKind::from_name(scheme).unwrap_or_else(|| panic!("no mapping scheme {scheme}"));
        Scope { scheme, starts: starts(scheme), levels, most: u64::MAX, requests: requests(), depth: 2, sabotage: None }
    }

    /// The same with a promise that the device breaks.
    pub fn with(self, sabotage: Sabotage) -> Scope {
        Scope { sabotage: Some(sabotage), ..self }
    }

    /// A system of this scope with a new device.
    pub fn system(&self) -> System {
        let device = device_config(self.sabotage);
        if let Err(error) = self.scheme.check(&device) {
            panic!("the device of the exploration is not allowed: {error}");
        }
        System::new(device, self.scheme, host_config(self.scheme))
    }

    /// The system at a start. Every address holds data that is durable, unless the device is new.
    ///
    /// # Errors
    /// A promise that was broken on the way.
    ///
    /// # Panics
    /// If the counter is not raised within 2000 requests.
    pub fn start(&self, start: &Start) -> Result<System, String> {
        let mut system = self.system();
        let Some(counter) = start.counter else { return Ok(system) };
        // The last states between two requests, oldest first.
        let mut history = VecDeque::from([system.clone()]);
        for n in 0..2000 {
            for op in [RequestOp::Write { fua: false }, RequestOp::Flush] {
                let lpa = if op == RequestOp::Flush { Lpa(0) } else { filling(n) };
                system.take(&mut Step::Submit(op, lpa))?;
                system.settle()?;
            }
            if system.device().counter(counter) > 0 {
                return Ok(history.pop_front().expect("it is never empty"));
            }
            history.push_back(system.clone());
            if history.len() > start.before + 1 {
                history.pop_front();
            }
        }
        panic!("{}: {counter} is not raised", self.scheme.name());
    }

    /// All that may happen next.
    pub fn steps(&self, system: &System, left: Left) -> Vec<Step> {
        // The search takes the last step first.
        let mut steps = Vec::new();
        if left.cuts > 0 && matches!(system.power(), Power::On | Power::Recovering) {
            steps.push(Step::Cut(Dice::default()));
        }
        if system.power() == Power::On && left.requests > 0 && system.oracle().under_way().len() < self.depth {
            let free = |&&(op, lpa): &&(RequestOp, Lpa)| op == RequestOp::Flush || !system.oracle().is_busy(lpa);
            let next = |&&(_, lpa): &&(RequestOp, Lpa)| self.is_next(system, lpa);
            steps.extend(self.requests.iter().filter(free).filter(next).map(|&(op, lpa)| Step::Submit(op, lpa)));
        }
        steps.extend(system.pending());
        steps
    }

    /// True if an address may be named now. Addresses that no write or trim has named yet are interchangeable: the same
    /// requests are possible for each, none is adjacent to another, and all are in one map unit. So they are named in
    /// ascending order.
    fn is_next(&self, system: &System, lpa: Lpa) -> bool {
        let mut before = self.requests.iter().map(|&(_, other)| other).filter(|&other| other < lpa);
        before.all(|other| system.oracle().is_named(other))
    }
}

/// A new device, and one before each kind of work that a device in use has to do.
fn starts(scheme: MappingKind) -> Vec<Start> {
    let mut starts = vec![Start { name: "new", counter: None, before: 0 }];
    // Under HP-UFS the host writes the map units.
    let flush = (scheme.speaks() != Protocol::HpUfs).then_some(("map flush", "map_flushes"));
    let events = [("gc step", "gc_steps"), ("erase", "erases")].into_iter().chain(flush);
    starts.extend(events.map(|(name, counter)| Start { name, counter: Some(counter), before: 1 }));
    starts
}

/// The levels of the long search, the smallest first.
pub fn levels() -> Vec<Left> {
    let level = |(requests, cuts)| Left { requests, cuts };
    [(1, 1), (2, 1), (1, 2), (2, 2), (3, 1), (3, 2), (4, 1), (4, 2), (5, 1), (5, 2), (6, 2)].map(level).into()
}

/// What is left after a step.
pub fn after(left: Left, step: &Step) -> Left {
    match step {
        Step::Submit(..) => Left { requests: left.requests - 1, ..left },
        Step::Cut(_) => Left { cuts: left.cuts - 1, ..left },
        _ => left,
    }
}

/// The address of write `n` that fills the device.
fn filling(n: u32) -> Lpa {
    Lpa(n * 7 % CAPACITY)
}

/// Every kind of request, for two addresses.
fn requests() -> Vec<(RequestOp, Lpa)> {
    let ops = [RequestOp::Write { fua: false }, RequestOp::Write { fua: true }, RequestOp::Unmap, RequestOp::Read];
    let of_address = |lpa| ops.into_iter().map(move |op| (op, Lpa(lpa)));
    [0, 2].into_iter().flat_map(of_address).chain([(RequestOp::Flush, Lpa(0))]).collect()
}

fn host_config(scheme: MappingKind) -> HostConfig {
    let booster = if scheme.speaks() == Protocol::HpUfs { BoosterKind::HpUfs } else { BoosterKind::None };
    HostConfig { tags: 6, internal_tags: 2, booster, ..HostConfig::default() }
}

/// Two dies with blocks of ten pages: the fewest with which a metadata superblock has room for its snapshot twice.
fn device_config(sabotage: Option<Sabotage>) -> DeviceConfig {
    let cell = CellTiming { read: Nanos(0), program: Nanos(0), erase: Nanos(0) };
    Config {
        geometry: Geometry {
            channels: 2,
            dies_per_channel: 1,
            planes: 1,
            units_per_page: 1,
            pages_per_block: 10,
            data_superblocks: 8,
            meta_superblocks: 9,
        },
        timing: Timing { slc: cell, tlc: cell, channel_bytes_per_us: 0, page_register: false, free: FreeWork::Nothing },
        capacity_units: CAPACITY,
        command_cost: Nanos(0),
        idle_flush: Nanos(0),
        write_through: false,
        sram: SramConfig { pool: 24, segment_cache: 2, reserve: 12, entries: false },
        mappings: mapping_params(),
        log: LogConfig { entries: 48, max_log_blocks: 4 },
        // Few reads at a time: they may end in any order, and copies are programmed in that order.
        gc: GcConfig { pace: GcPace::Gained, start: 7, relaxed: 6, hurried: 4, reserve: 2, units_per_step: 2 },
        wear_spread: 64,
        seal_key: [3, 5],
        faults: Faults::default(),
        sabotage,
    }
}

/// Every threshold so low that a few requests reach it.
fn mapping_params() -> MappingParams {
    let mut mappings = MappingParams::default();
    let numbers = [
        ("flush_above_entries", 32),
        ("handover_above_entries", 2),
        ("gc_pause_at_entries", 24),
        ("cache_kib", 4),
        ("flush_mib", 1),
    ];
    for (key, value) in numbers {
        mappings.set("*", key, value).expect("a parameter of some scheme");
    }
    // Changed entries stay in the cache until there is a reason to write them.
    mappings.set("*", "background_us", "never").expect("a parameter of dftl");
    mappings
}
