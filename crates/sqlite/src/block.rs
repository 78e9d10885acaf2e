//! Blocks, block requests and disks.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use thiserror::Error;
use units::{Lpa, Nanos, SimTime, UNIT_BYTES};

/// Bytes of a block.
pub const BLOCK_BYTES: usize = UNIT_BYTES as usize;

/// Content of one unit. Page cache, requests and the record of versions share it; nobody changes it in place.
pub type Block = Arc<[u8; BLOCK_BYTES]>;

/// Content of a unit that was never written.
pub fn zeroes() -> Block {
    static ZEROES: LazyLock<Block> = LazyLock::new(|| Arc::new([0; BLOCK_BYTES]));
    ZEROES.clone()
}

/// One block request.
#[derive(Clone, Debug)]
pub enum Io {
    /// Reads `count` units.
    Read {
        /// First unit.
        first: Lpa,
        /// Number of units.
        count: u32,
    },
    /// Writes units from `first` on.
    Write {
        /// First unit.
        first: Lpa,
        /// New contents.
        blocks: Vec<Block>,
        /// True for file-system metadata.
        meta: bool,
        /// A flush goes before the write, and the data are durable at completion. Both file systems write the block
        /// that makes a transaction or a checkpoint valid in this way.
        barrier: bool,
    },
    /// Makes everything durable that has completed.
    Flush,
}

impl Io {
    /// True for a request that decides what is durable. It is alone in its batch.
    pub fn is_barrier(&self) -> bool {
        matches!(self, Io::Flush | Io::Write { barrier: true, .. })
    }
}

/// The disk is gone: the power was cut, or the run was interrupted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
#[error("the disk is gone")]
pub struct Halted;

/// A disk with a clock, as the file system sees it.
pub trait Disk {
    /// Executes all requests of the batch in parallel, and returns when they have completed. Gives the content of the
    /// units that were read, in the order of the batch. A barrier must be alone in its batch.
    ///
    /// # Errors
    /// If the disk is gone; then all later calls fail, too.
    fn run(&mut self, batch: Vec<Io>) -> Result<Vec<Block>, Halted>;

    /// Time now.
    fn now(&self) -> SimTime;

    /// Lets time pass without I/O.
    fn pass(&mut self, time: Nanos);
}

/// Contents of a disk at one moment. Units without an entry hold zeroes.
#[derive(Clone, Default, Debug)]
pub struct Image {
    blocks: BTreeMap<Lpa, Block>,
}

impl Image {
    /// Content of a unit.
    pub fn read(&self, lpa: Lpa) -> Block {
        self.blocks.get(&lpa).cloned().unwrap_or_else(zeroes)
    }

    /// Units that were written, and their contents.
    pub fn blocks(&self) -> impl Iterator<Item = (Lpa, &Block)> {
        self.blocks.iter().map(|(&lpa, block)| (lpa, block))
    }

    /// Replaces the content of a unit.
    pub fn write(&mut self, lpa: Lpa, block: Block) {
        self.blocks.insert(lpa, block);
    }
}

/// A disk on which nothing takes time and nothing is lost.
impl Disk for Image {
    fn run(&mut self, batch: Vec<Io>) -> Result<Vec<Block>, Halted> {
        let mut data = Vec::new();
        for io in batch {
            match io {
                Io::Read { first, count } => data.extend((0..count).map(|i| self.read(first.offset(i)))),
                Io::Write { first, blocks, .. } => {
                    for (i, block) in (0..).zip(blocks) {
                        self.write(first.offset(i), block);
                    }
                }
                Io::Flush => {}
            }
        }
        Ok(data)
    }

    fn now(&self) -> SimTime {
        SimTime::START
    }

    fn pass(&mut self, _time: Nanos) {}
}
