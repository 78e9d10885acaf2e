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
    }
}
