//! Cases of the campaign for `make mutants`, which asks for 300 by setting UFSIM_MUTANT_CASES. Without it a few run, so
//! that the test is known to pass.

use ufsim_campaign::Case;

/// Cases without the variable: two of each scheme.
const FEW: u64 = 26;

#[test]
#[expect(clippy::disallowed_methods, reason = "only the number of cases comes from the environment, and none of them")]
fn cases_keep_their_promises() {
    let cases = std::env::var("UFSIM_MUTANT_CASES").map_or(FEW, |text| text.parse().expect("a number of cases"));
    for seed in 0..cases {
        Case::new(seed).run_as_it_is().unwrap_or_else(|failure| panic!("{failure:?}"));
    }
}
