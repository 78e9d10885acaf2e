//! HPBvalve's policy on HP-UFS's cache: segments of the foreground app stay, those of an app that is being launched are
//! prefetched, and memory is given back before an app is killed. See `hp_ufs/apps.rs` for the differences from HP-UFS.

/// HP-UFS; [`attach`] makes it apply the policy.
pub(crate) use super::hp_ufs::HpUfs as HpbvalveHpUfs;

use params::ParamError;
use ufs::DeviceInfo;

use super::profiles::ProfileParams;

params::params! {
    /// `hpbvalve-hp-ufs`: the reorder buffer, and what is remembered of apps.
    pub Params {
        with hp_ufs: super::hp_ufs::Params;
        with profiles: ProfileParams;
    }
}

pub(crate) use super::hp_ufs::{SPEAKS, smallest_limit};

/// Every combination of values is allowed.
pub(crate) fn check(_own: &Params) -> Result<(), ParamError> {
    Ok(())
}

/// A booster for a device that has just been attached. It may use at most `limit` bytes.
pub(crate) fn attach(own: &Params, limit: u64, info: &DeviceInfo) -> HpbvalveHpUfs {
    let mut booster = super::hp_ufs::attach(&own.hp_ufs, limit, info);
    booster.watch_apps(own.profiles.limits());
    booster
}
