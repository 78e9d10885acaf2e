//! What a request costs the host's processors.

use units::Nanos;

/// Kinds of request that cost differently.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WorkKind {
    /// A read.
    Read,
    /// A write of data.
    Write,
    /// A write of the file system's own data (`REQ_META`).
    Metadata,
    /// What carries no data: a flush, a trim.
    Other,
}

impl WorkKind {
    /// All of them, in the order of their numbers.
    pub const ALL: [WorkKind; 4] = [WorkKind::Read, WorkKind::Write, WorkKind::Metadata, WorkKind::Other];

    /// Its name in results.
    pub fn name(self) -> &'static str {
        match self {
            WorkKind::Read => "read",
            WorkKind::Write => "write",
            WorkKind::Metadata => "metadata",
            WorkKind::Other => "other",
        }
    }
}

/// What a request of one kind costs.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Cost {
    /// Of the submitting task, before the driver has the request.
    pub submit: Nanos,
    /// The same for each page of 4 KiB.
    pub submit_page: Nanos,
    /// From the last response until its completion work is asked for. It occupies no processor.
    pub delay: Nanos,
    /// Of the processor that handles interrupts.
    pub complete: Nanos,
    /// The same for each page.
    pub complete_page: Nanos,
}

impl Cost {
    /// Time of the task for a request of so many pages.
    pub fn submission(&self, pages: u32) -> Nanos {
        Nanos(self.submit.0 + self.submit_page.0 * u64::from(pages))
    }

    /// Time of the interrupt's processor for it.
    pub fn completion(&self, pages: u32) -> Nanos {
        Nanos(self.complete.0 + self.complete_page.0 * u64::from(pages))
    }
}
