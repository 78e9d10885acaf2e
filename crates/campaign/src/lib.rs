//! Power cuts: a bench that couples a driver and a device, a campaign of seeded cases over all presets, and
//! measurements of recovery.
//!
//! # Glossary
//! - **rig**: the bench ([`Rig`]). It couples the driver and the device directly, so a caller can reach into either
//!   while they run. `lab` runs the same two behind one interface, without such access.
//! - **case**: a random small device, workload and moments of power cuts, decided by one seed ([`Case`]).
//! - **sabotage**: a promise that the device breaks, to show that the campaign notices.
//!
//! # Contract
//! - A case is a function of its seed. A failing case is reported in the smallest form found.
//! - A broken promise panics inside the bench; [`Case::run`] turns that into a value.

mod case;
pub mod driven;
pub mod recovery;
mod rig;
mod rng;
mod versions;

pub use case::{Case, Failure, MOMENTS, Report, sabotage, sabotages};
pub use rig::{Defects, Expect, Outcomes, Rig};
pub use rng::Rng;
