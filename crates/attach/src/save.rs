//! Saving the aged state: the phone is switched off in an ordinary way, its flash is copied, and it is switched on.
//!
//! ```text
//!   asked --requests under way end--> flush --> power off --> file --> power on --recovery--> ready
//!           \'------------------- requests that come meanwhile wait --------------------\'
//! ```

use std::mem::take;

use host::RequestOp;
use lab::oracle::Oracle;
use ledger::Span;
use units::{Lpa, SimTime};

use crate::ask::FLUSH;
use crate::engine::Engine;
use crate::saving::{Saving, WhileOff};

impl Engine {
    /// From a time on, switches the device off as soon as it has done what is under way, does something with it, and
    /// switches it on. A power cut before drops `off`. False, and nothing but time going on, if that is under way then.
    ///
    /// # Panics
    /// See [`Engine::step`].
    pub fn save(&mut self, at: SimTime, off: WhileOff) -> bool {
        // What was saved before may have ended by then: a log of arrivals goes from one to the next.
        self.arrive(at);
        if self.saving.is_wanted() {
            return false;
        }
        let now = self.now();
        if let Some(log) = &mut self.log {
            log.saved(now);
        }
        self.saving = Saving::Asked(off);
        self.save_if_quiet();
        true
    }

    /// True if a state is to be saved.
    pub fn is_saving(&self) -> bool {
        self.saving.is_wanted()
    }

    /// The next step towards a saved state, if nothing is under way.
    pub(crate) fn save_if_quiet(&mut self) {
        if !self.saving.is_wanted() || self.recovering.is_some() || self.outstanding() > self.waiting.len() {
            return;
        }
        match take(&mut self.saving) {
            Saving::No => {}
            Saving::Asked(off) => {
                self.saving = Saving::Flushing(off);
                self.internal(FLUSH, RequestOp::Flush, Span { lpa: Lpa(0), len: 0 }, 0);
                // It may have ended at once.
                self.save_if_quiet();
            }
            Saving::Flushing(off) => self.switch_off_and_on(off),
        }
    }

    fn switch_off_and_on(&mut self, off: WhileOff) {
        let oracle = Oracle::of_ledger(self.contents.ledger(), self.last_begun());
        self.restart(&mut |_| 0, |device| off(device, oracle));
    }
}
