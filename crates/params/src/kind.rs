//! What a parameter may hold.

use toml::Value;

/// What a parameter may hold.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Words for people.
    Text,
    /// `true` or `false`.
    Switch,
    /// An integer of 32 bits, bounds included.
    Count { min: u32, max: u32 },
    /// The same, or a share of what the key `whole` counts ([`Share`]).
    Amount { min: u32, max: u32, whole: &'static str },
    /// An integer, bounds included.
    Wide { min: u64, max: u64 },
    /// An integer of 32 bits, bounds included, or one word.
    CountOr { min: u32, max: u32, word: &'static str },
    /// An integer of 32 bits, bounds included, or a list of up to `most` of them.
    Counts { min: u32, max: u32, most: usize },
    /// One of some integers.
    OneOf { numbers: &'static [u32] },
    /// One of some words.
    Choice { words: &'static [&'static str], docs: &'static [&'static str] },
    /// A list of at least one of some words.
    Choices { words: &'static [&'static str], docs: &'static [&'static str] },
}

impl Kind {
    /// Its name, as the list of all keys gives it.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Text => "text",
            Kind::Switch => "switch",
            Kind::Count { .. } | Kind::Amount { .. } | Kind::Wide { .. } | Kind::OneOf { .. } => "count",
            Kind::CountOr { .. } => "count_or",
            Kind::Counts { .. } => "counts",
            Kind::Choice { .. } => "choice",
            Kind::Choices { .. } => "choices",
        }
    }

    /// The allowed values, as an error message and the documentation name them.
    pub fn allowed(self) -> String {
        match self {
            Kind::Text => "a non-empty string".into(),
            Kind::Switch => "true or false".into(),
            Kind::Count { min, max } => format!("{min}..={max}"),
            Kind::Amount { min, max, whole } => format!("{min}..={max}, or a share of {whole} such as \"5 %\""),
            Kind::Wide { min, max } => format!("{min}..={max}"),
            Kind::CountOr { min, max, word } => format!("{min}..={max} or \"{word}\""),
            Kind::Counts { min, max, most } => format!("{min}..={max}, an integer or a list of up to {most}"),
            Kind::OneOf { numbers } => {
                let numbers: Vec<String> = numbers.iter().map(u32::to_string).collect();
                let (last, others) = numbers.split_last().expect("a choice");
                if others.is_empty() { last.clone() } else { format!("{} or {last}", others.join(", ")) }
            }
            Kind::Choice { words, .. } => format!("one of \"{}\"", words.join("\", \"")),
            Kind::Choices { words, .. } => format!("a list of \"{}\"", words.join("\", \"")),
        }
    }

    /// The allowed values for somebody who wrote `value`, which is none of them: if only its form is wrong, how to
    /// write it.
    pub fn allowed_not(self, value: &Value) -> String {
        let allowed = self.allowed();
        let number = matches!(self, Kind::Count { .. } | Kind::Wide { .. } | Kind::OneOf { .. });
        match self.meant(value) {
            Some(meant) if number => format!("{allowed}, an integer: write {meant}"),
            Some(meant) => format!("{allowed}: write {meant}"),
            None if number && !value.is_integer() => format!("{allowed}, an integer"),
            None => allowed,
        }
    }

    /// What a value in a wrong form stands for: a number or a truth in quotes, an integer with a fraction of 0.
    fn meant(self, value: &Value) -> Option<Value> {
        let meant = match value {
            Value::String(text) => text.trim().parse().ok().map(Value::Integer).or_else(|| {
                let truth: Option<bool> = text.trim().parse().ok();
                truth.map(Value::Boolean)
            })?,
            // A float in this range holds every integer exactly.
            Value::Float(number) if number.fract() == 0.0 && number.abs() < 9e15 => Value::Integer(*number as i64),
            _ => return None,
        };
        self.admits(&meant).then_some(meant)
    }

    /// True if `value` has the right type and lies in the range.
    pub fn admits(self, value: &Value) -> bool {
        let inside = |min: u64, max: u64| {
            value.as_integer().and_then(|n| u64::try_from(n).ok()).is_some_and(|n| (min..=max).contains(&n))
        };
        let known = |words: &[&str], value: &Value| value.as_str().is_some_and(|word| words.contains(&word));
        match self {
            Kind::Text => value.as_str().is_some_and(|s| !s.trim().is_empty()),
            Kind::Switch => value.is_bool(),
            Kind::Count { min, max } => inside(min.into(), max.into()),
            Kind::Amount { min, max, .. } => inside(min.into(), max.into()) || Share::of(value).is_some(),
            Kind::Wide { min, max } => inside(min, max),
            Kind::CountOr { min, max, word } => inside(min.into(), max.into()) || value.as_str() == Some(word),
            Kind::Counts { min, max, most } => {
                Counts::of(value).is_some_and(|counts| counts.len <= most && counts.lie_in(min, max))
            }
            Kind::OneOf { numbers } => numbers.iter().any(|&n| inside(n.into(), n.into())),
            Kind::Choice { words, .. } => known(words, value),
            Kind::Choices { words, .. } => {
                value.as_array().is_some_and(|list| !list.is_empty() && list.iter().all(|value| known(words, value)))
            }
        }
    }

    /// True if the value needs a source: words for people do not.
    pub fn needs_source(self) -> bool {
        self != Kind::Text
    }
}

/// The value of a [`Kind::CountOr`] parameter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CountOr {
    /// The integer.
    Count(u32),
    /// The word.
    Word(&'static str),
}

impl CountOr {
    /// The integer; `None` stands for the word.
    pub fn count(self) -> Option<u32> {
        match self {
            CountOr::Count(n) => Some(n),
            CountOr::Word(_) => None,
        }
    }
}

/// The value of a [`Kind::Counts`] parameter: at least one integer.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Counts {
    values: [u32; Counts::MOST],
    len: usize,
}

impl Counts {
    /// Length of the longest list of all parameters.
    pub const MOST: usize = 7;

    /// One integer, or a list of some; on a command line the list is a text such as `40,60` or `[40, 60]`.
    pub fn of(value: &Value) -> Option<Counts> {
        if let Some(text) = value.as_str().filter(|text| text.contains(',')) {
            let inside = text.trim().strip_prefix('[').and_then(|text| text.strip_suffix(']')).unwrap_or(text);
            let numbers: Option<Vec<i64>> = inside.split(',').map(|number| number.trim().parse().ok()).collect();
            return Counts::of(&numbers?.into());
        }
        let list = value.as_array().map_or(std::slice::from_ref(value), Vec::as_slice);
        let mut counts = Counts { values: [0; Counts::MOST], len: list.len() };
        if list.is_empty() || list.len() > Counts::MOST {
            return None;
        }
        for (to, value) in counts.values.iter_mut().zip(list) {
            *to = u32::try_from(value.as_integer()?).ok()?;
        }
        Some(counts)
    }

    fn lie_in(&self, min: u32, max: u32) -> bool {
        self.all().iter().all(|n| (min..=max).contains(n))
    }

    /// The integers.
    pub fn all(&self) -> &[u32] {
        &self.values[..self.len]
    }
}

impl From<Counts> for Value {
    fn from(counts: Counts) -> Value {
        match counts.all() {
            [one] => Value::from(*one),
            all => Value::from(all.to_vec()),
        }
    }
}

/// A part of something: `"12.5 %"`.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Share(f64);

impl Share {
    /// The share that a value names: a number above 0 and up to 100 before the sign.
    pub fn of(value: &Value) -> Option<Share> {
        let percent: f64 = value.as_str()?.trim().strip_suffix('%')?.trim_end().parse().ok()?;
        (percent > 0.0 && percent <= 100.0).then_some(Share(percent / 100.0))
    }

    /// So much of the whole.
    pub fn part(self, whole: f64) -> f64 {
        self.0 * whole
    }
}

/// The value of a parameter that no file names.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Default {
    /// `true` or `false`.
    Switch(bool),
    /// An integer.
    Count(u64),
    /// A word.
    Word(&'static str),
    /// A list of words.
    Words(&'static [&'static str]),
}

impl From<bool> for Default {
    fn from(on: bool) -> Default {
        Default::Switch(on)
    }
}

impl From<u64> for Default {
    fn from(count: u64) -> Default {
        Default::Count(count)
    }
}

impl From<&'static str> for Default {
    fn from(word: &'static str) -> Default {
        Default::Word(word)
    }
}

impl Default {
    /// As it would stand in a file.
    pub fn value(self) -> Value {
        match self {
            Default::Switch(on) => on.into(),
            Default::Count(n) => Value::Integer(n as i64),
            Default::Word(word) => word.into(),
            Default::Words(words) => words.to_vec().into(),
        }
    }
}

/// One parameter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Field {
    /// Name, with its unit as a suffix.
    pub key: &'static str,
    /// What it means.
    pub doc: &'static str,
    /// What it may hold.
    pub kind: Kind,
    /// Its value where a file does not name it; `None`: a file has to.
    pub default: Option<Default>,
    /// Where the default comes from.
    pub source: &'static str,
    /// It decides where things are on flash: a state that was made with one value can not be used with another.
    pub fixed: bool,
}

impl Field {
    /// What it means, and what each of its words does.
    pub fn meaning(&self) -> String {
        let (Kind::Choice { words, docs } | Kind::Choices { words, docs }) = self.kind else { return self.doc.into() };
        let small = |doc: &str| match doc.as_bytes() {
            [_, second, ..] if !second.is_ascii_uppercase() => doc[..1].to_lowercase() + &doc[1..],
            _ => doc.to_owned(),
        };
        let told = words.iter().zip(docs).map(|(word, doc)| format!(" \"{word}\": {}", small(doc)));
        self.doc.to_owned() + &told.collect::<String>()
    }
}

/// The unit that the suffix of a key names.
pub fn unit_of(key: &str) -> &'static str {
    const SUFFIXES: &[(&str, &str)] = &[
        ("_mib_per_s", "MiB/s"),
        ("_mib", "MiB"),
        ("_kib", "KiB"),
        ("_bytes", "bytes"),
        ("_us", "us"),
        ("_ns", "ns"),
        ("_ms", "ms"),
        ("_mv", "mV"),
        ("_ua", "uA"),
        ("_entries", "entries"),
        ("_superblocks", "superblocks"),
        ("_erases", "erases"),
    ];
    SUFFIXES.iter().find(|(suffix, _)| key.ends_with(suffix)).map_or("", |(_, unit)| unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_has_its_range() {
        let docs: &'static [&'static str] = &["A.", "B."];
        let amount = Kind::Amount { min: 2, max: 5, whole: "a.b" };
        let cases: [(Kind, &[&str], &[&str]); 9] = [
            (Kind::Text, &["'a'"], &["' '", "7"]),
            (Kind::Switch, &["true"], &["1", "'true'"]),
            (Kind::Count { min: 2, max: 5 }, &["2", "5"], &["1", "6", "-2", "2.5", "'2'"]),
            (amount, &["2", "5", "'7 %'", "'0.5%'", "'100 %'"], &["1", "'7'", "'0 %'", "'-1 %'", "'101 %'", "0.5"]),
            (Kind::Wide { min: 0, max: i64::MAX as u64 }, &["0", "9223372036854775807"], &["-1"]),
            (Kind::CountOr { min: 2, max: 5, word: "all" }, &["2", "'all'"], &["1", "'none'"]),
            (Kind::OneOf { numbers: &[1, 2, 4] }, &["1", "4"], &["3", "'4'"]),
            (Kind::Choice { words: &["a", "b"], docs }, &["'a'"], &["'c'", "0", "['a']"]),
            (Kind::Choices { words: &["a", "b"], docs }, &["['a']", "['b', 'a', 'b']"], &["'a'", "[]", "['c']"]),
        ];
        for (kind, right, wrong) in cases {
            let value = |text: &str| format!("v = {text}").parse::<toml::Table>().unwrap().remove("v").unwrap();
            right.iter().for_each(|text| assert!(kind.admits(&value(text)), "{kind:?}: {text}"));
            wrong.iter().for_each(|text| assert!(!kind.admits(&value(text)), "{kind:?}: {text}"));
        }
    }

    #[test]
    fn a_value_in_a_wrong_form_is_told_the_right_one() {
        let told = |kind: Kind, value: Value| kind.allowed_not(&value);
        let count = Kind::Count { min: 1, max: 100 };
        assert_eq!(told(count, "50".into()), "1..=100, an integer: write 50");
        assert_eq!(told(count, 50.0.into()), "1..=100, an integer: write 50");
        assert_eq!(told(count, 2.5.into()), "1..=100, an integer");
        assert_eq!(told(count, "500".into()), "1..=100, an integer");
        assert_eq!(told(count, f64::INFINITY.into()), "1..=100, an integer");
        assert_eq!(told(count, 500.into()), "1..=100");
        assert_eq!(told(Kind::Switch, "true".into()), "true or false: write true");
        assert_eq!(told(Kind::Switch, 1.into()), "true or false");
        let or = Kind::CountOr { min: 1, max: 9, word: "all" };
        assert_eq!(told(or, "5".into()), "1..=9 or \"all\": write 5");
        assert_eq!(told(or, "some".into()), "1..=9 or \"all\"");
        assert_eq!(told(Kind::Choice { words: &["a"], docs: &["A."] }, 5.into()), "one of \"a\"");
    }

    #[test]
    fn a_few_numbers_are_listed() {
        assert_eq!(Kind::OneOf { numbers: &[1, 2, 4] }.allowed(), "1, 2 or 4");
        assert_eq!(Kind::OneOf { numbers: &[4] }.allowed(), "4");
    }

    #[test]
    fn a_suffix_names_the_unit() {
        assert_eq!([unit_of("up_mib_per_s"), unit_of("cache_kib"), unit_of("tags")], ["MiB/s", "KiB", ""]);
    }

    #[test]
    fn one_integer_or_a_list_of_some() {
        let kind = Kind::Counts { min: 1, max: 90, most: 4 };
        let value = |text: &str| text.parse::<toml::Table>().expect("TOML")["a"].clone();
        for (text, counts) in [
            ("a = 40", &[40][..]),
            ("a = [40]", &[40]),
            ("a = [40, 60, 80]", &[40, 60, 80]),
            ("a = '40, 60'", &[40, 60]),
            ("a = '[40,60]'", &[40, 60]),
        ] {
            assert!(kind.admits(&value(text)), "{text}");
            assert_eq!(Counts::of(&value(text)).expect("counts").all(), counts);
        }
        for text in [
            "a = []",
            "a = [1, 2, 3, 4, 5]",
            "a = [0]",
            "a = 91",
            "a = [4, 'b']",
            "a = -1",
            "a = 1.5",
            "a = '40'",
            "a = '40,'",
        ] {
            assert!(!kind.admits(&value(text)), "{text}");
        }
        assert_eq!(Value::from(Counts::of(&value("a = [40, 60]")).expect("counts")), value("a = [40, 60]"));
    }
}
