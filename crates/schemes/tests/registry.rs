//! What is registered.

use ftl::{MappingKind, Sabotage};
use ufsim_schemes::{Ideal, add, all};

#[test]
fn each_sabotage_concerns_a_scheme() {
    for &sabotage in Sabotage::ALL {
        assert!(all().iter().any(|&kind| sabotage.concerns(kind)), "{sabotage:?} concerns no scheme");
    }
}

#[test]
#[should_panic(expected = "there is a scheme ideal already")]
fn a_name_is_taken_once() {
    add(MappingKind::of::<Ideal>());
}
