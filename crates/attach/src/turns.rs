//! Fair turns: when more bytes are asked for than the engine takes at a time, requests wait, and those who send them
//! take turns, so that a client with small requests does not wait for all that others have asked for.
//!
//! The turns are those of deficit round robin (Shreedhar and Varghese, SIGCOMM 1995): each has a credit in bytes.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::UNIT;
use crate::ask::Ask;
use crate::inbox::{Mailbox, Parcel};

/// Bytes of the requests that the engine has at a time. What a single client may have under way goes through at once.
const MOST: usize = 64 << 20;
/// Bytes that a turn adds to a credit.
const QUANTUM: usize = 1 << 20;

/// Requests of a client that wait.
struct Queue {
    mailbox: Arc<dyn Mailbox>,
    parcels: VecDeque<Parcel>,
    credit: usize,
}

/// Who waits, and how much the engine has.
#[derive(Default)]
pub(crate) struct Turns {
    under_way: usize,
    queues: VecDeque<Queue>,
}

/// Bytes that a request has or gets.
fn bytes_of(ask: &Ask) -> usize {
    match ask {
        Ask::Read { len, .. } => (*len as usize * UNIT).max(UNIT),
        Ask::Write { data, .. } => data.len().max(UNIT),
        Ask::Trim { .. } | Ask::Flush => UNIT,
    }
}

impl Turns {
    /// True if nobody waits.
    pub fn is_empty(&self) -> bool {
        self.queues.is_empty()
    }

    fn has_room(&self, bytes: usize) -> bool {
        self.under_way == 0 || self.under_way + bytes <= MOST
    }

    /// Gives a request back that can begin at once; another one waits. Those of a client keep their order.
    pub fn pass(&mut self, parcel: Parcel) -> Option<Parcel> {
        if self.queues.is_empty() && self.has_room(bytes_of(&parcel.ask)) {
            return Some(parcel);
        }
        match self.queues.iter_mut().find(|queue| Arc::ptr_eq(&queue.mailbox, &parcel.mailbox)) {
            Some(queue) => queue.parcels.push_back(parcel),
            None => {
                let mailbox = parcel.mailbox.clone();
                self.queues.push_back(Queue { mailbox, parcels: [parcel].into(), credit: 0 });
            }
        }
        None
    }

    /// A request begins. Gives its bytes, for its end.
    pub fn begun(&mut self, ask: &Ask) -> usize {
        let bytes = bytes_of(ask);
        self.under_way += bytes;
        bytes
    }

    /// A request of so many bytes has ended.
    pub fn ended(&mut self, bytes: usize) {
        self.under_way -= bytes;
    }

    /// The next request that can begin, if there is room. What clients have asked for that are gone is dropped.
    pub fn next(&mut self) -> Option<Parcel> {
        loop {
            let mut queue = self.queues.pop_front()?;
            let Some(bytes) = queue.parcels.front().map(|parcel| bytes_of(&parcel.ask)) else { continue };
            if queue.mailbox.is_gone() {
                continue;
            }
            if queue.credit < bytes {
                queue.credit += QUANTUM;
                self.queues.push_back(queue);
                continue;
            }
            if !self.has_room(bytes) {
                self.queues.push_front(queue);
                return None;
            }
            queue.credit -= bytes;
            let parcel = queue.parcels.pop_front();
            if !queue.parcels.is_empty() {
                self.queues.push_front(queue);
            }
            return parcel;
        }
    }

    /// Everything that waits, in the order of the queues.
    pub fn clear(&mut self) -> impl Iterator<Item = Parcel> + use<> {
        std::mem::take(&mut self.queues).into_iter().flat_map(|queue| queue.parcels)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ask::Answer;
    use crate::wall::Moment;

    struct Nobody {
        gone: bool,
    }

    impl Mailbox for Nobody {
        fn deliver(&self, _: Answer, _: Option<Moment>) {}
        fn wake(&self) {}
        fn is_gone(&self) -> bool {
            self.gone
        }
    }

    fn read(token: u64, units: u32, mailbox: &Arc<dyn Mailbox>) -> Parcel {
        Parcel { ask: Ask::Read { first: 0, len: units }, token, mailbox: mailbox.clone(), epoch: 0 }
    }

    /// The engine has as much as it takes, and two clients wait: one with many large reads, then one with a small one.
    #[test]
    fn a_small_request_waits_for_a_turn_and_not_for_a_queue() {
        let of = |gone| -> Arc<dyn Mailbox> { Arc::new(Nobody { gone }) };
        let (large, small, left) = (of(false), of(false), of(true));
        let mut turns = Turns::default();
        let first = turns.pass(read(0, (MOST / UNIT) as u32, &large)).expect("there is room");
        let under_way = turns.begun(&first.ask);
        for token in 1..9 {
            assert!(turns.pass(read(token, 2048, &large)).is_none());
        }
        assert!(turns.pass(read(9, 1, &left)).is_none());
        assert!(turns.pass(read(10, 1, &small)).is_none());
        assert!(turns.pass(read(11, 1, &large)).is_none(), "the order of a client's requests stays");
        assert!(turns.next().is_none(), "there is no room");
        turns.ended(under_way);
        let tokens: Vec<u64> = std::iter::from_fn(|| turns.next().map(|parcel| parcel.token)).collect();
        assert_eq!(tokens, [10, 1, 2, 3, 4, 5, 6, 7, 8, 11]);
        assert!(turns.is_empty());
    }
}
