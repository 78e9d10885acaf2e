//! The loop as a [`Source`] of requests.

use std::collections::VecDeque;

use units::{Lpa, Nanos, SimTime, UNIT_BYTES};

use super::log::Log;
use super::spec::FragmentationSpec;
use crate::described::DescriptionError;
use crate::generated::{Piece, SEGMENT_UNITS};
use crate::report::{Operations, Report, Round};
use crate::{
    Flags, Footprint, GroupId, GroupInfo, Issued, Next, Progress, Source, Ticket, Tickets, WorkOp, WorkRequest,
};

/// A part of a round; its number is that of its group.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Part {
    /// The small files are written.
    Fill,
    /// Every second of them is deleted, and the large file of the round before if it does not stay.
    Delete,
    /// The large file is written.
    Write,
    /// And read.
    Read,
}

/// Names of the groups of requests.
const GROUPS: [&str; 4] = ["small files", "deletion", "large file, write", "large file, read"];

/// The fragmentation loop as a workload.
pub struct FragmentationSource {
    spec: FragmentationSpec,
    log: Log,
    volume_units: u32,
    /// The part under way, and since when.
    part: Option<(Part, SimTime)>,
    wanted: VecDeque<(WorkOp, Piece)>,
    tickets: Tickets<u64>,
    outstanding: u32,
    /// Small files of this round: number and piece.
    small: Vec<(u32, Piece)>,
    large: Vec<Piece>,
    round: Round,
    rounds: Vec<Round>,
    /// When large files were begun to be written, and read.
    called: [Vec<SimTime>; 2],
    groups: Vec<GroupInfo>,
    line: u64,
    progress: Progress,
}

impl FragmentationSource {
    /// Prepares the loop for a device of so many units of 4 KiB; `origin` names its file in errors.
    ///
    /// # Errors
    /// If volume or files do not fit.
    pub fn new(
        spec: &FragmentationSpec,
        origin: &str,
        capacity_units: u32,
    ) -> Result<FragmentationSource, DescriptionError> {
        let segments = spec.segments(capacity_units).map_err(|problem| DescriptionError::of(origin, &problem))?;
        let group = |name: &&str| GroupInfo { name: (*name).into(), measured: true, options: Default::default() };
        let small = u64::from(spec.files) * u64::from(spec.file_kib) * 1024;
        let large = 2 * u64::from(spec.large_mib) * units::MIB;
        Ok(FragmentationSource {
            log: Log::new(segments, spec.least_free_segments),
            volume_units: segments * SEGMENT_UNITS,
            part: None,
            wanted: VecDeque::new(),
            tickets: Tickets::new(),
            outstanding: 0,
            small: Vec::new(),
            large: Vec::new(),
            round: Round::default(),
            rounds: Vec::new(),
            called: [Vec::new(), Vec::new()],
            groups: GROUPS.iter().map(group).collect(),
            line: 0,
            progress: Progress { done: 0, total: Some((small + large) * u64::from(spec.rounds)) },
            spec: spec.clone(),
        })
    }

    /// Begins the next part of the round, or the next round; false after the last.
    fn next_part(&mut self, now: SimTime) -> bool {
        let took = |since: SimTime| now.since(since).0;
        let part = match self.part {
            None => Part::Fill,
            Some((Part::Fill, since)) => {
                self.round.fill_ns = took(since);
                Part::Delete
            }
            Some((Part::Delete, _)) => Part::Write,
            Some((Part::Write, since)) => {
                self.round.write_ns = took(since);
                Part::Read
            }
            Some((Part::Read, since)) => {
                self.round.read_ns = took(since);
                self.round.free_segments = self.log.free();
                self.rounds.push(std::mem::take(&mut self.round));
                Part::Fill
            }
        };
        if part == Part::Fill && self.rounds.len() == self.spec.rounds as usize {
            return false;
        }
        self.part = Some((part, now));
        match part {
            Part::Fill => self.fill(),
            Part::Delete => self.delete(),
            Part::Write => self.write_large(now),
            Part::Read => self.read_large(now),
        }
        true
    }

    fn fill(&mut self) {
        self.small.clear();
        for number in 0..self.spec.files {
            let mut left = self.spec.file_kib / 4;
            while left > 0 {
                let piece = self.log.take(left);
                left -= piece.count;
                self.small.push((number, piece));
                self.want(WorkOp::Write, piece);
            }
        }
        self.want_flush();
    }

    fn delete(&mut self) {
        let every_second = self.small.drain(..).filter(|(number, _)| number % 2 == 1).map(|(_, piece)| piece);
        let large = std::mem::take(&mut self.large).into_iter().filter(|_| !self.spec.keep_large);
        let deleted: Vec<Piece> = every_second.chain(large).collect();
        for piece in deleted {
            self.log.release(piece);
            if self.spec.discard {
                self.wanted.push_back((WorkOp::Trim, piece));
            }
        }
    }

    fn write_large(&mut self, now: SimTime) {
        self.called[0].push(now);
        let mut left = (u64::from(self.spec.large_mib) * units::MIB / UNIT_BYTES) as u32;
        self.round.bytes = u64::from(left) * UNIT_BYTES;
        while left > 0 {
            let piece = self.log.take(left);
            left -= piece.count;
            match self.large.last_mut() {
                Some(last) if last.first + last.count == piece.first => last.count += piece.count,
                _ => self.large.push(piece),
            }
        }
        self.round.pieces = self.large.len() as u64;
        self.want_large(WorkOp::Write);
        self.want_flush();
    }

    fn read_large(&mut self, now: SimTime) {
        self.called[1].push(now);
        self.want_large(WorkOp::Read);
    }

    fn want_large(&mut self, op: WorkOp) {
        for piece in std::mem::take(&mut self.large) {
            self.large.push(piece);
            self.want(op, piece);
        }
    }

    /// Wants a piece in requests as large as they may be; one goes on from the last, as far as that is allowed.
    fn want(&mut self, op: WorkOp, mut piece: Piece) {
        let most = self.spec.request_kib / 4;
        while piece.count > 0 {
            let taken = match self.wanted.back_mut() {
                Some((before, last))
                    if *before == op && last.first + last.count == piece.first && last.count < most =>
                {
                    let taken = piece.count.min(most - last.count);
                    last.count += taken;
                    taken
                }
                _ => {
                    let taken = piece.count.min(most);
                    self.wanted.push_back((op, Piece { count: taken, ..piece }));
                    taken
                }
            };
            piece = Piece { first: piece.first + taken, count: piece.count - taken };
        }
    }

    fn want_flush(&mut self) {
        self.wanted.push_back((WorkOp::Flush, Piece { first: 0, count: 0 }));
    }

    /// The next request of the part, if it may be issued now.
    fn issue(&mut self, now: SimTime) -> Option<Issued> {
        let (part, _) = self.part?;
        let &(op, piece) = self.wanted.front()?;
        // A flush follows what was written.
        let most = if op == WorkOp::Flush { 1 } else { self.spec.depth };
        if self.outstanding >= most {
            return None;
        }
        self.wanted.pop_front();
        self.outstanding += 1;
        self.line += 1;
        let bytes = u64::from(piece.count) * UNIT_BYTES;
        let counted = if op == WorkOp::Trim { 0 } else { bytes };
        let request = WorkRequest {
            arrival: now,
            line: self.line,
            flags: Flags { sync: op == WorkOp::Read, readahead: op == WorkOp::Read, ..Flags::default() },
            ..WorkRequest::plain(op, piece.first.into(), piece.count.into())
        };
        Some(Issued { ticket: self.tickets.issue(counted), group: GroupId(part as u16), measured: true, request })
    }

    fn operations(&mut self, name: &str, part: usize, latency: fn(&Round) -> u64) -> Operations {
        let latencies_ns: Vec<u64> = self.rounds.iter().map(latency).collect();
        Operations {
            name: name.into(),
            called: self.called[part].iter().copied().take(latencies_ns.len()).collect(),
            programs: 1,
            duration: Nanos(latencies_ns.iter().sum()),
            requests: vec![("pieces", self.rounds.iter().map(|round| round.pieces).sum())],
            latencies_ns,
        }
    }
}

impl Source for FragmentationSource {
    fn next(&mut self, now: SimTime) -> Next {
        loop {
            if let Some(issued) = self.issue(now) {
                return Next::Request(issued);
            }
            if self.outstanding > 0 {
                return Next::Blocked;
            }
            let ended = self.rounds.len() == self.spec.rounds as usize;
            if ended || !self.next_part(now) {
                return Next::Done;
            }
        }
    }

    fn completed(&mut self, ticket: Ticket, _now: SimTime) {
        self.progress.done += self.tickets.complete(ticket);
        self.outstanding -= 1;
    }

    fn coming(&self) -> Option<Lpa> {
        self.wanted.front().map(|(_, piece)| Lpa(piece.first))
    }

    fn progress(&self) -> Progress {
        self.progress
    }

    fn groups(&self) -> &[GroupInfo] {
        &self.groups
    }

    /// It reads only what it has written.
    fn footprint(&self) -> Footprint {
        Footprint::default()
    }

    fn preconditioning_ranges(&self) -> Footprint {
        Footprint::from_ranges([(Lpa(0), self.volume_units)])
    }

    fn report(&mut self) -> Report {
        let operations = vec![
            self.operations("large write", 0, |round| round.write_ns),
            self.operations("large read", 1, |round| round.read_ns),
        ];
        Report { operations, fragmentation: std::mem::take(&mut self.rounds), ..Report::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Plays a loop on a device that takes a microsecond for each request, one at a time; all requests.
    fn played(lines: &str) -> (Vec<WorkRequest>, Vec<Round>) {
        let spec = FragmentationSpec::parse(&format!("[fragmentation]\n{lines}"), "x").unwrap();
        let mut source = FragmentationSource::new(&spec, "x", 1 << 14).unwrap();
        let (mut now, mut under_way, mut requests) = (SimTime(0), VecDeque::new(), Vec::new());
        loop {
            match source.next(now) {
                Next::Request(issued) => {
                    under_way.push_back(issued.ticket);
                    requests.push(issued.request);
                }
                Next::Blocked => {
                    now = now + Nanos(1000);
                    source.completed(under_way.pop_front().expect("one is under way"), now);
                }
                Next::Done => break,
                other => panic!("{other:?}"),
            }
            assert!(under_way.len() <= 4);
        }
        assert_eq!(source.progress().total, Some(source.progress().done));
        (requests, source.report().fragmentation)
    }

    const SMALL: &str = "files = 64\nfile_kib = 128\nlarge_mib = 4\ndepth = 4\nleast_free_segments = 8\n";

    #[test]
    fn a_round_writes_deletes_every_second_file_and_reads_what_it_has_written() {
        let (requests, rounds) = played(&format!("{SMALL}rounds = 2\nkeep_large = false"));
        let of = |op| requests.iter().filter(|request| request.op == op).collect::<Vec<_>>();
        let bytes = |op| of(op).iter().map(|request| request.bytes).sum::<u64>();
        assert_eq!((bytes(WorkOp::Write), bytes(WorkOp::Read)), (24 << 20, 8 << 20));
        // Half of the small files in each round, and the first large one.
        assert_eq!((bytes(WorkOp::Trim), of(WorkOp::Flush).len()), ((2 * 4 + 4) << 20, 4));
        let lengths: Vec<u64> = of(WorkOp::Write).iter().map(|request| request.bytes >> 10).collect();
        assert_eq!(lengths, [512; 48], "files side by side are one");
        // 24 requests and a flush for the first large file: 8 at a depth of 4 take 8 us.
        let first = rounds[0];
        assert_eq!((first.bytes, first.pieces, first.write_ns, first.read_ns), (4 << 20, 1, 9000, 8000));
        assert!(rounds[1].free_segments < first.free_segments);
    }

    #[test]
    fn where_few_segments_are_free_the_large_file_fills_holes() {
        // 32 segments. A round takes six of them, so the fifth finds eight, and has to fill the holes of four others.
        let rounds = |lines: &str| played(&format!("{SMALL}{lines}"));
        let (_, kept) = rounds("rounds = 6");
        let pieces: Vec<u64> = kept.iter().map(|round| round.pieces).collect();
        assert_eq!(pieces[..4], [1, 1, 1, 1]);
        // Holes are as long as a small file.
        assert!(pieces[4] >= 16 && pieces[5] >= 16, "{pieces:?}");
        let (requests, without) = rounds("rounds = 6\ndiscard = false");
        assert!(requests.iter().all(|request| request.op != WorkOp::Trim));
        assert_eq!(without.iter().map(|round| round.pieces).collect::<Vec<_>>(), pieces);
        // A large file that is deleted leaves free segments to the next.
        let (_, deleted) = rounds("rounds = 7\nkeep_large = false");
        assert!(deleted.iter().all(|round| round.pieces < 4), "{deleted:?}");
    }
}
