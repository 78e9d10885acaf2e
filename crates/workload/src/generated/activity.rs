//! The requests of one activity.

use super::spec::{Activity, ActivityParams, Does, units_of};
use super::volume::{Blocks, Full, Layout, Piece, Volume, below};
use crate::rng::{Rng, named_stream};
use crate::{Flags, WorkOp, WorkRequest};

/// Part of its segments that metadata fill: as what is written in general.
const METADATA_PERCENT: u32 = 32;

/// An activity under way.
pub(super) struct Work<'a> {
    params: &'a ActivityParams,
    total: u32,
    done: u32,
    blocks: Blocks,
    /// Where commits go: F2FS writes its nodes to logs of their own.
    metadata: Blocks,
    rng: Rng,
    /// Units since the last commit.
    uncommitted: u32,
    /// Written first, and overwritten later.
    hot: Vec<Piece>,
    hot_units: u32,
    /// Units that have been overwritten.
    rewritten: u32,
    /// Read and not discarded.
    read: Vec<Piece>,
    read_units: u32,
}

impl<'a> Work<'a> {
    pub fn new(activity: &'a Activity, layout: Layout, seed: u64) -> Work<'a> {
        let Activity { name, params } = activity;
        let rng = |index| named_stream(seed, name, index);
        Work {
            params,
            total: units_of(params.kib),
            done: 0,
            blocks: Blocks::new(layout, params.segment_percent, rng(0)),
            metadata: Blocks::new(layout, METADATA_PERCENT, rng(1)),
            rng: rng(2),
            uncommitted: 0,
            hot: Vec::new(),
            hot_units: 0,
            rewritten: 0,
            read: Vec::new(),
            read_units: 0,
        }
    }

    /// Units in all.
    pub fn total(&self) -> u64 {
        self.total.into()
    }

    /// Units read or written.
    pub fn done(&self) -> u64 {
        self.done.into()
    }

    /// Adds the requests of the next burst.
    pub fn burst(&mut self, volume: &mut Volume, to: &mut Vec<WorkRequest>) -> Result<(), Full> {
        let end = self.total.min(self.done + units_of(self.params.burst_kib));
        while self.done < end {
            // A burst ends with a whole piece.
            let most = (self.total - self.done).min(units_of(self.params.request_kib));
            let (request, units) = match self.params.does {
                Does::Read => self.next_read(most, volume)?,
                Does::Write => self.next_write(most, volume)?,
            };
            to.push(request);
            self.done += units;
            self.discard(to);
        }
        Ok(())
    }

    fn next_read(&mut self, most: u32, volume: &mut Volume) -> Result<(WorkRequest, u32), Full> {
        let piece = self.blocks.next(most, volume)?;
        if self.params.discard_units().is_some() {
            self.read.push(piece);
            self.read_units += piece.count;
        }
        let flags = Flags { readahead: true, ..Flags::default() };
        Ok((request(WorkOp::Read, piece, flags), piece.count))
    }

    fn next_write(&mut self, most: u32, volume: &mut Volume) -> Result<(WorkRequest, u32), Full> {
        let until_commit = self.params.commit_units().map_or(u32::MAX, |every| every - 1 - self.uncommitted);
        if until_commit == 0 {
            self.uncommitted = 0;
            let flags = Flags { sync: true, preflush: true, fua: true, ..Flags::default() };
            let piece = self.metadata.next(1, volume)?;
            return Ok((request(WorkOp::Write, piece, flags), 1));
        }
        let piece = self.written(most.min(until_commit), volume)?;
        self.uncommitted += piece.count;
        let flags = Flags { sync: self.params.sync, ..Flags::default() };
        Ok((request(WorkOp::Write, piece, flags), piece.count))
    }

    /// Where the next data go.
    fn written(&mut self, most: u32, volume: &mut Volume) -> Result<Piece, Full> {
        let wanted = u64::from(self.done) * u64::from(self.params.rewrite_percent) / 100;
        if !self.hot.is_empty() && u64::from(self.rewritten) < wanted {
            let piece = self.hot[below(&mut self.rng, self.hot.len() as u32) as usize];
            let count = piece.count.min(most);
            self.rewritten += count;
            return Ok(Piece { count, ..piece });
        }
        let piece = self.blocks.next(most, volume)?;
        if self.params.rewrite_percent > 0 && self.hot_units < units_of(self.params.hot_kib) {
            self.hot.push(piece);
            self.hot_units += piece.count;
        }
        Ok(piece)
    }

    /// Discards what has been read, when it is enough or the last.
    fn discard(&mut self, to: &mut Vec<WorkRequest>) {
        let due = self.params.discard_units().is_some_and(|every| self.read_units >= every || self.done == self.total);
        if due {
            self.read_units = 0;
            to.extend(self.read.drain(..).map(|piece| request(WorkOp::Trim, piece, Flags::default())));
        }
    }
}

/// A request whose time and origin are still to come.
fn request(op: WorkOp, piece: Piece, flags: Flags) -> WorkRequest {
    WorkRequest { flags, ..WorkRequest::plain(op, piece.first.into(), piece.count.into()) }
}
