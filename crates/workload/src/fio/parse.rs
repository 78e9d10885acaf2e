//! Sections and lines of a job file, and of the files that it includes.

use std::path::PathBuf;
use std::sync::Arc;

use super::around::{Surroundings, beside};
use super::error::{ConfigError, Warning, shortened};
use super::iolog::{Log, Logs};
use super::options::{Distribution, Options, Outcome};
use crate::text_file::without_mark;

/// A section that is a job.
#[derive(Clone, Debug)]
pub(super) struct Job {
    pub name: String,
    /// Line of the section in the job file: files that are included have no sections.
    pub line: u64,
    pub options: Options,
    /// What it replays instead of making requests of its own.
    pub logs: Vec<Arc<Log>>,
}

impl Job {
    /// The log that a clone replays.
    pub(super) fn log_of(&self, clone: u32) -> Option<&Arc<Log>> {
        self.logs.get(clone as usize % self.logs.len().max(1))
    }
}

/// What a job file says.
#[derive(Clone, Debug)]
pub(super) struct Parsed {
    pub jobs: Vec<Job>,
    pub warnings: Vec<Warning>,
    /// The file with everything in its place that stands elsewhere, if there is anything.
    pub whole: Option<String>,
}

/// The comment, inside of a section, by which the job is run but not measured. fio ignores it.
const WARMUP: &str = "ufsim: warmup";

/// The word before the name of a file to include.
const INCLUDE: &str = "include";

/// Files inside of each other; more are a mistake.
const MOST_NESTED: usize = 16;

/// Bytes of all files that are included: each may be included twice by another, which doubles at every level.
const MOST_INCLUDED_BYTES: usize = 1 << 20;

enum Section {
    None,
    Global,
    Job,
}

struct Parser<'a> {
    around: &'a dyn Surroundings,
    /// The file that is read now and those that include it, the job file first.
    files: Vec<PathBuf>,
    /// Its name in messages.
    path: String,
    line: u64,
    section: Section,
    global: Options,
    parsed: Parsed,
    whole: String,
    included_bytes: usize,
    /// Something of the job stands elsewhere.
    depends: bool,
}

/// Reads a job file. Later `[global]` sections add to earlier ones and hold for the jobs below them, as in fio.
///
/// # Errors
/// Every [`ConfigError`] that does not need the device.
pub(super) fn parse(text: &str, path: &str, around: &dyn Surroundings) -> Result<Parsed, ConfigError> {
    let mut parser = Parser {
        around,
        files: vec![beside("", path)],
        path: path.into(),
        line: 0,
        section: Section::None,
        global: Options::default(),
        parsed: Parsed { jobs: Vec::new(), warnings: Vec::new(), whole: None },
        whole: String::new(),
        included_bytes: 0,
        depends: false,
    };
    parser.text(without_mark(text))?;
    parser.read_logs()?;
    parser.without_end();
    parser.with_shortened_requests();
    if parser.parsed.jobs.is_empty() {
        return Err(ConfigError::NoJobs { path: path.into() });
    }
    let whole = parser.depends.then_some(parser.whole);
    Ok(Parsed { whole, ..parser.parsed })
}

impl Parser<'_> {
    fn text(&mut self, text: &str) -> Result<(), ConfigError> {
        for (number, line) in text.lines().enumerate() {
            self.line = number as u64 + 1;
            self.line(line)?;
        }
        Ok(())
    }

    fn line(&mut self, original: &str) -> Result<(), ConfigError> {
        let line = original.trim();
        if let Some(comment) = line.strip_prefix([';', '#']) {
            self.keep(original);
            return self.comment(comment.trim());
        }
        // fio also ends a line at a comment sign in its middle.
        let line = line.split([';', '#']).next().unwrap_or_default().trim();
        if let Some(file) = line.strip_prefix(INCLUDE).filter(|rest| rest.starts_with(char::is_whitespace)) {
            return self.include(file.trim());
        }
        if line.is_empty() {
            self.keep(original);
            return Ok(());
        }
        if let Some(rest) = line.strip_prefix('[') {
            let name = rest.strip_suffix(']').map(str::trim).filter(|name| !name.is_empty());
            let name = name.ok_or_else(|| self.syntax(line, "[name]"))?;
            if self.files.len() > 1 {
                return Err(self.syntax(line, "no section, but options: the file is included into one"));
            }
            self.keep(original);
            self.open_section(name);
            return Ok(());
        }
        let (key, value) = line.split_once('=').map_or((line, ""), |(key, value)| (key.trim(), value.trim()));
        let Some(expanded) = self.expanded(key, value)? else {
            self.keep(original);
            return self.option(key, value);
        };
        self.keep(&format!("{key}={expanded}"));
        self.option(key, &expanded)
    }

    /// Adds a line to the whole file.
    fn keep(&mut self, line: &str) {
        self.whole.push_str(line);
        self.whole.push('\n');
    }

    fn open_section(&mut self, name: &str) {
        if name.eq_ignore_ascii_case("global") {
            self.section = Section::Global;
            return;
        }
        self.section = Section::Job;
        let options = self.global.clone();
        self.parsed.jobs.push(Job { name: name.into(), line: self.line, options, logs: Vec::new() });
    }

    /// Reads another file as if it stood here.
    fn include(&mut self, named: &str) -> Result<(), ConfigError> {
        let fail = |parser: &Parser, reason: String| {
            let (path, line, file) = (parser.path.clone(), parser.line, shortened(named));
            Err(ConfigError::Include { path, line, file, reason })
        };
        if matches!(self.section, Section::None) {
            return Err(self.syntax(INCLUDE, "[name] before the first option"));
        }
        let here = self.files.last().expect("at least the job file").display().to_string();
        let path = beside(&here, named);
        if self.files.contains(&path) {
            let way: Vec<String> = self.files.iter().chain([&path]).map(|p| p.display().to_string()).collect();
            return fail(self, format!("includes itself: {}", way.join(" -> ")));
        }
        if self.files.len() > MOST_NESTED {
            return fail(self, format!("more than {MOST_NESTED} files inside of each other"));
        }
        let text = match self.around.text(&path) {
            Ok(text) => text,
            Err(reason) => return fail(self, format!("{}: {reason}", path.display())),
        };
        self.included_bytes += text.len();
        if self.included_bytes > MOST_INCLUDED_BYTES {
            return fail(self, format!("the files included have more than {MOST_INCLUDED_BYTES} bytes"));
        }
        self.depends = true;
        let outer = (std::mem::replace(&mut self.path, path.display().to_string()), self.line);
        self.files.push(path);
        self.text(without_mark(&text))?;
        self.files.pop();
        (self.path, self.line) = outer;
        Ok(())
    }

    /// The value with every `${NAME}` replaced by what the environment has; `None` if there is none.
    fn expanded(&mut self, key: &str, value: &str) -> Result<Option<String>, ConfigError> {
        let (mut rest, mut expanded) = (value, String::new());
        while let Some((before, behind)) = rest.split_once("${") {
            let closed = behind.split_once('}').filter(|(name, _)| !name.is_empty());
            let (name, after) = closed.ok_or_else(|| self.syntax(value, "a variable as ${NAME}"))?;
            let Some(found) = self.around.variable(name) else {
                return Err(ConfigError::Variable {
                    path: self.path.clone(),
                    line: self.line,
                    key: shortened(key),
                    value: shortened(value),
                    name: shortened(name),
                });
            };
            if found.contains(char::is_control) || found.contains("${") {
                return Err(self.syntax(&found, "a variable of one line without another variable in it"));
            }
            // What is in the environment is in no file: without this a result could not be made again.
            let message = format!("${{{}}} is {:?} in the environment", shortened(name), shortened(&found));
            self.warn(key, message, false);
            expanded.push_str(before);
            expanded.push_str(&found);
            rest = after;
        }
        if rest.len() == value.len() {
            return Ok(None);
        }
        expanded.push_str(rest);
        if expanded.contains("${") {
            return Err(self.syntax(value, "a variable as ${NAME}"));
        }
        self.depends = true;
        Ok(Some(expanded.trim().to_owned()))
    }

    /// The options of the open section.
    fn options(&mut self) -> Option<&mut Options> {
        match self.section {
            Section::None => None,
            Section::Global => Some(&mut self.global),
            Section::Job => self.parsed.jobs.last_mut().map(|job| &mut job.options),
        }
    }

    fn comment(&mut self, comment: &str) -> Result<(), ConfigError> {
        if !comment.starts_with("ufsim:") {
            return Ok(());
        }
        let outside = self.syntax(comment, "\"; ufsim: warmup\" inside of a section");
        match self.options() {
            Some(options) if comment == WARMUP => {
                options.warmup = true;
                Ok(())
            }
            _ => Err(outside),
        }
    }

    fn option(&mut self, key: &str, value: &str) -> Result<(), ConfigError> {
        let (path, line) = (self.path.clone(), self.line);
        let outside = self.syntax(key, "[name] before the first option");
        let options = self.options().ok_or(outside)?;
        let outcome = options.set(key, value).map_err(|allowed| ConfigError::BadValue {
            path: path.clone(),
            line,
            key: key.into(),
            value: shortened(value),
            allowed,
        })?;
        if !matches!(outcome, Outcome::Unknown) {
            options.said.insert(key.to_owned(), value.to_owned());
        }
        match outcome {
            Outcome::Taken => {}
            Outcome::Remark(message, fio_can) => self.warn(key, message, fio_can),
            Outcome::Unknown => {
                return Err(ConfigError::UnknownOption { path, line, key: shortened(key) });
            }
        }
        if key == "read_iolog" {
            let here = self.files.last().expect("at least the job file").display().to_string();
            let options = self.options().expect("an option was set");
            options.read_iolog.iter_mut().for_each(|log| *log = beside(&here, &log.display().to_string()));
        }
        Ok(())
    }

    fn warn(&mut self, key: &str, message: String, fio_can: bool) {
        let included = (self.files.len() > 1).then(|| self.path.clone());
        self.parsed.warnings.push(Warning { included, line: self.line, key: key.into(), message, fio_can });
    }

    /// fio's random map gives each block once, and shortens requests that reach into what was given.
    fn with_shortened_requests(&mut self) {
        for job in &self.parsed.jobs {
            let o = &job.options;
            let mapped = o.rw.random && o.distribution == Distribution::Random && !o.norandommap;
            if mapped && o.smallest_block() != o.largest_block() {
                self.parsed.warnings.push(Warning {
                    included: None,
                    line: job.line,
                    key: if o.bssplit.is_some() { "bssplit" } else { "bs" }.into(),
                    message:
                        "with a random map fio shortens requests that reach into blocks of others, and makes more \
                              of them; here they keep their length (norandommap=1 is the same in both)"
                            .into(),
                    fio_can: true,
                });
            }
        }
    }

    /// Jobs that are to go on for a time that nobody says make one pass, as in fio.
    fn without_end(&mut self) {
        for job in &mut self.parsed.jobs {
            let options = &mut job.options;
            if options.time_based && options.runtime.is_none() {
                options.time_based = false;
                self.parsed.warnings.push(Warning {
                    included: None,
                    line: job.line,
                    key: "time_based".into(),
                    message: "needs runtime; without it the job makes one pass, as in fio".into(),
                    fio_can: false,
                });
            }
        }
    }

    /// Reads the logs that jobs replay, each once.
    fn read_logs(&mut self) -> Result<(), ConfigError> {
        let mut logs = Logs::new(self.around);
        for job in &mut self.parsed.jobs {
            for path in &job.options.read_iolog {
                let log = logs.read(path).map_err(|reason| ConfigError::Job {
                    path: self.path.clone(),
                    line: job.line,
                    job: job.options.name.clone().unwrap_or_else(|| job.name.clone()),
                    reason: format!("read_iolog: {reason}"),
                })?;
                job.logs.push(log);
            }
        }
        for (name, log) in logs.all() {
            self.depends = true;
            self.keep(&format!("; {name}: {} accesses, digest {:016x}", log.accesses.len(), log.digest));
        }
        Ok(())
    }

    fn syntax(&self, found: &str, expected: &'static str) -> ConfigError {
        ConfigError::Syntax { path: self.path.clone(), line: self.line, found: shortened(found), expected }
    }
}
