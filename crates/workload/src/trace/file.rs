//! One file of a trace.

/// The contents of one file of a trace, plain or compressed by gzip or xz.
#[derive(Clone, Debug)]
pub struct TraceFile {
    /// Name for messages.
    pub name: String,
    /// Contents.
    pub bytes: Vec<u8>,
}
