//! Writes what tests compare with: the digests of the golden runs and the page of profile keys.

#[path = "../tests/common/mod.rs"]
mod common;
#[path = "../tests/golden/cases.rs"]
mod golden;

use std::fs;
use std::path::Path;

fn main() -> std::io::Result<()> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = here.join("../../docs/profile.md");
    fs::write(&page, ufsim_lab::profile::schema_markdown())?;
    println!("wrote {}", page.display());
    let digests = here.join("tests/golden/digests.txt");
    let lines = golden::lines();
    fs::write(&digests, &lines)?;
    print!("wrote {}\n{lines}", digests.display());
    Ok(())
}
