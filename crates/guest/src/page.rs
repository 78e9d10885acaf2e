//! The page that guest and controller share; `linux/guest/ufsim.h` has the other side.

use std::io;
use std::os::fd::AsFd;
use std::sync::atomic::Ordering;

use rustix::io::Errno;
use rustix::thread::futex;
use units::{Nanos, SimTime};

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
const WITHIN: usize = 0x854;
const AFTER: usize = 0x858;

const RUN: u32 = 1;
const BYE: u32 = 2;
const BEGIN: u32 = 3;
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
    /// These writes, then everything up to `now`. The guest does nothing before `until`, unless it is interrupted. Its
    /// job may begin with this.
    Run { writes: Vec<Write>, now: SimTime, until: SimTime, begins: bool },
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
            op @ (RUN | BEGIN) => {
                let count = self.shared.get(COUNT).min(WRITES) as usize;
                let writes = (0..count).map(|i| {
                    let at = WRITE_AT + WRITE_BYTES * i;
                    let now = SimTime(self.shared.get_u64(at));
                    Write { now, register: self.shared.get(at + 8), value: self.shared.get(at + 12) }
                });
                let [now, until] = [NOW, UNTIL].map(|at| SimTime(self.shared.get_u64(at)));
                Asked::Run { writes: writes.collect(), now, until, begins: op == BEGIN }
            }
            BYE => Asked::Bye,
            other => Asked::Unknown(other),
        }
    }

    /// Gives the turn back. The registers are as they are now, or, if the controller is ahead, as they will be at that
    /// time. `next` is when it wants the next turn, or that after it; a doorbell has to be told within a time.
    pub fn answer(&self, registers: &[u32], line: bool, next: Option<SimTime>, within: Nanos, ahead: Option<SimTime>) {
        for (i, &value) in registers.iter().take(MIRROR).enumerate() {
            self.shared.word(4 * i).store(value, Ordering::Relaxed);
        }
        self.shared.word(LINE).store(line.into(), Ordering::Relaxed);
        self.shared.set_u64(NEXT, ahead.or(next).map_or(NEVER, |at| at.0));
        self.shared.set_u64(AFTER, next.map_or(NEVER, |at| at.0));
        self.shared.word(WITHIN).store(within.0.try_into().unwrap_or(u32::MAX), Ordering::Relaxed);
        self.shared.word(AHEAD).store(ahead.is_some().into(), Ordering::Relaxed);
        let word = self.shared.word(DEVICE_SEQ);
        word.fetch_add(1, Ordering::Release);
        // Nobody may be waiting, which is no error.
        let _ = futex::wake(word, futex::Flags::empty(), 1);
    }
}

#[cfg(test)]
mod tests {
    use rustix::fs::{MemfdFlags, ftruncate, memfd_create};

    use super::*;

    /// The page, and the same memory as the guest has it.
    fn both() -> (Page, Shared) {
        let file = memfd_create("page", MemfdFlags::empty()).unwrap();
        ftruncate(&file, BYTES as u64).unwrap();
        (Page::map(&file).unwrap(), Shared::map(&file, BYTES).unwrap())
    }

    fn ask(guest: &Shared, op: u32, count: u32) {
        guest.word(OP).store(op, Ordering::Relaxed);
        guest.word(COUNT).store(count, Ordering::Relaxed);
        guest.word(GUEST_SEQ).fetch_add(1, Ordering::Release);
        let _ = futex::wake(guest.word(GUEST_SEQ), futex::Flags::empty(), 1);
    }

    #[test]
    fn turns_go_to_and_fro() {
        let (mut page, guest) = both();
        for at in 0..3 {
            guest.set_u64(WRITE_AT, at);
            guest.word(WRITE_AT + 8).store(0x58, Ordering::Relaxed);
            guest.word(WRITE_AT + 12).store(1 << at, Ordering::Relaxed);
            let (now, until) = (SimTime(at + (1 << 40)), SimTime(at + (1 << 41)));
            guest.set_u64(NOW, now.0);
            guest.set_u64(UNTIL, until.0);
            let begins = at == 2;
            ask(&guest, if begins { BEGIN } else { RUN }, 1);
            assert!(page.wait().unwrap());
            let write = Write { now: SimTime(at), register: 0x58, value: 1 << at };
            assert_eq!(page.asked(), Asked::Run { writes: vec![write], now, until, begins });
            let ahead = (at == 1).then_some(SimTime(5));
            page.answer(&[7, 8], true, Some(SimTime(9)), Nanos(6), ahead);
            assert_eq!([0, 4, LINE, WITHIN, AHEAD].map(|word| guest.get(word)), [7, 8, 1, 6, u32::from(at == 1)]);
            let next = ahead.map_or(9, |at| at.0);
            assert_eq!((guest.get_u64(NEXT), guest.get_u64(AFTER)), (next, 9));
            assert_eq!(u64::from(guest.get(DEVICE_SEQ)), at + 1);
        }
        ask(&guest, BYE, 0);
        assert!(page.wait().unwrap());
        assert_eq!(page.asked(), Asked::Bye);
    }

    #[test]
    fn whatever_stands_in_the_page_is_read() {
        let (mut page, guest) = both();
        assert!(!page.wait().unwrap(), "nobody has given the turn");
        ask(&guest, 77, 0);
        assert!(page.wait().unwrap());
        assert_eq!(page.asked(), Asked::Unknown(77));
        ask(&guest, RUN, u32::MAX);
        let Asked::Run { writes, .. } = page.asked() else { panic!("{:?}", page.asked()) };
        assert_eq!(writes.len(), WRITES as usize);
        page.answer(&[1; 1000], false, None, Nanos(u64::MAX), None);
        assert_eq!((guest.get(4 * MIRROR - 4), guest.get_u64(NEXT)), (1, NEVER));
        assert_eq!(guest.get(GUEST_SEQ), 2, "more registers than there is room for are left out");
    }
}
