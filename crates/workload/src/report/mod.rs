//! What a workload has to say about its run, besides its requests.

pub mod columns;
pub mod phone;

use units::{Nanos, SimTime};

use self::phone::{LoggedRead, PhoneReport};

/// What a source reports after its end. Empty for a source of mere requests.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Report {
    /// Of a program above the block layer: its operations, with latencies as it sees them.
    pub operations: Vec<Operations>,
    /// Of a phone: what happened on it.
    pub phone: Option<PhoneReport>,
    /// Of a phone that was asked to keep them: all reads.
    pub reads: Option<Vec<LoggedRead>>,
    /// Of a language model: its tokens and what they read.
    pub llm: Option<LlmReport>,
    /// Of a volume that is fragmented: its rates over time.
    pub fragmentation: Vec<Round>,
}

/// What a language model has read. Times are simulated.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LlmReport {
    /// Bytes that are loaded before the first token.
    pub load_bytes: u64,
    /// Time that this takes.
    pub load_ns: u64,
    /// Tokens that were decoded.
    pub tokens: u64,
    /// Time from the end of loading to the last token.
    pub decode_ns: u64,
    /// Of it, waiting for reads while nothing is computed.
    pub waiting_ns: u64,
    /// Reads while decoding.
    pub reads: u64,
    /// Their bytes.
    pub read_bytes: u64,
    /// Runs of active bundles, their bundles, and the longest of them.
    pub runs: u64,
    /// Bundles of all runs.
    pub bundles: u64,
    /// Bundles of the longest run.
    pub longest_run: u64,
}

/// One round of a fragmentation loop. Times are simulated.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Round {
    /// Bytes of the large file.
    pub bytes: u64,
    /// Pieces of the volume in which it lies.
    pub pieces: u64,
    /// Time to write it and to make it durable.
    pub write_ns: u64,
    /// Time to read it.
    pub read_ns: u64,
    /// Time to write the small files.
    pub fill_ns: u64,
    /// Segments of the volume that are free at the end.
    pub free_segments: u64,
}

/// Operations of one kind of a program above the block layer, such as a database's inserts.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Operations {
    /// What they do.
    pub name: String,
    /// Simulated time from call to return, one after another.
    pub latencies_ns: Vec<u64>,
    /// When each was called, by a clock whose first second began at some moment of the simulation.
    pub called: Vec<SimTime>,
    /// How many programs have called them, one after another, each as often.
    pub programs: usize,
    /// Simulated time from the first call to the last return, of all programs.
    pub duration: Nanos,
    /// Requests to the block layer, by kind.
    pub requests: Vec<(&'static str, u64)>,
}
