//! What the addresses may hold, by the rule of crate `ledger`: the oracle of an explored system.
//!
//! No two requests under way overlap, and everything is read after a power cut. So a read has exactly one right answer.

use host::{Completion, Request, RequestOp};
use ufs::{Content, DataIn, Status};
use units::{AppId, Lpa};

use ledger::{Ledger, Span, Version};

/// Requests under way, and contents.
#[derive(Clone, Hash, Debug)]
pub struct Oracle {
    ledger: Ledger,
    under_way: Vec<Request>,
    /// Number of acknowledgements before each flush under way, by request.
    flushes: Vec<(u32, u64)>,
    /// Addresses that a write or trim has ever named, one bit each.
    named: u64,
    /// Number of requests so far. The number of a write is its stamp, so stamps are named in order of first use.
    requests: u32,
}

impl Oracle {
    /// Nothing is written. There are at most 64 addresses.
    pub fn new(capacity_units: u32) -> Oracle {
        assert!(capacity_units <= u64::BITS, "{capacity_units} addresses");
        Oracle {
            ledger: Ledger::new(capacity_units),
            under_way: Vec::new(),
            flushes: Vec::new(),
            named: 0,
            requests: 0,
        }
    }

    /// Requests under way.
    pub fn under_way(&self) -> &[Request] {
        &self.under_way
    }

    /// True if a request for this address is under way.
    pub fn is_busy(&self, lpa: Lpa) -> bool {
        self.under_way.iter().any(|r| r.lpa.0 <= lpa.0 && lpa.0 < r.lpa.0 + r.len)
    }

    /// True if a write or trim has ever named the address.
    pub fn is_named(&self, lpa: Lpa) -> bool {
        self.named >> lpa.0 & 1 != 0
    }

    /// A new request of `len` units.
    pub fn submit(&mut self, op: RequestOp, lpa: Lpa, len: u32) -> Request {
        self.requests += 1;
        if matches!(op, RequestOp::Write { .. } | RequestOp::Unmap) {
            (lpa.0..lpa.0 + len).for_each(|unit| self.named |= 1 << unit);
        }
        let request = Request { id: self.requests, op, lpa, len, stamp: self.requests, app: AppId::SYSTEM };
        match Version::made_by(&request) {
            Some(version) => self.ledger.submitted(Span::of(&request), version),
            None if op == RequestOp::Flush => self.flushes.push((request.id, self.ledger.acknowledgements())),
            None => {}
        }
        self.under_way.push(request);
        request
    }

    /// A request has completed.
    ///
    /// # Errors
    /// What is wrong with the answer.
    pub fn complete(&mut self, completion: Completion) -> Result<(), String> {
        let at = self.under_way.iter().position(|r| r.id == completion.id);
        let at = at.ok_or_else(|| format!("request {} completes twice", completion.id))?;
        let request = self.under_way.remove(at);
        if completion.status != Status::Good {
            return Err(format!("{request:?}: {:?}", completion.status));
        }
        match (request.op, Version::made_by(&request)) {
            (RequestOp::Read, _) => self.check(Span::of(&request), &completion.data)?,
            (RequestOp::Write { fua: true }, Some(version)) => self.ledger.acked(Span::of(&request), version, true),
            (_, Some(version)) => self.ledger.acked(Span::of(&request), version, false),
            (_, None) => {
                let at = self.flushes.iter().position(|(id, _)| *id == request.id).expect("noted at submission");
                self.ledger.flushed(self.flushes.remove(at).1);
            }
        }
        Ok(())
    }

    /// Checks what a read has given while nothing else was under way for these units.
    fn check(&self, span: Span, data: &DataIn) -> Result<(), String> {
        for (lpa, content) in (span.lpa.0..).map(Lpa).zip(contents(data)?) {
            let (stamp, right) = (stamp_of(lpa, content)?, self.ledger.held(lpa));
            if stamp != right {
                return Err(format!("{lpa} gives write {stamp} instead of {right}"));
            }
        }
        Ok(())
    }

    fn everything(&self) -> Span {
        Span { lpa: Lpa(0), len: self.ledger.units() }
    }

    /// Checks what a read of everything has given.
    ///
    /// # Errors
    /// The first address that does not hold what was acknowledged last.
    pub fn check_all(&self, data: &DataIn) -> Result<(), String> {
        self.check(self.everything(), data)
    }

    /// The power was cut: the requests under way are lost.
    pub fn power_lost(&mut self) {
        self.under_way.clear();
        self.flushes.clear();
        self.ledger.power_cut();
    }

    /// Everything was read after a power cut. Each address must hold a version that it may hold. From now on it has to
    /// keep that one.
    ///
    /// # Errors
    /// The first address that holds something else.
    pub fn surveyed(&mut self, data: &DataIn) -> Result<(), String> {
        let expected = self.ledger.expected(self.everything());
        for (lpa, content) in (0..).map(Lpa).zip(contents(data)?) {
            let stamp = stamp_of(lpa, content)?;
            let read = self.ledger.read(&expected, lpa, stamp);
            read.map_err(|allowed| format!("after the power cut {lpa} holds write {stamp}, not one of {allowed:?}"))?;
        }
        Ok(())
    }
}

fn contents(data: &DataIn) -> Result<&[Option<Content>], String> {
    match data {
        DataIn::One(content) => Ok(std::slice::from_ref(content)),
        DataIn::Many(contents) => Ok(contents),
        other => Err(format!("a read gives {other:?}")),
    }
}

fn stamp_of(lpa: Lpa, content: &Option<Content>) -> Result<u32, String> {
    match content {
        Some(content) if content.lpa != lpa => Err(format!("a read of {lpa} gives data of {}", content.lpa)),
        content => Ok(content.map_or(0, |content| content.stamp)),
    }
}
