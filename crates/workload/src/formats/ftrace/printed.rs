//! What a probe has printed by `bpf_trace_printk`: a line with the kernel's number of a device (or major,minor), the
//! letters of a request, its sector and its length in sectors, in this order, which is that of the columns of
//! MobileBlockIOTraces. Labels (`sector=8`, `sector: 8`) and commas between them are passed over, and so is a
//! line that has no such four.

use super::super::kernel::{BlockEvent, BlockStage};
use super::super::rwbs::Rwbs;
use super::block::dev_t;
use super::head::Event;
use crate::SECTOR_BYTES;

pub(super) fn read(event: Event<'_>) -> Option<BlockEvent<'_>> {
    let body = std::str::from_utf8(&event.line.text[event.body..]).ok()?;
    let words = body.split_ascii_whitespace().map(|word| word.trim_end_matches([',', ';']));
    let values: Vec<&str> =
        words.map(|word| word.rsplit(['=', ':']).next().unwrap_or(word)).filter(|value| !value.is_empty()).collect();
    let found = values.windows(4).find_map(|four| {
        let [device, letters, sector, sectors] = four else { return None };
        let dev = device.parse().ok().or_else(|| dev_t(device.as_bytes()))?;
        let rwbs = Rwbs::parse(letters.as_bytes())?;
        Some((dev, rwbs, sector.parse().ok()?, sectors.parse::<u64>().ok()?))
    });
    let (dev, rwbs, sector, sectors) = found?;
    Some(BlockEvent {
        stage: BlockStage::Insert,
        time: event.time().ok()?,
        number: event.line.number,
        dev,
        rwbs,
        is_command: false,
        sector,
        bytes: sectors.saturating_mul(SECTOR_BYTES),
        process: event.comm(),
    })
}
