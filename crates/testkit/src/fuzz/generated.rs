//! Input: text. It is read as the description of a generated workload. A small one that is accepted makes a trace with
//! the volumes that it names, on its volume.

use workload::{Generated, WorkOp};

/// Volumes of which a trace is made, in KiB.
const SMALL_KIB: u64 = 1 << 14;

pub(super) fn run(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let generated = match Generated::parse(text, "fuzzed.toml") {
        Ok(generated) => generated,
        Err(error) => return assert!(!error.to_string().trim().is_empty()),
    };
    let kib: u64 = generated.activities.iter().map(|activity| u64::from(activity.params.kib)).sum();
    if kib > SMALL_KIB {
        return;
    }
    let Ok(trace) = generated.trace("fuzzed", 1) else { return };
    let bytes = |op| trace.requests.iter().filter(|r| r.op == op).map(|r| r.bytes).sum::<u64>();
    assert_eq!(bytes(WorkOp::Read) + bytes(WorkOp::Write), kib << 10);
    assert!(bytes(WorkOp::Trim) <= bytes(WorkOp::Read));
    assert!(trace.end_units() <= u64::from(generated.common.volume_mib) * 256);
    assert!(trace.requests.is_sorted_by_key(|request| request.arrival));
}
