//! Failing flash: the host learns of failures, and nothing else is lost.

use std::panic::{AssertUnwindSafe, catch_unwind};

use campaign::{Defects, Rig, Rng};
use ftl::MappingKind;
use host::RequestOp;
use lab::profile::Profile;
use nand::Faults;
use ufsim_testkit::small_profile;
use units::{Lpa, Nanos};

fn rigs(kind: MappingKind, faults: Faults) -> impl Iterator<Item = (&'static str, Rig)> {
    rigs_of(Profile::load("tiny", &[]).expect("an embedded profile"), kind, faults)
}

fn rigs_of(profile: Profile, kind: MappingKind, faults: Faults) -> impl Iterator<Item = (&'static str, Rig)> {
    let presets = lab::schemes().iter().filter(move |preset| preset.parts.mapping == kind);
    let rig = move |parts| Rig::defective(&profile, parts, Nanos::from_micros(3), Defects { faults, sabotage: None });
    presets.map(move |preset| (preset.name, rig(preset.parts)))
}

/// A failed read ends its own request with an error, and no other. The firmware repeats reads of its own.
fn a_failed_read_ends_its_own_request(kind: MappingKind) {
    for (name, mut rig) in rigs(kind, Faults { seed: 1, read_per_million: 50_000, ..Faults::default() }) {
        let mut rng = Rng::new(21);
        rig.churn(&mut rng, 12_000, 30_000, 12);
        rig.settle();
        rig.read_all();
        let stats = rig.device().stats();
        assert!(rig.outcomes.errors > 50, "{name}: {:?}", rig.outcomes);
        assert!(rig.outcomes.errors <= stats.read_failures, "{name}: errors without a failed read");
        assert!(stats.read_retries > 10 || kind == MappingKind::of::<schemes::Ideal>(), "{name}: {stats:?}");
    }
}

/// Only a fault that was injected into its page excuses a failed read. Here the host names pages of other addresses,
/// and reads fail where the device knows nothing better; flash could fail as well, but does not.
#[test]
fn a_read_that_fails_without_a_fault_is_noticed() {
    let faults = Faults { seed: 1, read_per_million: 1, ..Faults::default() };
    let (_, mut rig) = rigs(MappingKind::of::<schemes::HpUfs>(), faults).next().expect("a preset");
    let mut rng = Rng::new(21);
    rig.churn(&mut rng, 3000, 8192, 8);
    rig.settle();
    let reads = catch_unwind(AssertUnwindSafe(|| {
        for _ in 0..3000 {
            let (lpa, other) = (Lpa(rng.below(8192)), Lpa(rng.below(8192)));
            if let (Some(Some(_)), Some(Some(wrong))) = (rig.driver().mapping(lpa), rig.driver().mapping(other)) {
                rig.driver().tamper(lpa, Some(wrong));
                rig.submit(RequestOp::Read, lpa, 1, 1);
                rig.wait();
            }
        }
    }));
    let failure = reads.expect_err("a failed read has to be noticed");
    let text = failure.downcast_ref::<String>().expect("the message of an assertion");
    assert!(text.contains("UnrecoveredRead"), "{text}");
}

/// Failed programs and erases cost superblocks. When few are left the device refuses writes. Everything that it has
/// accepted can be read, also after a power cut.
fn a_worn_out_device_only_reads(kind: MappingKind) {
    let faults = Faults { seed: 2, program_per_million: 1_000, erase_per_million: 60_000, read_per_million: 0 };
    for (name, mut rig) in rigs(kind, faults) {
        let mut rng = Rng::new(22);
        for _ in 0..200 {
            rig.churn(&mut rng, 1000, 30_000, 12);
            if rig.device().is_read_only() {
                break;
            }
        }
        assert!(rig.device().is_read_only(), "{name}: {:?}", rig.device().stats());
        rig.settle();
        rig.read_all();
        let refused = rig.outcomes.refused;
        rig.submit(RequestOp::Write { fua: false }, Lpa(5), 1, 1);
        rig.settle();
        assert_eq!(rig.outcomes.refused, refused + 1, "{name}");
        let stats = rig.device().stats();
        assert!(stats.program_failures > 0 && stats.erase_failures > 0, "{name}: {stats:?}");
        // Failed erases of metadata superblocks are repeated; only data superblocks are retired.
        assert!(stats.superblocks_retired > 0, "{name}: {stats:?}");
        rig.power_cut(&mut rng, 1);
        rig.read_all();
    }
}

/// Superblocks that will be given up once they are empty are worthless for GC. The device stops accepting writes while
/// it still has room for the accepted ones.
fn a_device_that_wears_out_fast_answers_everything(kind: MappingKind) {
    for (seed, program_per_million) in (0..20).map(|seed| (seed, if seed % 2 == 0 { 20_000 } else { 100_000 })) {
        let faults = Faults { seed, program_per_million, ..Faults::default() };
        for (name, mut rig) in rigs_of(small_profile(), kind, faults) {
            rig.churn(&mut Rng::new(7), 2500, 4000, 6);
            rig.settle();
            assert!(rig.device().is_read_only(), "{name}: {:?}", rig.device().stats());
            rig.read_all();
        }
    }
}

/// If the snapshot at the start of a metadata superblock cannot be programmed, the superblock is given up, but pieces
/// that were under way follow it. Recovery finds them, although the first page is unreadable.
fn what_stands_behind_a_failed_snapshot_is_found(kind: MappingKind) {
    flush_and_cut(kind, 200_000, 0..40);
}

/// If several snapshots in a row fail, their superblocks are erased before the last free one is opened.
fn a_row_of_failed_snapshots_leaves_superblocks(kind: MappingKind) {
    flush_and_cut(kind, 350_000, 80..100);
}

/// Writes, flushes and power cuts with this rate of failing programs.
fn flush_and_cut(kind: MappingKind, program_per_million: u32, seeds: std::ops::Range<u64>) {
    for seed in seeds {
        let faults = Faults { seed, program_per_million, ..Faults::default() };
        for (_, mut rig) in rigs(kind, faults) {
            let mut rng = Rng::new(seed);
            for _ in 0..2 {
                rig.churn(&mut rng, 20, 1000, 4);
                rig.submit(RequestOp::Flush, Lpa(0), 0, 4);
                rig.wait();
                rig.power_cut(&mut rng, 0);
            }
            rig.churn(&mut rng, 20, 1000, 4);
            rig.settle();
        }
    }
}

macro_rules! faults {
    ($($Scheme:ident)*) => {$(
        #[allow(non_snake_case)]
        mod $Scheme {
            ufsim_testkit::tests_of_scheme! { ftl::MappingKind::of::<schemes::$Scheme>(), super:
                a_failed_read_ends_its_own_request
                a_worn_out_device_only_reads
                a_device_that_wears_out_fast_answers_everything
                what_stands_behind_a_failed_snapshot_is_found
                a_row_of_failed_snapshots_leaves_superblocks
            }
        }
    )*};
}
schemes::registered!(faults);
