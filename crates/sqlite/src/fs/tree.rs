//! Inodes and the directory in memory.

use std::collections::BTreeMap;

use units::Lpa;

use crate::block::BLOCK_BYTES;

/// Number of an inode.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Ino(pub u32);

/// A file.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Inode {
    /// Its name in the directory.
    pub name: String,
    /// Length in bytes.
    pub size: u64,
    /// Length up to which data has been written to disk; it is stored as the file's length. Both file systems allocate
    /// late, so a length on disk never covers data that was not written.
    pub disk_size: u64,
    /// Places of its blocks; `None` for blocks that were never written to disk.
    pub blocks: Vec<Option<Lpa>>,
}

impl Inode {
    /// Place of a block.
    pub fn block(&self, index: u32) -> Option<Lpa> {
        self.blocks.get(index as usize).copied().flatten()
    }

    /// Sets the place of a block.
    pub fn set_block(&mut self, index: u32, lpa: Lpa) {
        let index = index as usize;
        if self.blocks.len() <= index {
            self.blocks.resize(index + 1, None);
        }
        self.blocks[index] = Some(lpa);
    }

    /// Changes the length of the file. Gives the blocks that it does not have any more.
    pub fn resize(&mut self, size: u64) -> Vec<Lpa> {
        let keep = blocks_for(size) as usize;
        let freed = self.blocks.drain(keep.min(self.blocks.len())..).flatten().collect();
        self.size = size;
        self.disk_size = self.disk_size.min(size);
        freed
    }
}

/// Blocks of a file of `bytes` bytes.
pub fn blocks_for(bytes: u64) -> u32 {
    bytes.div_ceil(BLOCK_BYTES as u64) as u32
}

/// All files. There is one directory, the root.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Tree {
    /// Files by number.
    pub inodes: BTreeMap<Ino, Inode>,
    /// Numbers by name.
    pub names: BTreeMap<String, Ino>,
}

impl Tree {
    /// A file.
    ///
    /// # Panics
    /// If there is no such file.
    pub fn inode(&self, ino: Ino) -> &Inode {
        &self.inodes[&ino]
    }

    /// A file, for changes.
    ///
    /// # Panics
    /// If there is no such file.
    pub fn inode_mut(&mut self, ino: Ino) -> &mut Inode {
        self.inodes.get_mut(&ino).expect("inode numbers come from the tree")
    }

    /// Adds an empty file.
    pub fn add(&mut self, ino: Ino, name: &str) {
        self.names.insert(name.to_owned(), ino);
        self.inodes.insert(ino, Inode { name: name.to_owned(), ..Inode::default() });
    }

    /// Removes a file by name.
    pub fn remove(&mut self, name: &str) -> Option<(Ino, Inode)> {
        let ino = self.names.remove(name)?;
        Some((ino, self.inodes.remove(&ino)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shortened_file_gives_back_its_blocks() {
        let mut inode = Inode::default();
        for index in [0, 1, 3] {
            inode.set_block(index, Lpa(100 + index));
        }
        (inode.size, inode.disk_size) = (4 * 4096, 4 * 4096);
        assert_eq!(inode.resize(4097), [Lpa(103)]);
        assert_eq!((inode.size, inode.disk_size, inode.blocks.len()), (4097, 4097, 2));
        assert_eq!(inode.resize(9000), []);
        assert_eq!((inode.size, inode.disk_size), (9000, 4097));
        assert_eq!(inode.resize(0), [Lpa(100), Lpa(101)]);
    }
}
