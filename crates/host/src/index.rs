//! A table from numbers to numbers, with open addressing and linear probing.

/// At most half full, so that searches are short.
#[derive(Clone, Hash)]
pub(crate) struct Index {
    /// Key, and value plus one; 0 = free.
    entries: Vec<(u32, u32)>,
}

impl Index {
    /// An empty index for up to `keys` keys at a time.
    pub fn new(keys: usize) -> Index {
        Index { entries: vec![(0, 0); (2 * keys).next_power_of_two()] }
    }

    /// Bytes of the table.
    pub fn memory_bytes(&self) -> u64 {
        (self.entries.len() * size_of::<(u32, u32)>()) as u64
    }

    /// The place of a key if no other key were there.
    #[inline]
    fn home(&self, key: u32) -> usize {
        let hash = u64::from(key).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (hash >> 32) as usize & (self.entries.len() - 1)
    }

    #[inline]
    fn next(&self, at: usize) -> usize {
        (at + 1) & (self.entries.len() - 1)
    }

    /// The place of a key, or the free place at which the search for it ends.
    #[inline]
    fn place(&self, key: u32) -> usize {
        let mut at = self.home(key);
        while self.entries[at].1 != 0 && self.entries[at].0 != key {
            at = self.next(at);
        }
        at
    }

    /// The value of a key.
    #[inline]
    pub fn find(&self, key: u32) -> Option<u32> {
        self.entries[self.place(key)].1.checked_sub(1)
    }

    /// Inserts a key.
    #[inline]
    pub fn insert(&mut self, key: u32, value: u32) {
        let at = self.place(key);
        self.entries[at] = (key, value + 1);
    }

    /// Sets the value of a key. Returns the old one.
    #[inline]
    pub fn replace(&mut self, key: u32, value: u32) -> Option<u32> {
        let at = self.place(key);
        let before = self.entries[at].1;
        self.entries[at] = (key, value + 1);
        before.checked_sub(1)
    }

    /// Removes a key.
    #[inline]
    pub fn remove(&mut self, key: u32) {
        self.take_out(self.place(key));
    }

    /// Removes a key if it has this value. True if it did.
    #[inline]
    pub fn remove_if(&mut self, key: u32, value: u32) -> bool {
        let at = self.place(key);
        let found = self.entries[at].1 == value + 1;
        if found {
            self.take_out(at);
        }
        found
    }

    /// Frees a place. Moves the keys behind it that could not be at their own place.
    #[inline]
    fn take_out(&mut self, place: usize) {
        let mask = self.entries.len() - 1;
        let mut hole = place;
        let mut at = self.next(hole);
        while self.entries[at].1 != 0 {
            // A key may move if its own place is not behind the hole.
            let home = self.home(self.entries[at].0);
            if (at.wrapping_sub(home) & mask) >= (at.wrapping_sub(hole) & mask) {
                self.entries[hole] = self.entries[at];
                hole = at;
            }
            at = self.next(at);
        }
        self.entries[hole] = (0, 0);
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
