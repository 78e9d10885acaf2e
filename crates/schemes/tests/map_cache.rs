//! Answers of the device about its mapping cache, and the effect of an announced batch.

use crate::kit::{Bench, Rng, tiny};
use ftl::{Device, DeviceConfig, DeviceEvent, MappingKind};
use ufs::{Command, DataIn, DataOut, LpaRun, Op, Status, Tag};
use units::{Lpa, Nanos, Seq, SimTime};

const SELF_RELIANT: [MappingKind; 2] =
    [MappingKind::of::<ufsim_schemes::SegmentLog>(), MappingKind::of::<ufsim_schemes::Ideal>()];

/// A device on which random commands have written everything.
fn written(kind: MappingKind) -> (Bench, Rng) {
    let mut bench = Bench::new(tiny(), kind);
    let mut rng = Rng(77);
    for _ in 0..3_000 {
        bench.send(Op::Write { lpa: Lpa(rng.below(4096)), len: 1, fua: false });
    }
    bench.settle();
    (bench, rng)
}

fn misses(bench: &Bench) -> u64 {
    bench.device.stats().segment_misses
}

#[test]
fn what_is_cached_needs_no_flash_read_and_what_is_not_needs_one() {
    for kind in SELF_RELIANT {
        let (mut bench, mut rng) = written(kind);
        let mut seen = [0; 2];
        for _ in 0..1_000 {
            let lpa = Lpa(rng.below(4096));
            let cached = bench.device.cached(lpa, 1);
            let before = misses(&bench);
            bench.send(Op::Read { lpa, len: 1 });
            bench.settle();
            assert_eq!(misses(&bench) == before, cached, "{kind:?}: {lpa}");
            seen[usize::from(cached)] += 1;
            if rng.below(10) == 0 {
                bench.send(Op::Write { lpa: Lpa(rng.below(4096)), len: 1, fua: false });
            }
        }
        assert!(
            seen[1] > 50 && (seen[0] > 50 || kind == MappingKind::of::<ufsim_schemes::Ideal>()),
            "{kind:?}: {seen:?}"
        );
        assert!(!bench.device.cached(Lpa(4095), 2) && !bench.device.cached(Lpa(u32::MAX), 1), "beyond the device");
    }
}

#[test]
fn the_list_names_what_is_cached() {
    for kind in SELF_RELIANT {
        let (mut bench, mut rng) = written(kind);
        for _ in 0..50 {
            bench.send(Op::Read { lpa: Lpa(rng.below(4096)), len: 1 });
            bench.send(Op::Write { lpa: Lpa(rng.below(4096)), len: 1, fua: true });
            bench.settle();
            bench.send(Op::CacheQuery);
            bench.settle();
            let Some(DataIn::Runs(runs)) = bench.responses.pop().map(|r| r.data) else { panic!("no list") };
            let units = |run: &LpaRun| (run.lpa.0..run.end().0).map(Lpa).collect::<Vec<_>>();
            let listed: Vec<Lpa> = runs.iter().flat_map(units).collect();
            assert!(listed.iter().all(|&lpa| bench.device.cached(lpa, 1)), "{kind:?}: {runs:?}");
            // Everything was written, so each cached unit is in SRAM and listed.
            for lpa in (0..4096).map(Lpa).filter(|&lpa| bench.device.cached(lpa, 1)) {
                assert!(listed.contains(&lpa), "{kind:?}: {lpa} is missing");
            }
        }
    }
}

#[test]
fn a_batch_of_reads_loads_its_segment_once() {
    let (mut bench, _) = written(MappingKind::of::<ufsim_schemes::SegmentLog>());
    let cold =
        (0..4).map(|i| i * 1024).find(|&lpa| !bench.device.cached(Lpa(lpa), 1024)).expect("two of four are cached");
    let missing: Vec<Lpa> = (cold..cold + 1024).map(Lpa).filter(|&lpa| !bench.device.cached(lpa, 1)).take(5).collect();
    let runs: Vec<LpaRun> = missing.iter().map(|&lpa| LpaRun { lpa, len: 1 }).collect();
    let before = bench.device.stats();
    let write = Op::BatchNotice { write: true, packed: false, requests: 5 };
    bench.send_with(write, DataOut::Runs(runs.clone().into()));
    bench.settle();
    assert_eq!(bench.device.stats().segment_reads, before.segment_reads, "writes need no segment");
    bench.send_with(Op::BatchNotice { write: false, packed: false, requests: 5 }, DataOut::Runs(runs.into()));
    bench.settle();
    missing.iter().for_each(|&lpa| bench.send(Op::Read { lpa, len: 1 }));
    bench.settle();
    let after = bench.device.stats();
    assert_eq!((after.segment_reads - before.segment_reads, after.segment_misses), (1, before.segment_misses));
}

/// Sends commands at once. Gives the time of the last answer, and all statuses.
fn answers(commands: Vec<(Op, DataOut)>) -> (SimTime, Vec<Status>) {
    let config = DeviceConfig { command_cost: Nanos(10_000), ..tiny() };
    let mut device = Device::new(config, MappingKind::of::<ufsim_schemes::SegmentLog>());
    let mut wakes: Vec<(SimTime, DeviceEvent)> = Vec::new();
    let (mut last, mut statuses) = (SimTime::START, Vec::new());
    let mut drain = |device: &mut Device, wakes: &mut Vec<(SimTime, DeviceEvent)>| {
        wakes.append(&mut device.effects().wakes);
        for (at, response) in device.effects().responses.drain(..) {
            last = last.max(at);
            statuses.push(response.status);
        }
    };
    for ((op, data), tag) in commands.into_iter().zip(0..) {
        device.command(SimTime::START, Command { tag: Tag(tag), op, host_seq: Seq(0), freed: None, data });
        drain(&mut device, &mut wakes);
    }
    while let Some(at) = wakes.iter().enumerate().min_by_key(|(_, wake)| wake.0).map(|(at, _)| at) {
        let (now, event) = wakes.remove(at);
        device.wake(now, event);
        drain(&mut device, &mut wakes);
    }
    (last, statuses)
}

#[test]
fn a_packed_batch_costs_one_command() {
    let run = |packed, requests| {
        let notice = Op::BatchNotice { write: false, packed, requests };
        let runs = DataOut::Runs([LpaRun { lpa: Lpa(0), len: 9 }].into());
        let reads = (0..9).map(|i| (Op::Read { lpa: Lpa(i), len: 1 }, DataOut::None));
        let (last, statuses) = answers(std::iter::once((notice, runs)).chain(reads).collect());
        assert_eq!(statuses, [Status::Good; 10]);
        last.0
    };
    assert_eq!(run(false, 9), 100_000);
    assert_eq!(run(true, 9), 10_000);
    assert_eq!(run(true, 6), 40_000, "what is not announced is not packed");
}

#[test]
fn a_notice_that_makes_no_sense_is_refused() {
    let refused = |data| {
        let notice = Op::BatchNotice { write: false, packed: true, requests: 3 };
        assert_eq!(answers(vec![(notice, data)]).1, [Status::InvalidField]);
    };
    let runs =
        |runs: &[(u32, u32)]| DataOut::Runs(runs.iter().map(|&(lpa, len)| LpaRun { lpa: Lpa(lpa), len }).collect());
    refused(DataOut::None);
    refused(runs(&[]));
    refused(runs(&[(0, 0)]));
    refused(runs(&[(4095, 2)]));
    refused(runs(&[(u32::MAX, 5)]));
    refused(runs(&[(1023, 2)]));
    refused(runs(&[(0, 1), (1024, 1)]));
    refused(runs(&[(0, 1); 1025]));
}
