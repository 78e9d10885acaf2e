//! Parameters that boosters with subregions share.

use units::{MIB, Nanos};

use crate::config::HostConfig;

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
    /// Sets what the boosters read.
    pub fn apply(&self, config: &mut HostConfig) {
        let params = &mut config.hpb_params;
        params.activation_thld = self.activation_thld;
        params.normalization_factor = self.normalization_factor as u8;
        params.read_timeout = Nanos::from_millis(self.read_timeout_ms.into());
        params.read_timeout_expiries = self.read_timeout_expiries;
        params.timeout_polling_interval = Nanos::from_millis(self.timeout_polling_interval_ms.into());
        params.inflight_map_req = self.inflight_map_req as u8;
    }
}

params::params! {
    /// Memory that is taken from boot on.
    pub ReservedParams {
        /// Memory that is taken from boot on, used or not (ufshpb_host_map_kbytes); "all" of host.memory_mib.
        reserved_mib: count_or("all" 0 to 65536) = 2, "Linux 6.1, ufshpb: its default";
    }
}

impl ReservedParams {
    /// Sets what the boosters read.
    pub fn apply(&self, config: &mut HostConfig) {
        config.hpb_reserved_bytes = self.reserved_mib.count().map(|mib| u64::from(mib) * MIB);
    }
}
