//! What can be wrong with a job file, and what is only worth a warning.

/// What is wrong with a job file.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ConfigError {
    /// A line that is neither section, option nor comment.
    #[error("{path}:{line}: {found:?} is not understood; expected {expected}")]
    Syntax {
        /// The job file.
        path: String,
        /// Line number, from 1.
        line: u64,
        /// The line, shortened.
        found: String,
        /// What a line may be here.
        expected: &'static str,
    },
    /// An option that fio does not have either.
    #[error("{path}:{line}: unknown option {key:?}{}", super::known::meant(key))]
    UnknownOption {
        /// The job file.
        path: String,
        /// Line number, from 1.
        line: u64,
        /// The option.
        key: String,
    },
    /// A value outside of what is allowed.
    #[error("{path}:{line}: {key}={value:?} is not allowed; allowed: {allowed}")]
    BadValue {
        /// The job file.
        path: String,
        /// Line number, from 1.
        line: u64,
        /// The option.
        key: String,
        /// Its value, shortened.
        value: String,
        /// The allowed range or forms.
        allowed: &'static str,
    },
    /// A file to include that is not there, or may not be.
    #[error("{path}:{line}: include {file}: {reason}")]
    Include {
        /// The job file.
        path: String,
        /// Line number, from 1.
        line: u64,
        /// The file to include, as it is written there.
        file: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A variable that the environment has not got.
    #[error("{path}:{line}: {key}={value:?}: the environment has no variable {name:?}; set it")]
    Variable {
        /// The job file.
        path: String,
        /// Line number, from 1.
        line: u64,
        /// The option.
        key: String,
        /// Its value, shortened.
        value: String,
        /// The variable.
        name: String,
    },
    /// A file without a job.
    #[error("{path}: no job: expected at least one section besides [global]")]
    NoJobs {
        /// The job file.
        path: String,
    },
    /// Options that do not make a job.
    #[error("{path}:{line}: job {job:?}: {reason}")]
    Job {
        /// The job file.
        path: String,
        /// Line of the section, from 1.
        line: u64,
        /// The job.
        job: String,
        /// What is missing or does not fit together.
        reason: String,
    },
    /// Files that do not fit on the device.
    #[error(
        "{path}:{line}: job {job:?} needs bytes {begin} to {end} of the device, which has {capacity} \
         ({capacity_units} units of 4 KiB)"
    )]
    BeyondDevice {
        /// The job file.
        path: String,
        /// Line of the section, from 1.
        line: u64,
        /// The job.
        job: String,
        /// Where its file begins.
        begin: u64,
        /// Where its file ends.
        end: u64,
        /// Bytes of the device.
        capacity: u64,
        /// The same in units.
        capacity_units: u32,
    },
}

/// An option that is accepted, but does not do here what it does in fio, or whose value stands elsewhere.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Warning {
    /// The file that the job file includes, if the option stands there.
    pub included: Option<String>,
    /// Line of the file, from 1.
    pub line: u64,
    /// The option.
    pub key: String,
    /// What happens instead.
    pub message: String,
    /// Whether fio itself, on a simulated device in `ufsim linux`, does what the option says.
    pub fio_can: bool,
}

impl std::fmt::Display for Warning {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if let Some(file) = &self.included {
            write!(f, "{file}: ")?;
        }
        write!(f, "line {}: option {:?}: {}", self.line, self.key, self.message)?;
        if self.fio_can { f.write_str("; ufsim linux runs fio itself") } else { Ok(()) }
    }
}

/// Text fit for a one-line message.
pub(super) fn shortened(text: &str) -> String {
    const LIMIT: usize = 60;
    match text.char_indices().nth(LIMIT) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}...", &text[..end]),
    }
}
