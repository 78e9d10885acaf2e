use std::collections::VecDeque;

use proptest::prelude::*;

use super::*;

#[test]
fn rings_share_their_slots_and_keep_their_order() {
    let mut rings: Rings<u16, 2> = Rings::with_slots(5);
    (0..5).for_each(|slot| rings.push_newest(usize::from(slot) % 2, slot));
    rings.remove(2);
    assert_eq!(rings.oldest_first(0).collect::<Vec<_>>(), [0, 4]);
    assert_eq!(rings.newest_first(1).collect::<Vec<_>>(), [3, 1]);
    rings.push_newest(1, 2);
    assert_eq!(rings.pop_oldest(1), Some(1));
    assert_eq!(rings.oldest_first(1).collect::<Vec<_>>(), [3, 2]);
    assert_eq!((rings.pop_oldest(0), rings.pop_oldest(0), rings.pop_oldest(0)), (Some(0), Some(4), None));
    assert!(rings.is_empty(0) && !rings.is_empty(1));
}

#[test]
fn a_value_stays_with_its_slot() {
    let mut rings: Rings<u32, 2, &str> = Rings::new();
    let (a, b) = (rings.add("a"), rings.add("b"));
    assert_eq!((a, b, rings.slots()), (0, 1, 2));
    rings.link_newest(0, a);
    rings.link_newest(0, b);
    rings.touch(1, a);
    rings[a] = "c";
    assert_eq!((rings.oldest(0), rings.newest(1), rings[a], rings[b]), (Some(b), Some(a), "c", "b"));
    rings.push_newest(1, 4);
    assert_eq!((rings.slots(), rings[4]), (5, ""));
}

#[test]
fn links_are_as_narrow_as_the_numbers() {
    assert_eq!(size_of::<Node<u16, ()>>(), 4);
    assert_eq!(size_of::<Node<u16, u32>>(), 8);
    assert_eq!(size_of::<Node<u32, ()>>(), 8);
}

#[test]
#[should_panic(expected = "only 65536 numbers")]
fn there_are_no_more_slots_than_numbers() {
    Rings::<u16, 1>::with_slots(1 << 16);
}

const RINGS: usize = 3;

#[derive(Clone, Copy, Debug)]
enum Step {
    Newest(usize, u16),
    Oldest(usize, u16),
    Touch(usize, u16),
    Remove(u16),
    PopOldest(usize),
    MoveAll(usize, usize),
}

fn step() -> impl Strategy<Value = Step> {
    let (ring, slot) = (0..RINGS, 0..12u16);
    prop_oneof![
        3 => (ring.clone(), slot.clone()).prop_map(|(r, s)| Step::Newest(r, s)),
        3 => (ring.clone(), slot.clone()).prop_map(|(r, s)| Step::Oldest(r, s)),
        2 => (ring.clone(), slot.clone()).prop_map(|(r, s)| Step::Touch(r, s)),
        2 => slot.prop_map(Step::Remove),
        1 => ring.clone().prop_map(Step::PopOldest),
        1 => (ring.clone(), ring).prop_map(|(a, b)| Step::MoveAll(a, b)),
    ]
}

/// Queues that are searched, with the oldest slot at the front.
#[derive(Default)]
struct Model([VecDeque<u16>; RINGS]);

impl Model {
    fn holds(&self, slot: u16) -> bool {
        self.0.iter().any(|queue| queue.contains(&slot))
    }

    fn remove(&mut self, slot: u16) {
        self.0.iter_mut().for_each(|queue| queue.retain(|&other| other != slot));
    }

    /// Does the step with both, unless the contract of the step forbids it.
    fn apply(&mut self, step: Step, rings: &mut Rings<u16, RINGS, u32>) -> Result<(), TestCaseError> {
        match step {
            Step::Newest(ring, slot) if !self.holds(slot) => {
                rings.push_newest(ring, slot);
                self.0[ring].push_back(slot);
            }
            Step::Oldest(ring, slot) if !self.holds(slot) => {
                rings.push_oldest(ring, slot);
                self.0[ring].push_front(slot);
            }
            Step::Touch(ring, slot) if self.holds(slot) => {
                rings.touch(ring, slot);
                self.remove(slot);
                self.0[ring].push_back(slot);
            }
            Step::Remove(slot) if self.holds(slot) => {
                rings.remove(slot);
                self.remove(slot);
            }
            Step::PopOldest(ring) => prop_assert_eq!(rings.pop_oldest(ring), self.0[ring].pop_front()),
            Step::MoveAll(from, to) => {
                rings.move_all(from, to);
                let all = std::mem::take(&mut self.0[from]);
                self.0[to].extend(all);
            }
            _ => {}
        }
        Ok(())
    }

    fn compare(&self, rings: &Rings<u16, RINGS, u32>) -> Result<(), TestCaseError> {
        for (ring, queue) in self.0.iter().enumerate() {
            prop_assert_eq!(&rings.oldest_first(ring).collect::<VecDeque<_>>(), queue);
            prop_assert!(rings.newest_first(ring).eq(queue.iter().rev().copied()));
            prop_assert_eq!((rings.oldest(ring), rings.newest(ring)), (queue.front().copied(), queue.back().copied()));
            prop_assert_eq!(rings.is_empty(ring), queue.is_empty());
        }
        Ok(())
    }
}

proptest! {
    /// Compared with plain queues that are searched: rings that grow, and rings with all slots from the start. Values
    /// stay with their slots.
    #[test]
    fn rings_are_queues(steps in prop::collection::vec(step(), 0..300)) {
        let mut growing: Rings<u16, RINGS, u32> = Rings::new();
        let mut whole: Rings<u16, RINGS, u32> = Rings::with_slots(12);
        (0..12).for_each(|slot| whole[slot] = u32::from(slot) * 7);
        let (mut model, mut other) = (Model::default(), Model::default());
        for step in steps {
            model.apply(step, &mut growing)?;
            model.compare(&growing)?;
            other.apply(step, &mut whole)?;
            other.compare(&whole)?;
        }
        prop_assert!((0..12).all(|slot| whole[slot] == u32::from(slot) * 7));
    }
}
