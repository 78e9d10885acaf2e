//! The device from outside: one type over the firmware of every registered mapping scheme.

use nand::Counters;
use ufs::{Command, Content, DeviceInfo};
use units::{Counter, Lpa, Seq, SimTime};

use crate::activity::{Activity, Levels};
use crate::config::Config;
use crate::engine::core::{DeviceEvent, Effects};
use crate::engine::power::{Flash, GcCopy, Moment};
use crate::engine::state::Firmware;
use crate::mapping::{MappingKind, MappingParams, schemes};
use crate::stats::DeviceStats;
use crate::stays::Account;

/// Everything that makes one device, with the parameters of all mapping schemes.
pub type DeviceConfig = Config<MappingParams>;

macro_rules! dispatch {
    ($($(#[$doc:meta])* $name:literal => $variant:ident: $scheme:ty $(, in $module:ident)?;)*) => {
        #[cfg_attr(feature = "explore", derive(Clone, Hash))]
        #[derive(Debug)]
        enum Inner { $($variant(Box<Firmware<schemes::$variant>>),)* }

        impl Inner {
            fn new(cfg: &DeviceConfig, kind: MappingKind) -> Inner {
                let (engine, all) = (cfg.engine(), &cfg.mappings);
                match kind {
                    $(MappingKind::$variant => Inner::$variant(Box::new(Firmware::new(engine, &all.$variant))),)*
                }
            }

            fn power_cut(self, now: SimTime, dice: &mut dyn FnMut(u32) -> u32) -> (MappingKind, Flash) {
                match self { $(Inner::$variant(fw) => (MappingKind::$variant, fw.power_cut(now, dice)),)* }
            }

            fn power_on(unpowered: Unpowered, now: SimTime) -> Inner {
                let Unpowered { kind, flash, mappings: all } = unpowered;
                match kind {
                    $(MappingKind::$variant => {
                        Inner::$variant(Box::new(Firmware::power_on(flash, &all.$variant, now)))
                    })*
                }
            }
        }

        macro_rules! each {
            ($inner:expr, $fw:ident => $body:expr) => {
                match $inner { $(Inner::$variant($fw) => $body,)* }
            };
        }
    };
}
crate::registered_mappings!(dispatch);

/// A device without power: its flash, and the firmware that is installed.
#[cfg_attr(feature = "explore", derive(Clone))]
#[derive(Debug)]
pub struct Unpowered {
    pub(crate) kind: MappingKind,
    pub(crate) flash: Flash,
    pub(crate) mappings: MappingParams,
}

/// What is on flash, and what has been worn.
#[cfg(feature = "explore")]
impl std::hash::Hash for Unpowered {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.flash.hash(state);
    }
}

impl Unpowered {
    /// Flash counters since the device was new.
    pub fn nand_counters(&self) -> &Counters {
        self.flash.counters()
    }
}

/// A device: firmware with one of the registered mapping schemes.
#[cfg_attr(feature = "explore", derive(Clone))]
#[derive(Debug)]
pub struct Device {
    inner: Inner,
    mappings: MappingParams,
}

/// The state of the firmware and of its flash. Two devices of the same configuration and equal hash behave alike, up to
/// accidental collisions. Counters, parameters and what nothing reads any more are left out; each type says why.
#[cfg(feature = "explore")]
impl std::hash::Hash for Device {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.inner.hash(state);
    }
}

impl Device {
    /// A device fresh from the factory.
    pub fn new(cfg: DeviceConfig, kind: MappingKind) -> Device {
        Device { inner: Inner::new(&cfg, kind), mappings: cfg.mappings }
    }

    /// Cuts the power at `now`. SRAM, everything that the host was told, and operations in flight are lost. `dice(n)`
    /// gives a number in `0..n`, which decides what is left of pages that were being programmed. The caller has to drop
    /// all events and responses of this device.
    pub fn power_cut(self, now: SimTime, dice: &mut dyn FnMut(u32) -> u32) -> Unpowered {
        let (kind, flash) = self.inner.power_cut(now, dice);
        Unpowered { kind, flash, mappings: self.mappings }
    }

    /// Switches the power on. The device rebuilds its mapping, in simulated time, before it starts any command.
    pub fn power_on(unpowered: Unpowered, now: SimTime) -> Device {
        let mappings = unpowered.mappings;
        Device { inner: Inner::power_on(unpowered, now), mappings }
    }

    /// False while recovery rebuilds the mapping.
    pub fn is_ready(&self) -> bool {
        each!(&self.inner, fw => fw.is_ready())
    }

    /// The last change that the segments on flash hold. A driver that keeps the mapping begins with it. Valid only when
    /// the device is ready.
    pub fn applied(&self) -> Seq {
        each!(&self.inner, fw => fw.applied())
    }

    /// Replaces the fault model for future operations.
    pub fn set_faults(&mut self, faults: nand::Faults) {
        each!(&mut self.inner, fw => fw.set_faults(faults));
    }

    /// Units that host reads have asked for and whose page could not be read, because a fault was injected into that
    /// read, since the last call. Only these reads may fail. For tests and oracles; a host can not ask for it. They are
    /// kept until somebody takes them.
    pub fn take_failed_reads(&mut self) -> Vec<Lpa> {
        each!(&mut self.inner, fw => fw.take_failed_reads())
    }

    /// Notes from now on which host data has come to flash. For who stores the data beside the device.
    pub fn note_programmed(&mut self) {
        each!(&mut self.inner, fw => fw.note_programmed());
    }

    /// Host data that has come to flash since [`Device::note_programmed`], in the order of that; the caller takes it
    /// out. No power cut takes it any more. `None` if nobody wanted to know. A host can not ask for it.
    pub fn programmed(&mut self) -> Option<&mut Vec<Content>> {
        each!(&mut self.inner, fw => fw.programmed())
    }

    /// True if so few spare superblocks are left that the device only reads. It writes again when some come free: a
    /// host that keeps the mapping may tell it of one without valid pages.
    pub fn is_read_only(&self) -> bool {
        each!(&self.inner, fw => fw.is_read_only())
    }

    /// True if superblocks have been given up because a program or an erase has failed. No other device refuses writes.
    pub fn has_lost_superblocks(&self) -> bool {
        each!(&self.inner, fw => fw.has_lost_superblocks())
    }

    /// What the device is doing now.
    pub fn moment(&self) -> Moment {
        each!(&self.inner, fw => fw.moment())
    }

    /// Pages that GC has read and not programmed elsewhere yet. For campaigns; a host can not ask for it.
    pub fn copies(&self) -> Vec<GcCopy> {
        each!(&self.inner, fw => fw.copies())
    }

    /// True if no program and no erase is in flight.
    pub fn only_reads(&self) -> bool {
        each!(&self.inner, fw => fw.only_reads())
    }

    /// A host is about to read or write at this address. For the caches of the processor that runs the simulator; the
    /// device learns nothing.
    #[inline]
    pub fn prefetch(&self, lpa: Lpa) {
        each!(&self.inner, fw => fw.prefetch(lpa));
    }

    /// A command arrives at `now`.
    #[inline]
    pub fn command(&mut self, now: SimTime, cmd: Command) {
        each!(&mut self.inner, fw => fw.command(now, cmd));
    }

    /// An event that the device asked to be woken for is due.
    #[inline]
    pub fn wake(&mut self, now: SimTime, event: DeviceEvent) {
        each!(&mut self.inner, fw => fw.wake(now, event));
    }

    /// Wakes and responses that calls have asked for. The caller takes them out.
    #[inline]
    pub fn effects(&mut self) -> &mut Effects {
        each!(&mut self.inner, fw => fw.effects())
    }

    /// Bytes of SRAM beside the pool: log buffer, directory of the metadata, superblocks, tables of the mapping scheme,
    /// and what a host that keeps sealed entries needs if there is one: `asks`.
    pub fn table_bytes(&self, asks: bool) -> u64 {
        each!(&self.inner, fw => fw.table_bytes(asks))
    }

    /// Those of these bytes that are the mapping scheme's own cache.
    pub fn own_cache_bytes(&self) -> u64 {
        each!(&self.inner, fw => fw.own_cache_bytes())
    }

    /// Counters since power-on.
    pub fn stats(&self) -> DeviceStats {
        each!(&self.inner, fw => fw.stats())
    }

    /// What there is to tell of a tag's command. Valid when its response arrives at the host, until the tag is used
    /// again. For reports only; a host can not ask for it.
    #[inline]
    pub fn account(&self, tag: ufs::Tag) -> Account<'_> {
        each!(&self.inner, fw => fw.account(tag))
    }

    /// Notes from now on what commands wait for inside the device. For reports only.
    pub fn note_stays(&mut self) {
        each!(&mut self.inner, fw => fw.note_stays());
    }

    /// Notes from now on what flash and firmware are busy with, or no more. For reports only.
    pub fn note_activity(&mut self, wanted: bool) {
        each!(&mut self.inner, fw => fw.note_activity(wanted));
    }

    /// Takes out the activities that have ended since the last call, in the order in which they were noted: those of
    /// the firmware thread when they begin. Tags are those of commands that have not been answered, or whose responses
    /// have not arrived at the host.
    pub fn take_activity(&mut self, into: &mut Vec<Activity>) {
        each!(&mut self.inner, fw => fw.take_activity(into));
    }

    /// The activities that go on at `now`, as if they ended then, with or without [`Device::note_activity`]. Those of
    /// the firmware thread are noted when they begin.
    pub fn activity_under_way(&self, now: SimTime) -> Vec<Activity> {
        each!(&self.inner, fw => fw.activity_under_way(now))
    }

    /// The sizes of its flash array.
    pub fn geometry(&self) -> &nand::Geometry {
        each!(&self.inner, fw => fw.geometry())
    }

    /// Flash operations submitted and not finished. For reports only.
    pub fn operations_in_flight(&self) -> u32 {
        each!(&self.inner, fw => fw.operations_in_flight())
    }

    /// How full queues and buffers are. For reports only.
    pub fn levels(&self) -> Levels {
        each!(&self.inner, fw => fw.levels())
    }

    /// Counters that only this mapping scheme has, in the order of [`MappingKind::counters`].
    pub fn scheme_counters(&self) -> Vec<(&'static Counter, u64)> {
        each!(&self.inner, fw => fw.scheme_counters())
    }

    /// The counter of this name, of the firmware or of the mapping scheme.
    ///
    /// # Panics
    /// If this device has none of this name.
    pub fn counter(&self, name: &str) -> u64 {
        let own = self.scheme_counters().into_iter().map(|(counter, value)| (counter.name, value));
        let found = self.stats().fields().chain(own).find(|(counter, _)| *counter == name);
        found.unwrap_or_else(|| panic!("no counter {name}")).1
    }

    /// Flash counters since power-on.
    pub fn nand_counters(&self) -> &Counters {
        each!(&self.inner, fw => fw.nand_counters())
    }

    /// True if translating these units needs no flash read. Must not change counters or LRU order. For reports only; a
    /// host has [`ufs::Op::CacheQuery`].
    #[inline]
    pub fn cached(&self, lpa: Lpa, len: u32) -> bool {
        each!(&self.inner, fw => fw.cached(lpa, len))
    }

    /// The device's descriptors, as the host reads them.
    pub fn info(&self) -> DeviceInfo {
        each!(&self.inner, fw => fw.info())
    }

    /// True if nothing is in flight and nothing waits: no command, no flash operation, no buffered data.
    pub fn is_idle(&self) -> bool {
        each!(&self.inner, fw => fw.is_idle())
    }

    /// Checks the sums that must always hold; panics if one does not. Cheap enough to call every few thousand commands
    /// in tests.
    pub fn check(&self) {
        each!(&self.inner, fw => fw.check());
    }
}
