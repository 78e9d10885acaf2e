//! WriteBooster on the device alone: where data go, what a flush copies, sizes, and power cuts at any moment.

use crate::kit::{Bench, Rng, self_reliant, tiny};
use ftl::{BoosterConfig, BoosterHost, DeviceConfig, GcPace, GcRuns, MappingKind, SlcConfig};
use ufs::{Booster, BoosterControl, BoosterFlags, FlushStatus, Op, ResizeHint, ResizeStatus, UserSpace};
use units::{Lpa, Nanos};

/// Superblocks of the cache, and units of each: 5 of 16 pages, on two planes of two dies, four units each.
const SUPERBLOCKS: u32 = 6;
const SLC_UNITS: u32 = 80;
const WRITE_UNITS: u32 = 16;

const OFF: BoosterFlags = BoosterFlags { enabled: false, flush: false, flush_in_hibernation: false };
const ON: BoosterFlags = BoosterFlags { enabled: true, ..OFF };

/// The tiny device with a cache, all of whose flags the driver leaves as they are after a reset.
fn boosted(user_space: UserSpace) -> DeviceConfig {
    let booster = BoosterConfig { user_space, host: BoosterHost::default() };
    let slc = SlcConfig { superblocks: SUPERBLOCKS, least_free: 6, booster: Some(booster), ..SlcConfig::NONE };
    let mut cfg = DeviceConfig { slc, ..tiny() };
    if user_space == UserSpace::Reduced {
        cfg.capacity_units -= SUPERBLOCKS * 256;
    }
    cfg
}

fn ideal() -> MappingKind {
    MappingKind::of::<ufsim_schemes::Ideal>()
}

impl Host {
    fn new(cfg: DeviceConfig) -> Host {
        Host { bench: Bench::new(cfg, ideal()), next: 0 }
    }

    fn set(&mut self, flags: BoosterFlags) {
        self.bench.control(BoosterControl::Flags(flags));
    }

    /// Writes so many units at new addresses, and waits until they are on flash and the device is quiet.
    fn write(&mut self, units: u32) {
        for _ in 0..units / WRITE_UNITS {
            self.bench.send(Op::Write { lpa: Lpa(self.next), len: WRITE_UNITS, fua: false });
            self.next += WRITE_UNITS;
        }
        self.bench.flush();
        self.bench.settle();
    }

    fn told(&self) -> Booster {
        self.bench.device.booster().expect("the host controls the cache")
    }

    fn counter(&self, name: &str) -> u32 {
        self.bench.device.counter(name) as u32
    }
}

struct Host {
    bench: Bench,
    /// The next address that was not written.
    next: u32,
}

#[test]
fn data_go_where_the_host_wants_them_at_once() {
    let mut host = Host::new(boosted(UserSpace::Preserved));
    assert_eq!((host.told().flags, host.told().available_tenths()), (OFF, 10));
    let mut in_slc = Vec::new();
    for flags in [OFF, ON, OFF, ON, OFF] {
        host.set(flags);
        host.write(48);
        in_slc.push(host.counter("slc_units_programmed"));
    }
    assert_eq!(in_slc, [0, 48, 48, 96, 96]);
    // Both superblocks in SLC mode and the ordinary one were filled where they had been left.
    assert_eq!((host.counter("slc_superblocks"), host.counter("free_superblocks")), (2, 28 - 3));
    let told = host.told();
    assert_eq!((told.configured_units, told.current_units), (SUPERBLOCKS * SLC_UNITS, SUPERBLOCKS * SLC_UNITS));
    assert_eq!((told.available_units, told.available_tenths()), (SUPERBLOCKS * SLC_UNITS - 96, 8));
}

/// A buffer that is dedicated to these addresses.
fn dedicated(user_space: UserSpace, first: u32, units: u32) -> DeviceConfig {
    let mut cfg = boosted(user_space);
    cfg.slc.booster.as_mut().expect("made above").host.serves = Some((Lpa(first), units));
    cfg
}

/// Writes of both kinds in turns, most of them of one unit: each goes where it belongs, and rows are as full as ever.
#[test]
fn a_dedicated_buffer_takes_the_data_of_its_addresses_and_no_others() {
    let (first, units) = (1024, 256);
    for fua_every in [u32::MAX, 9] {
        let mut host = Host::new(dedicated(UserSpace::Preserved, first, units));
        host.set(ON);
        let (mut rng, mut served, mut all) = (Rng(3), 0, 0);
        for i in 0..600 {
            let len = if rng.below(8) == 0 { 1 + rng.below(16) } else { 1 };
            let mine = rng.below(3) == 0 && served + len <= SUPERBLOCKS * SLC_UNITS;
            let lpa = match mine {
                true => first + rng.below(units - len),
                false => [0, first + units][rng.below(2) as usize] + rng.below(first - 16),
            };
            served += if mine { len } else { 0 };
            all += len;
            host.bench.send(Op::Write { lpa: Lpa(lpa), len, fua: i % fua_every == 1 });
        }
        host.bench.flush();
        host.bench.settle();
        assert!(served > 200, "{served}");
        assert_eq!((host.counter("slc_units_programmed"), host.counter("data_units_programmed")), (served, all));
        let told = host.told();
        let held = told.configured_units - told.available_units;
        assert!(held >= served, "it holds what it took");
        if fua_every == u32::MAX {
            // Only the last row of each kind is short.
            assert!(held < served + 16, "{held} of {served}");
            assert!(host.counter("padding_units") < 2 * 16, "{} units of padding", host.counter("padding_units"));
        }
    }
}

#[test]
fn a_dedicated_buffer_that_is_full_leaves_others_their_place() {
    let mut host = Host::new(dedicated(UserSpace::Preserved, 1024, 1024));
    host.set(ON);
    let all = SUPERBLOCKS * SLC_UNITS;
    host.write(320);
    assert_eq!((host.counter("slc_units_programmed"), host.told().available_units), (0, all));
    host.next = 1024;
    host.write(all + 64);
    assert_eq!(host.counter("slc_units_programmed"), all);
    host.set(OFF);
    host.write(64);
    host.set(BoosterFlags { flush: true, ..ON });
    host.bench.settle();
    assert_eq!((host.counter("slc_units_programmed"), host.told().available_units), (all, all));
}

#[test]
fn a_full_buffer_gives_way_to_ordinary_flash_until_it_is_flushed() {
    let mut host = Host::new(boosted(UserSpace::Preserved));
    host.set(ON);
    let all = SUPERBLOCKS * SLC_UNITS;
    host.write(all + 64);
    assert_eq!((host.counter("slc_units_programmed"), host.told().needs_flush()), (all, true));
    assert_eq!((host.told().flush, host.counter("slc_victims")), (FlushStatus::Idle, 0), "nobody wants a flush");
    host.set(BoosterFlags { flush: true, ..ON });
    assert_eq!(host.told().flush, FlushStatus::InProgress);
    host.bench.settle();
    let told = host.told();
    assert_eq!((told.flush, told.available_units, told.needs_flush()), (FlushStatus::Completed, all, false));
    assert_eq!((host.counter("gc_units_programmed"), host.counter("slc_victims")), (all, SUPERBLOCKS));
    host.bench.control(BoosterControl::FlushStatusRead);
    assert_eq!(host.told().flush, FlushStatus::Idle);
    host.write(SLC_UNITS);
    assert_eq!(host.counter("slc_units_programmed"), all + SLC_UNITS, "no ordinary superblock has to be filled first");
    let copied = host.counter("gc_units_programmed");
    assert_eq!((copied, host.told().available_units), (all + SLC_UNITS, all), "flushed at once");
}

/// A host that pauses after every write makes no more erases than one that does not.
#[test]
fn what_is_not_full_is_flushed_later_and_a_flush_can_be_stopped() {
    let mut host = Host::new(boosted(UserSpace::Preserved));
    host.set(ON);
    (0..13).for_each(|_| host.write(16));
    host.set(BoosterFlags { flush: true, ..ON });
    host.bench.steps(1);
    assert_eq!(host.told().flush, FlushStatus::InProgress);
    host.set(ON);
    assert_eq!(host.told().flush, FlushStatus::Stopped);
    host.bench.settle();
    let copied = host.counter("gc_units_programmed");
    assert!(copied <= SLC_UNITS, "{copied} units were copied after the end of a flush");
    host.set(BoosterFlags { flush: true, ..ON });
    host.bench.settle();
    assert_eq!((host.counter("gc_units_programmed"), host.counter("slc_superblocks")), (2 * SLC_UNITS, 1));
    let told = host.told();
    assert_eq!(told.current_units - told.available_units, 208 - 2 * SLC_UNITS);
    for written in 4..5 * SLC_UNITS / 16 {
        host.write(16);
        assert_eq!(host.counter("slc_victims"), (208 + 16 * (written - 3)) / SLC_UNITS);
    }
}

#[test]
fn a_partial_flush_leaves_what_was_written_last() {
    let mut host = Host::new(boosted(UserSpace::Preserved));
    host.set(BoosterFlags { flush: true, ..ON });
    host.bench.control(BoosterControl::Keep { units: 2 * SLC_UNITS });
    host.write(5 * SLC_UNITS);
    assert_eq!((host.counter("slc_victims"), host.counter("slc_superblocks")), (3, 2));
    assert_eq!((host.told().kept_units, host.told().flush), (2 * SLC_UNITS, FlushStatus::Completed));
    host.write(SLC_UNITS - 16);
    assert_eq!(host.counter("slc_victims"), 3, "the oldest superblock still has units of those that stay");
    host.write(16);
    assert_eq!(host.counter("slc_victims"), 4);
    host.bench.control(BoosterControl::Keep { units: 0 });
    host.bench.settle();
    assert_eq!((host.counter("slc_superblocks"), host.counter("gc_units_programmed")), (0, 6 * SLC_UNITS));
}

#[test]
fn a_resize_folds_what_no_longer_fits() {
    let mut host = Host::new(boosted(UserSpace::Preserved));
    let all = SUPERBLOCKS * SLC_UNITS;
    host.set(ON);
    host.write(all);
    assert_eq!(host.told().hint, ResizeHint::Keep);
    host.bench.control(BoosterControl::Resize { larger: false });
    assert_eq!(host.told().resize, ResizeStatus::InProgress);
    host.bench.control(BoosterControl::Resize { larger: true });
    host.bench.settle();
    assert_eq!((host.told().resize, host.told().current_units), (ResizeStatus::Completed, all - SLC_UNITS));
    assert_eq!((host.counter("slc_victims"), host.counter("gc_units_programmed")), (1, SLC_UNITS));
    host.bench.control(BoosterControl::ResizeStatusRead);
    assert_eq!((host.told().resize, host.told().hint), (ResizeStatus::Idle, ResizeHint::Increase));
    let larger = [(); 2].map(|()| {
        host.bench.control(BoosterControl::Resize { larger: true });
        (host.told().resize, host.told().current_units)
    });
    assert_eq!(larger, [(ResizeStatus::Completed, all), (ResizeStatus::Failed, all)]);
}

#[test]
fn in_hibernation_it_is_flushed_if_the_host_wants_that() {
    let flags = BoosterFlags { flush_in_hibernation: true, ..ON };
    for (after, told, flushed) in
        [(None, false, 0), (None, true, SLC_UNITS), (Some(Nanos::from_millis(3)), false, SLC_UNITS)]
    {
        let mut cfg = boosted(UserSpace::Preserved);
        let booster = cfg.slc.booster.as_mut().expect("made above");
        (booster.host.hibernates_after, booster.host.flags) = (after, flags);
        let mut host = Host::new(cfg);
        host.bench.control(BoosterControl::Hibernate(told));
        host.write(96);
        assert_eq!(host.counter("gc_units_programmed"), flushed, "{after:?}, {told}");
    }
}

/// With all of the device written, a buffer that preserves user space has no room; one that has reduced it has all.
#[test]
fn a_full_device_has_a_buffer_if_user_space_was_reduced() {
    for (user_space, expected) in [(UserSpace::Preserved, 0), (UserSpace::Reduced, SUPERBLOCKS * SLC_UNITS)] {
        let cfg = boosted(user_space);
        let units = cfg.capacity_units;
        let mut host = Host::new(cfg);
        let mut rng = Rng(7);
        for lpa in (0..units).step_by(16) {
            host.bench.send(Op::Write { lpa: Lpa(lpa), len: 16, fua: false });
        }
        for _ in 0..3 * units {
            host.bench.send(Op::Write { lpa: Lpa(rng.below(units)), len: 1, fua: false });
        }
        host.bench.flush();
        host.bench.settle();
        assert_eq!(host.told().current_units, expected, "{user_space:?}");
        host.set(ON);
        host.next = 0;
        host.write(SUPERBLOCKS * SLC_UNITS);
        assert_eq!(host.counter("slc_units_programmed"), expected, "{user_space:?}");
        assert_eq!(host.told().current_units, expected, "{user_space:?}: it never shrinks");
    }
}

#[test]
fn a_worn_buffer_is_used_no_more() {
    let mut cfg = boosted(UserSpace::Preserved);
    cfg.endurance = ftl::Endurance { data: Some(2), metadata: Some(1_000_000) };
    let mut host = Host::new(cfg);
    host.set(BoosterFlags { flush: true, ..ON });
    let mut estimates = vec![];
    while host.told().life_time < 0x0B {
        estimates.push(host.told().life_time);
        host.next = 0;
        host.write(480);
    }
    let (first, last) = (estimates[0], estimates.last());
    assert!(estimates.is_sorted() && first == 1 && last >= Some(&9), "{estimates:?}");
    let before = host.counter("slc_units_programmed");
    host.next = 0;
    host.write(480);
    assert_eq!(host.counter("slc_units_programmed"), before);
    let health = host.bench.device.health();
    assert_eq!((health.pre_eol, health.life_time_slc, health.life_time_data), (1, 1, 0x0B));
}

/// Under every scheme, and each of its variants: a flush ends with less than a superblock in the buffer.
#[test]
fn a_flush_leaves_less_than_a_superblock_in_the_buffer() {
    for kind in self_reliant() {
        for settings in std::iter::once(&[][..]).chain(kind.variants().iter().copied()) {
            let mut cfg = boosted(UserSpace::Preserved);
            for setting in settings {
                let (key, value) = setting.split_once('=').expect("a key and a value");
                let set = match value.parse::<i64>() {
                    Ok(number) => cfg.mappings.set(kind.name(), key, number),
                    Err(_) => cfg.mappings.set(kind.name(), key, value),
                };
                set.expect("a parameter of the scheme");
            }
            let mut bench = Bench::new(cfg, kind);
            let mut rng = Rng(5);
            bench.control(BoosterControl::Flags(BoosterFlags { flush: true, ..ON }));
            for round in 0..8 {
                for _ in 0..40 {
                    bench.send(Op::Write { lpa: Lpa(rng.below(2048)), len: 1 + rng.below(16), fua: false });
                }
                bench.flush();
                bench.settle();
                let (stats, told) = (bench.device.stats(), bench.device.booster().expect("made above"));
                let left = told.current_units - told.available_units;
                let name = format!("{kind:?} {settings:?}, round {round}: {told:?}, {stats:?}");
                assert!(left < SLC_UNITS && told.flush == FlushStatus::Completed, "{name}");
                assert_eq!(stats.slc_superblocks, u64::from(left > 0), "{name}");
            }
        }
    }
}

/// Anything that the host may do to the buffer, among writes and trims, with power cuts: no data are lost, and flags
/// are those of a reset.
#[test]
fn whatever_the_host_does_to_it_data_survive_power_cuts() {
    for (i, kind) in self_reliant().enumerate() {
        for (user_space, runs, serves) in [
            (UserSpace::Preserved, GcRuns::Alone, None),
            (UserSpace::Reduced, GcRuns::Beside, None),
            (UserSpace::Preserved, GcRuns::Beside, Some((Lpa(512), 1024))),
            (UserSpace::Reduced, GcRuns::Alone, Some((Lpa(0), 2048))),
        ] {
            let mut cfg = boosted(user_space);
            cfg.slc.booster.as_mut().expect("made above").host.serves = serves;
            cfg.gc.runs = runs;
            cfg.gc.pace = if runs == GcRuns::Beside { GcPace::Gained } else { GcPace::Searched };
            let units = cfg.capacity_units;
            let mut rng = Rng(0x9e37_79b9 + i as u64);
            let mut bench = Bench::new(cfg, kind);
            let mut folded = 0;
            for _ in 0..12 {
                for _ in 0..rng.below(500) {
                    act(&mut bench, &mut rng, units);
                }
                bench.flush();
                (0..rng.below(60)).for_each(|_| act(&mut bench, &mut rng, units));
                let steps = rng.below(400);
                bench.steps(steps);
                folded += bench.device.stats().slc_victims;
                bench = bench.cut(&mut rng, units).0;
                let told = bench.device.booster().expect("as before");
                assert_eq!((told.flags, told.kept_units, told.flush), (OFF, 0, FlushStatus::Idle), "{kind:?}");
            }
            bench.settle();
            assert!(folded > 0, "{kind:?}, {user_space:?}: nothing was folded");
        }
    }
}

fn act(bench: &mut Bench, rng: &mut Rng, units: u32) {
    let bit = |rng: &mut Rng| rng.below(2) == 0;
    let lpa = Lpa(rng.below(units - 16));
    match rng.below(24) {
        0 => {
            let flags = BoosterFlags { enabled: rng.below(4) > 0, flush: bit(rng), flush_in_hibernation: bit(rng) };
            bench.control(BoosterControl::Flags(flags));
        }
        1 => bench.control(BoosterControl::Hibernate(bit(rng))),
        2 => bench.control(BoosterControl::Keep { units: rng.below(3) * SLC_UNITS }),
        3 => bench.control(BoosterControl::Resize { larger: bit(rng) }),
        4 => bench.steps(100),
        5 => bench.send(Op::Unmap { lpa, len: 1 + rng.below(16) }),
        _ => bench.send(Op::Write { lpa, len: 1 + rng.below(16), fua: rng.below(30) == 0 }),
    }
}
