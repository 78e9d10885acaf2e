//! Programming of rows of user data: host data and GC copies, also after a failed program.

use nand::{Cause, Op as NandOp, Priority, Spare, Work};
use units::{Lpa, Seq};

use super::state::Engine;
use crate::core::ops::Purpose;
use crate::seat::Mapping;
use crate::space::blocks::Stream;

impl<M: Mapping> Engine<M> {
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
