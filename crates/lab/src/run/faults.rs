//! Requests that fail because flash was made to fail.

use ftl::Device;
use host::RequestOp;
use ufs::Status;

use super::System;
use crate::oracle::Oracle;
use crate::report::requests::Slot;

impl System {
    /// Requests may fail from now on as flash that fails makes them.
    pub fn allow_faults(&mut self) {
        self.faulty = true;
    }

    /// Notes for the reads under way into which of their pages a fault has been injected.
    #[cold]
    pub(super) fn note_faults(&mut self) {
        for lpa in self.stack.device.take_failed_reads() {
            self.requests.note_fault(lpa);
        }
    }
}

/// True if flash that was made to fail explains the end of this request: a fault was injected into a page that the read
/// was about, or the device had too few superblocks left to accept a write or trim.
pub(super) fn has_excuse(slot: &Slot, status: Status, device: &Device) -> bool {
    match (slot.driver_op(), status) {
        (RequestOp::Read, Status::UnrecoveredRead) => slot.fault_injected,
        // It may write again by now.
        (RequestOp::Write { .. } | RequestOp::Unmap, Status::WriteProtected) => device.has_lost_superblocks(),
        _ => false,
    }
}

/// Ends a request that has failed for a good reason.
pub(super) fn failed(oracle: &mut Oracle, slot: &Slot) {
    match slot.driver_op() {
        RequestOp::Read => oracle.read_failed(&slot.memory),
        // Some of its commands may have been accepted before another was refused.
        RequestOp::Write { .. } | RequestOp::Unmap => oracle.refused(slot.number),
        RequestOp::Flush => {}
    }
}

#[cfg(test)]
mod tests {
    use units::Lpa;
    use workload::{GroupId, Issued, Ticket, WorkOp, WorkRequest};

    use super::*;
    use crate::profile::Profile;
    use crate::report::requests::Requests;
    use crate::stack::system::schemes;

    /// A request of this kind for units 4 and 5.
    fn issued(op: WorkOp) -> Issued {
        let request = WorkRequest::plain(op, 4, 2);
        Issued { ticket: Ticket(0), group: GroupId(0), measured: true, request }
    }

    #[test]
    fn nothing_excuses_a_failure_but_its_own_fault() {
        let profile = Profile::load("tiny", &[]).expect("an embedded profile");
        let sound = Device::new(profile.device_config([3, 5]), schemes()[0].parts.mapping);
        for (op, fault_at, status, excused) in [
            (WorkOp::Read, Some(5), Status::UnrecoveredRead, true),
            (WorkOp::Read, Some(6), Status::UnrecoveredRead, false),
            (WorkOp::Read, None, Status::UnrecoveredRead, false),
            (WorkOp::Read, Some(5), Status::WriteProtected, false),
            (WorkOp::Read, Some(5), Status::OutOfRange, false),
            (WorkOp::Write, Some(5), Status::UnrecoveredRead, false),
            (WorkOp::Write, None, Status::WriteProtected, false),
            (WorkOp::Trim, None, Status::WriteProtected, false),
            (WorkOp::Flush, None, Status::WriteProtected, false),
        ] {
            let mut requests = Requests::default();
            requests.enter(&issued(op));
            fault_at.into_iter().for_each(|at| requests.note_fault(Lpa(at)));
            let slot = requests.get(Ticket(0));
            assert_eq!(has_excuse(slot, status, &sound), excused, "{op:?} {fault_at:?} {status:?}");
        }
    }
}
