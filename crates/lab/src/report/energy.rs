//! An estimate of the energy that the device takes.
//!
//! # Formula
//! Two supplies: `VCC` feeds the dies, `VCCQ2` controller and link.
//!
//! ```text
//! E = VCC x die current x time that dies are occupied, summed over dies
//!   + VCCQ2 x sum over states of (current x time in the state)
//!   + VCCQ2 x (idle current - current of the state) x time in which the device works while the link is down
//! ```
//!
//! Entering and leaving a state count as busy: both ends work. A device that works while the link is down is awake, so
//! it takes what it takes when idle. Currents are averages; each is a parameter with its source, `[energy]` in a
//! profile. Times are the simulation's. Missing are the host's end of the link, standby currents of the dies, losses of
//! regulators, and what it takes to charge them again after sleep.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use ufs::{PowerAccount, PowerState};

/// Attojoules (mV x uA x ns) in a microjoule.
const ATTOJOULES: f64 = 1e12;

/// An estimate of what the device has taken from its supplies, in microjoule: voltage x current x time, with the
/// assumed currents of `[energy]` in the profile.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct Energy {
    /// Sum of the others.
    pub total_uj: f64,
    /// The dies, while they were occupied.
    pub flash_uj: f64,
    /// Work of the device's own while the link was down, beyond what the states count.
    pub own_work_uj: f64,
    /// Controller and link by state, as in `states`.
    pub states_uj: BTreeMap<String, f64>,
}

params::params! {
    /// What the device draws, for an estimate of its energy in results. It decides nothing.
    pub EnergyModel {
        /// Supply of the flash.
        vcc_mv: count(1 to 10000) = 2900, "JESD220C: VCC of 2.7 V to 3.6 V; 2.9 to 3.0 V is common in phones";
        /// Supply of controller and link.
        vccq2_mv: count(1 to 10000) = 1800, "JESD220C: VCCQ2 of 1.7 V to 1.95 V";
        /// A die that reads, programs, erases or moves data, from VCC.
        die_ua: count(0 to 1000000) = 25000,
            "assumed: data sheets of dies give 20 to 25 mA as typical for reads, programs and erases (ICC1 to ICC3)";
        /// Controller and link while a command is under way, or a state is being entered or left, from VCCQ2.
        busy_ua: count(0 to 10000000) = 150000,
            "assumed: what is left of about 1 W under load, of which data sheets of UFS 2.1 tell, without the dies";
        /// The same while the link is up and idle, and of a device that has work of its own.
        idle_ua: count(0 to 10000000) = 40000,
            "assumed: published figures for idle devices with the link up are some tens of milliwatts";
        /// The same while the link hibernates.
        hibern8_ua: count(0 to 10000000) = 1500, "assumed: data sheets give one to a few milliwatts";
        /// The same while the clocks are stopped too, the reference clock of the device among them.
        clk_gated_ua: count(0 to 10000000) = 1000, "assumed: below hibernation, for lack of a reference clock";
        /// The same while the device sleeps.
        sleep_ua: count(0 to 10000000) = 400, "assumed: data sheets give some hundreds of microamperes";
    }
}

impl EnergyModel {
    /// What was taken during `spent`, while dies were occupied for `die_ns` in all.
    pub fn estimate(&self, spent: &PowerAccount, die_ns: u64) -> Energy {
        let energy = |mv: u32, ua: u32, ns: u64| f64::from(mv) * f64::from(ua) * ns as f64 / ATTOJOULES;
        let flash_uj = energy(self.vcc_mv, self.die_ua, die_ns);
        let of = |state: PowerState| energy(self.vccq2_mv, self.current(state), spent.ns[state as usize]);
        let own = |state: PowerState| {
            let more = self.idle_ua.saturating_sub(self.current(state));
            energy(self.vccq2_mv, more, spent.working_ns[state as usize])
        };
        let own_work_uj = PowerState::ALL.into_iter().map(own).sum();
        let states_uj: BTreeMap<_, _> = PowerState::ALL.iter().map(|&s| (s.name().to_owned(), of(s))).collect();
        let total_uj = flash_uj + own_work_uj + states_uj.values().sum::<f64>();
        Energy { total_uj, flash_uj, own_work_uj, states_uj }
    }

    fn current(&self, state: PowerState) -> u32 {
        match state {
            PowerState::Busy | PowerState::Entering | PowerState::Waking => self.busy_ua,
            PowerState::Idle => self.idle_ua,
            PowerState::Hibern8 => self.hibern8_ua,
            PowerState::ClkGated => self.clk_gated_ua,
            PowerState::Sleep => self.sleep_ua,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MODEL: EnergyModel = EnergyModel {
        vcc_mv: 3000,
        vccq2_mv: 2000,
        die_ua: 20_000,
        busy_ua: 100_000,
        idle_ua: 10_000,
        hibern8_ua: 1000,
        clk_gated_ua: 500,
        sleep_ua: 100,
    };

    /// A second in each state, and half of that in hibern8 and clk_gated with work of the device's own.
    #[test]
    fn energy_is_voltage_times_current_times_time() {
        let second = 1_000_000_000;
        let mut spent = PowerAccount { ns: [second; 7], ..PowerAccount::default() };
        spent.working_ns[PowerState::Hibern8 as usize] = second / 2;
        spent.working_ns[PowerState::ClkGated as usize] = second / 2;
        let energy = MODEL.estimate(&spent, 4 * second);
        // 3 V x 20 mA x 4 s; 2 V x (9 + 9.5) mA x 0.5 s.
        assert_eq!((energy.flash_uj, energy.own_work_uj), (240_000.0, 18_500.0));
        let states = ["busy", "idle", "entering", "hibern8", "clk_gated", "sleep", "waking"];
        let expected = [200_000.0, 20_000.0, 200_000.0, 2_000.0, 1_000.0, 200.0, 200_000.0];
        for (state, expected) in states.into_iter().zip(expected) {
            assert_eq!(energy.states_uj[state], expected, "{state}");
        }
        let sum = energy.flash_uj + energy.own_work_uj + energy.states_uj.values().sum::<f64>();
        assert!((energy.total_uj - sum).abs() < 1e-6, "{energy:?}");
    }

    #[test]
    fn nothing_takes_nothing() {
        assert_eq!(MODEL.estimate(&PowerAccount::default(), 0).total_uj, 0.0);
    }
}
