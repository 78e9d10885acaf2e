//! The live device: the stack of the laboratory, with requests from outside and the data that they carry.
//!
//! # Glossary
//! - **engine**: driver, link and device with a clock, and the data of every unit ([`Engine`]). It knows no transport,
//!   no thread and no wall clock: it is told when a request arrives.
//! - **ask**: a request from outside ([`Ask`]); **answer**: its end, with the data of a read ([`Answer`]).
//! - **version**: what one write or trim has made of a unit; its number is the *stamp* that stands for the data inside
//!   the simulation (crate `ledger`).
//! - **pending**: a version that a power cut may still take. Its data is in memory.
//! - **store**: the data that is on the simulated flash, in memory or in a file ([`Store`]).
//! - **desk**: an engine with an inbox, through which others reach it ([`Desk`], [`Sender`]). It has no thread.
//! - **runner**: the thread of a desk ([`Runner`]). A simulation of the whole calls the desk itself.
//! - **epoch**: the number of power cuts. A host belongs to the epoch in which it began; after a cut its requests fail.
//! - **wall**: the clock of the world outside, which is lent ([`Wall`]).
//! - **clock**: `real`, in which an answer leaves when the simulated device would have given it, and never earlier; or
//!   `free`, as fast as it goes ([`Clock`]).
//!
//! # Contract
//! - Arrivals and the profile decide everything: the same arrivals at the same simulated times give the same digest.
//!   All events up to an arrival are handled before it.
//! - Data that was promised is kept. What the device has programmed is put into the store at once; what it still holds
//!   in SRAM is pending. So a power cut of the simulated device and the end of this process leave the same: what was on
//!   flash. Crate `ledger` checks every read against what was acknowledged.
//! - The smallest request is a unit of 4 KiB, as for the device. There is no read-modify-write behind the host's back:
//!   it would be flash work that no host has asked for.
//! - The block layer of the profile (`host_time`) is left out: a real host stands in its place.
//! - Whatever a client asks for ends in an answer, never in a panic.

mod arrivals;
mod ask;
mod clock;
mod contents;
mod desk;
mod engine;
mod hole;
mod inbox;
mod outside;
mod power;
mod promise;
mod relay;
mod runner;
mod save;
mod saving;
mod state_file;
mod stats;
mod store;
mod turns;
mod wall;

pub use arrivals::{ArrivalLog, ReplayError};
pub use ask::{Answer, Ask, Failure};
pub use clock::{Clock, Pace};
pub use desk::{Desk, Turn};
pub use engine::Engine;
pub use hole::Hole;
pub use inbox::{Cut, Gone, Mailbox, Sender};
pub use nand::Faults;
pub use outside::Relayed;
pub use promise::Promise;
pub use runner::{EndError, Runner};
pub use saving::WhileOff;
pub use state_file::SaveError;
pub use stats::{KindStats, Percentiles, Stats};
pub use store::disk::Disk;
pub use store::file::FileStore;
pub use store::memory::MemoryStore;
pub use store::rescue::{Checked, Rescued, check, rescue};
pub use store::{Page, Store, StoreError};
pub use wall::{Moment, RealWall, Wall};

/// Bytes of a unit.
pub const UNIT: usize = units::UNIT_BYTES as usize;
