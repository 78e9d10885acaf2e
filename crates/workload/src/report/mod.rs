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
