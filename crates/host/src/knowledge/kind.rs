//! How a host may know what the device's mapping cache holds, by name.

units::kinds! {
    /// How the host knows what the device's mapping cache holds.
    pub CacheKnowledge {
        /// The simulator tells, always exactly.
        Full = "full";
        /// By a vendor command, with which the driver asks the device now and then.
        Poll = "poll";
        /// By simulating an LRU cache.
        Lru = "lru";
        /// By simulating a cache that gives up what came first, however often it was used: a wrong model of the device.
        Fifo = "fifo";
    }
}
