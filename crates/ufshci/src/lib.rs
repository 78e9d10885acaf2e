//! A UFS host controller, and the part of a device that answers without flash.
//!
//! ```text
//!   driver --registers--> Controller --commands--> Medium (the simulated device on its link)
//!     ^  '-lists, data--> guest memory <--data--.      |
//!     '------interrupt line--- Controller <--answers---'
//! ```
//!
//! # Contract
//! - The controller has no transport, no thread and no clock. It is told the time of every write of a register, says
//!   when its next event is due, and tells the level of its interrupt line.
//! - Reading a register changes nothing, so a transport may keep copies of them.
//! - Whatever a driver writes, and whatever lies in guest memory, ends in an answer or an error as the standard says.
//!   Memory that is not the guest's is never touched.
//! - A command that the driver has given up is still at work in the medium. Its slot takes the next command only when
//!   the medium has let go of it, and nobody sees its answer.
//!
//! # Glossary
//! - **slot**: a place of the transfer request list; its number is the task tag for the medium.
//! - **UTRD**: a descriptor of that list. **UTMRD**: one of the task management list. **PRDT**: where data lies.
//! - **DME**: the UniPro attributes and services that UIC commands reach.
//!
//! Standards: JESD223D (UFSHCI 3.0), JESD220E (UFS 3.1), JESD220-3A (HPB 2.0), SPC-4, SBC-3. "Linux" is the driver
//! `ufshcd` of Linux 6.1.

mod controller;
mod counters;
mod description;
mod device;
mod medium;
mod memory;
pub mod registers;
mod slots;
mod task;
mod transfer;
mod uic;

pub use controller::Controller;
pub use counters::Counters;
pub use description::Description;
pub use medium::{Answer, Medium};
pub use memory::{GuestMemory, NotGuest};
