//! Reads. Every unit is resolved, runs of consecutive pages become flash reads, and every page is checked against the
//! address in its spare area.

use nand::{Cause, Completed, Priority, Sensed, Work};
use ufs::{Content, DataIn, Op, Status};
use units::{Lpa, Ppa};

use super::state::Engine;
use super::waiting::{Run, WaitingRead};
use crate::core::ops::Purpose;
use crate::seat::{HostRole, HostSays, Mapping, Resolved};
use crate::sram::pool::Owner;

/// A page that was read for an address and does not hold its newest version.
struct WrongPage {
    ppa: Ppa,
    /// The address that it holds.
    found: Option<u32>,
    unreadable: bool,
    /// The page that has the address, if a prediction may have missed it.
    near: Option<Ppa>,
}

impl<M: Mapping> Engine<M> {
    /// Starts a read. `says` is the place of its first unit according to the host; the places of the other units follow
    /// it.
    pub(super) fn start_read(&mut self, tag: u8, lpa: Lpa, len: u32, says: HostSays) {
        let cmd = &mut self.commands[usize::from(tag)];
        cmd.remaining = 1;
        cmd.contents.clear();
        cmd.contents.resize(len as usize, None);
        self.core.stats.host_units_read += u64::from(len);
        if M::ON_DEMAND {
            self.lookups.add(tag);
            return;
        }
        let mut run: Option<Run> = None;
        for i in 0..len {
            let says = match says {
                HostSays::At(first) => HostSays::At(first.offset(i)),
                other => other,
            };
            let Some(ppa) = self.resolve_unit(tag, i, lpa.offset(i), says) else {
                self.read_pending_run(tag, &mut run);
                continue;
            };
            match &mut run {
                Some(r) if self.continues(r, i, ppa) => r.n += 1,
                _ => {
                    self.read_pending_run(tag, &mut run);
                    run = Some(Run { first: i, ppa, n: 1 });
                }
            }
        }
        self.read_pending_run(tag, &mut run);
        self.read_part_done(tag);
    }

    pub(super) fn continues(&self, run: &Run, i: u32, ppa: Ppa) -> bool {
        run.first + run.n == i && run.ppa.offset(run.n) == ppa && self.core.layout.row_start(ppa) != ppa
    }

    pub(super) fn read_pending_run(&mut self, tag: u8, run: &mut Option<Run>) {
        if let Some(r) = run.take() {
            self.read_run(tag, r.first, r.ppa, r.n);
        }
    }

    /// The page of a unit, if it has to be read from flash now. `None` if the unit is answered, waits for a load, or
    /// has failed.
    fn resolve_unit(&mut self, tag: u8, i: u32, lpa: Lpa, says: HostSays) -> Option<Ppa> {
        if let Some(stamp) = self.core.buffer.get(lpa) {
            self.read_from_buffer(tag, i, lpa, stamp);
            return None;
        }
        match self.map.resolve(&mut self.core, lpa, says) {
            Resolved::Page { ppa, from_host } => {
                self.core.stats.host_entries_used += u64::from(from_host);
                Some(ppa)
            }
            Resolved::Unmapped => {
                self.core.stats.unmapped_units_read += 1;
                None
            }
            Resolved::Load(segment) => {
                self.load_for_unit(segment, tag, i);
                None
            }
            Resolved::NoRoom => unreachable!("{lpa} is looked up out of turn in a mapping cache"),
            Resolved::Unknown => {
                self.commands[usize::from(tag)].status = Status::UnrecoveredRead;
                None
            }
        }
    }

    pub(super) fn read_from_buffer(&mut self, tag: u8, i: u32, lpa: Lpa, stamp: u32) {
        self.core.stats.buffer_hits += 1;
        self.commands[usize::from(tag)].contents[i as usize] = Some(Content { lpa, stamp });
    }

    /// Reads `n` consecutive pages of one row. Pins them from now on, because an erase may come before the read gets
    /// its buffers.
    pub(super) fn read_run(&mut self, tag: u8, first: u32, ppa: Ppa, n: u32) {
        self.commands[usize::from(tag)].remaining += 1;
        self.core.blocks.pin(self.core.layout.superblock_of(ppa));
        let read = WaitingRead { tag, first, ppa, n };
        if !self.waiting_reads.is_empty() || !self.submit_read(read) {
            self.waiting_reads.push_back(read);
            self.moved(read.tag);
        }
    }

    fn submit_read(&mut self, read: WaitingRead) -> bool {
        let WaitingRead { tag, first, ppa, n } = read;
        if !self.core.sram.take(Owner::Read, n as u16) {
            return false;
        }
        let work = Work::Read { ppa, units: n };
        self.core.submit(work, Priority::HostRead, Cause::HostRead, Purpose::HostRead { tag, first, ppa, n });
        true
    }

    #[inline(never)]
    pub(super) fn retry_reads(&mut self) {
        while let Some(&read) = self.waiting_reads.front() {
            if self.submit_read(read) {
                self.waiting_reads.pop_front();
                self.moved(read.tag);
            } else if !self.submit_part(read) {
                return;
            }
        }
    }

    /// Submits the first pages of a waiting read when no superblock is free. GC may then have to wait for an erase
    /// before it can program the copies that it keeps. The read would have to wait for their buffers, but the erase may
    /// wait for the read. True if a part was submitted; the rest waits on.
    fn submit_part(&mut self, read: WaitingRead) -> bool {
        let WaitingRead { tag, first, ppa, n } = read;
        let part = u32::from(self.core.sram.left_for_reads()).max(1);
        if self.core.blocks.free() > 0 || part >= n || !self.submit_read(WaitingRead { n: part, ..read }) {
            return false;
        }
        self.commands[usize::from(tag)].remaining += 1;
        self.core.blocks.pin(self.core.layout.superblock_of(ppa));
        let rest = WaitingRead { tag, first: first + part, ppa: ppa.offset(part), n: n - part };
        *self.waiting_reads.front_mut().expect("the read that waits") = rest;
        true
    }

    pub(super) fn host_read_done(&mut self, done: &Completed, tag: u8, first: u32, ppa: Ppa, n: u32) {
        self.core.sram.give(Owner::Read, n as u16);
        for j in 0..n {
            let i = first + j;
            let lpa = self.read_lpa(tag, i);
            let near = self.found_near(done, j, lpa);
            match self.core.nand.spare(done, j) {
                Some(spare) if spare.lpa == lpa.0 && near.is_none_or(|near| near == ppa.offset(j)) => {
                    self.commands[usize::from(tag)].contents[i as usize] = Some(Content { lpa, stamp: spare.stamp });
                }
                found => {
                    let unreadable = self.core.nand.sensed(done, j) == Sensed::Unreadable;
                    let wrong = WrongPage { ppa: ppa.offset(j), found: found.map(|s| s.lpa), unreadable, near };
                    self.wrong_page(tag, i, lpa, wrong);
                }
            }
        }
        self.core.unpin(ppa);
        self.read_part_done(tag);
    }

    /// Where a unit of a finished read has its address according to the spare areas, if the scheme predicts places. If
    /// the row has several versions, the last one is the newest: a row takes its numbers in order.
    fn found_near(&self, done: &Completed, j: u32, lpa: Lpa) -> Option<Ppa> {
        let reach = self.map.reach();
        if reach == 0 {
            return None;
        }
        let mut near = self.core.nand.neighbours(done, j, reach);
        near.rfind(|&(_, address)| address == lpa.0).map(|(place, _)| place)
    }

    /// Handles a page that does not hold the address, or only an older version of it. If a host named the page, now or
    /// in a segment that it wrote back, the device resolves the address without the host. If the device has predicted
    /// it, the right page is near.
    fn wrong_page(&mut self, tag: u8, i: u32, lpa: Lpa, wrong: WrongPage) {
        let WrongPage { ppa, found, unreadable, near } = wrong;
        let cmd = &mut self.commands[usize::from(tag)];
        if unreadable {
            // The spare area is unreadable too, so the page's address is unknown. The host gets an error, whoever named
            // the page.
            self.core.stats.read_failures += 1;
            cmd.status = Status::UnrecoveredRead;
            return;
        }
        let from_host = M::HOST == HostRole::KeepsMapping || matches!(cmd.op, Op::HpbRead { .. });
        if !from_host {
            let Some(near) = near else {
                panic!("the device's own mapping puts {lpa} at {ppa}, which holds {found:?}")
            };
            self.read_predicted(tag, i, near);
            return;
        }
        self.core.stats.host_entries_wrong += 1;
        match (self.resolve_unit(tag, i, lpa, HostSays::Nothing), near) {
            // The host has not named it, or has named what the device would have predicted.
            (Some(other), Some(near)) if other == ppa => self.read_predicted(tag, i, near),
            (Some(other), None) if other == ppa => {
                // The device's own mapping names this page, too. There is no better place to read.
                self.commands[usize::from(tag)].status = Status::UnrecoveredRead;
            }
            (Some(other), _) => self.read_run(tag, i, other, 1),
            (None, _) => {}
        }
    }

    /// Reads the page that a prediction has missed.
    fn read_predicted(&mut self, tag: u8, i: u32, near: Ppa) {
        self.map.mispredicted();
        self.read_run(tag, i, near, 1);
    }

    pub(super) fn read_lpa(&self, tag: u8, i: u32) -> Lpa {
        match self.commands[usize::from(tag)].op {
            Op::Read { lpa, .. } | Op::HpbRead { lpa, .. } | Op::MappedRead { lpa, .. } => lpa.offset(i),
            op => unreachable!("{op:?} has no pages to read"),
        }
    }

    /// One of the parts that a read waits for is done. The last one sends the response.
    pub(super) fn read_part_done(&mut self, tag: u8) {
        let cmd = &mut self.commands[usize::from(tag)];
        cmd.remaining -= 1;
        if cmd.remaining > 0 {
            return;
        }
        match (cmd.status, cmd.contents.len()) {
            (Status::Good, 1) => {
                let content = cmd.contents[0];
                self.respond_with(tag, |data| *data = DataIn::One(content));
            }
            (Status::Good, _) => {
                let contents = std::mem::take(&mut cmd.contents);
                self.respond_with(tag, |data| *data = DataIn::Many(contents));
            }
            _ => self.respond(tag),
        }
    }
}
