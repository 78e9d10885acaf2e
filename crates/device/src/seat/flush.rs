//! Map flushes: the scheme writes changes to the table on flash while no command starts.

use units::Nanos;

use crate::engine::core::Core;

/// Map flushes, which are exclusive jobs.
pub trait Flush {
    /// True if a map flush has to run before other work goes on.
    fn wants_flush(&self, core: &Core) -> bool;

    /// Continues a map flush. The engine calls it when none of the flush's operations is in flight. True when the flush
    /// is finished.
    fn flush(&mut self, core: &mut Core) -> bool;

    /// The time without commands after which an idle flush begins. `None` if there is nothing to flush.
    fn idle_flush_after(&self) -> Option<Nanos> {
        None
    }

    /// The flush that is about to begin is an idle flush: no command waits for it. The scheme should end it soon after
    /// [`Core::command_waits`] becomes true.
    fn begin_idle_flush(&mut self) {}
}

/// Marks a scheme that never stops commands to write its table.
pub trait NoFlush {}

impl<M: NoFlush> Flush for M {
    #[inline(always)]
    fn wants_flush(&self, _core: &Core) -> bool {
        false
    }

    fn flush(&mut self, _core: &mut Core) -> bool {
        true
    }
}
