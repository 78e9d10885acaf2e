//! `rb`: request batched (MAP+ Sec. V-B, VI-A) alone, without knowledge of the mapping cache. Batches go in order of
//! their opening.

use super::batches::Rank;
use super::batching::{Batching, Flavour};
use super::ordered::Ordered;

/// Its parameters.
pub(crate) type Params = super::config::BatchingParams;

/// The scheduler.
pub(crate) type Rb = Ordered<Batching<Groups>>;

/// Batches in order of their opening.
#[derive(Clone, Hash)]
pub(crate) struct Groups;

impl Flavour for Groups {
    type Params = Params;

    const HITS: bool = false;
    const RANK: Rank = Rank::Oldest;
}
