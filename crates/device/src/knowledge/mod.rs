//! What firmware knows of the mapping table and the other metadata on flash, as types.
//!
//! The simulator keeps what stands in metadata pages in one place ([`Pages`]). Firmware may look at it only if it has
//! read the page, or if the piece is in SRAM. So every way to it asks for a proof, and only this module makes proofs:
//!
//! | type | proves | is made of |
//! |---|---|---|
//! | [`Expected`] | the directory says that the unit stands there | the directory |
//! | [`Loaded`] | the map unit is in SRAM | an expected unit and a completed read of its place |
//! | [`PiecesRead`] | these flash units of metadata have been read | completed reads |
//! | [`Programmed`] | the piece is on flash | a completed program, or one that survived a power loss |
//!
//! [`nand::Completed`] comes from crate `nand` and from nowhere else, so all knowledge goes back to flash operations
//! that have been charged. Content changes only with [`Programmed`]. Shortcuts of the simulator that are harmless are
//! methods of [`Truth`], each with the reason. Only the engine can ask it.
//!
//! A load or a round may still be under way when a newer content of the unit is programmed. Firmware has programmed
//! that content from its SRAM, so it would hand it over to whoever waits; the simulator shows the newest content.

mod cache;
mod pages;
mod proof;
mod round;
mod stored;
mod truth;

pub use cache::SegmentCache;
pub use pages::{MapView, Pages, Record, Snapshot, TrimRecord};
pub use proof::{Expected, ExpectedSet, JobRead, JobReads, Loaded, LoadedSet, PiecesRead, Programmed, ProgrammedSet};
pub use round::{Round, Sharing};
pub use truth::Truth;
