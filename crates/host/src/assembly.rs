//! Requests under way, and the assembly of their completions from the responses to their commands.

use std::collections::VecDeque;
use std::hash::{Hash, Hasher};

use ufs::{Content, DataIn, Status};
use units::SimTime;

use crate::request::{Completion, Request, RequestOp};
use crate::tags::Owner;

#[derive(Clone)]
struct Active {
    request: Request,
    /// Units not answered yet.
    open_units: u32,
    status: Status,
    /// True if the booster has parked a part of the request until it had the mapping.
    parked: bool,
    /// For reports: since when a part of the request has waited until the booster can plan it; `None` if none waits.
    waits_since: Option<SimTime>,
    /// When the first command was sent.
    dispatched: Option<SimTime>,
    /// Contents so far, if the request needs more than one command.
    contents: Vec<Option<Content>>,
}

/// Requests that have not completed yet.
#[derive(Clone, Default)]
pub(crate) struct RequestTable {
    active: Vec<Active>,
    free: Vec<u32>,
}

impl RequestTable {
    /// Inserts a request of `units` units. Gives its index.
    #[inline(always)]
    pub fn insert(&mut self, request: Request, units: u32) -> u32 {
        let entry = Active {
            request,
            open_units: units,
            status: Status::Good,
            parked: false,
            waits_since: None,
            dispatched: None,
            contents: Vec::new(),
        };
        match self.free.pop() {
            Some(index) => {
                self.active[index as usize] = entry;
                index
            }
            None => {
                self.active.push(entry);
                (self.active.len() - 1) as u32
            }
        }
    }

    /// The request with this index.
    #[inline]
    pub fn request(&self, index: u32) -> &Request {
        &self.active[index as usize].request
    }

    /// The request with this index, of which a command is sent now, and since when that has waited for the booster.
    #[inline]
    pub fn send(&mut self, index: u32, now: SimTime) -> (&Request, Option<SimTime>) {
        let active = &mut self.active[index as usize];
        active.dispatched.get_or_insert(now);
        (&active.request, active.waits_since.take())
    }

    /// Notes that a part of this request waits for a command of the booster.
    #[inline]
    pub fn wait(&mut self, index: u32, now: SimTime) {
        self.active[index as usize].waits_since.get_or_insert(now);
    }

    /// Notes that a part of this request waits for its mapping.
    #[inline]
    pub fn park(&mut self, index: u32, now: SimTime) {
        self.active[index as usize].parked = true;
        self.wait(index, now);
    }

    /// True if a part of this request has waited for its mapping.
    pub fn has_parked(&self, index: u32) -> bool {
        self.active[index as usize].parked
    }

    /// True if no request is under way.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.active.len() == self.free.len()
    }

    /// Handles the answer to one command of a request. After the last one, adds the completion to `ended` and gives
    /// true.
    #[inline(always)]
    pub fn answer(&mut self, owner: Owner, status: Status, data: DataIn, ended: &mut VecDeque<Completion>) -> bool {
        let active = &mut self.active[owner.request as usize];
        assert!(
            owner.units <= active.open_units,
            "request {} was answered for more units than it has",
            active.request.id
        );
        let whole = owner.units == active.request.len;
        active.open_units -= owner.units;
        if active.status == Status::Good {
            active.status = status;
        }
        let is_read = active.request.op == RequestOp::Read;
        if is_read && !whole && status == Status::Good {
            active.store(owner, &data);
        }
        if active.open_units > 0 {
            return false;
        }
        let (id, status, dispatched) = (active.request.id, active.status, active.dispatched);
        // Filled in its place: building it elsewhere and moving it there is slow.
        ended.push_back(Completion::BLANK);
        let completion = ended.back_mut().expect("one was added");
        (completion.id, completion.status, completion.dispatched) = (id, status, dispatched);
        if is_read && status == Status::Good {
            let contents = std::mem::take(&mut active.contents);
            let data = if whole { data } else { DataIn::Many(contents) };
            std::mem::replace(&mut completion.data, data).end();
        } else {
            data.end();
        }
        self.free.push(owner.request);
        true
    }
}

impl Active {
    fn store(&mut self, owner: Owner, data: &DataIn) {
        if self.contents.is_empty() {
            self.contents.resize(self.request.len as usize, None);
        }
        let start = owner.offset as usize;
        let target = &mut self.contents[start..start + owner.units as usize];
        match data {
            DataIn::One(content) => target.copy_from_slice(&[*content]),
            DataIn::Many(contents) => target.copy_from_slice(contents),
            other => panic!("a read was answered with {other:?}"),
        }
    }
}

/// Times are no part of the state; see [`Completion`].
impl Hash for Active {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let Active { request, open_units, status, parked, waits_since: _, dispatched: _, contents } = self;
        (request, open_units, status, parked, contents).hash(state);
    }
}

/// The requests under way, and the places that later ones will take.
impl Hash for RequestTable {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let under_way = (0..).zip(&self.active).filter(|(index, _)| !self.free.contains(index));
        under_way.for_each(|active| active.hash(state));
        self.free.hash(state);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::{AppId, Lpa};

    fn read(len: u32) -> Request {
        Request { id: 5, op: RequestOp::Read, lpa: Lpa(10), len, stamp: 0, app: AppId::SYSTEM }
    }

    /// The completion after an answer, if there is one.
    fn answer(table: &mut RequestTable, owner: Owner, status: Status, data: DataIn) -> Option<Completion> {
        let mut ended = VecDeque::new();
        assert_eq!(table.answer(owner, status, data, &mut ended), !ended.is_empty());
        ended.pop_front()
    }

    fn content(lpa: u32) -> Option<Content> {
        Some(Content { lpa: Lpa(lpa), stamp: 1 })
    }

    #[test]
    fn contents_are_put_in_order_whatever_the_order_of_the_answers() {
        let mut table = RequestTable::default();
        let request = table.insert(read(3), 3);
        let late = Owner { request, offset: 1, units: 2 };
        assert_eq!(answer(&mut table, late, Status::Good, DataIn::Many(vec![content(11), None])), None);
        let early = Owner { request, offset: 0, units: 1 };
        let done = answer(&mut table, early, Status::Good, DataIn::One(content(10))).unwrap();
        assert_eq!(done.data, DataIn::Many(vec![content(10), content(11), None]));
        assert!(table.is_empty());
    }

    #[test]
    fn the_first_bad_status_stays() {
        let mut table = RequestTable::default();
        let request = table.insert(read(3), 3);
        let part = |offset| Owner { request, offset, units: 1 };
        answer(&mut table, part(0), Status::UnrecoveredRead, DataIn::None);
        answer(&mut table, part(2), Status::InvalidField, DataIn::None);
        let done = answer(&mut table, part(1), Status::Good, DataIn::One(None)).unwrap();
        assert_eq!((done.status, done.data), (Status::UnrecoveredRead, DataIn::None));
    }

    #[test]
    fn a_request_answered_by_one_command_gets_its_data_untouched() {
        let mut table = RequestTable::default();
        let request = table.insert(read(1), 1);
        let owner = Owner { request, offset: 0, units: 1 };
        let done = answer(&mut table, owner, Status::Good, DataIn::One(content(10))).unwrap();
        assert_eq!(done.data, DataIn::One(content(10)));
    }
}
