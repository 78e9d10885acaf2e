//! What unit tests of schemes do in place of the engine.

use units::Seq;

use crate::blocks::Blocks;
use crate::buffer::WriteBuffer;
use crate::config::EngineConfig;
use crate::engine::core::Core;
use crate::map_units::MapUnits;
use crate::meta::Meta;
use crate::stats::DeviceStats;
use crate::trims::Trims;

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
}
