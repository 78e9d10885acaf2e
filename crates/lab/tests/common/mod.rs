//! Workloads for tests: random requests on the tiny profile, replayed as a trace.

pub mod emmc;

use std::ops::ControlFlow;
use std::sync::Arc;

use ufsim_lab::{LabError, RunResult, Spec, Workload, simulate_workload};
use units::Nanos;
use workload::{MergeLimits, Replay, ReplayMode, Trace, WorkOp, WorkRequest};

/// How far neighbours are merged: a plug of 50 us.
pub const LIMITS: MergeLimits = MergeLimits {
    bytes: 512 << 10,
    segments: 128,
    plug_requests: 16,
    plug_gap: Nanos(50_000),
    plug_sync_gap: Nanos(50_000),
};

/// A request at a unit, as long as it says.
pub fn request(op: WorkOp, unit: u64, units: u64) -> WorkRequest {
    WorkRequest { line: 1, ..WorkRequest::plain(op, unit, if op == WorkOp::Flush { 0 } else { units }) }
}

/// A spec on the tiny profile that writes nothing beforehand, and reads everything back afterwards.
pub fn tiny(scheme: &str, seed: u64) -> Spec {
    let mut spec = Spec::new(scheme, "generated");
    (spec.profile, spec.precondition, spec.seed, spec.verify) = ("tiny".into(), "none".into(), seed, true);
    spec
}

/// MiB of [`small_hp_ufs`].
pub const SMALL_MIB: u64 = 4096;

/// The same on the device of HP-UFS with less flash, and with these values.
pub fn small_hp_ufs<'a>(scheme: &str, set: impl IntoIterator<Item = (&'a str, serde_json::Value)>) -> Spec {
    let mut spec = tiny(scheme, 1);
    spec.profile = "hp-ufs".into();
    let less: [(&str, serde_json::Value); 6] = [
        ("device.capacity_mib", SMALL_MIB.into()),
        ("nand.data_superblocks", 600.into()),
        ("gc.start_superblocks", 30.into()),
        ("gc.relaxed_superblocks", 29.into()),
        ("gc.hurried_superblocks", 28.into()),
        ("gc.reserve_superblocks", 4.into()),
    ];
    spec.set = less.into_iter().chain(set).map(|(key, value)| (key.to_owned(), value)).collect();
    spec
}

/// A counter of the device.
pub fn counter(run: &RunResult, name: &str) -> u64 {
    *run.counters.device.get(name).unwrap_or_else(|| panic!("no counter {name}"))
}

/// Runs requests in order at a depth.
pub fn closed(spec: &Spec, requests: Vec<WorkRequest>, depth: u32) -> Result<RunResult, LabError> {
    replay(spec, requests, ReplayMode::Closed { depth, per_file: false })
}

/// Replays requests.
pub fn replay(spec: &Spec, requests: Vec<WorkRequest>, mode: ReplayMode) -> Result<RunResult, LabError> {
    let profile = spec.resolve()?.profile;
    let trace = Trace { name: "generated".into(), requests, ..Trace::default() };
    let source = Replay::new(Arc::new(trace), mode, profile.capacity_units());
    let source = source.map_err(|e| LabError::Config(e.to_string()))?;
    simulate_workload(spec, Workload::generated(Box::new(source)), &mut |_| ControlFlow::Continue(()))
}
