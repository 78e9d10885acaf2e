//! Keys that belong to schemes now, so that an old profile is told how to change.

use params::{Table, Value};

use super::schema::schemes;

/// The key that took the place of one that stood in a section of the device.
fn new_key(section: &str, key: &str) -> Option<String> {
    let moved = match section {
        "map" | "cmt" | "msftl" | "hpb_params" | "hpbvalve" | "sched" => true,
        "hpb" => return Some(format!("hpb_{key}")),
        "sram" => key == "cached",
        "log" => ["flush_above_entries", "handover_above_entries", "gc_pause_at_entries"].contains(&key),
        "host" => match key.strip_prefix("hpb_") {
            Some(rest) => return Some(rest.into()),
            None => key == "reorder_entries",
        },
        _ => false,
    };
    moved.then(|| key.into())
}

/// The schemes that have this key.
fn owners(key: &str) -> Vec<String> {
    let with = schemes().into_iter().filter(|section| section.fields.iter().any(|field| field.key == key));
    with.map(|section| section.name).collect()
}

/// How to change a section of an old profile, if one of its keys has moved.
pub(super) fn section(name: &str, content: &Value) -> Option<String> {
    let keys = content.as_table()?;
    // Keys that go to the same schemes are told together.
    let mut groups: Vec<(Vec<String>, Vec<String>)> = Vec::new();
    for (key, value) in keys {
        let Some(new) = new_key(name, key) else { continue };
        let to = owners(&new);
        let line = format!("{new} = {value}");
        match groups.iter_mut().find(|(known, _)| *known == to) {
            Some((_, lines)) => lines.push(line),
            None => groups.push((to, vec![line])),
        }
    }
    groups.retain(|(to, _)| !to.is_empty());
    if groups.is_empty() {
        return None;
    }
    let told = |(to, lines): &(Vec<String>, Vec<String>)| {
        let tables: Vec<String> = to.iter().map(|name| format!("[scheme.{name}]")).collect();
        format!("{} under {}", lines.join(", "), tables.join(" and "))
    };
    let told: Vec<String> = groups.iter().map(told).collect();
    let whole = keys.keys().all(|key| new_key(name, key).is_some());
    let what = if whole { format!("[{name}] has moved") } else { format!("keys of [{name}] have moved") };
    Some(format!("{what}: write {}", told.join("; ")))
}

/// How to change an override, or a source, of a key that has moved.
pub(super) fn key(section: &str, key: &str) -> Option<String> {
    let new = new_key(section, key)?;
    let to = owners(&new);
    let names: Vec<String> = to.iter().map(|name| format!("scheme.{name}.{new}")).collect();
    match names.as_slice() {
        [] => None,
        [one] => Some(format!("{section}.{key} has moved: use {one}")),
        several => Some(format!("{section}.{key} has moved: use {}, or scheme.*.{new} for all", several.join(", "))),
    }
}

/// The first thing in an old profile that has moved.
pub(super) fn first(root: &Table) -> Option<String> {
    root.iter().find_map(|(name, content)| section(name, content))
}
