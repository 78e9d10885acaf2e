//! Operations, their priorities and causes, and the events that drive them.

use units::{Ppa, Superblock};

/// Priority class of an operation in the queues of its die; the first is the most urgent. A waiting operation of a more
/// urgent class always goes first. A running operation is not interrupted,
/// unless [`Suspend`](crate::Suspend) says so.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Priority {
    /// A host waits for the data.
    HostRead,
    /// An operation waits for a part of the mapping.
    MapRead,
    /// Host data that has to be programmed.
    HostWrite,
    /// Garbage collection.
    Gc,
    /// Work that can wait.
    Background,
}

impl Priority {
    /// Number of classes.
    pub const COUNT: usize = 5;
    /// All classes, most urgent first.
    pub const ALL: [Priority; Priority::COUNT] =
        [Priority::HostRead, Priority::MapRead, Priority::HostWrite, Priority::Gc, Priority::Background];

    /// Position in [`Priority::ALL`].
    #[inline]
    pub fn index(self) -> usize {
        self as usize
    }
}

macro_rules! causes {
    ($($(#[doc = $about:literal])+ $Cause:ident = $name:literal,)+) => {
        /// The cause under which an operation is counted. It has no influence on timing.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub enum Cause {
            $($(#[doc = $about])+ $Cause,)+
        }

        impl Cause {
            /// Number of causes.
            pub const COUNT: usize = Cause::NAMES.len();
            /// All causes.
            pub const ALL: [Cause; Cause::COUNT] = [$(Cause::$Cause),+];
            /// The names used in reports, in the order of [`Cause::ALL`].
            pub const NAMES: &[&str] = &[$($name),+];
            /// What operations do that are counted under each, in the same order.
            pub const ABOUT: [&str; Cause::COUNT] = [$(concat!($($about),+)),+];
        }
    };
}

causes! {
    /// Data that a host asked for.
    HostRead = "host_read",
    /// Data that a host wrote.
    HostWrite = "host_write",
    /// Reading the mapping.
    MapRead = "map_read",
    /// Writing the mapping.
    MapWrite = "map_write",
    /// Garbage collection reads a valid page.
    GcRead = "gc_read",
    /// Garbage collection writes a valid page elsewhere.
    GcWrite = "gc_write",
    /// Garbage collection searches for valid pages.
    ValidPageSearch = "valid_page_search",
    /// Erasing.
    Erase = "erase",
    /// Recovery after a power loss.
    Recovery = "recovery",
}

impl Cause {
    /// Position in [`Cause::ALL`] and [`Cause::NAMES`].
    #[inline]
    pub fn index(self) -> usize {
        self as usize
    }

    /// The name used in reports.
    pub fn name(self) -> &'static str {
        Cause::NAMES[self.index()]
    }
}

/// What an operation does to the cells.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Kind {
    /// Senses a row.
    Read,
    /// Programs plane pages of a row.
    Program,
    /// Erases the block of every plane of a die.
    Erase,
}

impl Kind {
    /// Number of kinds.
    pub const COUNT: usize = 3;
    /// All kinds.
    pub const ALL: [Kind; Kind::COUNT] = [Kind::Read, Kind::Program, Kind::Erase];
    /// The names used in reports, in the order of [`Kind::ALL`].
    pub const NAMES: [&'static str; Kind::COUNT] = ["read", "program", "erase"];

    /// Position in [`Kind::ALL`] and [`Kind::NAMES`].
    #[inline]
    pub fn index(self) -> usize {
        self as usize
    }

    /// The name used in reports.
    pub fn name(self) -> &'static str {
        Kind::NAMES[self.index()]
    }
}

/// What an operation does, and where. Each operation works on one die.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Work {
    /// Reads units of one row. They may be unprogrammed.
    Read {
        /// First unit.
        ppa: Ppa,
        /// Units, at least one.
        units: u32,
    },
    /// Programs whole plane pages of one row.
    Program {
        /// First unit, the first one of a plane page.
        ppa: Ppa,
        /// Units including padding, a multiple of `units_per_page`.
        units: u32,
    },
    /// Erases the blocks that a superblock has on one die.
    Erase {
        /// Superblock.
        superblock: Superblock,
        /// Die.
        die: u32,
    },
}

impl Work {
    /// The kind of this work.
    #[inline]
    pub fn kind(&self) -> Kind {
        match self {
            Work::Read { .. } => Kind::Read,
            Work::Program { .. } => Kind::Program,
            Work::Erase { .. } => Kind::Erase,
        }
    }

    /// Units that pass the channel.
    #[inline]
    pub fn units(&self) -> u32 {
        match *self {
            Work::Read { units, .. } | Work::Program { units, .. } => units,
            Work::Erase { .. } => 0,
        }
    }
}

/// An operation for a die.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Op {
    /// What to do.
    pub work: Work,
    /// Its priority class.
    pub priority: Priority,
    /// The cause under which it is counted.
    pub cause: Cause,
    /// The submitter's own number, which [`Completed`](crate::Completed) gives back.
    pub token: u32,
}

/// Number of an operation in flight.
pub(crate) type Slot = u32;

/// What the firmware stores in the spare area of a unit.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Spare {
    /// The LPA of a data unit; in metadata superblocks a number that the device chooses. At most `u32::MAX - 1`.
    pub lpa: u32,
    /// Stands for the content of the unit: the number of the write that made it.
    pub stamp: u32,
    /// The low 32 bits of the sequence number of the change that made the content. For a unit that is no copy these are
    /// the low bits of its own number. (Other values are no error, but cost memory until the superblock is erased.) A
    /// copy has the version of its source.
    pub version: u32,
}

/// What a finished read found in a unit.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Sensed {
    /// The page is not programmed, or looks so because the power was cut when its program began.
    Blank,
    /// The page is programmed, but the unit has no content.
    Padding,
    /// The unit, or the whole read, cannot be corrected: its program failed or lost power, its block is half erased, or
    /// this read failed.
    Unreadable,
    /// The unit has content.
    Unit(Spare),
}

/// The end of a phase.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum NandEvent {
    /// The cell operation on this die finished.
    Die(u16),
    /// The transfer on this channel finished.
    Channel(u16),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indices_are_positions_in_the_lists() {
        for (n, cause) in Cause::ALL.into_iter().enumerate() {
            assert_eq!((cause.index(), cause.name()), (n, Cause::NAMES[n]));
        }
        for (n, kind) in Kind::ALL.into_iter().enumerate() {
            assert_eq!((kind.index(), kind.name()), (n, Kind::NAMES[n]));
        }
        for (n, priority) in Priority::ALL.into_iter().enumerate() {
            assert_eq!(priority.index(), n);
        }
    }

    #[test]
    fn operations_and_events_stay_small() {
        assert!(size_of::<Op>() <= 20, "an operation takes {} bytes", size_of::<Op>());
        assert_eq!(size_of::<NandEvent>(), 4);
    }
}
