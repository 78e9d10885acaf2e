//! Switching a system off and on. States of a system that is on are in `ufs::power`.

use ftl::{Device, Unpowered};
use host::{Driver, HostConfig, HostConfigError};
use ufs::{Link, LinkConfig, PowerConfig};
use units::SimTime;
use workload::{Footprint, GroupId, GroupInfo, Issued, Next, Progress, Source, Ticket, WorkOp, WorkRequest};

use crate::oracle::Oracle;
use crate::run::{Stop, System, Watch};

impl System {
    /// Switches the phone off: the driver sends a flush, the device finishes what it has begun, and the power goes.
    ///
    /// # Errors
    /// See [`System::run`].
    pub(crate) fn switch_off(mut self, watch: &mut Watch) -> Result<(Unpowered, Oracle), Stop> {
        let mut flush = OneFlush::default();
        self.run(&mut flush, watch)?;
        self.settle(&mut flush)?;
        let (device, oracle, now) = self.into_parts();
        let device = device.power_cut(now, &mut |_| 0);
        Ok((device, oracle.at_rest()))
    }

    /// Switches a phone on: the device recovers, and the driver learns what it has to know.
    ///
    /// # Errors
    /// If the driver's settings do not fit the device.
    pub(crate) fn switched_on(
        device: Unpowered,
        oracle: Oracle,
        config: HostConfig,
        link: LinkConfig,
        power: PowerConfig,
    ) -> Result<System, HostConfigError> {
        let device = Device::power_on(device, SimTime::START);
        let info = device.info();
        config.check(&info)?;
        let mut system = System::new(Driver::new(config, info), Link::new(link), device).with_power(power);
        system.recover(oracle, |applied| Driver::after_power_cut(config, info, applied));
        Ok(system)
    }
}

/// One flush.
#[derive(Default)]
pub(crate) struct OneFlush {
    issued: bool,
}

impl Source for OneFlush {
    fn next(&mut self, now: SimTime) -> Next {
        if std::mem::replace(&mut self.issued, true) {
            return Next::Done;
        }
        let request = WorkRequest { arrival: now, ..WorkRequest::plain(WorkOp::Flush, 0, 0) };
        Next::Request(Issued { ticket: Ticket(0), group: GroupId(0), measured: false, request })
    }

    fn completed(&mut self, _: Ticket, _: SimTime) {}

    fn progress(&self) -> Progress {
        Progress::default()
    }

    fn groups(&self) -> &[GroupInfo] {
        &[]
    }

    fn footprint(&self) -> Footprint {
        Footprint::default()
    }

    fn preconditioning_ranges(&self) -> Footprint {
        Footprint::default()
    }
}
