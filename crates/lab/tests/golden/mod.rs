//! Runs whose every byte is fixed, and the files that are made from declarations.
//!
//! After an intended change: `cargo run -p ufsim-lab --example bless`.

mod cases;
mod pages;

#[test]
fn digests_are_those_kept() {
    let kept = include_str!("digests.txt");
    assert_eq!(
        cases::lines(),
        kept,
        "simulated behaviour changed; if intended: cargo run -p ufsim-lab --example bless"
    );
}

#[test]
fn files_made_from_declarations_are_up_to_date() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    for (path, made) in pages::pages() {
        let kept = std::fs::read_to_string(root.join(path)).expect("a file of the project");
        assert_eq!(made, kept, "{path} is out of date: cargo run -p ufsim-lab --example bless");
    }
}
