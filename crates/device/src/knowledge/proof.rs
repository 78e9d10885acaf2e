//! Proofs of what has been read and programmed.

use std::collections::BTreeMap;

use nand::{Completed, Work};
use units::{Ppa, SegmentId};

use crate::directory::{Directory, Piece};
use crate::map_units::UnitSet;

/// Map units in the largest [`UnitSet`].
const MOST_UNITS: usize = 8;

/// Proof that the content of a map unit is in SRAM: it was read from flash, or the directory says that it was never
/// written, so that all of its entries are unmapped.
///
/// It stands for the SRAM buffer with the content, so it can not be copied.
#[cfg_attr(feature = "explore", derive(Clone, Hash))]
#[derive(PartialEq, Eq, Debug)]
pub struct Loaded {
    unit: SegmentId,
}

impl Loaded {
    /// A proof without read, for the segment cache and [`Truth`](super::Truth). The caller documents why it is right.
    pub(super) fn by_argument(unit: SegmentId) -> Loaded {
        Loaded { unit }
    }

    /// A proof without read, for tests of code that uses loaded units.
    #[cfg(test)]
    pub fn assumed(unit: SegmentId) -> Loaded {
        Loaded { unit }
    }

    /// The map unit.
    #[inline]
    pub fn unit(&self) -> SegmentId {
        self.unit
    }
}

/// A map unit, and its place according to the directory.
#[cfg_attr(feature = "explore", derive(Clone, Hash))]
#[derive(PartialEq, Eq, Debug)]
pub struct Expected {
    unit: SegmentId,
    /// Packed; 0 = never written.
    place: u32,
}

impl Expected {
    /// Looks the unit up in the directory.
    #[inline]
    pub fn new(directory: &Directory, unit: SegmentId) -> Expected {
        Expected { unit, place: Ppa::pack(directory.place(Piece::of(unit))) }
    }

    /// The map unit.
    #[inline]
    pub fn unit(&self) -> SegmentId {
        self.unit
    }

    /// Its place; `None` if it was never written.
    #[inline]
    pub fn place(&self) -> Option<Ppa> {
        Ppa::unpack(self.place)
    }

    /// The proof for the unit, if `read` covers its `flash_units`, or the one that it shares.
    #[inline]
    pub fn arrived(&self, read: &Completed, flash_units: u32) -> Option<Loaded> {
        self.place().filter(|&ppa| read.has_read(ppa, flash_units)).map(|_| Loaded { unit: self.unit })
    }

    /// The proof for the unit, if this read of an exclusive job covers it.
    #[inline]
    pub fn arrived_with(&self, reads: &JobReads, read: JobRead, flash_units: u32) -> Option<Loaded> {
        self.place().filter(|&ppa| reads.covers(read, ppa, flash_units)).map(|_| Loaded { unit: self.unit })
    }

    /// The proof for the unit, if reads of recovery cover it.
    pub fn among(&self, reads: &PiecesRead, flash_units: u32) -> Option<Loaded> {
        self.place().filter(|&ppa| reads.covers(ppa, flash_units)).map(|_| Loaded { unit: self.unit })
    }

    /// The proof for a unit that was never written; it needs no read.
    #[inline]
    pub fn unwritten(&self) -> Option<Loaded> {
        (self.place == 0).then_some(Loaded { unit: self.unit })
    }
}

/// The map units of one load.
#[cfg_attr(feature = "explore", derive(Clone, Hash))]
#[derive(Debug, Default)]
pub struct ExpectedSet {
    units: UnitSet,
    /// Flash page of each unit according to the directory, in order of the units, packed.
    places: [u32; MOST_UNITS],
    /// One bit for each unit that has been read.
    arrived: u8,
}

impl ExpectedSet {
    /// Looks the units up in the directory.
    pub fn new(directory: &Directory, units: UnitSet) -> ExpectedSet {
        let mut set = ExpectedSet { units, ..ExpectedSet::default() };
        for (place, unit) in set.places.iter_mut().zip(units.iter()) {
            *place = Expected::new(directory, unit).place;
        }
        set
    }

    fn expected(&self) -> impl Iterator<Item = Expected> {
        self.units.iter().zip(self.places).map(|(unit, place)| Expected { unit, place })
    }

    /// The places to read, each once, in order of the units.
    pub fn places(&self) -> impl Iterator<Item = Ppa> {
        let places = &self.places[..self.units.len()];
        let first = |&(i, place): &(usize, &u32)| !places[..i].contains(place);
        places.iter().enumerate().filter(first).filter_map(|(_, &place)| Ppa::unpack(place))
    }

    /// Marks the units that a completed read covers.
    #[inline]
    pub fn arrive(&mut self, read: &Completed, flash_units: u32) {
        let mut brought = 0;
        for (i, expected) in self.expected().enumerate() {
            brought |= u8::from(expected.arrived(read, flash_units).is_some()) << i;
        }
        assert!(brought & !self.arrived != 0, "{read:?} brings nothing of {self:?}");
        self.arrived |= brought;
    }

    /// The proofs for all units, whose reads are done.
    ///
    /// # Panics
    /// If one is not.
    #[inline]
    pub fn loaded(&self) -> LoadedSet {
        let mut set = LoadedSet::default();
        for (i, unit) in self.units.iter().enumerate() {
            assert!(self.arrived >> i & 1 != 0, "{unit} has not been read: {self:?}");
            set.units[i] = Loaded { unit };
            set.n += 1;
        }
        set
    }
}

/// The map units that one load has read.
#[cfg_attr(feature = "explore", derive(Clone, Hash))]
#[derive(Debug)]
pub struct LoadedSet {
    units: [Loaded; MOST_UNITS],
    n: u8,
}

impl Default for LoadedSet {
    fn default() -> LoadedSet {
        LoadedSet { units: [const { Loaded { unit: SegmentId(0) } }; MOST_UNITS], n: 0 }
    }
}

impl LoadedSet {
    /// All proofs, in order.
    pub fn iter(&self) -> impl Iterator<Item = &Loaded> {
        self.units[..usize::from(self.n)].iter()
    }

    /// The proof for a unit, if the load has read it.
    #[inline]
    pub fn get(&self, unit: SegmentId) -> Option<&Loaded> {
        self.iter().find(|loaded| loaded.unit == unit)
    }
}

/// Completed reads of metadata by recovery.
#[cfg_attr(feature = "explore", derive(Clone, Hash))]
#[derive(Debug, Default)]
pub struct PiecesRead {
    /// Number of units by first unit.
    units: BTreeMap<Ppa, u32>,
}

impl PiecesRead {
    /// Adds a completed read.
    pub fn add(&mut self, read: &Completed) {
        if let (Work::Read { ppa, units }, false) = (read.work(), read.failed()) {
            self.units.insert(ppa, units);
        }
    }

    /// True if one read has covered these `n` units.
    pub fn covers(&self, ppa: Ppa, n: u32) -> bool {
        let before = self.units.range(..=ppa).next_back();
        before.is_some_and(|(&first, &units)| ppa.0 + n <= first.0 + units)
    }
}

/// Reads of an exclusive job, by the number that [`JobReads::begin`] gives.
#[cfg_attr(feature = "explore", derive(Clone, Hash))]
#[derive(Debug, Default)]
pub struct JobReads {
    /// Units of each read; empty while it is under way.
    reads: Vec<UnitsRead>,
}

/// Row units that a completed read has read: `n` from `ppa` on.
#[derive(Clone, Copy, Hash, Debug)]
struct UnitsRead {
    ppa: Ppa,
    n: u32,
}

/// A read of an exclusive job.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct JobRead(u32);

impl JobReads {
    /// Forgets the reads of an earlier round.
    pub fn clear(&mut self) {
        self.reads.clear();
    }

    /// Adds a read that is about to be submitted.
    pub fn begin(&mut self) -> JobRead {
        self.reads.push(UnitsRead { ppa: Ppa(0), n: 0 });
        JobRead(self.reads.len() as u32 - 1)
    }

    /// A read is done. A failed one covers nothing.
    pub fn complete(&mut self, read: JobRead, completed: &Completed) {
        if let (Work::Read { ppa, units }, false) = (completed.work(), completed.failed()) {
            self.reads[read.0 as usize] = UnitsRead { ppa, n: units };
        }
    }

    /// True if the read is done and covers these `n` units.
    #[inline]
    fn covers(&self, read: JobRead, ppa: Ppa, n: u32) -> bool {
        self.reads.get(read.0 as usize).is_some_and(|read| read.ppa <= ppa && ppa.0 + n <= read.ppa.0 + read.n)
    }
}

/// Proof that a piece of metadata is on flash at this place.
#[cfg_attr(feature = "explore", derive(Clone, Hash))]
#[derive(PartialEq, Eq, Debug)]
pub struct Programmed {
    piece: Piece,
    place: Ppa,
}

impl Programmed {
    /// The proof for a piece that a completed program has put at `place`.
    ///
    /// # Panics
    /// If it was another program, or it has failed.
    #[inline]
    pub fn by(program: &Completed, piece: Piece, place: Ppa) -> Programmed {
        let Work::Program { ppa, units } = program.work() else { panic!("{program:?} programs nothing") };
        let covered = ppa <= place && place.0 < ppa.0 + units;
        assert!(covered && !program.failed(), "{program:?} does not put {piece:?} at {place}");
        Programmed { piece, place }
    }

    /// The proof for a piece whose program was cut by a power loss, if all of it can be read.
    pub fn survived(program: &nand::CutProgram, piece: Piece, units: std::ops::Range<u32>) -> Option<Programmed> {
        let place = program.ppa().offset(units.start);
        program.can_be_read(units).then_some(Programmed { piece, place })
    }

    /// A proof for tests of code about pieces on flash. The power is cut while the piece is programmed, and leaves all
    /// of it. `place` must be one of the first 32 units.
    #[cfg(test)]
    pub fn in_test(piece: Piece, place: Ppa) -> Programmed {
        use nand::{Cause, Geometry, Nand, Op, Priority, Spare};
        use units::{Seq, SimTime};
        // Each of these units is the first of a die, so that any can be programmed.
        let geometry = Geometry {
            channels: 32,
            dies_per_channel: 1,
            planes: 1,
            units_per_page: 1,
            pages_per_block: 1,
            data_superblocks: 0,
            meta_superblocks: 1,
        };
        let mut nand = Nand::new(geometry, crate::mapping::small::config().timing);
        let work = Work::Program { ppa: place, units: 1 };
        let op = Op { work, priority: Priority::HostWrite, cause: Cause::MapWrite, token: 0 };
        let spare = Spare { lpa: piece.0, stamp: 1, version: 1 };
        nand.submit_program(SimTime::START, op, &[Some(spare)], Seq(1), &mut Vec::<(SimTime, nand::NandEvent)>::new());
        let cut = nand.power_cut(SimTime::START, &mut |_| 1);
        Programmed::survived(&cut[0], piece, 0..1).expect("the dice have left everything")
    }

    /// The piece.
    #[inline]
    pub fn piece(&self) -> Piece {
        self.piece
    }

    /// Its place.
    #[inline]
    pub fn place(&self) -> Ppa {
        self.place
    }
}

/// The map units that programs of a job have put on flash, in the order in which the programs have completed.
#[cfg_attr(feature = "explore", derive(Clone, Hash))]
#[derive(Debug, Default)]
pub struct ProgrammedSet {
    pieces: Vec<Programmed>,
}

impl ProgrammedSet {
    /// Adds a piece.
    pub fn add(&mut self, programmed: Programmed) {
        self.pieces.push(programmed);
    }

    /// The proof for a piece, if it is on flash. Searches from `at` on, then before it, and moves `at` behind the
    /// piece. A caller that asks in about the order of programming finds each piece at once.
    #[inline]
    pub fn next(&self, at: &mut usize, piece: Piece) -> Option<&Programmed> {
        match self.pieces.get(*at) {
            Some(programmed) if programmed.piece == piece => {
                *at += 1;
                Some(programmed)
            }
            _ => self.search(at, piece),
        }
    }

    #[inline(never)]
    fn search(&self, at: &mut usize, piece: Piece) -> Option<&Programmed> {
        let (before, behind) = self.pieces.split_at(*at);
        let found = |(_, programmed): &(usize, &Programmed)| programmed.piece == piece;
        let later = behind.iter().enumerate().find(found).map(|(i, programmed)| (*at + i, programmed));
        let (i, programmed) = later.or_else(|| before.iter().enumerate().find(found))?;
        *at = i + 1;
        Some(programmed)
    }

    /// The proof for a piece at this place.
    pub fn get_at(&self, piece: Piece, place: Ppa) -> Option<&Programmed> {
        self.pieces.iter().find(|programmed| programmed.piece == piece && programmed.place == place)
    }
}
