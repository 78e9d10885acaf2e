//! Two states with one fingerprint have to behave alike, or the search would leave out what follows from the second.

use std::collections::BTreeMap;

use ufsim_explore::fingerprint::fingerprint;
use ufsim_explore::scope::{Left, SCHEMES, Scope, after};
use ufsim_explore::system::{Step, System};

/// States that are looked at, of each scheme.
const MOST: usize = 2000;

/// The fingerprints of the states that follow, by step.
fn following(scope: &Scope, system: &System, left: Left) -> Vec<(Step, u64)> {
    let mut all = Vec::new();
    for mut step in scope.steps(system, left) {
        loop {
            let mut next = system.clone();
            next.take(&mut step).expect("a correct device keeps its promises");
            all.push((step.clone(), fingerprint(&(&next, after(left, &step)))));
            match step {
                Step::Cut(dice) => match dice.following() {
                    Some(dice) => step = Step::Cut(dice),
                    None => break,
                },
                _ => break,
            }
        }
    }
    all
}

#[test]
fn states_with_one_fingerprint_have_the_same_future() {
    for scheme in SCHEMES {
        let left = Left { requests: 3, cuts: 1 };
        let scope = Scope::new(scheme, vec![left]);
        let first = scope.system();
        // Breadth first, so that states are reached in many ways.
        let mut known: BTreeMap<u64, Vec<(Step, u64)>> = BTreeMap::new();
        let mut queue = std::collections::VecDeque::from([(first, left)]);
        let mut again = 0;
        while let Some((system, left)) = queue.pop_front().filter(|_| known.len() < MOST) {
            let futures = following(&scope, &system, left);
            if let Some(before) = known.get(&fingerprint(&(&system, left))) {
                assert_eq!(*before, futures, "{scheme}: two states with one fingerprint");
                again += 1;
                continue;
            }
            for (step, _) in &futures {
                let mut next = system.clone();
                // A cut leaves what its dice say; for this test, the first way to fall is enough.
                let mut step = if let Step::Cut(_) = step { Step::Cut(Default::default()) } else { step.clone() };
                next.take(&mut step).expect("as above");
                queue.push_back((next, after(left, &step)));
            }
            known.insert(fingerprint(&(&system, left)), futures);
        }
        assert!(again > MOST / 4, "{scheme}: only {again} states were reached again");
    }
}

#[test]
fn a_copy_has_the_fingerprint_of_the_original_and_a_life_of_its_own() {
    for scheme in SCHEMES {
        let scope = Scope::new(scheme, Vec::new());
        let mut system = scope.system();
        let copy = system.clone();
        let before = fingerprint(&system);
        assert_eq!(fingerprint(&copy), before);
        system.take(&mut Step::Submit(host::RequestOp::Write { fua: true }, units::Lpa(3))).expect("a write");
        system.settle().expect("a write");
        assert_ne!(fingerprint(&system), before, "{scheme}: a write changes the state");
        assert_eq!(fingerprint(&copy), before, "{scheme}: but not that of the copy");
    }
}
