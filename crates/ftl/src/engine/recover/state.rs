//! State of a recovery: results so far, and remaining work.

use std::collections::{BTreeMap, VecDeque};

use nand::{Sensed, Spare};
use units::{Lpa, MapUnit, Ppa, Seq, SimTime, Superblock};

use super::evidence::Evidence;
use super::scanner::Scanner;
use crate::core::Core;
use crate::knowledge::meta::{Kind, Rebuilt};
use crate::knowledge::{PiecesRead, Round};
use crate::parts::unit_writes::UnitWrites;
use crate::sabotage::Sabotage;
use crate::table::directory::Piece;

/// Steps of a recovery, in order.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Phase {
    FirstPages,
    /// A superblock is searched for snapshots, where these need not lie at its start.
    Seek,
    Snapshot,
    Metadata,
    /// A free superblock is sought for the metadata to come.
    Room,
    /// The snapshot in that superblock is being programmed.
    Opened,
    Records,
    Scan,
    /// The segments of the next round are being read.
    Segments,
    /// The pages that these segments name are being read, where a copy by GC competes.
    Bases,
    /// The processor changes the segments.
    Changing,
    Written,
    NextRound,
    /// Metadata superblocks are short and are being collected.
    Collecting,
    Count,
    /// The segment bitmaps of the superblocks that were scanned are being programmed.
    Bitmaps,
    LastRecord,
}

/// Result of reading the first pages of a metadata superblock, one per die.
#[derive(Clone, Copy, Hash, Debug)]
pub(super) struct FirstPages {
    pub(super) sb: Superblock,
    pub(super) blank: bool,
    /// Lowest stamp that could be read.
    pub(super) stamp: Option<u32>,
}

/// State of a recovery.
#[cfg_attr(feature = "explore", derive(Clone, Hash))]
#[derive(Debug)]
pub struct Recovery {
    pub(super) phase: Phase,
    pub(super) after_collecting: Phase,
    pub(super) part_began: SimTime,
    pub(super) reads: VecDeque<(Ppa, u32)>,
    pub(super) scanner: Scanner,
    pub(super) firsts: Vec<FirstPages>,
    /// First units of snapshots to try, newest first.
    pub(super) snapshots: VecDeque<Ppa>,
    /// Superblocks to search for older ones, the newest first.
    pub(super) unsought: VecDeque<Superblock>,
    /// Stamps and first units of the snapshots found by the search.
    pub(super) sought: Vec<(u32, Ppa)>,
    pub(super) whole: bool,
    /// With [`Sabotage::StaleSnapshot`], the newest snapshot, which is not taken.
    pub(super) newest_snapshot: Option<Ppa>,
    /// Stamp of the first unit of the snapshot that is being read, as soon as any unit tells it.
    pub(super) snapshot_stamp: Option<u32>,
    /// Superblocks of unknown age, and the lowest stamp in them that counts.
    pub(super) ageless: Vec<Superblock>,
    pub(super) since: u32,
    /// Metadata superblocks that may have been opened since the snapshot was written.
    pub(super) next: Vec<Superblock>,
    pub(super) rebuilt: Rebuilt,
    /// Newest stamp and its place, for every piece found by scanning.
    pub(super) newest: BTreeMap<u32, (u32, Ppa)>,
    /// For a map unit of several flash units: the first unit, and the number of units that have been read in a row.
    pub(super) begun: (Ppa, u32),
    /// Mark and stamp of the first unit.
    pub(super) begun_with: (u32, u32),
    /// Data superblocks whose spare areas are scanned.
    pub(super) scanned: Vec<Superblock>,
    pub(super) evidence: Evidence,
    /// Completed metadata reads of the present phase.
    pub(super) read: PiecesRead,
    /// Segments to update, and those of the present round.
    pub(super) todo: VecDeque<MapUnit>,
    pub(super) now: Round,
    pub(super) busy_until: SimTime,
    /// Segments being written.
    pub writes: UnitWrites,
}

impl Recovery {
    /// State at the start.
    pub fn new(core: &Core) -> Recovery {
        let geometry = *core.layout.geometry();
        let row = core.layout.row_units();
        let metadata = geometry.data_superblocks..geometry.superblocks();
        let firsts = metadata.map(|sb| FirstPages { sb: Superblock(sb), blank: true, stamp: None });
        let firsts: Vec<FirstPages> = firsts.collect();
        let reads = firsts.iter().flat_map(|f| {
            let first = core.layout.first_ppa(f.sb);
            (0..geometry.superblock_dies).map(move |die| (first.offset(die * row), 1))
        });
        Recovery {
            phase: Phase::FirstPages,
            after_collecting: Phase::FirstPages,
            part_began: core.now,
            reads: reads.collect(),
            scanner: Scanner::default(),
            firsts,
            snapshots: VecDeque::new(),
            unsought: VecDeque::new(),
            sought: Vec::new(),
            whole: true,
            newest_snapshot: None,
            snapshot_stamp: None,
            ageless: Vec::new(),
            since: 0,
            next: Vec::new(),
            rebuilt: Rebuilt::default(),
            newest: BTreeMap::new(),
            begun: (Ppa(0), 0),
            begun_with: (0, 0),
            scanned: Vec::new(),
            evidence: Evidence::default(),
            read: PiecesRead::default(),
            todo: VecDeque::new(),
            now: Round::default(),
            busy_until: core.now,
            writes: UnitWrites::default(),
        }
    }

    /// Superblocks in the order in which they were filled. Those of which nothing can be read are left out.
    pub(super) fn by_age(&self) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.firsts.len()).filter(|&i| self.firsts[i].stamp.is_some()).collect();
        order.sort_unstable_by_key(|&i| self.firsts[i].stamp);
        order
    }

    /// Superblocks that are not erased, but whose first pages cannot be read. Either their erase was interrupted, or
    /// they were given up because the snapshot could not be programmed; then pieces may follow it.
    pub(super) fn ageless(&self) -> Vec<Superblock> {
        self.firsts.iter().filter(|f| !f.blank && f.stamp.is_none()).map(|f| f.sb).collect()
    }

    /// Takes in one unit that was read.
    pub(super) fn add_unit(&mut self, core: &Core, ppa: Ppa, sensed: Sensed, seq: Seq) {
        match self.phase {
            Phase::FirstPages => {
                let first = core.layout.geometry().data_superblocks;
                let entry = &mut self.firsts[(core.superblock_of(ppa).0 - first) as usize];
                entry.blank &= sensed == Sensed::Blank;
                if let Sensed::Unit(spare) = sensed {
                    entry.stamp = Some(entry.stamp.map_or(spare.stamp, |s| s.min(spare.stamp)));
                }
            }
            Phase::Seek => match sensed {
                Sensed::Blank => self.scanner.saw_blank(core, ppa),
                Sensed::Unit(spare) if spare.lpa == core.meta.snapshot_mark(0) => self.sought.push((spare.stamp, ppa)),
                _ => {}
            },
            Phase::Snapshot => {
                let at = ppa.0 - self.snapshots.front().expect("one is being read").0;
                let expected = core.meta.snapshot_mark(at);
                let sabotaged = at == 0 && core.sabotaged(Sabotage::TornSnapshot);
                if sabotaged {
                    self.read.forget(ppa);
                }
                match sensed {
                    Sensed::Unit(spare) if spare.lpa == expected && !sabotaged => {
                        // The units of a snapshot have consecutive stamps.
                        let first = spare.stamp.wrapping_sub(at);
                        self.whole &= *self.snapshot_stamp.get_or_insert(first) == first;
                    }
                    _ => self.whole = false,
                }
            }
            Phase::Metadata => self.add_metadata_unit(core, ppa, sensed),
            Phase::Scan => self.add_data_unit(core, ppa, sensed, seq),
            Phase::Bases => {
                let content = match sensed {
                    Sensed::Unit(spare) => Some((Lpa(spare.lpa), spare.version, seq)),
                    _ => None,
                };
                self.evidence.add_base(ppa, content);
            }
            _ => {}
        }
    }

    fn add_metadata_unit(&mut self, core: &Core, ppa: Ppa, sensed: Sensed) {
        match sensed {
            Sensed::Blank => self.scanner.saw_blank(core, ppa),
            Sensed::Unit(spare) => {
                self.rebuilt.stamp = self.rebuilt.stamp.max(spare.stamp);
                if spare.stamp < self.since && self.ageless.contains(&core.superblock_of(ppa)) {
                    return;
                }
                let Some(ppa) = self.whole_piece(core, ppa, spare) else { return };
                for piece in core.meta.pieces_at(ppa, spare.lpa) {
                    let newest = self.newest.entry(piece.0).or_insert((spare.stamp, ppa));
                    let is_newer = spare.stamp >= newest.0 && !keeps_first(core, piece);
                    if piece.0 < core.meta.pieces() && is_newer {
                        *newest = (spare.stamp, ppa);
                    }
                }
            }
            Sensed::Padding | Sensed::Unreadable => {}
        }
    }

    /// First unit of the piece that ends with this unit. A piece of several units counts only if all of them can be
    /// read. They are in one row, so they are read in order. They begin at a multiple of their number, and have the
    /// same mark and consecutive stamps.
    fn whole_piece(&mut self, core: &Core, ppa: Ppa, spare: Spare) -> Option<Ppa> {
        let units = core.meta.units_of(Piece(spare.lpa));
        if units == 1 {
            return Some(ppa);
        }
        let (first, seen) = self.begun;
        let next = first.offset(seen) == ppa && self.begun_with == (spare.lpa, spare.stamp.wrapping_sub(seen));
        let at = core.layout.offset_in_superblock(ppa) % units;
        if core.sabotaged(Sabotage::TornTranslationPage) && at == units - 1 {
            return Some(Ppa(ppa.0 - at));
        }
        if seen > 0 && seen < units && next {
            self.begun.1 += 1;
        } else {
            (self.begun, self.begun_with) = ((ppa, u32::from(at == 0)), (spare.lpa, spare.stamp));
        }
        (self.begun.1 == units).then_some(self.begun.0)
    }

    fn add_data_unit(&mut self, core: &Core, ppa: Ppa, sensed: Sensed, seq: Seq) {
        match sensed {
            Sensed::Blank => self.scanner.saw_blank(core, ppa),
            Sensed::Unit(spare) if spare.lpa < core.cfg.capacity_units => {
                self.evidence.add_page(Lpa(spare.lpa), spare.version, seq, ppa);
            }
            _ => {}
        }
    }
}

/// Sabotage: recovery keeps the first copy of a piece that it finds, not the newest.
fn keeps_first(core: &Core, piece: Piece) -> bool {
    matches!(core.meta.kind(piece), Kind::Journal(_)) && core.sabotaged(Sabotage::StaleJournal)
}
