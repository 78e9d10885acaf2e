//! Counters of the driver. Counters that only a scheduler or a booster has are declared in its own file.

units::counters! {
    /// What the driver has done since it was made, and what every booster reports.
    HostStats
    /// Requests handed in.
    requests: always,
    /// Requests completed.
    completions: always,
    /// User commands sent.
    user_commands: always,
    /// Internal commands sent.
    internal_commands: always,
    /// Largest number of commands in flight.
    tags_peak: gauge always,
    /// Queries of the device's mapping cache.
    sched_polls,
    /// Batches announced to the device.
    sched_notices,
    /// With simulated knowledge of the mapping cache (`lru`): entries in the host's cache, counted every 1000 requests.
    sched_entries_simulated,
    /// Of these, entries that were in the device's cache, too (MAP+ Fig. 8).
    sched_entries_right,
    /// Host DRAM that a scheduler takes for what it knows of the mapping cache, in bytes.
    sched_bytes: gauge,
    /// Parts of reads whose mapping the booster had: with `hp-ufs` per request and segment, with `hpb` per command.
    booster_hits: always,
    /// Parts of reads whose mapping the booster had not.
    booster_misses: always,
    /// DRAM that cached mappings take now, in bytes.
    dram_bytes_used: gauge always,
    /// DRAM that cached mappings may take, in bytes.
    dram_bytes_limit: gauge always,
}
