//! All that can be said of a profile: its values with their origins, what follows from them, and the schemes that can
//! run on it.

use params::{Table, Value, unit_of};
use serde_json::json;

use super::ceilings::{Ceiling, LIMITS};
use super::facts::FACTS;
use super::file::ProfileFile;
use super::layers::{Layers, Origin};
use super::names::{fields_of, table_of};
use super::schema::{schemes, sections};
use super::{Override, Profile, ProfileError};
use crate::stack::system::schemes as presets;

/// A profile and where its values come from.
#[derive(Clone, Debug)]
pub struct Description {
    profile: Profile,
    layers: Layers,
    /// The values of the profile's files, with those that replace them.
    root: Table,
    replaced: Vec<String>,
}

impl Description {
    /// Reads a profile as [`Profile::load`] does.
    ///
    /// # Errors
    /// The same.
    pub fn load(name_or_path: &str, overrides: &[Override]) -> Result<Description, ProfileError> {
        let layers = Layers::read(ProfileFile::open(name_or_path)?)?;
        let profile = Profile::of(name_or_path, &layers, overrides)?;
        let mut root = layers.root.clone();
        let mut replaced = Vec::new();
        // `Profile::of` has accepted them.
        for (name, value) in overrides {
            replaced.extend(super::replace(&mut root, name, value).unwrap_or_default());
        }
        Ok(Description { profile, layers, root, replaced })
    }

    /// The profile.
    pub fn profile(&self) -> &Profile {
        &self.profile
    }

    /// One JSON object: `profile`, `name`, `summary`, `extends`, `values`, `facts`, `ceilings`, `schemes`.
    pub fn to_json(&self) -> String {
        let device = &self.profile.values.device;
        let facts: serde_json::Map<_, _> =
            FACTS.iter().map(|fact| (fact.name.to_owned(), whole(fact.of(&self.profile)))).collect();
        let ceilings: serde_json::Map<_, _> =
            self.profile.ceilings().iter().map(|c| (c.pattern.name.to_owned(), ceiling_json(c))).collect();
        json!({
            "profile": self.profile.origin,
            "name": device.name,
            "summary": device.summary,
            "extends": self.layers.chain[1..],
            "values": self.values().iter().map(|value| value.json()).collect::<Vec<_>>(),
            "facts": facts,
            "ceilings": ceilings,
            "schemes": self.schemes(),
        })
        .to_string()
    }

    /// The profile as one file that extends nothing.
    pub fn to_toml(&self) -> String {
        let chain = self.layers.chain.join(" -> ");
        let mut text = format!("# Profile {chain}, as one file.\n");
        let mut last = String::new();
        let values = self.values();
        for value in &values {
            if value.section != last {
                text += &format!("\n[{}]\n", value.section);
                last.clone_from(&value.section);
            }
            text += &format!("{} = {}\n", value.key, value.value);
        }
        for (table, assumed) in [("sources", false), ("assumed", true)] {
            text += &format!("\n[{table}]\n");
            for value in values.iter().filter(|value| value.explained) {
                let origin = value.origin();
                if origin.assumed == assumed {
                    text += &format!("\"{}.{}\" = {}\n", value.section, value.key, Value::from(origin.why));
                }
            }
        }
        text
    }

    /// The values that the files name, or that replace others, in the order of the documentation.
    fn values(&self) -> Vec<Named<'_>> {
        let names = sections().into_iter().map(|section| section.name);
        let names = names.chain(schemes().into_iter().map(|scheme| format!("scheme.{}", scheme.name)));
        let mut all = Vec::new();
        for section in names {
            let Some(table) = table_of(&self.root, &section) else { continue };
            for field in fields_of(&section).unwrap_or_default() {
                let Some(value) = table.get(field.key) else { continue };
                let name = format!("{section}.{}", field.key);
                all.push(Named {
                    section: section.clone(),
                    key: field.key,
                    value,
                    explained: field.kind.needs_source(),
                    origin: self.layers.origins.get(&name),
                    replaced: self.replaced.contains(&name),
                });
            }
        }
        all
    }

    /// The presets, and why one can not run on this device.
    fn schemes(&self) -> serde_json::Map<String, serde_json::Value> {
        let problem = |parts| self.profile.check_parts(parts).err().map(|error| error.problem);
        presets().iter().map(|preset| (preset.name.to_owned(), json!(problem(preset.parts)))).collect()
    }
}

/// A value and where it comes from.
struct Named<'a> {
    section: String,
    key: &'static str,
    value: &'a Value,
    /// It has a source, or a reason.
    explained: bool,
    origin: Option<&'a Origin>,
    replaced: bool,
}

impl Named<'_> {
    /// Where the value comes from: what a file says, unless something else has replaced it. A scheme's value that
    /// equals the default needs no words in a profile that extends another.
    fn origin(&self) -> Origin {
        let of = |why: &str| Origin { assumed: true, why: why.into(), profile: String::new() };
        match self.origin {
            _ if self.replaced => of("set for this run"),
            Some(origin) => origin.clone(),
            None => of("the default"),
        }
    }

    fn json(&self) -> serde_json::Value {
        let origin = self.explained.then(|| self.origin());
        json!({
            "key": format!("{}.{}", self.section, self.key),
            "value": self.value,
            "unit": unit_of(self.key),
            "source": origin.as_ref().map(|origin| &origin.why),
            "assumed": origin.as_ref().map(|origin| origin.assumed),
            "profile": origin.as_ref().map(|origin| &origin.profile).filter(|profile| !profile.is_empty()),
        })
    }
}

/// Whole numbers without a fraction.
fn whole(value: Option<f64>) -> serde_json::Value {
    match value {
        Some(value) if value.fract() == 0.0 => json!(value as u64),
        other => json!(other),
    }
}

fn ceiling_json(ceiling: &Ceiling) -> serde_json::Value {
    let limits: serde_json::Map<_, _> =
        LIMITS.iter().zip(ceiling.by).map(|(limit, rate)| (limit.name.to_owned(), json!(rate))).collect();
    json!({
        "request_bytes": ceiling.request_bytes,
        "requests_per_s": ceiling.requests_per_s(),
        "bytes_per_s": ceiling.bytes_per_s(),
        "limited_by": LIMITS[ceiling.lowest().0].name,
        "requests_per_s_by": limits,
    })
}
