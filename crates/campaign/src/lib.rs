//! Power cuts: a driver and a device on an open bench, a campaign of seeded cases over all presets, and what a recovery
//! costs.
//!
//! # Glossary
//! - **rig**: the bench ([`Rig`]). It couples the driver and the device directly, so that a caller can reach into
//!   either while they run. `lab` runs the same two behind one interface and lets nobody in.
//! - **case**: a random small device, workload and moments of power cuts, decided by one seed ([`Case`]).
//! - **sabotage**: a promise that the device is made to break, to show that the campaign notices.
//!
//! # Contract
//! - A case is a function of its seed; one that fails is reported as small as it was found.
//! - A broken promise panics inside of the bench; [`Case::run`] turns it into a value.

mod case;
pub mod driven;
pub mod recovery;
mod rig;
mod rng;
mod versions;

pub use case::{Case, Failure, MOMENTS, Report, sabotage, sabotages};
pub use rig::{Defects, Expect, Outcomes, Rig};
pub use rng::Rng;
