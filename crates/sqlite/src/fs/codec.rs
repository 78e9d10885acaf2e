//! Encoding of numbers and names in metadata blocks.
//!
//! Every metadata block ends with a checksum of its content. So a block that is stale, part of an incomplete
//! transaction or never written is recognised, as with ext4's `metadata_csum` and F2FS's checkpoint CRC.

use std::sync::Arc;

use crate::block::{BLOCK_BYTES, Block};

/// Bytes of the checksum at the end of a block.
const CHECKSUM_BYTES: usize = 8;

/// Bytes of a block that are available for contents.
pub const PAYLOAD_BYTES: usize = BLOCK_BYTES - CHECKSUM_BYTES;

/// FNV-1a over words of eight bytes. It detects accidents, not forgery.
pub fn checksum(bytes: &[u8]) -> u64 {
    let (words, rest) = bytes.as_chunks::<8>();
    let add = |hash: u64, word: [u8; 8]| {
        let hash = (hash ^ u64::from_le_bytes(word)).wrapping_mul(0x0000_0100_0000_01b3);
        hash ^ (hash >> 29)
    };
    let hash = words.iter().fold(0xcbf2_9ce4_8422_2325, |hash, word| add(hash, *word));
    if rest.is_empty() {
        return hash;
    }
    let mut word = [0; 8];
    word[..rest.len()].copy_from_slice(rest);
    add(hash, word)
}

/// Fills a block from its start.
#[derive(Debug)]
pub struct Writer {
    bytes: [u8; BLOCK_BYTES],
    at: usize,
}

impl Writer {
    /// A block that begins with a number for its kind.
    pub fn new(magic: u32) -> Writer {
        let mut writer = Writer { bytes: [0; BLOCK_BYTES], at: 0 };
        writer.u32(magic);
        writer
    }

    /// Appends bytes.
    ///
    /// # Panics
    /// If the block is full.
    pub fn raw(&mut self, bytes: &[u8]) {
        assert!(self.at + bytes.len() <= PAYLOAD_BYTES, "a metadata block overflows");
        self.bytes[self.at..self.at + bytes.len()].copy_from_slice(bytes);
        self.at += bytes.len();
    }

    /// Appends a number.
    pub fn u32(&mut self, n: u32) {
        self.raw(&n.to_le_bytes());
    }

    /// Appends a number.
    pub fn u64(&mut self, n: u64) {
        self.raw(&n.to_le_bytes());
    }

    /// Appends the length of a text and the text.
    pub fn text(&mut self, text: &str) {
        self.u32(text.len() as u32);
        self.raw(text.as_bytes());
    }

    /// Continues at a later place.
    pub fn seek(&mut self, at: usize) {
        assert!(at >= self.at, "records of a metadata block overlap");
        self.at = at;
    }

    /// The block, with its checksum.
    pub fn finish(mut self) -> Block {
        let sum = checksum(&self.bytes[..PAYLOAD_BYTES]);
        self.bytes[PAYLOAD_BYTES..].copy_from_slice(&sum.to_le_bytes());
        Arc::new(self.bytes)
    }
}

/// Reads a block from its start.
#[derive(Debug)]
pub struct Reader<'a> {
    bytes: &'a [u8; BLOCK_BYTES],
    at: usize,
}

impl<'a> Reader<'a> {
    /// A reader of a block; `None` if it is no whole block of this kind.
    pub fn open(block: &'a Block, magic: u32) -> Option<Reader<'a>> {
        let sum = u64::from_le_bytes(block[PAYLOAD_BYTES..].try_into().ok()?);
        let mut reader = Reader { bytes: block, at: 0 };
        (reader.u32()? == magic && sum == checksum(&block[..PAYLOAD_BYTES])).then_some(reader)
    }

    /// The next bytes.
    pub fn raw(&mut self, count: usize) -> Option<&'a [u8]> {
        let end = self.at.checked_add(count).filter(|&end| end <= PAYLOAD_BYTES)?;
        let bytes = &self.bytes[self.at..end];
        self.at = end;
        Some(bytes)
    }

    /// The next number.
    pub fn u32(&mut self) -> Option<u32> {
        Some(u32::from_le_bytes(self.raw(4)?.try_into().ok()?))
    }

    /// The next number.
    pub fn u64(&mut self) -> Option<u64> {
        Some(u64::from_le_bytes(self.raw(8)?.try_into().ok()?))
    }

    /// The next text.
    pub fn text(&mut self) -> Option<&'a str> {
        let bytes = self.u32()? as usize;
        std::str::from_utf8(self.raw(bytes)?).ok()
    }

    /// Continues at another place.
    pub fn seek(&mut self, at: usize) {
        self.at = at;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_and_a_flipped_bit_is_noticed() {
        let mut writer = Writer::new(7);
        writer.u64(u64::MAX - 1);
        writer.text("main.db");
        writer.seek(PAYLOAD_BYTES - 4);
        writer.u32(9);
        let block = writer.finish();
        let mut reader = Reader::open(&block, 7).unwrap();
        assert_eq!((reader.u64(), reader.text()), (Some(u64::MAX - 1), Some("main.db")));
        reader.seek(PAYLOAD_BYTES - 4);
        assert_eq!((reader.u32(), reader.u32()), (Some(9), None));
        assert!(Reader::open(&block, 8).is_none());
        for bit in 0..8 * BLOCK_BYTES {
            let mut bytes = *block;
            bytes[bit / 8] ^= 1 << (bit % 8);
            assert!(Reader::open(&Arc::new(bytes), 7).is_none(), "bit {bit}");
        }
    }
}
