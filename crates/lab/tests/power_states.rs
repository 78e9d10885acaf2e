//! Power states on whole systems: what requests wait, what keeps a device awake, and that its data stays.

#[allow(dead_code, reason = "other tests use the rest")]
use crate::common::{replay, request, tiny};
use ftl::Device;
use host::{Driver, Request, RequestOp};
use ufs::{Content, DataIn, Link, PowerState};
use ufsim_lab::profile::{Override, Profile, parse_override};
use ufsim_lab::{Parts, RunResult, Spec, Stack, Turn, schemes};
use units::{AppId, Lpa, Nanos, SimTime};
use workload::{ReplayMode, Rng, WorkOp, WorkRequest};

/// Timers of 1 ms, 50 ms and 2 s, with ways in and back that differ from each other.
const LADDER: [&str; 8] = [
    "power.auto_hibern8_idle_us=1000",
    "power.hibern8_enter_us=100",
    "power.hibern8_exit_us=450",
    "power.clkgate_delay_ms=50",
    "power.clk_ungate_us=11700",
    "power.autosuspend_delay_ms=2000",
    "power.sleep_enter_us=13000",
    "power.sleep_exit_us=10000",
];

const MS: u64 = 1_000_000;

fn with(mut spec: Spec, sets: &[&str]) -> Spec {
    for set in sets {
        let (key, value) = parse_override(set).expect("a well formed override");
        spec.set.insert(key, serde_json::to_value(value).expect("a plain value"));
    }
    spec
}

/// Requests at these times in microseconds.
fn at(requests: &[(u64, WorkOp, u64)]) -> Vec<WorkRequest> {
    let timed =
        |&(us, op, unit): &(u64, WorkOp, u64)| WorkRequest { arrival: SimTime(us * 1000), ..request(op, unit, 1) };
    requests.iter().map(timed).collect()
}

fn run(scheme: &str, sets: &[&str], requests: &[(u64, WorkOp, u64)]) -> RunResult {
    replay(&with(tiny(scheme, 1), sets), at(requests), ReplayMode::Timed).expect("a timed replay")
}

/// A write, and reads with stopped clocks, in hibern8, with stopped clocks, asleep, in hibern8, and so long after that.
/// The device has ended its work before each.
fn one_in_each(last_us: u64) -> Vec<(u64, WorkOp, u64)> {
    let mut requests = vec![(0, WorkOp::Write, 7)];
    let mut now = 0;
    for idle_us in [500_000, 40_000, 100_000, 5_000_000, 40_000] {
        now += idle_us;
        requests.push((now, WorkOp::Read, 7));
    }
    requests.push((now + last_us, WorkOp::Read, 7));
    requests
}

/// The sum of all latencies in nanoseconds.
fn sum(result: &RunResult) -> u64 {
    result.over_time.kinds.values().flat_map(|kind| &kind.latency_sum_ns).sum()
}

#[test]
fn each_state_costs_its_exit_and_nothing_else() {
    for scheme in ["ufs", "ideal", "msftl", "dftl"] {
        // The last read comes when the link is up, after hibern8, and so on.
        for (idle_us, exit_us) in [(900, 0), (20_000, 450), (90_000, 12_150), (9_000_000, 22_150)] {
            let requests = one_in_each(idle_us);
            let (off, on) = (run(scheme, &[], &requests), run(scheme, &LADDER, &requests));
            // Gated after 500 ms, hibern8 after 40, gated after 100, asleep after 5 s, hibern8 after 40.
            let expected = 12_150 + 450 + 12_150 + 22_150 + 450 + exit_us;
            assert_eq!((sum(&on) - sum(&off)) / 1000, expected, "{scheme} after {idle_us} us");
            assert_eq!((sum(&on) - sum(&off)) % 1000, 0, "{scheme} after {idle_us} us");
            let power = on.power.expect("states are on");
            assert_eq!(power.request_wakes, 5 + u64::from(exit_us > 0), "{scheme}");
            assert_eq!((power.driver_wakes, power.waited_ns), (0, expected * 1000), "{scheme}");
            assert_eq!(power.states["waking"].time_ns, expected * 1000, "{scheme}");
            assert_eq!(power.states["sleep"].stays, 1 + u64::from(exit_us == 22_150), "{scheme}");
            let total: u64 = power.states.values().map(|state| state.time_ns).sum();
            assert_eq!(total, power.elapsed_ns, "{scheme}");
            assert_eq!(power.elapsed_ns as f64 / 1e9, on.sim_seconds, "{scheme}");
        }
    }
}

#[test]
fn what_comes_while_a_state_is_entered_waits_for_the_end_of_it() {
    // The write is answered within 50 us, so 1060 us after it the link is on its way into hibern8, for 100 us.
    let sets: Vec<&str> = LADDER.into_iter().filter(|set| !set.contains("delay")).collect();
    let requests = [(0, WorkOp::Write, 7), (1060, WorkOp::Read, 7)];
    let (off, on) = (run("ideal", &[], &requests), run("ideal", &sets, &requests));
    let power = on.power.as_ref().expect("states are on");
    let left = power.states["entering"].time_ns;
    assert_eq!(left, 100_000, "entering is not cut short");
    let late = sum(&on) - sum(&off);
    assert!((450_001..550_000).contains(&late), "{late}");
    assert_eq!((power.states["hibern8"].time_ns, power.states["hibern8"].stays), (0, 1));
    assert_eq!(power.request_wakes, 1);
}

#[test]
fn requests_wait_for_one_wake_together() {
    let mut requests = vec![(0, WorkOp::Write, 7)];
    requests.extend((0..8).map(|i| (100_000 + 1000 * i, WorkOp::Read, 7)));
    let on = run("ideal", &LADDER, &requests);
    let power = on.power.expect("states are on");
    assert_eq!((power.request_wakes, power.waited_commands), (1, 8));
    let waits: u64 = (0..8).map(|i| 12_150_000 - i * MS).sum();
    assert_eq!(power.waited_ns, waits);
}

#[test]
fn a_booster_that_works_in_idle_time_wakes_the_link_and_pays_for_it() {
    let requests: Vec<_> =
        (0..40).map(|i| (60_000 * i, if i < 20 { WorkOp::Write } else { WorkOp::Read }, 7 * i)).collect();
    let sets = ["power.auto_hibern8_idle_us=1", "scheme.hpb.max_defer_us=idle-only"];
    let plain = run("ufs", &sets, &requests).power.expect("states are on");
    let boosted = run("hpb", &sets, &requests).power.expect("states are on");
    assert_eq!((plain.driver_wakes, plain.request_wakes), (0, 39));
    assert!(boosted.driver_wakes > 0, "{boosted:?}");
    assert!(boosted.energy.states_uj["waking"] > plain.energy.states_uj["waking"]);
}

#[test]
fn without_timers_nothing_changes() {
    let requests = one_in_each(9_000_000);
    for scheme in ["ufs", "hpb", "hp-ufs"] {
        let plain = run(scheme, &[], &requests);
        let timeless: Vec<&str> =
            LADDER.into_iter().filter(|set| !set.contains("delay") && !set.contains("idle")).collect();
        let same = run(scheme, &timeless, &requests);
        assert_eq!((plain.power, same.power), (None, None));
        assert_eq!(plain.digest, same.digest, "{scheme}");
        assert_ne!(plain.digest, run(scheme, &LADDER, &requests).digest, "{scheme}");
    }
}

#[test]
fn energy_of_a_run_is_that_of_its_times() {
    let result = run("ufs", &LADDER, &one_in_each(9_000_000));
    let power = result.power.expect("states are on");
    let of = |state: &str, ua: f64| 1.8 * ua * power.states[state].time_ns as f64 / 1e9;
    for (state, ua) in [("busy", 150e3), ("waking", 150e3), ("idle", 40e3), ("hibern8", 1500.0), ("sleep", 400.0)] {
        let (told, expected) = (power.energy.states_uj[state], of(state, ua));
        assert!((told - expected).abs() <= expected * 1e-9, "{state}: {told} for {expected}");
    }
    let flash: u64 = result.nand_time_ns.values().sum();
    let expected = 2.9 * 25e3 * flash as f64 / 1e9;
    assert!((power.energy.flash_uj - expected).abs() <= expected * 1e-9);
}

/// A stack, and what it was made of.
struct Rig {
    stack: Stack,
    profile: Profile,
    parts: Parts,
    written: u32,
}

impl Rig {
    fn new(scheme: &str, sets: &[&str]) -> Rig {
        let sets: Vec<Override> = sets.iter().map(|set| parse_override(set).expect("well formed")).collect();
        let profile = Profile::load("tiny", &sets).expect("values within their limits");
        let preset = schemes().iter().find(|preset| preset.name == scheme).expect("a preset");
        let parts = preset.parts;
        let device = Device::new(profile.device_of(parts, [3, 5]), parts.mapping);
        let driver = Driver::new(profile.host_config(parts), device.info());
        let stack = Stack::new(driver, Link::new(profile.link_config()), device).with_power(profile.power_config(1));
        Rig { stack, profile, parts, written: 0 }
    }

    fn submit(&mut self, op: RequestOp) {
        self.written += u32::from(matches!(op, RequestOp::Write { .. }));
        let request = Request { id: 1, op, lpa: Lpa(9), len: 1, stamp: self.written, app: AppId::SYSTEM };
        self.stack.driver.submit(self.stack.now(), request);
        self.stack.send_commands();
    }

    /// The next completion's data.
    fn completion(&mut self) -> DataIn {
        loop {
            if let Some(completion) = self.stack.driver.pop_completion() {
                return completion.data;
            }
            match self.stack.step().expect("a request is under way") {
                Turn::Response(tag) => {
                    self.stack.deliver(tag);
                    self.stack.send_commands();
                }
                Turn::Caller => self.stack.send_commands(),
                Turn::None => {}
            }
        }
    }

    /// Lets so much time pass.
    fn pass(&mut self, time: Nanos) {
        let end = self.stack.now() + time;
        self.stack.wake_caller(end);
        while self.stack.now() < end {
            if let Some(Turn::Response(tag)) = self.stack.step() {
                self.stack.deliver(tag);
                self.stack.send_commands();
            }
        }
    }

    fn state(&self) -> PowerState {
        self.stack.power_state().expect("states are on")
    }

    fn check_sum(&self) {
        let account = self.stack.power_account().expect("states are on");
        assert_eq!(account.ns.iter().sum::<u64>(), self.stack.now().0);
    }

    /// Cuts the power, switches it on, and reads what was written.
    fn cut(mut self, expected: Option<u32>) {
        self.stack = self.stack.reboot(&mut |_| 0);
        self.check_sum();
        assert_eq!(self.state(), PowerState::Idle, "the link has come up anew");
        while !self.stack.device.is_ready() {
            self.stack.step().expect("the device recovers");
        }
        let (config, info) = (self.profile.host_config(self.parts), self.stack.device.info());
        self.stack.driver = Driver::after_power_cut(config, info, self.stack.device.applied());
        self.stack.send_commands();
        self.submit(RequestOp::Read);
        let expected = expected.map(|stamp| Content { lpa: Lpa(9), stamp });
        assert_eq!(self.completion(), DataIn::One(expected));
        self.check_sum();
    }
}

#[test]
fn a_power_cut_in_any_state_leaves_what_is_durable() {
    use PowerState::*;
    for preset in schemes() {
        for (pass, asks_for, state) in [
            (1, None, Idle),
            (1_050, None, Entering),
            (10_000, None, Hibern8),
            (100_000, None, ClkGated),
            (2_005_000, None, Entering),
            (9_000_000, None, Sleep),
            (100_000, Some(5_000), Waking),
            (9_000_000, Some(20_000), Waking),
            (2_005_000, Some(1_000), Entering),
            (2_005_000, Some(10_000), Waking),
            (10_000, Some(451), Busy),
        ] {
            let mut rig = Rig::new(preset.name, &LADDER);
            rig.submit(RequestOp::Write { fua: true });
            rig.completion();
            rig.pass(Nanos::from_micros(pass));
            if let Some(later) = asks_for {
                rig.submit(RequestOp::Read);
                rig.pass(Nanos::from_micros(later));
            }
            assert_eq!(rig.state(), state, "{} after {pass} us", preset.name);
            rig.check_sum();
            rig.cut(Some(1));
        }
    }
}

#[test]
fn a_device_at_work_does_not_sleep_but_its_link_hibernates() {
    let sets = [
        "power.auto_hibern8_idle_us=100",
        "power.hibern8_enter_us=0",
        "power.autosuspend_delay_ms=1",
        "power.sleep_enter_us=0",
        "firmware.idle_flush_us=5000",
    ];
    let mut rig = Rig::new("ufs", &sets);
    // The first write opens a superblock; the second needs nothing but its own program.
    for _ in 0..2 {
        rig.pass(Nanos::from_millis(50));
        rig.submit(RequestOp::Write { fua: false });
        rig.completion();
    }
    let before = rig.stack.power_account().expect("states are on");
    // Data waits in the buffer until the firmware's timer ends, and is programmed then.
    for us in [500, 1_000, 3_000, 450] {
        rig.pass(Nanos::from_micros(us));
        assert_eq!(rig.state(), PowerState::Hibern8, "at {}", rig.stack.now());
        assert!(!rig.stack.device.is_idle());
    }
    rig.pass(Nanos::from_millis(10));
    assert_eq!((rig.state(), rig.stack.device.is_idle()), (PowerState::Sleep, true));
    let account = rig.stack.power_account().expect("states are on").since(&before);
    let hibern8 = PowerState::Hibern8 as usize;
    assert_eq!(account.working_ns[hibern8], account.ns[hibern8], "it went to sleep at the end of its work");
    // With the program, 5 ms and some; the rest of 14.95 ms it has slept.
    let slept = account.ns[PowerState::Sleep as usize];
    assert!((7 * MS..9 * MS + 900_000).contains(&slept), "{slept}");
    rig.check_sum();
    // A read leaves no work behind.
    rig.submit(RequestOp::Read);
    rig.completion();
    rig.pass(Nanos::from_micros(1_001));
    assert_eq!(rig.state(), PowerState::Sleep);
}

/// How long after a write a device sleeps that may at once, and how many map flushes it has made by then.
fn sleeps_after(background: &str) -> (u64, u64) {
    let background = format!("scheme.dftl.background_us={background}");
    let sets = ["power.autosuspend_delay_ms=1", "power.sleep_enter_us=0", &background];
    let mut rig = Rig::new("dftl", &sets);
    rig.pass(Nanos::from_millis(50));
    rig.submit(RequestOp::Write { fua: false });
    rig.completion();
    let answered = rig.stack.now();
    while rig.state() != PowerState::Sleep {
        rig.pass(Nanos::from_micros(10));
    }
    rig.check_sum();
    (rig.stack.now().since(answered).0, rig.stack.device.counter("map_flushes"))
}

#[test]
fn a_map_flush_in_idle_time_keeps_a_device_awake() {
    let (never, none) = sleeps_after("never");
    let (late, one) = sleeps_after("20000");
    assert_eq!((none, one), (0, 1));
    assert!(never < 20 * MS && (20 * MS..40 * MS).contains(&late), "{never} and {late}");
}

/// Requests after pauses of all lengths, several at once now and then.
fn at_random(count: u64) -> Vec<WorkRequest> {
    let mut rng = Rng::from_seed(11);
    let mut now = 0;
    let mut next = || {
        now += [0, 20, 900, 1_050, 1_060, 5_000, 60_000, 2_010_000][rng.below(8) as usize] + rng.below(50);
        let op = [WorkOp::Read, WorkOp::Write, WorkOp::Write, WorkOp::Flush, WorkOp::Trim][rng.below(5) as usize];
        (now, op, rng.below(20_000))
    };
    let requests: Vec<_> = (0..count).map(|_| next()).collect();
    at(&requests)
}

#[test]
fn every_scheme_gives_the_right_data_whatever_sleeps_meanwhile() {
    for preset in schemes() {
        let mut spec = with(tiny(preset.name, 1), &LADDER);
        spec.precondition = "touched".into();
        let result = replay(&spec, at_random(1_500), ReplayMode::Timed).expect("every read is right");
        assert!(result.verified.is_some_and(|verified| verified.data_units > 500), "{}", preset.name);
        let power = result.power.expect("states are on");
        let states = &power.states;
        assert_eq!(states.values().map(|state| state.time_ns).sum::<u64>(), power.elapsed_ns, "{}", preset.name);
        assert!(states.values().all(|state| state.stays > 20), "{}: {states:?}", preset.name);
        assert_eq!(states["waking"].stays, power.request_wakes + power.driver_wakes, "{}", preset.name);
        let exits = [("hibern8", 450), ("clk_gated", 12_150), ("sleep", 22_150)];
        let most: u64 = exits.iter().map(|&(state, us)| states[state].stays * us * 1000).sum();
        assert!((1..=most).contains(&states["waking"].time_ns), "{}", preset.name);
    }
}
