//! The page that guest and controller share; `linux/guest/ufsim.h` has the other side.

use std::io;
use std::os::fd::AsFd;
use std::sync::atomic::Ordering;

use rustix::io::Errno;
use rustix::thread::futex;
use units::SimTime;

use crate::shared::Shared;

/// Bytes of the page.
pub const BYTES: usize = 4096;
/// Most writes that wait for a turn.
const WRITES: u32 = 64;
/// Registers that are mirrored.
const MIRROR: usize = 256;

const GUEST_SEQ: usize = 0x400;
const OP: usize = 0x404;
const COUNT: usize = 0x408;
const NOW: usize = 0x410;
const UNTIL: usize = 0x418;
const WRITE_AT: usize = 0x440;
const WRITE_BYTES: usize = 16;
const DEVICE_SEQ: usize = 0x840;
const LINE: usize = 0x844;
const NEXT: usize = 0x848;
const AHEAD: usize = 0x850;
const AFTER: usize = 0x858;

const RUN: u32 = 1;
const BYE: u32 = 2;
/// A time that never comes.
const NEVER: u64 = u64::MAX;
/// How often somebody who waits looks whether the other side is still there.
const PATIENCE: rustix::time::Timespec = rustix::time::Timespec { tv_sec: 0, tv_nsec: 250_000_000 };

/// A write of a register.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Write {
    /// When.
    pub now: SimTime,
    /// Offset of the register.
    pub register: u32,
    /// The value.
    pub value: u32,
}

/// What the guest wants of a turn.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Asked {
    /// These writes, then everything up to `now`. The guest does nothing before `until`, unless it is interrupted.
    Run { writes: Vec<Write>, now: SimTime, until: SimTime },
    /// Nothing: it has halted.
    Bye,
    /// Nothing that the protocol has.
    Unknown(u32),
}

/// The page.
#[derive(Debug)]
pub struct Page {
    shared: Shared,
    /// The guest's turn that was answered last.
    seen: u32,
}

impl Page {
    /// Maps it.
    ///
    /// # Errors
    /// What the operating system says.
    pub fn map(file: impl AsFd) -> io::Result<Page> {
        Ok(Page { shared: Shared::map(file, BYTES)?, seen: 0 })
    }

    /// Waits until the guest has given the turn. False after a while without: the caller sees whether it still lives.
    ///
    /// # Errors
    /// What the operating system says.
    pub fn wait(&mut self) -> io::Result<bool> {
        let word = self.shared.word(GUEST_SEQ);
        while word.load(Ordering::Acquire) == self.seen {
            match futex::wait(word, futex::Flags::empty(), self.seen, Some(&PATIENCE)) {
                Err(Errno::TIMEDOUT) => return Ok(false),
                Ok(()) | Err(Errno::AGAIN | Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        self.seen = word.load(Ordering::Acquire);
        Ok(true)
    }

    /// What the guest wants.
    pub fn asked(&self) -> Asked {
        match self.shared.get(OP) {
            RUN => {
                let count = self.shared.get(COUNT).min(WRITES) as usize;
                let writes = (0..count).map(|i| {
                    let at = WRITE_AT + WRITE_BYTES * i;
                    let now = SimTime(self.shared.get_u64(at));
                    Write { now, register: self.shared.get(at + 8), value: self.shared.get(at + 12) }
                });
                let [now, until] = [NOW, UNTIL].map(|at| SimTime(self.shared.get_u64(at)));
                Asked::Run { writes: writes.collect(), now, until }
            }
            BYE => Asked::Bye,
            other => Asked::Unknown(other),
        }
    }

    /// Gives the turn back. The registers are as they are now, or, if the controller is ahead, as they will be at that
    /// time. `next` is when it wants the next turn, or that after it.
    pub fn answer(&self, registers: &[u32], line: bool, next: Option<SimTime>, ahead: Option<SimTime>) {
        for (i, &value) in registers.iter().take(MIRROR).enumerate() {
            self.shared.word(4 * i).store(value, Ordering::Relaxed);
        }
        self.shared.word(LINE).store(line.into(), Ordering::Relaxed);
        self.shared.set_u64(NEXT, ahead.or(next).map_or(NEVER, |at| at.0));
        self.shared.set_u64(AFTER, next.map_or(NEVER, |at| at.0));
        self.shared.word(AHEAD).store(ahead.is_some().into(), Ordering::Relaxed);
        let word = self.shared.word(DEVICE_SEQ);
        word.fetch_add(1, Ordering::Release);
        // Nobody may be waiting, which is no error.
        let _ = futex::wake(word, futex::Flags::empty(), 1);
    }
}
