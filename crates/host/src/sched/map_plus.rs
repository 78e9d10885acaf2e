//! `map-plus`: MAP with sorted batches (MAP+ Sec. V-C): the batch with the most requests per page goes first.

use super::batches::Rank;
use super::batching::{Batching, Flavour};
use super::ordered::Ordered;

/// Its parameters.
pub(crate) type Params = super::config::HitBatchParams;

/// The scheduler.
pub(crate) type MapPlus = Ordered<Batching<HitsAndDenseGroups>>;

/// Hits, then the densest batch.
#[derive(Clone, Hash)]
pub(crate) struct HitsAndDenseGroups;

impl Flavour for HitsAndDenseGroups {
    type Params = Params;

    const HITS: bool = true;
    const RANK: Rank = Rank::Densest;
}
