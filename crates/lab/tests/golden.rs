//! Runs whose every byte is fixed, and the generated page of the documentation.
//!
//! After an intended change: `cargo run -p ufsim-lab --example bless`.

mod common;
#[path = "golden/cases.rs"]
mod golden;

#[test]
fn digests_are_those_kept() {
    let kept = include_str!("golden/digests.txt");
    assert_eq!(
        golden::lines(),
        kept,
        "simulated behaviour changed; if intended: cargo run -p ufsim-lab --example bless"
    );
}

#[test]
fn the_page_of_profile_keys_is_up_to_date() {
    let kept = include_str!("../../../docs/profile.md");
    let made = ufsim_lab::profile::schema_markdown();
    assert_eq!(made, kept, "docs/profile.md is out of date: cargo run -p ufsim-lab --example bless");
}
