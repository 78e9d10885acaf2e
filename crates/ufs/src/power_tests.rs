//! Hand-made traces, whose states, waits and sums are counted by hand.

use proptest::prelude::*;

use super::*;

/// Timers after 100, 1000 and 10,000; exits of 7, 7 + 30 and 7 + 30 + 200; ways in of 5 and 50.
const LADDER: PowerConfig = PowerConfig {
    auto_hibern8: Some(Nanos(100)),
    hibern8_enter: Nanos(5),
    hibern8_exit: Nanos(7),
    clkgate_delay: Some(Nanos(1000)),
    clk_ungate: Nanos(30),
    autosuspend_delay: Some(Nanos(10_000)),
    sleep_enter: Nanos(50),
    sleep_exit: Nanos(200),
    clkgate_jitter: Nanos::ZERO,
    other_use: None,
    seed: 0,
};

const QUIET: DeviceWork = DeviceWork::EndedAt(SimTime::START);

fn states(config: PowerConfig, work: DeviceWork) -> Vec<(PowerState, u64)> {
    config.way_down(SimTime(0), work).spans().map(|span| (span.0, span.1.0)).collect()
}

/// The wait of one command at `now` after idle time since 0.
fn wait(config: PowerConfig, now: u64, work: DeviceWork) -> u64 {
    let mut power = Power::new(config, SimTime(0));
    power.send(SimTime(now), Waker::Request(0), || work).0 - now
}

/// Times, by state.
fn times(account: &PowerAccount) -> [u64; 7] {
    account.ns
}

#[test]
fn the_way_down_has_every_state_at_its_time() {
    use PowerState::*;
    let all = [(Idle, 0), (Entering, 100), (Hibern8, 105), (ClkGated, 1000), (Entering, 10_000), (Sleep, 10_050)];
    assert_eq!(states(LADDER, QUIET), all);
    let no_timer = PowerConfig { auto_hibern8: None, ..LADDER };
    assert_eq!(states(no_timer, QUIET)[..3], [(Idle, 0), (Entering, 1000), (ClkGated, 1005)]);
    let sleep_only = PowerConfig { clkgate_delay: None, ..no_timer };
    assert_eq!(states(sleep_only, QUIET), [(Idle, 0), (Entering, 10_000), (Sleep, 10_050)]);
    assert_eq!(states(PowerConfig::default(), QUIET), [(Idle, 0)]);
    // The clocks stop while the link is being hibernated: that ends first, and the state is passed over.
    let late = PowerConfig { auto_hibern8: Some(Nanos(998)), ..LADDER };
    assert_eq!(states(late, QUIET)[..3], [(Idle, 0), (Entering, 998), (ClkGated, 1003)]);
    // Timers that come later than those of deeper states have no effect.
    let after = PowerConfig { auto_hibern8: Some(Nanos(1000)), ..LADDER };
    assert_eq!(states(after, QUIET), states(no_timer, QUIET));
    let no_ways = PowerConfig { hibern8_enter: Nanos(0), sleep_enter: Nanos(0), ..LADDER };
    assert_eq!(states(no_ways, QUIET), [(Idle, 0), (Hibern8, 100), (ClkGated, 1000), (Sleep, 10_000)]);
}

#[test]
fn work_of_the_device_postpones_sleep_and_nothing_else() {
    use PowerState::*;
    let until = |end| states(LADDER, DeviceWork::EndedAt(SimTime(end)));
    assert_eq!(until(9_999), states(LADDER, QUIET));
    assert_eq!(until(12_000)[3..], [(ClkGated, 1000), (Entering, 12_000), (Sleep, 12_050)]);
    assert_eq!(states(LADDER, DeviceWork::Now), states(LADDER, QUIET)[..4]);
}

#[test]
fn a_command_waits_for_the_exit_of_its_state() {
    for (now, expected) in [
        (99, 0),
        // Timers end before commands. What is being entered is entered first.
        (100, 5 + 7),
        (103, 2 + 7),
        (105, 7),
        (999, 7),
        (1000, 7 + 30),
        (9_999, 7 + 30),
        (10_000, 50 + 7 + 30 + 200),
        (10_049, 1 + 7 + 30 + 200),
        (10_050, 7 + 30 + 200),
        (1_000_000, 7 + 30 + 200),
    ] {
        assert_eq!(wait(LADDER, now, QUIET), expected, "at {now}");
    }
    assert_eq!(wait(LADDER, 1_000_000, DeviceWork::Now), 7 + 30, "a device at work does not sleep");
    assert_eq!(wait(PowerConfig::default(), 1_000_000, QUIET), 0);
}

#[test]
fn commands_wait_for_one_wake_together() {
    let mut power = Power::new(LADDER, SimTime(0));
    let up = SimTime(2037);
    assert_eq!(power.send(SimTime(2000), Waker::Request(0), || QUIET), up);
    assert_eq!(power.send(SimTime(2000), Waker::Request(0), || panic!("it is awake")), up);
    assert_eq!(power.send(SimTime(2030), Waker::Driver, || panic!("it is awake")), up);
    assert_eq!(power.send(SimTime(2040), Waker::Request(0), || panic!("it is awake")), SimTime(2040));
    let account = power.account(SimTime(2040), QUIET);
    assert_eq!((account.request_wakes, account.driver_wakes), (1, 0));
    assert_eq!((account.waited_commands, account.waited_ns), (3, 37 + 37 + 7));
}

/// A trace by hand: requests for 10 ns each, and a command of the driver.
#[test]
fn wakes_stays_and_times_of_a_trace_are_counted_exactly() {
    let mut power = Power::new(LADDER, SimTime(0));
    let mut now = 0;
    // Idle before, for a request, and what it waits: idle, hibern8, gated, asleep, hibern8, on the way to it.
    for (idle, for_request, waits) in
        [(50, true, 0), (500, true, 7), (1500, false, 37), (20_000, true, 237), (105, false, 7), (102, true, 3 + 7)]
    {
        now += idle;
        let up = power.send(SimTime(now), if for_request { Waker::Request(0) } else { Waker::Driver }, || QUIET);
        assert_eq!(up, SimTime(now + waits));
        now += waits + 10;
        power.answered(SimTime(now));
    }
    let account = power.account(SimTime(now), QUIET);
    assert_eq!((account.request_wakes, account.driver_wakes), (3, 2));
    assert_eq!((account.waited_commands, account.waited_ns), (5, 7 + 37 + 237 + 7 + 10));
    // Busy, idle, entering, hibern8, gated, asleep, waking.
    let entering = 5 + 5 + (5 + 50) + 5 + 5;
    let hibern8 = (500 - 105) + (1000 - 105) + (1000 - 105);
    assert_eq!(times(&account), [60, 550, entering, hibern8, 500 + 9000, 20_000 - 10_050, 7 + 37 + 237 + 7 + 7]);
    assert_eq!(account.stays, [6, 6, 6, 5, 2, 1, 5]);
    assert_eq!(account.ns.iter().sum::<u64>(), now);
}

#[test]
fn a_wake_that_has_begun_is_counted_up_to_now() {
    let mut power = Power::new(LADDER, SimTime(0));
    power.send(SimTime(102), Waker::Request(0), || QUIET);
    // 3 to go until it hibernates, 7 back.
    for (now, entering, waking, busy) in
        [(102, 2, 0, 0), (104, 4, 0, 0), (107, 5, 2, 0), (112, 5, 7, 0), (120, 5, 7, 8)]
    {
        let account = power.account(SimTime(now), QUIET);
        assert_eq!(times(&account), [busy, 100, entering, 0, 0, 0, waking], "at {now}");
        assert_eq!(account.stays[PowerState::Hibern8 as usize], 1);
    }
    let states = [103, 105, 111, 112].map(|now| power.state(SimTime(now), QUIET));
    assert_eq!(states, [PowerState::Entering, PowerState::Waking, PowerState::Waking, PowerState::Busy]);
}

#[test]
fn what_the_device_does_while_the_link_is_down_is_told_by_state() {
    let power = Power::new(LADDER, SimTime(0));
    let at = |now, work| {
        let working = power.account(SimTime(now), work).working_ns;
        assert_eq!(working.iter().sum::<u64>(), working[3] + working[4], "{working:?}");
        [working[3], working[4]]
    };
    assert_eq!(at(500, QUIET), [0, 0]);
    assert_eq!(at(500, DeviceWork::Now), [500 - 105, 0]);
    assert_eq!(at(2000, DeviceWork::Now), [1000 - 105, 1000]);
    assert_eq!(at(20_000, DeviceWork::EndedAt(SimTime(1200))), [1000 - 105, 200]);
}

#[test]
fn a_power_cut_ends_what_was_and_begins_with_the_link_up() {
    for (sends_at, cut_at) in [(None, 50), (None, 103), (None, 500), (None, 5_000), (None, 10_020), (None, 20_000)]
        .into_iter()
        .chain([(Some(50), 60), (Some(5_000), 5_010), (Some(102), 103)])
    {
        let mut power = Power::new(LADDER, SimTime(0));
        if let Some(at) = sends_at {
            power.send(SimTime(at), Waker::Request(0), || QUIET);
        }
        power.cut(SimTime(cut_at), QUIET);
        assert_eq!(power.state(SimTime(cut_at), QUIET), PowerState::Idle, "cut at {cut_at}");
        let account = power.account(SimTime(cut_at + 40), QUIET);
        assert_eq!(account.ns.iter().sum::<u64>(), cut_at + 40, "cut at {cut_at}");
        assert_eq!(power.send(SimTime(cut_at + 40), Waker::Request(0), || QUIET), SimTime(cut_at + 40));
    }
}

#[test]
fn a_command_at_the_moment_of_the_last_answer_ends_no_idle_time() {
    let mut power = Power::new(LADDER, SimTime(0));
    power.send(SimTime(0), Waker::Request(0), || QUIET);
    power.answered(SimTime(0));
    let between = power.account(SimTime(0), QUIET);
    power.send(SimTime(0), Waker::Request(1), || QUIET);
    assert_eq!(power.account(SimTime(0), QUIET), between);
}

proptest! {
    /// Whatever happens, the times add up, every wake leaves a state in which the link was down, and an account in
    /// between is a part of the later ones.
    #[test]
    fn times_add_up_to_the_length_of_the_run(
        ops in prop::collection::vec((0u64..30_000, any::<bool>()), 1..60),
        works_until in 0u64..400_000,
        timers in (prop::option::of(1u64..300), prop::option::of(1u64..3000), prop::option::of(1u64..20_000)),
        ways in (0u64..60, 0u64..60),
    ) {
        let config = PowerConfig {
            auto_hibern8: timers.0.map(Nanos),
            clkgate_delay: timers.1.map(Nanos),
            autosuspend_delay: timers.2.map(Nanos),
            hibern8_enter: Nanos(ways.0),
            sleep_enter: Nanos(ways.1),
            ..LADDER
        };
        let mut power = Power::new(config, SimTime(0));
        let (mut now, mut up, mut under_way) = (0, 0, 0);
        let mut before = PowerAccount::default();
        let work = |now| match now < works_until {
            true => DeviceWork::Now,
            false => DeviceWork::EndedAt(SimTime(works_until)),
        };
        for (pause, sends) in ops {
            now += pause;
            if sends {
                up = power.send(SimTime(now), Waker::Request(0), || work(now)).0;
                under_way += 1;
            } else if under_way > 0 {
                now = now.max(up);
                power.answered(SimTime(now));
                under_way -= 1;
            }
            let account = power.account(SimTime(now), work(now));
            prop_assert_eq!(account.ns.iter().sum::<u64>(), now);
            prop_assert_eq!(account.stays[PowerState::Waking as usize], account.request_wakes);
            let down: u64 = account.stays[3..6].iter().sum();
            prop_assert!(account.request_wakes <= down);
            let spent = account.since(&before);
            prop_assert!(spent.ns.iter().zip(&spent.working_ns).all(|(time, working)| working <= time));
            before = account;
        }
    }
}

/// Idle times of the same length, each begun by a command of 10 ns: what the command at the end of each waits.
fn waits(config: PowerConfig, idle: u64, count: usize) -> (Vec<u64>, PowerAccount) {
    let mut power = Power::new(config, SimTime(0));
    let mut now = 0;
    let mut waited = Vec::new();
    for _ in 0..count {
        now += idle;
        let before = power.account(SimTime(now), QUIET);
        assert_eq!(before.ns.iter().sum::<u64>(), now, "{before:?}");
        let up = power.send(SimTime(now), Waker::Request(0), || QUIET).0;
        waited.push(up - now);
        now = up + 10;
        power.answered(SimTime(now));
    }
    let account = power.account(SimTime(now), QUIET);
    assert_eq!(account.ns.iter().sum::<u64>(), now);
    let wakes = account.request_wakes + account.driver_wakes + account.other_wakes;
    assert_eq!(account.stays[PowerState::Waking as usize], wakes);
    (waited, account)
}

#[test]
fn the_drivers_timer_ends_late_within_its_jitter() {
    let config = PowerConfig { clkgate_jitter: Nanos(200), seed: 5, ..LADDER };
    // Gated between 1000 and 1200: all, some and none.
    assert!(waits(config, 1200, 300).0.iter().all(|&wait| wait == 37));
    assert!(waits(config, 999, 300).0.iter().all(|&wait| wait == 7));
    let (some, _) = waits(config, 1100, 1000);
    let gated = some.iter().filter(|&&wait| wait == 37).count();
    assert_eq!(some.iter().filter(|&&wait| wait == 7).count(), 1000 - gated);
    // 101 of 201 in the mean, standard deviation 16.
    assert!((420..585).contains(&gated), "{gated}");
    assert_eq!(waits(config, 1100, 1000).0, some, "the same seed");
    assert_ne!(waits(PowerConfig { seed: 6, ..config }, 1100, 1000).0, some, "another seed");
}

#[test]
fn something_else_that_uses_the_link_wakes_it_and_begins_the_idle_time_anew() {
    let use_of = |percent, within| Some(OtherUse { percent, within: Nanos(within) });
    // Always in the first 50, while the link is up: 1000 after that it is gated, so at 1049 it need not be.
    let config = PowerConfig { other_use: use_of(100, 50), ..LADDER };
    assert!(waits(config, 1051, 300).0.iter().all(|&wait| wait == 37));
    let (some, account) = waits(config, 1025, 1000);
    assert!((400..600).contains(&some.iter().filter(|&&wait| wait == 37).count()));
    assert_eq!(account.other_wakes, 0, "it was up");
    // Somewhere in 3000: it wakes the link from where it is, and the command may find that wake.
    let (some, account) = waits(PowerConfig { other_use: use_of(100, 3000), ..LADDER }, 3000, 2000);
    assert!(some.iter().all(|&wait| wait <= 37), "{some:?}");
    let of = |wait: u64| some.iter().filter(|&&waited| waited == wait).count();
    // Up again for less than 100 in 3000, for less than 1000 in a third of all times.
    assert!((30..110).contains(&of(0)), "{}", of(0));
    assert!((500..700).contains(&of(7)) && (1200..1400).contains(&of(37)), "{} {}", of(7), of(37));
    // It finds the link down but in the first 100 of 3000.
    assert!((1890..1970).contains(&account.other_wakes), "{}", account.other_wakes);
    let half = waits(PowerConfig { other_use: use_of(50, 3000), ..LADDER }, 3000, 2000).1.other_wakes;
    assert!((850..1080).contains(&half), "{half}");
}

#[test]
fn a_command_waits_for_the_rest_of_a_wake_that_something_else_began() {
    // Used at a moment from 1 to 2000, drawn from the seed; a command some nanoseconds later.
    let config = PowerConfig { other_use: Some(OtherUse { percent: 100, within: Nanos(2000) }), ..LADDER };
    let used = |seed| {
        let power = Power::new(PowerConfig { seed, ..config }, SimTime(0));
        let wakes = |now| power.account(SimTime(now), QUIET).other_wakes;
        (1..=2000).find(|&now| wakes(now) == 1)
    };
    let (seed, at) = (0..50).find_map(|seed| Some((seed, used(seed).filter(|&at| at > 1000)?))).expect("a late use");
    let mut power = Power::new(PowerConfig { seed, ..config }, SimTime(0));
    let states = [at - 1, at, at + 36, at + 37].map(|now| power.state(SimTime(now), QUIET));
    assert_eq!(states, [PowerState::ClkGated, PowerState::Waking, PowerState::Waking, PowerState::Idle]);
    assert_eq!(power.send(SimTime(at + 11), Waker::Request(0), || QUIET), SimTime(at + 37));
    power.answered(SimTime(at + 50));
    let account = power.account(SimTime(at + 50), QUIET);
    assert_eq!((account.other_wakes, account.request_wakes), (1, 0));
    assert_eq!((account.waited_commands, account.waited_ns), (1, 26));
    assert_eq!(account.ns.iter().sum::<u64>(), at + 50);
}

#[test]
fn the_luck_of_an_idle_time_hangs_on_the_requests_before_it() {
    let other_use = Some(OtherUse { percent: 50, within: Nanos(2000) });
    let config = PowerConfig { clkgate_jitter: Nanos(300), other_use, seed: 5, ..LADDER };
    // When each of the idle times after a request is over, by itself; `polls`: the driver sends something first.
    let drawn = |polls: u64| {
        let mut power = Power::new(config, SimTime(0));
        let luck = (1..200_u64).map(|number| {
            let begin = number * 100_000;
            for poll in 0..polls {
                power.send(SimTime(begin - 50_000 + poll * 5_000), Waker::Driver, || QUIET);
                power.answered(SimTime(begin - 49_000 + poll * 5_000));
            }
            let up = power.send(SimTime(begin), Waker::Request(number), || QUIET);
            power.answered(up);
            (power.other_use.map(|at| at.since(up)), power.config.clkgate_delay)
        });
        luck.collect::<Vec<_>>()
    };
    assert_eq!(drawn(0), drawn(3));
    let distinct: std::collections::BTreeSet<_> = drawn(0).into_iter().collect();
    assert!(distinct.len() > 100, "{} kinds of luck", distinct.len());
}

proptest! {
    #[test]
    fn spans_follow_each_other_and_last_as_long_as_the_account_says(
        pauses in prop::collection::vec((0_u64..20_000, 1_u64..500), 1..30),
        seed in 0_u64..1000,
        rest in 0_u64..20_000,
    ) {
        let other_use = Some(OtherUse { percent: 50, within: Nanos(2000) });
        let config = PowerConfig { clkgate_jitter: Nanos(300), other_use, seed, ..LADDER };
        let mut power = Power::new(config, SimTime(0));
        power.note_spans(true);
        let mut now = SimTime(0);
        for (pause, busy) in pauses {
            now = now + Nanos(pause);
            now = power.send(now, Waker::Request(0), || QUIET) + Nanos(busy);
            power.answered(now);
        }
        now = now + Nanos(rest);
        let mut spans: Vec<_> = power.take_spans().collect();
        spans.extend(power.open_spans(now, QUIET));
        // A way up that has begun was noted as a whole.
        spans.retain(|span| span.began <= now);
        spans.iter_mut().for_each(|span| span.ended = span.ended.min(now));
        let mut lasted = [0; 7];
        let mut until = SimTime(0);
        for span in spans {
            prop_assert_eq!(span.began, until);
            lasted[span.state as usize] += span.ended.since(span.began).0;
            until = span.ended;
        }
        prop_assert_eq!(until, now);
        prop_assert_eq!(lasted, times(&power.account(now, QUIET)));
    }
}
