//! Mount: roll back to the checkpoint, then roll forward.

use std::collections::{BTreeMap, BTreeSet};

use units::Lpa;

use super::checkpoint::{self, Checkpoint, MAIN};
use super::logs::{Log, Logs, SEGMENT};
use super::node::{Node, NodeId};
use super::{DIRECTORY, F2fs, Options, ROOT};
use crate::fs::directory;
use crate::fs::space::Space;
use crate::fs::tree::{Ino, Inode, Tree, blocks_for};
use crate::fs::{Core, FsError};

/// The files, as far as recovery has read them.
#[derive(Clone, Default)]
struct State {
    tree: Tree,
    root: Inode,
    nodes: BTreeMap<NodeId, Lpa>,
    /// Nodes whose blocks address more than the file has.
    stale: BTreeSet<NodeId>,
}

/// The chain of node blocks since the checkpoint.
#[derive(Default)]
struct Chain {
    blocks: Vec<Lpa>,
    /// Its end: the first place without a whole node block of this checkpoint.
    end: Lpa,
}

impl F2fs {
    /// Reads the newest checkpoint, rolls forward, and writes a checkpoint of the result.
    pub(in crate::fs) fn mount(core: &mut Core, options: Options) -> Result<F2fs, FsError> {
        let units = checkpoint::units(&core.read(Lpa(0))?).ok_or_else(|| damaged("superblock"))?;
        let start = Checkpoint::newest(|lpa| core.read(lpa))?.ok_or_else(|| damaged("checkpoint"))?;
        let before = State::load(core, &start)?;
        let mut after = before.clone();
        let chain = after.roll_forward(core, &start)?;
        after.trim();
        let used = after.units()?;
        let mut space = Space::new(MAIN, (units - MAIN.0) / SEGMENT * SEGMENT);
        // Units that the old checkpoint and the chain refer to stay until the new checkpoint is written. If the power
        // is cut before that, recovery starts from them again.
        let mut kept: BTreeSet<Lpa> = before.units()?.difference(&used).copied().collect();
        kept.extend(chain.blocks.iter().chain([&chain.end]).filter(|lpa| !used.contains(lpa)));
        for lpa in used.iter().chain(&kept) {
            if !space.take(*lpa) {
                return Err(FsError::Damaged(format!("{lpa} of a file lies outside of the segments")));
            }
        }
        let mut logs = Logs::new(space);
        let node_head = logs.take(Log::Node).ok_or(FsError::NoSpace("no free block for a node"))?;
        let mut volume = F2fs {
            logs,
            options,
            version: start.version,
            node_head,
            nodes: after.nodes,
            root: after.root,
            dirty: after.stale,
            names_changed: before.tree.names != after.tree.names,
            needed: BTreeSet::new(),
            updated: BTreeSet::new(),
            fresh: BTreeSet::new(),
            freed: kept.into_iter().collect(),
            next_ino: 1 + after.tree.inodes.keys().map(|ino| ino.0).max().unwrap_or(ROOT.0),
            last_checkpoint: core.disk.now(),
        };
        core.tree = after.tree;
        volume.checkpoint(core)?;
        Ok(volume)
    }
}

impl State {
    /// The state of a checkpoint.
    fn load(core: &mut Core, start: &Checkpoint) -> Result<State, FsError> {
        let mut state = State { nodes: start.nodes.clone(), ..State::default() };
        for (&id, &lpa) in &start.nodes {
            let node = Node::decode(&core.read(lpa)?).filter(|node| node.id == id).ok_or_else(|| damaged("node"))?;
            let inode = if id.ino == ROOT { &mut state.root } else { state.tree.inodes.entry(id.ino).or_default() };
            node.apply(inode);
        }
        if let Some(lpa) = state.root.block(0) {
            let names = directory::decode(DIRECTORY, &core.read(lpa)?).ok_or_else(|| damaged("directory"))?;
            state.tree.names = names.into_iter().collect();
        }
        let named: BTreeSet<Ino> = state.tree.names.values().copied().collect();
        if named.iter().ne(state.tree.inodes.keys()) {
            return Err(FsError::Damaged("directory and inodes do not agree".into()));
        }
        state.trim();
        Ok(state)
    }

    /// Applies the node blocks that syncs have written since the checkpoint.
    fn roll_forward(&mut self, core: &mut Core, start: &Checkpoint) -> Result<Chain, FsError> {
        let mut chain = Chain { blocks: Vec::new(), end: start.node_head };
        loop {
            let block = core.read(chain.end)?;
            let Some(node) = Node::decode(&block).filter(|node| node.footer.version == start.version) else { break };
            chain.blocks.push(chain.end);
            if node.footer.fsync {
                self.apply(&node, chain.end);
            }
            chain.end = node.footer.next;
        }
        Ok(chain)
    }

    fn apply(&mut self, node: &Node, at: Lpa) {
        let ino = node.id.ino;
        if node.footer.dentry
            && let Some(old) = self.tree.names.insert(node.name.clone(), ino)
            && old != ino
        {
            // The file has the name of one that had been removed.
            self.tree.inodes.remove(&old);
            self.nodes.retain(|id, _| id.ino != old);
        }
        // A direct node of a new file comes before its inode, so the inode is made here.
        let inode = self.tree.inodes.entry(ino).or_default();
        node.apply(inode);
        self.nodes.insert(node.id, at);
    }

    /// Drops blocks beyond the ends of files, and files without a name: if an inode block was lost, neither the length
    /// nor the name is known.
    fn trim(&mut self) {
        self.tree.inodes.retain(|ino, inode| self.tree.names.get(&inode.name) == Some(ino));
        let Tree { inodes, .. } = &mut self.tree;
        self.nodes
            .retain(|id, _| id.ino == ROOT || inodes.get(&id.ino).is_some_and(|i| id.exists_in(blocks_for(i.size))));
        for (&ino, inode) in inodes {
            let blocks = blocks_for(inode.size);
            if inode.blocks.len() > blocks as usize {
                inode.blocks.truncate(blocks as usize);
                self.stale.extend(NodeId::of_block(ino, blocks).filter(|id| self.nodes.contains_key(id)));
            }
        }
    }

    /// Units in use. Fails if a unit has two owners.
    fn units(&self) -> Result<BTreeSet<Lpa>, FsError> {
        let inodes = self.tree.inodes.values().chain([&self.root]);
        let mut used = BTreeSet::new();
        for &lpa in inodes.flat_map(|inode| inode.blocks.iter().flatten()).chain(self.nodes.values()) {
            if !used.insert(lpa) {
                return Err(FsError::Damaged(format!("{lpa} belongs to two files")));
            }
        }
        Ok(used)
    }
}

fn damaged(what: &str) -> FsError {
    FsError::Damaged(format!("{what} can not be read"))
}
