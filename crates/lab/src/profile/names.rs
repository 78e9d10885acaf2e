//! Names of keys: `section.key` and `scheme.NAME.key`, and the tables in which they stand.

use params::{Field, Table};

use super::schema::{schemes, sections};

/// Splits `section.key`, or `scheme.NAME.key` into `scheme.NAME` and the key.
pub(super) fn split(name: &str) -> (&str, &str) {
    name.rsplit_once('.').unwrap_or((name, ""))
}

/// The keys of `section` or `scheme.NAME`.
pub(super) fn fields_of(section: &str) -> Option<Vec<Field>> {
    let found = match section.strip_prefix("scheme.") {
        Some(scheme) => schemes().into_iter().find(|known| known.name == scheme),
        None => sections().into_iter().find(|known| known.name == section),
    };
    found.map(|section| section.fields)
}

/// The table of `section` or `scheme.NAME` in a profile.
pub(super) fn table_of<'a>(root: &'a Table, section: &str) -> Option<&'a Table> {
    match section.strip_prefix("scheme.") {
        Some(scheme) => root.get("scheme")?.get(scheme)?.as_table(),
        None => root.get(section)?.as_table(),
    }
}

/// The table of `section` or `scheme.NAME`, made if it is not there. The sections of `root` are tables.
pub(super) fn table_for<'a>(root: &'a mut Table, section: &str) -> &'a mut Table {
    match section.split_once('.') {
        Some((first, second)) => sub_table(sub_table(root, first), second),
        None => sub_table(root, section),
    }
}

fn sub_table<'a>(table: &'a mut Table, name: &str) -> &'a mut Table {
    let entry = table.entry(name).or_insert_with(|| Table::new().into());
    entry.as_table_mut().expect("known sections are tables")
}

/// The tables of a profile by name, those of schemes as `scheme.NAME`.
///
/// # Errors
/// A value that stands where a table has to.
pub(super) fn tables_in(root: &Table) -> Result<Vec<(String, &Table)>, String> {
    let mut tables = Vec::new();
    for (name, content) in root {
        let Some(content) = content.as_table() else {
            return Err(match fields_of(name).is_some() || name == "scheme" {
                true => format!("{name} = {content}: must be a table"),
                false => format!("{name} = {content}: unknown key, only extends may stand before the first [section]"),
            });
        };
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

/// What is said of a section that is none.
pub(super) fn unknown_section(name: &str) -> String {
    let names = match name.strip_prefix("scheme.") {
        Some(_) => schemes().into_iter().map(|scheme| scheme.name).collect::<Vec<_>>(),
        None => sections().into_iter().map(|section| section.name).chain(["scheme.NAME".into()]).collect(),
    };
    format!("unknown section [{name}]: must be one of {}", names.join(", "))
}
