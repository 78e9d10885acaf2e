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

mod age_words;
pub mod aged;
mod ageing;
mod ageing_job;
mod assemble;
mod cache;
mod columns;
mod declared;
mod digest;
mod duration;
mod energy;
mod engine;
mod error;
mod fio_json;
mod kind;
mod measure;
mod memory_plan;
mod observe;
mod open;
mod opened;
pub mod options;
mod options_page;
pub mod oracle;
mod over_time;
mod power;
pub mod profile;
mod progress;
mod queue;
mod recorder;
mod recording;
mod report;
mod requests;
mod result;
mod room;
pub mod run;
pub mod session;
mod spec;
pub mod stack;
pub mod sweep;
pub mod system;
mod tags;
pub mod trace;
mod version;

pub use aged::Aged;
pub use ageing::check_ageing;
pub use assemble::{assemble, assemble_stack};
pub use cache::CacheOf;
pub use columns::columns_json;
pub use declared::declared;
pub use digest::{Digest, of_data};
pub use energy::{Energy, EnergyModel};
pub use engine::{
    LeftOn, Outside, Ran, age, age_header, check, drawn, simulate, simulate_observed, simulate_phone, simulate_workload,
};
pub use error::LabError;
pub use fio_json::fio_json;
pub use kind::WorkloadKind;
pub use measure::{GroupStats, KindStats, Measure, Snapshot};
pub use observe::{
    LogPart, LogRow, LogSink, Logging, Observe, RowSink, STAGES, SeriesTo, Stage, TimelineTo, Window, parse_step,
};
pub use open::Workload;
pub use opened::{OpenedTrace, simulate_trace};
pub use options::{Setup, Spec};
pub use options_page::{options_markdown, options_python};
pub use progress::{OnProgress, Progress};
pub use recorder::Recorder;
pub use recording::Recording;
pub use result::{
    AllCounters, GroupResult, HostDram, HostTimeResult, HostWork, KindOverTime, KindResult, Latencies, Latency, Named,
    OperationResult, OverTime, PowerResult, PowerStay, RecordedResult, RunResult, Verified, Waf,
};
pub use run::{Stop, System};
pub use spec::Machine;
pub use stack::{OnLink, Stack, Turn};
pub use system::{Parts, Preset, SystemSpec, add_scheme, schemes};
pub use version::VERSION;
pub use workload::fio::is_inline_job;
pub use workload::report::columns::{Column, columns};
pub use workload::report::phone::{LoggedRead, READS};
