//! The seat of a mapping scheme: what the engine asks it, and what it answers.

use ufs::{DataIn, DataOut, LpaRun, Op, Response, Status};
use units::{Lpa, Ppa, SegmentId, Seq, Superblock};

use crate::blocks::Stream;
use crate::config::DeviceConfig;
use crate::engine::core::Core;
use crate::gc::Victim;
use crate::map_units::{MapShape, MapUnits, UnitSet};
use crate::stats::DeviceStats;

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

/// Where a mapping scheme keeps the mapping that has been rebuilt after a power cut, and what has to be scanned for it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Table {
    /// In segments on flash; the log blocks that the record names are scanned. With `counted`, all segments are read
    /// once more for valid page counts.
    Segments,
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
    /// On this page. With `from_host` nothing but the host vouches for it.
    Page { ppa: Ppa, from_host: bool },
    /// Nowhere: reads as zeroes.
    Unmapped,
    /// Known only after this map unit was read from flash.
    Load(SegmentId),
    /// The mapping cache has no room for the entry: to be asked again after a map flush.
    NoRoom,
    /// The device has no mapping that is surely up to date.
    Unknown,
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

/// Answer to a metadata command.
#[derive(Debug)]
pub enum Answer {
    /// Done.
    Now(Status, DataIn),
    /// After these map units were read from flash; then [`Mapping::metadata_loaded`] is asked.
    AfterLoad(UnitSet),
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

/// A mapping scheme. `core` is lent for every decision; a scheme has no clock and no queue of its own.
pub trait Mapping: Sized {
    /// What the host may do.
    const HOST: HostRole = HostRole::None;

    /// Where the mapping is, once it has been rebuilt after a power cut.
    const TABLE: Table = Table::Segments;

    /// Has every address that is read or written to be looked up in a mapping cache? Then lookups of reads come one after
    /// another, as do those of writes ([`Mapping::admit`]), and a map unit that was read is not kept in the pool.
    const ON_DEMAND: bool = false;

    /// Can the scheme cache single entries instead of segments?
    const CACHES_ENTRIES: bool = false;

    /// What one piece of metadata holds of the table.
    fn map_shape(cfg: &DeviceConfig) -> MapShape {
        let _ = cfg;
        MapShape::SEGMENT
    }

    /// The whole table in such pieces.
    fn map_units(cfg: &DeviceConfig) -> MapUnits {
        MapUnits::new(cfg.capacity_units, Self::map_shape(cfg))
    }

    /// Entries of the log buffer.
    fn log_entries(cfg: &DeviceConfig) -> u16 {
        cfg.log.entries
    }

    /// State for a device fresh from the factory.
    fn new(core: &Core) -> Self;

    /// A command is about to start: takes note of what travels with every command, the latest change that the host
    /// has applied and a block that it knows to be empty.
    fn on_command(&mut self, core: &mut Core, host_seq: Seq, freed: Option<Superblock>) {
        let _ = (core, host_seq, freed);
    }

    /// Where a unit is that is not in the write buffer.
    fn resolve(&mut self, core: &mut Core, lpa: Lpa, host: HostSays) -> Resolved;

    /// Where a unit is whose segment has just been read from flash.
    fn resolve_loaded(&mut self, core: &mut Core, lpa: Lpa) -> Option<Ppa>;

    /// The unit of a read has just been resolved with the segment that was read for it.
    fn unit_loaded(&mut self, lpa: Lpa) {
        let _ = lpa;
    }

    /// With [`Mapping::ON_DEMAND`]: a write of this unit is about to be accepted. What had to be loaded for it goes through
    /// [`Mapping::resolve_loaded`], then this is asked again.
    fn admit(&mut self, core: &mut Core, lpa: Lpa) -> Admission {
        let _ = (core, lpa);
        Admission::Ready
    }

    /// Would the translation of this unit need no flash read now? Asked without any trace: neither counters nor the order
    /// of use may change. The write buffer is the firmware's to look at.
    fn cached(&self, core: &Core, lpa: Lpa) -> bool;

    /// Appends what the mapping cache holds, in any order, for a host that asks (MAP+ Sec. V-D). Each of these units is
    /// [`Mapping::cached`]; what needs no flash read for another reason is not listed. No more than
    /// [`ufs::MAX_CACHED_RUNS`] are sent.
    fn cached_runs(&self, core: &Core, runs: &mut Vec<LpaRun>);

    /// The host announces a batch that accesses these runs of one translation page (MAP+ Sec. V-B), inside the device and at
    /// least one. Gives the segment to read for it at once, if the scheme wants one. It need not be kept for any request:
    /// each is resolved as if nothing had been announced.
    fn batch(&mut self, core: &mut Core, runs: &[LpaRun], write: bool) -> Option<SegmentId> {
        let _ = (core, runs, write);
        None
    }

    /// Units that may still be submitted for programming.
    fn room(&self, core: &Core) -> usize;

    /// May a stream open another superblock?
    fn may_open(&mut self, core: &mut Core, stream: Stream) -> bool {
        let _ = (core, stream);
        true
    }

    /// A stream has opened a superblock.
    fn opened(&mut self, core: &mut Core, sb: Superblock) {
        let _ = (core, sb);
    }

    /// `n` units were submitted for programming in this superblock.
    fn placed(&mut self, sb: Superblock, n: u32) {
        let _ = (sb, n);
    }

    /// The program of `n` units of this superblock has failed; they will be placed elsewhere.
    fn unplaced(&mut self, sb: Superblock, n: u32) {
        let _ = (sb, n);
    }

    /// The program of a piece of metadata at `from` has failed; it goes to `to`.
    fn piece_moved(&mut self, piece: crate::meta::Piece, from: Ppa, to: Ppa) {
        let _ = (piece, from, to);
    }

    /// A change of this address is coming; a hint for the processor's caches.
    fn prefetch(&self, lpa: Lpa) {
        let _ = lpa;
    }

    /// A unit is on flash.
    fn committed(&mut self, core: &mut Core, unit: Commit);

    /// All units of a finished program of this superblock have been committed.
    fn program_done(&mut self, core: &mut Core, sb: Superblock) {
        let _ = (core, sb);
    }

    /// The host trimmed `n` units of one segment. They take `n` sequence numbers from `seq`.
    fn trimmed(&mut self, core: &mut Core, lpa: Lpa, n: u32, seq: Seq);

    /// A metadata command of this scheme's own protocol.
    fn metadata(&mut self, core: &mut Core, op: Op, data: DataOut, host_seq: Seq) -> Answer {
        let _ = (core, op, data, host_seq);
        Answer::Now(Status::InvalidField, DataIn::None)
    }

    /// The segment that a metadata command waited for has been read.
    fn metadata_loaded(&mut self, core: &mut Core, op: Op) -> DataIn {
        let _ = core;
        unreachable!("{op:?} never waits for a segment under this mapping scheme")
    }

    /// Adds what the scheme wants to tell the host to a response.
    fn respond(&mut self, core: &mut Core, response: &mut Response) {
        let _ = (core, response);
    }

    /// Must segments be written before work goes on?
    fn wants_flush(&self, core: &Core) -> bool {
        let _ = core;
        false
    }

    /// Goes on with a map flush, called when none of its operations is in flight. True when it is finished.
    fn flush(&mut self, core: &mut Core) -> bool {
        let _ = core;
        true
    }

    /// Is there anything to flush that nobody waits for?
    fn wants_idle_flush(&self) -> bool {
        false
    }

    /// The device has had nothing to do for a while: the map flush that begins is one that nobody waits for. It should end
    /// soon after [`Core::command_waits`] is true.
    fn begin_idle_flush(&mut self) {}

    /// Work that runs beside commands, e.g. programming a full row of segments. With `idle`, short rows too.
    fn background(&mut self, core: &mut Core, idle: bool) {
        let _ = (core, idle);
    }

    /// Does anything wait for [`Mapping::background`] with `idle`?
    fn waits_for_idle(&self) -> bool {
        false
    }

    /// SRAM buffers that the scheme may hold while the device is idle.
    fn held_map_buffers(&self) -> usize {
        0
    }

    /// A metadata program that was not part of a job is done.
    fn piece_programmed(&mut self, core: &mut Core, piece: crate::meta::Piece, ppa: Ppa) {
        let _ = core;
        unreachable!("piece {piece:?} at {ppa} was programmed outside a job")
    }

    /// May a GC step start now?
    fn gc_ready(&self, core: &Core) -> bool {
        let _ = core;
        true
    }

    /// A block to collect: `named` for wear levelling, else the one with the fewest valid pages. `None` if there is
    /// none, or if the host has to be asked first.
    fn victim(&mut self, core: &mut Core, named: Option<Superblock>) -> Option<Victim>;

    /// Appends up to `budget` valid pages of the victim to its list.
    fn search(&mut self, core: &mut Core, victim: &mut Victim, budget: usize) -> Search;

    /// A page of the victim was read: is it worth copying?
    fn still_valid(&self, core: &Core, lpa: Lpa, ppa: Ppa) -> bool;

    /// Everything valid in the victim has been copied.
    fn collected(&mut self, core: &mut Core, sb: Superblock);

    /// Host writes wait for a free superblock.
    fn starved(&mut self, core: &mut Core) {
        let _ = core;
    }

    /// Superblocks whose changes are not all in segments on flash, open ones included.
    fn log_blocks(&self, core: &Core) -> Vec<Superblock> {
        let _ = core;
        Vec::new()
    }

    /// The journal of trims is nearly full: brings trims into segments on flash.
    fn absorb_trims(&mut self, core: &mut Core);

    /// The power is gone. What this scheme was programming becomes the content of its pages, but for the pieces `lost`.
    fn on_power_loss(&mut self, core: &mut Core, lost: &[(crate::meta::Piece, Ppa)]) {
        let _ = (core, lost);
    }

    /// State after recovery: segments on flash hold the whole mapping, or `core.rebuilt` does for a table in DRAM.
    fn restored(core: &mut Core) -> Self;

    /// Bytes of SRAM in fixed tables, and of DRAM.
    fn table_bytes(&self, core: &Core) -> (u64, u64);

    /// Adds counters that only this scheme gives.
    fn report(&self, core: &Core, stats: &mut DeviceStats) {
        let _ = (core, stats);
    }
}
