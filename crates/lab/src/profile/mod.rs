//! Device profiles: TOML to configuration, with every value checked and every value's source known.
//!
//! `schema` lists the keys of the device; those of schemes are declared in the schemes' files. `checks` holds what no
//! single key can say; `lower` turns a profile into the configurations of device, driver and link; `moved` tells an old
//! profile how to change; `page` documents all keys.

mod checks;
mod lower;
mod moved;
mod page;
mod schema;

use std::path::Path;

use params::{Field, Table, Value};
use thiserror::Error;

pub use page::{keys_json, schema_markdown};
pub use schema::{Section, Values, schemes, sections};

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
        let failed = |problem| ProfileError { profile: origin.into(), problem };
        let values = read(text, overrides).map_err(failed)?;
        let profile = Profile { origin: origin.into(), values };
        // Whichever mapping is chosen, there is room for the table in segments; other sizes are checked by their
        // schemes.
        let segments = u64::from(profile.capacity_units()).div_ceil(units::SEGMENT_ENTRIES.into());
        let device = profile.device_config([0; 2]);
        device.check_metadata(segments, segments).map_err(|error| failed(error.to_string()))?;
        Ok(profile)
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
    workload::text_file(path).or_else(|error| fail(format!("cannot be read: {error}")))
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

fn read(text: &str, overrides: &[Override]) -> Result<Values, String> {
    let mut root: Table = text.parse().map_err(|e: toml::de::Error| {
        let line = e.span().map_or(1, |s| 1 + text[..s.start.min(text.len())].matches('\n').count());
        format!("line {line}: {}", e.message())
    })?;
    let sources = take_table(&mut root, "sources")?;
    let assumed = take_table(&mut root, "assumed")?;
    if let Some(told) = moved::first(&root) {
        return Err(told);
    }
    known_keys_only(&root)?;
    none_missing(&root)?;
    check_sources(&root, &sources, &assumed)?;
    for (name, value) in overrides {
        replace(&mut root, name, value)?;
    }
    let values = Values::read(&root).map_err(|error| error.to_string())?;
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

/// Splits `section.key`, or `scheme.NAME.key` into `scheme.NAME` and the key.
fn split(name: &str) -> (&str, &str) {
    name.rsplit_once('.').unwrap_or((name, ""))
}

/// The keys of `section` or `scheme.NAME`.
fn fields_of(section: &str) -> Option<Vec<Field>> {
    let found = match section.strip_prefix("scheme.") {
        Some(scheme) => schemes().into_iter().find(|known| known.name == scheme),
        None => sections().into_iter().find(|known| known.name == section),
    };
    found.map(|section| section.fields)
}

/// The table of `section` or `scheme.NAME` in a profile.
fn table_of<'a>(root: &'a Table, section: &str) -> Option<&'a Table> {
    match section.strip_prefix("scheme.") {
        Some(scheme) => root.get("scheme")?.get(scheme)?.as_table(),
        None => root.get(section)?.as_table(),
    }
}

/// The tables of a profile by name, those of schemes as `scheme.NAME`.
fn tables_in(root: &Table) -> Result<Vec<(String, &Table)>, String> {
    let mut tables = Vec::new();
    for (name, content) in root {
        let content = content.as_table().ok_or_else(|| format!("{name} = {content}: must be a table"))?;
        if name != "scheme" {
            tables.push((name.clone(), content));
            continue;
        }
        for (scheme, keys) in content {
            let keys = keys.as_table().ok_or_else(|| format!("scheme.{scheme} = {keys}: must be a table"))?;
            tables.push((format!("scheme.{scheme}"), keys));
        }
    }
    Ok(tables)
}

fn known_keys_only(root: &Table) -> Result<(), String> {
    for (name, table) in tables_in(root)? {
        let fields = fields_of(&name).ok_or_else(|| unknown_section(&name))?;
        params::known_keys_only(&name, table, &fields).map_err(|error| error.to_string())?;
    }
    Ok(())
}

/// Every key without a default stands in the file.
fn none_missing(root: &Table) -> Result<(), String> {
    for section in sections() {
        let table = table_of(root, &section.name).cloned().unwrap_or_default();
        let absent = |field: &&Field| field.default.is_none() && !table.contains_key(field.key);
        if let Some(field) = section.fields.iter().find(absent) {
            return Err(format!("{}.{} is missing: must be {}", section.name, field.key, field.kind.allowed()));
        }
    }
    Ok(())
}

fn unknown_section(name: &str) -> String {
    let names = match name.strip_prefix("scheme.") {
        Some(_) => schemes().into_iter().map(|scheme| scheme.name).collect::<Vec<_>>(),
        None => sections().into_iter().map(|section| section.name).chain(["scheme.NAME".into()]).collect(),
    };
    format!("unknown section [{name}]: must be one of {}", names.join(", "))
}

/// Every value in the file has exactly one origin: a source or a stated assumption.
fn check_sources(root: &Table, sources: &Table, assumed: &Table) -> Result<(), String> {
    for (table, content) in [("sources", sources), ("assumed", assumed)] {
        for (name, why) in content {
            let (section, key) = split(name);
            let fields = fields_of(section).unwrap_or_default();
            if !fields.iter().any(|field| field.key == key && field.kind.needs_source()) {
                let told = moved::key(section, key).unwrap_or_else(|| "no such key in a profile".into());
                return Err(format!("[{table}] \"{name}\": {told}"));
            }
            if table_of(root, section).is_none_or(|table| !table.contains_key(key)) {
                return Err(format!("[{table}] \"{name}\": this profile has no such key"));
            }
            if why.as_str().is_none_or(|text| text.trim().is_empty()) {
                return Err(format!("[{table}] \"{name}\" = {why}: must be a non-empty string"));
            }
        }
    }
    for (section, table) in tables_in(root)? {
        let fields = fields_of(&section).unwrap_or_default();
        for field in fields.iter().filter(|field| field.kind.needs_source() && table.contains_key(field.key)) {
            let name = format!("{section}.{}", field.key);
            match (sources.contains_key(&name), assumed.contains_key(&name)) {
                (false, false) => {
                    return Err(format!("{name}: must have its source in [sources] or its reason in [assumed]"));
                }
                (true, true) => {
                    return Err(format!("{name}: stands both in [sources] and in [assumed], must be in one"));
                }
                _ => {}
            }
        }
    }
    Ok(())
}

/// Replaces a value. `scheme.*.key` means every scheme that has the key.
fn replace(root: &mut Table, name: &str, value: &Value) -> Result<(), String> {
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
        return Err(match (moved::key(section, key), fields_of(section)) {
            (Some(told), _) => format!("{name} = {value}: {told}"),
            (None, Some(fields)) => {
                let keys: Vec<&str> = fields.iter().map(|field| field.key).collect();
                format!("{name} = {value}: unknown key, must be one of {}", keys.join(", "))
            }
            (None, None) if section == "scheme.*" => format!("{name} = {value}: unknown key, no scheme has it"),
            (None, None) if section.starts_with("scheme.") => format!("{name} = {value}: {}", unknown_section(section)),
            (None, None) => format!("{name} = {value}: unknown key, must have the form section.key or scheme.NAME.key"),
        });
    }
    for target in targets {
        let table = match target.split_once('.') {
            Some((first, second)) => sub_table(sub_table(root, first), second),
            None => sub_table(root, &target),
        };
        table.insert(key.into(), value.clone());
    }
    Ok(())
}

/// The table of this name, made if it is not there.
fn sub_table<'a>(table: &'a mut Table, name: &str) -> &'a mut Table {
    let entry = table.entry(name).or_insert_with(|| Table::new().into());
    entry.as_table_mut().expect("known sections are tables")
}

#[cfg(test)]
mod tests;
