//! The engine of a run: a system, new or aged; preconditioning; the workload; the report. Panics of the simulator
//! become values here.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use host::BoosterKind;
use workload::report::Report;
use workload::report::phone::LoggedRead;
use workload::{Fault, Footprint, Source};

use crate::ageing::aged::{Aged, Header};
use crate::ageing::job::{self, AgeingJob};
use crate::ageing::{aged_with, ageing};
use crate::error::LabError;
use crate::observe::{LogPart, Observe};
use crate::open::kind::WorkloadKind;
use crate::open::sweep::Sweep;
use crate::open::{Beneath, Workload, kind_of, open};
use crate::options::spec::Machine;
use crate::options::{Settled, Setup, Spec};
use crate::oracle::Oracle;
use crate::report::result::{RunResult, Verified};
use crate::report::{Context, Start, report};
use crate::run::progress::{OnProgress, Wall, throttled};
use crate::run::recorder::Recorder;
use crate::run::{Stop, System, Watch};
use crate::stack::Stack;
use crate::stack::assemble::{assemble, misfit};

/// Bytes of a mapping entry in host memory, the larger of the boosters' two (an HPB entry has 8).
const ENTRY_BYTES: u64 = 8;

/// Runs one simulation.
///
/// # Errors
/// [`LabError::Config`] for wrong input, [`LabError::Bug`] if the simulator contradicts itself, and
/// [`LabError::Interrupted`] if `progress` breaks.
pub fn simulate(spec: &Spec, progress: &mut OnProgress) -> Result<RunResult, LabError> {
    let run = Run::of(spec)?;
    let workload = open(spec, run.beneath()?)?;
    run.go(workload, Observe::default(), progress).map(|ran| ran.result)
}

/// Runs one simulation, and keeps what is wanted beside its result.
///
/// # Errors
/// See [`simulate`]; those who take a log or a series may stop the run, too. A timeline that can not be written does
/// not: see [`Ran::unwritten`].
pub fn simulate_observed(spec: &Spec, observe: Observe, progress: &mut OnProgress) -> Result<Ran, LabError> {
    let run = Run::of(spec)?;
    let workload = open(spec, run.beneath()?)?;
    run.go(workload, observe, progress)
}

/// Checks what can be checked of a run without reading a trace or simulating: the machine, and that every option given
/// has an effect on this kind of workload.
///
/// # Errors
/// [`LabError::Config`], or [`LabError::Option`] for an option without effect.
pub fn check(spec: &Spec) -> Result<WorkloadKind, LabError> {
    spec.resolve()?;
    let kind = kind_of(spec)?;
    spec.check_effects(kind)?;
    Ok(kind)
}

/// What of a run's system is drawn at random, so that another seed gives another result: ageing (not that of a state
/// that is read from a file), faults, host time, idle times of the link. What the workload draws is not told.
///
/// # Errors
/// See [`simulate`].
pub fn drawn(spec: &Spec) -> Result<Vec<&'static str>, LabError> {
    let text = spec.age.is_some().then(|| AgeingJob::of(spec)).transpose()?.map(|job| job.text);
    Ok(Run::of(spec)?.drawn(text.as_deref()))
}

/// Runs a simulation with a workload of the caller's; the spec's `workload` is only a name then.
///
/// # Errors
/// See [`simulate`].
pub fn simulate_workload(spec: &Spec, workload: Workload, progress: &mut OnProgress) -> Result<RunResult, LabError> {
    Run::of(spec)?.go(workload, Observe::default(), progress).map(|ran| ran.result)
}

/// Runs a scenario of a phone, and keeps every read if `keep_reads`.
///
/// # Errors
/// See [`simulate`]; a workload that is no scenario is one.
pub fn simulate_phone(spec: &Spec, keep_reads: bool, progress: &mut OnProgress) -> Result<Ran, LabError> {
    let run = Run::of(spec)?;
    let mut workload = open(spec, run.beneath()?)?;
    if workload.replay != "phone" {
        let told = "is no scenario of a phone: it must be TOML with a table [phone]";
        return Err(LabError::Config(format!("{}: {told}", spec.workload)));
    }
    if keep_reads {
        workload.source.keep_reads();
    }
    run.go(workload, Observe::default(), progress)
}

/// A machine whose requests come from outside, new or aged as the spec says, and the driver's own to be replaced.
pub struct Outside {
    spec: Spec,
    machine: Machine,
    state: Option<Header>,
    wall: Wall,
}

impl Outside {
    /// The machine of a spec, whose `workload` is only a name.
    ///
    /// # Errors
    /// See [`simulate`].
    pub fn begin(spec: &Spec, progress: &mut OnProgress) -> Result<(Outside, Stack, Oracle), LabError> {
        let run = Run::of(spec)?;
        let (system, state) = run.begin(progress)?;
        let (stack, oracle) = system.into_stack();
        Ok((Outside { spec: spec.clone(), machine: run.machine, state, wall: run.wall }, stack, oracle))
    }

    /// What it is made of.
    pub fn machine(&self) -> &Machine {
        &self.machine
    }

    /// The result of what has been recorded. `kind` names where the requests came from.
    ///
    /// # Errors
    /// [`LabError::Bug`] if the machine cannot say what it is.
    pub fn result(&self, kind: &'static str, mut recorder: Recorder, stack: &mut Stack) -> Result<Ran, LabError> {
        let (after, requests) = recorder.end(stack);
        let Outside { spec, machine, state, wall } = self;
        let run = Run { spec, machine: machine.clone(), wall: wall.clone() };
        let (notice, unwritten) = told(recorder.watchers.take().map(|watchers| watchers.finish(None, after.at)));
        let profile = &run.machine.profile;
        let before = &recorder.measure.before;
        let context = Context {
            own: Report::default(),
            bins: false,
            setup: Setup::of(&run.settled(kind, state.clone())?),
            energy: profile.values.energy,
            host_dram_limit: None,
            wall_seconds: run.wall.seconds(),
            start: Start { wall_seconds: 0.0, requests: 0, operations: before.operations(), was_cut: false },
            drawn: run.drawn(state.as_ref().map(|state| state.age.as_str())),
            warnings: profile.what_if().into_iter().chain(notice).collect(),
        };
        Ok(Ran { result: report(&recorder.measure, &after, context), reads: None, requests, unwritten })
    }
}

/// What a run gives.
#[derive(Clone, Debug)]
pub struct Ran {
    /// The report.
    pub result: RunResult,
    /// All reads in the order of completion, if the workload was asked to keep them and can.
    pub reads: Option<Vec<LoggedRead>>,
    /// The log of requests, if one was to be kept, with times from the beginning of the workload on.
    pub requests: Option<LogPart>,
    /// Why the timeline could not be written, if one was wanted and could not.
    pub unwritten: Option<String>,
}

/// Ages the device of a spec and switches it off. The spec's `workload` is not looked at, and conditions are those of
/// its profile: see `ageing`.
///
/// # Errors
/// See [`simulate`]; a spec without `age` is one.
pub fn age(spec: &Spec, progress: &mut OnProgress) -> Result<Aged, LabError> {
    let (mut common, machine) = ageing(spec)?;
    // For the command that repeats a run that has found a bug.
    common.workload.clone_from(&spec.workload);
    Run { spec: &common, machine, wall: Wall::start() }.wear_in(progress)
}

/// A machine that has aged and was not switched off (`stay_on`).
pub struct LeftOn {
    spec: Spec,
    system: System,
    state: Header,
}

impl LeftOn {
    /// Ages the machine of a spec, whose `workload` is not looked at.
    ///
    /// # Errors
    /// See [`simulate`]; a spec without `stay_on` is one.
    pub fn age(spec: &Spec, progress: &mut OnProgress) -> Result<LeftOn, LabError> {
        if !spec.stay_on {
            return Err(LabError::Config("stay_on = false: the machine of this run is switched off".into()));
        }
        let (system, state) = Run::of(spec)?.stay_on(progress)?;
        Ok(LeftOn { spec: LeftOn::of(spec), system, state })
    }

    /// Runs a spec of the same machine, as [`simulate`] does with one that it ages first.
    ///
    /// # Errors
    /// See [`simulate`]; a spec that asks for another machine is one.
    pub fn simulate(self, spec: &Spec, progress: &mut OnProgress) -> Result<RunResult, LabError> {
        if LeftOn::of(spec) != self.spec {
            return Err(LabError::Config("the run asks for another machine than the one that was left on".into()));
        }
        let run = Run::of(spec)?;
        let workload = open(spec, run.beneath()?)?;
        run.go_on(self.system, Some(self.state), workload, Observe::default(), progress).map(|ran| ran.result)
    }

    /// All of a spec that decides what the machine is when its ageing has ended.
    fn of(spec: &Spec) -> Spec {
        let Spec { scheme, scheduler, booster, mapping, profile, seed, host_memory_mib, set, age, stay_on, .. } = spec;
        Spec {
            scheme: scheme.clone(),
            scheduler: scheduler.clone(),
            booster: booster.clone(),
            mapping: mapping.clone(),
            profile: profile.clone(),
            seed: *seed,
            host_memory_mib: host_memory_mib.clone(),
            set: set.clone(),
            age: age.clone(),
            stay_on: *stay_on,
            ..Spec::default()
        }
    }
}

/// What the state that [`age`] makes will say about itself.
///
/// # Errors
/// See [`age`].
pub fn age_header(spec: &Spec) -> Result<Header, LabError> {
    let (spec, machine) = ageing(spec)?;
    Ok(Header::new(&spec, &machine, &AgeingJob::of(&spec)?.text))
}

/// A run, from what was asked for.
pub(crate) struct Run<'a> {
    spec: &'a Spec,
    machine: Machine,
    wall: Wall,
}

impl Run<'_> {
    pub(crate) fn of(spec: &Spec) -> Result<Run<'_>, LabError> {
        let wall = Wall::start();
        Ok(Run { spec, machine: spec.resolve()?, wall })
    }

    pub(crate) fn beneath(&self) -> Result<Beneath, LabError> {
        let Machine { parts, profile } = &self.machine;
        let whole_table = u64::from(profile.capacity_units()) * ENTRY_BYTES;
        let first = profile.host_config(*parts).memory_limit_bytes.unwrap_or(whole_table);
        let most = self.spec.memory_plan()?.limits().fold(first, u64::max).min(whole_table);
        let driver_bytes = if parts.booster == BoosterKind::None { 0 } else { most };
        Ok(Beneath {
            logical_units: profile.logical_units(),
            driver_bytes,
            merge: profile.values.merge.limits(),
            plugs: profile.values.host_time.plugs,
        })
    }

    /// The whole run of a workload, with what is wanted beside its result.
    pub(crate) fn go(&self, workload: Workload, observe: Observe, progress: &mut OnProgress) -> Result<Ran, LabError> {
        let (system, state) = self.begin(progress)?;
        self.go_on(system, state, workload, observe, progress)
    }

    /// The same with a system that is there already, and how it was aged.
    pub(crate) fn go_on(
        &self,
        mut system: System,
        state: Option<Header>,
        mut workload: Workload,
        observe: Observe,
        progress: &mut OnProgress,
    ) -> Result<Ran, LabError> {
        let plan = self.spec.memory_plan()?;
        system.plan_memory(plan).map_err(|error| misfit(&self.machine.profile, &error))?;
        let cut_after = self.spec.cut_after()?;
        system.plan_cut(cut_after);
        let source = &mut *workload.source;
        let bins = observe.bins;
        let ran = self.guarded(|| self.phases(&mut system, source, observe, progress));
        let start = match ran.map_err(|bug| with_place(bug, &system))? {
            Ok(start) => start,
            Err(Stop::Interrupted) => return Err(LabError::Interrupted),
            Err(stop) => return Err(with_place(self.bug(&stop.to_string()), &system)),
        };
        let mut watchers = system.take_watchers();
        let requests = watchers.as_mut().and_then(|watchers| watchers.take_log(source.processes()));
        let (measure, after) = system.outcome();
        let was_cut = start.was_cut;
        if measure.submitted != measure.completed && !was_cut {
            let lost = format!("{} requests submitted, {} completed", measure.submitted, measure.completed);
            return Err(with_place(self.bug(&lost), &system));
        }
        match source.verdict() {
            Ok(()) => {}
            Err(Fault::Wish(what)) => return Err(LabError::Config(format!("{}: {what}", self.spec.workload))),
            Err(Fault::Data(what)) => return Err(with_place(self.bug(&what), &system)),
        }
        let mut own = source.report();
        let reads = own.reads.take();
        let (notice, unwritten) = told(watchers.map(|watchers| watchers.finish(own.phone.as_ref(), after.at)));
        let of_system = self.drawn(state.as_ref().map(|state| state.age.as_str()));
        let drawn: Vec<_> = workload.random.then_some("workload").into_iter().chain(of_system).collect();
        let seed = self.spec.seed;
        let idle_seed = (seed != Spec::default().seed && drawn.is_empty())
            .then(|| format!("seed = {seed} changes nothing: no part of this run is random"));
        let never_cut =
            (cut_after.is_some() && !was_cut).then(|| "the power was not cut: the run ended before cut_at".to_owned());
        let Machine { parts, profile } = &self.machine;
        let Workload { replay, depth, folded, merged, .. } = workload;
        let context = Context {
            own,
            bins,
            setup: Setup::of(&Settled { depth, folded, merged, ..self.settled(replay, state)? }),
            energy: profile.values.energy,
            host_dram_limit: profile.host_config(*parts).memory_limit_bytes,
            wall_seconds: self.wall.seconds(),
            start,
            drawn,
            warnings: workload
                .warnings
                .into_iter()
                .chain(profile.what_if())
                .chain(idle_seed)
                .chain(never_cut)
                .chain(unchanged_memory(system.memory_changes_left()))
                .chain(notice)
                .collect(),
        };
        let mut result = report(measure, &after, context);
        if was_cut {
            let began = system.outcome().0.began_at();
            let cut = self.guarded(|| system.cut_and_recover(began, self.spec.seed))?;
            result.power_cut = Some(cut);
        } else if self.spec.verify {
            result.verified = Some(self.verify(&mut system, progress)?);
        }
        Ok(Ran { result, reads, requests, unwritten })
    }

    /// Reads everything back, when all that the report needs has been taken down.
    fn verify(&self, system: &mut System, progress: &mut OnProgress) -> Result<Verified, LabError> {
        let read = self.guarded(|| system.read_back(&mut throttled("verify", &self.wall, progress)));
        match read.map_err(|bug| with_place(bug, system))? {
            Ok(verified) => Ok(verified),
            Err(Stop::Interrupted) => Err(LabError::Interrupted),
            Err(stop) => Err(with_place(self.bug(&format!("read-back: {stop}")), system)),
        }
    }

    /// The system that the run begins with: new, aged, or aged before and read from a file. With it, how it was aged.
    fn begin(&self, progress: &mut OnProgress) -> Result<(System, Option<Header>), LabError> {
        let (spec, Machine { parts, profile }) = (self.spec, &self.machine);
        if let Some(from) = &spec.from {
            let aged = Aged::load(Path::new(from), profile, *parts, spec.seed)?;
            let header = aged.header.clone();
            // The checksum is right, so only a file that was made to deceive gets beyond this.
            let on = self.guarded(|| aged.switch_on(profile, *parts, spec.seed));
            let system = on.map_err(|_| LabError::State(format!("{from}: its tables contradict each other")))?;
            return Ok((system?, Some(header)));
        }
        if spec.stay_on {
            let (system, header) = self.stay_on(progress)?;
            return Ok((system, Some(header)));
        }
        if spec.age.is_some() {
            let aged = age(spec, progress)?;
            let header = aged.header.clone();
            return Ok((self.guarded(|| aged.switch_on(profile, *parts, spec.seed))??, Some(header)));
        }
        Ok((self.guarded(|| assemble(profile, *parts, spec.seed))??, None))
    }

    /// Ages a device and switches it off. The spec is that of an ageing run.
    fn wear_in(&self, progress: &mut OnProgress) -> Result<Aged, LabError> {
        let (aged, header) = self.used(progress, |system, _, watch| system.switch_off(watch))?;
        Ok(Aged { device: aged.0, oracle: aged.1, header })
    }

    /// Ages the machine of the run itself, which stays on.
    pub(crate) fn stay_on(&self, progress: &mut OnProgress) -> Result<(System, Header), LabError> {
        self.used(progress, |mut system, source, _| {
            system.rest(source)?;
            Ok(system)
        })
    }

    /// Uses a new machine as the spec's `age` says, and then does `last` with it.
    fn used<T>(
        &self,
        progress: &mut OnProgress,
        last: impl FnOnce(System, &mut dyn Source, &mut Watch) -> Result<T, Stop>,
    ) -> Result<(T, Header), LabError> {
        let (spec, Machine { parts, profile }) = (self.spec, &self.machine);
        let job = AgeingJob::of(spec)?;
        let text = job.text.clone();
        let mut source = job.source(profile.logical_units(), spec.seed)?;
        let mut system = self.guarded(|| assemble(profile, *parts, spec.seed))??;
        let mut watch = throttled("age", &self.wall, progress);
        let aged = self.guarded(|| {
            system.run(&mut *source, &mut watch)?;
            last(system, &mut *source, &mut watch)
        })?;
        match aged {
            Ok(aged) => Ok((aged, Header::new(spec, &self.machine, &text))),
            Err(Stop::Interrupted) => Err(LabError::Interrupted),
            Err(stop) => Err(self.bug(&stop.to_string())),
        }
    }

    /// Preconditioning, then the workload. Gives the state between them.
    fn phases(
        &self,
        system: &mut System,
        source: &mut dyn Source,
        observe: Observe,
        progress: &mut OnProgress,
    ) -> Result<Start, Stop> {
        let fill = match self.spec.precondition.as_str() {
            "footprint" => source.footprint(),
            "touched" => source.preconditioning_ranges(),
            _ => Footprint::default(),
        };
        if !fill.is_empty() {
            let mut fill = Sweep::writing(fill);
            system.run(&mut fill, &mut throttled("precondition", &self.wall, progress))?;
            system.settle(&mut fill)?;
        }
        system.age_data();
        let (measure, counters) = system.outcome();
        let mut start = Start {
            was_cut: false,
            wall_seconds: self.wall.seconds(),
            requests: measure.unmeasured,
            operations: counters.operations(),
        };
        system.observe(observe);
        match system.run(source, &mut throttled("run", &self.wall, progress)) {
            Err(Stop::PowerCut) => start.was_cut = true,
            ended => ended?,
        }
        if system.end_observation(source.processes()) { Ok(start) } else { Err(Stop::Interrupted) }
    }

    /// Turns a panic into a value.
    fn guarded<T>(&self, run: impl FnOnce() -> T) -> Result<T, LabError> {
        catch_unwind(AssertUnwindSafe(run)).map_err(|payload| {
            let text = payload.downcast_ref::<String>().map(String::as_str);
            let text = text.or_else(|| payload.downcast_ref::<&str>().copied());
            self.bug(text.unwrap_or("a panic without a message"))
        })
    }

    fn bug(&self, what: &str) -> LabError {
        LabError::Bug(format!("{what} (seed {}; repeat with: {})", self.spec.seed, self.spec.command()))
    }

    /// What of a system is drawn at random, whatever the workload. `age` is the job that aged the device.
    fn drawn(&self, age: Option<&str>) -> Vec<&'static str> {
        let profile = &self.machine.profile;
        let aged_at_random = age.is_some_and(job::is_random);
        let parts = [
            ("ageing", aged_at_random),
            ("faults of the flash", profile.device_config([0; 2]).faults.any()),
            ("host time", profile.block_config(0).is_random()),
            ("idle times of the link", profile.power_config(0).is_random()),
        ];
        parts.into_iter().filter(|&(_, drawn)| drawn).map(|(name, _)| name).collect()
    }

    /// What the run came to use; whoever replays something adds how.
    fn settled(&self, replay: &'static str, state: Option<Header>) -> Result<Settled<'_>, LabError> {
        let (spec, parts) = (self.spec, self.machine.parts);
        let overrides = spec.overrides()?;
        let aged_with = state.as_ref().map(|state| aged_with(state, spec, &self.machine)).unwrap_or_default();
        let age = state.map(|state| state.age);
        Ok(Settled { spec, parts, overrides, replay, depth: None, folded: None, merged: false, age, aged_with })
    }
}

/// Adds to a bug when it was found.
fn with_place(error: LabError, system: &System) -> LabError {
    match error {
        LabError::Bug(text) => LabError::Bug(format!("event {} at {}: {text}", system.events(), system.now())),
        other => other,
    }
}

/// What a timeline leaves out, and why it could not be written.
fn told(finished: Option<std::io::Result<Option<String>>>) -> (Option<String>, Option<String>) {
    match finished {
        Some(Ok(notice)) => (notice, None),
        Some(Err(error)) => (None, Some(error.to_string())),
        None => (None, None),
    }
}

/// Says that limits of host memory were never used.
fn unchanged_memory(left: usize) -> Option<String> {
    let changes = if left == 1 { "the last change".into() } else { format!("the last {left} changes") };
    (left > 0).then(|| format!("--host-memory (host_memory_mib): the run ended before {changes}"))
}

#[cfg(test)]
mod tests {
    use std::ops::ControlFlow;

    use units::Lpa;

    use super::*;

    #[test]
    fn data_that_a_read_back_does_not_find_is_a_bug_with_the_command_that_repeats_it() {
        let spec = Spec { profile: "tiny".into(), verify: true, seed: 42, ..Spec::new("ufs", "job.fio") };
        let run = Run::of(&spec).expect("a machine");
        let (mut system, _) = run.begin(&mut |_| ControlFlow::Continue(())).expect("a new device");
        system.pretend_write(Lpa(130));
        let error = run.verify(&mut system, &mut |_| ControlFlow::Continue(())).expect_err("nothing was written");
        let LabError::Bug(text) = &error else { panic!("{error:?}") };
        let told = "read-back: wrong data: read of LPA 130 (unit 2 of 128): expected LPA 130 of write 1, got zeroes \
                    (seed 42; repeat with: ufsim run --scheme ufs --profile tiny --seed 42 --precondition footprint \
                    --verify job.fio)";
        assert!(text.starts_with("event ") && text.ends_with(told), "{text}");
    }
}
