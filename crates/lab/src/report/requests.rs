//! Requests under way, indexed by the workload's ticket.

use host::RequestOp;
use ufs::Status;
use units::{AppId, Lpa, Nanos, SimTime, UNIT_BYTES};
use workload::{GroupId, Issued, ReadOutcome, Ticket, WorkOp};

use crate::oracle::Remembered;

/// What has to be known about a request until it completes.
#[derive(Debug)]
pub struct Slot {
    /// The request's kind, for the statistics.
    pub kind: WorkOp,
    /// Its group, for the statistics.
    pub group: GroupId,
    /// Whether it belongs in them.
    pub measured: bool,
    /// True while the flush that precedes a write is under way: the write itself follows.
    pub data_follows: bool,
    /// Force unit access.
    pub fua: bool,
    /// Who asked.
    pub app: AppId,
    /// First unit.
    pub lpa: Lpa,
    /// Units; 0 for a flush.
    pub len: u32,
    /// The oracle's number, of writes and trims; 0 until they are submitted.
    pub number: u32,
    /// Bytes as the workload asked for them.
    pub bytes: u64,
    /// From when its latency counts.
    pub arrival: SimTime,
    /// What it took on the traced device, if that is known.
    pub phone_latency: Option<Nanos>,
    /// When its first command was sent.
    pub dispatched: Option<SimTime>,
    /// The first of the requests that are merged with this one; each of them names the next.
    pub rider: Option<Ticket>,
    /// The range that it has alone, while it stands for others as well.
    own: (Lpa, u32),
    /// Where the mapping of a read came from, as far as it has been answered; kept only for a log of requests.
    pub outcome: Option<ReadOutcome>,
    /// A fault was injected into a flash read of one of its units, so a read may fail.
    pub fault_injected: bool,
    /// How it ended; good until then.
    pub status: Status,
    /// Fingerprint of what a read has returned; 0 for others, and if there is no data.
    pub content: u64,
    /// What the oracle holds against the result of a read.
    pub memory: Remembered,
    busy: bool,
}

/// A table of slots. It grows to the largest number of requests ever outstanding, and then allocates no more.
#[derive(Debug, Default)]
pub struct Requests {
    slots: Vec<Slot>,
    outstanding: u32,
}

impl Requests {
    /// Enters a request.
    ///
    /// # Panics
    /// If its ticket is taken: the source breaks its contract.
    #[inline(always)]
    pub fn enter(&mut self, issued: &Issued) -> &mut Slot {
        let index = issued.ticket.index();
        while self.slots.len() <= index {
            self.slots.push(Slot::empty());
        }
        let slot = &mut self.slots[index];
        assert!(!slot.busy, "ticket {index} was issued while it was outstanding");
        let request = &issued.request;
        let (lpa, len) = whole_units(issued);
        slot.kind = request.op;
        slot.group = issued.group;
        slot.measured = issued.measured;
        slot.data_follows = request.op == WorkOp::Write && request.flags.preflush;
        slot.fua = request.flags.fua;
        // A source that knows of apps numbers its processes by them.
        slot.app = AppId(request.process.0);
        (slot.lpa, slot.len) = (lpa, len);
        slot.bytes = request.bytes;
        slot.arrival = request.arrival;
        slot.phone_latency = request.phone_latency;
        (slot.dispatched, slot.rider) = (None, None);
        (slot.outcome, slot.number) = (None, 0);
        slot.fault_injected = false;
        (slot.status, slot.content) = (Status::Good, 0);
        slot.busy = true;
        self.outstanding += 1;
        slot
    }

    /// The request of a ticket.
    ///
    /// # Panics
    /// If it is not outstanding.
    #[inline]
    pub fn get(&mut self, ticket: Ticket) -> &mut Slot {
        let slot = &mut self.slots[ticket.index()];
        assert!(slot.busy, "request {} completed twice", ticket.0);
        slot
    }

    /// Makes requests one: `leader` stands for the ranges of all of them, until [`Requests::uncouple`].
    pub fn couple(&mut self, leader: Ticket, riders: &[Issued]) {
        let whole = |slot: &Slot| (u64::from(slot.lpa.0), u64::from(slot.lpa.0) + u64::from(slot.len));
        let (mut first, mut end) = whole(self.get(leader));
        let mut next = None;
        for rider in riders.iter().rev() {
            let slot = self.get(rider.ticket);
            let (begins, ends) = whole(slot);
            (first, end) = (first.min(begins), end.max(ends));
            slot.rider = next.replace(rider.ticket);
        }
        let slot = self.get(leader);
        slot.own = (slot.lpa, slot.len);
        (slot.lpa, slot.len) = (Lpa(first as u32), (end - first) as u32);
        slot.rider = next;
    }

    /// Gives a leader its own range back, and the first of its riders.
    pub fn uncouple(&mut self, leader: Ticket) -> Option<Ticket> {
        let slot = self.get(leader);
        (slot.lpa, slot.len) = slot.own;
        slot.rider.take()
    }

    /// A request comes to the queue only now, and all that is merged with it: their latencies count from here.
    pub fn come_late(&mut self, ticket: Ticket, now: SimTime) {
        let mut next = Some(ticket);
        while let Some(ticket) = next {
            let slot = self.get(ticket);
            slot.arrival = slot.arrival.max(now);
            next = slot.rider;
        }
    }

    /// A fault has been injected into a flash read of this unit. Every request under way that covers it remembers that.
    pub fn note_fault(&mut self, lpa: Lpa) {
        for slot in self.slots.iter_mut().filter(|slot| slot.busy) {
            slot.fault_injected |= lpa >= slot.lpa && lpa.0 - slot.lpa.0 < slot.len;
        }
    }

    /// Ends a request.
    #[inline]
    pub fn leave(&mut self, ticket: Ticket) {
        self.get(ticket).busy = false;
        self.outstanding -= 1;
    }

    /// Requests entered and not ended.
    #[inline]
    pub fn outstanding(&self) -> u32 {
        self.outstanding
    }
}

impl Slot {
    fn empty() -> Slot {
        Slot {
            kind: WorkOp::Read,
            group: GroupId(0),
            measured: false,
            data_follows: false,
            fua: false,
            app: AppId::SYSTEM,
            lpa: Lpa(0),
            len: 0,
            number: 0,
            bytes: 0,
            arrival: SimTime::START,
            phone_latency: None,
            dispatched: None,
            rider: None,
            own: (Lpa(0), 0),
            outcome: None,
            fault_injected: false,
            status: Status::Good,
            content: 0,
            memory: Remembered::default(),
            busy: false,
        }
    }

    /// What the driver is asked for next on behalf of this request.
    #[inline]
    pub fn driver_op(&self) -> RequestOp {
        match self.kind {
            WorkOp::Read => RequestOp::Read,
            WorkOp::Write if self.data_follows => RequestOp::Flush,
            WorkOp::Write => RequestOp::Write { fua: self.fua },
            WorkOp::Flush => RequestOp::Flush,
            WorkOp::Trim => RequestOp::Unmap,
        }
    }
}

/// Reads and writes are widened to whole units. A trim is narrowed instead: what it covers only in part must stay.
#[inline]
fn whole_units(issued: &Issued) -> (Lpa, u32) {
    let request = &issued.request;
    let (lpa, len) = request.units();
    if request.op != WorkOp::Trim || request.is_aligned() {
        return (lpa, len);
    }
    let begin = request.sector * workload::SECTOR_BYTES;
    let first = begin.div_ceil(UNIT_BYTES);
    let end = (begin + request.bytes) / UNIT_BYTES;
    (Lpa(first as u32), end.saturating_sub(first) as u32)
}

#[cfg(test)]
pub(crate) mod tests {
    use workload::WorkRequest;

    use super::*;

    pub(crate) fn issued(op: WorkOp, sector: u64, bytes: u64) -> Issued {
        let request = WorkRequest { sector, bytes, line: 1, ..WorkRequest::plain(op, 0, 0) };
        Issued { ticket: Ticket(0), group: GroupId(0), measured: true, request }
    }

    #[test]
    fn writes_are_widened_and_trims_are_narrowed() {
        for (op, sector, bytes, lpa, len) in [
            (WorkOp::Write, 7, 1024, 0, 2),
            (WorkOp::Trim, 8, 8192, 1, 2),
            (WorkOp::Trim, 7, 8192, 1, 1),
            (WorkOp::Trim, 1, 512, 1, 0),
            (WorkOp::Trim, 1, 4096, 1, 0),
        ] {
            assert_eq!(whole_units(&issued(op, sector, bytes)), (Lpa(lpa), len), "{op:?} {sector}+{bytes}");
        }
    }

    #[test]
    fn a_fault_concerns_requests_under_way_that_cover_its_unit() {
        let mut requests = Requests::default();
        for (ticket, first) in [(0, 0), (1, 2), (2, 3)] {
            requests.enter(&Issued { ticket: Ticket(ticket), ..issued(WorkOp::Read, 8 * first, 8192) });
        }
        requests.leave(Ticket(0));
        requests.note_fault(Lpa(1));
        requests.note_fault(Lpa(3));
        requests.note_fault(Lpa(5));
        assert_eq!([1, 2].map(|ticket| requests.get(Ticket(ticket)).fault_injected), [true, true]);
        requests.leave(Ticket(1));
        let again = requests.enter(&Issued { ticket: Ticket(1), ..issued(WorkOp::Read, 0, 4096) });
        assert!(!again.fault_injected, "that was another request");
        requests.note_fault(Lpa(1));
        assert!(!requests.get(Ticket(1)).fault_injected, "that is another unit");
    }

    #[test]
    #[should_panic(expected = "ticket 0 was issued while it was outstanding")]
    fn a_ticket_is_used_once_at_a_time() {
        let mut requests = Requests::default();
        requests.enter(&issued(WorkOp::Read, 0, 4096));
        requests.enter(&issued(WorkOp::Read, 0, 4096));
    }

    #[test]
    #[should_panic(expected = "completed twice")]
    fn a_request_ends_once() {
        let mut requests = Requests::default();
        requests.enter(&issued(WorkOp::Read, 0, 4096));
        requests.leave(Ticket(0));
        requests.leave(Ticket(0));
    }
}
