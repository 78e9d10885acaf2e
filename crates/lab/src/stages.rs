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

/// Declares the stages with their names as columns.
macro_rules! stages {
    ($($(#[$doc:meta])* $stage:ident = $name:literal,)+) => {
        /// A stage of a request.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub enum Stage {
            $($(#[$doc])* $stage,)+
        }

        impl Stage {
            /// Columns of a log, in the order of the stages.
            pub const COLUMNS: [&str; [$($name),+].len()] = [$(concat!("stage_", $name, "_ns")),+];
        }
    };
}
stages! {
    /// It had arrived, and the workload had not handed it in: it waited for neighbours to be merged with, or a place.
    Outside = "outside",
    /// The block layer: plugging, merging, processor time, a tag.
    Block = "block",
    /// The driver: scheduler, reorder buffer, tags of the link.
    Driver = "driver",
    /// The driver had to get the mapping into the host's cache first: a fetch, and what had to leave for it.
    Fetch = "fetch",
    /// The command and its data went to the device; the link may have had to wake up.
    LinkDown = "link_down",
    /// The firmware thread worked on commands that came before.
    Queue = "queue",
    /// A step of GC held the device's front end.
    Gc = "gc",
    /// The collection of metadata held it.
    MetaGc = "meta_gc",
    /// A map flush held it.
    MapFlush = "map_flush",
    /// The mapping was rebuilt after a power cut.
    Recovery = "recovery",
    /// There was no room in SRAM, or it was not the write's turn.
    Sram = "sram",
    /// A map unit was read from flash, or lookups came before.
    MapRead = "map_read",
    /// Their dies had other operations to do: reads of the host,
    DieHostRead = "die_host_read",
    /// programs of what the host wrote,
    DieHostWrite = "die_host_write",
    /// reads of the mapping,
    DieMapRead = "die_map_read",
    /// programs of the mapping,
    DieMapWrite = "die_map_write",
    /// operations of GC,
    DieGc = "die_gc",
    /// erases.
    DieErase = "die_erase",
    /// Its pages were read from flash.
    FlashRead = "flash_read",
    /// Its pages, or those that it flushes, were programmed.
    Program = "program",
    /// The firmware thread worked on the command.
    Firmware = "firmware",
    /// The response and its data came to the host.
    LinkUp = "link_up",
    /// The driver had all responses, and the one who asked had not been woken.
    Wake = "wake",
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

/// Number of stages.
pub const STAGES: usize = Stage::COLUMNS.len();

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
/// [`each_time`] does that for whoever reads the log.
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

/// Calls `add` with each time of a request that lasted from `arrival` to `completed`, and with the position of its
/// stage, which may come more than once. What the marks leave was spent waking up whoever asked.
pub fn each_time(marks: &[Mark], arrival: SimTime, completed: SimTime, mut add: impl FnMut(usize, Nanos)) {
    let mut until = arrival;
    for &mark in marks.iter().chain([&Stage::Wake.until(completed)]) {
        if mark.at() > until {
            add(Stage::of_mark(mark), mark.at().since(until));
            until = mark.at();
        }
    }
}

/// Time in each stage of a request that lasted from `arrival` to `completed`; together its latency.
pub fn spent(marks: &[Mark], arrival: SimTime, completed: SimTime) -> [Nanos; STAGES] {
    let mut spent = [Nanos::ZERO; STAGES];
    each_time(marks, arrival, completed, |stage, time| spent[stage] += time);
    spent
}

/// Marks that give these times.
pub fn marks_of(spent: &[Nanos; STAGES], arrival: SimTime) -> impl Iterator<Item = Mark> {
    let mut until = arrival;
    let took = spent.iter().enumerate().filter(|&(_, &time)| time > Nanos::ZERO);
    took.map(move |(stage, &time)| {
        until = until + time;
        Mark::new(Stay::ALL.len() + stage, until)
    })
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
        let others: Vec<_> = marks_of(&spent, at(100)).collect();
        assert_eq!(super::spent(&others, at(100), at(185)), spent, "other marks, the same times");
    }

    #[test]
    fn columns_are_named_after_the_stages() {
        assert_eq!(Stage::COLUMNS[Stage::LinkDown as usize], "stage_link_down_ns");
        assert_eq!(Stage::COLUMNS[Stage::Wake as usize], "stage_wake_ns");
    }
}
