//! A server of live devices: conversions around crate `serve`.

use std::fs::File;
use std::io::{BufReader, ErrorKind};
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Mutex;
use std::time::Duration;

use ::serve::{Command, Export, Handle, Options, Places, ServeError};
use attach::{EndError, Engine, FileStore, MemoryStore, Pace, Store};
use files::FileError;
use lab::aged::Header;
use lab::{LabError, Machine, Outside, Spec};
use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;
use serde::Deserialize;

use crate::errors::{ConfigError, SimulationBug, config_error, exception};

/// What to serve, and how: JSON of the command line.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Wanted {
    /// Specifications of runs, whose workload nobody looks at: their scheme names the export.
    specs: Vec<Spec>,
    /// The file that keeps the data of the only export.
    store: Option<PathBuf>,
    /// The file that gets a log of its arrivals.
    log: Option<PathBuf>,
    /// That log may take the place of an older one.
    #[serde(default)]
    overwrite: bool,
    socket: PathBuf,
    control: Option<PathBuf>,
    tcp_port: Option<u16>,
    /// The folder below which the control socket may have states saved.
    saves: PathBuf,
    /// Clients at a time.
    clients: usize,
    /// Simulated seconds in a second; none for the free clock.
    speed: Option<f64>,
    read_only: bool,
}

/// How devices of a server come to their age, as their files tell.
const AGED_BY: &str = "ufsim serve";

/// A running server.
#[pyclass(module = "ufsim._core")]
pub struct Server {
    /// `None` after its end.
    inner: Mutex<Option<::serve::Server>>,
    handle: Handle,
    port: Option<u16>,
}

fn export(spec: &Spec, places: &Places) -> Result<Export, LabError> {
    let machine = spec.resolve()?;
    let description = format!("{} on profile {}", spec.scheme, machine.profile.origin);
    let store: Box<dyn Store> = match &places.store {
        None => Box::new(MemoryStore::new()),
        Some(path) => {
            let opened = FileStore::open(&files::Real, path, machine.profile.capacity_units());
            Box::new(opened.map_err(|error| LabError::State(error.to_string()))?)
        }
    };
    let mut engine = begun(spec, &machine, store)?;
    places.begin_log(&files::Real, &mut engine).map_err(refused)?;
    let header = Header::new(spec, &machine, AGED_BY);
    Ok(Export { name: spec.scheme.clone(), description, read_only: false, header, engine })
}

/// The device of a spec, new or aged.
fn begun(spec: &Spec, machine: &Machine, store: Box<dyn Store>) -> Result<Engine, LabError> {
    if spec.age.is_none() && spec.from.is_none() {
        return Engine::new(machine, spec.seed, store);
    }
    if !store.held().is_empty() {
        return Err(LabError::Config("store: it has data, and an aged device (age, from) begins without".into()));
    }
    let (_, stack, expected) = Outside::begin(spec, &mut |_| ControlFlow::Continue(()))?;
    Ok(Engine::aged(stack, &expected, machine.profile.host_config(machine.parts), spec.seed, store))
}

/// What may not be written is a wrong wish; what cannot be is not.
fn refused(error: FileError) -> LabError {
    match error.error.kind() {
        ErrorKind::AlreadyExists | ErrorKind::InvalidInput => LabError::Config(error.to_string()),
        _ => LabError::Output(error.to_string()),
    }
}

fn failed(error: ServeError) -> PyErr {
    match error {
        ServeError::Socket(..) => ConfigError::new_err(error.to_string()),
        ServeError::Thread(_) | ServeError::Device(EndError::Store(_)) => PyOSError::new_err(error.to_string()),
        ServeError::Device(EndError::Defect(text)) => SimulationBug::new_err(text),
    }
}

#[pymethods]
impl Server {
    #[new]
    fn new(py: Python<'_>, wanted_json: &str) -> PyResult<Server> {
        let wanted: Wanted = serde_json::from_str(wanted_json).map_err(config_error)?;
        let Wanted { specs, store, log, overwrite, socket, control, tcp_port, saves, clients, speed, read_only } =
            wanted;
        let pace = speed.map_or(Pace::Free, |speed| Pace::Real { speed });
        for (what, given) in [("store", &store), ("log", &log)] {
            if given.is_some() && specs.len() != 1 {
                return Err(config_error(format!("{what}: it is that of one scheme, and there are {}", specs.len())));
            }
        }
        let sockets = std::iter::once(&socket).chain(&control).cloned().collect();
        let places = Places { store, log, overwrite, sockets, sabotage: None };
        let options = Options { socket, tcp_port, control, saves, clients, pace };
        let server = py.detach(|| {
            places.check(&files::Real).map_err(refused).map_err(exception)?;
            let exports = specs.iter().map(|spec| export(spec, &places));
            let exports = exports.collect::<Result<Vec<_>, _>>().map_err(exception)?;
            let exports = exports.into_iter().map(|export| Export { read_only, ..export }).collect();
            ::serve::Server::start(exports, &options).map_err(failed)
        })?;
        Ok(Server { handle: server.handle(), port: server.port(), inner: Mutex::new(Some(server)) })
    }

    /// Waits so many seconds at most. True if the server is to end.
    fn wait(&self, py: Python<'_>, seconds: f64) -> bool {
        let most = Duration::from_secs_f64(seconds.clamp(0.0, 3600.0));
        py.detach(|| self.has_ended() || self.handle.wait(most))
    }

    /// Does a command of the control socket: JSON to JSON.
    fn control(&self, py: Python<'_>, command_json: &str) -> PyResult<String> {
        let command: Command = serde_json::from_str(command_json).map_err(config_error)?;
        let reply = py.detach(|| if self.has_ended() { None } else { self.handle.control(command).ok() });
        let reply = reply.ok_or_else(|| config_error("the server has ended"))?;
        serde_json::to_string(&reply).map_err(config_error)
    }

    /// The TCP port, if there is one.
    fn port(&self) -> Option<u16> {
        self.port
    }

    /// Ends the server in an ordinary way.
    fn end(&self, py: Python<'_>) -> PyResult<()> {
        let server = self.inner.lock().ok().and_then(|mut server| server.take());
        py.detach(|| server.map_or(Ok(()), ::serve::Server::end)).map_err(failed)
    }
}

impl Server {
    fn has_ended(&self) -> bool {
        self.inner.lock().map_or(true, |server| server.is_none())
    }
}

/// Repeats a log of arrivals on a new device: the state afterwards, as JSON, and whether the log was whole.
#[pyfunction]
pub fn replay_arrivals(py: Python<'_>, spec_json: &str, path: PathBuf) -> PyResult<(String, bool)> {
    let spec = Spec::from_json(spec_json).map_err(exception)?;
    let mut raised = None;
    let told = |what: &dyn std::fmt::Display| ConfigError::new_err(format!("{}: {what}", path.display()));
    let replayed = py.detach(|| {
        let mut engine = export(&spec, &Places::default()).map_err(exception)?.engine;
        let log = BufReader::new(File::open(&path).map_err(|error| told(&error))?);
        let goes_on = || Python::attach(|py| py.check_signals()).map_err(|error| raised = Some(error)).is_ok();
        let whole = engine.replay(log, goes_on).map_err(|error| told(&error))?;
        Ok::<_, PyErr>((engine.stats(), whole))
    });
    if let Some(error) = raised {
        return Err(error);
    }
    let (stats, whole) = replayed?;
    Ok((serde_json::to_string(&stats).map_err(config_error)?, whole))
}
