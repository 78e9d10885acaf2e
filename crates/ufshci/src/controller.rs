//! The controller: what a write of a register sets going, and what comes of it later. Read [`Controller::write`] first.

use ufs::codec::query::{NOP_OUT, QUERY_REQUEST, QueryRequest, nop_in};
use ufs::codec::task::TaskRequest;
use ufs::codec::{Luns, decode_with_payload, encode_with_payload, upiu};
use ufs::{BoosterControl, Op, Response, Tag};
use units::{Nanos, Seq, SimTime};

use crate::counters::Counters;
use crate::description::Description;
use crate::device::logical_units::Placed;
use crate::device::scsi::Scsi;
use crate::device::sense::{INVALID_FIELD, Sense};
use crate::device::{Device, Told};
use crate::medium::{Answer, Medium};
use crate::memory::{GuestMemory, NotGuest};
use crate::registers as reg;
use crate::slots::{Slot, Slots};
use crate::task::{self, Task};
use crate::transfer::{self, Ocs, Utrd};
use crate::uic::{DME_HIBER_ENTER, DME_HIBER_EXIT, Link, Outcome};

/// Bits 5 to 0 of a UPIU's first byte (JESD220E clause 10.6.2).
const TRANSACTION: u8 = 0x3F;
/// Where a response UPIU tells of exception events, and how.
const DEVICE_INFORMATION: usize = 9;
const EVENT_ALERT: u8 = 0x01;
/// Flag of a COMMAND UPIU: data goes to the device.
const FLAG_WRITE: u8 = 0x20;
/// Most bytes of a command that the codec knows.
const MOST_DATA: u32 = 65_535 * units::UNIT_BYTES as u32;

/// A response UPIU, and data for the guest.
type Reply = (Vec<u8>, Vec<u8>);

/// Something that is due.
#[derive(Debug)]
struct Due {
    at: SimTime,
    what: What,
}

#[derive(Debug)]
enum What {
    /// A transfer request ends that never was in the medium.
    Respond {
        slot: u8,
        utrd: Utrd,
        upiu: Vec<u8>,
        data: Vec<u8>,
    },
    Uic(Outcome),
    Task(Task),
}

/// A command in the medium.
#[derive(Clone, Copy, Debug)]
struct AtWork {
    utrd: Utrd,
    unit: Placed,
    /// With the unit's addresses.
    op: Op,
    /// The task tag that the driver gave it.
    tag: Tag,
}

/// A host controller with a device.
#[derive(Debug)]
pub struct Controller<M> {
    registers: [u32; (reg::BYTES / 4) as usize],
    link: Link,
    device: Device,
    medium: M,
    description: Description,
    slots: Slots,
    at_work: [Option<AtWork>; reg::SLOTS as usize],
    /// In the order in which it was set going.
    due: Vec<Due>,
    /// Task management requests that wait for the medium.
    tasks: Vec<Task>,
    /// The last sequence number of the host (HP-UFS).
    host_seq: Seq,
    counters: Counters,
}

impl<M: Medium> Controller<M> {
    /// A controller that has just been powered on.
    ///
    /// # Panics
    /// If the logical units are not all of the medium.
    pub fn new(description: Description, medium: M) -> Controller<M> {
        let end = description.logical_units.all().last().map(|unit| unit.end());
        assert_eq!(end, Some(medium.info().capacity_units), "the end of the last logical unit");
        let mut controller = Controller {
            registers: [0; (reg::BYTES / 4) as usize],
            link: Link::default(),
            device: Device::new(description.clone()),
            medium,
            description,
            slots: Slots::default(),
            at_work: [None; reg::SLOTS as usize],
            due: Vec::new(),
            tasks: Vec::new(),
            host_seq: Seq(0),
            counters: Counters::default(),
        };
        controller.switch_on();
        controller
    }

    /// What lies behind.
    pub fn medium(&self) -> &M {
        &self.medium
    }

    /// What lies behind, to do something to it.
    pub fn medium_mut(&mut self) -> &mut M {
        &mut self.medium
    }

    /// What has happened so far.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// All registers, as words.
    pub fn registers(&self) -> &[u32] {
        &self.registers
    }

    /// A register. Those that are not there are 0.
    pub fn read(&self, register: u32) -> u32 {
        self.registers.get(register as usize / 4).copied().unwrap_or(0)
    }

    /// True while the controller interrupts.
    pub fn line(&self) -> bool {
        self.read(reg::IS) & self.read(reg::IE) != 0
    }

    /// When something happens next.
    pub fn next_event(&self) -> Option<SimTime> {
        let due = self.due.iter().map(|due| due.at).min();
        [due, self.medium.next_time()].into_iter().flatten().min()
    }

    /// Until this time registers and memory of the guest stay as they are, unless it writes a register.
    pub fn changes_from(&self) -> Option<SimTime> {
        let due = self.due.iter().map(|due| due.at).min();
        [due, self.medium.answers_from()].into_iter().flatten().min()
    }

    /// And so they do for so long after the doorbell of the transfer list. What is wrong with a list may be told of
    /// sooner.
    pub fn changes_after(&self) -> Nanos {
        self.description.answer_time.min(self.medium.least_answer_time())
    }

    /// True if the device announces HPB.
    pub fn announces_hpb(&self) -> bool {
        self.device.announces_hpb(self.medium.info())
    }

    /// Host and device are switched on: the driver that comes finds registers and attributes as new. The medium has
    /// nothing under way.
    pub fn switch_on(&mut self) {
        self.slots = Slots::default();
        self.at_work = [None; reg::SLOTS as usize];
        for control in self.device.reset() {
            self.medium.control_booster(SimTime::START, control);
        }
        self.reset_registers();
    }

    /// Tells in a response UPIU that an exception event has happened (JESD220G clause 10.7.2: Device Information).
    fn alert(&self, upiu: &mut [u8]) {
        if self.device.has_event(self.medium.booster().as_ref()) {
            upiu[DEVICE_INFORMATION] |= EVENT_ALERT;
        }
    }

    /// A register is written at a time. Registers that are not there, or only for reading, keep what they have.
    pub fn write<G: GuestMemory + ?Sized>(&mut self, now: SimTime, register: u32, value: u32, memory: &mut G) {
        let enabled = self.read(reg::HCE) & 1 != 0;
        match register {
            reg::HCE => self.enable(value & 1 != 0, enabled),
            reg::POWER => self.power_cycle(now),
            _ if !enabled => {}
            reg::IS => *self.reg(reg::IS) &= !value,
            reg::IE => *self.reg(reg::IE) = value & reg::IS_BITS,
            reg::UTRLBA | reg::UTMRLBA => *self.reg(register) = value & !0x3FF,
            reg::UTRLBAU | reg::UTMRLBAU | reg::UTRIACR => *self.reg(register) = value,
            reg::UCMDARG1 | reg::UCMDARG2 | reg::UCMDARG3 => *self.reg(register) = value,
            reg::UTRLRSR | reg::UTMRLRSR => *self.reg(register) = value & 1,
            reg::UTRLDBR if self.read(reg::UTRLRSR) == 1 => self.ring(now, value, memory),
            reg::UTMRLDBR if self.read(reg::UTMRLRSR) == 1 => self.ring_tasks(now, value, memory),
            reg::UTRLCLR => bits(!value).for_each(|slot| self.clear(slot)),
            reg::UTMRLCLR => self.clear_tasks(!value),
            reg::UICCMD => self.uic(now, value as u8),
            _ => {}
        }
    }

    /// Lets everything happen up to a time.
    pub fn run<G: GuestMemory + ?Sized>(&mut self, until: SimTime, memory: &mut G) {
        while let Some(at) = self.next_event().filter(|&at| at <= until) {
            if self.medium.next_time().is_some_and(|next| next <= at) {
                self.medium.run_until(at);
                while let Some(answer) = self.medium.answer() {
                    self.answered(answer, memory);
                }
            }
            while let Some(first) = self.due.iter().position(|due| due.at <= at) {
                let due = self.due.remove(first);
                self.happen(due, memory);
            }
        }
    }

    fn reg(&mut self, register: u32) -> &mut u32 {
        &mut self.registers[register as usize / 4]
    }

    fn reset_registers(&mut self) {
        self.registers.fill(0);
        *self.reg(reg::CAP) = reg::CAPABILITIES;
        *self.reg(reg::VER) = reg::VERSION;
        self.link = Link::default();
        self.due.clear();
        self.tasks.clear();
    }

    /// JESD223D clause 7.1.1: a change of HCE resets everything but the device.
    fn enable(&mut self, on: bool, was: bool) {
        if on != was {
            self.counters.resets += u64::from(!on);
            (0..reg::SLOTS).for_each(|slot| self.give_up(slot));
            self.reset_registers();
            *self.reg(reg::HCE) = u32::from(on);
            *self.reg(reg::HCS) = if on { reg::READY } else { 0 };
        }
    }

    /// The device is switched off and on. What it was asked for is not answered any more; the driver's slots are its
    /// own to clear.
    fn power_cycle(&mut self, now: SimTime) {
        self.counters.power_cycles += 1;
        (0..reg::SLOTS).for_each(|slot| self.give_up(slot));
        self.due.retain(|due| matches!(due.what, What::Uic(_)));
        self.tasks.clear();
        self.slots = Slots::default();
        self.at_work = [None; reg::SLOTS as usize];
        self.medium.power_cycle(now);
        for control in self.device.reset() {
            self.medium.control_booster(now, control);
        }
    }

    fn give_up(&mut self, slot: u8) {
        let due = self.due.len();
        self.due.retain(|due| !matches!(due.what, What::Respond { slot: one, .. } if one == slot));
        let was_due = self.due.len() < due;
        self.counters.aborted_slots += u64::from(self.slots.give_up(slot) || was_due);
    }

    /// Clears a slot of the transfer request list.
    fn clear(&mut self, slot: u8) {
        if self.read(reg::UTRLDBR) >> slot & 1 != 0 {
            self.give_up(slot);
            *self.reg(reg::UTRLDBR) &= !(1 << slot);
        }
    }

    fn clear_tasks(&mut self, cleared: u32) {
        *self.reg(reg::UTMRLDBR) &= !cleared;
        let stays = |task: &Task| cleared >> task.slot & 1 == 0;
        self.tasks.retain(stays);
        self.due.retain(|due| !matches!(&due.what, What::Task(task) if !stays(task)));
    }

    fn uic(&mut self, now: SimTime, command: u8) {
        if self.read(reg::HCS) & reg::READY != reg::READY {
            return;
        }
        self.counters.uic_commands += 1;
        if let DME_HIBER_ENTER | DME_HIBER_EXIT = command {
            self.medium.control_booster(now, BoosterControl::Hibernate(command == DME_HIBER_ENTER));
        }
        let outcome = self.link.execute(command, self.read(reg::UCMDARG1), self.read(reg::UCMDARG3));
        *self.reg(reg::UICCMD) = u32::from(command);
        *self.reg(reg::HCS) &= !UIC_READY;
        self.due.push(Due { at: now + self.description.uic_time, what: What::Uic(outcome) });
    }

    fn uic_done(&mut self, outcome: Outcome) {
        *self.reg(reg::UCMDARG2) = self.read(reg::UCMDARG2) & !0xFF | outcome.result;
        if let Some(value) = outcome.value {
            *self.reg(reg::UCMDARG3) = value;
        }
        *self.reg(reg::HCS) = self.read(reg::HCS) & !POWER_STATUS | UIC_READY | outcome.status;
        *self.reg(reg::IS) |= reg::UCCS | outcome.interrupts;
    }

    /// Starts the requests of the slots whose bit was not set.
    fn ring<G: GuestMemory + ?Sized>(&mut self, now: SimTime, value: u32, memory: &mut G) {
        let new = value & !self.read(reg::UTRLDBR);
        *self.reg(reg::UTRLDBR) |= new;
        for slot in bits(new) {
            match self.slots.get(slot) {
                Slot::Free => self.fetch(now, slot, memory),
                // What an HP-UFS command says is of the moment at which it was sent, so it can not wait (clause 4.2).
                _ if self.description.hp_ufs => self.turn_away(now, slot, memory),
                _ => self.slots.set(slot, Slot::GivenUp { next_waits: true }),
            }
        }
    }

    fn base(&self, low: u32, high: u32) -> u64 {
        u64::from(self.read(low)) | u64::from(self.read(high)) << 32
    }

    /// Fetches a transfer request and begins it.
    fn fetch<G: GuestMemory + ?Sized>(&mut self, now: SimTime, slot: u8, memory: &mut G) {
        let at = self.base(reg::UTRLBA, reg::UTRLBAU).wrapping_add(u64::from(slot) * transfer::UTRD_BYTES);
        let Ok(utrd) = Utrd::read(memory, at) else { return self.bus_error(1 << slot, reg::UTRLDBR) };
        let begun = match utrd.request(memory) {
            Err(NotGuest) => Err(Ocs::InvalidCommandTable),
            Ok(upiu) => self.begin(now, slot, utrd, &upiu, memory),
        };
        if let Err(status) = begun {
            self.counters.bad_lists += 1;
            self.finish(slot, utrd, status, memory);
        }
    }

    /// The device is busy with an earlier command of the same tag, which the driver has given up.
    fn turn_away<G: GuestMemory + ?Sized>(&mut self, now: SimTime, slot: u8, memory: &mut G) {
        let at = self.base(reg::UTRLBA, reg::UTRLBAU).wrapping_add(u64::from(slot) * transfer::UTRD_BYTES);
        let Ok(utrd) = Utrd::read(memory, at) else { return self.bus_error(1 << slot, reg::UTRLDBR) };
        let upiu = match utrd.request(memory) {
            Ok(request) if request[0] & TRANSACTION == upiu::COMMAND && request[2] == 0 => {
                upiu::busy(request[2], Tag(request[3]))
            }
            // Queries, NOPs and commands of well-known units are not the medium's.
            Ok(_) => return self.fetch(now, slot, memory),
            Err(NotGuest) => return self.finish(slot, utrd, Ocs::InvalidCommandTable, memory),
        };
        self.counters.turned_away += 1;
        let what = What::Respond { slot, utrd, upiu, data: Vec::new() };
        self.due.push(Due { at: now + self.description.answer_time, what });
    }

    /// A list is not the guest's: the slots end, and the driver hears of it.
    fn bus_error(&mut self, slots: u32, doorbell: u32) {
        self.counters.bad_lists += 1;
        *self.reg(doorbell) &= !slots;
        *self.reg(reg::IS) |= reg::SBFES;
    }

    fn begin<G: GuestMemory + ?Sized>(
        &mut self,
        now: SimTime,
        slot: u8,
        utrd: Utrd,
        request: &[u8],
        memory: &mut G,
    ) -> Result<(), Ocs> {
        let (upiu, data) = match request[0] & TRANSACTION {
            NOP_OUT => (nop_in(Tag(request[3])), Vec::new()),
            QUERY_REQUEST => {
                self.counters.queries += 1;
                let query = QueryRequest::decode(request).map_err(|_| Ocs::InvalidCommandTable)?;
                self.device.power_on = self.medium.power_on();
                (self.query(now, &query), Vec::new())
            }
            upiu::COMMAND => match self.command(now, slot, utrd, request, memory)? {
                Some(ended) => ended,
                None => return Ok(()),
            },
            _ => return Err(Ocs::InvalidCommandTable),
        };
        let what = What::Respond { slot, utrd, upiu, data };
        self.due.push(Due { at: now + self.description.answer_time, what });
        Ok(())
    }

    fn query(&mut self, now: SimTime, query: &QueryRequest) -> Vec<u8> {
        let medium = &self.medium;
        let (booster, health) = (medium.booster(), medium.health());
        let told = Told { info: medium.info(), ready: medium.is_ready(), booster, health };
        let (upiu, control) = self.device.query(query, &told);
        if let Some(control) = control {
            self.medium.control_booster(now, control);
        }
        upiu
    }

    /// Begins a SCSI command. Gives the end of one that the medium need not see.
    fn command<G: GuestMemory + ?Sized>(
        &mut self,
        now: SimTime,
        slot: u8,
        utrd: Utrd,
        request: &[u8],
        memory: &mut G,
    ) -> Result<Option<Reply>, Ocs> {
        let (lun, tag) = (request[2], Tag(request[3]));
        let expected = u32::from_be_bytes([request[12], request[13], request[14], request[15]]);
        let cdb: [u8; 16] = request[16..32].try_into().unwrap_or_default();
        let ready = self.medium.is_ready();
        let cdb = match self.device.scsi(lun, &cdb, self.medium.info(), ready) {
            Scsi::Done(mut data) => {
                self.counters.local_commands += 1;
                data.truncate(expected as usize);
                return Ok(Some((upiu::plain_response(lun, tag, expected - data.len() as u32, None), data)));
            }
            Scsi::Refused(sense) => return Ok(Some(self.refuse(lun, tag, expected, sense))),
            Scsi::Medium(cdb) if expected <= MOST_DATA => cdb,
            Scsi::Medium(_) => return Ok(Some(self.refuse(lun, tag, expected, INVALID_FIELD))),
        };
        let Some(unit) = self.device.unit(lun, self.medium.info()) else {
            return Ok(Some(self.refuse(lun, tag, expected, INVALID_FIELD)));
        };
        // The codec knows one unit.
        let mut request = request.to_vec();
        request[2] = 0;
        request[16..32].copy_from_slice(&cdb);
        let payload = match request[1] & FLAG_WRITE {
            0 => Vec::new(),
            _ => utrd.gather(memory, expected as usize)?,
        };
        let Ok(command) = decode_with_payload(&request, &payload, &unit.info, self.host_seq) else {
            return Ok(Some(self.refuse(lun, tag, expected, INVALID_FIELD)));
        };
        if moves_nothing(&command.op) {
            return Ok(Some((upiu::plain_response(lun, tag, 0, None), Vec::new())));
        }
        let op = match unit.place(&command) {
            Ok(op) => op,
            Err(sense) => return Ok(Some(self.refuse(lun, tag, expected, sense))),
        };
        let is_write = matches!(command.op, Op::Write { .. });
        if payload.is_empty() {
            utrd.check_room(memory, expected as usize)?;
        }
        self.counters.commands += 1;
        self.host_seq = self.host_seq.max(command.host_seq);
        self.slots.set(slot, Slot::AtWork);
        self.at_work[usize::from(slot)] = Some(AtWork { utrd, unit, op: command.op, tag });
        let command = ufs::Command { tag: Tag(slot), op, ..command };
        self.medium.submit(now, command, if is_write { payload } else { Vec::new() });
        Ok(None)
    }

    fn refuse(&mut self, lun: u8, tag: Tag, expected: u32, sense: Sense) -> Reply {
        self.counters.local_commands += 1;
        self.counters.refused_commands += 1;
        (upiu::plain_response(lun, tag, expected, Some(sense)), Vec::new())
    }

    /// The medium has let go of a command.
    fn answered<G: GuestMemory + ?Sized>(&mut self, answer: Answer, memory: &mut G) {
        let Answer { at, response, data } = answer;
        let slot = response.tag.0;
        let was = self.slots.get(slot);
        self.slots.set(slot, Slot::Free);
        let work = self.at_work[usize::from(slot)].take();
        if let (Slot::AtWork, Some(AtWork { utrd, unit, op, tag })) = (was, work) {
            self.counters.refused_commands += u64::from(response.status != ufs::Status::Good);
            let (notice, hpb) = self.device.notice(response.hpb, self.medium.info());
            let response = Response { tag, hpb, ..response };
            let luns = Luns { command: unit.unit.lun, notice };
            let status = match encode_with_payload(&response, &op, data, &unit.info, luns) {
                Ok((mut upiu, data)) => {
                    self.alert(&mut upiu);
                    utrd.respond(memory, &upiu, &data).err()
                }
                Err(error) => panic!("{op:?}: {error}"),
            };
            self.finish(slot, utrd, status.unwrap_or(Ocs::Success), memory);
        }
        self.tasks.iter_mut().for_each(|task| task.waits_for &= !(1 << slot));
        for task in self.tasks.extract_if(.., |task| task.waits_for == 0) {
            self.due.push(Due { at: at + self.description.answer_time, what: What::Task(task) });
        }
        if was == (Slot::GivenUp { next_waits: true }) {
            self.fetch(at, slot, memory);
        }
    }

    fn happen<G: GuestMemory + ?Sized>(&mut self, due: Due, memory: &mut G) {
        match due.what {
            What::Respond { slot, utrd, mut upiu, data } => {
                self.alert(&mut upiu);
                let status = utrd.respond(memory, &upiu, &data).err().unwrap_or(Ocs::Success);
                self.counters.bad_lists += u64::from(status != Ocs::Success);
                self.finish(slot, utrd, status, memory);
            }
            What::Uic(outcome) => self.uic_done(outcome),
            What::Task(task) => {
                if task.respond(memory, self.task_at(task.slot)).is_err() {
                    return self.bus_error(1 << task.slot, reg::UTMRLDBR);
                }
                *self.reg(reg::UTMRLDBR) &= !(1 << task.slot);
                *self.reg(reg::IS) |= reg::UTMRCS;
            }
        }
    }

    /// Ends a transfer request.
    fn finish<G: GuestMemory + ?Sized>(&mut self, slot: u8, utrd: Utrd, status: Ocs, memory: &mut G) {
        if utrd.set_status(memory, status).is_err() {
            return self.bus_error(1 << slot, reg::UTRLDBR);
        }
        *self.reg(reg::UTRLDBR) &= !(1 << slot);
        if utrd.interrupts || status != Ocs::Success {
            *self.reg(reg::IS) |= reg::UTRCS;
        }
    }

    fn task_at(&self, slot: u8) -> u64 {
        self.base(reg::UTMRLBA, reg::UTMRLBAU).wrapping_add(u64::from(slot) * task::UTMRD_BYTES)
    }

    /// The slots with a command of a unit, as bits.
    fn slots_of(&self, lun: u8) -> u32 {
        let is_its = |work: &Option<AtWork>| work.is_some_and(|work| work.unit.unit.lun == lun);
        self.at_work.iter().enumerate().filter(|(_, work)| is_its(work)).fold(0, |mask, (slot, _)| mask | 1 << slot)
    }

    /// Starts the task management requests of the slots whose bit was not set.
    fn ring_tasks<G: GuestMemory + ?Sized>(&mut self, now: SimTime, value: u32, memory: &mut G) {
        let new = value & !self.read(reg::UTMRLDBR) & ((1 << reg::TASK_SLOTS) - 1);
        *self.reg(reg::UTMRLDBR) |= new;
        for slot in bits(new) {
            let request = task::read(memory, self.task_at(slot)).map(|upiu| TaskRequest::decode(&upiu));
            let Ok(Ok(request)) = request else {
                self.bus_error(1 << slot, reg::UTMRLDBR);
                continue;
            };
            self.counters.tasks += 1;
            if request.function == task::LU_RESET {
                self.device.reset_unit(request.lun);
            }
            let of_unit = self.device.has_unit(request.lun).then(|| self.slots_of(request.lun));
            let (task, given_up) = Task::begin(slot, request, of_unit, &mut self.slots);
            self.counters.aborted_slots += u64::from(given_up.count_ones());
            match task.waits_for {
                0 => self.due.push(Due { at: now + self.description.answer_time, what: What::Task(task) }),
                _ => self.tasks.push(task),
            }
        }
    }
}

/// HCS: the controller takes a UIC command.
const UIC_READY: u32 = 1 << 3;
/// HCS: status of the last change of the power mode.
const POWER_STATUS: u32 = 0b111 << 8;

/// The numbers of the bits that are set, ascending.
fn bits(mask: u32) -> impl Iterator<Item = u8> {
    (0..32).filter(move |bit| mask >> bit & 1 != 0)
}

/// A command of no block does nothing (SBC-3 clause 5.11). Linux sends one by mistake: in its error handling a TEST
/// UNIT READY becomes an HPB READ of length 0.
fn moves_nothing(op: &Op) -> bool {
    matches!(
        op,
        Op::Read { len: 0, .. } | Op::HpbRead { len: 0, .. } | Op::Write { len: 0, .. } | Op::Unmap { len: 0, .. }
    )
}
