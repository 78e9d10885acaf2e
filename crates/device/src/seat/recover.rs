//! Losing power, and coming back.

use super::answers::Table;
use super::declared::Declared;
use crate::engine::core::Core;
use crate::knowledge::ProgrammedSet;

/// Losing power, and coming back. The engine rebuilds the mapping from flash; nothing of the scheme is left.
pub trait Recover: Declared {
    /// Where the mapping is, once it has been rebuilt.
    const TABLE: Table;

    /// The power is gone. Of what this scheme was programming, `survived` becomes the content of its pages.
    fn on_power_loss(&mut self, core: &mut Core, survived: &ProgrammedSet);

    /// State after recovery: segments on flash hold the whole mapping, or [`Core::take_rebuilt`] does for a table in
    /// DRAM.
    fn restored(core: &mut Core, own: &Self::Params) -> Self;
}
