//! Amounts that a profile says as shares: GC's thresholds, over-provisioning, usable capacity.

use params::{Kind, ParamError, Share, Table, Value};
use units::{MIB, UNIT_BYTES};

use super::names::{fields_of, split, table_for, tables_in};
use super::schema::Values;

/// MiB that a segment maps; capacities are multiples of it.
const SEGMENT_MIB: f64 = 4.0;
/// Smaller than any remainder of a share that somebody can write; rounding errors are smaller still.
const ROUNDING: f64 = 1e-6;

/// A share that stands for a count.
struct Said {
    name: String,
    value: Value,
    share: Share,
    range: (u32, u32),
}

/// The shares that a profile names.
pub(super) struct Shares(Vec<Said>);

impl Shares {
    /// Takes the shares out of a profile's tables. The smallest count stands in the place of each, until
    /// [`Shares::settle`] knows the wholes.
    pub fn take(root: &mut Table) -> Result<Shares, String> {
        let mut all = Vec::new();
        for (section, table) in tables_in(root)? {
            for field in fields_of(&section).unwrap_or_default() {
                let Kind::Amount { min, max, .. } = field.kind else { continue };
                let Some(value) = table.get(field.key) else { continue };
                let Some(share) = Share::of(value) else { continue };
                let name = format!("{section}.{}", field.key);
                all.push(Said { name, value: value.clone(), share, range: (min, max) });
            }
        }
        for said in &all {
            let (section, key) = split(&said.name);
            table_for(root, section).insert(key.into(), said.range.0.into());
        }
        Ok(Shares(all))
    }

    /// Puts the count of each share in its place.
    pub fn settle(&self, values: &mut Values) -> Result<(), ParamError> {
        let superblock = |values: &Values| f64::from(values.geometry().superblock_units());
        if let Some(capacity) = self.of("device.capacity_mib") {
            if let Some(superblocks) = self.of("nand.data_superblocks") {
                let other = format!("a count, as nand.data_superblocks = {} is a share of it", superblocks.value);
                return Err(capacity.must_be(other));
            }
            let raw = f64::from(values.nand.geometry.data_superblocks) * superblock(values) * UNIT_BYTES as f64;
            let segments = capacity.share.part(raw) / (SEGMENT_MIB * MIB as f64);
            values.device.capacity_mib = capacity.count((segments + ROUNDING).floor() * SEGMENT_MIB)?;
        }
        if let Some(more) = self.of("nand.data_superblocks") {
            let usable = f64::from(values.device.capacity_mib) * (MIB / UNIT_BYTES) as f64;
            let superblocks = (usable + more.share.part(usable)) / superblock(values);
            values.nand.geometry.data_superblocks = more.count((superblocks - ROUNDING).ceil())?;
        }
        let superblocks = f64::from(values.nand.geometry.data_superblocks);
        let gc = &mut values.gc;
        for (name, threshold) in [
            ("gc.start_superblocks", &mut gc.start_superblocks),
            ("gc.relaxed_superblocks", &mut gc.relaxed_superblocks),
            ("gc.hurried_superblocks", &mut gc.hurried_superblocks),
            ("gc.reserve_superblocks", &mut gc.reserve_superblocks),
            ("gc.idle_superblocks", &mut gc.idle_superblocks),
        ] {
            if let Some(said) = self.of(name) {
                *threshold = said.count(said.share.part(superblocks).round())?;
            }
        }
        Ok(())
    }

    fn of(&self, name: &str) -> Option<&Said> {
        self.0.iter().find(|said| said.name == name)
    }
}

impl Said {
    /// The count that the share stands for.
    fn count(&self, count: f64) -> Result<u32, ParamError> {
        let (min, max) = self.range;
        if !(f64::from(min)..=f64::from(max)).contains(&count) {
            return Err(self.must_be(format!("{min}..={max}, and this share is {count}")));
        }
        Ok(count as u32)
    }

    fn must_be(&self, allowed: String) -> ParamError {
        let (section, key) = split(&self.name);
        ParamError::must_be(section, key, &self.value, allowed)
    }
}

#[cfg(test)]
mod tests {
    use crate::profile::{Profile, parse_override};

    /// `hp-ufs` with these values, or what is wrong with them.
    fn with(set: &[&str]) -> Result<Profile, String> {
        let set: Vec<_> = set.iter().map(|text| parse_override(text).unwrap()).collect();
        Profile::load("hp-ufs", &set).map_err(|error| error.problem)
    }

    #[test]
    fn a_mark_for_idle_time_is_a_share_too_and_has_to_lie_above_the_start() {
        let idle = |mark: &str| with(&["gc.idle_after_ms=5", &format!("gc.idle_superblocks={mark}")]);
        assert_eq!(idle("50 %").unwrap().values.gc.idle_superblocks, 4736);
        let low = idle("1 %").unwrap_err();
        assert!(low.starts_with("gc.idle_superblocks = 95: must be 2400 to 9471 with gc.idle_after_ms"), "{low}");
        let beside = with(&["gc.runs=beside"]).unwrap_err();
        assert_eq!(beside, "gc.runs = \"beside\": must be \"alone\", or \"beside\" with gc.pace = \"gained\"");
    }

    #[test]
    fn thresholds_are_rounded_shares_of_the_superblocks_for_data() {
        let counted = with(&[]).unwrap();
        let all = f64::from(counted.geometry().data_superblocks);
        let gc = with(&["gc.start_superblocks=20 %", "gc.relaxed_superblocks = '12.5%'"]).unwrap().values.gc;
        let share = |percent: f64| (all * percent / 100.0).round() as u32;
        assert_eq!((gc.start_superblocks, gc.relaxed_superblocks), (share(20.0), share(12.5)));
        assert_eq!(gc.reserve_superblocks, counted.values.gc.reserve_superblocks, "a count stays one");
    }

    /// The ratio as the facts of a profile have it.
    #[test]
    fn over_provisioning_is_a_share_of_the_capacity() {
        let profile = with(&["nand.data_superblocks=15 %"]).unwrap();
        let units = f64::from(profile.capacity_units());
        let more = |superblocks: u32| f64::from(superblocks * profile.geometry().superblock_units()) / units - 1.0;
        let superblocks = profile.geometry().data_superblocks;
        assert!(more(superblocks) >= 0.15 && more(superblocks - 1) < 0.15, "{superblocks}");
    }

    #[test]
    fn usable_capacity_is_a_share_of_the_flash_in_whole_segments() {
        let profile = with(&["device.capacity_mib=80 %"]).unwrap();
        let g = profile.geometry();
        let (mib, segment) = (profile.values.device.capacity_mib, 4);
        let most = f64::from(g.data_superblocks) * f64::from(g.superblock_units()) / 256.0 * 0.8;
        assert!(mib % segment == 0 && f64::from(mib) <= most && f64::from(mib + segment) > most, "{mib} of {most}");
        let same = with(&[&format!("device.capacity_mib={mib}")]).unwrap();
        assert_eq!(profile.values, same.values, "a share is as good as its count");
    }

    #[test]
    fn what_cannot_be_a_share_is_refused() {
        let told = |set: &[&str]| with(set).unwrap_err();
        assert_eq!(
            told(&["device.capacity_mib=90 %", "nand.data_superblocks=10 %"]),
            "device.capacity_mib = \"90 %\": must be a count, as nand.data_superblocks = \"10 %\" is a share of it"
        );
        let allowed = "must be 4..=1048576, or a share of nand.data_superblocks such as \"5 %\"";
        for nonsense in ["0 %", "101 %", "-5 %", "x %", "much"] {
            let set = format!("gc.start_superblocks={nonsense}");
            assert_eq!(told(&[&set]), format!("gc.start_superblocks = \"{nonsense}\": {allowed}"));
        }
        let small = told(&["gc.start_superblocks=0.0001 %"]);
        assert_eq!(small, "gc.start_superblocks = \"0.0001 %\": must be 4..=1048576, and this share is 0");
        assert!(told(&["gc.start_superblocks=100 %"]).contains("must be below nand.data_superblocks"));
        assert!(told(&["nand.data_superblocks=1 %"]).contains("must be at least"), "less than every device needs");
        assert!(told(&["sram.reserve_kib=5 %"]).contains("must be 4..=65536, an integer"));
    }
}
