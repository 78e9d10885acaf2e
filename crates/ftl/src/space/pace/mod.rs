//! The pace of GC: how much GC the host's writes pay for.
//!
//! - **Credit**: what written units have earned and searched units have not repaid, in fractions of a written unit.
//! - **Gain**: units that become free when a victim has been collected: all of its units except the valid ones that the
//!   device knows of.
//! - **Level**: the number of free superblocks. It has four ranges below `start`: above `relaxed`, above `hurried`,
//!   from there down to `reserve`, and at `reserve` or below, where GC is urgent and host writes wait for it.
//!
//! With [`GcPace::Searched`] a written unit pays for the search of one unit, whether it gains any or none. The more
//! units of a victim are valid, the more GC lags behind, until it is urgent. With [`GcPace::Gained`] a written unit
//! pays for the gain of one unit: for N / (N - V) searched units of a victim of N units, of which V are valid. If the
//! host has written a superblock more than GC has gained, its writes wait while there is anything to collect.
//!
//! [`GcPace::Searched`] is the pace of the HP-UFS authors' prototype. If victims are nearly all valid, free superblocks
//! run down to the reserve, and writes wait until one is gained. The counter `gc_urgent_steps` counts GC steps at the
//! reserve. A scheme that gets its victims from the host and pauses GC when the log fills (`hp-ufs`) may run down to
//! the reserve with either pace.

use crate::config::{GcConfig, GcPace};

/// Victims count as gaining at least a superblock divided by this. With less gain, writes would wait long for nearly
/// nothing.
const LEAST_GAIN: u32 = 32;

/// Credit, and what decides about it.
#[cfg_attr(feature = "explore", derive(Clone, Hash))]
#[derive(Debug)]
pub struct Pace {
    cfg: GcConfig,
    /// Units of a superblock.
    units: u32,
    /// Gain of the present victim, or of the last one.
    gain: u32,
    credit: i64,
    /// Credit needed before the next attempt, after one that found no victim.
    postponed: i64,
}

impl Pace {
    /// No credit, for superblocks of `units` units.
    pub fn new(cfg: GcConfig, units: u32) -> Pace {
        Pace { cfg, units, gain: units, credit: 0, postponed: 0 }
    }

    /// A victim was chosen for its valid pages. The device knows of `valid` of them.
    pub fn chosen(&mut self, valid: u32) {
        self.gain = self.units.saturating_sub(valid).max(self.units / LEAST_GAIN).max(1);
    }

    /// The host has written units that have to be paid for.
    #[inline]
    pub fn earn(&mut self, units: u32) {
        match self.cfg.pace {
            GcPace::Searched => self.credit += i64::from(units),
            // Writes that have to wait exceed `ahead` by at most a write buffer. More is written only while nothing can
            // be collected. The cap drops that credit, because it would end in a burst of GC.
            GcPace::Gained => self.credit = (self.credit + i64::from(units) * self.parts()).min(2 * self.ahead()),
        }
    }

    /// The host has written units while free superblocks were plenty. Credit for earlier units is dropped.
    #[inline]
    pub fn forgive(&mut self) {
        if self.cfg.pace == GcPace::Gained {
            self.credit = self.credit.min(0);
        }
    }

    /// True if the credit suffices for a step.
    #[inline]
    pub fn suffices(&self, free: u32) -> bool {
        self.credit >= self.step(free).max(self.postponed)
    }

    /// True if GC has to go before host writes. The host may write a superblock more than GC has gained. The level
    /// counts whole superblocks, so it can not be held closer. A burst of writes of that length is not slowed down.
    #[inline]
    pub fn behind(&self) -> bool {
        self.cfg.pace == GcPace::Gained && self.credit > self.ahead()
    }

    /// The most pages that a step may copy.
    pub fn longest_step(&self) -> usize {
        match self.cfg.pace {
            GcPace::Searched => usize::MAX,
            GcPace::Gained => self.cfg.units_per_step as usize,
        }
    }

    /// A step begins.
    pub fn begin_step(&mut self) {
        self.postponed = 0;
    }

    /// A step ends that has searched `searched` units.
    pub fn repay(&mut self, searched: u32, free: u32) {
        self.credit -= i64::from(searched) * self.price(free);
        match self.cfg.pace {
            // Dropping excess credit avoids a burst of GC after a pause.
            GcPace::Searched => self.credit = self.credit.clamp(0, 2 * i64::from(self.cfg.units_per_step)),
            // Steps at the reserve do not put the host into debt, because then the level would stay there.
            GcPace::Gained if free <= self.cfg.reserve => self.credit = self.credit.max(0),
            GcPace::Gained => {}
        }
    }

    /// There was no victim. The next attempt waits for some more writes.
    pub fn postpone(&mut self, free: u32) {
        match self.cfg.pace {
            GcPace::Searched => self.credit -= i64::from(self.cfg.units_per_step) / 8,
            GcPace::Gained => self.postponed = (self.credit + self.step(free) / 8).min(2 * self.ahead()),
        }
    }

    /// Credit that a written unit earns.
    fn parts(&self) -> i64 {
        match self.cfg.pace {
            GcPace::Searched => 1,
            // Halves, so that the price of a searched unit can be halved.
            GcPace::Gained => 2 * i64::from(self.units),
        }
    }

    /// Credit that a searched unit repays. More free superblocks mean a higher price, so slower GC.
    fn price(&self, free: u32) -> i64 {
        let cfg = &self.cfg;
        let factor = match free {
            f if f > cfg.relaxed => 3,
            f if f > cfg.hurried => 2,
            _ => 1,
        };
        match cfg.pace {
            GcPace::Searched => factor,
            // Wear levelling gains nothing. Twice the pace makes up for it before the level is at the reserve.
            GcPace::Gained if free <= cfg.reserve.midpoint(cfg.hurried) => i64::from(self.gain),
            GcPace::Gained => 2 * factor * i64::from(self.gain),
        }
    }

    /// Credit that a step needs.
    fn step(&self, free: u32) -> i64 {
        let units = i64::from(self.cfg.units_per_step);
        match self.cfg.pace {
            GcPace::Searched => units,
            GcPace::Gained => units * self.price(free),
        }
    }

    /// Credit that a superblock of written units earns.
    fn ahead(&self) -> i64 {
        i64::from(self.units) * self.parts()
    }
}

#[cfg(test)]
mod tests;
