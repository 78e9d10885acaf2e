//! Where the time of a request goes, stage by stage, for the log of requests.
//!
//! - **Stage**: a part of the way from the workload to the flash and back ([`Stage`]).
//! - **Path**: the stages of one request. Each moment between its arrival and its completion belongs to exactly one
//!   stage, so the stages add up to its latency to the nanosecond.
//! - **Mark**: the end of a part of a path, as the log keeps it.
//! - **Passage**: when a command was sent, and when it was at the device.
//! - **Stay**: what it waited for in between, inside the device ([`Stay`]).
//!
//! A request may take several commands, which overlap. A moment belongs to the command whose response comes next: the
//! path is extended when a response arrives at the host, by what that command did since the response before. So the
//! stages tell what the request waited for, not what its commands took in all.

use device::Stay;
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
    /// The stage of each stay, in the order of [`Stay::ALL`]. A table, because a jump for each would often be guessed
    /// wrong.
    const OF_STAYS: [Stage; Stay::ALL.len()] = {
        let (mut stages, mut at) = ([Stage::Queue; Stay::ALL.len()], 0);
        while at < Stay::ALL.len() {
            stages[at] = Stage::of(Stay::ALL[at]);
            at += 1;
        }
        stages
    };

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

/// The end of a part of a request's way: a stage, and the time from the request's arrival up to which it lasted. One
/// number, because there are some ten of them for each request of a log.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Mark(u64);

/// Bits of a mark that name the stage. The others are enough for 18 years.
const STAGE_BITS: u32 = 5;
const _: () = assert!(STAGES <= 1 << STAGE_BITS);

impl Mark {
    /// The stage lasted until `at`.
    #[inline]
    fn new(stage: Stage, arrival: SimTime, at: SimTime) -> Mark {
        let after = at.since(arrival).0;
        debug_assert!(after >> (u64::BITS - STAGE_BITS) == 0, "a request of {after} ns");
        Mark(after << STAGE_BITS | stage as u64)
    }

    /// Position of the stage in [`Stage::COLUMNS`].
    fn stage(self) -> usize {
        (self.0 & ((1 << STAGE_BITS) - 1)) as usize
    }

    /// From the arrival of the request.
    fn after(self) -> Nanos {
        Nanos(self.0 >> STAGE_BITS)
    }
}

/// The path of a request that is under way, for those who extend it. Nothing is added up while the run goes on:
/// [`each_time`] does that for whoever reads the log.
#[derive(Debug)]
pub struct Path<'a> {
    /// When the request arrived.
    pub arrival: SimTime,
    /// The marks so far end with its own.
    pub marks: &'a mut Vec<Mark>,
}

impl Path<'_> {
    /// The time up to `at` was spent in a stage, as far as it belongs to none yet.
    #[inline]
    pub fn extend(&mut self, stage: Stage, at: SimTime) {
        self.marks.push(Mark::new(stage, self.arrival, at));
    }

    /// A response came to the host at `now`. The last of the command's stays in the device ended when it left.
    #[inline]
    pub fn responded(&mut self, passage: Passage, stays: &[(Stay, SimTime)], now: SimTime) {
        let mark = |stage, at| Mark::new(stage, self.arrival, at);
        let Passage { fetching, sent, arrived } = passage;
        let before = [mark(Stage::Driver, fetching), mark(Stage::Fetch, sent), mark(Stage::LinkDown, arrived)];
        self.marks.reserve(before.len() + stays.len() + 1);
        self.marks.extend(before);
        self.marks.extend(stays.iter().map(|&(stay, end)| mark(Stage::OF_STAYS[stay as usize], end)));
        self.marks.push(mark(Stage::LinkUp, now));
    }
}

/// Calls `add` with each time of a request that took `latency`, and with the position of its stage, which may come more
/// than once. What the marks leave of the latency was spent waking up whoever asked.
pub fn each_time(marks: &[Mark], latency: Nanos, mut add: impl FnMut(usize, Nanos)) {
    let mut until = Nanos::ZERO;
    let ends = marks.iter().map(|mark| (mark.stage(), mark.after()));
    for (stage, end) in ends.chain([(Stage::Wake as usize, latency)]) {
        if end > until {
            add(stage, Nanos(end.0 - until.0));
            until = end;
        }
    }
}

/// Time in each stage of a request that took `latency`; together it.
pub fn spent(marks: &[Mark], latency: Nanos) -> [Nanos; STAGES] {
    let mut spent = [Nanos::ZERO; STAGES];
    each_time(marks, latency, |stage, time| spent[stage] += time);
    spent
}

/// Marks that give these times.
pub fn marks_of(spent: &[Nanos; STAGES]) -> impl Iterator<Item = Mark> {
    let mut until = 0;
    let took = spent.iter().enumerate().filter(|&(_, &time)| time > Nanos::ZERO);
    took.map(move |(stage, time)| {
        until += time.0;
        Mark(until << STAGE_BITS | stage as u64)
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
        let mut marks = Vec::new();
        let mut path = Path { arrival: at(100), marks: &mut marks };
        path.extend(Stage::Outside, at(110));
        path.extend(Stage::Block, at(110));
        let die = Stay::DieGc;
        let stays = [(Stay::Queue, at(128)), (die, at(139)), (Stay::FlashRead, at(149)), (Stay::Firmware, at(150))];
        path.responded(Passage { fetching: at(112), sent: at(115), arrived: at(120) }, &stays, at(160));
        // It was on the link while the first was in the device.
        let stays = [(Stay::Gc, at(170)), (Stay::Program, at(180))];
        path.responded(Passage { fetching: at(118), sent: at(118), arrived: at(165) }, &stays, at(181));
        let spent = spent(&marks, Nanos(85));
        let sum = |stage: Stage| spent[stage as usize].0;
        assert_eq!([Stage::Outside, Stage::Block, Stage::Driver].map(sum), [10, 0, 2]);
        assert_eq!([Stage::Fetch, Stage::LinkDown].map(sum), [3, 5 + 5]);
        assert_eq!([Stage::Queue, Stage::DieGc, Stage::FlashRead, Stage::Firmware].map(sum), [8, 11, 10, 1]);
        assert_eq!([Stage::Gc, Stage::Program, Stage::LinkUp, Stage::Wake].map(sum), [5, 10, 10 + 1, 4]);
        assert_eq!(spent.iter().map(|time| time.0).sum::<u64>(), 85);
        assert_eq!(
            super::spent(&marks_of(&spent).collect::<Vec<_>>(), Nanos(85)),
            spent,
            "other marks, the same times"
        );
    }

    #[test]
    fn columns_are_named_after_the_stages() {
        assert_eq!(Stage::COLUMNS[Stage::LinkDown as usize], "stage_link_down_ns");
        assert_eq!(Stage::COLUMNS[Stage::Wake as usize], "stage_wake_ns");
    }
}
