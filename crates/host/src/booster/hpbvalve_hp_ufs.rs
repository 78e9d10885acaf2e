//! HPBvalve's policy on HP-UFS's cache: segments of the foreground app stay, those of an app that is being launched are
//! fetched ahead, and memory is given back before an app is killed. See `hp_ufs/apps.rs` for what differs from HP-UFS.

/// HP-UFS, which looks at apps if it is registered under this name.
pub(crate) use super::hp_ufs::HpUfs as HpbvalveHpUfs;

use super::profiles::ProfileParams;
use crate::config::HostConfig;

params::params! {
    /// `hpbvalve-hp-ufs`: the reorder buffer, and what is remembered of apps.
    pub Params {
        with hp_ufs: super::hp_ufs::Params;
        with profiles: ProfileParams;
    }
}

pub(crate) use super::hp_ufs::{SPEAKS, smallest_limit};

/// Sets what its parameters say.
pub(crate) fn apply(own: &Params, config: &mut HostConfig) {
    super::hp_ufs::apply(&own.hp_ufs, config);
    own.profiles.apply(config);
}
