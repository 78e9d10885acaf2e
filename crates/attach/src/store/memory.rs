//! A store in memory. It takes what is held, and no more.

use std::io;

use super::{Page, Store, runs};

/// Units of a chunk: 2 MiB.
const CHUNK: usize = 512;

type Chunk = [Option<Box<Page>>; CHUNK];

/// Data in memory.
#[derive(Debug, Default)]
pub struct MemoryStore {
    chunks: Vec<Option<Box<Chunk>>>,
}

impl MemoryStore {
    /// An empty store for a device of any size.
    pub fn new() -> MemoryStore {
        MemoryStore::default()
    }

    fn page(&self, unit: u32) -> Option<&Page> {
        let chunk = self.chunks.get(unit as usize / CHUNK)?.as_ref()?;
        chunk[unit as usize % CHUNK].as_deref()
    }
}

impl Store for MemoryStore {
    fn get(&mut self, unit: u32, page: &mut Page) -> io::Result<()> {
        match self.page(unit) {
            Some(data) => page.copy_from_slice(data),
            None => page.fill(0),
        }
        Ok(())
    }

    fn put(&mut self, unit: u32, page: &Page) -> io::Result<()> {
        let at = unit as usize / CHUNK;
        if at >= self.chunks.len() {
            self.chunks.resize_with(at + 1, || None);
        }
        let chunk = self.chunks[at].get_or_insert_with(|| Box::new([const { None }; CHUNK]));
        match &mut chunk[unit as usize % CHUNK] {
            Some(data) => data.copy_from_slice(page),
            none => *none = Some(Box::new(*page)),
        }
        Ok(())
    }

    fn remove(&mut self, unit: u32) -> io::Result<()> {
        if let Some(Some(chunk)) = self.chunks.get_mut(unit as usize / CHUNK) {
            chunk[unit as usize % CHUNK] = None;
        }
        Ok(())
    }

    fn held(&self) -> Vec<(u32, u32)> {
        let chunks = self.chunks.iter().zip((0u32..).step_by(CHUNK));
        let held = chunks.filter_map(|(chunk, first)| Some((chunk.as_ref()?, first)));
        runs(held.flat_map(|(chunk, first)| {
            (first..).zip(chunk.iter()).filter(|(_, page)| page.is_some()).map(|(unit, _)| unit)
        }))
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
