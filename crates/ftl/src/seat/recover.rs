//! Loss of power, and recovery.

use super::answers::Table;
use super::declared::Declared;
use crate::core::Core;
use crate::knowledge::ProgrammedSet;

/// Loss of power, and recovery. The engine rebuilds the mapping from flash alone; the scheme's state is lost.
pub trait Recover: Declared {
    /// Where the mapping is after recovery.
    const TABLE: Table;

    /// The power is gone. Of the pieces that this scheme was programming, those in `survived` become the content of
    /// their pages.
    fn on_power_loss(&mut self, core: &mut Core, survived: &ProgrammedSet);

    /// The scheme's state after recovery. Segments on flash hold the whole mapping; for a table in DRAM
    /// [`Core::take_rebuilt`] gives it.
    fn restored(core: &mut Core, own: &Self::Params) -> Self;
}
