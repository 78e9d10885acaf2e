//! When link and device go into power states, and what that takes: the keys of a profile, and the configuration that
//! they stand for.

use units::Nanos;

params::params! {
    /// Power states of link and device in idle time, as Linux leads a phone through them. All delays count from the
    /// last response; without one of the three timers the link is always up.
    pub PowerParams {
        /// Idle time after which the controller hibernates the link (sysfs: auto_hibern8).
        auto_hibern8_idle_us: count_or("off" 1 to 102300000) = "off",
            "off unless a profile has it: no paper's platform tells its timers. Linux sets 150 ms, phones 1 ms to 150 \
            ms; the register holds at most 102.3 s (UFSHCI, AHIT)";
        /// From the end of that timer, or the driver's wish, until the link hibernates.
        hibern8_enter_us: count(0 to 1000000) = 100,
            "assumed: the handshake of UniPro, and the shortest stay of an M-PHY in HIBERN8, 100 us";
        /// From hibernation until the link is up.
        hibern8_exit_us: count(0 to 1000000) = 450,
            "a Pixel 4: 4 KiB reads and writes after 1 to 50 ms without requests take 405 to 510 us more";
        /// Idle time after which the driver hibernates the link and stops the clocks (sysfs: clkgate_delay_ms).
        clkgate_delay_ms: count_or("off" 1 to 1000000) = "off",
            "off unless a profile has it. Linux sets 150 ms; Qualcomm's driver 50 ms, 10 ms at a low clock";
        /// The driver's timer ends up to so much late; how much is drawn in every idle time.
        clkgate_jitter_us: count(0 to 1000000000) = 0,
            "none unless a profile has it. Linux: delayed work, on ticks of 4 to 10 ms";
        /// Until the clocks run again; the link's exit comes on top.
        clk_ungate_us: count(0 to 10000000) = 11700,
            "a Pixel 4: requests after 60 ms without requests take 12.15 ms more, 0.45 of them for the link";
        /// Idle time after which runtime power management puts the device to sleep (sysfs: autosuspend_delay_ms).
        autosuspend_delay_ms: count_or("off" 1 to 1000000000) = "off",
            "off unless a profile has it. Linux sets 2000 ms (RPM_AUTOSUSPEND_DELAY_MS)";
        /// Until the device sleeps: the link comes up, START STOP UNIT, the link hibernates, the clocks stop.
        sleep_enter_us: count(0 to 10000000) = 13000,
            "assumed: an exit by clocks and link as above, the command, and a way into hibernation";
        /// Until the device is awake; clocks and link come on top.
        sleep_exit_us: count(0 to 10000000) = 10000,
            "assumed: supplies settle and the controller starts; Linux waits for it without an upper bound";
        /// Idle times, of a hundred, in which something else uses the link once, such as a request to another
        /// partition; 0 = none. It wakes the link, and the idle time begins anew.
        other_use_percent: count(0 to 100) = 0, "none unless a profile has it: a trace does not tell";
        /// At most so long after an idle time has begun; any moment until then is as likely.
        other_use_within_ms: count(1 to 1000000) = 150,
            "a Pixel 4: after 50 to 150 ms without requests the link is down or not, later it nearly always is";
    }
}

impl PowerParams {
    /// What they stand for; `seed` decides what is drawn.
    pub fn config(&self, seed: u64) -> PowerConfig {
        let micros = |us: u32| Nanos::from_micros(us.into());
        let millis = |ms: u32| Nanos::from_millis(ms.into());
        PowerConfig {
            auto_hibern8: self.auto_hibern8_idle_us.count().map(micros),
            hibern8_enter: micros(self.hibern8_enter_us),
            hibern8_exit: micros(self.hibern8_exit_us),
            clkgate_delay: self.clkgate_delay_ms.count().map(millis),
            clk_ungate: micros(self.clk_ungate_us),
            autosuspend_delay: self.autosuspend_delay_ms.count().map(millis),
            sleep_enter: micros(self.sleep_enter_us),
            sleep_exit: micros(self.sleep_exit_us),
            clkgate_jitter: micros(self.clkgate_jitter_us),
            other_use: (self.other_use_percent > 0)
                .then(|| OtherUse { percent: self.other_use_percent, within: millis(self.other_use_within_ms) }),
            seed,
        }
    }
}

/// When states begin, and what the way into them and back takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PowerConfig {
    /// Idle time after which the controller hibernates the link; `None` = it does not.
    pub auto_hibern8: Option<Nanos>,
    /// From the beginning of that until the link hibernates.
    pub hibern8_enter: Nanos,
    /// From there until the link is up.
    pub hibern8_exit: Nanos,
    /// Idle time after which the driver stops the clocks; `None` = it does not.
    pub clkgate_delay: Option<Nanos>,
    /// Until the clocks run again.
    pub clk_ungate: Nanos,
    /// Idle time after which the device is put to sleep; `None` = it is not.
    pub autosuspend_delay: Option<Nanos>,
    /// Until it sleeps.
    pub sleep_enter: Nanos,
    /// Until the device is awake, with clocks and link up.
    pub sleep_exit: Nanos,
    /// The driver's timer ends so much late at most.
    pub clkgate_jitter: Nanos,
    /// What else uses the link; `None` = nothing.
    pub other_use: Option<OtherUse>,
    /// Seed of what is drawn.
    pub seed: u64,
}

/// Uses of the link by others than the workload, such as requests to another partition.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OtherUse {
    /// Of a hundred idle times, so many have one if they last long enough.
    pub percent: u32,
    /// At most so long after the idle time has begun; any moment until then is as likely.
    pub within: Nanos,
}

impl PowerConfig {
    /// True if there is any state but up.
    pub fn any(&self) -> bool {
        self.auto_hibern8.or(self.clkgate_delay).or(self.autosuspend_delay).is_some()
    }

    /// The idle time after which the link hibernates, whoever does it; `None` = it never does.
    pub fn hibernates_after(&self) -> Option<Nanos> {
        let first = [self.auto_hibern8, self.clkgate_delay, self.autosuspend_delay].into_iter().flatten().min();
        first.map(|delay| delay + self.hibern8_enter)
    }

    /// True if anything is drawn.
    pub fn is_random(&self) -> bool {
        self.any() && (self.clkgate_jitter > Nanos::ZERO || self.other_use.is_some())
    }
}
