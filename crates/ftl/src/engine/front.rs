//! The command front end: takes commands in order of arrival, charges their cost, and dispatches them.

use ufs::{Command, DataOut, Op, Status};
use units::{Lpa, Nanos, Ppa};

use super::state::{Engine, Pending, Translation};
use super::waiting::Then;
use crate::config::DirtyFrom;
use crate::core::DeviceEvent;
use crate::report::watch::Work;
use crate::sabotage::Sabotage;
use crate::seat::{Answer, HostRole, HostSays, Mapping};
use crate::sram::pool::Owner;

/// Longest read or write: the TRANSFER LENGTH of READ(10) and WRITE(10) has 16 bits (SBC-4 clause 5.12).
const MAX_TRANSFER_UNITS: u32 = 0xffff;

impl<M: Mapping> Engine<M> {
    #[inline(always)]
    pub(super) fn arrive(&mut self, cmd: Command) {
        let tag = cmd.tag.0;
        let slot = &mut self.commands[usize::from(tag)];
        if slot.active {
            // An overlapped command (SAM-5 clause 5.11). An answer would be taken for that of the first command.
            self.core.stats.overlapped_commands += 1;
            return;
        }
        slot.active = true;
        if self.core.has_more_occasions {
            self.idle_time.arrived(cmd.op.is_user());
        }
        slot.op = cmd.op;
        if let Op::Write { fua, .. } = &mut slot.op {
            *fua |= self.core.cfg.write_through;
            *fua &= !self.core.sabotaged(Sabotage::FuaAtOnce);
        }
        slot.host_seq = cmd.host_seq;
        slot.remaining = 0;
        slot.accepted = 0;
        slot.cost = self.core.cfg.command_cost;
        slot.sealing = Nanos(0);
        slot.status = Status::Good;
        slot.translation = Translation::default();
        slot.freed = cmd.freed;
        slot.data.put(cmd.data);
        self.incoming.push_back(tag);
        if let Some(watch) = &mut self.core.watch {
            watch.stays.begin(tag);
        }
    }

    /// Starts commands as the firmware thread gets to them. A command keeps the thread busy from its start on; that
    /// time is added to its latency when it is answered.
    #[inline(always)]
    pub(super) fn start_commands(&mut self) {
        while let Some(&tag) = self.incoming.front() {
            if self.core.now < self.thread_until {
                if !self.thread_wake {
                    self.thread_wake = true;
                    self.core.effects.wakes.push((self.thread_until, DeviceEvent::Firmware));
                }
                return;
            }
            self.thread_until = self.core.now + self.command_cost(tag);
            self.incoming.pop_front();
            if self.core.watch.is_some() {
                self.note_start(tag);
            }
            self.start(tag);
        }
    }

    #[inline(always)]
    fn start(&mut self, tag: u8) {
        let Pending { op, host_seq, freed, .. } = self.commands[usize::from(tag)];
        self.core.publisher.heard(tag);
        // Commands start in the order in which they were sent, and a read is resolved as it starts. So the log forgets
        // an entry that the host has applied only after all reads sent before that have been resolved.
        self.map.on_command(&mut self.core, host_seq, freed);
        if let Some(status) = self.refuse(&op) {
            self.commands[usize::from(tag)].status = status;
            self.respond(tag);
            return;
        }
        match op {
            Op::Read { lpa, len } => self.start_read(tag, lpa, len, HostSays::Nothing),
            Op::HpbRead { lpa, len, entry } if M::HOST == HostRole::KeepsEntries => {
                self.work_on_seals(tag, 1);
                let says = self.check_entry(lpa, len, entry);
                self.commands[usize::from(tag)].translation.refused = says == HostSays::Nothing;
                self.start_read(tag, lpa, len, says);
            }
            Op::MappedRead { lpa, len, ppa } if M::HOST == HostRole::KeepsMapping => {
                let says = self.check_address(ppa, len);
                self.commands[usize::from(tag)].translation.refused = says == HostSays::Nothing;
                self.start_read(tag, lpa, len, says);
            }
            // This device has no use for what the host adds.
            Op::HpbRead { lpa, len, .. } | Op::MappedRead { lpa, len, .. } => {
                self.start_read(tag, lpa, len, HostSays::Nothing);
            }
            Op::Write { len, fua, .. } => {
                self.commands[usize::from(tag)].remaining = if fua { len } else { 0 };
                self.ordered.push_back(tag);
            }
            Op::Flush | Op::Unmap { .. } => self.ordered.push_back(tag),
            Op::HpbReadBuffer { .. } => self.start_group(tag),
            Op::HpbInactivate { region } => {
                self.core.publisher.inactivated(region);
                self.respond(tag);
            }
            Op::CacheQuery => self.answer_cache_query(tag),
            Op::BatchNotice { .. } => self.start_batch(tag),
            // What else there is passes between a host's booster and the mapping, which knows it.
            _ => self.start_metadata(tag),
        }
    }

    /// The error of a command that the host got wrong. Nothing acts on a command before this check.
    #[inline(always)]
    fn refuse(&self, op: &Op) -> Option<Status> {
        let capacity = self.core.cfg.capacity_units;
        let outside = |lpa: Lpa, len: u32| lpa.0.checked_add(len).is_none_or(|end| end > capacity);
        match *op {
            Op::Read { lpa, len }
            | Op::HpbRead { lpa, len, .. }
            | Op::MappedRead { lpa, len, .. }
            | Op::Write { lpa, len, .. }
            | Op::Unmap { lpa, len }
                if outside(lpa, len) =>
            {
                Some(Status::OutOfRange)
            }
            Op::Read { len, .. } | Op::HpbRead { len, .. } | Op::MappedRead { len, .. } | Op::Write { len, .. }
                if len == 0 || len > MAX_TRANSFER_UNITS =>
            {
                Some(Status::InvalidField)
            }
            Op::Write { .. } | Op::Unmap { .. } if self.core.is_read_only() => Some(Status::WriteProtected),
            Op::HpbReadBuffer { group }
                if M::HOST != HostRole::KeepsEntries || group >= self.core.publisher.groups() =>
            {
                Some(Status::InvalidField)
            }
            Op::HpbInactivate { region }
                if M::HOST != HostRole::KeepsEntries || region >= self.core.publisher.regions() =>
            {
                Some(Status::InvalidField)
            }
            Op::SegmentRead { segment } | Op::SegmentWrite { segment }
                if segment.0 >= capacity.div_ceil(units::SEGMENT_ENTRIES) =>
            {
                Some(Status::InvalidField)
            }
            Op::ValidBitmap { block, .. } if !self.core.blocks.exists(block) => Some(Status::InvalidField),
            _ => None,
        }
    }

    /// Charges the firmware thread for seals that it makes or checks for a command. The command's answer waits for
    /// them. Plain entries cost nothing.
    pub(super) fn work_on_seals(&mut self, tag: u8, seals: u32) {
        let cost = Nanos(self.core.publisher.config().seal_cost.0 * u64::from(seals));
        self.commands[usize::from(tag)].sealing += cost;
        let free = self.thread_until.max(self.core.now);
        self.thread_until = free + cost;
        self.core.note_work(Work::Seals, free, self.thread_until);
        self.core.stats.sealing_ns += cost.0;
    }

    fn check_entry(&mut self, lpa: Lpa, len: u32, entry: u64) -> HostSays {
        // A plain entry is any number, and a seal of 24 bits can be guessed, so the address is checked, too.
        let place = self.core.publisher.check(lpa, len, entry).filter(|&ppa| self.core.is_data(ppa, len));
        match place.filter(|_| !self.is_dirty_by_buffered(lpa)) {
            Some(ppa) => HostSays::At(ppa),
            None => {
                self.core.stats.host_entries_refused += 1;
                HostSays::Nothing
            }
        }
    }

    /// True if accepted writes make their groups dirty, and the write buffer has one of this page's group.
    fn is_dirty_by_buffered(&self, lpa: Lpa) -> bool {
        let cfg = self.core.publisher.config();
        cfg.dirty_from == DirtyFrom::Write && {
            let (first, len) = self.core.publisher.range(lpa.0 / cfg.group_entries);
            self.core.buffer.holds_any(first, len)
        }
    }

    /// What the host says about a unit, if its address is one that user data can have.
    fn check_address(&mut self, ppa: Option<Ppa>, len: u32) -> HostSays {
        match ppa {
            None => HostSays::Unmapped,
            Some(ppa) if self.core.is_data(ppa, len) => HostSays::At(ppa),
            Some(_) => {
                self.core.stats.host_entries_wrong += 1;
                HostSays::Nothing
            }
        }
    }

    fn start_metadata(&mut self, tag: u8) {
        let cmd = &mut self.commands[usize::from(tag)];
        let op = cmd.op;
        let writes_segment = matches!(op, Op::SegmentWrite { .. });
        let carries_segment = writes_segment && matches!(cmd.data, DataOut::Segment(_) | DataOut::SegmentParts(..));
        // A SegmentWrite that attests a segment must not overtake one that carries it.
        let must_queue = writes_segment && !self.waiting_metadata.is_empty();
        if carries_segment && self.core.sram.available(Owner::Load) == 0 || must_queue {
            self.waiting_metadata.push_back(tag);
            return;
        }
        self.metadata(tag);
    }

    fn metadata(&mut self, tag: u8) {
        let cmd = &mut self.commands[usize::from(tag)];
        let (op, host_seq) = (cmd.op, cmd.host_seq);
        let data = std::mem::take(&mut cmd.data);
        match self.map.metadata(&mut self.core, op, data, host_seq) {
            Answer::Now(status, data) => {
                self.commands[usize::from(tag)].status = status;
                self.respond_with(tag, |to| *to = data);
            }
            Answer::AfterLoad(units, awaited) => {
                self.commands[usize::from(tag)].remaining = 1;
                self.load_for_command(units, tag, Then::Ask(awaited));
            }
        }
    }

    /// Retries everything that had to wait for a buffer.
    #[inline(always)]
    pub(super) fn retry_waiting(&mut self) {
        if !self.waiting_metadata.is_empty() {
            self.retry_metadata();
        }
        if self.loads.is_waiting() {
            self.retry_loads();
        }
        if !self.waiting_reads.is_empty() {
            self.retry_reads();
        }
    }

    #[inline(never)]
    fn retry_metadata(&mut self) {
        while self.core.sram.available(Owner::Load) > 0 {
            let Some(tag) = self.waiting_metadata.pop_front() else { return };
            self.moved(tag);
            self.metadata(tag);
        }
    }
}
