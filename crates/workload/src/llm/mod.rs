//! A language model on a phone whose weights do not fit into memory: they are read from flash as each token needs them.
//!
//! # Glossary
//! - **block**: attention and feed-forward part of one layer; **neuron**: an inner unit of the feed-forward part.
//! - **bundle**: the rows of a neuron's matrices that lie on flash, up and down (Ripple, arXiv 2410.19274).
//! - **active**: needed for this token. **run**: active bundles that lie side by side in the file.
//! - **step**: one layer of one token: its bundles are read, then it is computed.
//! - **loading**: what stays in memory is read in order before the first token.
//!
//! # Contract
//! - One description and one seed give one sequence of reads. Nothing is drawn but which bundles are active, where a
//!   file of an aged volume lies, and nothing depends on the device but the moments.
//! - A layer is computed when the one before it is and all its reads have completed. Reads of a layer are issued when
//!   it is next, or `prefetch_layers` earlier.
//! - Threads take processor time for each read that they issue, one read after another, and have a number of reads
//!   outstanding each. A mapped file has one fault outstanding in each thread.
//!
//! # Limits
//! Bundles in memory are the same for the whole run, and those on flash are equally hot: there is no cache that learns,
//! and no window of past tokens. Reading costs computing nothing. Faults read around as Linux does for random access
//! (`do_sync_mmap_readahead`); its sequential read-ahead of mapped files is left out.

mod file;
mod runs;
mod source;
mod spec;

pub use source::LlmSource;
pub use spec::{Access, LlmSpec};
