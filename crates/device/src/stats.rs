//! What the firmware counts.

units::counters! {
    /// Counters since power-on, plus sizes. Every field is a plain number so that a report can take differences.
    DeviceStats
    /// Units of user data accepted from the host.
    host_units_written: always,
    /// Units delivered to the host, from flash or SRAM.
    host_units_read: always,
    /// Units read that were unmapped.
    unmapped_units_read: always,
    /// Units served from the write buffer.
    buffer_hits: always,
    /// Units of user data programmed, without padding.
    data_units_programmed: always,
    /// Units copied by GC and wear levelling.
    gc_units_programmed: always,
    /// Units that only filled up a row (flush, FUA, idle).
    padding_units: always,
    /// Metadata units programmed, padding included.
    map_units_programmed: always,
    /// L2P segment writes (units of metadata that carry a segment).
    segment_writes: always,
    /// L2P segment reads from flash for host reads and map flushes.
    segment_reads: always,
    /// Segment reads while searching valid pages.
    search_segment_reads: always,
    /// Lookups served by the log buffer.
    log_hits: always,
    /// Lookups served by a segment in SRAM.
    segment_hits: always,
    /// Lookups that had to read a segment.
    segment_misses: always,
    /// Reads whose host-supplied entry was used.
    host_entries_used: always,
    /// Time that the firmware thread spent on seals of entries, made or checked.
    sealing_ns: always,
    /// Host-supplied entries that failed the check of their seal (forged, stale or of a changed group).
    host_entries_refused: always,
    /// Commands dropped because their tag was in use.
    overlapped_commands: always,
    /// Host-supplied addresses whose page turned out to hold another address.
    host_entries_wrong: always,
    /// Map flushes.
    map_flushes: always,
    /// GC victims taken, wear levelling included.
    gc_victims: always,
    /// GC steps.
    gc_steps: always,
    /// Of these, those taken because free superblocks were down to the reserve, where host writes wait.
    gc_urgent_steps: never,
    /// Victims taken for wear levelling.
    wear_victims: always,
    /// Superblocks erased.
    erases: always,
    /// Entries handed to the host one by one.
    entries_piggybacked: always,
    /// Entries handed over by multi-entry transfers.
    entries_transferred: always,
    /// Segments that the host wrote back with data.
    segment_writebacks: always,
    /// Segments that the host attested as already up to date.
    segment_attests: always,
    /// Times a write waited for a log block to become a normal block.
    log_block_stalls: always,
    /// Largest number of log blocks at once.
    max_log_blocks: gauge always,
    /// Time for which a map flush or GC step kept commands waiting, in nanoseconds.
    exclusive_ns: always,
    /// Reads of the firmware's own that failed and were repeated.
    read_retries: always,
    /// Reads for the host that failed.
    read_failures: always,
    /// Programs that failed and were repeated elsewhere.
    program_failures: always,
    /// Erases of superblocks that failed.
    erase_failures: always,
    /// Data superblocks given up after a failed program or erase.
    superblocks_retired: always,
    /// Time that recovery after a power cut took, in nanoseconds.
    recovery_ns: always,
    /// Of this, to find metadata.
    recovery_directory_ns: always,
    /// Of this, to read the spare areas of log blocks.
    recovery_scan_ns: always,
    /// Of this, to read the segments concerned.
    recovery_segment_read_ns: always,
    /// Of this, to change them.
    recovery_update_ns: always,
    /// Of this, to write them.
    recovery_segment_write_ns: always,
    /// Of this, to read all segments for valid page counts.
    recovery_count_ns: always,
    /// Units of log blocks that recovery has read.
    recovery_units_scanned: always,
    /// Segments that recovery has rewritten.
    recovery_segments: always,
    /// Units read whose entry was in the mapping cache of `dftl` or `cdftl`.
    cmt_read_hits,
    /// Units read whose entry had to be loaded.
    cmt_read_misses,
    /// Units written whose entry was in the mapping cache.
    cmt_write_hits,
    /// Units written whose entry was not.
    cmt_write_misses,
    /// Of these, those whose translation page was never written, so that nothing had to be read.
    cmt_unwritten_misses,
    /// Entries, or whole pages, that could not leave the mapping cache before a translation page was written.
    cmt_dirty_evictions,
    /// Translation pages written.
    cmt_page_writes,
    /// Changed entries in them.
    cmt_entries_written,
    /// Translation pages written in idle time.
    cmt_background_flushes,
    /// Flash units that mapping flushes of `base-dftl`, `mini-page` and `msftl` have programmed, padding included. So
    /// are the next three.
    pmt_flush_units,
    /// The same for GC of translation blocks.
    pmt_moved_units,
    /// The same for snapshots of the directory (GTD or MSD).
    pmt_directory_units,
    /// The same for records of log blocks and the journal of trims, which MSFTL does not describe.
    pmt_bookkeeping_units,
    /// Flash reads of mapping flushes.
    pmt_flush_reads,
    /// Translation pages or mapping segments that they have written.
    pmt_pieces_written,
    /// Entries in these.
    pmt_entries_written,
    /// Of these, entries that had changed.
    pmt_entries_changed,
    /// Bytes of the directory of translation pages or mapping segments, at 4 bytes each.
    pmt_directory_bytes: gauge,
    /// Bytes of SRAM in the pool and the fixed tables of the mapping scheme.
    sram_bytes: gauge always,
    /// Bytes of DRAM inside the device (`ideal` only).
    device_dram_bytes: gauge always,
    /// Free data superblocks now.
    free_superblocks: gauge always,
    /// Highest erase count of a data superblock.
    max_erase_count: gauge always,
    /// Lowest erase count of a data superblock.
    min_erase_count: gauge always,
}
