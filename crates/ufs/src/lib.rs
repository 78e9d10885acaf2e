//! Everything that a UFS host and a UFS device exchange. `host` and `device` share only this crate, as a phone's driver
//! and its storage share only the link. Nothing else of one is visible to the other.
//!
//! # Glossary
//! - **UPIU**: UFS protocol information unit, the packet on the link (JESD220C clause 10).
//! - **CDB**: SCSI command descriptor block inside a command UPIU.
//! - **HPB**: host performance booster; the host keeps L2P entries and sends one along with a read.
//! - **piggyback**: metadata carried in the spare bytes of an ordinary command or response.
//!
//! The simulator passes typed forms ([`Command`], [`Response`]). Their bytes are in [`codec`], the time that they take
//! is in [`link`], and when the link is up in [`power`].

pub mod codec;
mod command;
mod data;
mod info;
pub mod link;
pub mod power;
mod power_config;
mod protocol;
mod response;
mod victims;
mod write_booster;

pub use codec::hpufs::{MAX_SUPERBLOCKS, MAX_TRANSFER_ENTRIES};
pub use codec::mapplus::{MAX_BATCH_RUNS, MAX_CACHED_RUNS};
pub use command::{BitmapFor, Command, CommandSet, MAX_TAGS, Op, Tag};
pub use data::{Content, DataIn, DataOut, LpaRun, QUARTER_ENTRIES, Quarters};
pub use info::{DeviceInfo, PLAIN_ENTRY_BYTES, SEALED_ENTRY_BYTES};
pub use link::{Link, LinkConfig, LinkParams, wire_bytes, wire_bytes_response};
pub use live::{SegmentImage, SegmentState};
pub use power::{DeviceWork, Power, PowerAccount, PowerSpan, PowerState, Waker};
pub use power_config::{OtherUse, PowerConfig, PowerParams};
pub use protocol::Protocol;
pub use response::{HpbNotice, L2pEntry, Notice, PiggyBack, Recommendation, Response, Status};
pub use victims::{Candidate, VictimPolicy, Victims};
pub use write_booster::{
    Booster, BoosterControl, BoosterFlags, FlushStatus, Health, ResizeHint, ResizeStatus, UserSpace, life_time, pre_eol,
};
