//! Writing one byte after the other.

use std::io::{self, Write};

use crate::File;

/// Writes to the end of a file. A write that fails leaves the place where it is, so that the next one covers what may
/// have reached the disk of it.
#[derive(Debug)]
pub struct Append {
    file: Box<dyn File>,
    at: u64,
}

impl Append {
    /// Writes behind the bytes that are there.
    ///
    /// # Errors
    /// If the length of the file cannot be found out.
    pub fn new(file: Box<dyn File>) -> io::Result<Append> {
        let at = file.about()?.len;
        Ok(Append { file, at })
    }

    /// Writes to a file that is empty.
    pub fn empty(file: Box<dyn File>) -> Append {
        Append { file, at: 0 }
    }

    /// The file.
    pub fn file(&self) -> &dyn File {
        &*self.file
    }

    /// Where the next byte goes.
    pub fn end(&self) -> u64 {
        self.at
    }
}

impl Write for Append {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write_at(bytes, self.at)?;
        self.at += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
