//! A file of Perfetto's trace format: packets with tracks, slices and counters, in the order in which they are written.
//!
//! The numbers of fields are those of `protos/perfetto/trace` in <https://github.com/google/perfetto>. A reader sorts
//! by time, so a slice is written when it has ended, with its beginning and its end one after the other.

use std::io::{self, Write};

use super::protobuf::Message;
use super::tracks::{COUNTERS, Track};

/// The only sequence of packets in the file.
const SEQUENCE: u64 = 1;
/// Flags of a packet: what was told before about names is void, and names have to be known.
const CLEARED: u64 = 1;
const NEEDS_NAMES: u64 = 2;
/// The number of the process that stands for the run.
const PROCESS: u64 = 1;

mod packet {
    pub const TIMESTAMP: u64 = 8;
    pub const SEQUENCE: u64 = 10;
    pub const TRACK_EVENT: u64 = 11;
    pub const INTERNED: u64 = 12;
    pub const FLAGS: u64 = 13;
    pub const DESCRIPTOR: u64 = 60;
}

mod event {
    pub const ANNOTATION: u64 = 4;
    pub const TYPE: u64 = 9;
    pub const NAME_NUMBER: u64 = 10;
    pub const TRACK: u64 = 11;
    pub const NAME: u64 = 23;
    pub const COUNTER: u64 = 30;
    pub const FLOW: u64 = 47;
    pub const BEGIN: u64 = 1;
    pub const END: u64 = 2;
    pub const INSTANT: u64 = 3;
    pub const VALUE: u64 = 4;
}

mod descriptor {
    pub const UUID: u64 = 1;
    pub const NAME: u64 = 2;
    pub const PROCESS: u64 = 3;
    pub const PARENT: u64 = 5;
    pub const COUNTER: u64 = 8;
    pub const ORDERING: u64 = 11;
    pub const RANK: u64 = 12;
    pub const BY_RANK: u64 = 3;
}

/// The name of a slice: one of a few that the file numbers, or any text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Name<'a> {
    Known(&'static str),
    Text(&'a str),
}

/// What is told of a slice beside its name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Told<'a> {
    Number(&'static str, u64),
    Text(&'static str, &'a str),
}

/// A slice of a track.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slice<'a> {
    pub track: Track,
    pub name: Name<'a>,
    /// Nanoseconds of the timeline.
    pub began: u64,
    /// `None` if it goes on when the timeline ends.
    pub ended: Option<u64>,
    /// Numbers of requests that it belongs to.
    pub flows: &'a [u64],
    pub told: &'a [Told<'a>],
}

impl<'a> Slice<'a> {
    /// One of which nothing else is told; its times are to come.
    pub fn of(track: Track, name: Name<'a>) -> Slice<'a> {
        Slice { track, name, began: 0, ended: None, flows: &[], told: &[] }
    }
}

/// A file that is being written.
pub(super) struct TraceFile {
    out: Box<dyn Write + Send>,
    names: Vec<&'static str>,
    packet: Message,
    body: Message,
    framed: Message,
    events: u64,
    failed: Option<io::Error>,
}

impl TraceFile {
    /// A file for a run of this name, with the names that slices may have.
    pub fn new(out: Box<dyn Write + Send>, run: &str, names: Vec<&'static str>) -> TraceFile {
        let [packet, body, framed] = std::array::from_fn(|_| Message::default());
        let mut file = TraceFile { out, names, packet, body, framed, events: 0, failed: None };
        file.packet.number(packet::FLAGS, CLEARED | NEEDS_NAMES);
        let names = std::mem::take(&mut file.names);
        file.packet.nested(packet::INTERNED, |interned| {
            for (number, name) in (1..).zip(&names) {
                interned.nested(2, |entry| {
                    entry.number(1, number);
                    entry.text(2, name);
                });
            }
        });
        file.names = names;
        file.put();
        file.describe(Track::Run, |described| {
            described.nested(descriptor::PROCESS, |process| {
                process.number(1, PROCESS);
                process.text(6, run);
            });
        });
        file
    }

    /// Events so far: ends of slices, instants, and values of counters.
    pub fn events(&self) -> u64 {
        self.events
    }

    /// True if nothing can be written any more.
    pub fn has_failed(&self) -> bool {
        self.failed.is_some()
    }

    /// Writes what is left.
    pub fn finish(mut self) -> io::Result<()> {
        match self.failed.take() {
            Some(error) => Err(error),
            None => self.out.flush(),
        }
    }

    /// Adds a track.
    pub fn track(&mut self, track: Track) {
        self.describe(track, |described| {
            if let Track::Counter(place) = track {
                described.nested(descriptor::COUNTER, |counter| counter.text(6, COUNTERS[place as usize].unit));
            }
        });
    }

    fn describe(&mut self, track: Track, more: impl FnOnce(&mut Message)) {
        let body = &mut self.body;
        body.clear();
        body.number(descriptor::UUID, track.uuid());
        if let Some(parent) = track.parent() {
            body.number(descriptor::PARENT, parent.uuid());
            // A process has the name of its own description.
            body.text(descriptor::NAME, &track.name());
        }
        more(body);
        body.number(descriptor::ORDERING, descriptor::BY_RANK);
        body.number(descriptor::RANK, track.rank());
        self.packet.message(packet::DESCRIPTOR, &self.body);
        self.put();
    }

    /// Adds a slice.
    pub fn slice(&mut self, slice: &Slice) {
        self.begin_event(event::BEGIN, slice.track);
        self.name(slice.name);
        slice.flows.iter().for_each(|&flow| self.body.fixed(event::FLOW, flow));
        slice.told.iter().for_each(|told| self.tell(*told));
        self.put_event(slice.began);
        if let Some(ended) = slice.ended {
            self.begin_event(event::END, slice.track);
            self.put_event(ended);
        }
        self.events += 1;
    }

    /// Adds something that takes no time.
    pub fn instant(&mut self, track: Track, name: Name, at: u64) {
        self.begin_event(event::INSTANT, track);
        self.name(name);
        self.put_event(at);
        self.events += 1;
    }

    /// Adds the value of a counter from `at` on.
    pub fn value(&mut self, place: usize, value: u64, at: u64) {
        self.begin_event(event::VALUE, Track::Counter(place as u32));
        self.body.number(event::COUNTER, value);
        self.put_event(at);
        self.events += 1;
    }

    fn begin_event(&mut self, kind: u64, track: Track) {
        self.body.clear();
        self.body.number(event::TYPE, kind);
        self.body.number(event::TRACK, track.uuid());
    }

    fn name(&mut self, name: Name) {
        let known = match name {
            Name::Known(text) => self.names.iter().position(|&one| one == text),
            Name::Text(_) => None,
        };
        match (known, name) {
            (Some(place), _) => self.body.number(event::NAME_NUMBER, place as u64 + 1),
            (None, Name::Known(text) | Name::Text(text)) => self.body.text(event::NAME, text),
        }
    }

    fn tell(&mut self, told: Told) {
        self.body.nested(event::ANNOTATION, |annotation| match told {
            Told::Number(name, value) => {
                annotation.text(10, name);
                annotation.number(3, value);
            }
            Told::Text(name, text) => {
                annotation.text(10, name);
                annotation.text(6, text);
            }
        });
    }

    fn put_event(&mut self, at: u64) {
        self.packet.number(packet::TIMESTAMP, at);
        self.packet.number(packet::FLAGS, NEEDS_NAMES);
        self.packet.message(packet::TRACK_EVENT, &self.body);
        self.put();
    }

    /// Writes the packet. After a failure nothing is written any more.
    fn put(&mut self) {
        self.packet.number(packet::SEQUENCE, SEQUENCE);
        self.framed.clear();
        self.framed.message(1, &self.packet);
        self.packet.clear();
        if self.failed.is_none() {
            self.failed = self.out.write_all(self.framed.bytes()).err();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Full;

    impl Write for Full {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::Error::from(io::ErrorKind::StorageFull))
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_full_disk_is_told() {
        let mut file = TraceFile::new(Box::new(Full), "run", vec!["read"]);
        file.value(0, 1, 2);
        assert!(file.has_failed());
        assert_eq!(file.finish().map_err(|error| error.kind()), Err(io::ErrorKind::StorageFull));
    }
}
