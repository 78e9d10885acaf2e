//! Parameters that all schemes of this family have.

use units::UNIT_BYTES;

/// Parameters of a scheme of the family: those that all of them have, and its own.
pub trait Own: params::Params + Copy + Default {
    /// Names of its schemes: that with one level of caching, that with two.
    const NAMES: [&'static str; 2];

    /// Those that all schemes of the family have.
    fn common(&self) -> &DemandParams;

    /// Bytes of SRAM that any single entry takes at most.
    fn most_entry_bytes(&self) -> u32;

    /// Bytes that have to stay free.
    fn spare_bytes(&self) -> u32 {
        0
    }

    /// Entries that are loaded ahead fill at most one of so many parts of the cache. With none, a missed entry brings
    /// no others along.
    fn ahead_one_in(&self) -> Option<u32> {
        None
    }

    /// Of single entries in order of use, one of so many is protected. 0 is plain LRU.
    fn protected_one_in(&self) -> u32 {
        0
    }

    /// Bytes of the smallest cache in which so many entries fit, above one whole translation page if there are such.
    fn least_bytes(&self, entries: u32, two_levels: bool) -> u32 {
        let page = if two_levels { UNIT_BYTES as u32 } else { 0 };
        page + (entries * self.most_entry_bytes() + self.spare_bytes()).next_multiple_of(UNIT_BYTES as u32)
    }

    /// The part of the cache that holds whole translation pages, if it is divided into two levels, of all bytes.
    fn page_bytes(&self, cache_bytes: u64) -> u64 {
        (cache_bytes / 2 / UNIT_BYTES).max(1) * UNIT_BYTES
    }

    /// True if a cached translation page takes no more than its runs of consecutive places need, and serves reads by
    /// itself.
    fn compressed(&self) -> bool {
        false
    }

    /// A translation page with no more changed entries than this leaves them behind, among the single entries.
    fn sparse_entries(&self) -> usize {
        0
    }
}

params::params! {
    /// The cached mapping table of the family, in SRAM beside the pool.
    pub DemandParams {
        /// Size of the mapping cache. cdftl: half of it, but at least one page, holds translation pages. "unlimited"
        /// holds the whole table. With sram.covers = "all" the cache takes at most what other tables leave of
        /// sram.segment_cache_kib.
        cache_kib: count_or("unlimited" 4 to 2097152) = 1088,
            "assumed: as much as sram.segment_cache_kib of hp-ufs.toml, so that dftl and cdftl can be compared with \
            its schemes";
        /// Bytes of an entry; a translation page has 4 KiB.
        entry_bytes: one_of(4 8) = 4, "assumed: as L2P segments, 1024 entries in 4 KiB", fixed;
        /// After this time without commands changed entries are written back, until a command comes.
        background_us: count_or("never" 0 to 10000000) = 1000,
            "assumed: a pause of several commands is taken for idle time";
    }
}

params::params! {
    /// Those that load single entries.
    pub SingleParams {
        with common: DemandParams;
        /// Entries that are loaded ahead, for a batch or a request, fill at most one of so many parts of the cache.
        ahead_one_in: count(2 to 64) = 4, "assumed: MAP+ sets no limit, but what is needed now has to stay";
    }
}

params::params! {
    /// `dftl` and `cdftl`: single entries by segmented LRU.
    pub CmtParams {
        with single: SingleParams;
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
    const NAMES: [&'static str; 2] = ["dftl", "cdftl"];

    fn common(&self) -> &DemandParams {
        &self.single.common
    }

    fn most_entry_bytes(&self) -> u32 {
        self.single.common.entry_bytes
    }

    fn ahead_one_in(&self) -> Option<u32> {
        Some(self.single.ahead_one_in)
    }

    fn protected_one_in(&self) -> u32 {
        self.protected_one_in
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::small;
    use ftl::seat::Mapping;

    /// Entries that are loaded ahead, those that are protected, and those that a page leaves behind.
    #[test]
    fn each_scheme_has_the_rules_of_its_profile_and_no_others() {
        fn rules(own: &impl Own) -> (Option<u32>, u32, usize) {
            (own.ahead_one_in(), own.protected_one_in(), own.sparse_entries())
        }
        fn rules_of<M: Mapping>() -> (Option<u32>, u32, usize)
        where
            M::Params: Own,
        {
            rules(&small::with::<M>(&[("ahead_one_in", 5), ("protected_one_in", 3), ("sparse_entries", 7)]))
        }
        assert_eq!((rules_of::<crate::Dftl>(), rules_of::<crate::Cdftl>()), ((Some(5), 3, 0), (Some(5), 3, 0)));
        assert_eq!((rules_of::<crate::Tpftl>(), rules_of::<crate::Sftl>()), ((Some(5), 0, 0), (None, 0, 7)));
    }
}
