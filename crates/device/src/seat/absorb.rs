//! Changes of the mapping, as they happen.

use units::{Lpa, Seq, Superblock};

use super::answers::Commit;
use crate::engine::core::Core;

/// Changes of the mapping: units that are on flash, and trims.
pub trait Absorb {
    /// Units that may still be submitted for programming.
    fn room(&self, core: &Core) -> usize;

    /// A unit is on flash. By now its address may have been written or trimmed again.
    fn committed(&mut self, core: &mut Core, unit: Commit);

    /// All units of a finished program of this superblock have been committed.
    fn program_done(&mut self, core: &mut Core, sb: Superblock) {
        let _ = (core, sb);
    }

    /// The host trimmed `n` units of one segment. They take `n` sequence numbers from `seq`.
    fn trimmed(&mut self, core: &mut Core, lpa: Lpa, n: u32, seq: Seq);

    /// The journal of trims is nearly full: brings trims into segments on flash, at the next flush or in the
    /// background.
    fn absorb_trims(&mut self, core: &mut Core);
}
