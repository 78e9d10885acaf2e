//! Saving a device without power to a file, and loading it.

use std::io::{Read, Write};

use archive::{ArchiveError, Reader, Writer};
use nand::Nand;

use crate::config::EngineConfig;
use crate::device::Unpowered;
use crate::engine::power::Flash;
use crate::kind::{DeviceConfig, MappingKind};
use crate::knowledge::meta::Meta;
use crate::knowledge::{Pages, Sizes};
use crate::table::map_units::MapUnits;

impl Unpowered {
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

impl Flash {
    fn save<W: Write>(&self, to: &mut Writer<W>) -> Result<(), ArchiveError> {
        self.nand.save(to)?;
        self.pages.save(to)
    }

    fn load<R: Read>(cfg: EngineConfig, units: MapUnits, from: &mut Reader<R>) -> Result<Flash, ArchiveError> {
        let mut nand = Nand::load(cfg.geometry, cfg.timing, from)?;
        nand.set_faults(cfg.faults);
        let meta = Meta::new(cfg.geometry.layout(), units);
        let sizes = Sizes { pieces: meta.pieces(), units: meta.flash_units(), labelled: meta.pages().labelled() };
        Ok(Flash { nand, pages: Pages::load(units, sizes, from)?, cfg })
    }

    fn reconfigured(self, cfg: EngineConfig) -> Flash {
        let mut nand = self.nand.renewed(cfg.geometry, cfg.timing);
        nand.set_faults(cfg.faults);
        Flash { nand, pages: self.pages, cfg }
    }
}
