//! The host's UFS driver. It takes requests of the block layer, splits them into commands, manages queue and tags, and
//! assembles completions from the responses.
//!
//! # Glossary
//! - **request**: what the block layer asks for; any length. **command**: what is sent over the link, at most
//!   `max_transfer_units` long. **part**: the piece of a request that has not been sent yet.
//! - **tag**: names a command in flight; a UFS host has 32 of them.
//! - **user command**: reads, writes or orders the user's data. **internal command**: exchanges metadata; the driver
//!   starts it itself. See [`ufs::Op::is_user`].
//! - **scheduler**: orders the parts that wait for a tag ([`SchedulerKind`]).
//! - **booster**: a use of host DRAM that saves the device work ([`BoosterKind`]).
//! - **segment**: 1,024 L2P entries; what `hp-ufs` caches. **group**: the sealed entries of one HPB READ BUFFER; HPB
//!   2.0 calls it a **subregion**, and some of them a **region**.
//! - **foreground app**: the one that the user sees; all others are in the background. **launch**: an app comes to the
//!   foreground.
//!
//! # Contract
//! The driver sees of the device what a phone sees: descriptors ([`ufs::DeviceInfo`]), commands and responses. It owns
//! no clock; the caller passes the time:
//!
//! 1. [`Driver::submit`] accepts a request; [`Driver::on_response`] handles a response from the link.
//! 2. After either of them, and at [`Driver::next_wake`], the caller takes commands with [`Driver::next_command`] until
//!    there is none, and completions with [`Driver::pop_completion`].
//!
//! Every request completes exactly once. A request that waits for metadata does not hold up those behind it.
//!
//! ```
//! use host::{Driver, HostConfig, Request, RequestOp};
//! use ufs::{DataIn, DeviceInfo, HpbNotice, PiggyBack, Response, Status};
//! use units::{AppId, Lpa, SimTime};
//! # use ufsim_host as host;
//!
//! let mut driver = Driver::new(HostConfig::default(), DeviceInfo::USUAL);
//! let now = SimTime::START;
//! driver.submit(now, Request { id: 7, op: RequestOp::Read, lpa: Lpa(3), len: 1, stamp: 0, app: AppId::SYSTEM });
//! let command = driver.next_command(now).expect("a tag is free");
//! driver.on_response(now, Response {
//!     tag: command.tag, status: Status::Good, data: DataIn::One(None),
//!     hpb: HpbNotice::None, piggyback: PiggyBack::default(),
//! });
//! assert_eq!(driver.pop_completion().unwrap().id, 7);
//! ```

mod app;
mod assembly;
pub mod block;
mod booster;
mod config;
mod driver;
mod knowledge;
mod request;
mod sched;
mod stats;
mod tags;

pub use app::AppSignal;
pub use booster::BoosterKind;
pub use booster::{BlockValidity, BoosterParams};
pub use config::{HostConfig, HostConfigError, HostParams};
pub use driver::Driver;
pub use knowledge::kind::CacheKnowledge;
pub use knowledge::view::{Blind, CacheView};
pub use request::{Completion, HostMapping, InFlight, Request, RequestOp};
pub use sched::SchedulerKind;
pub use sched::SchedulerParams;
pub use stats::HostStats;
