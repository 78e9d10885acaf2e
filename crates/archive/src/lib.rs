//! Files of named tables of numbers, checksummed and compressed.
//!
//! # Glossary
//! - **title**: the first line, which says what kind of file it is and in which version.
//! - **header**: the second line: a text of the writer's, readable without unpacking anything.
//! - **table**: a name and numbers of one size, little endian. Tables follow each other in a fixed order.
//!
//! # Contract
//! Title and header are checked against a checksum of their own, the tables against that of their Zstandard frame. A
//! reader asks for tables by name and says how long they may be, so a file of another kind, a damaged one or one cut
//! short gives an [`ArchiveError`], and never an allocation that the reader did not expect.

mod number;
mod reader;
mod writer;

pub use number::Number;
pub use reader::Reader;
pub use writer::Writer;

use std::io;

use thiserror::Error;

/// What is wrong with a file.
#[derive(Debug, Error)]
pub enum ArchiveError {
    /// It cannot be read or written.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// Its title is another one.
    #[error("begins with \"{got}\": must begin with \"{expected}\"")]
    Title {
        /// The title of the files that this version reads.
        expected: String,
        /// What is there, shortened.
        got: String,
    },
    /// Bytes have changed or are missing.
    #[error("{0}: the file is damaged or was cut short")]
    Damaged(String),
    /// A table is not as the reader needs it.
    #[error("table {name}: {what}")]
    Table {
        /// Its name.
        name: String,
        /// What is there and what was expected.
        what: String,
    },
}

impl ArchiveError {
    /// A table that does not make sense.
    pub fn table(name: &str, what: impl Into<String>) -> ArchiveError {
        ArchiveError::Table { name: name.into(), what: what.into() }
    }
}

/// FNV-1a, which is enough for two lines of text: it finds damage, not malice.
fn text_sum(texts: [&str; 2]) -> u32 {
    let bytes = texts.iter().flat_map(|text| text.bytes().chain([b'\n']));
    bytes.fold(0x811c_9dc5, |sum: u32, byte| (sum ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const TITLE: &str = "a test 1";

    fn file(a: &[u32], b: &[u64]) -> Vec<u8> {
        let mut writer = Writer::new(Vec::new(), TITLE, "{\"x\": 1}").unwrap();
        writer.table("a", a).unwrap();
        writer.table("b", b).unwrap();
        writer.finish().unwrap()
    }

    fn read(bytes: &[u8]) -> Result<(String, Vec<u32>, Vec<u64>), ArchiveError> {
        let (header, mut reader) = Reader::new(bytes, TITLE)?;
        let a = reader.table("a", 5000)?;
        let b = reader.table("b", 5000)?;
        reader.finish()?;
        Ok((header, a, b))
    }

    #[test]
    fn what_was_written_is_read() {
        let (a, b) = ((0..4000).collect::<Vec<u32>>(), vec![u64::MAX, 7]);
        let (header, a_read, b_read) = read(&file(&a, &b)).unwrap();
        assert_eq!((header.as_str(), a_read, b_read), ("{\"x\": 1}", a, b));
    }

    #[test]
    fn a_table_can_be_read_into_place_whatever_is_there() {
        let mut numbers = vec![0; 3000];
        numbers[2999] = 5;
        let bytes = file(&numbers, &[]);
        for there in [0, 9] {
            let (_, mut reader) = Reader::new(&bytes[..], TITLE).unwrap();
            let mut place = vec![there; 3000];
            reader.table_into("a", &mut place).unwrap();
            assert_eq!(place, numbers);
        }
    }

    #[test]
    fn wrong_files_are_told_apart() {
        let bytes = file(&[1, 2], &[3]);
        let told = |result: Result<(String, Vec<u32>, Vec<u64>), ArchiveError>| result.unwrap_err().to_string();
        assert_eq!(
            told(read(b"PK\x03\x04 something")),
            "begins with \"PK\u{3}\u{4} something\": must begin with \"a test 1\""
        );
        assert_eq!(told(read(b"")), "begins with \"\": must begin with \"a test 1\"");
        let cut = told(read(&bytes[..bytes.len() - 3]));
        assert!(cut.contains("the file is damaged or was cut short"), "{cut}");
        let mut other_header = bytes.clone();
        other_header[TITLE.len() + 4] ^= 1;
        assert_eq!(told(read(&other_header)), "header: the file is damaged or was cut short");
        let (_, mut reader) = Reader::new(&bytes[..], TITLE).unwrap();
        let error = reader.table::<u32>("b", 10).unwrap_err().to_string();
        assert_eq!(error, "table b: another is in its place: the file is damaged or was cut short");
        let (_, mut reader) = Reader::new(&bytes[..], TITLE).unwrap();
        let error = reader.table::<u64>("a", 10).unwrap_err().to_string();
        assert_eq!(error, "table a: has numbers of 4 bytes: must be 8: the file is damaged or was cut short");
        let (_, mut reader) = Reader::new(&bytes[..], TITLE).unwrap();
        let error = reader.table::<u32>("a", 1).unwrap_err().to_string();
        assert_eq!(error, "table a: has 2 numbers: must be at most 1");
        let (_, mut reader) = Reader::new(&bytes[..], TITLE).unwrap();
        let error = reader.table_into("a", &mut [0u32; 3]).unwrap_err().to_string();
        assert_eq!(error, "table a: has 2 numbers: must be 3");
    }

    /// Counts the bytes that are taken of a file.
    struct Counted<R> {
        from: R,
        taken: u64,
    }

    impl<R: std::io::Read> std::io::Read for Counted<R> {
        fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
            let bytes = self.from.read(into)?;
            self.taken += bytes as u64;
            Ok(bytes)
        }
    }

    /// A file that never ends: after its title, its header or a table nothing more is taken than there may be.
    #[test]
    fn a_file_without_an_end_is_refused() {
        use std::io::Read;

        let title = format!("{TITLE}\n").into_bytes();
        let bomb = {
            let mut writer = Writer::new(Vec::new(), TITLE, "").unwrap();
            writer.table("a", &vec![0u32; 1 << 20]).unwrap();
            writer.finish().unwrap()
        };
        for (begin, most) in [(&b""[..], 1 << 14), (&title, 2 << 20), (&bomb, 1 << 20)] {
            let mut counted = Counted { from: begin.chain(std::io::repeat(b' ')), taken: 0 };
            let read = Reader::new(&mut counted, TITLE).and_then(|(_, mut reader)| reader.table::<u32>("a", 5000));
            let error = read.unwrap_err().to_string();
            assert!(!error.is_empty() && counted.taken <= most, "{} bytes taken: {error}", counted.taken);
        }
        // What stands behind the last table is noticed by its first byte.
        let whole = file(&[1], &[]);
        let mut counted = Counted { from: whole.chain(std::io::repeat(0)), taken: 0 };
        let (_, mut reader) = Reader::new(&mut counted, TITLE).unwrap();
        reader.table::<u32>("a", 1).unwrap();
        reader.table::<u64>("b", 1).unwrap();
        assert!(reader.finish().is_err());
        assert!(counted.taken < 1 << 20, "{} bytes taken", counted.taken);
    }

    #[test]
    fn no_flipped_bit_gives_other_numbers() {
        let numbers: Vec<u32> = (0..500).map(|n: u32| n.wrapping_mul(0x9e37_79b9)).collect();
        let whole = file(&numbers, &[1, 2, 3]);
        for at in 0..whole.len() {
            for bit in 0..8 {
                let mut bytes = whole.clone();
                bytes[at] ^= 1 << bit;
                // Some bits of a frame's header only say how much memory unpacking may need.
                if let Ok(unharmed) = read(&bytes) {
                    assert_eq!(unharmed, read(&whole).unwrap(), "bit {bit} of byte {at}");
                }
            }
        }
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_are_an_error(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            prop_assert!(read(&bytes).is_err());
            let mut with_title = format!("{TITLE}\n").into_bytes();
            with_title.extend(bytes);
            prop_assert!(read(&with_title).is_err());
        }
    }
}
