//! A small driver that brings the controller up as `ufshcd` of Linux 6.1 does, and does I/O through lists in memory.

use std::collections::VecDeque;

use ufs::codec::hpufs::PowerOn;
use ufs::{
    Booster, BoosterControl, BoosterFlags, Command, Content, DataIn, DeviceInfo, FlushStatus, Health, HpbNotice, Op,
    PiggyBack, ResizeHint, ResizeStatus, Response, Status, UserSpace,
};
use ufshci::registers as reg;
use ufshci::{Answer, Controller, Description, Medium};
use units::{Nanos, Seq, SimTime};

const INFO: DeviceInfo = DeviceInfo {
    capacity_units: 1 << 20,
    superblocks: 256,
    superblock_units: 4096,
    map_page_entries: 1024,
    map_cache_entries: 2048,
    victims: ufs::Victims::GREEDY,
    hpb_group_entries: 1024,
    hpb_entry_bytes: 8,
    hpb_region_groups: 2,
    hpb_max_blocks: 128,
    hpb_device_control: false,
};
const BLOCK: usize = 4096;

/// A device that takes 50 us for each command and keeps blocks.
#[derive(Default)]
struct Blocks {
    blocks: std::collections::BTreeMap<u32, Vec<u8>>,
    under: VecDeque<(SimTime, Command, Vec<u8>)>,
    done: VecDeque<Answer>,
    recovering: bool,
    cycles: u32,
    booster: Option<Booster>,
    /// What it was told of WriteBooster since somebody looked.
    told: Vec<BoosterControl>,
}

impl Blocks {
    fn end(&mut self, at: SimTime, command: &Command, written: &[u8]) -> Answer {
        let mut response = Response {
            tag: command.tag,
            status: Status::Good,
            data: DataIn::None,
            hpb: HpbNotice::None,
            piggyback: PiggyBack::default(),
        };
        let mut data = Vec::new();
        match command.op {
            Op::Read { lpa, len } | Op::HpbRead { lpa, len, .. } if lpa.0 + len <= INFO.capacity_units => {
                let block = |lpa| self.blocks.get(&lpa).cloned().unwrap_or_else(|| vec![0; BLOCK]);
                data = (lpa.0..lpa.0 + len).flat_map(block).collect();
                response.data = DataIn::One(Some(Content { lpa, stamp: 1 }));
            }
            Op::Read { .. } => response.status = Status::OutOfRange,
            Op::Write { lpa, .. } => {
                let blocks = (lpa.0..).zip(written.chunks(BLOCK).map(<[u8]>::to_vec));
                self.blocks.extend(blocks);
                response.hpb = HpbNotice::DirtyGroup(lpa.0 / INFO.hpb_group_entries);
            }
            Op::Unmap { lpa, len } => self.blocks.retain(|&one, _| !(lpa.0..lpa.0 + len).contains(&one)),
            Op::HpbReadBuffer { .. } => response.data = DataIn::Sealed(vec![0x0102_0304_0506_0708; 1024]),
            _ => {}
        }
        Answer { at, response, data }
    }
}

impl Medium for Blocks {
    fn info(&self) -> &DeviceInfo {
        &INFO
    }

    fn is_ready(&self) -> bool {
        !self.recovering
    }

    fn booster(&self) -> Option<Booster> {
        self.booster
    }

    fn control_booster(&mut self, _: SimTime, control: BoosterControl) {
        self.told.push(control);
        if let (BoosterControl::Flags(flags), Some(booster)) = (control, &mut self.booster) {
            booster.flags = flags;
        }
    }

    fn health(&self) -> Health {
        Health { pre_eol: 2, life_time_slc: 3, life_time_data: 4 }
    }

    fn power_cycle(&mut self, _: SimTime) {
        self.under.clear();
        self.done.clear();
        self.cycles += 1;
    }

    fn power_on(&self) -> PowerOn {
        PowerOn { count: 3, last_change: Seq(0x0102_0304_0506) }
    }

    fn submit(&mut self, at: SimTime, command: Command, data: Vec<u8>) {
        self.under.push_back((at + Nanos(50_000), command, data));
    }

    fn next_time(&self) -> Option<SimTime> {
        self.done.front().map(|answer| answer.at).or(self.under.front().map(|(at, ..)| *at))
    }

    fn run_until(&mut self, until: SimTime) {
        while self.under.front().is_some_and(|(at, ..)| *at <= until) {
            let (at, command, data) = self.under.pop_front().unwrap();
            let answer = self.end(at, &command, &data);
            self.done.push_back(answer);
        }
    }

    fn answer(&mut self) -> Option<Answer> {
        self.done.pop_front()
    }
}

/// Where things lie in the driver's memory.
const UTRL: u64 = 0x1000;
const UTMRL: u64 = 0x2000;
const TABLES: u64 = 0x4000;
const DATA: u64 = 0x10_0000;
const DATA_BYTES: u64 = 0x1_0000;
const RESPONSE: u64 = 512;
const PRDT: u64 = 1024;

struct Host {
    controller: Controller<Blocks>,
    memory: Vec<u8>,
    now: SimTime,
}

impl Host {
    fn new(hpb: bool, hp_ufs: bool) -> Host {
        let description = Description {
            vendor: "ufsim".into(),
            product: "test device".into(),
            hpb,
            hp_ufs,
            answer_time: Nanos(5_000),
            uic_time: Nanos(1_000),
        };
        let controller = Controller::new(description, Blocks::default());
        Host { controller, memory: vec![0; 0x40_0000], now: SimTime(0) }
    }

    fn write(&mut self, register: u32, value: u32) {
        self.controller.write(self.now, register, value, &mut self.memory[..]);
    }

    fn read(&self, register: u32) -> u32 {
        self.controller.read(register)
    }

    /// Until the next interrupt; clears it and gives what it was.
    fn interrupt(&mut self) -> u32 {
        while !self.controller.line() {
            self.now = self.controller.next_event().expect("an interrupt is to come");
            self.controller.run(self.now, &mut self.memory[..]);
        }
        let status = self.read(reg::IS);
        self.write(reg::IS, status);
        assert!(!self.controller.line());
        status
    }

    fn uic(&mut self, command: u8, argument: u32, value: u32) -> u32 {
        assert!(self.read(reg::HCS) & 1 << 3 != 0, "ready for UIC commands");
        self.write(reg::UCMDARG1, argument);
        self.write(reg::UCMDARG2, 0);
        self.write(reg::UCMDARG3, value);
        self.write(reg::UICCMD, command.into());
        assert!(self.interrupt() & reg::UCCS != 0);
        assert_eq!(self.read(reg::UCMDARG2) & 0xFF, 0, "command {command:x}");
        self.read(reg::UCMDARG3)
    }

    fn bring_up(&mut self) {
        self.write(reg::HCE, 1);
        assert_eq!(self.read(reg::HCE) & 1, 1);
        self.write(reg::IE, reg::IS_BITS);
        self.uic(0x16, 0, 0);
        assert!(self.read(reg::HCS) & reg::DP != 0, "a device is there");
        self.write(reg::UTRLBA, UTRL as u32);
        self.write(reg::UTMRLBA, UTMRL as u32);
        assert_eq!(self.read(reg::HCS) & reg::READY, reg::READY);
        self.write(reg::UTRLRSR, 1);
        self.write(reg::UTMRLRSR, 1);
        assert!([0x1581, 0x1561, 0x1587].iter().all(|&attribute| self.uic(0x01, attribute << 16, 0) > 0));
        assert!(self.uic(0x03, 0x1587 << 16, 0) > 0);
        self.uic(0x02, 0x1571 << 16, 0x11);
        assert_eq!(self.read(reg::HCS) >> 8 & 7, 1, "UPMCRS");
    }

    fn table(slot: u8) -> u64 {
        TABLES + u64::from(slot) * 0x2000
    }

    fn put(&mut self, at: u64, bytes: &[u8]) {
        self.memory[at as usize..at as usize + bytes.len()].copy_from_slice(bytes);
    }

    fn get(&self, at: u64, len: usize) -> Vec<u8> {
        self.memory[at as usize..at as usize + len].to_vec()
    }

    /// Puts a request into a slot and rings.
    fn ring(&mut self, slot: u8, upiu: &[u8], data_bytes: usize) {
        let (table, data) = (Host::table(slot), DATA + u64::from(slot) * DATA_BYTES);
        self.put(table, upiu);
        // Two pieces for each block, to see that they are put together.
        let pieces = data_bytes.div_ceil(2048);
        for i in 0..pieces as u64 {
            let bytes = (data_bytes as u64 - 2048 * i).min(2048);
            self.put(table + PRDT + 16 * i, &(data + 2048 * i).to_le_bytes());
            self.put(table + PRDT + 16 * i + 12, &(bytes as u32 - 1).to_le_bytes());
        }
        let mut utrd = [0; 32];
        utrd[3] = 0x11; // UFS storage, interrupt
        utrd[8] = 0x0F;
        utrd[16..20].copy_from_slice(&(table as u32).to_le_bytes());
        utrd[24..26].copy_from_slice(&128_u16.to_le_bytes());
        utrd[26..28].copy_from_slice(&(RESPONSE as u16 / 4).to_le_bytes());
        utrd[28..30].copy_from_slice(&(pieces as u16).to_le_bytes());
        utrd[30..32].copy_from_slice(&(PRDT as u16 / 4).to_le_bytes());
        self.put(UTRL + 32 * u64::from(slot), &utrd);
        self.write(reg::UTRLDBR, 1 << slot);
    }

    fn status(&self, slot: u8) -> u8 {
        self.get(UTRL + 32 * u64::from(slot) + 8, 1)[0]
    }

    fn response(&self, slot: u8) -> Vec<u8> {
        self.get(Host::table(slot) + RESPONSE, 512)
    }

    fn data(&self, slot: u8, len: usize) -> Vec<u8> {
        self.get(DATA + u64::from(slot) * DATA_BYTES, len)
    }

    fn wait(&mut self, slot: u8) -> Vec<u8> {
        while self.read(reg::UTRLDBR) >> slot & 1 != 0 {
            assert!(self.interrupt() & reg::UTRCS != 0);
        }
        assert_eq!(self.status(slot), 0, "OCS");
        self.response(slot)
    }

    fn query(&mut self, function: u8, opcode: u8, idn: u8, index: u8) -> (u8, u32, Vec<u8>) {
        self.query_with(function, [opcode, idn, index, 0], 0)
    }

    /// A query with operation code, IDN, index and selector, and a value.
    fn query_with(&mut self, function: u8, asked: [u8; 4], value: u32) -> (u8, u32, Vec<u8>) {
        let mut upiu = [0; 32];
        (upiu[0], upiu[3], upiu[5]) = (0x16, 0, function);
        upiu[12..16].copy_from_slice(&asked);
        upiu[18] = 1;
        upiu[20..24].copy_from_slice(&value.to_be_bytes());
        self.ring(0, &upiu, 0);
        let response = self.wait(0);
        assert_eq!(response[0], 0x36);
        let len = usize::from(u16::from_be_bytes([response[10], response[11]]));
        let value = u32::from_be_bytes(response[20..24].try_into().unwrap());
        (response[6], value, response[32..32 + len].to_vec())
    }

    /// As a driver does it: each unit tells once that the power was off.
    fn hear_of_reset(&mut self) {
        for lun in [0x00, 0xD0] {
            self.ring(0, &command(0, lun, 0, &[0; 6], 0), 0);
            let response = self.wait(0);
            assert_eq!((response[7], response[36], response[46]), (2, 6, 0x29), "unit {lun:02x}: UNIT ATTENTION");
        }
    }

    fn scsi_in(&mut self, slot: u8, lun: u8, cdb: &[u8], bytes: usize) -> Vec<u8> {
        self.ring(slot, &command(slot, lun, 0x40, cdb, bytes), bytes);
        let response = self.wait(slot);
        assert_eq!((response[0], response[7]), (0x21, 0), "{:x?}", &response[..52]);
        self.data(slot, bytes)
    }

    fn write_blocks(&mut self, slot: u8, lba: u32, data: &[u8]) {
        self.put(DATA + u64::from(slot) * DATA_BYTES, data);
        let cdb = blocks_cdb(0x2A, lba, data.len() / BLOCK);
        self.ring(slot, &command(slot, 0, 0x20, &cdb, data.len()), data.len());
    }

    fn task(&mut self, function: u8, task: u8) -> u8 {
        let mut utmrd = [0; 80];
        utmrd[3] = 0x01;
        utmrd[8] = 0x0F;
        (utmrd[16], utmrd[19], utmrd[21], utmrd[35]) = (0x04, 40, function, task);
        self.put(UTMRL + 80, &utmrd);
        self.write(reg::UTMRLDBR, 1 << 1);
        while self.read(reg::UTMRLDBR) != 0 {
            self.interrupt();
        }
        assert_eq!(self.get(UTMRL + 88, 1)[0], 0, "OCS");
        let response = self.get(UTMRL + 80 + 48, 32);
        assert_eq!((response[0], response[3]), (0x24, 40));
        response[15]
    }
}

fn command(tag: u8, lun: u8, flags: u8, cdb: &[u8], bytes: usize) -> Vec<u8> {
    let mut upiu = vec![0; 32];
    (upiu[0], upiu[1], upiu[2], upiu[3]) = (0x01, flags, lun, tag);
    upiu[12..16].copy_from_slice(&(bytes as u32).to_be_bytes());
    upiu[16..16 + cdb.len()].copy_from_slice(cdb);
    upiu
}

fn blocks_cdb(opcode: u8, lba: u32, blocks: usize) -> [u8; 10] {
    let mut cdb = [0; 10];
    cdb[0] = opcode;
    cdb[2..6].copy_from_slice(&lba.to_be_bytes());
    cdb[7..9].copy_from_slice(&(blocks as u16).to_be_bytes());
    cdb
}

fn up(hpb: bool) -> Host {
    brought_up(Host::new(hpb, false))
}

fn brought_up(mut host: Host) -> Host {
    host.bring_up();
    host.hear_of_reset();
    host
}

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

/// 1 GiB as configured, of which three quarters are there, and a ninth of that is full.
const BOOSTER: Booster = Booster {
    configured_units: 256 * 1024,
    capacity_factor: 3,
    user_space: UserSpace::Preserved,
    flags: BoosterFlags { enabled: true, flush: true, flush_in_hibernation: true },
    current_units: 192 * 1024,
    available_units: 170 * 1024,
    kept_units: 5 * 1024,
    flush: FlushStatus::Completed,
    resize: ResizeStatus::Failed,
    hint: ResizeHint::Keep,
    life_time: 7,
};

fn boosted(booster: Booster) -> Host {
    let mut host = Host::new(false, false);
    host.controller.medium_mut().booster = Some(booster);
    host.controller.switch_on();
    host.bring_up();
    host
}

const READ: u8 = 0x01;
const WRITE: u8 = 0x81;

impl Host {
    fn attribute(&mut self, idn: u8) -> u32 {
        let (response, value, _) = self.query(READ, 3, idn, 0);
        assert_eq!(response, 0, "attribute {idn:x}h");
        value
    }

    fn set_attribute(&mut self, idn: u8, value: u32) -> u8 {
        self.query_with(WRITE, [4, idn, 0, 0], value).0
    }

    fn told(&mut self) -> Vec<BoosterControl> {
        std::mem::take(&mut self.controller.medium_mut().told)
    }
}

/// As `ufshcd_wb_probe` of Linux 6.1 looks for it.
#[test]
fn a_driver_finds_write_booster_and_switches_it_on() {
    let mut host = boosted(BOOSTER);
    let (_, _, device) = host.query(READ, 1, 0x00, 0);
    assert_eq!((&device[0x10..0x12], &device[0x4F..0x53]), (&[4, 0x10][..], &[0, 0, 1, 0][..]));
    assert_eq!((&device[0x4D..0x4F], &device[0x53..0x59]), (&[0, 3][..], &[1, 1, 0, 0, 1, 0][..]));
    let (_, _, geometry) = host.query(READ, 1, 0x07, 0);
    assert_eq!(geometry[0x4F..0x57], [0, 0, 1, 0, 1, 3, 1, 1]);
    assert_eq!(host.attribute(0x1E), 7);
    let off = [0x0E, 0x0F, 0x10].map(|idn| host.query(READ, 5, idn, 0).1);
    assert_eq!(off, [0; 3], "flags are volatile");
    host.told();
    for idn in [0x0E, 0x0F, 0x10] {
        assert_eq!(host.query(WRITE, 6, idn, 0), (0, 1, vec![]));
    }
    let on = host.controller.medium().booster.unwrap().flags;
    assert_eq!((on, host.told().len()), (BOOSTER.flags, 3));
    assert_eq!(host.query(WRITE, 7, 0x0F, 3), (0, 0, vec![]), "the buffer is shared: any index will do");
    assert_eq!((host.query(READ, 5, 0x0F, 0).1, host.query(READ, 5, 0x0E, 0).1), (0, 1));

    let mut hpb_too = up(true);
    hpb_too.controller.medium_mut().booster = Some(BOOSTER);
    let (_, _, device) = hpb_too.query(READ, 1, 0x00, 0);
    assert_eq!((&device[0x10..0x12], &device[0x51..0x53]), (&[3, 0x10][..], &[1, 0x80][..]));
}

#[test]
fn attributes_of_write_booster_tell_and_take_what_the_standard_says() {
    let mut host = boosted(BOOSTER);
    host.told();
    let read = [0x1C, 0x1D, 0x1F, 0x3C, 0x3E, 0x41].map(|idn| host.attribute(idn));
    assert_eq!(read, [3, 8, 192, 0, 3, 5]);
    assert_eq!(host.told(), [BoosterControl::FlushStatusRead, BoosterControl::ResizeStatusRead]);
    assert_eq!(host.query(READ, 3, 0x3D, 0).0, 0xF6, "write only");
    for idn in [0x1C, 0x1D, 0x1E, 0x1F, 0x3C, 0x3E, 0x41] {
        assert_eq!(host.set_attribute(idn, 1), 0xF7, "{idn:x}h: read only");
    }
    assert_eq!([0, 1, 2, 3].map(|value| host.set_attribute(0x3D, value)), [0, 0, 0, 0xFA]);
    let resizes = [false, true].map(|larger| BoosterControl::Resize { larger });
    assert_eq!(host.told(), resizes);
    assert_eq!([257, 256, 10].map(|value| host.set_attribute(0x40, value)), [0xFA, 0, 0]);
    assert_eq!([2, 1].map(|value| host.set_attribute(0x3F, value)), [0xFA, 0], "no pinned buffer");
    assert_eq!(host.told().last(), Some(&BoosterControl::Keep { units: 10 * 1024 }));
    assert_eq!(host.query(READ, 3, 0x3F, 1).0, 0xFC, "of the device, so its index is 0");
    assert_eq!(host.query_with(READ, [3, 0x1D, 0, 1], 0).0, 0xFB);
    host.controller.switch_on();
    let keeps = host.told().contains(&BoosterControl::Keep { units: 10 * 1024 });
    assert!(keeps && host.controller.medium().booster.unwrap().flags == BoosterFlags::default());

    let mut reduced = boosted(Booster { user_space: UserSpace::Reduced, ..BOOSTER });
    assert_eq!((reduced.set_attribute(0x3D, 1), reduced.query(READ, 1, 0x00, 0).2[0x53]), (0xFF, 0));
}

#[test]
fn health_is_told() {
    let mut host = up(false);
    assert_eq!(host.query(READ, 1, 0x09, 0).2[..5], [0x25, 9, 2, 3, 4]);
}

#[test]
fn a_full_buffer_is_an_exception_event_if_the_host_wants_to_hear_of_it() {
    let mut host = boosted(Booster { available_units: 1024, hint: ResizeHint::Increase, ..BOOSTER });
    assert_eq!(host.attribute(0x0E), 1 << 5 | 1 << 8);
    let alert = |host: &mut Host| {
        host.write_blocks(4, 100, &[7; BLOCK]);
        host.wait(4)[9] & 1
    };
    assert_eq!(alert(&mut host), 0, "nobody wants to hear of it");
    host.set_attribute(0x0D, 1 << 5);
    assert_eq!(alert(&mut host), 1);
    host.controller.medium_mut().booster = Some(BOOSTER);
    assert_eq!((alert(&mut host), host.attribute(0x0E)), (0, 0));
}

/// Every operation on everything that could have a name, with values at the edges.
#[test]
fn every_query_has_an_answer_of_the_standard() {
    let wrong = [0xF6, 0xF7, 0xFA, 0xFB, 0xFC, 0xFD, 0xFE, 0xFF];
    for booster in [None, Some(BOOSTER), Some(Booster { user_space: UserSpace::Reduced, ..BOOSTER })] {
        let mut host = up(false);
        host.controller.medium_mut().booster = booster;
        for (idn, opcode) in (0..=255).flat_map(|idn| (0..10).map(move |opcode| (idn, opcode))) {
            for (place, value) in [([0, 0], 0), ([0, 0], 1), ([0, 0], 3), ([1, 0], u32::MAX), ([0, 1], 2), ([9, 9], 7)]
            {
                let function = if matches!(opcode, 1 | 3 | 5) { READ } else { WRITE };
                let (response, told, _) = host.query_with(function, [opcode, idn, place[0], place[1]], value);
                assert!(response == 0 || wrong.contains(&response), "{opcode} {idn:x}h {place:?} {value}: {response}");
                let booster_flag = matches!((opcode, idn), (5..=8, 0x0E..=0x10));
                assert!(!booster_flag || (response != 0xFD) == booster.is_some());
                assert!(!booster_flag || response != 0 || told < 2, "a flag is 0 or 1");
            }
        }
    }
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
