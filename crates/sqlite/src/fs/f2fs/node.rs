//! Node blocks: the metadata of files.
//!
//! An inode block addresses 923 blocks, as in F2FS. A longer file has direct node blocks (of 980 addresses here, 1018
//! in F2FS, because of the checksum). Every node block has a footer: the checkpoint after which it was written, and the
//! place of the next node block, so that recovery can follow the chain without an index (Lee et al., FAST 2015, Sec.
//! 2.7).

use units::Lpa;

use crate::block::Block;
use crate::fs::codec::{Reader, Writer};
use crate::fs::tree::{Ino, Inode};

const NODE: u32 = 0xf2f5_0001;
/// Addresses in an inode block.
const INODE_ADDRESSES: u32 = 923;
/// Addresses in a direct node block.
const DIRECT_ADDRESSES: u32 = 980;
/// Offset of the addresses in a block.
const ADDRESSES_AT: usize = 128;
/// Most direct nodes of a file, which limits a file to 3.8 GiB.
const MAX_DIRECT: u32 = 1000;

/// A node of a file. Part 0 is its inode; the others are direct nodes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct NodeId {
    /// The file.
    pub ino: Ino,
    /// Number of the node in its file.
    pub part: u32,
}

impl NodeId {
    /// The inode of a file.
    pub fn inode(ino: Ino) -> NodeId {
        NodeId { ino, part: 0 }
    }

    /// The node that addresses a block of a file; `None` if a file can not be that long.
    pub fn of_block(ino: Ino, index: u32) -> Option<NodeId> {
        let part = index.checked_sub(INODE_ADDRESSES).map_or(0, |behind| 1 + behind / DIRECT_ADDRESSES);
        (part <= MAX_DIRECT).then_some(NodeId { ino, part })
    }

    /// The blocks that it addresses: the first, and the number.
    fn blocks(self) -> (u32, u32) {
        match self.part {
            0 => (0, INODE_ADDRESSES),
            n => (INODE_ADDRESSES + (n - 1) * DIRECT_ADDRESSES, DIRECT_ADDRESSES),
        }
    }

    /// True if a file of `blocks` blocks has this node.
    pub fn exists_in(self, blocks: u32) -> bool {
        self.part == 0 || self.blocks().0 < blocks
    }
}

/// Data by which recovery finds and uses node blocks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Footer {
    /// The checkpoint before it.
    pub version: u64,
    /// Place of the next node block.
    pub next: Lpa,
    /// True if a sync has written the node; then recovery may use it.
    pub fsync: bool,
    /// True if the name in it is not in the checkpoint's directory.
    pub dentry: bool,
}

/// A decoded node block.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Node {
    /// Its number.
    pub id: NodeId,
    /// Its footer.
    pub footer: Footer,
    /// Length of the file, in an inode.
    pub size: u64,
    /// Name of the file, in an inode.
    pub name: String,
    /// Places of blocks, from the first that the node addresses.
    addresses: Vec<Option<Lpa>>,
}

impl Node {
    /// The block of a node of a file.
    pub fn encode(id: NodeId, inode: &Inode, footer: Footer) -> Block {
        let mut writer = Writer::new(NODE);
        writer.u64(footer.version);
        writer.u32(footer.next.0);
        writer.u32(u32::from(footer.fsync) | u32::from(footer.dentry) << 1);
        writer.u32(id.ino.0);
        writer.u32(id.part);
        writer.u64(inode.disk_size);
        writer.text(&inode.name);
        writer.seek(ADDRESSES_AT);
        let (first, count) = id.blocks();
        // No file has data in unit 0, where the superblock is.
        (first..first + count).for_each(|index| writer.u32(inode.block(index).map_or(0, |lpa| lpa.0)));
        writer.finish()
    }

    /// Decodes a node block.
    pub fn decode(block: &Block) -> Option<Node> {
        let mut reader = Reader::open(block, NODE)?;
        let (version, next, flags) = (reader.u64()?, Lpa(reader.u32()?), reader.u32()?);
        let id = NodeId { ino: Ino(reader.u32()?), part: reader.u32()? };
        let (size, name) = (reader.u64()?, reader.text()?.to_owned());
        reader.seek(ADDRESSES_AT);
        let (_, count) = id.blocks();
        let address = |_| reader.u32().map(|lpa| (lpa != 0).then_some(Lpa(lpa)));
        let addresses = (0..count).map(address).collect::<Option<_>>()?;
        let footer = Footer { version, next, fsync: flags & 1 != 0, dentry: flags & 2 != 0 };
        Some(Node { id, footer, size, name, addresses })
    }

    /// Sets the file's blocks that this node addresses.
    pub fn apply(&self, inode: &mut Inode) {
        let (first, count) = self.id.blocks();
        let needed = self.addresses.iter().rposition(Option::is_some).map_or(0, |last| first as usize + last + 1);
        if inode.blocks.len() < needed {
            inode.blocks.resize(needed, None);
        }
        let end = inode.blocks.len().min((first + count) as usize);
        for index in first as usize..end {
            inode.blocks[index] = self.addresses[index - first as usize];
        }
        if self.id.part == 0 {
            (inode.size, inode.disk_size) = (self.size, self.size);
            inode.name.clone_from(&self.name);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_of_a_long_file_rebuild_it() {
        let mut inode = Inode { name: "main.db".into(), size: 8_000_000, disk_size: 8_000_000, ..Inode::default() };
        for index in (0..1950).filter(|index| index % 7 != 3) {
            inode.set_block(index, Lpa(5000 + index * 2));
        }
        let footer = Footer { version: 9, next: Lpa(77), fsync: true, dentry: false };
        let mut rebuilt = Inode::default();
        for part in 0..=2 {
            let id = NodeId { ino: Ino(4), part };
            let node = Node::decode(&Node::encode(id, &inode, footer)).unwrap();
            assert_eq!((node.id, node.footer), (id, footer));
            node.apply(&mut rebuilt);
        }
        assert_eq!(rebuilt, inode);
        assert_eq!([922, 923, 1902, 1903].map(|i| NodeId::of_block(Ino(4), i).unwrap().part), [0, 1, 1, 2]);
        assert!(NodeId { ino: Ino(4), part: 1 }.exists_in(924) && !NodeId { ino: Ino(4), part: 1 }.exists_in(923));
    }
}
