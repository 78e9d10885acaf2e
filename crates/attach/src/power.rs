//! Power cuts, and what else is done to a device from outside.

use ftl::Unpowered;
use host::{Driver, HostConfigError};
use nand::Faults;
use units::{Nanos, Seq, SimTime};

use crate::ask::Failure;
use crate::engine::Engine;
use crate::outside::Outside;
use crate::saving::Saving;

impl Engine {
    /// Cuts the power at a time, and switches it on at once. Requests under way fail, what was only in SRAM is lost,
    /// and the device recovers. Requests that come meanwhile wait.
    ///
    /// # Panics
    /// See [`Engine::step`].
    pub fn cut(&mut self, at: SimTime) {
        self.arrive(at);
        let now = self.now();
        if let Some(log) = &mut self.log {
            log.cut(now);
        }
        let lost = self.under_way();
        if let (Some(recorder), Some(stack)) = (&mut self.recorder, &mut self.stack) {
            recorder.cut(lost.into_iter(), stack);
        }
        self.fail_all(Failure::PowerCut);
        self.outside.iter_mut().for_each(Outside::forget);
        self.saving = Saving::No;
        self.contents.power_cut();
        self.tally.cuts += 1;
        let mut dice = self.dice.clone();
        self.restart(&mut |n| dice.below(u64::from(n)) as u32, |device| device);
        self.dice = dice;
    }

    /// Switches the device off and on. `dice` decide what is left of operations in flight; `off` is done in between.
    pub(crate) fn restart(&mut self, dice: &mut dyn FnMut(u32) -> u32, off: impl FnOnce(Unpowered) -> Unpowered) {
        let stack = self.stack.take().expect("the power is on between calls");
        let mut stack = stack.restart(dice, off);
        stack.device.note_programmed();
        self.last_completion = stack.events();
        self.recovering = Some(stack.now());
        if let Some(recorder) = &mut self.recorder {
            recorder.restarted(&mut stack);
        }
        self.stack = Some(stack);
        self.attach_if_ready();
    }

    /// Attaches a driver to a device that has recovered, and hands it the requests that have waited.
    pub(crate) fn attach_if_ready(&mut self) {
        let Some(since) = self.recovering.filter(|_| self.stack_ref().device.is_ready()) else { return };
        self.recovering = None;
        let (config, outside) = (self.driver_config, self.outside.is_some());
        if let (Some(recorder), Some(stack)) = (&mut self.recorder, &self.stack) {
            recorder.driver_leaves(stack);
        }
        self.found = self.stack_ref().device.applied();
        let stack = self.stack();
        stack.driver = match outside {
            true => Driver::relay(stack.device.info()),
            false => Driver::after_power_cut(config, stack.device.info(), stack.device.applied()),
        };
        let recovery = stack.now().since(since);
        self.tally.recovery = recovery;
        self.last_completion = self.stack().events();
        for id in std::mem::take(&mut self.waiting) {
            self.begin(id);
        }
        self.host_turn();
    }

    /// From a time on, flash operations fail at these rates; with rates of 0 none fails any more. Which ones follows
    /// from the device's seed and from what was done to it before; the seed in `faults` is not looked at.
    ///
    /// # Panics
    /// See [`Engine::step`].
    pub fn set_faults(&mut self, at: SimTime, faults: Faults) {
        self.arrive(at);
        let now = self.now();
        if let Some(log) = &mut self.log {
            log.faults(now, faults);
        }
        let seed = self.dice.bits();
        self.stack().device.set_faults(Faults { seed, ..faults });
    }

    /// The last change that the device found on flash when it was switched on last. Valid only when it is ready.
    pub fn found(&self) -> Seq {
        self.found
    }

    /// Power cuts so far: the number of the host that uses the device.
    pub fn epoch(&self) -> u64 {
        self.tally.cuts
    }

    /// False while the device recovers.
    pub fn is_ready(&self) -> bool {
        self.recovering.is_none()
    }

    /// How long the last recovery has taken, in simulated time.
    pub fn last_recovery(&self) -> Nanos {
        self.tally.recovery
    }

    /// Sets the limit of the driver's memory at a time, also for drivers after power cuts.
    ///
    /// # Errors
    /// If the booster cannot work with it; then nothing changes.
    ///
    /// # Panics
    /// See [`Engine::step`].
    pub fn set_memory(&mut self, at: SimTime, bytes: u64) -> Result<(), HostConfigError> {
        self.arrive(at);
        let ready = self.is_ready();
        let stack = self.stack();
        if ready {
            stack.driver.set_memory_limit(stack.now(), bytes)?;
        } else {
            // The driver of before the cut waits to be replaced; nothing must come of it any more.
            stack.driver.check_memory_limit(bytes)?;
        }
        self.driver_config.memory_limit_bytes = Some(bytes);
        let now = self.now();
        if let Some(log) = &mut self.log {
            log.memory(now, bytes);
        }
        if ready {
            self.host_turn();
        }
        Ok(())
    }
}
