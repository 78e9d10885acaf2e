//! A table from numbers to numbers, with open addressing and linear probing.

/// Finds a number, the *value*, by another, the *key*. At most half full, so that searches are short.
#[derive(Clone, Hash, Debug)]
pub struct Index {
    /// For each place a byte of its key's hash, never 0; 0 = free. Most searches end here: eight times as many of these
    /// fit the processor's cache as of the entries.
    marks: Vec<u8>,
    /// Key and value.
    entries: Vec<(u32, u32)>,
}

impl Index {
    /// An empty index for up to `keys` keys at a time. With more, a search may never end.
    pub fn new(keys: usize) -> Index {
        let places = (2 * keys).next_power_of_two();
        Index { marks: vec![0; places], entries: vec![(0, 0); places] }
    }

    /// Bytes of keys and values. The marks only make the simulator fast.
    pub fn memory_bytes(&self) -> u64 {
        (self.entries.len() * size_of::<(u32, u32)>()) as u64
    }

    /// The place of a key if no other key were there, and its mark.
    #[inline]
    fn home(&self, key: u32) -> (usize, u8) {
        let hash = u64::from(key).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        ((hash >> 32) as usize & (self.marks.len() - 1), (hash >> 24) as u8 | 1)
    }

    #[inline]
    fn next(&self, at: usize) -> usize {
        (at + 1) & (self.marks.len() - 1)
    }

    /// The place of a key, or the free place at which the search for it ends, and the key's mark.
    #[inline]
    fn place(&self, key: u32) -> (usize, u8) {
        let (mut at, mark) = self.home(key);
        while self.marks[at] != 0 && (self.marks[at] != mark || self.entries[at].0 != key) {
            at = self.next(at);
        }
        (at, mark)
    }

    /// The value of a key.
    #[inline]
    pub fn find(&self, key: u32) -> Option<u32> {
        let (at, _) = self.place(key);
        (self.marks[at] != 0).then(|| self.entries[at].1)
    }

    /// Inserts a key, or sets its value.
    #[inline]
    pub fn insert(&mut self, key: u32, value: u32) {
        self.replace(key, value);
    }

    /// Sets the value of a key. Returns the old one.
    #[inline]
    pub fn replace(&mut self, key: u32, value: u32) -> Option<u32> {
        let (at, mark) = self.place(key);
        let before = (self.marks[at] != 0).then(|| self.entries[at].1);
        (self.marks[at], self.entries[at]) = (mark, (key, value));
        before
    }

    /// Removes a key. Returns its value.
    #[inline]
    pub fn remove(&mut self, key: u32) -> Option<u32> {
        let (at, _) = self.place(key);
        let found = (self.marks[at] != 0).then(|| self.entries[at].1);
        if found.is_some() {
            self.take_out(at);
        }
        found
    }

    /// Removes a key if it has this value. True if it did.
    #[inline]
    pub fn remove_if(&mut self, key: u32, value: u32) -> bool {
        let (at, _) = self.place(key);
        let found = self.marks[at] != 0 && self.entries[at].1 == value;
        if found {
            self.take_out(at);
        }
        found
    }

    /// Frees a place. Moves the keys behind it that could not be at their own place.
    #[inline]
    fn take_out(&mut self, place: usize) {
        let mask = self.marks.len() - 1;
        let mut hole = place;
        let mut at = self.next(hole);
        while self.marks[at] != 0 {
            // A key may move if its own place is not behind the hole.
            let (home, _) = self.home(self.entries[at].0);
            if (at.wrapping_sub(home) & mask) >= (at.wrapping_sub(hole) & mask) {
                (self.marks[hole], self.entries[hole]) = (self.marks[at], self.entries[at]);
                hole = at;
            }
            at = self.next(at);
        }
        (self.marks[hole], self.entries[hole]) = (0, (0, 0));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compared with a list that is searched: thousands of inserts and removals, and many keys with the same own place.
    #[test]
    fn the_index_finds_what_is_in_it() {
        let mut index = Index::new(16);
        let mut held: Vec<u32> = Vec::new();
        let mut state = 1u32;
        for _ in 0..20_000 {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let key = state >> 26;
            match held.iter().position(|&p| p == key) {
                Some(at) => {
                    held.swap_remove(at);
                    assert!(!index.remove_if(key, key + 1));
                    assert!(index.remove_if(key, key));
                }
                None if held.len() < 16 => {
                    held.push(key);
                    assert_eq!(index.replace(key, 99), None);
                    assert_eq!(index.replace(key, key), Some(99));
                }
                None => {}
            }
            for key in 0..64 {
                assert_eq!(index.find(key), held.contains(&key).then_some(key));
            }
        }
    }
}
