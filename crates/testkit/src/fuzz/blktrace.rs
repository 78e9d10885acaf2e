//! Input: a byte with the number of files and the mode of the replay, the lengths of all files except the last (16 bits
//! each), and the files, plain or compressed.

use workload::{Format, TraceFile, TraceOptions};

use super::input::Input;
use super::traces;

pub(super) fn run(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    let shape = input.u8();
    let files = files(&mut input, usize::from(shape & 3));
    let names: Vec<String> = files.iter().map(|f| f.name.clone()).collect();
    let options = TraceOptions { format: Some(Format::Blktrace), ..TraceOptions::default() };
    if let Some(trace) = traces::parse(files, &options) {
        assert_eq!(trace.files, names);
        traces::check_and_replay(trace, shape >> 2);
    }
}

fn files(input: &mut Input<'_>, more: usize) -> Vec<TraceFile> {
    let lengths: Vec<u16> = (0..more).map(|_| input.u16()).collect();
    let mut contents: Vec<&[u8]> = lengths.iter().map(|&length| input.take(usize::from(length))).collect();
    contents.push(input.rest());
    let file = |(cpu, bytes): (usize, &[u8])| TraceFile::new(format!("trace.{cpu}"), bytes.to_vec());
    contents.into_iter().enumerate().map(file).collect()
}
