//! A phone and a driver that holds memory and gives some of it back.

use units::{Lpa, MIB};
use workload::report::phone::Kill;

use super::*;

const SMALL: &str = include_str!("../../../../samples/phone/small.toml");
/// What the paper gives, and so the default.
const FREE_US: u64 = 1800;

/// A driver that holds `held` bytes, and gives back what `gives` makes of the bytes that are asked for, as far as it
/// has them. Reads take 100 us.
struct Driver {
    held: u64,
    gives: fn(u64) -> u64,
    fetches: u64,
    /// Bounds that it was told, with the time.
    rooms: Vec<(SimTime, u64)>,
    /// When it was asked for memory, and for how much.
    asked: Vec<(SimTime, u64)>,
}

/// Runs the scenario. `look` sees the phone whenever it waits.
fn run(text: &str, driver: &mut Driver, mut look: impl FnMut(&Phone, SimTime)) -> PhoneReport {
    let scenario = Scenario::parse(text, "small.toml").unwrap();
    let mut phone = Phone::new(&scenario, 1 << 20, 1, 64 * MIB).unwrap();
    let (mut now, mut outstanding) = (SimTime(0), VecDeque::new());
    loop {
        match phone.next(now) {
            Next::Request(issued) => {
                let (Lpa(first), len) = issued.request.units();
                assert!(len > 0 && first + len <= 1 << 20);
                outstanding.push_back((now + Nanos::from_micros(100), issued.ticket));
            }
            Next::Driver(DriverCall::Memory) => phone.answered(driver.held, now),
            Next::Driver(DriverCall::Fetches) => phone.answered(driver.fetches, now),
            Next::Driver(DriverCall::Reclaim(_, bytes)) => {
                driver.asked.push((now, bytes));
                let given = (driver.gives)(bytes).min(driver.held);
                driver.held -= given;
                phone.answered(given, now);
            }
            Next::Driver(call) => {
                match call {
                    DriverCall::Room(bytes) => driver.rooms.push((now, bytes)),
                    DriverCall::LaunchStart(_) => driver.fetches += 10,
                    _ => {}
                }
                phone.answered(0, now);
            }
            Next::Wait(at) => {
                look(&phone, now);
                now = outstanding.front().map_or(at, |&(done, _)| at.min(done));
                while let Some(&(_, ticket)) = outstanding.front().filter(|&&(done, _)| done <= now) {
                    outstanding.pop_front();
                    phone.completed(ticket, now);
                }
            }
            Next::Blocked => panic!("a phone has always something before it"),
            Next::Done => break,
        }
    }
    phone.report().phone.unwrap()
}

fn driver(held: u64, gives: fn(u64) -> u64) -> Driver {
    Driver { held, gives, fetches: 0, rooms: Vec::new(), asked: Vec::new() }
}

/// The killer's decisions, each with the time since the driver was asked, and whether the driver gave nothing.
fn decisions(driver: &Driver, report: &PhoneReport) -> Vec<(Kill, Nanos)> {
    assert!(report.kills.len() > 3 && driver.asked.len() >= report.kills.len());
    let decision = |kill: &Kill| {
        let asked = driver.asked.iter().rfind(|&&(at, _)| at.0 <= kill.at_ns).unwrap();
        assert_eq!(asked.1, kill.expected_bytes);
        (kill.clone(), Nanos(kill.at_ns - asked.0.0))
    };
    report.kills.iter().map(decision).collect()
}

/// HPBvalve Sec. 6.3: if less was freed than was asked for, the killer resumes what it had begun. Freeing takes 1.8 ms,
/// and giving nothing takes none.
#[test]
fn a_victim_is_spared_only_for_all_that_its_end_would_free() {
    for (gives, spares) in [((|bytes| bytes - 1) as fn(u64) -> u64, false), (|bytes| bytes, true)] {
        let mut driver = driver(300 * MIB, gives);
        let report = run(SMALL, &mut driver, |_, _| {});
        let found = decisions(&driver, &report);
        for (kill, after) in &found {
            assert_eq!(kill.spared, kill.returned_bytes >= kill.expected_bytes, "{kill:?}");
            let free = if kill.returned_bytes > 0 { Nanos::from_micros(FREE_US) } else { Nanos::ZERO };
            assert_eq!(*after, free, "{kill:?}");
        }
        assert!(found.iter().any(|(kill, _)| kill.returned_bytes >= kill.expected_bytes - 1));
        assert_eq!(found.iter().any(|(kill, _)| kill.spared), spares);
        assert!(found.iter().any(|(kill, _)| kill.returned_bytes == 0), "it has nothing left");
    }
}

/// The reading of Sec. 5.3: whoever relieves memory saves the victim, but not who gives nothing.
#[test]
fn a_victim_may_be_spared_for_relief() {
    let text = format!("{SMALL}\n[lmkd]\nspares_on_relief = true\n");
    let mut half = driver(300 * MIB, |bytes| bytes / 2);
    let report = run(&text, &mut half, |_, _| {});
    let found = decisions(&half, &report);
    let spared = |(kill, _): &&(Kill, Nanos)| kill.spared;
    assert!(found.iter().filter(spared).count() > 1);
    assert!(found.iter().filter(spared).all(|(kill, _)| 0 < kill.returned_bytes));
    assert!(found.iter().any(|(kill, _)| !kill.spared && kill.returned_bytes == 0));
    let report = run(SMALL, &mut driver(300 * MIB, |bytes| bytes / 2), |_, _| {});
    assert!(report.kills.iter().all(|kill| !kill.spared), "by default half is too little");
}

/// What the driver is freeing is not free yet, also if the phone asks meanwhile what the driver holds.
#[test]
fn memory_is_free_when_the_driver_has_freed_it() {
    let text = format!("{SMALL}\n[lmkd]\nfree_us = 25000\n");
    let mut driver = driver(60 * MIB, |bytes| bytes.min(20 * MIB));
    let (mut steps, mut last) = (Vec::new(), (SimTime(0), 60 * MIB));
    run(&text, &mut driver, |phone, now| {
        if phone.began.is_some() && phone.memory.hpb() < last.1 && phone.memory.hpb() > 0 {
            steps.push(now);
            last = (now, phone.memory.hpb());
        }
    });
    let asked: Vec<SimTime> = driver.asked.iter().map(|&(at, _)| at).collect();
    assert_eq!(steps.len(), 2, "60 MiB go in three steps, the last to nothing");
    for (step, asked) in steps.iter().zip(asked) {
        assert_eq!(*step, asked + Nanos::from_millis(25));
    }
}

/// The driver may take 64 MiB for mappings. The phone has less for it when page cache is at its floor.
#[test]
fn the_driver_hears_what_the_phone_has_for_it() {
    let mut holder = driver(40 * MIB, |_| 0);
    let mut most = Vec::new();
    run(SMALL, &mut holder, |phone, now| most.push((now, phone.memory.room_for_hpb())));
    let bounds: Vec<u64> = holder.rooms.iter().map(|&(_, bytes)| bytes).filter(|&bytes| bytes < u64::MAX).collect();
    assert!(!bounds.is_empty() && bounds.iter().all(|&bytes| (40 * MIB..104 * MIB).contains(&bytes)), "{bounds:?}");
    for &(at, bytes) in holder.rooms.iter().filter(|&&(_, bytes)| bytes < u64::MAX) {
        assert!(most.iter().any(|&(seen, room)| seen == at && room == bytes), "{bytes} at {at:?}");
    }
    assert!(holder.rooms.windows(2).all(|pair| pair[0].1 < u64::MAX || pair[1].1 < u64::MAX), "told once");
}

/// Ten fetches come with each launch, after the use before has been closed.
#[test]
fn fetches_belong_to_the_use_during_which_they_come() {
    let mut driver = driver(0, |_| 0);
    let report = run(SMALL, &mut driver, |_, _| {});
    assert_eq!(report.uses.len(), 12);
    assert!(
        report.uses.iter().all(|u| u.fetches == 10),
        "{:?}",
        report.uses.iter().map(|u| u.fetches).collect::<Vec<_>>()
    );
}

/// Whoever ends an app before its next launch finds none in the background, and that is no kill.
#[test]
fn with_cold_starts_every_launch_is_cold() {
    let launches = |text: &str| {
        let report = run(text, &mut driver(0, |_| 0), |_, _| {});
        report.uses.iter().map(|one| one.cold).collect::<Vec<bool>>()
    };
    let cold = SMALL.replacen("[phone]", "[phone]\ncold_starts = true", 1);
    assert!(launches(SMALL).contains(&false) && !launches(&cold).contains(&false));
}
