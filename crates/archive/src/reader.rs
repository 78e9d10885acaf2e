//! Reading.

use std::io::{BufRead, BufReader, Read};

use crate::{ArchiveError, Number, text_sum};

/// Longest title and header.
const TITLE_BYTES: u64 = 200;
const HEADER_BYTES: u64 = 1 << 20;
/// Numbers that are read at a time.
const CHUNK: usize = 1 << 14;
/// Numbers that are written or left together: at most a page of 4 KiB.
const GROUP: usize = 1 << 9;

/// Reads a file.
pub struct Reader<R: Read> {
    unpacked: zstd::Decoder<'static, BufReader<R>>,
    bytes: Vec<u8>,
}

impl<R: Read> Reader<R> {
    /// Opens a file that must have this title. Gives its header.
    ///
    /// # Errors
    /// If the title is another one, or the first lines are damaged.
    pub fn new(file: R, title: &str) -> Result<(String, Reader<R>), ArchiveError> {
        let mut file = BufReader::new(file);
        let got = line(&mut file, TITLE_BYTES)?;
        if got != title.as_bytes() {
            let got: String = String::from_utf8_lossy(&got).chars().take(40).collect();
            return Err(ArchiveError::Title { expected: title.into(), got });
        }
        let header = String::from_utf8(line(&mut file, HEADER_BYTES)?).map_err(|_| damaged("header"))?;
        let mut sum = [0; 4];
        file.read_exact(&mut sum).map_err(|_| damaged("header"))?;
        if u32::from_le_bytes(sum) != text_sum([title, &header]) {
            return Err(damaged("header"));
        }
        let unpacked = zstd::Decoder::with_buffer(file)?.single_frame();
        Ok((header, Reader { unpacked, bytes: Vec::new() }))
    }

    /// The next table, which must have this name and at most so many numbers.
    ///
    /// # Errors
    /// If it has not, or the file is damaged.
    pub fn table<T: Number>(&mut self, name: &str, at_most: usize) -> Result<Vec<T>, ArchiveError> {
        let count = self.begin::<T>(name)?;
        if count > at_most as u64 {
            return Err(ArchiveError::table(name, format!("has {count} numbers: must be at most {at_most}")));
        }
        let mut numbers = vec![T::default(); count as usize];
        self.fill(name, &mut numbers)?;
        Ok(numbers)
    }

    /// The next table, which must have this name and as many numbers as `place`. Long runs of zeroes are not written
    /// where they are already, so that zeroed memory which stays zero takes no room.
    ///
    /// # Errors
    /// See [`Reader::table`].
    pub fn table_into<T: Number>(&mut self, name: &str, place: &mut [T]) -> Result<(), ArchiveError> {
        let count = self.begin::<T>(name)?;
        if count != place.len() as u64 {
            return Err(ArchiveError::table(name, format!("has {count} numbers: must be {}", place.len())));
        }
        self.fill(name, place)
    }

    /// Ends the reading: nothing may follow.
    ///
    /// # Errors
    /// If there is more, or the checksum is wrong.
    pub fn finish(mut self) -> Result<(), ArchiveError> {
        let mut more = [0];
        match self.unpacked.read(&mut more) {
            Ok(0) => {}
            Ok(_) => return Err(damaged("the end of the tables")),
            Err(error) => return Err(damaged(&error.to_string())),
        }
        let mut rest = self.unpacked.finish();
        match rest.read(&mut more)? {
            0 => Ok(()),
            _ => Err(damaged("the end of the file")),
        }
    }

    fn begin<T: Number>(&mut self, name: &str) -> Result<u64, ArchiveError> {
        let [length] = self.take(name)?;
        let mut found = vec![0; usize::from(length)];
        self.unpacked.read_exact(&mut found).map_err(|e| unreadable(name, &e))?;
        if found != name.as_bytes() {
            return Err(damaged(&format!("table {name}: another is in its place")));
        }
        let [bytes] = self.take(name)?;
        if bytes != T::BYTES {
            return Err(damaged(&format!("table {name}: has numbers of {bytes} bytes: must be {}", T::BYTES)));
        }
        Ok(u64::from_le_bytes(self.take(name)?))
    }

    fn take<const N: usize>(&mut self, name: &str) -> Result<[u8; N], ArchiveError> {
        let mut bytes = [0; N];
        self.unpacked.read_exact(&mut bytes).map_err(|e| unreadable(name, &e))?;
        Ok(bytes)
    }

    fn fill<T: Number>(&mut self, name: &str, place: &mut [T]) -> Result<(), ArchiveError> {
        for chunk in place.chunks_mut(CHUNK) {
            self.bytes.resize(chunk.len() * usize::from(T::BYTES), 0);
            self.unpacked.read_exact(&mut self.bytes).map_err(|e| unreadable(name, &e))?;
            for (group, bytes) in chunk.chunks_mut(GROUP).zip(self.bytes.chunks(GROUP * usize::from(T::BYTES))) {
                put(group, bytes);
            }
        }
        Ok(())
    }
}

/// Writes numbers in their place. A fresh page that is looked at before it is written costs the operating system two
/// faults, and the second interrupts all other threads. So places are looked at only if zeroes are to be written.
fn put<T: Number>(place: &mut [T], bytes: &[u8]) {
    if bytes.iter().any(|&byte| byte != 0) {
        let numbers = bytes.chunks_exact(usize::from(T::BYTES)).map(T::get);
        place.iter_mut().zip(numbers).for_each(|(number, got)| *number = got);
    } else if place.iter().any(|number| *number != T::default()) {
        place.fill(T::default());
    }
}

fn line(file: &mut impl BufRead, at_most: u64) -> Result<Vec<u8>, ArchiveError> {
    let mut line = Vec::new();
    file.take(at_most).read_until(b'\n', &mut line)?;
    if line.last() == Some(&b'\n') {
        line.pop();
    }
    Ok(line)
}

fn damaged(what: &str) -> ArchiveError {
    ArchiveError::Damaged(what.into())
}

fn unreadable(name: &str, error: &std::io::Error) -> ArchiveError {
    damaged(&format!("table {name}: {error}"))
}
