//! The events of a recording, put in order of time.

use std::collections::BTreeMap;

use super::fields::{BlockFields, UfsFields, first_number, kernel_dev, named_field, process, three};
use super::names::{Names, Texts};
use super::packet;
use super::wire::{Damage, Message, Value};
use crate::SECTOR_BYTES;
use crate::TraceError;
use crate::formats::kernel::{Addresses, BlockStage, UfsStage};
use crate::formats::rwbs::Rwbs;
use crate::trace::TraceFile;

/// Numbers of the fields of `FtraceEvent`.
mod kind {
    pub const PRINT: u64 = 3;
    pub const SCHED_SWITCH: u64 = 4;
    pub const LOWMEMORY_KILL: u64 = 35;
    pub const BLOCK_RQ_ISSUE: u64 = 45;
    pub const BLOCK_RQ_COMPLETE: u64 = 125;
    pub const BLOCK_RQ_INSERT: u64 = 126;
    pub const BLOCK_RQ_REQUEUE: u64 = 129;
    pub const TASK_NEWTASK: u64 = 235;
    pub const TASK_RENAME: u64 = 236;
    pub const OOM_SCORE_ADJ_UPDATE: u64 = 326;
    pub const GENERIC: u64 = 327;
    pub const MARK_VICTIM: u64 = 334;
    pub const UFSHCD_COMMAND: u64 = 406;
}

/// Parts of the markers that a session is read from: other markers are many, and passed over.
const MARKERS: [&[u8]; 2] = [b"launching", b"kill_one_process"];

/// An event that is kept.
#[derive(Debug)]
pub(crate) struct Event {
    pub time: u64,
    /// Its number in the file, from 1.
    pub number: u64,
    pub thread: u32,
    pub what: What,
}

/// What an event tells. Texts are numbers, see [`Recording::text`].
#[derive(Debug)]
pub(crate) enum What {
    Block(Block),
    Ufs(Ufs),
    Marker(u32),
    Score {
        pid: u32,
        adj: i64,
        comm: u32,
    },
    Kill(u32),
    /// The name of a process.
    Named {
        pid: u32,
        name: u32,
    },
}

/// See [`crate::formats::kernel::BlockEvent`].
#[derive(Debug)]
pub(crate) struct Block {
    pub stage: BlockStage,
    pub dev: u32,
    pub rwbs: Rwbs,
    pub is_command: bool,
    pub sector: u64,
    pub bytes: u64,
    pub comm: u32,
}

/// See [`crate::formats::kernel::UfsEvent`].
#[derive(Debug)]
pub(crate) struct Ufs {
    pub stage: UfsStage,
    pub device: u32,
    pub tag: u32,
    pub opcode: u8,
    pub lba: u64,
    pub bytes: Option<u64>,
    pub usual: Addresses,
}

/// What is kept of a file.
#[derive(Default)]
pub(crate) struct Recording {
    /// The packet within which the file ends.
    pub cut: Option<String>,
    /// In order of time; ties as they stand in the file.
    pub events: Vec<Event>,
    pub names: Names,
    /// Other events of ftrace by name.
    pub others: BTreeMap<&'static str, u64>,
    /// Bundles before which the kernel had no room for events.
    pub lossy_bundles: u64,
    texts: Texts,
    /// Events of ftrace so far.
    count: u64,
}

impl Recording {
    /// Reads a file.
    ///
    /// # Errors
    /// [`TraceError::Packet`].
    pub fn read(file: &TraceFile) -> Result<Recording, TraceError> {
        let mut recording = Recording::default();
        recording.cut = packet::packets(file, |packet| recording.packet(packet))?;
        recording.events.sort_by_key(|event| event.time);
        Ok(recording)
    }

    /// A text by its number; `None` for the empty one.
    pub fn text(&self, number: u32) -> Option<&str> {
        self.texts.get(number)
    }

    fn packet(&mut self, packet: Message<'_>) -> Result<(), Damage> {
        let (mut time, mut bundle, mut tree) = (0, None, None);
        packet.fields(|number, value| match number {
            1 => bundle = Some(value.bytes()),
            2 => tree = Some(value.bytes()),
            8 => time = value.number(),
            _ => {}
        })?;
        if let Some(tree) = tree {
            self.tree(tree, time)?;
        }
        bundle.map_or(Ok(()), |bundle| self.bundle(bundle))
    }

    /// `ProcessTree`: processes and threads that Perfetto has found.
    fn tree(&mut self, tree: &[u8], time: u64) -> Result<(), Damage> {
        Message(tree).try_fields(|number, value| match number {
            1 => {
                let (pid, name) = process(value.bytes())?;
                if let Some(name) = name {
                    self.names.process(pid, name);
                    self.named(time, pid, name);
                }
                Ok(())
            }
            2 => {
                let (mut tid, mut tgid, mut name) = (0, 0, &b""[..]);
                Message(value.bytes()).fields(|number, value| match number {
                    1 => tid = value.number() as u32,
                    2 => name = value.bytes(),
                    3 => tgid = value.number() as u32,
                    _ => {}
                })?;
                self.names.belongs(tid, tgid);
                self.names.comm(tid, name);
                Ok(())
            }
            _ => Ok(()),
        })
    }

    fn named(&mut self, time: u64, pid: u32, name: &[u8]) {
        let name = self.texts.number(name);
        self.events.push(Event { time, number: self.count, thread: pid, what: What::Named { pid, name } });
    }

    /// `FtraceEventBundle`: events of one CPU.
    fn bundle(&mut self, bundle: &[u8]) -> Result<(), Damage> {
        Message(bundle).try_fields(|number, value| match number {
            2 => self.event(value.bytes()),
            3 => {
                self.lossy_bundles += u64::from(value.number() != 0);
                Ok(())
            }
            4 => self.names.compact_sched(value.bytes()),
            _ => Ok(()),
        })
    }

    fn event(&mut self, event: &[u8]) -> Result<(), Damage> {
        self.count += 1;
        let (mut time, mut thread, mut found) = (0, 0, None);
        Message(event).fields(|number, value| match (number, value) {
            (1, value) => time = value.number(),
            (2, value) => thread = value.number() as u32,
            (number, Value::Bytes(body)) => found = Some((number, body)),
            _ => {}
        })?;
        let Some((kind, body)) = found else { return Ok(()) };
        let what = match kind {
            kind::BLOCK_RQ_INSERT => self.block(BlockStage::Insert, body)?,
            kind::BLOCK_RQ_ISSUE => self.block(BlockStage::Issue, body)?,
            kind::BLOCK_RQ_REQUEUE => self.block(BlockStage::Requeue, body)?,
            kind::BLOCK_RQ_COMPLETE => self.block(BlockStage::Complete, body)?,
            kind::UFSHCD_COMMAND => self.ufs(&UfsFields::read(body)?),
            kind::GENERIC => self.generic(body)?,
            kind::PRINT => self.marker(body)?,
            kind::OOM_SCORE_ADJ_UPDATE => {
                let (comm, adj, pid) = three(body)?;
                Some(What::Score { pid: pid as u32, adj: adj as i64, comm: self.texts.number(comm) })
            }
            kind::MARK_VICTIM => Some(What::Kill(first_number(body, 1)?)),
            kind::LOWMEMORY_KILL => Some(What::Kill(first_number(body, 2)?)),
            kind::SCHED_SWITCH | kind::TASK_NEWTASK | kind::TASK_RENAME => self.task(kind, body, time)?,
            _ => None,
        };
        match what {
            Some(what) => self.events.push(Event { time, number: self.count, thread, what }),
            None => *self.others.entry(name_of(kind)).or_default() += 1,
        }
        Ok(())
    }

    fn block(&mut self, stage: BlockStage, body: &[u8]) -> Result<Option<What>, Damage> {
        let begins = matches!(stage, BlockStage::Insert | BlockStage::Issue);
        let (comm, cmd) = if begins { (6, 7) } else { (0, 6) };
        let mut fields = BlockFields::default();
        Message(body).fields(|number, value| match number {
            1 => fields.dev = value.number(),
            2 => fields.sector = value.number(),
            3 => fields.sectors = value.number(),
            5 => fields.rwbs = value.bytes(),
            n if n == comm => fields.comm = value.bytes(),
            n if n == cmd => fields.cmd = value.bytes(),
            _ => {}
        })?;
        self.block_of(stage, &fields).map(Some)
    }

    fn block_of(&mut self, stage: BlockStage, fields: &BlockFields<'_>) -> Result<What, Damage> {
        Ok(What::Block(Block {
            stage,
            dev: kernel_dev(fields.dev).ok_or("the device of a block event has a number that Linux does not use")?,
            rwbs: Rwbs::parse(fields.rwbs).ok_or("rwbs of a block event has other letters than the kernel's")?,
            is_command: !fields.cmd.is_empty(),
            sector: fields.sector,
            bytes: fields.sectors.saturating_mul(SECTOR_BYTES),
            comm: self.texts.number(fields.comm),
        }))
    }

    /// `None` for queries and task management.
    fn ufs(&mut self, fields: &UfsFields<'_>) -> Option<What> {
        let stage = match fields.stage_number {
            _ if !fields.stage.is_empty() => UfsStage::of(fields.stage),
            Some(0) => Some(UfsStage::Send),
            Some(1) => Some(UfsStage::Complete),
            _ => None,
        }?;
        // Since Linux 6.6 the event has a pointer to the device and no name.
        let device = if fields.device.is_empty() { b"ufs" } else { fields.device };
        Some(What::Ufs(Ufs {
            stage,
            device: self.texts.number(device),
            tag: fields.tag as u32,
            opcode: fields.opcode as u8,
            lba: fields.lba,
            bytes: u64::try_from(i64::from(fields.length as i32)).ok().filter(|_| fields.lba != u64::MAX),
            usual: if fields.newer { Addresses::Blocks } else { Addresses::Sectors },
        }))
    }

    /// An event that Perfetto has recorded by names.
    fn generic(&mut self, body: &[u8]) -> Result<Option<What>, Damage> {
        let (mut name, mut block, mut ufs) = (&b""[..], BlockFields::default(), UfsFields::default());
        Message(body).try_fields(|number, value| {
            match number {
                1 => name = value.bytes(),
                2 => {
                    let (key, value) = named_field(value.bytes())?;
                    block.set(key, value);
                    ufs.set(key, value);
                }
                _ => {}
            }
            Ok(())
        })?;
        match (BlockStage::of(name), name) {
            (Some(stage), _) => self.block_of(stage, &block).map(Some),
            (None, b"ufshcd_command") => Ok(self.ufs(&ufs)),
            _ => Ok(None),
        }
    }

    fn marker(&mut self, body: &[u8]) -> Result<Option<What>, Damage> {
        let mut text = &b""[..];
        Message(body).fields(|number, value| {
            if number == 2 {
                text = value.bytes();
            }
        })?;
        let wanted = MARKERS.iter().any(|part| crate::formats::text::find(text, part).is_some());
        Ok(wanted.then(|| What::Marker(self.texts.number(text))))
    }

    /// Names of threads; a name that a process gives to itself is an event.
    fn task(&mut self, kind: u64, body: &[u8], time: u64) -> Result<Option<What>, Damage> {
        let (mut texts, mut numbers) = ([&b""[..]; 8], [0_u64; 8]);
        Message(body).fields(|number, value| {
            if let Ok(number) = usize::try_from(number)
                && number < texts.len()
            {
                (texts[number], numbers[number]) = (value.bytes(), value.number());
            }
        })?;
        match kind {
            kind::SCHED_SWITCH => {
                self.names.comm(numbers[2] as u32, texts[1]);
                self.names.comm(numbers[6] as u32, texts[5]);
            }
            kind::TASK_NEWTASK => self.names.comm(numbers[1] as u32, texts[2]),
            _ => {
                let pid = numbers[1] as u32;
                self.names.comm(pid, texts[3]);
                self.named(time, pid, texts[3]);
            }
        }
        Ok(None)
    }
}

/// What a message calls events that are passed over.
fn name_of(kind: u64) -> &'static str {
    match kind {
        kind::PRINT => "print",
        kind::SCHED_SWITCH => "sched_switch",
        kind::TASK_NEWTASK => "task_newtask",
        kind::TASK_RENAME => "task_rename",
        kind::UFSHCD_COMMAND => "ufshcd_command of a query",
        _ => "others",
    }
}
