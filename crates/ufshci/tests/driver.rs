//! What a driver like that of Linux 6.1 asks a controller, and gets.

use ufshci::registers as reg;
use units::Nanos;

use crate::host::{BLOCK, DATA, Host, UTRL, blocks_cdb, brought_up, command, up};

#[test]
fn a_driver_finds_what_it_looks_for() {
    let mut host = up(true);
    host.ring(0, &[0; 32], 0);
    assert_eq!(host.wait(0)[0], 0x20, "NOP IN");
    assert_eq!(host.query(0x81, 6, 0x01, 0).0, 0, "fDeviceInit can be set");
    assert_eq!(host.query(0x01, 5, 0x01, 0), (0, 0, vec![]), "and clears itself");
    let (_, _, device) = host.query(0x01, 1, 0x00, 0);
    assert_eq!(
        (device.len(), &device[0x10..0x12], device[0x1F] >> 7, &device[0x40..0x43]),
        (0x59, &[3, 0x10][..], 1, &[2, 0, 0][..])
    );
    let (_, _, geometry) = host.query(0x01, 1, 0x07, 0);
    let region = 512 << geometry[0x48];
    assert_eq!((geometry.len(), region, 512_u64 << geometry[0x4A]), (0x57, 2048 * 4096_u64, 1024 * 4096));
    let (_, _, unit) = host.query(0x01, 1, 0x02, 0);
    assert_eq!((unit[0x03], unit[0x0A], &unit[0x0B..0x13]), (2, 12, &(1_u64 << 20).to_be_bytes()[..]));
    assert_eq!(host.query(0x01, 1, 0x02, 9).0, 0xFC);
    assert_eq!(host.query(0x01, 1, 0x77, 0).0, 0xFD);
    assert_eq!(host.query(0x01, 5, 0x12, 0).1, 1, "fHPBEn");
    assert_eq!(host.query(0x01, 3, 0x01, 0).1, 127, "bMAX_DATA_SIZE_FOR_HPB_SINGLE_CMD");
    let (_, _, product) = host.query(0x01, 1, 0x05, 2);
    assert_eq!(product[2..6], [0, b't', 0, b'e']);

    let mut plain = up(false);
    let (_, _, device) = plain.query(0x01, 1, 0x00, 0);
    assert_eq!(device[0x1F], 0);
    assert_eq!(plain.query(0x01, 5, 0x12, 0).0, 0xFD);

    assert_eq!(host.scsi_in(3, 0, &[0x12, 0, 0, 0, 36, 0], 36)[8..14], *b"ufsim ");
    for lun in [0xD0, 0xC4] {
        assert_eq!(host.scsi_in(3, lun, &[0x12, 0, 0, 0, 36, 0], 36)[0], 0x1E);
    }
    assert_eq!(host.scsi_in(3, 5, &[0x12, 0, 0, 0, 36, 0], 36)[0], 0x7F, "no such unit");
    assert_eq!(host.scsi_in(3, 0, &[0x25], 8), [0, 0xF, 0xFF, 0xFF, 0, 0, 0x10, 0]);
    let pages = host.scsi_in(3, 0, &[0x5A, 0, 8, 0, 0, 0, 0, 0, 28, 0], 28);
    assert_eq!((pages[3], pages[8], pages[10]), (0x10, 0x08, 0x04), "FUA and a write cache");
}

#[test]
fn blocks_come_back_as_they_were_written() {
    let mut host = up(true);
    let data: Vec<u8> = (0..3 * BLOCK).map(|i| (i / 7) as u8).collect();
    host.write_blocks(4, 100, &data);
    let response = host.wait(4);
    assert_eq!((response[9], &response[32..36], response[36]), (2, &[0, 0x12, 0x80, 0x10][..], 1), "HPB notice");
    assert!(host.scsi_in(5, 0, &blocks_cdb(0x28, 100, 3), 3 * BLOCK) == data);
    let long = [0x88, 0, 0, 0, 0, 0, 0, 0, 0, 101, 0, 0, 0, 1, 0, 0];
    assert!(host.scsi_in(5, 0, &long, BLOCK) == data[BLOCK..2 * BLOCK]);
    assert!(host.scsi_in(5, 0, &[0x08, 0, 0, 102, 1, 0], BLOCK) == data[2 * BLOCK..]);
    let mut hpb = [0; 16];
    (hpb[0], hpb[5], hpb[13], hpb[14]) = (0xF8, 100, 9, 1);
    assert!(host.scsi_in(5, 0, &hpb, BLOCK) == data[..BLOCK]);
    hpb[14] = 0;
    host.ring(5, &command(5, 0, 0, &hpb, 0), 0);
    assert_eq!(host.wait(5)[7], 0, "of length 0, without data");
    let buffer = host.scsi_in(6, 0, &[0xF9, 1, 0, 0, 0, 1, 0, 0x20, 0, 0], 8192);
    assert_eq!(buffer[8184..], [1, 2, 3, 4, 5, 6, 7, 8]);
    let mut list = [0; 24];
    (list[1], list[3], list[15], list[19]) = (22, 16, 101, 1);
    host.put(DATA, &list);
    host.ring(0, &command(0, 0, 0x20, &[0x42, 0, 0, 0, 0, 0, 0, 0, 24, 0], 24), 24);
    assert_eq!(host.wait(0)[7], 0);
    assert!(host.scsi_in(5, 0, &blocks_cdb(0x28, 101, 1), BLOCK) == [0; BLOCK]);
}

#[test]
fn what_is_wrong_ends_in_the_errors_of_the_standards() {
    let mut host = up(false);
    host.ring(1, &command(1, 0, 0x40, &blocks_cdb(0x28, 1 << 21, 1), BLOCK), BLOCK);
    let response = host.wait(1);
    assert_eq!((response[7], response[36], response[46]), (2, 5, 0x21), "out of range");
    host.ring(1, &command(1, 0, 0, &[0xEE], 0), 0);
    let response = host.wait(1);
    assert_eq!((response[7], response[36], response[46]), (2, 5, 0x20), "no such command");
    let mut short = command(1, 0, 0x40, &blocks_cdb(0x28, 0, 2), 2 * BLOCK);
    host.ring(1, &short, BLOCK);
    host.interrupt();
    assert_eq!(host.status(1), 3, "the PRDT is too short");
    short[0] = 0x3F;
    host.ring(1, &short, 0);
    host.interrupt();
    assert_eq!(host.status(1), 1, "no such UPIU");
    host.put(UTRL + 32 + 16, &0xFFFF_FF80_u32.to_le_bytes());
    host.write(reg::UTRLDBR, 1 << 1);
    host.interrupt();
    assert_eq!(host.status(1), 1, "its table is elsewhere");
    host.write(reg::UTRLBA, 0xFFFF_FC00);
    host.write(reg::UTRLDBR, 1 << 1);
    assert_eq!(host.interrupt(), reg::SBFES, "the list is elsewhere");
    assert_eq!(host.controller.counters().bad_lists, 4);
}

#[test]
fn a_command_that_was_given_up_keeps_its_slot_until_the_medium_lets_go_of_it() {
    let mut host = up(false);
    host.write_blocks(7, 1, &[7; BLOCK]);
    assert_eq!(host.task(0x80, 7), 8, "it is at work");
    assert_eq!(host.task(0x80, 8), 0, "and this one is not");
    let before = host.now;
    assert_eq!(host.task(0x01, 7), 0);
    assert!(host.now.since(before) > Nanos(30_000), "the medium had to end it first");
    assert_eq!(host.task(0x80, 7), 0);
    host.write(reg::UTRLCLR, !(1 << 7));
    assert_eq!((host.read(reg::UTRLDBR), host.status(7)), (0, 0x0F), "nobody has written a status");

    host.write_blocks(7, 2, &[8; BLOCK]);
    host.write(reg::UTRLCLR, !(1 << 7));
    host.write_blocks(7, 3, &[9; BLOCK]);
    host.wait(7);
    assert!(host.scsi_in(9, 0, &blocks_cdb(0x28, 3, 1), BLOCK) == [9; BLOCK]);
    assert_eq!(host.controller.counters().aborted_slots, 2);
}

#[test]
fn an_hp_ufs_device_describes_itself_and_turns_away_what_would_have_to_wait() {
    assert_ne!(up(true).query(0x01, 1, 0xF0, 0).0, 0, "a device of HPB has no such descriptor");
    let mut host = brought_up(Host::new(false, true));
    let (failure, _, descriptor) = host.query(0x01, 1, 0xF0, 0);
    assert_eq!((failure, descriptor.len()), (0, 32));
    assert_eq!(descriptor[4..14], [0, 0, 1, 0, 0, 0, 0x10, 0, 4, 0]);
    assert_eq!(descriptor[20..32], [0, 0, 0, 3, 0, 0, 1, 2, 3, 4, 5, 6]);
    host.write_blocks(5, 0, &[7; BLOCK]);
    host.write(reg::UTRLCLR, !(1 << 5));
    // What such a command says is of this moment, and its slot is not free.
    host.write_blocks(5, 0, &[8; BLOCK]);
    assert_eq!(host.wait(5)[7], 0x08, "BUSY");
    host.write_blocks(6, 1, &[9; BLOCK]);
    host.wait(6);
    host.write_blocks(5, 0, &[8; BLOCK]);
    assert_eq!(host.wait(5)[7], 0, "the first command has ended");
    assert_eq!(host.controller.counters().turned_away, 1);
}

#[test]
fn a_reset_forgets_everything_but_the_device() {
    let mut host = up(false);
    host.write_blocks(7, 1, &[7; BLOCK]);
    host.wait(7);
    (0..32).for_each(|slot| host.write_blocks(slot, 10 + u32::from(slot), &[slot; BLOCK]));
    host.write(reg::HCE, 0);
    assert_eq!((host.read(reg::UTRLDBR), host.read(reg::IE), host.read(reg::HCS)), (0, 0, 0));
    host.bring_up();
    assert!(host.scsi_in(3, 0, &blocks_cdb(0x28, 1, 1), BLOCK) == [7; BLOCK]);
    assert_eq!(host.controller.counters().aborted_slots, 32);
    assert_eq!(host.task(0x08, 0), 0, "LU RESET with nothing at work");
    assert_eq!(host.task(0x55, 0), 4, "no such function");
}

#[test]
fn a_unit_tells_once_that_it_was_reset() {
    let mut host = up(false);
    host.scsi_in(1, 0, &[0; 6], 0);
    assert_eq!(host.task(0x08, 0), 0, "LU RESET of unit 0");
    assert_eq!(host.scsi_in(1, 0, &[0x12, 0, 0, 0, 36, 0], 36)[0], 0, "INQUIRY is answered all the same");
    assert_eq!(host.scsi_in(1, 0xD0, &[0x03, 0, 0, 0, 18, 0], 18)[2], 0, "it is not the device's unit that was reset");
    host.write_blocks(2, 5, &[5; BLOCK]);
    let response = host.wait(2);
    assert_eq!((response[7], response[36], response[46]), (2, 6, 0x29), "and nothing was written");
    assert!(host.scsi_in(1, 0, &blocks_cdb(0x28, 5, 1), BLOCK) == [0; BLOCK]);
    host.task(0x08, 0);
    let sense = host.scsi_in(1, 0, &[0x03, 0, 0, 0, 18, 0], 18);
    assert_eq!((sense[2], sense[12]), (6, 0x29), "REQUEST SENSE asks for it");
    host.scsi_in(1, 0, &[0; 6], 0);
    host.controller.switch_on();
    host.bring_up();
    host.hear_of_reset();
}

#[test]
fn a_device_that_recovers_says_so() {
    let mut host = Host::new(false, false);
    host.controller.medium_mut().recovering = true;
    host.bring_up();
    host.hear_of_reset();
    assert_eq!(host.query(0x01, 5, 0x01, 0).1, 1, "fDeviceInit stays");
    host.ring(1, &command(1, 0, 0x40, &blocks_cdb(0x28, 0, 1), BLOCK), BLOCK);
    let response = host.wait(1);
    assert_eq!((response[7], response[36]), (2, 2), "not ready");
    host.controller.medium_mut().recovering = false;
    assert_eq!(host.query(0x01, 5, 0x01, 0).1, 0);
}

#[test]
fn a_device_that_loses_its_power_answers_nothing_more_and_begins_anew() {
    let mut host = Host::new(false, false);
    host.bring_up();
    host.hear_of_reset();
    host.write_blocks(3, 40, &[7; BLOCK]);
    assert_eq!(host.wait(3)[7], 0);
    host.write_blocks(4, 41, &[8; BLOCK]);
    host.write(reg::POWER, 1);
    assert_eq!((host.controller.medium().cycles, host.controller.counters().power_cycles), (1, 1));
    assert_eq!(host.controller.next_event(), None, "nobody answers");
    assert_eq!(host.read(reg::UTRLDBR), 1 << 4, "the slot is the driver's to clear");
    // As after a reset of the controller, which does not reach the device.
    host.write(reg::HCE, 0);
    host.write(reg::POWER, 1);
    assert_eq!(host.controller.medium().cycles, 2, "a controller that is off has power to switch, too");
    host.bring_up();
    host.hear_of_reset();
    let found = host.scsi_in(4, 0, &blocks_cdb(0x28, 40, 2), 2 * BLOCK);
    assert!(found == [[7; BLOCK], [0; BLOCK]].concat());
}
