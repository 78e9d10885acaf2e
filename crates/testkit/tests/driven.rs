//! A workload on the bench, which can be interrupted by power cuts.

use std::collections::BTreeMap;

use host::RequestOp;
use units::{AppId, Lpa};
use workload::{Next, Source, Ticket, WorkOp};

use campaign::Rig;

/// A workload under way on a bench.
#[derive(Debug, Default)]
pub struct Driven {
    /// Tickets of outstanding requests, by the bench's request number.
    tickets: BTreeMap<u32, Ticket>,
    /// The bench's stamps of the writes and trims that the workload has issued, in their order.
    stamps: Vec<u32>,
}

impl Driven {
    /// Handles `events` more events. False if the workload ended before.
    pub fn run_events(&mut self, rig: &mut Rig, source: &mut dyn Source, events: u32) -> bool {
        for _ in 0..events {
            if self.take_requests(rig, source) && self.tickets.is_empty() {
                return false;
            }
            rig.step();
            self.hand_back(rig, source);
        }
        true
    }

    /// Submits all requests that the workload has now. True if the workload has ended.
    fn take_requests(&mut self, rig: &mut Rig, source: &mut dyn Source) -> bool {
        loop {
            let issued = match source.next(rig.now()) {
                Next::Request(issued) => issued,
                Next::Wait(at) => {
                    rig.wake_at(at);
                    return false;
                }
                Next::Driver(_) => unreachable!("only a phone talks to the driver"),
                Next::Blocked => return false,
                Next::Done => return true,
            };
            let (lpa, len) = issued.request.units();
            let op = match issued.request.op {
                WorkOp::Read => RequestOp::Read,
                WorkOp::Write => RequestOp::Write { fua: issued.request.flags.fua },
                WorkOp::Trim => RequestOp::Unmap,
                WorkOp::Flush => RequestOp::Flush,
            };
            assert!(!issued.request.flags.preflush, "the bench sends a flush only where there is one");
            let number = rig.submit_now(op, lpa, len, AppId::SYSTEM);
            self.tickets.insert(number, issued.ticket);
            if matches!(op, RequestOp::Write { .. } | RequestOp::Unmap) {
                self.stamps.push(number);
            }
            self.hand_back(rig, source);
        }
    }

    fn hand_back(&mut self, rig: &Rig, source: &mut dyn Source) {
        let now = rig.now();
        self.tickets.retain(|id, ticket| {
            let outstanding = rig.is_outstanding(*id);
            if !outstanding {
                source.completed(*ticket, now);
            }
            outstanding
        });
    }

    /// The number, from 1, of the workload's write that a unit holds; 0 = none. Valid after a power cut, when
    /// everything has been read.
    ///
    /// # Panics
    /// If it holds something that the workload has not written.
    pub fn held(&self, rig: &Rig, lpa: Lpa) -> u32 {
        match rig.held(lpa) {
            0 => 0,
            stamp => 1 + self.stamps.binary_search(&stamp).expect("the workload is alone on the bench") as u32,
        }
    }
}
