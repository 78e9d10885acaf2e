//! The control socket: a line of JSON for each command, and one for its reply.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};

use attach::{Faults, Percentiles, Stats};
use serde::{Deserialize, Serialize};

use crate::outbox::Departures;
use crate::server::{Exported, Shared, lock};
use crate::stream::Stream;

/// Longer lines are no commands.
const MAX_LINE: u64 = 64 << 10;

/// What can be asked for. Without an export it concerns all of them.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(tag = "do", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Command {
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
    Stats { ok: bool, exports: BTreeMap<String, ExportStats> },
    Cut { ok: bool, recovery_ns: BTreeMap<String, u64> },
    Error { ok: bool, error: String },
}

impl Reply {
    fn error(error: impl ToString) -> Reply {
        Reply::Error { ok: false, error: error.to_string() }
    }
}

/// Does commands until the client leaves.
pub fn serve(stream: Stream, shared: &Shared) -> std::io::Result<()> {
    let mut writing = stream.try_clone()?;
    let mut lines = BufReader::new(stream);
    loop {
        let mut line = Vec::new();
        if lines.by_ref().take(MAX_LINE).read_until(b'\n', &mut line)? == 0 {
            return Ok(());
        }
        let whole = line.last() == Some(&b'\n');
        let reply = match serde_json::from_slice::<Command>(&line) {
            Ok(command) => run(&command, shared),
            Err(error) => Reply::error(format!("no command: {error}")),
        };
        let mut text = serde_json::to_vec(&reply).unwrap_or_default();
        text.push(b'\n');
        writing.write_all(&text)?;
        if !whole {
            return Ok(());
        }
    }
}

/// Does a command.
pub fn run(command: &Command, shared: &Shared) -> Reply {
    let name = match command {
        Command::Stats { export }
        | Command::Cut { export }
        | Command::Memory { export, .. }
        | Command::Save { export, .. }
        | Command::Faults { export, .. } => export.as_deref(),
        Command::Quit {} => {
            shared.quit();
            return Reply::Done { ok: true };
        }
    };
    let exports: Vec<&Exported> =
        shared.exports.iter().filter(|export| name.is_none_or(|name| export.offer.name == name)).collect();
    if exports.is_empty() {
        let names: Vec<&str> = shared.exports.iter().map(|export| export.offer.name.as_str()).collect();
        return Reply::error(format!("no export {:?}: it must be one of {}", name.unwrap_or(""), names.join(", ")));
    }
    match command {
        Command::Cut { .. } => cut(&exports, shared),
        Command::Memory { mib, .. } => memory(&exports, *mib),
        Command::Save { path, .. } => save(&exports, path),
        &Command::Faults { read, program, erase, .. } => faults(&exports, [read, program, erase]),
        _ => stats(&exports, shared),
    }
}

fn stats(exports: &[&Exported], shared: &Shared) -> Reply {
    let mut found = BTreeMap::new();
    for export in exports {
        let Ok(device) = export.sender.stats() else { return Reply::error("the device is gone") };
        let Departures { late, early } = lock(&export.lateness).clone();
        let lateness = Some(late).filter(|times| !times.is_empty()).map(|times| Percentiles::of(&times));
        let connections = shared.connections_of(&export.offer.name);
        found.insert(export.offer.name.clone(), ExportStats { connections, lateness, early, device });
    }
    Reply::Stats { ok: true, exports: found }
}

fn cut(exports: &[&Exported], shared: &Shared) -> Reply {
    let mut recovery_ns = BTreeMap::new();
    for export in exports {
        shared.disconnect(&export.offer.name);
        match export.sender.cut() {
            Ok(took) => recovery_ns.insert(export.offer.name.clone(), took.0),
            Err(gone) => return Reply::error(gone),
        };
    }
    Reply::Cut { ok: true, recovery_ns }
}

fn save(exports: &[&Exported], path: &Path) -> Reply {
    let &[export] = exports else {
        let names: Vec<&str> = exports.iter().map(|export| export.offer.name.as_str()).collect();
        return Reply::error(format!(
            "save: a file has the state of one device; name the export: {}",
            names.join(", ")
        ));
    };
    if !path.is_absolute() {
        return Reply::error(format!("save: {}: the path must be absolute", path.display()));
    }
    match export.sender.save(export.header.clone(), path.into()) {
        Ok(()) => Reply::Done { ok: true },
        Err(error) => Reply::error(error),
    }
}

fn memory(exports: &[&Exported], mib: u64) -> Reply {
    let Some(bytes) = mib.checked_mul(1 << 20) else { return Reply::error(format!("memory of {mib} MiB")) };
    for export in exports {
        match export.sender.with(move |engine, at| engine.set_memory(at, bytes).map_err(|error| error.to_string())) {
            Ok(Ok(())) => {}
            Ok(Err(error)) => return Reply::error(format!("{}: {error}", export.offer.name)),
            Err(gone) => return Reply::error(gone),
        }
    }
    Reply::Done { ok: true }
}

fn faults(exports: &[&Exported], rates: [u32; 3]) -> Reply {
    for (name, rate) in ["read", "program", "erase"].into_iter().zip(rates) {
        if rate > MOST_PER_MILLION {
            return Reply::error(format!("{name} = {rate}: must be 0..={MOST_PER_MILLION} of a million"));
        }
    }
    let [read_per_million, program_per_million, erase_per_million] = rates;
    let faults = Faults { seed: 0, read_per_million, program_per_million, erase_per_million };
    for export in exports {
        if let Err(gone) = export.sender.with(move |engine, at| engine.set_faults(at, faults)) {
            return Reply::error(gone);
        }
    }
    Reply::Done { ok: true }
}
