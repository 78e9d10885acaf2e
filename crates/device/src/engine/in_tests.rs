//! A firmware and its events, for tests that look at what it holds.

use nand::Geometry;
use ufs::{Command, DataOut, Op, Tag};
use units::{Seq, SimTime};

use super::core::DeviceEvent;
use super::state::Firmware;
use crate::config::{EngineConfig, GcConfig, SramConfig};
use crate::mapping::small;
use crate::seat::Mapping;

/// Units of a row and of a superblock: it has eight rows, on two dies in turn.
pub const ROW: u32 = 8;
pub const UNITS: u32 = 64;

/// So many data superblocks, six for metadata from then on, and no GC.
pub fn config(data_superblocks: u32) -> EngineConfig {
    let cfg = small::config();
    EngineConfig {
        geometry: Geometry {
            channels: 2,
            dies_per_channel: 1,
            superblock_dies: 2,
            planes: 2,
            units_per_page: 4,
            pages_per_block: 4,
            data_superblocks,
            meta_superblocks: 6,
        },
        capacity_units: 1024,
        write_through: false,
        sram: SramConfig { pool: 200, reserve: 24, ..cfg.sram },
        gc: GcConfig { start: 0, relaxed: 0, hurried: 0, reserve: 0, ..cfg.gc },
        wear_spread: 3,
        ..cfg
    }
}

/// A device and its events.
pub struct Bench<M: Mapping> {
    pub fw: Firmware<M>,
    wakes: Vec<(SimTime, DeviceEvent)>,
    own: M::Params,
}

impl<M: Mapping> Bench<M> {
    pub fn new(cfg: EngineConfig, own: &M::Params) -> Bench<M> {
        Bench { fw: Firmware::new(cfg, own), wakes: Vec::new(), own: *own }
    }

    /// Lets the firmware do all that it can do now.
    pub fn go_on(&mut self) {
        let now = self.fw.core.now;
        self.fw.wake(now, DeviceEvent::Firmware);
        self.wakes.append(&mut self.fw.effects().wakes);
    }

    /// Goes on to the next event. False if nothing is under way.
    pub fn step(&mut self) -> bool {
        let Some(first) = (0..self.wakes.len()).min_by_key(|&i| self.wakes[i].0) else { return false };
        let (at, event) = self.wakes.remove(first);
        self.fw.wake(at, event);
        self.wakes.append(&mut self.fw.effects().wakes);
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
        self.wakes.append(&mut self.fw.effects().wakes);
    }

    /// Cuts the power. It comes back at once, and the mapping is rebuilt.
    pub fn cut(self) -> Bench<M> {
        let now = self.fw.core.now;
        let flash = self.fw.power_cut(now, &mut |_| 0);
        let mut bench = Bench { fw: Firmware::power_on(flash, &self.own, now), wakes: Vec::new(), own: self.own };
        bench.settle();
        assert!(bench.fw.is_ready());
        bench
    }
}
