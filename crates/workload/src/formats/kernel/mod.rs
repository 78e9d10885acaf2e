//! Block requests and UFS commands as Linux traces them, and how they become records. Where the events were read
//! from, text or a Perfetto recording, is not known here.
//!
//! A block request is what was issued, from the time when it was inserted if the trace has that; in a trace without
//! issue events, it is what was inserted. Such a request may have grown by merging before it was issued: it gets the
//! length with which it completes.
//!
//! A UFS command is known by its tag from the time when it is sent until it is completed. Block devices stand above
//! the UFS host, so a trace with both kinds of events has the same requests twice: one of the devices is chosen.

mod block;
mod ufs;

use std::borrow::Cow;

use super::Origin;
use super::rwbs::Rwbs;
use crate::TraceError;
use crate::trace::{Recorded, Records};

pub(crate) use ufs::{Addresses, UfsEvent, UfsStage};

/// What happened to a block request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum BlockStage {
    Insert,
    Issue,
    Requeue,
    Complete,
}

impl BlockStage {
    /// The stage of an event's name in a trace without events of requests: `block_io_start`, which is told of the same
    /// requests, or events of bios, which become requests further down.
    pub fn without_requests(event: &[u8]) -> Option<BlockStage> {
        match event {
            b"block_io_start" | b"block_bio_queue" => Some(BlockStage::Insert),
            b"block_io_done" | b"block_bio_complete" => Some(BlockStage::Complete),
            _ => None,
        }
    }

    /// The stage of an event's name, such as `block_rq_issue`.
    pub fn of(event: &[u8]) -> Option<BlockStage> {
        match event.strip_prefix(b"block_rq_")? {
            b"insert" => Some(BlockStage::Insert),
            b"issue" => Some(BlockStage::Issue),
            b"requeue" => Some(BlockStage::Requeue),
            b"complete" => Some(BlockStage::Complete),
            _ => None,
        }
    }
}

/// An event of a block request.
#[derive(Clone, Debug)]
pub(crate) struct BlockEvent<'a> {
    pub stage: BlockStage,
    pub time: u64,
    /// Line or event of the file.
    pub number: u64,
    /// The kernel's `dev_t`.
    pub dev: u32,
    pub rwbs: Rwbs,
    /// A command that is passed through to the device, and no block request.
    pub is_command: bool,
    pub sector: u64,
    pub bytes: u64,
    pub process: Cow<'a, str>,
}

/// Makes records of the events of one file, which come in the order of the file.
pub(crate) struct Collector<'r> {
    origin: Origin,
    block: block::State,
    ufs: ufs::State,
    records: &'r mut Records,
}

impl<'r> Collector<'r> {
    /// A collector of a file; `issues` says that the trace has events of issued requests.
    pub fn new(file: u16, issues: bool, records: &'r mut Records) -> Collector<'r> {
        records.report.recorded = Recorded::Below;
        let ufs = ufs::State::new(records.list.len());
        Collector { origin: Origin { file }, block: block::State::new(issues), ufs, records }
    }

    pub fn block(&mut self, event: &BlockEvent<'_>) {
        self.records.report.events += 1;
        self.block.event(event, self.origin, self.records);
    }

    pub fn ufs(&mut self, event: &UfsEvent<'_>) {
        self.records.report.events += 1;
        self.ufs.event(event, self.origin, self.records);
    }

    /// Events of another kind, by their name.
    pub fn others(&mut self, name: &[u8], events: u64) {
        self.records.report.events += events;
        self.records.report.ignored_events += events;
        self.records.others.count(name, events);
    }

    /// The block events are those of bios, before they become requests.
    pub fn above(&mut self) {
        self.records.report.recorded = Recorded::Above;
    }

    /// An event that cannot be read.
    pub fn leave_out(&mut self, error: &TraceError) {
        self.records.report.events += 1;
        self.records.report.leave_out(error);
    }

    /// Events that the tracer has dropped.
    pub fn dropped(&mut self, events: u64) {
        let gaps = &mut self.records.report.sequence_gaps;
        *gaps = gaps.saturating_add(events);
    }

    /// Ends the file.
    pub fn finish(self) {
        self.ufs.finish(self.records);
    }
}
