//! Settings that the schedulers share.

use crate::knowledge::kind::CacheKnowledge;

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
        /// A request that is due takes its batch with it. Off: it goes alone.
        due_batch: switch = true,
            "MAP+ Sec. VI-B.3: batch grouping operations are not affected by the deadline";
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
    /// All that concern them. Those that the scheduler does not have are the defaults.
    fn shared(&self) -> HitBatchParams;

    /// Parts that the scheduler may choose from.
    fn queue(&self) -> u16 {
        self.shared().deadline.queue.queue as u16
    }
}

impl Settings for params::NoParams {
    fn shared(&self) -> HitBatchParams {
        HitBatchParams::default()
    }
}

impl Settings for QueueParams {
    fn shared(&self) -> HitBatchParams {
        DeadlineParams { queue: *self, ..DeadlineParams::default() }.shared()
    }
}

impl Settings for DeadlineParams {
    fn shared(&self) -> HitBatchParams {
        HitBatchParams { deadline: *self, ..HitBatchParams::default() }
    }
}

impl Settings for HitParams {
    fn shared(&self) -> HitBatchParams {
        HitBatchParams { knowledge: self.knowledge, ..self.deadline.shared() }
    }
}

impl Settings for BatchingParams {
    fn shared(&self) -> HitBatchParams {
        HitBatchParams { batch: self.batch, ..self.deadline.shared() }
    }
}

impl Settings for HitBatchParams {
    fn shared(&self) -> HitBatchParams {
        *self
    }
}
