//! How far a state is from being saved.

use ftl::Unpowered;
use lab::oracle::Oracle;

/// What is done with a device while it is off. It gets what the next host may expect, and gives the device back.
pub type WhileOff = Box<dyn FnOnce(Unpowered, Oracle) -> Unpowered + Send>;

/// How far a state is from being saved.
#[derive(Default)]
pub enum Saving {
    /// Nobody has asked for it.
    #[default]
    No,
    /// Requests under way have to end.
    Asked(WhileOff),
    /// The flush is under way.
    Flushing(WhileOff),
}

impl Saving {
    /// True if requests that come have to wait.
    pub fn is_wanted(&self) -> bool {
        !matches!(self, Saving::No)
    }
}
