//! Intrusive lists of numbered slots, for queues and orders of use. A slot is removed without a search. And an index
//! that finds numbers by numbers.
//!
//! - **slot**: a number from 0. The caller stores data about a slot in arrays of its own, or as a *value* in the list
//!   beside the links.
//! - **ring**: a list that ends where it begins, at its *anchor*, so linking and unlinking need no branch. A slot is in
//!   at most one ring of a [`Rings`].
//! - **oldest** and **newest**: the two ends of a ring. A queue adds at the newest end and removes at the oldest; in an
//!   order of use the oldest is the least recently used.
//!
//! [`Rings`] are several lists over the same slots. [`Lru`] is one list with the names of an order of use. After all
//! slots have been added once, nothing is allocated. Links are as narrow as the type of the slot numbers
//! ([`SlotNumber`]). [`Index`] finds the slot of a key. [`Bits`] is a set of numbers.
//!
//! ```
//! use ufsim_lists::Rings;
//!
//! let mut waiting: Rings<u16, 2> = Rings::new();
//! for slot in [4, 0, 2] {
//!     waiting.push_newest(1, slot);
//! }
//! waiting.remove(0);
//! waiting.move_all(1, 0);
//! assert_eq!(waiting.oldest_first(0).collect::<Vec<_>>(), [4, 2]);
//! assert!(waiting.is_empty(1));
//! ```

mod bits;
mod index;
mod lru;
mod number;
mod rings;

pub use bits::Bits;
pub use index::Index;
pub use lru::Lru;
pub use number::SlotNumber;
pub use rings::Rings;
