//! Power cuts: a bench that couples a driver and a device, a campaign of seeded cases over all presets, and
//! measurements of recovery.
//!
//! # Glossary
//! - **rig**: the bench ([`Rig`]): the stack of `lab`, open to a caller that reaches into driver and device while they
//!   run.
//! - **ledger**: knows what each unit may hold, also after a power cut (crate `ledger`).
//! - **case**: a random device, workload and moments of power cuts, decided by one seed ([`Case`]).
//! - **script**: a case in full: the device, and the **acts** that happen one after the other.
//! - **moment**: what the device was doing at a cut ([`MOMENTS`]); **circumstance**: what else was going on
//!   ([`CIRCUMSTANCES`]).
//! - **sabotage**: a promise that the device breaks, to show that the campaign notices.
//!
//! # Contract
//! - A case is a function of its seed. A failing case is reported in the smallest form found.
//! - A broken promise panics inside the bench; [`Case::run`] turns that into a value.

mod case;
mod player;
pub mod recovery;
mod report;
mod rig;
mod rng;
mod script;
mod shrink;
mod text;

pub use case::{Case, Failure, PLAIN, Reduced, message, quietly, sabotage, sabotages};
pub use report::{CIRCUMSTANCES, MOMENTS, Report};
pub use rig::{Defects, Expect, Outcomes, Rig};
pub use rng::Rng;
