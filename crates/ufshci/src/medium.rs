//! What lies behind the controller.

use ufs::codec::hpufs::PowerOn;
use ufs::{Booster, BoosterControl, Command, DeviceInfo, Health, Response};
use units::{Nanos, SimTime};

/// The end of a command.
#[derive(Clone, PartialEq, Debug)]
pub struct Answer {
    /// When the response came to the host.
    pub at: SimTime,
    /// The response, under the tag of its command.
    pub response: Response,
    /// The blocks of a READ that succeeded.
    pub data: Vec<u8>,
}

/// The simulated device on its link.
pub trait Medium {
    /// Its sizes.
    fn info(&self) -> &DeviceInfo;

    /// False while it recovers from a power cut.
    fn is_ready(&self) -> bool;

    /// WriteBooster; `None` if the device has none.
    fn booster(&self) -> Option<Booster>;

    /// The host controls WriteBooster at a time. Nothing happens without it.
    fn control_booster(&mut self, at: SimTime, control: BoosterControl);

    /// How worn the device is.
    fn health(&self) -> Health;

    /// What it found when it was switched on, for HP-UFS.
    fn power_on(&self) -> PowerOn;

    /// The device loses its power at a time, and gets it back at once: nothing that was under way is ever answered.
    fn power_cycle(&mut self, at: SimTime);

    /// A command leaves the host at a time. `data` are the blocks of a WRITE. The tag of the command is free: its last
    /// answer has been taken.
    fn submit(&mut self, at: SimTime, command: Command, data: Vec<u8>);

    /// When something happens next, the time of an answer that waits included; `None` if nothing is left to happen.
    fn next_time(&self) -> Option<SimTime>;

    /// No answer comes before this time, unless a command does; `None` if nothing is left to happen.
    fn answers_from(&self) -> Option<SimTime>;

    /// The least time from a command to its answer. Only what is refused at once may be answered sooner.
    fn least_answer_time(&self) -> Nanos;

    /// Lets everything happen up to a time.
    fn run_until(&mut self, at: SimTime);

    /// The next answer.
    fn answer(&mut self) -> Option<Answer>;
}
