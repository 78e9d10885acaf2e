//! The bench notices what it is there to notice.

use host::RequestOp;
use lab::profile::Profile;
use lab::schemes;
use nand::Faults;
use ufs::LinkConfig;
use ufsim_campaign::{Defects, Rig, Rng};
use units::{AppId, Lpa, Nanos};

const WRITE: RequestOp = RequestOp::Write { fua: false };

fn rig(name: &str) -> Rig {
    let profile = Profile::load("tiny", &[]).expect("an embedded profile");
    let parts = schemes().iter().find(|preset| preset.name == name).expect("a preset").parts;
    let link = LinkConfig { down_bytes_per_us: 100, up_bytes_per_us: 100, upiu_latency: Nanos::from_micros(3) };
    Rig::linked(&profile, parts, link, Defects::default())
}

/// Reads of everything after a power cut run on sound flash, so none of them may fail, whatever failed before.
#[test]
fn flash_that_fails_is_sound_while_everything_is_read() {
    let profile = Profile::load("tiny", &[]).expect("an embedded profile");
    let faults = Faults { seed: 1, read_per_million: 200_000, ..Faults::default() };
    let defects = Defects { faults, sabotage: None };
    let mut rig = Rig::defective(&profile, schemes()[0].parts, Nanos::from_micros(3), defects);
    let mut rng = Rng::new(3);
    rig.churn(&mut rng, 500, 300, 8);
    let before = rig.outcomes.errors;
    assert!(before > 0, "flash was made to fail");
    rig.power_cut(&mut rng, 0);
    rig.read_all();
    assert_eq!(rig.outcomes.errors, before);
    rig.churn(&mut rng, 500, 300, 8);
    assert!(rig.outcomes.errors > before, "it fails again afterwards");
}

/// Requests to one address may be outstanding together; they take effect in their order.
#[test]
fn overlapping_requests_take_effect_in_their_order() {
    for preset in schemes() {
        let mut rig = rig(preset.name);
        let mut rng = Rng::new(5);
        for round in 0..40 {
            let mut last = 0;
            for _ in 0..1 + rng.below(12) {
                last = rig.submit_now(WRITE, Lpa(rng.below(3)), 3, AppId::SYSTEM);
                let op = [RequestOp::Read, RequestOp::Unmap][rng.below(2) as usize];
                rig.submit_now(op, Lpa(6), 1 + rng.below(4), AppId::SYSTEM);
            }
            rig.submit_now(WRITE, Lpa(2), 1, AppId::SYSTEM);
            assert!(rig.has_overlap());
            rig.settle();
            assert_eq!(rig.held(Lpa(2)), last + 2, "{}, round {round}", preset.name);
            rig.read_all();
        }
    }
}

/// A power cut takes what is on the link, and the bench tells what that was.
#[test]
fn a_power_cut_takes_what_is_on_the_link() {
    let mut rig = rig("ufs");
    rig.submit(WRITE, Lpa(0), 32, 8);
    let link = rig.on_link();
    assert_eq!((link.commands, link.responses, link.partial), (1, 0, 1));
    rig.power_cut(&mut Rng::new(1), 0);
    assert_eq!(rig.held(Lpa(0)), 0);
}

/// After a power cut the driver of HP-UFS reads all segments. Requests wait, and the power may be cut again.
#[test]
fn the_power_may_be_cut_while_the_host_finds_out_what_the_device_holds() {
    let mut rig = rig("hp-ufs");
    let mut rng = Rng::new(1);
    (0..1000).for_each(|i| rig.submit(WRITE, Lpa(16 * i), 2, 8));
    rig.submit(RequestOp::Flush, Lpa(0), 0, 8);
    rig.wait();
    for events in [0, 3, 10, 30] {
        rig.cut_and_recover(&mut rng, 0);
        rig.attach();
        rig.submit_now(WRITE, Lpa(1), 1, AppId::SYSTEM);
        rig.run(events);
        assert!(rig.is_surveying(), "after {events} events");
    }
    rig.power_cut(&mut rng, 0);
    assert!(!rig.is_surveying());
    assert_eq!(rig.held(Lpa(16)), 2);
}

/// A limit of memory that is set for good holds for the driver of the next boot.
#[test]
fn memory_can_be_taken_for_good() {
    let mut rig = rig("hp-ufs");
    let mut used = |forever: bool| {
        let limit = 64 << 10;
        assert!(if forever { rig.set_memory(limit) } else { rig.shrink(limit) });
        rig.cut_and_recover(&mut Rng::new(1), 0);
        rig.attach();
        (0..32).for_each(|segment| rig.submit(WRITE, Lpa(1024 * segment), 1, 4));
        rig.settle();
        rig.driver().stats().dram_bytes_used
    };
    assert!(used(false) > 64 << 10);
    assert!(used(true) <= 64 << 10);
}

/// A cut makes full superblocks of the open ones. Cut after cut in the middle of GC, each as soon as it has copied a
/// few pages, leaves enough free superblocks: what was open has few valid pages, so it is collected first.
#[test]
fn power_cuts_amid_gc_do_not_use_up_the_free_superblocks() {
    for name in ["ufs", "hp-ufs", "dftl", "msftl"] {
        let mut rig = rig(name);
        let (units, mut rng) = (rig.units(), Rng::new(7));
        (0..units).step_by(128).for_each(|at| rig.submit(WRITE, Lpa(at), 128.min(units - at), 8));
        (0..units / 2).for_each(|_| rig.submit(WRITE, Lpa(rng.below(units)), 1, 32));
        for round in 0..25 {
            let copied = rig.device().stats().gc_units_programmed;
            while rig.device().stats().gc_units_programmed <= copied + 8 * (round % 3) {
                while rig.outstanding() < 24 {
                    rig.submit_now(WRITE, Lpa(rng.below(units)), 1, AppId::SYSTEM);
                }
                assert!(rig.has_events(), "{name} stands still after {round} cuts");
                rig.step();
            }
            let free = rig.device().stats().free_superblocks;
            assert!(free >= 4, "{name}: {free} free superblocks after {round} cuts");
            rig.power_cut(&mut rng, 0);
        }
        rig.settle();
        rig.read_all();
    }
}
