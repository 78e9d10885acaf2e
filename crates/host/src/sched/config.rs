//! Settings that the schedulers share.

use units::Nanos;

use crate::knowledge::kind::CacheKnowledge;

/// Settings of the schedulers. `noop` has none.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SchedConfig {
    /// Parts that a scheduler may choose from, 1..=1024 (MAP+ Sec. VI-A: 128).
    pub queue: u16,
    /// A part that has waited for so long goes before its turn (MAP+ Sec. V-A: 10 ms). `mq-deadline` has its own times.
    pub deadline: Nanos,
    /// How the host knows what the device's mapping cache holds.
    pub knowledge: CacheKnowledge,
    /// [`CacheKnowledge::Poll`]: requests between two queries, from 1 (MAP+ Sec. V-D: 1000).
    pub poll_requests: u32,
    /// [`CacheKnowledge::Lru`]: entries that the host believes the mapping cache to have, from 1.
    pub cache_entries: u32,
    /// The device is told of a batch before its requests (MAP+ Sec. V-D).
    pub batch_notice: bool,
    /// The requests of an announced batch share the firmware's cost of a command.
    pub packed_commands: bool,
}

impl Default for SchedConfig {
    fn default() -> SchedConfig {
        SchedConfig {
            queue: 128,
            deadline: Nanos::from_millis(10),
            knowledge: CacheKnowledge::Full,
            poll_requests: 1000,
            cache_entries: 2048,
            batch_notice: true,
            packed_commands: false,
        }
    }
}
