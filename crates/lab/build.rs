//! A fingerprint of the sources that decide what a simulation does. Results carry it behind the version, and so do
//! files of aged states: a state is used only by the simulator that made it, or a comparison would mix two of them.

use std::fs;
use std::path::{Path, PathBuf};

/// Crates with the model and what drives it.
const CRATES: &[&str] = &[
    "units", "params", "lists", "table", "live", "archive", "ufs", "nand", "ftl", "schemes", "host", "workload",
    "sqlite", "android", "lab",
];

/// Folders of the devices and apps that are built in.
const BUILT_IN: &[&str] = &["profiles", "apps"];

fn main() {
    let mut files = Vec::new();
    let crates = CRATES.iter().map(|name| Path::new("..").join(name).join("src"));
    for folder in crates.chain(BUILT_IN.iter().map(|name| Path::new("../..").join(name))) {
        println!("cargo::rerun-if-changed={}", folder.display());
        collect(&folder, &mut files);
    }
    files.sort();
    let mut sum = 0xcbf2_9ce4_8422_2325_u64;
    for file in &files {
        let text = fs::read(file).expect("a source that was listed can be read");
        // The checkout of a repository decides how lines end.
        let name = file.to_string_lossy().replace('\\', "/");
        let bytes = name.bytes().chain(text).filter(|&byte| byte != b'\r');
        sum = bytes.fold(sum, |sum, byte| (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    }
    println!("cargo::rustc-env=UFSIM_SOURCES={sum:016x}");
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("the crates lie beside each other") {
        let path = entry.expect("a folder that can be read").path();
        if path.is_dir() {
            collect(&path, files);
        } else if path.extension().is_some_and(|e| e == "rs" || e == "toml")
            && path.file_name().is_none_or(|n| n != "tests.rs")
        {
            files.push(path);
        }
    }
}
