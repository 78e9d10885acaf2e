//! Boosters that cache subregions of sealed L2P entries: one booster, and a policy for each of `hpb-linux`, `foam` and
//! `hpbvalve`.
//!
//! A *subregion* of HPB 2.0 is a group of the crate `ufs`: the entries that one READ BUFFER brings. The code that the
//! boosters share is here: plans for requests, answers, single entries, the queue of fetches, the memory limit, the
//! polling clock, and counters. A policy decides when to fetch and what to drop:
//!
//! - `hpb-linux` fetches after `activation_thld` reads without a write, or when the device recommends it. It drops
//!   regions: those not read for long, those replaced by one that is read more often, and those that the device
//!   recommends to drop.
//! - `foam` fetches by the same counts. It drops the oldest subregion of the first non-empty of four partitions, and
//!   what no app has used for long.
//! - `hpbvalve` fetches misses of the foreground app, the lists of an app that is being launched, and by the counts. It
//!   drops the oldest of two lists when memory is full or asked for. Subregions of the foreground app are dropped only
//!   when the limit is lowered.
//!
//! The device checks every entry that it gets. So if a policy drops or forgets an entry, that costs time, never data.
//! Each request carries its app. Signals take effect at once; the fetches that follow are commands like any other.
//!
//! - `booster`: the booster. `policy`: the traits of a policy. `cache`: the state that a policy is lent.
//! - `slots`: entries, states, and blocks that the host has written. `fetches`: requested fetches, by urgency.
//!   `read_counts`: reads by subregion.

#[cfg(test)]
pub(super) mod bench;
mod booster;
mod cache;
mod fetches;
pub(crate) mod params;
mod policy;
mod read_counts;
mod slots;

pub(super) use self::booster::SubregionBooster;
pub(super) use self::cache::{Setup, SubregionCache};
pub(super) use self::fetches::{FetchRequest, Urgency};
pub(super) use self::policy::{Access, Choice, Lookup, Policy, Quirks, Retention};
pub(super) use self::read_counts::ReadCounts;
pub(super) use self::slots::State;
