//! What no single key can say: the values of a profile must fit each other.

use device::{GcPace, MappingKind};
use nand::Geometry;
use ufs::MAX_SUPERBLOCKS;
use ufs::MAX_TRANSFER_ENTRIES;
use units::{MIB, SEGMENT_ENTRIES, UNIT_BYTES};

use super::lower::UNIT_KIB;
use super::schema::Values;

/// Spare superblocks that GC, the write front and log blocks need at the very least.
const MIN_SPARE_SUPERBLOCKS: u32 = 16;
/// Over-provisioning in per cent of the capacity.
const MIN_OVERPROVISION_PCT: u64 = 3;
/// Metadata superblocks beyond those that hold every segment once: a write front, a GC front, two free ones.
const SPARE_META_SUPERBLOCKS: u32 = 4;

/// Shape of the flash.
pub(super) fn geometry(v: &Values) -> Geometry {
    Geometry {
        channels: v.nand.channels,
        dies_per_channel: v.nand.dies_per_channel,
        planes: v.nand.planes,
        units_per_page: v.nand.page_kib / UNIT_KIB,
        pages_per_block: v.nand.pages_per_block,
        data_superblocks: v.nand.data_superblocks,
        meta_superblocks: v.nand.meta_superblocks,
    }
}

/// `name = value: must be allowed`, or nothing.
fn require(holds: bool, name: &str, value: u32, allowed: String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(format!("{name} = {value}: must be {allowed}")) }
}

pub(super) fn check(v: &Values) -> Result<(), String> {
    check_shape(v)?;
    check_capacity(v)?;
    check_sram(v)?;
    check_log(v)?;
    check_gc(v)?;
    check_host(v)
}

fn check_shape(v: &Values) -> Result<(), String> {
    let page = v.nand.page_kib;
    require(page.is_power_of_two(), "nand.page_kib", page, "a power of two, 4, 8, 16 or 32".into())?;
    let g = geometry(v);
    require(
        g.data_superblocks <= MAX_SUPERBLOCKS,
        "nand.data_superblocks",
        g.data_superblocks,
        format!("at most {MAX_SUPERBLOCKS}: block numbers travel in 16 bits"),
    )?;
    let total = g.data_superblocks + g.meta_superblocks;
    let per_superblock = u64::from(g.superblock_units());
    require(
        u64::from(total) * per_superblock < u64::from(u32::MAX) - 1,
        "nand.data_superblocks",
        g.data_superblocks,
        format!("at most {}: physical addresses have 32 bits", (u64::from(u32::MAX) - 2) / per_superblock),
    )
}

fn check_capacity(v: &Values) -> Result<(), String> {
    let g = geometry(v);
    let mib = v.device.capacity_mib;
    require(mib.is_multiple_of(4), "device.capacity_mib", mib, "a multiple of 4, the reach of a segment".into())?;
    let units = u64::from(mib) * (MIB / UNIT_BYTES);
    let per_superblock = u64::from(g.superblock_units());
    let full = units.div_ceil(per_superblock);
    let by_share = (units * (100 + MIN_OVERPROVISION_PCT)).div_ceil(100 * per_superblock);
    let spare = MIN_SPARE_SUPERBLOCKS.max(v.gc.reserve_superblocks + 4);
    let least = by_share.max(full + u64::from(spare));
    require(
        u64::from(g.data_superblocks) >= least,
        "nand.data_superblocks",
        g.data_superblocks,
        format!(
            "at least {least} for device.capacity_mib = {mib}: {MIN_OVERPROVISION_PCT} % and {spare} superblocks of \
             {per_superblock} units more than the capacity"
        ),
    )?;
    let entry_bytes = v.cmt.entry_bytes;
    require([4, 8].contains(&entry_bytes), "cmt.entry_bytes", entry_bytes, "4 or 8".into())?;
    let kib = v.map.segment_kib;
    require(kib.is_power_of_two(), "map.segment_kib", kib, "1, 2 or 4".into())?;
    let msftl = &v.msftl;
    let (page, segment) = (msftl.page_kib, msftl.segment_bytes);
    require(page.is_power_of_two(), "msftl.page_kib", page, "4, 8 or 16".into())?;
    require(segment.is_power_of_two(), "msftl.segment_bytes", segment, "1024 or 2048".into())?;
    // Segments have 1024 entries, translation pages those that fit; whichever mapping is chosen.
    let segments = units.div_ceil(u64::from(SEGMENT_ENTRIES).min(UNIT_BYTES / u64::from(entry_bytes)));
    check_metadata(v, segments, segments)
}

/// Is there room for so many map units, in so many flash units?
fn check_metadata(v: &Values, segments: u64, segment_units: u64) -> Result<(), String> {
    let g = geometry(v);
    let per_superblock = u64::from(g.superblock_units());
    // Every metadata superblock begins with a snapshot: place and number of every piece, erase counts of superblocks.
    let snapshot = (8 * segments + 12 * u64::from(g.data_superblocks)).div_ceil(UNIT_BYTES) + 8;
    require(
        2 * snapshot <= per_superblock,
        "nand.pages_per_block",
        g.pages_per_block,
        format!("so many that a snapshot of the directory, {snapshot} units, fits half of {per_superblock}"),
    )?;
    // Segments, a segment bitmap per data superblock, two records of log blocks, a journal of 32 pages.
    let pieces = segment_units + u64::from(g.data_superblocks) + 8 + 32;
    let least = pieces.div_ceil(per_superblock - snapshot) + u64::from(SPARE_META_SUPERBLOCKS);
    require(
        u64::from(g.meta_superblocks) >= least,
        "nand.meta_superblocks",
        g.meta_superblocks,
        format!("at least {least} for {pieces} units of metadata: segments, segment bitmaps, records, journal"),
    )
}

fn check_sram(v: &Values) -> Result<(), String> {
    let s = &v.sram;
    for (name, kib) in [
        ("sram.pool_kib", s.pool_kib),
        ("sram.segment_cache_kib", s.segment_cache_kib),
        ("sram.reserve_kib", s.reserve_kib),
    ] {
        require(kib.is_multiple_of(UNIT_KIB), name, kib, "a multiple of 4".into())?;
    }
    require(
        s.segment_cache_kib < s.pool_kib,
        "sram.segment_cache_kib",
        s.segment_cache_kib,
        format!("below sram.pool_kib = {}", s.pool_kib),
    )?;
    let g = geometry(v);
    // Reads may take half of the reserve, and one of them needs up to a row.
    let row_kib = UNIT_KIB * g.row_units();
    require(
        s.reserve_kib >= 2 * row_kib,
        "sram.reserve_kib",
        s.reserve_kib,
        format!("at least {}: two rows of {} units", 2 * row_kib, g.row_units()),
    )?;
    // A row being programmed beside a row being filled, and one operation in flight on every die.
    let least = s.segment_cache_kib + s.reserve_kib + UNIT_KIB * (2 * g.row_units() + g.dies());
    require(
        s.pool_kib >= least,
        "sram.pool_kib",
        s.pool_kib,
        format!(
            "at least {least}: sram.segment_cache_kib, sram.reserve_kib, two rows of {} units and one buffer for \
             each of {} dies",
            g.row_units(),
            g.dies()
        ),
    )
}

/// Sizes that only a device with this mapping needs.
pub(super) fn check_mapping(v: &Values, mapping: MappingKind) -> Result<(), String> {
    let page_kib = match mapping {
        MappingKind::Dftl => 0,
        MappingKind::Cdftl => UNIT_KIB,
        MappingKind::BaseDftl | MappingKind::MiniPage | MappingKind::Msftl => return check_flushed(v, mapping),
        MappingKind::SegmentLog | MappingKind::HpUfs => return check_parts(v, mapping),
        MappingKind::Ideal => return Ok(()),
    };
    let Some(kib) = v.cmt.cache_kib.count() else { return Ok(()) };
    // The entries of all writes under way stay in the cache, and as many again must be able to leave it.
    let writes = 2 * v.sram.pool_kib / UNIT_KIB;
    let least = page_kib + (writes * v.cmt.entry_bytes).div_ceil(1024).next_multiple_of(UNIT_KIB);
    let allowed =
        format!("at least {least} for mapping = \"{}\", with sram.pool_kib = {}", mapping.name(), v.sram.pool_kib);
    require(kib >= least, "cmt.cache_kib", kib, allowed)
}

/// Segments in parts of 1, 2 or 4 KiB.
fn check_parts(v: &Values, mapping: MappingKind) -> Result<(), String> {
    let table = u64::from(v.device.capacity_mib) * MIB / UNIT_BYTES * 4;
    let parts = table.div_ceil(u64::from(v.map.segment_kib) * 1024);
    let bitmaps = match mapping {
        MappingKind::SegmentLog => parts.div_ceil(8 * UNIT_BYTES),
        _ => 1,
    };
    if mapping == MappingKind::HpUfs && v.map.segment_kib < UNIT_KIB {
        // The parts of a segment are loaded together with what loads may take of the reserve, beside a row that fills.
        let row = geometry(v).row_units();
        let least = ((row + UNIT_KIB / v.map.segment_kib) * 4).div_ceil(3) * UNIT_KIB;
        let told = format!("at least {least} for map.segment_kib = {}: a row and a segment's parts", v.map.segment_kib);
        require(v.sram.reserve_kib >= least, "sram.reserve_kib", v.sram.reserve_kib, told)?;
    }
    let more_bitmaps = (bitmaps - 1) * u64::from(v.nand.data_superblocks);
    check_metadata(v, parts + more_bitmaps, table.div_ceil(UNIT_BYTES) + more_bitmaps)
}

/// Translation pages and mapping segments of other sizes than 4 KiB.
fn check_flushed(v: &Values, mapping: MappingKind) -> Result<(), String> {
    let bytes = match mapping {
        MappingKind::BaseDftl => v.msftl.page_kib * 1024,
        MappingKind::Msftl => v.msftl.segment_bytes,
        _ => UNIT_BYTES as u32,
    };
    let row = geometry(v).row_units();
    let page_units = bytes.div_ceil(UNIT_BYTES as u32);
    let page_kib = v.msftl.page_kib;
    let told = format!("a divisor of {} KiB, a page on every plane, for mapping = \"base-dftl\"", row * UNIT_KIB);
    require(row.is_multiple_of(page_units), "msftl.page_kib", page_kib, told)?;
    // A page is loaded with what loads may take of the reserve, while GC keeps a row.
    let least = ((row + page_units) * 4).div_ceil(3) * UNIT_KIB;
    let told = format!("at least {least} for mapping = \"{}\": a row and a translation page", mapping.name());
    require(v.sram.reserve_kib >= least, "sram.reserve_kib", v.sram.reserve_kib, told)?;
    let table = u64::from(v.device.capacity_mib) * MIB / UNIT_BYTES * 4;
    let segments = table.div_ceil(bytes.into());
    check_metadata(v, segments, table.div_ceil(UNIT_BYTES) + u64::from(page_units))
}

fn check_log(v: &Values) -> Result<(), String> {
    let l = &v.log;
    for (name, value) in [
        ("log.flush_above_entries", l.flush_above_entries),
        ("log.handover_above_entries", l.handover_above_entries),
        ("log.gc_pause_at_entries", l.gc_pause_at_entries),
    ] {
        require(value < l.entries, name, value, format!("below log.entries = {}", l.entries))?;
    }
    // A program needs log room for its whole row, whatever the log holds when neither flush nor pause is due.
    let (row, most) = (geometry(v).row_units(), MAX_TRANSFER_ENTRIES.min(v.host.reorder_entries));
    for (name, value) in
        [("log.flush_above_entries", l.flush_above_entries), ("log.gc_pause_at_entries", l.gc_pause_at_entries)]
    {
        let allowed = format!("at least a row of {row} units below log.entries = {}", l.entries);
        require(value + row <= l.entries, name, value, allowed)?;
    }
    let allowed = format!("at most host.reorder_entries = {} and {MAX_TRANSFER_ENTRIES}", v.host.reorder_entries);
    require(l.entries <= most, "log.entries", l.entries, allowed)?;
    let blocks = l.max_log_blocks;
    require(
        blocks < v.nand.data_superblocks / 2,
        "log.max_log_blocks",
        blocks,
        format!("below half of nand.data_superblocks = {}", v.nand.data_superblocks),
    )
}

fn check_gc(v: &Values) -> Result<(), String> {
    let g = &v.gc;
    let below = |name: &str, value: u32, bound_name: &str, bound: u32| {
        require(value < bound, name, value, format!("below {bound_name} = {bound}"))
    };
    below("gc.start_superblocks", g.start_superblocks, "nand.data_superblocks", v.nand.data_superblocks)?;
    below("gc.relaxed_superblocks", g.relaxed_superblocks, "gc.start_superblocks", g.start_superblocks)?;
    below("gc.hurried_superblocks", g.hurried_superblocks, "gc.relaxed_superblocks", g.relaxed_superblocks)?;
    below("gc.reserve_superblocks", g.reserve_superblocks, "gc.hurried_superblocks", g.hurried_superblocks)?;
    let (row, step) = (geometry(v).row_units(), g.units_per_step);
    let long_enough = step >= row || g.pace != GcPace::Gained.name();
    require(
        long_enough,
        "gc.units_per_step",
        step,
        format!("at least a row of {row} units with gc.pace = \"gained\""),
    )?;
    let entries = v.hpb.group_entries;
    let whole = entries == SEGMENT_ENTRIES / 2 || entries.is_multiple_of(SEGMENT_ENTRIES);
    require(whole, "hpb.group_entries", entries, "512 or a multiple of 1024".into())
}

fn check_host(v: &Values) -> Result<(), String> {
    let h = &v.host;
    require(h.internal_tags < h.tags, "host.internal_tags", h.internal_tags, format!("below host.tags = {}", h.tags))?;
    let kib = h.max_transfer_kib;
    require(kib.is_multiple_of(UNIT_KIB), "host.max_transfer_kib", kib, "a multiple of 4".into())?;
    let p = &v.hpb_params;
    require(
        p.eviction_thld_exit < p.eviction_thld_enter,
        "hpb_params.eviction_thld_exit",
        p.eviction_thld_exit,
        format!("below hpb_params.eviction_thld_enter = {}", p.eviction_thld_enter),
    )
}
