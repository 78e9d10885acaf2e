//! A driver that may do anything to a host controller with a real device behind it: writes of any registers, requests
//! that are nearly right, any bytes in its memory. Input: a byte for the scheme, then acts.

use std::ops::ControlFlow;

use attach::{Engine, MemoryStore};
use guest::Simulated;
use lab::{Outside, Spec};
use ufshci::registers as reg;
use ufshci::{Controller, Description, GuestMemory, NotGuest};
use units::{Nanos, SimTime};

use super::input::Input;

/// Memory of the guest from here on, with bytes around it that must stay.
const FIRST: u64 = 4096;
const BYTES: usize = 0x1_0000;
const FENCE: usize = 64;
const UNTOUCHED: u8 = 0xA5;

/// Where the lists lie, and what they point to.
const LIST: u64 = FIRST;
const TASKS: u64 = FIRST + 0x400;
const TABLE: u64 = FIRST + 0x1000;
const DATA: u64 = FIRST + 0x3000;
/// Where response and PRDT lie in a table, in words.
const RESPONSE: u8 = 128;
const PRDT: u8 = 255;

/// Operation codes that mean something.
const OPCODES: [u8; 28] = [
    0x00, 0x03, 0x08, 0x0A, 0x12, 0x1A, 0x1B, 0x25, 0x28, 0x28, 0x2A, 0x2A, 0x2F, 0x35, 0x42, 0x5A, 0x88, 0x8A, 0x91,
    0x9E, 0xA0, 0xC0, 0xC1, 0xC2, 0xC3, 0xF8, 0xF9, 0xFA,
];
/// TEST UNIT READY of unit 0, which tells then that the power was off.
const TEST_UNIT_READY: [u8; 32] = {
    let mut upiu = [0; 32];
    upiu[0] = 0x01;
    upiu
};
/// More acts tell nothing new.
const MOST_ACTS: u32 = 200;

struct Fenced(Vec<u8>);

impl Fenced {
    fn inside(&self, at: u64, len: usize) -> Result<std::ops::Range<usize>, NotGuest> {
        let begin = at.checked_sub(FIRST).ok_or(NotGuest)?;
        let end = begin.checked_add(len as u64).filter(|&end| end <= BYTES as u64);
        end.map(|end| begin as usize + FENCE..end as usize + FENCE).ok_or(NotGuest)
    }
}

impl GuestMemory for Fenced {
    fn read(&self, at: u64, into: &mut [u8]) -> Result<(), NotGuest> {
        into.copy_from_slice(&self.0[self.inside(at, into.len())?]);
        Ok(())
    }

    fn write(&mut self, at: u64, from: &[u8]) -> Result<(), NotGuest> {
        let inside = self.inside(at, from.len())?;
        self.0[inside].copy_from_slice(from);
        Ok(())
    }
}

struct Driver {
    controller: Controller<Simulated>,
    memory: Fenced,
    now: SimTime,
}

impl Driver {
    fn new(scheme: &str) -> Driver {
        let mut spec = Spec { profile: "tiny".into(), ..Spec::new(scheme, "") };
        if scheme != "hpb-linux" {
            spec.set.insert("slc.superblocks".into(), 20.into());
            spec.set.insert("slc.write_booster".into(), true.into());
        }
        // HP-UFS is for one logical unit. WriteBooster is dedicated to the second of three.
        if scheme != "hp-ufs" {
            spec.set.insert("device.further_lus_mib".into(), "32,32".into());
        }
        if scheme == "ufs" {
            spec.set.insert("slc.dedicated_lu".into(), 1.into());
        }
        let (outside, stack, expected) = Outside::begin(&spec, &mut |_| ControlFlow::Continue(())).expect("a machine");
        let engine = Engine::for_outside(stack, &expected, 1, Box::new(MemoryStore::new()));
        let profile = &outside.machine().profile;
        let description = Description {
            vendor: "ufsim".into(),
            product: scheme.into(),
            logical_units: profile.logical_units(),
            boosted_lun: profile.boosted_unit().map(|unit| unit.lun),
            hpb: scheme == "hpb-linux",
            hp_ufs: scheme == "hp-ufs",
            answer_time: Nanos(300),
            uic_time: Nanos(200),
        };
        let controller = Controller::new(description, Simulated::new(engine));
        let mut memory = vec![0; BYTES + 2 * FENCE];
        memory[..FENCE].fill(UNTOUCHED);
        memory[BYTES + FENCE..].fill(UNTOUCHED);
        let mut driver = Driver { controller, memory: Fenced(memory), now: SimTime::START };
        let bring_up = [
            (reg::HCE, 1),
            (reg::UTRLBA, LIST as u32),
            (reg::UTMRLBA, TASKS as u32),
            (reg::UTRLRSR, 1),
            (reg::UTMRLRSR, 1),
        ];
        bring_up.into_iter().for_each(|(register, value)| driver.set(register, value));
        driver.put(TABLE, &TEST_UNIT_READY);
        driver.ring(0, 0);
        driver
    }

    fn set(&mut self, register: u32, value: u32) {
        self.controller.write(self.now, register, value, &mut self.memory);
    }

    fn put(&mut self, at: u64, bytes: &[u8]) {
        self.memory.write(at, bytes).expect("the lists are the guest's");
    }

    fn act(&mut self, input: &mut Input<'_>) {
        match input.u8() % 8 {
            0 => self.set(u32::from(input.u8()) * 4 % reg::BYTES, input.u32()),
            1 => self.set(input.u32(), input.u32()),
            2 => self.put(FIRST + u64::from(input.u16()) % (BYTES as u64 - 1), &[input.u8()]),
            3 => self.task(input),
            4 => {
                self.now = self.now + Nanos(u64::from(input.u16()) * 16);
                self.controller.run(self.now, &mut self.memory);
            }
            _ => self.request(input),
        }
    }

    /// A request whose UPIU is right but for what the input changes.
    fn request(&mut self, input: &mut Input<'_>) {
        let (slot, kind, blocks) = (input.u8() % reg::SLOTS, input.u8(), u32::from(input.u8() % 4));
        let mut upiu = [0; 32];
        (upiu[0], upiu[3]) = ([0x01, 0x01, 0x01, 0x16, 0x00, kind][usize::from(kind) % 6], slot);
        // Unit 3 is not there.
        upiu[2] = kind / 6 % 4;
        upiu[12..16].copy_from_slice(&(blocks * 4096).to_be_bytes());
        match upiu[0] {
            0x16 => {
                (upiu[5], upiu[18]) = ([0x01, 0x81][usize::from(input.u8() % 2)], 1);
                upiu[12..16].copy_from_slice(input.take(4).first_chunk().unwrap_or(&[1, 0, 0, 0]));
            }
            _ => {
                upiu[1] = [0, 0x20, 0x40][usize::from(input.u8() % 3)];
                upiu[16] = OPCODES[usize::from(input.u8()) % OPCODES.len()];
                upiu[20..22].copy_from_slice(&(input.u16() % 0x300).to_be_bytes());
                upiu[24] = blocks as u8;
                // The extension of HP-UFS follows.
                upiu[4] = [0, 0x8, 0x9][usize::from(input.u8() % 3)];
            }
        }
        let wrong = input.u8();
        if wrong & 0xC0 == 0xC0 {
            upiu[usize::from(wrong & 0x1F)] = input.u8();
        }
        self.put(TABLE, &upiu);
        let numbers = [input.u16(), input.u16()].map(|number| u32::from(number).to_be_bytes());
        self.put(TABLE + 32, &numbers.concat());
        let pieces = u64::from(input.u8() % 9);
        for i in 0..pieces {
            let mut entry = [0; 16];
            entry[..8].copy_from_slice(&(DATA + 0x800 * i).to_le_bytes());
            entry[12..14].copy_from_slice(&0x7FF_u16.to_le_bytes());
            self.put(TABLE + 4 * u64::from(PRDT) + 16 * i, &entry);
        }
        self.ring(slot, pieces as u8);
    }

    /// The request in the table goes into a slot.
    fn ring(&mut self, slot: u8, pieces: u8) {
        let mut utrd = [0; 32];
        (utrd[3], utrd[24], utrd[26], utrd[28], utrd[30]) = (0x11, 128, RESPONSE, pieces, PRDT);
        utrd[16..20].copy_from_slice(&(TABLE as u32).to_le_bytes());
        self.put(LIST + 32 * u64::from(slot), &utrd);
        self.set(reg::UTRLDBR, 1 << slot);
    }

    fn task(&mut self, input: &mut Input<'_>) {
        let (slot, function, task) = (input.u8() % reg::TASK_SLOTS, input.u8(), input.u8() % reg::SLOTS);
        let mut upiu = [0; 32];
        (upiu[0], upiu[5], upiu[19]) = (0x04, [1, 2, 4, 8, 0x80, 0x81, function][usize::from(function) % 7], task);
        self.put(TASKS + 80 * u64::from(slot) + 16, &upiu);
        self.set(reg::UTMRLDBR, 1 << slot);
    }

    /// Everything that is under way ends, and nothing was touched but the guest's memory.
    fn finish(mut self) {
        while self.controller.medium().engine.outstanding() > 0 {
            let next = self.controller.next_event().expect("a command under way ends");
            self.now = self.now.max(next);
            self.controller.run(self.now, &mut self.memory);
        }
        let fences = [&self.memory.0[..FENCE], &self.memory.0[BYTES + FENCE..]];
        assert!(fences.iter().all(|fence| fence.iter().all(|&byte| byte == UNTOUCHED)), "a fence was written");
        // A doorbell that stays belongs to a slot that the driver has had aborted and has not cleared.
        let aborted = self.controller.counters().aborted_slots;
        let queued = self.controller.next_event().is_some();
        let rung = u64::from(self.controller.read(reg::UTRLDBR).count_ones());
        assert!(rung <= aborted || queued, "{rung} doorbells stay: {:?}", self.controller.counters());
    }
}

pub(super) fn run(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    let mut driver = Driver::new(["ufs", "hpb-linux", "ideal", "hp-ufs"][usize::from(input.u8()) % 4]);
    for _ in 0..MOST_ACTS {
        if input.is_empty() {
            break;
        }
        driver.act(&mut input);
    }
    driver.finish();
}
