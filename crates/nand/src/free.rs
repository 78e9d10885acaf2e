//! Work without cost, for experiments: what would performance be if this work took no time?

use crate::op::Cause;

/// Work whose operations take no time. They are still executed in order, and counted.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum FreeWork {
    /// None: every operation takes its time.
    #[default]
    Nothing,
    /// GC of data: its search for valid pages, its reads and its programs.
    Gc,
    /// The mapping table: its reads, its programs, and the search for valid pages, which reads it.
    Mapping,
}

impl FreeWork {
    /// All values.
    pub const ALL: [FreeWork; 3] = [FreeWork::Nothing, FreeWork::Gc, FreeWork::Mapping];

    /// Name for options and profiles.
    pub fn name(self) -> &'static str {
        match self {
            FreeWork::Nothing => "nothing",
            FreeWork::Gc => "gc",
            FreeWork::Mapping => "mapping",
        }
    }

    /// The value with this name.
    pub fn from_name(name: &str) -> Option<FreeWork> {
        FreeWork::ALL.into_iter().find(|free| free.name() == name)
    }

    /// True if operations of this cause take no time.
    #[inline]
    pub fn covers(self, cause: Cause) -> bool {
        match self {
            FreeWork::Nothing => false,
            FreeWork::Gc => matches!(cause, Cause::GcRead | Cause::GcWrite | Cause::ValidPageSearch),
            FreeWork::Mapping => matches!(cause, Cause::MapRead | Cause::MapWrite | Cause::ValidPageSearch),
        }
    }
}
