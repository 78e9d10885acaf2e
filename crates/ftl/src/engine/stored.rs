//! Saving flash to a file, and loading it.

use std::io::{Read, Write};

use archive::{ArchiveError, Reader, Writer};
use nand::Nand;

use crate::config::EngineConfig;
use crate::engine::power::Flash;
use crate::knowledge::meta::Meta;
use crate::knowledge::{Pages, Sizes};
use crate::table::map_units::MapUnits;

impl Flash {
    pub fn save<W: Write>(&self, to: &mut Writer<W>) -> Result<(), ArchiveError> {
        self.nand.save(to)?;
        self.pages.save(to)
    }

    pub fn load<R: Read>(cfg: EngineConfig, units: MapUnits, from: &mut Reader<R>) -> Result<Flash, ArchiveError> {
        let mut nand = Nand::load(cfg.geometry, cfg.timing, from)?;
        nand.set_faults(cfg.faults);
        let meta = Meta::new(cfg.geometry.layout(), units);
        let sizes = Sizes { pieces: meta.pieces(), units: meta.flash_units(), labelled: meta.pages().labelled() };
        Ok(Flash { nand, pages: Pages::load(units, sizes, from)?, cfg })
    }

    pub fn reconfigured(self, cfg: EngineConfig) -> Flash {
        let mut nand = self.nand.renewed(cfg.geometry, cfg.timing);
        nand.set_faults(cfg.faults);
        Flash { nand, pages: self.pages, cfg }
    }
}
