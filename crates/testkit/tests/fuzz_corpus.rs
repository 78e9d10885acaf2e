//! Runs every fuzz target over its corpus and over mutations of it. Checks that the lists of targets, front ends and
//! corpora agree.
//!
//! To replay a finding without libFuzzer, put its file into `fuzz/corpus/TARGET` and run `cargo test -p ufsim-testkit
//! fuzz_corpus::`.

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use campaign::Rng;
use ufsim_testkit::fuzz::Target;

/// Number of mutations of every file.
const MUTATIONS: u32 = 200;

fn fuzz() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz")
}

/// Names in a directory, without the extension, in order.
fn names(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).unwrap_or_else(|e| panic!("{}: {e}", directory.display()));
    let stem = |path: PathBuf| path.file_stem().and_then(|s| s.to_str()).expect("a name in UTF-8").to_owned();
    let mut names: Vec<String> = entries.map(|entry| stem(entry.expect("an entry").path())).collect();
    names.sort();
    names
}

/// The files of a target by name.
fn corpus(target: &str) -> Vec<(String, Vec<u8>)> {
    let directory = fuzz().join("corpus").join(target);
    let entries = fs::read_dir(&directory).unwrap_or_else(|e| panic!("{}: {e}", directory.display()));
    let read = |path: PathBuf| (path.display().to_string(), fs::read(&path).expect("a readable file"));
    let mut files: Vec<_> = entries.map(|entry| read(entry.expect("an entry").path())).collect();
    files.sort();
    files
}

#[test]
fn every_target_has_a_front_end_and_a_corpus_and_nothing_else_has() {
    let mut targets = Target::NAMES.to_vec();
    targets.sort_unstable();
    assert_eq!(names(&fuzz().join("corpus")), targets, "directories in fuzz/corpus");
    assert_eq!(names(&fuzz().join("fuzz_targets")), targets, "files in fuzz/fuzz_targets");
    for &target in Target::ALL {
        let name = target.name();
        assert!(!corpus(name).is_empty(), "fuzz/corpus/{name} is empty");
        let front = fs::read_to_string(fuzz().join(format!("fuzz_targets/{name}.rs"))).expect("a readable file");
        assert!(
            front.contains(&format!("fuzz::Target::{target:?}.run()(bytes)")),
            "fuzz_targets/{name}.rs runs another target"
        );
    }
}

#[test]
fn the_corpus_stays_small() {
    let bytes: usize = Target::NAMES.iter().flat_map(|name| corpus(name)).map(|(_, content)| content.len()).sum();
    assert!(bytes < 200_000, "fuzz/corpus has {bytes} bytes; allowed are 199999");
}

/// One to four changes of the kinds that libFuzzer makes.
fn mutated(bytes: &[u8], other: &[u8], rng: &mut Rng) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    for _ in 0..=rng.below(4) {
        let at = rng.below(bytes.len() as u32 + 1) as usize;
        match rng.below(6) {
            0 => bytes.truncate(at),
            1 => bytes.insert(at, rng.below(256) as u8),
            2 => {
                let from = rng.below(other.len() as u32 + 1) as usize;
                bytes.truncate(at);
                bytes.extend_from_slice(&other[from..]);
            }
            3 => drop(bytes.drain(at..(at + 1 + rng.below(8) as usize).min(bytes.len()))),
            4 if at < bytes.len() => bytes[at] = [0, 1, 0x7f, 0x80, 0xff][rng.below(5) as usize],
            _ if at < bytes.len() => bytes[at] ^= 1 << rng.below(8),
            _ => {}
        }
    }
    bytes
}

/// Runs a target. A finding is reported with its input.
fn try_out(target: Target, origin: &str, input: &[u8]) {
    let name = target.name();
    if catch_unwind(AssertUnwindSafe(|| target.run()(input))).is_err() {
        let path = std::env::temp_dir().join(format!("ufsim-fuzz-{name}"));
        fs::write(&path, input).expect("room for a finding");
        panic!("finding of target {name}, in {}, from {origin}", path.display());
    }
}

#[test]
fn no_target_finds_anything_in_its_corpus_and_near_it() {
    for &target in Target::ALL {
        let files = corpus(target.name());
        for (path, content) in &files {
            try_out(target, path, content);
        }
        let mut rng = Rng::new(1);
        for round in 0..MUTATIONS {
            for (path, content) in &files {
                let (_, other) = &files[rng.below(files.len() as u32) as usize];
                let input = mutated(content, other, &mut rng);
                try_out(target, &format!("mutation {round} of {path}"), &input);
            }
        }
    }
}

/// A seed that is refused at once tests nothing. These seeds must be accepted, whatever keys a profile has.
#[test]
fn seeds_of_the_profile_target_are_accepted() {
    for text in [
        include_str!("../../../fuzz/corpus/profile/tiny.toml"),
        include_str!("../../../fuzz/corpus/profile/large.toml"),
    ] {
        lab::profile::Profile::parse("seed", text, &[]).expect("a profile");
    }
    for text in [
        include_str!("../../../fuzz/corpus/profile/overrides_small.txt"),
        include_str!("../../../fuzz/corpus/profile/overrides_limits.txt"),
    ] {
        let overrides: Vec<_> = text.lines().map(|l| lab::profile::parse_override(l).expect("an override")).collect();
        lab::profile::Profile::load("tiny", &overrides).expect("overrides of tiny");
    }
}
