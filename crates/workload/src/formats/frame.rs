//! Records in the bytes of a file, as far as one has to know them before the file is read.

/// How the bytes of a format come in records.
#[derive(Clone, Copy)]
pub(crate) enum Framing {
    /// Lines.
    Lines,
    /// Tells what stands at the beginning of these bytes.
    Records(fn(&[u8]) -> Frame),
}

/// What stands at the beginning of some bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Frame {
    /// A record of so many bytes, at least one.
    Whole(usize),
    /// A record may stand there: more bytes have to come.
    Unfinished,
    /// No record.
    Wrong,
}
