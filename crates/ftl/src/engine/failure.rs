//! Flash operations that fail.
//!
//! - A read for the host ends in an error for its command. The firmware repeats its own reads until they succeed.
//! - The content of a failed program is still in SRAM. It is programmed elsewhere, with the same sequence numbers. The
//!   superblock is used until it is empty, and then given up.
//! - A data superblock whose erase has failed on any die is given up; a metadata superblock is erased again.
//! - When too few data superblocks are left, the device only reads. Superblocks that are to be given up do not count as
//!   left. Units that the device has accepted are still written, into the reserve of GC if need be; the other units of
//!   a write that has begun are refused. GC runs only while such units are held.

use nand::{Completed, Sensed, Work};
use ufs::Op;
use units::{Ppa, Seq};

use super::state::Engine;
use super::waiting::FailedRow;
use crate::core::ops::{ProgramReason, Purpose};
use crate::seat::{HostRole, Mapping};
use crate::space::blocks::Stream;

impl<M: Mapping> Engine<M> {
    /// Handles a failed operation. True if that was all; else the usual handling of its kind deals with the failure.
    #[cold]
    pub(super) fn operation_failed(&mut self, done: &Completed) -> bool {
        let token = done.token();
        match self.core.ops.purpose(token) {
            Purpose::Erase { .. } => return false,
            Purpose::HostRead { tag, first, ppa, n } => {
                self.note_failed_read(tag, first, ppa, n);
                return false;
            }
            Purpose::SegmentLoad { .. }
            | Purpose::JobRead { .. }
            | Purpose::FlushRead { .. }
            | Purpose::GcRead { .. }
            | Purpose::Recover { .. } => {
                self.core.repeat(done);
                return true;
            }
            Purpose::HostProgram { ppa, n, seq } => self.row_failed(Stream::Host, token, ppa, n, seq),
            Purpose::GcProgram { ppa, n, seq } => self.row_failed(Stream::Gc, token, ppa, n, seq),
            Purpose::MetaProgram { ppa, n, reason } => self.pieces_failed(token, ppa, n, reason),
            Purpose::Snapshot => {
                self.core.programs -= 1;
                if let Work::Program { ppa, .. } = done.work() {
                    self.core.meta.snapshot_failed(ppa);
                }
            }
        }
        self.core.stats.program_failures += 1;
        self.core.ops.finish(token);
        true
    }

    /// Notes for [`Device::take_failed_reads`](crate::Device::take_failed_reads) whose pages could not be read. A page
    /// of another address counts only if the host has named it: the device cannot tell without its spare area.
    fn note_failed_read(&mut self, tag: u8, first: u32, ppa: Ppa, n: u32) {
        let op = &self.commands[usize::from(tag)].op;
        let named = M::HOST == HostRole::KeepsMapping || matches!(op, Op::HpbRead { .. });
        for j in 0..n {
            let lpa = self.read_lpa(tag, first + j);
            let (content, _) = self.core.nand.observe(ppa.offset(j));
            if named || matches!(content, Sensed::Unit(spare) if spare.lpa == lpa.0) {
                self.core.failed_reads.push(lpa);
            }
        }
    }

    /// Queues a failed row. It counts as a program in flight until it has been submitted again: meanwhile the log is
    /// not complete, and an exclusive job waits for its own programs.
    fn row_failed(&mut self, stream: Stream, token: u32, ppa: Ppa, n: u32, seq: Seq) {
        let sb = self.core.superblock_of(ppa);
        self.core.blocks.programmed(sb, n);
        self.core.blocks.suspect(sb);
        self.map.unplaced(sb, n);
        let items = (0..n).map(|i| self.core.ops.item(token, i)).collect();
        self.failed_rows.push_back(FailedRow { stream, items, seq });
    }

    fn pieces_failed(&mut self, token: u32, ppa: Ppa, n: u32, reason: ProgramReason) {
        self.core.programs -= 1;
        self.core.job_ops -= u32::from(reason.is_of_job());
        let mut placing = self.core.meta.placing();
        for i in 0..n {
            let piece = self.core.ops.piece(token, i);
            let from = ppa.offset(placing.put(piece).start);
            if reason == ProgramReason::Background && !self.map.repeats(&mut self.core, piece, from) {
                continue;
            }
            let (place, _) = self.core.program_pieces(&[piece], reason);
            self.map.piece_moved(piece, from, place);
        }
    }

    /// Programs failed rows again, also while an exclusive job waits for it. The sequence numbers stay: a host that
    /// applies changes in order would wait for a missing one for ever.
    #[inline(never)]
    pub(super) fn program_again(&mut self) {
        while let Some(row) = self.failed_rows.front() {
            let stream = row.stream;
            if stream == Stream::Host && self.core.cfg.slc.booster.is_some() {
                let served = row.items.first().is_none_or(|&item| {
                    let (lpa, _) = self.core.buffer.unit(item as u16);
                    self.core.is_served(lpa)
                });
                self.core.blocks.choose_mode(served);
            }
            if self.core.blocks.room_in_row(stream) == 0 && !self.open_for_repair(stream) {
                return;
            }
            if !self.core.records.recorded(stream) {
                return;
            }
            self.program_failed_row(stream);
        }
    }

    /// Opens a superblock for a failed row, regardless of the reserve and of the number of log blocks, because an
    /// exclusive job may wait for it.
    fn open_for_repair(&mut self, stream: Stream) -> bool {
        if !self.core.records.ready() {
            return false;
        }
        let Some(sb) = self.core.blocks.open_next(stream) else { return false };
        self.opened(stream, sb, ProgramReason::Background);
        true
    }

    fn program_failed_row(&mut self, stream: Stream) {
        let room = self.core.blocks.room_in_row(stream) as usize;
        let Some(row) = self.failed_rows.front_mut() else { return };
        let seq = row.seq;
        let items: Vec<u32> = row.items.drain(..row.items.len().min(room)).collect();
        row.seq = seq.plus(items.len() as u32);
        let whole = row.items.is_empty();
        self.submit_row(stream, &items, seq);
        if whole {
            self.failed_rows.pop_front();
            self.core.programs -= 1;
            self.core.job_ops -= u32::from(stream == Stream::Gc);
        }
    }
}
