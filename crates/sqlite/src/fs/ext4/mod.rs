//! ext4 in ordered mode, its default (`data=ordered`), with barriers.
//!
//! What is modelled, and the source of it:
//!
//! - **Delayed allocation**: a page gets its block when it is written back
//!   (Documentation/filesystems/ext4/overview.rst, "delayed allocation"). So the file's length on disk grows only with
//!   data that has been written, and a commit never waits for other files' data.
//! - **Overwrites are in place.**
//! - **fdatasync** (`ext4_sync_file`, fs/ext4/fsync.c): writes the data and waits for them. If length or allocation
//!   belong to the running transaction (`i_datasync_tid`), it is committed; otherwise only a flush follows. A changed
//!   time stamp alone commits nothing.
//! - **Commit** (`jbd2_journal_commit_transaction`, fs/jbd2/commit.c): writes descriptor and copies of all metadata
//!   blocks that the running transaction has changed, for whatever file; waits; then writes the commit block with
//!   preflush and FUA (`journal_submit_commit_record`, without `journal_async_commit`). The preflush also covers the
//!   file's data.
//! - **fsync of a directory** forces a commit (`ext4_fsync_journal`: not a regular file).
//! - **The commit interval** is 5 s (`commit=5`). **Freed blocks** are used again after the commit that frees them.
//! - **Checkpoint** (`jbd2_log_do_checkpoint`, `jbd2_cleanup_journal_tail`): when the journal is full, or after 30 s as
//!   the flusher writes old buffers, writes the last committed copy of each block in place; flush; the journal's
//!   superblock with FUA.
//!
//! `data=writeback` asks for the same requests. The modes differ in one step of a commit: with `data=ordered` it first
//! writes, or waits for, data in blocks that its transaction has allocated (`jbd2_journal_submit_inode_data_buffers`,
//! `jbd2_journal_finish_inode_data_buffers`). With delayed allocation a block is allocated as its page is written, so
//! there is nothing to write; and here a writer waits for the page before the next commit, as `fdatasync` does, so
//! there is nothing to wait for. (Linux has nothing to wait for either if such blocks are marked unwritten at first, as
//! with `dioread_nolock`, the default since 5.6: `ext4_map_blocks` then leaves the inode off the list.)
//!
//! Not modelled: fast commits (off by default), block groups, the multi-block allocator's preallocation, `discard` (off
//! by default), lazy initialisation of the inode table.

mod journal;
mod layout;

use std::collections::{BTreeMap, BTreeSet};

use units::{Lpa, Nanos, SimTime};

use super::tree::{Ino, Inode};
use super::{Change, Core, FsError, Personality, WriteReason, read_units};
use crate::block::{Block, Disk, Io};
use journal::Journal;
use layout::{Layout, Meta};

/// Age at which the running transaction is committed.
const COMMIT_INTERVAL: Nanos = Nanos(5_000_000_000);
/// Age at which committed metadata is written in place (`vm.dirty_expire_centisecs`).
const CHECKPOINT_INTERVAL: Nanos = Nanos(30_000_000_000);
/// Distance between the starts of new files in blocks, so that files do not grow into each other.
const FILE_STRIDE: u32 = 512;

/// The running transaction.
#[derive(Clone, Default, Debug)]
struct Running {
    /// Changed pieces of metadata.
    changed: BTreeSet<Meta>,
    /// Files whose data can not be found without the transaction.
    needed: BTreeSet<Ino>,
    /// Files whose inodes are in the transaction.
    inodes: BTreeSet<Ino>,
    /// Blocks that the transaction frees.
    freed: Vec<Lpa>,
    /// Time at which the transaction began.
    since: Option<SimTime>,
}

/// ext4.
pub struct Ext4 {
    layout: Layout,
    journal: Journal,
    space: super::space::Space,
    running: Running,
    /// Committed metadata that is not in place yet.
    committed: BTreeMap<Lpa, Block>,
    /// Time of the oldest such metadata.
    committed_since: SimTime,
    /// Leaves as they were last committed.
    leaves: BTreeMap<Meta, Block>,
    next_start: Lpa,
}

/// Makes an empty volume.
pub fn format(disk: &mut dyn Disk, units: u32) -> Result<(), FsError> {
    if units < layout::MIN_UNITS {
        return Err(FsError::NoSpace("the volume is too small for ext4"));
    }
    let layout = Layout { units };
    let (tree, space) = (super::tree::Tree::default(), layout.space());
    let mut blocks: Vec<(Lpa, Block)> = vec![(Lpa(0), layout.superblock())];
    blocks.extend(layout.all().into_iter().map(|meta| (layout.place(meta), layout.encode(meta, &tree, &space))));
    blocks.push(Journal::new(layout.journal(), layout.journal_blocks(), 1).emptied());
    for (first, block) in blocks {
        disk.run(vec![Io::Write { first, blocks: vec![block], meta: true, barrier: false }])?;
    }
    disk.run(vec![Io::Flush])?;
    Ok(())
}

impl Ext4 {
    /// Replays the journal and reads all inodes.
    pub(super) fn mount(core: &mut Core) -> Result<Ext4, FsError> {
        let damaged = |what: &str| FsError::Damaged(format!("{what} can not be read"));
        let layout = Layout::from_superblock(&core.read(Lpa(0))?).ok_or_else(|| damaged("superblock"))?;
        let disk = &mut *core.disk;
        let one = |disk: &mut dyn Disk, lpa| read_units(disk, lpa, 1).map(|mut blocks| blocks.remove(0));
        let scanned = Journal::scan(layout.journal(), layout.journal_blocks(), |lpa| one(disk, lpa))?;
        let (mut journal, replayed) = scanned.ok_or_else(|| damaged("superblock of the journal"))?;
        let committed: BTreeMap<Lpa, Block> = replayed.into_iter().collect();
        let (tree, space) = layout.decode(|lpa| match committed.get(&lpa) {
            Some(block) => Ok(block.clone()),
            None => Ok(one(disk, lpa)?),
        })?;
        if !committed.is_empty() {
            core.write_meta(committed)?;
            let (lpa, block) = journal.emptied();
            core.write_barrier(lpa, block)?;
        }
        core.tree = tree;
        let now = core.disk.now();
        Ok(Ext4 {
            layout,
            journal,
            next_start: space.first(),
            space,
            running: Running::default(),
            committed: BTreeMap::new(),
            committed_since: now,
            leaves: BTreeMap::new(),
        })
    }

    fn note(&mut self, core: &Core, metas: impl IntoIterator<Item = Meta>) {
        self.running.since.get_or_insert(core.disk.now());
        self.running.changed.extend(metas);
    }

    fn note_inode(&mut self, core: &Core, ino: Ino, needed: bool) {
        self.note(core, [Layout::table_of(ino)]);
        self.running.inodes.insert(ino);
        if needed {
            self.running.needed.insert(ino);
        }
    }

    fn note_blocks(&mut self, core: &Core, blocks: &[Lpa]) {
        if !blocks.is_empty() {
            let bitmaps: BTreeSet<Meta> = blocks.iter().map(|&lpa| self.layout.bitmap_of(lpa)).collect();
            self.note(core, bitmaps);
            self.note(core, [Meta::Groups]);
        }
    }

    fn free(&mut self, core: &Core, blocks: Vec<Lpa>) {
        self.note_blocks(core, &blocks);
        self.running.freed.extend(blocks);
    }

    /// Leaves of changed files whose content has changed.
    fn changed_leaves(&mut self, core: &Core) -> Vec<(Lpa, Block)> {
        let mut changed = Vec::new();
        for &ino in &self.running.inodes {
            let Some(inode) = core.tree.inodes.get(&ino) else { continue };
            for n in 0..layout::leaves(layout::extents(inode).len()) {
                let meta = Meta::Leaf(ino, n);
                let block = self.layout.encode(meta, &core.tree, &self.space);
                if self.leaves.get(&meta) != Some(&block) {
                    self.leaves.insert(meta, block.clone());
                    changed.push((self.layout.place(meta), block));
                }
            }
        }
        changed
    }

    /// Commits the running transaction, if there is one.
    fn commit(&mut self, core: &mut Core) -> Result<(), FsError> {
        if self.running.since.is_none() {
            return Ok(());
        }
        // On disk the blocks are free from this commit on. Only then may they be used again.
        for lpa in std::mem::take(&mut self.running.freed) {
            self.space.give(lpa);
        }
        let mut blocks: Vec<(Lpa, Block)> = Vec::new();
        for &meta in &self.running.changed {
            blocks.push((self.layout.place(meta), self.layout.encode(meta, &core.tree, &self.space)));
        }
        blocks.extend(self.changed_leaves(core));
        self.running = Running::default();
        if !self.journal.has_room(blocks.len()) {
            self.checkpoint(core)?;
        }
        if self.committed.is_empty() {
            self.committed_since = core.disk.now();
        }
        let transaction = self.journal.append(&blocks);
        core.write_meta(transaction.body)?;
        core.write_barrier(transaction.commit.0, transaction.commit.1)?;
        self.committed.extend(blocks);
        Ok(())
    }

    /// Writes committed metadata in place, which empties the journal.
    fn checkpoint(&mut self, core: &mut Core) -> Result<(), FsError> {
        core.write_meta(std::mem::take(&mut self.committed))?;
        let (lpa, block) = self.journal.emptied();
        Ok(core.write_barrier(lpa, block)?)
    }
}

impl Personality for Ext4 {
    fn new_ino(&mut self, core: &Core) -> Result<Ino, FsError> {
        let free = (layout::FIRST_INO..layout::INODES).map(Ino).find(|ino| !core.tree.inodes.contains_key(ino));
        free.ok_or(FsError::NoSpace("all inodes are in use"))
    }

    fn changed(&mut self, core: &Core, ino: Ino, change: Change) {
        self.note_inode(core, ino, change != Change::Touched);
        if change == Change::Created {
            self.note(core, [Meta::Groups, Meta::InodeBitmap, Meta::Directory]);
        }
    }

    fn removed(&mut self, core: &Core, ino: Ino, inode: Inode) {
        self.leaves.retain(|meta, _| !matches!(meta, Meta::Leaf(of, _) if *of == ino));
        self.running.needed.remove(&ino);
        self.note(core, [Layout::table_of(ino), Meta::Groups, Meta::InodeBitmap, Meta::Directory]);
        self.free(core, inode.blocks.into_iter().flatten().collect());
    }

    fn cut(&mut self, core: &Core, ino: Ino, freed: Vec<Lpa>) {
        if !freed.is_empty() {
            self.note_inode(core, ino, true);
            self.free(core, freed);
        }
    }

    fn make_room(&mut self, core: &mut Core, blocks: usize) -> Result<(), FsError> {
        if self.space.free_units() < blocks && !self.running.freed.is_empty() {
            self.commit(core)?;
        }
        Ok(())
    }

    fn place(&mut self, core: &mut Core, ino: Ino, index: u32, _reason: WriteReason) -> Result<Lpa, FsError> {
        let inode = core.tree.inode(ino);
        if let Some(lpa) = inode.block(index) {
            return Ok(lpa);
        }
        let before = index.checked_sub(1).and_then(|before| inode.block(before));
        let goal = before.map_or(self.next_start, |lpa| lpa.offset(1));
        let lpa = self.space.take_near(goal).ok_or(FsError::NoSpace("no free block"))?;
        if before.is_none() {
            let next = self.next_start.0 + FILE_STRIDE;
            self.next_start = if next < self.layout.units { Lpa(next) } else { self.space.first() };
        }
        core.tree.inode_mut(ino).set_block(index, lpa);
        if !layout::fits(core.tree.inode(ino)) {
            return Err(FsError::NoSpace("the file is in too many pieces"));
        }
        self.note_blocks(core, &[lpa]);
        self.note_inode(core, ino, true);
        Ok(lpa)
    }

    fn data_sync(&mut self, core: &mut Core, ino: Ino) -> Result<(), FsError> {
        if self.running.needed.contains(&ino) { self.commit(core) } else { Ok(core.flush()?) }
    }

    fn sync_directory(&mut self, core: &mut Core) -> Result<(), FsError> {
        self.commit(core)
    }

    fn background(&mut self, core: &mut Core) -> Result<(), FsError> {
        let now = core.disk.now();
        if self.running.since.is_some_and(|since| now.since(since) >= COMMIT_INTERVAL) {
            self.commit(core)?;
        }
        if !self.committed.is_empty() && now.since(self.committed_since) >= CHECKPOINT_INTERVAL {
            self.checkpoint(core)?;
        }
        Ok(())
    }

    fn sync_all(&mut self, core: &mut Core) -> Result<(), FsError> {
        if self.running.since.is_none() {
            return Ok(core.flush()?);
        }
        self.commit(core)
    }
}

#[cfg(test)]
mod tests;
