//! Where an exploration starts: what has happened to the device before.

use std::collections::VecDeque;

use ftl::MappingKind;
use host::RequestOp;
use ufs::Protocol;
use units::Lpa;

use crate::scope::{CAPACITY, Scope};
use crate::system::{Step, System};

/// Most writes until a device in use has come to its start.
const PATIENCE: u32 = 2000;

/// The device before the first step of an exploration.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Start {
    /// What is about to happen, for reports.
    pub name: &'static str,
    /// Where it is.
    pub at: At,
}

/// How a device comes to its start.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum At {
    /// It is new.
    New,
    /// It is written, each write with a flush, until the write after the next one raises this counter of the device for
    /// the first time.
    Before(&'static str),
    /// So many writes, each with a flush, have come and gone.
    After(u32),
    /// It is written until a copy by GC waits for a full row, its page is overwritten with FUA, and GC will program the
    /// copy with the next write, before a map flush. There are several such moments; this one is number `nth`.
    Overtaken {
        /// Counted from 0.
        nth: usize,
    },
}

impl Start {
    /// A new device, and one before each kind of work that a device in use has to do.
    pub fn of(scheme: MappingKind) -> Vec<Start> {
        // Under HP-UFS the host writes the map units.
        let flush = (scheme.speaks() != Protocol::HpUfs).then_some(("map flush", "map_flushes"));
        let events = [("gc step", "gc_steps"), ("erase", "erases")].into_iter().chain(flush);
        let used = events.map(|(name, counter)| Start { name, at: At::Before(counter) });
        [Start { name: "new", at: At::New }].into_iter().chain(used).collect()
    }
}

impl Scope {
    /// The system at a start. Every address holds data that is durable, unless the device is new.
    ///
    /// # Errors
    /// A promise that was broken on the way.
    ///
    /// # Panics
    /// If a device never comes to this start.
    pub fn start(&self, start: &Start) -> Result<System, String> {
        let system = self.system();
        match start.at {
            At::New => Ok(system),
            At::Before(counter) => before(system, counter),
            At::After(writes) => after(system, writes),
            At::Overtaken { nth } => overtaken(system, nth),
        }
    }
}

fn after(mut system: System, writes: u32) -> Result<System, String> {
    (0..writes).try_for_each(|n| fill(&mut system, n))?;
    Ok(system)
}

fn before(mut system: System, counter: &str) -> Result<System, String> {
    // The last states between two requests, oldest first.
    let mut history = VecDeque::from([system.clone()]);
    for n in 0..PATIENCE {
        fill(&mut system, n)?;
        if system.device().counter(counter) > 0 {
            return Ok(history.pop_front().expect("it is never empty"));
        }
        history.push_back(system.clone());
        if history.len() > 2 {
            history.pop_front();
        }
    }
    panic!("{counter} is not raised");
}

fn overtaken(mut system: System, nth: usize) -> Result<System, String> {
    let mut met = 0;
    for n in 0..PATIENCE {
        for copy in system.device().copies() {
            let mut overwritten = system.clone();
            request(&mut overwritten, FUA, copy.lpa)?;
            if programs_next(&overwritten, copy.lpa)? {
                if met == nth {
                    return Ok(overwritten);
                }
                met += 1;
            }
        }
        fill(&mut system, n)?;
    }
    panic!("GC copies nothing that waits");
}

/// True if GC will program a copy of this address with the next write, and no map flush follows.
fn programs_next(system: &System, lpa: Lpa) -> Result<bool, String> {
    let mut system = system.clone();
    let flushes = system.device().counter("map_flushes");
    system.take(&mut Step::Submit(FUA, Lpa(u32::from(lpa == Lpa(0)))))?;
    let mut programs = false;
    while system.take_next()? {
        programs |= system.device().copies().iter().any(|copy| copy.lpa == lpa && copy.programming);
    }
    Ok(programs && system.device().counter("map_flushes") == flushes)
}

const FUA: RequestOp = RequestOp::Write { fua: true };

/// Write `n` of those that fill the device, and a flush.
fn fill(system: &mut System, n: u32) -> Result<(), String> {
    request(system, RequestOp::Write { fua: false }, Lpa(n * 7 % CAPACITY))?;
    request(system, RequestOp::Flush, Lpa(0))
}

fn request(system: &mut System, op: RequestOp, lpa: Lpa) -> Result<(), String> {
    system.take(&mut Step::Submit(op, lpa))?;
    system.settle()
}
