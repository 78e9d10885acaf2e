//! Where the time of a request goes, stage by stage, for the log of requests.
//!
//! - **Stage**: a part of the way from the workload to the flash and back ([`Stage`]).
//! - **Path**: the stages of one request. Each moment between its arrival and its completion belongs to exactly one
//!   stage, so the stages add up to its latency to the nanosecond.
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

/// The stages of a request that is under way.
#[derive(Clone, Copy, Debug)]
pub struct Path {
    /// Everything before belongs to a stage.
    until: SimTime,
    /// The stages that took time: bit by stage.
    taken: u32,
    /// Their times; 0 for the others.
    spent: [Nanos; STAGES],
}

// There is a bit for each stage.
const _: () = assert!(STAGES <= u32::BITS as usize);

impl Path {
    /// The path of a request that arrived at a time.
    pub fn from(arrival: SimTime) -> Path {
        Path { until: arrival, taken: 0, spent: [Nanos::ZERO; STAGES] }
    }

    /// Makes this the path of another request.
    #[inline]
    pub fn restart(&mut self, arrival: SimTime) {
        stages_of(self.taken).for_each(|stage| self.spent[stage] = Nanos::ZERO);
        (self.until, self.taken) = (arrival, 0);
    }

    /// The time up to `at` was spent in a stage, as far as it belongs to none yet.
    #[inline]
    pub fn extend(&mut self, stage: Stage, at: SimTime) {
        // Without a branch: whether a stage took any time is hard to guess.
        let until = self.until.max(at);
        let time = until.since(self.until);
        self.spent[stage as usize] += time;
        self.taken |= u32::from(time > Nanos::ZERO) << stage as u32;
        self.until = until;
    }

    /// A response came to the host at `now`. The last of the command's stays in the device ended when it left.
    #[inline]
    pub fn responded(&mut self, passage: Passage, stays: &[(Stay, SimTime)], now: SimTime) {
        self.extend(Stage::Driver, passage.fetching);
        self.extend(Stage::Fetch, passage.sent);
        self.extend(Stage::LinkDown, passage.arrived);
        stays.iter().for_each(|&(stay, end)| self.extend(Stage::OF_STAYS[stay as usize], end));
        self.extend(Stage::LinkUp, now);
    }

    /// The stages that took time, a bit for each.
    #[inline]
    pub fn taken(&self) -> u32 {
        self.taken
    }

    /// Their times, in order of the stages.
    #[inline]
    pub fn times(&self) -> impl Iterator<Item = Nanos> {
        stages_of(self.taken).map(|stage| self.spent[stage])
    }
}

/// The stages that have a bit, in order.
#[inline]
pub fn stages_of(mut bits: u32) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let stage = (bits != 0).then(|| bits.trailing_zeros() as usize)?;
        bits &= bits - 1;
        Some(stage)
    })
}

/// Time in each stage, from what [`Path::taken`] and [`Path::times`] give.
pub fn spread(taken: u32, times: &[Nanos]) -> [Nanos; STAGES] {
    let mut spent = [Nanos::ZERO; STAGES];
    stages_of(taken).zip(times).for_each(|(stage, &time)| spent[stage] = time);
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
        let mut path = Path::from(at(100));
        path.extend(Stage::Outside, at(110));
        path.extend(Stage::Block, at(110));
        let die = Stay::DieGc;
        let stays = [(Stay::Queue, at(128)), (die, at(139)), (Stay::FlashRead, at(149)), (Stay::Firmware, at(150))];
        path.responded(Passage { fetching: at(112), sent: at(115), arrived: at(120) }, &stays, at(160));
        // It was on the link while the first was in the device.
        let stays = [(Stay::Gc, at(170)), (Stay::Program, at(180))];
        path.responded(Passage { fetching: at(118), sent: at(118), arrived: at(165) }, &stays, at(181));
        path.extend(Stage::Wake, at(185));
        let spent = |path: &Path| {
            let times: Vec<_> = path.times().collect();
            spread(path.taken(), &times).map(|time| time.0)
        };
        let sum = |stage: Stage| spent(&path)[stage as usize];
        assert_eq!([Stage::Outside, Stage::Block, Stage::Driver].map(sum), [10, 0, 2]);
        assert_eq!([Stage::Fetch, Stage::LinkDown].map(sum), [3, 5 + 5]);
        assert_eq!([Stage::Queue, Stage::DieGc, Stage::FlashRead, Stage::Firmware].map(sum), [8, 11, 10, 1]);
        assert_eq!([Stage::Gc, Stage::Program, Stage::LinkUp, Stage::Wake].map(sum), [5, 10, 10 + 1, 4]);
        assert_eq!(spent(&path).iter().sum::<u64>(), 85);
        path.restart(at(200));
        path.extend(Stage::Gc, at(203));
        assert_eq!(
            (spent(&path)[Stage::Gc as usize], spent(&path).iter().sum::<u64>()),
            (3, 3),
            "nothing is left over"
        );
    }

    #[test]
    fn columns_are_named_after_the_stages() {
        assert_eq!(Stage::COLUMNS[Stage::LinkDown as usize], "stage_link_down_ns");
        assert_eq!(Stage::COLUMNS[Stage::Wake as usize], "stage_wake_ns");
    }
}
