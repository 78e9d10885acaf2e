//! Writing.

use std::io::Write;

use crate::{ArchiveError, Number, text_sum};

/// Fast, and the tables of an aged device are mostly noise that no level can compress.
const LEVEL: i32 = 1;
/// Numbers that are turned into bytes at a time.
const CHUNK: usize = 1 << 14;

/// Writes a file.
pub struct Writer<W: Write> {
    out: zstd::Encoder<'static, W>,
    bytes: Vec<u8>,
}

impl<W: Write> Writer<W> {
    /// Begins a file with two lines of text.
    ///
    /// # Errors
    /// What `out` gives.
    ///
    /// # Panics
    /// If title or header contain a line break.
    pub fn new(mut out: W, title: &str, header: &str) -> Result<Writer<W>, ArchiveError> {
        assert!(!title.contains('\n') && !header.contains('\n'), "title and header have one line each");
        writeln!(out, "{title}\n{header}")?;
        out.write_all(&text_sum([title, header]).to_le_bytes())?;
        let mut out = zstd::Encoder::new(out, LEVEL)?;
        out.include_checksum(true)?;
        Ok(Writer { out, bytes: Vec::new() })
    }

    /// Adds a table.
    ///
    /// # Errors
    /// What the output gives.
    pub fn table<T: Number>(&mut self, name: &str, numbers: &[T]) -> Result<(), ArchiveError> {
        let length = u8::try_from(name.len()).expect("names of tables are short");
        self.out.write_all(&[length])?;
        self.out.write_all(name.as_bytes())?;
        self.out.write_all(&[T::BYTES])?;
        self.out.write_all(&(numbers.len() as u64).to_le_bytes())?;
        for chunk in numbers.chunks(CHUNK) {
            self.bytes.clear();
            chunk.iter().for_each(|number| number.put(&mut self.bytes));
            self.out.write_all(&self.bytes)?;
        }
        Ok(())
    }

    /// Ends the file.
    ///
    /// # Errors
    /// What the output gives.
    pub fn finish(self) -> Result<W, ArchiveError> {
        Ok(self.out.finish()?)
    }
}
