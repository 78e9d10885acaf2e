//! L2P segments that change ([`LiveSegments`]), and snapshots of them that share storage ([`SegmentState`]).
//!
//! An HP-UFS host writes its cached segments back to flash again and again, with a few changes in between. Each
//! writeback carries all 1024 entries. Copying these 4 KiB from cold memory to cold memory took more than a fifth of
//! the time of a simulated random write. So a writeback carries a [`SegmentState`] instead of a copy, and so does a
//! segment that the host loads again ([`SentSegment`]).
//!
//! # Contract
//! A `SegmentState` is a value. Its entries are those that the segment had when the state was taken; no later change of
//! the segment alters them. It can be kept for any time, also when the `LiveSegments` is gone. So a state in a command
//! is equivalent to 4 KiB of entries in a command: sender and receiver share storage, but no state that either could
//! observe. The property test `states_are_as_good_as_copies` compares every state with a copy.
//!
//! # How it works
//! Every change of a segment first stores the entry that it replaces. A state has its segment and a moment. Its entries
//! are the present entries of the segment, with the changes since that moment undone. Before a stored entry is
//! overwritten, each state that still needs it gets its own copy.
//!
//! # Example
//! ```
//! use ufsim_live::LiveSegments;
//!
//! let mut segments = LiveSegments::new(1);
//! segments.change(0, 7, 100);
//! let before = segments.state(0);
//! segments.change(0, 7, 200);
//! assert_eq!((before.entry(7), segments.get(0, 7)), (100, 200));
//! ```

mod pool;
mod segments;
mod sent;

use units::SEGMENT_ENTRIES;

pub use pool::{copy_segment, recycle_segment};
pub use segments::{LiveSegments, SegmentState};
pub use sent::SentSegment;

/// The entries of one L2P segment, packed as [`units::Ppa::pack`] does.
pub type SegmentImage = [u32; SEGMENT_ENTRIES as usize];
