//! What the outside asks for, and what it gets.

use thiserror::Error;
use units::{Nanos, SimTime};

/// A request. Units have 4 KiB.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Ask {
    /// Reads `len` units.
    Read { first: u32, len: u32 },
    /// Writes as many units as there is data for. With `fua` it ends when they are on flash.
    Write { first: u32, data: Vec<u8>, fua: bool },
    /// Makes `len` units read as zeroes. With `fua` it ends when no power cut can bring the data back.
    Trim { first: u32, len: u32, fua: bool },
    /// Ends when everything that has ended before is on flash.
    Flush,
}

/// Kinds of requests that the engine makes by itself: indices into [`Ask::KINDS`].
pub(crate) const WRITE: usize = 1;
pub(crate) const FLUSH: usize = 3;

impl Ask {
    /// Names of the kinds, in the order of [`Ask::kind`].
    pub const KINDS: [&'static str; 4] = ["read", "write", "trim", "flush"];

    /// The kind: an index into [`Ask::KINDS`].
    pub fn kind(&self) -> usize {
        match self {
            Ask::Read { .. } => 0,
            Ask::Write { .. } => WRITE,
            Ask::Trim { .. } => 2,
            Ask::Flush => FLUSH,
        }
    }

    /// First unit and number of units; none for a flush.
    pub fn span(&self) -> (u32, u64) {
        match self {
            Ask::Read { first, len } | Ask::Trim { first, len, .. } => (*first, u64::from(*len)),
            Ask::Write { first, data, .. } => (*first, (data.len() / crate::UNIT) as u64),
            Ask::Flush => (0, 0),
        }
    }
}

/// Why a request has not been done.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
pub enum Failure {
    /// It reaches beyond the device, or asks for no unit, or for parts of units.
    #[error("out of range")]
    OutOfRange,
    /// A page could not be read, because flash was made to fail.
    #[error("unrecovered read error")]
    Unreadable,
    /// Too few spare blocks are left: the device only reads.
    #[error("the device is worn out and only reads")]
    ReadOnly,
    /// The file behind the device could not be written or read.
    #[error("the store failed")]
    Store,
    /// The file system of the store is full, or there are no numbers left for versions.
    #[error("no space")]
    NoSpace,
    /// The power was cut while it was under way.
    #[error("the power was cut")]
    PowerCut,
}

/// The end of a request.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Answer {
    /// The number that the asker gave it.
    pub token: u64,
    /// Data of a read; empty for others.
    pub result: Result<Vec<u8>, Failure>,
    /// When it ended, in simulated time.
    pub at: SimTime,
    /// How long it took, in simulated time.
    pub latency: Nanos,
}
