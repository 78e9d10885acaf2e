//! Read over write, with the rule of MAP+ Sec. VI-A: "in order to avoid write starvation, read queue is prioritized for
//! once". Reads go before waiting writes, but not twice in succession.

/// One of two queues.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Direction {
    /// Reads.
    Read,
    /// Writes and trims.
    Write,
}

/// Both directions, in the order of their indices.
pub(super) const DIRECTIONS: [Direction; 2] = [Direction::Read, Direction::Write];

impl Direction {
    /// The direction of a part.
    pub fn of(part: &crate::request::Part) -> Direction {
        if super::pending::writes(part.op) { Direction::Write } else { Direction::Read }
    }

    /// Index of the queue.
    pub fn index(self) -> usize {
        self as usize
    }
}

/// Which direction is next.
#[derive(Clone, Hash, Default)]
pub(super) struct Turns {
    /// True if the last choice was a read while a write waited.
    preferred: bool,
}

impl Turns {
    /// The direction to serve, of those with waiting parts.
    #[inline]
    pub fn next(&mut self, reads: bool, writes: bool) -> Option<Direction> {
        let read = reads && !(writes && self.preferred);
        self.preferred = read && writes;
        match (read, writes) {
            (true, _) => Some(Direction::Read),
            (false, true) => Some(Direction::Write),
            (false, false) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_are_preferred_but_not_twice_while_writes_wait() {
        let mut turns = Turns::default();
        let mut next = |reads, writes| turns.next(reads, writes).map(|d| if d == Direction::Read { 'r' } else { 'w' });
        assert_eq!([next(true, true), next(true, true), next(true, true)], [Some('r'), Some('w'), Some('r')]);
        // No write waited for this read, so the next read is preferred again.
        assert_eq!([next(true, false), next(true, true), next(false, true)], [Some('r'), Some('r'), Some('w')]);
        assert_eq!(next(false, false), None);
    }
}
