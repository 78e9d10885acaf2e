//! A store in memory. It takes what is held, and hardly more.

use std::io;

use table::Pages;

use super::{Page, Store, runs};

/// Units of a chunk: 64 MiB of addresses, which the allocator always takes from the operating system, unwritten.
const CHUNK: usize = 1 << 14;
const _: () = assert!(crate::UNIT == table::PAGE);

/// Consecutive units.
#[derive(Debug)]
struct Chunk {
    pages: Pages,
    /// A bit for each unit that has data.
    held: Box<[u64]>,
}

impl Chunk {
    fn new() -> Chunk {
        Chunk { pages: Pages::zeroed(CHUNK), held: vec![0; CHUNK / 64].into() }
    }

    fn holds(&self, at: usize) -> bool {
        self.held[at / 64] >> (at % 64) & 1 != 0
    }
}

/// Data in memory.
#[derive(Debug, Default)]
pub struct MemoryStore {
    chunks: Vec<Option<Chunk>>,
}

impl MemoryStore {
    /// An empty store for a device of any size.
    pub fn new() -> MemoryStore {
        MemoryStore::default()
    }
}

impl Store for MemoryStore {
    fn get(&mut self, unit: u32, page: &mut Page) -> io::Result<()> {
        let at = unit as usize % CHUNK;
        match self.chunks.get(unit as usize / CHUNK) {
            Some(Some(chunk)) if chunk.holds(at) => page.copy_from_slice(chunk.pages.get(at)),
            _ => page.fill(0),
        }
        Ok(())
    }

    fn put(&mut self, unit: u32, page: &Page) -> io::Result<()> {
        let (of, at) = (unit as usize / CHUNK, unit as usize % CHUNK);
        if of >= self.chunks.len() {
            self.chunks.resize_with(of + 1, || None);
        }
        let chunk = self.chunks[of].get_or_insert_with(Chunk::new);
        chunk.pages.get_mut(at).copy_from_slice(page);
        chunk.held[at / 64] |= 1 << (at % 64);
        Ok(())
    }

    fn remove(&mut self, unit: u32) -> io::Result<()> {
        let at = unit as usize % CHUNK;
        if let Some(Some(chunk)) = self.chunks.get_mut(unit as usize / CHUNK)
            && chunk.holds(at)
        {
            chunk.held[at / 64] &= !(1 << (at % 64));
            chunk.pages.clear(at);
        }
        Ok(())
    }

    fn held(&self) -> Vec<(u32, u32)> {
        let chunks = self.chunks.iter().zip((0u32..).step_by(CHUNK));
        let held = chunks.filter_map(|(chunk, first)| Some((chunk.as_ref()?, first)));
        runs(held.flat_map(|(chunk, first)| (0..CHUNK).filter(|&at| chunk.holds(at)).map(move |at| first + at as u32)))
    }

    fn close(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_put_is_there_until_it_is_replaced_or_removed() {
        let mut store = MemoryStore::new();
        let mut page = [9; crate::UNIT];
        store.get(70_000, &mut page).expect("memory");
        assert!(page.iter().all(|&byte| byte == 0), "a unit that was never written holds zeroes");
        for (unit, byte) in [(3, 1), (4, 2), (1024, 3), (3, 4)] {
            store.put(unit, &[byte; crate::UNIT]).expect("memory");
        }
        store.get(3, &mut page).expect("memory");
        assert_eq!(page, [4; crate::UNIT]);
        assert_eq!(store.held(), [(3, 2), (1024, 1)]);
        store.remove(3).expect("memory");
        store.get(3, &mut page).expect("memory");
        assert_eq!((page, store.held()), ([0; crate::UNIT], vec![(4, 1), (1024, 1)]));
    }
}
