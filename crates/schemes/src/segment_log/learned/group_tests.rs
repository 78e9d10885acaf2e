use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;

/// Pages that are programmed together in these tests.
const TOGETHER: u32 = 16;

fn point(at: u8, place: u32, gamma: u32) -> Point {
    let start = place / TOGETHER * TOGETHER;
    let allowed = start.max(place.saturating_sub(gamma))..=(place + gamma).min(start + TOGETHER - 1);
    Point { at, place, allowed }
}

fn in_a_row(addresses: impl IntoIterator<Item = u8>, first: u32) -> Vec<Point> {
    addresses.into_iter().zip(first..).map(|(at, place)| point(at, place, 0)).collect()
}

fn place(group: &Group, at: u8) -> Option<u32> {
    group.told(at).map(|told| told.ppa.0)
}

fn levels(group: &Group) -> Vec<usize> {
    let Group::Learned(levels) = group else { panic!("learned") };
    levels.iter().map(Vec::len).collect()
}

/// Eight bytes for the segment, one each for the numbers of levels and segments: 4 bytes an entry make 1024.
#[test]
fn a_group_that_was_written_in_order_is_one_segment() {
    let group = Group::of(&in_a_row(0..=255, 512), 256);
    assert_eq!((group.segments(), group.bytes()), (1, 10));
    assert_eq!((place(&group, 0), place(&group, 255)), (Some(512), Some(767)));
}

#[test]
fn a_group_without_any_order_is_a_plain_table() {
    let scattered: Vec<Point> = (0..=255).map(|at: u8| point(at, u32::from(at.reverse_bits()) * 40, 0)).collect();
    let group = Group::of(&scattered, 256);
    assert_eq!((group.segments(), group.bytes()), (0, 1025));
    assert!(scattered.iter().all(|point| place(&group, point.at) == Some(point.place)));
    assert!(group.is_exact());
}

/// The upper segment hides four addresses in the middle of the lower one, and then its end.
#[test]
fn a_newer_segment_lies_above_what_it_overlaps() {
    let mut group = Group::of(&in_a_row(0..=63, 1024), 256);
    assert!(group.change(&in_a_row(20..24, 4096), &[], 256));
    assert_eq!(levels(&group), [1, 1]);
    assert_eq!([19, 20, 23, 24].map(|at| place(&group, at)), [1043, 4096, 4099, 1048].map(Some));
    assert!(group.change(&in_a_row(60..70, 8192), &[], 256));
    assert_eq!(levels(&group), [2, 1], "the end of the old one is gone, so that it needs no level below");
    assert_eq!([59, 60, 69].map(|at| place(&group, at)), [Some(1083), Some(8192), Some(8201)]);
}

/// Three generations of the same addresses, none of which covers the one before, and one that covers all.
#[test]
fn compaction_drops_what_is_hidden_and_lifts_the_rest() {
    let mut group = Group::of(&in_a_row(0..=100, 1024), 256);
    assert!(group.change(&in_a_row(10..20, 4096), &[], 256));
    assert!(group.change(&in_a_row(5..50, 8192), &[], 256));
    assert!(group.change(&in_a_row((0..=100).step_by(2), 2048), &[], 256));
    let before: Vec<Option<u32>> = (0..=255).map(|at| place(&group, at)).collect();
    assert_eq!(levels(&group), [1, 1, 1]);
    group.compact();
    assert_eq!((0..=255).map(|at| place(&group, at)).collect::<Vec<_>>(), before);
    assert_eq!(levels(&group), [1, 1, 1], "each still has addresses of its own between those of the one above");
    assert!(group.change(&in_a_row(0..=100, 512), &[], 256));
    assert_eq!(levels(&group), [1, 1, 1], "only the level that it enters is looked at");
    group.compact();
    assert_eq!(levels(&group), [1]);
}

#[test]
fn a_segment_that_nothing_hides_any_more_is_lifted() {
    let mut group = Group::of(&in_a_row(0..=40, 1024), 256);
    assert!(group.change(&in_a_row(10..30, 4096), &[], 256));
    assert!(group.change(&in_a_row(25..=40, 8192), &[], 256));
    assert_eq!(levels(&group), [2, 1]);
    group.compact();
    assert_eq!(levels(&group), [3], "of 0 to 40 only 0 to 9 are left");
}

#[test]
fn an_address_that_is_trimmed_is_told_no_more() {
    let mut group = Group::of(&in_a_row(0..=255, 1024), 256);
    assert!(group.change(&in_a_row(100..110, 4096), &[], 256));
    assert!(group.change(&[], &[105, 0], 256));
    let unmapped: Vec<u8> = (0..=255).filter(|&at| group.told(at).is_none()).collect();
    assert_eq!(unmapped, [0, 105]);
    assert_eq!((place(&group, 104), place(&group, 106)), (Some(4100), Some(4102)));
}

/// Entries that differ from what the plain table has are for whoever has the whole group.
#[test]
fn a_plain_table_is_made_anew() {
    let scattered: Vec<Point> = (0..=255).map(|at: u8| point(at, u32::from(at.reverse_bits()) * 40, 0)).collect();
    assert!(!Group::of(&scattered, 256).change(&in_a_row(0..4, 5000), &[], 256));
}

/// Addresses in a row of the write buffer, whether sorted, and what is trimmed before; then perhaps a compaction.
type Step = (Vec<u8>, bool, Vec<u8>, bool);

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let near = (any::<u8>(), 1u8..4, 1usize..TOGETHER as usize);
    let run = near
        .prop_map(|(from, step, n)| (0..n).map(|i| from.wrapping_add(step.wrapping_mul(i as u8))).collect::<Vec<u8>>());
    let row = prop_oneof![run, proptest::collection::vec(any::<u8>(), 1..TOGETHER as usize)];
    let trims = proptest::collection::vec(any::<u8>(), 0..3);
    proptest::collection::vec((row, any::<bool>(), trims, proptest::bool::weighted(0.2)), 1..60)
}

proptest! {
    /// After any writes, trims and compactions a group tells what a plain map has: exactly, or as near as the bound
    /// allows, and on a page that was programmed together with the right one. An address is in the CRB once.
    #[test]
    fn a_group_tells_what_a_plain_map_has(
        steps in steps(),
        gamma in prop_oneof![Just(0u32), Just(1), Just(4), Just(16)],
    ) {
        let (mut map, mut group, mut next) = (BTreeMap::<u8, u32>::new(), Group::of(&[], 256), 0);
        let whole = |map: &BTreeMap<u8, u32>| map.iter().map(|(&at, &to)| point(at, to, gamma)).collect::<Vec<_>>();
        for (mut row, sorted, trims, compacts) in steps {
            if sorted {
                row.sort_unstable();
            }
            row.dedup();
            let mut written = BTreeMap::new();
            row.iter().zip(next..).for_each(|(&at, place)| _ = written.insert(at, place));
            next += TOGETHER;
            let trims: Vec<u8> = trims.into_iter().filter(|at| !written.contains_key(at)).collect();
            trims.iter().for_each(|at| _ = map.remove(at));
            map.extend(&written);
            if !group.change(&whole(&written), &trims, 256) {
                group = Group::of(&whole(&map), 256);
            }
            if compacts {
                let before = group.bytes();
                group.compact();
                prop_assert!(group.bytes() <= before);
            }
            prop_assert!(group.bytes() <= 1025);
            let mut entries = [Ppa::pack(None); 256];
            group.write(&mut entries);
            let told = |at| Ppa::pack(group.told(at).map(|told| told.ppa));
            prop_assert_eq!(entries.to_vec(), (0..=u8::MAX).map(told).collect::<Vec<_>>());
            for at in 0..=u8::MAX {
                let (Some(told), Some(&place)) = (group.told(at), map.get(&at)) else {
                    prop_assert_eq!(group.told(at).is_some(), map.contains_key(&at), "{}", at);
                    continue;
                };
                prop_assert!(point(at, place, gamma).allowed.contains(&told.ppa.0), "{}: {:?}, {}", at, told, place);
                prop_assert!(!told.is_exact || told.ppa.0 == place);
            }
            if let Group::Learned(levels) = &group {
                let approximate = || levels.iter().flatten().filter(|segment| !segment.is_accurate());
                let listed: u64 = approximate().map(|segment| segment.members().len()).sum();
                let mut different = Members::default();
                approximate().for_each(|segment| different.add(&segment.members()));
                prop_assert_eq!(listed, different.len());
                let follows = |pair: &[Segment]| pair[0].first() < pair[1].first() && !pair[0].overlaps(&pair[1]);
                prop_assert!(levels.iter().all(|level| level.windows(2).all(follows)));
            }
        }
    }
}
