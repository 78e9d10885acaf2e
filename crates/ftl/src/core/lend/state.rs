//! Configuration, what the engine is doing, and counters.

use crate::config::EngineConfig;
use crate::core::Core;

impl Core {
    /// The configuration.
    #[inline(always)]
    pub fn cfg(&self) -> &EngineConfig {
        &self.cfg
    }

    /// Addresses that the host sees.
    #[inline(always)]
    pub fn capacity_units(&self) -> u32 {
        self.cfg.capacity_units
    }

    /// Programs in flight, those that failed and are to be repeated included.
    #[inline]
    pub fn programs_in_flight(&self) -> u32 {
        self.programs
    }

    /// True if a command has arrived during the map flush that is under way.
    pub fn command_waits(&self) -> bool {
        self.command_waits
    }

    /// Map flushes begun since power-on.
    #[inline]
    pub fn map_flushes(&self) -> u64 {
        self.stats.map_flushes
    }

    /// Counts a translation that was answered from the log.
    #[inline(always)]
    pub fn count_log_hit(&mut self) {
        self.stats.log_hits += 1;
    }

    /// Counts a translation that was answered from a map unit or an entry in SRAM.
    #[inline(always)]
    pub fn count_segment_hit(&mut self) {
        self.stats.segment_hits += 1;
    }
}
