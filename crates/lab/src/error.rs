//! Why there is no result.

use thiserror::Error;

/// Why there is no result.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum LabError {
    /// Wrong input: names the field, its value and the allowed range.
    #[error("{0}")]
    Config(String),
    /// An option that does nothing here: names it and says what it is for.
    #[error("{0}")]
    Option(String),
    /// A file of an aged state that cannot be used: names it and says why.
    #[error("{0}")]
    State(String),
    /// A file that cannot be written: names it and says why.
    #[error("{0}")]
    Output(String),
    /// Our own bug: says what was found, when, and how to repeat it.
    #[error("simulation bug: {0}")]
    Bug(String),
    /// The caller asked to stop.
    #[error("interrupted")]
    Interrupted,
}

impl From<files::FileError> for LabError {
    fn from(error: files::FileError) -> LabError {
        LabError::Output(error.to_string())
    }
}

impl LabError {
    /// Wrong input, in the words of whoever has found it.
    pub(crate) fn config(what: impl ToString) -> LabError {
        LabError::Config(what.to_string())
    }
}
