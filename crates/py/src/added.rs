//! Mapping schemes of other crates: one line for each.

/// Adds them, before anybody asks which schemes there are.
pub fn add() {}
