//! Rebuilding the mapping after a power cut, from flash alone (HP-UFS Sec. III-G).
//!
//! 1. *Directory*. The first page of every metadata superblock tells their order. The newest whole snapshot gives the
//!    places of all pieces; the superblock before it and all from it on are scanned for what was written since.
//! 2. *Record and journal*: the log blocks, and trims.
//! 3. *Scan*: the spare areas of the log blocks, each in programming order up to its first blank page.
//! 4. *Update*: segments with changes that they lack are read, changed, and written, as many at a time as fit SRAM.
//!
//! # Which page of an address is the right one
//! Live, a copy by GC is checked against the block that it came from. After a power cut that cannot work: the entry that
//! made the block the current one may be lost with the host's memory, and the block erased. So every page carries the
//! *version* of its content, the number of the write that made it, and copies keep it. The page with the highest version
//! is right, and of several copies the last. A segment on flash with number `s` holds every change up to `s`, so a page
//! numbered above `s` decides by its version `v`:
//! - `v > s`: the segment has never seen this content. The page is right.
//! - `v <= s`: a copy of content that the segment had seen, or had seen replaced. It is right if the page that the
//!   segment names has the same version or is no more; that page is read.
//!
//! A trim numbered `t` ends every version below `t`.

use std::collections::{BTreeMap, VecDeque};

use nand::{Cause, Done, Priority, Sensed, Work};
use ufs::SegmentImage;
use units::{Lpa, Ppa, SEGMENT_ENTRIES, SegmentId, Seq, SimTime, Superblock, UNIT_BYTES};

use super::power::{Part, add_time};
use super::{Firmware, META_RESERVE};
use crate::batch::Batch;
use crate::config::Sabotage;
use crate::core::{Core, DeviceEvent};
use crate::mapping::{Mapping, Table};
use crate::meta::{JOURNAL_PAGES, Piece, Rebuilt};
use crate::ops::{Errand, Purpose};
use crate::pages::TrimRecord;
use crate::sram::Owner;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Phase {
    FirstPages,
    Snapshot,
    Metadata,
    /// A free superblock for the metadata to come.
    Room,
    /// The snapshot there.
    Opened,
    Records,
    Scan,
    /// The segments of the next batch.
    Segments,
    /// Pages that these name, where a copy by GC competes.
    Bases,
    /// The processor changes them.
    Changing,
    Written,
    /// Metadata superblocks ran short meanwhile.
    Collecting,
    Count,
    LastRecord,
}

/// What the first pages of a metadata superblock, one per die, have shown.
#[derive(Clone, Copy, Debug)]
struct FirstPages {
    sb: Superblock,
    blank: bool,
    /// Lowest stamp that could be read.
    stamp: Option<u32>,
}

/// A page of a log block.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Found {
    lpa: Lpa,
    version: u32,
    seq: u32,
    ppa: Ppa,
}

/// Row by row through superblocks, each die up to its first blank page.
#[derive(Debug, Default)]
struct Scanner {
    blocks: VecDeque<Superblock>,
    offset: u32,
    /// Dies of the first block that have shown a blank page.
    ended: Vec<bool>,
}

impl Scanner {
    fn new(blocks: impl IntoIterator<Item = Superblock>) -> Scanner {
        Scanner { blocks: blocks.into_iter().collect(), ..Scanner::default() }
    }

    fn next_row(&mut self, core: &Core) -> Option<Ppa> {
        let (row, total) = (core.layout.row_units(), core.layout.superblock_units());
        let dies = core.layout.geometry().dies();
        loop {
            let &sb = self.blocks.front()?;
            self.ended.resize(dies as usize, false);
            if self.offset == total || self.ended.iter().all(|&ended| ended) {
                self.blocks.pop_front();
                self.ended.fill(false);
                self.offset = 0;
                continue;
            }
            let die = (self.offset / row % dies) as usize;
            self.offset += row;
            if !self.ended[die] {
                return Some(core.layout.first_ppa(sb).offset(self.offset - row));
            }
        }
    }

    fn saw_blank(&mut self, core: &Core, ppa: Ppa) {
        if self.blocks.front() == Some(&core.superblock_of(ppa)) {
            self.ended[core.layout.geometry().die_of(ppa) as usize] = true;
        }
    }
}

/// State of a recovery.
#[derive(Debug)]
pub struct Recovery {
    phase: Phase,
    part_began: SimTime,
    reads: VecDeque<(Ppa, u32)>,
    scanner: Scanner,
    firsts: Vec<FirstPages>,
    /// Snapshots to try, newest first: positions in `firsts`.
    snapshots: VecDeque<usize>,
    whole: bool,
    /// Metadata superblocks that may have been opened since the snapshot was written.
    next: Vec<Superblock>,
    rebuilt: Rebuilt,
    /// Newest stamp of every piece found by scanning.
    newest: BTreeMap<u32, (u32, Ppa)>,
    found: Vec<Found>,
    trims: Vec<TrimRecord>,
    last_seq: Seq,
    /// Segments to be worked on, and those of the batch.
    todo: VecDeque<SegmentId>,
    now: Vec<SegmentId>,
    /// What the pages named by these segments hold: address and version.
    bases: BTreeMap<Ppa, Option<(Lpa, u32)>>,
    busy_until: SimTime,
    /// Segments being written.
    pub batch: Batch,
}

impl Recovery {
    /// About to begin.
    pub fn new(core: &Core) -> Recovery {
        let geometry = *core.layout.geometry();
        let row = core.layout.row_units();
        let metadata = geometry.data_superblocks..geometry.superblocks();
        let firsts = metadata.map(|sb| FirstPages { sb: Superblock(sb), blank: true, stamp: None });
        let firsts: Vec<FirstPages> = firsts.collect();
        let reads = firsts.iter().flat_map(|f| {
            let first = core.layout.first_ppa(f.sb);
            (0..geometry.dies()).map(move |die| (first.offset(die * row), 1))
        });
        Recovery {
            phase: Phase::FirstPages,
            part_began: core.now,
            reads: reads.collect(),
            scanner: Scanner::default(),
            firsts,
            snapshots: VecDeque::new(),
            whole: true,
            next: Vec::new(),
            rebuilt: Rebuilt::default(),
            newest: BTreeMap::new(),
            found: Vec::new(),
            trims: Vec::new(),
            last_seq: Seq(0),
            todo: VecDeque::new(),
            now: Vec::new(),
            bases: BTreeMap::new(),
            busy_until: core.now,
            batch: Batch::default(),
        }
    }

    /// Superblocks in the order in which they were filled, as far as anything in them can be read.
    fn by_age(&self) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.firsts.len()).filter(|&i| self.firsts[i].stamp.is_some()).collect();
        order.sort_unstable_by_key(|&i| self.firsts[i].stamp);
        order
    }

    /// One unit that a read has shown.
    fn saw(&mut self, core: &Core, ppa: Ppa, sensed: Sensed, seq: Seq) {
        match self.phase {
            Phase::FirstPages => {
                let first = core.layout.geometry().data_superblocks;
                let entry = &mut self.firsts[(core.superblock_of(ppa).0 - first) as usize];
                entry.blank &= sensed == Sensed::Blank;
                if let Sensed::Unit(spare) = sensed {
                    entry.stamp = Some(entry.stamp.map_or(spare.stamp, |s| s.min(spare.stamp)));
                }
            }
            Phase::Snapshot => {
                let at = ppa.0 - core.layout.first_ppa(core.superblock_of(ppa)).0;
                let expected = core.meta.snapshot_mark(at);
                self.whole &= matches!(sensed, Sensed::Unit(spare) if spare.lpa == expected);
            }
            Phase::Metadata => self.saw_metadata(core, ppa, sensed),
            Phase::Scan => self.saw_data(core, ppa, sensed, seq),
            Phase::Bases => {
                let content = match sensed {
                    Sensed::Unit(spare) => Some((Lpa(spare.lpa), spare.version)),
                    _ => None,
                };
                self.bases.insert(ppa, content);
            }
            _ => {}
        }
    }

    fn saw_metadata(&mut self, core: &Core, ppa: Ppa, sensed: Sensed) {
        match sensed {
            Sensed::Blank => self.scanner.saw_blank(core, ppa),
            Sensed::Unit(spare) => {
                self.rebuilt.stamp = self.rebuilt.stamp.max(spare.stamp);
                let newest = self.newest.entry(spare.lpa).or_insert((spare.stamp, ppa));
                if spare.lpa < core.meta.pieces() && spare.stamp >= newest.0 {
                    *newest = (spare.stamp, ppa);
                }
            }
            Sensed::Padding | Sensed::Unreadable => {}
        }
    }

    fn saw_data(&mut self, core: &Core, ppa: Ppa, sensed: Sensed, seq: Seq) {
        match sensed {
            Sensed::Blank => self.scanner.saw_blank(core, ppa),
            Sensed::Unit(spare) if spare.lpa < core.cfg.capacity_units => {
                self.last_seq = self.last_seq.max(seq);
                let seq = seq.0 as u32;
                self.found.push(Found { lpa: Lpa(spare.lpa), version: spare.version, seq, ppa });
            }
            _ => {}
        }
    }

    /// The pages of a segment that have come up, the right one of each address last.
    fn candidates(&self, segment: SegmentId) -> &[Found] {
        let first = self.found.partition_point(|f| f.lpa.segment() < segment);
        let last = self.found.partition_point(|f| f.lpa.segment() <= segment);
        &self.found[first..last]
    }

    /// The trims of a segment that it lacks.
    fn trims_of(&self, segment: SegmentId, on_flash: Seq) -> impl Iterator<Item = TrimRecord> {
        let (first, last) = (segment.0 * SEGMENT_ENTRIES, (segment.0 + 1) * SEGMENT_ENTRIES);
        let meets = move |r: &&TrimRecord| r.lpa.0 < last && r.lpa.0 + r.len > first;
        self.trims.iter().filter(meets).copied().filter(move |r| r.seq.plus(r.len - 1) > on_flash)
    }

    /// The best page of each address of a segment, if it is one that the segment has not seen.
    fn news(&self, segment: SegmentId, on_flash: Seq) -> impl Iterator<Item = Found> {
        let pages = self.candidates(segment);
        let best = pages.iter().enumerate().filter(|(i, f)| pages.get(i + 1).is_none_or(|next| next.lpa != f.lpa));
        best.map(|(_, f)| *f).filter(move |f| u64::from(f.seq) > on_flash.0)
    }

    /// The segment as it should be.
    fn corrected(&self, core: &Core, segment: SegmentId) -> Box<SegmentImage> {
        let on_flash = core.meta.pages.seq(segment);
        let mut image = core.meta.pages.segment(segment);
        let mut trimmed = [0u64; SEGMENT_ENTRIES as usize];
        for trim in self.trims_of(segment, on_flash) {
            for i in 0..trim.len {
                let (lpa, seq) = (trim.lpa.offset(i), trim.seq.plus(i));
                if lpa.segment() == segment && seq > on_flash {
                    trimmed[lpa.slot()] = trimmed[lpa.slot()].max(seq.0);
                }
            }
        }
        for page in self.news(segment, on_flash) {
            let slot = page.lpa.slot();
            if u64::from(page.version) > trimmed[slot] {
                trimmed[slot] = 0;
                if self.wins(&page, on_flash, Ppa::unpack(image[slot])) {
                    image[slot] = Ppa::pack(Some(page.ppa));
                }
            }
        }
        for (entry, _) in image.iter_mut().zip(trimmed).filter(|(_, trim)| *trim > 0) {
            *entry = 0;
        }
        image
    }

    /// Is the page right rather than the one that the segment names?
    fn wins(&self, page: &Found, on_flash: Seq, base: Option<Ppa>) -> bool {
        if u64::from(page.version) > on_flash.0 {
            return true;
        }
        let Some(base) = base else { return false };
        match self.bases.get(&base).copied().flatten() {
            Some((lpa, version)) if lpa == page.lpa => version <= page.version,
            _ => true,
        }
    }
}

impl<M: Mapping> Firmware<M> {
    fn rec(&mut self) -> &mut Recovery {
        self.recovery.as_mut().expect("a recovery is under way")
    }

    /// Submits reads while there are buffers. True if any is in flight.
    fn recovery_reads(&mut self) -> bool {
        let row = self.core.layout.row_units();
        let recovery = self.recovery.as_mut().expect("a recovery is under way");
        while self.core.sram.available(Owner::Map) >= row as u16 {
            let next = recovery.reads.pop_front().or_else(|| Some((recovery.scanner.next_row(&self.core)?, row)));
            let Some((ppa, units)) = next else { break };
            let taken = self.core.sram.take(Owner::Map, units as u16);
            assert!(taken, "asked just now");
            self.core.job_ops += 1;
            let work = Work::Read { ppa, units };
            self.core.submit(work, Priority::MapRead, Cause::Recovery, Purpose::Recover { n: units });
        }
        self.core.job_ops > 0
    }

    pub(super) fn recover_read_done(&mut self, done: &Done, n: u32) {
        self.core.job_ops -= 1;
        self.core.sram.give(Owner::Map, n as u16);
        let Work::Read { ppa, .. } = done.work else { return };
        let recovery = self.recovery.as_mut().expect("a recovery is under way");
        if recovery.phase == Phase::Scan {
            self.core.stats.recovery_units_scanned += u64::from(n);
        }
        for i in 0..n {
            let seq = self.core.nand.unit_seq(done, i);
            recovery.saw(&self.core, ppa.offset(i), self.core.nand.sensed(done, i), seq);
        }
    }

    /// Goes on with a recovery, called when none of its operations is in flight. True when it is finished.
    pub(super) fn advance_recovery(&mut self) -> bool {
        loop {
            let busy_until = self.rec().busy_until;
            if self.recovery_reads() || self.core.now < busy_until {
                return false;
            }
            match self.rec().phase {
                Phase::FirstPages => self.order_metadata(),
                Phase::Snapshot => self.choose_snapshot(),
                Phase::Metadata => self.directory_done(),
                Phase::Room => self.make_room(),
                Phase::Opened => {
                    if self.core.programs > 0 {
                        return false;
                    }
                    self.read_records();
                }
                Phase::Records => self.begin_scan(),
                Phase::Scan => self.plan_update(),
                Phase::Segments => self.read_bases(),
                Phase::Bases => self.begin_change(),
                Phase::Changing => self.write_segments(),
                Phase::Written => self.batch_done(),
                Phase::Collecting => {
                    if !self.advance_meta_gc() {
                        return false;
                    }
                    self.next_batch();
                }
                Phase::Count => self.write_last_record(),
                Phase::LastRecord => {
                    if self.core.programs > 0 {
                        return false;
                    }
                    self.ready();
                    return true;
                }
            }
        }
    }

    /// A part of the recovery is over.
    fn part_done(&mut self, part: Part) {
        let now = self.core.now;
        let began = std::mem::replace(&mut self.rec().part_began, now);
        add_time(&mut self.core.stats, part, (now - began).0);
    }

    fn order_metadata(&mut self) {
        let recovery = self.rec();
        recovery.snapshots = recovery.by_age().into_iter().rev().collect();
        recovery.phase = Phase::Snapshot;
        self.read_snapshot();
    }

    /// Reads the snapshot at the beginning of the newest superblock that is left to try.
    fn read_snapshot(&mut self) {
        let row = self.core.layout.row_units();
        let units = self.core.meta.snapshot_units();
        let recovery = self.recovery.as_mut().expect("a recovery is under way");
        recovery.whole = true;
        let Some(&newest) = recovery.snapshots.front() else { return };
        let first = self.core.layout.first_ppa(recovery.firsts[newest].sb);
        recovery.reads = (0..units).step_by(row as usize).map(|i| (first.offset(i), row.min(units - i))).collect();
    }

    fn choose_snapshot(&mut self) {
        if !self.rec().whole {
            self.rec().snapshots.pop_front();
            self.read_snapshot();
            return;
        }
        let recovery = self.recovery.as_mut().expect("a recovery is under way");
        let order = recovery.by_age();
        let chosen = recovery.snapshots.front().copied();
        let from = order.iter().position(|&i| Some(i) == chosen).unwrap_or(0).saturating_sub(1);
        recovery.scanner = Scanner::new(order[from..].iter().map(|&i| recovery.firsts[i].sb));
        recovery.rebuilt.place = match chosen {
            Some(i) => {
                let snapshot = self.core.meta.pages.snapshot(recovery.firsts[i].sb);
                snapshot.expect("what was read whole was written").place.clone()
            }
            None => vec![0; self.core.meta.pieces() as usize],
        };
        recovery.phase = Phase::Metadata;
    }

    fn directory_done(&mut self) {
        let pieces = self.core.meta.pieces();
        let recovery = self.recovery.as_mut().expect("a recovery is under way");
        let mut rebuilt = std::mem::take(&mut recovery.rebuilt);
        for (&piece, &(_, ppa)) in &recovery.newest {
            if piece < pieces {
                rebuilt.place[piece as usize] = Ppa::pack(Some(ppa));
            }
        }
        let chosen = recovery.snapshots.front().map(|&i| recovery.firsts[i].sb);
        let snapshot = chosen.and_then(|sb| self.core.meta.pages.snapshot(sb));
        let first_two = || recovery.firsts.iter().take(2).map(|f| f.sb).collect();
        recovery.next = snapshot.map_or_else(first_two, |s| s.next.clone());
        for first in &recovery.firsts {
            let list = if first.blank { &mut rebuilt.free } else { &mut rebuilt.used };
            list.push(first.sb);
        }
        self.core.meta.restore(rebuilt);
        self.rec().phase = Phase::Room;

        // Whatever was opened after the snapshot is one of these. Its first program may have lost power so early that
        // it looks erased, so it is erased for good, and opened again: then the next recovery knows it too.
        let mut next = std::mem::take(&mut self.rec().next);
        next.retain(|&sb| self.core.meta.take_next(sb));
        if next.is_empty() {
            next.extend(self.core.meta.take_any(chosen));
        }
        for &sb in &next {
            self.core.job_ops += 1;
            self.core.erase(sb);
        }
        self.rec().next = next;
    }

    /// From here on metadata is written. The snapshot that was found lasts until the next one is whole, for nothing is
    /// collected before.
    fn make_room(&mut self) {
        let next = std::mem::take(&mut self.rec().next);
        self.core.meta.free_first(&next);
        self.core.open_meta();
        self.rec().phase = Phase::Opened;
    }

    fn read_records(&mut self) {
        let meta = &self.core.meta;
        let journal = (0..JOURNAL_PAGES as usize).map(|page| meta.journal_piece(page));
        let pieces = meta.record_pieces(0).into_iter().chain(meta.record_pieces(1)).chain(journal);
        let reads = pieces.filter_map(|piece| Some((meta.place(piece)?, 1))).collect();
        self.rec().reads = reads;
        self.rec().phase = Phase::Records;
    }

    fn begin_scan(&mut self) {
        let on_flash = |piece: Piece| self.core.meta.place(piece).is_some();
        let whole = |slot: &usize| self.core.meta.record_pieces(*slot).into_iter().all(on_flash);
        let records = &self.core.meta.pages.records;
        let record = (0..2).filter(whole).map(|slot| &records[slot]).max_by_key(|r| r.number).cloned();
        let record = record.unwrap_or_default();
        let mut trims = Vec::new();
        for page in 0..JOURNAL_PAGES as usize {
            if on_flash(self.core.meta.journal_piece(page)) {
                let journaled = &self.core.meta.pages.journal[page];
                self.core.trims.restore(page, journaled);
                trims.extend_from_slice(journaled);
            }
        }
        self.core.records.resume(record.number);
        let all = (0..self.core.blocks.count()).map(Superblock);
        let scanned: Vec<Superblock> = match M::TABLE {
            Table::Dram => all.filter(|&sb| record.number > 0 && !record.is_free(sb)).collect(),
            _ => record.log_blocks.clone(),
        };
        if record.number > 0 {
            let nand = &self.core.nand;
            self.core.blocks.restore(|sb| record.is_free(sb), |sb| nand.erase_count(sb));
        }
        let recovery = self.rec();
        recovery.last_seq = trims.iter().map(|r| r.seq.plus(r.len - 1)).max().unwrap_or(Seq(0));
        recovery.trims = trims;
        recovery.scanner = Scanner::new(scanned);
        recovery.phase = Phase::Scan;
        self.part_done(Part::Directory);
    }

    /// Everything that recovery has to know of is in SRAM: which segments does it concern?
    fn plan_update(&mut self) {
        self.part_done(Part::Scan);
        let segments = self.core.cfg.capacity_units.div_ceil(SEGMENT_ENTRIES);
        let recovery = self.recovery.as_mut().expect("a recovery is under way");
        recovery.found.sort_unstable();
        if self.core.sabotaged(Sabotage::LastPageWins) {
            recovery.found.sort_unstable_by_key(|f| (f.lpa, f.seq));
        }
        let pages = &self.core.meta.pages;
        let newest = (0..segments).map(|s| pages.seq(SegmentId(s))).max().unwrap_or(Seq(0));
        recovery.last_seq = recovery.last_seq.max(newest);
        let concerns = |segment: &SegmentId| {
            let on_flash = pages.seq(*segment);
            let changed = recovery.news(*segment, on_flash).next().is_some()
                || recovery.trims_of(*segment, on_flash).next().is_some();
            changed || M::TABLE == Table::Dram && pages.image(*segment).is_some()
        };
        recovery.todo = (0..segments).map(SegmentId).filter(concerns).collect();
        if M::TABLE == Table::Dram {
            self.core.rebuilt = vec![0; self.core.cfg.capacity_units as usize];
        }
        self.core.resume_seq(self.recovery.as_ref().expect("as above").last_seq);
        self.next_batch();
    }

    /// Reads the next segments, as many as fit SRAM beside what the scan has found, at 16 bytes per page. Where that
    /// alone is too much, as for a table in DRAM, they are few.
    fn next_batch(&mut self) {
        let recovery = self.recovery.as_mut().expect("a recovery is under way");
        if self.core.meta.free() <= META_RESERVE && M::TABLE != Table::Dram && !recovery.todo.is_empty() {
            recovery.phase = Phase::Collecting;
            self.begin_meta_gc();
            return;
        }
        let taken = (16 * recovery.found.len()).div_ceil(UNIT_BYTES as usize) + self.core.layout.row_units() as usize;
        let room = usize::from(self.core.sram.available(Owner::Map)).saturating_sub(taken);
        let n = recovery.todo.len().min(room.max(8));
        recovery.now = recovery.todo.drain(..n).collect();
        if recovery.now.is_empty() {
            self.begin_count();
            return;
        }
        let meta = &self.core.meta;
        let places = recovery.now.iter().filter_map(|&segment| meta.place(meta.segment_piece(segment)));
        recovery.reads = places.map(|ppa| (ppa, 1)).collect();
        recovery.phase = Phase::Segments;
    }

    /// Where a copy by GC competes with the page that the segment names, that page is read.
    fn read_bases(&mut self) {
        self.part_done(Part::SegmentRead);
        let core = &self.core;
        let recovery = self.recovery.as_mut().expect("a recovery is under way");
        let mut reads = Vec::new();
        for &segment in &recovery.now {
            let on_flash = core.meta.pages.seq(segment);
            let seen = recovery.news(segment, on_flash).filter(|page| u64::from(page.version) <= on_flash.0);
            reads.extend(seen.filter_map(|page| core.meta.pages.entry(page.lpa)).filter(|&ppa| core.is_data(ppa, 1)));
        }
        recovery.bases.clear();
        recovery.reads = reads.into_iter().map(|ppa| (ppa, 1)).collect();
        recovery.phase = Phase::Bases;
    }

    /// The processor goes over a segment in the time that it takes for a command.
    fn begin_change(&mut self) {
        let cost = self.core.cfg.command_cost.0;
        let recovery = self.recovery.as_mut().expect("a recovery is under way");
        recovery.busy_until = self.core.now + units::Nanos(cost * recovery.now.len() as u64);
        recovery.phase = Phase::Changing;
        self.core.effects.wakes.push((recovery.busy_until, DeviceEvent::Firmware));
    }

    fn write_segments(&mut self) {
        self.part_done(Part::Update);
        let recovery = self.recovery.as_mut().expect("a recovery is under way");
        let core = &self.core;
        let segments = std::mem::take(&mut recovery.now);
        let images = segments.into_iter().map(|segment| (segment, recovery.corrected(core, segment)));
        let images: Vec<(SegmentId, Box<SegmentImage>)> = images.collect();
        recovery.phase = Phase::Written;
        if M::TABLE == Table::Dram {
            for (segment, image) in images {
                let first = segment.0 as usize * SEGMENT_ENTRIES as usize;
                let last = self.core.rebuilt.len().min(first + SEGMENT_ENTRIES as usize);
                self.core.rebuilt[first..last].copy_from_slice(&image[..last - first]);
            }
            return;
        }
        self.core.stats.recovery_segments += images.len() as u64;
        if self.core.sabotaged(Sabotage::ForgetRecovered) {
            return;
        }
        recovery.batch.write(&mut self.core, images, recovery.last_seq);
    }

    fn batch_done(&mut self) {
        self.part_done(Part::SegmentWrite);
        let recovery = self.recovery.as_mut().expect("a recovery is under way");
        recovery.batch.finish(&mut self.core, &[]);
        self.next_batch();
    }

    fn begin_count(&mut self) {
        let segments = self.core.cfg.capacity_units.div_ceil(SEGMENT_ENTRIES);
        let meta = &self.core.meta;
        let places = (0..segments).filter_map(|s| meta.place(meta.segment_piece(SegmentId(s))));
        let reads = match M::TABLE {
            Table::CountedSegments => places.map(|ppa| (ppa, 1)).collect(),
            _ => VecDeque::new(),
        };
        self.rec().reads = reads;
        self.rec().phase = Phase::Count;
    }

    /// All changes are in segments: there are no log blocks any more.
    fn write_last_record(&mut self) {
        self.part_done(Part::Count);
        let slot = self.core.records.begin(None, Vec::new(), self.core.blocks.free_bits());
        self.core.program_record(slot, Errand::Job);
        if M::TABLE != Table::Dram {
            let covered = self.core.next_seq();
            self.core.trims_covered(covered);
        }
        self.rec().phase = Phase::LastRecord;
    }

    fn ready(&mut self) {
        self.part_done(Part::Directory);
        self.map = M::restored(&mut self.core);
        self.recovery = None;
    }
}
