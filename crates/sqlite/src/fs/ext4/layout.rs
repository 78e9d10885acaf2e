//! Places and contents of ext4's metadata.
//!
//! One block group with ext4's kinds of metadata block (Documentation/filesystems/ext4): superblock, group descriptors,
//! inode bitmap, block bitmaps, directory, inode table with inodes of 256 bytes, extent leaves, journal, data. The
//! encoding is the model's own; an operation changes the same blocks as in ext4. A leaf has a place of its own beside
//! the inode table, not in the data area, so no revoke records are needed.

use units::Lpa;

use crate::block::Block;
use crate::fs::FsError;
use crate::fs::codec::{Reader, Writer};
use crate::fs::directory;
use crate::fs::space::Space;
use crate::fs::tree::{Ino, Inode, Tree};

/// Number of inodes of a volume.
pub const INODES: u32 = 60;
/// First inode of a file; ext4 reserves those below.
pub const FIRST_INO: u32 = 11;
/// Inodes in one block of the table: 15 of 256 bytes and the checksum (ext4: 16).
const INODES_PER_BLOCK: u32 = 15;
const TABLE_BLOCKS: u32 = INODES / INODES_PER_BLOCK;
const INODE_BYTES: usize = 256;
/// Extents inside an inode (ext4: four in `i_block`).
const INLINE_EXTENTS: usize = 4;
/// Extents of twelve bytes in a leaf, as in ext4.
const LEAF_EXTENTS: usize = 340;
/// Most leaves of a file.
const LEAVES: u32 = 4;
/// Units that one bitmap block covers.
const BITMAP_UNITS: u32 = 8 * 4000;
/// Smallest size of a volume.
pub const MIN_UNITS: u32 = 1024;

const SUPER: u32 = 0x4558_5401;
const GROUPS: u32 = 0x4558_5402;
const INODE_BITMAP: u32 = 0x4558_5403;
const BLOCK_BITMAP: u32 = 0x4558_5404;
const DIRECTORY: u32 = 0x4558_5405;
const TABLE: u32 = 0x4558_5406;
const LEAF: u32 = 0x4558_5407;

/// A metadata block.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Meta {
    /// Free blocks and inodes.
    Groups,
    /// The inodes in use.
    InodeBitmap,
    /// The blocks in use.
    BlockBitmap(u32),
    /// Names.
    Directory,
    /// A block of the inode table.
    Table(u32),
    /// Extents of a file with more than four.
    Leaf(Ino, u32),
}

/// Places of everything on a volume.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Layout {
    /// Size of the volume.
    pub units: u32,
}

impl Layout {
    fn bitmaps(self) -> u32 {
        self.units.div_ceil(BITMAP_UNITS)
    }

    /// Block of a piece of metadata.
    pub fn place(self, meta: Meta) -> Lpa {
        let directory = 3 + self.bitmaps();
        Lpa(match meta {
            Meta::Groups => 1,
            Meta::InodeBitmap => 2,
            Meta::BlockBitmap(n) => 3 + n,
            Meta::Directory => directory,
            Meta::Table(n) => directory + 1 + n,
            Meta::Leaf(ino, n) => directory + 1 + TABLE_BLOCKS + ino.0 * LEAVES + n,
        })
    }

    /// First block of the journal.
    pub fn journal(self) -> Lpa {
        self.place(Meta::Leaf(Ino(INODES), 0))
    }

    /// Blocks of the journal: the defaults of mke2fs by size of the volume (e2fsprogs, `ext2fs_default_journal_size`).
    /// Below 2048 blocks, where mke2fs makes no journal, 64.
    pub fn journal_blocks(self) -> u32 {
        match self.units {
            0..2048 => 64,
            2048..32_768 => 1024,
            32_768..262_144 => 4096,
            262_144..524_288 => 8192,
            _ => 16_384,
        }
    }

    /// First block of the data area.
    pub fn data(self) -> Lpa {
        self.journal().offset(self.journal_blocks())
    }

    /// The data area, with all units free.
    pub fn space(self) -> Space {
        Space::new(self.data(), self.units - self.data().0)
    }

    /// The bitmap block of a unit.
    pub fn bitmap_of(self, lpa: Lpa) -> Meta {
        Meta::BlockBitmap(lpa.0 / BITMAP_UNITS)
    }

    /// The block of the table that has an inode.
    pub fn table_of(ino: Ino) -> Meta {
        Meta::Table(ino.0 / INODES_PER_BLOCK)
    }

    /// Every piece of metadata of an empty volume.
    pub fn all(self) -> Vec<Meta> {
        let bitmaps = (0..self.bitmaps()).map(Meta::BlockBitmap);
        let tables = (0..TABLE_BLOCKS).map(Meta::Table);
        [Meta::Groups, Meta::InodeBitmap, Meta::Directory].into_iter().chain(bitmaps).chain(tables).collect()
    }

    /// The superblock.
    pub fn superblock(self) -> Block {
        let mut writer = Writer::new(SUPER);
        writer.u32(self.units);
        writer.finish()
    }

    /// Reads the superblock.
    pub fn from_superblock(block: &Block) -> Option<Layout> {
        let units = Reader::open(block, SUPER)?.u32()?;
        Some(Layout { units })
    }

    /// Content of a piece of metadata.
    pub fn encode(self, meta: Meta, tree: &Tree, space: &Space) -> Block {
        match meta {
            Meta::Groups => {
                let mut writer = Writer::new(GROUPS);
                writer.u32(space.free_units() as u32);
                writer.u32(INODES - FIRST_INO - tree.inodes.len() as u32);
                writer.finish()
            }
            Meta::InodeBitmap => {
                let mut writer = Writer::new(INODE_BITMAP);
                let bits = tree.inodes.keys().fold(0_u64, |bits, ino| bits | 1 << ino.0);
                writer.u64(bits);
                writer.finish()
            }
            Meta::BlockBitmap(n) => self.encode_bitmap(n, space),
            Meta::Directory => directory::encode(DIRECTORY, tree),
            Meta::Table(n) => encode_table(n, tree),
            Meta::Leaf(ino, n) => encode_leaf(&extents(tree.inode(ino)), n),
        }
    }

    fn encode_bitmap(self, n: u32, space: &Space) -> Block {
        let first = n * BITMAP_UNITS;
        let mut used = vec![true; BITMAP_UNITS.min(self.units - first) as usize];
        // Below the data area all blocks are in use.
        let (skipped, at) = (space.first().0.saturating_sub(first), first.saturating_sub(space.first().0));
        if let Some(own) = used.get_mut(skipped as usize..) {
            let bits = &space.bits()[at as usize..];
            let count = own.len().min(bits.len());
            own[..count].copy_from_slice(&bits[..count]);
        }
        let packed = |bits: &[bool]| bits.iter().rev().fold(0_u8, |byte, &bit| byte << 1 | u8::from(bit));
        let mut bytes = vec![0_u8; BITMAP_UNITS as usize / 8];
        for (byte, bits) in bytes.iter_mut().zip(used.chunks(8)) {
            *byte = packed(bits);
        }
        let mut writer = Writer::new(BLOCK_BITMAP);
        writer.raw(&bytes);
        writer.finish()
    }

    /// Reads all files. `read` gives the content of a metadata block, after replay of the journal.
    ///
    /// # Errors
    /// If blocks are damaged or inconsistent.
    pub fn decode(self, mut read: impl FnMut(Lpa) -> Result<Block, FsError>) -> Result<(Tree, Space), FsError> {
        let names =
            directory::decode(DIRECTORY, &read(self.place(Meta::Directory))?).ok_or_else(|| damaged("directory"))?;
        let mut tree = Tree::default();
        for (name, ino) in names {
            if !(FIRST_INO..INODES).contains(&ino.0) {
                return Err(damaged("inode number"));
            }
            let block = read(self.place(Layout::table_of(ino)))?;
            let (size, count, mut found) = decode_inode(&block, ino).ok_or_else(|| damaged("inode"))?;
            for n in 0..leaves(count) {
                let leaf = read(self.place(Meta::Leaf(ino, n)))?;
                found.extend(decode_leaf(&leaf).ok_or_else(|| damaged("extent leaf"))?);
            }
            let mut inode = Inode { name: name.clone(), size, disk_size: size, blocks: Vec::new() };
            for extent in found {
                (0..extent.length).for_each(|i| inode.set_block(extent.index + i, extent.lpa.offset(i)));
            }
            tree.names.insert(name, ino);
            tree.inodes.insert(ino, inode);
        }
        let mut space = self.space();
        for lpa in tree.inodes.values().flat_map(|inode| inode.blocks.iter().flatten()) {
            if !space.take(*lpa) {
                return Err(FsError::Damaged(format!("{lpa} belongs to two files, or to none")));
            }
        }
        self.check(&tree, &space, read)?;
        Ok((tree, space))
    }

    /// Checks like fsck that bitmaps and counts follow from the inodes.
    fn check(
        self,
        tree: &Tree,
        space: &Space,
        mut read: impl FnMut(Lpa) -> Result<Block, FsError>,
    ) -> Result<(), FsError> {
        for meta in self.all() {
            if !matches!(meta, Meta::Table(_)) && read(self.place(meta))? != self.encode(meta, tree, space) {
                return Err(FsError::Damaged(format!("{meta:?} does not agree with the inodes")));
            }
        }
        Ok(())
    }
}

fn damaged(what: &str) -> FsError {
    FsError::Damaged(format!("{what} can not be read"))
}

/// Consecutive blocks of a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Extent {
    /// First block in the file.
    index: u32,
    /// Unit of the first block.
    lpa: Lpa,
    /// Number of blocks.
    length: u32,
}

/// The extents of a file.
pub fn extents(inode: &Inode) -> Vec<Extent> {
    let mut found: Vec<Extent> = Vec::new();
    for (index, lpa) in (0_u32..).zip(&inode.blocks) {
        let Some(lpa) = lpa else { continue };
        match found.last_mut() {
            Some(last) if last.index + last.length == index && last.lpa.offset(last.length) == *lpa => last.length += 1,
            _ => found.push(Extent { index, lpa: *lpa, length: 1 }),
        }
    }
    found
}

/// Number of leaves of a file with `extents` extents.
pub fn leaves(extents: usize) -> u32 {
    if extents <= INLINE_EXTENTS { 0 } else { extents.div_ceil(LEAF_EXTENTS) as u32 }
}

/// True if a file's extents fit its leaves.
pub fn fits(inode: &Inode) -> bool {
    leaves(extents(inode).len()) <= LEAVES
}

fn encode_table(n: u32, tree: &Tree) -> Block {
    let mut writer = Writer::new(TABLE);
    for slot in 0..INODES_PER_BLOCK {
        let Some(inode) = tree.inodes.get(&Ino(n * INODES_PER_BLOCK + slot)) else { continue };
        let extents = extents(inode);
        writer.seek(16 + slot as usize * INODE_BYTES);
        writer.u64(inode.disk_size);
        writer.u32(extents.len() as u32);
        if extents.len() <= INLINE_EXTENTS {
            write_extents(&mut writer, &extents);
        }
    }
    writer.finish()
}

/// Length, number of extents, and the extents in the inode.
fn decode_inode(block: &Block, ino: Ino) -> Option<(u64, usize, Vec<Extent>)> {
    let mut reader = Reader::open(block, TABLE)?;
    reader.seek(16 + (ino.0 % INODES_PER_BLOCK) as usize * INODE_BYTES);
    let size = reader.u64()?;
    let count = reader.u32()? as usize;
    let inline = if count <= INLINE_EXTENTS { count } else { 0 };
    Some((size, count, read_extents(&mut reader, inline)?))
}

fn encode_leaf(extents: &[Extent], n: u32) -> Block {
    let begin = n as usize * LEAF_EXTENTS;
    let part = &extents[begin.min(extents.len())..(begin + LEAF_EXTENTS).min(extents.len())];
    let mut writer = Writer::new(LEAF);
    writer.u32(part.len() as u32);
    write_extents(&mut writer, part);
    writer.finish()
}

fn decode_leaf(block: &Block) -> Option<Vec<Extent>> {
    let mut reader = Reader::open(block, LEAF)?;
    let count = reader.u32()? as usize;
    read_extents(&mut reader, count)
}

fn write_extents(writer: &mut Writer, extents: &[Extent]) {
    for extent in extents {
        writer.u32(extent.index);
        writer.u32(extent.lpa.0);
        writer.u32(extent.length);
    }
}

fn read_extents(reader: &mut Reader, count: usize) -> Option<Vec<Extent>> {
    let extent = |_| Some(Extent { index: reader.u32()?, lpa: Lpa(reader.u32()?), length: reader.u32()? });
    (0..count).map(extent).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bitmap_has_a_bit_for_every_block_that_is_in_use() {
        let layout = Layout { units: 2 * BITMAP_UNITS + 100 };
        let mut space = layout.space();
        let taken = [layout.data(), Lpa(BITMAP_UNITS - 1), Lpa(BITMAP_UNITS + 9), Lpa(2 * BITMAP_UNITS + 99)];
        assert!(taken.iter().all(|&lpa| space.take(lpa)));
        for n in 0..3 {
            let block = layout.encode(Meta::BlockBitmap(n), &Tree::default(), &space);
            for bit in 0..BITMAP_UNITS.min(layout.units - n * BITMAP_UNITS) {
                let lpa = Lpa(n * BITMAP_UNITS + bit);
                // Behind the kind's number.
                let set = block[4 + bit as usize / 8] >> (bit % 8) & 1 == 1;
                assert_eq!(set, lpa < layout.data() || taken.contains(&lpa), "{lpa}");
            }
        }
    }
}
