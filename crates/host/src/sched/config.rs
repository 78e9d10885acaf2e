//! Settings that the schedulers share.

use units::Nanos;

use crate::knowledge::kind::CacheKnowledge;

/// The parameters of a scheduler that concern the driver and the pending queue. `noop` has none.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct SchedConfig {
    /// Parts that a scheduler may choose from, 1..=1024 (MAP+ Sec. VI-A: 128).
    pub queue: u16,
    /// A part that has waited for this long goes before its turn (MAP+ Sec. V-A: 10 ms). `mq-deadline` has its own
    /// times.
    pub deadline: Nanos,
    /// How the host knows what the device's mapping cache holds.
    pub knowledge: CacheKnowledge,
    /// [`CacheKnowledge::Poll`]: requests between two queries, from 1 (MAP+ Sec. V-D: 1000).
    pub poll_requests: u32,
    /// [`CacheKnowledge::Lru`]: entries that the host assumes the mapping cache to have, from 1; `None` = as many as
    /// the device says.
    pub cache_entries: Option<u32>,
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
            cache_entries: None,
            batch_notice: true,
            packed_commands: false,
        }
    }
}

params::params! {
    /// The pending queue.
    pub QueueParams {
        /// Requests that it may choose from; others wait before it in order.
        queue: count(1 to 1024) = 128, "MAP+ Sec. VI-A: 128";
    }
}

params::params! {
    /// The pending queue and its deadline.
    pub DeadlineParams {
        with queue: QueueParams;
        /// A request that has waited in its queue for this time is sent ahead of its turn.
        deadline_us: count(0 to 10000000) = 10000, "MAP+ Sec. V-A: 10 ms";
    }
}

params::params! {
    /// What is known of the device's mapping cache.
    pub KnowledgeParams {
        /// How it knows what the device's mapping cache holds.
        cache_knowledge: choice(CacheKnowledge) = Full,
            "MAP+ Sec. V-D: the paper's experiments assume full awareness";
        /// With cache_knowledge = "poll": requests between two queries.
        poll_requests: count(1 to 1000000) = 1000, "MAP+ Sec. V-D: every 1000 requests";
        /// With cache_knowledge = "lru": L2P entries that the mapping cache is believed to have. "device": as many as
        /// it has.
        cache_entries: count_or("device" 1 to 268435456) = "device",
            "MAP+ Sec. V-D.1: a cache of the same size, which is all that the host has to know";
    }
}

params::params! {
    /// Batches.
    pub BatchParams {
        /// The device is told of a batch of requests before they come, and reads their translation page once.
        batch_notice: switch = true, "MAP+ Sec. V-B: the device is notified to load a batch's mapping entries";
        /// The firmware spends the time of one command on all requests of an announced batch, up to 63 (eMMC 5.0 packed
        /// commands).
        packed_commands: switch = false,
            "assumed: UFS has no packed commands, and MAP+ does not count the time that they save";
    }
}

params::params! {
    /// Of a scheduler that asks for the mapping cache.
    pub HitParams {
        with deadline: DeadlineParams;
        with knowledge: KnowledgeParams;
    }
}

params::params! {
    /// Of a scheduler that makes batches.
    pub BatchingParams {
        with deadline: DeadlineParams;
        with batch: BatchParams;
    }
}

params::params! {
    /// Of a scheduler that does both.
    pub HitBatchParams {
        with deadline: DeadlineParams;
        with knowledge: KnowledgeParams;
        with batch: BatchParams;
    }
}

/// Parameters, some of which concern the driver and the pending queue.
pub(crate) trait Settings {
    /// Sets those values.
    fn apply(&self, config: &mut SchedConfig);

    /// Those values.
    fn shared(&self) -> SchedConfig {
        let mut config = SchedConfig::default();
        self.apply(&mut config);
        config
    }
}

impl Settings for params::NoParams {
    fn apply(&self, _config: &mut SchedConfig) {}
}

impl Settings for QueueParams {
    fn apply(&self, config: &mut SchedConfig) {
        config.queue = self.queue as u16;
    }
}

impl Settings for DeadlineParams {
    fn apply(&self, config: &mut SchedConfig) {
        self.queue.apply(config);
        config.deadline = Nanos::from_micros(self.deadline_us.into());
    }
}

impl Settings for KnowledgeParams {
    fn apply(&self, config: &mut SchedConfig) {
        config.knowledge = self.cache_knowledge;
        config.poll_requests = self.poll_requests;
        config.cache_entries = self.cache_entries.count();
    }
}

impl Settings for BatchParams {
    fn apply(&self, config: &mut SchedConfig) {
        config.batch_notice = self.batch_notice;
        config.packed_commands = self.packed_commands;
    }
}

impl Settings for HitParams {
    fn apply(&self, config: &mut SchedConfig) {
        self.deadline.apply(config);
        self.knowledge.apply(config);
    }
}

impl Settings for BatchingParams {
    fn apply(&self, config: &mut SchedConfig) {
        self.deadline.apply(config);
        self.batch.apply(config);
    }
}

impl Settings for HitBatchParams {
    fn apply(&self, config: &mut SchedConfig) {
        self.deadline.apply(config);
        self.knowledge.apply(config);
        self.batch.apply(config);
    }
}
