use units::Nanos;

use super::*;
use crate::config::DirtyFrom;

fn config(tracked: u16) -> HpbConfig {
    HpbConfig {
        group_entries: 16,
        sealed: true,
        tracked_groups: tracked,
        pending_entries: 8,
        dirty_from: DirtyFrom::Program,
        clean_from: CleanFrom::NextCommand,
        seal_cost: Nanos(0),
        region_groups: 2,
        max_blocks: 255,
        recommend_after: None,
        max_active_regions: 1,
    }
}

/// Four groups, and half a one.
fn publisher(tracked: u16) -> Publisher {
    Publisher::new(&config(tracked), [1, 2], 72)
}

/// Same, in device control mode.
fn controlling(tracked: u16, after: u8) -> Publisher {
    Publisher::new(&HpbConfig { recommend_after: Some(after), ..config(tracked) }, [1, 2], 72)
}

fn notice(p: &mut Publisher) -> HpbNotice {
    let mut notice = HpbNotice::None;
    p.notify(0, &mut notice);
    notice
}

/// The entries of a group, which the host reads.
fn published(p: &mut Publisher, group: u32, mapping: &[Option<Ppa>]) -> Vec<u64> {
    match p.publish(group, mapping) {
        DataIn::Sealed(entries) => entries,
        DataIn::Plain(entries) => entries.into_iter().map(u64::from).collect(),
        other => panic!("{other:?}"),
    }
}

fn contiguous() -> Vec<Option<Ppa>> {
    (100..116).map(|p| Some(Ppa(p))).collect()
}

#[test]
fn an_entry_serves_its_own_run_and_nothing_else() {
    let mut p = publisher(1);
    let sealed = published(&mut p, 0, &contiguous());
    assert_eq!(p.check(Lpa(3), 1, sealed[3]), Some(Ppa(103)));
    assert_eq!(p.check(Lpa(3), 13, sealed[3]), Some(Ppa(103)));
    assert_eq!(p.check(Lpa(3), 14, sealed[3]), None, "reaches into the next group");
    assert_eq!(p.check(Lpa(4), 1, sealed[3]), None, "swapped");
    assert_eq!(p.check(Lpa(3), 1, sealed[3] ^ 1 << 32), None, "forged address");
    assert_eq!(p.check(Lpa(3), 1, 0), None);
}

#[test]
fn a_change_makes_old_entries_fail_and_the_delivered_one_good() {
    let mut p = publisher(1);
    let old = published(&mut p, 0, &contiguous());
    p.changed(Lpa(3), Some(Ppa(7)));
    assert_eq!(p.check(Lpa(3), 1, old[3]), None, "stale");
    assert_eq!(p.check(Lpa(2), 2, old[2]), None, "run over a changed page");
    assert_eq!(p.check(Lpa(2), 1, old[2]), None, "the group is dirty until the host has been told");
    let HpbNotice::Entry { lpa, entry } = p.next_notice() else { panic!("an entry is due") };
    assert_eq!(p.check(Lpa(2), 1, old[2]), Some(Ppa(102)));
    assert_eq!(p.check(lpa, 1, entry), Some(Ppa(7)));
    p.changed(Lpa(3), Some(Ppa(8)));
    assert_eq!(p.check(lpa, 1, entry), None, "replayed");
    p.changed(Lpa(3), Some(Ppa(9)));
    assert_eq!(p.next_notice(), HpbNotice::None, "three changes: not trusted until the group is read");
    let fresh = published(&mut p, 0, &contiguous());
    assert_eq!(p.check(Lpa(3), 1, old[3]), None, "entry of an older epoch");
    assert_eq!(p.check(Lpa(3), 1, fresh[3]), Some(Ppa(103)));
}

#[test]
fn an_untracked_group_becomes_dirty_as_a_whole() {
    let mut p = publisher(1);
    let (a, b) = (published(&mut p, 0, &contiguous()), published(&mut p, 1, &contiguous()));
    p.changed(Lpa(0), Some(Ppa(7)));
    p.changed(Lpa(16), Some(Ppa(8)));
    assert_eq!(p.next_notice(), HpbNotice::DirtyGroup(0), "the only tracker went to the other group");
    assert_eq!(p.check(Lpa(5), 1, a[5]), None);
    assert_eq!(p.check(Lpa(21), 1, b[5]), None, "dirty until its change has left");
    assert!(matches!(p.next_notice(), HpbNotice::Entry { lpa: Lpa(16), .. }));
    assert_eq!(p.check(Lpa(21), 1, b[5]), Some(Ppa(105)));
}

#[test]
fn a_region_that_the_host_has_dropped_is_not_spoken_of() {
    let mut p = publisher(0);
    let old = published(&mut p, 1, &contiguous());
    published(&mut p, 2, &contiguous());
    p.inactivated(0);
    assert_eq!(p.check(Lpa(17), 1, old[1]), None, "its entries are of no use any more");
    p.changed(Lpa(17), Some(Ppa(7)));
    assert_eq!(p.next_notice(), HpbNotice::None);
    p.changed(Lpa(33), Some(Ppa(8)));
    assert_eq!(p.next_notice(), HpbNotice::DirtyGroup(2), "it is of another region");
}

#[test]
fn a_trim_is_never_delivered_but_ends_the_entry() {
    let mut p = publisher(1);
    let sealed = published(&mut p, 0, &contiguous());
    p.changed(Lpa(1), None);
    assert_eq!(p.check(Lpa(1), 1, sealed[1]), None);
    assert_eq!(p.next_notice(), HpbNotice::None);
}

#[test]
fn a_trim_keeps_no_other_page_of_its_group_waiting() {
    let mut p = publisher(1);
    let sealed = published(&mut p, 0, &contiguous());
    p.changed(Lpa(1), None);
    assert_eq!(p.check(Lpa(2), 1, sealed[2]), Some(Ppa(102)), "nothing of the trim has to be delivered");
}

#[test]
fn a_host_that_makes_a_run_longer_is_not_believed() {
    let mut p = publisher(1);
    let mut mapping = contiguous();
    mapping[6] = Some(Ppa(50));
    let sealed = published(&mut p, 0, &mapping)[5];
    assert_eq!(p.check(Lpa(5), 1, sealed), Some(Ppa(105)));
    assert_eq!(p.check(Lpa(5), 2, sealed), None, "the next page is elsewhere");
    let longer = sealed + (1 << 24);
    assert_eq!(p.check(Lpa(5), 2, longer), None);
    assert_eq!(p.check(Lpa(5), 1, longer), None);
}

#[test]
fn neighbours_change_one_by_one() {
    let mut p = publisher(1);
    let mut entries = published(&mut p, 0, &contiguous());
    let mut places = contiguous();
    for (from, page) in [(20, 4), (20, 5), (20, 6), (20, 7), (40, 4), (40, 5), (40, 6), (40, 7)] {
        let place = Some(Ppa(from + page));
        let old = entries[page as usize];
        p.changed(Lpa(page), place);
        let HpbNotice::Entry { lpa: Lpa(lpa), entry } = notice(&mut p) else { panic!("an entry is due") };
        assert_eq!(lpa, page);
        (entries[page as usize], places[page as usize]) = (entry, place);
        assert_eq!(p.check(Lpa(page), 1, old), None, "stale entry of {page}");
        for (i, &entry) in entries.iter().enumerate() {
            assert_eq!(p.check(Lpa(i as u32), 1, entry), places[i], "page {i} after a change of {page}");
        }
    }
}

#[test]
fn of_two_changes_only_the_later_one_is_delivered() {
    let mut p = publisher(1);
    published(&mut p, 0, &contiguous());
    p.changed(Lpa(3), Some(Ppa(7)));
    p.changed(Lpa(3), Some(Ppa(8)));
    let HpbNotice::Entry { lpa, entry } = notice(&mut p) else { panic!("an entry is due") };
    assert_eq!(p.check(lpa, 1, entry), Some(Ppa(8)));
    assert_eq!(notice(&mut p), HpbNotice::None);
}

#[test]
fn what_the_host_has_not_read_takes_no_tracker() {
    let mut p = publisher(1);
    published(&mut p, 0, &contiguous());
    p.changed(Lpa(0), Some(Ppa(7)));
    p.changed(Lpa(16), Some(Ppa(8)));
    assert!(matches!(notice(&mut p), HpbNotice::Entry { lpa: Lpa(0), .. }));
    assert_eq!(notice(&mut p), HpbNotice::None);
}

#[test]
fn the_group_that_was_tracked_first_becomes_dirty_first() {
    let mut p = publisher(2);
    for group in 0..5 {
        let (_, entries) = p.range(group);
        published(&mut p, group, &contiguous()[..entries as usize]);
    }
    (0..5).for_each(|group| p.changed(Lpa(16 * group), Some(Ppa(group))));
    for group in 0..3 {
        assert_eq!(notice(&mut p), HpbNotice::DirtyGroup(group));
    }
    assert!(matches!(notice(&mut p), HpbNotice::Entry { lpa: Lpa(48), .. }));
    assert!(matches!(notice(&mut p), HpbNotice::Entry { lpa: Lpa(64), .. }));
    assert_eq!(notice(&mut p), HpbNotice::None);
}

/// A recommendation of one group has the bytes of a dirty group, so it is one.
#[test]
fn groups_without_good_entries_are_recommended() {
    let mut p = controlling(0, 2);
    p.missed(Lpa(15));
    assert_eq!(notice(&mut p), HpbNotice::None, "once is not often");
    p.missed(Lpa(0));
    assert_eq!(notice(&mut p), HpbNotice::DirtyGroup(0));
    published(&mut p, 0, &contiguous());
    (0..2).for_each(|_| p.missed(Lpa(0)));
    assert_eq!(notice(&mut p), HpbNotice::None, "the host has good entries");
    p.changed(Lpa(0), Some(Ppa(7)));
    assert_eq!(notice(&mut p), HpbNotice::DirtyGroup(0), "nothing is tracked");
    [0, 0, 32, 32].into_iter().for_each(|lpa| p.missed(Lpa(lpa)));
    let both = Recommendation { activate: [Some(0), Some(2)], inactivate: [None, None] };
    assert_eq!(notice(&mut p), HpbNotice::Recommend(both));
    let mut p = publisher(0);
    (0..2).for_each(|_| p.missed(Lpa(0)));
    assert_eq!(notice(&mut p), HpbNotice::None, "the host decides");
}

#[test]
fn the_last_region_may_be_short() {
    let mut p = publisher(0);
    assert_eq!((p.groups(), p.regions(), p.range(4)), (5, 3, (Lpa(64), 8)));
    let all = contiguous();
    let sealed: Vec<_> = [16, 16, 16, 16, 8].iter().zip(0..).map(|(&n, g)| published(&mut p, g, &all[..n])).collect();
    let serve = |p: &Publisher| [0, 1, 2, 3, 4].map(|g| p.check(Lpa(16 * g), 1, sealed[g as usize][0]).is_some());
    p.inactivated(1);
    assert_eq!(serve(&p), [true, true, false, false, true]);
    p.inactivated(2);
    assert_eq!(serve(&p), [true, true, false, false, false]);
}

#[test]
fn tables_take_what_they_hold() {
    let (mut p, mut controlling) = (publisher(3), controlling(3, 2));
    // 64 counters of 5 bytes, 16 waiting subregions of 4, one active region of 2, two bits for each of 3 regions.
    let recommender = 320 + 64 + 2 + 2;
    assert_eq!((p.table_bytes(false, 32), controlling.table_bytes(false, 32)), (0, recommender));
    published(&mut p, 1, &contiguous());
    published(&mut controlling, 1, &contiguous());
    // Two bits for each of 5 groups; number and changes under way of 3 groups; 8 changes of 8 bytes; 16 places of 4
    // bytes.
    let all = 2 + 18 + 64 + 64;
    // Epochs of 5 groups, 3 groups of 16 counters of two bits.
    let sealed = all + 20 + 12;
    assert_eq!((p.table_bytes(false, 32), controlling.table_bytes(false, 32)), (sealed, sealed + recommender));
    assert_eq!(publisher(3).table_bytes(true, 32), sealed, "the host will ask");
    let mut plain = plain(3);
    published(&mut plain, 1, &contiguous());
    assert_eq!(plain.table_bytes(false, 32), all + 32 * 5);
    assert_eq!(plain.table_bytes(false, 256), all + 256 * 5);
}

#[test]
fn a_group_takes_two_bits_and_with_seals_an_epoch() {
    for (sealed, bytes) in [(false, 8 * 2), (true, 8 * 2 + 64 * 4)] {
        // Eight groups, and 64 more.
        let taken = [128, 1152]
            .map(|capacity| Publisher::new(&HpbConfig { sealed, ..config(3) }, [1, 2], capacity).table_bytes(true, 32));
        assert_eq!(taken[1], taken[0] + bytes, "sealed: {sealed}");
    }
}

#[test]
fn a_dirty_group_that_is_read_or_dropped_is_not_told() {
    let mut p = publisher(0);
    (0..4).for_each(|group| _ = published(&mut p, group, &contiguous()));
    [0, 16, 32, 48].into_iter().for_each(|lpa| p.changed(Lpa(lpa), Some(Ppa(7))));
    published(&mut p, 1, &contiguous());
    p.inactivated(1);
    assert_eq!(notice(&mut p), HpbNotice::DirtyGroup(0));
    assert_eq!(notice(&mut p), HpbNotice::None, "1 has been read since, 2 and 3 dropped");
    p.changed(Lpa(16), Some(Ppa(8)));
    assert_eq!(notice(&mut p), HpbNotice::DirtyGroup(1), "a later change is told");
}

#[test]
fn a_region_that_the_host_drops_by_itself_leaves_room_for_another() {
    let mut p = controlling(0, 2);
    published(&mut p, 0, &contiguous());
    p.inactivated(0);
    published(&mut p, 2, &contiguous());
    assert_eq!(notice(&mut p), HpbNotice::None, "one region is active, and one is allowed");
}

/// Plain entries.
fn plain(tracked: u16) -> Publisher {
    Publisher::new(&HpbConfig { sealed: false, ..config(tracked) }, [1, 2], 72)
}

/// A command with this tag starts and is answered.
fn command(p: &mut Publisher, tag: u8) -> HpbNotice {
    p.heard(tag);
    let mut notice = HpbNotice::None;
    p.notify(tag, &mut notice);
    notice
}

#[test]
fn plain_entries_are_addresses() {
    let mut p = plain(1);
    let mut mapping = contiguous();
    mapping[4] = None;
    let entries = published(&mut p, 0, &mapping);
    assert_eq!(entries[3..6], [104, 0, 106], "packed: one more than the address, 0 for none");
    assert_eq!(p.check(Lpa(3), 1, entries[3]), Some(Ppa(103)));
    assert_eq!(p.check(Lpa(3), 14, entries[3]), None, "reaches into the next group");
    assert_eq!(p.check(Lpa(4), 1, entries[4]), None);
    assert_eq!(p.check(Lpa(3), 1, 1 << 32 | 104), None, "has more than four bytes");
    assert_eq!(p.check(Lpa(16), 1, 104), None, "a group that was not read");
}

/// A plain entry does not tell when it was made. So it is used only once the host has handled what was sent to it.
#[test]
fn a_group_with_plain_entries_waits_until_the_host_has_the_new_one() {
    let mut p = plain(1);
    let old = published(&mut p, 0, &contiguous());
    p.changed(Lpa(3), Some(Ppa(7)));
    assert_eq!(p.check(Lpa(2), 1, old[2]), None, "the group is dirty until the host has been told");
    assert_eq!(command(&mut p, 4), HpbNotice::Entry { lpa: Lpa(3), entry: 8 });
    assert_eq!(p.check(Lpa(3), 1, old[3]), None, "sent before the response came");
    assert_eq!(command(&mut p, 5), HpbNotice::None);
    assert_eq!(p.check(Lpa(3), 1, old[3]), None, "a tag that says nothing");
    p.heard(4);
    assert_eq!((p.check(Lpa(3), 1, 8), p.check(Lpa(2), 1, old[2])), (Some(Ppa(7)), Some(Ppa(102))));
}

#[test]
fn a_group_that_is_clean_with_the_response_waits_only_for_the_page_that_is_under_way() {
    let cfg = HpbConfig { sealed: false, clean_from: CleanFrom::Response, ..config(1) };
    let mut p = Publisher::new(&cfg, [1, 2], 72);
    let old = published(&mut p, 0, &contiguous());
    p.changed(Lpa(3), Some(Ppa(7)));
    assert_eq!(p.check(Lpa(2), 1, old[2]), None, "nothing has left");
    command(&mut p, 4);
    assert_eq!(p.check(Lpa(2), 1, old[2]), Some(Ppa(102)));
    assert_eq!((p.check(Lpa(3), 1, old[3]), p.check(Lpa(2), 2, old[2])), (None, None), "the old entry may still come");
    p.heard(4);
    assert_eq!(p.check(Lpa(3), 1, 8), Some(Ppa(7)));
    p.changed(Lpa(3), Some(Ppa(9)));
    assert_eq!(p.check(Lpa(2), 1, old[2]), None, "each change is delivered once");
}

#[test]
fn a_later_response_tells_that_the_earlier_ones_have_come() {
    let mut p = plain(2);
    let entries = [0, 1].map(|group| published(&mut p, group, &contiguous()));
    p.changed(Lpa(0), Some(Ppa(7)));
    p.changed(Lpa(16), Some(Ppa(8)));
    [1, 2, 3].into_iter().for_each(|tag| _ = command(&mut p, tag));
    p.heard(1);
    assert!(p.check(Lpa(1), 1, entries[0][1]).is_some() && p.check(Lpa(17), 1, entries[1][1]).is_none());
    p.heard(3);
    assert!(p.check(Lpa(17), 1, entries[1][1]).is_some());
}

#[test]
fn a_trim_is_delivered_as_no_entry() {
    let mut p = plain(1);
    published(&mut p, 0, &contiguous());
    p.changed(Lpa(1), None);
    assert_eq!(command(&mut p, 0), HpbNotice::Entry { lpa: Lpa(1), entry: 0 });
}

#[test]
fn every_change_of_a_page_with_a_plain_entry_is_delivered() {
    let mut p = plain(1);
    published(&mut p, 0, &contiguous());
    for ppa in 1..=6 {
        p.changed(Lpa(3), Some(Ppa(ppa)));
        assert_eq!(command(&mut p, 0), HpbNotice::Entry { lpa: Lpa(3), entry: u64::from(ppa) + 1 });
        p.heard(0);
        assert_eq!(p.check(Lpa(3), 1, u64::from(ppa) + 1), Some(Ppa(ppa)));
    }
}

/// Without counters a group is tracked only as long as changes of it are under way.
#[test]
fn as_many_groups_with_plain_entries_as_are_tracked_have_changes_under_way() {
    let mut p = plain(1);
    let entries = [0, 1].map(|group| published(&mut p, group, &contiguous()));
    p.changed(Lpa(0), Some(Ppa(7)));
    p.changed(Lpa(16), Some(Ppa(8)));
    assert_eq!(command(&mut p, 0), HpbNotice::DirtyGroup(1), "the other group is tracked");
    assert!(matches!(command(&mut p, 1), HpbNotice::Entry { lpa: Lpa(0), .. }));
    p.heard(1);
    published(&mut p, 1, &contiguous());
    p.changed(Lpa(16), Some(Ppa(9)));
    assert!(matches!(command(&mut p, 0), HpbNotice::Entry { lpa: Lpa(16), .. }), "now it is this one's turn");
    assert!(p.check(Lpa(1), 1, entries[0][1]).is_some());
    let mut p = plain(0);
    published(&mut p, 0, &contiguous());
    p.changed(Lpa(0), Some(Ppa(7)));
    assert_eq!(command(&mut p, 0), HpbNotice::DirtyGroup(0), "one bit for a group, and nothing else");
}

#[test]
fn a_group_with_plain_entries_stays_tracked_until_the_host_has_all_its_changes() {
    let mut p = plain(1);
    published(&mut p, 0, &contiguous());
    p.changed(Lpa(0), Some(Ppa(7)));
    p.changed(Lpa(3), Some(Ppa(8)));
    assert_eq!(command(&mut p, 0), HpbNotice::Entry { lpa: Lpa(0), entry: 8 });
    assert_eq!(command(&mut p, 1), HpbNotice::Entry { lpa: Lpa(3), entry: 9 });
}

#[test]
fn a_group_that_is_read_again_does_not_wait_for_older_responses() {
    let mut p = plain(1);
    published(&mut p, 0, &contiguous());
    p.changed(Lpa(3), Some(Ppa(7)));
    command(&mut p, 0);
    let entries = published(&mut p, 0, &contiguous());
    assert_eq!(p.check(Lpa(3), 1, entries[3]), Some(Ppa(103)));
    p.changed(Lpa(3), Some(Ppa(8)));
    p.heard(0);
    assert_eq!(p.check(Lpa(3), 1, entries[3]), None, "the response told of an earlier change");
    command(&mut p, 0);
    p.heard(0);
    assert_eq!(p.check(Lpa(3), 1, 9), Some(Ppa(8)));
}
