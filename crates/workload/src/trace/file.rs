//! One file of a trace.

/// The contents of one file of a trace, plain or compressed by gzip, xz or zstd.
#[derive(Clone, Debug)]
pub struct TraceFile {
    /// Name for messages.
    pub name: String,
    /// Contents.
    pub bytes: Vec<u8>,
    /// It was compressed, and what it holds ends before it should: the rest is missing.
    pub cut: bool,
}

impl TraceFile {
    /// A whole file.
    pub fn new(name: impl Into<String>, bytes: Vec<u8>) -> TraceFile {
        TraceFile { name: name.into(), bytes, cut: false }
    }
}
