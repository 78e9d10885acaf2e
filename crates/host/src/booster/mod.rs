//! Boosters: uses of host DRAM that save the device work. `seat` has the traits of a booster. This file lists the
//! boosters, and has the enum dispatch to the one in use.

mod app_lists;
mod group_entries;
mod profiles;
mod relay;
mod seat;
mod subregion;

use std::collections::VecDeque;

use params::ParamError;
use ufs::{Command, DeviceInfo, Op, Protocol, Response};
use units::{AppId, Counter, CounterSets, Lpa, Seq, SimTime};

use crate::app::AppSignal;
use crate::request::Part;

pub(crate) use self::relay::Relay;
pub use self::seat::BlockValidity;
pub(crate) use self::seat::{Apps, Booster, Counted, HostMemory, Internal, OwnCommands, Step, Tamper, Usage};

units::kinds! {
    /// The boosters.
    pub BoosterKind, list boosters {
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
}

macro_rules! dispatch {
    ($($(#[doc = $doc:literal])+ $variant:ident = $name:literal in $module:ident::$type:ident;)+) => {
        $(mod $module;)+

        /// The booster in use. There is one per driver, so its size does not matter.
        #[allow(clippy::large_enum_variant)]
        #[derive(Clone, Hash)]
        pub(crate) enum AnyBooster {
            $($variant($module::$type),)+
            /// A host outside, which no name chooses.
            Relay(Relay),
        }

        /// Calls the same method of the booster in use.
        macro_rules! with_booster {
            ($any:expr, $booster:ident => $call:expr) => {
                match $any {
                    $(AnyBooster::$variant($booster) => $call,)+
                    AnyBooster::Relay($booster) => $call,
                }
            };
        }

        params::owners! {
            /// The parameters of all boosters, by variant of [`BoosterKind`](crate::BoosterKind).
            pub BoosterParams { $($name $variant: $module::Params,)+ }
        }

        impl BoosterKind {
            /// The protocol that it needs.
            pub fn speaks(self) -> Protocol {
                match self {
                    $(BoosterKind::$variant => $module::SPEAKS,)+
                }
            }

            /// The counters that only this booster has.
            pub fn counters(self) -> Vec<&'static Counter> {
                match self {
                    $(BoosterKind::$variant => <$module::$type as Counted>::Counters::declared(),)+
                }
            }

            /// Smallest memory limit, in bytes.
            pub(crate) fn smallest_limit(self, info: &DeviceInfo) -> u64 {
                match self {
                    $(BoosterKind::$variant => $module::smallest_limit(info),)+
                }
            }

            /// Refuses combinations of its parameters that are not allowed.
            pub(crate) fn check(self, all: &BoosterParams) -> Result<(), ParamError> {
                match self {
                    $(BoosterKind::$variant => $module::check(&all.$variant),)+
                }
            }
        }

        impl AnyBooster {
            /// A booster for a device that has just been attached and holds no data yet. It gets its own parameters,
            /// and may use at most `limit` bytes.
            pub fn attach(
                kind: BoosterKind,
                all: &BoosterParams,
                limit: u64,
                info: &DeviceInfo,
            ) -> AnyBooster {
                match kind {
                    $(BoosterKind::$variant => {
                        AnyBooster::$variant($module::attach(&all.$variant, limit, info))
                    })+
                }
            }
        }

        impl Booster for AnyBooster {
            #[inline]
            fn prefetch(&self, lpa: Lpa, changes: bool) {
                with_booster!(self, b => b.prefetch(lpa, changes));
            }

            #[inline]
            fn plan(&mut self, now: SimTime, part: &mut Part, max_units: u32) -> Step {
                with_booster!(self, b => b.plan(now, part, max_units))
            }

            #[inline(always)]
            fn stamp(&mut self, command: &mut Command) {
                with_booster!(self, b => b.stamp(command));
            }

            #[inline]
            fn on_response(&mut self, now: SimTime, op: &Op, response: &mut Response, ready: &mut VecDeque<Part>) {
                with_booster!(self, b => b.on_response(now, op, response, ready));
            }
        }
    };
}

boosters!(dispatch);

impl AnyBooster {
    /// Counters that only this booster has, in the order of [`BoosterKind::counters`].
    pub fn counted(&self) -> Vec<(&'static Counter, u64)> {
        with_booster!(self, b => b.counters().counted())
    }

    /// See [`Counted::usage`].
    pub fn usage(&self) -> Usage {
        with_booster!(self, b => b.usage())
    }
}

mod tamper;

impl OwnCommands for AnyBooster {
    fn after_power_cut(&mut self, applied: Seq) {
        with_booster!(self, b => b.after_power_cut(applied));
    }

    #[inline]
    fn resume(&mut self, now: SimTime) {
        with_booster!(self, b => b.resume(now));
    }

    #[inline]
    fn holds_back(&self) -> bool {
        with_booster!(self, b => b.holds_back())
    }

    #[inline]
    fn urgent(&mut self) -> Option<Internal> {
        with_booster!(self, b => b.urgent())
    }

    #[inline]
    fn lazy(&mut self, now: SimTime, idle_since: Option<SimTime>) -> Option<Internal> {
        with_booster!(self, b => b.lazy(now, idle_since))
    }

    #[inline]
    fn next_wake(&self, idle_since: Option<SimTime>) -> Option<SimTime> {
        with_booster!(self, b => b.next_wake(idle_since))
    }
}

impl HostMemory for AnyBooster {
    fn set_limit(&mut self, bytes: u64) {
        with_booster!(self, b => b.set_limit(bytes));
    }

    fn memory_bytes(&self) -> u64 {
        with_booster!(self, b => b.memory_bytes())
    }

    fn fixed_bytes(&self) -> u64 {
        with_booster!(self, b => b.fixed_bytes())
    }

    fn follows_pressure(&self) -> bool {
        with_booster!(self, b => b.follows_pressure())
    }
}

impl Apps for AnyBooster {
    fn signal(&mut self, now: SimTime, signal: AppSignal) {
        with_booster!(self, b => b.signal(now, signal));
    }

    fn reclaim(&mut self, now: SimTime, victim: AppId, bytes: u64) -> u64 {
        with_booster!(self, b => b.reclaim(now, victim, bytes))
    }
}
