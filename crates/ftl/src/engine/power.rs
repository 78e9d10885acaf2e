//! Loss of power, and power-on.

use nand::Nand;
use units::{Lpa, SimTime, splitmix64};

use super::recover::state::Recovery;
use super::state::Engine;
use crate::config::EngineConfig;
use crate::core::ops::{ProgramReason, Purpose};
use crate::core::{Core, Job};
use crate::knowledge::meta::Kind;
use crate::knowledge::{Pages, Programmed};
use crate::report::stats::DeviceStats;
use crate::seat::Mapping;
use crate::space::gc::PageCopy;
use crate::table::directory::Piece;

/// What a power cut leaves of a device: its flash.
#[cfg_attr(feature = "explore", derive(Clone, Hash))]
#[derive(Debug)]
pub struct Flash {
    pub cfg: EngineConfig,
    pub nand: Nand,
    pub pages: Pages,
}

/// What the device was doing when the power was cut, for the report of a campaign.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Moment {
    /// Host data was being programmed.
    pub program: bool,
    /// A superblock was being erased.
    pub erase: bool,
    /// A map flush was going on.
    pub map_flush: bool,
    /// A segment from the host was being written to flash.
    pub writeback: bool,
    /// A GC step was going on.
    pub gc: bool,
    /// A step of wear levelling was going on.
    pub wear: bool,
    /// A page of the journal of trims was being programmed.
    pub journal: bool,
    /// A part of a record was being programmed.
    pub record: bool,
    /// A snapshot of the directory was being programmed.
    pub snapshot: bool,
    /// Metadata was being collected.
    pub meta_gc: bool,
    /// The mapping was being rebuilt.
    pub recovery: bool,
}

/// A page that GC has read and not programmed elsewhere yet, for campaigns and oracles.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct GcCopy {
    /// Its address.
    pub lpa: Lpa,
    /// Its content.
    pub stamp: u32,
    /// It is being programmed; otherwise it waits for a full row.
    pub programming: bool,
}

impl<M: Mapping> Engine<M> {
    /// Pages that GC has read and not programmed elsewhere yet.
    pub fn copies(&self) -> Vec<GcCopy> {
        let copy = |page: PageCopy, programming| GcCopy { lpa: page.lpa, stamp: page.stamp, programming };
        let waiting = self.gc.waiting().map(|page| copy(page, false));
        let programming = self.core.ops.in_flight().flat_map(|(_, slot)| match slot.purpose {
            Purpose::GcProgram { n, .. } => &slot.items[..n as usize],
            _ => &[],
        });
        waiting.chain(programming.map(|&id| copy(self.gc.page(id), true))).collect()
    }

    /// What the device is doing now.
    pub fn moment(&self) -> Moment {
        let mut moment = Moment::default();
        for (_, slot) in self.core.ops.in_flight() {
            match slot.purpose {
                Purpose::HostProgram { .. } => moment.program = true,
                Purpose::Erase { .. } => moment.erase = true,
                Purpose::Snapshot => moment.snapshot = true,
                Purpose::MetaProgram { reason, n, .. } => {
                    for &item in &slot.items[..n as usize] {
                        match self.core.meta.kind(Piece(item)) {
                            Kind::Segment(_) => moment.writeback |= reason == ProgramReason::Background,
                            Kind::Journal(_) => moment.journal = true,
                            Kind::Record(_) => moment.record = true,
                            Kind::Bitmap(_) => {}
                        }
                    }
                }
                _ => {}
            }
        }
        match self.core.job {
            Some(Job::MapFlush) => moment.map_flush = true,
            Some(Job::Gc) => match self.gc.victim.as_ref().is_some_and(|victim| victim.wear) {
                true => moment.wear = true,
                false => moment.gc = true,
            },
            Some(Job::MetaGc) => moment.meta_gc = true,
            Some(Job::Recovery) => moment.recovery = true,
            None => {}
        }
        moment.map_flush |= self.core.flushing;
        moment
    }

    /// Cuts the power at `now`. All of SRAM is lost. `dice` decide how far operations in flight have got.
    pub fn power_cut(mut self, now: SimTime, dice: &mut dyn FnMut(u32) -> u32) -> Flash {
        let torn = self.core.nand.power_cut(now, dice);
        let mut whole: Vec<(Programmed, ProgramReason)> = Vec::new();
        for (token, slot) in self.core.ops.in_flight() {
            let Purpose::MetaProgram { n, reason, .. } = slot.purpose else { continue };
            let Some(program) = torn.iter().find(|torn| torn.token() == token) else { continue };
            let mut placing = self.core.meta.placing();
            for piece in slot.items[..n as usize].iter().map(|&item| Piece(item)) {
                let survived = Programmed::survived(program, piece, placing.put(piece));
                whole.extend(survived.map(|programmed| (programmed, reason)));
            }
        }
        for (programmed, reason) in whole {
            self.core.piece_on_flash(&programmed, reason);
            if reason != ProgramReason::Move && matches!(self.core.meta.kind(programmed.piece()), Kind::Segment(_)) {
                self.core.programmed.add(programmed);
            }
        }
        let survived = self.core.take_programmed();
        self.map.on_power_loss(&mut self.core, &survived);
        if let Some(recovery) = &mut self.recovery {
            recovery.writes.finish(&mut self.core, &survived);
        }
        Flash { cfg: self.core.cfg, nand: self.core.nand, pages: self.core.meta.into_pages() }
    }

    /// Switches the power on. Recovery begins; commands wait until it is done.
    pub fn power_on(flash: Flash, own: &M::Params, now: SimTime) -> Engine<M> {
        let Flash { mut cfg, nand, pages } = flash;
        // Each boot has its own key, so entries sealed before the cut are refused.
        cfg.seal_key = cfg.seal_key.map(splitmix64);
        cfg.log.entries = M::log_entries(&cfg, own);
        cfg.sram.entries = M::caches_entries(own);
        let mut core = Core::powered_on(nand, pages, cfg);
        core.now = now;
        core.publish(&M::published(own));
        if M::schedules_directory(own) {
            core.meta.schedule_snapshots();
        }
        let map = M::new(&core, own);
        let recovery = Recovery::new(&core);
        let mut firmware = Engine::with(core, map, *own);
        firmware.recovery = Some(Box::new(recovery));
        firmware.core.begin_job(Job::Recovery);
        firmware.run_until_blocked();
        firmware
    }
}

impl Flash {
    /// Counters of the flash since it was new.
    pub fn counters(&self) -> &nand::Counters {
        self.nand.counters()
    }
}

/// Adds the time of a part of a recovery to [`DeviceStats`].
pub fn add_time(stats: &mut DeviceStats, part: Part, nanos: u64) {
    let slot = match part {
        Part::Directory => &mut stats.recovery_directory_ns,
        Part::Scan => &mut stats.recovery_scan_ns,
        Part::SegmentRead => &mut stats.recovery_segment_read_ns,
        Part::Update => &mut stats.recovery_update_ns,
        Part::SegmentWrite => &mut stats.recovery_segment_write_ns,
        Part::Count => &mut stats.recovery_count_ns,
    };
    *slot += nanos;
    stats.recovery_ns += nanos;
}

/// Parts of a recovery: those of HP-UFS Fig. 11, and those that the figure leaves out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Part {
    /// Finding metadata.
    Directory,
    /// Reading the spare areas of log blocks.
    Scan,
    /// Reading the segments concerned.
    SegmentRead,
    /// Changing them, and choosing among copies by GC.
    Update,
    /// Writing them.
    SegmentWrite,
    /// Reading all segments for valid page counts.
    Count,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_of_a_recovery_add_up() {
        let mut stats = DeviceStats::default();
        for (n, part) in [Part::Directory, Part::Scan, Part::SegmentRead, Part::Update, Part::SegmentWrite, Part::Count]
            .iter()
            .enumerate()
        {
            add_time(&mut stats, *part, 1 << n);
            add_time(&mut stats, *part, 64 << n);
        }
        let parts = [
            stats.recovery_directory_ns,
            stats.recovery_scan_ns,
            stats.recovery_segment_read_ns,
            stats.recovery_update_ns,
            stats.recovery_segment_write_ns,
            stats.recovery_count_ns,
        ];
        assert_eq!(parts, [65, 130, 260, 520, 1040, 2080]);
        assert_eq!(stats.recovery_ns, parts.iter().sum::<u64>());
    }
}
