//! Programming of rows of user data: which row of host data is due, and how host data and GC copies are programmed,
//! also after a failed program.

use nand::{Cause, Op as NandOp, Priority, Spare, Work};
use units::{Lpa, Seq, Superblock};

use super::state::Engine;
use crate::core::Futile;
use crate::core::ops::{ProgramReason, Purpose};
use crate::sabotage::Sabotage;
use crate::seat::Mapping;
use crate::space::blocks::Stream;
use crate::sram::buffer::{BufId, WriteBuffer};

/// What can be done for a queue of host data.
pub(super) enum NextRow {
    /// So many units can be programmed.
    Of(u32),
    /// Units wait for a full row.
    NotDue,
    /// The row waits for a superblock, its record or room in the log.
    Blocked,
}

impl<M: Mapping> Engine<M> {
    /// Programs full rows of host data. Short rows are programmed when a flush, a FUA write or the idle timer asks for
    /// it.
    #[inline(never)]
    pub(super) fn program_host_data(&mut self) {
        self.program_rows();
    }

    /// [`Firmware::program_host_data`], inlined for speed: every event calls it.
    #[inline(always)]
    pub(super) fn program_rows(&mut self) {
        if self.core.buffer.held() == 0 {
            return;
        }
        if !self.core.buffer.fua_queue.is_empty() && !self.program_fua_rows() {
            return;
        }
        while self.core.exclusive_job().is_none() && !self.core.buffer.queue.is_empty() {
            let (queued, forced) = (self.core.buffer.queue.len() as u32, self.core.buffer.is_forced());
            match self.next_row(queued, forced, true) {
                NextRow::Of(n) => self.program_row(Stream::Host, n, |buffer| buffer.queue.pop_front()),
                NextRow::NotDue | NextRow::Blocked => break,
            }
        }
        if !self.core.buffer.apart_queue.is_empty() {
            self.program_apart_rows();
        }
    }

    /// Programs FUA units, in rows of their own. False if they have to wait for something that the rows of other host
    /// data must not take before them.
    #[inline(never)]
    fn program_fua_rows(&mut self) -> bool {
        while self.core.exclusive_job().is_none() && !self.core.buffer.fua_queue.is_empty() {
            let (queued, served) = match self.core.parts_host_data() {
                true => self.fua_of_a_kind(),
                false => (self.core.buffer.fua_queue.len() as u32, true),
            };
            match self.next_row(queued, self.core.buffer.is_fua_forced(), served) {
                NextRow::Of(n) => self.program_row(Stream::Host, n, |buffer| buffer.fua_queue.pop_front()),
                // The rest of the command has not been accepted.
                NextRow::NotDue => return true,
                NextRow::Blocked => return false,
            }
        }
        true
    }

    /// The next row of a queue of so many units, all of which WriteBooster serves or none. Opens a superblock for it if
    /// need be.
    #[inline(always)]
    pub(super) fn next_row(&mut self, queued: u32, forced: bool, served: bool) -> NextRow {
        if self.core.cfg.slc.booster.is_some() {
            self.core.blocks.choose_mode(served);
        }
        if self.core.blocks.room_in_row(Stream::Host) == 0 {
            if queued < self.core.layout.row_units() && !forced {
                return NextRow::NotDue;
            }
            if !self.open_for_host() {
                return NextRow::Blocked;
            }
        }
        self.row_of(Stream::Host, queued, forced)
    }

    /// The next row in the open superblock of a stream.
    #[inline(always)]
    pub(super) fn row_of(&self, stream: Stream, queued: u32, forced: bool) -> NextRow {
        let row = self.core.blocks.room_in_row(stream);
        if queued < row && !forced {
            return NextRow::NotDue;
        }
        let n = queued.min(row);
        if !self.core.records.recorded(stream) || self.map.room(&self.core) < n as usize {
            return NextRow::Blocked;
        }
        NextRow::Of(n)
    }

    #[inline(never)]
    fn open_for_host(&mut self) -> bool {
        if !self.core.records.ready() {
            return false;
        }
        // What is left to write when a device only reads may take the reserve, because no more will come.
        let short = self.core.blocks.free() <= self.core.cfg.gc.reserve && !self.core.blocks.next_is_kept();
        if short && !self.core.is_read_only() {
            self.map.starved(&mut self.core);
            return false;
        }
        if !self.map.may_open(&mut self.core, Stream::Host) {
            return false;
        }
        let Some(sb) = self.core.blocks.open_next(Stream::Host) else { return false };
        self.opened(Stream::Host, sb, ProgramReason::Background);
        true
    }

    /// A superblock has been opened. Writes the record of log blocks that recovery needs.
    pub(super) fn opened(&mut self, stream: Stream, sb: Superblock, reason: ProgramReason) {
        self.core.nand.set_slc(sb, self.core.blocks.slc().holds(sb));
        self.map.opened(&mut self.core, sb);
        let mut log_blocks = self.map.log_blocks(&self.core);
        let held: Vec<Superblock> = self.core.trims.held().filter(|sb| !log_blocks.contains(sb)).collect();
        log_blocks.extend(held);
        log_blocks.retain(|&block| block != sb || !self.core.sabotaged(Sabotage::ForgetLogBlock));
        self.core.write_record(stream, log_blocks, reason);
    }

    #[inline(always)]
    pub(super) fn program_row(&mut self, stream: Stream, n: u32, next: impl Fn(&mut WriteBuffer) -> Option<BufId>) {
        let seq = self.core.take_seq(n);
        let mut items = std::mem::take(&mut self.core.row_lists.items);
        items.extend((0..n).map(|_| u32::from(next(&mut self.core.buffer).expect("counted above"))));
        if self.map.rows_in_order() {
            // Of two versions of an address the newer one stays behind, and gets the later number.
            items.sort_by_key(|&item| self.core.buffer.unit(item as u16).0);
        }
        self.submit_row(stream, &items, seq);
        items.clear();
        self.core.row_lists.items = items;
        self.core.units_to_log += n as usize;
        self.gc.earn(n, self.core.blocks.free());
        self.core.futile = Futile::default();
    }

    /// Programs `items`, write buffers or copies, at the stream's next place, with sequence numbers from `seq`. They
    /// must fit the row.
    #[inline(always)]
    pub(super) fn submit_row(&mut self, stream: Stream, items: &[u32], seq: Seq) {
        let n = items.len() as u32;
        let padded = n.next_multiple_of(self.core.blocks.program_units(stream));
        let ppa = self.core.blocks.place(stream, n, padded, seq.plus(n - 1));
        let mut spares = std::mem::take(&mut self.core.row_lists.spares);
        for (i, &item) in items.iter().enumerate() {
            let spare = self.spare_of(stream, item, seq.plus(i as u32));
            self.map.prefetch(Lpa(spare.lpa));
            spares.push(Some(spare));
        }
        spares.resize(padded as usize, None);
        let copies = stream.is_of_copies();
        let (purpose, priority, cause) = match copies {
            false => (Purpose::HostProgram { ppa, n, seq }, Priority::HostWrite, Cause::HostWrite),
            true => (Purpose::GcProgram { ppa, n, seq }, Priority::Gc, Cause::GcWrite),
        };
        let token = self.core.ops.start(purpose, items);
        let op = NandOp { work: Work::Program { ppa, units: padded }, priority, cause, token };
        self.core.submit_program(op, &spares, seq);
        spares.clear();
        self.core.row_lists.spares = spares;
        let stats = &mut self.core.stats;
        let (programmed, hot) = match copies {
            false => (&mut stats.data_units_programmed, &mut stats.hot_units_programmed),
            true => (&mut stats.gc_units_programmed, &mut stats.hot_units_copied),
        };
        *programmed += u64::from(n);
        if stream.is_hot() {
            *hot += u64::from(n);
        }
        if self.core.blocks.slc().holds(self.core.superblock_of(ppa)) {
            self.core.stats.slc_units_programmed += u64::from(n);
        }
        self.core.stats.padding_units += u64::from(padded - n);
        self.core.job_ops += u32::from(copies);
        self.map.placed(self.core.superblock_of(ppa), n);
    }

    /// Spare area of a unit. A copy keeps the version of its content.
    #[inline]
    fn spare_of(&self, stream: Stream, item: u32, seq: Seq) -> Spare {
        match stream {
            Stream::Host | Stream::HotHost => {
                let (lpa, stamp) = self.core.buffer.unit(item as u16);
                Spare { lpa: lpa.0, stamp, version: seq.wire() }
            }
            Stream::Gc | Stream::HotGc => {
                let copy = self.gc.page(item);
                Spare { lpa: copy.lpa.0, stamp: copy.stamp, version: copy.version }
            }
        }
    }
}
