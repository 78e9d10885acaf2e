//! UFS commands of one file become requests.
//!
//! The kernel prints the address of a command in one of two units. Up to Linux 5.13 it is the sector of 512 B at which
//! the first bio begins, later the logical block of 4 KiB that the command names. Nothing in an event says which, and
//! vendors' kernels mix versions, so the addresses themselves are asked (see [`Addresses`]).

use std::borrow::Cow;
use std::collections::BTreeMap;

use units::{Nanos, SimTime, UNIT_BYTES};

use crate::formats::Origin;
use crate::trace::{Records, TraceRecord};
use crate::{Flags, SECTOR_BYTES, WorkOp, WorkRequest};

/// Sectors in a logical block of UFS.
const BLOCK_SECTORS: u64 = UNIT_BYTES / SECTOR_BYTES;

/// Requests of less than this say by their addresses how these are counted: longer ones are often aligned to more
/// than eight blocks.
const SMALL_BYTES: u64 = 8 * UNIT_BYTES;

/// So many small requests at multiples of eight are no accident: the chance is one in eight for each.
const ENOUGH: usize = 8;

/// What happened to a command.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum UfsStage {
    Send,
    Complete,
}

impl UfsStage {
    /// The stage of a word that the kernel prints; `None` for queries, task management and others.
    pub fn of(word: &[u8]) -> Option<UfsStage> {
        match word {
            b"send_req" | b"send" => Some(UfsStage::Send),
            b"complete_rsp" | b"complete" => Some(UfsStage::Complete),
            _ => None,
        }
    }
}

/// What the addresses of a host count.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Addresses {
    /// Sectors of 512 B.
    Sectors,
    /// Logical blocks of 4 KiB.
    Blocks,
    /// Logical blocks of the device, in which its lengths were counted too: of 512 B if enough requests begin and end
    /// at multiples of eight, as the kernel reads and writes whole pages; otherwise of 4 KiB, as those of UFS.
    OfCommands,
}

/// An event of a UFS command.
#[derive(Clone, Debug)]
pub(crate) struct UfsEvent<'a> {
    pub stage: UfsStage,
    pub time: u64,
    /// Line or event of the file.
    pub number: u64,
    pub device: Cow<'a, str>,
    pub tag: u32,
    /// First byte of the command.
    pub opcode: u8,
    pub lba: u64,
    /// Length; `None` if the event does not tell it.
    pub bytes: Option<u64>,
    pub fua: bool,
    /// What kernels that print this event so mean by its address, as a rule.
    pub usual: Addresses,
    pub process: Cow<'a, str>,
}

/// What a command does to blocks. Names and numbers are those of SCSI; F8h is the read of HPB.
fn operation(opcode: u8) -> Option<WorkOp> {
    match opcode {
        0x08 | 0x28 | 0x88 | 0xf8 => Some(WorkOp::Read),
        0x0a | 0x2a | 0x8a => Some(WorkOp::Write),
        0x42 => Some(WorkOp::Trim),
        0x35 | 0x91 => Some(WorkOp::Flush),
        _ => None,
    }
}

pub(super) struct State {
    /// Records before this are of other files.
    first: usize,
    /// Commands under way by device and tag, with the index of their record if they have one.
    outstanding: BTreeMap<(u32, u32), Option<usize>>,
    devices: BTreeMap<u32, Addresses>,
}

impl State {
    pub fn new(first: usize) -> State {
        State { first, outstanding: BTreeMap::new(), devices: BTreeMap::new() }
    }

    pub fn event(&mut self, event: &UfsEvent<'_>, origin: Origin, records: &mut Records) {
        let device = records.devices.index_of(event.device.as_bytes(), || event.device.clone().into_owned());
        let usual = self.devices.entry(device).or_insert(event.usual);
        *usual = event.usual.max(*usual);
        match event.stage {
            UfsStage::Send => {
                let index = begin(event, device, origin, records);
                self.outstanding.insert((device, event.tag), index);
            }
            UfsStage::Complete => {
                records.report.complete_events += 1;
                match self.outstanding.remove(&(device, event.tag)) {
                    Some(Some(index)) => {
                        let request = &mut records.list[index].request;
                        request.phone_latency = Some(Nanos(event.time.saturating_sub(request.arrival.0)));
                    }
                    Some(None) => {}
                    None => records.report.unmatched_completions += u64::from(operation(event.opcode).is_some()),
                }
            }
        }
    }

    pub fn finish(self, records: &mut Records) {
        for (device, usual) in self.devices {
            let own = &mut records.list[self.first..];
            let counted =
                if usual == Addresses::OfCommands { blocks(own, device) } else { addresses(own, device, usual) };
            for request in own.iter_mut().filter(|record| record.device == device).map(|record| &mut record.request) {
                match counted {
                    Addresses::Sectors if usual == Addresses::OfCommands => request.bytes /= BLOCK_SECTORS,
                    Addresses::Sectors => {}
                    Addresses::Blocks | Addresses::OfCommands => {
                        request.sector = request.sector.saturating_mul(BLOCK_SECTORS);
                    }
                }
            }
            let name = records.devices.name(device);
            let told = match (usual, counted) {
                (Addresses::OfCommands, Addresses::Sectors) => {
                    format!("blocks of {name} are taken for 512 B: all requests begin and end at multiples of eight")
                }
                (Addresses::OfCommands, _) => format!("blocks of {name} are taken for 4 KiB, as UFS has them"),
                (_, Addresses::Sectors) => {
                    format!("addresses of {name} are taken for sectors of 512 B, as up to Linux 5.13")
                }
                _ => continue,
            };
            records.report.hints.push(told);
        }
    }
}

/// The index of the new record, if the command is a request.
fn begin(event: &UfsEvent<'_>, device: u32, origin: Origin, records: &mut Records) -> Option<usize> {
    records.report.queue_events += 1;
    let op = operation(event.opcode);
    let bytes = if op == Some(WorkOp::Flush) { Some(0) } else { event.bytes };
    let (Some(op), Some(bytes)) = (op, bytes) else {
        records.report.ignored_queue_events += 1;
        records.report.without_length += u64::from(op.is_some());
        return None;
    };
    let request = WorkRequest {
        arrival: SimTime(event.time),
        flags: Flags { fua: event.fua, ..Flags::default() },
        process: records.names.index_of(&event.process),
        ..origin.request(event.number, op, event.lba, bytes)
    };
    let index = records.list.len();
    records.push(device, request);
    (records.list.len() > index).then_some(index)
}

/// What the addresses of a device count.
///
/// An address that is no multiple of eight is a block: a device with blocks of 4 KiB has no request at such a sector.
/// If all are multiples, requests that begin where the one before them ends decide; then, whether there are enough
/// small requests to exclude an accident; then, what kernels that print such events mean as a rule.
fn addresses(records: &[TraceRecord], device: u32, usual: Addresses) -> Addresses {
    let placed = || {
        let own = records.iter().filter(move |record| record.device == device).map(|record| &record.request);
        own.filter(|r| matches!(r.op, WorkOp::Read | WorkOp::Write))
    };
    if placed().any(|r| !r.sector.is_multiple_of(BLOCK_SECTORS)) {
        return Addresses::Blocks;
    }
    let joined = |unit: u64| {
        let ends = |r: &WorkRequest| r.sector.saturating_add(r.bytes / unit);
        placed().zip(placed().skip(1)).filter(|(a, b)| ends(a) == b.sector).count()
    };
    match joined(SECTOR_BYTES).cmp(&joined(UNIT_BYTES)) {
        std::cmp::Ordering::Greater => Addresses::Sectors,
        std::cmp::Ordering::Less => Addresses::Blocks,
        std::cmp::Ordering::Equal if placed().filter(|r| r.bytes < SMALL_BYTES).count() >= ENOUGH => Addresses::Sectors,
        std::cmp::Ordering::Equal => usual,
    }
}

/// What the addresses of a device count whose lengths, here multiplied by 4 KiB, were counted in the same unit.
fn blocks(records: &[TraceRecord], device: u32) -> Addresses {
    let own = records.iter().filter(|record| record.device == device).map(|record| &record.request);
    let placed = || own.clone().filter(|r| matches!(r.op, WorkOp::Read | WorkOp::Write));
    let whole = |r: &WorkRequest| (r.sector | (r.bytes / UNIT_BYTES)).is_multiple_of(BLOCK_SECTORS);
    if placed().all(whole) && placed().count() >= ENOUGH { Addresses::Sectors } else { Addresses::Blocks }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is made of pairs of address and length in bytes.
    fn of(places: &[(u64, u64)], usual: Addresses) -> Addresses {
        let origin = Origin { file: 0 };
        let request = |&(lba, bytes): &(u64, u64)| origin.request(1, WorkOp::Read, lba, bytes);
        let records: Vec<_> = places.iter().map(|p| TraceRecord { device: 3, request: request(p) }).collect();
        addresses(&records, 3, usual)
    }

    #[test]
    fn addresses_say_what_they_count() {
        use Addresses::{Blocks, Sectors};
        let small: Vec<(u64, u64)> = (0..8).map(|i| (800 * i * i + 8, 4096)).collect();
        let large: Vec<(u64, u64)> = (0..20).map(|i| (8000 * i * i, 524_288)).collect();
        for (what, places, with_blocks, with_sectors) in [
            ("no multiple of eight", vec![(1_000_001, 4096)], Blocks, Blocks),
            ("one behind the other in sectors", vec![(1024, 524_288), (2048, 4096)], Sectors, Sectors),
            ("one behind the other in blocks", vec![(1024, 524_288), (1152, 4096)], Blocks, Blocks),
            ("small ones at multiples of eight", small, Sectors, Sectors),
            ("large ones say nothing", large, Blocks, Sectors),
            ("few say nothing", vec![(8, 4096), (80, 4096)], Blocks, Sectors),
        ] {
            assert_eq!((of(&places, Blocks), of(&places, Sectors)), (with_blocks, with_sectors), "{what}");
        }
    }
}
