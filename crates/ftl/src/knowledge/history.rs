//! What map units on flash held before: the way back from the newest copy of a unit to older ones.
//!
//! The newest copy of every map unit is stored as a whole ([`Pages`](super::Pages)). An older copy stays on flash until
//! its superblock is erased. It differs from the next newer copy in few entries, so only these are kept, as steps that
//! lead back. All units share one list of steps. It is bounded, so that a device that has written metadata for days
//! takes no more memory than a new one. A copy whose steps have been dropped is *forgotten*: it is known to be older
//! than the newest one, and its content can not be shown any more.

use std::collections::VecDeque;

use live::{SegmentImage, recycle_segment};
use units::{MapUnit, Ppa, SEGMENT_ENTRIES, Seq};

/// Steps that are kept of small devices, of which tests read older copies. They hardly ever have more.
pub(super) const MOST_STEPS: usize = 1 << 15;

/// Steps that are kept of large devices: 160 KiB, a part of a processor's cache. These are the changes of some map
/// flushes; recovery never asks for a copy from before the last one.
const MOST_STEPS_OF_LARGE: usize = 1 << 13;

/// Devices with at most this many segments, 256 MiB, are small.
const SMALL_SEGMENTS: usize = 64;

/// A sequence number in two halves, for lists in which 8 bytes in one piece would leave gaps.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub(super) struct Halves(pub(super) [u32; 2]);

impl Halves {
    #[inline]
    pub fn of(number: Seq) -> Halves {
        Halves([(number.0 >> 32) as u32, number.0 as u32])
    }

    #[inline]
    pub fn whole(self) -> Seq {
        let [high, low] = self.0;
        Seq(u64::from(high) << 32 | u64::from(low))
    }
}

/// A step back.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Step {
    /// The unit was programmed at another place before: its place, packed, and its number. Steps of its entries that
    /// come later in the list belong to the newer copy.
    Moved { unit: u32, from: u32, number: Halves },
    /// Entries `first..first + n` of the unit were `old`, `old + 1` and so on before, packed; or all 0.
    Changed { unit: u32, first: u16, n: u16, old: u32 },
    /// All entries of the unit, a whole segment, were those of the image with this number.
    Replaced { unit: u32, image: u32 },
}

/// Images that are kept: 512 KiB. Only large devices have them; see [`History::replaced`].
const MOST_IMAGES: usize = 128;

/// Steps back.
#[cfg_attr(feature = "explore", derive(Clone, Hash))]
#[derive(Debug)]
pub(super) struct History {
    /// A ring of `most` steps, which grows to that size first.
    steps: Vec<Step>,
    /// A power of two.
    most: usize,
    /// Steps ever noted. The next one is put at this position, modulo the size of the ring.
    noted: usize,
    /// The last images, oldest first, and the number of the first.
    images: VecDeque<Box<SegmentImage>>,
    first_image: u32,
}

/// An older copy of a map unit.
#[derive(Debug)]
pub struct OlderCopy {
    /// Its entries, packed.
    pub(super) entries: Vec<u32>,
    /// The number up to which it is complete.
    pub(super) number: Seq,
}

impl OlderCopy {
    /// An entry.
    #[cold]
    pub fn entry(&self, at: u32) -> Option<Ppa> {
        Ppa::unpack(self.entries[at as usize])
    }
}

impl History {
    /// The history of a device with this many segments to which nothing has happened.
    pub fn new(segments: usize) -> History {
        let most = if segments <= SMALL_SEGMENTS { MOST_STEPS } else { MOST_STEPS_OF_LARGE };
        History { steps: Vec::new(), most, noted: 0, images: VecDeque::new(), first_image: 0 }
    }

    /// The history of a device with this many segments: these steps, oldest first, at most [`MOST_STEPS`], without any
    /// images.
    pub fn of(segments: usize, mut steps: Vec<Step>) -> History {
        let new = History::new(segments);
        let number = |step: &Step| if let Step::Replaced { image, .. } = *step { image + 1 } else { 0 };
        let first_image = steps.iter().map(number).max().unwrap_or(0);
        steps.drain(..steps.len().saturating_sub(new.most));
        History { noted: steps.len(), steps, first_image, ..new }
    }

    /// True if it is worth its time to note in which entries two copies of a unit differ: then it remembers the most.
    pub fn compares(&self) -> bool {
        self.most == MOST_STEPS
    }

    /// All steps that are kept, newest first.
    pub fn newest_first(&self) -> impl DoubleEndedIterator<Item = Step> {
        (1..=self.steps.len()).map(|i| self.steps[(self.noted - i) & (self.most - 1)])
    }

    /// A copy of the unit at `from` with this number is about to be replaced by a newer one.
    #[inline]
    pub fn moved(&mut self, unit: MapUnit, from: Option<Ppa>, number: Seq) {
        self.push(Step::Moved { unit: unit.0, from: Ppa::pack(from), number: Halves::of(number) });
    }

    /// Entry `at` of the newest copy of the unit was `old`, packed, in the copy before.
    #[inline]
    pub fn changed(&mut self, of: MapUnit, at: u32, was: u32) {
        let newest = self.noted.wrapping_sub(1) & (self.most - 1);
        if let Some(Step::Changed { unit, first, n, old }) = self.steps.get_mut(newest)
            && *unit == of.0
            && u32::from(*first) + u32::from(*n) == at
            && was == if *old == 0 { 0 } else { old.wrapping_add((*n).into()) }
        {
            *n += 1;
            return;
        }
        self.push(Step::Changed { unit: of.0, first: at as u16, n: 1, old: was });
    }

    /// The same for several entries, in turn. A host's writeback has replaced a few at random, so it matters that the
    /// newest step is looked at once.
    #[inline]
    pub fn changed_in_turn(&mut self, of: MapUnit, mut changes: impl Iterator<Item = (usize, u32)>) {
        let Some((mut first, mut old)) = changes.next() else { return };
        let mut n = 1;
        for (at, was) in changes {
            if at == first + n && was == if old == 0 { 0 } else { old.wrapping_add(n as u32) } {
                n += 1;
                continue;
            }
            self.push(Step::Changed { unit: of.0, first: first as u16, n: n as u16, old });
            (first, n, old) = (at, 1, was);
        }
        self.push(Step::Changed { unit: of.0, first: first as u16, n: n as u16, old });
    }

    /// The newest copy of the unit has the entries `new`, the copy before had the entries `old`, both packed.
    pub fn differs(&mut self, of: MapUnit, old: &[u32], new: &[u32]) {
        let entries = old.iter().zip(new).zip(0..);
        entries.filter(|((was, is), _)| was != is).for_each(|((&was, _), at)| self.changed(of, at, was));
    }

    /// All entries of a unit, which is a whole segment, were 0 before.
    pub fn was_unmapped(&mut self, of: MapUnit) {
        self.push(Step::Changed { unit: of.0, first: 0, n: SEGMENT_ENTRIES as u16, old: 0 });
    }

    /// The newest copy of a unit, which is a whole segment, has replaced a copy with these entries.
    ///
    /// That takes no comparison, and more memory than [`History::differs`]: it is for devices with so many segments
    /// that comparing them would slow the simulation down.
    pub fn replaced(&mut self, of: MapUnit, old: Box<SegmentImage>) {
        if self.images.len() == MOST_IMAGES
            && let Some(oldest) = self.images.pop_front()
        {
            recycle_segment(oldest);
            self.first_image += 1;
        }
        let image = self.first_image + self.images.len() as u32;
        self.images.push_back(old);
        self.push(Step::Replaced { unit: of.0, image });
    }

    #[inline]
    fn push(&mut self, step: Step) {
        match self.steps.get_mut(self.noted & (self.most - 1)) {
            Some(oldest) => *oldest = step,
            None => self.steps.push(step),
        }
        self.noted += 1;
    }

    /// Place of the copy before the newest one.
    pub fn before(&self, of: MapUnit) -> Option<Ppa> {
        self.newest_first().find_map(|step| match step {
            Step::Moved { unit, from, .. } if unit == of.0 => Some(Ppa::unpack(from)),
            _ => None,
        })?
    }

    /// The copy of a unit at `place`; `newest` are the entries of its newest copy. `None` if the unit was never there,
    /// or if that copy is forgotten.
    pub fn copy_at(&self, of: MapUnit, place: Ppa, newest: Vec<u32>) -> Option<OlderCopy> {
        let mut entries = newest;
        for step in self.newest_first() {
            match step {
                Step::Changed { unit, first, n, old } if unit == of.0 => {
                    // A host may have sent any numbers.
                    let was = |i| if old == 0 { 0 } else { old.wrapping_add(i) };
                    // The last unit of the table may have fewer entries than others.
                    let slots = entries.iter_mut().skip(first.into()).take(n.into());
                    slots.zip(0..).for_each(|(entry, i)| *entry = was(i));
                }
                Step::Replaced { unit, image } if unit == of.0 => {
                    let image = self.images.get(image.checked_sub(self.first_image)? as usize)?;
                    let len = entries.len();
                    entries.copy_from_slice(&image[..len]);
                }
                Step::Moved { unit, from, number } if unit == of.0 && from == Ppa::pack(Some(place)) => {
                    return Some(OlderCopy { entries, number: number.whole() });
                }
                _ => {}
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const UNIT: MapUnit = MapUnit(3);

    fn entries_at(history: &History, place: u32, newest: &[u32]) -> Option<Vec<u32>> {
        history.copy_at(UNIT, Ppa(place), newest.to_vec()).map(|copy| copy.entries)
    }

    #[test]
    fn changes_in_turn_lead_back_like_one_after_the_other() {
        let changes = [(1, 7), (2, 8), (3, 8), (5, 0), (6, 0), (0, 4), (3, 2)];
        let (mut together, mut singly) = (History::new(1), History::new(1));
        for history in [&mut together, &mut singly] {
            history.moved(UNIT, Some(Ppa(9)), Seq(1));
        }
        together.changed_in_turn(UNIT, changes.into_iter());
        together.changed_in_turn(UNIT, [].into_iter());
        changes.iter().for_each(|&(at, was)| singly.changed(UNIT, at as u32, was));
        assert!(together.newest_first().eq(singly.newest_first()));
        assert_eq!(entries_at(&together, 9, &[50; 8]), Some(vec![4, 7, 8, 8, 50, 0, 0, 50]));
    }

    #[test]
    fn every_copy_is_found_again_at_its_place() {
        let mut history = History::new(1);
        history.moved(UNIT, None, Seq(0));
        (0..4).for_each(|at| history.changed(UNIT, at, 0));
        history.moved(UNIT, Some(Ppa(10)), Seq(7));
        history.changed(UNIT, 1, 21);
        history.moved(MapUnit(4), Some(Ppa(10)), Seq(9));
        history.changed(UNIT, 2, 22);
        history.moved(UNIT, Some(Ppa(11)), Seq(8));
        history.changed(UNIT, 1, 31);
        assert_eq!(entries_at(&history, 11, &[20, 41, 32, 23]), Some(vec![20, 31, 32, 23]));
        assert_eq!(entries_at(&history, 10, &[20, 41, 32, 23]), Some(vec![20, 21, 22, 23]));
        assert_eq!(entries_at(&history, 12, &[20, 41, 32, 23]), None, "the unit was never there");
        let number = |place| history.copy_at(UNIT, Ppa(place), vec![0; 4]).map(|copy| copy.number);
        assert_eq!((number(10), number(11)), (Some(Seq(7)), Some(Seq(8))));
    }

    #[test]
    fn consecutive_and_empty_entries_take_one_step() {
        let mut history = History::new(1);
        history.moved(UNIT, Some(Ppa(10)), Seq(1));
        (0..1024).for_each(|at| history.changed(UNIT, at, 500 + at));
        history.moved(UNIT, Some(Ppa(11)), Seq(2));
        (0..1024).for_each(|at| history.changed(UNIT, at, 0));
        assert_eq!(history.newest_first().count(), 4);
        let first: Vec<u32> = (500..1524).collect();
        assert_eq!(entries_at(&history, 11, &[7; 1024]), Some(vec![0; 1024]));
        assert_eq!(entries_at(&history, 10, &[7; 1024]), Some(first));
    }

    #[test]
    fn replaced_images_are_found_until_there_are_too_many() {
        let mut history = History::new(1);
        history.moved(UNIT, None, Seq(0));
        history.was_unmapped(UNIT);
        for place in 1..=MOST_IMAGES as u32 + 1 {
            history.moved(UNIT, Some(Ppa(place)), Seq(place.into()));
            history.replaced(UNIT, Box::new([place; 1024]));
        }
        let at = |place| entries_at(&history, place, &[7; 1024]).map(|entries| entries[1023]);
        assert_eq!([1, 2, 3, 129].map(at), [None, Some(2), Some(3), Some(129)]);
        let loaded = History::of(1, history.newest_first().collect::<Vec<_>>().into_iter().rev().collect());
        assert_eq!(entries_at(&loaded, 129, &[7; 1024]), None, "images are not stored");
    }

    #[test]
    fn large_devices_remember_less_also_when_loaded() {
        let steps = |history: &History| history.newest_first().rev().collect::<Vec<_>>();
        let mut history = History::new(SMALL_SEGMENTS + 1);
        (0..2 * MOST_STEPS_OF_LARGE as u32).for_each(|i| history.moved(UNIT, Some(Ppa(i)), Seq(i.into())));
        assert_eq!(steps(&history).len(), MOST_STEPS_OF_LARGE);
        let number = |history: &History, place| history.copy_at(UNIT, Ppa(place), vec![]).map(|copy| copy.number);
        let last = 2 * MOST_STEPS_OF_LARGE as u32 - 1;
        let loaded = History::of(SMALL_SEGMENTS + 1, [&steps(&history)[..3], &steps(&history)].concat());
        for history in [&history, &loaded] {
            assert_eq!(number(history, last), Some(Seq(last.into())));
            assert_eq!(number(history, MOST_STEPS_OF_LARGE as u32), Some(Seq(MOST_STEPS_OF_LARGE as u64)));
            assert_eq!(number(history, MOST_STEPS_OF_LARGE as u32 - 1), None);
        }
    }

    #[test]
    fn what_is_too_old_is_forgotten_and_never_shown_wrongly() {
        let mut history = History::new(1);
        history.moved(UNIT, Some(Ppa(10)), Seq(1));
        history.changed(UNIT, 0, 5);
        (0..MOST_STEPS as u32 - 1).for_each(|i| history.moved(MapUnit(9), Some(Ppa(i)), Seq(1)));
        assert_eq!(history.newest_first().count(), MOST_STEPS);
        assert_eq!(entries_at(&history, 10, &[6]), None, "its first step is gone");
    }
}
