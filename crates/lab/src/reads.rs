//! A log of reads, kept when somebody wants it: who asked, when, for how long, and where the mapping came from.
//!
//! Neither driver nor device tell each other any of this. The laboratory asks both of them, by tag, when a response
//! arrives at the host.

use device::Translation;
use host::HostMapping;
use units::{AppId, Lpa, SimTime};
use workload::ReadOutcome;

use crate::requests::Slot;

/// Where the mapping of a read came from. A read of several units counts as its worst one, so the order matters.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum MapSource {
    /// The host sent it along, and the device accepted it.
    Host,
    /// The device had it in SRAM (write buffer, log, cached segments or entries) or in DRAM, or the unit was never written.
    Sram,
    /// It was read from flash first: an L2P miss. The device did that, or the host fetched it and the read waited.
    Flash,
}

impl MapSource {
    /// What the two sides of the link say about one command.
    pub(crate) fn of(host: HostMapping, device: Translation) -> MapSource {
        match (host, device) {
            (HostMapping::Fetched, _) | (_, Translation { map_reads: 1.., .. }) => MapSource::Flash,
            (HostMapping::Known, Translation { refused: false, .. }) => MapSource::Host,
            _ => MapSource::Sram,
        }
    }
}

impl From<MapSource> for ReadOutcome {
    fn from(source: MapSource) -> ReadOutcome {
        match source {
            MapSource::Host => ReadOutcome::Host,
            MapSource::Sram => ReadOutcome::Sram,
            MapSource::Flash => ReadOutcome::Map,
        }
    }
}

/// A read that has completed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ReadRecord {
    /// Who asked.
    pub app: AppId,
    /// First 4 KiB unit.
    pub lpa: Lpa,
    /// Length in 4 KiB units.
    pub len: u32,
    /// From when its latency counts.
    pub issued: SimTime,
    /// When it completed.
    pub completed: SimTime,
    /// Where its mapping came from; `None` if the driver refused it, so that no device was asked.
    pub source: Option<MapSource>,
}

impl ReadRecord {
    /// The record of a read that completes now.
    pub(crate) fn new(slot: &Slot, now: SimTime) -> ReadRecord {
        let Slot { app, lpa, len, arrival, source, .. } = *slot;
        ReadRecord { app, lpa, len, issued: arrival, completed: now, source }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mapping_is_the_hosts_only_if_the_device_took_it() {
        let fine = Translation::default();
        let refused = Translation { refused: true, ..fine };
        let read = Translation { map_reads: 1, ..fine };
        for (host, device, source) in [
            (HostMapping::Known, fine, MapSource::Host),
            (HostMapping::Known, refused, MapSource::Sram),
            (HostMapping::Known, Translation { refused: true, ..read }, MapSource::Flash),
            (HostMapping::Fetched, fine, MapSource::Flash),
            (HostMapping::Unknown, fine, MapSource::Sram),
            (HostMapping::Unknown, read, MapSource::Flash),
        ] {
            assert_eq!(MapSource::of(host, device), source, "{host:?} and {device:?}");
        }
        assert!(MapSource::Host < MapSource::Sram && MapSource::Sram < MapSource::Flash);
    }
}
