//! The boosters and their names. To add one, write its file in this folder and its line below.

/// Hands the list of boosters to the macro `$then`. A line: documentation, variant, name, file and type.
macro_rules! boosters {
    ($then:ident) => {
        $then! {
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
    };
}
pub(super) use boosters;

macro_rules! kinds {
    ($($line:tt)+) => {
        units::kinds! {
            /// The boosters.
            BoosterKind { $($line)+ }
        }
    };
}

boosters!(kinds);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lead_back_to_their_boosters() {
        for (&kind, &name) in BoosterKind::ALL.iter().zip(BoosterKind::NAMES) {
            assert_eq!(kind.name(), name);
            assert_eq!(BoosterKind::from_name(name), Some(kind));
        }
        assert_eq!(BoosterKind::from_name("turbo"), None);
    }
}
