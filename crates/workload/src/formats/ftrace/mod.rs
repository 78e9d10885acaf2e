//! Text of Linux ftrace: `trace`, `trace_pipe`, atrace, Perfetto's systrace export, `trace-cmd report`, `perf script`.
//! Events are `block_rq_insert`, `block_rq_issue`, `block_rq_requeue`, `block_rq_complete` and `ufshcd_command`; where
//! there are none of these, `block_io_start` and `block_io_done`, or else commands of SCSI, `scsi_dispatch_cmd_start`
//! and `scsi_dispatch_cmd_done`, or else bios, `block_bio_queue` and `block_bio_complete`, or else what a probe has
//! printed by `bpf_trace_printk`. Other lines are passed over, and those of these events that cannot be read are
//! counted.
//!
//! All these tools print `who [cpu] flags time: event: fields`, with differences in who and in the name of the event
//! (see [`head`]).

mod block;
pub(crate) mod head;
mod printed;
mod scsi;
mod ufs;

use super::kernel::{BlockStage, Collector};
use super::text::{Line, lines};
use super::{Definition, Framing, HEAD_LINES, Source};
use crate::TraceError;
use crate::trace::{Records, TraceFile};
use head::Event;

pub(super) use block::dev_t;

pub(super) const DEFINITION: Definition = Definition {
    needs: "events block_rq_issue or block_rq_insert, best with block_rq_complete, or ufshcd_command, block_io_start, \
            scsi_dispatch_cmd_start or block_bio_queue",
    framing: Framing::Lines,
    source: Source::Files { fits, read },
    stacked: true,
    tick_ns: 1_000_000_000,
    writer: None,
};

fn fits(head: &[u8]) -> bool {
    let of_a_tracer =
        |line: Line<'_>| head::Head::of(line).is_ok_and(|head| head.is_some_and(|head| !head.event.is_empty()));
    head.starts_with(b"# tracer:")
        || lines("", head)
            .any(|line| matches!(Told::of(line, Level::Requests), Ok(Told::Block(_) | Told::Ufs(Some(_)))))
        || lines("", head).take(HEAD_LINES).any(of_a_tracer)
}

fn read(files: &[TraceFile], records: &mut Records) -> Result<(), TraceError> {
    let (level, issues) = Level::among(files);
    for (number, file) in (0..).zip(files) {
        let mut upius = ufs::Upius::default();
        let mut collector = Collector::new(number, issues, records);
        if level == Level::Bios {
            collector.above();
        }
        for line in lines(&file.name, &file.bytes).filter(|line| !line.text.starts_with(b"#")) {
            let told = match Told::of(line, level) {
                Ok(told) => told,
                Err(error) => {
                    collector.leave_out(&error);
                    continue;
                }
            };
            match told {
                Told::Block(event) => collector.block(&event),
                Told::Ufs(Some(mut event)) => {
                    event.fua |= upius.fua(&event);
                    collector.ufs(&event);
                }
                Told::Ufs(None) => collector.others(b"ufshcd_command of a query", 1),
                Told::Upiu(event) => {
                    upius.learn(event);
                    collector.others(event.name, 1);
                }
                Told::Other(name) => {
                    collector.others(name, 1);
                    collector.dropped(head::dropped(line));
                }
            }
        }
        collector.finish();
    }
    Ok(())
}

/// Which events tell of the requests of devices; those that tell most come first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Level {
    Requests,
    Accounted,
    Commands,
    Bios,
    Printed,
}

impl Level {
    /// The level that an event belongs to.
    fn of(name: &[u8]) -> Option<Level> {
        match name {
            b"block_rq_issue" | b"block_rq_insert" | b"ufshcd_command" => Some(Level::Requests),
            b"block_io_start" => Some(Level::Accounted),
            b"scsi_dispatch_cmd_start" => Some(Level::Commands),
            b"block_bio_queue" => Some(Level::Bios),
            b"bpf_trace_printk" => Some(Level::Printed),
            _ => None,
        }
    }

    /// The first level of which these files have events, and whether requests are issued.
    fn among(files: &[TraceFile]) -> (Level, bool) {
        let (mut issues, mut level) = (false, Level::Printed);
        for line in files.iter().flat_map(|file| lines(&file.name, &file.bytes)) {
            let Some(event) = Event::of(line) else { continue };
            issues |= event.name == b"block_rq_issue";
            level = level.min(Level::of(event.name).unwrap_or(level));
        }
        (level, issues)
    }

    /// The stage that an event tells.
    fn stage(self, name: &[u8]) -> Option<BlockStage> {
        let is_bio = name.starts_with(b"block_bio_");
        match self {
            Level::Requests => BlockStage::of(name),
            Level::Accounted | Level::Bios => {
                BlockStage::without_requests(name).filter(|_| is_bio == (self == Level::Bios))
            }
            Level::Commands | Level::Printed => None,
        }
    }
}

/// What a line tells.
enum Told<'a> {
    Block(super::kernel::BlockEvent<'a>),
    /// `None` for queries and task management.
    Ufs(Option<super::kernel::UfsEvent<'a>>),
    Upiu(Event<'a>),
    /// Something else, by its name.
    Other(&'a [u8]),
}

impl<'a> Told<'a> {
    fn of(line: Line<'a>, level: Level) -> Result<Told<'a>, TraceError> {
        let Some(event) = Event::of(line) else { return Ok(Told::Other(b"")) };
        if let (Level::Commands, Some(stage)) = (level, scsi::stage(event.name)) {
            return Ok(Told::Ufs(Some(scsi::read(event, stage)?)));
        }
        if let (Level::Printed, b"bpf_trace_printk") = (level, event.name) {
            return Ok(printed::read(event).map_or(Told::Other(event.name), Told::Block));
        }
        Ok(match (level.stage(event.name), event.name) {
            (Some(stage), _) => Told::Block(block::read(event, stage)?),
            (None, b"ufshcd_command") => Told::Ufs(ufs::read(event)?),
            (None, b"ufshcd_upiu") => Told::Upiu(event),
            (None, name) => Told::Other(name),
        })
    }
}

#[cfg(test)]
mod tests;
