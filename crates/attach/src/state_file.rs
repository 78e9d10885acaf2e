//! The aged state of a device that a runner has, as a file.

use std::path::PathBuf;
use std::sync::mpsc;

use lab::aged::Header;
use lab::{Aged, LabError};
use thiserror::Error;

use crate::runner::{Gone, Sender};
use crate::saving::WhileOff;

/// Why a state has not been saved.
#[derive(Debug, Error)]
pub enum SaveError {
    /// The engine has ended.
    #[error(transparent)]
    Gone(#[from] Gone),
    /// One is being saved already.
    #[error("a state is being saved already")]
    Busy,
    /// The power was cut meanwhile.
    #[error("the power was cut before the state was saved")]
    PowerCut,
    /// The file could not be written.
    #[error(transparent)]
    File(#[from] LabError),
}

impl Sender {
    /// Saves the state as a file with this header, and waits until that is there; see [`crate::Engine::save`].
    ///
    /// # Errors
    /// Why it is not there.
    pub fn save(&self, header: Header, path: PathBuf) -> Result<(), SaveError> {
        let (tell, told) = mpsc::channel();
        let off: WhileOff = Box::new(move |device, oracle| {
            let aged = Aged::new(device, oracle, header);
            // Nobody may wait any more.
            let _ = tell.send(aged.save(&path));
            aged.into_device()
        });
        if !self.with(move |engine, at| engine.save(at, off))? {
            return Err(SaveError::Busy);
        }
        match told.recv() {
            Ok(saved) => Ok(saved?),
            Err(_) if self.is_gone() => Err(self.why().into()),
            Err(_) => Err(SaveError::PowerCut),
        }
    }
}
