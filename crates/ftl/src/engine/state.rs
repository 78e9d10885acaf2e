//! The firmware's state: one command per tag, and queues between them.

use std::collections::VecDeque;

use ufs::{Content, DataOut, Op, Status};
use units::{Nanos, Seq, SimTime};

use super::idle_gc::IdleTime;
use super::recover::state::Recovery;
use super::refresh::Refresh;
use super::waiting::{FailedRow, Flushing, Loads, Lookups, MetaGc, Pack, WaitingRead};
use crate::config::EngineConfig;
use crate::core::Core;
use crate::seat::Mapping;
use crate::space::gc::Gc;
use crate::write_path::WritePath;

/// A command between its arrival and its response.
#[cfg_attr(feature = "explore", derive(Clone))]
#[derive(Debug)]
pub(super) struct Pending {
    pub(super) op: Op,
    pub(super) host_seq: Seq,
    pub(super) freed: Option<units::Superblock>,
    pub(super) data: DataOut,
    /// What has to happen before the response: units to be read or written, plus one while more may be added.
    pub(super) remaining: u32,
    /// Units of a write or trim that have been accepted.
    pub(super) accepted: u32,
    /// Time of the firmware thread for the command, and for its seals.
    pub(super) cost: Nanos,
    pub(super) sealing: Nanos,
    pub(super) status: Status,
    pub(super) contents: Vec<Option<Content>>,
    pub(super) translation: Translation,
    pub(super) active: bool,
}

/// A command under way. What is left of one that has been answered means nothing, nor do contents in a command that
/// reads none.
#[cfg(feature = "explore")]
impl std::hash::Hash for Pending {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        let Pending { op, host_seq, freed, data, remaining, accepted, cost, sealing, status, .. } = self;
        self.active.hash(state);
        if self.active {
            (op, host_seq, freed, data, remaining, accepted, cost, sealing, status).hash(state);
        }
        if self.active && matches!(op, Op::Read { .. } | Op::HpbRead { .. } | Op::MappedRead { .. }) {
            self.contents.hash(state);
        }
    }
}

/// How the units of a read were translated. For reports only; a host can not ask for it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Translation {
    /// Units that waited for a piece of the mapping table to be read from flash.
    pub map_reads: u32,
    /// The device refused the entry that came with the command.
    pub refused: bool,
}

/// The firmware with one mapping scheme.
#[cfg_attr(feature = "explore", derive(Clone, Hash))]
#[derive(Debug)]
pub struct Engine<M: Mapping> {
    /// What every part works on.
    pub(super) core: Core,
    pub(super) map: M,
    /// Parameters of the scheme.
    pub(super) own: M::Params,
    pub(super) gc: Gc,
    pub(super) commands: Vec<Pending>,
    /// Commands that have arrived and have not started.
    pub(super) incoming: VecDeque<u8>,
    /// End of the firmware thread's present command. `thread_wake` is true if a wake for it has been requested.
    pub(super) thread_until: SimTime,
    /// Time at which the last answer leaves.
    pub(super) answered: SimTime,
    pub(super) thread_wake: bool,
    /// Writes, flushes and trims, in order.
    pub(super) ordered: VecDeque<u8>,
    /// What these wait for besides buffers; `None` = nothing.
    pub(super) write_path: Option<Box<WritePath>>,
    pub(super) flushes: Vec<Flushing>,
    pub(super) waiting_reads: VecDeque<WaitingRead>,
    /// Metadata commands that wait for a buffer.
    pub(super) waiting_metadata: VecDeque<u8>,
    pub(super) loads: Loads<M::Awaited>,
    pub(super) pack: Pack,
    pub(super) lookups: Lookups,
    pub(super) meta_gc: MetaGc,
    pub(super) idle_time: IdleTime,
    pub(super) refresh: Refresh,
    /// State of a recovery, while the mapping is being rebuilt.
    pub(super) recovery: Option<Box<Recovery>>,
    /// Rows whose program has failed.
    pub(super) failed_rows: VecDeque<FailedRow>,
    /// Order of the oldest queued unit when the idle timer was set.
    pub(super) idle_mark: Option<u64>,
}

impl<M: Mapping> Engine<M> {
    /// A device fresh from the factory.
    pub fn new(mut cfg: EngineConfig, own: &M::Params) -> Engine<M> {
        cfg.log.entries = M::log_entries(&cfg, own);
        cfg.sram.entries = M::caches_entries(own);
        let units = M::map_units(&cfg, own);
        let mut core = Core::new(cfg, units);
        core.publish(&M::published(own));
        if M::schedules_directory(own) {
            core.meta.schedule_snapshots();
        }
        let map = M::new(&core, own);
        Engine::with(core, map, *own)
    }

    pub(super) fn with(core: Core, map: M, own: M::Params) -> Engine<M> {
        let idle = || Pending {
            op: Op::Flush,
            host_seq: Seq(0),
            freed: None,
            data: DataOut::None,
            remaining: 0,
            accepted: 0,
            cost: Nanos(0),
            sealing: Nanos(0),
            status: Status::Good,
            contents: Vec::new(),
            translation: Translation::default(),
            active: false,
        };
        Engine {
            map,
            own,
            gc: Gc::new(core.cfg.gc, core.layout.superblock_units()),
            commands: std::iter::repeat_with(idle).take(256).collect(),
            incoming: VecDeque::new(),
            thread_until: SimTime::START,
            answered: SimTime::START,
            thread_wake: false,
            ordered: VecDeque::new(),
            write_path: WritePath::new(core.cfg.write_path, core.now).map(Box::new),
            flushes: Vec::new(),
            waiting_reads: VecDeque::new(),
            waiting_metadata: VecDeque::new(),
            loads: Loads::default(),
            pack: Pack::default(),
            lookups: Lookups::default(),
            meta_gc: MetaGc::default(),
            idle_time: IdleTime::default(),
            refresh: Refresh::default(),
            recovery: None,
            failed_rows: VecDeque::new(),
            idle_mark: None,
            core,
        }
    }
}
