//! What the device took on which a trace was recorded, beside what the simulated one takes.
//!
//! A request of a trace with completions carries its recorded latency. Those of the measured requests are gathered here
//! while a run goes on, in the same histograms as its own, so that both can be compared statistic by statistic.

use hdrhistogram::Histogram;
use units::Nanos;
use workload::{WorkOp, WorkRequest};

use crate::report::measure::{KINDS, latency_histogram};

/// Recorded latencies by kind.
#[derive(Clone, Debug, Default)]
pub struct Recording {
    kinds: [Option<Histogram<u64>>; KINDS],
    without: u64,
}

impl Recording {
    /// Those of the requests of a trace.
    pub fn of(requests: &[WorkRequest]) -> Recording {
        let mut recording = Recording::default();
        requests.iter().for_each(|request| recording.add(request.op, request.phone_latency));
        recording
    }

    /// Takes in a request.
    #[inline]
    pub fn add(&mut self, kind: WorkOp, latency: Option<Nanos>) {
        match latency {
            None => self.without += 1,
            Some(latency) => self.record(kind, latency),
        }
    }

    #[inline(never)]
    fn record(&mut self, kind: WorkOp, latency: Nanos) {
        let histogram = self.kinds[kind as usize].get_or_insert_with(latency_histogram);
        histogram.record(latency.0).expect("histograms resize");
    }

    /// The latencies, by kind in the order of [`WorkOp::NAMES`]; `None` where none was recorded.
    pub fn histograms(&self) -> [Option<&Histogram<u64>>; KINDS] {
        self.kinds.each_ref().map(Option::as_ref)
    }

    /// Requests without a recorded latency.
    pub fn without(&self) -> u64 {
        self.without
    }
}
