//! Sections and lines of a job file.

use super::error::{ConfigError, Warning, shortened};
use super::options::{Options, Outcome};

/// A section that is a job.
#[derive(Clone, Debug)]
pub(super) struct Job {
    pub name: String,
    pub line: u64,
    pub options: Options,
}

/// What a job file says.
#[derive(Clone, Debug)]
pub(super) struct Parsed {
    pub jobs: Vec<Job>,
    pub warnings: Vec<Warning>,
}

/// The comment, inside of a section, by which the job is run but not measured. fio ignores it.
const WARMUP: &str = "ufsim: warmup";

enum Section {
    None,
    Global,
    Job,
}

struct Parser<'a> {
    path: &'a str,
    line: u64,
    section: Section,
    global: Options,
    parsed: Parsed,
}

/// Reads a job file. Later `[global]` sections add to earlier ones and hold for the jobs below them, as in fio.
///
/// # Errors
/// Every [`ConfigError`] that does not need the device.
pub(super) fn parse(text: &str, path: &str) -> Result<Parsed, ConfigError> {
    let mut parser = Parser {
        path,
        line: 0,
        section: Section::None,
        global: Options::default(),
        parsed: Parsed { jobs: Vec::new(), warnings: Vec::new() },
    };
    for (number, line) in text.lines().enumerate() {
        parser.line = number as u64 + 1;
        parser.line(line.trim())?;
    }
    if parser.parsed.jobs.is_empty() {
        return Err(ConfigError::NoJobs { path: path.into() });
    }
    Ok(parser.parsed)
}

impl Parser<'_> {
    fn line(&mut self, line: &str) -> Result<(), ConfigError> {
        if let Some(comment) = line.strip_prefix([';', '#']) {
            return self.comment(comment.trim());
        }
        // fio also ends a line at a comment sign in its middle.
        let line = line.split([';', '#']).next().unwrap_or_default().trim();
        if line.is_empty() {
            return Ok(());
        }
        if let Some(rest) = line.strip_prefix('[') {
            let name = rest.strip_suffix(']').map(str::trim).filter(|name| !name.is_empty());
            return match name {
                Some(name) => {
                    self.open_section(name);
                    Ok(())
                }
                None => Err(self.syntax(line, "[name]")),
            };
        }
        let (key, value) = line.split_once('=').unwrap_or((line, ""));
        self.option(key.trim(), value.trim())
    }

    fn open_section(&mut self, name: &str) {
        if name.eq_ignore_ascii_case("global") {
            self.section = Section::Global;
            return;
        }
        self.section = Section::Job;
        self.parsed.jobs.push(Job { name: name.into(), line: self.line, options: self.global.clone() });
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
        let (path, line) = (self.path, self.line);
        let outside = self.syntax(key, "[name] before the first option");
        let options = self.options().ok_or(outside)?;
        let outcome = options.set(key, value).map_err(|allowed| ConfigError::BadValue {
            path: path.into(),
            line,
            key: key.into(),
            value: shortened(value),
            allowed,
        })?;
        match outcome {
            Outcome::Taken => {}
            Outcome::Remark(message, changes_requests) => {
                self.parsed.warnings.push(Warning { line, key: key.into(), message, changes_requests });
            }
            Outcome::Unknown => {
                return Err(ConfigError::UnknownOption { path: path.into(), line, key: shortened(key) });
            }
        }
        Ok(())
    }

    fn syntax(&self, found: &str, expected: &'static str) -> ConfigError {
        ConfigError::Syntax { path: self.path.into(), line: self.line, found: shortened(found), expected }
    }
}
