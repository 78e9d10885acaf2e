//! Cases of the campaign for `make mutants`, which names them in UFSIM_MUTANT_CASES. Without it a few run, so that the
//! test is known to pass.

use ufsim_campaign::Case;

/// Cases without the variable: two of each scheme.
const FEW: u64 = 34;

#[test]
#[expect(clippy::disallowed_methods, reason = "only the numbers of cases come from the environment, and none of them")]
fn cases_keep_their_promises() {
    let cases: Vec<u64> = std::env::var("UFSIM_MUTANT_CASES").map_or((0..FEW).collect(), |text| {
        text.split(',').map(|number| number.parse().expect("numbers of cases")).collect()
    });
    for seed in cases {
        Case::new(seed).run_as_it_is().unwrap_or_else(|failure| panic!("{failure:?}"));
    }
}
