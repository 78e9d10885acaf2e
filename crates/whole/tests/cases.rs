//! Short runs of the simulation of the whole, and what it has to find.

use ufsim_whole::{Case, Hole};

#[test]
fn nothing_that_was_promised_is_lost() {
    for seed in 0..4000 {

        if let Err(failure) = Case::new(seed).run() {
            panic!("{}\n{}\nrepeat with case {}", failure.told.join("\n"), failure.what, failure.case);
        }
    }
}

#[test]
fn every_hole_is_found() {
    for &(name, hole) in Hole::ALL {
        let found = (0..500).find(|&seed| Case { sabotage: Some(hole), ..Case::new(seed) }.run_as_it_is().is_err());
        println!("{name}: {found:?}");
        assert!(found.is_some(), "{name} is not found in 500 cases");
    }
}
