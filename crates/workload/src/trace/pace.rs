//! Do the times of a trace make sense in the unit of its format?

use units::Nanos;

use super::Format;

/// More requests per second than this no device serves that one traces: some ten NVMe drives at their limit.
const MOST_PER_SECOND: f64 = 10e6;

/// Fewer than one request in 1000 s is no load.
const LEAST_PER_SECOND: f64 = 1e-3;

/// More bytes per second no device moves that one traces: NVMe drives of today read 15 GB/s.
const MOST_BYTES_PER_SECOND: f64 = 16e9;

/// Fewer requests say nothing about a rate.
const FEW: u64 = 100;

/// Loads that people trace lie around this many requests per second, give or take some orders of magnitude.
const USUAL_PER_SECOND: f64 = 100.0;

const CLOCKS: [(&str, f64); 5] = [("1 ns", 1.0), ("100 ns", 100.0), ("1 us", 1e3), ("1 ms", 1e6), ("1 s", 1e9)];

/// A sentence about the rate, if no device has it, with the unit that the file may really have.
pub(super) fn implausible(requests: u64, bytes: u64, duration: Nanos, format: Format) -> Option<String> {
    if requests < FEW {
        return None;
    }
    // A trace without any time at all has the times of its first nanosecond.
    let seconds = duration.0.max(1) as f64 / 1e9;
    let (rate, moved) = ((requests - 1) as f64 / seconds, bytes as f64 / seconds);
    if (LEAST_PER_SECOND..=MOST_PER_SECOND).contains(&rate) && moved <= MOST_BYTES_PER_SECOND {
        return None;
    }
    let own = format.tick_ns() as f64;
    let with = |clock: f64| rate * own / clock;
    let distance = |clock: f64| (with(clock) / USUAL_PER_SECOND).log10().abs();
    let (clock, ns) = CLOCKS.into_iter().min_by(|a, b| distance(a.1).total_cmp(&distance(b.1)))?;
    let own_clock = CLOCKS.iter().find(|(_, ns)| *ns == own).map_or("another unit", |(name, _)| name);
    let what = match (LEAST_PER_SECOND..=MOST_PER_SECOND).contains(&rate) {
        true => format!("{:.1} GB/s", moved / 1e9),
        false => format!("{rate:.3} requests/s"),
    };
    Some(format!(
        "the times imply {what}, which no device has: {requests} requests in {:.9} s with the {own_clock} of format \
         {}; in units of {clock} it would be {:.3} requests/s",
        duration.as_secs_f64(),
        format.name(),
        with(ns),
    ))
}
