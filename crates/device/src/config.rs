//! What a device profile decides about the firmware.

use nand::{Faults, Geometry, Timing};
use units::Nanos;

/// Everything that makes one device. Built from a profile; the reader of the profile checks the ranges.
#[derive(Clone, Debug)]
pub struct DeviceConfig {
    /// Shape of the flash.
    pub geometry: Geometry,
    /// Cell and channel times.
    pub timing: Timing,
    /// Addressable capacity in 4 KiB units.
    pub capacity_units: u32,
    /// Time the firmware's one thread spends on a command.
    pub command_cost: Nanos,
    /// Write buffer data that has waited this long is programmed even if its row is not full.
    pub idle_flush: Nanos,
    /// Writes are acknowledged only after their program, as with FUA.
    pub write_through: bool,
    /// The shared pool.
    pub sram: SramConfig,
    /// `segment-log` and `hp-ufs`: bytes of the parts that an L2P segment is written in, 1024, 2048 or 4096 (MSFTL Sec.
    /// 3.1).
    pub map_segment_bytes: u32,
    /// The cached mapping table of `dftl` and `cdftl`.
    pub cmt: CmtConfig,
    /// The mapping flush of `base-dftl`, `mini-page` and `msftl`.
    pub msftl: MsftlConfig,
    /// The L2P log buffer.
    pub log: LogConfig,
    /// Garbage collection.
    pub gc: GcConfig,
    /// Wear levelling starts when erase counts differ by more than this.
    pub wear_spread: u32,
    /// Entries published to an HPB host.
    pub hpb: HpbConfig,
    /// Flash operations that fail.
    pub faults: Faults,
    /// Test support: a promise to break.
    pub sabotage: Option<Sabotage>,
}

/// Promises that a device can be made to break, so that whoever checks them can show that he would notice.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sabotage {
    /// A flush is answered at once.
    FlushAtOnce,
    /// A FUA write is answered when it is accepted.
    FuaAtOnce,
    /// Trims are not journaled.
    ForgetTrims,
    /// A superblock that is opened is not recorded as a log block.
    ForgetLogBlock,
    /// Recovery takes the page that was programmed last, whatever version it holds.
    LastPageWins,
    /// Recovery does not write the segments that it has changed.
    ForgetRecovered,
    /// A unit that was half written when the power went passes for whole.
    TrustTorn,
}

impl Sabotage {
    /// All of them, with their names.
    pub const ALL: [(&str, Sabotage); 7] = [
        ("flush-at-once", Sabotage::FlushAtOnce),
        ("fua-at-once", Sabotage::FuaAtOnce),
        ("forget-trims", Sabotage::ForgetTrims),
        ("forget-log-block", Sabotage::ForgetLogBlock),
        ("last-page-wins", Sabotage::LastPageWins),
        ("forget-recovered", Sabotage::ForgetRecovered),
        ("trust-torn", Sabotage::TrustTorn),
    ];
}

/// The shared SRAM pool, in buffers of 4 KiB.
#[derive(Clone, Copy, Debug)]
pub struct SramConfig {
    /// All buffers.
    pub pool: u16,
    /// At most this many hold L2P segments.
    pub segment_cache: u16,
    /// Host data may never take the last buffers: a map flush, a segment read or a GC step would wait for ever. Reads
    /// may take half of them.
    pub reserve: u16,
    /// `segment-log`: the buffers for segments hold single entries instead.
    pub entries: bool,
}

/// The cached mapping table of `dftl` and `cdftl`.
#[derive(Clone, Copy, Debug)]
pub struct CmtConfig {
    /// SRAM for it in bytes. As large as the whole table or larger: nothing is ever evicted.
    pub cache_bytes: u64,
    /// Size of an entry, 4 or 8 bytes; a translation page of 4 KiB holds as many as fit.
    pub entry_bytes: u32,
    /// Dirty entries are written back after this time without commands; `None` = never.
    pub background: Option<Nanos>,
}

impl CmtConfig {
    /// Entries of a translation page.
    pub fn page_entries(&self) -> u32 {
        units::UNIT_BYTES as u32 / self.entry_bytes
    }
}

/// The mapping flush of `base-dftl`, `mini-page` and `msftl`.
#[derive(Clone, Copy, Debug)]
pub struct MsftlConfig {
    /// `base-dftl`: bytes of a translation page, 4096, 8192 or 16,384.
    pub page_bytes: u32,
    /// `msftl`: bytes of a mapping segment, 1024 or 2048.
    pub segment_bytes: u32,
    /// Units of user and GC data from one mapping flush to the next.
    pub flush_units: u32,
}

/// The L2P log buffer and the log blocks.
#[derive(Clone, Copy, Debug)]
pub struct LogConfig {
    /// Capacity in entries of 16 bytes.
    pub entries: u16,
    /// `segment-log`: a map flush starts above this many entries.
    pub flush_above: u16,
    /// `hp-ufs`: more entries than this not yet handed to the host raise the multi-entry hint.
    pub handover_above: u16,
    /// `hp-ufs`: no GC step while the log holds this many entries.
    pub gc_pause_at: u16,
    /// `hp-ufs`: superblocks whose mappings may be missing from flash (HP-UFS Sec. III-G).
    pub max_log_blocks: u8,
}

/// What a written unit pays for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum GcPace {
    /// A searched unit, as in the HP-UFS authors' prototype.
    Searched,
    /// A gained unit.
    Gained,
}

impl GcPace {
    /// All of them.
    pub const ALL: [GcPace; 2] = [GcPace::Searched, GcPace::Gained];

    /// The names by which they are chosen.
    pub fn name(self) -> &'static str {
        match self {
            GcPace::Searched => "searched",
            GcPace::Gained => "gained",
        }
    }

    /// The pace of this name.
    pub fn from_name(name: &str) -> Option<GcPace> {
        GcPace::ALL.into_iter().find(|pace| pace.name() == name)
    }
}

/// Garbage collection pacing; all counts are free superblocks.
#[derive(Clone, Copy, Debug)]
pub struct GcConfig {
    /// What a written unit pays for.
    pub pace: GcPace,
    /// GC starts below this.
    pub start: u32,
    /// Above this a searched page repays three times what it does at or below `hurried`, between the two twice.
    pub relaxed: u32,
    /// At or below this a searched page repays what [`GcPace`] says.
    pub hurried: u32,
    /// At or below this host writes wait and GC runs without pacing.
    pub reserve: u32,
    /// [`GcPace::Searched`]: written units that earn one step. [`GcPace::Gained`]: units that one step copies at most,
    /// at least a row.
    pub units_per_step: u32,
}

/// HPB on the device's side.
#[derive(Clone, Copy, Debug)]
pub struct HpbConfig {
    /// L2P entries per group.
    pub group_entries: u32,
    /// Groups whose changes can be delivered entry by entry; others must be read again as a whole.
    pub tracked_groups: u16,
    /// Changed entries that may wait for a response to carry them.
    pub pending_entries: u16,
    /// Time that the firmware takes to make or check a seal.
    pub seal_cost: Nanos,
    /// HPB 2.0: groups (subregions) in a region.
    pub region_groups: u32,
    /// HPB 2.0: longest HPB READ in units, as the host is told.
    pub max_blocks: u8,
    /// HPB 2.0, device control mode: map reads for a subregion after which it is recommended; `None` in host control
    /// mode.
    pub recommend_after: Option<u8>,
    /// HPB 2.0, device control mode: regions that the host may keep.
    pub max_active_regions: u16,
    /// Key of this boot for sealing entries.
    pub key: [u64; 2],
}
