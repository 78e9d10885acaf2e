//! What is explored: the device and what may happen. Where it starts says `start.rs`.

use ftl::{
    Config, DeviceConfig, GcConfig, GcPace, GcRuns, LogConfig, MappingKind, MappingParams, Sabotage, SramConfig,
    WritePathConfig,
};
use host::{BoosterKind, HostConfig, RequestOp};
use nand::{CellTiming, Faults, Geometry, Timing};
use ufs::{Protocol, Victims};
use units::{Lpa, Nanos};

use crate::dice::Dice;
use crate::start::{At, Start};
use crate::system::{Power, Step, System};

/// Mapping schemes that are explored.
pub const SCHEMES: [&str; 4] = ["hp-ufs", "segment-log", "dftl", "msftl"];

/// Addresses of the device.
pub(crate) const CAPACITY: u32 = 24;

/// How much may still happen: part of the state of a search. At a start it is the level of the search.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Left {
    /// Requests.
    pub requests: u8,
    /// Power cuts.
    pub cuts: u8,
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
    /// Units of a row, which are programmed at once. With more than one, copies by GC wait for a full row.
    pub row_units: u32,
    /// Words for parameters of the mapping scheme, besides the usual ones.
    pub words: &'static [(&'static str, &'static str)],
    /// What commands do while a GC step runs.
    pub gc_runs: GcRuns,
    /// A promise that the device breaks.
    pub sabotage: Option<Sabotage>,
}

impl Scope {
    /// The exploration of a scheme from all its starts.
    ///
    /// # Panics
    /// If there is none of this name.
    pub fn new(scheme: &str, levels: Vec<Left>) -> Scope {
        let scheme = mapping(scheme);
        Scope {
            scheme,
            starts: Start::of(scheme),
            levels,
            most: u64::MAX,
            requests: requests(),
            depth: 2,
            row_units: 1,
            words: &[],
            gc_runs: GcRuns::Alone,
            sabotage: None,
        }
    }

    /// `segment-log` with map flushes beside commands, in order of addresses.
    #[must_use]
    pub fn flushing_beside(self) -> Scope {
        Scope { words: &[("flush_mode", "background"), ("flush_order", "address")], ..self }
    }

    /// The same with GC beside commands.
    #[must_use]
    pub fn collecting_beside(self) -> Scope {
        Scope { gc_runs: GcRuns::Beside, ..self }
    }

    /// Explorations in which few kinds of requests, or one start, leave so few orders that more of each fit: what the
    /// search of everything meets only after millions of states.
    pub fn narrow(scheme: &str) -> Vec<Scope> {
        let level = |requests, cuts| Left { requests, cuts };
        let of = |ops: &[RequestOp], level| Scope {
            requests: ops.iter().map(|&op| (op, Lpa(0))).collect(),
            depth: 1,
            most: 100_000,
            ..Scope::new(scheme, vec![level])
        };
        let overtaken = (0..3).map(|nth| Start { name: "overtaken copy", at: At::Overtaken { nth } }).collect();
        // Of so many, some come soon after a map flush or a snapshot of the directory, some long after it. MSFTL seldom
        // flushes.
        let long =
            (100..140).chain(230..250).map(|writes| Start { name: "long in use", at: At::After(writes) }).collect();
        vec![
            Scope { starts: long, most: 1000, ..of(&[], level(0, 1)) },
            of(&[RequestOp::Unmap, RequestOp::Flush], level(2, 1)),
            of(&[RequestOp::Write { fua: false }, RequestOp::Flush], level(2, 1)),
            Scope { starts: overtaken, row_units: 2, most: 100_000, ..Scope::new(scheme, vec![level(1, 1)]) },
            of(&[RequestOp::Write { fua: true }], level(1, 2)),
            Scope::fua(scheme),
        ]
    }

    /// FUA writes beside a buffered one, of its address and of another: rows of two units, so that a write waits.
    pub fn fua(scheme: &str) -> Scope {
        let write = |fua, lpa| (RequestOp::Write { fua }, Lpa(lpa));
        // Without a cut every order is seen; a cut multiplies them.
        let levels = [(3, 0), (2, 1)].map(|(requests, cuts)| Left { requests, cuts });
        let scope = Scope::new(scheme, levels.into());
        let starts = scope.starts.iter().copied().take(1).collect();
        let requests = vec![write(false, 0), write(true, 0), write(true, 2)];
        Scope { starts, requests, depth: 1, row_units: 2, most: 100_000, ..scope }
    }

    /// The same with a promise that the device breaks.
    pub fn with(self, sabotage: Sabotage) -> Scope {
        Scope { sabotage: Some(sabotage), ..self }
    }

    /// A system of this scope with a new device.
    pub fn system(&self) -> System {
        let mut device = device_config(self.row_units, self.sabotage);
        device.gc.runs = self.gc_runs;
        for (key, word) in self.words {
            device.mappings.set("*", key, *word).expect("a parameter of some scheme");
        }
        if let Err(error) = self.scheme.check(&device) {
            panic!("the device of the exploration is not allowed: {error}");
        }
        System::new(device, self.scheme, host_config(self.scheme))
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

/// The mapping scheme of this name.
///
/// # Panics
/// If there is none.
pub fn mapping(name: &str) -> MappingKind {
    schemes::named(name).unwrap_or_else(|| panic!("no mapping scheme {name}"))
}

/// The levels of the long search, the smallest first.
pub fn levels() -> Vec<Left> {
    let level = |(requests, cuts)| Left { requests, cuts };
    [(1, 1), (2, 1), (1, 2), (2, 2), (3, 1), (3, 2), (4, 1), (4, 2), (5, 1), (5, 2), (6, 2)].map(level).into()
}

/// Why no exploration of this size can show a promise broken; `None` if one can.
pub fn beyond(sabotage: Sabotage) -> Option<&'static str> {
    match sabotage {
        Sabotage::StaleSegment | Sabotage::MisplacedSegment | Sabotage::SwappedParts | Sabotage::WrongCount => {
            Some("the device has one map unit, and this takes several")
        }
        Sabotage::StaleRun => Some("an entry of the first level names no place of data here"),
        Sabotage::HotOvertakes => Some("no hot data have superblocks of their own here"),
        Sabotage::StaleBitmap => Some("a bitmap of the segments in a superblock says the same as long as there is one"),
        Sabotage::TornSnapshot => Some("a snapshot of the directory has one flash unit, of which nothing is left"),
        Sabotage::StaleJournal => Some("a page of the journal is used again only after trims and a map flush"),
        _ => None,
    }
}

/// What is left after a step.
pub fn after(left: Left, step: &Step) -> Left {
    match step {
        Step::Submit(..) => Left { requests: left.requests - 1, ..left },
        Step::Cut(_) => Left { cuts: left.cuts - 1, ..left },
        _ => left,
    }
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

/// Two dies with blocks of ten units: the fewest with which a metadata superblock has room for its snapshot twice.
fn device_config(row_units: u32, sabotage: Option<Sabotage>) -> DeviceConfig {
    let cell = CellTiming { read: Nanos(0), program: Nanos(0), erase: Nanos(0) };
    Config {
        geometry: Geometry {
            channels: 2,
            dies_per_channel: 1,
            superblock_dies: 2,
            planes: 1,
            units_per_page: row_units,
            pages_per_block: 10 / row_units,
            word_line_pages: 1,
            data_superblocks: 8,
            meta_superblocks: 9,
        },
        timing: Timing::of(cell, cell),
        capacity_units: CAPACITY,
        command_cost: Nanos(0),
        idle_flush: Nanos(0),
        write_through: false,
        write_path: WritePathConfig::default(),
        sram: SramConfig { pool: 24, segment_cache: 2, reserve: 12, entries: false, own_cache: None },
        mappings: mapping_params(),
        log: LogConfig { entries: 48, max_log_blocks: 4 },
        // Few reads at a time: they may end in any order, and copies are programmed in that order.
        gc: GcConfig {
            pace: GcPace::Gained,
            start: 7,
            relaxed: 6,
            hurried: 4,
            reserve: 2,
            units_per_step: 2,
            victims: Victims::GREEDY,
            runs: GcRuns::Alone,
            idle: None,
            copies_percent: 0,
            hot_region: None,
        },
        slc: ftl::SlcConfig::NONE,
        wear_spread: 64,
        refresh_reads: None,
        host_tags: 32,
        endurance: ftl::Endurance::default(),
        seal_key: [3, 5],
        faults: Faults::default(),
        sabotage,
    }
}

/// Every threshold so low that a few requests reach it.
fn mapping_params() -> MappingParams {
    let mut mappings = schemes::defaults();
    let numbers = [
        ("flush_above_entries", 32),
        ("handover_above_entries", 2),
        ("gc_pause_at_entries", 24),
        ("cache_kib", 4),
        ("flush_mib", 1),
        ("gc_mib", 1),
    ];
    for (key, value) in numbers {
        mappings.set("*", key, value).expect("a parameter of some scheme");
    }
    // Changed entries stay in the cache until there is a reason to write them.
    mappings.set("*", "background_us", "never").expect("a parameter of dftl");
    mappings
}
