//! The tracks of a timeline: their names, and where they stand.

use ftl::Levels;

/// A place in a timeline.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Track {
    /// Everything of the run.
    Run,
    /// Groups of tracks.
    Host,
    Link,
    Firmware,
    Flash,
    /// The app in the foreground, and kills.
    Apps,
    /// Requests under way; one row for each ticket.
    Requests(u32),
    /// Messages on the wire, from the host and to it.
    Down,
    Up,
    /// Power states.
    State,
    /// What the firmware thread works on.
    Thread,
    /// Exclusive jobs.
    Jobs,
    /// Map flushes beside commands.
    Beside,
    Channel(u32),
    Die(u32),
    /// A counter, by its place in [`COUNTERS`].
    Counter(u32),
}

impl Track {
    /// Its number in the file: unique, and not 0.
    pub fn uuid(self) -> u64 {
        let (kind, number) = match self {
            Track::Run => (1, 0),
            Track::Host => (2, 0),
            Track::Link => (3, 0),
            Track::Firmware => (4, 0),
            Track::Flash => (5, 0),
            Track::Apps => (6, 0),
            Track::Down => (7, 0),
            Track::Up => (8, 0),
            Track::State => (9, 0),
            Track::Thread => (10, 0),
            Track::Jobs => (11, 0),
            Track::Beside => (12, 0),
            Track::Requests(row) => (13, row),
            Track::Channel(channel) => (14, channel),
            Track::Die(die) => (15, die),
            Track::Counter(place) => (16, place),
        };
        kind << 32 | u64::from(number)
    }

    /// What a reader sees. Rows of requests have one name, so that they are shown as one.
    pub fn name(self) -> String {
        match self {
            Track::Run => "run".into(),
            Track::Host => "host".into(),
            Track::Link => "link".into(),
            Track::Firmware => "firmware".into(),
            Track::Flash => "flash".into(),
            Track::Apps => "apps".into(),
            Track::Requests(_) => "requests".into(),
            Track::Down => "to the device".into(),
            Track::Up => "to the host".into(),
            Track::State => "link state".into(),
            Track::Thread => "firmware thread".into(),
            Track::Jobs => "jobs".into(),
            Track::Beside => "map flush beside commands".into(),
            Track::Channel(channel) => format!("channel {channel}"),
            Track::Die(die) => format!("die {die}"),
            Track::Counter(place) => COUNTERS[place as usize].name.into(),
        }
    }

    /// The group that it stands in; `None` for the run itself.
    pub fn parent(self) -> Option<Track> {
        Some(match self {
            Track::Run => return None,
            Track::Host | Track::Link | Track::Firmware | Track::Flash => Track::Run,
            Track::Apps | Track::Requests(_) => Track::Host,
            Track::Down | Track::Up | Track::State => Track::Link,
            Track::Thread | Track::Jobs | Track::Beside => Track::Firmware,
            Track::Channel(_) | Track::Die(_) => Track::Flash,
            Track::Counter(place) => COUNTERS[place as usize].group,
        })
    }

    /// Where it stands in its group.
    pub fn rank(self) -> u64 {
        match self {
            Track::Run | Track::Host | Track::Apps | Track::Down | Track::Thread => 0,
            Track::Link | Track::Requests(_) | Track::Up | Track::Jobs => 1,
            Track::Firmware | Track::State | Track::Beside => 2,
            Track::Flash => 3,
            Track::Counter(place) => 10 + u64::from(place),
            Track::Channel(channel) => 100 + u64::from(channel),
            Track::Die(die) => 10_000 + u64::from(die),
        }
    }
}

/// A counter track.
pub(super) struct Counter {
    /// Its name.
    pub name: &'static str,
    /// What it counts.
    pub unit: &'static str,
    /// Where it stands.
    pub group: Track,
}

const fn counter(name: &'static str, unit: &'static str, group: Track) -> Counter {
    Counter { name, unit, group }
}

/// All counters, in the order of [`values`].
pub(super) const COUNTERS: [Counter; 14] = [
    counter("queue depth", "requests", Track::Host),
    counter("commands in flight", "commands", Track::Host),
    counter("host cache", "bytes", Track::Host),
    counter("commands queued", "commands", Track::Firmware),
    counter("change log", "entries", Track::Firmware),
    counter("free superblocks", "superblocks", Track::Firmware),
    counter("SRAM in use", "buffers", Track::Firmware),
    counter("SRAM: data of writes", "buffers", Track::Firmware),
    counter("SRAM: data of reads", "buffers", Track::Firmware),
    counter("SRAM: map units for commands", "buffers", Track::Firmware),
    counter("SRAM: map units of jobs", "buffers", Track::Firmware),
    counter("SRAM: map flush beside commands", "buffers", Track::Firmware),
    counter("SRAM: copies of GC", "buffers", Track::Firmware),
    counter("flash operations", "operations", Track::Flash),
];

/// The values of counters at one moment.
pub(super) type Values = [u64; COUNTERS.len()];

/// Their values: requests and commands under way, bytes of host memory, operations submitted and not finished, and what
/// the firmware's levels are.
pub(super) fn values(host: [u64; 3], operations: u64, levels: &Levels) -> Values {
    let [write, read, load, job, flush, gc] = levels.sram.map(u64::from);
    let in_use = write + read + load + job + flush + gc;
    let [requests, commands, cache] = host;
    let (queued, log, free) = (levels.queued.into(), levels.log.into(), levels.free_superblocks.into());
    [requests, commands, cache, queued, log, free, in_use, write, read, load, job, flush, gc, operations]
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_track_has_a_number_and_a_group_of_its_own() {
        let single = [
            Track::Run,
            Track::Host,
            Track::Link,
            Track::Firmware,
            Track::Flash,
            Track::Apps,
            Track::Down,
            Track::Up,
            Track::State,
            Track::Thread,
            Track::Jobs,
            Track::Beside,
        ];
        let many = (0..14).flat_map(|n| [Track::Requests(n), Track::Channel(n), Track::Die(n), Track::Counter(n)]);
        let all: Vec<Track> = single.into_iter().chain(many).collect();
        let numbers: BTreeSet<u64> = all.iter().map(|track| track.uuid()).collect();
        assert!(numbers.len() == all.len() && !numbers.contains(&0));
        for track in all {
            let root = std::iter::successors(Some(track), |track| track.parent()).last();
            assert_eq!(root, Some(Track::Run), "{track:?}");
        }
    }

    #[test]
    fn owners_of_sram_are_those_of_the_device() {
        assert_eq!(Levels::OWNERS, ["write", "read", "load", "job", "flush", "gc"]);
        let levels = Levels { sram: [1, 2, 3, 4, 5, 6], log: 7, free_superblocks: 8, queued: 9 };
        let all = values([10, 11, 12], 13, &levels);
        assert_eq!(all, [10, 11, 12, 9, 7, 8, 21, 1, 2, 3, 4, 5, 6, 13]);
    }
}
