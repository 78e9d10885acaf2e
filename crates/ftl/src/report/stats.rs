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
    /// Units of FUA writes that could not pass the write buffer, because older data of their address waited there.
    fua_units_in_turn,
    /// Units of user data programmed, without padding.
    data_units_programmed: always,
    /// Of these, units in superblocks of hot data.
    hot_units_programmed,
    /// Units copied by GC and wear levelling.
    gc_units_programmed: always,
    /// Of these, units in superblocks of hot data.
    hot_units_copied,
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
    /// GC steps in idle time, for which no write paid.
    gc_idle_steps,
    /// GC steps during which commands went on.
    gc_beside_steps,
    /// Units of user data programmed in SLC mode; they are among `data_units_programmed`.
    slc_units_programmed,
    /// Victims that were superblocks in SLC mode.
    slc_victims,
    /// Data superblocks in SLC mode now.
    slc_superblocks: gauge,
    /// Victims taken for wear levelling.
    wear_victims: always,
    /// Victims taken because one of their blocks had been read too often.
    refresh_victims,
    /// Superblocks erased.
    erases: always,
    /// Entries handed to the host one by one.
    entries_piggybacked: always,
    /// Entries handed over by multi-entry transfers.
    entries_transferred: always,
    /// Time for which a map flush, GC of data or metadata, or recovery kept commands waiting, in nanoseconds.
    exclusive_ns: always,
    /// Time that map flushes kept commands waiting, their waits for programs included, in nanoseconds. None if they run
    /// beside commands.
    map_flush_ns: never,
    /// Time that valid page searches took, in nanoseconds.
    search_ns: never,
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
    /// Bytes of SRAM in the pool and in tables.
    sram_bytes: gauge always,
    /// Of these, in tables: log buffer, directory of the metadata, superblocks, those of the mapping scheme.
    sram_table_bytes: gauge never,
    /// Bytes of DRAM inside the device (`ideal` only).
    device_dram_bytes: gauge always,
    /// Free data superblocks now.
    free_superblocks: gauge always,
    /// Highest erase count of a data superblock.
    max_erase_count: gauge always,
    /// Lowest erase count of a data superblock.
    min_erase_count: gauge always,
}
