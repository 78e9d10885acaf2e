//! Writes and trims that a read under way may meet: which address each one is about.
//!
//! A read may return what was acknowledged when it was submitted, or a newer change of the same unit that was under way
//! since then. So a change is kept until it has been acknowledged, and then as long as there are reads that were
//! submitted before that. What was refused may have happened in part, and is kept for good.
//!
//! Numbers follow each other without gaps, so a ring holds the changes, each at its number modulo the ring's length.
//! There are about as many as requests under way, whatever the size of the device. Every write passes here twice, so it
//! matters that this takes a few nanoseconds.

use units::Lpa;

/// Length of the ring at the beginning, a power of two. Some changes are forgotten only when it is full.
const FEW: usize = 128;

/// What a change does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Effect {
    /// Units hold the number of the change.
    Write,
    /// Units read as zeroes.
    Trim,
}

/// A write or a trim.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Change {
    /// First unit.
    pub lpa: Lpa,
    /// Units.
    pub len: u32,
    /// What it does.
    pub effect: Effect,
}

impl Change {
    /// True if it is about this unit.
    #[inline]
    pub fn covers(&self, lpa: Lpa) -> bool {
        lpa >= self.lpa && lpa.0 - self.lpa.0 < self.len
    }
}

/// A change, and when it ended.
#[derive(Clone, Copy, Debug)]
struct Kept {
    change: Change,
    /// Generation of reads in which it was acknowledged or refused; 0 = it is under way.
    ended: u32,
}

/// What stands in the ring where no change is kept.
const NOTHING: Kept = Kept { change: Change { lpa: Lpa(0), len: 0, effect: Effect::Write }, ended: 0 };

/// The changes that matter to reads under way, and those that were refused.
#[derive(Debug)]
pub struct History {
    /// The changes that are kept; the length is a power of two.
    ring: Vec<Kept>,
    /// Number of the first of them.
    first: u32,
    /// Number that is given out next.
    next: u32,
    /// Refused changes by number, ascending. Of one request there may be several, when some of its units are settled.
    refused: Vec<(u32, Change)>,
    /// Reads are counted in generations, from 1.
    generation: u32,
    /// Reads under way of the previous and of the current generation.
    open: [u32; 2],
}

impl History {
    /// A history after `issued` changes, all of which have ended. Those in `refused` were refused; their numbers
    /// do not descend.
    pub fn new(issued: u32, refused: Vec<(u32, Change)>) -> History {
        let next = issued + 1;
        History { ring: vec![NOTHING; FEW], first: next, next, refused, generation: 1, open: [0; 2] }
    }

    /// The last number given out.
    #[inline]
    pub fn issued(&self) -> u32 {
        self.next - 1
    }

    /// Changes that are kept.
    #[inline]
    fn kept(&self) -> usize {
        (self.next - self.first) as usize
    }

    /// Where in the ring the change of this number stands.
    #[inline]
    fn place(&self, number: u32) -> usize {
        number as usize & (self.ring.len() - 1)
    }

    /// Changes that were refused, with their numbers, which do not descend.
    pub fn refused(&self) -> &[(u32, Change)] {
        &self.refused
    }

    /// A change begins. Gives its number.
    #[inline]
    pub fn begin(&mut self, change: Change) -> u32 {
        if self.kept() == self.ring.len() {
            self.make_room();
        }
        let (number, place) = (self.next, self.place(self.next));
        self.ring[place] = Kept { change, ended: 0 };
        self.next += 1;
        number
    }

    /// A change has been acknowledged.
    #[inline]
    pub fn acked(&mut self, number: u32) {
        let place = self.place(number);
        self.ring[place].ended = self.generation;
    }

    /// A change was refused. What it asked for may have happened to any of its units.
    pub fn refuse(&mut self, number: u32) {
        let change = self.ring[self.place(number)].change;
        let place = self.refused.partition_point(|&(other, _)| other < number);
        self.refused.insert(place, (number, change));
        self.acked(number);
    }

    /// A read has been submitted. Gives the generation to which it belongs.
    #[inline]
    pub fn read_began(&mut self) -> u32 {
        self.open[1] += 1;
        self.generation
    }

    /// A read of this generation has ended.
    #[inline]
    pub fn read_ended(&mut self, generation: u32) {
        self.open[usize::from(generation == self.generation)] -= 1;
    }

    /// True if the number is that of a write to this unit which a read under way may return: one that had not been
    /// acknowledged when the read was submitted, or that was refused.
    pub fn has_written(&self, number: u32, lpa: Lpa) -> bool {
        let writes = |change: Change| change.effect == Effect::Write && change.covers(lpa);
        if number >= self.first {
            return number < self.next && writes(self.ring[self.place(number)].change);
        }
        let from = self.refused.partition_point(|&(other, _)| other < number);
        self.refused[from..].iter().take_while(|&&(other, _)| other == number).any(|&(_, change)| writes(change))
    }

    /// Changes of this unit with higher numbers than `after`, ascending; see [`History::has_written`].
    pub fn newer(&self, after: u32, lpa: Lpa) -> impl Iterator<Item = (u32, Effect)> {
        let refused = self.refused.iter().copied().filter(|&(number, _)| number < self.first);
        let kept = (self.first..self.next).map(|number| (number, self.ring[self.place(number)].change));
        let newer = refused.chain(kept).filter(move |(number, change)| *number > after && change.covers(lpa));
        newer.map(|(number, change)| (number, change.effect))
    }

    /// Forgets what no read under way may return any more. At least half of the ring is free afterwards, or it has
    /// become longer.
    #[cold]
    fn make_room(&mut self) {
        // What ended in the current generation goes with the second turn, if no read is under way.
        self.turn();
        self.turn();
        if self.kept() > self.ring.len() / 2 {
            let old = std::mem::take(&mut self.ring);
            self.ring = vec![NOTHING; 2 * old.len()];
            for number in self.first..self.next {
                let place = self.place(number);
                self.ring[place] = old[number as usize & (old.len() - 1)];
            }
        }
    }

    /// Begins a generation, if the reads of the previous one have ended. All reads under way were submitted in the
    /// current one then, so what ended before it can go.
    fn turn(&mut self) {
        if self.open[0] > 0 {
            return;
        }
        while self.first < self.next && (1..self.generation).contains(&self.ring[self.place(self.first)].ended) {
            self.first += 1;
        }
        self.generation += 1;
        self.open = [self.open[1], 0];
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use super::*;

    const A: Lpa = Lpa(5);

    fn write(lpa: Lpa, len: u32) -> Change {
        Change { lpa, len, effect: Effect::Write }
    }

    #[test]
    fn a_number_belongs_to_its_units() {
        let mut history = History::new(7, Vec::new());
        assert_eq!((history.begin(write(A, 2)), history.begin(write(Lpa(9), 1)), history.issued()), (8, 9, 9));
        let found = [(8, A), (8, Lpa(6)), (8, Lpa(7)), (8, Lpa(4)), (9, A), (7, A), (10, A)];
        let found = found.map(|(number, lpa)| history.has_written(number, lpa));
        assert_eq!(found, [true, true, false, false, false, false, false]);
        history.begin(Change { effect: Effect::Trim, ..write(A, 1) });
        assert!(!history.has_written(10, A), "a trim writes nothing");
        assert_eq!(history.newer(7, A).collect::<Vec<_>>(), [(8, Effect::Write), (10, Effect::Trim)]);
        assert_eq!(history.newer(8, A).collect::<Vec<_>>(), [(10, Effect::Trim)]);
    }

    /// Writes `count` times elsewhere.
    fn busy(history: &mut History, count: u32) {
        for _ in 0..count {
            let number = history.begin(write(Lpa(1), 1));
            history.acked(number);
        }
    }

    #[test]
    fn what_a_read_may_have_met_is_kept_until_it_has_ended() {
        let mut history = History::new(0, Vec::new());
        busy(&mut history, 1000);
        let number = history.begin(write(A, 1));
        let generation = history.read_began();
        history.acked(number);
        busy(&mut history, 5000);
        assert!(history.has_written(number, A));
        history.read_ended(generation);
        busy(&mut history, 20_000);
        assert!(!history.has_written(number, A));
    }

    #[test]
    fn what_is_under_way_is_kept_without_any_read() {
        let mut history = History::new(0, Vec::new());
        let number = history.begin(write(A, 1));
        busy(&mut history, 5000);
        assert!(history.has_written(number, A));
    }

    #[test]
    fn there_are_few_whatever_the_length_of_the_run() {
        let mut history = History::new(0, Vec::new());
        let mut reads = VecDeque::new();
        for _ in 0..100_000 {
            busy(&mut history, 1);
            reads.push_back(history.read_began());
            if reads.len() > 32 {
                history.read_ended(reads.pop_front().expect("there are 33"));
            }
            assert!(history.ring.len() <= 4 * FEW, "{} kept", history.kept());
        }
    }

    #[test]
    fn what_was_refused_is_kept_for_good() {
        let mut history = History::new(0, Vec::new());
        let (first, second) = (history.begin(write(A, 2)), history.begin(write(A, 1)));
        history.refuse(second);
        history.refuse(first);
        busy(&mut history, 5000);
        assert!(history.has_written(first, Lpa(6)) && history.has_written(second, A));
        assert!(!history.has_written(second, Lpa(6)));
        assert_eq!(history.newer(first, A).collect::<Vec<_>>(), [(second, Effect::Write)]);
        let again = History::new(history.issued(), history.refused().to_vec());
        assert!(again.has_written(first, A) && again.issued() == history.issued());
    }
}
