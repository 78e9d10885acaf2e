//! Fuzz targets: functions of bytes for everything that reads external input. They panic on a finding.
//!
//! `fuzz/` in the root of the project runs them under libFuzzer (`make fuzz`); `tests/fuzz_corpus.rs` runs them over
//! the corpus and mutations of it in every test run. A new target is a file here, its line in the registration, a file
//! in `fuzz/fuzz_targets` and a directory in `fuzz/corpus`.

mod drain;
mod input;
mod traces;

macro_rules! targets {
    ($($(#[doc = $doc:literal])* $name:ident;)*) => {
        $(
            mod $name;
            $(#[doc = $doc])*
            ///
            /// # Panics
            /// On a finding.
            pub fn $name(bytes: &[u8]) {
                $name::run(bytes);
            }
        )*

        /// Every target by name.
        pub const TARGETS: &[(&str, fn(&[u8]))] = &[$((stringify!($name), $name)),*];
    };
}

targets! {
    /// Files of aged states.
    aged_state;
    /// Binary block traces: the reader, and the replay of what it has read.
    blktrace;
    /// A device under any sequence of commands and power cuts.
    device_commands;
    /// fio job files: the parser, the layout on a device, and the requests of the jobs.
    fio_job;
    /// Descriptions of generated workloads: the parser, and the traces of small ones.
    generated;
    /// What a client of the NBD server sends: the handshake, and requests in each form.
    nbd;
    /// Scenarios of phones, their first steps, and sessions that become scenarios.
    phone;
    /// Device profiles and overrides: the parser, the checks, and a system built from the accepted ones.
    profile;
    /// Specifications of SQLite workloads.
    sqlite_spec;
    /// Block traces of one file, text or binary: the readers of all formats, the writers, and the replay of what was
    /// read.
    text_trace;
    /// Commands and responses from their bytes.
    upiu;
}
