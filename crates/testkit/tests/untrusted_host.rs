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
    let sealed = parse_override("scheme.segment-log.hpb_entry=sealed").expect("a well formed override");
    for seed in 1..=4 {
        forge(rig_with("hpb", std::slice::from_ref(&sealed)), seed);
    }
}

/// Plain entries for `len` blocks from `lpa` on, as if they lay contiguously from `first` on.
fn pretend(rig: &mut Rig, lpa: Lpa, len: u32, first: u64) -> bool {
    (0..len).all(|i| rig.driver().tamper_sealed(lpa.offset(i), first + u64::from(i)))
}

/// Plain entries, and so little room for segments in SRAM that most reads depend on what the host says.
fn plain_rig(more: &[&str]) -> Rig {
    let set = ["sram.segment_cache_kib=4", "scheme.segment-log.hpb_group_entries=1024"].iter().chain(more);
    let set: Vec<Override> = set.map(|text| parse_override(text).expect("a well formed override")).collect();
    let mut rig = rig_with("hpb", &set);
    assert!(rig.device().info().has_plain_entries(), "what the paper has built");
    rig
}

/// A plain entry of HPB 2017 can name any page. The spare area of that page tells whose it is, and the device takes its
/// own mapping instead.
#[test]
fn plain_hpb_entries_that_point_elsewhere_are_noticed() {
    for seed in 1..=4 {
        let mut rig = plain_rig(&[]);
        let all = u64::from(data_units(&mut rig));
        let mut rng = Rng::new(seed + 200);
        rig.churn(&mut rng, 2000, SPAN, 8);
        rig.settle();
        let mut falsified = 0;
        for round in 0..6000 {
            let (lpa, len) = (Lpa(rng.below(SPAN - 4)), 1 + rng.below(4));
            let entry = match rng.below(3) {
                // The place of another address; metadata and beyond; more than a plain entry can hold.
                0 => rig.driver().sealed(Lpa((lpa.0 + 4 + rng.below(SPAN - 8)) % SPAN)).unwrap_or(0),
                1 => all + 1 + u64::from(rng.below(u32::MAX)) % (u64::from(u32::MAX) - all - 8),
                _ => u64::from(rng.below(u32::MAX)) << 32 | u64::from(rng.below(u32::MAX)),
            };
            falsified += u32::from(pretend(&mut rig, lpa, len, entry));
            rig.submit(host::RequestOp::Read, lpa, len, 4);
            if round % 20 == 0 {
                rig.churn(&mut rng, 1, SPAN, 4);
                rig.settle();
            }
        }
        rig.settle();
        rig.read_all();
        let stats = rig.device().stats();
        assert!(falsified > 1000 && stats.host_entries_wrong > 300, "the device noticed too little: {stats:?}");
        assert!(stats.host_entries_refused > 300, "{stats:?}");
    }
}

/// What a plain entry cannot tell: a host that returns to an older place of an address gets the older data as long as
/// it is there, as under HP-UFS. It never gets the data of another address, wherever the entry points.
#[test]
fn plain_hpb_entries_stay_within_their_own_address() {
    let mut rig = plain_rig(&[]);
    let all = u64::from(data_units(&mut rig));
    let mut rng = Rng::new(7);
    rig.churn(&mut rng, 3000, SPAN, 8);
    rig.settle();
    let old: Vec<u64> = (0..SPAN).map(|lpa| rig.driver().sealed(Lpa(lpa)).unwrap_or(0)).collect();
    rig.churn(&mut rng, 3000, SPAN, 8);
    rig.settle();
    rig.expect = Expect::OwnOrError;
    for _ in 0..6000 {
        let (lpa, len) = (Lpa(rng.below(SPAN - 4)), 1 + rng.below(4));
        let entry = if rng.below(2) == 0 { old[lpa.index()] } else { u64::from(rng.below(all as u32)) };
        pretend(&mut rig, lpa, len, entry);
        rig.submit(host::RequestOp::Read, lpa, len, 4);
        rig.settle();
    }
    assert!(rig.outcomes.right > 100 && rig.outcomes.stale > 10, "{:?}", rig.outcomes);
    assert_eq!(rig.outcomes.errors, 0, "the device has its own mapping: {:?}", rig.outcomes);
}

/// A driver that keeps to the protocol gets the latest data, whatever is under way when a page changes.
#[test]
fn plain_hpb_entries_of_an_honest_host_are_never_stale() {
    for (seed, key) in
        (1..).zip(["hpb_tracked_groups=0", "hpb_tracked_groups=1", "hpb_pending_entries=1", "hpb_seal_ns=7"])
    {
        let mut rig = plain_rig(&["scheme.hpb.max_defer_us=0", &format!("scheme.segment-log.{key}")]);
        let mut rng = Rng::new(seed + 300);
        for _ in 0..60 {
            rig.churn(&mut rng, 300, 5000, 8);
            for round in 0..400 {
                rig.submit(host::RequestOp::Read, Lpa(rng.below(4990)), 1 + rng.below(8), 8);
                if round % 40 == 0 {
                    rig.churn(&mut rng, 1, 5000, 8);
                }
            }
        }
        rig.settle();
        rig.read_all();
        let stats = rig.device().stats();
        assert!(stats.host_entries_used > 1000 && stats.host_entries_refused > 100, "{key}: {stats:?}");
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
