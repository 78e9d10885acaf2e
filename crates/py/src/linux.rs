//! Linux as the host: conversions around crate `guest`.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Mutex;

use ::guest::{Boot, Cost, Ended, Left, Session, SessionError};
use lab::{Observe, Ran, Spec};
use pyo3::prelude::*;
use serde_json::json;
use units::SimTime;

use crate::errors::{GuestError, config_error, exception};
use crate::{LogPart, Raised, observing, watched};

/// What panics in a session is caught there.
const UNPOISONED: &str = "nobody panics with the lock";

/// A device for guests, and the guests that use it one after another.
#[pyclass]
pub struct LinuxDevice {
    session: Mutex<Session>,
    spec: Spec,
}

/// Where a guest may be stopped: after these turns in order, or else at the first turn at or after a time. The caller's
/// function gets turn and time in ns, and says whether this process goes on with the guest; if not, it is a copy, and
/// the other process does. After the last place the guest's power is taken away.
struct Stops {
    turns: VecDeque<u64>,
    at_ns: Option<u64>,
    ask: Py<PyAny>,
    raised: Raised,
}

impl Stops {
    fn at(&mut self, at: SimTime, turn: u64) -> Option<Left> {
        let due = match (self.turns.front(), self.at_ns) {
            (Some(&next), _) => turn >= next,
            (None, Some(ns)) => at.0 >= ns,
            (None, None) => false,
        };
        if !due {
            return None;
        }
        if self.turns.pop_front().is_none() {
            self.at_ns = None;
        }
        match Python::attach(|py| self.ask.call1(py, (turn, at.0))?.extract::<bool>(py)) {
            Ok(false) => Some(Left::ToAnother),
            Ok(true) => (self.turns.is_empty() && self.at_ns.is_none()).then_some(Left::Off),
            Err(error) => {
                *self.raised.lock().expect("nobody panics with the lock") = Some(error);
                Some(Left::Off)
            }
        }
    }
}

fn session_error(error: SessionError) -> PyErr {
    match error {
        SessionError::Lab(error) => exception(error),
        SessionError::Guest(error) => GuestError::new_err(error.to_string()),
    }
}

#[pymethods]
impl LinuxDevice {
    /// A device, new or aged.
    #[new]
    #[pyo3(signature = (spec_json, progress=None))]
    fn new(py: Python<'_>, spec_json: &str, progress: Option<Py<PyAny>>) -> PyResult<LinuxDevice> {
        let spec = Spec::from_json(spec_json).map_err(exception)?;
        let session = watched(py, progress, |on_progress| Session::new(&spec, on_progress), exception)?;
        Ok(LinuxDevice { session: Mutex::new(session), spec })
    }

    /// Disks that the kernel finds: the logical units.
    #[getter]
    fn disks(&self) -> u8 {
        self.session.lock().expect(UNPOISONED).disks()
    }

    /// What the kernel is to call the scheduler of the disks.
    #[getter]
    fn scheduler(&self) -> &'static str {
        self.session.lock().expect(UNPOISONED).scheduler()
    }

    /// Entries of the device's mapping cache, and of a translation page.
    #[getter]
    fn map_cache(&self) -> (u32, u32) {
        self.session.lock().expect(UNPOISONED).map_cache()
    }

    /// True if the kernel has to have a driver for HPB.
    #[getter]
    fn has_hpb(&self) -> bool {
        self.session.lock().expect(UNPOISONED).has_hpb()
    }

    /// The policy of the kernel's HPB driver; none for the driver as it is.
    #[getter]
    fn hpb_policy(&self) -> Option<&'static str> {
        self.session.lock().expect(UNPOISONED).hpb_policy()
    }

    /// KiB of host memory that the booster may use; none if there is no limit.
    #[getter]
    fn memory_limit_kib(&self) -> Option<u64> {
        self.session.lock().expect(UNPOISONED).memory_limit_kib()
    }

    /// True if the kernel has to have a driver for HP-UFS.
    #[getter]
    fn has_hp_ufs(&self) -> bool {
        self.session.lock().expect(UNPOISONED).has_hp_ufs()
    }

    /// True if the kernel decides of which regions it keeps HPB entries.
    #[getter]
    fn host_controls_hpb(&self) -> bool {
        self.session.lock().expect(UNPOISONED).host_controls_hpb()
    }

    /// Boots a guest in a folder, and serves it until it halts or is stopped. Gives what came of it as JSON, and the
    /// log if one is kept, and why a timeline could not be written; the result is null if its job has not begun.
    /// `stops`: turns and a time in ns, and whom to ask at each; see `Stops`.
    #[pyo3(signature = (
        kernel, folder, memory_mib, seed, costs, progress=None, *,
        stops=None, keep=None, log=None, timeline=None, series=None, terminal=None,
    ))]
    #[expect(clippy::too_many_arguments, reason = "named ones of Python")]
    fn boot(
        &self,
        py: Python<'_>,
        kernel: PathBuf,
        folder: PathBuf,
        memory_mib: u32,
        seed: u64,
        costs: (u32, u32, u32),
        progress: Option<Py<PyAny>>,
        stops: Option<(Vec<u64>, Option<u64>, Py<PyAny>)>,
        keep: Option<usize>,
        log: Option<(usize, Py<PyAny>)>,
        timeline: Option<(PathBuf, String, u64)>,
        series: Option<(String, Py<PyAny>)>,
        terminal: Option<[i32; 2]>,
    ) -> PyResult<(String, Option<LogPart>, Option<String>)> {
        let cost = Cost { syscall_ns: costs.0, access_ns: costs.1, page_ns: costs.2 };
        let parameters = terminal.map(|[from, to]| format!("ufsim.terminal={from},{to}")).into_iter().collect();
        let boot = Boot { kernel, folder, memory_mib, seed, cost, parameters };
        let raised = Raised::default();
        let observe: Observe = observing(&self.spec, &raised, keep, log, timeline, series)?;
        let mut stops =
            stops.map(|(turns, at_ns, ask)| Stops { turns: turns.into(), at_ns, ask, raised: raised.clone() });
        let mut stop = |at: SimTime, turn| stops.as_mut().and_then(|stops| stops.at(at, turn));
        let mut session = self.session.lock().expect(UNPOISONED);
        let session = &mut *session;
        let booted =
            watched(py, progress, |on_progress| session.boot(&boot, observe, &mut stop, on_progress), session_error);
        if let Some(error) = raised.lock().expect("nobody panics with the lock").take() {
            return Err(error);
        }
        let booted = booted?;
        let ran = booted.ran.map(|Ran { result, requests, unwritten, .. }| (result, (requests, unwritten)));
        let (result, others) = ran.unzip();
        let (requests, unwritten) = others.unwrap_or_default();
        let (ended, at) = match booted.ended {
            Ended::Halted { at } => ("halted", at),
            Ended::Stopped { at } => ("stopped", at),
        };
        let controller: serde_json::Map<_, _> =
            session.counters().named().into_iter().map(|(name, count)| (name.into(), count.into())).collect();
        let report = json!({ "result": result, "ended": ended, "at_ns": at.0, "turns": booted.turns,
            "began_ns": booted.began.map(|at| at.0),
            "controller": controller });
        Ok((serde_json::to_string(&report).map_err(config_error)?, requests.map(LogPart), unwritten))
    }

    /// Cuts the power of the device at a time of the guest, which was stopped, and lets it recover.
    fn power_cut(&self, py: Python<'_>, at_ns: u64) {
        py.detach(|| self.session.lock().expect(UNPOISONED).power_cut(SimTime(at_ns)));
    }
}
