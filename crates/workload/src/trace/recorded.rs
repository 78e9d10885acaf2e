//! Where in the block layer a trace was recorded. Linux merges neighbouring requests on their way to the scheduler, so
//! what was recorded above that has requests that no scheduler and no device has seen.

use serde::Serialize;

/// Where a trace was recorded.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Recorded {
    /// Above the merging of neighbours: queue events of blktrace.
    Above,
    /// Below it: requests as they were inserted or issued, or commands.
    Below,
    /// The file does not tell.
    #[default]
    Unknown,
}

impl Recorded {
    /// Every place.
    pub const ALL: [Recorded; 3] = [Recorded::Above, Recorded::Below, Recorded::Unknown];

    /// The name in files and reports.
    pub fn name(self) -> &'static str {
        match self {
            Recorded::Above => "above",
            Recorded::Below => "below",
            Recorded::Unknown => "unknown",
        }
    }

    /// What two traces have in common.
    pub(crate) fn and(self, other: Recorded) -> Recorded {
        if self == other { self } else { Recorded::Unknown }
    }
}
