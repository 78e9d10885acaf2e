//! The purpose of every NAND operation in flight.

use crate::knowledge::JobRead;
use crate::sram::buffer::BufId;
use crate::table::directory::Piece;
use crate::table::map_units::UnitSet;
use nand::Spare;
use units::{Ppa, Seq, Superblock};

/// Units in the longest row that a profile may have.
pub const MAX_ROW: usize = 72;
/// Most items of one operation: four mapping segments of 1 KiB in each unit of the longest row.
pub const MAX_ITEMS: usize = 4 * MAX_ROW;

/// Why metadata is programmed.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ProgramReason {
    /// Nothing waits for the program.
    Background,
    /// A map flush waits for the program, beside commands or as a job that does other things meanwhile.
    Flush,
    /// The exclusive job waits for the program.
    Job,
    /// The exclusive job waits for the program, which moves a piece without changing it.
    Move,
}

impl ProgramReason {
    /// True if the exclusive job waits for the program.
    pub fn is_of_job(self) -> bool {
        matches!(self, ProgramReason::Job | ProgramReason::Move)
    }
}

/// Purpose of an operation.
#[derive(Clone, Copy, Hash, Debug)]
pub enum Purpose {
    /// Part of a read command: units `first..first + n` of the command, on consecutive addresses.
    HostRead { tag: u8, first: u32, ppa: Ppa, n: u32 },
    /// Write buffers `items[..n]` of the operation's slot, on consecutive pages from `ppa`, with sequence numbers from
    /// `seq`.
    HostProgram { ppa: Ppa, n: u32, seq: Seq },
    /// Copies `items[..n]`, as numbers of GC's stored pages; otherwise as above.
    GcProgram { ppa: Ppa, n: u32, seq: Seq },
    /// Some of these map units, for host reads.
    SegmentLoad { units: UnitSet },
    /// A read of a map flush or valid page search, or of a metadata GC.
    JobRead { read: JobRead },
    /// A read of a map flush that does other things meanwhile.
    FlushRead { place: Ppa },
    /// Read of the victim's pages by GC. Its SRAM buffers go back to the pool at once if the page is not copied.
    GcRead { ppa: Ppa, n: u32 },
    /// Metadata: pieces `items[..n]` of the operation's slot, laid out from `ppa` on by `Meta::placing`.
    MetaProgram { ppa: Ppa, n: u32, reason: ProgramReason },
    /// A row of a snapshot of the directory.
    Snapshot,
    /// Recovery reads `n` units.
    Recover { n: u32 },
    /// The erase of a superblock on one die.
    Erase { superblock: Superblock },
}

/// Lists in which a row is put together. They are empty between calls, and are kept for speed: new ones of the longest
/// row that a profile may have would push what is needed again out of the processor's cache.
#[cfg_attr(feature = "explore", derive(Clone, Hash))]
#[derive(Debug, Default)]
pub struct RowLists {
    /// Buffers, copies or pieces.
    pub items: Vec<u32>,
    /// Marks of metadata, by unit.
    pub marks: Vec<u32>,
    /// Spare areas, by unit.
    pub spares: Vec<Option<Spare>>,
}

/// One operation in flight.
#[derive(Clone, Copy, Debug)]
pub struct Slot<'a> {
    /// Its purpose.
    pub purpose: Purpose,
    /// Buffers, copies or pieces that it programs.
    pub items: &'a [u32; MAX_ITEMS],
}

/// Operations in flight, by token. Most have a purpose alone, so purposes lie together.
#[cfg_attr(feature = "explore", derive(Clone))]
#[derive(Debug, Default)]
pub struct Ops {
    purposes: Vec<Purpose>,
    items: Vec<[u32; MAX_ITEMS]>,
    free: Vec<u32>,
}

impl Ops {
    /// Takes a slot. The token names it until [`Ops::finish`].
    #[inline(always)]
    pub fn start(&mut self, purpose: Purpose, items: &[u32]) -> u32 {
        let token = self.free.pop().unwrap_or_else(|| self.one_more());
        self.purposes[token as usize] = purpose;
        if !items.is_empty() {
            self.items[token as usize][..items.len()].copy_from_slice(items);
        }
        token
    }

    #[cold]
    fn one_more(&mut self) -> u32 {
        self.purposes.push(Purpose::Snapshot);
        self.items.push([0; MAX_ITEMS]);
        self.items.len() as u32 - 1
    }

    /// The purpose of an operation.
    #[inline]
    pub fn purpose(&self, token: u32) -> Purpose {
        self.purposes[token as usize]
    }

    /// Item `i` of an operation.
    #[inline]
    pub fn item(&self, token: u32, i: u32) -> u32 {
        self.items[token as usize][i as usize]
    }

    /// Item `i` of an operation, as a write buffer.
    #[inline]
    pub fn buf(&self, token: u32, i: u32) -> BufId {
        self.item(token, i) as BufId
    }

    /// Item `i` of an operation, as a metadata piece.
    #[inline]
    pub fn piece(&self, token: u32, i: u32) -> Piece {
        Piece(self.item(token, i))
    }

    /// All operations in flight, for power cuts.
    pub fn in_flight(&self) -> impl Iterator<Item = (u32, Slot<'_>)> {
        let slots = self.purposes.iter().zip(&self.items).map(|(&purpose, items)| Slot { purpose, items });
        (0..).zip(slots).filter(|(token, _)| !self.free.contains(token))
    }

    /// The operation has ended; frees its slot.
    #[inline]
    pub fn finish(&mut self, token: u32) {
        self.free.push(token);
    }
}

/// The operations in flight, and the slots that later ones will take; those hold nothing.
#[cfg(feature = "explore")]
impl std::hash::Hash for Ops {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        for (token, Slot { purpose, items }) in self.in_flight() {
            let used = match purpose {
                Purpose::HostProgram { n, .. } | Purpose::GcProgram { n, .. } | Purpose::MetaProgram { n, .. } => n,
                _ => 0,
            };
            (token, purpose, &items[..used as usize]).hash(state);
        }
        self.free.hash(state);
    }
}
