//! Parameters that all schemes of this family have.

use units::UNIT_BYTES;

/// Parameters of a scheme of the family: those that all of them have, and its own.
pub trait Own: params::Params + Copy + Default {
    /// Those that all schemes of the family have.
    fn common(&self) -> &DemandParams;

    /// Bytes of SRAM that any single entry takes at most.
    fn most_entry_bytes(&self) -> u32;

    /// Bytes that have to stay free.
    fn spare_bytes(&self) -> u32;
}

params::params! {
    /// The cached mapping table of the family, in SRAM beside the pool.
    pub DemandParams {
        /// Size of the mapping cache. cdftl: half of it, but at least one page, holds translation pages. "unlimited"
        /// holds the whole table.
        cache_kib: count_or("unlimited" 4 to 2097152) = 1088,
            "assumed: as much as sram.segment_cache_kib of hp-ufs.toml, so that dftl and cdftl can be compared with \
            its schemes";
        /// Bytes of an entry; a translation page has 4 KiB.
        entry_bytes: one_of(4 8) = 4, "assumed: as L2P segments, 1024 entries in 4 KiB", fixed;
        /// Entries that are loaded ahead, for a batch or a request, fill at most one of so many parts of the cache.
        ahead_one_in: count(2 to 64) = 4, "assumed: MAP+ sets no limit, but what is needed now has to stay";
        /// After this time without commands changed entries are written back, until a command comes.
        background_us: count_or("never" 0 to 10000000) = 1000,
            "assumed: a pause of several commands is taken for idle time";
    }
}

params::params! {
    /// `dftl` and `cdftl`: single entries by segmented LRU.
    pub CmtParams {
        with common: DemandParams;
        /// Segmented LRU: one of so many entries is protected, so that protected to probationary is 1 to one less. 0 is
        /// plain LRU.
        protected_one_in: count(0 to 1024) = 8, "MAP+ Sec. V-D.1: 1:7";
    }
}

impl DemandParams {
    /// Entries of a translation page.
    pub fn page_entries(&self) -> u32 {
        UNIT_BYTES as u32 / self.entry_bytes
    }

    /// Bytes of the cache. With all of the table or more, nothing is ever evicted.
    pub fn cache_bytes(&self) -> u64 {
        self.cache_kib.count().map_or(u64::MAX, |kib| u64::from(kib) * 1024)
    }
}

impl Own for CmtParams {
    fn common(&self) -> &DemandParams {
        &self.common
    }

    fn most_entry_bytes(&self) -> u32 {
        self.common.entry_bytes
    }

    fn spare_bytes(&self) -> u32 {
        0
    }
}
