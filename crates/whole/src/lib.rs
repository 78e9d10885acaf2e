//! The whole in simulation.

mod judge;
mod page;
mod wire;
