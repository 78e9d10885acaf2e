//! A device, and the guests that use it one after another.

use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};

use attach::{Engine, MemoryStore};
use host::{BoosterKind, SchedulerKind};
use lab::{LabError, Observe, OnProgress, Outside, Progress, Ran, Recorder, Spec};
use thiserror::Error;
use ufshci::{Controller, Description};
use units::SimTime;

use crate::boot::{Boot, Guest, GuestError};
use crate::medium::Simulated;
use crate::turns::{Ended, Left, serve};

/// Turns between two looks at the caller's wish.
const LOOK_EVERY: u64 = 1 << 12;
/// Time of a UIC command. Assumed: UniPro leaves it open, and it matters only while a link comes up.
const UIC_TIME: units::Nanos = units::Nanos(10_000);

/// Asked after every turn of a guest, with its time and the number of the turn, whether it is served further.
pub type Stop<'a> = dyn FnMut(SimTime, u64) -> Option<Left> + 'a;

/// What a guest's session gives.
pub struct Booted {
    /// How it has ended.
    pub ended: Ended,
    /// Turns that the guest has given.
    pub turns: u64,
    /// When its job has begun, on its clock: times of logs count from there.
    pub began: Option<SimTime>,
    /// The result of its job's requests, as of any run; `None` if it has ended before.
    pub ran: Option<Ran>,
}

/// Why there is no result.
#[derive(Debug, Error)]
pub enum SessionError {
    /// Of the simulation, or its input.
    #[error(transparent)]
    Lab(#[from] LabError),
    /// Of the guest.
    #[error(transparent)]
    Guest(#[from] GuestError),
}

/// The policy of `linux/guest/hpbvalve.c` that a booster stands for.
fn policy_of(booster: BoosterKind) -> Option<&'static str> {
    match booster {
        BoosterKind::Foam => Some("foam"),
        BoosterKind::Hpbvalve => Some("hpbvalve"),
        _ => None,
    }
}

/// A device for guests.
pub struct Session {
    outside: Outside,
    controller: Controller<Simulated>,
}

impl Session {
    /// A device, new or aged. The spec's `workload` is only a name.
    ///
    /// # Errors
    /// Wrong input, or a scheme that no driver of Linux serves.
    pub fn new(spec: &Spec, progress: &mut OnProgress) -> Result<Session, LabError> {
        let (outside, stack, expected) = Outside::begin(spec, progress)?;
        let parts = outside.machine().parts;
        let policy = policy_of(parts.booster);
        let hpb = parts.booster == BoosterKind::HpbLinux || policy.is_some();
        let has_scheduler = parts.scheduler != SchedulerKind::Amphibian;
        let hp_ufs = parts.booster == BoosterKind::HpUfs;
        if !has_scheduler || !(hpb || hp_ufs || parts.booster == BoosterKind::None) {
            let given = format!(
                "scheme = \"{}\": its host is scheduler {} and booster {}",
                spec.scheme,
                parts.scheduler.name(),
                parts.booster.name()
            );
            return Err(LabError::Config(format!(
                "{given}; Linux has all schedulers but amphibian, with none, hpb-linux, foam, hpbvalve or hp-ufs"
            )));
        }
        let host = outside.machine().profile.host_config(parts);
        if let Some(after) = host.boosters.HpUfs.write_after_entries.count().filter(|_| hp_ufs) {
            let told = "must be \"asked\" with ufsim linux: the kernel writes segments when the device asks for them";
            return Err(LabError::Config(format!("scheme.hp-ufs.write_after_entries = {after}: {told}")));
        }
        let valve = &host.boosters.Hpbvalve;
        let switches =
            [("prefetch", valve.prefetch), ("keeps_left", valve.keeps_left), ("gives_back", valve.gives_back)];
        if let Some((name, _)) = switches.iter().find(|(_, on)| policy == Some("hpbvalve") && !on) {
            let told = "must be true with ufsim linux: the kernel has the whole of HPBvalve";
            return Err(LabError::Config(format!("scheme.hpbvalve.{name} = false: {told}")));
        }
        let logical_units = outside.machine().profile.logical_units();
        if logical_units.count() > 1 && (hp_ufs || policy.is_some()) {
            let told = "must be 0 with ufsim linux and this scheme: its part of the kernel serves one logical unit";
            let given = outside.machine().profile.values.device.further_lus_mib;
            let (given, scheme) = (given.all(), &spec.scheme);
            return Err(LabError::Config(format!("scheme = \"{scheme}\": device.further_lus_mib = {given:?}: {told}")));
        }
        let config = outside.machine().profile.device_config([0; 2]);
        let description = Description {
            vendor: "ufsim".into(),
            product: outside.machine().profile.origin.clone(),
            logical_units,
            boosted_lun: outside.machine().profile.boosted_unit().map(|unit| unit.lun),
            hpb,
            hp_ufs,
            answer_time: config.command_cost,
            uic_time: UIC_TIME,
        };
        if let Some(policy) = policy.filter(|_| stack.device.info().hpb_device_control) {
            let told = format!("must be \"host\" with {policy} and ufsim linux: regions are the policy's to choose");
            return Err(LabError::Config(format!("scheme.segment-log.hpb_control = \"device\": {told}")));
        }
        let engine = Engine::for_outside(stack, &expected, spec.seed, Box::new(MemoryStore::new()));
        let controller = Controller::new(description, Simulated::new(engine));
        if hpb && !controller.announces_hpb() {
            let told = "regions and groups of HPB 2.0 are powers of two, and its entries have 8 bytes";
            return Err(LabError::Config(format!("scheme = \"{}\": {told}", spec.scheme)));
        }
        Ok(Session { outside, controller })
    }

    /// Disks that the kernel finds: the logical units.
    pub fn disks(&self) -> u8 {
        self.outside.machine().profile.logical_units().count()
    }

    /// What the kernel calls the scheduler of the disks.
    pub fn scheduler(&self) -> &'static str {
        match self.outside.machine().parts.scheduler {
            SchedulerKind::Noop => "none",
            other => other.name(),
        }
    }

    /// Entries of the device's mapping cache, and of a translation page.
    pub fn map_cache(&self) -> (u32, u32) {
        let info = self.controller.medium().engine.stack_ref().device.info();
        (info.map_cache_entries, info.map_page_entries)
    }

    /// True if the kernel's HP-UFS driver is the booster.
    pub fn has_hp_ufs(&self) -> bool {
        self.outside.machine().parts.booster == BoosterKind::HpUfs
    }

    /// True if the kernel's HPB driver is the booster.
    pub fn has_hpb(&self) -> bool {
        self.outside.machine().parts.booster == BoosterKind::HpbLinux || self.hpb_policy().is_some()
    }

    /// The policy of the kernel's HPB driver, by its name in sysfs; `None` for the driver as it is.
    pub fn hpb_policy(&self) -> Option<&'static str> {
        policy_of(self.outside.machine().parts.booster)
    }

    /// KiB of host memory that the booster may use; `None` if there is no limit.
    pub fn memory_limit_kib(&self) -> Option<u64> {
        let machine = self.outside.machine();
        machine.profile.host_config(machine.parts).memory_limit_bytes.map(|bytes| bytes / 1024)
    }

    /// What the kernel's HP-UFS driver is told; without that it is off.
    fn parameters(&self) -> Vec<String> {
        let machine = self.outside.machine();
        if !self.has_hp_ufs() {
            return Vec::new();
        }
        let config = machine.profile.host_config(machine.parts);
        let own = &config.boosters.HpUfs;
        // One of the internal tags is the slot that ufshcd keeps for queries.
        let mut told = vec![format!("hp_ufs.tags={}", config.internal_tags.saturating_sub(1).max(1))];
        told.extend(config.memory_limit_bytes.map(|bytes| format!("hp_ufs.cache_kib={}", bytes / 1024)));
        told.push(format!("hp_ufs.reorder_entries={}", own.reorder_entries));
        told.push(format!("hp_ufs.shrinks={}", u8::from(own.shrinks)));
        told.extend(own.unused_ms.count().map(|ms| format!("hp_ufs.unused_ms={ms}")));
        told
    }

    /// True if the kernel decides of which regions it keeps entries.
    pub fn host_controls_hpb(&self) -> bool {
        self.has_hpb() && !self.controller.medium().engine.stack_ref().device.info().hpb_device_control
    }

    /// Boots a guest, and serves it to its end. What it has left under way is lost if its power is taken away: call
    /// [`Session::power_cut`] then, before another guest comes.
    ///
    /// # Errors
    /// If it dies, the caller interrupts it, or the simulation contradicts itself.
    pub fn boot(
        &mut self,
        boot: &Boot,
        observe: Observe,
        stop: &mut Stop,
        progress: &mut OnProgress,
    ) -> Result<Booted, SessionError> {
        self.controller.switch_on();
        // Only the guest that has gone knew where HP-UFS keeps data; the device finds out when it is switched on.
        let both = self.has_hp_ufs();
        self.controller.medium_mut().begin(both);
        let parameters = [&boot.parameters[..], &self.parameters()].concat();
        let guest = Guest::start(&Boot { parameters, ..boot.clone() })?;
        let name = self.outside.machine().profile.origin.clone();
        let (mut observe, mut began) = (Some(observe), None);
        let mut begins = |controller: &mut Controller<Simulated>, at: SimTime| {
            if let Some(observe) = observe.take() {
                began = Some(at);
                controller.medium_mut().record(at, |stack| Recorder::new(&name, observe, stack));
            }
        };
        let (mut turns, mut interrupted) = (0, false);
        let mut watch = |at: SimTime, turn: u64, waits: bool| {
            if !waits {
                turns = turn;
                if let Some(left) = stop(at, turn) {
                    return ControlFlow::Break(left);
                }
            }
            if waits || turn.is_multiple_of(LOOK_EVERY) {
                let now = Progress { phase: "guest", done_bytes: 0, total_bytes: None, sim: at.since(SimTime::START) };
                interrupted = progress(now).is_break();
            }
            if interrupted { ControlFlow::Break(Left::Off) } else { ControlFlow::Continue(()) }
        };
        let controller = &mut self.controller;
        let served = catch_unwind(AssertUnwindSafe(|| serve(guest, controller, &mut watch, &mut begins)));
        let ended = served.map_err(|panic| self.bug(&*panic))??;
        if interrupted {
            return Err(LabError::Interrupted.into());
        }
        let engine = &mut self.controller.medium_mut().engine;
        let recorded = engine.take_record();
        let ran = recorded.map(|(recorder, stack)| self.outside.result("linux", recorder, stack)).transpose()?;
        Ok(Booted { ended, turns, began, ran })
    }

    /// Cuts the power of the device at a time of the guest, which is gone, and lets the device recover.
    pub fn power_cut(&mut self, at: SimTime) {
        self.controller.medium_mut().power_cut(at);
    }

    /// What the controller has counted.
    pub fn counters(&self) -> &ufshci::Counters {
        self.controller.counters()
    }

    fn bug(&self, panic: &(dyn std::any::Any + Send)) -> LabError {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("a panic without a message");
        LabError::Bug(format!("{text} (at {})", self.controller.medium().engine.now()))
    }
}
