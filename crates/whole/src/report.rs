//! What a case has gone through.

use std::collections::BTreeMap;

/// Result of a case without failure.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Report {
    /// Name of the scheme.
    pub scheme: &'static str,
    /// Steps of the simulation.
    pub steps: u64,
    /// Requests of checking clients that have been answered.
    pub requests: u64,
    /// Units that were read and compared.
    pub checked: u64,
    /// Times at which the device lost its power, for whatever reason.
    pub cuts: u64,
    /// How servers and devices have ended, by kind.
    pub ends: BTreeMap<&'static str, u32>,
    /// What else has happened, by kind.
    pub faults: BTreeMap<&'static str, u32>,
}

impl Report {
    /// Something has happened.
    pub fn fault(&mut self, name: &'static str) {
        *self.faults.entry(name).or_insert(0) += 1;
    }

    /// A server or a device has ended.
    pub fn end(&mut self, name: &'static str) {
        *self.ends.entry(name).or_insert(0) += 1;
        self.cuts += 1;
    }
}
