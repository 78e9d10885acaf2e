//! Fields of `ufshcd_command`. Kernels print them in these ways, all on one line:
//!
//! | kernel | fields |
//! |---|---|
//! | Qualcomm's 3.10 to 4.4 | `host: stage: tag: n cmd: 0xn lba: n size: n DB: 0xn IS: 0xn` |
//! | 4.10 to 5.11 | `stage: host: tag: n, DB: 0xn, size: n, IS: n, LBA: n, opcode: 0xn` |
//! | 5.12 to 6.2 | the same, then ` (NAME), group_id: 0xn` |
//! | from 6.3 | the same, then `, hwq_id: n`; from 6.6, `host` is the SCSI address of the logical unit |
//!
//! Perfetto's export to text has names and values: `dev_name=1d84000.ufshc ... opcode=42 tag=3 ... str_t=0`.
//!
//! Stage is `send` and `complete`, since 5.12 `send_req` and `complete_rsp`; there are others for queries and task
//! management. The length is in bytes; -1 where the kernel does not tell it. So fields are found by their names.
//!
//! Whether a write forces unit access stands only in the command itself, which the event `ufshcd_upiu` prints just
//! before: `stage: host: HDR:hex ..., CDB:hex ...`.

use std::collections::BTreeMap;

use super::super::kernel::{Addresses, UfsEvent, UfsStage};
use super::super::text::{Field, find};
use super::head::Event;
use crate::TraceError;

/// A length that is printed without a sign and stands for none.
const NO_LENGTH: u64 = u32::MAX as u64;

/// What a host is called that has no name in the trace.
const NO_NAME: &str = "ufs";

/// FUA in the second byte of READ and WRITE (10) and (16).
pub(super) const FUA: u8 = 1 << 3;

/// Values by the names that stand before them.
#[derive(Default)]
struct Named<'a> {
    tag: Option<Field<'a>>,
    size: Option<Field<'a>>,
    lba: Option<Field<'a>>,
    opcode: Option<Field<'a>>,
    /// Kernels with these fields count blocks.
    newer: bool,
}

/// A command that is sent or completed; `None` for what else is done to the device.
pub(super) fn read(event: Event<'_>) -> Result<Option<UfsEvent<'_>>, TraceError> {
    let line = event.line;
    let mut fields = line.words_from(event.body);
    let (first, second) = (fields.need("stage")?, fields.need("device")?);
    if first.text.contains(&b'=') {
        return with_names(event);
    }
    let stage_of = |field: Field<'_>| UfsStage::of(field.text.strip_suffix(b":").unwrap_or(field.text));
    let (stage, device) = match (stage_of(first), stage_of(second)) {
        (Some(stage), _) => (stage, second),
        (None, Some(stage)) => (stage, first),
        (None, None) => return Ok(None),
    };
    // Some vendors' kernels leave the name out.
    let unnamed = second.text == b"tag:";
    let device = if unnamed { Some(NO_NAME) } else { name_before_colon(device) };
    let device = device.ok_or_else(|| second.wrong("the name of a host or device, and a colon"))?;
    if unnamed {
        fields = event.line.words_from(event.body);
        fields.need("stage")?;
    }
    let mut named = Named::default();
    while let Some(key) = fields.optional("field") {
        let (slot, name) = match key.text {
            b"tag:" => (&mut named.tag, "tag"),
            b"size:" => (&mut named.size, "size"),
            b"LBA:" | b"lba:" => (&mut named.lba, "LBA"),
            b"opcode:" | b"cmd:" => (&mut named.opcode, "opcode"),
            b"group_id:" | b"hwq_id:" => {
                named.newer = true;
                continue;
            }
            _ => continue,
        };
        *slot = Some(fields.need(name)?.without(b","));
    }
    let needed = |field: Option<Field<'_>>, name: &str| {
        let end = line.text.trim_ascii_end().len();
        field.map(|_| ()).ok_or_else(|| line.error(end, format!("ufshcd_command has no {name}")))
    };
    needed(named.tag, "tag:")?;
    needed(named.opcode, "opcode:")?;
    needed(named.size, "size:")?;
    needed(named.lba, "LBA:")?;
    let (Some(tag), Some(opcode), Some(size), Some(lba)) = (named.tag, named.opcode, named.size, named.lba) else {
        return Ok(None);
    };
    let lba = lba.number()?;
    let bytes = length(size)?.filter(|_| lba != u64::MAX);
    Ok(Some(UfsEvent {
        stage,
        time: event.time()?,
        number: line.number,
        device: device.into(),
        tag: tag.number_below(u32::MAX.into())? as u32,
        opcode: hex(opcode)?,
        lba,
        bytes,
        fua: false,
        usual: if named.newer { Addresses::Blocks } else { Addresses::Sectors },
        process: event.comm(),
    }))
}

fn name_before_colon(field: Field<'_>) -> Option<&str> {
    field.text.strip_suffix(b":").and_then(|name| std::str::from_utf8(name).ok())
}

/// The event as Perfetto prints it.
fn with_names(event: Event<'_>) -> Result<Option<UfsEvent<'_>>, TraceError> {
    let value = |name| event.value(name);
    let stage = match (value("str_t"), value("str")) {
        (Ok(number), _) if number.text == b"0" => Some(UfsStage::Send),
        (Ok(number), _) if number.text == b"1" => Some(UfsStage::Complete),
        (Ok(_), _) => None,
        (Err(_), Ok(word)) => UfsStage::of(word.text),
        (Err(error), Err(_)) => return Err(error),
    };
    let Some(stage) = stage else { return Ok(None) };
    let lba = value("lba")?.number()?;
    let newer = value("group_id").is_ok() || value("hwq_id").is_ok();
    Ok(Some(UfsEvent {
        stage,
        time: event.time()?,
        number: event.line.number,
        device: value("dev_name").map_or(NO_NAME.into(), |name| name.string()),
        tag: value("tag")?.number_below(u32::MAX.into())? as u32,
        opcode: value("opcode")?.number_below(u8::MAX.into())? as u8,
        lba,
        bytes: length(value("transfer_len")?)?.filter(|_| lba != u64::MAX),
        fua: false,
        usual: if newer { Addresses::Blocks } else { Addresses::Sectors },
        process: event.comm(),
    }))
}

fn length(field: Field<'_>) -> Result<Option<u64>, TraceError> {
    if field.text == b"-1" {
        return Ok(None);
    }
    Ok(Some(field.number_below(NO_LENGTH)?).filter(|&bytes| bytes != NO_LENGTH))
}

fn hex(field: Field<'_>) -> Result<u8, TraceError> {
    let digits = field.text.strip_prefix(b"0x").and_then(|digits| std::str::from_utf8(digits).ok());
    let value = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
    value.ok_or_else(|| field.wrong("the first byte of a command, such as 0x28"))
}

/// Commands as the host has put them into UPIUs, by tag: the second byte of each.
#[derive(Default)]
pub(super) struct Upius(BTreeMap<u32, (u8, u8)>);

impl Upius {
    /// Keeps the command of an event `ufshcd_upiu`. What is no command is passed over.
    pub fn learn(&mut self, event: Event<'_>) {
        let body = &event.line.text[event.body..];
        let bytes_after = |name: &[u8]| find(body, name).map(|at| hex_bytes(&body[at + name.len()..]));
        let (Some(header), Some(command)) = (bytes_after(b"HDR:"), bytes_after(b"CDB:")) else { return };
        // Byte 0 of a COMMAND UPIU is 01h, byte 3 is the task tag (JESD220, basic header).
        if let ([0x01, _, _, tag], [opcode, flags, ..]) = (&header[..], &command[..]) {
            self.0.insert(u32::from(*tag), (*opcode, *flags));
        }
    }

    /// Whether the command that is sent forces unit access.
    pub fn fua(&mut self, event: &UfsEvent<'_>) -> bool {
        let known = if event.stage == UfsStage::Send { self.0.remove(&event.tag) } else { None };
        let has_flag = matches!(event.opcode, 0x28 | 0x2a | 0x88 | 0x8a);
        known.is_some_and(|(opcode, flags)| has_flag && opcode == event.opcode && flags & FUA != 0)
    }
}

/// The first four bytes of hexadecimal digits with spaces between, or as many as there are.
pub(super) fn hex_bytes(text: &[u8]) -> Vec<u8> {
    let words = text.split(|b| !b.is_ascii_hexdigit()).filter(|word| !word.is_empty());
    let byte = |word: &[u8]| u8::from_str_radix(std::str::from_utf8(word).ok()?, 16).ok();
    words.map_while(byte).take(4).collect()
}
