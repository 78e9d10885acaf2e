//! What no single key can say: the values of a profile must fit each other.

use ftl::{GcPace, GcRuns, MappingKind};
use host::HostConfig;
use nand::{Geometry, RetryParams};
use params::{Owners, ParamError};
use ufs::{MAX_SUPERBLOCKS, MAX_TRANSFER_ENTRIES};
use units::{MIB, UNIT_BYTES, UNIT_KIB};

use super::schema::Values;

/// Spare superblocks that GC, the write front and log blocks need at the very least.
const MIN_SPARE_SUPERBLOCKS: u32 = 16;
/// Over-provisioning in per cent of the capacity.
const MIN_OVERPROVISION_PCT: u64 = 3;

/// `table.key = value: must be allowed`, or nothing.
pub(super) fn require(
    holds: bool,
    table: &str,
    key: &str,
    value: impl Into<params::Value>,
    allowed: impl Into<String>,
) -> Result<(), ParamError> {
    if holds { Ok(()) } else { Err(ParamError::must_be(table, key, &value.into(), allowed.into())) }
}

/// Not every scheme's search takes pages of more than one superblock.
pub(super) fn check_copies(v: &Values, mapping: MappingKind) -> Result<(), ParamError> {
    let percent = v.what_if.copies_percent;
    let allowed = format!("0 for \"{}\"", mapping.name());
    require(percent == 0 || mapping.copies_at_random(), "what_if", "copies_percent", percent, allowed)
}

pub(super) fn check(v: &Values) -> Result<(), ParamError> {
    v.nand.geometry.check(&v.superblock)?;
    let g = v.geometry();
    let programs = v.nand.timing.tlc_program_us;
    require(
        g.word_line_pages == 1 || programs.all().len() == 1,
        "nand",
        "tlc_program_us",
        programs,
        format!("one time: a program writes nand.word_line_pages = {} pages at once", g.word_line_pages),
    )?;
    check_retry(&v.nand.retry)?;
    require(
        g.data_superblocks <= MAX_SUPERBLOCKS,
        "nand",
        "data_superblocks",
        g.data_superblocks,
        format!("at most {MAX_SUPERBLOCKS}: block numbers travel in 16 bits"),
    )?;
    check_capacity(v, &g)?;
    check_sram(v, &g)?;
    require(
        v.log.max_log_blocks < g.data_superblocks / 2,
        "log",
        "max_log_blocks",
        v.log.max_log_blocks,
        format!("below half of nand.data_superblocks = {}", g.data_superblocks),
    )?;
    check_gc(v, &g)?;
    check_hot(v)?;
    check_slc(v, &g)?;
    check_lus(v)?;
    check_dedicated(v)?;
    v.host.check()?;
    v.host_time.check()
}

/// Points of a curve have one place each, and steps belong to all of them or to each.
fn check_retry(retry: &RetryParams) -> Result<(), ParamError> {
    let cycles = retry.retry_cycles;
    let rises = cycles.all().is_sorted_by(|a, b| a < b);
    require(rises, "nand", "retry_cycles", cycles, "in rising order")?;
    let points = cycles.all().len();
    for (key, steps) in [("retry_steps", retry.retry_steps), ("retry_fresh_steps", retry.retry_fresh_steps)] {
        let fits = [1, points].contains(&steps.all().len());
        require(fits, "nand", key, steps, format!("one number, or one for each of the {points} in nand.retry_cycles"))?;
    }
    Ok(())
}

fn check_capacity(v: &Values, g: &Geometry) -> Result<(), ParamError> {
    let mib = v.device.capacity_mib;
    require(mib.is_multiple_of(4), "device", "capacity_mib", mib, "a multiple of 4, the reach of a segment")?;
    let units = u64::from(mib) * (MIB / UNIT_BYTES);
    let per_superblock = u64::from(g.superblock_units());
    let full = units.div_ceil(per_superblock);
    let by_share = (units * (100 + MIN_OVERPROVISION_PCT)).div_ceil(100 * per_superblock);
    let spare = MIN_SPARE_SUPERBLOCKS.max(v.gc.reserve_superblocks + 4) + open_for_hot(v);
    let least = by_share.max(full + u64::from(spare));
    require(
        u64::from(g.data_superblocks) >= least,
        "nand",
        "data_superblocks",
        g.data_superblocks,
        format!(
            "at least {least} for device.capacity_mib = {mib}: {MIN_OVERPROVISION_PCT} % and {spare} superblocks of \
             {per_superblock} units more than the capacity"
        ),
    )
}

/// Superblocks that are open for hot data, from the host and of GC.
fn open_for_hot(v: &Values) -> u32 {
    if v.gc.hot_region_kib.count().is_some() { 2 } else { 0 }
}

fn check_sram(v: &Values, g: &Geometry) -> Result<(), ParamError> {
    let s = &v.sram;
    for (key, kib) in
        [("pool_kib", s.pool_kib), ("segment_cache_kib", s.segment_cache_kib), ("reserve_kib", s.reserve_kib)]
    {
        require(kib.is_multiple_of(UNIT_KIB), "sram", key, kib, "a multiple of 4")?;
    }
    let (cache, pool) = (s.segment_cache_kib, s.pool_kib);
    require(cache < pool, "sram", "segment_cache_kib", cache, format!("below sram.pool_kib = {pool}"))?;
    // Reads may take half of the reserve, and one of them needs up to a row. The other half is for copies that wait
    // for a full row, and for others of hot data.
    let hot = open_for_hot(v) > 0;
    let (rows, why) = if hot { (4, "four rows, with gc.hot_region_kib,") } else { (2, "two rows") };
    let least = rows * g.row_units() * UNIT_KIB;
    let allowed = format!("at least {least}: {why} of {} units", g.row_units());
    require(s.reserve_kib >= least, "sram", "reserve_kib", s.reserve_kib, allowed)?;
    // A row being programmed beside a row being filled, or two, and one operation in flight on every die.
    let (rows, why) = match (hot, v.slc.dedicated_lu.count()) {
        (true, _) => (3, "three rows, with gc.hot_region_kib,"),
        (false, Some(_)) => (3, "three rows, with slc.dedicated_lu,"),
        (false, None) => (2, "two rows"),
    };
    let least = cache + s.reserve_kib + UNIT_KIB * (rows * g.row_units() + g.dies());
    let allowed = format!(
        "at least {least}: sram.segment_cache_kib, sram.reserve_kib, {why} of {} units and one buffer for each of {} \
         dies",
        g.row_units(),
        g.dies()
    );
    require(pool >= least, "sram", "pool_kib", pool, allowed)
}

/// The log of the device and the reorder buffer of a host that takes its entries over.
pub(super) fn check_reorder(v: &Values, host: &HostConfig) -> Result<(), ParamError> {
    let name = host.booster.name();
    let own = host.boosters.table_of(name);
    let Some(reorder) = own.get("reorder_entries").and_then(params::Value::as_integer) else { return Ok(()) };
    let (entries, most) = (v.log.entries, i64::from(MAX_TRANSFER_ENTRIES).min(reorder));
    let allowed = format!("at most scheme.{name}.reorder_entries = {reorder} and {MAX_TRANSFER_ENTRIES}");
    require(i64::from(entries) <= most, "log", "entries", entries, allowed)
}

fn check_slc(v: &Values, g: &Geometry) -> Result<(), ParamError> {
    let (slc, full) = (&v.slc, u64::from(v.device.capacity_mib) * (MIB / UNIT_BYTES));
    let (bits, most) = (slc.bits_per_cell, g.data_superblocks);
    let holds = g.pages_per_block >= bits;
    require(holds, "slc", "bits_per_cell", bits, format!("at most nand.pages_per_block = {}", g.pages_per_block))?;
    let spare = most.saturating_sub(full.div_ceil(u64::from(g.superblock_units())) as u32);
    let allowed = format!("below nand.data_superblocks = {most}, of which {spare} are over-provisioning");
    require(slc.superblocks < most, "slc", "superblocks", slc.superblocks, allowed)?;
    let least = slc.least_free_superblocks;
    require(least < most, "slc", "least_free_superblocks", least, format!("below nand.data_superblocks = {most}"))?;
    check_booster(v)
}

/// The least that the first unit has: what a device has at least.
const MIN_FIRST_LU_MIB: u32 = 16;

fn check_lus(v: &Values) -> Result<(), ParamError> {
    let given = v.device.further_lus_mib;
    let (all, capacity) = (given.all(), v.capacity_mib());
    let wrong = |allowed: String| require(false, "device", "further_lus_mib", given, allowed);
    if all.iter().any(|mib| !mib.is_multiple_of(4)) {
        return wrong("multiples of 4, the reach of a segment".into());
    }
    if all.len() > 1 && all.contains(&0) {
        return wrong("0, or capacities without a 0 among them".into());
    }
    let (taken, most) = (all.iter().map(|&mib| u64::from(mib)).sum::<u64>(), capacity - MIN_FIRST_LU_MIB.min(capacity));
    if taken > u64::from(most) {
        return wrong(format!("at most {most} in all: of {capacity} MiB, unit 0 has at least {MIN_FIRST_LU_MIB}"));
    }
    Ok(())
}

fn check_dedicated(v: &Values) -> Result<(), ParamError> {
    let given = v.slc.dedicated_lu;
    let Some(lun) = given.count() else { return Ok(()) };
    let wrong = |allowed: String| require(false, "slc", "dedicated_lu", lun, allowed);
    if !v.slc.write_booster {
        return wrong("\"none\" without slc.write_booster".into());
    }
    if v.gc.hot_region_kib.count().is_some() {
        return wrong("\"none\" with gc.hot_region_kib: data are parted in one way only".into());
    }
    let last = v.further_lus().len();
    let of = v.device.further_lus_mib;
    let allowed = format!("\"none\" or 0..={last}, a logical unit that device.further_lus_mib = {:?} makes", of.all());
    require(lun as usize <= last, "slc", "dedicated_lu", lun, allowed)
}

fn check_booster(v: &Values) -> Result<(), ParamError> {
    if !v.slc.write_booster {
        return Ok(());
    }
    let n = v.slc.superblocks;
    require(n > 0, "slc", "write_booster", true, "false without slc.superblocks")?;
    let (mib, logs) = (v.device.capacity_mib, v.log.max_log_blocks);
    let allowed = format!("more than slc.superblocks = {n} take with slc.user_space = \"reduced\"");
    require(v.capacity_mib() >= 16, "device", "capacity_mib", mib, allowed)?;
    // Host data of either mode, GC, and one that is full.
    let allowed = "at least 4 with slc.write_booster, which keeps two superblocks open for host data";
    require(logs >= 4, "log", "max_log_blocks", logs, allowed)
}

/// Hot data.
fn check_hot(v: &Values) -> Result<(), ParamError> {
    let Some(kib) = v.gc.hot_region_kib.count() else { return Ok(()) };
    let allowed = "\"none\" or a multiple of 4";
    require(kib.is_multiple_of(UNIT_KIB), "gc", "hot_region_kib", kib, allowed)?;
    let most = v.capacity_mib().saturating_mul(1024) / 4;
    let allowed = format!("\"none\" or at most {most}, a quarter of the capacity: fewer regions differ too little");
    require(kib <= most, "gc", "hot_region_kib", kib, allowed)?;
    // Those open for host data and copies, hot or not, and one that is full.
    let (logs, least) = (v.log.max_log_blocks, if v.slc.write_booster { 6 } else { 5 });
    let allowed = format!("at least {least} with gc.hot_region_kib, which keeps two more superblocks open");
    require(logs >= least, "log", "max_log_blocks", logs, allowed)
}

fn check_gc(v: &Values, geometry: &Geometry) -> Result<(), ParamError> {
    let g = &v.gc;
    let falling = [
        ("nand.data_superblocks", geometry.data_superblocks),
        ("gc.start_superblocks", g.start_superblocks),
        ("gc.relaxed_superblocks", g.relaxed_superblocks),
        ("gc.hurried_superblocks", g.hurried_superblocks),
        ("gc.reserve_superblocks", g.reserve_superblocks),
    ];
    for pair in falling.windows(2) {
        let ((above, most), (name, value)) = (pair[0], pair[1]);
        let key = name.trim_start_matches("gc.");
        require(value < most, "gc", key, value, format!("below {above} = {most}"))?;
    }
    let (row, step) = (geometry.row_units(), g.units_per_step);
    let long_enough = step >= row || g.pace != GcPace::Gained;
    let allowed = format!("at least a row of {row} units with gc.pace = \"gained\"");
    require(long_enough, "gc", "units_per_step", step, allowed)?;
    let steps = g.runs == GcRuns::Alone || g.pace == GcPace::Gained;
    require(steps, "gc", "runs", g.runs.name(), "\"alone\", or \"beside\" with gc.pace = \"gained\"")?;
    let (until, start) = (g.idle_superblocks, g.start_superblocks);
    let reaches = g.idle_after_ms.count().is_none() || until >= start && until < geometry.data_superblocks;
    let most = geometry.data_superblocks - 1;
    let allowed = format!("{start} to {most} with gc.idle_after_ms: gc.start_superblocks up to nand.data_superblocks");
    require(reaches, "gc", "idle_superblocks", until, allowed)
}
