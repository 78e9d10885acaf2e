//! `poll`: the device lists what its mapping cache holds. "Because realistic workloads do not frequently change their
//! working sets, the host-side information needs not be updated in real time" (MAP+ Sec. V-D.1).

use ufs::{LpaRun, Op};
use units::Lpa;

use super::view::CacheView;

/// The last list, and the requests since the last query.
#[derive(Clone, Hash)]
pub(crate) struct Polled {
    every: u32,
    /// Requests since the last query.
    requests: u32,
    /// True if a query is under way.
    asking: bool,
    /// First address and end of each cached run, in ascending order. Runs neither overlap nor touch.
    runs: Vec<(u32, u32)>,
}

impl Polled {
    /// Queries every `every` requests. Nothing is cached yet.
    pub fn new(every: u32) -> Polled {
        Polled { every, requests: 0, asking: false, runs: Vec::new() }
    }

    /// Bytes of the list.
    pub fn memory_bytes(&self) -> u64 {
        (self.runs.capacity() * size_of::<(u32, u32)>()) as u64
    }

    pub fn requested(&mut self) {
        self.requests = self.requests.saturating_add(1);
    }

    pub fn query(&mut self) -> Option<Op> {
        if self.asking || self.requests < self.every {
            return None;
        }
        self.requests = 0;
        self.asking = true;
        Some(Op::CacheQuery)
    }

    pub fn answered(&mut self, runs: Option<Vec<LpaRun>>) {
        self.asking = false;
        let Some(mut runs) = runs else { return };
        runs.sort_unstable_by_key(|run| run.lpa);
        self.runs.clear();
        for run in runs {
            let (first, end) = (run.lpa.0, run.lpa.0.saturating_add(run.len));
            match self.runs.last_mut() {
                Some((_, last)) if first <= *last => *last = end.max(*last),
                _ => self.runs.push((first, end)),
            }
        }
    }
}

impl CacheView for Polled {
    fn cached(&self, lpa: Lpa, len: u32) -> bool {
        let at = self.runs.partition_point(|&(first, _)| first <= lpa.0);
        at > 0 && lpa.0 + len <= self.runs[at - 1].1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(lpa: u32, len: u32) -> LpaRun {
        LpaRun { lpa: Lpa(lpa), len }
    }

    #[test]
    fn a_query_is_due_after_so_many_requests_and_one_at_a_time() {
        let mut polled = Polled::new(2);
        let mut asks = || {
            polled.requested();
            polled.query().is_some()
        };
        assert_eq!([asks(), asks(), asks(), asks(), asks()], [false, true, false, false, false]);
        polled.answered(None);
        assert!(polled.query().is_some());
    }

    #[test]
    fn runs_are_joined_and_found() {
        let mut polled = Polled::new(1);
        polled.answered(Some(vec![run(40, 1), run(10, 5), run(15, 5), run(12, 4), run(41, 1)]));
        assert_eq!(polled.runs, [(10, 20), (40, 42)]);
        for (lpa, len, cached) in [(10, 10, true), (9, 1, false), (19, 1, true), (19, 2, false), (40, 2, true)] {
            assert_eq!(polled.cached(Lpa(lpa), len), cached, "{len} from {lpa}");
        }
        polled.answered(None);
        assert!(polled.cached(Lpa(41), 1), "what was known stays");
        polled.answered(Some(Vec::new()));
        assert!(!polled.cached(Lpa(41), 1));
    }
}
