//! A NAND flash array: durations and order of operations, and what can be read afterwards.
//!
//! # Glossary
//! - **unit**: 4 KiB, the smallest amount that can be read.
//! - **page** (plane page): the amount that one plane programs at once, `units_per_page` units.
//! - **row** (multi-plane page): the same page on every plane of one die.
//! - **stripe**: a row on every die of a superblock.
//! - **block**: the pages of a plane that are erased together. They are programmed in order, once per erase.
//! - **superblock**: one block on every plane of every die, or of a group of dies.
//! - **die**: runs one operation at a time, unless reads share it ([`Sharing`]). **Channel**: moves the data of one of
//!   its dies at a time.
//! - **tR**, **tPROG**, **tBERS**: duration of the cell phase of a read, a program, an erase.
//! - **page register**: holds the row that a die sensed last; of each plane, where planes are independent.
//! - **spare area**: bytes beside a unit in which the firmware stores its LPA; read together with the unit.
//! - **version**: number of the host write that made a content; a copy by garbage collection keeps it.
//! - **padding**: units without content at the end of a page.
//!
//! # Phases
//! An operation occupies its die from its first phase to its last one.
//! - read: tR (not if the page register has the row), then the transfer on the channel, possibly after a wait for it;
//!   both once more for each step of a read retry ([`Retry`]);
//! - program: the transfer on the channel, possibly after a wait for it, then tPROG;
//! - erase: tBERS.
//!
//! If transfers take no time, an operation has only its cell phase. When a die becomes free, it takes the waiting
//! operation with the most urgent [`Priority`]; within a priority, the order of submission decides. A channel serves
//! its dies in the order in which they ask. Urgent reads may interrupt a program or erase ([`Suspend`]).
//! Where reads share a die ([`Sharing`]), a waiting read starts as soon as its planes are free, and an operation
//! occupies the die beside others.
//!
//! # Contract
//! - The array has no clock. A call at time `now` adds the ends of the phases that it begins to `wakes`, and the caller
//!   has to call [`Nand::wake`] with each of them at its time. A die or channel has one outstanding end, and a die one
//!   more for each interruption of the operation that it runs, and one for each read that shares it. Ends at the same
//!   time are handled in the order in which they were added. When a transfer ends, the channel begins the transfer of
//!   the next die before the old die continues.
//! - The rules of flash are checked when an operation is submitted. A page is programmed once per erase, after the page
//!   before it, and not while the erase of its block is queued or running. Programs of a block, and its erase after
//!   them, must also run in the order of submission; if a priority lets a later one overtake, that fails when it
//!   finishes. Breaking a rule is a bug of the firmware and panics.
//! - The content of flash is given only for a [`Completed`] read, which only [`Nand::wake`] makes. [`Nand::observe`] is
//!   for observers outside the device.
//! - A unit can be read from the end of its program to the end of the next erase of its block. A read of anything else
//!   is no error, because an address may come from a host; it gives no spare.
//! - A power cut ([`Nand::power_cut`]) can leave half written pages and half erased blocks. Operations fail at random
//!   with the rates of [`Faults`]; by default none fails. [`Nand::sensed`] gives what a read found. An erase that
//!   finishes repairs everything.
//!
//! # Example
//! ```
//! use ufsim_nand::*;
//! use units::{Nanos, Ppa, Seq, SimTime};
//!
//! let geometry = Geometry {
//!     channels: 2,
//!     dies_per_channel: 1,
//!     superblock_dies: 2,
//!     planes: 1,
//!     units_per_page: 4,
//!     word_line_pages: 1,
//!     pages_per_block: 16,
//!     data_superblocks: 4,
//!     meta_superblocks: 1,
//! };
//! let us = Nanos::from_micros;
//! let slc = CellTiming { read: us(25), program: us(150), erase: us(5_000) };
//! let tlc = CellTiming { read: us(60), program: us(550), erase: us(5_000) };
//! let timing = Timing { channel_bytes_per_us: 1024, page_register: true, ..Timing::of(slc, tlc) };
//! let mut array = Nand::new(geometry, timing);
//! let mut wakes = Vec::new();
//!
//! // Three units and one unit of padding: 16 us on the channel, then 550 us for the cells.
//! let unit = |lpa, seq| Some(Spare { lpa, stamp: 7, version: seq });
//! let work = Work::Program { ppa: Ppa(0), units: 4 };
//! let op = Op { work, priority: Priority::HostWrite, cause: Cause::HostWrite, token: 1 };
//! let spares = [unit(30, 100), unit(31, 101), unit(32, 102), None];
//! array.submit_program(SimTime::START, op, &spares, Seq(100), &mut wakes);
//!
//! let (end, event) = wakes.remove(0);
//! assert_eq!((end, event), (SimTime(16_000), NandEvent::Channel(0)));
//! assert_eq!(array.wake(end, event, &mut wakes), None);
//! let (end, event) = wakes.remove(0);
//! assert_eq!((end, event), (SimTime(566_000), NandEvent::Die(0)));
//! assert_eq!(array.wake(end, event, &mut wakes).map(|done| done.token()), Some(1));
//!
//! // The firmware learns what a unit holds by reading it: tR, then 8 us on the channel.
//! let work = Work::Read { ppa: Ppa(2), units: 2 };
//! let op = Op { work, priority: Priority::HostRead, cause: Cause::HostRead, token: 2 };
//! array.submit(end, op, &mut wakes);
//! let (end, event) = wakes.remove(0);
//! assert_eq!(array.wake(end, event, &mut wakes), None);
//! let (end, event) = wakes.remove(0);
//! let done = array.wake(end, event, &mut wakes).expect("the transfer is the last phase of a read");
//! assert_eq!(end, SimTime(566_000 + 60_000 + 8_000));
//! assert_eq!(array.spare(&done, 0), unit(32, 102));
//! assert_eq!(array.unit_seq(&done, 0), Seq(102));
//! assert_eq!(array.spare(&done, 1), None);
//! assert_eq!(array.sensed(&done, 1), Sensed::Padding);
//! assert!(array.idle());
//! ```

mod completed;
mod counters;
mod cut;
mod fault;
mod free;
mod geometry;
mod lanes;
mod loading;
mod nand;
mod op;
mod retry;
mod state;
mod stored;
mod suspend;
mod timeline;
mod timing;
mod usage;
mod versions;
mod waits;

pub use completed::Completed;
pub use counters::Counters;
pub use cut::CutProgram;
pub use fault::{FaultParams, Faults};
pub use free::{FreeWork, MetadataPrograms, WhatIfParams};
pub use geometry::{CellType, Geometry, GeometryParams, Layout, Place, SuperblockParams};
pub use lanes::Sharing;
pub use nand::{Blind, Nand};
pub use op::{Cause, Kind, NandEvent, Op, Priority, Sensed, Spare, Work};
pub use retry::{Retry, RetryParams};
pub use suspend::{Suspend, SuspendParams};
pub use timing::{ByPage, CellTiming, PageTimes, Timing, TimingParams};
pub use usage::{Resource, Usage};
pub use waits::Wait;

params::params! {
    /// Flash: shape and cell times.
    pub NandParams {
        with geometry: GeometryParams;
        with timing: TimingParams;
        with suspend: SuspendParams;
        with retry: RetryParams;
    }
}
