//! What a trace is, and what can be asked of its reader.

use serde::Serialize;
use units::SimTime;

use super::clean::CleanRule;
use super::error::TraceError;
use super::report::TraceReport;
use crate::formats::Format;
use crate::request::WorkRequest;

/// How to read a trace.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct TraceOptions {
    /// Its format; `None` recognises it by what stands at the beginning.
    pub format: Option<Format>,
    /// Name of the device whose requests to keep, such as 253:5. Needed only if the trace has requests of several that
    /// may stand above each other.
    pub device: Option<String>,
    /// Cleaning rules, applied in this order.
    pub clean: Vec<CleanRule>,
}

/// A device of a trace, and where its requests have been put.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct TraceDevice {
    /// Its name: major:minor, host.disk, number of an ASU, or file.
    pub name: String,
    /// Its first sector in the trace; on the device itself that is sector 0.
    pub first_sector: u64,
    /// Sectors up to the highest that is touched, in whole MiB.
    pub sectors: u64,
    /// Its requests.
    pub requests: u64,
}

/// A block trace: requests in order of arrival.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Trace {
    /// Where it was read from, for messages.
    pub name: String,
    /// Sorted by arrival; ties in the order of files, then of events. The first arrives at time 0.
    pub requests: Vec<WorkRequest>,
    /// Process names, indexed by [`crate::ProcessId`].
    pub processes: Vec<String>,
    /// File names, indexed by [`crate::StreamId`].
    pub files: Vec<String>,
    /// The format it was read from.
    pub format: Format,
    /// Its devices, ascending by their first sectors.
    pub devices: Vec<TraceDevice>,
    /// What was read and what was ignored.
    pub report: TraceReport,
}

/// Most requests of a repeated trace.
pub(super) const MAX_REPEATED: usize = 1 << 28;

impl Trace {
    /// The trace `times` times in a row, at the same addresses. Between the last request of one round and the first of
    /// the next lies the mean time between requests.
    ///
    /// # Errors
    /// [`TraceError::TooLong`] with more than `MAX_REPEATED` requests.
    pub fn repeated(mut self, times: u32) -> Result<Trace, TraceError> {
        let once = self.requests.len();
        let whole = once.saturating_mul(times as usize);
        if whole > MAX_REPEATED {
            return Err(TraceError::TooLong { requests: once as u64, times });
        }
        let last = self.requests.last().map_or(0, |request| request.arrival.0);
        let round = last + last / (once.max(2) as u64 - 1);
        self.requests.reserve_exact(whole - once);
        for number in 1..u64::from(times) {
            for place in 0..once {
                let mut again = self.requests[place];
                again.arrival = SimTime(again.arrival.0 + number * round);
                self.requests.push(again);
            }
        }
        Ok(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::tests::request;

    fn at(ns: u64) -> WorkRequest {
        WorkRequest { arrival: SimTime(ns), ..request(8, 4096) }
    }

    #[test]
    fn a_repeated_trace_comes_again_after_a_mean_pause() {
        let trace = Trace { requests: vec![at(0), at(10), at(40)], ..Trace::default() };
        let times = |trace: &Trace| trace.requests.iter().map(|request| request.arrival.0).collect::<Vec<_>>();
        assert_eq!(times(&trace.clone().repeated(1).unwrap()), [0, 10, 40]);
        assert_eq!(times(&trace.clone().repeated(3).unwrap()), [0, 10, 40, 60, 70, 100, 120, 130, 160]);
        let error = trace.repeated(u32::MAX).unwrap_err().to_string();
        assert!(error.contains("4294967295 times 3 requests"), "{error}");
    }
}
