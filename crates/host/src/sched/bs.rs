//! `bs`: batches sorted by density (MAP+ Sec. V-C) alone, without knowledge of the mapping cache. The paper has it only
//! together with HP, as MAP+; it needs neither the cache's content nor a command to ask for it.

use super::batches::Rank;
use super::batching::{Batching, Flavour};
use super::ordered::Ordered;

/// Its parameters.
pub(crate) type Params = super::config::BatchingParams;

/// The scheduler.
pub(crate) type Bs = Ordered<Batching<DenseGroups>>;

/// Batches in order of their density.
#[derive(Clone, Hash)]
pub(crate) struct DenseGroups;

impl Flavour for DenseGroups {
    type Params = Params;

    const HITS: bool = false;
    const RANK: Rank = Rank::Densest;
}
