//! Which superblock is collected next, and which bitmaps are refused.

use super::*;
use crate::hp_ufs::HpUfs;
use crate::hp_ufs::tests::fill;
use crate::small;
use ftl::seat::{Scheme, Stream};

/// The last change in all full superblocks.
const LAST: Seq = Seq(9);

/// A device with three full superblocks, the first three, and an open one.
fn victims() -> (Core, Victims) {
    let cfg = small::config();
    let units = HpUfs::map_units(&cfg, &small::params::<crate::HpUfs>());
    let mut core = Core::in_test(cfg, units);
    for sb in 0..3 {
        assert_eq!(fill(core.blocks_in_test(), LAST.0), Superblock(sb));
    }
    assert_eq!(core.blocks_in_test().open_next(Stream::Host), Some(Superblock(3)));
    let victims = Victims::new(&core);
    (core, victims)
}

/// A bitmap of a superblock of 64 units.
fn sent(sb: u32, reason: BitmapFor, bits: u64) -> SentBitmap {
    SentBitmap { block: Superblock(sb), reason, data: DataOut::Bitmap([bits].into()) }
}

fn for_gc(sb: u32) -> SentBitmap {
    sent(sb, BitmapFor::Gc, 0b1011)
}

fn for_wear(sb: u32) -> SentBitmap {
    sent(sb, BitmapFor::WearLevelling, 1)
}

/// A device whose victim is superblock 0.
fn collecting() -> (Core, Victims) {
    let (core, mut victims) = victims();
    assert!(victims.choose(&core, None).is_none());
    assert_eq!(victims.bitmap(&core, for_gc(0), LAST), Status::Good);
    assert_eq!(victims.choose(&core, None).map(|victim| victim.sb), Some(Superblock(0)));
    (core, victims)
}

#[test]
fn the_host_names_a_victim_when_gc_wants_one() {
    let (core, mut victims) = victims();
    assert!(!victims.wanted());
    assert_eq!(victims.bitmap(&core, for_gc(0), LAST), Status::InvalidField, "nobody has asked");
    assert!(victims.choose(&core, None).is_none());
    assert!(victims.wanted());
    assert_eq!(victims.bitmap(&core, for_gc(0), LAST), Status::Good);
    assert!(!victims.wanted());
    let victim = victims.choose(&core, None).expect("the host has answered");
    assert_eq!((victim.sb, victim.wear, victim.valid, &victim.bitmap[..]), (Superblock(0), false, 3, &[0b1011][..]));
}

/// Each reason alone is enough.
#[test]
fn a_bitmap_that_may_be_wrong_is_refused() {
    let refused = |(core, mut victims): (Core, Victims), sent, host_seq| {
        assert!(victims.choose(&core, None).is_none());
        assert_eq!(victims.bitmap(&core, sent, host_seq), Status::InvalidField);
        assert!(victims.wanted(), "the host is asked again");
    };
    refused(victims(), SentBitmap { data: DataOut::None, ..for_gc(0) }, LAST);
    refused(victims(), SentBitmap { data: DataOut::Bitmap([1, 0].into()), ..for_gc(0) }, LAST);
    refused(victims(), SentBitmap { data: DataOut::Bitmap([].into()), ..for_gc(0) }, LAST);
    refused(victims(), for_gc(3), LAST);
    refused(victims(), for_gc(0), Seq(8));
    refused(collecting(), for_gc(0), LAST);
    let (core, mut victims) = victims();
    victims.copied(Superblock(0), Seq(12));
    refused((core, victims), for_gc(0), Seq(11));
}

#[test]
fn a_bitmap_is_as_new_as_the_last_copy_from_its_block() {
    let (core, mut victims) = victims();
    victims.copied(Superblock(0), Seq(12));
    assert!(victims.choose(&core, None).is_none());
    assert_eq!(victims.bitmap(&core, for_gc(0), Seq(11)), Status::InvalidField);
    assert_eq!(victims.bitmap(&core, for_gc(1), Seq(11)), Status::Good, "nothing was copied from this one");
    assert!(victims.choose(&core, None).is_some());
    assert!(victims.choose(&core, None).is_none());
    assert_eq!(victims.bitmap(&core, for_gc(0), Seq(12)), Status::Good);
    victims.erased(Superblock(0));
    assert!(victims.choose(&core, None).is_none(), "the victim is erased already");
    assert_eq!(victims.bitmap(&core, for_gc(0), LAST), Status::Good, "what was copied from it is of the past");
}

#[test]
fn one_answer_at_a_time() {
    let (core, mut victims) = victims();
    assert!(victims.choose(&core, Some(Superblock(2))).is_none());
    assert!(victims.choose(&core, None).is_none());
    assert_eq!(victims.bitmap(&core, for_gc(0), LAST), Status::Good);
    assert_eq!(victims.bitmap(&core, for_wear(2), LAST), Status::InvalidField, "superblock 0 is to be collected first");
    assert_eq!(victims.choose(&core, None).map(|victim| victim.sb), Some(Superblock(0)));
    assert!(victims.choose(&core, None).is_none());
    assert_eq!(victims.bitmap(&core, for_gc(1), LAST), Status::Good, "while 0 is collected");
    victims.erased(Superblock(2));
    assert_eq!(victims.choose(&core, None).map(|victim| victim.sb), Some(Superblock(1)), "another one was erased");
}

#[test]
fn the_superblock_named_for_wear_levelling_is_asked_for_once() {
    let (core, mut victims) = victims();
    for expected in [Some(Superblock(2)), None] {
        assert!(victims.choose(&core, Some(Superblock(2))).is_none());
        assert_eq!(victims.question(), expected);
        assert_eq!(victims.question(), None);
    }
    victims.ask_again();
    assert_eq!([victims.question(), victims.question()], [Some(Superblock(2)), None], "the host has lost the question");
    assert!(!victims.wanted());
    assert_eq!(victims.bitmap(&core, for_wear(1), LAST), Status::InvalidField, "another one was asked for");
    assert_eq!(victims.bitmap(&core, for_wear(2), LAST), Status::Good);
    let victim = victims.choose(&core, None).expect("the host has answered");
    assert_eq!((victim.sb, victim.wear, victim.valid), (Superblock(2), true, 1));
}

#[test]
fn gc_asks_if_the_superblock_named_for_wear_levelling_is_open() {
    let (core, mut victims) = victims();
    assert!(victims.choose(&core, Some(Superblock(3))).is_none());
    assert_eq!((victims.wanted(), victims.question()), (true, None));
}

#[test]
fn gc_asks_first_after_a_refused_answer_for_wear_levelling() {
    let (core, mut victims) = victims();
    let named = Some(Superblock(2));
    assert!(victims.choose(&core, named).is_none());
    assert_eq!(victims.question(), named);
    assert_eq!(victims.bitmap(&core, for_wear(2), Seq(8)), Status::InvalidField, "it is out of date");
    assert!(victims.choose(&core, named).is_none());
    assert_eq!((victims.wanted(), victims.question()), (true, None));
    assert!(victims.choose(&core, named).is_none());
    assert_eq!(victims.question(), named);
}

#[test]
fn a_victim_that_the_host_finds_empty_is_erased_when_it_has_been_collected() {
    for empty in [false, true] {
        let (_, mut victims) = collecting();
        assert!(!victims.found_empty(Superblock(1)), "another one is being collected");
        if empty {
            assert!(victims.found_empty(Superblock(0)));
        }
        assert_eq!(victims.collected(Superblock(0), LAST), empty);
        assert!(!victims.found_empty(Superblock(0)), "it has been collected");
    }
}

/// 4 bytes for each of 80 superblocks.
#[test]
fn the_table_takes_a_number_for_each_superblock() {
    assert_eq!(victims().1.table_bytes(), 320);
}
