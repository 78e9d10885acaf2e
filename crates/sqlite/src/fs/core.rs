//! Shared code of all file systems: a disk with a cache and a tree of files, errors, and the trait [`Personality`].

use thiserror::Error;
use units::Lpa;

use super::cache::PageCache;
use super::tree::{Ino, Inode, Tree};
use crate::block::{Block, Disk, Halted, Io};

/// Most pages of one request: 512 KiB, the usual limit of one UFS command.
const REQUEST_UNITS: usize = 128;
/// Longest name of a file. It has to fit a directory entry of either kind.
pub const NAME_BYTES: usize = 55;

/// Error of a file operation.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum FsError {
    /// The disk is gone.
    #[error(transparent)]
    Halted(#[from] Halted),
    /// No space, inode or room in the directory is left.
    #[error("no space left: {0}")]
    NoSpace(&'static str),
    /// There is no file of this name.
    #[error("no such file")]
    NotFound,
    /// The content of the disk is inconsistent.
    #[error("the file system is damaged: {0}")]
    Damaged(String),
}

/// Why pages are written. F2FS chooses their place by it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WriteReason {
    /// `fdatasync`.
    DataSync,
    /// Write-back, for which nobody waits.
    WriteBack,
}

/// A change of a file in memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Change {
    /// The file is new.
    Created,
    /// Its length on disk has changed.
    Resized,
    /// Its times have changed.
    Touched,
}

/// The state that a personality works with.
pub(crate) struct Core {
    pub disk: Box<dyn Disk>,
    pub cache: PageCache,
    pub tree: Tree,
}

impl Core {
    /// Writes metadata blocks, and waits. Neighbours share a request.
    pub fn write_meta(&mut self, blocks: impl IntoIterator<Item = (Lpa, Block)>) -> Result<(), Halted> {
        self.write(blocks, true)
    }

    /// Writes blocks, and waits. Neighbours share a request.
    pub fn write(&mut self, blocks: impl IntoIterator<Item = (Lpa, Block)>, meta: bool) -> Result<(), Halted> {
        let mut batch: Vec<Io> = Vec::new();
        for (lpa, block) in blocks {
            match batch.last_mut() {
                Some(Io::Write { first, blocks, .. })
                    if blocks.len() < REQUEST_UNITS && first.0 + blocks.len() as u32 == lpa.0 =>
                {
                    blocks.push(block);
                }
                _ => batch.push(Io::Write { first: lpa, blocks: vec![block], meta, barrier: false }),
            }
        }
        if batch.is_empty() {
            return Ok(());
        }
        self.disk.run(batch).map(drop)
    }

    /// Writes one block with a flush before it. The block is durable at completion.
    pub fn write_barrier(&mut self, lpa: Lpa, block: Block) -> Result<(), Halted> {
        self.disk.run(vec![Io::Write { first: lpa, blocks: vec![block], meta: true, barrier: true }]).map(drop)
    }

    /// A flush.
    pub fn flush(&mut self) -> Result<(), Halted> {
        self.disk.run(vec![Io::Flush]).map(drop)
    }

    /// Reads one unit.
    pub fn read(&mut self, lpa: Lpa) -> Result<Block, Halted> {
        read_units(&mut *self.disk, lpa, 1).map(|mut blocks| blocks.remove(0))
    }
}

/// Reads consecutive units.
pub(crate) fn read_units(disk: &mut dyn Disk, first: Lpa, count: u32) -> Result<Vec<Block>, Halted> {
    disk.run(vec![Io::Read { first, count }])
}

/// One kind of file system.
pub(crate) trait Personality {
    /// A number for a new file.
    fn new_ino(&mut self, core: &Core) -> Result<Ino, FsError>;

    /// A file has changed in memory.
    fn changed(&mut self, core: &Core, ino: Ino, change: Change);

    /// A file has been removed. Its blocks are not in use any more.
    fn removed(&mut self, core: &Core, ino: Ino, inode: Inode);

    /// A file's length has changed. These blocks are not in use any more.
    fn cut(&mut self, core: &Core, ino: Ino, freed: Vec<Lpa>);

    /// Makes sure that `blocks` blocks can be placed.
    fn make_room(&mut self, core: &mut Core, blocks: usize) -> Result<(), FsError>;

    /// Chooses the place to which a dirty page is written, and stores it in the inode.
    fn place(&mut self, core: &mut Core, ino: Ino, index: u32, reason: WriteReason) -> Result<Lpa, FsError>;

    /// Completes `fdatasync` after the file's data have been written.
    fn data_sync(&mut self, core: &mut Core, ino: Ino) -> Result<(), FsError>;

    /// `fsync` of the directory.
    fn sync_directory(&mut self, core: &mut Core) -> Result<(), FsError>;

    /// Does the periodic work of the kernel.
    fn background(&mut self, core: &mut Core) -> Result<(), FsError>;

    /// Makes everything durable.
    fn sync_all(&mut self, core: &mut Core) -> Result<(), FsError>;
}
