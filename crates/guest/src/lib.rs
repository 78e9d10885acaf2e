//! A Linux kernel as the host of a simulated device, in simulated time.
//!
//! The kernel is an ordinary process (User Mode Linux). Its driver writes registers of a [`ufshci::Controller`] in this
//! process, and both take turns: one of them runs, the other waits. The clock is the simulation's: the guest jumps to
//! whatever happens next, its own timers or an event of the device.
//!
//! ```text
//!   fio -> file system -> block layer -> ufshcd --page, futex--> Controller -> Simulated (attach::Engine)
//!            '--------------- guest's process ---'   guest's memory <--data--'
//! ```
//!
//! # Contract
//! - Same kernel, files, command line, seed and device: the same run, to the byte and the nanosecond.
//! - Whichever side dies, the other ends within a second and says what has happened.
//! - Nothing that a guest writes makes this process fail, or reaches memory that is not the guest's.

mod boot;
mod medium;
mod page;
mod ram;
mod session;
mod shared;
mod turns;

pub use boot::{Boot, Cost, Guest, GuestError};
pub use medium::Simulated;
pub use session::{Booted, Session, SessionError, Stop};
pub use turns::{Ended, Left, Watch, serve};
