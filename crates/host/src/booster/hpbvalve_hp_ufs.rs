//! HPBvalve's policy on HP-UFS's cache: segments of the foreground app stay, those of an app that is being launched are fetched ahead,
//! and memory is given back before an app is killed. See `hp_ufs/apps.rs` for what differs from HP-UFS.

/// HP-UFS, which looks at apps if it is registered under this name.
pub(crate) use super::hp_ufs::HpUfs as HpbvalveHpUfs;
