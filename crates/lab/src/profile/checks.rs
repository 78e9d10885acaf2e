//! What no single key can say: the values of a profile must fit each other.

use ftl::GcPace;
use host::HostConfig;
use nand::Geometry;
use params::Owners;
use ufs::{MAX_SUPERBLOCKS, MAX_TRANSFER_ENTRIES};
use units::{MIB, UNIT_BYTES};

use super::lower::UNIT_KIB;
use super::schema::Values;

/// Spare superblocks that GC, the write front and log blocks need at the very least.
const MIN_SPARE_SUPERBLOCKS: u32 = 16;
/// Over-provisioning in per cent of the capacity.
const MIN_OVERPROVISION_PCT: u64 = 3;

/// Shape of the flash.
pub(super) fn geometry(v: &Values) -> Geometry {
    Geometry {
        channels: v.nand.channels,
        dies_per_channel: v.nand.dies_per_channel,
        superblock_dies: v.superblock.dies.count().unwrap_or(v.nand.channels * v.nand.dies_per_channel),
        planes: v.nand.planes,
        units_per_page: v.nand.page_kib / UNIT_KIB,
        pages_per_block: v.nand.pages_per_block,
        data_superblocks: v.nand.data_superblocks,
        meta_superblocks: v.nand.meta_superblocks,
    }
}

/// `name = value: must be allowed`, or nothing.
pub(super) fn require(holds: bool, name: &str, value: u32, allowed: String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(format!("{name} = {value}: must be {allowed}")) }
}

pub(super) fn check(v: &Values) -> Result<(), String> {
    check_shape(v)?;
    check_capacity(v)?;
    check_sram(v)?;
    check_log(v)?;
    check_gc(v)?;
    check_host(v)?;
    check_host_time(v)
}

fn check_shape(v: &Values) -> Result<(), String> {
    let page = v.nand.page_kib;
    require(page.is_power_of_two(), "nand.page_kib", page, "a power of two, 4, 8, 16 or 32".into())?;
    let g = geometry(v);
    require(
        g.dies().is_multiple_of(g.superblock_dies),
        "superblock.dies",
        g.superblock_dies,
        format!("\"all\" or a divisor of {}, nand.channels x nand.dies_per_channel", g.dies()),
    )?;
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
    Ok(())
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

/// The log of the device and the reorder buffer of a host that takes its entries over.
pub(super) fn check_reorder(v: &Values, host: &HostConfig) -> Result<(), String> {
    let name = host.booster.name();
    let own = host.boosters.table_of(name);
    let Some(reorder) = own.get("reorder_entries").and_then(params::Value::as_integer) else { return Ok(()) };
    let (entries, most) = (v.log.entries, i64::from(MAX_TRANSFER_ENTRIES).min(reorder));
    let allowed = format!("at most scheme.{name}.reorder_entries = {reorder} and {MAX_TRANSFER_ENTRIES}");
    require(i64::from(entries) <= most, "log.entries", entries, allowed)
}

fn check_log(v: &Values) -> Result<(), String> {
    let l = &v.log;
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
    let allowed = format!("at least a row of {row} units with gc.pace = \"gained\"");
    require(long_enough, "gc.units_per_step", step, allowed)
}

fn check_host(v: &Values) -> Result<(), String> {
    let h = &v.host;
    require(h.internal_tags < h.tags, "host.internal_tags", h.internal_tags, format!("below host.tags = {}", h.tags))?;
    let kib = h.max_transfer_kib;
    require(kib.is_multiple_of(UNIT_KIB), "host.max_transfer_kib", kib, "a multiple of 4".into())
}

/// The least of a pair must not be above the most.
fn check_host_time(v: &Values) -> Result<(), String> {
    let h = &v.host_time;
    for (name, least, most_name, most) in [
        ("stall_after_min_ms", h.stall_after_min_ms, "stall_after_max_ms", h.stall_after_max_ms),
        ("stall_min_us", h.stall_min_us, "stall_max_us", h.stall_max_us),
        ("preempt_min_us", h.preempt_min_us, "preempt_max_us", h.preempt_max_us),
    ] {
        let allowed = format!("at most host_time.{most_name} = {most}");
        require(least <= most, &format!("host_time.{name}"), least, allowed)?;
    }
    Ok(())
}
