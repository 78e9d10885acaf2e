//! A small driver that brings the controller up as `ufshcd` of Linux 6.1 does, and does I/O through lists in memory.

use std::collections::VecDeque;

use ufs::codec::hpufs::PowerOn;
use ufs::{
    Booster, BoosterControl, Command, Content, DataIn, DeviceInfo, Health, HpbNotice, Op, PiggyBack, Response, Status,
};
use ufshci::registers as reg;
use ufshci::{Answer, Controller, Description, Medium};
use units::{LogicalUnits, Nanos, Seq, SimTime};

pub const INFO: DeviceInfo = DeviceInfo { hpb_group_entries: 1024, hpb_region_groups: 2, ..DeviceInfo::USUAL };
pub const BLOCK: usize = 4096;

/// A device that takes 50 us for each command and keeps blocks.
#[derive(Default)]
pub struct Blocks {
    blocks: std::collections::BTreeMap<u32, Vec<u8>>,
    under: VecDeque<(SimTime, Command, Vec<u8>)>,
    done: VecDeque<Answer>,
    pub recovering: bool,
    pub cycles: u32,
    pub booster: Option<Booster>,
    /// What it was told of WriteBooster since somebody looked.
    pub told: Vec<BoosterControl>,
    /// What it was asked for, in that order.
    pub ops: Vec<Op>,
    /// What the next response tells of HPB, whatever its command is.
    pub notice: Option<HpbNotice>,
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
        response.hpb = self.notice.take().unwrap_or(response.hpb);
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
        self.ops.push(command.op);
        self.under.push_back((at + self.least_answer_time(), command, data));
    }

    fn answers_from(&self) -> Option<SimTime> {
        self.next_time()
    }

    fn least_answer_time(&self) -> Nanos {
        Nanos(50_000)
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
pub const UTRL: u64 = 0x1000;
pub const UTMRL: u64 = 0x2000;
pub const TABLES: u64 = 0x4000;
pub const DATA: u64 = 0x10_0000;
pub const DATA_BYTES: u64 = 0x1_0000;
pub const RESPONSE: u64 = 512;
pub const PRDT: u64 = 1024;

pub struct Host {
    pub controller: Controller<Blocks>,
    pub memory: Vec<u8>,
    pub now: SimTime,
}

impl Host {
    pub fn new(hpb: bool, hp_ufs: bool) -> Host {
        Host::with_units(hpb, hp_ufs, LogicalUnits::one(INFO.capacity_units))
    }

    pub fn with_units(hpb: bool, hp_ufs: bool, units: LogicalUnits) -> Host {
        Host::described(Host::description(hpb, hp_ufs, units))
    }

    pub fn description(hpb: bool, hp_ufs: bool, units: LogicalUnits) -> Description {
        Description {
            vendor: "ufsim".into(),
            product: "test device".into(),
            logical_units: units,
            boosted_lun: None,
            hpb,
            hp_ufs,
            answer_time: Nanos(5_000),
            uic_time: Nanos(1_000),
        }
    }

    pub fn described(description: Description) -> Host {
        let controller = Controller::new(description, Blocks::default());
        Host { controller, memory: vec![0; 0x40_0000], now: SimTime(0) }
    }

    pub fn write(&mut self, register: u32, value: u32) {
        self.controller.write(self.now, register, value, &mut self.memory[..]);
    }

    pub fn read(&self, register: u32) -> u32 {
        self.controller.read(register)
    }

    /// Until the next interrupt, which does not come before the time that is told; clears it and gives what it was.
    pub fn interrupt(&mut self) -> u32 {
        let from = self.controller.changes_from();
        while !self.controller.line() {
            self.now = self.controller.next_event().expect("an interrupt is to come");
            self.controller.run(self.now, &mut self.memory[..]);
            assert!(!self.controller.line() || from.is_some_and(|from| from <= self.now));
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

    pub fn bring_up(&mut self) {
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

    pub fn put(&mut self, at: u64, bytes: &[u8]) {
        self.memory[at as usize..at as usize + bytes.len()].copy_from_slice(bytes);
    }

    pub fn get(&self, at: u64, len: usize) -> Vec<u8> {
        self.memory[at as usize..at as usize + len].to_vec()
    }

    /// Puts a request into a slot and rings.
    pub fn ring(&mut self, slot: u8, upiu: &[u8], data_bytes: usize) {
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
        let (idle, least) = (self.controller.next_event().is_none(), self.now + self.controller.changes_after());
        self.write(reg::UTRLDBR, 1 << slot);
        // Only what is wrong with a list is told of at once.
        let from = self.controller.changes_from();
        assert!(!idle || self.controller.line() || from.is_none_or(|from| from >= least), "{from:?} before {least}");
    }

    pub fn status(&self, slot: u8) -> u8 {
        self.get(UTRL + 32 * u64::from(slot) + 8, 1)[0]
    }

    fn response(&self, slot: u8) -> Vec<u8> {
        self.get(Host::table(slot) + RESPONSE, 512)
    }

    pub fn data(&self, slot: u8, len: usize) -> Vec<u8> {
        self.get(DATA + u64::from(slot) * DATA_BYTES, len)
    }

    pub fn wait(&mut self, slot: u8) -> Vec<u8> {
        while self.read(reg::UTRLDBR) >> slot & 1 != 0 {
            assert!(self.interrupt() & reg::UTRCS != 0);
        }
        assert_eq!(self.status(slot), 0, "OCS");
        self.response(slot)
    }

    pub fn query(&mut self, function: u8, opcode: u8, idn: u8, index: u8) -> (u8, u32, Vec<u8>) {
        self.query_with(function, [opcode, idn, index, 0], 0)
    }

    /// A query with operation code, IDN, index and selector, and a value.
    pub fn query_with(&mut self, function: u8, asked: [u8; 4], value: u32) -> (u8, u32, Vec<u8>) {
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
    pub fn hear_of_reset(&mut self) {
        self.hear_of_reset_of(&[0x00, 0xD0]);
    }

    pub fn hear_of_reset_of(&mut self, luns: &[u8]) {
        for &lun in luns {
            self.ring(0, &command(0, lun, 0, &[0; 6], 0), 0);
            assert_eq!(self.sense(0), Some((6, 0x29)), "unit {lun:02x}: UNIT ATTENTION");
        }
    }

    /// Waits for the end of a command; gives sense key and additional sense code of one that is refused.
    pub fn sense(&mut self, slot: u8) -> Option<(u8, u8)> {
        let response = self.wait(slot);
        (response[7] == 2).then(|| (response[36], response[46]))
    }

    pub fn scsi_in(&mut self, slot: u8, lun: u8, cdb: &[u8], bytes: usize) -> Vec<u8> {
        self.ring(slot, &command(slot, lun, 0x40, cdb, bytes), bytes);
        let response = self.wait(slot);
        assert_eq!((response[0], response[7]), (0x21, 0), "{:x?}", &response[..52]);
        self.data(slot, bytes)
    }

    pub fn write_blocks(&mut self, slot: u8, lba: u32, data: &[u8]) {
        self.write_to(0, slot, lba, data);
    }

    pub fn write_to(&mut self, lun: u8, slot: u8, lba: u32, data: &[u8]) {
        self.put(DATA + u64::from(slot) * DATA_BYTES, data);
        let cdb = blocks_cdb(0x2A, lba, data.len() / BLOCK);
        self.ring(slot, &command(slot, lun, 0x20, &cdb, data.len()), data.len());
    }

    pub fn task(&mut self, function: u8, task: u8) -> u8 {
        self.task_of(0, function, task)
    }

    pub fn task_of(&mut self, lun: u8, function: u8, task: u8) -> u8 {
        let mut utmrd = [0; 80];
        utmrd[3] = 0x01;
        utmrd[8] = 0x0F;
        (utmrd[16], utmrd[18], utmrd[19], utmrd[21]) = (0x04, lun, 40, function);
        (utmrd[31], utmrd[35]) = (lun, task);
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

pub fn command(tag: u8, lun: u8, flags: u8, cdb: &[u8], bytes: usize) -> Vec<u8> {
    let mut upiu = vec![0; 32];
    (upiu[0], upiu[1], upiu[2], upiu[3]) = (0x01, flags, lun, tag);
    upiu[12..16].copy_from_slice(&(bytes as u32).to_be_bytes());
    upiu[16..16 + cdb.len()].copy_from_slice(cdb);
    upiu
}

pub fn blocks_cdb(opcode: u8, lba: u32, blocks: usize) -> [u8; 10] {
    let mut cdb = [0; 10];
    cdb[0] = opcode;
    cdb[2..6].copy_from_slice(&lba.to_be_bytes());
    cdb[7..9].copy_from_slice(&(blocks as u16).to_be_bytes());
    cdb
}

pub fn up(hpb: bool) -> Host {
    brought_up(Host::new(hpb, false))
}

pub fn brought_up(mut host: Host) -> Host {
    host.bring_up();
    host.hear_of_reset();
    host
}
