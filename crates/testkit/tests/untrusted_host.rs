//! The host's memory is not trusted. Whatever its tables hold, a read gives the right data, or an error if the device
//! has no better mapping, and never the data of another address.

use campaign::{Expect, Rig, Rng};
use host::AppSignal;
use lab::profile::{Override, Profile, parse_override};
use lab::{Parts, schemes};
use units::{AppId, Lpa, Nanos, Ppa};

const SPAN: u32 = 8192;

fn rig(scheme: &str) -> Rig {
    rig_with(scheme, &[])
}

fn rig_with(scheme: &str, set: &[Override]) -> Rig {
    let profile = Profile::load("tiny", set).expect("an embedded profile");
    let parts: Parts = schemes().iter().find(|p| p.name == scheme).expect("a preset").parts;
    Rig::new(&profile, parts, Nanos::from_micros(2))
}

/// Data units of the tiny device.
fn data_units(rig: &mut Rig) -> u32 {
    let info = rig.device().info();
    info.superblocks * info.superblock_units
}

#[test]
fn hp_ufs_wrong_and_foreign_addresses() {
    for seed in 1..=4 {
        let mut rig = rig("hp-ufs");
        let mut rng = Rng::new(seed);
        rig.churn(&mut rng, 3000, SPAN, 8);
        rig.settle();
        rig.expect = Expect::RightOrError;
        let all = data_units(&mut rig);
        let mut falsified = 0;
        for _ in 0..3000 {
            let lpa = Lpa(rng.below(SPAN));
            let foreign = Lpa(rng.below(SPAN));
            let Some(saved) = rig.driver().mapping(lpa) else { continue };
            let wrong = match rng.below(4) {
                // Anywhere, including metadata and beyond the end.
                0 => Some(Ppa(rng.below(all + all / 8))),
                1 => Some(Ppa(u32::MAX - 2 - rng.below(1000))),
                _ => rig.driver().mapping(foreign).flatten(),
            };
            // The test below is about pages that hold an older version of this address.
            if saved.is_none() || wrong.is_none() || wrong == saved {
                continue;
            }
            falsified += u32::from(rig.driver().tamper(lpa, wrong));
            rig.submit(host::RequestOp::Read, lpa, 1, 1);
            rig.settle();
            rig.driver().tamper(lpa, saved);
        }
        assert!(falsified > 1000);
        let stats = rig.device().stats();
        assert!(stats.host_entries_wrong > 500, "the device noticed too little: {stats:?}");
        assert!(rig.outcomes.right > 100, "{:?}", rig.outcomes);
        rig.expect = Expect::Right;
        rig.read_all();
    }
}

/// Under HP-UFS the host is the mapping. A host that returns to an older place of an address gets the older data as
/// long as it exists (see ARCHITECTURE, "Trust in the host"), but never another address's data.
#[test]
fn hp_ufs_stale_addresses_stay_within_their_own_address() {
    let mut rig = rig("hp-ufs");
    let mut rng = Rng::new(5);
    rig.churn(&mut rng, 3000, SPAN, 8);
    rig.settle();
    let old: Vec<Option<Ppa>> = (0..SPAN).map(|lpa| rig.driver().mapping(Lpa(lpa)).flatten()).collect();
    rig.churn(&mut rng, 6000, SPAN, 8);
    rig.settle();
    rig.expect = Expect::OwnOrError;
    for _ in 0..2000 {
        let lpa = Lpa(rng.below(SPAN));
        let (Some(saved), Some(stale)) = (rig.driver().mapping(lpa), old[lpa.index()]) else { continue };
        rig.driver().tamper(lpa, Some(stale));
        rig.submit(host::RequestOp::Read, lpa, 1, 1);
        rig.settle();
        rig.driver().tamper(lpa, saved);
    }
    assert!(rig.outcomes.right > 100 && rig.outcomes.stale > 100, "{:?}", rig.outcomes);
}

#[test]
fn hpb_entries_forged_stale_swapped_and_replayed() {
    for seed in 1..=4 {
        forge(rig("hpb"), seed);
    }
}

/// HPB 2.0 entries are sealed in the same way, whoever decides what is cached.
#[test]
fn hpb_2_entries_forged_stale_swapped_and_replayed() {
    for (seed, (scheme, control)) in
        (5..).zip([("hpb-linux", "host"), ("hpb-linux", "device"), ("foam", "host"), ("hpbvalve", "host")])
    {
        let set =
            ["scheme.segment-log.hpb_group_entries=1024".into(), format!("scheme.segment-log.hpb_control={control}")];
        let set = set.map(|text| parse_override(&text).expect("a well formed override"));
        let mut rig = rig_with(scheme, &set);
        let now = rig.now();
        rig.driver().signal(now, AppSignal::LaunchStart(AppId::SYSTEM));
        forge(rig, seed);
    }
}

fn forge(mut rig: Rig, seed: u64) {
    {
        let mut rng = Rng::new(seed + 100);
        rig.churn(&mut rng, 2000, SPAN, 8);
        rig.settle();
        let mut kept: Vec<u64> = (0..SPAN).map(|lpa| rig.driver().sealed(Lpa(lpa)).unwrap_or(0)).collect();
        for round in 0..6000 {
            let lpa = Lpa(rng.below(SPAN));
            let entry = match rng.below(4) {
                // An entry that was valid once; one of another address; a damaged one; a random one.
                0 => kept[lpa.index()],
                1 => kept[rng.below(SPAN) as usize],
                2 => rig.driver().sealed(lpa).unwrap_or(0) ^ 1 << rng.below(64),
                _ => u64::from(rng.below(u32::MAX)) << 32 | u64::from(rng.below(u32::MAX)),
            };
            rig.driver().tamper_sealed(lpa, entry);
            rig.submit(host::RequestOp::Read, lpa, 1 + rng.below(4).min(SPAN - 1 - lpa.0), 4);
            if round % 3 == 0 {
                rig.churn(&mut rng, 1, SPAN, 4);
            }
            if round % 500 == 499 {
                rig.settle();
                for (lpa, entry) in kept.iter_mut().enumerate() {
                    if rng.below(2) == 0 {
                        *entry = rig.driver().sealed(Lpa(lpa as u32)).unwrap_or(0);
                    }
                }
            }
        }
        rig.settle();
        rig.read_all();
        let stats = rig.device().stats();
        assert!(stats.host_entries_refused > 1000, "the device noticed too little: {stats:?}");
    }
}
