//! The numbers of an app: those of its file in `apps/`, and those of its category for what the file leaves out.

use std::ops::RangeInclusive;
use std::path::Path;

use units::Nanos;

use crate::toml_reader::{ScenarioError, Section, TableAt, Text};
use crate::traced::Traced;

/// The apps that come with the program: name and text.
const EMBEDDED: &[(&str, &str)] = &[
    ("AP", include_str!("../../../apps/AP.toml")),
    ("CR", include_str!("../../../apps/CR.toml")),
    ("GI", include_str!("../../../apps/GI.toml")),
    ("FB", include_str!("../../../apps/FB.toml")),
    ("IG", include_str!("../../../apps/IG.toml")),
    ("TW", include_str!("../../../apps/TW.toml")),
    ("AB", include_str!("../../../apps/AB.toml")),
    ("FBM", include_str!("../../../apps/FBM.toml")),
    ("UB", include_str!("../../../apps/UB.toml")),
];

const CATEGORIES: &str = include_str!("../../../apps/categories.toml");

/// The categories of apps that a user opens.
const USER_CATEGORIES: &[&str] = &["game", "social", "utility"];

/// Name of each built-in app and the text of its file.
pub fn built_in() -> impl Iterator<Item = (&'static str, &'static str)> {
    EMBEDDED.iter().copied()
}

/// An app and its numbers.
#[derive(Clone, PartialEq, Debug)]
pub struct App {
    /// Short name, as in a scenario.
    pub name: String,
    /// What users call it.
    pub title: String,
    /// game, social, utility or service.
    pub category: String,
    /// Memory that it takes, in bytes.
    pub memory: u64,
    /// A launch when its process is gone.
    pub cold: Launch,
    /// A launch when its process is in the background.
    pub warm: Launch,
    /// Loading of a game: from the user's touch of a cold launch until the game takes input.
    pub loading: Option<Launch>,
    /// I/O in the foreground, after launch and loading.
    pub run: Run,
    /// Reads per second while it is in the background.
    pub background_reads_per_s: f64,
    /// Its requests in the foreground after launch and loading, if they come from a trace instead of `run`.
    pub traced: Option<Traced>,
}

/// A launch on a device that has all mappings at hand.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Launch {
    /// From the user's touch to the first frame.
    pub time: Nanos,
    /// Reads that the launch waits for.
    pub reads: u32,
}

/// I/O rates of an app in the foreground.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Run {
    /// Reads per second, averaged over a use.
    pub reads_per_s: f64,
    /// Reads in one tenth of a use divided by the reads in the tenth before.
    pub decay_per_tenth: f64,
    /// Writes per second.
    pub writes_per_s: f64,
    /// Units of a write.
    pub write_units: u32,
}

/// The numbers of one table. `None`: the table leaves the number out.
#[derive(Clone, Copy, Default)]
struct Numbers {
    memory_mib: Option<u64>,
    cold_ms: Option<f64>,
    cold_reads: Option<u64>,
    warm_ms: Option<f64>,
    warm_reads: Option<u64>,
    loading_ms: Option<f64>,
    loading_reads: Option<u64>,
    run_reads_per_s: Option<f64>,
    run_decay_per_tenth: Option<f64>,
    run_writes_per_s: Option<f64>,
    write_kib: Option<u64>,
    background_reads_per_s: Option<f64>,
}

const MS: RangeInclusive<f64> = 0.0..=600_000.0;
const READS: RangeInclusive<u64> = 0..=1_000_000;
const PER_S: RangeInclusive<f64> = 0.0..=10_000.0;

impl Numbers {
    fn read(section: &mut Section<'_>) -> Result<Numbers, ScenarioError> {
        Ok(Numbers {
            memory_mib: section.whole("memory_mib", 1..=65_536)?,
            cold_ms: section.number("cold_ms", MS)?,
            cold_reads: section.whole("cold_reads", READS)?,
            warm_ms: section.number("warm_ms", MS)?,
            warm_reads: section.whole("warm_reads", READS)?,
            loading_ms: section.number("loading_ms", MS)?,
            loading_reads: section.whole("loading_reads", READS)?,
            run_reads_per_s: section.number("run_reads_per_s", PER_S)?,
            run_decay_per_tenth: section.number("run_decay_per_tenth", 0.01..=1.0)?,
            run_writes_per_s: section.number("run_writes_per_s", PER_S)?,
            write_kib: section.whole("write_kib", 1..=512)?,
            background_reads_per_s: section.number("background_reads_per_s", PER_S)?,
        })
    }

    /// These numbers, completed by `other`.
    fn or(self, other: Numbers) -> Numbers {
        Numbers {
            memory_mib: self.memory_mib.or(other.memory_mib),
            cold_ms: self.cold_ms.or(other.cold_ms),
            cold_reads: self.cold_reads.or(other.cold_reads),
            warm_ms: self.warm_ms.or(other.warm_ms),
            warm_reads: self.warm_reads.or(other.warm_reads),
            loading_ms: self.loading_ms.or(other.loading_ms),
            loading_reads: self.loading_reads.or(other.loading_reads),
            run_reads_per_s: self.run_reads_per_s.or(other.run_reads_per_s),
            run_decay_per_tenth: self.run_decay_per_tenth.or(other.run_decay_per_tenth),
            run_writes_per_s: self.run_writes_per_s.or(other.run_writes_per_s),
            write_kib: self.write_kib.or(other.write_kib),
            background_reads_per_s: self.background_reads_per_s.or(other.background_reads_per_s),
        }
    }

    /// The app with these numbers. They must be complete but for those of loading, as the categories' tables are.
    fn app(self, name: &str, title: &str, category: &str) -> App {
        let missing = "categories.toml has every number";
        let launch = |ms: Option<f64>, reads: Option<u64>| Launch {
            time: milliseconds(ms.expect(missing)),
            reads: reads.expect(missing) as u32,
        };
        App {
            name: name.into(),
            title: title.into(),
            category: category.into(),
            memory: self.memory_mib.expect(missing) * units::MIB,
            cold: launch(self.cold_ms, self.cold_reads),
            warm: launch(self.warm_ms, self.warm_reads),
            loading: self.loading_ms.map(|ms| launch(Some(ms), Some(self.loading_reads.unwrap_or(0)))),
            run: Run {
                reads_per_s: self.run_reads_per_s.expect(missing),
                decay_per_tenth: self.run_decay_per_tenth.expect(missing),
                writes_per_s: self.run_writes_per_s.expect(missing),
                write_units: (self.write_kib.expect(missing) * 1024).div_ceil(units::UNIT_BYTES) as u32,
            },
            background_reads_per_s: self.background_reads_per_s.expect(missing),
            traced: None,
        }
    }
}

/// Converts decimal milliseconds, rounded to the nanosecond.
fn milliseconds(ms: f64) -> Nanos {
    Nanos((ms * 1e6).round() as u64)
}

impl App {
    /// A built-in app by its name.
    pub fn built_in(name: &str) -> Option<App> {
        let (name, text) = EMBEDDED.iter().find(|(known, _)| *known == name)?;
        Some(App::parse(text, name).expect("the built-in apps are right"))
    }

    /// Reads an app from a file of its own, as those in `apps/`; `origin` names the file in errors.
    ///
    /// # Errors
    /// Line and key of what is wrong.
    pub fn parse(text: &str, origin: &str) -> Result<App, ScenarioError> {
        let text = Text { origin, text };
        let parsed = text.parse()?;
        App::read(Section::new(text, "", TableAt { at: 0, table: parsed.get_ref() }), Path::new(""))
    }

    /// Reads an app from a table. Paths in it are relative to `directory`. A key that the table leaves out has the
    /// value of the built-in app of the same name, if there is one, else that of its category.
    pub(crate) fn read(mut section: Section<'_>, directory: &Path) -> Result<App, ScenarioError> {
        let name = section.string("name")?.ok_or_else(|| section.missing("name"))?;
        let base = EMBEDDED.iter().find(|(known, text)| *known == name && *text != section.text.text);
        let base = base.map(|(_, text)| known(name, text)).transpose()?;
        let (title, kind) = base.as_ref().map_or((name, None), |(b, _)| (b.title.as_str(), Some(b.category.as_str())));
        let title = section.string("title")?.unwrap_or(title);
        let category = section.string("category")?.or(kind).ok_or_else(|| section.missing("category"))?;
        if !USER_CATEGORIES.contains(&category) {
            let value = section.get("category").expect("just read");
            return Err(section.wrong("category", value, &format!("one of {}", USER_CATEGORIES.join(", "))));
        }
        let own = Numbers::read(&mut section)?.or(base.as_ref().map_or(Numbers::default(), |(_, numbers)| *numbers));
        if let (None, Some(_)) = (own.loading_ms, own.loading_reads) {
            return Err(section.missing("loading_ms"));
        }
        let mut app = own.or(category_numbers(category)).app(name, title, category);
        if app.loading.is_some_and(|loading| loading.time < app.cold.time) {
            // One of the two is in this table; the other may be the built-in app's.
            return Err(match (section.get("loading_ms"), section.get("cold_ms")) {
                (Some(value), _) => section.wrong("loading_ms", value, "at least cold_ms: the launch is part of it"),
                (None, Some(value)) => section.wrong("cold_ms", value, "at most loading_ms: it is part of the loading"),
                (None, None) => section.missing("cold_ms"),
            });
        }
        app.traced = Traced::read(&mut section, directory)?;
        // Sources of the numbers, for human readers.
        section.table("sources")?;
        section.table("assumed")?;
        section.done()?;
        Ok(app)
    }

    /// Background service `number`.
    pub(crate) fn service(number: u32) -> App {
        let name = format!("service-{number}");
        category_numbers("service").app(&name, "background service", "service")
    }

    /// The processes of a recording that are not its apps, as one app. It takes no memory of its own.
    pub(crate) fn others() -> App {
        let numbers = Numbers { cold_reads: Some(0), background_reads_per_s: Some(0.0), ..Numbers::default() };
        let app = numbers.or(category_numbers("service")).app("others", "the rest of the phone", "service");
        App { memory: 0, ..app }
    }

    /// True if it is a background service, which no user opens.
    pub fn is_service(&self) -> bool {
        self.category == "service"
    }
}

/// A built-in app, and the numbers of its file.
fn known(name: &str, text: &str) -> Result<(App, Numbers), ScenarioError> {
    let text = Text { origin: name, text };
    let parsed = text.parse()?;
    let numbers = Numbers::read(&mut Section::new(text, "", TableAt { at: 0, table: parsed.get_ref() }))?;
    Ok((App::parse(text.text, name)?, numbers))
}

fn category_numbers(category: &str) -> Numbers {
    let text = Text { origin: "categories.toml", text: CATEGORIES };
    let right = "the built-in categories are right";
    let parsed = text.parse().expect(right);
    let table = parsed.get_ref().iter().find(|(name, _)| name.get_ref() == category).expect(right).1;
    let table = table.get_ref().as_table().expect(right);
    Numbers::read(&mut Section::new(text, category, TableAt { at: 0, table })).expect(right)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// HPBvalve Table 1: cold ms, cold I/Os, warm ms, warm I/Os.
    #[test]
    fn the_files_have_the_numbers_of_table_1() {
        for (name, cold_ms, cold_reads, warm_ms, warm_reads) in [
            ("AP", 2188.6, 2164, 352.6, 250),
            ("CR", 668.4, 2879, 239.0, 217),
            ("UB", 563.0, 60, 366.4, 28),
            ("IG", 1245.1, 4224, 482.3, 349),
        ] {
            let app = App::built_in(name).unwrap();
            assert_eq!(app.cold, Launch { time: milliseconds(cold_ms), reads: cold_reads }, "{name}");
            assert_eq!(app.warm, Launch { time: milliseconds(warm_ms), reads: warm_reads }, "{name}");
        }
    }

    #[test]
    fn every_app_is_named_as_its_file_and_a_cold_launch_is_longer() {
        for (name, _) in built_in() {
            let app = App::built_in(name).unwrap();
            assert_eq!(app.name, name);
            assert!(app.cold.time > app.warm.time && app.cold.reads > app.warm.reads, "{name}");
        }
        assert!(App::built_in("WA").is_none());
    }

    /// Every number of every file has exactly one entry in `sources` or `assumed`.
    #[test]
    fn every_number_has_a_source() {
        for (name, text) in built_in() {
            check_sources(name, &text.parse().unwrap(), "");
        }
        let root: toml::Table = CATEGORIES.parse().unwrap();
        for category in ["game", "social", "utility", "service"] {
            let mut table = root[category].as_table().unwrap().clone();
            for explanation in ["sources", "assumed"] {
                table.insert(explanation.into(), root[explanation].clone());
            }
            check_sources(category, &table, &format!("{category}."));
        }
    }

    fn check_sources(name: &str, root: &toml::Table, prefix: &str) {
        let documented: Vec<String> = ["sources", "assumed"]
            .iter()
            .filter_map(|t| root.get(*t)?.as_table())
            .flat_map(|t| t.keys().filter(|k| k.starts_with(prefix)).cloned())
            .collect();
        let text = ["name", "title", "category", "sources", "assumed"];
        let keys: Vec<String> =
            root.keys().filter(|k| !text.contains(&k.as_str())).map(|k| format!("{prefix}{k}")).collect();
        for key in &keys {
            assert_eq!(documented.iter().filter(|t| *t == key).count(), 1, "{name}: {key}");
        }
        assert_eq!(documented.len(), keys.len(), "{name} explains {documented:?}, which it has not all");
    }

    #[test]
    fn errors_name_line_and_key() {
        for (text, expected) in [
            ("title = \"X\"\n", "x.toml: line 1: name is missing"),
            (
                "name = \"X\"\ncategory = \"bank\"\n",
                "line 2: category = \"bank\": must be one of game, social, utility",
            ),
            ("name = \"X\"\ncategory = \"game\"\n\nmemory_mib = 0\n", "line 4: memory_mib = 0: must be 1..=65536"),
            (
                "name = \"X\"\ncategory = \"game\"\ncold_ms = \"fast\"\n",
                "line 3: cold_ms = \"fast\": must be a number of 0..=600000",
            ),
            (
                "name = \"X\"\ncategory = \"game\"\nwrom_ms = 3\n",
                "line 3: wrom_ms is no key: must be one of name, title",
            ),
            ("name = \"X\"\ncategory = \"game\"\nloading_reads = 3\n", "loading_ms is missing"),
            ("name = \"X\"\ncategory = \"game\"\nloading_ms = 3\n", "line 3: loading_ms = 3: must be at least cold_ms"),
            ("name = \"CR\"\n\ncold_ms = 5_600\n", "line 3: cold_ms = 5_600: must be at most loading_ms"),
            ("name = \n", "x.toml: line 1: "),
        ] {
            let error = App::parse(text, "x.toml").unwrap_err().to_string();
            assert!(error.contains(expected), "{text}: {error}");
        }
    }
}
