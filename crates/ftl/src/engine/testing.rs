//! An engine and its events, for tests that look at what it holds.

use nand::Geometry;
use ufs::{Command, DataOut, Op, Tag};
use units::{Lpa, Seq, SimTime, Superblock};

use crate::config::{EngineConfig, GcConfig, SramConfig};
use crate::core::{Core, DeviceEvent, Job};
use crate::engine::power::Moment;
use crate::engine::state::Engine;
use crate::seat::Mapping;
use crate::space::blocks::Stream;
use crate::space::gc::{Gc, PageCopy, Phase};
use crate::sram::pool::Owner;
#[cfg(test)]
use crate::table::map_units::{MapShape, MapUnits};
use crate::testing::small;

/// Units of a row and of a superblock: it has eight rows, on two dies in turn.
pub const ROW: u32 = 8;
/// See [`ROW`].
pub const UNITS: u32 = 64;

/// So many data superblocks, six for metadata from then on, and no GC.
pub fn config(data_superblocks: u32) -> EngineConfig {
    let cfg = small();
    EngineConfig {
        geometry: Geometry {
            channels: 2,
            dies_per_channel: 1,
            superblock_dies: 2,
            planes: 2,
            units_per_page: 4,
            pages_per_block: 4,
            word_line_pages: 1,
            data_superblocks,
            meta_superblocks: 6,
        },
        capacity_units: 1024,
        write_through: false,
        sram: SramConfig { pool: 200, reserve: 24, ..cfg.sram },
        gc: GcConfig { start: 0, relaxed: 0, hurried: 0, reserve: 0, ..cfg.gc },
        wear_spread: 3,
        endurance: crate::Endurance::default(),
        ..cfg
    }
}

/// A device and its events.
#[derive(Debug)]
pub struct Bench<M: Mapping> {
    pub(crate) fw: Engine<M>,
    wakes: Vec<(SimTime, DeviceEvent)>,
    own: M::Params,
}

impl<M: Mapping> Bench<M> {
    /// A new device.
    pub fn new(cfg: EngineConfig, own: &M::Params) -> Bench<M> {
        Bench { fw: Engine::new(cfg, own), wakes: Vec::new(), own: *own }
    }

    /// A new device whose map units have another shape.
    #[cfg(test)]
    pub fn with_shape(cfg: EngineConfig, own: &M::Params, shape: MapShape) -> Bench<M> {
        let units = MapUnits::new(cfg.capacity_units, shape);
        let core = Core::new(cfg, units);
        let map = M::new(&core, own);
        Bench { fw: Engine::with(core, map, *own), wakes: Vec::new(), own: *own }
    }

    /// The scheme, and what it is lent.
    pub fn scheme(&self) -> (&M, &Core) {
        (&self.fw.map, &self.fw.core)
    }

    /// What the device is doing now.
    pub fn moment(&self) -> Moment {
        self.fw.moment()
    }

    /// Map flushes, and units that GC has programmed, since power-on.
    pub fn counts(&self) -> (u64, u64) {
        (self.fw.core.stats.map_flushes, self.fw.core.stats.gc_units_programmed)
    }

    /// From now on GC is urgent at `reserve` free superblocks, and begins at `start`. The host has paid for a step.
    pub fn collect_at(&mut self, reserve: u32, start: u32) {
        let gc = GcConfig { start: start + 1, reserve, units_per_step: UNITS, ..self.fw.core.cfg.gc };
        self.fw.gc = Gc::new(gc, UNITS);
        self.fw.gc.earn(UNITS, start);
    }

    /// Copies that wait for a full row, of addresses that the host has written elsewhere since.
    pub fn keep_copies(&mut self, n: u32) {
        assert!(self.fw.core.sram.take(Owner::Gc, n as u16));
        for lpa in (0..n).map(Lpa) {
            self.fw.gc.keep(PageCopy { lpa, stamp: 1, version: lpa.0 + 1, source: Superblock(0) }, false);
        }
    }

    /// Opens the next superblock for copies and leaves room for so many units.
    pub fn open_for_copies(&mut self, room: u32) {
        self.fw.core.blocks.open_next(Stream::Gc).expect("a free superblock");
        let last = self.fw.core.take_seq(UNITS - room);
        self.fw.core.blocks.place(Stream::Gc, UNITS - room, UNITS - room, last);
    }

    /// The log has room for so many entries beside those of programs in flight.
    pub fn leave_in_log(&mut self, room: usize) {
        self.fw.core.units_to_log = self.fw.core.log.room() - room;
    }

    /// True if a GC step begins now.
    pub fn begins_gc_step(&mut self) -> bool {
        self.fw.begin_gc_step()
    }

    /// Programs copies as far as there is room. Gives how many still wait.
    pub fn program_copies(&mut self) -> usize {
        assert!(self.fw.program_copies());
        self.fw.gc.queue.len()
    }

    /// A GC step programs the copies that wait.
    pub fn program_waiting_copies(&mut self) {
        self.fw.core.begin_job(Job::Gc);
        self.fw.gc.begin_step(0);
        self.fw.gc.phase = Phase::Program;
        self.settle();
    }

    /// Lets the firmware do all that it can do now.
    pub fn go_on(&mut self) {
        let now = self.fw.core.now;
        self.fw.wake(now, DeviceEvent::Firmware);
        self.wakes.append(&mut self.fw.core.effects.wakes);
    }

    /// Goes on to the next event. False if nothing is under way.
    pub fn step(&mut self) -> bool {
        let Some(first) = (0..self.wakes.len()).min_by_key(|&i| self.wakes[i].0) else { return false };
        let (at, event) = self.wakes.remove(first);
        self.fw.wake(at, event);
        self.wakes.append(&mut self.fw.core.effects.wakes);
        true
    }

    /// Goes on until nothing is under way.
    pub fn settle(&mut self) {
        self.go_on();
        while self.step() {}
    }

    /// Sends a command of a host that has applied all changes up to `host_seq`.
    pub fn send(&mut self, op: Op, data: DataOut, host_seq: Seq) {
        let now = self.fw.core.now;
        self.fw.command(now, Command { tag: Tag(0), op, host_seq, freed: None, data });
        self.wakes.append(&mut self.fw.core.effects.wakes);
    }

    /// Cuts the power. It comes back at once, and the mapping is rebuilt.
    pub fn cut(self) -> Bench<M> {
        let now = self.fw.core.now;
        let flash = self.fw.power_cut(now, &mut |_| 0);
        let mut bench = Bench { fw: Engine::power_on(flash, &self.own, now), wakes: Vec::new(), own: self.own };
        bench.settle();
        assert!(bench.fw.recovery.is_none());
        bench
    }
}
