//! Cases of the campaign: the first ones, and those in which it has found something, so that it stays found. A case is
//! a function of its seed; when its meaning changes, these become cases like any other.

use ufsim_campaign::Case;

/// The first two cases of each scheme.
#[test]
fn the_first_cases_keep_their_promises() {
    for seed in 0..34 {
        Case::new(seed).run_as_it_is().unwrap_or_else(|failure| panic!("{failure:?}"));
    }
}

/// - 70656: erases fail so often that GC gains nothing, and a cut takes the last superblock to which anything could be
///   written. The device has forgotten which superblocks have failed programs; it accepted writes and waited for ever.
/// - 122558: of three writes of an address under `ideal`, the second was on flash before the first, and the third was
///   buffered. The first became the mapping, a flush of trims wrote that, and a cut took the third.
/// - 16056: a device that was worn out refused a write, and could write again before its answer was there, because the
///   host had told it of a superblock without valid pages. The campaign took the refusal for a lie.
#[test]
fn what_was_found_stays_found() {
    for seed in [70_656, 122_558, 16_056] {
        Case::new(seed).run_as_it_is().unwrap_or_else(|failure| panic!("{failure:?}"));
    }
}
