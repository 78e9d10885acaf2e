//! A full device, with as little SRAM and as large rows as are allowed: GC goes on while host data hold all other
//! buffers.

use crate::kit::{Bench, Rng, self_reliant, tiny};
use nand::{Faults, Geometry};

use ftl::{DeviceConfig, GcConfig, GcPace, SramConfig};
use ufs::Op;
use units::Lpa;

const UNITS: u32 = 5120;

/// Rows of 8 or 16 units, two of them in reserve. The log has room for one when a map flush begins.
fn cramped(planes: u32, pace: GcPace) -> DeviceConfig {
    let cfg = tiny();
    let geometry = Geometry { planes, pages_per_block: 32 / planes, ..cfg.geometry };
    let row = geometry.row_units();
    let sram = SramConfig { reserve: 2 * row as u16, ..cfg.sram };
    let gc = GcConfig { pace, units_per_step: 16, ..cfg.gc };
    let mut mappings = cfg.mappings;
    let above = u32::from(cfg.log.entries) - row;
    mappings.set("*", "flush_above_entries", above).expect("a parameter of some scheme");
    DeviceConfig { geometry, sram, gc, mappings, capacity_units: UNITS, ..cfg }
}

/// Full devices of every kind.
fn full_devices() -> impl Iterator<Item = (Bench, Rng)> {
    let kinds = self_reliant().flat_map(|kind| [2, 4].map(|planes| (kind, planes)));
    let paced = kinds.flat_map(|(kind, planes)| GcPace::ALL.iter().map(move |&pace| (kind, planes, pace)));
    let seeded = paced.flat_map(|device| (1..=4).map(move |seed| (device, seed)));
    seeded.map(|((kind, planes, pace), seed)| {
        println!("{kind:?}, {planes} planes, {pace:?}, seed {seed}");
        let mut bench = Bench::new(cramped(planes, pace), kind);
        for lpa in (0..UNITS).step_by(16) {
            bench.send(Op::Write { lpa: Lpa(lpa), len: 16, fua: false });
        }
        (bench, Rng(0x9e37_79b9_7f4a_7c15 ^ (seed << 32)))
    })
}

/// Host data hold all buffers but the reserve. Reads that wait for some of the others pin the superblocks that GC wants
/// to erase.
#[test]
fn writes_go_on_among_reads() {
    let (mut devices, mut at_reserve) = (0, 0);
    for (mut bench, mut rng) in full_devices() {
        let mut writes = 0;
        while writes < 1500 {
            let writing = bench.in_flight.values().filter(|(op, _)| matches!(op, Op::Write { .. })).count();
            if writing < 16 {
                let len = 1 + rng.below(8);
                bench.send(Op::Write { lpa: Lpa(rng.below(UNITS - len)), len, fua: false });
                writes += 1;
            } else {
                let len = 16 + rng.below(16);
                bench.send(Op::Read { lpa: Lpa(rng.below(UNITS - len)), len });
            }
        }
        bench.settle();
        devices += 1;
        at_reserve += u32::from(bench.device.stats().gc_urgent_steps > 0);
    }
    assert!(2 * at_reserve > devices, "only {at_reserve} of {devices} devices ran down to the reserve");
}

/// Superblocks are lost until the device only reads. From then on nothing is written but what it holds: GC would go on
/// with victims that are nearly full of valid pages, and failing flash would take its last superblocks.
#[test]
fn a_device_that_only_reads_does_not_collect() {
    for (mut bench, mut rng) in full_devices() {
        bench.device.set_faults(Faults { seed: 1, program_per_million: 20_000, ..Faults::default() });
        while !bench.device.is_read_only() {
            bench.send(Op::Write { lpa: Lpa(rng.below(UNITS)), len: 1, fua: false });
        }
        let before = bench.device.stats().gc_units_programmed;
        bench.send(Op::Flush);
        bench.settle();
        let copied = bench.device.stats().gc_units_programmed - before;
        assert!(copied <= 128, "GC has copied {copied} units after the last write");
    }
}
