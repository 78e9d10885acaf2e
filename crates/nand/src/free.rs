//! Work whose cost is another one, for experiments: what would performance be if it took no time, or more?

use crate::op::Cause;

units::kinds! {
    /// Work whose operations take no time. They are still executed in order, and counted.
    pub FreeWork {
        /// Every operation takes its time.
        Nothing = "nothing";
        /// GC of data: its search for valid pages, its reads and its programs.
        Gc = "gc";
        /// The mapping table: its reads, its programs, and the search for valid pages, which reads it.
        Mapping = "mapping";
    }
}

units::kinds! {
    /// How long programs of metadata take.
    pub MetadataPrograms {
        /// tPROG for a page on every plane.
        Pages = "pages";
        /// tPROG for seven of eight units, as in the HP-UFS authors' prototype: its test for a program that goes on in
        /// the same page compares a unit with a channel.
        AsPublished = "as-published";
    }
}

params::params! {
    /// Questions that no device can answer: what would be without some of its work.
    pub WhatIfParams {
        /// Flash operations that take no time, though they are done and counted. A result says so.
        free: choice(FreeWork) = Nothing, "a device has to do all of its work";
        /// How long programs of metadata take. A result says so if it is not "pages".
        metadata_programs: choice(MetadataPrograms) = Pages, "the units of a page are programmed together";
        /// Copies beside those of GC, in per cent of the data from the host: pages at random places that hold data,
        /// each searched, read and programmed as GC does it. base-dftl, mini-page and msftl alone. A result says so.
        copies_percent: count(0 to 1000) = 0, "a device copies what its GC has to copy";
    }
}

impl FreeWork {
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
