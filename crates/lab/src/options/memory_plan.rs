//! `--host-memory`: how much host memory a booster may take, from when on.
//!
//! The option is a limit, or a limit and what it becomes later: `20,10s=5,1min=unlimited` is 20 MiB, 5 MiB from 10
//! seconds after the first measured request on, and no limit from one minute on. A phone short of memory does this to a
//! driver (HP-UFS Sec. III-D). What no longer fits is written back and dropped by commands, which take their time.

use std::collections::VecDeque;

use serde_json::Value;
use units::{MIB, Nanos, SimTime};

use crate::error::LabError;
use crate::options::duration::time;

/// Most MiB of a limit; also of the profile's `host.memory_mib`.
const MOST_MIB: u64 = 65_536;
const ALLOWED: &str = "must be MIB, or MIB,TIME=MIB,... with rising times such as 500ms, 10s or 2min; \
                       MIB is 1..=65536 or unlimited";

/// A limit that changes.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct MemoryPlan {
    /// Time after the first measured request, and the limit in bytes from then on.
    steps: Vec<(Nanos, u64)>,
}

/// Splits the option: the value of `host.memory_mib`, and what happens later.
///
/// # Errors
/// Names the option and what is allowed.
pub(crate) fn parse(given: &Value) -> Result<(Value, MemoryPlan), LabError> {
    let text = given.as_str().map_or_else(|| given.to_string(), str::to_owned);
    let wrong = |part: &str| LabError::Config(format!("host_memory_mib = \"{text}\": '{part}': {ALLOWED}"));
    let mut parts = text.split(',').map(str::trim);
    let first = parts.next().unwrap_or_default();
    let first = limit(first).ok_or_else(|| wrong(first))?;
    let mut steps: Vec<(Nanos, u64)> = Vec::new();
    for part in parts {
        let step = part.split_once('=').and_then(|(at, to)| Some((time(at.trim())?, limit(to.trim())?)));
        let (at, to) = step.ok_or_else(|| wrong(part))?;
        if steps.last().is_some_and(|&(before, _)| at <= before) {
            return Err(wrong(part));
        }
        steps.push((at, to.map_or(u64::MAX, |mib| mib * MIB)));
    }
    Ok((first.map_or_else(|| Value::from("unlimited"), Value::from), MemoryPlan { steps }))
}

/// `None` where it is no limit; `Some(None)` for one without bound.
fn limit(text: &str) -> Option<Option<u64>> {
    match text {
        "unlimited" => Some(None),
        _ => text.parse().ok().filter(|mib| (1..=MOST_MIB).contains(mib)).map(Some),
    }
}

impl MemoryPlan {
    /// True if the limit stays.
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    /// Every limit that comes, in bytes.
    pub fn limits(&self) -> impl Iterator<Item = u64> + '_ {
        self.steps.iter().map(|&(_, bytes)| bytes)
    }

    /// What happens when, in a run whose first measured request is submitted at `start`.
    pub fn from(&self, start: SimTime) -> VecDeque<(SimTime, u64)> {
        self.steps.iter().map(|&(after, bytes)| (start + after, bytes)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn steps(text: &str) -> Vec<(u64, u64)> {
        let (_, plan) = parse(&Value::from(text)).unwrap();
        plan.from(SimTime(5)).into_iter().map(|(at, bytes)| (at.0 - 5, bytes)).collect()
    }

    #[test]
    fn a_single_limit_is_handed_on_as_it_is() {
        for given in [Value::from(20), Value::from("unlimited")] {
            assert_eq!(parse(&given).unwrap(), (given.clone(), MemoryPlan::default()));
        }
        assert_eq!(parse(&Value::from("20")).unwrap().0, Value::from(20));
        for wrong in [Value::from(-3), Value::from(0.5), Value::from(0)] {
            assert!(parse(&wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn limits_change_at_their_times() {
        assert_eq!(parse(&Value::from("20, 10s=5")).unwrap().0, Value::from(20));
        assert_eq!(parse(&Value::from("unlimited,1us=1")).unwrap().0, Value::from("unlimited"));
        let found = steps("20, 250us=5,1.5ms = 6, 10s=65536,2min=unlimited");
        let mib = 1 << 20;
        let expected =
            [(250_000, 5 * mib), (1_500_000, 6 * mib), (10_000_000_000, 65_536 * mib), (120_000_000_000, u64::MAX)];
        assert_eq!(found, expected);
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (text, part) in [
            ("20,10=5", "10=5"),
            ("20,10s", "10s"),
            ("20,", ""),
            (",10s=5", ""),
            ("20,0s=5", "0s=5"),
            ("20,-1s=5", "-1s=5"),
            ("20,nans=5", "nans=5"),
            ("20,1e30s=5", "1e30s=5"),
            ("20,10s=0", "10s=0"),
            ("20,10s=65537", "10s=65537"),
            ("20,10s=5,10s=6", "10s=6"),
            ("20,10s=5,9s=6", "9s=6"),
            ("20.5,10s=5", "20.5"),
            ("10s=5", "10s=5"),
            ("20MB", "20MB"),
        ] {
            let Err(LabError::Config(told)) = parse(&Value::from(text)) else { panic!("{text} was accepted") };
            assert_eq!(told, format!("host_memory_mib = \"{text}\": '{part}': {ALLOWED}"));
        }
    }
}
