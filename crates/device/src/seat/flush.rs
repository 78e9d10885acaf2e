//! Map flushes: changes go into the table on flash while no command starts.

use units::Nanos;

use crate::engine::core::Core;

/// Map flushes, which are exclusive jobs.
pub trait Flush {
    /// Must changes be written before work goes on?
    fn wants_flush(&self, core: &Core) -> bool;

    /// Goes on with a map flush, called when none of its operations is in flight. True when it is finished.
    fn flush(&mut self, core: &mut Core) -> bool;

    /// After how much time without commands there is something to flush that nobody waits for.
    fn idle_flush_after(&self) -> Option<Nanos> {
        None
    }

    /// The device has had nothing to do for a while: the map flush that begins is one that nobody waits for. It should
    /// end soon after [`Core::command_waits`] is true.
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
