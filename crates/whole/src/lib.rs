//! The whole in simulation: server, connections, clients, disk and device in one process, on one seeded clock.
//!
//! The parts of the server are those of the program, down to the bytes of the protocol and of the store. Lent to them
//! are a clock (`process::Time`), wires in memory (`wire::Line`), a disk that fails as it is told
//! (`files::Simulated`) and a place for remarks. In every step one of them goes on, chosen by dice, or something
//! happens: a power cut, the death of the process between any two operations of the disk or within one, a full or a
//! failing disk, a client that goes, a client that misbehaves, a command.
//!
//! # Glossary
//! - **judge**: what clients may hold by what was promised to them; it knows nothing of the server (`judge::Judge`).
//! - **hole**: a promise of the server that is broken on purpose, to show that the simulation notices (`attach::Hole`).
//! - **line**: a connection. **link**: its end at the server. **rogue**: a client that misbehaves.
//! - **dead host**: one whose connection began before a power cut. What it sends afterwards reaches nobody.
//!
//! # Contract
//! - A case is a function of its seed. A failing case is reported in the smallest form found.
//! - In the end nothing disturbs any more; then every request is answered, and every unit holds what was promised, also
//!   after the server has ended and another one has opened its store.

mod case;
mod client;
mod judge;
mod page;
mod process;
mod report;
mod rogue;
mod wire;
mod world;

pub use attach::Hole;
pub use case::{Case, Failure, KINDS};
pub use report::Report;
