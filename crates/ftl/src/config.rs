//! Configuration of the firmware, and the keys of a device profile that give it.

use nand::{Faults, Geometry, Timing};
use params::ParamError;
use ufs::{VictimPolicy, Victims};
use units::{Nanos, UNIT_BYTES, UNIT_KIB};

use crate::sabotage::Sabotage;
use crate::slc_config::SlcConfig;
use crate::write_path::WritePathConfig;

params::params! {
    /// The firmware's one thread.
    pub FirmwareParams {
        /// Time spent on each command.
        command_ns: count(0 to 1000000);
        /// Buffered write data that has waited this long is programmed even if its row is not full.
        idle_flush_us: count(10 to 10000000);
    }
}

params::params! {
    /// Wear levelling.
    pub WearParams {
        /// Starts when erase counts differ by more than this.
        spread_erases: count(2 to 1000000);
        /// Read disturb: a superblock is copied elsewhere (refreshed) when one of its blocks has been read more often
        /// than this since its erase. "never": however often it is read.
        refresh_reads: count_or("never" 1 to 1000000000) = "never", "as in the papers: reads do no harm";
        /// Erases that a data superblock lasts, as the device health descriptor and WriteBooster's life time reckon;
        /// erases in SLC mode count alike. "unknown": these tell nothing.
        data_endurance_erases: count_or("unknown" 1 to 10000000) = "unknown", "no data sheet of a phone's device tells";
        /// The same of a metadata superblock, which is always in SLC mode.
        meta_endurance_erases: count_or("unknown" 1 to 10000000) = "unknown", "no data sheet of a phone's device tells";
    }
}

impl WearParams {
    /// What superblocks last.
    pub fn endurance(&self) -> Endurance {
        Endurance { data: self.data_endurance_erases.count(), metadata: self.meta_endurance_erases.count() }
    }
}

/// Erases that a superblock lasts; `None` = unknown. Nothing fails because of them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Endurance {
    /// A data superblock.
    pub data: Option<u32>,
    /// A metadata superblock.
    pub metadata: Option<u32>,
}

/// Everything that makes one device. It is built from a profile, whose reader checks the ranges. `P` is the type of the
/// parameters of mapping schemes: of all schemes outside the device, none inside, where a scheme is handed its own.
#[derive(Clone, Debug)]
pub struct Config<P> {
    /// Shape of the flash.
    pub geometry: Geometry,
    /// Cell and channel times.
    pub timing: Timing,
    /// Addressable capacity in 4 KiB units.
    pub capacity_units: u32,
    /// Time the firmware's one thread spends on a command.
    pub command_cost: Nanos,
    /// Data in the write buffer that has waited for this long is programmed even if its row is not full.
    pub idle_flush: Nanos,
    /// Writes are acknowledged only after their program, as with FUA.
    pub write_through: bool,
    /// What the write path takes besides flash operations.
    pub write_path: WritePathConfig,
    /// The shared pool.
    pub sram: SramConfig,
    /// Parameters of the mapping schemes.
    pub mappings: P,
    /// The L2P log buffer.
    pub log: LogConfig,
    /// Garbage collection.
    pub gc: GcConfig,
    /// The write cache in SLC mode.
    pub slc: SlcConfig,
    /// Wear levelling starts when erase counts differ by more than this.
    pub wear_spread: u32,
    /// A superblock is refreshed when a block of it has been read more often than this; `None` = never.
    pub refresh_reads: Option<u32>,
    /// Erases that superblocks last, for reports to the host.
    pub endurance: Endurance,
    /// Commands that the host may have in flight.
    pub host_tags: u16,
    /// Key of this boot for sealing the entries that are published to a host (HPB).
    pub seal_key: [u64; 2],
    /// Flash operations that fail.
    pub faults: Faults,
    /// For tests: a promise that the device breaks.
    pub sabotage: Option<Sabotage>,
}

/// The part of the configuration that no mapping scheme decides.
pub type EngineConfig = Config<()>;

impl<P> Config<P> {
    /// The part of the configuration that no mapping scheme decides.
    pub fn engine(&self) -> EngineConfig {
        Config {
            geometry: self.geometry,
            timing: self.timing,
            capacity_units: self.capacity_units,
            command_cost: self.command_cost,
            idle_flush: self.idle_flush,
            write_through: self.write_through,
            write_path: self.write_path,
            sram: self.sram,
            mappings: (),
            log: self.log,
            gc: self.gc,
            slc: self.slc,
            wear_spread: self.wear_spread,
            refresh_reads: self.refresh_reads,
            endurance: self.endurance,
            host_tags: self.host_tags,
            seal_key: self.seal_key,
            faults: self.faults,
            sabotage: self.sabotage,
        }
    }

    /// True if something may be to do in idle time.
    pub(crate) fn works_in_idle_time(&self) -> bool {
        self.gc.idle.is_some() || self.slc.fold_after.is_some() || self.slc.booster.is_some()
    }

    /// True if GC steps may begin for other reasons than that writes have paid for them: in idle time, for a refresh,
    /// to copy pages at random places, or to program rows that a step has left.
    pub(crate) fn has_more_occasions(&self) -> bool {
        let refreshes = self.refresh_reads.is_some();
        self.works_in_idle_time() || refreshes || self.gc.copies_percent > 0 || self.gc.leaves_rows()
    }
}

units::kinds! {
    /// What the size of the pool is the size of.
    pub Covers {
        /// The pool alone, with tables beside it: log buffer, directory of the metadata, superblocks, those of the
        /// mapping scheme.
        Pool = "pool";
        /// All SRAM: tables take their part of the segment cache, and the pool is smaller by as much.
        All = "all";
    }
}

params::params! {
    /// SRAM inside the controller.
    pub SramParams {
        /// The pool shared by write data, L2P segments, GC and operations in flight.
        pool_kib: count(128 to 262136);
        /// What pool_kib is the size of.
        covers: choice(Covers);
        /// At most this much of the pool holds L2P segments.
        segment_cache_kib: count(4 to 262136);
        /// Part of the pool that host data may never take.
        reserve_kib: count(4 to 65536);
        /// Writes are acknowledged only after their program, as if each had FUA.
        write_through: switch;
    }
}

impl SramParams {
    /// The pool that they stand for, without what tables take of it.
    pub fn config(&self) -> SramConfig {
        let buffers = |kib: u32| (kib / UNIT_KIB) as u16;
        SramConfig {
            pool: buffers(self.pool_kib),
            segment_cache: buffers(self.segment_cache_kib),
            reserve: buffers(self.reserve_kib),
            entries: false,
            own_cache: None,
        }
    }
}

/// The shared SRAM pool, in buffers of 4 KiB.
#[derive(Clone, Copy, Debug)]
pub struct SramConfig {
    /// All buffers.
    pub pool: u16,
    /// At most this many hold L2P segments.
    pub segment_cache: u16,
    /// Buffers that host data may never take, because a map flush, a segment read or a GC step would wait for ever.
    /// Reads may take half of them.
    pub reserve: u16,
    /// True if the buffers of the segment cache hold single entries instead, or what else a mapping scheme keeps there.
    pub entries: bool,
    /// Bytes that the own cache of a mapping scheme may take at most; `None`: what its parameters say.
    pub own_cache: Option<u64>,
}

params::params! {
    /// The L2P log buffer and the log blocks.
    pub LogParams {
        /// Capacity in entries of 16 bytes.
        entries: count(64 to 65535);
        /// Superblocks whose mappings may be missing from flash.
        max_log_blocks: count(2 to 255), fixed;
    }
}

impl LogParams {
    /// What they stand for.
    pub fn config(&self) -> LogConfig {
        LogConfig { entries: self.entries as u16, max_log_blocks: self.max_log_blocks as u8 }
    }
}

/// The L2P log buffer and the log blocks.
#[derive(Clone, Copy, Debug)]
pub struct LogConfig {
    /// Capacity in entries of 16 bytes.
    pub entries: u16,
    /// Superblocks whose mappings may be missing from flash (HP-UFS Sec. III-G).
    pub max_log_blocks: u8,
}

units::kinds! {
    /// GC work that is due for each unit written.
    pub GcPace {
        /// A searched unit, as in the HP-UFS authors' prototype.
        Searched = "searched";
        /// As much search as frees a unit, by the victim's valid pages.
        Gained = "gained";
    }
}

units::kinds! {
    /// What commands do while a GC step runs.
    pub GcRuns {
        /// They wait: the firmware does nothing else.
        Alone = "alone";
        /// They go on. They wait only for a step that something else waits for: host writes at the reserve, a map
        /// flush, or the collection of metadata.
        Beside = "beside";
    }
}

params::params! {
    /// Garbage collection; thresholds count free data superblocks. A share is rounded to the nearest superblock.
    pub GcParams {
        /// What a written unit pays for.
        pace: choice(GcPace);
        /// GC runs while fewer superblocks than this are free.
        start_superblocks: amount(4 to 1048576 of "nand.data_superblocks");
        /// Above this writes pay for a third of that, below it for half.
        relaxed_superblocks: amount(3 to 1048576 of "nand.data_superblocks");
        /// At or below this writes pay for all of it; with pace = "gained" for twice as much from halfway down to the
        /// reserve.
        hurried_superblocks: amount(2 to 1048576 of "nand.data_superblocks");
        /// At or below this host writes wait and GC runs without pacing.
        reserve_superblocks: amount(2 to 65536 of "nand.data_superblocks");
        /// With pace = "searched": written units that earn one GC step. With "gained": units that a step copies at
        /// most, at least a row.
        units_per_step: count(1 to 1048576);
        /// Which superblock is collected next. Where the host names victims (hp-ufs), it follows this, too.
        victim: choice(VictimPolicy) = Greedy, "HP-UFS Sec. III-E: the superblock with the fewest valid pages";
        /// Superblocks of which victim = "choices" takes the one with the fewest valid pages.
        victim_choices: count(1 to 1024) = 8, "of no effect with another policy";
        /// What commands do during a step. "beside" needs pace = "gained", whose steps are of a chosen length.
        runs: choice(GcRuns) = Alone, "HP-UFS authors' prototype: a step of GC is an exclusive job";
        /// GC runs without pacing when no request has been under way for this long, until idle_superblocks are free.
        idle_after_ms: count_or("never" 1 to 600000) = "never", "HP-UFS authors' prototype: only writes pay for GC";
        /// GC in idle time stops when so many superblocks are free.
        idle_superblocks: amount(4 to 1048576 of "nand.data_superblocks") = 4, "of no effect without gc.idle_after_ms";
        /// GC in idle time leaves victims of which less is invalid, because they would wear the flash for little.
        idle_gain_percent: count(1 to 100) = 10, "of no effect without gc.idle_after_ms";
        /// Hot data have superblocks of their own, those from the host and those that GC copies. A region of this size
        /// is hot while the host writes it more than twice as often as the mean; a byte of SRAM counts for each. In SLC
        /// mode, with FUA, and for copies at the reserve, hot and other data share superblocks. "none": they
        /// always do.
        hot_region_kib: count_or("none" 4 to 1048576) = "none", "HP-UFS authors' prototype: host data and copies";
    }
}

impl GcParams {
    /// What they stand for, with so many copies at random places.
    pub fn config(&self, copies_percent: u32) -> GcConfig {
        let idle = self.idle_after_ms.count().map(|ms| IdleGc {
            after: Nanos::from_millis(ms.into()),
            until: self.idle_superblocks,
            gain_percent: self.idle_gain_percent,
        });
        GcConfig {
            pace: self.pace,
            start: self.start_superblocks,
            relaxed: self.relaxed_superblocks,
            hurried: self.hurried_superblocks,
            reserve: self.reserve_superblocks,
            units_per_step: self.units_per_step,
            victims: Victims { policy: self.victim, choices: self.victim_choices },
            runs: self.runs,
            idle,
            copies_percent,
            hot_region: self.hot_region_kib.count().map(|kib| kib / UNIT_KIB),
        }
    }
}

/// Pace of garbage collection. Counts are free superblocks unless they say otherwise.
#[derive(Clone, Copy, Hash, Debug)]
pub struct GcConfig {
    /// GC work that is due for each unit written.
    pub pace: GcPace,
    /// GC starts below this count.
    pub start: u32,
    /// Above this count a searched page repays three times as much as at or below `hurried`; between the two, twice as
    /// much.
    pub relaxed: u32,
    /// At or below this count a searched page repays as much as [`GcPace`] says.
    pub hurried: u32,
    /// At or below this count host writes wait and GC runs without pacing.
    pub reserve: u32,
    /// [`GcPace::Searched`]: written units that earn one step. [`GcPace::Gained`]: the most units that one step copies;
    /// at least a row.
    pub units_per_step: u32,
    /// How victims are chosen.
    pub victims: Victims,
    /// What commands do during a step.
    pub runs: GcRuns,
    /// GC in idle time.
    pub idle: Option<IdleGc>,
    /// For experiments: copies of pages at random places, in per cent of the data from the host.
    pub copies_percent: u32,
    /// Units of a region whose writes are counted to tell hot data; `None` = hot and other data share superblocks.
    pub hot_region: Option<u32>,
}

impl GcConfig {
    /// True if a step may leave full rows of copies, because host data or hot data take log blocks meanwhile.
    pub(crate) fn leaves_rows(&self) -> bool {
        self.runs == GcRuns::Beside || self.hot_region.is_some()
    }
}

/// GC in idle time: without pacing, and for no write in particular.
#[derive(Clone, Copy, Hash, Debug)]
pub struct IdleGc {
    /// It begins when no request has been under way for this long.
    pub after: Nanos,
    /// It stops when so many superblocks are free.
    pub until: u32,
    /// It leaves victims of which less than this is invalid.
    pub gain_percent: u32,
}

impl IdleGc {
    /// What less is a victim left for by GC that only folds, and finds that the host has named another victim.
    pub const LEAST_GAIN_PERCENT: u32 = 10;
}

units::kinds! {
    /// When a write makes the HPB group of its page dirty.
    pub DirtyFrom {
        /// When the page has been programmed: until then it is read from the write buffer.
        Program = "program";
        /// When the device accepts the write, so that the group stays dirty while a page of it is in the write buffer.
        Write = "write";
    }
}

units::kinds! {
    /// When an HPB group is clean again after responses have carried its changed entries.
    pub CleanFrom {
        /// When the host shows by its next command with the same tag that it has handled the response.
        NextCommand = "next-command";
        /// When the response leaves. A page whose entry is still under way is read without the host's.
        Response = "response";
    }
}

/// HPB on the device's side, as a mapping scheme has it ([`crate::seat::Declared::published`]).
#[derive(Clone, Copy, Hash, Debug)]
pub struct HpbConfig {
    /// L2P entries per group.
    pub group_entries: u32,
    /// True for entries of 8 bytes that are sealed, false for plain ones of 4.
    pub sealed: bool,
    /// Groups whose changes can be delivered entry by entry; others must be read again as a whole.
    pub tracked_groups: u16,
    /// Changed entries that may wait for a response to carry them.
    pub pending_entries: u16,
    /// When a write makes its group dirty.
    pub dirty_from: DirtyFrom,
    /// When a group whose changes were all delivered is clean again; for plain entries.
    pub clean_from: CleanFrom,
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
}

impl Default for HpbConfig {
    /// Nothing is published.
    fn default() -> HpbConfig {
        HpbConfig {
            group_entries: units::SEGMENT_ENTRIES,
            sealed: true,
            tracked_groups: 0,
            pending_entries: 1,
            dirty_from: DirtyFrom::Program,
            clean_from: CleanFrom::NextCommand,
            seal_cost: Nanos(0),
            region_groups: 1,
            max_blocks: 1,
            recommend_after: None,
            max_active_regions: 1,
        }
    }
}

impl<P> Config<P> {
    /// Checks that the metadata superblocks have room for this many map units in this many flash units.
    ///
    /// # Errors
    /// Names the key, its value and the allowed range.
    pub fn check_metadata(&self, map_units: u64, flash_units: u64) -> Result<(), ParamError> {
        let g = &self.geometry;
        let per_superblock = u64::from(g.superblock_units());
        // Every metadata superblock begins with a snapshot: place and number of every piece, erase counts of
        // superblocks.
        let snapshot = (8 * map_units + 12 * u64::from(g.data_superblocks)).div_ceil(UNIT_BYTES) + 8;
        if 2 * snapshot > per_superblock {
            let allowed =
                format!("so many that a snapshot of the directory, {snapshot} units, fits half of {per_superblock}");
            return Err(ParamError::must_be("nand", "pages_per_block", &g.pages_per_block.into(), allowed));
        }
        // Map units, a segment bitmap per data superblock, two records of log blocks, a journal of 32 pages.
        let pieces = flash_units + u64::from(g.data_superblocks) + 8 + 32;
        let least = pieces.div_ceil(per_superblock - snapshot) + u64::from(SPARE_META_SUPERBLOCKS);
        if u64::from(g.meta_superblocks) < least {
            let allowed =
                format!("at least {least} for {pieces} units of metadata: segments, segment bitmaps, records, journal");
            return Err(ParamError::must_be("nand", "meta_superblocks", &g.meta_superblocks.into(), allowed));
        }
        Ok(())
    }

    /// Checks that the reserve of the pool is large enough for a row and for `units` units that are loaded into the
    /// part of it that loads may take. `why` ends the error message.
    ///
    /// # Errors
    /// Names the key, its value and the allowed range.
    pub fn check_reserve(&self, units: u32, why: &str) -> Result<(), ParamError> {
        let kib = u32::from(self.sram.reserve) * UNIT_KIB;
        let least = ((self.geometry.row_units() + units) * 4).div_ceil(3) * UNIT_KIB;
        if kib < least {
            return Err(ParamError::must_be("sram", "reserve_kib", &kib.into(), format!("at least {least} {why}")));
        }
        Ok(())
    }

    /// Bytes of the L2P table at 4 bytes an entry.
    pub fn table_bytes(&self) -> u64 {
        u64::from(self.capacity_units) * 4
    }
}

/// Metadata superblocks beyond those that hold every segment once: one open for writes, one being collected, two free.
const SPARE_META_SUPERBLOCKS: u32 = 4;

/// A configuration never changes, so it is no part of the state of a device. (Only the key of the seals is another
/// after each boot; it decides nothing but which numbers a host can not guess.)
#[cfg(feature = "explore")]
impl<P> std::hash::Hash for Config<P> {
    fn hash<H: std::hash::Hasher>(&self, _: &mut H) {}
}
