//! Live devices as NBD exports.
//!
//! # Glossary
//! - **export**: a device that clients can connect to by its name ([`Export`]).
//! - **handshake**: client and server agree on an export and on the form of replies ([`nbd::handshake`]).
//! - **transmission**: requests and replies, in any order, after the handshake.
//! - **cookie**: the client's number of a request, which its reply repeats.
//! - **chunk**: a structured reply, or a piece of one.
//!
//! # Contract
//! - The protocol is that of the NBD specification (github.com/NetworkBlockDevice/nbd, doc/proto.md): fixed newstyle,
//!   with simple, structured and extended replies. TLS is left out, so there is TCP only on the loopback.
//! - A violation of the protocol ends that connection, with a reason in the log, and touches nothing else. A request
//!   that cannot be done gets the error that the specification names.
//! - The server is a few hundred lines of blocking threads, and no library: when an answer leaves is what the real
//!   clock is about, and between the engine and the socket stands one thread of the connection and nothing else.
//!
//! The smallest block is 4096 bytes, as that of a UFS device (`bMinAddrBlockSize`). Smaller requests get EINVAL: a
//! server that reads, changes and writes behind the host's back would make flash work that no phone has.

mod connection;
mod control;
pub mod nbd;
mod outbox;
mod server;
mod stream;

pub use control::{Command, Reply};
pub use server::{Export, Handle, Options, ServeError, Server};
