//! Hand-made cases for the stages of requests: a known wait is found in its stage, with its length.

#[allow(dead_code, reason = "other tests use the rest")]
use std::ops::ControlFlow;
use std::sync::Arc;

use crate::common::{LIMITS, request, tiny};
use ufsim_lab::profile::parse_override;
use ufsim_lab::{LogRow, Logging, Machine, Observe, Stage, assemble};
use units::SimTime;
use workload::{Flags, Replay, ReplayMode, Trace, WorkOp, WorkRequest};

/// Times of the profile in nanoseconds.
const READ: u64 = 60_000;
const PROGRAM: u64 = 550_000;
const ERASE: u64 = 5_000_000;
const SEGMENT_READ: u64 = 25_000;
const COMMAND: u64 = 1_000;
/// 4 KiB at 800 MiB/s, and at 2200 MiB/s of the link.
const UNIT_ON_BUS: u64 = 4096 * 1_000_000_000 / (800 << 20);
const UNIT_ON_LINK: u64 = 4096 * 1_000_000_000 / (2_200 << 20);
/// A message of 32 bytes: its cost and its bytes.
const UPIU: u64 = 500 + UPIU_ON_LINK;
const UPIU_ON_LINK: u64 = 32 * 1_000_000_000 / (2_200 << 20);

/// The requests that come last under a scheme, with these settings, at their times after a device at rest.
fn last(scheme: &str, sets: &[&str], before: Vec<WorkRequest>, requests: Vec<WorkRequest>) -> Vec<LogRow> {
    last_of(scheme, sets, before, requests, false)
}

/// The same, with neighbours merged if `merge`.
fn last_of(
    scheme: &str,
    sets: &[&str],
    before: Vec<WorkRequest>,
    requests: Vec<WorkRequest>,
    merge: bool,
) -> Vec<LogRow> {
    let mut spec = tiny(scheme, 1);
    for set in sets {
        let (key, value) = parse_override(set).expect("a well formed override");
        spec.set.insert(key, serde_json::to_value(value).expect("a plain value"));
    }
    let Machine { parts, profile } = spec.resolve().expect("a preset on an embedded profile");
    let mut system = assemble(&profile, parts, 1).expect("the profile's own settings");
    let mut run = |requests: Vec<WorkRequest>, mode: ReplayMode| {
        let trace = Trace { name: "generated".into(), requests, ..Trace::default() };
        let mut source = Replay::new(Arc::new(trace), mode, profile.capacity_units()).expect("it fits");
        system.run(&mut source, &mut |_, _| ControlFlow::Continue(())).expect("nothing fails");
        system.settle(&mut source).expect("nothing fails");
    };
    run(before, ReplayMode::Closed { depth: 8, per_file: false });
    system.observe(Observe::logging(Logging::First(usize::MAX)));
    let source = |requests| {
        let trace = Trace { name: "generated".into(), requests, ..Trace::default() };
        let source = Replay::new(Arc::new(trace), ReplayMode::Timed, profile.capacity_units()).expect("it fits");
        if merge { source.merging(&LIMITS) } else { source }
    };
    system.run(&mut source(requests), &mut |_, _| ControlFlow::Continue(())).expect("nothing fails");
    system.take_log(&[]).expect("a log is kept").rows().collect()
}

/// A request this many nanoseconds after the workload began.
fn at(ns: u64, op: WorkOp, unit: u64, units: u64) -> WorkRequest {
    WorkRequest { arrival: SimTime(ns), ..request(op, unit, units) }
}

/// A write that is acknowledged only when it is on flash.
fn fua(ns: u64, unit: u64) -> WorkRequest {
    WorkRequest { flags: Flags { fua: true, ..Flags::default() }, ..at(ns, WorkOp::Write, unit, 1) }
}

/// The range that is read, written and flushed before.
fn written(units: u64) -> Vec<WorkRequest> {
    let writes = (0..units).step_by(32).map(|unit| request(WorkOp::Write, unit, 32));
    writes.chain([request(WorkOp::Flush, 0, 0)]).collect()
}

/// Stages that took time, in nanoseconds.
fn spent(record: &LogRow) -> Vec<(Stage, u64)> {
    Stage::ALL.map(|stage| (stage, ns(record, stage))).into_iter().filter(|&(_, ns)| ns > 0).collect()
}

fn ns(record: &LogRow, stage: Stage) -> u64 {
    record.stages[stage as usize].0
}

/// At most a few nanoseconds apart, for times that are rounded on their way.
fn near(found: u64, expected: u64) -> bool {
    found.abs_diff(expected) <= 4
}

#[test]
fn a_read_on_an_idle_device_is_flash_firmware_and_link() {
    let read = last("ideal", &[], written(4096), vec![at(0, WorkOp::Read, 100, 1)])[0];
    let stages: Vec<_> = spent(&read).into_iter().map(|(stage, _)| stage).collect();
    assert_eq!(stages, [Stage::LinkDown, Stage::FlashRead, Stage::Firmware, Stage::LinkUp]);
    assert!(near(ns(&read, Stage::FlashRead), READ + UNIT_ON_BUS), "{:?}", spent(&read));
    assert_eq!(ns(&read, Stage::Firmware), COMMAND);
    // The data has a header, too.
    let up = UPIU + UPIU_ON_LINK + UNIT_ON_LINK;
    assert!(near(ns(&read, Stage::LinkDown), UPIU) && near(ns(&read, Stage::LinkUp), up), "{:?}", spent(&read));
}

#[test]
fn a_segment_that_is_not_in_sram_is_a_map_read() {
    // 64 KiB of segments are cached; this one was flushed first and has left.
    let read = last("ufs", &[], written(32_768), vec![at(0, WorkOp::Read, 100, 1)])[0];
    assert!(near(ns(&read, Stage::MapRead), SEGMENT_READ + UNIT_ON_BUS), "{:?}", spent(&read));
    assert!(near(ns(&read, Stage::FlashRead), READ + UNIT_ON_BUS), "{:?}", spent(&read));
    // In the demand schemes the entry is looked up.
    let read = last("dftl", &["scheme.dftl.cache_kib=16"], written(32_768), vec![at(0, WorkOp::Read, 100, 1)])[0];
    assert!(near(ns(&read, Stage::MapRead), SEGMENT_READ + UNIT_ON_BUS), "{:?}", spent(&read));
}

#[test]
fn a_command_waits_for_the_firmware_thread() {
    let reads = vec![at(0, WorkOp::Read, 100, 1), at(0, WorkOp::Read, 200, 1)];
    let found = last("ideal", &["firmware.command_ns=9000"], written(4096), reads);
    let second = found.iter().find(|read| read.lpa.0 == 200).expect("it was read");
    // Both were sent at once, and the second one came later by its bytes.
    assert!(near(ns(second, Stage::Queue), 9_000 - UPIU_ON_LINK), "{:?}", spent(second));
    assert!(near(ns(second, Stage::LinkDown), UPIU + UPIU_ON_LINK), "{:?}", spent(second));
}

#[test]
fn writes_wait_for_sram_and_forced_ones_for_programs() {
    // The rest of its NAND page is padding.
    let write = last("ideal", &[], written(32), vec![fua(0, 7)])[0];
    assert!(near(ns(&write, Stage::Program), PROGRAM + 2 * UNIT_ON_BUS), "{:?}", spent(&write));
    assert_eq!(ns(&write, Stage::Sram), 0);
    // 256 KiB of SRAM; the rest of 1 MiB waits for programs of what came before.
    let writes = (0..8).map(|i| at(0, WorkOp::Write, 32 * i, 32)).collect();
    let found = last("ideal", &[], vec![], writes);
    let last = found.last().expect("eight writes");
    assert!(ns(last, Stage::Sram) > PROGRAM && ns(last, Stage::Program) == 0, "{:?}", spent(last));
}

#[test]
fn a_flush_of_the_map_holds_what_comes() {
    // 600 scattered writes need flushes of a log with 128 entries, and a read every 20 us meets them.
    let writes = (0..600).map(|i| at(5_000 * i, WorkOp::Write, i * 7919 % 32_768, 1));
    let reads = (0..150).map(|i| at(20_000 * i + 1, WorkOp::Read, 100, 1));
    let mut requests: Vec<_> = writes.chain(reads).collect();
    requests.sort_by_key(|request| request.arrival);
    let held = |scheme| {
        let found = last(scheme, &[], written(32_768), requests.clone());
        found.iter().map(|record| ns(record, Stage::MapFlush)).max().unwrap_or_default()
    };
    assert!(held("ufs") > SEGMENT_READ, "{}", held("ufs"));
    assert_eq!(held("ideal"), 0);
}

#[test]
fn a_step_of_gc_holds_what_comes() {
    let overwrites = (0..40_000).map(|i| at(20_000 * i, WorkOp::Write, i * 7919 % 32_768, 1)).collect();
    let found = last("ideal", &[], written(32_768), overwrites);
    let held = found.iter().map(|record| ns(record, Stage::Gc)).max().unwrap_or_default();
    assert!(held > READ, "{held}");
    assert!(found.iter().all(|record| ns(record, Stage::MapFlush) == 0));
}

#[test]
fn the_hosts_time_is_in_its_stages() {
    let sets = ["host_time.read_submit_ns=11000", "host_time.read_complete_ns=48000"];
    let read = last("ideal", &sets, written(4096), vec![at(0, WorkOp::Read, 100, 1)])[0];
    assert_eq!((ns(&read, Stage::Block), ns(&read, Stage::Wake)), (11_000, 48_000));
    // Two tags are taken by reads that came before, so that the third read stays in the driver.
    let reads = (0..3).map(|i| at(0, WorkOp::Read, 100 + i, 1)).collect();
    let found = last("ideal", &["host.tags=2", "host.internal_tags=1"], written(4096), reads);
    assert!(ns(&found[2], Stage::Driver) > READ, "{:?}", spent(&found[2]));
}

/// Reads of different units at the same time, until one of them has waited in this stage.
fn pair_that_meets(stage: Stage) -> LogRow {
    let pairs = (1..512).map(|other| {
        let reads = vec![at(0, WorkOp::Read, 100, 1), at(0, WorkOp::Read, 100 + other, 1)];
        *last("ideal", &[], written(4096), reads).last().expect("two reads")
    });
    let mut met = pairs.filter(|read| ns(read, stage) > 0);
    met.next().expect("there are fewer dies than units")
}

#[test]
fn a_read_waits_for_its_die_behind_another_read() {
    let second = pair_that_meets(Stage::DieHostRead);
    // The first one was started by the firmware thread one command before.
    let wait = READ + UNIT_ON_BUS - COMMAND;
    assert!(near(ns(&second, Stage::DieHostRead), wait), "{:?}", spent(&second));
    // The row may have been in the page register; then only the bus takes time.
    assert!(ns(&second, Stage::FlashRead) <= READ + UNIT_ON_BUS, "{:?}", spent(&second));
}

#[test]
fn a_read_waits_for_its_die_behind_a_program() {
    let pairs =
        (0..512).map(|unit| last("ideal", &[], written(4096), vec![fua(0, 7), at(300_000, WorkOp::Read, unit, 1)]));
    let mut met = pairs.filter(|pair| pair.iter().any(|record| ns(record, Stage::DieHostWrite) > 0));
    let found = met.next().expect("the program is on one of the dies");
    let (write, read) = (&found[0], &found[1]);
    let programmed = write.completed.0 - ns(write, Stage::LinkUp) - ns(write, Stage::Firmware);
    let came = read.request.arrival.0 + ns(read, Stage::LinkDown);
    assert_eq!(ns(read, Stage::DieHostWrite), programmed - came, "{:?}", spent(read));
    assert!(near(ns(read, Stage::FlashRead), READ + UNIT_ON_BUS), "{:?}", spent(read));
}

#[test]
fn a_read_that_interrupts_a_program_waits_until_the_cells_stand_still() {
    const STOP: u64 = 20_000;
    let pair =
        |unit, sets: &[&str]| last("ideal", sets, written(4096), vec![fua(0, 7), at(300_000, WorkOp::Read, unit, 1)]);
    let meets = |unit: &u64| ns(&pair(*unit, &[])[1], Stage::DieHostWrite) > STOP;
    let unit = (0..512).find(meets).expect("the program is on one of the dies");
    let (waits, interrupts) = (pair(unit, &[]), pair(unit, &["nand.program_suspends=1"]));
    let [write, read] = &interrupts[..] else { panic!("two requests") };
    let (write, read) = if write.request.op == WorkOp::Write { (write, read) } else { (read, write) };
    assert_eq!(ns(read, Stage::DieHostWrite), STOP, "{:?}", spent(read));
    assert!(near(ns(read, Stage::FlashRead), READ + UNIT_ON_BUS), "{:?}", spent(read));
    // Sensing and transfer of the read, and the times of stopping and going on, come on top.
    let longer = write.completed.0 - waits[0].completed.0;
    assert!(near(longer, READ + UNIT_ON_BUS + STOP + 10_000), "{longer}");
}

/// Single writes all over the device, one every 100 us, and reads between them.
fn reads_beside_writes(scheme: &str, count: u64) -> Vec<LogRow> {
    let writes = (0..count).map(|i| at(100_000 * i, WorkOp::Write, i * 7919 % 32_768, 1));
    let reads = (0..count).map(|i| at(100_000 * i + 50_000, WorkOp::Read, i * 6007 % 32_768, 1));
    let mut all: Vec<_> = writes.chain(reads).collect();
    all.sort_by_key(|request| request.arrival);
    let found = last(scheme, &[], written(32_768), all);
    found.into_iter().filter(|record| record.request.op == WorkOp::Read).collect()
}

/// The longest time in a stage.
fn longest(records: &[LogRow], stage: Stage) -> u64 {
    records.iter().map(|record| ns(record, stage)).max().unwrap_or_default()
}

#[test]
fn a_read_waits_for_its_die_behind_gc_and_erases() {
    let reads = reads_beside_writes("ideal", 12_000);
    // An erase is never interrupted, and a die has no second one. Some read meets its first tenth.
    let erase = longest(&reads, Stage::DieErase);
    assert!(erase <= ERASE && erase > ERASE / 10 * 9, "{erase}");
    assert_eq!(longest(&reads, Stage::DieMapRead), 0);
    // A step of GC holds what comes. Only a read that was under way before it, here for a map unit, meets its
    // operations on a die.
    assert_eq!(longest(&reads, Stage::DieGc), 0);
    let reads = reads_beside_writes("dftl", 12_000);
    let gc = longest(&reads, Stage::DieGc);
    assert!(gc > READ, "{gc}");
}

#[test]
fn a_read_waits_for_its_die_behind_the_mapping() {
    let reads = reads_beside_writes("dftl", 2_000);
    let (read, write) = (longest(&reads, Stage::DieMapRead), longest(&reads, Stage::DieMapWrite));
    assert!(read > 0 && read <= 4 * (READ + UNIT_ON_BUS), "{read}");
    assert!(write > 0 && write <= PROGRAM + 4 * UNIT_ON_BUS, "{write}");
}

#[test]
fn a_read_waits_for_its_segment_in_the_host() {
    // The host has memory for fewer than 256 segments, so the first one has left when the last has been written.
    let sets =
        ["host.memory_mib=1", "device.capacity_mib=2048", "nand.data_superblocks=2304", "nand.meta_superblocks=32"];
    let touched = || (0..400).map(|segment| request(WorkOp::Write, 1024 * segment, 1));
    let before = || touched().chain([request(WorkOp::Flush, 0, 0)]).collect();
    let read = last("hp-ufs", &sets, before(), vec![at(0, WorkOp::Read, 0, 1)])[0];
    // A command there, the segment from flash, a command's time of the firmware, the segment back.
    let fetch = UPIU + SEGMENT_READ + UNIT_ON_BUS + COMMAND + UPIU + UPIU_ON_LINK + UNIT_ON_LINK;
    // Each of five transfers is rounded.
    assert!(ns(&read, Stage::Fetch).abs_diff(fetch) <= 10, "{fetch} {:?}", spent(&read));
    assert_eq!((ns(&read, Stage::MapRead), ns(&read, Stage::Driver)), (0, 0), "{:?}", spent(&read));
    let known = last("hp-ufs", &sets, before(), vec![at(0, WorkOp::Read, 1024 * 399, 1)])[0];
    assert_eq!(ns(&known, Stage::Fetch), 0, "{:?}", spent(&known));
}

#[test]
fn the_collection_of_metadata_holds_what_comes() {
    // Scattered writes under a log of 128 entries write segments again and again.
    let reads = reads_beside_writes("ufs", 12_000);
    let (held, gc) = (longest(&reads, Stage::MetaGc), longest(&reads, Stage::Gc));
    // It waits for the erase of a superblock, or of some.
    assert!(held > ERASE / 2 && held < 4 * ERASE, "{held}");
    assert!(gc > READ, "{gc}");
    let ideal = reads_beside_writes("ideal", 12_000);
    assert!(longest(&ideal, Stage::MetaGc) < ERASE / 2, "{}", longest(&ideal, Stage::MetaGc));
}

#[test]
fn a_request_that_is_merged_waits_outside_for_its_neighbours() {
    let writes = || vec![at(0, WorkOp::Write, 100, 1), at(10_000, WorkOp::Write, 101, 1)];
    let merged = last_of("ideal", &[], written(4096), writes(), true);
    assert_eq!([ns(&merged[0], Stage::Outside), ns(&merged[1], Stage::Outside)], [10_000, 0], "{merged:?}");
    assert_eq!(merged[0].completed, merged[1].completed);
    let apart = last("ideal", &[], written(4096), writes());
    assert_eq!(ns(&apart[0], Stage::Outside), 0);
}
