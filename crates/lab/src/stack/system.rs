//! Systems: which scheduler, booster and mapping scheme run together. A preset is one line in the list below.

use std::sync::{Mutex, OnceLock};

use ftl::MappingKind;
use host::{BoosterKind, SchedulerKind};
use params::Default as Given;
use thiserror::Error;
use ufs::Protocol;

/// A combination that can run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Parts {
    /// The host's I/O scheduler.
    pub scheduler: SchedulerKind,
    /// The host driver's use of host DRAM.
    pub booster: BoosterKind,
    /// The device's mapping scheme.
    pub mapping: MappingKind,
    /// What the preset gives to parameters of its mapping scheme. Of another mapping scheme it says nothing.
    pub brings: &'static [Brought],
}

/// A value that a preset gives to a parameter of its mapping scheme, unless the profile or the run names one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Brought {
    /// The mapping scheme.
    pub mapping: MappingKind,
    /// The parameter.
    pub key: &'static str,
    /// Its value.
    pub value: Given,
}

/// A named system.
#[derive(Clone, Copy, Debug)]
pub struct Preset {
    /// The name that a user types.
    pub name: &'static str,
    /// What it is, in one line.
    pub summary: &'static str,
    /// Its parts.
    pub parts: Parts,
}

macro_rules! presets {
    (@brings) => { &[] };
    (@brings $brings:ident) => { $brings };
    ($(
        $name:literal = $scheduler:ident + $booster:ident + $mapping:ident $(with $brings:ident)?: $summary:literal;
    )+) => {
        const BUILT_IN: &[Preset] = &[$(Preset {
            name: $name,
            summary: $summary,
            parts: Parts {
                scheduler: SchedulerKind::$scheduler,
                booster: BoosterKind::$booster,
                mapping: MappingKind::of::<schemes::$mapping>(),
                brings: presets!(@brings $($brings)?),
            },
        }),+];
    };
}

presets! {
    "ufs" = Noop + None + SegmentLog:
        "DRAM-less UFS: L2P segments cached in SRAM, new mappings logged and flushed to flash";
    "hpb" = Noop + Hpb + SegmentLog:
        "Host Performance Booster (2017): the host caches L2P entries and sends one with a read";
    "ufs-tuned" = Noop + None + SegmentLog with TUNED:
        "ufs with the fastest map flush found in the same SRAM: overlapping, by address, in parts of segments";
    "hpb-tuned" = Noop + Hpb + SegmentLog with TUNED:
        "hpb with the same map flush";
    "ufs-compressed" = Noop + None + SegmentLog with COMPRESSED:
        "ufs with a compressed table: where the data of a segment lie together, its first level names their place";
    "leaftl" = Noop + None + SegmentLog with LEAFTL:
        "LeaFTL (2023): ufs with learned segments in SRAM in place of its cached L2P segments, rows sorted by address";
    "hpb-linux" = Noop + HpbLinux + SegmentLog:
        "HPB 2.0 as the Linux 6.1 driver does it, with its parameters and counters";
    "foam" = Noop + Foam + SegmentLog:
        "HPB with entries fetched by counts of reads and evicted by FOAM's priorities: UFS+HPB of the HPBvalve paper";
    "hpbvalve" = Noop + Hpbvalve + SegmentLog:
        "HPBvalve (2023): the foreground app's entries first, prefetched at its launch, memory given back before kills";
    "hp-ufs" = Noop + HpUfs + HpUfs:
        "HP-UFS (2024): the host keeps mappings, valid page bitmaps and counts up to date for reads, writes and GC";
    "hpbvalve-hp-ufs" = Noop + HpbvalveHpUfs + HpUfs:
        "HPBvalve's policy on HP-UFS's cache: apps' segments fetched ahead and kept, dirty ones given back last";
    "ideal" = Noop + None + Ideal:
        "A device with DRAM for the whole L2P table and all valid page bitmaps";
    "dftl" = Noop + None + Dftl:
        "DFTL (2009): single L2P entries cached in SRAM by segmented LRU, translation pages on flash";
    "cdftl" = Noop + None + Cdftl:
        "CDFTL (2011): whole translation pages cached in SRAM below the entries of DFTL";
    "tpftl" = Noop + None + Tpftl:
        "TPFTL (2015): DFTL's entries clustered by translation page, with prefetches and clean entries evicted first";
    "sftl" = Noop + None + Sftl:
        "S-FTL (2011): translation pages cached as runs of consecutive places, a buffer for sparse changes";
    "base-dftl" = Noop + None + BaseDftl:
        "Base-DFTL of MSFTL (2020): new mappings flushed every 9 MiB into translation pages as large as a NAND page";
    "mini-page" = Noop + None + MiniPage:
        "Mini-page FTL (2018), as MSFTL has it: the same with translation pages of 4 KiB, several to a NAND page";
    "msftl" = Noop + None + Msftl:
        "MSFTL (2020): the same with mapping segments of 1 or 2 KiB, collected until a NAND page is full";
}

const fn of_segment_log(key: &'static str, value: Given) -> Brought {
    Brought { mapping: MappingKind::of::<schemes::SegmentLog>(), key, value }
}

/// What `ufs-tuned` and `hpb-tuned` bring with them: the best that `make flush-search` has found for either. A test
/// compares it with papers/hp-ufs/flush-search.json.
const TUNED: &[Brought] = &[
    of_segment_log("flush_mode", Given::Word("pipelined")),
    of_segment_log("flush_order", Given::Word("address")),
    of_segment_log("segment_kib", Given::Count(2)),
    of_segment_log("flush_buffers", Given::Count(128)),
];

/// What `ufs-compressed` brings with it.
const COMPRESSED: &[Brought] = &[of_segment_log("first_level", Given::Word("runs"))];

/// What `leaftl` brings with it.
const LEAFTL: &[Brought] =
    &[of_segment_log("cached", Given::Word("learned")), of_segment_log("row_order", Given::Word("address"))];

/// A value that the paper of a booster gives to a parameter of the mapping scheme below it, which other boosters share.
#[derive(Clone, Copy, Debug)]
pub struct OfPaper {
    /// The booster.
    pub booster: BoosterKind,
    /// The mapping scheme.
    pub mapping: MappingKind,
    /// The parameter.
    pub key: &'static str,
    /// Its value, unless the profile or the run names one.
    pub value: Given,
    /// Where the paper says so.
    pub source: &'static str,
}

const fn of_hpb(key: &'static str, value: Given, source: &'static str) -> OfPaper {
    OfPaper { booster: BoosterKind::Hpb, mapping: MappingKind::of::<schemes::SegmentLog>(), key, value, source }
}

/// What boosters bring with them: a scheme is what its paper describes on every device, unless a profile knows better.
pub const OF_PAPERS: &[OfPaper] = &[
    of_hpb("hpb_group_entries", Given::Count(4096), "HPB 2017 Secs. 3.1, 3.2: a group consists of 4096 entries"),
    of_hpb(
        "hpb_entry",
        Given::Word("plain"),
        "HPB 2017 Secs. 3.1, 2.2.5: 4 bytes of L2P entry; the seal is described and not implemented",
    ),
    of_hpb(
        "hpb_tracked_groups",
        Given::Count(64),
        "HPB 2017 Sec. 2.2.4: updated entries are returned in responses; assumed: of 64 groups at a time",
    ),
];

/// A system as a user asks for it: a preset, and parts that replace the preset's.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SystemSpec {
    /// Name of the preset.
    pub scheme: String,
    /// Scheduler instead of the preset's.
    pub scheduler: Option<String>,
    /// Booster instead of the preset's.
    pub booster: Option<String>,
    /// Mapping scheme instead of the preset's.
    pub mapping: Option<String>,
}

/// A system that does not exist.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum SystemError {
    /// A name that nothing has.
    #[error("{field} = \"{value}\": must be one of {allowed}")]
    Unknown {
        /// Which choice.
        field: &'static str,
        /// The name.
        value: String,
        /// The names there are.
        allowed: String,
    },
    /// Parts that do not work together.
    #[error("booster = \"{booster}\" with mapping = \"{mapping}\": {why}")]
    Mismatch {
        /// The booster.
        booster: &'static str,
        /// The mapping scheme.
        mapping: &'static str,
        /// What would be allowed.
        why: String,
    },
}

impl SystemSpec {
    /// The spec of a preset as it is.
    pub fn preset(name: &str) -> SystemSpec {
        SystemSpec { scheme: name.into(), ..SystemSpec::default() }
    }

    /// The system that this asks for.
    ///
    /// # Errors
    /// Unknown names and parts that do not work together.
    pub fn resolve(&self) -> Result<Parts, SystemError> {
        let names: Vec<&str> = schemes().iter().map(|p| p.name).collect();
        let preset = schemes().iter().find(|p| p.name == self.scheme);
        let mut parts = preset.ok_or_else(|| unknown("scheme", &self.scheme, &names))?.parts;
        if let Some(name) = &self.scheduler {
            let found = SchedulerKind::from_name(name);
            parts.scheduler = found.ok_or_else(|| unknown("scheduler", name, SchedulerKind::NAMES))?;
        }
        if let Some(name) = &self.booster {
            let found = BoosterKind::from_name(name);
            parts.booster = found.ok_or_else(|| unknown("booster", name, BoosterKind::NAMES))?;
        }
        if let Some(name) = &self.mapping {
            let found = schemes::named(name);
            parts.mapping = found.ok_or_else(|| unknown("mapping", name, schemes::names()))?;
        }
        parts.check()?;
        Ok(parts)
    }
}

impl Parts {
    /// Refuses parts that do not work together.
    fn check(self) -> Result<(), SystemError> {
        let mismatch =
            |why| Err(SystemError::Mismatch { booster: self.booster.name(), mapping: self.mapping.name(), why });
        let (spoken, understood) = (self.booster.speaks(), self.mapping.speaks());
        if spoken != Protocol::Plain && spoken != understood {
            let mappings = schemes::all().iter().find(|mapping| mapping.speaks() == spoken);
            let name = mappings.expect("a booster speaks what some mapping scheme understands").name();
            return mismatch(format!("this booster needs mapping = \"{name}\""));
        }
        // Without its host nobody takes the changes of such a mapping over.
        if spoken == Protocol::Plain && understood == Protocol::HpUfs {
            let boosters = BoosterKind::ALL.iter().find(|booster| booster.speaks() == understood);
            let name = boosters.expect("what a mapping scheme speaks, some booster understands").name();
            return mismatch(format!("this mapping needs booster = \"{name}\""));
        }
        Ok(())
    }
}

fn unknown(field: &'static str, value: &str, names: &[&str]) -> SystemError {
    SystemError::Unknown { field, value: value.into(), allowed: names.join(", ") }
}

/// What a system is made of, and the names that each part can have, as options of a run name them.
pub fn part_names() -> [(&'static str, &'static [&'static str]); 3] {
    [("scheduler", SchedulerKind::NAMES), ("booster", BoosterKind::NAMES), ("mapping", schemes::names())]
}

static ADDED: Mutex<Vec<Preset>> = Mutex::new(Vec::new());
static ALL: OnceLock<Vec<Preset>> = OnceLock::new();

/// Adds a mapping scheme of another crate, and a preset of its name: this scheme without scheduler and booster.
///
/// # Panics
/// If there is a scheme with its name, or somebody has asked for [`schemes()`] before.
pub fn add_scheme(mapping: MappingKind, summary: &'static str) {
    ::schemes::add(mapping);
    let parts = Parts { scheduler: SchedulerKind::Noop, booster: BoosterKind::None, mapping, brings: &[] };
    ADDED.lock().expect("nobody panics with it").push(Preset { name: mapping.name(), summary, parts });
}

/// The named systems with their one-line summaries, in the order in which reports show them.
pub fn schemes() -> &'static [Preset] {
    ALL.get_or_init(|| {
        let added = ADDED.lock().expect("nobody panics with it");
        BUILT_IN.iter().chain(&*added).copied().collect()
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn spec(scheme: &str, booster: Option<&str>, mapping: Option<&str>) -> SystemSpec {
        let own = |s: &str| s.to_owned();
        SystemSpec { booster: booster.map(own), mapping: mapping.map(own), ..SystemSpec::preset(scheme) }
    }

    #[test]
    fn every_preset_resolves_to_its_parts() {
        for preset in schemes() {
            assert_eq!(SystemSpec::preset(preset.name).resolve(), Ok(preset.parts));
            assert!(!preset.summary.is_empty() && !preset.summary.contains('\n'));
        }
        let names: BTreeSet<&str> = schemes().iter().map(|preset| preset.name).collect();
        assert_eq!(names.len(), schemes().len(), "two presets have the same name");
    }

    #[test]
    fn a_part_can_be_replaced() {
        let parts = spec("hpb", Some("none"), None).resolve().unwrap();
        assert_eq!(parts, SystemSpec::preset("ufs").resolve().unwrap());
        let parts = spec("hpb-tuned", Some("none"), None).resolve().unwrap();
        assert_eq!(parts, SystemSpec::preset("ufs-tuned").resolve().unwrap());
        assert!(spec("ufs", None, Some("ideal")).resolve().is_ok());
    }

    #[test]
    fn unknown_names_say_what_there_is() {
        let told = |spec: SystemSpec| spec.resolve().unwrap_err().to_string();
        let presets: Vec<&str> = schemes().iter().map(|preset| preset.name).collect();
        let scheduler = SystemSpec { scheduler: Some("cfq".into()), ..SystemSpec::preset("ufs") };
        for (spec, what, names) in [
            (SystemSpec::preset("zfs"), "scheme = \"zfs\"", presets.as_slice()),
            (spec("ufs", Some("turbo"), None), "booster = \"turbo\"", BoosterKind::NAMES),
            (spec("ufs", None, Some("fat")), "mapping = \"fat\"", schemes::names()),
            (scheduler, "scheduler = \"cfq\"", SchedulerKind::NAMES),
        ] {
            assert_eq!(told(spec), format!("{what}: must be one of {}", names.join(", ")));
        }
    }

    #[test]
    fn what_presets_bring_is_allowed() {
        for preset in schemes() {
            for brought in preset.parts.brings {
                assert_eq!(brought.mapping, preset.parts.mapping, "{}", preset.name);
                let schemes = crate::profile::schemes();
                let of_scheme = schemes.iter().find(|s| s.name == brought.mapping.name()).expect("a scheme");
                let field = of_scheme.fields.iter().find(|field| field.key == brought.key).expect("a parameter");
                assert!(field.kind.admits(&brought.value.value()), "{}", brought.key);
            }
        }
    }

    #[test]
    fn what_papers_give_is_allowed() {
        for said in OF_PAPERS {
            let name = format!("scheme.{}", said.mapping.name());
            let schemes = crate::profile::schemes();
            let of_scheme = schemes.iter().find(|scheme| format!("scheme.{}", scheme.name) == name).expect("a scheme");
            let field = of_scheme.fields.iter().find(|field| field.key == said.key).expect("a parameter");
            assert!(field.kind.admits(&said.value.value()), "{}", said.key);
            assert!(!field.fixed, "{}: decides where data lies, and a device may have aged under another", said.key);
            assert_ne!(field.default.map(Given::value), Some(said.value.value()), "{} is the default", said.key);
        }
    }

    #[test]
    fn every_registered_part_can_be_asked_for() {
        for &mapping in schemes::all() {
            assert_eq!(schemes::named(mapping.name()), Some(mapping));
            let preset = schemes().iter().find(|preset| preset.parts.mapping == mapping);
            assert!(preset.is_some(), "no preset uses {}", mapping.name());
        }
        for &booster in BoosterKind::ALL {
            let mappings = schemes::all().iter().map(|mapping| mapping.name());
            let works = |name: &str| spec("ufs", Some(booster.name()), Some(name)).resolve().is_ok();
            assert!(mappings.clone().any(works), "{} works with no mapping scheme", booster.name());
        }
    }

    #[test]
    fn partners_cannot_be_parted() {
        for (booster, mapping, told) in [
            ("hp-ufs", "segment-log", "this booster needs mapping = \"hp-ufs\""),
            ("hp-ufs", "ideal", "this booster needs mapping = \"hp-ufs\""),
            ("none", "hp-ufs", "this mapping needs booster = \"hp-ufs\""),
            ("hpb", "hp-ufs", "this booster needs mapping = \"segment-log\""),
            ("hpb", "ideal", "this booster needs mapping = \"segment-log\""),
        ] {
            let error = spec("ufs", Some(booster), Some(mapping)).resolve().unwrap_err().to_string();
            assert_eq!(error, format!("booster = \"{booster}\" with mapping = \"{mapping}\": {told}"));
        }
    }
}
