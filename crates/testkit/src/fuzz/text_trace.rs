//! Input: a byte for the format (or for its recognition), a byte with cleaning rules and the mode of the replay, and
//! the file.

use workload::{CleanRule, Format, TraceFile, TraceOptions};

use super::input::Input;
use super::traces;

pub(super) fn run(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    let format = Format::ALL.get(usize::from(input.u8())).copied();
    let shape = input.u8();
    let chosen = |(bit, rule): (usize, &CleanRule)| (shape >> bit & 1 == 1).then_some(*rule);
    let options =
        TraceOptions { format, device: None, clean: CleanRule::ALL.iter().enumerate().filter_map(chosen).collect() };
    let files = vec![TraceFile::new("fuzzed", input.rest().to_vec())];
    if let Some(trace) = traces::parse(files, &options) {
        traces::check_and_replay(trace, shape >> 3);
    }
}
