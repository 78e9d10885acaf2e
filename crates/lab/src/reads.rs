//! A log of reads, kept when somebody wants it: who asked, when, for how long, and where the mapping came from.
//!
//! Neither driver nor device tell each other any of this. The laboratory asks both of them, by tag, when a response
//! arrives at the host.

use device::Translation;
use host::HostMapping;
use units::{AppId, Lpa, SimTime};
use workload::ReadOutcome;

use crate::requests::Slot;

/// Where the mapping of a command's units came from, by what the two sides of the link say about it.
pub(crate) fn outcome(host: HostMapping, device: Translation) -> ReadOutcome {
    match (host, device) {
        (HostMapping::Fetched, _) | (_, Translation { map_reads: 1.., .. }) => ReadOutcome::Map,
        (HostMapping::Known, Translation { refused: false, .. }) => ReadOutcome::Host,
        _ => ReadOutcome::Sram,
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
    pub outcome: Option<ReadOutcome>,
}

impl ReadRecord {
    /// The record of a read that completes now.
    pub(crate) fn new(slot: &Slot, now: SimTime) -> ReadRecord {
        let Slot { app, lpa, len, arrival, outcome, .. } = *slot;
        ReadRecord { app, lpa, len, issued: arrival, completed: now, outcome }
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
        for (host, device, expected) in [
            (HostMapping::Known, fine, ReadOutcome::Host),
            (HostMapping::Known, refused, ReadOutcome::Sram),
            (HostMapping::Known, Translation { refused: true, ..read }, ReadOutcome::Map),
            (HostMapping::Fetched, fine, ReadOutcome::Map),
            (HostMapping::Unknown, fine, ReadOutcome::Sram),
            (HostMapping::Unknown, read, ReadOutcome::Map),
        ] {
            assert_eq!(outcome(host, device), expected, "{host:?} and {device:?}");
        }
        assert!(ReadOutcome::Host < ReadOutcome::Sram && ReadOutcome::Sram < ReadOutcome::Map);
    }
}
