//! Where the time of a request goes, stage by stage, for the log of requests.
//!
//! - **Stage**: a part of the way from the workload to the flash and back ([`Stage`]).
//! - **Path**: the stages of one request. Each moment between its arrival and its completion belongs to exactly one
//!   stage, so the stages add up to its latency to the nanosecond.
//! - **Mark**: the end of a part of a path, as the log keeps it ([`Mark`]): a stage, or a stay in the device.
//! - **Passage**: when a command was sent, and when it was at the device.
//! - **Stay**: what it waited for in between, inside the device ([`Stay`]).
//!
//! A request may take several commands, which overlap. A moment belongs to the command whose response comes next: the
//! path is extended when a response arrives at the host, by what that command did since the response before. So the
//! stages tell what the request waited for, not what its commands took in all.

use ftl::{Mark, Stay};
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

impl Stage {
    /// The end of this stage, for a path.
    #[inline]
    fn until(self, at: SimTime) -> Mark {
        Mark::new(Stay::ALL.len() + self as usize, at)
    }

    /// The position of the stage of a mark.
    #[inline]
    fn of_mark(mark: Mark) -> usize {
        usize::from(STAGE_OF_PART[mark.part()])
    }

    const fn of(stay: Stay) -> Stage {
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

/// The position of the stage of each part that a mark can name: stays, then the stages themselves. A table, because a
/// jump for each would often be guessed wrong.
const STAGE_OF_PART: [u8; Mark::PARTS] = {
    let (mut stages, mut part) = ([0; Mark::PARTS], 0);
    while part < Stay::ALL.len() + STAGES {
        stages[part] = match part < Stay::ALL.len() {
            true => Stage::of(Stay::ALL[part]) as u8,
            false => (part - Stay::ALL.len()) as u8,
        };
        part += 1;
    }
    stages
};

/// When a command went to the device.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Passage {
    /// The driver began to get its mapping into the host's cache; the time at which it was sent if it need not.
    pub fetching: SimTime,
    /// The driver sent it.
    pub sent: SimTime,
    /// It was at the device.
    pub arrived: SimTime,
}

/// The path of a request that is under way, for those who extend it. Nothing is added up while the run goes on:
/// [`spent`] does that for whoever reads the log.
#[derive(Debug)]
pub struct Path<'a> {
    /// The marks so far end with its own.
    pub marks: &'a mut Vec<Mark>,
}

impl Path<'_> {
    /// The time up to `at` was spent in a stage, as far as it belongs to none yet.
    #[inline]
    pub fn extend(&mut self, stage: Stage, at: SimTime) {
        self.marks.push(stage.until(at));
    }

    /// A response came to the host at `now`. The last of the command's stays in the device ended when it left.
    #[inline]
    pub fn responded(&mut self, passage: Passage, stays: &[Mark], now: SimTime) {
        let Passage { fetching, sent, arrived } = passage;
        let before = [Stage::Driver.until(fetching), Stage::Fetch.until(sent), Stage::LinkDown.until(arrived)];
        self.marks.extend_from_slice(&before);
        self.marks.extend_from_slice(stays);
        self.extend(Stage::LinkUp, now);
    }
}

/// Time in each stage of a request that lasted from `arrival` to `completed`; together its latency. What the marks
/// leave was spent waking up whoever asked.
pub fn spent(marks: &[Mark], arrival: SimTime, completed: SimTime) -> [Nanos; STAGES] {
    let mut spent = [Nanos::ZERO; STAGES];
    let mut until = arrival;
    for &mark in marks.iter().chain([&Stage::Wake.until(completed)]) {
        if mark.at() > until {
            spent[Stage::of_mark(mark)] += mark.at().since(until);
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
        let ended = |(stay, time)| Mark::of(stay, at(time));
        let mut marks = Vec::new();
        let mut path = Path { marks: &mut marks };
        path.extend(Stage::Outside, at(110));
        path.extend(Stage::Block, at(110));
        let die = Stay::DieGc;
        let stays = [(Stay::Queue, 128), (die, 139), (Stay::FlashRead, 149), (Stay::Firmware, 150)].map(ended);
        path.responded(Passage { fetching: at(112), sent: at(115), arrived: at(120) }, &stays, at(160));
        // It was on the link while the first was in the device.
        let stays = [(Stay::Gc, 170), (Stay::Program, 180)].map(ended);
        path.responded(Passage { fetching: at(118), sent: at(118), arrived: at(165) }, &stays, at(181));
        let spent = spent(&marks, at(100), at(185));
        let sum = |stage: Stage| spent[stage as usize].0;
        assert_eq!([Stage::Outside, Stage::Block, Stage::Driver].map(sum), [10, 0, 2]);
        assert_eq!([Stage::Fetch, Stage::LinkDown].map(sum), [3, 5 + 5]);
        assert_eq!([Stage::Queue, Stage::DieGc, Stage::FlashRead, Stage::Firmware].map(sum), [8, 11, 10, 1]);
        assert_eq!([Stage::Gc, Stage::Program, Stage::LinkUp, Stage::Wake].map(sum), [5, 10, 10 + 1, 4]);
        assert_eq!(spent.iter().map(|time| time.0).sum::<u64>(), 85);
    }
}
