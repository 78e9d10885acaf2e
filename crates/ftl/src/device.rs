//! The device from outside: one type over the engine with whatever mapping scheme.

use std::io::{Read, Write};

use archive::{ArchiveError, Reader, Writer};
use nand::Counters;
use ufs::{Booster, BoosterControl, Command, Content, DeviceInfo, Health, PLAIN_ENTRY_BYTES, SEALED_ENTRY_BYTES, Tag};
use units::{Counter, Lpa, Seq, SimTime};

use crate::core::{DeviceEvent, Effects};
use crate::engine::Firmware;
use crate::engine::power::{Flash, GcCopy, Moment};
use crate::engine::state::Translation;
use crate::kind::{DeviceConfig, MappingKind, Own};
use crate::report::stats::DeviceStats;
use crate::report::watch::{Event, Levels, Scope};

/// A device without power: its flash, and the firmware that is installed.
#[cfg_attr(feature = "explore", derive(Clone))]
#[derive(Debug)]
pub struct Unpowered {
    pub(crate) kind: MappingKind,
    pub(crate) flash: Flash,
    pub(crate) own: Own,
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

    /// Writes the content of the device's flash.
    ///
    /// # Errors
    /// Errors of the archive.
    pub fn save<W: Write>(&self, to: &mut Writer<W>) -> Result<(), ArchiveError> {
        self.flash.save(to)
    }

    /// A device with the flash that [`Unpowered::save`] has written. Its counters begin at zero.
    ///
    /// # Errors
    /// If the file is damaged, or was made with another geometry or capacity.
    pub fn load<R: Read>(
        cfg: DeviceConfig,
        kind: MappingKind,
        from: &mut Reader<R>,
    ) -> Result<Unpowered, ArchiveError> {
        let flash = Flash::load(cfg.engine(), kind.map_units(&cfg), from)?;
        Ok(Unpowered { kind, flash, own: cfg.mappings.of(kind).clone() })
    }

    /// The same flash as if it had been loaded for this configuration. Geometry, capacity and mapping scheme must be
    /// the same.
    ///
    /// # Panics
    /// If it has another geometry.
    pub fn reconfigured(self, cfg: DeviceConfig) -> Unpowered {
        let own = cfg.mappings.of(self.kind).clone();
        Unpowered { kind: self.kind, flash: self.flash.reconfigured(cfg.engine()), own }
    }
}

/// A device: firmware with a mapping scheme.
#[derive(Debug)]
pub struct Device {
    kind: MappingKind,
    own: Own,
    firmware: Box<dyn Firmware>,
}

#[cfg(feature = "explore")]
impl Clone for Device {
    fn clone(&self) -> Device {
        Device { kind: self.kind, own: self.own.clone(), firmware: self.firmware.copy() }
    }
}

/// The state of the firmware and of its flash. Two devices of the same configuration and equal hash behave alike, up to
/// accidental collisions. Counters, parameters and what nothing reads any more are left out; each type says why.
#[cfg(feature = "explore")]
impl std::hash::Hash for Device {
    fn hash<H: std::hash::Hasher>(&self, mut state: &mut H) {
        self.firmware.add_to(&mut state);
    }
}

impl Device {
    /// A device fresh from the factory.
    pub fn new(cfg: DeviceConfig, kind: MappingKind) -> Device {
        let own = cfg.mappings.of(kind).clone();
        Device { kind, firmware: kind.fresh(cfg.engine(), &own), own }
    }

    /// Cuts the power at `now`. SRAM, everything that the host was told, and operations in flight are lost. `dice(n)`
    /// gives a number in `0..n`, which decides what is left of pages that were being programmed. The caller has to drop
    /// all events and responses of this device.
    pub fn power_cut(self, now: SimTime, dice: &mut dyn FnMut(u32) -> u32) -> Unpowered {
        Unpowered { kind: self.kind, own: self.own, flash: self.firmware.power_cut(now, dice) }
    }

    /// Switches the power on. The device rebuilds its mapping, in simulated time, before it starts any command.
    pub fn power_on(unpowered: Unpowered, now: SimTime) -> Device {
        let Unpowered { kind, own, flash } = unpowered;
        Device { kind, firmware: kind.power_on(flash, &own, now), own }
    }

    /// False while recovery rebuilds the mapping.
    pub fn is_ready(&self) -> bool {
        self.firmware.is_ready()
    }

    /// The last change that the segments on flash hold. A driver that keeps the mapping begins with it. Valid only when
    /// the device is ready.
    pub fn applied(&self) -> Seq {
        Seq(self.firmware.core().next_seq().0 - 1)
    }

    /// Replaces the fault model for future operations.
    pub fn set_faults(&mut self, faults: nand::Faults) {
        self.firmware.core_mut().nand.set_faults(faults);
    }

    /// Units that host reads have asked for and whose page could not be read, because a fault was injected into that
    /// read, since the last call. Only these reads may fail. For tests and oracles; a host can not ask for it. They are
    /// kept until somebody takes them.
    pub fn take_failed_reads(&mut self) -> Vec<Lpa> {
        std::mem::take(&mut self.firmware.core_mut().failed_reads)
    }

    /// Notes from now on which host data has come to flash. For who stores the data beside the device.
    pub fn note_programmed(&mut self) {
        self.firmware.core_mut().host_programs.get_or_insert_default();
    }

    /// Host data that has come to flash since [`Device::note_programmed`], in the order of that; the caller takes it
    /// out. No power cut takes it any more. `None` if nobody wanted to know. A host can not ask for it.
    pub fn programmed(&mut self) -> Option<&mut Vec<Content>> {
        self.firmware.core_mut().host_programs.as_mut()
    }

    /// True if so few spare superblocks are left that the device only reads. It writes again when some come free: a
    /// host that keeps the mapping may tell it of one without valid pages.
    pub fn is_read_only(&self) -> bool {
        self.firmware.core().is_read_only()
    }

    /// True if superblocks have been given up because a program or an erase has failed. No other device refuses writes.
    pub fn has_lost_superblocks(&self) -> bool {
        self.firmware.core().blocks.lost() > 0
    }

    /// What the device is doing now.
    pub fn moment(&self) -> Moment {
        self.firmware.moment()
    }

    /// Pages that GC has read and not programmed elsewhere yet. For campaigns; a host can not ask for it.
    pub fn copies(&self) -> Vec<GcCopy> {
        self.firmware.copies()
    }

    /// True if no program and no erase is in flight.
    pub fn only_reads(&self) -> bool {
        self.firmware.core().nand.only_reads()
    }

    /// A host is about to read or change what lies at this address. For the caches of the processor that runs the
    /// simulator; the device learns nothing.
    #[inline]
    pub fn prefetch(&self, lpa: Lpa, changes: bool) {
        self.firmware.prefetch(lpa, changes);
    }

    /// A command arrives at `now`.
    #[inline]
    pub fn command(&mut self, now: SimTime, cmd: Command) {
        self.firmware.command(now, cmd);
    }

    /// WriteBooster, as QUERY REQUESTs show it; `None` if the host does not control the write cache.
    pub fn booster(&self) -> Option<Booster> {
        self.firmware.core().booster()
    }

    /// The host controls WriteBooster at `now`. Nothing happens without it.
    pub fn control_booster(&mut self, now: SimTime, control: BoosterControl) {
        self.firmware.control_booster(now, control);
    }

    /// How worn the device is, as its health descriptor says.
    pub fn health(&self) -> Health {
        self.firmware.core().health()
    }

    /// What is on flash now has lain for the retention age of the profile; see [`nand::Nand::rest`].
    pub fn rest(&mut self) {
        self.firmware.core_mut().nand.rest();
    }

    /// An event that the device asked to be woken for is due.
    #[inline]
    pub fn wake(&mut self, now: SimTime, event: DeviceEvent) {
        self.firmware.wake(now, event);
    }

    /// Wakes and responses that calls have asked for. The caller takes them out.
    #[inline]
    pub fn effects(&mut self) -> &mut Effects {
        &mut self.firmware.core_mut().effects
    }

    /// Bytes of SRAM beside the pool: log buffer, directory of the metadata, superblocks, tables of the mapping scheme,
    /// and what a host that keeps sealed entries needs if there is one: `asks`.
    pub fn table_bytes(&self, asks: bool) -> u64 {
        let (core, memory) = (self.firmware.core(), self.firmware.memory());
        let reads = core.disturb.as_ref().map_or(0, |reads| reads.table_bytes());
        let heat = core.heat.as_ref().map_or(0, |heat| heat.table_bytes());
        memory.sram
            + memory.cache
            + core.publisher.table_bytes(asks, core.cfg.host_tags)
            + core.blocks.table_bytes()
            + reads
            + heat
    }

    /// Those of these bytes that are the mapping scheme's own cache.
    pub fn own_cache_bytes(&self) -> u64 {
        self.firmware.memory().cache
    }

    /// Counters since power-on.
    pub fn stats(&self) -> DeviceStats {
        let core = self.firmware.core();
        let pool = u64::from(core.cfg.sram.pool) * units::UNIT_BYTES;
        let tables = self.table_bytes(false);
        DeviceStats {
            sram_bytes: pool + tables,
            sram_table_bytes: tables,
            device_dram_bytes: self.firmware.memory().dram,
            free_superblocks: u64::from(core.blocks.free()),
            slc_superblocks: u64::from(core.blocks.slc().count()),
            max_erase_count: u64::from(core.blocks.max_erases()),
            min_erase_count: u64::from(core.min_erases()),
            ..core.stats
        }
    }

    /// How the units of a tag's command have been translated. Valid when its response arrives at the host, until the
    /// tag is used again. For reports only; a host can not ask for it.
    #[inline]
    pub fn translation(&self, tag: Tag) -> Translation {
        self.firmware.translation(tag)
    }

    /// Notes from now on so much of what flash and firmware do. For reports only.
    pub fn watch(&mut self, scope: Scope) {
        self.firmware.watch(scope);
    }

    /// The events since the last call. Tags are those of commands that have not been answered, or whose responses have
    /// not arrived at the host.
    pub fn take_events(&mut self) -> impl Iterator<Item = Event> {
        self.firmware.core_mut().watch.iter_mut().flat_map(|watch| watch.events.drain(..))
    }

    /// What goes on, as if it ended at `now`; nothing has begun before somebody watched. What the firmware thread works
    /// on is told when it begins.
    pub fn under_way(&self, now: SimTime) -> Vec<Event> {
        self.firmware.events_under_way(now)
    }

    /// The sizes of its flash array.
    pub fn geometry(&self) -> &nand::Geometry {
        self.firmware.core().nand.geometry()
    }

    /// Flash operations submitted and not finished. For reports only.
    pub fn operations_in_flight(&self) -> u32 {
        self.firmware.core().nand.inflight()
    }

    /// How full queues and buffers are. For reports only.
    pub fn levels(&self) -> Levels {
        self.firmware.levels()
    }

    /// Counters that only this mapping scheme has, in the order of [`MappingKind::counters`].
    pub fn scheme_counters(&self) -> Vec<(&'static Counter, u64)> {
        self.kind.counters().iter().zip(self.firmware.scheme_counters()).collect()
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
        self.firmware.core().nand.counters()
    }

    /// True if translating these units needs no flash read. Must not change counters or LRU order. For reports only; a
    /// host has [`ufs::Op::CacheQuery`].
    #[inline]
    pub fn cached(&self, lpa: Lpa, len: u32) -> bool {
        self.firmware.cached(lpa, len)
    }

    /// The device's descriptors, as the host reads them.
    pub fn info(&self) -> DeviceInfo {
        let core = self.firmware.core();
        let published = core.publisher.config();
        DeviceInfo {
            capacity_units: core.cfg.capacity_units,
            superblocks: core.blocks.count(),
            superblock_units: core.layout.superblock_units(),
            hpb_group_entries: published.group_entries,
            hpb_entry_bytes: if published.sealed { SEALED_ENTRY_BYTES } else { PLAIN_ENTRY_BYTES },
            hpb_region_groups: published.region_groups,
            hpb_max_blocks: published.max_blocks.into(),
            hpb_device_control: published.recommend_after.is_some(),
            map_page_entries: core.meta.units().entries(),
            map_cache_entries: self.firmware.cache_entries().clamp(1, core.cfg.capacity_units.into()) as u32,
            victims: core.cfg.gc.victims,
        }
    }

    /// True if nothing is in flight and nothing waits: no command, no flash operation, no buffered data.
    pub fn is_idle(&self) -> bool {
        self.firmware.is_idle()
    }

    /// Checks the sums that must always hold; panics if one does not. Cheap enough to call every few thousand commands
    /// in tests.
    pub fn check(&self) {
        self.firmware.check();
    }
}
