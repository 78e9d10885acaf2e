//! Where the time of a request goes, stage by stage, for the log of requests.
//!
//! - **Stage**: a part of the way from the workload to the flash and back ([`Stage`]).
//! - **Path**: the stages of one request. Each moment between its arrival and its completion belongs to exactly one
//!   stage, so the stages add up to its latency to the nanosecond.
//! - **Mark**: the end of a stage of a path, as the log keeps it ([`Mark`]). Nothing is added up while the run goes on:
//!   [`spent`] does that for whoever reads the log.
//! - **Stay**: what a command waits for inside the device ([`Stay`]).
//!
//! A request may take several commands, which overlap. A moment belongs to the command whose response comes next: the
//! path is extended when a response arrives at the host, by what that command did since the response before. So the
//! stages tell what the request waited for, not what its commands took in all.

use ftl::Stay;
use units::{Nanos, SimTime};
use workload::column;
use workload::report::columns::Declared;

use super::records::LogRow;

/// Declares the stages with their names as columns of a log, and what these mean.
macro_rules! stages {
    ($($stage:ident = $name:literal, $meaning:literal;)+) => {
        /// A stage of a request.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub enum Stage {
            $(#[doc = $meaning] $stage,)+
        }

        impl Stage {
            /// All stages, in order.
            pub const ALL: [Stage; STAGES] = [$(Stage::$stage),+];
        }

        /// Number of stages.
        pub const STAGES: usize = [$(Stage::$stage),+].len();

        /// Columns of a log, in the order of the stages.
        pub(super) const STAGE_COLUMNS: [Declared<LogRow>; STAGES] = [
            $(column!($name: u64, "ns", $meaning, |row| row.stages[Stage::$stage as usize].0)),+
        ];
    };
}
stages! {
    Outside = "stage_outside_ns",
        "until the workload handed it in: for neighbours to be merged with, or for a place";
    Block = "stage_block_ns", "in the block layer: plug, merging, processor time, a tag";
    Driver = "stage_driver_ns", "in the driver: scheduler, reorder buffer, a tag of the link";
    Fetch = "stage_fetch_ns",
        "in the driver, until the mapping was in the host's cache: what had to leave for it, and its fetch";
    LinkDown = "stage_link_down_ns",
        "until the command and its data were at the device; the link may have had to wake up";
    Queue = "stage_queue_ns", "in the device, while its firmware thread worked on commands that came before";
    Gc = "stage_gc_ns", "in the device, while a step of GC held the front end";
    MetaGc = "stage_meta_gc_ns", "in the device, while the collection of metadata held the front end";
    MapFlush = "stage_map_flush_ns", "in the device, while a map flush held the front end";
    Recovery = "stage_recovery_ns", "in the device, while it rebuilt its mapping after a power cut";
    Sram = "stage_sram_ns", "in the device, for room in SRAM or, of writes, their turn";
    MapRead = "stage_map_read_ns",
        "in the device, for map units that were read from flash, or for lookups that came before";
    DieHostRead = "stage_die_host_read_ns", "in the device, for a die that read pages for other commands";
    DieHostWrite = "stage_die_host_write_ns", "in the device, for a die that programmed what hosts had written";
    DieMapRead = "stage_die_map_read_ns", "in the device, for a die that read the mapping";
    DieMapWrite = "stage_die_map_write_ns", "in the device, for a die that programmed the mapping";
    DieGc = "stage_die_gc_ns", "in the device, for a die that read, searched or programmed for GC";
    DieErase = "stage_die_erase_ns", "in the device, for a die that erased";
    FlashRead = "stage_flash_read_ns", "in the device, for reads of its pages";
    Program = "stage_program_ns", "in the device, for programs of its pages, or of those that it flushes";
    Firmware = "stage_firmware_ns", "in the device, while its firmware thread worked on it";
    LinkUp = "stage_link_up_ns", "until the response and its data were at the host";
    Wake = "stage_wake_ns", "until the one who asked was woken";
}

impl From<Stay> for Stage {
    fn from(stay: Stay) -> Stage {
        match stay {
            Stay::Queue => Stage::Queue,
            Stay::Gc => Stage::Gc,
            Stay::MetaGc => Stage::MetaGc,
            Stay::MapFlush => Stage::MapFlush,
            Stay::Recovery => Stage::Recovery,
            Stay::Sram => Stage::Sram,
            Stay::MapRead => Stage::MapRead,
            Stay::FlashRead => Stage::FlashRead,
            Stay::Program => Stage::Program,
            Stay::Firmware => Stage::Firmware,
            Stay::DieHostRead => Stage::DieHostRead,
            Stay::DieHostWrite => Stage::DieHostWrite,
            Stay::DieMapRead => Stage::DieMapRead,
            Stay::DieMapWrite => Stage::DieMapWrite,
            Stay::DieGc => Stage::DieGc,
            Stay::DieErase => Stage::DieErase,
        }
    }
}

/// The end of a part of a way. One word, because a log has some ten of them for each of many million requests.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Mark(u64);

impl Mark {
    /// Bits of a stage. The others are enough for nine years.
    const BITS: u32 = 6;

    /// A stage lasted until `at`.
    #[inline]
    pub fn new(stage: Stage, at: SimTime) -> Mark {
        debug_assert!(at.0 >> (u64::BITS - Mark::BITS) == 0, "{stage:?} until {at:?}");
        Mark(at.0 << Mark::BITS | stage as u64)
    }

    fn stage(self) -> usize {
        self.0 as usize % (1 << Mark::BITS)
    }

    fn at(self) -> SimTime {
        SimTime(self.0 >> Mark::BITS)
    }
}

/// Time in each stage of a request that lasted from `arrival` to `completed`; together its latency. What the marks
/// leave was spent waking up whoever asked.
pub fn spent(marks: &[Mark], arrival: SimTime, completed: SimTime) -> [Nanos; STAGES] {
    let mut spent = [Nanos::ZERO; STAGES];
    let mut until = arrival;
    for &mark in marks.iter().chain([&Mark::new(Stage::Wake, completed)]) {
        if mark.at() > until {
            spent[mark.stage()] += mark.at().since(until);
            until = mark.at();
        }
    }
    spent
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ns: u64) -> SimTime {
        SimTime::START + Nanos(ns)
    }

    #[test]
    fn two_commands_share_the_time_by_their_responses() {
        let ended = |(stage, time)| Mark::new(stage, at(time));
        let of_request = [(Stage::Outside, 110), (Stage::Block, 110)];
        let first = [
            (Stage::Driver, 112),
            (Stage::Fetch, 115),
            (Stage::LinkDown, 120),
            (Stage::Queue, 128),
            (Stage::DieGc, 139),
            (Stage::FlashRead, 149),
            (Stage::Firmware, 150),
            (Stage::LinkUp, 160),
        ];
        // It was on the link while the first was in the device.
        let second = [
            (Stage::Driver, 118),
            (Stage::Fetch, 118),
            (Stage::LinkDown, 165),
            (Stage::Gc, 170),
            (Stage::Program, 180),
            (Stage::LinkUp, 181),
        ];
        let marks: Vec<_> = of_request.into_iter().chain(first).chain(second).map(ended).collect();
        let spent = spent(&marks, at(100), at(185));
        let sum = |stage: Stage| spent[stage as usize].0;
        assert_eq!([Stage::Outside, Stage::Block, Stage::Driver].map(sum), [10, 0, 2]);
        assert_eq!([Stage::Fetch, Stage::LinkDown].map(sum), [3, 5 + 5]);
        assert_eq!([Stage::Queue, Stage::DieGc, Stage::FlashRead, Stage::Firmware].map(sum), [8, 11, 10, 1]);
        assert_eq!([Stage::Gc, Stage::Program, Stage::LinkUp, Stage::Wake].map(sum), [5, 10, 10 + 1, 4]);
        assert_eq!(spent.iter().map(|time| time.0).sum::<u64>(), 85);
    }
}
