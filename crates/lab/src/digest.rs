//! A fingerprint of a run.

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

#[cfg(test)]
mod tests {
    use super::*;

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
