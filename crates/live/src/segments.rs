//! Segments that change, and their states.
//!
//! # Glossary
//! - **slot**: storage for one segment.
//! - **state**: all entries of a segment at one moment.
//! - **place**: what a slot stores about one state. A slot has [`PLACES`] of them.
//! - **number** of a change: how many changes its slot had before it.
//! - **moment** of a state: the number of the first change after it.
//! - **kept**: copies of the entries of states whose changes can not be undone any more.
//!
//! One thread at a time uses a table and its states. The atomics allow storage to be shared without locks; they impose
//! no order.

use std::collections::BTreeMap;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use units::SEGMENT_ENTRIES;

use crate::pool::{buffer, copy_segment, recycle_segment};
use crate::{SegmentImage, SentSegment};

const ENTRIES: usize = SEGMENT_ENTRIES as usize;

/// Changes of a slot that can be undone. Most segments change less often than this between two writebacks.
const UNDO: u32 = 16;

/// States of a slot that can exist without their own copies: one on flash, one being written, and one on its way to the
/// host.
const PLACES: u32 = 3;

/// Words in the head of a slot. They are used together, so they are stored together.
const HEAD_WORDS: usize = MOMENTS + PLACES as usize;
/// Word of the head: number of changes so far.
const CHANGES: usize = 0;
/// Word of the head: one bit for each place, set while a state without its own copy uses it.
const IN_USE: usize = 1;
/// Words of the head from here on: the moments of the states, by place.
const MOMENTS: usize = 2;

struct Shared {
    /// [`ENTRIES`] words per slot.
    entries: Vec<AtomicU32>,
    /// [`UNDO`] words per slot. Change `n` is stored in word `n % UNDO`: the position in the upper half, the replaced
    /// entry in the lower half.
    undo: Vec<AtomicU64>,
    /// [`HEAD_WORDS`] words per slot.
    heads: Vec<AtomicU32>,
    /// The names of the states, by place. Changes of a segment do not look at them.
    names: Vec<AtomicU64>,
    /// Name of the next state.
    next: AtomicU64,
    /// Copies, by the name of their state.
    kept: Mutex<BTreeMap<u64, Box<SegmentImage>>>,
}

/// Segments that change, one per slot. Their states can be taken without a copy.
pub struct LiveSegments {
    shared: Arc<Shared>,
}

/// The entries of a segment at one moment. No later change of the segment alters them.
pub struct SegmentState {
    shared: Arc<Shared>,
    place: u32,
    /// Key of its copy in `kept`, if it has one.
    name: u64,
    /// The copy has been taken out. Nothing is left to give up.
    taken: bool,
}

impl Shared {
    fn kept(&self) -> MutexGuard<'_, BTreeMap<u64, Box<SegmentImage>>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    #[inline]
    fn slot(&self, slot: u32) -> &[AtomicU32; ENTRIES] {
        self.entries[slot as usize * ENTRIES..].first_chunk().expect("every slot has its place")
    }

    #[inline]
    fn undo(&self, slot: u32, number: u32) -> &AtomicU64 {
        &self.undo[(slot * UNDO + number % UNDO) as usize]
    }

    #[inline]
    fn head(&self, slot: u32) -> &[AtomicU32; HEAD_WORDS] {
        self.heads[slot as usize * HEAD_WORDS..].first_chunk().expect("every slot has its place")
    }

    /// The moment of the state at a place.
    #[inline]
    fn moment(&self, place: u32) -> u32 {
        self.head(place / PLACES)[MOMENTS + (place % PLACES) as usize].load(Relaxed)
    }

    /// The name of the state that has taken a place last.
    #[inline]
    fn name(&self, place: u32) -> u64 {
        self.names[place as usize].load(Relaxed)
    }

    /// The entries of a slot before the change with number `moment`.
    fn at(&self, slot: u32, moment: u32) -> Box<SegmentImage> {
        let mut image = buffer();
        image.iter_mut().zip(self.slot(slot)).for_each(|(entry, now)| *entry = now.load(Relaxed));
        let mut number = self.head(slot)[CHANGES].load(Relaxed);
        while number != moment {
            number = number.wrapping_sub(1);
            let undo = self.undo(slot, number).load(Relaxed);
            image[(undo >> 32) as usize] = undo as u32;
        }
        image
    }

    /// The state of a slot at a moment whose changes are stored. A place has to be free.
    fn state_at(shared: &Arc<Shared>, slot: u32, moment: u32) -> SegmentState {
        let head = shared.head(slot);
        let in_use = head[IN_USE].load(Relaxed);
        let free = in_use.trailing_ones();
        head[IN_USE].store(in_use | 1 << free, Relaxed);
        head[MOMENTS + free as usize].store(moment, Relaxed);
        let (place, name) = (slot * PLACES + free, shared.next.load(Relaxed));
        shared.next.store(name + 1, Relaxed);
        shared.names[place as usize].store(name, Relaxed);
        SegmentState { shared: Arc::clone(shared), place, name, taken: false }
    }
}

impl LiveSegments {
    /// A table of `slots` segments whose entries are all 0.
    pub fn new(slots: u32) -> LiveSegments {
        let n = slots as usize;
        let shared = Shared {
            entries: table::zeroed_atomics(n * ENTRIES),
            undo: table::zeroed_atomics(n * UNDO as usize),
            heads: table::zeroed_atomics(n * HEAD_WORDS),
            names: table::zeroed_atomics(n * PLACES as usize),
            next: AtomicU64::new(0),
            kept: Mutex::default(),
        };
        LiveSegments { shared: Arc::new(shared) }
    }

    /// An entry.
    #[inline]
    pub fn get(&self, slot: u32, at: usize) -> u32 {
        self.shared.slot(slot)[at].load(Relaxed)
    }

    /// Prefetches an entry that will be read or changed soon, if there is such a slot.
    #[inline]
    pub fn prefetch(&self, slot: u32, at: usize, changes: bool) {
        if let Some(entry) = self.shared.entries.get(slot as usize * ENTRIES + at) {
            table::prefetch(entry);
        }
        if changes && let Some(head) = self.shared.heads.get(slot as usize * HEAD_WORDS) {
            table::prefetch(head);
        }
    }

    /// Prefetches what [`LiveSegments::state`] and [`SegmentState::again`] look at.
    #[inline]
    pub fn prefetch_state(&self, slot: u32) {
        table::prefetch(&self.shared.head(slot)[0]);
        table::prefetch(&self.shared.names[(slot * PLACES) as usize]);
    }

    /// A copy of all entries of a slot.
    pub fn image(&self, slot: u32) -> Box<SegmentImage> {
        self.shared.at(slot, self.shared.head(slot)[CHANGES].load(Relaxed))
    }

    /// Changes an entry.
    #[inline(always)]
    pub fn change(&mut self, slot: u32, at: usize, packed: u32) {
        let head = self.shared.head(slot);
        let (number, in_use) = (head[CHANGES].load(Relaxed), head[IN_USE].load(Relaxed));
        let since = |i: u32| number.wrapping_sub(head[MOMENTS + i as usize].load(Relaxed));
        if in_use != 0 && (0..PLACES).any(|i| in_use >> i & 1 != 0 && since(i) >= UNDO) {
            self.give_copies(slot);
        }
        let entry = &self.shared.slot(slot)[at];
        let undo = (at as u64) << 32 | u64::from(entry.load(Relaxed));
        self.shared.undo(slot, number).store(undo, Relaxed);
        head[CHANGES].store(number.wrapping_add(1), Relaxed);
        entry.store(packed, Relaxed);
    }

    /// Replaces all entries of a slot. If they are the same, its states stay without copies.
    pub fn load(&mut self, slot: u32, image: &SegmentImage) {
        if self.shared.slot(slot).iter().zip(image).all(|(entry, &packed)| entry.load(Relaxed) == packed) {
            return;
        }
        self.give_copies(slot);
        self.shared.slot(slot).iter().zip(image).for_each(|(entry, &packed)| entry.store(packed, Relaxed));
    }

    /// The present state of a slot's segment.
    pub fn state(&mut self, slot: u32) -> SegmentState {
        if self.shared.head(slot)[IN_USE].load(Relaxed).count_ones() == PLACES {
            self.give_copies(slot);
        }
        Shared::state_at(&self.shared, slot, self.shared.head(slot)[CHANGES].load(Relaxed))
    }

    /// True if a state is that of a slot at present.
    pub(crate) fn is_now(&self, slot: u32, state: &SegmentState) -> bool {
        let now = self.shared.head(slot)[CHANGES].load(Relaxed);
        Arc::ptr_eq(&self.shared, &state.shared)
            && state.slot() == slot
            && !state.has_own()
            && self.shared.moment(state.place) == now
    }

    /// Gives every state of a slot its own copy, because changes that it needs are about to be overwritten.
    #[inline(never)]
    fn give_copies(&self, slot: u32) {
        let shared = &*self.shared;
        let in_use = shared.head(slot)[IN_USE].swap(0, Relaxed);
        if in_use == 0 {
            return;
        }
        let mut kept = shared.kept();
        for place in (0..PLACES).filter(|&i| in_use >> i & 1 != 0).map(|i| slot * PLACES + i) {
            kept.insert(shared.name(place), shared.at(slot, shared.moment(place)));
        }
    }
}

impl SegmentState {
    /// The state of a segment with these entries.
    pub fn of(image: &SegmentImage) -> SegmentState {
        let mut single = LiveSegments::new(1);
        single.load(0, image);
        single.state(0)
    }

    fn slot(&self) -> u32 {
        self.place / PLACES
    }

    /// The same entries for a host: the same state, if it has no copy of its own and a place is free.
    pub fn again(&self) -> SentSegment {
        let in_use = self.shared.head(self.slot())[IN_USE].load(Relaxed);
        if self.has_own() || in_use.count_ones() == PLACES {
            return SentSegment::Copy(self.image());
        }
        SentSegment::State(Shared::state_at(&self.shared, self.slot(), self.shared.moment(self.place)))
    }

    /// True if the state has a copy of its own. Its place may belong to another state since.
    #[inline]
    fn has_own(&self) -> bool {
        let in_use = self.shared.head(self.slot())[IN_USE].load(Relaxed);
        in_use >> (self.place % PLACES) & 1 == 0 || self.shared.name(self.place) != self.name
    }

    /// A copy of all entries.
    pub fn image(&self) -> Box<SegmentImage> {
        if self.has_own()
            && let Some(own) = self.shared.kept().get(&self.name)
        {
            return copy_segment(own);
        }
        self.shared.at(self.slot(), self.shared.moment(self.place))
    }

    /// The entries in a buffer of their own. Copies nothing if the state has such a buffer.
    pub fn into_image(mut self) -> Box<SegmentImage> {
        match self.take_own() {
            Some(own) => {
                self.taken = true;
                own
            }
            None => self.image(),
        }
    }

    /// Takes the copy out, if the state has one.
    fn take_own(&self) -> Option<Box<SegmentImage>> {
        if self.has_own() { self.shared.kept().remove(&self.name) } else { None }
    }

    /// Prefetches what [`SegmentState::replaced_until`] looks at: the changes before this state of its segment.
    #[inline]
    pub fn prefetch_changes(&self) {
        const WORDS_OF_A_LINE: u32 = 8;
        let slot = self.slot();
        table::prefetch(&self.shared.head(slot)[0]);
        table::prefetch(&self.shared.names[self.place as usize]);
        (0..UNDO).step_by(WORDS_OF_A_LINE as usize).for_each(|number| table::prefetch(self.shared.undo(slot, number)));
    }

    /// The entries of this state that were replaced up to `later`, a later state of the same segment: position and
    /// entry, in the order of the changes. `None` if the changes are not stored any more, or these are states of
    /// different segments.
    pub fn replaced_until(&self, later: &SegmentState) -> Option<impl Iterator<Item = (usize, u32)> + use<'_>> {
        let shared = &*self.shared;
        if !Arc::ptr_eq(&self.shared, &later.shared) || self.slot() != later.slot() {
            return None;
        }
        if self.has_own() || later.has_own() {
            return None;
        }
        let (slot, moment) = (self.slot(), shared.moment(self.place));
        let changes = shared.moment(later.place).wrapping_sub(moment);
        // An earlier state is none whose changes are stored.
        (changes < UNDO + 1).then(|| {
            let undo = move |i| shared.undo(slot, moment.wrapping_add(i)).load(Relaxed);
            (0..changes).map(undo).map(|undo| ((undo >> 32) as usize, undo as u32))
        })
    }

    /// An entry.
    pub fn entry(&self, at: usize) -> u32 {
        let shared = &*self.shared;
        if self.has_own()
            && let Some(own) = shared.kept().get(&self.name)
        {
            return own[at];
        }
        let (slot, moment) = (self.slot(), shared.moment(self.place));
        let since = shared.head(slot)[CHANGES].load(Relaxed).wrapping_sub(moment);
        let mut undone = (0..since).map(|i| shared.undo(slot, moment.wrapping_add(i)).load(Relaxed));
        undone
            .find(|undo| (undo >> 32) as usize == at)
            .map_or_else(|| shared.slot(slot)[at].load(Relaxed), |undo| undo as u32)
    }
}

// Debug output has no entries, because there are millions of them.

impl fmt::Debug for LiveSegments {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LiveSegments").field("slots", &(self.shared.heads.len() / HEAD_WORDS)).finish_non_exhaustive()
    }
}

impl fmt::Debug for SegmentState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SegmentState").field("slot", &self.slot()).field("name", &self.name).finish_non_exhaustive()
    }
}

impl Drop for SegmentState {
    fn drop(&mut self) {
        if self.taken {
            return;
        }
        if let Some(own) = self.take_own() {
            recycle_segment(own);
            return;
        }
        let in_use = &self.shared.head(self.slot())[IN_USE];
        in_use.store(in_use.load(Relaxed) & !(1 << (self.place % PLACES)), Relaxed);
    }
}

impl Clone for SegmentState {
    fn clone(&self) -> SegmentState {
        SegmentState::of(&self.image())
    }
}

/// The hash of the entries.
impl Hash for SegmentState {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.image().hash(state);
    }
}

/// The same segments in storage of their own. States of the original stay states of the original.
impl Clone for LiveSegments {
    fn clone(&self) -> LiveSegments {
        let slots = (self.shared.heads.len() / HEAD_WORDS) as u32;
        let copy = LiveSegments::new(slots);
        for (entry, now) in copy.shared.entries.iter().zip(&self.shared.entries) {
            entry.store(now.load(Relaxed), Relaxed);
        }
        copy
    }
}

/// The hash of the present entries.
impl Hash for LiveSegments {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.shared.entries.iter().for_each(|entry| state.write_u32(entry.load(Relaxed)));
    }
}

/// Two states are equal if their entries are.
impl PartialEq for SegmentState {
    fn eq(&self, other: &SegmentState) -> bool {
        self.image() == other.image()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn image(first: u32) -> SegmentImage {
        std::array::from_fn(|at| first + at as u32)
    }

    #[test]
    fn a_state_keeps_its_entries_whatever_becomes_of_the_segment() {
        let mut live = LiveSegments::new(2);
        live.load(1, &image(10));
        live.change(1, 5, 77);
        let before = live.state(1);
        live.change(1, 5, 78);
        live.change(1, 5, 79);
        live.change(1, 6, 80);
        assert_eq!((before.entry(5), before.entry(6), before.entry(7)), (77, 16, 17));
        assert_eq!((live.get(1, 5), live.get(1, 6)), (79, 80));
        live.load(1, &image(5000));
        drop(live);
        assert_eq!((before.entry(5), before.image()[6]), (77, 16));
        assert!(before == before.clone() && before != SegmentState::of(&image(10)));
    }

    #[test]
    fn a_prefetch_of_a_slot_that_is_not_there_does_nothing() {
        let live = LiveSegments::new(2);
        [0, 1, 2, u32::MAX].into_iter().for_each(|slot| live.prefetch(slot, ENTRIES - 1, true));
    }

    #[test]
    fn two_states_of_a_segment_differ_in_the_changes_between_them() {
        let mut live = LiveSegments::new(2);
        live.load(1, &image(10));
        let before = live.state(1);
        [(5, 77), (6, 80), (5, 78)].into_iter().for_each(|(at, packed)| live.change(1, at, packed));
        let after = live.state(1);
        live.change(1, 7, 81);
        let replaced = |from: &SegmentState, to: &SegmentState| Some(from.replaced_until(to)?.collect::<Vec<_>>());
        assert_eq!(replaced(&before, &after), Some(vec![(5, 15), (6, 16), (5, 77)]));
        assert_eq!(replaced(&after, &before), None, "the other way round");
        assert_eq!(replaced(&before, &SegmentState::of(&image(10))), None, "another segment");
        (0..UNDO as usize).for_each(|at| live.change(1, at, 9));
        assert_eq!(replaced(&before, &after), None, "they have their own copies");
    }

    #[derive(Clone, Debug)]
    enum Action {
        Change { slot: u32, at: usize, times: u32 },
        Take { slot: u32 },
        Again { which: usize },
        Send { which: usize, slot: u32 },
        Drop { which: usize },
        Load { slot: u32 },
    }

    fn actions() -> impl Strategy<Value = Vec<Action>> {
        let slot = || 0..2u32;
        let action = prop_oneof![
            6 => (slot(), 0..8usize, 1..20u32)
                .prop_map(|(slot, at, times)| Action::Change { slot, at: at * 100, times }),
            4 => slot().prop_map(|slot| Action::Take { slot }),
            2 => (0..8usize).prop_map(|which| Action::Again { which }),
            2 => (0..8usize, slot()).prop_map(|(which, slot)| Action::Send { which, slot }),
            3 => (0..8usize).prop_map(|which| Action::Drop { which }),
            1 => slot().prop_map(|slot| Action::Load { slot }),
        ];
        prop::collection::vec(action, 1..60)
    }

    proptest! {
        /// Changes, loads, and states taken, sent and dropped in any order: every state equals the copy made when it
        /// was taken. There are more changes than can be undone.
        #[test]
        fn states_are_as_good_as_copies(actions in actions()) {
            let mut live = LiveSegments::new(2);
            let mut model = [[0; ENTRIES]; 2];
            let mut states: Vec<(SegmentState, SegmentImage)> = Vec::new();
            let mut next = 1;
            for act in actions {
                match act {
                    Action::Change { slot, at, times } => for _ in 0..times {
                        live.change(slot, at, next);
                        model[slot as usize][at] = next;
                        next += 1;
                    },
                    Action::Take { slot } => states.push((live.state(slot), model[slot as usize])),
                    Action::Again { which } => if let Some((state, copy)) = states.get(which) {
                        let again = match state.again() {
                            SentSegment::State(again) => again,
                            SentSegment::Copy(image) => SegmentState::of(&image),
                        };
                        states.push((again, *copy));
                    },
                    Action::Send { which, slot } => if let Some((state, copy)) = states.get(which) {
                        live.take(slot, state.again());
                        model[slot as usize] = *copy;
                    },
                    Action::Drop { which } => if which < states.len() { drop(states.swap_remove(which)) },
                    Action::Load { slot } => {
                        model[slot as usize] = image(next);
                        next += ENTRIES as u32;
                        live.load(slot, &model[slot as usize]);
                    }
                }
                for slot in 0..2 {
                    prop_assert_eq!(&*live.image(slot), &model[slot as usize]);
                }
                for (state, copy) in &states {
                    prop_assert_eq!(&*state.image(), copy);
                    prop_assert!((0..ENTRIES).step_by(50).all(|at| state.entry(at) == copy[at]));
                }
            }
            drop(states);
            prop_assert_eq!(live.shared.kept().len(), 0, "a copy outlives its state");
            prop_assert!((0..2).all(|slot| live.shared.head(slot)[IN_USE].load(Relaxed) == 0));
        }
    }
}
