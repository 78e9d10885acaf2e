//! A bounded model check of driver, firmware and flash: the code itself, not a model of it.
//!
//! From a few starting points, every order is tried in which requests, ends of flash operations, responses, timers and
//! power cuts can follow each other, up to a number of requests and cuts. After each cut the device recovers; then
//! every address has to hold a version that it may hold. Whenever nothing is under way, everything has to be readable
//! as it was acknowledged.
//!
//! - [`system`]: driver and device without a clock, and what may happen next.
//! - [`oracle`]: what the addresses may hold.
//! - [`dice`]: what a power cut may leave.
//! - [`scope`]: the device, the bounds; [`start`]: the starting points.
//! - [`search`]: depth first, with the fingerprints of the states that have been seen ([`mod@fingerprint`]).
//!
//! # Why no model checker from elsewhere
//! `stateright` (0.31) is the one for Rust. Its next state is made of a borrowed state, so each step costs a copy; here
//! the last step from a state costs none. Its queues hold whole states, of which ours have tens of kilobytes; a search
//! depth first holds only those on its present way. It wants all actions of a state before it takes one, but how many
//! dice a power cut throws is known only when it has happened. And it has no notion of a panic as the finding. What
//! would be left to write is the system; the search itself has a hundred lines.

pub mod dice;
pub mod fingerprint;
pub mod oracle;
pub mod scope;
pub mod search;
pub mod start;
pub mod system;
