//! WriteBooster (JESD220G clause 13.4.18): what the host controls of the cache in SLC mode, and what it is told.
//!
//! A flush is folding (`space/slc.rs`), one GC step after the other, each begun only while no command is under way
//! (clause 13.4.18.4). With [`GcRuns::Beside`](crate::config::GcRuns) a command that comes during a step goes on beside
//! it. Full superblocks are folded. The one that is being filled waits until it is full, or a host that pauses after
//! every few writes would have a superblock erased for each. So less than a superblock is left when a flush ends. What
//! a resize takes from the cache is folded in the same way.
//!
//! A buffer may be dedicated to a range of addresses, one logical unit (`engine/parted.rs`).
//!
//! Everything here is volatile: with the power, flags and sizes return to those of the configuration.

use ufs::{Booster, BoosterControl, BoosterFlags, FlushStatus, ResizeHint, ResizeStatus, UserSpace};
use units::{Lpa, Nanos, Superblock};

use crate::core::{Core, Futile};
use crate::slc_config::{BoosterConfig, SlcConfig};

/// Of the size that was configured, a resize adds or takes so much.
const RESIZE_PARTS: u32 = 10;

/// What the host has set, and how far that has come.
#[cfg_attr(feature = "explore", derive(Hash))]
#[derive(Clone, Debug, Default)]
pub struct BoosterState {
    flags: BoosterFlags,
    /// The device was told that the link hibernates.
    hibernates: bool,
    /// Units that a flush leaves.
    keep: u32,
    flush: FlushStatus,
    resize: ResizeStatus,
    /// Not all data may go to it.
    is_dedicated: bool,
}

impl BoosterState {
    /// As a driver sets it when the device has got power.
    pub fn new(config: &SlcConfig) -> BoosterState {
        let host = config.booster.map(|booster| booster.host).unwrap_or_default();
        BoosterState { flags: host.flags, is_dedicated: host.serves.is_some(), ..BoosterState::default() }
    }
}

impl Core {
    /// True if host data wait in two queues: `engine/parted.rs`.
    #[inline]
    pub(crate) fn parts_host_data(&self) -> bool {
        self.heat.is_some() || self.booster.is_dedicated
    }

    /// True if data of an address may go to the cache: any may, unless WriteBooster is dedicated to others.
    #[inline]
    pub(crate) fn is_served(&self, lpa: Lpa) -> bool {
        let serves = self.cfg.slc.booster.and_then(|booster| booster.host.serves);
        serves.is_none_or(|(first, units)| lpa.0.wrapping_sub(first.0) < units)
    }

    /// After which idle time the cache is folded; `None` if it is not.
    pub(crate) fn folds_after(&self) -> Option<Nanos> {
        match self.cfg.slc.booster {
            None => self.cfg.slc.fold_after.filter(|_| self.blocks.fills_slc()),
            Some(config) if self.exceeds_limit() || self.flushes_something() => self.flushes_after(&config),
            Some(_) => None,
        }
    }

    fn flushes_after(&self, config: &BoosterConfig) -> Option<Nanos> {
        let BoosterState { flags, hibernates, .. } = self.booster;
        match flags.flush || self.exceeds_limit() || hibernates && flags.flush_in_hibernation {
            true => Some(Nanos::ZERO),
            false => config.host.hibernates_after.filter(|_| flags.flush_in_hibernation),
        }
    }

    /// A resize has to take superblocks from the cache.
    fn exceeds_limit(&self) -> bool {
        let slc = self.blocks.slc();
        self.booster.resize == ResizeStatus::InProgress && slc.unfolded() > slc.limit()
    }

    /// True if a flush has something to do: if there is a full superblock without units that are to be kept.
    fn flushes_something(&self) -> bool {
        let beyond = self.blocks.slc_unfolded_units() >= self.booster.keep + self.blocks.slc_units();
        beyond && self.blocks.fills_slc()
    }

    /// A superblock in SLC mode has been folded, and nothing more is to be folded now.
    pub(crate) fn ends_folding(&self, sb: Superblock) -> bool {
        self.cfg.slc.booster.is_some() && self.blocks.slc().is_folded(sb) && self.folds_after().is_none()
    }

    /// Follows the wear of the cache, and how far flush and resize have come.
    pub(crate) fn note_flush(&mut self, hibernates: bool) {
        // Host data go to the cache if the host wants it and it is not worn out (clause 13.4.18.3).
        let enabled = self.booster.flags.enabled && self.life_time_data() != 0x0B;
        self.blocks.slc_mut().enable(enabled);
        if self.booster.resize == ResizeStatus::InProgress && self.blocks.slc().count() <= self.blocks.slc().limit() {
            self.booster.resize = ResizeStatus::Completed;
        }
        let BoosterState { flags, flush, .. } = self.booster;
        let hibernates = hibernates || self.booster.hibernates || flush == FlushStatus::InProgress;
        let wanted = flags.flush || flags.flush_in_hibernation && hibernates;
        self.booster.flush = match (flush, wanted, self.flushes_something()) {
            (_, true, true) => FlushStatus::InProgress,
            (FlushStatus::InProgress, false, true) => FlushStatus::Stopped,
            (FlushStatus::InProgress, _, false) => FlushStatus::Completed,
            // A write after the end of a flush (Table 14.28, 1Ch).
            (FlushStatus::Completed, false, true) => FlushStatus::Idle,
            (as_before, ..) => as_before,
        };
    }

    /// Does what the host wants. Nothing without WriteBooster.
    pub(crate) fn control_booster(&mut self, control: BoosterControl) {
        let Some(config) = self.cfg.slc.booster else { return };
        self.futile = Futile::default();
        match control {
            BoosterControl::Flags(flags) => self.booster.flags = flags,
            BoosterControl::Hibernate(hibernates) => self.booster.hibernates = hibernates,
            BoosterControl::Keep { units } => self.booster.keep = units,
            BoosterControl::Resize { larger } if config.user_space == UserSpace::Preserved => self.resize(larger),
            BoosterControl::Resize { .. } => {}
            BoosterControl::FlushStatusRead if self.booster.flush == FlushStatus::InProgress => {}
            BoosterControl::FlushStatusRead => self.booster.flush = FlushStatus::Idle,
            BoosterControl::ResizeStatusRead if self.booster.resize == ResizeStatus::InProgress => {}
            BoosterControl::ResizeStatusRead => self.booster.resize = ResizeStatus::Idle,
        }
        self.note_flush(false);
    }

    fn resize(&mut self, larger: bool) {
        if self.booster.resize == ResizeStatus::InProgress {
            return;
        }
        let (before, step) = (self.blocks.slc().limit(), self.resize_step());
        let wanted = if larger { before + step } else { before.saturating_sub(step) };
        self.blocks.slc_mut().resize(wanted);
        let changed = self.blocks.slc().limit() != before;
        self.booster.resize = if changed { ResizeStatus::InProgress } else { ResizeStatus::Failed };
    }

    fn resize_step(&self) -> u32 {
        (self.cfg.slc.superblocks / RESIZE_PARTS).max(1)
    }

    /// A smaller cache while GC has to make room, a larger one again when there is room for it.
    fn resize_hint(&self, config: &BoosterConfig) -> ResizeHint {
        let (limit, free) = (self.blocks.slc().limit(), self.blocks.free());
        if config.user_space == UserSpace::Reduced || self.booster.resize == ResizeStatus::InProgress {
            ResizeHint::Keep
        } else if free < self.cfg.gc.start && limit > 1 {
            ResizeHint::Decrease
        } else if free > self.cfg.gc.start + self.resize_step() && limit < self.cfg.slc.superblocks {
            ResizeHint::Increase
        } else {
            ResizeHint::Keep
        }
    }

    /// The cache as the host sees it; `None` if the host does not control it.
    pub(crate) fn booster(&self) -> Option<Booster> {
        let config = self.cfg.slc.booster?;
        let (current_units, available_units) = self.blocks.slc_size();
        Some(Booster {
            configured_units: self.cfg.slc.superblocks * self.blocks.slc_units(),
            capacity_factor: self.cfg.slc.bits_per_cell,
            user_space: config.user_space,
            flags: self.booster.flags,
            current_units,
            available_units,
            kept_units: self.booster.keep.min(current_units),
            flush: self.booster.flush,
            resize: self.booster.resize,
            hint: self.resize_hint(&config),
            life_time: self.life_time_data(),
        })
    }
}
