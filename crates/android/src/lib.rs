//! A phone around the device: apps, their memory, pressure, the low-memory killer, and what the user waits for.
//!
//! The model is that of HPBvalve (Kim et al., FAST 2023). A user switches between apps, and each launch reads. When
//! memory runs short, Android kills the process used longest ago; it then starts cold, with more reads. The storage
//! driver is part of the model: HPB's memory is the phone's, the phone tells the driver which app is in the foreground,
//! and the driver may give memory back before an app is killed.
//!
//! # Glossary
//! - **app**: numbers of one program ([`App`]); **service**: one that no user opens. **AppId**: place in the scenario,
//!   from 1.
//! - **use**: from the user's touch of an app to that of the next one. **launch**: from the touch to the first frame,
//!   **cold** if the process is gone, else **warm** (a switch). **loading**: from the touch until a game takes input.
//! - **foreground**: the app in use; all others that are alive are in the **background**.
//! - **effective memory**: system + apps (**anon**) + page cache (**file**) + HPB + free.
//! - **pressure**: share of the last second in which some task was stalled for memory ([`psi`]).
//! - **killer**: Android's lmkd ([`killer`]); **adj**: `oom_score_adj`, the higher, the less a process would be missed.
//! - **spared**: chosen by the killer, but the driver gave back as much as the kill would have.
//!
//! # Contract
//! - [`Phone`] is a [`workload::Source`]; it owns no clock. It calls the driver by [`workload::Next::Driver`], so this
//!   crate knows neither driver nor device.
//! - Launch time = computing + blocked on reads + stalled for memory, to the nanosecond. Computing is the launch time
//!   of the app's file less its reads at `io.nominal_read_us` each.
//! - Scenario, device size and seed determine all decisions as long as reads take the same time.
//! - Wrong input gives [`ScenarioError`] with line and key.

mod access;
mod app;
pub mod killer;
mod log;
mod memory;
mod phone;
pub mod psi;
pub mod recorded;
mod scenario;
mod thread;
mod toml_reader;
mod traced;

pub use app::{App, Launch, Run, built_in};
pub use memory::{Memory, Watermarks};
pub use phone::Phone;
pub use scenario::{IoSettings, Lmkd, MemorySettings, Scenario, Sequence};
pub use toml_reader::ScenarioError;
pub use traced::{Traced, TracedIo};
pub use workload::report::phone as report;
