//! What a phone reports of its run. Times are simulated, from the start of the scenario, and end with their unit.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Lpa;

use crate::column;
use crate::report::columns::{Declared, Word};
use crate::request::ReadOutcome;

/// Reads by where their mapping came from.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct Reads {
    /// All.
    pub reads: u64,
    /// Sent along by the host.
    pub host: u64,
    /// In the device's SRAM, or in its write buffer.
    pub sram: u64,
    /// Read from flash: misses.
    pub map: u64,
}

impl Reads {
    /// Adds a read.
    pub fn count(&mut self, outcome: ReadOutcome) {
        self.reads += 1;
        match outcome {
            ReadOutcome::Host => self.host += 1,
            ReadOutcome::Sram => self.sram += 1,
            ReadOutcome::Map => self.map += 1,
        }
    }
}

/// One use of an app by the user: from its launch to the next app's.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct Use {
    /// The app's name.
    pub app: String,
    /// Number of this launch among the app's, from 1.
    pub launch: u32,
    /// Its process was gone.
    pub cold: bool,
    /// Start of the launch.
    pub at_ns: u64,
    /// From the user's touch to the first frame: computing, blocked on reads, stalled for memory.
    pub launch_ns: u64,
    /// Of it, computing.
    pub compute_ns: u64,
    /// Of it, blocked on reads.
    pub blocked_ns: u64,
    /// Of it, stalled for memory.
    pub stalled_ns: u64,
    /// From the user's touch until a game takes input; only after a cold launch.
    pub loading_ns: Option<u64>,
    /// Of it, blocked on reads, those of the launch among them.
    pub loading_blocked_ns: Option<u64>,
    /// From the user's touch to the next app's launch.
    pub duration_ns: u64,
    /// Reads that the app has issued while it was launched.
    pub launch_reads: Reads,
    /// Reads of its loading, after the launch.
    pub loading_reads: Reads,
    /// Reads after that.
    pub run_reads: Reads,
    /// Reads of all other apps during the use.
    pub background_reads: Reads,
    /// Commands by which the driver has fetched mappings during the use, whoever needs them.
    pub fetches: u64,
    /// Misses of the app by tenth of the use's duration.
    pub misses_by_tenth: [u64; 10],
}

/// The killer has chosen a victim.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Kill {
    /// When.
    pub at_ns: u64,
    /// Whom.
    pub app: String,
    /// Its `oom_score_adj`.
    pub adj: u16,
    /// Its category, 0 for what matters most.
    pub category: usize,
    /// What its end was expected to free.
    pub expected_bytes: u64,
    /// What the driver gave back instead.
    pub returned_bytes: u64,
    /// It was enough, and the app lives.
    pub spared: bool,
}

/// A kill on the phone whose recording is repeated.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct RecordedKill {
    /// When: as long after the first launch as it was recorded.
    pub at_ns: u64,
    /// Whom.
    pub app: String,
    /// Its `oom_score_adj`, if it is known.
    pub adj: Option<u64>,
}

/// The phone at one moment.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Sample {
    /// When.
    pub at_ns: u64,
    /// The app in the foreground.
    pub foreground: Option<String>,
    /// Share of the window in which some task was stalled for memory.
    pub pressure: f64,
    /// Host memory of the driver.
    pub hpb_bytes: u64,
    /// Free memory.
    pub free_bytes: u64,
    /// Page cache.
    pub cache_bytes: u64,
    /// Memory of apps.
    pub apps_bytes: u64,
    /// Memory of the system.
    pub system_bytes: u64,
    /// The user's apps whose processes are there.
    pub alive: u32,
}

/// A read that has completed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LoggedRead {
    /// When it was issued.
    pub at_ns: u64,
    /// Until it completed.
    pub latency_ns: u64,
    /// First unit and number of units.
    pub extent: (Lpa, u32),
    /// Number of the use during which it was issued, from 0.
    pub r#use: u32,
    /// Place of the app in [`PhoneReport::apps`].
    pub app: u16,
    /// Place of its phase in [`PHASES`].
    pub phase: u16,
    /// Where its mapping came from.
    pub outcome: ReadOutcome,
}

/// Phases of an app's use.
pub const PHASES: [&str; 4] = ["launch", "loading", "run", "background"];

/// The columns of a log of reads, in the order of completion.
pub const READS: &[Declared<LoggedRead>] = &[
    column!("at_ns": u64, "ns", "when it was issued", |read| read.at_ns),
    column!("latency_ns": u64, "ns", "until it completed", |read| read.latency_ns),
    column!("lpa": u32, "4 KiB", "first unit", |read| read.extent.0.0),
    column!("units": u32, "4 KiB", "length", |read| read.extent.1),
    column!("use": u32, "", "number of the use during which it was issued, from 0", |read| read.r#use),
    column!("app": Word, "", "the app that read", |read| Word(Some(read.app))),
    column!("phase": Word in PHASES, "", "what the app was doing", |read| Word(Some(read.phase))),
    column!("outcome": Word in ReadOutcome::NAMES, "", "where its mapping came from", |read| read.outcome.into()),
];

/// What happened on the phone.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct PhoneReport {
    /// Names of the apps: the user's, then services.
    pub apps: Vec<String>,
    /// What users call them.
    pub titles: Vec<String>,
    /// What their I/O in the foreground comes from: "model", or the name of a trace.
    pub io: Vec<String>,
    /// How many of them the user opens.
    pub users: usize,
    /// Uses, one after another.
    pub uses: Vec<Use>,
    /// Kills, and those that were averted.
    pub kills: Vec<Kill>,
    /// Kills on the phone whose recording is repeated, to compare with.
    pub recorded_kills: Vec<RecordedKill>,
    /// Names of the priority categories of kills, what matters most first.
    pub categories: Vec<String>,
    /// The phone over time.
    pub timeline: Vec<Sample>,
    /// Reads of each app while it was in the background, in the order of `apps`.
    pub background: Vec<Reads>,
    /// Effective memory.
    pub effective_bytes: u64,
    /// From the start to the end of the last use.
    pub duration_ns: u64,
}
