//! Any sequence of register writes, any bytes in memory: an answer or an error, never a panic, never memory outside.

use proptest::prelude::*;
use ufs::{Command, DataIn, DeviceInfo, HpbNotice, PiggyBack, Response, Status};
use ufshci::registers as reg;
use ufshci::{Answer, Controller, Description, GuestMemory, Medium, NotGuest};
use units::{Nanos, SimTime};

const INFO: DeviceInfo = DeviceInfo {
    capacity_units: 1000,
    superblocks: 16,
    superblock_units: 64,
    map_page_entries: 1024,
    map_cache_entries: 2048,
    hpb_group_entries: 512,
    hpb_entry_bytes: 8,
    hpb_region_groups: 1,
    hpb_max_blocks: 128,
    hpb_device_control: false,
};

/// Takes every command, one at a time under each tag, and ends each in turn with an error.
#[derive(Default)]
struct Refusing {
    under: Vec<(SimTime, Command)>,
}

impl Medium for Refusing {
    fn info(&self) -> &DeviceInfo {
        &INFO
    }

    fn is_ready(&self) -> bool {
        true
    }

    fn submit(&mut self, at: SimTime, command: Command, _: Vec<u8>) {
        assert!(self.under.iter().all(|(_, one)| one.tag != command.tag), "tag {:?} is in use", command.tag);
        self.under.push((at + Nanos(700), command));
    }

    fn next_time(&self) -> Option<SimTime> {
        self.under.first().map(|(at, _)| *at)
    }

    fn run_until(&mut self, _: SimTime) {}

    fn answer(&mut self) -> Option<Answer> {
        let (at, command) = (!self.under.is_empty()).then(|| self.under.remove(0))?;
        let (hpb, piggyback) = (HpbNotice::None, PiggyBack::default());
        let response =
            Response { tag: command.tag, status: Status::UnrecoveredRead, data: DataIn::None, hpb, piggyback };
        Some(Answer { at, response, data: Vec::new() })
    }
}

/// Memory of the guest from 4 KiB on, with bytes around it that must stay.
struct Fenced(Vec<u8>);

const FIRST: u64 = 4096;
const FENCE: usize = 64;

impl Fenced {
    fn new(bytes: &[u8]) -> Fenced {
        Fenced([&[0xA5; FENCE][..], bytes, &[0xA5; FENCE]].concat())
    }

    fn inside(&self, at: u64, len: usize) -> Result<std::ops::Range<usize>, NotGuest> {
        let begin = at.checked_sub(FIRST).ok_or(NotGuest)?;
        let end = begin.checked_add(len as u64).filter(|&end| end <= (self.0.len() - 2 * FENCE) as u64);
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

#[derive(Clone, Debug)]
enum Act {
    Write(u32, u32),
    Wait(u64),
    /// A request that is nearly right: slot, its UPIU's beginning, PRDT entries, and a byte that is wrong.
    Ring(u8, [u8; 32], u16, u16, u8),
    Task(u8, [u8; 32]),
}

fn acts() -> impl Strategy<Value = Act> {
    let register = prop_oneof![(0..64_u32).prop_map(|word| word * 4), any::<u32>()];
    let value = prop_oneof![any::<u32>(), Just(0), Just(1), Just(FIRST as u32), Just(u32::MAX)];
    let upiu = (any::<[u8; 32]>(), prop_oneof![Just(0x01_u8), Just(0x00), Just(0x16), any::<u8>()], 0..4_u32).prop_map(
        |(mut upiu, kind, blocks)| {
            (upiu[0], upiu[2]) = (kind, upiu[2] & 0x80);
            let known =
                [0x00, 0x12, 0x1A, 0x25, 0x28, 0x2A, 0x35, 0x42, 0x5A, 0x88, 0x9E, 0xA0, 0xF8, 0xF9, 0xFA, 0xC1];
            if kind == 1 {
                (upiu[1], upiu[4]) = ([0, 0x20, 0x40][usize::from(upiu[1]) % 3], 0);
                upiu[5..12].fill(0);
                upiu[12..16].copy_from_slice(&(blocks * 4096).to_be_bytes());
                upiu[16] = known[usize::from(upiu[16]) % known.len()];
                upiu[17..20].fill(0);
                upiu[22..25].copy_from_slice(&[0, 0, blocks as u8]);
                upiu[25..].fill(0);
            }
            upiu
        },
    );
    prop_oneof![
        (register, value).prop_map(|(register, value)| Act::Write(register, value)),
        (0..5000_u64).prop_map(Act::Wait),
        (0..32_u8, upiu.clone(), 0..9_u16, any::<u16>(), any::<u8>())
            .prop_map(|(s, u, n, at, b)| Act::Ring(s, u, n, at, b)),
        (0..8_u8, upiu).prop_map(|(slot, upiu)| Act::Task(slot, upiu)),
    ]
}

/// Where the lists of the acts lie.
const LIST: u64 = FIRST;
const TASKS: u64 = FIRST + 0x400;
const TABLE: u64 = FIRST + 0x1000;
const MEMORY: usize = 0x1_0000;

fn apply(act: &Act, controller: &mut Controller<Refusing>, memory: &mut Fenced, now: &mut SimTime) {
    match act {
        Act::Write(register, value) => controller.write(*now, *register, *value, memory),
        Act::Wait(ns) => {
            *now = *now + Nanos(*ns);
            controller.run(*now, memory);
        }
        Act::Ring(slot, upiu, entries, wrong_at, wrong) => {
            let mut utrd = [0_u8; 32];
            (utrd[3], utrd[16], utrd[17]) = (0x11, TABLE as u8, (TABLE >> 8) as u8);
            (utrd[24], utrd[26], utrd[28], utrd[30]) = (128, 128, *entries as u8, 255);
            memory.write(LIST + 32 * u64::from(*slot), &utrd).unwrap();
            memory.write(TABLE, upiu).unwrap();
            for i in 0..u64::from(*entries) {
                let mut entry = [0; 16];
                entry[..8].copy_from_slice(&(TABLE + 0x2000 + 0x800 * i).to_le_bytes());
                entry[12..].copy_from_slice(&0x7FF_u32.to_le_bytes());
                memory.write(TABLE + 1020 + 16 * i, &entry).unwrap();
            }
            if wrong % 3 == 0 {
                memory.write(FIRST + u64::from(*wrong_at) % 0x2000, &[*wrong]).unwrap();
            }
            controller.write(*now, reg::UTRLDBR, 1 << slot, memory);
        }
        Act::Task(slot, upiu) => {
            memory.write(TASKS + 80 * u64::from(*slot) + 16, upiu).unwrap();
            memory.write(TASKS + 80 * u64::from(*slot) + 16, &[4]).unwrap();
            controller.write(*now, reg::UTMRLDBR, 1 << slot, memory);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn nothing_is_touched_but_the_guest_and_everything_ends(acts in prop::collection::vec(acts(), 1..60)) {
        let (vendor, product) = ("v".into(), "p".into());
        let description =
            Description { vendor, product, hpb: true, answer_time: Nanos(300), uic_time: Nanos(200) };
        let mut controller = Controller::new(description, Refusing::default());
        let mut memory = Fenced::new(&vec![0; MEMORY]);
        let mut now = SimTime(0);
        for (register, value) in [(reg::HCE, 1), (reg::UTRLBA, LIST as u32), (reg::UTMRLBA, TASKS as u32),
            (reg::UTRLRSR, 1), (reg::UTMRLRSR, 1)] {
            controller.write(now, register, value, &mut memory);
        }
        for act in &acts {
            apply(act, &mut controller, &mut memory, &mut now);
        }
        while let Some(next) = controller.next_event() {
            now = now.max(next);
            controller.run(now, &mut memory);
        }
        let fences = [&memory.0[..FENCE], &memory.0[memory.0.len() - FENCE..]];
        prop_assert!(fences.iter().all(|fence| fence.iter().all(|&byte| byte == 0xA5)));
        // A doorbell that is set belongs to a slot that the driver has had aborted and not cleared.
        let stuck = controller.read(reg::UTRLDBR).count_ones() as u64;
        prop_assert!(stuck <= controller.counters().aborted_slots, "{:?}", controller.counters());
    }
}
