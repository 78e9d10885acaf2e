//! Perfetto's own files (`.pftrace`, `.perfetto-trace`): a message `Trace` of protocol buffers, which is packets one
//! after another. Of these, bundles of ftrace events and trees of processes are read; packets may be compressed by
//! zlib.
//!
//! Perfetto keeps a bundle for every CPU and every time that it reads the kernel's buffers, so events are put in order
//! of time first. Numbers of fields are those of `protos/perfetto/trace/perfetto_trace.proto`.
//!
//! | events | become |
//! |---|---|
//! | `block_rq_insert`, `block_rq_issue`, `block_rq_requeue`, `block_rq_complete` | requests of a block device |
//! | `ufshcd_command` | requests of a UFS host |
//! | `print`, `oom_score_adj_update`, `mark_victim`, `lowmemory_kill` | launches and kills of a session |
//! | `sched_switch`, `task_rename`, `task_newtask`, process trees | names of threads and processes |
//!
//! A Perfetto that does not know an event records it as `generic`, with names of fields; block and UFS events are read
//! in this form, too.

mod event;
mod fields;
mod names;
mod packet;
mod wire;

use super::kernel::{BlockEvent, BlockStage, Collector, UfsEvent};
use super::{Definition, Framing, Source};
use crate::TraceError;
use crate::trace::{Records, TraceFile};
pub(crate) use event::{Recording, What};
pub(super) use packet::frame;

pub(super) const DEFINITION: Definition = Definition {
    needs: "ftrace_events block/block_rq_issue, best with block/block_rq_complete, or ufs/ufshcd_command in the \
            configuration of linux.ftrace",
    framing: Framing::Records(frame),
    source: Source::Files { fits: packet::fits, read },
    stacked: true,
    tick_ns: 1,
    writer: None,
};

fn read(files: &[TraceFile], records: &mut Records) -> Result<(), TraceError> {
    for (number, file) in (0..).zip(files) {
        let recording = Recording::read(file)?;
        records.report.cut.extend(recording.cut.clone());
        let issues = |what: &What| matches!(what, What::Block(block) if block.stage == BlockStage::Issue);
        let mut collector = Collector::new(number, recording.events.iter().any(|e| issues(&e.what)), records);
        for event in &recording.events {
            collect(&recording, event, &mut collector);
        }
        for (name, count) in &recording.others {
            collector.others(name.as_bytes(), *count);
        }
        collector.dropped(recording.lossy_bundles);
        collector.finish();
    }
    Ok(())
}

fn collect(recording: &Recording, event: &event::Event, collector: &mut Collector<'_>) {
    let (time, number) = (event.time, event.number);
    match &event.what {
        What::Block(block) => {
            let process = recording.text(block.comm).unwrap_or("?").into();
            let event::Block { stage, dev, rwbs, is_command, sector, bytes, .. } = *block;
            collector.block(&BlockEvent { stage, time, number, dev, rwbs, is_command, sector, bytes, process });
        }
        What::Ufs(ufs) => {
            let process = recording.names.thread(event.thread).into();
            let device = recording.text(ufs.device).unwrap_or_default();
            let event::Ufs { stage, tag, opcode, lba, bytes, usual, .. } = *ufs;
            let fua = false;
            collector.ufs(&UfsEvent {
                stage,
                time,
                number,
                device: device.into(),
                tag,
                opcode,
                lba,
                bytes,
                fua,
                usual,
                process,
            });
        }
        What::Marker(_) | What::Score { .. } | What::Kill(_) | What::Named { .. } => {}
    }
}

#[cfg(test)]
pub(crate) mod tests;
