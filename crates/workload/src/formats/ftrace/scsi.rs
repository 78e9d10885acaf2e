//! Fields of `scsi_dispatch_cmd_start` and `scsi_dispatch_cmd_done`, which every SCSI device has, UFS too:
//! `host_no=n channel=n id=n lun=n ... [driver_tag=n | tag=n] ... cmnd=(NAME lba=n txlen=n ... raw=hex hex ...)`.
//!
//! Address and length count logical blocks, whose size no field tells (see [`Addresses`]).

use units::UNIT_BYTES;

use super::head::Event;
use super::ufs::{FUA, hex_bytes};
use crate::TraceError;
use crate::formats::kernel::{Addresses, UfsEvent, UfsStage};
use crate::formats::text::find;

/// The stage of an event's name.
pub(super) fn stage(name: &[u8]) -> Option<UfsStage> {
    match name {
        b"scsi_dispatch_cmd_start" => Some(UfsStage::Send),
        b"scsi_dispatch_cmd_done" => Some(UfsStage::Complete),
        _ => None,
    }
}

pub(super) fn read(event: Event<'_>, stage: UfsStage) -> Result<UfsEvent<'_>, TraceError> {
    let line = event.line;
    let number = |name| event.value(name)?.number_below(u32::MAX.into());
    let device = format!("{}:{}:{}:{}", number("host_no")?, number("channel")?, number("id")?, number("lun")?);
    let raw = event.value("raw")?;
    let bytes = hex_bytes(raw.text);
    let &[opcode, flags, ..] = &bytes[..] else {
        return Err(raw.wrong("the bytes of a command, such as 28 00 ..."));
    };
    // Commands without a range, such as SYNCHRONIZE_CACHE, have no `lba=`.
    let lba = find(line.text, b" lba=").map_or(Ok(0), |_| event.value("lba")?.number())?;
    let blocks = find(line.text, b" txlen=").map(|_| event.value("txlen")?.number()).transpose()?;
    let has_range = matches!(opcode, 0x08 | 0x0a | 0x28 | 0x2a | 0x88 | 0x8a);
    // Kernels before 5.16 print no tag: a command is known by what it does, then.
    let tag = number("driver_tag").or_else(|_| number("tag"));
    let tag = tag.unwrap_or_else(|_| u64::from(opcode) << 24 ^ lba & 0xff_ffff) as u32;
    Ok(UfsEvent {
        stage,
        time: event.time()?,
        number: line.number,
        device: device.into(),
        tag,
        opcode,
        lba,
        bytes: blocks.filter(|_| has_range).map(|blocks| blocks.saturating_mul(UNIT_BYTES)),
        fua: has_range && opcode > 0x0a && flags & FUA != 0,
        usual: Addresses::OfCommands,
        process: event.comm(),
    })
}
