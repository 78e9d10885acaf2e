//! The bound on requests in the block layer: `nr_requests`.
//!
//! A task that finds no place sleeps *before the queue* until it gets one, in the order in which tasks came. What it
//! would have submitted meanwhile, it submits afterwards. So before the queue there is never more than one request of
//! a task.

use std::collections::{BTreeMap, VecDeque};

use units::SimTime;

use super::TaskId;

/// A task before the queue.
#[derive(Clone, Copy, Debug)]
struct Sleeper {
    task: TaskId,
    id: u32,
    since: SimTime,
}

/// A request that has got a place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Admitted {
    /// Its number.
    pub id: u32,
    /// When it came to the queue.
    pub since: SimTime,
}

/// Requests inside, and tasks before them.
#[derive(Clone, Debug, Default)]
pub(super) struct Gate {
    limit: Option<u32>,
    inside: u32,
    sleepers: VecDeque<Sleeper>,
    /// What tasks that sleep will submit later.
    later: BTreeMap<TaskId, VecDeque<u32>>,
}

impl Gate {
    pub fn new(limit: Option<u32>) -> Gate {
        Gate { limit, ..Gate::default() }
    }

    /// Requests inside.
    pub fn inside(&self) -> u32 {
        self.inside
    }

    /// Tasks before the queue.
    #[cfg(test)]
    pub fn sleeping(&self) -> usize {
        self.sleepers.len()
    }

    /// A task wants to submit a request. One that sleeps already does so later.
    pub fn come(&mut self, now: SimTime, task: TaskId, id: u32) {
        if let Some(later) = self.later.get_mut(&task) {
            later.push_back(id);
            return;
        }
        self.later.insert(task, VecDeque::new());
        self.sleepers.push_back(Sleeper { task, id, since: now });
    }

    /// Gives the next sleeper a place, if there is one, and the request with which its task then comes to the queue.
    pub fn admit(&mut self, now: SimTime) -> Option<(Admitted, Option<u32>)> {
        if self.limit.is_some_and(|limit| self.inside >= limit) {
            return None;
        }
        let Sleeper { task, id, since } = self.sleepers.pop_front()?;
        self.inside += 1;
        let next = self.later.get_mut(&task).and_then(VecDeque::pop_front);
        match next {
            Some(id) => self.sleepers.push_back(Sleeper { task, id, since: now }),
            None => drop(self.later.remove(&task)),
        }
        Some((Admitted { id, since }, next))
    }

    /// A request has ended.
    pub fn leave(&mut self) {
        self.inside -= 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: TaskId = TaskId(1);
    const B: TaskId = TaskId(2);

    fn admit(gate: &mut Gate, now: u64) -> Option<(u32, u64, Option<u32>)> {
        gate.admit(SimTime(now)).map(|(admitted, next)| (admitted.id, admitted.since.0, next))
    }

    #[test]
    fn a_task_that_finds_no_place_comes_with_its_next_request_when_it_has_one() {
        let mut gate = Gate::new(Some(1));
        gate.come(SimTime(0), A, 10);
        assert_eq!(admit(&mut gate, 0), Some((10, 0, None)));
        // Two more of the same task and one of another: only the first of each is before the queue.
        gate.come(SimTime(1), A, 11);
        gate.come(SimTime(2), A, 12);
        gate.come(SimTime(3), B, 20);
        assert_eq!((admit(&mut gate, 3), gate.inside(), gate.sleeping()), (None, 1, 2));
        gate.leave();
        // It comes behind the other task.
        assert_eq!(admit(&mut gate, 9), Some((11, 1, Some(12))));
        gate.leave();
        assert_eq!(admit(&mut gate, 10), Some((20, 3, None)));
        gate.leave();
        assert_eq!(admit(&mut gate, 11), Some((12, 9, None)));
        gate.leave();
        assert_eq!((admit(&mut gate, 12), gate.inside(), gate.sleeping()), (None, 0, 0));
    }

    #[test]
    fn without_a_bound_everybody_gets_in() {
        let mut gate = Gate::new(None);
        for id in 0..1000 {
            gate.come(SimTime(id), A, id as u32);
            assert_eq!(admit(&mut gate, id), Some((id as u32, id, None)));
        }
        assert_eq!(gate.inside(), 1000);
    }
}
