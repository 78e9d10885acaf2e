//! TOML with positions: every error names the file, the line, the key, its value and what is allowed. The kinds of
//! crate `params` check values; floats, which they do not have, are checked here.

use std::ops::RangeInclusive;

use params::{Kind, Value};
use thiserror::Error;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// An error in a scenario or an app, as text for the user.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[error("{0}")]
pub struct ScenarioError(pub(crate) String);

/// A text and the name of its file.
#[derive(Clone, Copy)]
pub(crate) struct Text<'a> {
    pub origin: &'a str,
    pub text: &'a str,
}

impl<'a> Text<'a> {
    /// An error at a byte of the text.
    pub fn error(self, at: usize, problem: &str) -> ScenarioError {
        let line = 1 + self.text[..at.min(self.text.len())].matches('\n').count();
        ScenarioError(format!("{}: line {line}: {problem}", self.origin))
    }

    /// Parses the text into its tables.
    pub fn parse(self) -> Result<Spanned<DeTable<'a>>, ScenarioError> {
        DeTable::parse(self.text)
            .map_err(|error| self.error(error.span().map_or(0, |span| span.start), error.message()))
    }
}

/// A table, and the byte of the text at which it begins.
#[derive(Clone, Copy)]
pub(crate) struct TableAt<'a> {
    pub at: usize,
    pub table: &'a DeTable<'a>,
}

/// The keys of one table. The caller asks for each key that it knows, and ends with [`Section::done`].
pub(crate) struct Section<'a> {
    pub text: Text<'a>,
    /// Name in front of its keys, with the dot; empty for the whole file.
    prefix: String,
    /// Byte of the text at which the table begins.
    at: usize,
    table: &'a DeTable<'a>,
    known: Vec<&'static str>,
}

impl<'a> Section<'a> {
    /// A reader of a table of the text.
    pub fn new(text: Text<'a>, name: &str, place: TableAt<'a>) -> Section<'a> {
        let TableAt { at, table } = place;
        let prefix = if name.is_empty() { String::new() } else { format!("{name}.") };
        Section { text, prefix, at, table, known: Vec::new() }
    }

    /// The value of a key with its position in the text.
    pub fn get(&mut self, key: &'static str) -> Option<&'a Spanned<DeValue<'a>>> {
        self.known.push(key);
        self.find(key)
    }

    fn find(&self, key: &str) -> Option<&'a Spanned<DeValue<'a>>> {
        self.table.iter().find(|(name, _)| name.get_ref() == key).map(|(_, value)| value)
    }

    /// An error about a value that is not `allowed`.
    pub fn wrong(&self, key: &str, value: &Spanned<DeValue<'_>>, allowed: &str) -> ScenarioError {
        let shown = self.text.text.get(value.span()).unwrap_or_default();
        self.text.error(value.span().start, &format!("{}{key} = {shown}: must be {allowed}", self.prefix))
    }

    /// An error about a key that must be there.
    pub fn missing(&self, key: &str) -> ScenarioError {
        self.text.error(self.at, &format!("{}{key} is missing", self.prefix))
    }

    /// The value of a key, if `kind` admits it.
    fn checked(&mut self, key: &'static str, kind: Kind) -> Result<Option<Value>, ScenarioError> {
        let Some(value) = self.get(key) else { return Ok(None) };
        match plain(value.get_ref()) {
            Some(plain) if kind.admits(&plain) => Ok(Some(plain)),
            Some(plain) => Err(self.wrong(key, value, &kind.allowed_not(&plain))),
            None => Err(self.wrong(key, value, &kind.allowed())),
        }
    }

    /// A whole number in its range.
    pub fn whole(&mut self, key: &'static str, range: RangeInclusive<u64>) -> Result<Option<u64>, ScenarioError> {
        let value = self.checked(key, Kind::Wide { min: *range.start(), max: *range.end() })?;
        Ok(value.map(|value| value.as_integer().expect("checked") as u64))
    }

    /// A number in its range.
    pub fn number(&mut self, key: &'static str, range: RangeInclusive<f64>) -> Result<Option<f64>, ScenarioError> {
        let Some(value) = self.get(key) else { return Ok(None) };
        let digits = match value.get_ref() {
            DeValue::Integer(i) if i.radix() == 10 => Some(i.as_str()),
            DeValue::Float(f) => Some(f.as_str()),
            _ => None,
        };
        let number = digits.and_then(|text| text.parse().ok()).filter(|n| range.contains(n));
        let allowed = || format!("a number of {}..={}", range.start(), range.end());
        number.map(Some).ok_or_else(|| self.wrong(key, value, &allowed()))
    }

    /// True or false.
    pub fn boolean(&mut self, key: &'static str) -> Result<Option<bool>, ScenarioError> {
        Ok(self.checked(key, Kind::Switch)?.map(|value| value.as_bool().expect("checked")))
    }

    /// A text.
    pub fn string(&mut self, key: &'static str) -> Result<Option<&'a str>, ScenarioError> {
        self.checked(key, Kind::Text)?;
        Ok(self.find(key).and_then(|value| value.get_ref().as_str()))
    }

    /// A list of texts, each with its position.
    pub fn strings(&mut self, key: &'static str) -> Result<Option<Vec<Word<'a>>>, ScenarioError> {
        let Some(value) = self.get(key) else { return Ok(None) };
        let list = value.get_ref().as_array().ok_or_else(|| self.wrong(key, value, "a list of texts in quotes"))?;
        let word = |value: &'a Spanned<DeValue<'a>>| {
            let text = value.get_ref().as_str().ok_or_else(|| self.wrong(key, value, "a text in quotes"))?;
            Ok(Word { text, at: value.span().start })
        };
        list.iter().map(word).collect::<Result<_, _>>().map(Some)
    }

    /// A table inside this one.
    pub fn table(&mut self, key: &'static str) -> Result<Option<TableAt<'a>>, ScenarioError> {
        let Some(value) = self.get(key) else { return Ok(None) };
        let table = value.get_ref().as_table().ok_or_else(|| self.wrong(key, value, "a table"))?;
        Ok(Some(TableAt { at: value.span().start, table }))
    }

    /// Tables inside this one, written with double brackets.
    pub fn tables(&mut self, key: &'static str) -> Result<Vec<TableAt<'a>>, ScenarioError> {
        let Some(value) = self.get(key) else { return Ok(Vec::new()) };
        let allowed = "a list of tables, each written as [[...]]";
        let list = value.get_ref().as_array().ok_or_else(|| self.wrong(key, value, allowed))?;
        let table = |value: &'a Spanned<DeValue<'a>>| {
            let table = value.get_ref().as_table().ok_or_else(|| self.wrong(key, value, allowed))?;
            Ok(TableAt { at: value.span().start, table })
        };
        list.iter().map(table).collect()
    }

    /// Refuses keys that the caller has not asked for.
    pub fn done(self) -> Result<(), ScenarioError> {
        let Some((name, _)) = self.table.iter().find(|(name, _)| !self.known.contains(&name.get_ref().as_ref())) else {
            return Ok(());
        };
        let problem = format!("{}{} is no key: must be one of {}", self.prefix, name.get_ref(), self.known.join(", "));
        Err(self.text.error(name.span().start, &problem))
    }
}

/// A scalar without its position. `None` for lists, tables, times, and floats, which no kind of crate `params` admits.
fn plain(value: &DeValue<'_>) -> Option<Value> {
    match value {
        DeValue::Integer(i) => i64::from_str_radix(i.as_str(), i.radix()).ok().map(Value::Integer),
        DeValue::Boolean(b) => Some(Value::Boolean(*b)),
        DeValue::String(text) => Some(Value::String(text.to_string())),
        _ => None,
    }
}

/// A text of a list, and the byte at which it begins.
#[derive(Clone, Copy)]
pub(crate) struct Word<'a> {
    pub text: &'a str,
    pub at: usize,
}
