//! What unit tests of schemes do in place of the engine.

use units::{Lpa, MapUnit, Ppa, Seq};

use crate::config::EngineConfig;
use crate::core::Core;
use crate::knowledge::meta::Meta;
use crate::knowledge::{Loaded, PiecesRead};
use crate::metadata::trims::Trims;
use crate::report::stats::DeviceStats;
use crate::space::blocks::Blocks;
use crate::sram::buffer::WriteBuffer;
use crate::table::map_units::MapUnits;

impl Core {
    pub fn in_test(cfg: EngineConfig, units: MapUnits) -> Core {
        Core::new(cfg, units)
    }

    pub fn blocks_in_test(&mut self) -> &mut Blocks {
        &mut self.blocks
    }

    pub fn buffer_in_test(&mut self) -> &mut WriteBuffer {
        &mut self.buffer
    }

    pub fn meta_in_test(&mut self) -> &mut Meta {
        &mut self.meta
    }

    pub fn trims_in_test(&mut self) -> &mut Trims {
        &mut self.trims
    }

    pub fn bitmaps_done_in_test(&mut self) {
        self.bitmaps_in_flight = 0;
    }

    pub fn take_seq_in_test(&mut self, n: u32) -> Seq {
        self.take_seq(n)
    }

    pub fn stats_in_test(&self) -> &DeviceStats {
        &self.stats
    }

    /// Sets an entry without proof. See [`Loaded::assumed`].
    pub fn assume_entry(&mut self, lpa: Lpa, ppa: Option<Ppa>) {
        self.meta.pages_mut().assume_entry(lpa, ppa);
    }

    /// An entry on flash and its number, without proof.
    pub fn inspect(&self, lpa: Lpa) -> (Option<Ppa>, Seq) {
        self.meta.pages().inspect(lpa)
    }

    /// A map unit where the directory says that it is, which has just been read.
    pub fn read_in_test(&self, unit: MapUnit) -> Loaded {
        let place = self.place_of(unit).expect("it is on flash");
        let read = PiecesRead::in_test(&[(place, unit.0)]);
        self.meta.expected(unit).among(&read, 1, self.meta.pages()).expect("it was read")
    }
}
