//! The pace of GC: how much of it the host's writes pay for.
//!
//! - **Credit**: what written units have earned and searched units have not repaid, in parts of a written unit.
//! - **Gain**: units that become free when a victim has been collected: those of a superblock less its valid ones, as
//!   many as the device knows of.
//! - **Level**: free superblocks. It has four ranges below `start`: above `relaxed`, above `hurried`, and from there
//!   down to `reserve`, where GC is urgent and host writes wait for it.
//!
//! With [`GcPace::Searched`] a written unit pays for a searched one, whatever is gained by that. The more of a victim
//! is valid, the more it lags behind, until it is urgent. With [`GcPace::Gained`] a written unit pays for a gained one:
//! for N / (N - V) searched units of a victim of N units, V of them valid. A host that has run a superblock ahead is
//! held back while there is anything to collect.
//!
//! [`GcPace::Searched`] is what the HP-UFS authors' prototype does: where victims are nearly all valid, free
//! superblocks run down to the reserve, and writes stand until one is gained. The counter `gc_urgent_steps` tells how
//! often. A scheme that gets its victims from the host and pauses GC for a crowded log (`hp-ufs`) may still run down to
//! the reserve.

use crate::config::{GcConfig, GcPace};

/// Victims gain at least this part of a superblock, or count as if they did. Where they gain less the drive has nothing
/// to collect, and writes would stand still for as good as nothing.
const LEAST_GAIN: u32 = 32;

/// What has been earned and repaid.
#[derive(Debug)]
pub struct Pace {
    cfg: GcConfig,
    /// Units of a superblock.
    units: u32,
    /// Gain of the present victim, or of the last one.
    gain: u32,
    credit: i64,
    /// No victim could be had: to be asked again with so much credit.
    postponed: i64,
}

impl Pace {
    /// Nothing earned, for superblocks of so many units.
    pub fn new(cfg: GcConfig, units: u32) -> Pace {
        Pace { cfg, units, gain: units, credit: 0, postponed: 0 }
    }

    /// A victim was chosen for its valid pages, of which the device knows so many.
    pub fn chosen(&mut self, valid: u32) {
        self.gain = self.units.saturating_sub(valid).max(self.units / LEAST_GAIN).max(1);
    }

    /// The host has written units that have to be paid for.
    #[inline]
    pub fn earn(&mut self, units: u32) {
        match self.cfg.pace {
            GcPace::Searched => self.credit += i64::from(units),
            // Held back, the host gets no further than a write buffer beyond `ahead`. More is written only while there
            // is nothing that could be collected; that is not made up for, or the end of it would be a burst of GC.
            GcPace::Gained => self.credit = (self.credit + i64::from(units) * self.parts()).min(2 * self.ahead()),
        }
    }

    /// The host has written units while free superblocks were plenty: what is owed for others is forgiven.
    #[inline]
    pub fn forgive(&mut self) {
        if self.cfg.pace == GcPace::Gained {
            self.credit = self.credit.min(0);
        }
    }

    /// Does the credit suffice for a step?
    #[inline]
    pub fn suffices(&self, free: u32) -> bool {
        self.credit >= self.step(free).max(self.postponed)
    }

    /// Have so many units been written that GC comes first? A superblock's worth of writes may run ahead of it, for a
    /// level of whole superblocks follows no closer; a burst of writes as long as that is not slowed down.
    #[inline]
    pub fn behind(&self) -> bool {
        self.cfg.pace == GcPace::Gained && self.credit > self.ahead()
    }

    /// Pages that a step copies at most.
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

    /// A step ends that has searched so many units.
    pub fn repay(&mut self, searched: u32, free: u32) {
        self.credit -= i64::from(searched) * self.price(free);
        match self.cfg.pace {
            // A pause does not end in a burst.
            GcPace::Searched => self.credit = self.credit.clamp(0, 2 * i64::from(self.cfg.units_per_step)),
            // Steps at the reserve are not the host's debt, or the level would stay there.
            GcPace::Gained if free <= self.cfg.reserve => self.credit = self.credit.max(0),
            GcPace::Gained => {}
        }
    }

    /// No victim could be had: to be asked again after some more writes.
    pub fn postpone(&mut self, free: u32) {
        match self.cfg.pace {
            GcPace::Searched => self.credit -= i64::from(self.cfg.units_per_step) / 8,
            GcPace::Gained => self.postponed = (self.credit + self.step(free) / 8).min(2 * self.ahead()),
        }
    }

    /// What a written unit earns.
    fn parts(&self) -> i64 {
        match self.cfg.pace {
            GcPace::Searched => 1,
            // Halves, so that the price of a searched unit can be halved.
            GcPace::Gained => 2 * i64::from(self.units),
        }
    }

    /// What a searched unit repays: the slower the more free superblocks there are.
    fn price(&self, free: u32) -> i64 {
        let cfg = &self.cfg;
        let factor = match free {
            f if f > cfg.relaxed => 3,
            f if f > cfg.hurried => 2,
            _ => 1,
        };
        match cfg.pace {
            GcPace::Searched => factor,
            // Wear levelling gains nothing: twice the pace makes up for it before the reserve is reached.
            GcPace::Gained if free <= cfg.reserve.midpoint(cfg.hurried) => i64::from(self.gain),
            GcPace::Gained => 2 * factor * i64::from(self.gain),
        }
    }

    /// What a step takes.
    fn step(&self, free: u32) -> i64 {
        let units = i64::from(self.cfg.units_per_step);
        match self.cfg.pace {
            GcPace::Searched => units,
            GcPace::Gained => units * self.price(free),
        }
    }

    /// What a superblock of written units earns.
    fn ahead(&self) -> i64 {
        i64::from(self.units) * self.parts()
    }
}

#[cfg(test)]
mod tests;
