//! Reading everything back after a run, so that the oracle sees what the workload has not read.

use nand::Faults;

use super::{Stop, System, Watch};
use crate::open::sweep::Sweep;
use crate::oracle::Written;
use crate::report::result::Verified;
use crate::stack::power::OneFlush;

impl System {
    /// Reads everything that was ever written or trimmed, also before the device was aged, and checks it. A flush goes
    /// before, and the device comes to rest, so that data comes from flash. From now on no flash operation is made to
    /// fail, so every read has to succeed.
    ///
    /// What has been measured and logged stays as it is. The clock and the counters of driver and device go on: take
    /// them down before.
    ///
    /// # Errors
    /// Wrong data, a read that fails, or the wish of `watch`.
    ///
    /// # Panics
    /// See [`System::run`].
    pub fn read_back(&mut self, watch: &mut Watch) -> Result<Verified, Stop> {
        let (measure, watchers) = (std::mem::take(&mut self.measure), self.watchers.take());
        let verified = self.read_all(watch);
        (self.measure, self.watchers) = (measure, watchers);
        verified
    }

    fn read_all(&mut self, watch: &mut Watch) -> Result<Verified, Stop> {
        let Written { ranges, data_units, trimmed_units } = self.oracle.written();
        self.stack.device.set_faults(Faults::default());
        self.faulty = false;
        let mut flush = OneFlush::default();
        self.run(&mut flush, watch)?;
        self.settle(&mut flush)?;
        self.run(&mut Sweep::reading(ranges), watch)?;
        Ok(Verified { data_units, trimmed_units })
    }

    /// As if the device had acknowledged a write of this unit that it has never got. Gives the number of the write.
    #[cfg(test)]
    pub(crate) fn pretend_write(&mut self, lpa: units::Lpa) -> u32 {
        let number = self.oracle.write_submitted(lpa, 1);
        self.oracle.write_acked(lpa, 1, number);
        number
    }
}

#[cfg(test)]
mod tests {
    use std::ops::ControlFlow;
    use std::sync::Arc;

    use ftl::{Device, DeviceConfig, MappingKind, Sabotage};
    use host::Driver;
    use ufs::Link;
    use units::{Lpa, SimTime};
    use workload::{Progress, Replay, ReplayMode, Rng, Trace, WorkOp, WorkRequest};

    use super::*;
    use crate::profile::Profile;
    use crate::stack::system::{Preset, schemes};

    /// Units that the workloads below use.
    const UNITS: u64 = 20_000;

    fn go_on(_: Progress, _: SimTime) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    fn tiny() -> Profile {
        Profile::load("tiny", &[]).expect("an embedded profile")
    }

    fn request(op: WorkOp, unit: u64, units: u64) -> WorkRequest {
        WorkRequest::plain(op, unit, units)
    }

    /// A device with a broken promise, if one is named, under a preset.
    fn system(preset: &Preset, sabotage: Option<Sabotage>) -> System {
        let profile = tiny();
        let device = Device::new(DeviceConfig { sabotage, ..profile.device_config([3, 5]) }, preset.parts.mapping);
        let driver = Driver::new(profile.host_config(preset.parts), device.info());
        System::new(driver, Link::new(profile.link_config()), device)
    }

    /// Writes everything once, then writes and trims at random, `count` times. Nothing is read.
    fn use_without_reading(system: &mut System, count: u32) {
        let mut rng = Rng::from_seed(4);
        let fill = (0..UNITS).step_by(100).map(|unit| request(WorkOp::Write, unit, 100));
        let change = |_| match rng.below(20) {
            0 => request(WorkOp::Trim, rng.below(UNITS - 40), 1 + rng.below(40)),
            _ => request(WorkOp::Write, rng.below(UNITS - 4), 1 + rng.below(4)),
        };
        let requests = fill.chain((0..count).map(change)).collect();
        let trace = Trace { name: "generated".into(), requests, ..Trace::default() };
        let mode = ReplayMode::Closed { depth: 8, per_file: false };
        let mut source = Replay::new(Arc::new(trace), mode, tiny().capacity_units()).expect("it fits");
        system.run(&mut source, &mut go_on).expect("nothing is read, so nothing can be wrong");
    }

    /// Switches a system off and on, as after ageing.
    fn switched(system: System, preset: &Preset) -> System {
        let (device, oracle) = system.switch_off(&mut go_on).expect("nothing is read");
        let profile = tiny();
        let (driver, link) = (profile.host_config(preset.parts), profile.link_config());
        let on = System::switched_on(device, oracle, driver, link, profile.power_config(1));
        on.expect("the profile's own settings")
    }

    #[test]
    fn a_sound_device_holds_everything() {
        for preset in schemes() {
            let mut system = system(preset, None);
            use_without_reading(&mut system, 20_000);
            let digest = system.outcome().0.digest;
            let verified = system.read_back(&mut go_on).expect("everything is there");
            assert_eq!(verified.data_units + verified.trimmed_units, UNITS, "{}", preset.name);
            assert!(verified.trimmed_units > 500, "{}: {verified:?}", preset.name);
            let (measure, counters) = system.outcome();
            assert_eq!((measure.digest, measure.submitted), (digest, 20_200), "{}", preset.name);
            assert!(counters.device.host_units_read >= UNITS, "{}: it was not read", preset.name);
            let again = switched(system, preset).read_back(&mut go_on);
            assert_eq!(again, Ok(verified), "{}", preset.name);
        }
    }

    /// Trims of single units, far from each other, after a rest. So nearly all of them are in no mapping cache.
    fn trim_here_and_there(system: &mut System) {
        let trims = (0..UNITS).step_by(1000).map(|unit| request(WorkOp::Trim, unit, 1)).collect();
        let trace = Trace { name: "generated".into(), requests: trims, ..Trace::default() };
        let mode = ReplayMode::Closed { depth: 1, per_file: false };
        let mut source = Replay::new(Arc::new(trace), mode, tiny().capacity_units()).expect("it fits");
        system.settle(&mut source).expect("nothing is read");
        system.run(&mut source, &mut go_on).expect("nothing is read");
    }

    /// True if a device that was at rest before it was switched off has to keep that promise. A trim always needs its
    /// journal: schemes that load entries on demand write in idle time what has changed in their caches, and a trim of
    /// what no cache holds stays in the log until its translation page is next in SRAM. Writes pass through their
    /// caches, so that the table has them all by then, and no superblock has to be scanned. `ideal` scans all
    /// superblocks, recorded or not.
    fn matters(sabotage: Sabotage, mapping: MappingKind) -> bool {
        sabotage != Sabotage::ForgetLogBlock || mapping.has_table_on_flash() && !mapping.is_on_demand()
    }

    /// What a device has lost after so many changes, written and trimmed at random. Nothing but the read-back can find
    /// it: nothing else is read, neither before nor after the device was switched off.
    fn found(sabotage: Sabotage, preset: &Preset, changes: u32) -> Result<Verified, Stop> {
        let mut system = system(preset, Some(sabotage));
        use_without_reading(&mut system, changes);
        if sabotage == Sabotage::ForgetTrims {
            trim_here_and_there(&mut system);
        }
        switched(system, preset).read_back(&mut go_on)
    }

    /// Right after a map flush there is nothing to lose, so each device is used several times.
    #[test]
    fn what_a_broken_device_has_lost_is_found() {
        for sabotage in [Sabotage::ForgetTrims, Sabotage::ForgetLogBlock] {
            for preset in schemes() {
                let times = (3_000..3_500).step_by(170).map(|changes| found(sabotage, preset, changes));
                let times: Vec<_> = times.collect();
                let lost = times.iter().any(|found| matches!(found, Err(Stop::WrongData(_))));
                assert_eq!(lost, matters(sabotage, preset.parts.mapping), "{sabotage:?} {}: {times:?}", preset.name);
            }
        }
    }

    #[test]
    fn a_write_or_trim_that_never_reached_the_device_is_found() {
        for preset in schemes() {
            let mut written = system(preset, None);
            use_without_reading(&mut written, 100);
            let number = written.pretend_write(Lpa(77));
            let found = written.read_back(&mut go_on).expect_err("an older version is there");
            let told = format!("wrong data: read of LPA 77 (unit 77 of 128): expected LPA 77 of write {number}, got");
            assert!(found.to_string().starts_with(&told), "{}: {found}", preset.name);
            let mut trimmed = system(preset, None);
            use_without_reading(&mut trimmed, 100);
            let number = trimmed.oracle.trim_submitted(Lpa(78), 1);
            trimmed.oracle.trim_acked(Lpa(78), 1, number);
            assert!(trimmed.read_back(&mut go_on).is_err(), "{}: trimmed data is there", preset.name);
        }
    }

    #[test]
    fn nothing_is_read_of_a_device_that_was_never_written() {
        let mut system = system(&schemes()[0], None);
        assert_eq!(system.read_back(&mut go_on), Ok(Verified::default()));
        assert_eq!(system.outcome().1.device.host_units_read, 0);
    }
}
