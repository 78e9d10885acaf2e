//! The directory's block: one block for all names, with entries of 64 bytes.

use super::NAME_BYTES;
use super::codec::{PAYLOAD_BYTES, Reader, Writer};
use super::tree::{Ino, Tree};
use crate::block::Block;

/// Inode number, length of the name, name.
const ENTRY_BYTES: usize = 64;
const _: () = assert!(4 + 4 + NAME_BYTES <= ENTRY_BYTES);

/// Most names; the first entry is the block's head.
pub const MAX_NAMES: usize = PAYLOAD_BYTES / ENTRY_BYTES - 1;

/// The block of all names.
pub fn encode(magic: u32, tree: &Tree) -> Block {
    let mut writer = Writer::new(magic);
    writer.u32(tree.names.len() as u32);
    for (slot, (name, ino)) in tree.names.iter().enumerate() {
        writer.seek((1 + slot) * ENTRY_BYTES);
        writer.u32(ino.0);
        writer.text(name);
    }
    writer.finish()
}

/// The names of a block.
pub fn decode(magic: u32, block: &Block) -> Option<Vec<(String, Ino)>> {
    let mut reader = Reader::open(block, magic)?;
    let count = reader.u32()? as usize;
    let entry = |slot: usize| {
        reader.seek((1 + slot) * ENTRY_BYTES);
        let ino = Ino(reader.u32()?);
        Some((reader.text()?.to_owned(), ino))
    };
    (0..count).map(entry).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_directory_is_read_as_it_was_written() {
        let mut tree = Tree::default();
        for n in 0..MAX_NAMES as u32 {
            tree.add(Ino(n), &format!("{n:0width$}", width = NAME_BYTES));
        }
        let names = decode(5, &encode(5, &tree)).unwrap();
        assert!(names.into_iter().eq(tree.names));
    }
}
