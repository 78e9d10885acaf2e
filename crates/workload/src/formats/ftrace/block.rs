//! Fields of a block event: `major,minor rwbs [bytes] (command) sector + sectors ... [process]`.

use super::super::kernel::{BlockEvent, BlockStage};
use super::super::rwbs::Rwbs;
use super::super::text::Fields;
use super::head::Event;
use crate::{SECTOR_BYTES, TraceError};

pub(super) fn read(event: Event<'_>, stage: BlockStage) -> Result<BlockEvent<'_>, TraceError> {
    let mut fields = event.line.words_from(event.body);
    let time = event.time()?;
    let device = fields.need("device")?;
    if device.text.starts_with(b"dev=") {
        return named(event, stage);
    }
    let dev = dev_t(device.text).ok_or_else(|| device.wrong("major,minor, such as 179,0"))?;
    let letters = fields.need("rwbs")?;
    let rwbs = Rwbs::parse(letters.text).ok_or_else(|| letters.wrong("the kernel's letters, such as R, WS or FWFS"))?;
    let is_command = !event.is_bio() && command(&mut fields, stage, event.name)?;
    let sector = fields.need("sector")?.number()?;
    let plus = fields.need("+")?;
    if plus.text != b"+" {
        return Err(plus.wrong("+ between sector and number of sectors"));
    }
    let bytes = fields.need("number of sectors")?.number()?.saturating_mul(SECTOR_BYTES);
    let process = super::super::blkparse::process_of(event.line, fields);
    Ok(BlockEvent { stage, time, number: event.line.number, dev, rwbs, is_command, sector, bytes, process })
}

/// Passes over length and command, which bios do not have. True if it is a command that is passed through.
fn command(fields: &mut Fields<'_>, stage: BlockStage, name: &[u8]) -> Result<bool, TraceError> {
    if matches!(stage, BlockStage::Insert | BlockStage::Issue) || name == b"block_io_done" {
        fields.need("bytes")?.number()?;
    }
    let command = fields.need("command in parentheses")?;
    if !command.text.starts_with(b"(") {
        return Err(command.wrong("a command in parentheses, such as ()"));
    }
    let mut last = command;
    while !last.text.ends_with(b")") {
        last = fields.need("rest of the command")?;
    }
    Ok(command.text != b"()")
}

/// Fields as Perfetto's export to text has them: `dev=8388608 sector=1000 nr_sector=8 bytes=4096 rwbs=R comm=a cmd=`.
fn named(event: Event<'_>, stage: BlockStage) -> Result<BlockEvent<'_>, TraceError> {
    let line = event.line;
    let value = |name| event.value(name);
    let dev = value("dev")?.number_below(u32::MAX.into())? as u32;
    let letters = value("rwbs")?;
    let rwbs = Rwbs::parse(letters.text).ok_or_else(|| letters.wrong("the kernel's letters, such as R, WS or FWFS"))?;
    let bytes = value("nr_sector")?.number()?.saturating_mul(SECTOR_BYTES);
    let is_command = value("cmd").is_ok_and(|cmd| !cmd.text.is_empty());
    let process = value("comm").map_or_else(|_| event.comm(), |comm| comm.string());
    let (sector, time) = (value("sector")?.number()?, event.time()?);
    Ok(BlockEvent { stage, time, number: line.number, dev, rwbs, is_command, sector, bytes, process })
}

/// The kernel's number of a device that is printed as major,minor.
pub(in crate::formats) fn dev_t(text: &[u8]) -> Option<u32> {
    let text = std::str::from_utf8(text).ok()?;
    let (major, minor) = text.split_once(',')?;
    let (major, minor): (u32, u32) = (major.parse().ok()?, minor.parse().ok()?);
    (major < 1 << 12 && minor < 1 << 20).then_some(major << 20 | minor)
}
