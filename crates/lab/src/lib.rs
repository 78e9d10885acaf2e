//! The laboratory: profile and choices make a system; the run loop drives it; reports say what happened.
//!
//! # Glossary
//! - **profile**: the numbers of one device, its link and its driver, each with its source ([`profile`]).
//! - **parts**: scheduler, booster and mapping scheme that run together; a **preset** names a combination ([`system`]).
//! - **stack**: driver, link and device with a clock ([`stack`]).
//! - **system**: a stack with a workload and an oracle ([`run`]).
//! - **oracle**: knows the last acknowledged write of every unit and checks every read ([`oracle`]).
//! - **read-back**: reads everything that was ever written when the run has ended, so that the oracle sees it
//!   ([`System::read_back`]).
//! - **measured**: what the report is about. Preconditioning and warm-up are simulated in the same way, and the
//!   counters and the time of the report begin with the first measured request.
//! - **stage**: a part of a request's way, such as a map flush that held it up ([`Stage`]); only a log of requests
//!   has them.
//! - **digest**: a fingerprint of every completion and counter; equal digests mean equal runs.
//!
//! # Contract
//! A run is a function of its [`Spec`]: profile, workload, seed and version decide every byte of the report but the
//! wall-clock fields. Wrong input gives [`LabError::Config`], a file of an aged state that is of no use
//! [`LabError::State`]; a contradiction inside the simulator, [`LabError::Bug`].

mod ageing;
mod error;
mod observe;
mod open;
pub mod options;
pub mod oracle;
pub mod profile;
mod report;
pub mod run;
pub mod stack;
mod version;

pub use ageing::aged::{self, Aged};
pub use ageing::check_ageing;
pub use error::LabError;
pub use observe::{
    LogPart, LogRow, LogSink, Logging, Observe, RowSink, STAGES, SeriesTo, Stage, TimelineTo, Window, parse_step,
};
pub use open::kind::WorkloadKind;
pub use open::opened::{OpenedTrace, simulate_trace};
pub use open::{Workload, sweep, trace};
pub use options::declared::declared;
pub use options::page::{options_markdown, options_python};
pub use options::spec::Machine;
pub use options::{Setup, Spec};
pub use report::columns::columns_json;
pub use report::digest::{Digest, of_data};
pub use report::energy::{Energy, EnergyModel};
pub use report::fio_json::fio_json;
pub use report::measure::{GroupStats, KindStats, Measure, Snapshot};
pub use report::recording::Recording;
pub use report::result::{
    AllCounters, GroupResult, HostDram, HostTimeResult, HostWork, KindOverTime, KindResult, Latencies, Latency, Named,
    OperationResult, OverTime, PowerResult, PowerStay, RecordedResult, RunResult, Verified, Waf,
};
pub use run::progress::{OnProgress, Progress};
pub use run::recorder::Recorder;
pub use run::simulate::{
    LeftOn, Outside, Ran, age, age_header, check, drawn, simulate, simulate_observed, simulate_phone, simulate_workload,
};
pub use run::{Stop, System, session};
pub use stack::assemble::{assemble, assemble_stack};
pub use stack::cache::CacheOf;
pub use stack::system::{self, Parts, Preset, SystemSpec, add_scheme, schemes};
pub use stack::{OnLink, Stack, Turn};
pub use version::VERSION;
pub use workload::fio::is_inline_job;
pub use workload::report::columns::{Column, columns};
pub use workload::report::phone::{LoggedRead, READS};
