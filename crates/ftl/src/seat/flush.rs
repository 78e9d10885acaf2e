//! Map flushes: the scheme writes changes to the table on flash.

use units::{Nanos, Ppa};

use crate::core::Core;
use crate::knowledge::{Programmed, Sight};

/// Map flushes. They are exclusive jobs, or run beside commands.
pub trait Flush {
    /// True if a map flush has to run before other work goes on.
    fn wants_flush(&self, core: &Core) -> bool;

    /// Continues a map flush. The engine calls it when none of the flush's operations is in flight. True when the flush
    /// is finished.
    ///
    /// Operations that [`Core::read_beside`], [`Core::program_beside`] and [`Core::program_bitmaps_beside`] have
    /// submitted do not count: then the engine calls it whenever anything has happened.
    fn flush(&mut self, core: &mut Core) -> bool;

    /// True if commands and exclusive jobs run while a flush is under way. The engine continues it between jobs. It
    /// covers the changes up to [`Core::logged_up_to`].
    fn beside_commands(&self) -> bool {
        false
    }

    /// A read of [`Core::read_beside`] is done.
    fn read_done(&mut self, core: &Core, place: Ppa, sight: &Sight) {
        let _ = (core, place, sight);
    }

    /// A map unit of [`Core::program_beside`] is on flash, and the directory has its place.
    fn unit_programmed(&mut self, core: &mut Core, programmed: &Programmed) {
        let _ = (core, programmed);
    }

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
