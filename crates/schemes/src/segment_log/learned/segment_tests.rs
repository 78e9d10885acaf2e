use proptest::prelude::*;

use super::*;

/// A point whose prediction may miss by so many pages.
fn point((at, place): (u8, u32), gamma: u32) -> Point {
    Point { at, place, allowed: place.saturating_sub(gamma)..=place + gamma }
}

/// Points with places one after another.
fn in_a_row(addresses: &[u8], first: u32, gamma: u32) -> Vec<Point> {
    addresses.iter().zip(first..).map(|(&at, place)| point((at, place), gamma)).collect()
}

fn all_bytes(segments: &[Segment]) -> u64 {
    segments.iter().map(Segment::bytes).sum()
}

/// 1 KiB of entries.
#[test]
fn a_group_that_was_written_in_order_takes_eight_bytes() {
    let all: Vec<u8> = (0..=255).collect();
    let learned = learn(&in_a_row(&all, 4096, 0));
    assert_eq!((learned.len(), all_bytes(&learned)), (1, 8));
    assert!(all.iter().all(|&at| learned[0].place(at) == Some(4096 + u32::from(at))));
}

#[test]
fn an_accurate_segment_has_the_addresses_at_its_stride() {
    let learned = learn(&in_a_row(&[3, 10, 17, 24], 50, 0));
    assert_eq!((learned.len(), all_bytes(&learned)), (1, 8));
    assert_eq!([3, 10, 17, 24].map(|at| learned[0].place(at)), [50, 51, 52, 53].map(Some));
    assert_eq!([2, 4, 9, 25, 31].map(|at| learned[0].place(at)), [None; 5]);
}

/// Two accurate segments take 16 bytes, one approximate one 8, four of the CRB and its end. A line from 64 up has to
/// rise to at most 1 in one step, 2 in four and 3 in five, and to no less with a bound of 0: its slope is above 2/5 and
/// at most 1/2.
#[test]
fn an_irregular_batch_is_told_by_one_line() {
    let learned = learn(&in_a_row(&[0, 1, 4, 5], 64, 0));
    assert_eq!((learned.len(), all_bytes(&learned)), (1, 13));
    assert!(!learned[0].is_accurate());
    assert_eq!([0, 1, 4, 5].map(|at| learned[0].place(at)), [64, 65, 66, 67].map(Some));
    assert_eq!([2, 3, 6].map(|at| learned[0].place(at)), [None; 3], "they are not in the CRB");
    let Line::Slope(slope, _) = learned[0].line else { panic!("approximate") };
    assert!((2 * ONE / 5..=ONE / 2).contains(&i64::from(slope)), "{slope}");
}

/// Addresses 0, 1, 2 and then 10, 11, 12: no line is exact. One that may miss by a page is flat enough for all six.
#[test]
fn an_error_bound_makes_one_line_of_more_points() {
    let addresses = [0, 1, 2, 10, 11, 12, 20, 21, 22];
    let exact = learn(&in_a_row(&addresses, 64, 0));
    assert_eq!((exact.len(), all_bytes(&exact)), (3, 24));
    let near = learn(&in_a_row(&addresses, 64, 1));
    assert_eq!((near.len(), all_bytes(&near)), (1, 8 + 9 + 1));
}

/// Each point on its own: a single-point segment takes what an entry with its address takes.
#[test]
fn points_that_fit_no_line_take_eight_bytes_each() {
    let far = [(0, 9000), (1, 40), (2, 700), (3, 12)].map(|entry| point(entry, 16));
    let learned = learn(&far);
    assert_eq!((learned.len(), all_bytes(&learned)), (4, 32));
}

/// A line may be as near as the bound allows, and yet name a page of another program.
#[test]
fn a_prediction_names_no_place_that_is_not_allowed() {
    let addresses = [0, 1, 2, 10, 11, 12, 20, 21, 22];
    let mut points = in_a_row(&addresses, 64, 1);
    // Programs of two pages: 64 and 65, and so on.
    points.iter_mut().for_each(|point| point.allowed = point.place / 2 * 2..=point.place / 2 * 2 + 1);
    let learned = learn(&points);
    for point in &points {
        let told = learned.iter().find_map(|segment| segment.place(point.at)).expect("each point is learned");
        assert_eq!(told / 2, point.place / 2);
    }
}

#[test]
fn what_newer_segments_have_leaves_an_older_one_at_its_ends() {
    let old = Segment::accurate(&in_a_row(&[0, 2, 4, 6, 8], 10, 0));
    let left = old.clone().under(&[0, 4, 8].into_iter().collect()).expect("two addresses");
    assert_eq!((left.first, left.last), (2, 6));
    assert_eq!([2, 4, 6].map(|at| left.place(at)), [11, 12, 13].map(Some), "4 is hidden by the newer one");
    assert_eq!([0, 8].map(|at| left.place(at)), [None, None]);
    assert_eq!(old.clone().under(&(0..=8).collect()), None);
    let halves: Vec<_> = old.without(4).iter().map(|segment| (segment.first, segment.last)).collect();
    assert_eq!(halves, [(0, 2), (6, 8)]);
}

#[test]
fn segments_that_continue_each_other_are_joined() {
    let one = |addresses: &[u8], place| Segment::accurate(&in_a_row(addresses, place, 0));
    let even = one(&[0, 2, 4], 10);
    assert_eq!(even.joined(&one(&[6, 8], 13)), Some(one(&[0, 2, 4, 6, 8], 10)));
    assert_eq!(even.joined(&one(&[6], 13)), Some(one(&[0, 2, 4, 6], 10)));
    assert_eq!(even.joined(&one(&[6, 8], 14)), None, "at another place");
    assert_eq!(even.joined(&one(&[5, 7], 13)), None, "at another distance");
    assert_eq!(even.joined(&one(&[6, 7], 13)), None, "at another stride");
    assert_eq!(one(&[0], 10).joined(&one(&[9], 11)), Some(one(&[0, 9], 10)));
}

#[test]
fn an_address_that_leaves_an_approximate_segment_leaves_the_crb() {
    let old = learn(&in_a_row(&[0, 1, 4, 5], 64, 0)).remove(0);
    let left = old.under(&[0, 5].into_iter().collect()).expect("two addresses");
    assert_eq!((left.last, left.bytes()), (4, 8 + 2 + 1));
    assert_eq!([0, 1, 4, 5].map(|at| left.place(at)), [None, Some(65), Some(66), None]);
}

proptest! {
    /// Every point is told by one segment, and within what is allowed; accurate segments are exact; nothing else is
    /// told. It never takes more than a single-point segment for each.
    #[test]
    fn each_point_is_told_as_near_as_allowed(
        places in proptest::collection::btree_map(any::<u8>(), 1u32..400, 1..200),
        gamma in prop_oneof![Just(0u32), Just(1), Just(4), Just(16)],
        together in prop_oneof![Just(4u32), Just(48), Just(1024)],
    ) {
        let points: Vec<Point> = places.iter().map(|(&at, &place)| {
            let start = place / together * together;
            let allowed = start.max(place.saturating_sub(gamma))..=(place + gamma).min(start + together - 1);
            Point { at, place, allowed }
        }).collect();
        let learned = learn(&points);
        prop_assert!(all_bytes(&learned) <= 8 * points.len() as u64);
        prop_assert!(learned.windows(2).all(|pair| pair[0].last < pair[1].first));
        for at in 0..=u8::MAX {
            let told: Vec<(u32, bool)> =
                learned.iter().filter_map(|s| Some((s.place(at)?, s.is_accurate()))).collect();
            let Some(point) = points.iter().find(|point| point.at == at) else {
                prop_assert_eq!(told, []);
                continue;
            };
            prop_assert_eq!(told.len(), 1);
            let (place, is_accurate) = told[0];
            prop_assert!(point.allowed.contains(&place));
            prop_assert!(!is_accurate || place == point.place);
        }
    }

    /// A row of a write buffer that is sorted by address: places follow each other.
    #[test]
    fn a_sorted_row_is_learned_in_no_more_bytes_with_a_bound(
        addresses in proptest::collection::btree_set(any::<u8>(), 1..48),
    ) {
        let addresses: Vec<u8> = addresses.into_iter().collect();
        let segments = |gamma| learn(&in_a_row(&addresses, 1000, gamma)).len();
        prop_assert!(segments(16) <= segments(0));
    }
}
