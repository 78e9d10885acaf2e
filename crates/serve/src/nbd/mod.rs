//! The NBD protocol, from bytes to bytes: it knows no transport and waits for nothing. Names and numbers are those of
//! the specification.

pub mod handshake;
pub mod input;
pub mod reply;
pub mod request;

use std::io;

use thiserror::Error;

/// The smallest block, and the unit of all requests.
pub const BLOCK: u64 = 4096;
/// The longest payload: of a read, of a write, of zeroes that have to be allocated.
pub const MAX_PAYLOAD: u64 = 32 << 20;

/// Why a connection has ended before its time.
#[derive(Debug, Error)]
pub enum Violation {
    /// It broke, or timed out.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// The client did what the protocol forbids.
    #[error("{0}")]
    Protocol(String),
}

impl Violation {
    pub(crate) fn told(what: impl Into<String>) -> Violation {
        Violation::Protocol(what.into())
    }
}

/// Error numbers of replies.
pub mod errno {
    pub const EPERM: u32 = 1;
    pub const EIO: u32 = 5;
    pub const EINVAL: u32 = 22;
    pub const ENOSPC: u32 = 28;
    pub const ENOTSUP: u32 = 95;
    pub const ESHUTDOWN: u32 = 108;
}

/// What the handshake is about: an export as clients see it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Offer {
    /// Its name; the first export also has the empty name.
    pub name: String,
    /// A line about it.
    pub description: String,
    /// Size in bytes.
    pub size: u64,
    /// Writes and trims are refused.
    pub read_only: bool,
}

impl Offer {
    /// The transmission flags.
    pub fn flags(&self) -> u16 {
        const HAS_FLAGS: u16 = 1;
        const READ_ONLY: u16 = 1 << 1;
        const FLUSH: u16 = 1 << 2;
        const FUA: u16 = 1 << 3;
        const TRIM: u16 = 1 << 5;
        const WRITE_ZEROES: u16 = 1 << 6;
        const DF: u16 = 1 << 7;
        const MULTI_CONN: u16 = 1 << 8;
        const FAST_ZERO: u16 = 1 << 11;
        let changes = if self.read_only { READ_ONLY } else { FUA | TRIM | WRITE_ZEROES | FAST_ZERO };
        HAS_FLAGS | FLUSH | DF | MULTI_CONN | changes
    }
}

pub(crate) fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes(bytes[at..at + 2].try_into().expect("two bytes"))
}

pub(crate) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

pub(crate) fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_be_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
}
