//! Fuzz targets: functions of bytes for everything that reads external input. They panic on a finding.
//!
//! `fuzz/` in the root of the project runs them under libFuzzer (`make fuzz`); `tests/fuzz_corpus.rs` runs them over
//! the corpus and mutations of it in every test run. A new target is a file here, its line in the registration, a file
//! in `fuzz/fuzz_targets` and a directory in `fuzz/corpus`.

mod aged_state;
mod blktrace;
mod descriptions;
mod device_commands;
mod drain;
mod fio_job;
mod generated;
mod host_controller;
mod input;
mod nbd;
mod phone;
mod profile;
mod sqlite_spec;
mod text_trace;
mod traces;
mod upiu;

units::kinds! {
    /// What is fuzzed. A target panics on a finding.
    pub Target, pub run: fn(&[u8]) {
        /// Files of aged states.
        AgedState = "aged_state", aged_state::run;
        /// Binary block traces: the reader, and the replay of what it has read.
        Blktrace = "blktrace", blktrace::run;
        /// Descriptions of language models and fragmentation loops, and the first requests of small ones.
        Descriptions = "descriptions", descriptions::run;
        /// A device under any sequence of commands and power cuts.
        DeviceCommands = "device_commands", device_commands::run;
        /// fio job files: the parser, the layout on a device, and the requests of the jobs.
        FioJob = "fio_job", fio_job::run;
        /// Descriptions of generated workloads: the parser, and the traces of small ones.
        Generated = "generated", generated::run;
        /// A host controller under a driver that may do anything to its registers and lists.
        HostController = "host_controller", host_controller::run;
        /// What a client of the NBD server sends: the handshake, and requests in each form.
        Nbd = "nbd", nbd::run;
        /// Scenarios of phones, their first steps, and sessions that become scenarios.
        Phone = "phone", phone::run;
        /// Device profiles and overrides: the parser, the checks, and a system built from the accepted ones.
        Profile = "profile", profile::run;
        /// Specifications of SQLite workloads.
        SqliteSpec = "sqlite_spec", sqlite_spec::run;
        /// Block traces of one file, text or binary: the readers of all formats, the writers, and the replay of what
        /// was read.
        TextTrace = "text_trace", text_trace::run;
        /// Commands and responses from their bytes.
        Upiu = "upiu", upiu::run;
    }
}
