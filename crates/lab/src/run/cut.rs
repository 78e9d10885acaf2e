//! `--cut-at`: the power of the device is cut in the middle of a run, and it recovers.

use units::{Nanos, SimTime};
use workload::{Footprint, Rng};

use super::{Stop, System};
use crate::open::sweep::Sweep;
use crate::oracle::Oracle;
use crate::report::measure::Snapshot;
use crate::report::result::{Named, PowerCut};
use crate::stack::Stack;

impl System {
    /// Cuts the power this long after the first measured request of the next run, which ends then.
    pub(crate) fn plan_cut(&mut self, after: Option<Nanos>) {
        self.cut_after = after;
    }

    /// Whether the power is to be cut now; if it is to be later, sees to it that somebody asks again.
    pub(super) fn cut_turn(&mut self) -> Result<(), Stop> {
        match self.cut_due {
            Some(at) if at <= self.stack.now() => Err(Stop::PowerCut),
            Some(at) => {
                self.stack.wake_caller(at);
                Ok(())
            }
            None => Ok(()),
        }
    }

    /// Cuts the power now, switches the device on again, and waits until it takes commands. `began` is when the first
    /// measured request was submitted; `seed` decides what is left of operations in flight.
    ///
    /// # Panics
    /// If the device stands still during its recovery.
    pub(crate) fn cut_and_recover(self, began: SimTime, seed: u64) -> PowerCut {
        let at = self.now();
        let outstanding = self.requests.outstanding().into();
        let before = Snapshot::of(&self.stack);
        let mut rng = Rng::from_seed(seed);
        let stack: Stack = self.into_stack().0.reboot(&mut |most| rng.below(u64::from(most)) as u32);
        let mut system = System::of(stack);
        system.oracle = Oracle::new(system.stack.device.info().capacity_units);
        system.until_ready(&mut Sweep::reading(Footprint::default()));
        let after = Snapshot::of(&system.stack);
        let part = |(counter, value): (&'static units::Counter, u64)| {
            let name = counter.name.strip_prefix("recovery_")?.strip_suffix("_ns").filter(|name| !name.is_empty())?;
            Some((name.to_owned(), value - before.device_counter(counter.name)))
        };
        let operations = |snapshot: &Snapshot, kind| snapshot.nand.total_ops(kind);
        let of_kind = nand::Kind::ALL.iter().zip(nand::Kind::NAMES);
        let flash: Named = of_kind
            .map(|(&kind, name)| (name.to_owned(), operations(&after, kind) - operations(&before, kind)))
            .collect();
        PowerCut {
            at_ns: at.since(began).0,
            outstanding,
            ready_ns: after.at.since(at).0,
            parts_ns: after.of_device().filter_map(part).filter(|(_, ns)| *ns > 0).collect(),
            flash,
        }
    }
}
