//! Input: two bytes that choose capacity and seed, and the text of a job file. Lines `=== NAME` divide it: what follows
//! is a file that the job may include, or a log that it may replay.

use std::path::Path;

use workload::fio::{JobFile, Surroundings};
use workload::{TraceError, TraceFile};

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
    let mut parts = text.split("\n=== ");
    let text = parts.next().unwrap_or_default();
    let around = Parts { files: parts.filter_map(|part| part.split_once('\n')).collect() };
    let file = match JobFile::parse_in(text, "job.fio", &around) {
        Ok(file) => file,
        Err(error) if around.files.is_empty() => return named(&error.to_string()),
        Err(error) => return assert!(!error.to_string().trim().is_empty()),
    };
    // What a job takes from elsewhere stands in the whole, but for logs.
    if let Some(whole) = file.whole()
        && !whole.contains("read_iolog")
    {
        let again = JobFile::parse(whole, "job.fio").expect("what was read can be read again");
        assert_eq!(again.whole(), None, "{whole}");
    }
    let mut source = match file.bind(capacity_units, seed) {
        Ok(source) => source,
        Err(error) => return named(&error.to_string()),
    };
    drain(&mut source, capacity_units, MOST_REQUESTS);
}

/// The parts of an input.
struct Parts<'a> {
    files: Vec<(&'a str, &'a str)>,
}

impl Parts<'_> {
    fn find(&self, path: &Path) -> Option<&str> {
        self.files.iter().find(|(name, _)| Path::new(name.trim()) == path).map(|(_, text)| *text)
    }
}

impl Surroundings for Parts<'_> {
    /// Every variable is set, to something that may be a number.
    fn variable(&self, name: &str) -> Option<String> {
        Some(name.chars().filter(char::is_ascii_digit).collect())
    }

    fn text(&self, path: &Path) -> Result<String, String> {
        self.find(path).map(str::to_owned).ok_or_else(|| "no such part".into())
    }

    fn log(&self, path: &Path) -> Result<TraceFile, TraceError> {
        let name = path.display().to_string();
        let bytes = self.find(path).ok_or_else(|| TraceError::NoFiles { directory: name.clone() })?;
        Ok(TraceFile::new(name, bytes.into()))
    }
}

/// Checks that an error names the file.
fn named(error: &str) {
    assert!(error.starts_with("job.fio:"), "{error}");
}
