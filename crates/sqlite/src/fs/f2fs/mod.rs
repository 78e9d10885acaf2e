//! F2FS (Lee, Sim, Hwang, Cho: "F2FS: A New File System for Flash Storage", FAST 2015; Linux fs/f2fs).
//!
//! - **fdatasync** (`f2fs_do_sync_file`, fs/f2fs/file.c): writes the data and waits for them. If blocks were placed or
//!   the length has changed, writes the file's changed nodes to the node log, marked for roll-forward, and waits for
//!   them; then a flush. If data were only overwritten in place, only the flush. If nothing was written, nothing.
//! - **Placement**: new data go to the data log. By default overwrites for `fdatasync` are in place (`FI_NEED_IPU` with
//!   policy `F2FS_IPU_FSYNC`, set unless `mode=lfs`), others out of place, and `fsync_mode` is `posix`.
//!   [`Kind::F2fsOutOfPlace`](crate::fs::Kind::F2fsOutOfPlace) writes all data out of place, as in the paper, with
//!   `fsync_mode=strict`: the last node block is written with preflush and FUA. Without that, a node can become durable
//!   before the data that it names. A power cut then damages data of an older sync that share a block with them, as a
//!   comment in `f2fs_do_sync_file` says. SQLite's write-ahead log does share blocks; the tests show the loss. In the
//!   default mode, as in Linux, the same can happen to blocks that write-back has moved between two syncs.
//! - **fsync of a directory** is a checkpoint (`need_do_checkpoint`: not a regular file). A new file needs none for its
//!   own sync, because its inode carries its name (dentry mark).
//! - **Checkpoint** (`f2fs_write_checkpoint`): writes directory block, all changed nodes, header and tables; waits;
//!   then writes the last block of the pack with preflush and FUA (`commit_checkpoint`). It happens also every 60 s
//!   (`DEF_CP_INTERVAL`), when 5% of the volume would become free by it (`DEF_RECLAIM_PREFREE_SEGMENTS`), and when
//!   space is short (`f2fs_balance_fs`).
//! - **Blocks freed** since the last checkpoint are used again only after the next one.
//! - **Recovery** (`f2fs_recover_fsync_data`): reads the newest whole checkpoint, then the chain of node blocks written
//!   since, as far as it is whole and marked; then writes a checkpoint.
//!
//! Not modelled: six logs by temperature (one for data and one for nodes here), cleaning (holes are filled instead),
//! segment information and summary blocks, discards, inline data and dentries, the extent cache.

mod checkpoint;
mod logs;
mod node;
mod recovery;

use std::collections::{BTreeMap, BTreeSet};

use units::{Lpa, Nanos, SimTime};

use super::directory::{self, MAX_NAMES};
use super::tree::{Ino, Inode, blocks_for};
use super::{Change, Core, FsError, Personality, WriteReason};
use crate::block::{Block, Disk, Io};
pub(crate) use checkpoint::MAIN;
use checkpoint::{Checkpoint, MAX_NODES};
use logs::{Log, Logs, SEGMENT};
use node::{Footer, Node, NodeId};

/// Time between checkpoints.
const CHECKPOINT_INTERVAL: Nanos = Nanos(60_000_000_000);
/// Divisor of the volume: this part of its units may wait for a checkpoint.
const PREFREE_SHARE: usize = 20;
/// Units reserved for nodes and the directory.
const SPARE_UNITS: usize = 128;
/// Smallest number of segments.
const MIN_SEGMENTS: u32 = 4;
/// The inode of the directory.
const ROOT: Ino = Ino(3);
const DIRECTORY: u32 = 0xf2f5_0006;

/// How a sync writes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Options {
    /// Overwrites are in place.
    pub in_place: bool,
    /// The last node is written with preflush and FUA, so it does not become durable before the data.
    pub strict: bool,
}

/// F2FS.
pub struct F2fs {
    logs: Logs,
    options: Options,
    version: u64,
    /// Place of the next node block, as stored in the previous one.
    node_head: Lpa,
    nodes: BTreeMap<NodeId, Lpa>,
    /// The directory's inode.
    root: Inode,
    /// Nodes that differ from those on disk.
    dirty: BTreeSet<NodeId>,
    names_changed: bool,
    /// Files whose data can not be found without their nodes.
    needed: BTreeSet<Ino>,
    /// Files overwritten in place since their last sync.
    updated: BTreeSet<Ino>,
    /// Files that are not in the checkpoint's directory.
    fresh: BTreeSet<Ino>,
    /// Units that become free at the next checkpoint.
    freed: Vec<Lpa>,
    next_ino: u32,
    last_checkpoint: SimTime,
}

/// Makes an empty volume.
pub fn format(disk: &mut dyn Disk, units: u32) -> Result<(), FsError> {
    if units < MAIN.0 + MIN_SEGMENTS * SEGMENT {
        return Err(FsError::NoSpace("the volume is too small for F2FS"));
    }
    let write = |first, block| Io::Write { first, blocks: vec![block], meta: true, barrier: false };
    let root = Inode { size: 0, ..Inode::default() };
    // The first two units of the segments: the directory's inode, and the first node after it.
    let (at, node_head) = (MAIN, MAIN.offset(1));
    let footer = Footer { version: 0, next: node_head, fsync: false, dentry: false };
    let id = NodeId::inode(ROOT);
    let checkpoint = Checkpoint { version: 1, node_head, nodes: [(id, at)].into() };
    let (body, (lpa, last)) = checkpoint.encode();
    let first = [(Lpa(0), checkpoint::superblock(units)), (at, Node::encode(id, &root, footer))];
    disk.run(first.into_iter().chain(body).map(|(lpa, block)| write(lpa, block)).collect())?;
    disk.run(vec![Io::Write { first: lpa, blocks: vec![last], meta: true, barrier: true }])?;
    Ok(())
}

impl F2fs {
    fn inode<'a>(&'a self, core: &'a Core, ino: Ino) -> Option<&'a Inode> {
        if ino == ROOT { Some(&self.root) } else { core.tree.inodes.get(&ino) }
    }

    /// Places nodes in the node log: direct nodes before the inode of their file, whose length covers their blocks.
    fn place_nodes(&mut self, core: &Core, mut ids: Vec<NodeId>, fsync: bool) -> Result<Vec<(Lpa, Block)>, FsError> {
        ids.sort_by_key(|id| (id.ino, id.part == 0, id.part));
        let mut blocks = Vec::with_capacity(ids.len());
        for id in ids {
            let at = self.node_head;
            self.node_head = self.logs.take(Log::Node).ok_or(FsError::NoSpace("no free block for a node"))?;
            let dentry = fsync && id.part == 0 && self.fresh.contains(&id.ino);
            let footer = Footer { version: self.version, next: self.node_head, fsync, dentry };
            let inode = self.inode(core, id.ino).expect("nodes of removed files are not dirty");
            blocks.push((at, Node::encode(id, inode, footer)));
            self.freed.extend(self.nodes.insert(id, at));
            self.dirty.remove(&id);
        }
        if self.nodes.len() > MAX_NODES {
            return Err(FsError::NoSpace("too many nodes"));
        }
        Ok(blocks)
    }

    /// Writes the changed nodes of a file, so that recovery can roll forward to them.
    fn sync_nodes(&mut self, core: &mut Core, ino: Ino) -> Result<(), FsError> {
        let all = NodeId { ino, part: 0 }..=NodeId { ino, part: u32::MAX };
        let ids = self.dirty.range(all).copied().collect();
        let mut blocks = self.place_nodes(core, ids, true)?;
        let last = if self.options.strict { blocks.pop() } else { None };
        core.write_meta(blocks)?;
        match last {
            Some((lpa, block)) => Ok(core.write_barrier(lpa, block)?),
            None => Ok(core.flush()?),
        }
    }

    fn write_directory(&mut self, core: &mut Core) -> Result<(), FsError> {
        let lpa = self.logs.take(Log::Data).ok_or(FsError::NoSpace("no free block for the directory"))?;
        self.freed.extend(self.root.block(0));
        self.root.set_block(0, lpa);
        (self.root.size, self.root.disk_size) = (4096, 4096);
        self.dirty.insert(NodeId::inode(ROOT));
        self.names_changed = false;
        Ok(core.write_meta([(lpa, directory::encode(DIRECTORY, &core.tree))])?)
    }

    /// Makes the present state the start of a recovery.
    fn checkpoint(&mut self, core: &mut Core) -> Result<(), FsError> {
        if self.names_changed {
            self.write_directory(core)?;
        }
        let dirty = self.dirty.iter().copied().collect();
        let nodes = self.place_nodes(core, dirty, false)?;
        core.write_meta(nodes)?;
        self.version += 1;
        let state = Checkpoint { version: self.version, node_head: self.node_head, nodes: self.nodes.clone() };
        let (body, (lpa, last)) = state.encode();
        core.write_meta(body)?;
        core.write_barrier(lpa, last)?;
        for lpa in std::mem::take(&mut self.freed) {
            self.logs.give(lpa);
        }
        self.needed.clear();
        self.updated.clear();
        self.fresh.clear();
        self.last_checkpoint = core.disk.now();
        Ok(())
    }

    /// Drops nodes that a file does not have any more.
    fn drop_nodes(&mut self, ino: Ino, blocks: u32) {
        let all = NodeId { ino, part: 0 }..=NodeId { ino, part: u32::MAX };
        let dropped: Vec<NodeId> =
            self.nodes.range(all.clone()).map(|(&id, _)| id).filter(|id| !id.exists_in(blocks)).collect();
        for id in dropped {
            self.freed.extend(self.nodes.remove(&id));
        }
        self.dirty.retain(|id| !all.contains(id) || id.exists_in(blocks));
    }
}

impl Personality for F2fs {
    fn new_ino(&mut self, core: &Core) -> Result<Ino, FsError> {
        if core.tree.names.len() >= MAX_NAMES {
            return Err(FsError::NoSpace("the directory is full"));
        }
        let ino = Ino(self.next_ino);
        self.next_ino += 1;
        Ok(ino)
    }

    fn changed(&mut self, _core: &Core, ino: Ino, change: Change) {
        self.dirty.insert(NodeId::inode(ino));
        if change != Change::Touched {
            self.needed.insert(ino);
        }
        if change == Change::Created {
            self.names_changed = true;
            self.fresh.insert(ino);
        }
    }

    fn removed(&mut self, _core: &Core, ino: Ino, inode: Inode) {
        self.names_changed = true;
        self.drop_nodes(ino, 0);
        self.freed.extend(self.nodes.remove(&NodeId::inode(ino)));
        self.dirty.remove(&NodeId::inode(ino));
        self.needed.remove(&ino);
        self.updated.remove(&ino);
        self.fresh.remove(&ino);
        self.freed.extend(inode.blocks.into_iter().flatten());
    }

    fn cut(&mut self, core: &Core, ino: Ino, freed: Vec<Lpa>) {
        let blocks = blocks_for(core.tree.inode(ino).size);
        self.drop_nodes(ino, blocks);
        if freed.is_empty() {
            return;
        }
        self.freed.extend(freed);
        self.needed.insert(ino);
        self.dirty.insert(NodeId::inode(ino));
        let last = NodeId::of_block(ino, blocks).filter(|id| id.exists_in(blocks));
        self.dirty.extend(last);
    }

    fn make_room(&mut self, core: &mut Core, blocks: usize) -> Result<(), FsError> {
        if self.logs.space().free_units() < blocks + SPARE_UNITS && !self.freed.is_empty() {
            self.checkpoint(core)?;
        }
        Ok(())
    }

    fn place(&mut self, core: &mut Core, ino: Ino, index: u32, reason: WriteReason) -> Result<Lpa, FsError> {
        let old = core.tree.inode(ino).block(index);
        if let Some(lpa) = old.filter(|_| self.options.in_place && reason == WriteReason::DataSync) {
            self.updated.insert(ino);
            return Ok(lpa);
        }
        let id = NodeId::of_block(ino, index).ok_or(FsError::NoSpace("the file is too long"))?;
        if self.logs.space().free_units() <= SPARE_UNITS {
            return Err(FsError::NoSpace("no free block"));
        }
        let lpa = self.logs.take(Log::Data).ok_or(FsError::NoSpace("no free block"))?;
        self.freed.extend(old);
        core.tree.inode_mut(ino).set_block(index, lpa);
        self.dirty.insert(id);
        self.needed.insert(ino);
        Ok(lpa)
    }

    fn data_sync(&mut self, core: &mut Core, ino: Ino) -> Result<(), FsError> {
        let overwritten = self.updated.remove(&ino);
        if self.needed.remove(&ino) {
            self.sync_nodes(core, ino)
        } else if overwritten {
            Ok(core.flush()?)
        } else {
            Ok(())
        }
    }

    fn sync_directory(&mut self, core: &mut Core) -> Result<(), FsError> {
        self.checkpoint(core)
    }

    fn background(&mut self, core: &mut Core) -> Result<(), FsError> {
        let due = core.disk.now().since(self.last_checkpoint) >= CHECKPOINT_INTERVAL;
        let much = self.freed.len() > self.logs.space().units() / PREFREE_SHARE;
        let anything = self.names_changed || !self.dirty.is_empty() || !self.freed.is_empty();
        if much || due && anything { self.checkpoint(core) } else { Ok(()) }
    }

    fn sync_all(&mut self, core: &mut Core) -> Result<(), FsError> {
        self.checkpoint(core)
    }
}

#[cfg(test)]
mod tests;
