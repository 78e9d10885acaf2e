//! The ageing run: under which conditions a device is aged, whatever is asked of it afterwards.
//!
//! # Definition
//! What a device has been through does not hang on what it is asked today. So a device ages under the conditions of its
//! profile's file: with the times of its flash, firmware thread and link, its driver and host memory, scheduler `noop`,
//! and the host part of the first preset with its mapping scheme (no booster, but for mapping schemes that need one). A
//! run may replace all of these for itself. What a run replaces of the rest, shape, SRAM, log, garbage collection, wear
//! levelling, faults and parameters of the mapping scheme, holds while it ages, too. So does what its preset brings.
//!
//! Times and the order of commands do decide which page lies where. They are the same for every state that bears one
//! name, because the ageing run takes them from nowhere else.
//!
//! A machine that stays on (`stay_on`) has no such state: it ages as the run has it (`engine::LeftOn`).

pub mod aged;
pub(crate) mod job;
pub(crate) mod words;

use std::collections::BTreeMap;

use host::BoosterKind;
use params::Default as Given;
use serde_json::Value;

use self::aged::{Header, plain};
use crate::error::LabError;
use crate::options::Spec;
use crate::options::spec::Machine;
use crate::profile::{Section, schemes, sections};
use crate::stack::system::{Parts, schemes as presets};

/// How the names of parameters begin that say what is published to an HPB host. No such host is there while a device
/// ages: the first preset with its mapping scheme has no booster.
const PUBLISHED: &str = "hpb_";

/// Sections of a profile that a device ages without: only what is declared as deciding the layout is taken from a run.
const CONDITIONS: [&str; 8] = ["nand", "write_path", "link", "power", "energy", "host", "host_time", "what_if"];

/// The specification of the ageing run of `spec`, and its machine. Runs that differ only in conditions share it.
///
/// # Errors
/// Everything that is wrong with the machine of `spec`.
pub(crate) fn ageing(spec: &Spec) -> Result<(Spec, Machine), LabError> {
    let Machine { parts, profile } = spec.resolve()?;
    // What a preset brings with it is taken as if the run replaced it.
    let own = |key: &str| format!("scheme.{}.{key}", parts.mapping.name());
    let plain = |value: Given| serde_json::to_value(value.value()).expect("a word, a number or a switch");
    let brought = profile.brought(parts).map(|(key, value)| (own(key), plain(value)));
    let replaced = spec.set.iter().map(|(name, value)| (name.clone(), value.clone()));
    let common = Spec {
        scheme: ager(parts).into(),
        set: brought.chain(replaced).filter_map(|(name, value)| Some((taken(&name, parts)?, value))).collect(),
        ..asked(spec)
    };
    if let Ok(machine) = common.resolve() {
        return Ok((common, machine));
    }
    // What was replaced holds only together with a condition, such as a larger log with a larger reorder buffer.
    let own = Spec {
        scheme: spec.scheme.clone(),
        scheduler: spec.scheduler.clone(),
        booster: spec.booster.clone(),
        mapping: spec.mapping.clone(),
        set: spec.set.clone(),
        host_memory_mib: spec.host_memory_mib.clone(),
        ..asked(spec)
    };
    let machine = own.resolve()?;
    Ok((own, machine))
}

/// Refuses what has no effect on a device that ages.
///
/// # Errors
/// Names the first replaced value that is a condition.
pub fn check_ageing(spec: &Spec) -> Result<(), LabError> {
    let (used, machine) = ageing(spec)?;
    let condition = spec.set.iter().find(|(name, _)| {
        let name = taken(name, machine.parts);
        name.is_none_or(|name| !used.set.contains_key(&name))
    });
    match condition {
        Some((name, value)) => Err(LabError::Config(format!(
            "set: {name} = {value}: has no effect on ageing, which takes place under the profile's own conditions; \
             must be left out here and given to the run"
        ))),
        None => Ok(()),
    }
}

/// What the runs of one state have in common, but for the machine.
fn asked(spec: &Spec) -> Spec {
    Spec { profile: spec.profile.clone(), seed: spec.seed, age: spec.age.clone(), ..Spec::default() }
}

/// The preset that ages devices of this mapping scheme.
fn ager(parts: Parts) -> &'static str {
    let of_mapping = presets().iter().find(|preset| preset.parts.mapping == parts.mapping);
    of_mapping.expect("every mapping scheme has a preset").name
}

/// The name under which a replaced value is taken into the ageing run, if it is.
fn taken(name: &str, parts: Parts) -> Option<String> {
    let (section, key) = name.rsplit_once('.')?;
    let own = format!("scheme.{}", parts.mapping.name());
    match section {
        "scheme.*" => own_keys(parts).any(|known| known == key).then(|| format!("{own}.{key}")),
        section => decides(section, key, parts).then(|| name.to_owned()),
    }
}

/// True if a device ages with what a run puts in place of this key of the profile.
fn decides(section: &str, key: &str, parts: Parts) -> bool {
    match section.strip_prefix("scheme.") {
        Some(scheme) => scheme == parts.mapping.name() && !key.starts_with(PUBLISHED),
        None if CONDITIONS.contains(&section) => fixed_in_sections(section, key),
        None => section != "device" && (section, key) != ("firmware", "command_ns") || fixed_in_sections(section, key),
    }
}

/// Keys of the mapping scheme's table.
fn own_keys(parts: Parts) -> impl Iterator<Item = &'static str> {
    let own = schemes().into_iter().filter(move |scheme| scheme.name == parts.mapping.name());
    own.flat_map(|scheme| scheme.fields).map(|field| field.key).filter(|key| !key.starts_with(PUBLISHED))
}

fn fixed_in_sections(section: &str, key: &str) -> bool {
    let fixed = |s: Section| s.fields.iter().any(|field| field.key == key && field.fixed);
    sections().into_iter().find(|s| s.name == section).is_some_and(fixed)
}

/// Values that tell states apart, by name: all that an ageing run has to do with, conditions of the profile included.
pub(crate) fn telling(values: &Value, mapping: &str) -> BTreeMap<String, Value> {
    let own = schemes().into_iter().filter(|scheme| scheme.name == mapping);
    let own = own.map(|scheme| Section { name: format!("scheme.{}", scheme.name), ..scheme });
    let mut telling = BTreeMap::new();
    for section in sections().into_iter().chain(own) {
        let table = section.name.split('.').fold(values, |table, name| &table[name]);
        for field in section.fields.iter().filter(|field| !matches!(field.key, "name" | "summary")) {
            telling.insert(format!("{}.{}", section.name, field.key), table[field.key].clone());
        }
    }
    telling
}

/// The conditions under which a state was made, where they differ from those of the run that begins with it.
pub(crate) fn aged_with(state: &Header, spec: &Spec, machine: &Machine) -> BTreeMap<String, String> {
    let Machine { parts, profile } = machine;
    let unheard = state.booster == BoosterKind::None.name();
    let (then, now) = (telling(&state.values, &state.mapping), telling(&plain(profile), &state.mapping));
    let mut differing: BTreeMap<String, String> = then
        .into_iter()
        .filter(|(name, value)| now[name] != *value && !(unheard && name.contains(&format!(".{PUBLISHED}"))))
        .map(|(name, value)| (name, value.to_string()))
        .collect();
    for (name, then, now) in [
        ("scheduler", &*state.scheduler, parts.scheduler.name()),
        ("booster", &*state.booster, parts.booster.name()),
        ("seed", &*state.seed.to_string(), &*spec.seed.to_string()),
    ] {
        if then != now {
            differing.insert(name.into(), then.into());
        }
    }
    differing
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(scheme: &str) -> Spec {
        Spec { profile: "tiny".into(), age: Some("rw=randwrite size=1m".into()), ..Spec::new(scheme, "") }
    }

    fn with(scheme: &str, key: &str, value: impl Into<Value>) -> Spec {
        Spec { set: [(key.to_owned(), value.into())].into(), ..spec(scheme) }
    }

    fn ages(spec: &Spec) -> Spec {
        ageing(spec).expect("a machine").0
    }

    #[test]
    fn keys_that_are_conditions_are_these() {
        let parts = spec("ufs").resolve().unwrap().parts;
        let conditions: Vec<String> = sections()
            .iter()
            .flat_map(|section| {
                let conditions = section.fields.iter().filter(|field| !decides(&section.name, field.key, parts));
                conditions.map(|field| format!("{}.{}", section.name, field.key)).collect::<Vec<_>>()
            })
            .collect();
        // A new key has to be thought about: does a run that replaces it speak of the device's past as well?
        assert_eq!(conditions, include_str!("conditions.txt").lines().collect::<Vec<_>>());
    }

    #[test]
    fn conditions_of_a_run_are_not_those_of_ageing() {
        let plain = ages(&spec("ufs"));
        assert_eq!((plain.scheme.as_str(), plain.set.len()), ("ufs", 0));
        for other in [
            with("ufs", "nand.tlc_program_us", 2000),
            with("ufs", "what_if.free", "gc"),
            with("ufs", "scheme.hpb.eager", true),
            with("hpb", "scheme.segment-log.hpb_group_entries", 1024),
            with("hpb", "scheme.*.hpb_entry", "sealed"),
            with("hpb", "host.tags", 16),
            Spec { host_memory_mib: Some(7.into()), scheduler: Some("row".into()), ..spec("ufs") },
            Spec { replay: Some("closed".into()), depth: Some(3), precondition: "none".into(), ..spec("foam") },
            Spec { booster: Some("hpb".into()), workload: "elsewhere".into(), ..spec("ufs") },
        ] {
            assert_eq!(ages(&other), plain, "{other:?}");
        }
        assert_eq!(ages(&spec("hpbvalve-hp-ufs")), ages(&spec("hp-ufs")));
    }

    #[test]
    fn what_decides_the_layout_stays() {
        for (key, value) in [("sram.pool_kib", 1024), ("gc.units_per_step", 64), ("faults.read_per_million", 5)] {
            assert_eq!(ages(&with("ufs", key, value)).set.len(), 1, "{key}");
        }
        let parts = ages(&with("hp-ufs", "scheme.*.segment_kib", 1)).set;
        assert_eq!(parts, [("scheme.hp-ufs.segment_kib".to_owned(), 1.into())].into());
        assert!(ages(&with("ideal", "scheme.*.segment_kib", 1)).set.is_empty());
    }

    #[test]
    fn what_holds_only_together_stays_together() {
        // Only the run's booster has room for such a log.
        let mut both = with("hpbvalve-hp-ufs", "log.entries", 300);
        both.set.insert("scheme.hpbvalve-hp-ufs.reorder_entries".into(), 512.into());
        assert_eq!((ages(&both).scheme.as_str(), ages(&both).set.len()), ("hpbvalve-hp-ufs", 2));
    }

    #[test]
    fn values_without_effect_are_refused_by_name() {
        let told = check_ageing(&with("ufs", "nand.tlc_read_us", 9)).unwrap_err().to_string();
        assert!(told.starts_with("set: nand.tlc_read_us = 9: has no effect on ageing"), "{told}");
        assert!(check_ageing(&with("ufs", "sram.pool_kib", 1024)).is_ok());
    }
}
