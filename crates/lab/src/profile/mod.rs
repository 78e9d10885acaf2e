//! Device profiles: TOML to configuration, with every value checked and every value's source known.
//!
//! `schema` lists the keys once; `checks` holds what no single key can say; `lower` turns a profile into the
//! configurations of device, driver and link.

mod checks;
mod lower;
mod schema;

use std::path::Path;

use thiserror::Error;
use toml::{Table, Value};

pub use schema::{CountOr, FIELDS, Field, Kind, SECTIONS, Values, schema_markdown};

/// The profiles that come with the program: name and text.
pub const EMBEDDED: &[(&str, &str)] = &[
    ("hp-ufs", include_str!("../../../../profiles/hp-ufs.toml")),
    ("hp-ufs-1tib", include_str!("../../../../profiles/hp-ufs-1tib.toml")),
    ("emmc-map-plus", include_str!("../../../../profiles/emmc-map-plus.toml")),
    ("hpb", include_str!("../../../../profiles/hpb.toml")),
    ("hpbvalve", include_str!("../../../../profiles/hpbvalve.toml")),
    ("msftl", include_str!("../../../../profiles/msftl.toml")),
    ("tiny", include_str!("../../../../profiles/tiny.toml")),
];

/// Something is wrong with a profile, or with a value that replaces one of its values.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[error("profile {profile}: {problem}")]
pub struct ProfileError {
    /// Name or path of the profile.
    pub profile: String,
    /// Key, value and allowed range, or what else is wrong.
    pub problem: String,
}

/// A value that replaces one of a profile's: `section.key` and the new value.
pub type Override = (String, Value);

/// A checked profile.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Profile {
    /// Name or path that it was asked for by.
    pub origin: String,
    /// Its values.
    pub values: Values,
}

impl Profile {
    /// Reads an embedded profile by name, or a file by path, and replaces `overrides`.
    ///
    /// # Errors
    /// An unknown name, an unreadable file, and everything [`Profile::parse`] refuses.
    pub fn load(name_or_path: &str, overrides: &[Override]) -> Result<Profile, ProfileError> {
        let text = profile_text(name_or_path)?;
        Profile::parse(name_or_path, &text, overrides)
    }

    /// Reads a profile from its text. `origin` names it in errors.
    ///
    /// # Errors
    /// Names the key, the value and the allowed range.
    pub fn parse(origin: &str, text: &str, overrides: &[Override]) -> Result<Profile, ProfileError> {
        read(text, overrides)
            .map(|values| Profile { origin: origin.into(), values })
            .map_err(|problem| ProfileError { profile: origin.into(), problem })
    }
}

/// The text of an embedded profile by name, or of a file by path.
///
/// # Errors
/// An unknown name or an unreadable file.
pub fn profile_text(name_or_path: &str) -> Result<String, ProfileError> {
    if let Some((_, text)) = EMBEDDED.iter().find(|(name, _)| *name == name_or_path) {
        return Ok((*text).into());
    }
    let fail = |problem| Err(ProfileError { profile: name_or_path.into(), problem });
    let path = Path::new(name_or_path);
    let looks_like_path = name_or_path.contains(std::path::MAIN_SEPARATOR) || path.extension().is_some();
    if !looks_like_path && !path.exists() {
        let names: Vec<&str> = EMBEDDED.iter().map(|(name, _)| *name).collect();
        return fail(format!("no such profile: must be one of {}, or the path of a file", names.join(", ")));
    }
    std::fs::read_to_string(path).or_else(|error| fail(format!("cannot be read: {error}")))
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

/// A key and its value, as errors show them.
fn show(section: &str, key: &str, value: &Value) -> String {
    format!("{section}.{key} = {value}")
}

fn read(text: &str, overrides: &[Override]) -> Result<Values, String> {
    let mut root: Table = text.parse().map_err(|e: toml::de::Error| {
        let line = e.span().map_or(1, |s| 1 + text[..s.start.min(text.len())].matches('\n').count());
        format!("line {line}: {}", e.message())
    })?;
    let sources = take_table(&mut root, "sources")?;
    let assumed = take_table(&mut root, "assumed")?;
    known_keys_only(&root)?;
    check_sources(&sources, &assumed)?;
    for (name, value) in overrides {
        replace(&mut root, name, value)?;
    }
    check_ranges(&root)?;
    let values: Values = root.try_into().map_err(|e: toml::de::Error| e.message().to_owned())?;
    checks::check(&values)?;
    Ok(values)
}

fn take_table(root: &mut Table, name: &str) -> Result<Table, String> {
    match root.remove(name) {
        None => Ok(Table::new()),
        Some(Value::Table(table)) => Ok(table),
        Some(other) => Err(format!("{name} = {other}: must be a table")),
    }
}

/// Finds `section.key` in the schema.
fn field(section: &str, key: &str) -> Option<&'static Field> {
    FIELDS.iter().find(|f| f.section == section && f.key == key)
}

fn known_keys_only(root: &Table) -> Result<(), String> {
    for (section, content) in root {
        if !SECTIONS.iter().any(|(name, _)| name == section) {
            let names: Vec<&str> = SECTIONS.iter().map(|(name, _)| *name).collect();
            return Err(format!("unknown section [{section}]: must be one of {}", names.join(", ")));
        }
        let Value::Table(keys) = content else {
            return Err(format!("{section} = {content}: must be a table"));
        };
        for (key, value) in keys {
            if field(section, key).is_none() {
                return Err(format!("{}: unknown key, {}", show(section, key, value), keys_of(section)));
            }
        }
    }
    Ok(())
}

fn keys_of(section: &str) -> String {
    let keys: Vec<&str> = FIELDS.iter().filter(|f| f.section == section).map(|f| f.key).collect();
    format!("must be one of {}", keys.join(", "))
}

/// Every value has exactly one origin: a source or a stated assumption.
fn check_sources(sources: &Table, assumed: &Table) -> Result<(), String> {
    for (table, content) in [("sources", sources), ("assumed", assumed)] {
        for (name, why) in content {
            let known = name.split_once('.').and_then(|(section, key)| field(section, key));
            if !known.is_some_and(|f| f.kind.needs_source()) {
                return Err(format!("[{table}] \"{name}\": no such key in a profile"));
            }
            if why.as_str().is_none_or(|text| text.trim().is_empty()) {
                return Err(format!("[{table}] \"{name}\" = {why}: must be a non-empty string"));
            }
        }
    }
    for f in FIELDS.iter().filter(|f| f.kind.needs_source()) {
        let name = format!("{}.{}", f.section, f.key);
        match (sources.contains_key(&name), assumed.contains_key(&name)) {
            (false, false) => {
                return Err(format!("{name}: must have its source in [sources] or its reason in [assumed]"));
            }
            (true, true) => return Err(format!("{name}: stands both in [sources] and in [assumed], must be in one")),
            _ => {}
        }
    }
    Ok(())
}

fn replace(root: &mut Table, name: &str, value: &Value) -> Result<(), String> {
    let (section, key) = name.split_once('.').unwrap_or((name, ""));
    if field(section, key).is_none() {
        let allowed = match SECTIONS.iter().any(|(s, _)| *s == section) {
            true => keys_of(section),
            false => "must have the form section.key".into(),
        };
        return Err(format!("{name} = {value}: unknown key, {allowed}"));
    }
    if let Some(Value::Table(keys)) = root.get_mut(section) {
        keys.insert(key.into(), value.clone());
    }
    Ok(())
}

fn check_ranges(root: &Table) -> Result<(), String> {
    for f in FIELDS {
        let value = root.get(f.section).and_then(|s| s.get(f.key));
        match value {
            None => return Err(format!("{}.{} is missing: must be {}", f.section, f.key, f.kind.allowed())),
            Some(v) if !f.kind.admits(v) => {
                return Err(format!("{}: must be {}", show(f.section, f.key, v), f.kind.allowed()));
            }
            Some(_) => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
