//! A campaign without findings proves something only if it finds defects that exist. Each sabotage is a defect; the
//! campaign has to find it soon, under every scheme that it concerns.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use campaign::Case;
use device::{MappingKind, Sabotage};

/// Cases of a scheme in which a sabotage has to be found.
const CASES: usize = 200;

/// The number of cases that it takes to find a sabotage under a scheme; `None` if none of them does.
fn found_after(sabotage: Sabotage, scheme: &str) -> Option<usize> {
    let mut cases = Case::of_scheme(scheme).take(CASES);
    cases.position(|case| Case { sabotage: Some(sabotage), ..case }.run_as_it_is().is_err()).map(|before| before + 1)
}

#[test]
fn every_canary_is_caught_under_every_scheme_that_it_concerns() {
    let pairs: Vec<(Sabotage, &str)> = Sabotage::ALL
        .iter()
        .flat_map(|&(_, sabotage)| {
            let concerned = lab::schemes().iter().filter(move |preset| sabotage.concerns(preset.parts().mapping));
            concerned.map(move |preset| (sabotage, preset.name()))
        })
        .collect();
    assert!(pairs.len() > 14 * MappingKind::ALL.len());
    let next = AtomicUsize::new(0);
    let work = || {
        let mut missed = Vec::new();
        while let Some(&(sabotage, scheme)) = pairs.get(next.fetch_add(1, Relaxed)) {
            match found_after(sabotage, scheme) {
                Some(cases) => println!("{:<24} {scheme:<16} {cases}", sabotage.name()),
                None => missed.push((sabotage.name(), scheme)),
            }
        }
        missed
    };
    let missed: Vec<_> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..2).map(|_| scope.spawn(work)).collect();
        workers.into_iter().flat_map(|worker| worker.join().expect("a worker ends")).collect()
    });
    assert!(missed.is_empty(), "not caught within {CASES} cases: {missed:?}");
}
