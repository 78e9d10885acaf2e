//! Writes, flushes and trims: acceptance into the write buffer in order, and completion.

use ufs::{Content, DataOut, LpaRun, Op};
use units::{Lpa, Ppa, SEGMENT_ENTRIES, Seq};

use super::state::Engine;
use super::waiting::Flushing;
use crate::core::DeviceEvent;
use crate::core::ops::ProgramReason;
use crate::sabotage::Sabotage;
use crate::seat::{Commit, Mapping};
use crate::sram::pool::Owner;
use crate::write_path::Turn;

/// Units that one log entry of a trim covers; a trim is handled this many units at a time.
const TRIM_RUN: u32 = 32;

impl<M: Mapping> Engine<M> {
    /// Accepts writes, flushes and trims, in order, as long as there is room.
    #[inline(always)]
    pub(super) fn accept_ordered(&mut self) {
        if self.core.exclusive_job().is_some() {
            return;
        }
        while let Some(&tag) = self.ordered.front() {
            if self.write_path.is_some() && !self.write_path_ready(tag) {
                return;
            }
            let accepted = match self.commands[usize::from(tag)].op {
                Op::Write { lpa, len, fua } => self.accept_write(tag, lpa, len, fua),
                Op::Unmap { lpa, len } => self.accept_trim(tag, lpa, len),
                _ => {
                    self.accept_flush(tag);
                    true
                }
            };
            if !accepted {
                return;
            }
            self.ordered.pop_front();
            self.moved(tag);
            if let Some(path) = &mut self.write_path {
                path.accepted();
            }
        }
    }

    /// Whether the write path is ready for a command.
    #[inline(never)]
    fn write_path_ready(&mut self, tag: u8) -> bool {
        let Some(path) = &mut self.write_path else { return true };
        let op = &self.commands[usize::from(tag)].op;
        let flushes = matches!(op, Op::Flush | Op::Write { fua: true, .. });
        let turn = path.turn(self.core.now, flushes);
        if let Turn::AskAt(at) = turn {
            self.core.effects.wakes.push((at, DeviceEvent::Firmware));
        }
        turn == Turn::Accept
    }

    #[inline(always)]
    fn accept_write(&mut self, tag: u8, lpa: Lpa, len: u32, fua: bool) -> bool {
        let DataOut::Stamp(stamp) = self.commands[usize::from(tag)].data else {
            self.commands[usize::from(tag)].status = ufs::Status::InvalidField;
            self.respond(tag);
            return true;
        };
        let accepted = self.commands[usize::from(tag)].accepted;
        if self.core.is_read_only() {
            self.break_off_write(tag, len - accepted);
            return true;
        }
        let room = u32::from(self.core.sram.available(Owner::Write));
        let most = room.min(len - accepted);
        let (n, load) = match M::ON_DEMAND {
            true => self.admit(LpaRun { lpa: lpa.offset(accepted), len: len - accepted }, most),
            false => (most, None),
        };
        if n > 0 && self.core.sram.take(Owner::Write, n as u16) {
            if fua {
                self.put_fua(tag, lpa.offset(accepted), n, stamp);
            } else if self.core.parts_host_data() {
                self.put_parted(lpa.offset(accepted), n, stamp);
            } else {
                for i in accepted..accepted + n {
                    self.core.buffer.put(lpa.offset(i), stamp, None);
                }
            }
            self.core.stats.host_units_written += u64::from(n);
            self.commands[usize::from(tag)].accepted += n;
        }
        if let Some(unit) = load {
            self.load_for_write(unit, lpa.offset(accepted + n));
        }
        if accepted + n < len {
            return false;
        }
        if fua {
            self.core.buffer.force_fua();
        } else {
            // Same as `respond`, but inlined for speed: most commands end here.
            self.respond_with(tag, |_| {});
        }
        true
    }

    /// Puts `n` units of a FUA write into buffers, past what waits for a full row where that is possible.
    #[inline(never)]
    fn put_fua(&mut self, tag: u8, first: Lpa, n: u32, stamp: u32) {
        let overtakes = self.core.sabotaged(Sabotage::FuaOvertakes);
        for i in 0..n {
            self.note_heat(first.offset(i));
            let passes = self.core.buffer.put_fua(first.offset(i), stamp, tag, overtakes);
            self.core.stats.fua_units_in_turn += u64::from(!passes);
        }
    }

    /// Ends a write of which `left` units will not be accepted any more. Units that have been accepted are written.
    fn break_off_write(&mut self, tag: u8, left: u32) {
        let cmd = &mut self.commands[usize::from(tag)];
        cmd.status = ufs::Status::WriteProtected;
        cmd.remaining = cmd.remaining.saturating_sub(left);
        if cmd.remaining == 0 {
            self.respond(tag);
        } else {
            self.core.buffer.force_all();
        }
    }

    fn accept_flush(&mut self, tag: u8) {
        self.core.buffer.force_all();
        let left = self.core.buffer.held();
        let trims = !self.core.trims.all_safe();
        if left == 0 && !trims || self.core.sabotaged(Sabotage::FlushAtOnce) {
            self.respond(tag);
            return;
        }
        self.core.trims.wanted |= trims;
        let (below, trims_below) = (self.core.buffer.next_order(), self.core.next_seq());
        self.flushes.push(Flushing { tag, below, left, trims_below });
    }

    /// Programs a page of the journal of trims when a flush waits for it, or when the page is full.
    #[inline(always)]
    pub(super) fn write_trims(&mut self) {
        // A map flush may have made trims safe.
        if !self.flushes.is_empty() {
            self.finish_flushes();
        }
        if self.core.job.is_none() && self.core.trims.due() {
            self.write_due_trims();
        }
    }

    #[inline(never)]
    fn write_due_trims(&mut self) {
        if self.core.trims.crowded() {
            self.map.absorb_trims(&mut self.core);
        }
        if let Some(page) = self.core.trims.start_write() {
            let piece = self.core.meta.journal_piece(page);
            self.core.program_pieces(&[piece], ProgramReason::Background);
        }
    }

    /// Accepts a trim. Everything accepted before it gets its sequence numbers first.
    fn accept_trim(&mut self, tag: u8, lpa: Lpa, len: u32) -> bool {
        if !self.core.buffer.none_waits() {
            self.core.buffer.force_all();
            self.program_host_data();
            if !self.core.buffer.none_waits() {
                return false;
            }
        }
        loop {
            let done = self.commands[usize::from(tag)].accepted;
            if done == len {
                self.respond(tag);
                return true;
            }
            if self.map.room(&self.core) == 0 || !self.core.trims.has_room() {
                return false;
            }
            let at = lpa.offset(done);
            let to_border = SEGMENT_ENTRIES - at.0 % SEGMENT_ENTRIES;
            let n = TRIM_RUN.min(to_border).min(len - done);
            for i in 0..n {
                self.core.buffer.trim(at.offset(i));
            }
            let seq = self.core.take_seq(n);
            if !self.core.sabotaged(Sabotage::ForgetTrims) {
                self.core.trims.push(at, n, seq);
            }
            self.map.trimmed(&mut self.core, at, n, seq);
            self.commands[usize::from(tag)].accepted += n;
        }
    }

    #[inline(always)]
    pub(super) fn host_program_done(&mut self, token: u32, ppa: Ppa, n: u32, seq: Seq) {
        let sb = self.core.superblock_of(ppa);
        self.core.programs -= 1;
        self.core.units_to_log -= n as usize;
        self.core.blocks.programmed(sb, n);
        self.core.sram.give(Owner::Write, n as u16);
        for i in 0..n {
            let id = self.core.ops.buf(token, i);
            if let Some(programs) = &mut self.core.host_programs {
                let (lpa, stamp) = self.core.buffer.unit(id);
                programs.push(Content { lpa, stamp });
            }
            let unit = self.core.buffer.finish(id);
            let commit = Commit {
                lpa: unit.lpa,
                ppa: ppa.offset(i),
                seq: seq.plus(i),
                source: None,
                newest: unit.newest,
                overtaken: unit.overtaken,
            };
            self.map.committed(&mut self.core, commit);
            if let Some(tag) = unit.fua {
                self.fua_unit_done(tag);
            }
            if !self.flushes.is_empty() {
                self.flush_unit_done(unit.order);
            }
        }
        self.map.program_done(&mut self.core, sb);
    }

    fn fua_unit_done(&mut self, tag: u8) {
        let cmd = &mut self.commands[usize::from(tag)];
        cmd.remaining -= 1;
        if cmd.remaining == 0 {
            self.respond(tag);
        }
    }

    fn flush_unit_done(&mut self, order: u64) {
        for flush in &mut self.flushes {
            flush.left -= usize::from(order < flush.below);
        }
        self.finish_flushes();
    }

    /// Answers the flushes whose data and trims are on flash.
    #[inline(never)]
    pub(super) fn finish_flushes(&mut self) {
        if self.flushes.iter().all(|f| f.left > 0) {
            return;
        }
        let safe = self.core.trims.safe_below();
        while let Some(i) = self.flushes.iter().position(|f| f.left == 0 && f.trims_below <= safe) {
            let flush = self.flushes.remove(i);
            self.respond(flush.tag);
        }
    }

    /// Sets the idle timer if anything waits that no other event will move.
    pub(super) fn set_idle_timer(&mut self) {
        let waiting = !self.core.buffer.none_waits() || self.map.waits_for_idle();
        if self.idle_mark.is_none() && waiting {
            self.idle_mark = Some(self.core.buffer.oldest_queued());
            let at = self.core.now + self.core.cfg.idle_flush;
            self.core.effects.wakes.push((at, DeviceEvent::IdleFlush));
        }
    }

    pub(super) fn idle_timer(&mut self) {
        let mark = self.idle_mark.take();
        if mark == Some(self.core.buffer.oldest_queued()) {
            self.core.buffer.force_all();
        }
        if self.core.job.is_none() {
            self.map.background(&mut self.core, true);
        }
    }
}
