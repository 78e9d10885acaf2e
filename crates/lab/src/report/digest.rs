//! A fingerprint of a run.

use ufs::{Content, DataIn, Status};
use units::{Lpa, SimTime};

/// A 64-bit hash of a sequence of words: the word-wise relative of FNV-1a, with a rotation so that high bits
/// reach low ones. Good against accidents, not against malice.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Digest(u64);

impl Default for Digest {
    fn default() -> Self {
        Digest(0xcbf2_9ce4_8422_2325)
    }
}

impl Digest {
    /// Adds a word.
    #[inline]
    pub fn word(&mut self, word: u64) {
        self.0 = (self.0 ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
    }

    /// Adds a completion: what it was, as a number of [`WorkOp`](workload::WorkOp), how it ended, of which units, what
    /// it has returned ([`of_data`]), and when.
    #[inline(always)]
    pub fn completion(&mut self, kind: usize, status: Status, (lpa, len): (Lpa, u32), content: u64, now: SimTime) {
        self.word((kind as u64) << 32 | u64::from(lpa.0));
        self.word((status as u64) << 32 | u64::from(len));
        self.word(content);
        self.word(now.0);
    }

    /// Adds bytes, and their number so that neighbouring strings cannot be confused.
    pub fn bytes(&mut self, bytes: &[u8]) {
        self.word(bytes.len() as u64);
        for &byte in bytes {
            self.word(byte.into());
        }
    }

    /// The hash as 16 hexadecimal digits.
    pub fn hex(self) -> String {
        format!("{:016x}", self.0)
    }
}

/// The fingerprint of what a read has returned: the numbers of the writes, 0 for zeroes. The oracle has checked the
/// addresses. 0 if there is no data.
#[inline]
pub fn of_data(data: &DataIn) -> u64 {
    match data {
        DataIn::One(unit) => stamp(*unit),
        DataIn::Many(units) => {
            let mut digest = Digest::default();
            for pair in units.chunks(2) {
                digest.word(stamp(pair[0]) << 32 | pair.get(1).map_or(0, |unit| stamp(*unit)));
            }
            digest.0
        }
        _ => 0,
    }
}

#[inline]
fn stamp(unit: Option<Content>) -> u64 {
    unit.map_or(0, |content| content.stamp.into())
}

#[cfg(test)]
mod tests {
    use units::Lpa;

    use super::*;

    #[test]
    fn data_differ_in_every_unit_and_in_their_length() {
        let unit = |stamp| (stamp > 0).then_some(Content { lpa: Lpa(1), stamp });
        let many = |stamps: &[u32]| of_data(&DataIn::Many(stamps.iter().map(|&stamp| unit(stamp)).collect()));
        let all = [many(&[1, 2, 3]), many(&[2, 1, 3]), many(&[1, 2, 0]), many(&[1, 2, 4]), many(&[1, 2, 3, 0, 0])];
        for (i, one) in all.iter().enumerate() {
            assert!(!all[..i].contains(one), "number {i} of {all:x?}");
        }
        assert_eq!((of_data(&DataIn::One(unit(7))), of_data(&DataIn::One(None)), of_data(&DataIn::None)), (7, 0, 0));
    }

    fn digest(words: &[u64]) -> String {
        let mut d = Digest::default();
        words.iter().for_each(|&w| d.word(w));
        d.hex()
    }

    #[test]
    fn order_length_and_every_bit_matter() {
        assert_eq!(digest(&[1, 2]), digest(&[1, 2]));
        assert_ne!(digest(&[1, 2]), digest(&[2, 1]));
        assert_ne!(digest(&[0]), digest(&[0, 0]));
        for bit in 0..64 {
            assert_ne!(digest(&[5, 1 << bit]), digest(&[5, 0]));
            assert_ne!(digest(&[1 << bit, 5]), digest(&[0, 5]));
        }
        let (mut a, mut b) = (Digest::default(), Digest::default());
        a.bytes(b"ab");
        a.bytes(b"c");
        b.bytes(b"a");
        b.bytes(b"bc");
        assert_ne!(a, b);
    }
}
