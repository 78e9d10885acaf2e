//! The boosters and their names. To add one, write its file in this folder and its line below.

units::kinds! {
    /// The boosters.
    pub BoosterKind, list boosters {
        /// No booster.
        None = "none" in none::NoBooster;
        /// Host performance booster (HPB 2017).
        Hpb = "hpb" in hpb::Hpb;
        /// HPB 2.0 as Linux 6.1 does it.
        HpbLinux = "hpb-linux" in hpb_linux::HpbLinux;
        /// Subregions fetched by counters and evicted by FOAM's priorities.
        Foam = "foam" in foam::Foam;
        /// HPBvalve.
        Hpbvalve = "hpbvalve" in hpbvalve::Hpbvalve;
        /// HP-UFS.
        HpUfs = "hp-ufs" in hp_ufs::HpUfs;
        /// HPBvalve's policy on HP-UFS's cache.
        HpbvalveHpUfs = "hpbvalve-hp-ufs" in hpbvalve_hp_ufs::HpbvalveHpUfs;
    }
}
pub(super) use boosters;
