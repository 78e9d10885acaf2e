//! Writes what tests compare with: the digests of the golden runs, and the files that are made from declarations.

#[path = "../tests/golden/cases.rs"]
mod cases;
#[allow(dead_code, reason = "the tests use the rest")]
#[path = "../tests/common/mod.rs"]
mod common;
#[path = "../tests/golden/pages.rs"]
mod pages;

use std::fs;
use std::path::Path;

fn main() -> std::io::Result<()> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    for (path, text) in pages::pages() {
        fs::write(here.join("../..").join(path), text)?;
        println!("wrote {path}");
    }
    let digests = here.join("tests/golden/digests.txt");
    let lines = cases::lines();
    fs::write(&digests, &lines)?;
    print!("wrote {}\n{lines}", digests.display());
    Ok(())
}
