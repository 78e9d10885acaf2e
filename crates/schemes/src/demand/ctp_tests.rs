//! What a cached translation page holds and takes, compared with a copy of all its entries.

use std::collections::BTreeSet;

use proptest::prelude::*;
use units::Seq;

use super::*;
use crate::demand::tests::{core, tear};
use ftl::seat::{Piece, Programmed};

/// Entries of a translation page of [`core`].
const ENTRIES: u32 = 512;

fn cache(core: &Core, bytes: u64, compressed: bool) -> Ctp {
    Ctp::new(bytes, core.units(), compressed)
}

fn insert(ctp: &mut Ctp, core: &Core, unit: u32) -> bool {
    ctp.insert(core, &Loaded::assumed(MapUnit(unit)))
}

#[test]
fn pages_leave_in_order_of_use_and_changes_are_known() {
    let core = core();
    let mut ctp = cache(&core, 8192, false);
    assert!(insert(&mut ctp, &core, 0) && insert(&mut ctp, &core, 3));
    ctp.touch(MapUnit(0));
    assert_eq!((ctp.victim(), ctp.fits(1)), (Some(MapUnit(3)), false));
    assert!(!ctp.is_changed());
    let lpa = Lpa(3 * ENTRIES + 7);
    assert_eq!(ctp.set(&core, lpa, Some(Ppa(5))), (Some(Ppa(lpa.0)), false));
    assert_eq!(ctp.set(&core, lpa, Some(Ppa(6))), (Some(Ppa(5)), true));
    assert_eq!((ctp.get(&core, lpa), ctp.coldest_changed()), (Some(Some(Ppa(6))), Some(MapUnit(3))));
    assert!(ctp.is_changed());
    assert_eq!((ctp.forget_change(lpa), ctp.forget_change(lpa)), (Some(Some(Ppa(6))), None));
    assert!(!ctp.is_changed(), "one entry has changed, however often");
    ctp.remove(MapUnit(3));
    assert_eq!((ctp.get(&core, lpa), ctp.fits(1), ctp.fits(2)), (None, true, false));
}

/// A header of 8 bytes, 64 of bits, and 8 for each run.
#[test]
fn a_compressed_page_takes_what_its_runs_need() {
    let mut core = core();
    let mut ctp = cache(&core, 8192, true);
    assert!(insert(&mut ctp, &core, 0));
    assert_eq!(ctp.taken, 72 + 8);
    ctp.set(&core, Lpa(7), Some(Ppa(5)));
    assert_eq!(ctp.taken, 72 + 24, "a run is torn into three");
    ctp.set(&core, Lpa(0), None);
    assert_eq!(ctp.taken, 72 + 32);
    ctp.set(&core, Lpa(1), None);
    assert_eq!(ctp.taken, 72 + 32, "unmapped entries are a run, too");
    ctp.set(&core, Lpa(7), Some(Ppa(7)));
    assert_eq!(ctp.taken, 72 + 16);
    [0, 1, 7].into_iter().for_each(|lpa| _ = ctp.forget_change(Lpa(lpa)));
    [1, 2].into_iter().for_each(|unit| tear(&mut core, MapUnit(unit)));
    assert!(insert(&mut ctp, &core, 1));
    assert_eq!(ctp.taken, 72 + 16 + 8 + 4096, "no longer than on flash");
    assert!(!insert(&mut ctp, &core, 2));
    assert!(!ctp.holds(MapUnit(2)) && !ctp.fits(1) && ctp.may_grow() && !ctp.is_over());
    assert!(insert(&mut ctp, &core, 3));
    ctp.limit = 4200;
    assert!(ctp.is_over() && !ctp.may_grow());
    ctp.set(&core, Lpa(0), None);
    ctp.shrink();
    assert_eq!(ctp.units().collect::<Vec<_>>(), [0, 3].map(MapUnit), "page 0 has changed");
    assert_eq!(ctp.taken, 72 + 16 + 72 + 8);
}

/// A change may tear a run into three, which takes two places of 8 bytes more.
#[test]
fn a_page_may_grow_while_two_more_runs_have_room() {
    let core = core();
    for (room, may) in [(16, true), (15, false)] {
        let mut ctp = cache(&core, 8192, true);
        assert!(insert(&mut ctp, &core, 0));
        ctp.limit = ctp.taken + room;
        assert_eq!(ctp.may_grow(), may, "{room} bytes");
        ctp.set(&core, Lpa(7), Some(Ppa(5)));
        assert_eq!(ctp.is_over(), !may, "{room} bytes");
    }
}

/// A page that was read from an older place is what was programmed there, until the newer copy changes.
#[test]
fn a_page_is_what_was_read() {
    let mut core = core();
    let newer = Programmed::in_test(Piece(1), Ppa(3));
    core.segment_written(&newer, Seq(1));
    core.set_entry(&newer, Lpa(600), None);
    let mut ctp = cache(&core, 8192, true);
    assert!(insert(&mut ctp, &core, 1));
    assert_eq!([600, 601].map(|lpa| ctp.get(&core, Lpa(lpa))), [600, 601].map(|lpa| Some(Some(Ppa(lpa)))));
    assert_eq!(ctp.taken, 72 + 8);
    ctp.comes_to_flash(&core, Lpa(601), Some(Ppa(5)));
    core.set_entry(&newer, Lpa(601), Some(Ppa(5)));
    assert_eq!([600, 601].map(|lpa| ctp.get(&core, Lpa(lpa))), [Some(Some(Ppa(600))), Some(Some(Ppa(5)))]);
    assert_eq!(ctp.taken, 72 + 24);
}

/// A copy of a page.
#[derive(Default)]
struct Copy {
    entries: Vec<u32>,
    changed: BTreeSet<u32>,
}

impl Copy {
    fn bytes(&self) -> u64 {
        let bits = u64::from(ENTRIES) / 8;
        HEADER + (bits + 8 * u64::from(runs(&self.entries))).min(4096)
    }
}

#[derive(Clone, Copy, Debug)]
enum Step {
    /// Inserts the page, or removes it if it has no changes.
    Turn,
    Set,
    Forget,
    /// The value comes to flash, from this cache or from elsewhere.
    ToFlash,
}

proptest! {
    /// Entries at both ends of a page and in its middle, few or more, with values that continue runs, or tear them.
    #[test]
    fn a_page_is_as_a_copy_of_it(
        torn in any::<bool>(),
        steps in prop::collection::vec(
            (
                prop::sample::select(&[Step::Turn, Step::Set, Step::Set, Step::Forget, Step::ToFlash][..]),
                prop::sample::select(&[0u32, 1, 2, 3, 9, 100, 101, 254, 255, 256, 400, 507, 508, 509, 510, 511][..]),
                prop::option::of(0u32..4),
            ),
            1..120,
        ),
    ) {
        let unit = MapUnit(2);
        let mut core = core();
        if torn {
            tear(&mut core, unit);
        }
        let (first, mut ctp) = (core.units().range(unit).start, cache(&core, 1 << 20, true));
        let mut flash: Vec<u32> = core.view(&Loaded::assumed(unit)).entries();
        let mut copy: Option<Copy> = None;
        for (step, at, value) in steps {
            let lpa = Lpa(first + at);
            // Around the places that the entries have at first.
            let value = value.map(|value| Ppa(lpa.0 + value - value.min(2)));
            match (step, &mut copy) {
                (Step::Turn, Some(Copy { changed, .. })) if changed.is_empty() => {
                    ctp.remove(unit);
                    copy = None;
                }
                (Step::Turn, None) => {
                    prop_assert!(insert(&mut ctp, &core, unit.0));
                    copy = Some(Copy { entries: flash.clone(), ..Copy::default() });
                }
                (Step::Set, Some(Copy { entries, changed })) => {
                    let before = std::mem::replace(&mut entries[at as usize], Ppa::pack(value));
                    prop_assert_eq!(ctp.set(&core, lpa, value), (Ppa::unpack(before), !changed.insert(at)));
                }
                (Step::Forget, Some(Copy { entries, changed })) => {
                    let was = changed.remove(&at).then(|| Ppa::unpack(entries[at as usize]));
                    prop_assert_eq!(ctp.forget_change(lpa), was);
                }
                (Step::ToFlash, _) => {
                    if let Some(Copy { entries, changed }) = &mut copy {
                        prop_assert_eq!(ctp.forget_change(lpa).is_some(), changed.remove(&at));
                        entries[at as usize] = Ppa::pack(value);
                    }
                    ctp.comes_to_flash(&core, lpa, value);
                    flash[at as usize] = Ppa::pack(value);
                    core.assume_entry(lpa, value);
                }
                _ => {}
            }
            let Some(Copy { entries, changed }) = &copy else {
                prop_assert_eq!((ctp.taken, ctp.get(&core, lpa)), (0, None));
                continue;
            };
            prop_assert_eq!(ctp.taken, copy.as_ref().map_or(0, Copy::bytes));
            for (lpa, &entry) in (first..).zip(entries) {
                prop_assert_eq!(ctp.get(&core, Lpa(lpa)), Some(Ppa::unpack(entry)));
            }
            prop_assert!(ctp.changed_in(unit).map(|lpa| lpa.0 - first).eq(changed.iter().copied()));
            prop_assert_eq!(ctp.is_changed(), !changed.is_empty());
        }
    }
}
