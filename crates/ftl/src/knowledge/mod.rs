//! What firmware knows of the mapping table and the other metadata on flash, as types.
//!
//! The simulator keeps the content of metadata pages in one place ([`Pages`]). Firmware may use a piece only if it has
//! read its page, or if the piece is in SRAM. So every access asks for a proof, and only this module makes proofs:
//!
//! | type | proves | made of |
//! |---|---|---|
//! | [`Expected`] | the directory says that the unit is at this place | the directory |
//! | [`Sight`] | the spare areas of these pages have been read | a completed read |
//! | [`Loaded`] | this copy of the map unit is in SRAM | an expected unit, and the sight of its mark at its place |
//! | [`PiecesRead`] | these flash units of metadata have been read | sights |
//! | [`Programmed`] | the piece is on flash | a completed program, or one that survived a power cut |
//!
//! [`nand::Completed`] comes only from crate `nand`, so all knowledge comes from flash operations that have been
//! charged. Content changes only with [`Programmed`]. Harmless shortcuts of the simulator are methods of [`Truth`],
//! each with its reason. Only the engine can call them.
//!
//! A proof names a place, and shows what was programmed there: an older copy, if that is what was read. Every read is
//! checked against the mark in the spare area. What the mark can not tell, an older copy of the right piece, only the
//! content tells.
//!
//! A load or a round may still be under way when newer content of the unit is programmed. Firmware programs that
//! content from its SRAM, so it hands it over to whoever waits ([`ExpectedSet::loaded`]).

mod cache;
mod history;
mod images;
pub mod meta;
mod own_pages;
mod pages;
mod proof;
mod round;
mod stored;
mod truth;

pub use cache::SegmentCache;
pub use own_pages::{Covered, RECORDS_PER_PAGE, Record, Snapshot, TrimRecord};
pub use pages::{MapView, Pages};
pub use proof::{
    Expected, ExpectedSet, JobRead, JobReads, Loaded, LoadedSet, PiecesRead, Programmed, ProgrammedSet, Sight,
};
pub use round::{Round, Sharing};
pub use stored::Sizes;
pub use truth::Truth;
