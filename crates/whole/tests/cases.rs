//! Short runs of the simulation of the whole, and what it has to find.

use std::time::Duration;

use ufsim_whole::{Case, Hole};

#[test]
fn nothing_that_was_promised_is_lost() {
    for seed in 0..80 {
        if let Err(failure) = Case::new(seed).run(&|_| ()) {
            panic!("{}\n{}\nufsim crash --whole --case {}", failure.told.join("\n"), failure.what, failure.case);
        }
    }
}

#[test]
fn every_hole_is_found_within_1000_cases() {
    for &hole in Hole::ALL {
        let breaks = |seed| Case { sabotage: Some(hole), ..Case::new(seed) }.run_as_it_is().is_err();
        assert!((0..1000).any(breaks), "{hole:?} is not found");
    }
}

#[test]
fn a_day_of_abuse_keeps_nobody_from_working() {
    let report = Case::abuse(1, Duration::from_secs(24 * 3600)).unwrap_or_else(|what| panic!("{what}"));
    assert!(report.requests > 1000, "{report:?}");
    assert!(report.faults.values().sum::<u32>() > 1000, "{report:?}");
}

#[test]
fn a_failing_case_is_told_with_what_repeats_it() {
    let case = Case { sabotage: Some(Hole::LoudNotes), ..Case::new(0) };
    let failure = (0..20).find_map(|seed| Case { seed, ..case.clone() }.run(&|_| ()).err()).expect("it is found");
    let again: Case = failure.case.to_string().parse().expect("its own text");
    assert_eq!(again, failure.case);
    assert_eq!(again.run_as_it_is().expect_err("it fails again").what, failure.what);
    for (text, told) in [("x", "is not a seed"), ("1/steps=a", "no number"), ("1/without=rain", "must be one of")] {
        assert!(text.parse::<Case>().is_err_and(|error| error.contains(told)), "{text}");
    }
}
