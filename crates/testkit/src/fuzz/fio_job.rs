//! Input: two bytes that choose capacity and seed, and the text of a job file.

use workload::fio::JobFile;

use super::drain::drain;
use super::input::Input;

/// Enough requests for several loops, files and stages of small jobs.
const MOST_REQUESTS: u64 = 500;

const CAPACITIES: [u32; 4] = [1, 255, 1 << 14, u32::MAX];

pub(super) fn run(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    let capacity_units = CAPACITIES[usize::from(input.u8() & 3)];
    let seed = u64::from(input.u8());
    let Ok(text) = std::str::from_utf8(input.rest()) else { return };
    let file = match JobFile::parse(text, "job.fio") {
        Ok(file) => file,
        Err(error) => return named(&error.to_string()),
    };
    let mut source = match file.bind(capacity_units, seed) {
        Ok(source) => source,
        Err(error) => return named(&error.to_string()),
    };
    drain(&mut source, capacity_units, MOST_REQUESTS);
}

/// Checks that an error names the file.
fn named(error: &str) {
    assert!(error.starts_with("job.fio:"), "{error}");
}
