//! A plain simulation of an array: a list of operations that is scanned for the next event.

use std::collections::{BTreeMap, BTreeSet};

use ufsim_nand::{CellType, Geometry, Kind, MetadataPrograms, Op, Sensed, Timing, Work};
use units::{Ppa, Seq};

#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Stage {
    Queued,
    Cell {
        end: u64,
        order: u32,
    },
    WantsChannel {
        order: u32,
    },
    Transfer {
        end: u64,
        order: u32,
    },
    Finished,
    /// Lost to a power cut.
    Lost,
}

pub struct Entry {
    pub op: Op,
    pub stage: Stage,
    die: u32,
    cell: u64,
    transfer: u64,
    row: Option<u32>,
    /// Position among all starts.
    start_order: Option<u32>,
    pub started: u64,
    pub finished: u64,
    /// Sum of the phases, and time spent waiting between them.
    pub worked: u64,
    asked: u64,
    pub waited: u64,
    contents: Vec<(u32, Sensed, Seq)>,
}

impl Entry {
    fn is_over(&self) -> bool {
        matches!(self.stage, Stage::Finished | Stage::Lost)
    }
}

/// What is left of a program: its token, first unit and number of units, and a bit for each unit that can be read.
pub type Torn = (u32, Ppa, u32, u128);

pub struct Reference {
    geometry: Geometry,
    timing: Timing,
    pub entries: Vec<Entry>,
    orders: u32,
    pub history: Vec<(u64, u32)>,
    /// What a read would find in programmed pages, by address.
    pub contents: BTreeMap<u32, (Sensed, Seq)>,
    /// Finished erases by superblock and die.
    pub erases: BTreeMap<(u32, u32), u32>,
    /// Superblock and die of blocks whose last erase did not finish.
    pub half_erased: BTreeSet<(u32, u32)>,
    /// Operations that started up to this order have left nothing in a page register.
    last_cut: u32,
}

/// Superblock and die of an address. Superblock `s` is on group `s % n` of `n` groups of dies.
fn block_of(geometry: &Geometry, ppa: u32) -> (u32, u32) {
    let row = ppa / (geometry.planes * geometry.units_per_page);
    let wide = geometry.superblock_dies;
    let superblock = row / wide / geometry.pages_per_block;
    (superblock, superblock % (geometry.dies() / wide) * wide + row % wide)
}

impl Reference {
    pub fn new(geometry: Geometry, timing: Timing) -> Reference {
        Reference {
            geometry,
            timing,
            entries: Vec::new(),
            orders: 0,
            history: Vec::new(),
            contents: BTreeMap::new(),
            erases: BTreeMap::new(),
            half_erased: BTreeSet::new(),
            last_cut: 0,
        }
    }

    /// Result of reading a unit.
    pub fn sensed(&self, ppa: u32) -> (Sensed, Seq) {
        let die_block = block_of(&self.geometry, ppa);
        if self.half_erased.contains(&die_block) {
            return (Sensed::Unreadable, Seq(0));
        }
        self.contents.get(&ppa).copied().unwrap_or((Sensed::Blank, Seq(0)))
    }

    /// Drops all operations that have not finished.
    pub fn power_cut(&mut self, dice: &mut dyn FnMut(u32) -> u32) -> Vec<Torn> {
        let mut cut = Vec::new();
        for die in 0..self.geometry.dies() {
            for n in 0..self.entries.len() {
                let entry = &mut self.entries[n];
                if entry.die != die || entry.is_over() {
                    continue;
                }
                let in_cells = matches!(entry.stage, Stage::Cell { .. });
                entry.stage = Stage::Lost;
                match entry.op.work {
                    Work::Program { .. } if in_cells => cut.push(self.tear(n, dice)),
                    Work::Erase { superblock, die } if in_cells => {
                        self.empty(superblock.0, die);
                        self.half_erased.insert((superblock.0, die));
                    }
                    _ => {}
                }
            }
        }
        self.last_cut = self.orders;
        cut
    }

    fn tear(&mut self, n: usize, dice: &mut dyn FnMut(u32) -> u32) -> Torn {
        let Work::Program { ppa, units } = self.entries[n].op.work else { unreachable!("a program") };
        let contents = std::mem::take(&mut self.entries[n].contents);
        let mut readable = 0;
        for page in contents.chunks(self.geometry.units_per_page as usize) {
            let fate = dice(3);
            for &(at, sensed, seq) in page {
                let found = match fate {
                    0 => (Sensed::Blank, Seq(0)),
                    2 if dice(2) == 0 => (Sensed::Unreadable, Seq(0)),
                    _ => {
                        readable += 1 << (at - ppa.0);
                        (sensed, seq)
                    }
                };
                assert!(self.contents.insert(at, found).is_none(), "programmed twice");
            }
        }
        (self.entries[n].op.token, ppa, units, readable)
    }

    fn empty(&mut self, superblock: u32, die: u32) {
        let geometry = self.geometry;
        self.contents.retain(|&ppa, _| block_of(&geometry, ppa) != (superblock, die));
    }

    pub fn submit(&mut self, now: u64, op: Op, contents: Vec<(u32, Sensed, Seq)>) {
        let geometry = self.geometry;
        let (superblock, die, row) = match op.work {
            Work::Read { ppa, .. } | Work::Program { ppa, .. } => {
                let (superblock, die) = block_of(&geometry, ppa.0);
                (superblock, die, Some(ppa.0 / (geometry.planes * geometry.units_per_page)))
            }
            Work::Erase { superblock, die } => (superblock.0, die, None),
        };
        let cell = if superblock < geometry.data_superblocks { CellType::Tlc } else { CellType::Slc };
        let charged = |time: u64| if self.timing.free.covers(op.cause) { 0 } else { time };
        self.entries.push(Entry {
            op,
            stage: Stage::Queued,
            die,
            cell: charged(self.timing.cell(cell, op.work.kind()).0 * self.programs(cell, op.work)),
            transfer: charged(self.timing.transfer(op.work.units()).0),
            row,
            start_order: None,
            started: 0,
            finished: 0,
            worked: 0,
            asked: 0,
            waited: 0,
            contents,
        });
        self.start_next(now, die);
    }

    /// How many times its cell phase is charged: seven of eight units of metadata, if that is asked for.
    fn programs(&self, cell: CellType, work: Work) -> u64 {
        let slips = self.timing.metadata_programs == MetadataPrograms::AsPublished;
        match work {
            Work::Program { units, .. } if slips && cell == CellType::Slc => u64::from(units) - u64::from(units) / 8,
            _ => 1,
        }
    }

    /// The phase that ends next: its end and the operation's entry.
    pub fn next(&self) -> Option<(u64, usize)> {
        let ends = self.entries.iter().enumerate().filter_map(|(n, entry)| match entry.stage {
            Stage::Cell { end, order } | Stage::Transfer { end, order } => Some((end, order, n)),
            _ => None,
        });
        ends.min().map(|(end, _, n)| (end, n))
    }

    /// Ends the next phase. If it is the last one of its operation, `failed` tells whether the operation has failed.
    pub fn step(&mut self, failed: bool) {
        let (now, n) = self.next().expect("a phase is under way");
        let Entry { stage, transfer, ref op, .. } = self.entries[n];
        let kind = op.work.kind();
        match stage {
            Stage::Cell { .. } if kind == Kind::Read && transfer > 0 => self.ask(now, n),
            Stage::Cell { .. } => self.finish(now, n, failed),
            _ => {
                let channel = self.channel(n);
                self.entries[n].stage = Stage::Queued; // neither on the channel nor waiting for it
                let waiting = (0..self.entries.len()).filter(|&m| self.channel(m) == channel);
                let first = waiting
                    .filter_map(|m| match self.entries[m].stage {
                        Stage::WantsChannel { order } => Some((order, m)),
                        _ => None,
                    })
                    .min();
                if let Some((_, m)) = first {
                    self.transfer(now, m);
                }
                if kind == Kind::Program { self.cell(now, n) } else { self.finish(now, n, failed) }
            }
        }
    }

    fn channel(&self, n: usize) -> u32 {
        self.entries[n].die % self.geometry.channels
    }

    fn order(&mut self) -> u32 {
        self.orders += 1;
        self.orders
    }

    fn cell(&mut self, now: u64, n: usize) {
        let order = self.order();
        let entry = &mut self.entries[n];
        entry.worked += entry.cell;
        entry.stage = Stage::Cell { end: now + entry.cell, order };
    }

    fn transfer(&mut self, now: u64, n: usize) {
        let order = self.order();
        let entry = &mut self.entries[n];
        entry.waited += now - entry.asked;
        entry.worked += entry.transfer;
        entry.stage = Stage::Transfer { end: now + entry.transfer, order };
    }

    fn ask(&mut self, now: u64, n: usize) {
        let order = self.order();
        self.entries[n].asked = now;
        self.entries[n].stage = Stage::WantsChannel { order };
        let mut others = (0..self.entries.len()).filter(|&m| self.channel(m) == self.channel(n));
        if !others.any(|m| matches!(self.entries[m].stage, Stage::Transfer { .. })) {
            self.transfer(now, n);
        }
    }

    /// Starts the most urgent operation of a die, unless the die is occupied.
    fn start_next(&mut self, now: u64, die: u32) {
        let on_die = || (0..self.entries.len()).filter(|&m| self.entries[m].die == die);
        let unfinished = |m: &usize| !self.entries[*m].is_over();
        if on_die().filter(unfinished).any(|m| self.entries[m].start_order.is_some()) {
            return;
        }
        let last = on_die().max_by_key(|&m| self.entries[m].start_order);
        let next = on_die().filter(unfinished).min_by_key(|&m| (self.entries[m].op.priority, m));
        let Some(n) = next else { return };
        let sensed = last
            .map(|m| &self.entries[m])
            .filter(|entry| entry.start_order > Some(self.last_cut) && entry.op.work.kind() == Kind::Read)
            .and_then(|entry| entry.row);
        let order = self.order();
        let entry = &mut self.entries[n];
        let kind = entry.op.work.kind();
        let hit = self.timing.page_register && kind == Kind::Read && sensed.is_some() && sensed == entry.row;
        entry.start_order = Some(order);
        entry.started = now;
        if hit {
            entry.cell = 0;
        }
        if entry.transfer > 0 && (hit || kind == Kind::Program) {
            self.ask(now, n);
        } else {
            self.cell(now, n);
        }
    }

    fn finish(&mut self, now: u64, n: usize, failed: bool) {
        let entry = &mut self.entries[n];
        entry.stage = Stage::Finished;
        entry.finished = now;
        self.history.push((now, entry.op.token));
        for (ppa, sensed, seq) in entry.contents.drain(..) {
            let found = if failed { (Sensed::Unreadable, Seq(0)) } else { (sensed, seq) };
            assert!(self.contents.insert(ppa, found).is_none(), "programmed twice");
        }
        let die = entry.die;
        if let Work::Erase { superblock, .. } = entry.op.work {
            self.empty(superblock.0, die);
            self.half_erased.remove(&(superblock.0, die));
            if failed {
                self.half_erased.insert((superblock.0, die));
            }
            *self.erases.entry((superblock.0, die)).or_default() += 1;
        }
        self.start_next(now, die);
    }
}
