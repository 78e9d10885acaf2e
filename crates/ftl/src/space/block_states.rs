//! What each data superblock is used for at present.

use units::Superblock;

/// State of a data superblock.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum State {
    /// Erased.
    Free,
    /// A stream is filling it.
    Open,
    /// Full.
    Closed,
    /// No valid page is left; the erase waits for reads in flight, or runs.
    Erasing,
    /// An erase or program has failed; it is not used any more.
    Bad,
}

/// The states of all data superblocks. Those that are free and those that are bad are kept as one bit each, too: every
/// record has these bits.
#[cfg_attr(feature = "explore", derive(Clone))]
#[derive(Debug)]
pub struct States {
    of: Vec<State>,
    free: Vec<u64>,
    bad: Vec<u64>,
}

impl States {
    /// `n` free superblocks.
    pub fn new(n: usize) -> States {
        let words = n.div_ceil(u64::BITS as usize);
        let mut states = States { of: vec![State::Free; n], free: vec![0; words], bad: vec![0; words] };
        (0..n).for_each(|sb| set_bit(&mut states.free, sb, true));
        states
    }

    /// Number of superblocks.
    #[inline]
    pub fn len(&self) -> usize {
        self.of.len()
    }

    /// State of a superblock.
    #[inline]
    pub fn get(&self, sb: Superblock) -> State {
        self.of[sb.index()]
    }

    /// Changes the state of a superblock.
    #[inline]
    pub fn set(&mut self, sb: Superblock, state: State) {
        self.of[sb.index()] = state;
        set_bit(&mut self.free, sb.index(), state == State::Free);
        set_bit(&mut self.bad, sb.index(), state == State::Bad);
    }

    /// The states by superblock.
    pub fn iter(&self) -> impl Iterator<Item = State> {
        self.of.iter().copied()
    }

    /// The free superblocks, one bit each, 64 in a word.
    pub fn free_bits(&self) -> &[u64] {
        &self.free
    }

    /// The bad superblocks, likewise.
    pub fn bad_bits(&self) -> &[u64] {
        &self.bad
    }
}

/// The bits follow from the states.
#[cfg(feature = "explore")]
impl std::hash::Hash for States {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.of.hash(state);
    }
}

#[inline]
fn set_bit(bits: &mut [u64], at: usize, to: bool) {
    let (word, bit) = (at / u64::BITS as usize, at % u64::BITS as usize);
    bits[word] = bits[word] & !(1 << bit) | u64::from(to) << bit;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bits_follow_the_states() {
        let mut states = States::new(67);
        assert_eq!((states.free_bits(), states.bad_bits()), ([!0, 0b111].as_slice(), [0, 0].as_slice()));
        for (sb, state) in [(0, State::Open), (3, State::Bad), (64, State::Closed), (66, State::Bad)] {
            states.set(Superblock(sb), state);
        }
        assert_eq!((states.free_bits(), states.bad_bits()), ([!0b1001, 0b010].as_slice(), [8, 0b100].as_slice()));
        states.set(Superblock(64), State::Free);
        states.set(Superblock(66), State::Erasing);
        assert_eq!((states.free_bits(), states.bad_bits()), ([!0b1001, 0b011].as_slice(), [8, 0].as_slice()));
        assert_eq!(states.iter().filter(|&state| state == State::Free).count(), 64);
    }
}
