//! Boosters that cache subregions of sealed L2P entries: one booster, and a policy for each of `hpb-linux`, `foam` and
//! `hpbvalve`.
//!
//! A *subregion* of HPB 2.0 is a group of the crate `ufs`: the entries that one READ BUFFER brings. What the boosters
//! share stands here once: plans for requests, answers, single entries, the queue of fetches, the memory limit, the
//! polling clock, and counters. A policy says when to fetch and what to drop:
//!
//! - `hpb-linux` fetches after `activation_thld` reads without a write, or as the device recommends. It drops regions:
//!   those not read for long, those replaced by one that is read more often, and those that the device recommends to
//!   drop.
//! - `foam` fetches by the same counts. It drops the oldest of four partitions in their order, and what nobody has used
//!   for long.
//! - `hpbvalve` fetches what the foreground app misses, the lists of an app that is being launched, and by the counts.
//!   It drops the oldest of two lists, when memory is full or asked for. What belongs to the foreground app goes only
//!   when the limit is lowered.
//!
//! The device checks every entry that it gets. So a policy may drop or forget whatever it likes: that costs time, never
//! data. Apps come with each request. Signals act at once; the fetches that follow are commands like any other.
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
