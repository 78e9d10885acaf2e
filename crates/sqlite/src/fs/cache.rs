//! The page cache: file contents in host memory.
//!
//! Writes change pages here and mark them dirty; a sync or write-back writes them to disk. If there are more clean
//! pages than the limit, the least recently used one is dropped. Dirty pages do not count against the limit.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use units::SimTime;

use super::tree::Ino;
use crate::block::{BLOCK_BYTES, Block};

/// A page of a file.
pub type PageKey = (Ino, u32);

#[derive(Debug)]
struct Page {
    data: Block,
    used: u64,
}

/// Pages of all files.
#[derive(Debug)]
pub struct PageCache {
    pages: BTreeMap<PageKey, Page>,
    /// Dirty pages, with the time since which each is dirty.
    dirty: BTreeMap<PageKey, SimTime>,
    /// Clean pages by last use.
    clean: BTreeSet<(u64, PageKey)>,
    uses: u64,
    limit: usize,
}

impl PageCache {
    /// An empty cache for at most `limit` clean pages.
    pub fn new(limit: usize) -> PageCache {
        PageCache { pages: BTreeMap::new(), dirty: BTreeMap::new(), clean: BTreeSet::new(), uses: 0, limit }
    }

    /// A page, if it is cached.
    pub fn get(&mut self, key: PageKey) -> Option<Block> {
        let page = self.pages.get_mut(&key)?;
        self.uses += 1;
        if self.clean.remove(&(page.used, key)) {
            self.clean.insert((self.uses, key));
        }
        page.used = self.uses;
        Some(page.data.clone())
    }

    /// True if a page is cached.
    pub fn holds(&self, key: PageKey) -> bool {
        self.pages.contains_key(&key)
    }

    /// Adds a page that has just been read.
    pub fn insert_clean(&mut self, key: PageKey, data: Block) {
        self.uses += 1;
        self.pages.insert(key, Page { data, used: self.uses });
        self.clean.insert((self.uses, key));
        self.shrink();
    }

    /// Changes part of a cached page. If it is not cached, inserts a page of zeroes with this part changed.
    pub fn change(&mut self, key: PageKey, at: usize, bytes: &[u8], now: SimTime) {
        self.uses += 1;
        let uses = self.uses;
        let page = self.pages.entry(key).or_insert_with(|| Page { data: Arc::new([0; BLOCK_BYTES]), used: uses });
        Arc::make_mut(&mut page.data)[at..at + bytes.len()].copy_from_slice(bytes);
        self.clean.remove(&(page.used, key));
        page.used = uses;
        self.dirty.entry(key).or_insert(now);
    }

    /// Dirty pages of a file in ascending order.
    pub fn dirty_of(&self, ino: Ino) -> Vec<(u32, Block)> {
        let range = self.dirty.range((ino, 0)..=(ino, u32::MAX));
        range.map(|(&key, _)| (key.1, self.pages[&key].data.clone())).collect()
    }

    /// Files with dirty pages.
    pub fn dirty_files(&self) -> BTreeSet<Ino> {
        self.dirty.keys().map(|&(ino, _)| ino).collect()
    }

    /// Number of dirty pages.
    pub fn dirty_pages(&self) -> usize {
        self.dirty.len()
    }

    /// Time since which the oldest change waits.
    pub fn dirty_since(&self) -> Option<SimTime> {
        self.dirty.values().min().copied()
    }

    /// Most clean pages.
    pub fn limit(&self) -> usize {
        self.limit
    }

    /// The dirty pages of a file have been written and are clean now.
    pub fn cleaned(&mut self, ino: Ino) {
        let keys: Vec<PageKey> = self.dirty.range((ino, 0)..=(ino, u32::MAX)).map(|(&key, _)| key).collect();
        for key in keys {
            self.dirty.remove(&key);
            self.clean.insert((self.pages[&key].used, key));
        }
        self.shrink();
    }

    /// Drops the pages of a file from `first` on, dirty or not.
    pub fn forget(&mut self, ino: Ino, first: u32) {
        let keys: Vec<PageKey> = self.pages.range((ino, first)..=(ino, u32::MAX)).map(|(&key, _)| key).collect();
        for key in keys {
            let page = self.pages.remove(&key).expect("listed just now");
            self.clean.remove(&(page.used, key));
            self.dirty.remove(&key);
        }
    }

    /// Drops all clean pages, as `/proc/sys/vm/drop_caches` does.
    pub fn drop_clean(&mut self) {
        for (_, key) in std::mem::take(&mut self.clean) {
            self.pages.remove(&key);
        }
    }

    fn shrink(&mut self) {
        while self.clean.len() > self.limit {
            let (_, key) = self.clean.pop_first().expect("not empty");
            self.pages.remove(&key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::block::zeroes;

    const T: SimTime = SimTime(0);

    #[test]
    fn the_clean_page_used_longest_ago_goes_first_and_dirty_pages_stay() {
        let mut cache = PageCache::new(2);
        let key = |index| (Ino(3), index);
        cache.change(key(0), 10, &[1], T);
        for index in 1..=2 {
            cache.insert_clean(key(index), zeroes());
        }
        cache.get(key(1));
        cache.insert_clean(key(3), zeroes());
        assert_eq!([0, 1, 2, 3].map(|index| cache.holds(key(index))), [true, true, false, true]);
        assert_eq!(cache.dirty_of(Ino(3)).len(), 1);
        cache.cleaned(Ino(3));
        assert!(cache.dirty_of(Ino(3)).is_empty());
        assert_eq!([0, 1, 3].map(|index| cache.holds(key(index))), [false, true, true], "page 0 is the oldest");
        cache.drop_clean();
        assert!(![0, 1, 2, 3].iter().any(|&index| cache.holds(key(index))));
    }

    #[test]
    fn a_change_keeps_the_rest_of_the_page() {
        let mut cache = PageCache::new(2);
        cache.change((Ino(3), 0), 0, &[1, 2, 3], T);
        cache.change((Ino(3), 0), 1, &[9], SimTime(5));
        assert_eq!(cache.get((Ino(3), 0)).unwrap()[..4], [1, 9, 3, 0]);
        assert_eq!(cache.dirty_since(), Some(T));
        cache.forget(Ino(3), 0);
        assert_eq!((cache.dirty_pages(), cache.holds((Ino(3), 0))), (0, false));
    }
}
