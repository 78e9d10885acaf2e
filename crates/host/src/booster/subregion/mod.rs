//! Boosters that cache subregions of sealed L2P entries: one booster, and a policy for each of `hpb-linux`, `foam` and
//! `hpbvalve`.
//!
//! A *subregion* of HPB 2.0 is a group of the crate `ufs`: the entries that one READ BUFFER brings. What the boosters share
//! stands here once: plans for requests, answers, entries, notices and recommendations, the queue of fetches, the memory limit, the
//! polling clock, and counters. A policy says when to fetch and what to drop.
//!
//! | policy | fetches | drops |
//! |---|---|---|
//! | `hpb-linux` | after `activation_thld` reads without a write, or as the device recommends | regions: not read for 100 s, replaced by one read more often, or as the device recommends |
//! | `foam` | by the same counts | the oldest of the partitions BR, BW, FR, FW; what nobody has used for 100 s |
//! | `hpbvalve` | what the foreground app misses; its launch list, then its running list when it is launched; by the counts | the oldest of BG, then of IFG, when memory is full or asked for; AFG only when the limit is lowered |
//!
//! The device checks every entry that it gets, so a policy may drop or forget whatever it likes. It costs time, never data.
//!
//! - `booster`: the booster. `policy`: what a policy is asked. `cache`: what a policy is lent.
//! - `slots`: entries, states, and blocks that the host has written. `fetches`: what is to be fetched, by urgency.
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
pub(super) use self::fetches::{Urgency, Wish};
pub(super) use self::policy::{Access, Choice, Keeping, Lookup, Policy, Quirks};
pub(super) use self::read_counts::ReadCounts;
pub(super) use self::slots::State;
