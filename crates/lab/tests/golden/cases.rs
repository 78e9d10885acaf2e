//! The runs whose digests are kept.

use ufsim_lab::schemes;
use units::{Nanos, SimTime};
use workload::{ReplayMode, Rng, WorkOp, WorkRequest};

use crate::common::{closed, replay, request, tiny};

/// Units of the tiny device that the cases use: nearly all, so that garbage collection has to work.
const UNITS: u64 = 30_000;

/// A mix of everything, with hot addresses, in which writes prevail.
fn mixed(seed: u64, count: u64) -> Vec<WorkRequest> {
    let mut rng = Rng::from_seed(seed);
    let mut at = SimTime::START;
    let mut requests = Vec::new();
    for _ in 0..count {
        let op = match rng.below(100) {
            0..60 => WorkOp::Write,
            60..93 => WorkOp::Read,
            93..97 => WorkOp::Trim,
            _ => WorkOp::Flush,
        };
        let units = if rng.below(4) == 0 { 1 + rng.below(64) } else { 1 };
        let hot = if rng.below(2) == 0 { UNITS / 16 } else { UNITS };
        let mut next = request(op, rng.below(hot - units), units);
        next.flags.fua = op == WorkOp::Write && rng.below(20) == 0;
        next.flags.preflush = op == WorkOp::Write && rng.below(20) == 0;
        at = at + Nanos(rng.below(200_000));
        next.arrival = at;
        requests.push(next);
    }
    requests
}

/// Every case as a line of the golden file: scheme, case, digest.
pub fn lines() -> String {
    let mut text = String::new();
    for preset in schemes() {
        let spec = tiny(preset.name, 7);
        let fast = closed(&spec, mixed(1, 20_000), 8).expect("a closed replay");
        let slow = replay(&spec, mixed(2, 5_000), ReplayMode::Timed).expect("a timed replay");
        text += &format!("{} closed {}\n", preset.name, fast.digest);
        text += &format!("{} timed {}\n", preset.name, slow.digest);
    }
    text
}
