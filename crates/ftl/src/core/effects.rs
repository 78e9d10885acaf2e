//! What a call of the device leads to later.

use nand::NandEvent;
use ufs::Response;
use units::SimTime;

/// An event that the device wants to be woken for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum DeviceEvent {
    /// A phase of a flash operation ends.
    Nand(NandEvent),
    /// The firmware thread finishes its present command.
    Firmware,
    /// Buffered data may have waited for as long as it may.
    IdleFlush,
    /// The device may have been without commands for long enough to begin an idle flush.
    Quiet,
    /// The device may have been idle for long enough to collect garbage.
    IdleGc,
}

impl From<NandEvent> for DeviceEvent {
    fn from(event: NandEvent) -> DeviceEvent {
        DeviceEvent::Nand(event)
    }
}

/// What a call wants done later. The caller empties both lists.
#[cfg_attr(feature = "explore", derive(Clone, Hash))]
#[derive(Debug, Default)]
pub struct Effects {
    /// Wake the device with the event at the time.
    pub wakes: Vec<(SimTime, DeviceEvent)>,
    /// Hand the response to the link at the time.
    pub responses: Vec<(SimTime, Response)>,
}
