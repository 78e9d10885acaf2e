//! The engine for whoever does not know its mapping scheme.

use std::fmt::Debug;

use ufs::{BoosterControl, Command, Tag};
use units::{CounterSet, Lpa, SimTime};

use super::power::{Flash, GcCopy, Moment};
use super::state::{Engine, Translation};
use crate::core::{Core, DeviceEvent};
use crate::report::watch::{Event, Levels, Scope};
use crate::seat::{MapMemory, Mapping};

/// Declares the trait and what it calls: methods of the engine with the same name and arguments.
macro_rules! firmware {
    (
        reads { $(fn $read:ident($($in:ident: $In:ty),*) -> $Out:ty;)+ }
        writes { $(fn $write:ident($($arg:ident: $Arg:ty),*);)+ }
    ) => {
        /// Firmware with some mapping scheme. [`Device`](crate::Device) documents what it is asked.
        pub trait Firmware: Debug + Send {
            fn core(&self) -> &Core;
            fn core_mut(&mut self) -> &mut Core;
            fn is_ready(&self) -> bool;
            fn memory(&self) -> MapMemory;
            fn cache_entries(&self) -> u64;
            fn scheme_counters(&self) -> Vec<u64>;
            fn power_cut(self: Box<Self>, now: SimTime, dice: &mut dyn FnMut(u32) -> u32) -> Flash;
            $(fn $read(&self, $($in: $In),*) -> $Out;)+
            $(fn $write(&mut self, $($arg: $Arg),*);)+
            #[cfg(feature = "explore")]
            fn copy(&self) -> Box<dyn Firmware>;
            #[cfg(feature = "explore")]
            fn add_to(&self, state: &mut dyn std::hash::Hasher);
        }

        impl<M: Mapping> Firmware for Engine<M> {
            #[inline]
            fn core(&self) -> &Core {
                &self.core
            }

            #[inline]
            fn core_mut(&mut self) -> &mut Core {
                &mut self.core
            }

            fn is_ready(&self) -> bool {
                self.recovery.is_none()
            }

            fn memory(&self) -> MapMemory {
                self.map.memory(&self.core)
            }

            fn cache_entries(&self) -> u64 {
                self.map.cache_entries(&self.core)
            }

            fn scheme_counters(&self) -> Vec<u64> {
                self.map.counters(&self.core).values()
            }

            fn power_cut(self: Box<Self>, now: SimTime, dice: &mut dyn FnMut(u32) -> u32) -> Flash {
                Engine::power_cut(*self, now, dice)
            }

            $(#[inline] fn $read(&self, $($in: $In),*) -> $Out { Engine::$read(self, $($in),*) })+
            $(#[inline] fn $write(&mut self, $($arg: $Arg),*) { Engine::$write(self, $($arg),*); })+

            #[cfg(feature = "explore")]
            fn copy(&self) -> Box<dyn Firmware> {
                Box::new(self.clone())
            }

            #[cfg(feature = "explore")]
            fn add_to(&self, mut state: &mut dyn std::hash::Hasher) {
                std::hash::Hash::hash(self, &mut state);
            }
        }
    };
}

firmware! {
    reads {
        fn cached(lpa: Lpa, len: u32) -> bool;
        fn check() -> ();
        fn copies() -> Vec<GcCopy>;
        fn events_under_way(now: SimTime) -> Vec<Event>;
        fn is_idle() -> bool;
        fn levels() -> Levels;
        fn moment() -> Moment;
        fn prefetch(lpa: Lpa, changes: bool) -> ();
        fn translation(tag: Tag) -> Translation;
    }
    writes {
        fn command(now: SimTime, cmd: Command);
        fn control_booster(now: SimTime, control: BoosterControl);
        fn wake(now: SimTime, event: DeviceEvent);
        fn watch(scope: Scope);
    }
}
