//! Changes of the mapping, as they happen.

use units::{Lpa, Seq, Superblock};

use super::answers::Commit;
use crate::core::Core;

/// What the engine tells a scheme about changes of the mapping: units that are on flash, and trims.
pub trait Absorb {
    /// How many more units the engine may submit for programming before the scheme has to flush.
    fn room(&self, core: &Core) -> usize;

    /// The unit is on flash. The host may have written or trimmed its address again since the program was submitted.
    fn committed(&mut self, core: &mut Core, unit: Commit);

    /// A program in this superblock has finished, and all of its units have been committed.
    fn program_done(&mut self, core: &mut Core, sb: Superblock) {
        let _ = (core, sb);
    }

    /// The host trimmed `n` units of one segment. They take `n` sequence numbers from `seq`.
    fn trimmed(&mut self, core: &mut Core, lpa: Lpa, n: u32, seq: Seq);

    /// The journal of trims is nearly full. The scheme has to bring trims into segments on flash, at the next flush or
    /// in the background.
    fn absorb_trims(&mut self, core: &mut Core);
}
