//! Plugs for sources that run live, such as fio jobs, SQLite and phones: what a task issues before its source waits or
//! blocks goes through its plug, and goes on when that ends ([`crate::merge`]).

use std::collections::{BTreeMap, VecDeque};

use units::{Nanos, SimTime};

use crate::merge::{MergeLimits, Plug, Task, task_of};
use crate::report::Report;
use crate::{Fault, Footprint, GroupInfo, Issued, Next, Progress, ReadOutcome, Source, Ticket, WorkRequest};

/// A source whose tasks have plugs.
pub struct Plugged {
    source: Box<dyn Source>,
    limits: MergeLimits,
    plugs: BTreeMap<Task, Plug<Issued>>,
    /// What has left its plug: requests that are one.
    released: VecDeque<Vec<Issued>>,
    /// What rides with the request issued last.
    riders: Vec<Issued>,
    /// The source's answer that ended all plugs.
    after: Option<Next>,
}

impl Plugged {
    /// Gives the tasks of a source plugs.
    pub fn new(source: Box<dyn Source>, limits: MergeLimits) -> Plugged {
        Plugged {
            source,
            // A plug ends when its task waits, not after a time.
            limits: MergeLimits { plug_gap: Nanos(u64::MAX), plug_sync_gap: Nanos(u64::MAX), ..limits },
            plugs: BTreeMap::new(),
            released: VecDeque::new(),
            riders: Vec::new(),
            after: None,
        }
    }

    fn plug(&mut self, issued: Issued, now: SimTime) {
        let Plugged { plugs, released, limits, .. } = self;
        let submitted = WorkRequest { arrival: now, ..issued.request };
        let plug = plugs.entry(task_of(&issued.request)).or_default();
        plug.add(issued, &submitted, limits, &mut |members, _| released.push_back(members));
    }

    fn end_plugs(&mut self) {
        let Plugged { plugs, released, .. } = self;
        plugs.values_mut().for_each(|plug| plug.let_go(&mut |members, _| released.push_back(members)));
    }
}

impl Source for Plugged {
    fn next(&mut self, now: SimTime) -> Next {
        loop {
            if let Some(members) = self.released.pop_front() {
                let mut members = members.into_iter();
                let leader = members.next().expect("what is released is a request at least");
                self.riders.extend(members);
                return Next::Request(leader);
            }
            if let Some(answer) = self.after.take() {
                return answer;
            }
            match self.source.next(now) {
                Next::Request(issued) => self.plug(issued, now),
                answer => {
                    self.end_plugs();
                    self.after = Some(answer);
                }
            }
        }
    }

    fn completed(&mut self, ticket: Ticket, now: SimTime) {
        self.source.completed(ticket, now);
    }

    fn merges(&self) -> bool {
        true
    }

    fn take_riders(&mut self, into: &mut Vec<Issued>) {
        into.append(&mut self.riders);
    }

    fn answered(&mut self, answer: u64, now: SimTime) {
        self.source.answered(answer, now);
    }

    fn wants_read_outcomes(&self) -> bool {
        self.source.wants_read_outcomes()
    }

    fn read_outcome(&mut self, ticket: Ticket, outcome: ReadOutcome) {
        self.source.read_outcome(ticket, outcome);
    }

    fn progress(&self) -> Progress {
        self.source.progress()
    }

    fn groups(&self) -> &[GroupInfo] {
        self.source.groups()
    }

    fn footprint(&self) -> Footprint {
        self.source.footprint()
    }

    fn preconditioning_ranges(&self) -> Footprint {
        self.source.preconditioning_ranges()
    }

    fn keep_reads(&mut self) {
        self.source.keep_reads();
    }

    fn report(&mut self) -> Report {
        self.source.report()
    }

    fn verdict(&self) -> Result<(), Fault> {
        self.source.verdict()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::tests::request;
    use crate::{DriverCall, Flags, GroupId, ProcessId, WorkOp};

    const LIMITS: MergeLimits =
        MergeLimits { bytes: 1 << 20, segments: 128, plug_requests: 3, plug_gap: Nanos(0), plug_sync_gap: Nanos(0) };

    /// Issues what it was given, a list at a time, and waits after each.
    struct Lists(VecDeque<VecDeque<WorkRequest>>, u32);

    impl Source for Lists {
        fn next(&mut self, now: SimTime) -> Next {
            let Some(list) = self.0.front_mut() else { return Next::Done };
            let Some(request) = list.pop_front() else {
                self.0.pop_front();
                return if self.0.len() == 1 { Next::Driver(DriverCall::Memory) } else { Next::Wait(now + Nanos(1)) };
            };
            self.1 += 1;
            Next::Request(Issued { ticket: Ticket(self.1), group: GroupId(0), measured: true, request })
        }

        fn completed(&mut self, _: Ticket, _: SimTime) {}

        fn progress(&self) -> Progress {
            Progress::default()
        }

        fn groups(&self) -> &[GroupInfo] {
            &[]
        }

        fn footprint(&self) -> Footprint {
            Footprint::default()
        }

        fn preconditioning_ranges(&self) -> Footprint {
            Footprint::default()
        }
    }

    fn write(process: u16, page: u64) -> WorkRequest {
        WorkRequest { op: WorkOp::Write, process: ProcessId(process), ..request(page * 8, 4096) }
    }

    /// What comes out: requests by ticket with their riders, and other answers.
    fn all(lists: &[&[WorkRequest]]) -> Vec<String> {
        let lists = lists.iter().map(|list| list.iter().copied().collect()).collect();
        let mut source = Plugged::new(Box::new(Lists(lists, 0)), LIMITS);
        let mut told = Vec::new();
        for now in 0.. {
            let next = source.next(SimTime(now));
            told.push(match next {
                Next::Request(issued) => {
                    let mut riders = Vec::new();
                    source.take_riders(&mut riders);
                    let names = [issued].iter().chain(&riders).map(|one| one.ticket.0.to_string()).collect::<Vec<_>>();
                    names.join("+")
                }
                Next::Driver(_) => "asks".into(),
                Next::Wait(_) => "waits".into(),
                Next::Blocked | Next::Done => return told,
            });
        }
        told
    }

    #[test]
    fn neighbours_of_a_task_are_one_until_its_source_waits() {
        let first = [write(0, 5), write(1, 6), write(0, 6), write(0, 9)];
        let told = all(&[&first, &[write(0, 10)], &[write(0, 11)]]);
        // Of one task before the other; the neighbour of what has gone comes too late, also if the source only asks.
        assert_eq!(told, ["1+3", "4", "2", "waits", "5", "asks", "6", "waits"]);
    }

    #[test]
    fn what_cannot_wait_ends_the_plug() {
        let fua = WorkRequest { flags: Flags { fua: true, ..Flags::default() }, ..write(0, 2) };
        assert_eq!(all(&[&[write(0, 1), fua, write(0, 3)]])[..3], ["1", "2", "3"]);
        let many: Vec<_> = (0..5).map(|n| write(0, 10 * n)).collect();
        let told = all(&[&many, &[], &[]]);
        assert_eq!(told[..6], ["1", "2", "3", "4", "5", "waits"]);
        assert_eq!(all(&[&[write(0, 1), write(0, 1)]])[..2], ["1", "2"], "the later one stays the later one");
    }
}
