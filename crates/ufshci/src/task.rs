//! Task management (JESD223D clause 6.3; JESD220E clause 10.7.6).

use ufs::codec::task::TaskRequest;

use crate::memory::{GuestMemory, NotGuest};
use crate::registers::SLOTS;
use crate::slots::{Slot, Slots};

/// Bytes of a UTMRD.
pub const UTMRD_BYTES: u64 = 80;
const OCS_AT: u64 = 8;
const REQUEST_AT: u64 = 16;
const RESPONSE_AT: u64 = 48;

const ABORT_TASK: u8 = 0x01;
const ABORT_TASK_SET: u8 = 0x02;
const CLEAR_TASK_SET: u8 = 0x04;
pub const LU_RESET: u8 = 0x08;
const QUERY_TASK: u8 = 0x80;
const QUERY_TASK_SET: u8 = 0x81;

/// Service responses (JESD220E Table 10.29).
const COMPLETE: u8 = 0x00;
const NOT_SUPPORTED: u8 = 0x04;
const SUCCEEDED: u8 = 0x08;
const INCORRECT_UNIT: u8 = 0x09;

/// A task management request under way.
#[derive(Clone, Copy, Debug)]
pub struct Task {
    /// Its place in the list.
    pub slot: u8,
    request: TaskRequest,
    service: u8,
    /// Transfer slots of which the medium has to let go first, as bits.
    pub waits_for: u32,
}

/// Reads the request at an address.
///
/// # Errors
/// If it is not the guest's.
pub fn read<G: GuestMemory + ?Sized>(memory: &G, at: u64) -> Result<[u8; 32], NotGuest> {
    let mut upiu = [0; 32];
    memory.read(at.wrapping_add(REQUEST_AT), &mut upiu)?;
    Ok(upiu)
}

impl Task {
    /// Does what a request asks for, as far as that goes at once. `of_unit` are the slots whose last command was its
    /// unit's, as bits; `None` if there is no such unit. Commands that are given up end unseen. Gives the slots that
    /// were given up, too.
    pub fn begin(slot: u8, request: TaskRequest, of_unit: Option<u32>, slots: &mut Slots) -> (Task, u32) {
        let at_work =
            |slots: &Slots| (0..SLOTS).filter(|&one| slots.get(one) == Slot::AtWork).fold(0, |m, s| m | 1 << s);
        let all: u32 = at_work(slots) & of_unit.unwrap_or(0);
        let one = u8::try_from(request.task).ok().filter(|&task| task < SLOTS).map_or(0, |task| all & 1 << task);
        let (service, given_up) = match request.function {
            _ if of_unit.is_none() => (INCORRECT_UNIT, 0),
            ABORT_TASK => (COMPLETE, one),
            ABORT_TASK_SET | CLEAR_TASK_SET | LU_RESET => (COMPLETE, all),
            QUERY_TASK => (if one == 0 { COMPLETE } else { SUCCEEDED }, 0),
            QUERY_TASK_SET => (if all == 0 { COMPLETE } else { SUCCEEDED }, 0),
            _ => (NOT_SUPPORTED, 0),
        };
        for given in (0..SLOTS).filter(|given| given_up >> given & 1 != 0) {
            slots.give_up(given);
        }
        (Task { slot, request, service, waits_for: given_up }, given_up)
    }

    /// Writes the response behind the request.
    ///
    /// # Errors
    /// If the list is not the guest's any more.
    pub fn respond<G: GuestMemory + ?Sized>(&self, memory: &mut G, at: u64) -> Result<(), NotGuest> {
        memory.write(at.wrapping_add(RESPONSE_AT), &self.request.respond(self.service))?;
        memory.write(at.wrapping_add(OCS_AT), &[0])
    }
}
