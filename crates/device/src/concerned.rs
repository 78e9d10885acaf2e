//! Which mapping schemes a sabotage concerns.

use crate::mapping::MappingKind;
use crate::mapping::MappingKind::{BaseDftl, Cdftl, Dftl, HpUfs, MiniPage, Msftl, SegmentLog, Sftl, Tpftl};
use crate::sabotage::{Concerns, Sabotage};

impl Sabotage {
    /// True if the promise means something for this scheme, so that tests must notice it when the scheme breaks it.
    pub fn concerns(self, kind: MappingKind) -> bool {
        match self.scope() {
            Concerns::Every => true,
            Concerns::TableOnFlash => kind != MappingKind::Ideal,
            Concerns::Numbered => [SegmentLog, HpUfs, Dftl, Cdftl, Tpftl, Sftl].contains(&kind),
            Concerns::Counted | Concerns::ChangedInFlushes => ![HpUfs, MappingKind::Ideal].contains(&kind),
            Concerns::Parts => [SegmentLog, HpUfs, Msftl].contains(&kind),
            Concerns::TranslationPages => [Dftl, Cdftl, Tpftl, Sftl, BaseDftl, MiniPage, Msftl].contains(&kind),
            Concerns::LongPages => kind == BaseDftl,
            Concerns::HostSegments => kind == HpUfs,
            Concerns::Bitmaps => kind == SegmentLog,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_sabotage_has_a_name_of_its_own_and_concerns_a_scheme() {
        let mut names: Vec<_> = Sabotage::ALL.iter().map(|(name, _)| *name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), Sabotage::ALL.len());
        for &(name, sabotage) in Sabotage::ALL {
            assert_eq!(sabotage.name(), name);
            assert!(MappingKind::ALL.iter().any(|&kind| sabotage.concerns(kind)), "{name} concerns no scheme");
        }
    }
}
