//! What every NAND operation in flight is for.

use crate::buffer::BufId;
use crate::directory::Piece;
use crate::knowledge::JobRead;
use crate::map_units::UnitSet;
use units::{Ppa, Seq, Superblock};

/// Units in the longest row that a profile may have.
pub const MAX_ROW: usize = 32;
/// Most that one operation carries: four mapping segments of 1 KiB in each unit of the longest row.
pub const MAX_ITEMS: usize = 4 * MAX_ROW;

/// For whom metadata is programmed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ProgramReason {
    /// Nobody waits.
    Background,
    /// The exclusive job waits.
    Job,
    /// The exclusive job waits; the content is what it was, in another place.
    Move,
}

/// Purpose of an operation.
#[derive(Clone, Copy, Debug)]
pub enum Purpose {
    /// Part of a read command: units `first..first + n` of the command, on consecutive addresses.
    HostRead { tag: u8, first: u32, ppa: Ppa, n: u32 },
    /// Write buffers `bufs[..n]` of the operation's slot, on consecutive addresses from `ppa`, numbered from `seq`.
    HostProgram { ppa: Ppa, n: u32, seq: Seq },
    /// Copies `bufs[..n]`: indices of the GC's page table, as above.
    GcProgram { ppa: Ppa, n: u32, seq: Seq },
    /// Some of these map units, for host reads.
    SegmentLoad { units: UnitSet },
    /// A read of a map flush or valid page search, or of a metadata GC.
    JobRead { read: JobRead },
    /// As above, and its SRAM buffer goes back to the pool at once.
    GcRead { ppa: Ppa, n: u32 },
    /// Metadata: pieces `pieces[..n]` of the operation's slot, laid out from `ppa` on as `Meta::placing` says.
    MetaProgram { ppa: Ppa, n: u32, reason: ProgramReason },
    /// A row of a snapshot of the directory.
    Snapshot,
    /// Recovery reads `n` units.
    Recover { n: u32 },
    /// One die's share of erasing a superblock.
    Erase { superblock: Superblock },
}

/// One operation in flight.
#[derive(Clone, Copy, Debug)]
pub struct Slot {
    /// What for.
    pub purpose: Purpose,
    /// Buffers or pieces that it carries.
    pub items: [u32; MAX_ITEMS],
}

/// Operations in flight, by token.
#[derive(Debug, Default)]
pub struct Ops {
    slots: Vec<Slot>,
    free: Vec<u32>,
}

impl Ops {
    /// Takes a slot; the token names it until [`Ops::finish`].
    #[inline]
    pub fn start(&mut self, purpose: Purpose, items: &[u32]) -> u32 {
        let token = match self.free.pop() {
            Some(token) => token,
            None => {
                self.slots.push(Slot { purpose, items: [0; MAX_ITEMS] });
                self.slots.len() as u32 - 1
            }
        };
        let slot = &mut self.slots[token as usize];
        slot.purpose = purpose;
        slot.items[..items.len()].copy_from_slice(items);
        token
    }

    /// What the operation was for, without copying what it carries.
    #[inline]
    pub fn purpose(&self, token: u32) -> Purpose {
        self.slots[token as usize].purpose
    }

    /// Carried item `i`.
    #[inline]
    pub fn item(&self, token: u32, i: u32) -> u32 {
        self.slots[token as usize].items[i as usize]
    }

    /// Carried write buffer `i`.
    #[inline]
    pub fn buf(&self, token: u32, i: u32) -> BufId {
        self.item(token, i) as BufId
    }

    /// Carried metadata piece `i`.
    #[inline]
    pub fn piece(&self, token: u32, i: u32) -> Piece {
        Piece(self.item(token, i))
    }

    /// Operations that were in flight at a power cut.
    pub fn in_flight(&self) -> impl Iterator<Item = (u32, &Slot)> {
        let tokens = (0..self.slots.len() as u32).filter(|token| !self.free.contains(token));
        tokens.map(|token| (token, &self.slots[token as usize]))
    }

    /// The operation is over.
    #[inline]
    pub fn finish(&mut self, token: u32) {
        self.free.push(token);
    }
}
