//! From parameters to settings.

use crate::booster::BoosterParams;
use crate::config::HostConfig;
use crate::sched::SchedulerParams;

impl HostConfig {
    /// Sets what the parameters of its scheduler and its booster say.
    pub fn with_params(mut self, schedulers: &SchedulerParams, boosters: &BoosterParams) -> HostConfig {
        self.sched = self.scheduler.settings(schedulers);
        self.booster.apply(boosters, &mut self);
        self
    }
}
