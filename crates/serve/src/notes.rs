//! Remarks for whoever looks after a server, which are lent a place to go.

use std::io::Write;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

/// Remarks that wait to be written. More are dropped: nobody reads them.
const WAITING: usize = 256;

/// Takes remarks, and never waits.
pub trait Notes: Send + Sync {
    /// A remark of one line.
    ///
    /// # Errors
    /// If there is no place for it. Nothing else may depend on that.
    fn note(&self, text: &str) -> std::io::Result<()>;
}

/// Standard error. Whoever has closed it, or does not read it, holds up only the thread that writes.
#[derive(Debug)]
pub struct StandardError(SyncSender<String>);

impl StandardError {
    /// Starts the thread.
    ///
    /// # Errors
    /// If there is no thread.
    pub fn start() -> std::io::Result<StandardError> {
        let (notes, written) = sync_channel(WAITING);
        std::thread::Builder::new().name("ufsim notes".into()).spawn(move || write_all(&written))?;
        Ok(StandardError(notes))
    }
}

fn write_all(notes: &Receiver<String>) {
    for note in notes {
        // There is no better place to say that this one fails.
        let _ = writeln!(std::io::stderr(), "ufsim: note: {note}");
    }
}

impl Notes for StandardError {
    fn note(&self, text: &str) -> std::io::Result<()> {
        self.0.try_send(text.to_owned()).map_err(|_| std::io::ErrorKind::WouldBlock.into())
    }
}
