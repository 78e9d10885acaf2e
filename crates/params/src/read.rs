//! Reading a table of a TOML file.

use std::fmt;

use toml::{Table, Value};

use crate::{Field, Kind, Params, unit_of};

/// A value that is not allowed, a key that does not exist, or one that is missing.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ParamError {
    /// The table, as errors name it.
    pub table: String,
    /// The key.
    pub key: String,
    /// The value, if there is one.
    pub value: Option<String>,
    /// What is wrong, and what would be allowed.
    pub problem: String,
}

impl ParamError {
    /// `table.key = value: must be allowed`.
    pub fn must_be(table: &str, key: &str, value: &Value, allowed: impl fmt::Display) -> ParamError {
        let problem = format!(": must be {allowed}");
        ParamError { table: table.into(), key: key.into(), value: Some(value.to_string()), problem }
    }
}

impl fmt::Display for ParamError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.table, self.key)?;
        if let Some(value) = &self.value {
            write!(f, " = {value}")?;
        }
        f.write_str(&self.problem)
    }
}

impl std::error::Error for ParamError {}

/// Parses the text of a TOML file.
///
/// # Errors
/// The line, and what is wrong there.
pub fn parse(text: &str) -> Result<Table, String> {
    text.parse().map_err(|error: toml::de::Error| {
        let at = error.span().map_or(0, |span| span.start.min(text.len()));
        let before = text[..at].matches('\n').count();
        // The parser has no words of its own for a number that no table can hold.
        let problem = match error.message().starts_with("invalid type: integer") {
            true => format!("{}: must fit 64 bits", text.lines().nth(before).unwrap_or_default().trim()),
            false => error.message().into(),
        };
        format!("line {}: {problem}", before + 1)
    })
}

/// Reads the table `name`: keys that the set does not have are refused, those that the file does not name have their
/// defaults.
///
/// # Errors
/// Unknown and missing keys, wrong types, values out of range.
pub fn read<P: Params>(name: &str, table: &Table) -> Result<P, ParamError> {
    let fields = P::fields();
    known_keys_only(name, table, &fields)?;
    check(name, table, &fields).map(|table| P::from_checked(&table))
}

/// Refuses keys that are none of `fields`.
///
/// # Errors
/// The first such key, with its value, further ones, and the keys there are.
pub fn known_keys_only(name: &str, table: &Table, fields: &[Field]) -> Result<(), ParamError> {
    let mut unknown = table.iter().filter(|(key, _)| !fields.iter().any(|f| f.key == *key));
    let Some((key, value)) = unknown.next() else { return Ok(()) };
    let others: String = unknown.map(|(key, _)| format!(", {key} as well")).collect();
    let keys: Vec<&str> = fields.iter().map(|f| f.key).collect();
    let problem = match keys.is_empty() {
        true => format!(": unknown key{others}, there are none"),
        false => format!(": unknown key{others}, must be one of {}", keys.join(", ")),
    };
    Err(ParamError { table: name.into(), key: key.clone(), value: Some(value.to_string()), problem })
}

/// The values of `fields` in a table, each inside its range; other keys are left out.
///
/// # Errors
/// A value out of its range, or a missing one without a default.
pub fn check(name: &str, table: &Table, fields: &[Field]) -> Result<Table, ParamError> {
    let mut checked = Table::new();
    for f in fields {
        let value = match (table.get(f.key), f.default) {
            (Some(value), _) => value.clone(),
            (None, Some(default)) => default.value(),
            (None, None) => {
                let problem = format!(" is missing: must be {}", f.kind.allowed());
                return Err(ParamError { table: name.into(), key: f.key.into(), value: None, problem });
            }
        };
        if !f.kind.admits(&value) {
            let unit = unit_of(f.key);
            // Who writes a size as text means it in some unit.
            let sized = value.as_str().is_some_and(|text| {
                text.starts_with(|c: char| c.is_ascii_digit()) && text.ends_with(|c: char| c.is_ascii_alphabetic())
            });
            let told = if sized && !unit.is_empty() { format!(", in {unit}") } else { String::new() };
            return Err(ParamError::must_be(name, f.key, &value, f.kind.allowed_not(&value) + &told));
        }
        // A share was put in its place before, by whoever knows the whole.
        if let (Kind::Amount { min, max, .. }, Value::String(_)) = (f.kind, &value) {
            return Err(ParamError::must_be(name, f.key, &value, format!("{min}..={max}, without a share")));
        }
        checked.insert(f.key.into(), value);
    }
    Ok(checked)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_toml_is_told_with_its_line() {
        let told = |text| parse(text).expect_err("no TOML");
        assert!(told("a = 1\nb =").starts_with("line 2: "), "{}", told("a = 1\nb ="));
        assert_eq!(told("[t]\n a = 99999999999999999999 "), "line 2: a = 99999999999999999999: must fit 64 bits");
    }
}
