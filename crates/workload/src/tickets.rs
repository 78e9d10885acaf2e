//! What a source has to remember of its outstanding requests, by ticket.

use crate::Ticket;

/// Values of outstanding requests. The table grows to the largest number ever outstanding, and then allocates no more.
///
/// The ticket freed last is issued first: its place is likely to be in the processor's caches still. Values are moved
/// in and out, so `T` should be a few words.
#[derive(Clone, Debug)]
pub struct Tickets<T> {
    values: Vec<Option<T>>,
    free: Vec<u32>,
}

impl<T> Default for Tickets<T> {
    fn default() -> Tickets<T> {
        Tickets::new()
    }
}

impl<T> Tickets<T> {
    /// Nothing outstanding.
    pub fn new() -> Tickets<T> {
        Tickets { values: Vec::new(), free: Vec::new() }
    }

    /// A ticket that is not outstanding, for a request of this value.
    #[inline]
    pub fn issue(&mut self, value: T) -> Ticket {
        match self.free.pop() {
            Some(number) => {
                self.values[number as usize] = Some(value);
                Ticket(number)
            }
            None => {
                self.values.push(Some(value));
                Ticket(self.values.len() as u32 - 1)
            }
        }
    }

    /// The value of an outstanding request.
    ///
    /// # Panics
    /// If the ticket is not outstanding.
    #[inline]
    pub fn get_mut(&mut self, ticket: Ticket) -> &mut T {
        let value = self.values.get_mut(ticket.index()).and_then(Option::as_mut);
        value.expect("a request that is not outstanding")
    }

    /// Takes back the ticket of a completed request and gives its value.
    ///
    /// # Panics
    /// If the ticket is not outstanding: the run loop breaks the contract of [`crate::Source::completed`].
    #[inline]
    pub fn complete(&mut self, ticket: Ticket) -> T {
        let value = self.values.get_mut(ticket.index()).and_then(Option::take);
        let value = value.expect("completion of a request that is not outstanding");
        self.free.push(ticket.0);
        value
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tickets_are_small_and_the_one_freed_last_is_issued_first() {
        let mut tickets = Tickets::new();
        assert_eq!(["a", "b", "c"].map(|value| tickets.issue(value)), [Ticket(0), Ticket(1), Ticket(2)]);
        assert_eq!([2, 0].map(|number| tickets.complete(Ticket(number))), ["c", "a"]);
        assert_eq!(["d", "e", "f"].map(|value| tickets.issue(value)), [Ticket(0), Ticket(2), Ticket(3)]);
        assert_eq!([0, 1, 2, 3].map(|number| tickets.complete(Ticket(number))), ["d", "b", "e", "f"]);
    }

    #[test]
    #[should_panic(expected = "completion of a request that is not outstanding")]
    fn a_ticket_completes_once() {
        let mut tickets = Tickets::new();
        let ticket = tickets.issue(());
        tickets.complete(ticket);
        tickets.complete(ticket);
    }

    #[test]
    #[should_panic(expected = "completion of a request that is not outstanding")]
    fn a_ticket_that_was_never_issued_does_not_complete() {
        Tickets::<()>::new().complete(Ticket(0));
    }
}
