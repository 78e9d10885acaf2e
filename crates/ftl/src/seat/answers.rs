//! What the engine tells a scheme, and what the scheme answers.

use ufs::{DataIn, Protocol, Status};
use units::{Lpa, MapUnit, Ppa, Seq, Superblock};

use crate::core::Core;
use crate::table::map_units::UnitSet;

/// What a host may do for a mapping scheme. The device refuses or ignores everything else that the host sends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HostRole {
    /// Nothing.
    None,
    /// It keeps entries that the device has sealed (HPB).
    KeepsEntries,
    /// It keeps the mapping, and writes segments back (HP-UFS). The device has to trust their content.
    KeepsMapping,
}

impl HostRole {
    /// The protocol that host and device speak in this role.
    pub fn protocol(self) -> Protocol {
        match self {
            HostRole::None => Protocol::Plain,
            HostRole::KeepsEntries => Protocol::Hpb,
            HostRole::KeepsMapping => Protocol::HpUfs,
        }
    }
}

/// Where a mapping scheme keeps the mapping that recovery has rebuilt, and what recovery scans for it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Table {
    /// In segments on flash; the log blocks that the record names are scanned.
    Segments,
    /// In segments on flash, like [`Table::Segments`]. All segments are read once more for valid page counts.
    CountedSegments,
    /// In DRAM: everything is scanned.
    Dram,
}

/// The place of a unit according to the host.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HostSays {
    /// The host named no place, or the device may not trust the one it named.
    Nothing,
    /// The host knows the unit to be unmapped.
    Unmapped,
    /// The unit is here.
    At(Ppa),
}

/// The place of a unit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Resolved {
    /// On this page.
    Page {
        /// The page.
        ppa: Ppa,
        /// True if only the host says so.
        from_host: bool,
    },
    /// The unit is not mapped; it reads as zeroes.
    Unmapped,
    /// The map unit that has to be read from flash first.
    Load(MapUnit),
    /// The mapping cache has no room for the entry. The engine asks again after a map flush.
    NoRoom,
    /// The device has no mapping that is certainly up to date.
    Unknown,
}

impl Resolved {
    /// The place according to the device's own mapping.
    #[inline(always)]
    pub fn own(ppa: Option<Ppa>) -> Resolved {
        match ppa {
            Some(ppa) => Resolved::Page { ppa, from_host: false },
            None => Resolved::Unmapped,
        }
    }
}

/// Why a map unit was read from flash.
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
    /// Bytes of SRAM in a cache that is the scheme's own: not that of segments, which lies in the pool.
    pub cache: u64,
    /// Bytes of DRAM inside the device.
    pub dram: u64,
}

/// Whether a write may be accepted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Admission {
    /// Yes: its entry is in SRAM and stays there until the unit has been committed.
    Ready,
    /// Not before this map unit has been read from flash.
    Load(MapUnit),
    /// Not before a map flush: the mapping cache has no room for the entry.
    NoRoom,
}

/// A unit whose program is done.
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
    /// For host data: a newer write of the address is on flash already, or a trim was accepted meanwhile.
    pub overtaken: bool,
}

impl Commit {
    /// True if this unit becomes the mapping of its address. `old` is the present mapping of the address.
    #[inline]
    pub fn holds(&self, core: &Core, old: Option<Ppa>) -> bool {
        match self.source {
            // Another die may have programmed a newer write of the address first. If the newer write is still in SRAM,
            // a power cut leaves this page as the newest, unless one between the two is on flash.
            None => !self.overtaken && (self.newest || core.is_buffered(self.lpa)),
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
    /// The answer needs these map units from flash. When they have been read, the engine calls
    /// [`HostProtocol::metadata_loaded`](super::HostProtocol::metadata_loaded) with the second field.
    AfterLoad(UnitSet, A),
}

/// Result of a search for valid pages of the victim.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Search {
    /// Flash reads of the job are under way; the engine calls again when they are done.
    Reading,
    /// The list has valid pages to copy; the victim may hold more.
    Found,
    /// The victim holds no more valid pages.
    Exhausted,
}
