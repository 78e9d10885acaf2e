//! What a scheme answers with, and what it is told.

use ufs::{DataIn, Protocol, Status};
use units::{Lpa, Ppa, SegmentId, Seq, Superblock};

use crate::engine::core::Core;
use crate::map_units::UnitSet;

/// What a host may do for a mapping scheme. Whatever else it sends is refused or not looked at.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HostRole {
    /// Nothing.
    None,
    /// It keeps entries that the device has sealed (HPB).
    KeepsEntries,
    /// It keeps the mapping, and writes segments back (HP-UFS): what stands in them is only as good as the host.
    KeepsMapping,
}

impl HostRole {
    /// What host and device speak for it.
    pub fn protocol(self) -> Protocol {
        match self {
            HostRole::None => Protocol::Plain,
            HostRole::KeepsEntries => Protocol::Hpb,
            HostRole::KeepsMapping => Protocol::HpUfs,
        }
    }
}

/// Where a mapping scheme keeps the mapping that has been rebuilt after a power cut, and what has to be scanned for it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Table {
    /// In segments on flash; the log blocks that the record names are scanned.
    Segments,
    /// The same, and all segments are read once more for valid page counts.
    CountedSegments,
    /// In DRAM: everything is scanned.
    Dram,
}

/// What the host said about the place of a unit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HostSays {
    /// Nothing, or nothing that may be believed.
    Nothing,
    /// It knows the unit to be unmapped.
    Unmapped,
    /// The unit is here.
    At(Ppa),
}

/// Where a unit is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Resolved {
    /// On this page.
    Page {
        /// The page.
        ppa: Ppa,
        /// True if nothing but the host vouches for it.
        from_host: bool,
    },
    /// Nowhere: reads as zeroes.
    Unmapped,
    /// Known only after this map unit was read from flash.
    Load(SegmentId),
    /// The mapping cache has no room for the entry: to be asked again after a map flush.
    NoRoom,
    /// The device has no mapping that is surely up to date.
    Unknown,
}

impl Resolved {
    /// What the device's own mapping says.
    #[inline(always)]
    pub fn own(ppa: Option<Ppa>) -> Resolved {
        match ppa {
            Some(ppa) => Resolved::Page { ppa, from_host: false },
            None => Resolved::Unmapped,
        }
    }
}

/// For whom a map unit was read from flash.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LoadedFor {
    /// A unit of a read.
    Read,
    /// A write that is about to be accepted, with [`Translate::ON_DEMAND`](super::Translate::ON_DEMAND).
    Write,
    /// A group of entries that the host keeps.
    Group,
}

/// Memory that the tables of a scheme take.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct MapMemory {
    /// Bytes of SRAM in fixed tables.
    pub sram: u64,
    /// Bytes of DRAM inside the device.
    pub dram: u64,
}

/// May a write be accepted?
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Admission {
    /// Yes: its entry is in SRAM and stays there until the unit has been committed.
    Ready,
    /// After this map unit was read from flash.
    Load(SegmentId),
    /// After a map flush: the mapping cache has no room for the entry.
    NoRoom,
}

/// A unit that is on flash now.
#[derive(Clone, Copy, Debug)]
pub struct Commit {
    /// Address.
    pub lpa: Lpa,
    /// Place.
    pub ppa: Ppa,
    /// Sequence number of the change.
    pub seq: Seq,
    /// For a copy: the block it came from.
    pub source: Option<Superblock>,
    /// For host data: no newer write or trim of the address was accepted meanwhile.
    pub newest: bool,
}

impl Commit {
    /// For a scheme that knows the present mapping of the address, `old`: true if the unit takes its place.
    #[inline]
    pub fn holds(&self, core: &Core, old: Option<Ppa>) -> bool {
        match self.source {
            // A newer write of the address may have been programmed first, on another die. While it is still in SRAM,
            // this page is what a power cut leaves.
            None => self.newest || core.is_buffered(self.lpa),
            // The host may have overwritten the unit while it was being copied.
            Some(source) => old.is_some_and(|ppa| core.superblock_of(ppa) == source),
        }
    }
}

/// Answer to a metadata command.
#[derive(Debug)]
pub enum Answer<A> {
    /// Done.
    Now(Status, DataIn),
    /// After these map units were read from flash; then
    /// [`HostProtocol::metadata_loaded`](super::HostProtocol::metadata_loaded) is asked for this.
    AfterLoad(UnitSet, A),
}

/// Result of a search for valid pages of the victim.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Search {
    /// Flash reads of the job are under way; search again when they are done.
    Reading,
    /// Pages were found; there may be more.
    Found,
    /// The victim holds no more.
    Exhausted,
}
