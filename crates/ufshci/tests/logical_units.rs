//! Several logical units: each has its own addresses, and no command of one reaches another.

use ufs::{HpbNotice, Op, Recommendation};
use units::{LogicalUnits, Lpa};

use crate::host::{BLOCK, DATA, Host, INFO, blocks_cdb, command};

/// Of 512 HPB regions of 2048 units: number 1 has regions 508 and 509, number 2 the last two.
const SIZES: [u32; 2] = [4096, 4096];
const FIRST: [u32; 3] = [0, (1 << 20) - 8192, (1 << 20) - 4096];

const ILLEGAL: u8 = 0x05;

fn three(hpb: bool) -> Host {
    let mut host = Host::with_units(hpb, false, LogicalUnits::of(INFO.capacity_units, &SIZES));
    host.bring_up();
    host.hear_of_reset_of(&[0, 1, 2, 0xD0]);
    host
}

impl Host {
    fn last_op(&self) -> Op {
        *self.controller.medium().ops.last().expect("an operation")
    }

    /// Key and code of a command without data.
    fn refusal(&mut self, lun: u8, cdb: &[u8]) -> Option<(u8, u8)> {
        self.ring(9, &command(9, lun, 0, cdb, 0), 0);
        self.sense(9)
    }
}

#[test]
fn a_driver_finds_each_with_its_size() {
    let mut host = three(true);
    let list = host.scsi_in(3, 0, &[0xA0, 0, 0, 0, 0, 0, 0, 0, 0, 64, 0, 0], 32);
    assert_eq!((list[3], [list[9], list[17], list[25]]), (24, [0, 1, 2]));
    let (_, _, device) = host.query(0x01, 1, 0x00, 0);
    let (_, _, geometry) = host.query(0x01, 1, 0x07, 0);
    assert_eq!((device[0x06], geometry[0x0C], geometry[0x49], &geometry[0x4B..0x4D]), (3, 0, 3, &[2, 0][..]));
    for (lun, units, regions) in [(0, FIRST[1], 508), (1, SIZES[0], 2), (2, SIZES[1], 2)] {
        let (_, _, unit) = host.query(0x01, 1, 0x02, lun);
        assert_eq!(
            (unit[0x02], unit[0x03], unit[0x0B..0x13].to_vec()),
            (lun, 2, u64::from(units).to_be_bytes().into())
        );
        assert_eq!(u16::from_be_bytes([unit[0x23], unit[0x24]]), regions, "wLUMaxActiveHPBRegions");
        let last = (units - 1).to_be_bytes();
        assert_eq!(host.scsi_in(3, lun, &[0x25], 8)[..4], last, "READ CAPACITY(10)");
        let long = host.scsi_in(3, lun, &[0x9E, 0x10, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 32], 32);
        assert_eq!((&long[..4], &long[4..8]), (&[0; 4][..], &last[..]), "READ CAPACITY(16)");
        assert_eq!(host.scsi_in(3, lun, &[0x12, 0, 0, 0, 36, 0], 36)[0], 0, "INQUIRY");
        assert_eq!(host.scsi_in(3, lun, &[0x5A, 0, 8, 0, 0, 0, 0, 0, 28, 0], 28)[8], 8, "MODE SENSE");
    }
    assert_eq!(host.query(0x01, 1, 0x02, 3).2[0x03], 0, "bLUEnable of one that is not there");
    assert_eq!(host.scsi_in(3, 3, &[0x12, 0, 0, 0, 36, 0], 36)[0], 0x7F);
    assert_eq!(host.refusal(3, &[0; 6]), Some((ILLEGAL, 0x25)), "and it never had a reset to tell of");
}

#[test]
fn an_address_is_its_own_units() {
    let mut host = three(false);
    for lun in 0..3 {
        host.write_to(lun, 4, 5, &[lun + 1; BLOCK]);
        assert_eq!(host.wait(4)[2], lun, "LUN of the response");
        assert_eq!(host.last_op(), Op::Write { lpa: Lpa(FIRST[usize::from(lun)] + 5), len: 1, fua: false });
    }
    for lun in 0..3 {
        assert!(host.scsi_in(5, lun, &blocks_cdb(0x28, 5, 1), BLOCK) == [lun + 1; BLOCK]);
    }
    let mut list = [0; 24];
    (list[1], list[3], list[15], list[19]) = (22, 16, 5, 1);
    host.put(DATA, &list);
    host.ring(0, &command(0, 1, 0x20, &[0x42, 0, 0, 0, 0, 0, 0, 0, 24, 0], 24), 24);
    assert_eq!((host.sense(0), host.last_op()), (None, Op::Unmap { lpa: Lpa(FIRST[1] + 5), len: 1 }));
    let left = [0, 1, 2].map(|lun| host.scsi_in(5, lun, &blocks_cdb(0x28, 5, 1), BLOCK)[0]);
    assert_eq!(left, [1, 0, 3], "only unit 1 was unmapped");
    assert_eq!((host.refusal(2, &[0x35, 0, 0, 0, 0, 0, 0, 0, 0, 0]), host.last_op()), (None, Op::Flush));
}

#[test]
fn nothing_reaches_beyond_a_units_end() {
    let mut host = three(true);
    let before = host.controller.medium().ops.len();
    let out_of_range = Some((ILLEGAL, 0x21));
    for (lun, units) in [(0, FIRST[1]), (1, SIZES[0]), (2, SIZES[1])] {
        for (lba, blocks) in [(units - 1, 2), (units, 1), (u32::MAX, 1)] {
            let bytes = blocks * BLOCK;
            host.ring(1, &command(1, lun, 0x40, &blocks_cdb(0x28, lba, blocks), bytes), bytes);
            assert_eq!(host.sense(1), out_of_range, "read of {blocks} at {lba} of unit {lun}");
            host.write_to(lun, 1, lba, &vec![1; bytes]);
            assert_eq!(host.sense(1), out_of_range, "write of {blocks} at {lba} of unit {lun}");
            assert_eq!(host.refusal(lun, &blocks_cdb(0x2F, lba, blocks)), out_of_range, "verify");
            let mut read = [0; 16];
            (read[0], read[14]) = (0xF8, blocks as u8);
            read[2..6].copy_from_slice(&lba.to_be_bytes());
            host.ring(1, &command(1, lun, 0x40, &read, bytes), bytes);
            assert_eq!(host.sense(1), out_of_range, "HPB READ");
        }
    }
    // Regions have numbers from 0 in each unit, and unit 1 has two.
    let buffer = [0xF9, 1, 0, 2, 0, 0, 0, 0x20, 0, 0];
    host.ring(1, &command(1, 1, 0x40, &buffer, 8192), 8192);
    assert_eq!(host.sense(1), Some((ILLEGAL, 0x24)));
    assert_eq!(host.refusal(1, &[0xFA, 1, 0, 2]), Some((ILLEGAL, 0x24)));
    assert_eq!(host.controller.medium().ops.len(), before, "the device saw none of it");
}

#[test]
fn hpb_regions_have_numbers_of_their_unit() {
    let mut host = three(true);
    let fetch = |host: &mut Host, lun: u8| {
        host.scsi_in(6, lun, &[0xF9, 1, 0, 1, 0, 1, 0, 0x20, 0, 0], 8192);
        host.last_op()
    };
    assert_eq!(fetch(&mut host, 0), Op::HpbReadBuffer { group: 3 });
    assert_eq!(fetch(&mut host, 1), Op::HpbReadBuffer { group: 2 * 508 + 3 });
    assert_eq!(fetch(&mut host, 2), Op::HpbReadBuffer { group: 2 * 510 + 3 });
    assert_eq!((host.refusal(2, &[0xFA, 1, 0, 1]), host.last_op()), (None, Op::HpbInactivate { region: 511 }));
    let mut read = [0; 16];
    (read[0], read[5], read[13], read[14]) = (0xF8, 7, 9, 1);
    host.scsi_in(6, 1, &read, BLOCK);
    assert_eq!(host.last_op(), Op::HpbRead { lpa: Lpa(FIRST[1] + 7), len: 1, entry: 9 });
}

#[test]
fn a_notice_names_its_unit_and_one_of_several_waits_for_the_next_response() {
    let mut host = three(true);
    let notice = |host: &mut Host, told: HpbNotice| {
        host.controller.medium_mut().notice = Some(told);
        host.write_to(0, 4, 5, &[7; BLOCK]);
        let response = host.wait(4);
        assert_eq!((response[2], response[7]), (0, 0));
        (response[9] & 2 != 0).then(|| response[32 + 5..52].to_vec())
    };
    let told = notice(&mut host, HpbNotice::DirtyGroup(2 * 508 + 3)).expect("a notice");
    assert_eq!(told, [1, 1, 0, 0, 1, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0], "of unit 1: region 1, subregion 1");
    let mixed = Recommendation { activate: [Some(2 * 510), Some(4)], inactivate: [Some(509), Some(3)] };
    let told = notice(&mut host, HpbNotice::Recommend(mixed)).expect("a notice");
    assert_eq!(told, [0, 1, 1, 0, 2, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0], "of unit 0: activate 2, inactivate 3");
    let told = notice(&mut host, HpbNotice::None).expect("a notice");
    assert_eq!(told, [1, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0], "of unit 1: inactivate 1");
    let told = notice(&mut host, HpbNotice::None).expect("a notice");
    assert_eq!(told, [2, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], "of unit 2: activate 0");
    assert_eq!(notice(&mut host, HpbNotice::None), None);
    notice(&mut host, HpbNotice::Recommend(mixed));
    host.controller.switch_on();
    host.bring_up();
    host.hear_of_reset_of(&[0, 1, 2, 0xD0]);
    assert_eq!(notice(&mut host, HpbNotice::None), None, "what waited is gone with the power");
}

#[test]
fn task_management_concerns_one_unit() {
    let mut host = three(false);
    let begin = |host: &mut Host| {
        host.write_to(0, 7, 1, &[7; BLOCK]);
        host.write_to(1, 8, 1, &[8; BLOCK]);
    };
    begin(&mut host);
    assert_eq!([0, 1, 2].map(|lun| host.task_of(lun, 0x81, 0)), [8, 8, 0], "QUERY TASK SET");
    begin(&mut host);
    assert_eq!([0, 1].map(|lun| host.task_of(lun, 0x80, 8)), [0, 8], "QUERY TASK of slot 8");
    assert_eq!(host.task_of(5, 0x08, 0), 9, "there is no unit 5");
    begin(&mut host);
    assert_eq!(host.task_of(1, 0x08, 0), 0, "LU RESET of unit 1");
    assert_eq!(host.controller.counters().aborted_slots, 1);
    assert_eq!(host.wait(7)[7], 0, "the command of unit 0 goes on");
    host.hear_of_reset_of(&[1]);
    assert_eq!([0, 1].map(|lun| host.refusal(lun, &[0; 6])), [None, None], "and nobody else was reset");
}

#[test]
fn commands_that_name_addresses_of_the_device_are_for_a_device_with_one_unit() {
    let mut host = three(false);
    // HP-UFS: segment read, entry transfer; MAP+: cache query.
    for (cdb, bytes) in [([0xC0, 0, 0, 0, 0, 1, 0, 0x10, 0, 0], 4096), ([0xC2, 0, 0, 0, 0, 0, 0, 0x80, 0, 0], 32768)] {
        for lun in 0..3 {
            host.ring(1, &command(1, lun, 0x40, &cdb, bytes), bytes);
            assert_eq!(host.sense(1), Some((ILLEGAL, 0x24)), "{:x}h", cdb[0]);
        }
    }
    // A freed block beside a READ, and a mapped read.
    for set in [8, 9] {
        let mut upiu = command(1, 0, 0x40, &blocks_cdb(0x28, 0, 1), BLOCK);
        upiu[4] = set;
        upiu.extend([0, 0, 0, 3, 0, 0, 0, 0]);
        host.ring(1, &upiu, BLOCK);
        assert_eq!(host.sense(1), Some((ILLEGAL, 0x24)), "command set type {set}");
    }
}
