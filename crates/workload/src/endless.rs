//! For tests of readers: an input that never ends, and how much of it was taken.

use std::io::Read;

/// Repeats some bytes for ever.
pub(crate) struct Endless<'a> {
    bytes: &'a [u8],
    at: usize,
    /// Bytes that were taken so far.
    pub taken: u64,
}

impl<'a> Endless<'a> {
    pub fn new(bytes: &'a [u8]) -> Endless<'a> {
        Endless { bytes, at: 0, taken: 0 }
    }
}

impl Read for Endless<'_> {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        for byte in &mut *into {
            *byte = self.bytes[self.at];
            self.at = (self.at + 1) % self.bytes.len();
        }
        self.taken += into.len() as u64;
        Ok(into.len())
    }
}
