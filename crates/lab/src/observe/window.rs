//! `--timeline-window`: the part of a run that a timeline shows, such as `2s..2500ms`.

use std::ops::Range;

use units::{Nanos, SimTime};

use crate::error::LabError;
use crate::options::duration::{moment, time};

const ALLOWED: &str = "must be FROM..TO, times since the beginning of the workload such as 500ms, 10s or 2min with \
                       FROM before TO; either may be left out";

/// A part of a run, by times since the beginning of its workload.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Window {
    begins: Nanos,
    /// `None` = with the run.
    ends: Option<Nanos>,
}

impl Window {
    /// The whole run.
    pub const ALL: Window = Window { begins: Nanos::ZERO, ends: None };

    /// Reads `FROM..TO`.
    ///
    /// # Errors
    /// Names the option and what is allowed.
    pub fn parse(text: &str) -> Result<Window, LabError> {
        let window = text.split_once("..").and_then(|(begins, ends)| {
            let begins = if begins.trim().is_empty() { Some(Nanos::ZERO) } else { moment(begins.trim()) };
            let ends = if ends.trim().is_empty() { Some(None) } else { time(ends.trim()).map(Some) };
            Some(Window { begins: begins?, ends: ends? })
        });
        let rising = window.filter(|window| window.ends.is_none_or(|ends| window.begins < ends));
        rising.ok_or_else(|| LabError::Config(format!("timeline_window = \"{text}\": {ALLOWED}")))
    }

    /// The same of a run whose workload begins at `start`.
    pub(super) fn from(&self, start: SimTime) -> Range<SimTime> {
        let ends = self.ends.map_or(SimTime(u64::MAX), |ends| start + ends);
        start + self.begins..ends
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn either_border_may_be_left_out() {
        let borders = |text| Window::parse(text).unwrap().from(SimTime(7));
        assert_eq!(borders("2s..2500ms"), SimTime(2_000_000_007)..SimTime(2_500_000_007));
        assert_eq!(borders("0ms..3us"), SimTime(7)..SimTime(3007));
        assert_eq!(borders(".. 3us"), SimTime(7)..SimTime(3007));
        assert_eq!(borders("1.5min.."), SimTime(90_000_000_007)..SimTime(u64::MAX));
        assert_eq!(borders(".."), Window::ALL.from(SimTime(7)));
    }

    #[test]
    fn what_is_no_window_is_refused() {
        for text in ["2s", "2s..1s", "1s..1s", "0s..0s", "0..1s", "1..2", "-1s..2s", "1s...2s", "x..y", ""] {
            let error = Window::parse(text).expect_err(text).to_string();
            assert_eq!(error, format!("timeline_window = \"{text}\": {ALLOWED}"));
        }
    }
}
