//! A host that sends anything: every command is well formed, none has to make sense. The device must not panic, its
//! sums must hold, it must answer every read, and it must never give one address the data of another.

use ftl::{Device, MappingKind};
use lab::profile::Profile;
use proptest::prelude::*;
use ufs::{BitmapFor, Command, DataOut, LpaRun, Op, Quarters, SegmentState, Tag};
use ufsim_testkit::hostile::Hostile;
use units::{Lpa, Nanos, Ppa, SegmentId, Seq, Superblock};

/// Numbers inside a range, near its limit, or far outside.
fn number(limit: u32) -> impl Strategy<Value = u32> {
    prop_oneof![
        8 => 0..limit,
        1 => (0..4u32).prop_map(move |n| limit.saturating_sub(2).wrapping_add(n)),
        1 => Just(u32::MAX),
        1 => any::<u32>(),
    ]
}

fn length() -> impl Strategy<Value = u32> {
    prop_oneof![8 => 1..20u32, 1 => Just(0u32), 1 => number(70_000)]
}

#[derive(Clone, Copy, Debug)]
struct Sizes {
    units: u32,
    blocks: u32,
    pages: u32,
}

fn op(s: Sizes) -> impl Strategy<Value = Op> {
    let lpa = || number(s.units).prop_map(Lpa);
    let ppa = prop::option::of(number(s.pages).prop_map(Ppa));
    let segment = || number(s.units.div_ceil(1024)).prop_map(SegmentId);
    let entry = prop_oneof![1 => any::<u64>(), 2 => number(s.pages).prop_map(u64::from)];
    prop_oneof![
        4 => (lpa(), length()).prop_map(|(lpa, len)| Op::Read { lpa, len }),
        2 => (lpa(), length(), entry).prop_map(|(lpa, len, entry)| Op::HpbRead { lpa, len, entry }),
        4 => (lpa(), length(), ppa).prop_map(|(lpa, len, ppa)| Op::MappedRead { lpa, len, ppa }),
        8 => (lpa(), length(), any::<bool>()).prop_map(|(lpa, len, fua)| Op::Write { lpa, len, fua }),
        1 => Just(Op::Flush),
        1 => (lpa(), length()).prop_map(|(lpa, len)| Op::Unmap { lpa, len }),
        1 => number(8).prop_map(|group| Op::HpbReadBuffer { group }),
        1 => number(8).prop_map(|region| Op::HpbInactivate { region }),
        2 => segment().prop_map(|segment| Op::SegmentRead { segment }),
        3 => segment().prop_map(|segment| Op::SegmentWrite { segment }),
        2 => Just(Op::EntryTransfer),
        1 => Just(Op::EntriesAgain),
        2 => (number(s.blocks), any::<bool>()).prop_map(|(block, wear)| Op::ValidBitmap {
            block: Superblock(block),
            reason: if wear { BitmapFor::WearLevelling } else { BitmapFor::Gc },
        }),
        1 => Just(Op::CacheQuery),
        2 => (any::<bool>(), any::<bool>(), 0..100u32)
            .prop_map(|(write, packed, requests)| Op::BatchNotice { write, packed, requests }),
    ]
}

fn data(s: Sizes) -> impl Strategy<Value = DataOut> {
    prop_oneof![
        6 => (1..1000u32).prop_map(DataOut::Stamp),
        1 => Just(DataOut::None),
        2 => (number(s.pages), any::<u32>()).prop_map(|(first, step)| {
            let entry = |i: usize| first.wrapping_add((i as u32).wrapping_mul(step % 7));
            DataOut::Segment(SegmentState::of(&std::array::from_fn(entry)))
        }),
        1 => (number(s.pages), 1..15u8).prop_map(|(first, bits)| {
            let quarters = Quarters::new(bits).expect("neither none nor all");
            let image = std::array::from_fn(|i| first.wrapping_add(i as u32));
            DataOut::SegmentParts(quarters, quarters.of(&image))
        }),
        2 => prop::collection::vec(any::<u64>(), 0..10).prop_map(|words| DataOut::Bitmap(words.into())),
        1 => any::<u64>().prop_map(|word| DataOut::Bitmap(vec![word; 4].into())),
        2 => (number(s.units), 1..8u32, 0..30u32).prop_map(|(first, len, n)| {
            let run = |i: u32| LpaRun { lpa: Lpa(first.wrapping_add(i * 9)), len };
            DataOut::Runs((0..n).map(run).collect())
        }),
    ]
}

#[derive(Clone, Debug)]
struct Step {
    command: Command,
    /// Time since the previous command.
    pause: u64,
}

fn step(s: Sizes) -> impl Strategy<Value = Step> {
    let tag = (0..40u8).prop_map(Tag);
    let seq = prop_oneof![4 => (0..3000u64).prop_map(Seq), 1 => Just(Seq(u64::from(u32::MAX)))];
    let freed = prop::option::weighted(0.2, number(s.blocks).prop_map(Superblock));
    let pause = prop_oneof![3 => 0..3_000u64, 1 => 0..2_000_000u64];
    (tag, op(s), seq, freed, data(s), pause).prop_map(|(tag, op, host_seq, freed, data, pause)| Step {
        command: Command { tag, op, host_seq, freed, data },
        pause,
    })
}

fn sizes() -> (Profile, Sizes) {
    let profile = Profile::load("tiny", &[]).expect("an embedded profile");
    let info = Device::new(profile.device_config([3, 5]), MappingKind::of::<schemes::Ideal>()).info();
    let pages = info.superblocks * info.superblock_units;
    // Few addresses, so that commands often use the same ones; a third of the superblocks are reached in a run.
    (profile, Sizes { units: info.capacity_units.min(6000), blocks: 40, pages: pages.min(20_000) })
}

fn run_steps(kind: MappingKind, segment_kib: u32, entry: &str, steps: &[Step]) {
    let (profile, _) = sizes();
    let mut config = profile.device_config([3, 5]);
    config.mappings.set("*", "segment_kib", segment_kib).expect("schemes with segments have it");
    config.mappings.set("*", "hpb_entry", entry).expect("what is published to an HPB host has it");
    let mut device = Hostile::new(config, kind);
    for step in steps {
        device.pause(Nanos(step.pause));
        device.send(step.command.clone());
    }
    device.end();
}

macro_rules! malicious {
    ($($Scheme:ident)*) => {
        #[allow(non_snake_case)]
        mod device_survives {
            use super::*;

            $(proptest! {
                #![proptest_config(ProptestConfig { cases: 100, ..ProptestConfig::default() })]
                #[test]
                fn $Scheme(
                    steps in prop::collection::vec(step(sizes().1), 1..400),
                    segment_kib in prop_oneof![Just(4u32), Just(2), Just(1)],
                    entry in prop_oneof![Just("sealed"), Just("plain")],
                ) {
                    run_steps(MappingKind::of::<schemes::$Scheme>(), segment_kib, entry, &steps);
                }
            })*
        }
    };
}
schemes::registered!(malicious);
