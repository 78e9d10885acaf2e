//! Counters that the driver reports.

units::counters! {
    /// What the driver and its booster have done since they were made, and what they hold now.
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
    /// Requests that a scheduler sent first because their mappings were cached, and those that followed the first of a
    /// batch (MAP+ Table I: prioritised requests).
    sched_prioritised,
    /// Requests that a scheduler sent before one that was visible earlier.
    sched_overtaking,
    /// Batches begun.
    sched_batches,
    /// Requests sent ahead of their turn because they had waited long enough.
    sched_due,
    /// Requests that had to wait for one that overlaps them.
    sched_held,
    /// Queries of the device's mapping cache.
    sched_polls,
    /// Batches announced to the device.
    sched_notices,
    /// With simulated knowledge of the mapping cache (`lru`): entries in the host's cache, counted every 1000 requests.
    sched_entries_simulated,
    /// Of these, entries that were in the device's cache, too (MAP+ Fig. 8).
    sched_entries_right,
    /// Parts of reads whose mapping the booster had: with `hp-ufs` per request and segment, with `hpb` per command.
    booster_hits: always,
    /// Parts of reads whose mapping the booster had not.
    booster_misses: always,
    /// `hp-ufs`: segments of writes and unmaps that were cached or on their way.
    write_hits: always,
    /// `hp-ufs`: segments of writes and unmaps that had to be fetched.
    write_misses: always,
    /// `hp-ufs`: MappedRead commands sent.
    mapped_reads: always,
    /// `hp-ufs`: SegmentRead commands sent.
    segment_reads: always,
    /// `hp-ufs`: SegmentRead commands that failed and were repeated.
    segment_read_failures: always,
    /// `hp-ufs`: SegmentWrite commands with data.
    segment_writebacks: always,
    /// `hp-ufs`: of these, sent to make room.
    segment_writebacks_evict: always,
    /// `hp-ufs`: SegmentWrite commands without data.
    attests: always,
    /// `hp-ufs`: segments dropped from the cache.
    segments_dropped: always,
    /// `hp-ufs`: EntryTransfer commands sent.
    entry_transfers: always,
    /// `hp-ufs`: of these, sent only to tell the device the host sequence number.
    entry_transfers_to_report: always,
    /// `hp-ufs`: of these, sent because nothing had come for a while.
    polls: always,
    /// `hp-ufs`: valid page bitmaps sent.
    bitmaps_sent: always,
    /// `hp-ufs`: of these, refused by the device.
    bitmaps_refused: always,
    /// `hp-ufs`: freed blocks named in commands.
    freed_sent: always,
    /// `hp-ufs`: L2P entries received.
    entries_received: always,
    /// `hp-ufs`: L2P entries that had come before.
    entries_duplicate: always,
    /// `hp-ufs`: changes (4 KiB units) applied to the cached table.
    units_applied: always,
    /// `hp-ufs`: changes discarded by the source check (Sec. III-E).
    units_discarded: always,
    /// `hp-ufs`: times the reorder buffer had to wait for the segment of its first entry.
    reorder_stalls: always,
    /// `hp-ufs`: most entries in the reorder buffer.
    reorder_peak: gauge always,
    /// `hp-ufs`: latest change applied.
    host_seq: gauge always,
    /// `hpb`: HPB READ commands sent.
    hpb_reads: always,
    /// `hpb`: READ BUFFER commands sent.
    hpb_read_buffers: always,
    /// `hpb`: single entries received.
    hpb_entries: always,
    /// `hpb`: dirty group notices received.
    hpb_dirty_notices: always,
    /// `hpb-linux`, `foam`, `hpbvalve`, this and the next by their names in `hpb_stats` of Linux: reads sent with an
    /// entry.
    hit_cnt,
    /// Reads of a supported length sent without.
    miss_cnt,
    /// Recommendations received.
    rcmd_noti_cnt,
    /// Subregions put on the list of those to be fetched, for whatever reason.
    rcmd_active_cnt,
    /// Regions put on the list of those to be dropped.
    rcmd_inactive_cnt,
    /// READ BUFFER commands sent.
    map_req_cnt,
    /// WRITE BUFFER commands sent to drop a region.
    umap_req_cnt,
    /// `foam`, `hpbvalve`: subregions evicted for another one.
    subregions_evicted,
    /// `foam`: subregions dropped because nobody had used them for long.
    subregions_expired,
    /// `foam`, `hpbvalve`: fetches given up because nothing could be evicted.
    subregions_refused,
    /// `hpbvalve`: fetches of what the app in the foreground had missed.
    hpbvalve_miss_fetches,
    /// `hpbvalve`: fetches of an app's launch list.
    hpbvalve_launch_fetches,
    /// `hpbvalve`: fetches of an app's running list.
    hpbvalve_running_fetches,
    /// `hpbvalve`: bytes given back for apps that were about to be killed.
    hpbvalve_reclaimed_bytes,
    /// `hpbvalve`: times when fewer bytes could be given back than were asked for.
    hpbvalve_reclaims_short,
    /// `hpbvalve`: bytes of profile lists now.
    hpbvalve_profile_bytes: gauge,
    /// DRAM that cached mappings take now, in bytes.
    dram_bytes_used: gauge always,
    /// DRAM that cached mappings may take, in bytes.
    dram_bytes_limit: gauge always,
    /// `hp-ufs`: size of the valid page bitmaps, in bytes.
    valid_bitmap_bytes: gauge always,
    /// `hp-ufs`: size of the valid page counts, in bytes.
    valid_count_bytes: gauge always,
    /// `hp-ufs`: size of the reorder buffer, in bytes, at 16 bytes per entry (Sec. IV-A).
    reorder_buffer_bytes: gauge always,
}
