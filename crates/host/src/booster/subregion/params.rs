//! Parameters that boosters with subregions share.

use params::CountOr;
use units::{MIB, Nanos};

use super::cache::Setup;

params::params! {
    /// When subregions are fetched and dropped: parameters of the Linux driver, by their names in sysfs (`hpb_params`).
    pub SubregionParams {
        /// Reads of a subregion after which it is fetched.
        activation_thld: count(1 to 65535) = 8, "Linux 6.1, ufshpb: its default";
        /// When a region has more reads than a subregion has entries, all counts are divided by 2 to the power of this.
        normalization_factor: count(1 to 16) = 1, "Linux 6.1, ufshpb: its default";
        /// Time without reads that counts as one expiry.
        read_timeout_ms: count(1 to 1000000) = 1000, "Linux 6.1, ufshpb: its default";
        /// Expiries after which entries are dropped.
        read_timeout_expiries: count(1 to 1000000) = 100, "Linux 6.1, ufshpb: its default";
        /// Time between two looks at the timeouts.
        timeout_polling_interval_ms: count(1 to 1000000) = 200, "Linux 6.1, ufshpb: its default";
        /// Fetches under way at a time.
        inflight_map_req: count(1 to 32) = 1, "Linux 6.1, ufshpb: its default";
    }
}

impl SubregionParams {
    /// Time without reads that counts as one expiry.
    pub fn read_timeout(&self) -> Nanos {
        Nanos::from_millis(self.read_timeout_ms.into())
    }

    /// Settings of the cache.
    pub(crate) fn setup(&self, memory: &MemoryParams) -> Setup {
        Setup {
            fetches_at_a_time: self.inflight_map_req,
            reserved_bytes: memory.reserved_bytes(),
            shrinks: memory.shrinks,
            polling_interval: Nanos::from_millis(self.timeout_polling_interval_ms.into()),
        }
    }
}

params::params! {
    /// Memory that is taken from boot on, or given back.
    pub MemoryParams {
        /// Memory that is taken from boot on, used or not (ufshpb_host_map_kbytes); "all" of host.memory_mib.
        reserved_mib: count_or("all" 0 to 65536) = 2, "Linux 6.1, ufshpb: its default";
        /// Subregions are dropped while a phone is short of memory.
        shrinks: switch = false,
            "Linux 6.1, ufshpb: no shrinker; HPBvalve Sec. 4.4: the HPB size is adjusted by a timer alone";
    }
}

impl MemoryParams {
    /// Nothing is taken from boot on, and nothing is given back.
    pub(crate) const NONE: MemoryParams = MemoryParams { reserved_mib: CountOr::Count(0), shrinks: false };

    /// Bytes that are taken from boot on; `None` for all that is allowed.
    pub fn reserved_bytes(&self) -> Option<u64> {
        self.reserved_mib.count().map(|mib| u64::from(mib) * MIB)
    }
}
