//! Hot data in superblocks of their own (`gc.hot_region_kib`).
//!
//! A hot stream only takes what is there in plenty: it opens a superblock while more than the reserve is free and the
//! log blocks leave room for the other streams. Otherwise its data go to the stream that they would go to if nothing
//! told them apart, so nothing ever waits for a hot stream alone.

use units::Lpa;

use super::rows::NextRow;
use super::state::Engine;
use crate::core::ops::ProgramReason;
use crate::sabotage::Sabotage;
use crate::seat::Mapping;
use crate::space::blocks::Stream;

impl<M: Mapping> Engine<M> {
    /// Puts `n` units of a write into buffers, by the heat of their regions.
    #[inline(never)]
    pub(super) fn put_by_heat(&mut self, first: Lpa, n: u32, stamp: u32) {
        let overtakes = self.core.sabotaged(Sabotage::HotOvertakes);
        // What breaks the promise also makes it matter at once: every other write is hot.
        let swings = overtakes && stamp.is_multiple_of(2);
        for lpa in (0..n).map(|i| first.offset(i)) {
            let hot = self.note_heat(lpa) || swings;
            self.core.buffer.put_apart(lpa, stamp, hot, overtakes);
        }
    }

    /// Counts a write of the host. True if its data are hot.
    #[inline]
    pub(super) fn note_heat(&mut self, lpa: Lpa) -> bool {
        self.core.heat.as_mut().is_some_and(|heat| heat.written(lpa))
    }

    /// True if a hot stream may open a superblock, as soon as that can be recorded.
    pub(super) fn may_open_hot(&self, stream: Stream) -> bool {
        let core = &self.core;
        core.blocks.free() > core.cfg.gc.reserve && core.log_block_fits(self.map.log_blocks(core).len(), stream)
    }

    /// The next row of hot host data, and the stream that it goes to. In SLC mode all host data share superblocks.
    pub(super) fn next_hot_row(&mut self, queued: u32, forced: bool) -> (Stream, NextRow) {
        if self.core.cfg.slc.booster.is_some() {
            self.core.blocks.choose_mode(true);
        }
        let room = self.core.blocks.room_in_row(Stream::HotHost);
        if room == 0 && queued < self.core.layout.row_units() && !forced {
            return (Stream::HotHost, NextRow::NotDue);
        }
        if self.core.blocks.host_fills_slc() || room == 0 && !self.may_open_hot(Stream::HotHost) {
            return (Stream::Host, self.next_row(queued, forced, true));
        }
        if room == 0 {
            if !self.core.records.ready() {
                return (Stream::HotHost, NextRow::Blocked);
            }
            self.open_hot(Stream::HotHost, ProgramReason::Background);
        }
        (Stream::HotHost, self.row_of(Stream::HotHost, queued, forced))
    }

    /// Opens a superblock for a hot stream that may open one.
    fn open_hot(&mut self, stream: Stream, reason: ProgramReason) {
        let sb = self.core.blocks.open_next(stream).expect("more than the reserve is free");
        self.opened(stream, sb, reason);
    }

    /// Programs full rows of hot copies. Those that find no superblock, or must not wait for a full row (`force`), go
    /// with the others; at the reserve, all do. False if programming has to continue after a superblock has been
    /// recorded as opened.
    pub(super) fn program_hot_copies(&mut self, force: bool) -> bool {
        let urgent = self.gc.urgent(self.core.blocks.free());
        while !urgent && !self.gc.hot_queue.is_empty() {
            let (queued, mut row) = (self.gc.hot_queue.len() as u32, self.core.blocks.room_in_row(Stream::HotGc));
            if row == 0 {
                if queued < self.core.layout.row_units() {
                    break;
                }
                if !self.core.records.ready() {
                    return false;
                }
                if !self.may_open_hot(Stream::HotGc) {
                    self.gc.mix();
                    break;
                }
                self.open_hot(Stream::HotGc, ProgramReason::Job);
                row = self.core.blocks.room_in_row(Stream::HotGc);
            }
            if !self.core.records.recorded(Stream::HotGc) {
                return false;
            }
            if queued < row || self.map.room(&self.core) < row as usize {
                break;
            }
            self.program_copy_row(Stream::HotGc, row);
        }
        if urgent || force {
            self.gc.mix();
        }
        true
    }

    /// True if full rows of hot copies wait that can be programmed now.
    pub(super) fn keeps_hot_rows(&self) -> bool {
        let (open, row) = (self.core.blocks.room_in_row(Stream::HotGc), self.core.layout.row_units());
        let n = if open > 0 { open } else { row } as usize;
        let kept = self.gc.hot_queue.len() >= n && self.map.room(&self.core) >= n;
        kept && (open > 0 || self.core.records.ready() && self.may_open_hot(Stream::HotGc))
    }
}
