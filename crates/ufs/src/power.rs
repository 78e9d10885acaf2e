//! Power states of link and device, as a phone's driver leads them through idle time.
//!
//! | state | what it is | begins | a command that comes takes so much more |
//! |---|---|---|---|
//! | busy | a command is under way | | |
//! | idle | the link is up, no command is under way | with the last response | |
//! | hibern8 | both ends of the link hibernate | the controller's idle timer, `auto_hibern8` | `hibern8_exit` |
//! | clk gated | the driver has hibernated the link and stopped its clocks | `clkgate_delay` | and `clk_ungate` |
//! | sleep | runtime power management has put the device to sleep | `autosuspend_delay` | and `sleep_exit` |
//!
//! All delays count from the last response. A deeper state includes those above it, so its exit has their exits as
//! parts, whether or not they have a timer of their own.
//!
//! # Who needs what
//! Commands need the link, whoever sends them: a request wakes it, and so does a booster that fetches or writes back
//! mappings in idle time. Its wake is charged, and the idle time begins anew. Work inside the device (a GC step, a map
//! flush, the programming of buffered data) needs no link, and does not keep it from hibernating; nor does it need the
//! host's clocks. But a device at work, or with a timer of its firmware running, is not put to sleep: a driver asks
//! before it does that, and is refused (Linux: the background operations' status; runtime suspend ends with `EBUSY`).
//! Here sleep begins as soon as the work has ended.
//!
//! # Transitions
//! Entering hibern8 takes `hibern8_enter`, also where the driver does it before it stops the clocks; to stop them under
//! a link that hibernates takes no time. Sleep needs a command to the device, so the link is brought up for it once
//! more: all of that is `sleep_enter`. What comes while a state is being entered waits for the end of it, and then for
//! the exit. A timer that ends at the moment at which a command comes has ended first. All commands that come before
//! the link is up wait for it together.
//!
//! # What varies
//! The driver's timer runs on a work queue, so it ends up to `clkgate_jitter` late; how late is drawn anew for every
//! idle time. And the workload is not alone: in a share of all idle times something else uses the link once, soon
//! ([`OtherUse`]). It wakes the link if that is down, and the idle time begins anew. It takes no other time.
//!
//! Nothing here has a clock: [`Power`] is told when commands go out and are answered, and follows from that what has
//! become of the link in between.

use units::{Dice, Nanos, SimTime};

use crate::power_config::{OtherUse, PowerConfig};

/// What link, clocks and device are in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PowerState {
    /// A command is under way, and the link is up.
    Busy,
    /// No command is under way, and the link is up.
    Idle,
    /// On the way into one of the next three.
    Entering,
    /// The link hibernates.
    Hibern8,
    /// The link hibernates, and the controller has no clock.
    ClkGated,
    /// The same, and the device sleeps.
    Sleep,
    /// On the way back.
    Waking,
}

impl PowerState {
    /// All of them, in the order of their numbers.
    pub const ALL: [PowerState; 7] = {
        use PowerState::*;
        [Busy, Idle, Entering, Hibern8, ClkGated, Sleep, Waking]
    };

    /// Its name in results.
    pub fn name(self) -> &'static str {
        match self {
            PowerState::Busy => "busy",
            PowerState::Idle => "idle",
            PowerState::Entering => "entering",
            PowerState::Hibern8 => "hibern8",
            PowerState::ClkGated => "clk_gated",
            PowerState::Sleep => "sleep",
            PowerState::Waking => "waking",
        }
    }

    /// True if the link carries nothing.
    fn is_down(self) -> bool {
        matches!(self, PowerState::Hibern8 | PowerState::ClkGated | PowerState::Sleep)
    }
}

impl PowerConfig {
    /// From a state until the link is up.
    pub fn exit(&self, state: PowerState) -> Nanos {
        match state {
            PowerState::Hibern8 => self.hibern8_exit,
            PowerState::ClkGated => self.clk_ungate + self.hibern8_exit,
            PowerState::Sleep => self.sleep_exit + self.clk_ungate + self.hibern8_exit,
            PowerState::Busy | PowerState::Idle | PowerState::Entering | PowerState::Waking => Nanos::ZERO,
        }
    }

    /// What becomes of a link that is left alone from `since` on.
    fn way_down(&self, since: SimTime, work: DeviceWork) -> Way {
        let after = |delay: Option<Nanos>| delay.map_or(NEVER, |delay| since + delay);
        let suspends = match (self.autosuspend_delay, work) {
            (None, _) | (_, DeviceWork::Now) => NEVER,
            (Some(delay), DeviceWork::EndedAt(end)) => end.max(since + delay),
        };
        let (hibernates, gates) = (after(self.auto_hibern8), after(self.clkgate_delay));
        let mut way = Way::from(since);
        if hibernates < gates.min(suspends) {
            way.enter(PowerState::Hibern8, hibernates, self.hibern8_enter);
        }
        if gates < suspends {
            let down = way.last().0.is_down();
            way.enter(PowerState::ClkGated, gates, if down { Nanos::ZERO } else { self.hibern8_enter });
        }
        if suspends < NEVER {
            way.enter(PowerState::Sleep, suspends, self.sleep_enter);
        }
        way
    }
}

/// Later than everything.
const NEVER: SimTime = SimTime(u64::MAX);

/// Whether the device has work of its own.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DeviceWork {
    /// It has work, or will have with a timer that runs.
    Now,
    /// It has had none since.
    EndedAt(SimTime),
}

/// States one after another, each with its beginning. One that would have no length is left out.
#[derive(Clone, Copy, Debug)]
struct Way {
    steps: [(PowerState, SimTime); 7],
    len: usize,
}

impl Way {
    fn from(since: SimTime) -> Way {
        Way { steps: [(PowerState::Idle, since); 7], len: 1 }
    }

    fn last(&self) -> (PowerState, SimTime) {
        self.steps[self.len - 1]
    }

    fn push(&mut self, state: PowerState, at: SimTime) {
        if self.last().1 < at {
            self.len += 1;
        }
        self.steps[self.len - 1] = (state, at);
    }

    /// A state that begins to be entered at `at`, or when the one before has been reached.
    fn enter(&mut self, state: PowerState, at: SimTime, takes: Nanos) {
        let at = at.max(self.last().1);
        if takes > Nanos::ZERO {
            self.push(PowerState::Entering, at);
        }
        self.push(state, at + takes);
    }

    /// The steps, each with its end; the last has none.
    fn spans(&self) -> impl Iterator<Item = (PowerState, SimTime, SimTime)> {
        let Way { steps, len } = *self;
        (0..len).map(move |i| (steps[i].0, steps[i].1, if i + 1 < len { steps[i + 1].1 } else { NEVER }))
    }
}

/// Time in the states, stays there, and wakes. Stays count from their beginning.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PowerAccount {
    /// Nanoseconds in each state, in the order of [`PowerState::ALL`].
    pub ns: [u64; PowerState::ALL.len()],
    /// How often each began.
    pub stays: [u64; PowerState::ALL.len()],
    /// Wakes for a request.
    pub request_wakes: u64,
    /// Wakes for a command of the driver while there was no request.
    pub driver_wakes: u64,
    /// Wakes for something else.
    pub other_wakes: u64,
    /// Commands that waited until the link was up.
    pub waited_commands: u64,
    /// The sum of their waits, in nanoseconds.
    pub waited_ns: u64,
    /// Of the time in states in which the link is down: that in which the device had work of its own, in nanoseconds.
    pub working_ns: [u64; PowerState::ALL.len()],
}

impl PowerAccount {
    /// What was added since `earlier`.
    #[must_use]
    pub fn since(&self, earlier: &PowerAccount) -> PowerAccount {
        let less = |now: [u64; 7], then: [u64; 7]| std::array::from_fn(|i| now[i] - then[i]);
        PowerAccount {
            ns: less(self.ns, earlier.ns),
            stays: less(self.stays, earlier.stays),
            request_wakes: self.request_wakes - earlier.request_wakes,
            driver_wakes: self.driver_wakes - earlier.driver_wakes,
            other_wakes: self.other_wakes - earlier.other_wakes,
            waited_commands: self.waited_commands - earlier.waited_commands,
            waited_ns: self.waited_ns - earlier.waited_ns,
            working_ns: less(self.working_ns, earlier.working_ns),
        }
    }

    fn add(&mut self, state: PowerState, time: Nanos) {
        self.ns[state as usize] += time.0;
    }
}

/// A stay in a state, for reports.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PowerSpan {
    /// The state.
    pub state: PowerState,
    /// When it began.
    pub began: SimTime,
    /// When it ended, or will end; or until when it was seen.
    pub ended: SimTime,
}

/// Who wakes a link.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Waker {
    /// A request; so many have come so far.
    Request(u64),
    /// The driver, while there is no request.
    Driver,
    /// Something else.
    Other,
}

/// Power states of a link and the device behind it.
#[derive(Clone, Debug)]
pub struct Power {
    /// As it holds in this idle time.
    config: PowerConfig,
    /// Without what is drawn.
    clkgate_delay: Option<Nanos>,
    /// Requests so far, and idle times since the last of them: an idle time's luck hangs on these alone, so that it is
    /// the same under every scheme.
    idle_time: (u64, u64),
    /// When something else uses the link, if it is idle until then.
    other_use: Option<SimTime>,
    /// Commands that are not answered.
    under_way: u32,
    /// When the last command was answered; valid while none is under way.
    idle_since: SimTime,
    /// While a command is under way: since when the link is up, or will be.
    up_at: SimTime,
    /// What is left of a wake when a state that was being entered has been reached.
    last_exit: Nanos,
    /// Up to `idle_since`, or to `up_at`.
    closed: PowerAccount,
    /// Stays up to there; `None` if nobody wants to know.
    spans: Option<Vec<PowerSpan>>,
}

impl Power {
    /// A link that has just come up.
    pub fn new(config: PowerConfig, now: SimTime) -> Power {
        let mut power = Power {
            config,
            clkgate_delay: config.clkgate_delay,
            idle_time: (0, 0),
            other_use: None,
            under_way: 0,
            idle_since: now,
            up_at: now,
            last_exit: Nanos::ZERO,
            closed: PowerAccount::default(),
            spans: None,
        };
        power.draw();
        power
    }

    /// Notes stays that end from now on, or no more.
    pub fn note_spans(&mut self, wanted: bool) {
        self.spans = wanted.then(Vec::new);
    }

    /// The stays that have been noted since the last call, in the order of time.
    pub fn take_spans(&mut self) -> impl Iterator<Item = PowerSpan> + '_ {
        self.spans.iter_mut().flat_map(|spans| spans.drain(..))
    }

    /// The stays since the last one that was noted, as if the last of them ended now.
    pub fn open_spans(&self, now: SimTime, work: DeviceWork) -> Vec<PowerSpan> {
        if self.is_behind(now) {
            let mut power = self.clone();
            power.note_spans(true);
            power.catch_up(now, || work);
            let mut spans: Vec<_> = power.take_spans().collect();
            // What something else wakes may be on its way up; that was noted when it began.
            if power.idle_since <= now {
                spans.extend(power.open_spans(now, work));
            }
            return spans;
        }
        match self.under_way {
            0 => self.idle_spans(now, work).collect(),
            _ => vec![PowerSpan { state: PowerState::Busy, began: self.up_at, ended: self.up_at.max(now) }],
        }
    }

    /// The stays of the idle time until `now`.
    fn idle_spans(&self, now: SimTime, work: DeviceWork) -> impl Iterator<Item = PowerSpan> {
        let way = self.config.way_down(self.idle_since, work);
        let begun = (0..way.len).take_while(move |&i| way.steps[i].1 <= now);
        begun.map(move |i| {
            let (state, began) = way.steps[i];
            let next = if i + 1 < way.len { way.steps[i + 1].1 } else { NEVER };
            PowerSpan { state, began, ended: next.min(now) }
        })
    }

    /// A command is to go out. Gives the time from which on the link can carry it.
    pub fn send(&mut self, now: SimTime, waker: Waker, work: impl Fn() -> DeviceWork) -> SimTime {
        if self.under_way == 0 {
            self.catch_up(now, &work);
            // What something else wakes is on its way up.
            if self.idle_since <= now {
                self.begin(now, waker, work);
            }
        }
        if let Waker::Request(number) = waker
            && self.idle_time.0 != number
        {
            self.idle_time = (number, 0);
        }
        self.under_way += 1;
        let ready = self.up_at.max(now);
        self.closed.waited_commands += u64::from(ready > now);
        self.closed.waited_ns += ready.since(now).0;
        ready
    }

    /// A response has arrived.
    #[inline(never)]
    pub fn answered(&mut self, now: SimTime) {
        self.under_way -= 1;
        if self.under_way == 0 {
            self.closed.add(PowerState::Busy, now.since(self.up_at));
            if let Some(spans) = &mut self.spans {
                spans.push(PowerSpan { state: PowerState::Busy, began: self.up_at, ended: now });
            }
            self.idle_since = now;
            self.draw();
        }
    }

    /// Draws what varies from one idle time to another.
    fn draw(&mut self) {
        let mut dice = self.draw_timer();
        if let Some(OtherUse { percent, within }) = self.config.other_use {
            let at = self.idle_since + Nanos(dice.between(1, within.0));
            self.other_use = dice.happens(percent, 100).then_some(at);
        }
    }

    /// Draws by how much the driver's timer ends late. Gives what else is drawn for this idle time.
    fn draw_timer(&mut self) -> Dice {
        let (requests, times) = self.idle_time;
        self.idle_time.1 += 1;
        let mut dice = Dice::of(self.config.seed ^ times, requests);
        let most = self.config.clkgate_jitter.0;
        if most > 0 {
            let late = Nanos(dice.between(0, most));
            self.config.clkgate_delay = self.clkgate_delay.map(|delay| delay + late);
        }
        dice
    }

    /// Lets something else use the link if it has by now. Idle time begins anew when the link is up, which may be later
    /// than now.
    fn catch_up(&mut self, now: SimTime, work: impl Fn() -> DeviceWork) {
        let Some(at) = self.other_use.take_if(|at| *at <= now) else { return };
        self.begin(at, Waker::Other, work);
        self.idle_since = self.up_at;
        self.draw_timer();
    }

    /// As it is when something else has used the link.
    fn caught_up(&self, now: SimTime, work: DeviceWork) -> Power {
        let mut power = self.clone();
        power.catch_up(now, || work);
        // A wake that has begun is accounted for as that of a command.
        power.under_way = u32::from(power.idle_since > now);
        power
    }

    /// The power was cut: what was under way is lost, and the link has come up anew.
    pub fn cut(&mut self, now: SimTime, work: DeviceWork) {
        let closed = self.account(now, work);
        let config = PowerConfig { clkgate_delay: self.clkgate_delay, ..self.config };
        *self = Power { closed, idle_time: self.idle_time, ..Power::new(config, now) };
    }

    /// The state now.
    pub fn state(&self, now: SimTime, work: DeviceWork) -> PowerState {
        match self.under_way {
            0 if self.is_behind(now) => self.caught_up(now, work).state(now, work),
            0 => {
                let way = self.config.way_down(self.idle_since, work);
                way.spans().take_while(|span| span.1 <= now).last().map_or(PowerState::Idle, |span| span.0)
            }
            _ if now >= self.up_at => PowerState::Busy,
            _ if self.up_at.since(now) <= self.last_exit => PowerState::Waking,
            _ => PowerState::Entering,
        }
    }

    /// Times and stays up to now.
    pub fn account(&self, now: SimTime, work: DeviceWork) -> PowerAccount {
        if self.is_behind(now) {
            return self.caught_up(now, work).account(now, work);
        }
        let mut account = self.closed;
        if self.under_way == 0 {
            if self.has_idled(now) {
                self.add_idle(&mut account, now, work);
            }
        } else if now >= self.up_at {
            account.add(PowerState::Busy, now.since(self.up_at));
        } else {
            // A wake was added as a whole when it began.
            let ahead = self.up_at.since(now).0;
            let exit = ahead.min(self.last_exit.0);
            account.ns[PowerState::Waking as usize] -= exit;
            account.ns[PowerState::Entering as usize] -= ahead - exit;
        }
        account
    }

    /// Whether something else has used the link, or is waking it.
    fn is_behind(&self, now: SimTime) -> bool {
        self.under_way == 0 && (self.other_use.is_some_and(|at| at <= now) || self.idle_since > now)
    }

    /// Whether an idle time has begun that counts as a stay: one between two commands needs a length.
    fn has_idled(&self, now: SimTime) -> bool {
        now > self.idle_since || self.closed.stays[PowerState::Busy as usize] == 0
    }

    /// Adds the idle time until `now`, and gives the state at its end with the end of that.
    fn add_idle(&self, account: &mut PowerAccount, now: SimTime, work: DeviceWork) -> (PowerState, SimTime) {
        let works_until = match work {
            DeviceWork::Now => now,
            DeviceWork::EndedAt(end) => end.min(now),
        };
        let mut reached = (PowerState::Idle, NEVER);
        let way = self.config.way_down(self.idle_since, work);
        for (state, from, to) in way.spans().take_while(|span| span.1 <= now) {
            account.stays[state as usize] += 1;
            account.add(state, to.min(now).since(from));
            if state.is_down() {
                account.working_ns[state as usize] += to.min(works_until).since(from).0;
            }
            reached = (state, to);
        }
        reached
    }

    /// The first command after idle time.
    fn begin(&mut self, now: SimTime, waker: Waker, work: impl Fn() -> DeviceWork) {
        self.up_at = now;
        if !self.has_idled(now) {
            return;
        }
        let work = work();
        let mut account = self.closed;
        let (state, end) = self.add_idle(&mut account, now, work);
        account.stays[PowerState::Busy as usize] += 1;
        let (settled, from) = match state {
            PowerState::Entering => (end, self.reached(end, work)),
            _ => (now, state),
        };
        if settled > now {
            account.add(PowerState::Entering, settled.since(now));
            account.stays[from as usize] += 1;
        }
        if from != PowerState::Idle {
            self.last_exit = self.config.exit(from);
            self.up_at = settled + self.last_exit;
            account.add(PowerState::Waking, self.last_exit);
            account.stays[PowerState::Waking as usize] += 1;
            match waker {
                Waker::Request(_) => account.request_wakes += 1,
                Waker::Driver => account.driver_wakes += 1,
                Waker::Other => account.other_wakes += 1,
            }
        }
        self.closed = account;
        if self.spans.is_some() {
            self.note_idle_time(now, settled, work);
        }
    }

    /// Notes the stays from the beginning of an idle time until `now`, the rest of a way down until `settled`, and the
    /// way up.
    #[inline(never)]
    fn note_idle_time(&mut self, now: SimTime, settled: SimTime, work: DeviceWork) {
        let mut stays: Vec<_> = self.idle_spans(now, work).collect();
        if let Some(last) = stays.last_mut() {
            last.ended = settled;
        }
        if self.up_at > settled {
            stays.push(PowerSpan { state: PowerState::Waking, began: settled, ended: self.up_at });
        }
        self.spans.iter_mut().for_each(|spans| spans.append(&mut stays));
    }

    /// The state that is reached at `at`.
    fn reached(&self, at: SimTime, work: DeviceWork) -> PowerState {
        let way = self.config.way_down(self.idle_since, work);
        let mut at_end = way.spans().filter(|span| span.1 == at);
        at_end.next().expect("what is entered is reached").0
    }
}

#[cfg(test)]
#[path = "power_tests.rs"]
mod tests;
