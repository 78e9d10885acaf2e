//! The kinds of workloads, and what they are called in messages. `open` decides which one a name stands for.

/// What kind of workload a file is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WorkloadKind {
    /// A block trace.
    Trace,
    /// A fio job file.
    Job,
    /// A SQLite workload.
    Sqlite,
    /// A scenario of a phone.
    Phone,
    /// A description of an app, from which requests are generated.
    Generated,
    /// A language model on flash.
    Llm,
    /// A loop that fragments a volume.
    Fragmentation,
}

impl WorkloadKind {
    /// One of the kind, in messages.
    pub(crate) fn one(self) -> &'static str {
        match self {
            WorkloadKind::Trace => "a trace",
            WorkloadKind::Job => "a fio job file",
            WorkloadKind::Sqlite => "a SQLite workload",
            WorkloadKind::Phone => "a scenario of a phone",
            WorkloadKind::Generated => "a generated workload",
            WorkloadKind::Llm => "a language model",
            WorkloadKind::Fragmentation => "a fragmentation loop",
        }
    }

    /// Several of them, in messages.
    pub(crate) fn plural(self) -> &'static str {
        match self {
            WorkloadKind::Trace => "traces",
            WorkloadKind::Job => "fio job files",
            WorkloadKind::Sqlite => "SQLite workloads",
            WorkloadKind::Phone => "scenarios of phones",
            WorkloadKind::Generated => "generated workloads",
            WorkloadKind::Llm => "language models",
            WorkloadKind::Fragmentation => "fragmentation loops",
        }
    }
}
