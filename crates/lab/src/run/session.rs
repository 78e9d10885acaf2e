//! A session of a real phone as a scenario: a TOML file, and beside it the requests as CSV.

use std::io;
use std::path::{Path, PathBuf};

use files::{FileError, Files, Kind, Real, replace};
use serde::Serialize;
use workload::{Format, Session, Trace};

use crate::error::LabError;
use crate::open::trace::{TraceSpec, trace_options, unwritten};

/// A session of a phone as a scenario.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct SessionScenario {
    /// The scenario's file.
    pub scenario: String,
    /// The trace beside it.
    pub trace: String,
    /// Apps that were launched.
    pub apps: Vec<String>,
    /// Launches.
    pub launches: usize,
    /// Of these, launches of processes that were not there before.
    pub cold: usize,
    /// Launches whose first frame a marker tells.
    pub timed: usize,
    /// Kills.
    pub kills: usize,
    /// Requests.
    pub requests: u64,
    /// Of these, requests of no launched app.
    pub others: u64,
    /// What its reader noticed.
    pub warnings: Vec<String>,
}

/// What scenarios that are made of sessions begin with; they replace nothing else.
const KIND: Kind =
    Kind::new("scenario made of a session", |head| head.starts_with(android::recorded::SCENARIO_TITLE.as_bytes()));

/// Writes a session of a phone, ftrace text or a recording of Perfetto, as a scenario: `out`, TOML, and beside it the
/// requests as CSV.
///
/// # Errors
/// Everything that is wrong with the trace, with file, line and column, or with the files to write.
pub fn trace_to_scenario(spec: &TraceSpec, out: &Path) -> Result<SessionScenario, LabError> {
    if out.extension().is_none_or(|e| e != "toml") {
        return Err(LabError::Config(format!(
            "out = \"{}\": must be a file whose name ends with .toml",
            out.display()
        )));
    }
    let options = trace_options(None, spec.device.as_deref(), &spec.clean)?;
    let session = Session::read(Path::new(&spec.path), &options).map_err(LabError::config)?;
    let pair = Pair::of(out);
    pair.write(&Real, &session)?;
    let trace = &session.trace;
    let others = trace.processes.len() - 1;
    let mut warnings = trace.report.warnings();
    let timed = session.launches.iter().filter(|launch| launch.launched.is_some()).count();
    if timed == 0 {
        warnings.push(
            "no marker tells when a launch ended: launch times are 0, and all I/O comes at its recorded times".into(),
        );
    }
    Ok(SessionScenario {
        scenario: out.display().to_string(),
        trace: pair.requests.display().to_string(),
        apps: trace.processes[..others].to_vec(),
        launches: session.launches.len(),
        cold: session.launches.iter().filter(|launch| launch.cold).count(),
        timed,
        kills: session.kills.len(),
        requests: trace.report.requests,
        others: trace.requests.iter().filter(|r| usize::from(r.process.0) == others).count() as u64,
        warnings,
    })
}

/// The two files of a scenario. Whenever one is read, it names requests that are its own.
///
/// Two files cannot change in the same moment. Where other requests lie at the place of the new ones, these are
/// written to a third file first, and the scenario names that one until they have taken their place.
struct Pair {
    scenario: PathBuf,
    requests: PathBuf,
    meanwhile: PathBuf,
}

impl Pair {
    fn of(scenario: &Path) -> Pair {
        let mut meanwhile = scenario.as_os_str().to_owned();
        meanwhile.push(".csv");
        Pair { scenario: scenario.into(), requests: scenario.with_extension("csv"), meanwhile: meanwhile.into() }
    }

    fn write(&self, disk: &dyn Files, session: &Session) -> Result<(), LabError> {
        files::check(disk, &self.scenario, KIND)?;
        let bytes = session.trace.to_bytes(Format::Csv).map_err(LabError::config)?;
        let told = |error| FileError::new(&self.requests, error);
        if self.is_in_use(disk)? && bytes_of(disk, &self.requests).map_err(told)?.is_some_and(|there| there != bytes) {
            session.trace.write_to(disk, Format::Csv, &self.meanwhile).map_err(unwritten)?;
            if let Err(error) = self.name(disk, session, &self.meanwhile) {
                let _ = disk.remove(&self.meanwhile);
                return Err(error);
            }
        }
        session.trace.write_to(disk, Format::Csv, &self.requests).map_err(unwritten)?;
        self.name(disk, session, &self.requests)?;
        if files::check(disk, &self.meanwhile, Trace::KIND).is_ok() {
            // Nothing names it any more, so it may as well stay.
            let _ = disk.remove(&self.meanwhile);
        }
        Ok(())
    }

    /// Whether the scenario that is there names the requests at their own place.
    fn is_in_use(&self, disk: &dyn Files) -> Result<bool, LabError> {
        let there = bytes_of(disk, &self.scenario).map_err(|error| FileError::new(&self.scenario, error))?;
        let text = there.and_then(|bytes| String::from_utf8(bytes).ok());
        let read = text.and_then(|text| text.parse::<toml::Table>().ok());
        let named = read.and_then(|table| Some(table.get("recorded")?.get("trace")?.as_str()?.to_owned()));
        Ok(named.is_some_and(|name| self.requests.file_name() == Some(name.as_ref())))
    }

    /// Writes the scenario of these requests.
    fn name(&self, disk: &dyn Files, session: &Session, requests: &Path) -> Result<(), LabError> {
        let name = requests.file_name().unwrap_or_default().to_string_lossy();
        let text = android::recorded::scenario_of(session, &name);
        replace(disk, &self.scenario, KIND, |out| {
            Ok(out.write_all(text.as_bytes()).map_err(|error| FileError::new(&self.scenario, error))?)
        })
    }
}

/// The bytes of a file, if one is there.
fn bytes_of(disk: &dyn Files, path: &Path) -> io::Result<Option<Vec<u8>>> {
    if disk.about(path)?.is_none() {
        return Ok(None);
    }
    let file = disk.open(path, false)?;
    let mut bytes = vec![0; file.about()?.len as usize];
    file.read_at(&mut bytes, 0)?;
    Ok(Some(bytes))
}

#[cfg(test)]
mod tests {
    use files::Simulated;
    use files::trial::Trial;
    use workload::{TraceFile, TraceOptions};

    use super::*;

    const OUT: &str = "/out/s.toml";

    /// A session of so many launches, each with a request.
    fn session(launches: u32) -> Session {
        let launch = |n: u32| {
            format!(
                " x-13 ( 12) [007] d..2 {n}.000000: tracing_mark_write: S|12|launching: com.app|0\n \
                 com.app-21 ( 21) [000] d..2 {n}.100000: block_rq_issue: 259,5 R 4096 () {} + 8 [com.app]\n \
                 com.app-21 ( 21) [000] d..2 {n}.200000: block_rq_complete: 259,5 R () {} + 8 [0]\n",
                8 * n,
                8 * n
            )
        };
        let text: String = std::iter::once("# tracer: nop\n".into()).chain((1..=launches).map(launch)).collect();
        let file = TraceFile::new("session", text.into_bytes());
        Session::parse("session", vec![file], &TraceOptions::default()).unwrap()
    }

    fn write(disk: &dyn Files, session: &Session) -> Result<(), String> {
        Pair::of(Path::new(OUT)).write(disk, session).map_err(|error| error.to_string())
    }

    /// A scenario is there with its own requests: both tell how many launches there are.
    fn sound(disk: &Simulated) -> Result<(), String> {
        let Some(bytes) = disk.bytes(OUT) else { return Ok(()) };
        let text = String::from_utf8(bytes).unwrap();
        let table: toml::Table = text.parse().map_err(|error: toml::de::Error| error.to_string())?;
        let name = table["recorded"]["trace"].as_str().unwrap();
        let launches = table["recorded"]["use"].as_array().unwrap().len();
        let requests = disk.bytes(format!("/out/{name}")).ok_or(format!("{name} is not there"))?;
        let requests =
            String::from_utf8(requests).unwrap().lines().filter(|line| line.starts_with(char::is_numeric)).count();
        if launches == requests { Ok(()) } else { Err(format!("{launches} launches with {requests} requests")) }
    }

    /// While other requests lie at their place, the new ones have another, and the scenario names that.
    fn meanwhile(path: &Path, bytes: &[u8]) -> bool {
        let names = || String::from_utf8_lossy(bytes).contains("trace = \"s.toml.csv\"");
        path == Path::new("/out/s.toml.csv") || path == Path::new(OUT) && names()
    }

    fn disk() -> Simulated {
        let disk = Simulated::new();
        disk.make_directory("/out");
        disk
    }

    #[test]
    fn whatever_stops_the_writer_a_scenario_has_its_own_requests() {
        let [one, two, three] = [1, 2, 3].map(session);
        let with_one = || {
            let disk = disk();
            write(&disk, &one).unwrap();
            disk
        };
        // Its writer was killed when the scenario named the file that is there meanwhile.
        let interrupted = || {
            let disk = with_one();
            disk.plan(disk.changes() + 8, files::Fault::Kill { torn: 0 });
            write(&disk, &two).unwrap_err();
            disk.revive();
            assert!(meanwhile(Path::new(OUT), &disk.bytes(OUT).unwrap()), "{disk:?}");
            disk
        };
        for before in [&disk as &dyn Fn() -> Simulated, &with_one, &interrupted] {
            for new in [&one, &two, &three] {
                let writer = |disk: &dyn Files| write(disk, new);
                let trial = Trial { before, write: &writer, sound: &sound, meanwhile: &meanwhile };
                assert!(trial.run().unwrap().changes >= 8);
                let disk = before();
                write(&disk, new).unwrap();
                assert_eq!(disk.paths(), ["/out", "/out/s.csv", OUT].map(PathBuf::from));
            }
        }
    }

    #[test]
    fn what_others_have_written_stays() {
        let new = session(2);
        for (path, told) in [(OUT, "is no scenario made of a session"), ("/out/s.csv", "is no trace that could be")] {
            let disk = disk();
            disk.put(path, b"[phone]\n# by hand\n");
            let error = write(&disk, &new).unwrap_err();
            assert!(error.starts_with(&format!("{path}: {told}")), "{error}");
            assert_eq!(disk.paths().len(), 2);
        }
    }
}
