//! What is on a simulated disk: names, files and room. It knows neither processes nor faults.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use rustix::io::Errno;

use crate::{About, Sort};

/// Number of a file.
pub(crate) type Inode = u64;

/// Bytes that are kept together; between them a file may have holes.
const BLOCK: usize = 4096;

/// The disk.
#[derive(Debug, Default)]
pub(crate) struct Disk {
    names: BTreeMap<PathBuf, Inode>,
    inodes: BTreeMap<Inode, Node>,
    next: Inode,
    /// Bytes that can still be written; `None` for any number.
    pub room: Option<u64>,
}

/// A file, or what else may have a name.
#[derive(Debug)]
struct Node {
    sort: Sort,
    mode: u32,
    len: u64,
    blocks: BTreeMap<u64, Block>,
    named: bool,
    handles: u32,
    /// The handle that has its lock.
    holder: Option<u64>,
}

/// Bytes of a file. Of each block those up to the last one written take room.
#[derive(Debug)]
struct Block {
    bytes: Box<[u8; BLOCK]>,
    used: usize,
}

impl Disk {
    /// What has a name.
    pub fn find(&self, path: &Path) -> io::Result<Inode> {
        self.names.get(path).copied().ok_or(Errno::NOENT.into())
    }

    /// All names.
    pub fn names(&self) -> impl Iterator<Item = &PathBuf> {
        self.names.keys()
    }

    /// What a file is.
    pub fn about(&self, inode: Inode) -> About {
        let node = &self.inodes[&inode];
        About { sort: node.sort, len: node.len, mode: node.mode, identity: (1, inode) }
    }

    /// Makes something new.
    pub fn make(&mut self, path: &Path, sort: Sort, mode: u32) -> io::Result<Inode> {
        self.has_parent(path)?;
        if self.names.contains_key(path) {
            return Err(Errno::EXIST.into());
        }
        let inode = self.next;
        self.next += 1;
        self.names.insert(path.into(), inode);
        let node = Node { sort, mode, len: 0, blocks: BTreeMap::new(), named: true, handles: 0, holder: None };
        self.inodes.insert(inode, node);
        Ok(inode)
    }

    fn has_parent(&self, path: &Path) -> io::Result<()> {
        let Some(parent) = path.parent().filter(|parent| parent.parent().is_some()) else { return Ok(()) };
        match self.about(self.find(parent)?).sort {
            Sort::Directory => Ok(()),
            _ => Err(Errno::NOTDIR.into()),
        }
    }

    /// Gives a file another name; what has it, loses it.
    pub fn rename(&mut self, from: &Path, to: &Path) -> io::Result<()> {
        let inode = self.find(from)?;
        self.has_parent(to)?;
        let over = self.find(to).ok();
        if [Some(inode), over].into_iter().flatten().any(|one| self.about(one).sort == Sort::Directory) {
            return Err(Errno::ISDIR.into());
        }
        if over == Some(inode) {
            return Ok(());
        }
        if over.is_some() {
            self.remove(to)?;
        }
        self.names.remove(from);
        self.names.insert(to.into(), inode);
        Ok(())
    }

    /// Takes a name away.
    pub fn remove(&mut self, path: &Path) -> io::Result<()> {
        let inode = self.find(path)?;
        if self.about(inode).sort == Sort::Directory {
            return Err(Errno::ISDIR.into());
        }
        self.names.remove(path);
        self.node(inode).named = false;
        self.forget(inode);
        Ok(())
    }

    /// Someone has opened a file.
    pub fn opened(&mut self, inode: Inode) {
        self.node(inode).handles += 1;
    }

    /// A handle is dropped, and what it holds.
    pub fn closed(&mut self, inode: Inode, handle: u64) {
        let node = self.node(inode);
        node.handles -= 1;
        node.holder = node.holder.filter(|&holder| holder != handle);
        self.forget(inode);
    }

    /// All handles are dropped.
    pub fn all_closed(&mut self) {
        for inode in self.inodes.keys().copied().collect::<Vec<_>>() {
            let node = self.node(inode);
            (node.handles, node.holder) = (0, None);
            self.forget(inode);
        }
    }

    /// Gives a file's lock to a handle; false if another has it.
    pub fn lock(&mut self, inode: Inode, handle: u64) -> bool {
        *self.node(inode).holder.get_or_insert(handle) == handle
    }

    /// Frees a file without name and handles.
    fn forget(&mut self, inode: Inode) {
        let node = self.node(inode);
        if !node.named && node.handles == 0 {
            self.cut(inode, 0);
            self.inodes.remove(&inode);
        }
    }

    /// Reads bytes.
    pub fn read(&self, inode: Inode, bytes: &mut [u8], at: u64) -> io::Result<()> {
        let node = &self.inodes[&inode];
        if at.checked_add(bytes.len() as u64).is_none_or(|end| end > node.len) {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let mut rest = bytes;
        for (block, from, count) in pieces(at, rest.len()) {
            let (piece, behind) = rest.split_at_mut(count);
            match node.blocks.get(&block) {
                Some(block) => piece.copy_from_slice(&block.bytes[from..from + count]),
                None => piece.fill(0),
            }
            rest = behind;
        }
        Ok(())
    }

    /// Writes bytes as far as there is room.
    pub fn write(&mut self, inode: Inode, bytes: &[u8], at: u64) -> io::Result<()> {
        let mut rest = bytes;
        let mut end = at;
        let node = self.inodes.get_mut(&inode).expect("an open file is there");
        for (block, from, count) in pieces(at, bytes.len()) {
            let used = node.blocks.get(&block).map_or(0, |block| block.used);
            let left = self.room.map_or(count, |room| {
                // What lies below the last byte of the block costs nothing.
                usize::try_from(room).unwrap_or(usize::MAX).saturating_add(used).saturating_sub(from).min(count)
            });
            if left > 0 {
                let kept = node.blocks.entry(block).or_insert_with(|| Block { bytes: Box::new([0; BLOCK]), used: 0 });
                kept.bytes[from..from + left].copy_from_slice(&rest[..left]);
                kept.used = used.max(from + left);
                self.room = self.room.map(|room| room - (kept.used - used) as u64);
                end += left as u64;
                node.len = node.len.max(end);
            }
            if left < count {
                return Err(Errno::NOSPC.into());
            }
            rest = &rest[count..];
        }
        Ok(())
    }

    /// Sets the length of a file; what is cut off gives its room back.
    pub fn cut(&mut self, inode: Inode, len: u64) {
        let node = self.inodes.get_mut(&inode).expect("an open file is there");
        node.len = len;
        let (last, within) = (len / BLOCK as u64, (len % BLOCK as u64) as usize);
        let mut freed = 0;
        if let Some(block) = node.blocks.get_mut(&last) {
            block.bytes[within..].fill(0);
            freed += block.used.saturating_sub(within);
            block.used = block.used.min(within);
        }
        let first = if within == 0 { last } else { last + 1 };
        freed += node.blocks.split_off(&first).values().map(|block| block.used).sum::<usize>();
        self.room = self.room.map(|room| room + freed as u64);
    }

    fn node(&mut self, inode: Inode) -> &mut Node {
        self.inodes.get_mut(&inode).expect("a file with a name or a handle is there")
    }
}

/// The parts of a range within each block: block, place in it, bytes.
fn pieces(at: u64, len: usize) -> impl Iterator<Item = (u64, usize, usize)> {
    let mut done = 0;
    std::iter::from_fn(move || {
        let place = at + done as u64;
        let from = (place % BLOCK as u64) as usize;
        let count = (BLOCK - from).min(len - done);
        done += count;
        (count > 0).then_some((place / BLOCK as u64, from, count))
    })
}
