//! Superblocks of user data: their states, and the collection of those that hold little.

mod block_states;
pub mod blocks;
pub mod disturb;
pub mod gc;
pub mod heat;
pub mod pace;
pub mod slc;
