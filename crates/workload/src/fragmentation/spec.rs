//! The description of a fragmentation loop, as TOML.

use params::{ParamError, Table};
use units::UNIT_BYTES;

use crate::described::{DescriptionError, read_table};
use crate::generated::SEGMENT_UNITS;

params::params! {
    /// A fragmentation loop. The defaults are those of "Unleashing Zoned UFS" (FAST 2026).
    pub (clone) FragmentationSpec {
        /// Rounds.
        rounds: count(1 to 100_000) = 90, "FAST 2026: what is compared is measured then";
        /// Small files of a round.
        files: count(1 to 16_777_216) = 32_768, "FAST 2026";
        /// Size of each, a multiple of 4.
        file_kib: count(4 to 1_048_576) = 128, "FAST 2026";
        /// Size of the large file.
        large_mib: count(1 to 1_048_576) = 1024, "FAST 2026: 1 GB";
        /// Large files stay, too. Otherwise each is deleted before the next is written.
        keep_large: switch = true, "assumed: only then 90 rounds use up the free segments of 512 GB";
        /// Largest request, a multiple of 4.
        request_kib: count(4 to 1024) = 512, "FAST 2026: its sequential requests";
        /// Requests outstanding.
        depth: count(1 to 1024) = 32, "assumed: the commands that a UFS device takes";
        /// What is deleted is discarded on the device at once.
        discard: switch = true, "Android mounts F2FS with discard; F2FS itself waits for idle time";
        /// Size of the volume, from the start of the device on.
        volume_mib: count_or("device" 16 to 1_048_576) = "device", "FAST 2026: all of it";
        /// Holes are filled while fewer segments are free.
        least_free_segments: count(1 to 1_048_576) = 256, "assumed";
    }
}

impl FragmentationSpec {
    /// The name of its table.
    pub const TABLE: &'static str = "fragmentation";

    /// Reads a description; `origin` names it in errors.
    ///
    /// ```
    /// use ufsim_workload::FragmentationSpec;
    /// let spec = FragmentationSpec::parse("[fragmentation]\nrounds = 3", "a.toml").unwrap();
    /// assert_eq!((spec.rounds, spec.files), (3, 32_768));
    /// let error = FragmentationSpec::parse("[fragmentation]\nfile_kib = 6", "a.toml").unwrap_err();
    /// assert_eq!(error.to_string(), "a.toml: fragmentation.file_kib = 6: must be a multiple of 4");
    /// ```
    ///
    /// # Errors
    /// Text that does not parse, unknown keys, and values that are not allowed.
    pub fn parse(text: &str, origin: &str) -> Result<FragmentationSpec, DescriptionError> {
        let (spec, _): (FragmentationSpec, Table) = read_table(text, origin, FragmentationSpec::TABLE)?;
        for (key, kib) in [("file_kib", spec.file_kib), ("request_kib", spec.request_kib)] {
            if !kib.is_multiple_of(4) {
                let wrong = ParamError::must_be(FragmentationSpec::TABLE, key, &kib.into(), "a multiple of 4");
                return Err(DescriptionError::of(origin, &wrong));
            }
        }
        Ok(spec)
    }

    /// Segments of the volume on a device of so many units; `Err` tells what is allowed.
    pub(super) fn segments(&self, capacity_units: u32) -> Result<u32, String> {
        let most = u64::from(capacity_units) * UNIT_BYTES / units::MIB;
        let segments = match self.volume_mib.count() {
            None => capacity_units / SEGMENT_UNITS,
            Some(mib) if u64::from(mib) <= most => mib / 2,
            Some(mib) => {
                return Err(format!("fragmentation.volume_mib = {mib}: must be 16..={most}, the size of the device"));
            }
        };
        let room = u64::from(segments) * u64::from(SEGMENT_UNITS);
        if self.most_units() > room {
            let wanted = (self.most_units() * UNIT_BYTES).div_ceil(units::MIB);
            let told = format!("fragmentation.rounds = {}: the files take {wanted} MiB", self.rounds);
            return Err(format!("{told}, the volume has {}", room * UNIT_BYTES / units::MIB));
        }
        Ok(segments)
    }

    /// Most units that files take at any time: when the small files of the last round are there, or its large file and
    /// half of them.
    fn most_units(&self) -> u64 {
        let small = u64::from(self.files) * u64::from(self.file_kib / 4);
        let stays = u64::from(self.files.div_ceil(2)) * u64::from(self.file_kib / 4);
        let large = u64::from(self.large_mib) * (units::MIB / UNIT_BYTES);
        let before = u64::from(self.rounds - 1);
        let large_before = if self.keep_large { large * before } else { large * before.min(1) };
        let large_after = if self.keep_large { large * (before + 1) } else { large };
        stays * before + (small + large_before).max(stays + large_after)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_job_file_is_the_default() {
        let text = include_str!("../../../../jobs/fragmentation.toml");
        assert_eq!(FragmentationSpec::parse(text, "jobs"), Ok(FragmentationSpec::default()));
    }

    #[test]
    fn wrong_values_are_named_with_what_is_allowed() {
        let parse = |lines: &str| FragmentationSpec::parse(&format!("[fragmentation]\n{lines}"), "x.toml");
        let told = |lines: &str| parse(lines).unwrap_err().to_string();
        assert_eq!(told("rounds = 0"), "x.toml: fragmentation.rounds = 0: must be 1..=100000");
        assert_eq!(told("request_kib = 7"), "x.toml: fragmentation.request_kib = 7: must be a multiple of 4");
        assert!(told("round = 1").starts_with("x.toml: fragmentation.round = 1: unknown key, must be one of rounds, "));
        let refused = |lines: &str| parse(lines).unwrap().segments(1 << 14).unwrap_err();
        assert_eq!(
            refused("volume_mib = 65"),
            "fragmentation.volume_mib = 65: must be 16..=64, the size of the device"
        );
        let small = "files = 64\nlarge_mib = 16\nkeep_large = false\n";
        assert_eq!(
            refused(&format!("{small}rounds = 12")),
            "fragmentation.rounds = 12: the files take 68 MiB, the volume has 64"
        );
        assert_eq!(parse(&format!("{small}rounds = 11")).unwrap().segments(1 << 14), Ok(32));
        let told = refused("files = 64\nlarge_mib = 16\nrounds = 4");
        assert_eq!(told, "fragmentation.rounds = 4: the files take 80 MiB, the volume has 64");
    }
}
