//! Device profiles: TOML to configuration, with every value checked and every value's source known.
//!
//! Keys are declared where they are used: in `nand`, `ufs`, `host`, `device`, `workload`, and in the schemes' files.
//! `schema` gathers them. `file` finds a profile's text, `layers` puts it on those that it extends. `shares` turns
//! shares into counts; `checks` holds what no single crate can say; `lower` turns a profile into the configurations of
//! device, driver and link; `facts` tells what follows from the values; `describe` says all of it; `page` documents all
//! keys.

mod ceilings;
mod checks;
mod describe;
mod error;
mod facts;
mod file;
mod layers;
mod lower;
mod names;
mod page;
mod schema;
mod shares;

use std::collections::BTreeSet;

use file::ProfileFile;
use layers::Layers;
use names::{fields_of, split, table_for, tables_in, unknown_section};
use params::{Default as Given, ParamError, Table, Value};
use shares::Shares;

use crate::stack::system::{OF_PAPERS, OfPaper, Parts};

pub use ceilings::{Ceiling, LIMITS, PATTERNS, Pattern};
pub use describe::Description;
pub use error::ProfileError;
pub use facts::facts_markdown;
pub use file::EMBEDDED;
pub use page::{counters_markdown, keys_json, schema_markdown};
pub use schema::{Section, Values, schemes, sections};

/// A value that replaces one of a profile's: `section.key` and the new value.
pub type Override = (String, Value);

/// A checked profile.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Profile {
    /// Name or path that it was asked for by.
    pub origin: String,
    /// Its values.
    pub values: Values,
    /// Names of the keys that its files name, or that replace others.
    given: BTreeSet<String>,
}

impl Profile {
    /// Reads an embedded profile by name, or a file by path, with what it extends, and replaces `overrides`.
    ///
    /// # Errors
    /// An unknown name, an unreadable file, and everything [`Profile::parse`] refuses.
    pub fn load(name_or_path: &str, overrides: &[Override]) -> Result<Profile, ProfileError> {
        Profile::of(name_or_path, &Layers::read(ProfileFile::open(name_or_path)?)?, overrides)
    }

    /// Reads a profile from its text, which can extend embedded profiles. `origin` names it in errors.
    ///
    /// # Errors
    /// Names the key, the value and the allowed range.
    pub fn parse(origin: &str, text: &str, overrides: &[Override]) -> Result<Profile, ProfileError> {
        Profile::of(origin, &Layers::read(ProfileFile::of_text(origin, text))?, overrides)
    }

    /// The values that hold in the end, checked.
    fn of(origin: &str, layers: &Layers, overrides: &[Override]) -> Result<Profile, ProfileError> {
        let failed = |problem| ProfileError { profile: origin.into(), problem };
        let mut root = layers.root.clone();
        for (name, value) in overrides {
            replace(&mut root, name, value).map_err(failed)?;
        }
        let replaced = |name: &str| overrides.iter().any(|(key, _)| key == name);
        let wrong = |error: ParamError| {
            let name = format!("{}.{}", error.table, error.key);
            let inherited = if replaced(&name) { String::new() } else { layers.inherited(&name) };
            failed(format!("{error}{inherited}"))
        };
        let given = names_in(&root).map_err(failed)?;
        let shares = Shares::take(&mut root).map_err(failed)?;
        let mut values = Values::read(&root).map_err(wrong)?;
        shares.settle(&mut values).map_err(wrong)?;
        checks::check(&values).map_err(wrong)?;
        let profile = Profile { origin: origin.into(), values, given };
        // Whichever mapping is chosen, there is room for the table in segments; other sizes are checked by their
        // schemes.
        let segments = u64::from(profile.capacity_units()).div_ceil(units::SEGMENT_ENTRIES.into());
        let device = profile.device_config([0; 2]);
        device.check_metadata(segments, segments).map_err(wrong)?;
        Ok(profile)
    }

    /// The profile for a system: what the paper of its booster says of the mapping scheme's parameters, and what its
    /// preset brings, holds where the profile names no value.
    ///
    /// # Panics
    /// Never: tests check what papers say and presets bring.
    #[must_use]
    pub fn for_parts(&self, parts: Parts) -> Profile {
        let mut profile = self.clone();
        for (key, value) in self.brought(parts) {
            profile
                .values
                .mappings
                .set(parts.mapping.name(), key, value.value())
                .expect("tests check that it is allowed");
        }
        profile
    }

    /// The values of the mapping scheme's parameters that a system brings with it, as the profile names none: what the
    /// paper of its booster says, and then what its preset does.
    pub(crate) fn brought(&self, parts: Parts) -> impl Iterator<Item = (&'static str, Given)> {
        let of_paper = move |said: &&OfPaper| (said.booster, said.mapping) == (parts.booster, parts.mapping);
        let papers = OF_PAPERS.iter().filter(of_paper).map(|said| (said.key, said.value));
        let brings = parts.brings.iter().filter(move |brought| brought.mapping == parts.mapping);
        let all = papers.chain(brings.map(|brought| (brought.key, brought.value)));
        all.filter(move |(key, _)| !self.given.contains(&format!("scheme.{}.{key}", parts.mapping.name())))
    }
}

/// The names of all values in the tables of a profile.
fn names_in(root: &Table) -> Result<BTreeSet<String>, String> {
    let tables = tables_in(root)?;
    let names = |(section, table): (String, &Table)| table.keys().map(|key| format!("{section}.{key}")).collect();
    Ok(tables.into_iter().flat_map::<Vec<String>, _>(names).collect())
}

/// The text of an embedded profile by name, or of a file by path, as it stands there.
///
/// # Errors
/// An unknown name or an unreadable file.
pub fn profile_text(name_or_path: &str) -> Result<String, ProfileError> {
    ProfileFile::open(name_or_path).map(|file| file.text)
}

/// Reads `section.key=value` as given on a command line. A value that is not TOML is taken as a bare word.
///
/// # Errors
/// If there is no `=`.
pub fn parse_override(text: &str) -> Result<Override, ProfileError> {
    let Some((key, value)) = text.split_once('=') else {
        let problem = format!("\"{text}\": an override must have the form section.key=value");
        return Err(ProfileError { profile: "override".into(), problem });
    };
    let (key, value) = (key.trim(), value.trim());
    let parsed = format!("value = {value}").parse::<Table>().ok().and_then(|mut t| t.remove("value"));
    Ok((key.into(), parsed.unwrap_or_else(|| Value::String(value.into()))))
}

/// Replaces a value, and gives the names of the keys that this concerns: `scheme.*.key` means every scheme that has it.
fn replace(root: &mut Table, name: &str, value: &Value) -> Result<Vec<String>, String> {
    let (section, key) = split(name);
    let targets: Vec<String> = match section {
        "scheme.*" => {
            let with = schemes().into_iter().filter(|scheme| scheme.fields.iter().any(|field| field.key == key));
            with.map(|scheme| format!("scheme.{}", scheme.name)).collect()
        }
        _ => fields_of(section)
            .filter(|fields| fields.iter().any(|field| field.key == key))
            .map(|_| vec![section.to_owned()])
            .unwrap_or_default(),
    };
    if targets.is_empty() {
        return Err(match fields_of(section) {
            Some(fields) => {
                let keys: Vec<&str> = fields.iter().map(|field| field.key).collect();
                format!("{name} = {value}: unknown key, must be one of {}", keys.join(", "))
            }
            None if section == "scheme.*" => format!("{name} = {value}: unknown key, no scheme has it"),
            None if section.starts_with("scheme.") => format!("{name} = {value}: {}", unknown_section(section)),
            None => format!("{name} = {value}: unknown key, must have the form section.key or scheme.NAME.key"),
        });
    }
    for target in &targets {
        table_for(root, target).insert(key.into(), value.clone());
    }
    Ok(targets.into_iter().map(|target| format!("{target}.{key}")).collect())
}

#[cfg(test)]
mod facts_tests;
#[cfg(test)]
mod layers_tests;
#[cfg(test)]
mod tests;
