//! A scenario file: a phone, its apps, and the order in which they are used. docs/phone.md describes every key.

use std::path::Path;

use units::{MIB, Nanos};
use workload::named_stream;

use crate::access::{LAUNCH_READS_PER_CHUNK, Placement, RUN_READS_PER_CHUNK};
use crate::app::{App, Launch, built_in};
use crate::memory::Watermarks;
use crate::recorded::Recorded;
use crate::toml_reader::{ScenarioError, Section, TableAt, Text, Word};

/// Most apps of a scenario, services included: their numbers are streams and groups of the run.
const MOST_APPS: usize = 1000;
/// Most uses of a scenario.
const MOST_USES: usize = 100_000;

/// A scenario.
#[derive(Clone, PartialEq, Debug)]
pub struct Scenario {
    /// The user's apps first, then services.
    pub apps: Vec<App>,
    /// The order in which apps are used.
    pub sequence: Sequence,
    /// Time from one app's launch to the next one's, unless loading takes longer.
    pub use_time: Nanos,
    /// The user ends an app before it is launched again, so that no launch finds it in the background.
    pub cold_starts: bool,
    /// Time from the end of a service to its restart.
    pub service_restart: Nanos,
    /// The phone's memory.
    pub memory: MemorySettings,
    /// The low-memory killer.
    pub lmkd: Lmkd,
    /// How apps read.
    pub io: IoSettings,
    /// Uses recorded on a real phone. They replace the model's reads and writes.
    pub recorded: Option<Recorded>,
}

/// The order in which apps are used, as indices into [`Scenario::apps`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Sequence {
    /// All apps in random order, a new order in every round.
    Random {
        /// Number of rounds.
        rounds: u32,
    },
    /// A given order, repeated.
    Given {
        /// Indices into [`Scenario::apps`].
        order: Vec<usize>,
        /// Number of rounds.
        rounds: u32,
    },
}

/// The phone's memory.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct MemorySettings {
    /// All memory that the model shares out, in bytes.
    pub effective: u64,
    /// Memory of the kernel, the system server, the launcher and other processes that never end, in bytes.
    pub system: u64,
    /// Limits of reclaim.
    pub marks: Watermarks,
    /// Rate at which page cache is reclaimed, in bytes per second.
    pub reclaim_per_s: u64,
    /// Largest difference of an app's memory from that of its file, from one start to another, as a share of it.
    pub spread: f64,
    /// Time in which an app takes its memory after a cold launch, unless its loading takes longer.
    pub ramp: Nanos,
}

/// The low-memory killer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Lmkd {
    /// Window in which pressure is measured.
    pub window: Nanos,
    /// Stalled time within the window from which on the killer acts.
    pub stall: Nanos,
    /// Time from the decision until the memory is free.
    pub kill_time: Nanos,
    /// Time that the driver takes to free what it gives back so that the victim may live.
    pub free_time: Nanos,
    /// The victim lives as well if less came back and memory is not short any more.
    pub spares_on_relief: bool,
}

/// How apps read.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct IoSettings {
    /// Reads that a launch or loading keeps outstanding.
    pub parallel: u32,
    /// Share of reads that go to data which the app has not read before.
    pub fresh_share: f64,
    /// Time of one read that the launch times of the app files include.
    pub nominal_read: Nanos,
    /// Mean reads of a launch or of loading that lie within 2 MiB of each other.
    pub launch_reads_per_chunk: f64,
    /// The same of an app that runs, in front or in the background.
    pub run_reads_per_chunk: f64,
}

impl Scenario {
    /// Reads a scenario. `origin` names the file in errors; paths in the scenario are relative to its directory.
    ///
    /// # Errors
    /// The line and the key of what is wrong, its value, and what is allowed.
    pub fn parse(text: &str, origin: &str) -> Result<Scenario, ScenarioError> {
        let directory = Path::new(origin).parent().unwrap_or(Path::new(""));
        let text = Text { origin, text };
        let parsed = text.parse()?;
        let mut root = Section::new(text, "", TableAt { at: 0, table: parsed.get_ref() });
        let own = root.tables("app")?.into_iter().map(|table| App::read(Section::new(text, "app", table), directory));
        let own: Vec<App> = own.collect::<Result<_, _>>()?;
        let table = root.table("phone")?.ok_or_else(|| root.missing("phone"))?;
        let mut phone = Section::new(text, "phone", table);
        let mut apps = apps_of(&mut phone, own)?;
        let recorded = match root.table("recorded")? {
            Some(table) => Some(Recorded::read(Section::new(text, "recorded", table), &apps, directory)?),
            None => None,
        };
        let sequence = match &recorded {
            Some(recorded) => recorded_sequence(&mut phone, recorded)?,
            None => sequence_of(&mut phone, &apps)?,
        };
        let seconds = |value: Option<f64>, default: f64| Nanos((value.unwrap_or(default) * 1e9) as u64);
        let use_time = seconds(phone.number("use_s", 0.1..=86_400.0)?, 60.0);
        let cold_starts = phone.boolean("cold_starts")?.unwrap_or(false);
        let service_restart = seconds(phone.number("service_restart_s", 0.1..=86_400.0)?, 60.0);
        // In a recording, all requests besides those of its apps come from the app `others`.
        let services = phone.whole("services", 0..=100)?.unwrap_or(if recorded.is_some() { 0 } else { 8 });
        phone.done()?;
        apps.extend(recorded.iter().map(|_| App::others()));
        apps.extend((1..=services).map(|number| App::service(number as u32)));
        let memory = memory_of(&mut root)?;
        let lmkd = lmkd_of(&mut root)?;
        let io = io_of(&mut root)?;
        root.done()?;
        let scenario = Scenario { apps, sequence, use_time, cold_starts, service_restart, memory, lmkd, io, recorded };
        scenario.check().map_err(|problem| ScenarioError(format!("{origin}: {problem}")))?;
        Ok(scenario)
    }

    /// Checks what depends on several keys.
    fn check(&self) -> Result<(), String> {
        let mib = |bytes: u64| bytes / MIB;
        let services: u64 = self.apps.iter().filter(|app| app.is_service()).map(|app| app.memory).sum();
        let largest = self.apps.iter().filter(|app| !app.is_service()).max_by_key(|app| app.memory);
        let largest = largest.expect("a scenario has an app");
        let most = (largest.memory as f64 * (1.0 + self.memory.spread)) as u64;
        let needed = self.memory.system + services + most + self.memory.marks.file + self.memory.marks.high;
        if needed > self.memory.effective {
            return Err(format!(
                "memory.effective_mib = {}: must be at least {}, for the system, services, {}, page cache and free \
                 memory",
                mib(self.memory.effective),
                mib(needed.next_multiple_of(MIB)),
                largest.name
            ));
        }
        // A recording has launch times of its own.
        for app in self.apps.iter().filter(|_| self.recorded.is_none()) {
            for (key, launch, before) in [
                ("cold", Some(app.cold), None),
                ("warm", Some(app.warm), None),
                ("loading", app.loading, Some(app.cold)),
            ] {
                let Some(launch) = launch else { continue };
                let room = Nanos(launch.time.0.saturating_sub(before.map_or(0, |before: Launch| before.time.0)));
                let reading = self.reading_time(launch.reads);
                if reading > room {
                    return Err(format!(
                        "{}: {key}_reads = {} take {} ms at io.nominal_read_us, more than there is time for: {} ms",
                        app.name,
                        launch.reads,
                        reading.0 / 1_000_000,
                        room.0 / 1_000_000
                    ));
                }
            }
        }
        let uses = self.sequence.uses(self.users());
        if uses > MOST_USES {
            return Err(format!("phone.rounds makes {uses} uses: at most {MOST_USES} are allowed"));
        }
        Ok(())
    }

    /// Number of apps that the user opens. They are the first ones.
    pub fn users(&self) -> usize {
        self.apps.iter().filter(|app| !app.is_service()).count()
    }

    /// Time of so many reads that the launch times of the app files include.
    pub fn reading_time(&self, reads: u32) -> Nanos {
        Nanos(self.io.nominal_read.0 * u64::from(reads) / u64::from(self.io.parallel))
    }

    /// How the apps' data are placed on a device.
    pub fn place(&self, capacity_units: u32, seed: u64) -> Placement {
        Placement {
            capacity_units,
            seed,
            fresh_share: self.io.fresh_share,
            launch_reads_per_chunk: self.io.launch_reads_per_chunk,
            run_reads_per_chunk: self.io.run_reads_per_chunk,
        }
    }
}

impl Sequence {
    /// Number of uses with `apps` apps.
    fn uses(&self, apps: usize) -> usize {
        match self {
            Sequence::Random { rounds } => apps * *rounds as usize,
            Sequence::Given { order, rounds } => order.len() * *rounds as usize,
        }
    }

    /// Indices into [`Scenario::apps`], one per use.
    pub fn order(&self, apps: usize, seed: u64) -> Vec<usize> {
        match self {
            Sequence::Given { order, rounds } => order.repeat(*rounds as usize),
            Sequence::Random { rounds } => (0..*rounds).flat_map(|round| shuffled(apps, seed, round)).collect(),
        }
    }
}

/// All apps in random order (Fisher and Yates).
fn shuffled(apps: usize, seed: u64, round: u32) -> Vec<usize> {
    let mut rng = named_stream(seed, "sequence", round.into());
    let mut order: Vec<usize> = (0..apps).collect();
    for last in (1..apps).rev() {
        order.swap(last, rng.below(last as u64 + 1) as usize);
    }
    order
}

fn apps_of(phone: &mut Section<'_>, own: Vec<App>) -> Result<Vec<App>, ScenarioError> {
    let mut apps: Vec<App> = Vec::new();
    let named = phone.strings("apps")?.ok_or_else(|| phone.missing("apps"))?;
    for Word { text: name, at } in named {
        let app = own.iter().find(|app| app.name == name).cloned().or_else(|| App::built_in(name));
        let Some(app) = app else {
            let known: Vec<&str> =
                own.iter().map(|app| app.name.as_str()).chain(built_in().map(|(name, _)| name)).collect();
            return Err(phone.text.error(at, &format!("phone.apps: \"{name}\": must be one of {}", known.join(", "))));
        };
        if apps.iter().any(|other| other.name == name) {
            return Err(phone.text.error(at, &format!("phone.apps: \"{name}\" is named twice")));
        }
        apps.push(app);
    }
    if apps.is_empty() || apps.len() > MOST_APPS {
        let value = phone.get("apps").expect("just read");
        return Err(phone.wrong("apps", value, &format!("a list of 1..={MOST_APPS} apps")));
    }
    match own.iter().find(|app| !apps.contains(app)) {
        Some(unused) => {
            let value = phone.get("apps").expect("just read");
            Err(phone.wrong("apps", value, &format!("a list that has every [[app]], also {}", unused.name)))
        }
        None => Ok(apps),
    }
}

fn sequence_of(phone: &mut Section<'_>, apps: &[App]) -> Result<Sequence, ScenarioError> {
    let rounds = phone.whole("rounds", 1..=10_000)?.unwrap_or(4) as u32;
    let Some(value) = phone.get("sequence") else { return Ok(Sequence::Random { rounds }) };
    if value.get_ref().as_str() == Some("random") {
        return Ok(Sequence::Random { rounds });
    }
    if value.get_ref().as_array().is_none_or(|list| list.iter().count() == 0) {
        return Err(phone.wrong("sequence", value, "\"random\" or a list of apps"));
    }
    let names = phone.strings("sequence")?.unwrap_or_default();
    let place = |word: &Word<'_>| {
        apps.iter().position(|app| app.name == word.text).ok_or_else(|| {
            let known: Vec<&str> = apps.iter().map(|app| app.name.as_str()).collect();
            let problem = format!("phone.sequence: \"{}\": must be one of {}", word.text, known.join(", "));
            phone.text.error(word.at, &problem)
        })
    };
    Ok(Sequence::Given { order: names.iter().map(place).collect::<Result<_, _>>()?, rounds })
}

/// The recorded order.
fn recorded_sequence(phone: &mut Section<'_>, recorded: &Recorded) -> Result<Sequence, ScenarioError> {
    let rounds = phone.whole("rounds", 1..=10_000)?.unwrap_or(1) as u32;
    for key in ["sequence", "use_s"] {
        if let Some(value) = phone.get(key) {
            return Err(phone.wrong(key, value, "left out: [recorded] says it"));
        }
    }
    Ok(Sequence::Given { order: recorded.uses.iter().map(|u| u.app).collect(), rounds })
}

/// Calls `read` with a table of settings, or with `None` if the file has none. Refuses unknown keys.
fn settings<'a>(
    root: &mut Section<'a>,
    name: &'static str,
    read: impl FnOnce(Option<&mut Section<'a>>) -> Result<(), ScenarioError>,
) -> Result<(), ScenarioError> {
    match root.table(name)? {
        Some(table) => {
            let mut section = Section::new(root.text, name, table);
            read(Some(&mut section))?;
            section.done()
        }
        None => read(None),
    }
}

fn memory_of(root: &mut Section<'_>) -> Result<MemorySettings, ScenarioError> {
    let mut memory = MemorySettings {
        effective: 8192 * MIB,
        system: 1792 * MIB,
        marks: Watermarks { min: 16 * MIB, low: 64 * MIB, high: 96 * MIB, file: 150 * MIB },
        reclaim_per_s: 1024 * MIB,
        spread: 0.2,
        ramp: Nanos::from_millis(5_000),
    };
    settings(root, "memory", |section| {
        let Some(s) = section else { return Ok(()) };
        let most = 1..=1_048_576;
        let mut mib = |key, place: &mut u64| -> Result<(), ScenarioError> {
            *place = s.whole(key, most.clone())?.map_or(*place, |value| value * MIB);
            Ok(())
        };
        mib("effective_mib", &mut memory.effective)?;
        mib("system_mib", &mut memory.system)?;
        mib("min_free_mib", &mut memory.marks.min)?;
        mib("low_free_mib", &mut memory.marks.low)?;
        mib("high_free_mib", &mut memory.marks.high)?;
        mib("file_floor_mib", &mut memory.marks.file)?;
        mib("reclaim_mib_per_s", &mut memory.reclaim_per_s)?;
        memory.spread = s.number("footprint_spread", 0.0..=0.9)?.unwrap_or(memory.spread);
        memory.ramp = s.number("ramp_s", 0.01..=3600.0)?.map_or(memory.ramp, |value| Nanos((value * 1e9) as u64));
        let marks = memory.marks;
        for (key, lower, own) in [("low_free_mib", marks.min, marks.low), ("high_free_mib", marks.low, marks.high)] {
            if own <= lower {
                let problem = format!("memory.{key} = {}: must be above {}", own / MIB, lower / MIB);
                let at = s.get(key).map_or(0, |value| value.span().start);
                return Err(s.text.error(at, &problem));
            }
        }
        Ok(())
    })?;
    Ok(memory)
}

fn lmkd_of(root: &mut Section<'_>) -> Result<Lmkd, ScenarioError> {
    let mut lmkd = Lmkd {
        window: Nanos::from_millis(1000),
        stall: Nanos::from_millis(70),
        kill_time: Nanos::from_millis(200),
        free_time: Nanos::from_micros(1800),
        spares_on_relief: false,
    };
    settings(root, "lmkd", |section| {
        let Some(s) = section else { return Ok(()) };
        let mut ms = |key, place: &mut Nanos, most| -> Result<(), ScenarioError> {
            *place = s.whole(key, 1..=most)?.map_or(*place, Nanos::from_millis);
            Ok(())
        };
        ms("window_ms", &mut lmkd.window, 10_000)?;
        let window = lmkd.window.0 / 1_000_000;
        ms("stall_ms", &mut lmkd.stall, window)?;
        ms("kill_ms", &mut lmkd.kill_time, 60_000)?;
        lmkd.free_time = s.whole("free_us", 0..=1_000_000)?.map_or(lmkd.free_time, Nanos::from_micros);
        lmkd.spares_on_relief = s.boolean("spares_on_relief")?.unwrap_or(lmkd.spares_on_relief);
        Ok(())
    })?;
    Ok(lmkd)
}

fn io_of(root: &mut Section<'_>) -> Result<IoSettings, ScenarioError> {
    let mut io = IoSettings {
        parallel: 1,
        fresh_share: 0.25,
        nominal_read: Nanos::from_micros(33),
        launch_reads_per_chunk: LAUNCH_READS_PER_CHUNK,
        run_reads_per_chunk: RUN_READS_PER_CHUNK,
    };
    settings(root, "io", |section| {
        let Some(s) = section else { return Ok(()) };
        io.parallel = s.whole("parallel_reads", 1..=1024)?.map_or(io.parallel, |value| value as u32);
        io.fresh_share = s.number("fresh_share", 0.0..=1.0)?.unwrap_or(io.fresh_share);
        io.nominal_read = s.whole("nominal_read_us", 0..=100_000)?.map_or(io.nominal_read, Nanos::from_micros);
        io.launch_reads_per_chunk =
            s.number("launch_reads_per_chunk", 1.0..=512.0)?.unwrap_or(io.launch_reads_per_chunk);
        io.run_reads_per_chunk = s.number("run_reads_per_chunk", 1.0..=512.0)?.unwrap_or(io.run_reads_per_chunk);
        Ok(())
    })?;
    Ok(io)
}

#[cfg(test)]
#[path = "scenario_tests.rs"]
mod tests;
