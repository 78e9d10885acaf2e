//! Power cuts at any moment: what was acknowledged and made durable is there, nothing is torn, nothing comes back.

use device::Sabotage;
use ufsim_testkit::campaign::{Case, MOMENTS, Report};

fn cases(seeds: std::ops::Range<u64>) -> Report {
    let mut total = Report::default();
    for seed in seeds {
        let report = Case::new(seed).run().unwrap_or_else(|failure| panic!("{failure:?}"));
        total.add(&report);
    }
    total
}

#[test]
fn every_scheme_keeps_its_promises_and_every_moment_is_met() {
    let total = cases(0..160);
    let missed: Vec<_> = MOMENTS.iter().zip(total.moments).filter(|(_, count)| *count == 0).collect();
    assert!(missed.is_empty(), "no power cut met {missed:?}");
}

/// A campaign that finds nothing proves nothing unless it finds what is there.
#[test]
fn every_broken_promise_is_noticed() {
    for (name, sabotage) in Sabotage::ALL {
        let broken = |seed| Case { sabotage: Some(sabotage), ..Case::new(seed) }.run().is_err();
        assert!((0..214).any(broken), "{name} was not noticed");
    }
}
