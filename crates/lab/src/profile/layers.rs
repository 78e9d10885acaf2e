//! A profile and those that it extends, one on the other: what holds in the end, and where each value comes from.
//!
//! A profile that extends none is complete: it names every key without a default, and a source for each of its values.
//! One that extends another names what differs, and needs a source where a value differs.

use std::collections::BTreeMap;

use params::{Field, ParamError, Table, Value};

use super::error::ProfileError;
use super::file::ProfileFile;
use super::names::{fields_of, split, table_for, table_of, tables_in, unknown_section};
use super::schema::sections;

/// Where a value comes from.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Origin {
    /// True for a reason in `[assumed]`, false for a source in `[sources]`.
    pub assumed: bool,
    /// The source, or the reason.
    pub why: String,
    /// The profile that says so.
    pub profile: String,
}

/// A profile with all that it extends.
#[derive(Clone, Debug, Default)]
pub(super) struct Layers {
    /// Names and paths: the profile itself first, what extends none last.
    pub chain: Vec<String>,
    /// The values.
    pub root: Table,
    /// Where they come from, by `section.key`.
    pub origins: BTreeMap<String, Origin>,
    /// The profile that gives a value, by `section.key`.
    givers: BTreeMap<String, String>,
}

/// One file, taken apart.
struct Layer {
    file: ProfileFile,
    extends: Option<String>,
    root: Table,
    sources: Table,
    assumed: Table,
}

impl Layers {
    /// Reads a profile and what it extends.
    pub fn read(file: ProfileFile) -> Result<Layers, ProfileError> {
        let mut files = vec![Layer::read(file)?];
        while let Some(last) = files.last()
            && let Some(name) = &last.extends
        {
            let parent = last.file.parent(name)?;
            if files.iter().any(|layer| layer.file.is(&parent)) {
                let round: Vec<&str> = files.iter().map(|layer| layer.file.name.as_str()).collect();
                let problem = format!("extends = \"{name}\": goes round: {} -> {}", round.join(" -> "), parent.name);
                return Err(ProfileError { profile: last.file.name.clone(), problem });
            }
            files.push(Layer::read(parent)?);
        }
        let mut layers = Layers::default();
        for layer in files.into_iter().rev() {
            layers.chain.insert(0, layer.file.name.clone());
            layers.put(&layer).map_err(|problem| ProfileError { profile: layer.file.name, problem })?;
        }
        Ok(layers)
    }

    /// Puts a file on top of those that it extends, or says everything that is wrong with its values.
    fn put(&mut self, layer: &Layer) -> Result<(), String> {
        let mut wrong = Vec::new();
        for (section, table) in tables_in(&layer.root)? {
            for field in fields_of(&section).unwrap_or_default() {
                let Some(value) = table.get(field.key) else { continue };
                wrong.extend(self.put_value(layer, &section, &field, value).err());
            }
        }
        all_of(wrong)
    }

    fn put_value(&mut self, layer: &Layer, section: &str, field: &Field, value: &Value) -> Result<(), String> {
        if !field.kind.admits(value) {
            let allowed = field.kind.allowed_not(value);
            return Err(ParamError::must_be(section, field.key, value, allowed).to_string());
        }
        let name = format!("{section}.{}", field.key);
        let origin = layer.origin(&name)?;
        if origin.is_none() && field.kind.needs_source() {
            self.check_unchanged(layer, field, &name, value)?;
        }
        self.givers.insert(name.clone(), layer.file.name.clone());
        self.origins.extend(origin.map(|origin| (name, origin)));
        table_for(&mut self.root, section).insert(field.key.into(), value.clone());
        Ok(())
    }

    /// What a message adds to a value of the profile that the profile itself does not give.
    pub fn inherited(&self, name: &str) -> String {
        match self.givers.get(name) {
            Some(giver) if Some(giver) == self.chain.first() => String::new(),
            Some(giver) => format!(" ({name} is inherited from {giver})"),
            None if self.chain.len() > 1 => format!(" ({name} has its default)"),
            None => String::new(),
        }
    }

    /// A value without a source is the parent's.
    fn check_unchanged(&self, layer: &Layer, field: &Field, name: &str, value: &Value) -> Result<(), String> {
        let asked = "must have its source in [sources] or its reason in [assumed]";
        let Some(parent) = &layer.extends else { return Err(format!("{name}: {asked}")) };
        let inherited = table_of(&self.root, split(name).0).and_then(|table| table.get(field.key)).cloned();
        match inherited.or_else(|| field.default.map(params::Default::value)) {
            Some(inherited) if inherited == *value => Ok(()),
            Some(inherited) => Err(format!("{name} = {value}: differs from {inherited} in {parent}, so it {asked}")),
            None => Err(format!("{name}: {asked}")),
        }
    }
}

impl Layer {
    fn read(file: ProfileFile) -> Result<Layer, ProfileError> {
        match Layer::parse(&file.text) {
            Ok(layer) => Ok(Layer { file, ..layer }),
            Err(problem) => Err(ProfileError { profile: file.name, problem }),
        }
    }

    fn parse(text: &str) -> Result<Layer, String> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let mut root = params::parse(text)?;
        if root.is_empty() {
            let what =
                "a profile has extends = \"hp-ufs\" (or another) and what differs, or all keys of docs/profile.md";
            return Err(format!("there is nothing in it: {what}"));
        }
        let extends = match root.remove("extends") {
            None => None,
            Some(Value::String(name)) if !name.trim().is_empty() => Some(name),
            Some(other) => {
                return Err(format!("extends = {other}: must be the name of a profile or the path of a file"));
            }
        };
        let sources = take_table(&mut root, "sources")?;
        let assumed = take_table(&mut root, "assumed")?;
        let layer = Layer { file: ProfileFile::of_text("", ""), extends, root, sources, assumed };
        // What is said of sources follows from wrong keys, if there are some.
        all_of(layer.check_keys()?)?;
        all_of(layer.check_explanations()).map(|()| layer)
    }

    /// Keys that are unknown and, where nothing is extended, those that are missing.
    fn check_keys(&self) -> Result<Vec<String>, String> {
        let mut wrong = Vec::new();
        for (name, table) in tables_in(&self.root)? {
            match fields_of(&name) {
                Some(fields) => {
                    let error = params::known_keys_only(&name, table, &fields).err();
                    wrong.extend(error.map(|error| error.to_string()));
                }
                None => wrong.push(unknown_section(&name)),
            }
        }
        let complete = if self.extends.is_some() { Vec::new() } else { sections() };
        for section in complete {
            let table = table_of(&self.root, &section.name).cloned().unwrap_or_default();
            let absent = |field: &&Field| field.default.is_none() && !table.contains_key(field.key);
            wrong.extend(
                section.fields.iter().filter(absent).map(|field| {
                    format!("{}.{} is missing: must be {}", section.name, field.key, field.kind.allowed())
                }),
            );
        }
        Ok(wrong)
    }

    /// Sources and reasons that belong to no value of this file.
    fn check_explanations(&self) -> Vec<String> {
        let mut wrong = Vec::new();
        for (table, content) in [("sources", &self.sources), ("assumed", &self.assumed)] {
            for (name, why) in content {
                let (section, key) = split(name);
                let fields = fields_of(section).unwrap_or_default();
                if !fields.iter().any(|field| field.key == key && field.kind.needs_source()) {
                    wrong.push(format!("[{table}] \"{name}\": no such key in a profile"));
                } else if table_of(&self.root, section).is_none_or(|table| !table.contains_key(key)) {
                    wrong.push(format!("[{table}] \"{name}\": this profile has no such key"));
                } else if why.as_str().is_none_or(|text| text.trim().is_empty()) {
                    wrong.push(format!("[{table}] \"{name}\" = {why}: must be a non-empty string"));
                }
            }
        }
        wrong
    }

    /// What this file says of where a value comes from.
    fn origin(&self, name: &str) -> Result<Option<Origin>, String> {
        let said = |assumed: bool, why: &Value| Origin {
            assumed,
            why: why.as_str().unwrap_or_default().to_owned(),
            profile: self.file.name.clone(),
        };
        match (self.sources.get(name), self.assumed.get(name)) {
            (Some(_), Some(_)) => Err(format!("{name}: stands both in [sources] and in [assumed], must be in one")),
            (Some(source), None) => Ok(Some(said(false, source))),
            (None, Some(reason)) => Ok(Some(said(true, reason))),
            (None, None) => Ok(None),
        }
    }
}

/// Everything that is wrong, as one message.
fn all_of(wrong: Vec<String>) -> Result<(), String> {
    if wrong.is_empty() { Ok(()) } else { Err(wrong.join("; ")) }
}

fn take_table(root: &mut Table, name: &str) -> Result<Table, String> {
    match root.remove(name) {
        None => Ok(Table::new()),
        Some(Value::Table(table)) => Ok(table),
        Some(other) => Err(format!("{name} = {other}: must be a table")),
    }
}
