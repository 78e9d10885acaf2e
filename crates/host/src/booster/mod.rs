//! Boosters: what the driver does with host DRAM to spare the device work. To add one, write its file and register it
//! in the list below.

use std::collections::VecDeque;

use ufs::{Command, DataIn, DataOut, DeviceInfo, Op, Response, Status};
use units::{AppId, Lpa, Ppa, Seq, SimTime};

use crate::app::AppSignal;
use crate::config::HostConfig;
use crate::request::{Part, RequestOp};
use crate::stats::HostStats;

/// What a booster decides about a part.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Step {
    /// Send this command, which covers the first `units` units of the part.
    Send { op: Op, units: u32 },
    /// The booster keeps the part until it can be sent, and returns it through `ready`.
    Park,
    /// An internal command goes first; ask again after it.
    InternalFirst,
}

/// A command that the booster wants sent on its own account.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Internal {
    /// What is asked.
    pub op: Op,
    /// What goes with it.
    pub data: DataOut,
}

impl From<Op> for Internal {
    fn from(op: Op) -> Internal {
        Internal { op, data: DataOut::None }
    }
}

/// A booster decides and returns values; the driver acts.
pub(crate) trait Booster: Sized {
    /// A booster for a device that has just been attached and holds no data yet.
    fn attach(config: &HostConfig, info: &DeviceInfo) -> Self;

    /// What to do about a part. Commands are at most `max_units` long.
    fn plan(&mut self, now: SimTime, part: &mut Part, max_units: u32) -> Step;

    /// Takes in the answer to `op`; parts whose wait is over go to the end of `ready`.
    fn on_response(&mut self, now: SimTime, op: &Op, response: &mut Response, ready: &mut VecDeque<Part>);

    /// The device has come back from a power cut; segments on flash hold every change up to `applied`.
    fn after_power_cut(&mut self, _applied: Seq) {}

    /// True while no user command may be sent.
    fn holds_back(&self) -> bool {
        false
    }

    /// A request for this address has come; a hint for the processor's caches.
    fn prefetch(&self, _lpa: Lpa) {}

    /// The first request after a time without any has come.
    fn resume(&mut self, _now: SimTime) {}

    /// Adds what travels along with every command.
    fn stamp(&mut self, _command: &mut Command) {}

    /// An internal command that goes before user commands.
    fn urgent(&mut self) -> Option<Internal> {
        None
    }

    /// An internal command that goes when no user command can be sent. `idle_since`: when the last user request
    /// completed, unless one is under way.
    fn lazy(&mut self, _now: SimTime, _idle_since: Option<SimTime>) -> Option<Internal> {
        None
    }

    /// When `lazy` could have something without any other event.
    fn next_wake(&self, _idle_since: Option<SimTime>) -> Option<SimTime> {
        None
    }

    /// Sets another memory limit.
    fn set_limit(&mut self, _bytes: u64) {}

    /// The state of an app has changed.
    fn signal(&mut self, _now: SimTime, _signal: AppSignal) {}

    /// `victim` is about to be killed for `bytes` of memory: gives back as much of them as can be spared, at once, and says
    /// how much that was.
    fn reclaim(&mut self, _now: SimTime, _victim: AppId, _bytes: u64) -> u64 {
        0
    }

    /// DRAM that is taken now, in bytes.
    fn memory_bytes(&self) -> u64 {
        0
    }

    /// Adds its counters.
    fn report(&self, _stats: &mut HostStats) {}

    /// Test support: overwrites a cached address.
    fn tamper(&mut self, _lpa: Lpa, _ppa: Option<Ppa>) -> bool {
        false
    }

    /// Test support: overwrites a cached sealed entry.
    fn tamper_sealed(&mut self, _lpa: Lpa, _entry: u64) -> bool {
        false
    }

    /// Test support: a cached sealed entry.
    fn sealed(&self, _lpa: Lpa) -> Option<u64> {
        None
    }

    /// Test support: a cached address.
    fn mapping(&self, _lpa: Lpa) -> Option<Option<Ppa>> {
        None
    }

    /// Test support: valid page count and bitmap of a block.
    fn validity(&self, _block: units::Superblock) -> Option<(u32, Box<[u64]>)> {
        None
    }
}

/// The command for a part without any booster's help.
#[inline]
fn plain(part: &Part, max_units: u32) -> Step {
    let len = part.len.min(max_units);
    let lpa = part.lpa;
    let op = match part.op {
        RequestOp::Read => Op::Read { lpa, len },
        RequestOp::Write { fua } => Op::Write { lpa, len, fua },
        RequestOp::Flush => Op::Flush,
        RequestOp::Unmap => Op::Unmap { lpa, len },
    };
    Step::Send { op, units: len }
}

/// Counts a read of a length that HPB supports: sent with an entry, or without.
#[inline]
fn count_lookup(stats: &mut HostStats, hit: bool) {
    let (hit, miss) = (u64::from(hit), u64::from(!hit));
    stats.hit_cnt += hit;
    stats.hpb_reads += hit;
    stats.booster_hits += hit;
    stats.miss_cnt += miss;
    stats.booster_misses += miss;
}

/// The sealed entries that answer a READ BUFFER, unless it has failed.
fn sealed_in(response: &mut Response) -> Option<Vec<u64>> {
    match std::mem::take(&mut response.data) {
        DataIn::Sealed(sealed) if response.status == Status::Good => Some(sealed),
        _ => None,
    }
}

macro_rules! boosters {
    ($($(#[$doc:meta])* $variant:ident = $name:literal in $module:ident::$type:ident;)+) => {
        $(mod $module;)+

        /// The boosters.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub enum BoosterKind {
            $($(#[$doc])* $variant,)+
        }

        impl BoosterKind {
            /// Every booster.
            pub const ALL: &'static [BoosterKind] = &[$(BoosterKind::$variant),+];
            /// The names by which they are chosen, in the order of `ALL`.
            pub const NAMES: &'static [&'static str] = &[$($name),+];

            /// The booster of this name.
            pub fn from_name(name: &str) -> Option<BoosterKind> {
                match name {
                    $($name => Some(BoosterKind::$variant),)+
                    _ => None,
                }
            }

            /// Its name.
            pub fn name(self) -> &'static str {
                match self {
                    $(BoosterKind::$variant => $name,)+
                }
            }
        }

        /// The booster in use. There is one per driver, so its size does not matter.
        #[allow(clippy::large_enum_variant)]
        pub(crate) enum AnyBooster {
            $($variant($module::$type),)+
        }

        /// Calls the same method of whatever booster is in use.
        macro_rules! with_booster {
            ($any:expr, $booster:ident => $call:expr) => {
                match $any {
                    $(AnyBooster::$variant($booster) => $call,)+
                }
            };
        }

        impl AnyBooster {
            fn of_kind(kind: BoosterKind, config: &HostConfig, info: &DeviceInfo) -> AnyBooster {
                match kind {
                    $(BoosterKind::$variant => AnyBooster::$variant(Booster::attach(config, info)),)+
                }
            }
        }
    };
}

mod app_lists;
#[cfg(test)]
mod bench;
mod counters;
mod fetches;
mod lists;
mod profiles;
mod subregions;

boosters! {
    /// No booster.
    None = "none" in none::NoBooster;
    /// Host performance booster (HPB 2017).
    Hpb = "hpb" in hpb::Hpb;
    /// HPB 2.0 as Linux 6.1 does it.
    HpbLinux = "hpb-linux" in hpb_linux::HpbLinux;
    /// Subregions fetched by counters and evicted by FOAM's priorities.
    Foam = "foam" in foam::Foam;
    /// HPBvalve.
    Hpbvalve = "hpbvalve" in hpbvalve::Hpbvalve;
    /// HP-UFS.
    HpUfs = "hp-ufs" in hp_ufs::HpUfs;
    /// HPBvalve's policy on HP-UFS's cache.
    HpbvalveHpUfs = "hpbvalve-hp-ufs" in hpbvalve_hp_ufs::HpbvalveHpUfs;
}

impl Booster for AnyBooster {
    fn attach(config: &HostConfig, info: &DeviceInfo) -> AnyBooster {
        AnyBooster::of_kind(config.booster, config, info)
    }

    #[inline]
    fn plan(&mut self, now: SimTime, part: &mut Part, max_units: u32) -> Step {
        with_booster!(self, b => b.plan(now, part, max_units))
    }

    #[inline]
    fn on_response(&mut self, now: SimTime, op: &Op, response: &mut Response, ready: &mut VecDeque<Part>) {
        with_booster!(self, b => b.on_response(now, op, response, ready));
    }

    fn after_power_cut(&mut self, applied: Seq) {
        with_booster!(self, b => b.after_power_cut(applied));
    }

    #[inline]
    fn holds_back(&self) -> bool {
        with_booster!(self, b => b.holds_back())
    }

    #[inline]
    fn prefetch(&self, lpa: Lpa) {
        with_booster!(self, b => b.prefetch(lpa));
    }

    #[inline]
    fn resume(&mut self, now: SimTime) {
        with_booster!(self, b => b.resume(now));
    }

    #[inline(always)]
    fn stamp(&mut self, command: &mut Command) {
        with_booster!(self, b => b.stamp(command));
    }

    #[inline]
    fn urgent(&mut self) -> Option<Internal> {
        with_booster!(self, b => b.urgent())
    }

    #[inline]
    fn lazy(&mut self, now: SimTime, idle_since: Option<SimTime>) -> Option<Internal> {
        with_booster!(self, b => b.lazy(now, idle_since))
    }

    fn next_wake(&self, idle_since: Option<SimTime>) -> Option<SimTime> {
        with_booster!(self, b => b.next_wake(idle_since))
    }

    fn set_limit(&mut self, bytes: u64) {
        with_booster!(self, b => b.set_limit(bytes));
    }

    fn signal(&mut self, now: SimTime, signal: AppSignal) {
        with_booster!(self, b => b.signal(now, signal));
    }

    fn reclaim(&mut self, now: SimTime, victim: AppId, bytes: u64) -> u64 {
        with_booster!(self, b => b.reclaim(now, victim, bytes))
    }

    fn memory_bytes(&self) -> u64 {
        with_booster!(self, b => b.memory_bytes())
    }

    fn report(&self, stats: &mut HostStats) {
        with_booster!(self, b => b.report(stats));
    }

    fn tamper(&mut self, lpa: Lpa, ppa: Option<Ppa>) -> bool {
        with_booster!(self, b => b.tamper(lpa, ppa))
    }

    fn tamper_sealed(&mut self, lpa: Lpa, entry: u64) -> bool {
        with_booster!(self, b => b.tamper_sealed(lpa, entry))
    }

    fn sealed(&self, lpa: Lpa) -> Option<u64> {
        with_booster!(self, b => b.sealed(lpa))
    }

    fn mapping(&self, lpa: Lpa) -> Option<Option<Ppa>> {
        with_booster!(self, b => b.mapping(lpa))
    }

    fn validity(&self, block: units::Superblock) -> Option<(u32, Box<[u64]>)> {
        with_booster!(self, b => b.validity(block))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lead_back_to_their_boosters() {
        for (&kind, &name) in BoosterKind::ALL.iter().zip(BoosterKind::NAMES) {
            assert_eq!(kind.name(), name);
            assert_eq!(BoosterKind::from_name(name), Some(kind));
        }
        assert_eq!(BoosterKind::NAMES, ["none", "hpb", "hpb-linux", "foam", "hpbvalve", "hp-ufs", "hpbvalve-hp-ufs"]);
        assert_eq!(BoosterKind::from_name("turbo"), None);
    }
}
