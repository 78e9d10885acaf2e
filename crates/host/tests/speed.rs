//! Cost of the driver by itself. Ignored, because it depends on the machine; run it with
//! `cargo test --release -p ufsim-host --test speed -- --ignored --nocapture`.

// The wall clock is what is measured here.
#![allow(clippy::disallowed_types, clippy::disallowed_methods)]

use std::collections::VecDeque;
use std::time::Instant;

use ufs::{Command, DataIn, DeviceInfo, HpbNotice, L2pEntry, Notice, Op, PiggyBack, Response, Status};
use ufsim_host::{BoosterKind, Driver, HostConfig, Request, RequestOp};
use units::{Lpa, Ppa, Seq, SimTime};

/// 128 GiB, as in the HP-UFS paper.
const INFO: DeviceInfo =
    DeviceInfo { capacity_units: 32 << 20, superblocks: 9472, superblock_units: 4096, hpb_group_entries: 4096 };

/// Answers every command at once; the entry of a write rides on its response.
fn answer(command: Command, seq: &mut Seq) -> Response {
    let mut piggyback = PiggyBack::default();
    let data = match command.op {
        Op::Write { lpa, .. } => {
            *seq = seq.plus(1);
            let ppa = Some(Ppa((seq.0 % (9472 * 4096)) as u32));
            piggyback.notice = Notice::Entry(L2pEntry { lpa, ppa, len: 1, seq: *seq, source: None });
            DataIn::None
        }
        Op::SegmentRead { .. } => DataIn::Segment(Box::new([0; 1024])),
        Op::MappedRead { .. } | Op::Read { .. } => DataIn::One(None),
        _ => DataIn::None,
    };
    Response { tag: command.tag, status: Status::Good, data, hpb: HpbNotice::None, piggyback }
}

/// Nanoseconds per request of `count` random 4 KiB requests in `range` units, 8 at a time.
fn measure(booster: BoosterKind, op: RequestOp, range: u32, count: u32) -> f64 {
    let config = HostConfig { booster, hpb_max_defer: None, ..HostConfig::default() };
    let mut driver = Driver::new(config, INFO);
    let mut seq = Seq(0);
    let mut link = VecDeque::new();
    let mut random = 1u64;
    let mut run = |count: u32, op| {
        let start = Instant::now();
        for id in 0..count {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let lpa = Lpa(((random >> 33) % u64::from(range)) as u32);
            let now = SimTime(id.into());
            driver.submit(now, Request { id, op, lpa, len: 1, stamp: id });
            link.extend(std::iter::from_fn(|| driver.next_command(now)));
            if link.len() > 8 {
                let command = link.pop_front().expect("it is not empty");
                driver.on_response(now, answer(command, &mut seq));
                link.extend(std::iter::from_fn(|| driver.next_command(now)));
            }
            while driver.pop_completion().is_some() {}
        }
        while let Some(command) = link.pop_front() {
            driver.on_response(SimTime(0), answer(command, &mut seq));
            link.extend(std::iter::from_fn(|| driver.next_command(SimTime(0))));
        }
        while driver.pop_completion().is_some() {}
        start.elapsed().as_nanos() as f64 / f64::from(count)
    };
    // Once unmeasured, so that the segments are there.
    run(range.min(count), RequestOp::Write { fua: false });
    run(count, op)
}

#[test]
#[ignore = "depends on the machine"]
fn a_request_costs_little() {
    let write = RequestOp::Write { fua: false };
    for &booster in BoosterKind::ALL {
        for (name, op) in [("write", write), ("read", RequestOp::Read)] {
            for gib in [1, 16, 128] {
                let ns = measure(booster, op, gib << 18, 4_000_000);
                println!("{} random 4 KiB {name} in {gib} GiB: {ns:.0} ns", booster.name());
                assert!(ns < 1_000.0, "{ns} ns");
            }
        }
    }
}
