//! Fields of the messages that are read, by the numbers of `perfetto_trace.proto`.

use super::wire::{Damage, Message, Value};

/// Pid and name of `ProcessTree.Process`: the first word of its command line.
pub(super) fn process(body: &[u8]) -> Result<(u32, Option<&[u8]>), Damage> {
    let (mut pid, mut name) = (0, None);
    Message(body).fields(|number, value| match number {
        1 => pid = value.number() as u32,
        3 if name.is_none() => name = Some(value.bytes()),
        _ => {}
    })?;
    Ok((pid, name.filter(|name| !name.is_empty())))
}

/// `GenericFtraceEvent.Field`: a name, and a text or a number.
pub(super) fn named_field(body: &[u8]) -> Result<(&[u8], Value<'_>), Damage> {
    let (mut name, mut found) = (&b""[..], Value::Number(0));
    Message(body).fields(|number, value| match number {
        1 => name = value.bytes(),
        3..=5 => found = value,
        _ => {}
    })?;
    Ok((name, found))
}

/// Fields 1 to 3: a text and two numbers.
pub(super) fn three(body: &[u8]) -> Result<(&[u8], u64, u64), Damage> {
    let (mut text, mut second, mut third) = (&b""[..], 0, 0);
    Message(body).fields(|number, value| match number {
        1 => text = value.bytes(),
        2 => second = value.number(),
        3 => third = value.number(),
        _ => {}
    })?;
    Ok((text, second, third))
}

pub(super) fn first_number(body: &[u8], wanted: u64) -> Result<u32, Damage> {
    let mut found = 0;
    Message(body).fields(|number, value| {
        if number == wanted {
            found = value.number() as u32;
        }
    })?;
    Ok(found)
}

/// Fields of a block event.
#[derive(Clone, Copy, Default)]
pub(super) struct BlockFields<'a> {
    pub dev: u64,
    pub sector: u64,
    pub sectors: u64,
    pub rwbs: &'a [u8],
    pub comm: &'a [u8],
    pub cmd: &'a [u8],
}

impl<'a> BlockFields<'a> {
    pub fn set(&mut self, name: &[u8], value: Value<'a>) {
        match name {
            b"dev" => self.dev = value.number(),
            b"sector" => self.sector = value.number(),
            b"nr_sector" => self.sectors = value.number(),
            b"rwbs" => self.rwbs = value.bytes(),
            b"comm" => self.comm = value.bytes(),
            b"cmd" => self.cmd = value.bytes(),
            _ => {}
        }
    }
}

/// Fields of a UFS event.
#[derive(Clone, Copy, Default)]
pub(super) struct UfsFields<'a> {
    pub device: &'a [u8],
    pub stage: &'a [u8],
    pub stage_number: Option<u64>,
    pub tag: u64,
    pub opcode: u64,
    pub lba: u64,
    /// A 32-bit integer with a sign.
    pub length: u64,
    /// Kernels with these fields count blocks.
    pub newer: bool,
}

impl<'a> UfsFields<'a> {
    pub fn read(body: &'a [u8]) -> Result<UfsFields<'a>, Damage> {
        let mut fields = UfsFields::default();
        const NAMES: [&[u8]; 11] = [
            b"",
            b"dev_name",
            b"doorbell",
            b"intr",
            b"lba",
            b"opcode",
            b"str",
            b"tag",
            b"transfer_len",
            b"group_id",
            b"str_t",
        ];
        Message(body).fields(|number, value| {
            if let Some(name) = usize::try_from(number).ok().and_then(|number| NAMES.get(number)) {
                fields.set(name, value);
            }
        })?;
        Ok(fields)
    }

    pub fn set(&mut self, name: &[u8], value: Value<'a>) {
        match name {
            b"dev_name" => self.device = value.bytes(),
            b"lba" => self.lba = value.number(),
            b"opcode" => self.opcode = value.number(),
            b"str" => self.stage = value.bytes(),
            b"tag" => self.tag = value.number(),
            b"transfer_len" => self.length = value.number(),
            b"group_id" => self.newer = true,
            b"str_t" => (self.stage_number, self.newer) = (Some(value.number()), true),
            _ => {}
        }
    }
}

/// The kernel's `dev_t` of one as user space writes it (`makedev`), which Perfetto makes of it.
pub(super) fn kernel_dev(dev: u64) -> Option<u32> {
    let major = dev >> 8 & 0xfff | dev >> 32 & 0xffff_f000;
    let minor = dev & 0xff | dev >> 12 & 0xffff_ff00;
    (major < 1 << 12 && minor < 1 << 20).then_some((major << 20 | minor) as u32)
}
