//! A model device for the driver. It has the true map, answers in any order, and checks every command against the
//! knowledge of a host that has applied exactly the changes up to the command's `host_seq`.
//!
//! Commands arrive in the order in which they were sent and are answered in random order. The checks are exact, because
//! `known` is the true map as of the `host_seq` of the latest command.

mod flash;
mod world;

use std::collections::VecDeque;

use host::Driver;
use ufs::{
    BitmapFor, Command, Content, DataIn, DataOut, DeviceInfo, HpbNotice, L2pEntry, LpaRun, Notice, Op, PiggyBack,
    Response, Status,
};
use ufsim_host as host;
use units::{Lpa, Ppa, SegmentId, Seq, Superblock};

use flash::Flash;
pub use world::World;

/// xorshift64*: the same numbers on every run.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Random {
        Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    pub fn below(&mut self, n: u32) -> u32 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        ((self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 32) % u64::from(n)) as u32
    }

    pub fn percent(&mut self, p: u32) -> bool {
        self.below(100) < p
    }
}

/// Behaviour of the device towards the host.
#[derive(Clone, Copy, Debug)]
pub struct Nature {
    /// Number of log entries from which on it accepts no write.
    pub log_entries: usize,
    /// Distance from the front within which the next entry to deliver is chosen.
    pub window: u32,
    /// Probability in percent that a metadata command fails.
    pub fail: u32,
    /// Probability in percent of each hint, per response.
    pub hints: u32,
}

pub struct Device {
    pub info: DeviceInfo,
    nature: Nature,
    /// HP-UFS: the device logs changes until the host has applied them.
    logs: bool,
    pub random: Random,
    pub flash: Flash,
    /// The true map as of `host_seq`, packed.
    known: Vec<u32>,
    /// Map segments on flash, packed.
    pub stored: Vec<u32>,
    host_seq: Seq,
    seq: Seq,
    /// Entries that the host has not applied yet, oldest first, with whether they have been sent.
    log: VecDeque<(L2pEntry, bool)>,
    /// Commands that have arrived, with the answer if it was fixed on arrival.
    arrived: Vec<(Command, Option<DataIn>)>,
    /// Valid pages still to be copied.
    copies: VecDeque<Ppa>,
    pub bitmaps_taken: u32,
    pub copies_made: u32,
    pub copies_too_late: u32,
    pub attests: u32,
    /// Number of quarters of segments that were sent separately.
    pub parts_taken: u32,
}

impl Device {
    pub fn new(info: DeviceInfo, nature: Nature, logs: bool, seed: u64) -> Device {
        let padded = info.segments() as usize * 1024;
        Device {
            info,
            nature,
            logs,
            random: Random::new(seed),
            flash: Flash::new(&info),
            known: vec![0; padded],
            stored: vec![0; padded],
            host_seq: Seq(0),
            seq: Seq(0),
            log: VecDeque::new(),
            arrived: Vec::new(),
            copies: VecDeque::new(),
            bitmaps_taken: 0,
            copies_made: 0,
            copies_too_late: 0,
            attests: 0,
            parts_taken: 0,
        }
    }

    /// Accepts a command. Everything that depends on its `host_seq` happens here.
    pub fn arrive(&mut self, mut command: Command) {
        assert!(self.arrived.iter().all(|(other, _)| other.tag != command.tag), "a tag is used twice");
        self.advance(command.host_seq);
        if let Some(block) = command.freed {
            assert!(!matches!(command.op, Op::MappedRead { .. }), "there is no room for a block number");
            self.freed(block);
        }
        let answer = match &command.op {
            Op::MappedRead { lpa, len, ppa } => Some(self.mapped_read(*lpa, *len, *ppa)),
            Op::SegmentWrite { segment } => {
                let segment = *segment;
                let data = std::mem::take(&mut command.data);
                self.segment_write(segment, data)
            }
            Op::ValidBitmap { block, reason } => {
                let (block, reason) = (*block, *reason);
                let data = std::mem::take(&mut command.data);
                self.bitmap(block, reason, data)
            }
            _ => None,
        };
        self.arrived.push((command, answer));
    }

    /// The host has applied everything up to `seq`.
    fn advance(&mut self, seq: Seq) {
        assert!(self.logs || seq == Seq(0));
        assert!(seq >= self.host_seq && seq <= self.seq, "host {seq} after {}, of {}", self.host_seq, self.seq);
        self.host_seq = seq;
        while let Some((entry, delivered)) = self.log.front().copied() {
            if entry.last_seq() > seq {
                assert!(entry.seq > seq, "an entry was applied in part");
                break;
            }
            assert!(delivered, "the host knows {entry:?}, which it never got");
            self.flash.apply(&mut self.known, &entry);
            self.log.pop_front();
        }
    }

    fn lands_in_log(&self, block: Superblock) -> bool {
        self.log.iter().any(|(entry, _)| entry.ppa.is_some_and(|ppa| self.flash.block_of(ppa) == block))
    }

    fn freed(&mut self, block: Superblock) {
        assert_eq!(self.flash.valid_in(&self.known, block), 0, "{block} is said to be free");
        if !self.flash.is_closed(block) || self.lands_in_log(block) {
            return;
        }
        assert_eq!(self.flash.valid_in(&self.flash.map, block), 0, "{block} is not free");
        self.copies.retain(|&ppa| self.flash.block_of(ppa) != block);
        self.flash.erase(block);
    }

    fn mapped_read(&mut self, lpa: Lpa, len: u32, ppa: Option<Ppa>) -> DataIn {
        for i in 0..len {
            let from_host = Ppa::pack(ppa.map(|ppa| ppa.offset(i)));
            assert_eq!(
                from_host,
                self.known[lpa.index() + i as usize],
                "address of {} at {}",
                lpa.offset(i),
                self.host_seq
            );
            let mut resolved = [from_host];
            for (entry, _) in &self.log {
                self.flash.apply_at(&mut resolved, lpa.offset(i), entry);
            }
            assert_eq!(resolved[0], self.flash.map[lpa.index() + i as usize], "{} is resolved wrongly", lpa.offset(i));
        }
        self.flash.contents(lpa, len)
    }

    fn segment_write(&mut self, segment: SegmentId, data: DataOut) -> Option<DataIn> {
        let range = segment.index() * 1024..(segment.index() + 1) * 1024;
        match data {
            DataOut::Segment(state) => {
                let image = state.image();
                assert!(image[..] == self.known[range.clone()], "{segment} is not the state of {}", self.host_seq);
                if self.random.percent(self.nature.fail) {
                    return Some(DataIn::None);
                }
                self.stored[range].copy_from_slice(&image[..]);
            }
            DataOut::SegmentParts(quarters, image) => {
                let halves = [0b0011, 0b1100].contains(&quarters.bits());
                let whole_parts = self.info.map_page_entries == 256 || self.info.map_page_entries == 512 && halves;
                assert!(whole_parts, "{quarters:?} of parts of {} entries", self.info.map_page_entries);
                let first = range.start;
                if self.random.percent(self.nature.fail) {
                    return Some(DataIn::None);
                }
                for slots in quarters.ranges() {
                    let lpas = first + slots.start..first + slots.end;
                    assert!(
                        image[slots] == self.known[lpas.clone()],
                        "a part of {segment} is not of {}",
                        self.host_seq
                    );
                    self.stored[lpas.clone()].copy_from_slice(&self.known[lpas]);
                }
                self.parts_taken += quarters.bits().count_ones();
                assert!(self.stored[range.clone()] == self.known[range], "a part of {segment} should have come too");
            }
            DataOut::None => {
                self.attests += 1;
                assert!(self.stored[range.clone()] == self.known[range], "{segment} is attested but out of date");
            }
            other => panic!("{other:?} is no segment"),
        }
        None
    }

    fn bitmap(&mut self, block: Superblock, reason: BitmapFor, data: DataOut) -> Option<DataIn> {
        let DataOut::Bitmap(bits) = data else { panic!("no bitmap came for {block}") };
        assert_eq!(*bits, *self.flash.bitmap(&self.known, block), "bitmap of {block}");
        let count: u32 = bits.iter().map(|word| word.count_ones()).sum();
        assert!(count > 0 || reason == BitmapFor::WearLevelling, "{block} needs no GC");
        if !self.flash.is_closed(block) || self.lands_in_log(block) || !self.copies.is_empty() {
            return Some(DataIn::None);
        }
        self.bitmaps_taken += 1;
        let first = self.flash.first_ppa(block);
        let set = |i: &u32| bits[*i as usize / 64] & (1 << (i % 64)) != 0;
        self.copies.extend((0..self.info.superblock_units).filter(set).map(|i| first.offset(i)));
        None
    }

    /// Copies one valid page, or one that has become invalid since the host made the bitmap.
    pub fn copy_one(&mut self) {
        let Some(ppa) = self.copies.pop_front() else { return };
        let source = self.flash.block_of(ppa);
        let content = self.flash.content(ppa).expect("a valid page has content");
        self.copies_made += 1;
        self.copies_too_late += u32::from(self.flash.map[content.lpa.index()] != Ppa::pack(Some(ppa)));
        let target = self.flash.allocate(content);
        self.append(content.lpa, Some(target), 1, Some(source));
    }

    fn append(&mut self, lpa: Lpa, ppa: Option<Ppa>, len: u32, source: Option<Superblock>) {
        let seq = self.seq.plus(1);
        self.seq = self.seq.plus(len);
        let entry = L2pEntry { lpa, ppa, len: len as u8, seq, source };
        let mut map = std::mem::take(&mut self.flash.map);
        self.flash.apply(&mut map, &entry);
        self.flash.map = map;
        if self.logs {
            self.log.push_back((entry, false));
        }
    }

    fn write(&mut self, lpa: Lpa, len: u32, stamp: u32) {
        let mut done = 0;
        while done < len {
            let at = lpa.offset(done);
            let in_segment = 1024 - at.slot() as u32;
            let most = (len - done).min(32).min(in_segment).min(self.flash.left_in_open());
            let first = self.flash.allocate(Content { lpa: at, stamp });
            (1..most).for_each(|i| {
                self.flash.allocate(Content { lpa: at.offset(i), stamp });
            });
            self.append(at, Some(first), most, None);
            done += most;
        }
    }

    fn unmap(&mut self, lpa: Lpa, len: u32) {
        let mut done = 0;
        while done < len {
            let at = lpa.offset(done);
            let units = (len - done).min(32).min(1024 - at.slot() as u32);
            self.append(at, None, units, None);
            done += units;
        }
    }

    /// True if this command can be answered now.
    fn answerable(&self, op: &Op) -> bool {
        let changes = matches!(op, Op::Write { .. } | Op::Unmap { .. });
        !changes || self.log.len() < self.nature.log_entries
    }

    /// Answers one command that `wanted` accepts, if one can be answered.
    pub fn answer(&mut self, wanted: impl Fn(&Op) -> bool) -> Option<(Op, Response)> {
        let possible: Vec<usize> = (0..self.arrived.len())
            .filter(|&i| wanted(&self.arrived[i].0.op) && self.answerable(&self.arrived[i].0.op))
            .collect();
        if possible.is_empty() {
            return None;
        }
        let index = possible[self.random.below(possible.len() as u32) as usize];
        let (command, fixed) = self.arrived.remove(index);
        let (status, data) = self.execute(&command, fixed);
        let hpb = self.hpb_notice(&command.op);
        let piggyback = if self.logs && self.random.percent(80) { self.piggyback() } else { PiggyBack::default() };
        Some((command.op, Response { tag: command.tag, status, data, hpb, piggyback }))
    }

    fn execute(&mut self, command: &Command, fixed: Option<DataIn>) -> (Status, DataIn) {
        let data = match command.op {
            Op::Read { lpa, len } => self.flash.contents(lpa, len),
            Op::HpbRead { lpa, len, entry } => {
                assert_eq!((entry >> 32) as u32, lpa.0, "that is the entry of another page");
                self.flash.contents(lpa, len)
            }
            Op::Write { lpa, len, .. } => {
                let DataOut::Stamp(stamp) = command.data else { panic!("a write without data") };
                self.write(lpa, len, stamp);
                DataIn::None
            }
            Op::Unmap { lpa, len } => {
                self.unmap(lpa, len);
                DataIn::None
            }
            Op::HpbReadBuffer { group } => {
                let first = group * self.info.hpb_group_entries;
                let lpas = first..(first + self.info.hpb_group_entries).min(self.info.capacity_units);
                DataIn::Sealed(lpas.map(|lpa| self.sealed(Lpa(lpa))).collect())
            }
            Op::HpbInactivate { .. } => DataIn::None,
            Op::SegmentRead { .. } if self.random.percent(self.nature.fail) => {
                return (Status::UnrecoveredRead, DataIn::None);
            }
            Op::SegmentRead { segment } => {
                let start = segment.index() * 1024;
                let image: [u32; 1024] = self.stored[start..start + 1024].try_into().expect("1024 entries");
                DataIn::Segment(Box::new(image).into())
            }
            Op::EntriesAgain => panic!("no response was lost, so nothing is asked for again"),
            Op::EntryTransfer => {
                let fresh = self.log.iter_mut().filter(|(_, delivered)| !delivered);
                DataIn::Entries(
                    fresh
                        .map(|(entry, delivered)| {
                            *delivered = true;
                            *entry
                        })
                        .collect(),
                )
            }
            Op::SegmentWrite { .. } | Op::ValidBitmap { .. } if fixed.is_some() => {
                return (Status::InvalidField, DataIn::None);
            }
            Op::MappedRead { .. } => fixed.expect("reads are resolved on arrival"),
            Op::SegmentWrite { .. } | Op::ValidBitmap { .. } | Op::Flush => DataIn::None,
            Op::CacheQuery if self.random.percent(50) => {
                let lpa = Lpa(self.random.below(self.info.capacity_units - 100));
                DataIn::Runs(vec![LpaRun { lpa, len: 100 }])
            }
            Op::CacheQuery => return (Status::InvalidField, DataIn::None),
            Op::BatchNotice { requests, .. } => {
                let DataOut::Runs(runs) = &command.data else { panic!("a notice without runs") };
                assert!((1..=requests as usize).contains(&runs.len()), "{requests} requests make {runs:?}");
                assert!(runs.iter().all(|run| run.end().0 <= self.info.capacity_units), "{runs:?}");
                DataIn::None
            }
        };
        (Status::Good, data)
    }

    fn sealed(&self, lpa: Lpa) -> u64 {
        match self.flash.map[lpa.index()] {
            0 => 0,
            raw => u64::from(lpa.0) << 32 | u64::from(raw),
        }
    }

    fn hpb_notice(&mut self, op: &Op) -> HpbNotice {
        let &Op::Write { lpa, .. } = op else { return HpbNotice::None };
        if self.random.percent(50) {
            return HpbNotice::Entry { lpa, entry: self.sealed(lpa) };
        }
        HpbNotice::DirtyGroup(lpa.0 / self.info.hpb_group_entries)
    }

    fn piggyback(&mut self) -> PiggyBack {
        let hints = self.nature.hints;
        let fresh: Vec<usize> = (0..self.log.len()).filter(|&i| !self.log[i].1).collect();
        let notice = match self.random.below(20) {
            0 if self.random.percent(hints) => Notice::BitmapOf(Superblock(self.random.below(self.info.superblocks))),
            1..=3 if self.random.percent(hints) => {
                Notice::WriteSegment(SegmentId(self.random.below(self.info.segments())))
            }
            4 if !self.log.is_empty() => {
                let again = self.random.below(self.log.len() as u32) as usize;
                self.log[again].1 = true;
                Notice::Entry(self.log[again].0)
            }
            _ if !fresh.is_empty() => {
                let next = self.random.below(self.nature.window.min(fresh.len() as u32)) as usize;
                self.log[fresh[next]].1 = true;
                Notice::Entry(self.log[fresh[next]].0)
            }
            _ => Notice::None,
        };
        PiggyBack {
            notice,
            want_entries: fresh.len() > 24,
            want_victim: self.random.percent(hints),
            works_when_idle: false,
        }
    }

    pub fn in_flight(&self) -> (usize, usize) {
        let users = self.arrived.iter().filter(|(command, _)| command.op.is_user()).count();
        (users, self.arrived.len() - users)
    }

    /// Stops hints: from now on the device starts nothing by itself.
    pub fn stop_hints(&mut self) {
        self.nature.hints = 0;
    }

    pub fn settled(&self) -> bool {
        self.arrived.is_empty() && self.log.is_empty() && self.copies.is_empty()
    }

    /// Compares everything that the host has with the truth, after the host has applied every change.
    pub fn check_host(&self, driver: &Driver) {
        assert!(self.settled(), "the host has not heard of every change yet");
        for lpa in 0..self.info.capacity_units {
            let host = driver.mapping(Lpa(lpa)).map_or(self.stored[lpa as usize], Ppa::pack);
            assert_eq!(host, self.flash.map[lpa as usize], "what the host knows of LPA {lpa}");
        }
        for block in (0..self.info.superblocks).map(Superblock) {
            let kept = driver.validity(block).expect("this booster keeps counts");
            assert_eq!(kept.valid, self.flash.valid_in(&self.flash.map, block), "count of {block}");
            assert_eq!(kept.bitmap, self.flash.bitmap(&self.flash.map, block), "bitmap of {block}");
            assert!(kept.valid > 0 || !self.flash.is_closed(block), "{block} has leaked");
        }
    }

    /// True if a copy can be made: the log must have room for its entry.
    pub fn can_copy(&self) -> bool {
        !self.copies.is_empty() && self.log.len() < self.nature.log_entries
    }
}
