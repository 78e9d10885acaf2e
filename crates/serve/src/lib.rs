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
//! - What the server does is decided by machines that are lent everything: bytes of clients, the wire, the wall's
//!   clock, a place for remarks ([`House`], [`Connection`], [`Caller`]). Sockets and threads stand around them
//!   ([`Server`]), or a simulation does, in which everything that can happen to a server happens on one seeded clock.
//! - Threads block, and there is no library: when an answer leaves is what the real clock is about, and between the
//!   engine and the socket stands nothing.
//! - A connection belongs to the epoch of the export in which its handshake ended. A power cut ends it; what it had
//!   sent reaches no later device.
//!
//! The smallest block is 4096 bytes, as that of a UFS device (`bMinAddrBlockSize`). Smaller requests get EINVAL: a
//! server that reads, changes and writes behind the host's back would make flash work that no phone has.

mod budget;
mod connection;
mod control;
mod house;
pub mod nbd;
mod notes;
mod opening;
mod outbox;
mod server;
mod stream;
mod wire;

pub use budget::Memory;
pub use connection::{Connection, Waits};
pub use control::{Caller, Command, Reply};
pub use house::{Exported, HANDSHAKE, House, Rules, STALLED};
pub use notes::Notes;
pub use opening::Places;
pub use outbox::{Lateness, Outbox};
pub use server::{Export, Handle, Options, ServeError, Server};
pub use wire::Wire;
