//! Errors of the codec.

use std::fmt;

/// Allowed values of a field.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Allowed {
    /// Only this value.
    Exactly(u64),
    /// Everything from `min` to `max`.
    Range {
        /// Smallest value.
        min: u64,
        /// Largest value.
        max: u64,
    },
    /// A rule that is not a range, as text.
    Rule(&'static str),
    /// The operation codes of each set of commands, as text.
    Opcodes([&'static str; 4]),
}

impl fmt::Display for Allowed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Allowed::Exactly(value) => write!(f, "{value} ({value:#x})"),
            Allowed::Range { min, max } => write!(f, "{min}..={max}"),
            Allowed::Rule(rule) => f.write_str(rule),
            Allowed::Opcodes(sets) => f.write_str(&sets.join(", ")),
        }
    }
}

/// Start of an offset.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Part {
    /// The bytes given.
    Message,
    /// The data segments of the message's DATA UPIUs, joined.
    Data,
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Part::Message => "the message",
            Part::Data => "its data",
        })
    }
}

/// Bytes that are no message of this model.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{field} at byte {offset} of {part} is {value} ({value:#x}), allowed: {allowed}")]
pub struct DecodeError {
    /// Name of the field.
    pub field: &'static str,
    /// Offset of the field.
    pub offset: usize,
    /// Start of `offset`.
    pub part: Part,
    /// Its value; for a field that is cut off, the number of bytes that are present.
    pub value: u64,
    /// The allowed values.
    pub allowed: Allowed,
}

/// A message that can not be encoded.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum EncodeError {
    /// A value does not fit its field.
    #[error("{field} is {value}, allowed: {allowed}")]
    Value {
        /// Name of the field.
        field: &'static str,
        /// Its value.
        value: u64,
        /// The allowed values.
        allowed: Allowed,
    },
    /// A command or response has data that the operation does not transfer.
    #[error("{op} goes with {allowed}")]
    Data {
        /// Name of the operation.
        op: &'static str,
        /// The data that it transfers.
        allowed: &'static str,
    },
}

impl EncodeError {
    /// Refuses a value above `max`.
    pub(super) fn limit(field: &'static str, value: u64, max: u64) -> Result<(), EncodeError> {
        if value <= max {
            return Ok(());
        }
        Err(EncodeError::Value { field, value, allowed: Allowed::Range { min: 0, max } })
    }
}
