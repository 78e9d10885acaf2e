//! The control socket: a line of JSON for each command, and one for its reply.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use attach::{Cut, Faults, Percentiles, Promise, Stats};
use serde::{Deserialize, Serialize};

use crate::house::{House, Member};
use crate::outbox::Departures;

/// Longer lines are no commands.
pub const MAX_LINE: usize = 64 << 10;

/// What can be asked for. Without an export it concerns all of them.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(tag = "do", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Command {
    /// Who is there.
    Hello {},
    /// The state of the devices.
    Stats { export: Option<String> },
    /// Cuts the power, and waits for the recovery. Connections are closed: the host has lost its power, too.
    Cut { export: Option<String> },
    /// Sets the limit of host memory.
    Memory { export: Option<String>, mib: u64 },
    /// From now on so many of a million flash operations fail; none, if nothing else is said.
    Faults {
        export: Option<String>,
        #[serde(default)]
        read: u32,
        #[serde(default)]
        program: u32,
        #[serde(default)]
        erase: u32,
    },
    /// Switches a device off, writes its aged state to a file, and switches it on.
    Save { export: Option<String>, path: PathBuf },
    /// Ends the server in an ordinary way.
    Quit {},
}

/// The highest rate of faults: the same as in section `faults` of a profile.
const MOST_PER_MILLION: u32 = 100_000;

/// The state of an export.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct ExportStats {
    /// Its connections.
    pub connections: usize,
    /// Simulated seconds in a second on the wall; none on the free clock.
    pub speed: Option<f64>,
    /// By how much replies have left later than the real clock wanted; none on the free clock.
    pub lateness: Option<Percentiles>,
    /// Replies that have left before their time; a defect, if there is one.
    pub early: u64,
    #[serde(flatten)]
    pub device: Stats,
}

/// A reply. In JSON `ok` is true, or there is an `error`.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[serde(untagged)]
pub enum Reply {
    Done { ok: bool },
    Hello { ok: bool, ufsim: &'static str },
    Stats { ok: bool, exports: BTreeMap<String, ExportStats> },
    Cut { ok: bool, recovery_ns: BTreeMap<String, u64> },
    Error { ok: bool, error: String },
}

impl Reply {
    fn error(error: impl ToString) -> Reply {
        Reply::Error { ok: false, error: error.to_string() }
    }

    /// As a line.
    pub fn line(&self) -> Vec<u8> {
        let mut text = serde_json::to_vec(self).unwrap_or_default();
        text.push(b'\n');
        text
    }
}

/// What everybody is told of an engine that has ended.
const GONE: &str = "the device is gone";

/// Who uses the control socket.
pub struct Caller {
    house: Arc<House>,
    member: Arc<Member>,
}

impl Caller {
    pub(crate) fn new(house: Arc<House>, member: Member) -> Caller {
        Caller { house, member: Arc::new(member) }
    }

    /// Does the command of a line, and tells its reply, perhaps later.
    pub fn line(&self, line: &[u8], reply: Promise<Reply>) {
        self.member.is_busy(true);
        let member = self.member.clone();
        let reply = Promise::new(move |told: Option<Reply>| {
            member.is_busy(false);
            if let Some(told) = told {
                reply.keep(told);
            }
        });
        match serde_json::from_slice::<Command>(line) {
            Ok(Command::Save { path, .. }) if !is_below(&path, self.house.saves()) => {
                let (path, saves) = (path.display(), self.house.saves().display());
                reply.keep(Reply::error(format!(
                    "save: {path}: must be below {saves}; serve --saves names another folder"
                )));
            }
            Ok(command) => run(command, &self.house, reply),
            Err(error) => reply.keep(Reply::error(format!("no command: {error}"))),
        }
    }
}

/// Whether a path lies below a folder by its words alone. A server writes there for whoever may use its control socket.
fn is_below(path: &Path, folder: &Path) -> bool {
    path.starts_with(folder) && !path.components().any(|part| part == Component::ParentDir)
}

/// Does a command, and tells its reply, perhaps later.
pub fn run(command: Command, house: &Arc<House>, reply: Promise<Reply>) {
    let name = match &command {
        Command::Stats { export }
        | Command::Cut { export }
        | Command::Memory { export, .. }
        | Command::Save { export, .. }
        | Command::Faults { export, .. } => export.clone(),
        Command::Hello {} => return reply.keep(Reply::Hello { ok: true, ufsim: lab::VERSION }),
        Command::Quit {} => {
            house.quit();
            return reply.keep(Reply::Done { ok: true });
        }
    };
    let names = || house.offers().iter().map(|offer| offer.name.as_str()).collect::<Vec<_>>().join(", ");
    let wanted = |at: &usize| name.as_ref().is_none_or(|name| house.export(*at).offer.name == *name);
    let exports: Vec<usize> = (0..house.exports().len()).filter(wanted).collect();
    if exports.is_empty() {
        let name = name.unwrap_or_default();
        return reply.keep(Reply::error(format!("no export {name:?}: it must be one of {}", names())));
    }
    match command {
        Command::Cut { .. } => cut(house, &exports, reply),
        Command::Memory { mib, .. } => memory(house, &exports, mib, reply),
        Command::Save { path, .. } => match exports[..] {
            [export] => save(house, export, path, reply),
            _ => {
                let error = format!("save: a file has the state of one device; name the export: {}", names());
                reply.keep(Reply::error(error));
            }
        },
        Command::Faults { read, program, erase, .. } => faults(house, &exports, [read, program, erase], reply),
        Command::Stats { .. } | Command::Hello {} | Command::Quit {} => stats(house, &exports, reply),
    }
}

/// What exports have told, by name.
type Told<T> = BTreeMap<String, Result<T, String>>;

/// Makes a reply of what all exports have told.
type Finish<T> = fn(BTreeMap<String, T>) -> Reply;

/// Gathers what several exports tell, and makes a reply of it when all have.
struct Gathered<T> {
    told: Told<T>,
    left: usize,
    finish: Option<(Finish<T>, Promise<Reply>)>,
}

/// Has something done with each export, which keeps its promise, and makes a reply of what all have told.
fn with_each<T: Send + 'static>(
    house: &House,
    exports: &[usize],
    finish: Finish<T>,
    reply: Promise<Reply>,
    begin: impl Fn(usize, Promise<Result<T, String>>),
) {
    let gathered = Gathered { told: BTreeMap::new(), left: exports.len(), finish: Some((finish, reply)) };
    let gathered = Arc::new(Mutex::new(gathered));
    for &at in exports {
        let (name, gathered) = (house.export(at).offer.name.clone(), gathered.clone());
        begin(
            at,
            Promise::new(move |told: Option<Result<T, String>>| {
                let mut all = gathered.lock().unwrap_or_else(PoisonError::into_inner);
                all.told.insert(name, told.unwrap_or_else(|| Err(GONE.into())));
                all.left -= 1;
                if all.left > 0 {
                    return;
                }
                let told = std::mem::take(&mut all.told);
                let finish = all.finish.take();
                drop(all);
                if let Some((finish, reply)) = finish {
                    let values = told.into_iter().map(|(name, told)| Ok((name, told?)));
                    reply.keep(values.collect::<Result<_, String>>().map_or_else(Reply::error, finish));
                }
            }),
        );
    }
}

fn done(_: BTreeMap<String, ()>) -> Reply {
    Reply::Done { ok: true }
}

fn stats(house: &Arc<House>, exports: &[usize], reply: Promise<Reply>) {
    let finish = |exports| Reply::Stats { ok: true, exports };
    with_each(house, exports, finish, reply, |at, told| {
        let of = house.clone();
        // A promise that is dropped with the task says that the device is gone.
        let _ = house.export(at).sender.task(move |engine, now| {
            engine.run_until(now);
            let lateness = &of.export(at).lateness;
            let Departures { late, early } = lateness.lock().unwrap_or_else(PoisonError::into_inner).clone();
            let lateness = Some(late).filter(|times| !times.is_empty()).map(|times| Percentiles::of(&times));
            let (connections, speed) = (of.clients_of(at), of.export(at).pace.speed());
            told.keep(Ok(ExportStats { connections, speed, lateness, early, device: engine.stats() }));
        });
    });
}

fn cut(house: &Arc<House>, exports: &[usize], reply: Promise<Reply>) {
    let finish = |recovery_ns| Reply::Cut { ok: true, recovery_ns };
    with_each(house, exports, finish, reply, |at, told| {
        let of = house.clone();
        let recovered = Promise::new(move |took: Option<units::Nanos>| {
            if let Some(took) = took {
                told.keep(Ok(took.0));
            }
        });
        let lost = Box::new(move |epoch| of.power_lost(at, epoch));
        let _ = house.export(at).sender.begin_cut(Cut { lost, recovered });
    });
}

fn save(house: &House, export: usize, path: PathBuf, reply: Promise<Reply>) {
    if !path.is_absolute() {
        return reply.keep(Reply::error(format!("save: {}: the path must be absolute", path.display())));
    }
    let export = house.export(export);
    let sender = export.sender.clone();
    let saved = Promise::new(move |saved: Option<Result<(), attach::SaveError>>| {
        reply.keep(match saved {
            Some(Ok(())) => Reply::Done { ok: true },
            Some(Err(error)) => Reply::error(error),
            None if sender.is_gone() => Reply::error(GONE),
            None => Reply::error("the power was cut before the state was saved"),
        });
    });
    export.sender.begin_save(export.header.clone(), (house.files().clone(), path), saved);
}

fn memory(house: &House, exports: &[usize], mib: u64, reply: Promise<Reply>) {
    let Some(bytes) = mib.checked_mul(1 << 20) else {
        return reply.keep(Reply::error(format!("memory of {mib} MiB")));
    };
    with_each(house, exports, done, reply, |at, told| {
        let name = house.export(at).offer.name.clone();
        let _ = house.export(at).sender.task(move |engine, now| {
            told.keep(engine.set_memory(now, bytes).map_err(|error| format!("{name}: {error}")));
        });
    });
}

fn faults(house: &House, exports: &[usize], rates: [u32; 3], reply: Promise<Reply>) {
    for (name, rate) in ["read", "program", "erase"].into_iter().zip(rates) {
        if rate > MOST_PER_MILLION {
            let error = format!("{name} = {rate}: must be 0..={MOST_PER_MILLION} of a million");
            return reply.keep(Reply::error(error));
        }
    }
    let [read_per_million, program_per_million, erase_per_million] = rates;
    let faults = Faults { seed: 0, read_per_million, program_per_million, erase_per_million };
    with_each(house, exports, done, reply, |at, told| {
        let _ = house.export(at).sender.task(move |engine, now| {
            engine.set_faults(now, faults);
            told.keep(Ok(()));
        });
    });
}
