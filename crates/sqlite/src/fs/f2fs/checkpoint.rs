//! Checkpoint packs: the places of all nodes in the last consistent state.
//!
//! Two packs are used in turn, so that one is always whole. A pack is a header, the node address table and a footer. It
//! is valid if header and footer have the same version; of two valid packs the newer one counts (Lee et al., FAST 2015,
//! Sec. 2.2). F2FS keeps the table in a separate area and only recent changes in the pack. A database has a handful of
//! nodes, which would all be in the pack's journal there, too. F2FS writes more at a checkpoint (segment information,
//! summaries). That is not needed here: recovery derives it from the nodes.

use std::collections::BTreeMap;

use units::Lpa;

use super::node::NodeId;
use crate::block::Block;
use crate::fs::codec::{Reader, Writer, checksum};
use crate::fs::tree::Ino;

const SUPER: u32 = 0xf2f5_0002;
const HEADER: u32 = 0xf2f5_0003;
const TABLE: u32 = 0xf2f5_0004;
const FOOTER: u32 = 0xf2f5_0005;
/// Entries of twelve bytes in a block of the table.
const ENTRIES: usize = 340;
/// Most blocks of the table in a pack.
const TABLE_BLOCKS: usize = 14;
/// Blocks of a pack.
const PACK_BLOCKS: u32 = TABLE_BLOCKS as u32 + 2;
/// Most nodes of a volume.
pub const MAX_NODES: usize = TABLE_BLOCKS * ENTRIES;
/// First unit of the segments.
pub const MAIN: Lpa = Lpa(64);

/// A consistent state of the volume.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Checkpoint {
    /// Its number; each checkpoint has the next one.
    pub version: u64,
    /// Place of the first node block that is written after it.
    pub node_head: Lpa,
    /// Places of the nodes.
    pub nodes: BTreeMap<NodeId, Lpa>,
}

/// The superblock.
pub fn superblock(units: u32) -> Block {
    let mut writer = Writer::new(SUPER);
    writer.u32(units);
    writer.finish()
}

/// Size of the volume, from its superblock.
pub fn units(block: &Block) -> Option<u32> {
    Reader::open(block, SUPER)?.u32()
}

/// First block of the pack for a version.
fn pack(version: u64) -> Lpa {
    Lpa(1 + (version % 2) as u32 * PACK_BLOCKS)
}

impl Checkpoint {
    /// Header and table, and the footer, which must be written after them.
    pub fn encode(&self) -> (Vec<(Lpa, Block)>, (Lpa, Block)) {
        let nodes: Vec<_> = self.nodes.iter().collect();
        let tables: Vec<Block> = nodes.chunks(ENTRIES).map(encode_table).collect();
        let mut header = Writer::new(HEADER);
        header.u64(self.version);
        header.u32(self.node_head.0);
        header.u32(tables.len() as u32);
        header.u64(sum(&tables));
        let first = pack(self.version);
        let blocks = std::iter::once(header.finish()).chain(tables);
        let body: Vec<(Lpa, Block)> = (0..).zip(blocks).map(|(i, block)| (first.offset(i), block)).collect();
        let mut footer = Writer::new(FOOTER);
        footer.u64(self.version);
        let place = first.offset(body.len() as u32);
        (body, (place, footer.finish()))
    }

    /// The newest whole checkpoint.
    pub fn newest<E>(mut read: impl FnMut(Lpa) -> Result<Block, E>) -> Result<Option<Checkpoint>, E> {
        let packs = [Checkpoint::decode(pack(0), &mut read)?, Checkpoint::decode(pack(1), &mut read)?];
        Ok(packs.into_iter().flatten().max_by_key(|checkpoint| checkpoint.version))
    }

    fn decode<E>(first: Lpa, read: &mut impl FnMut(Lpa) -> Result<Block, E>) -> Result<Option<Checkpoint>, E> {
        let header = read(first)?;
        let Some((version, node_head, count, expected)) = decode_header(&header) else { return Ok(None) };
        let mut tables = Vec::new();
        for i in 0..count {
            tables.push(read(first.offset(1 + i))?);
        }
        let footer = read(first.offset(1 + count))?;
        let footer = Reader::open(&footer, FOOTER).and_then(|mut reader| reader.u64());
        if footer != Some(version) || sum(&tables) != expected {
            return Ok(None);
        }
        let nodes = tables.iter().map(decode_table).collect::<Option<Vec<_>>>();
        Ok(nodes.map(|nodes| Checkpoint { version, node_head, nodes: nodes.into_iter().flatten().collect() }))
    }
}

fn sum(tables: &[Block]) -> u64 {
    let sums: Vec<u8> = tables.iter().flat_map(|block| checksum(&block[..]).to_le_bytes()).collect();
    checksum(&sums)
}

fn decode_header(block: &Block) -> Option<(u64, Lpa, u32, u64)> {
    let mut reader = Reader::open(block, HEADER)?;
    let fields = (reader.u64()?, Lpa(reader.u32()?), reader.u32()?, reader.u64()?);
    (fields.2 <= TABLE_BLOCKS as u32).then_some(fields)
}

fn encode_table(nodes: &[(&NodeId, &Lpa)]) -> Block {
    let mut writer = Writer::new(TABLE);
    writer.u32(nodes.len() as u32);
    for (id, lpa) in nodes {
        writer.u32(id.ino.0);
        writer.u32(id.part);
        writer.u32(lpa.0);
    }
    writer.finish()
}

fn decode_table(block: &Block) -> Option<Vec<(NodeId, Lpa)>> {
    let mut reader = Reader::open(block, TABLE)?;
    let count = reader.u32()?;
    let entry = |_| Some((NodeId { ino: Ino(reader.u32()?), part: reader.u32()? }, Lpa(reader.u32()?)));
    (0..count).map(entry).collect()
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use super::*;
    use crate::block::{Image, zeroes};

    fn newest(image: &Image) -> Option<u64> {
        let found = Checkpoint::newest(|lpa| Ok::<_, Infallible>(image.read(lpa))).unwrap();
        found.map(|checkpoint| checkpoint.version)
    }

    #[test]
    fn the_newest_whole_pack_counts() {
        let mut image = Image::default();
        assert_eq!(newest(&image), None);
        let nodes = |n: u32| (0..n).map(|i| (NodeId { ino: Ino(i), part: i % 3 }, Lpa(i + 100))).collect();
        for version in 1..6 {
            let checkpoint = Checkpoint { version, node_head: Lpa(900), nodes: nodes(400) };
            let (body, (place, footer)) = checkpoint.encode();
            let last = body.len() - 1;
            body.iter().take(last).for_each(|(lpa, block)| image.write(*lpa, block.clone()));
            let before = (version > 1).then_some(version - 1);
            assert_eq!(newest(&image), before, "a part of the table and the footer are missing");
            image.write(body[last].0, body[last].1.clone());
            assert_eq!(newest(&image), before, "the footer is missing");
            image.write(place, footer);
            let found = Checkpoint::newest(|lpa| Ok::<_, Infallible>(image.read(lpa))).unwrap();
            assert_eq!(found, Some(checkpoint));
            let (lpa, block) = &body[1];
            image.write(*lpa, zeroes());
            assert_eq!(newest(&image), before, "a part of the table is missing");
            image.write(*lpa, block.clone());
        }
    }
}
