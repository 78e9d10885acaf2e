//! Requests on their way through the host's block layer, if it takes time: see [`host::block`].
//!
//! The oracle is asked where it is without: when the driver gets a request, and when the driver has completed it. What
//! is added lies outside of that, so data can not differ.

use host::block::{Block, BlockConfig, BlockRequest, Step, TaskId, WorkKind};
use workload::{Issued, Source, Ticket, WorkOp};

use super::System;

impl System {
    /// A system at time 0 whose host takes time.
    #[must_use]
    pub fn with_host_time(self, config: BlockConfig) -> System {
        System { block: config.any().then(|| Box::new(Block::new(config))), ..self }
    }

    /// A task hands a request, with all that is merged with it, to the block layer.
    #[inline(never)]
    pub(super) fn enter_block(&mut self, issued: &Issued) {
        let now = self.stack.now();
        let slot = self.requests.get(issued.ticket);
        let request = BlockRequest {
            id: issued.ticket.0,
            task: task_of(issued),
            kind: match slot.kind {
                WorkOp::Read => WorkKind::Read,
                WorkOp::Write if issued.request.flags.meta => WorkKind::Metadata,
                WorkOp::Write => WorkKind::Write,
                WorkOp::Flush | WorkOp::Trim => WorkKind::Other,
            },
            pages: if slot.kind == WorkOp::Trim { 0 } else { slot.len },
        };
        if let Some(block) = &mut self.block {
            block.submit(now, request);
        }
    }

    /// The driver has completed a request.
    #[inline(never)]
    pub(super) fn leave_driver(&mut self, ticket: Ticket) {
        let now = self.stack.now();
        if let Some(block) = &mut self.block {
            block.completed(now, ticket.0);
        }
    }

    /// Does what is due in the block layer, and asks to be woken for the rest.
    #[inline(never)]
    pub(super) fn block_turn(&mut self, source: &mut dyn Source) {
        let now = self.stack.now();
        while let Some(step) = self.block.as_mut().and_then(|block| block.next(now)) {
            match step {
                Step::Comes(id) => self.requests.come_late(Ticket(id), now),
                Step::ToDriver(id) => self.submit(Ticket(id), source),
                Step::Ends(id) => self.finish(Ticket(id), source),
            }
        }
        if let Some(at) = self.block.as_ref().and_then(|block| block.next_wake()) {
            self.stack.wake_caller(at);
        }
    }
}

/// A task is a process in one file of a trace, as for its plug.
fn task_of(issued: &Issued) -> TaskId {
    TaskId(u32::from(issued.request.stream.0) << 16 | u32::from(issued.request.process.0))
}
