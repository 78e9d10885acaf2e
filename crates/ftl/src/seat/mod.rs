//! The seats of a mapping scheme: what the engine asks it, what it may answer, and what it is lent.
//!
//! A scheme decides, the engine acts. The engine asks by subject, one trait for each:
//!
//! | trait | asks |
//! |---|---|
//! | [`Scheme`] | what it is: shape of the table, memory, counters |
//! | [`Declared`] | which parameters and counters it has |
//! | [`Translate`] | where a unit is |
//! | [`Absorb`] | to take note of units that are on flash, and of trims |
//! | [`Placement`] | which superblocks recovery would have to scan |
//! | [`Flush`] | whether changes must be written to the table on flash, and to write them |
//! | [`Background`] | to write pieces of the table while commands run |
//! | [`Reclaim`] | which superblock to collect, and which of its pages are valid |
//! | [`Recover`] | what survives a loss of power, and the state after it |
//! | [`HostProtocol`] | to answer commands of the scheme's own protocol |
//!
//! A scheme that does not use a whole seat says so in one line, with a marker: [`NoPlacement`], [`NoFlush`],
//! [`NoBackground`], [`NoProtocol`]. The marker implements the trait for it.
//!
//! Module [`parts`](crate::parts) has what many schemes have in common, e.g. a whole table in DRAM.
//!
//! With every question the scheme is lent [`Core`], its view of the engine. `Core` has methods and no public field, so
//! its methods are all that a scheme can read and do. A scheme has no clock, no queue and no random numbers of its own.
//!
//! ```
//! # use ufsim_ftl::seat::Core;
//! fn allowed(core: &Core) -> u32 {
//!     core.blocks().free()
//! }
//! ```
//!
//! The engine's own state is private, and a scheme can not write what it is lent for reading:
//!
//! ```compile_fail,E0616
//! # use ufsim_ftl::seat::Core;
//! fn refused(core: &Core) -> u32 {
//!     core.blocks.free()
//! }
//! ```
//!
//! ```compile_fail,E0596
//! # use ufsim_ftl::seat::{Core, Stream};
//! fn refused(core: &mut Core) {
//!     core.blocks().open_next(Stream::Host);
//! }
//! ```
//!
//! A scheme sees the content of a map unit only if it can prove that the unit is in SRAM. [`Loaded`] is that proof. A
//! completed read of the unit's place on flash gives it, or the segment cache, or the directory for a unit that was
//! never written:
//!
//! ```
//! # use ufsim_ftl::seat::{Core, Loaded};
//! # use units::{Lpa, Ppa, MapUnit};
//! fn entry(core: &Core, loaded: &Loaded, lpa: Lpa) -> Option<Ppa> {
//!     core.view(loaded).entry(lpa)
//! }
//! ```
//!
//! A scheme can not make a proof itself:
//!
//! ```compile_fail,E0451
//! # use ufsim_ftl::seat::{Core, Loaded};
//! # use units::{Lpa, Ppa, MapUnit};
//! fn entry(core: &Core, unit: MapUnit, lpa: Lpa) -> Option<Ppa> {
//!     let loaded = Loaded { unit };
//!     core.view(&loaded).entry(lpa)
//! }
//! ```
//!
//! Nor can it get one from the simulator, which knows all map units. The directory proves that a unit was never
//! written:
//!
//! ```
//! # use ufsim_ftl::seat::Core;
//! # use units::{Lpa, Ppa, MapUnit};
//! fn entry(core: &Core, unit: MapUnit, lpa: Lpa) -> Option<Ppa> {
//!     let loaded = core.unwritten(unit)?;
//!     core.view(&loaded).entry(lpa)
//! }
//! ```
//!
//! ```compile_fail,E0624
//! # use ufsim_ftl::seat::Core;
//! # use units::{Lpa, Ppa, MapUnit};
//! fn entry(core: &Core, unit: MapUnit, lpa: Lpa) -> Option<Ppa> {
//!     let loaded = core.truth().in_group_buffer(unit);
//!     core.view(&loaded).entry(lpa)
//! }
//! ```
//!
//! A few methods answer without a proof. The documentation of each says for which purpose, and what has to be in SRAM
//! or read for it: [`Core::addresses`], [`Core::still_names`], [`Core::pages_named_by_bitmap`] and
//! [`Core::pages_known_valid`] for a valid page search, [`Core::restored_run`] for recovery, [`Core::cached_entry`] for
//! an entry cache, [`Core::unchanged_entry`] for a cache of translation pages. [`Core::still_names`] gives no entry; it
//! only tells whether a page that was found before is still mapped:
//!
//! ```
//! # use ufsim_ftl::seat::Core;
//! # use units::{Lpa, Ppa};
//! fn is_valid(core: &Core, lpa: Lpa, found: Ppa) -> bool {
//!     core.still_names(lpa, found)
//! }
//! ```
//!
//! ```compile_fail,E0624
//! # use ufsim_ftl::seat::Core;
//! # use units::{Lpa, Ppa};
//! fn is_valid(core: &Core, lpa: Lpa, found: Ppa) -> bool {
//!     core.truth().entry_when_found(lpa) == Some(found)
//! }
//! ```
//!
//! A scheme can not keep a proof that it was lent:
//!
//! ```compile_fail,E0507
//! # use ufsim_ftl::seat::{Core, Loaded};
//! fn keep(loaded: &Loaded) -> Loaded {
//!     *loaded
//! }
//! ```
//!
//! Content changes only with the proof of a program, which a scheme can not make either:
//!
//! ```
//! # use ufsim_ftl::seat::{Core, Programmed};
//! # use units::Lpa;
//! fn change(core: &mut Core, programmed: &Programmed, lpa: Lpa) {
//!     core.set_entry(programmed, lpa, None);
//! }
//! ```
//!
//! ```compile_fail,E0451
//! # use ufsim_ftl::seat::{Core, Piece, Programmed};
//! # use units::{Lpa, Ppa};
//! fn change(core: &mut Core, piece: Piece, place: Ppa, lpa: Lpa) {
//!     core.set_entry(&Programmed { piece, place }, lpa, None);
//! }
//! ```

use std::fmt::Debug;

mod absorb;
mod answers;
mod background;
mod declared;
mod flush;
mod placement;
mod protocol;
mod reclaim;
mod recover;
mod scheme;
mod translate;

pub use absorb::Absorb;
pub use answers::{Admission, Answer, Commit, HostRole, HostSays, LoadedFor, MapMemory, Resolved, Search, Table};
pub use background::{Background, NoBackground};
pub use declared::Declared;
pub use flush::{Flush, NoFlush};
pub use placement::{NoPlacement, Placement};
pub use protocol::{HostProtocol, NoProtocol};
pub use reclaim::Reclaim;
pub use recover::Recover;
pub use scheme::Scheme;
pub use translate::Translate;

pub use crate::core::{Core, MapPrograms};
pub use crate::knowledge::meta::{Meta, Placing};
pub use crate::knowledge::{ExpectedSet, Loaded, LoadedSet, MapView, Programmed, ProgrammedSet, Round, Sharing, Sight};
pub use crate::space::blocks::{Blocks, State, Stream};
pub use crate::space::gc::Victim;
pub use crate::sram::entry_cache::EntryCache;
pub use crate::sram::pool::Owner;
pub use crate::table::directory::{Directory, Piece};
pub use crate::table::log::{Change, Log, Logged};
pub use crate::table::map_units::{MapShape, MapUnits, Numbered, UnitRun, UnitSet};

/// A mapping scheme: a type that implements all seats.
pub trait Mapping:
    Scheme
    + Declared
    + Translate
    + Absorb
    + Placement
    + Flush
    + Background
    + Reclaim
    + Recover
    + HostProtocol
    + Explored
    + Debug
    + Send
    + 'static
{
}

impl<M> Mapping for M where
    M: Scheme
        + Declared
        + Translate
        + Absorb
        + Placement
        + Flush
        + Background
        + Reclaim
        + Recover
        + HostProtocol
        + Explored
        + Debug
        + Send
        + 'static
{
}

/// What the explorer of all interleavings needs: copies and hashes. Every type has it otherwise.
#[cfg(feature = "explore")]
pub trait Explored: Clone + std::hash::Hash {}
#[cfg(feature = "explore")]
impl<T: Clone + std::hash::Hash> Explored for T {}

/// What only the explorer of all interleavings needs.
#[cfg(not(feature = "explore"))]
pub trait Explored {}
#[cfg(not(feature = "explore"))]
impl<T> Explored for T {}
