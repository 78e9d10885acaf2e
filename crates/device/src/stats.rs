//! What the firmware counts.

/// Counters since power-on, plus sizes. Every field is a plain number so that a report can take differences.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DeviceStats {
    /// Units of user data accepted from the host.
    pub host_units_written: u64,
    /// Units delivered to the host, from flash or SRAM.
    pub host_units_read: u64,
    /// Units read that were unmapped.
    pub unmapped_units_read: u64,
    /// Units served from the write buffer.
    pub buffer_hits: u64,
    /// Units of user data programmed, without padding.
    pub data_units_programmed: u64,
    /// Units copied by GC and wear levelling.
    pub gc_units_programmed: u64,
    /// Units that only filled up a row (flush, FUA, idle).
    pub padding_units: u64,
    /// Metadata units programmed, padding included.
    pub map_units_programmed: u64,
    /// L2P segment writes (units of metadata that carry a segment).
    pub segment_writes: u64,
    /// L2P segment reads from flash for host reads and map flushes.
    pub segment_reads: u64,
    /// Segment reads while searching valid pages.
    pub search_segment_reads: u64,
    /// Lookups served by the log buffer.
    pub log_hits: u64,
    /// Lookups served by a segment in SRAM.
    pub segment_hits: u64,
    /// Lookups that had to read a segment.
    pub segment_misses: u64,
    /// Reads whose host-supplied entry was used.
    pub host_entries_used: u64,
    /// Host-supplied entries that failed the check of their seal (forged, stale or of a changed group).
    pub host_entries_refused: u64,
    /// Host-supplied addresses whose page turned out to hold another address.
    pub host_entries_wrong: u64,
    /// Map flushes.
    pub map_flushes: u64,
    /// GC victims taken, wear levelling included.
    pub gc_victims: u64,
    /// GC steps.
    pub gc_steps: u64,
    /// Victims taken for wear levelling.
    pub wear_victims: u64,
    /// Superblocks erased.
    pub erases: u64,
    /// Entries handed to the host one by one.
    pub entries_piggybacked: u64,
    /// Entries handed over by multi-entry transfers.
    pub entries_transferred: u64,
    /// Segments that the host wrote back with data.
    pub segment_writebacks: u64,
    /// Segments that the host attested as already up to date.
    pub segment_attests: u64,
    /// Times a write waited for a log block to become a normal block.
    pub log_block_stalls: u64,
    /// Largest number of log blocks at once.
    pub max_log_blocks: u64,
    /// Time for which a map flush or GC step kept commands waiting, in nanoseconds.
    pub exclusive_ns: u64,
    /// Bytes of SRAM in the pool and the fixed tables of the mapping scheme.
    pub sram_bytes: u64,
    /// Bytes of DRAM inside the device (`ideal` only).
    pub device_dram_bytes: u64,
    /// Free data superblocks now.
    pub free_superblocks: u64,
    /// Highest erase count of a data superblock.
    pub max_erase_count: u64,
}
