//! No booster: commands carry only what the block layer asked for.

use std::collections::VecDeque;

use params::ParamError;
use ufs::{DeviceInfo, Op, Protocol, Response};
use units::{NoCounters, SimTime};

use super::seat::{Apps, Booster, Counted, HostMemory, OwnCommands, Step, Tamper, plain};
use crate::request::Part;

pub(crate) use params::NoParams as Params;

/// The driver speaks plain UFS.
pub(crate) const SPEAKS: Protocol = Protocol::Plain;

/// It needs no memory.
pub(crate) fn smallest_limit(_info: &DeviceInfo) -> u64 {
    0
}

/// There are no parameters.
pub(crate) fn check(_own: &Params) -> Result<(), ParamError> {
    Ok(())
}

/// A booster without cache.
pub(crate) fn attach(_own: &Params, _limit: u64, _info: &DeviceInfo) -> NoBooster {
    NoBooster
}

/// No booster.
#[derive(Clone, Hash)]
pub(crate) struct NoBooster;

impl Booster for NoBooster {
    #[inline]
    fn plan(&mut self, _: SimTime, part: &mut Part, max_units: u32) -> Step {
        plain(part, max_units)
    }

    fn on_response(&mut self, _: SimTime, _: &Op, _: &mut Response, _: &mut VecDeque<Part>) {}
}

impl Counted for NoBooster {
    type Counters = (NoCounters,);

    fn counters(&self) -> Self::Counters {
        (NoCounters {},)
    }
}

impl OwnCommands for NoBooster {}

impl HostMemory for NoBooster {}

impl Apps for NoBooster {}

impl Tamper for NoBooster {}
