//! `map`: hit prioritised and request batched together (MAP+ Sec. V-B, VI-A). Batches go first in, first out.

use super::batches::Rank;
use super::batching::{Batching, Flavour};
use super::ordered::Ordered;

/// Its parameters.
pub(crate) type Params = super::config::HitBatchParams;

/// The scheduler.
pub(crate) type Map = Ordered<Batching<HitsAndGroups>>;

/// Hits, then batches in order of their opening.
#[derive(Clone, Hash)]
pub(crate) struct HitsAndGroups;

impl Flavour for HitsAndGroups {
    type Params = Params;

    const HITS: bool = true;
    const RANK: Rank = Rank::Oldest;
}
