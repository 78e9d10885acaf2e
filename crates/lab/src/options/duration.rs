//! Times as users write them: a number with its unit.

use units::Nanos;

/// Units of time, the longer names first.
const UNITS: [(&str, u64); 4] = [("min", 60_000_000_000), ("ms", 1_000_000), ("us", 1_000), ("s", 1_000_000_000)];

/// A moment: a time, or 0 with a unit.
pub(crate) fn moment(text: &str) -> Option<Nanos> {
    let number = UNITS.iter().find_map(|(unit, _)| text.strip_suffix(unit))?;
    if number.trim().parse() == Ok(0.0) { Some(Nanos::ZERO) } else { time(text) }
}

/// A number with its unit; more than 0.
pub(crate) fn time(text: &str) -> Option<Nanos> {
    let (number, each) = UNITS.iter().find_map(|&(unit, each)| Some((text.strip_suffix(unit)?, each)))?;
    let number: f64 = number.trim().parse().ok().filter(|n: &f64| n.is_finite() && *n > 0.0)?;
    let nanos = number * each as f64;
    (1.0..1e18).contains(&nanos).then_some(Nanos(nanos.round() as u64))
}
