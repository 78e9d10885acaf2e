//! The aged state of a device, as a file.

use std::path::PathBuf;
use std::sync::Arc;

use files::Files;
use lab::aged::Header;
use lab::{Aged, LabError};
use thiserror::Error;

use crate::inbox::Sender;
use crate::promise::Promise;
use crate::saving::WhileOff;

/// Why a state has not been saved.
#[derive(Debug, Error)]
pub enum SaveError {
    /// One is being saved already.
    #[error("a state is being saved already")]
    Busy,
    /// The file could not be written.
    #[error(transparent)]
    File(#[from] LabError),
}

impl Sender {
    /// Saves the state as a file with this header, and tells what has become of it; see [`crate::Engine::save`]. If the
    /// power is cut before, or the engine ends, the promise is dropped.
    pub fn begin_save(
        &self,
        header: Header,
        (files, path): (Arc<dyn Files>, PathBuf),
        saved: Promise<Result<(), SaveError>>,
    ) {
        // If the engine is gone, the task is dropped, and the promise with it.
        let _ = self.task(move |engine, at| {
            if engine.is_saving() {
                return saved.keep(Err(SaveError::Busy));
            }
            let off: WhileOff = Box::new(move |device, oracle| {
                let aged = Aged::new(device, oracle, header);
                saved.keep(aged.save_to(&*files, &path).map_err(SaveError::from));
                aged.into_device()
            });
            engine.save(at, off);
        });
    }
}
