//! Parameters of `sftl` (Jiang et al., MSST 2011): translation pages cached as a whole, compressed by their runs, and a
//! buffer of single entries.
//!
//! From the paper: the unit of caching and of replacement is the translation page. Consecutive writes give consecutive
//! addresses consecutive places, so a page is kept as its runs, with a bit for each entry that tells whether it begins
//! one. Sparse writes change few entries of many pages; a page that leaves with few changed entries leaves them behind
//! in a small buffer, and entries that come together there are written together.
//!
//! The paper itself was not at hand; these rules are from descriptions of it. What they leave open is decided here: the
//! size of the buffer, and how few entries are few. The buffer also has the entries of writes under way; when a write
//! ends, its entry goes into its page, if that is still cached. The others leave the buffer in order of use, with a
//! write of their page. Room is made for a page as large as on flash, since its runs are known when it has been read. A
//! page that was never written is cached with the first write to it.

use units::UNIT_BYTES;

use super::settings::{DemandParams, Own};

params::params! {
    /// `sftl`: the mapping cache, in SRAM beside the pool.
    pub SftlParams {
        with common: DemandParams;
        /// The part of the cache that is the buffer of single entries, in per cent.
        buffer_percent: count(1 to 90) = 10, "assumed: MSST 2011 calls it small";
        /// Bytes of an entry in the buffer.
        buffered_bytes: count(4 to 16) = 8, "assumed: address and place";
        /// Changed entries that a page may leave behind in the buffer. With more it is written. 0: no page does.
        sparse_entries: count(0 to 1024) = 8, "assumed: MSST 2011 says few";
    }
}

impl Own for SftlParams {
    const NAMES: [&'static str; 2] = ["sftl", "sftl"];

    fn common(&self) -> &DemandParams {
        &self.common
    }

    fn most_entry_bytes(&self) -> u32 {
        self.buffered_bytes
    }

    fn least_bytes(&self, entries: u32, _two_levels: bool) -> u32 {
        let page = UNIT_BYTES as u32;
        let enough = |&bytes: &u32| {
            let for_pages = self.page_bytes(bytes.into()) as u32;
            // A page and its header.
            for_pages >= page + 8 && bytes - for_pages >= entries * self.buffered_bytes
        };
        (1..).map(|pages| pages * page).find(enough).expect("both parts grow with the cache")
    }

    fn page_bytes(&self, cache_bytes: u64) -> u64 {
        cache_bytes / 100 * u64::from(100 - self.buffer_percent)
    }

    fn compressed(&self) -> bool {
        true
    }

    fn sparse_entries(&self) -> usize {
        self.sparse_entries as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smallest_cache_holds_the_entries_and_a_page() {
        for percent in [1, 10, 50, 90] {
            for entries in [1, 64, 5000] {
                let own = SftlParams { buffer_percent: percent, ..SftlParams::default() };
                let fits = |bytes: u64| {
                    let pages = own.page_bytes(bytes);
                    pages >= 4096 + 8 && bytes - pages >= u64::from(entries) * 8
                };
                let least = u64::from(own.least_bytes(entries, true));
                assert!(least.is_multiple_of(4096), "{percent} {entries}: {least} is no whole number of units");
                assert!(fits(least) && !fits(least - 4096), "{percent} {entries}");
            }
        }
    }
}
