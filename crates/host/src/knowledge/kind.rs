//! How a host may know what the device's mapping cache holds, by name.

units::kinds! {
    /// How the host knows what the device's mapping cache holds.
    CacheKnowledge {
        /// The caller of the driver tells ([`Driver::next_command_seeing`](crate::Driver::next_command_seeing)), always
        /// exactly.
        Full = "full";
        /// The driver asks the device now and then.
        Poll = "poll";
        /// The driver simulates the cache.
        Lru = "lru";
    }
}
