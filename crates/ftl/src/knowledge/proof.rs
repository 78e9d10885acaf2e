//! Proofs of what has been read and programmed.

use std::collections::BTreeMap;

use nand::{Completed, Nand, Spare, Work};
use units::{MapUnit, Ppa};

use super::pages::Pages;
use crate::table::directory::{Directory, Piece};
use crate::table::map_units::UnitSet;

/// Map units in the largest [`UnitSet`].
const MOST_UNITS: usize = 8;

/// What a completed read of metadata shows in the spare areas, from which firmware tells whether it has read the piece
/// that it meant.
///
/// The directory is right as long as firmware has no defect. So a page that holds something else is no failure that
/// firmware has to deal with, and the simulation stops.
#[derive(Clone, Copy)]
pub struct Sight<'a> {
    read: &'a Completed,
    nand: &'a Nand,
    pages: &'a Pages,
}

impl<'a> Sight<'a> {
    /// What `read` shows, which has just completed.
    pub fn new(read: &'a Completed, nand: &'a Nand, pages: &'a Pages) -> Sight<'a> {
        Sight { read, nand, pages }
    }

    /// The mark in the spare areas of all `n` units from `place` on, which the read covers; `None` if they differ, or
    /// one cannot be read.
    #[inline]
    fn mark(&self, place: Ppa, n: u32) -> Option<u32> {
        let Work::Read { ppa, .. } = self.read.work() else { return None };
        let offset = place.0 - ppa.0;
        let first = self.nand.spare_lpa(self.read, offset);
        // Most pieces have one unit.
        if n == 1 || self.have_mark(first, offset + 1..offset + n) { first } else { None }
    }

    /// True if all these units of the read have this mark.
    fn have_mark(&self, mark: Option<u32>, mut units: std::ops::Range<u32>) -> bool {
        units.all(|i| self.nand.spare_lpa(self.read, i) == mark)
    }

    /// Checks that the `n` units from `place` on, which the read covers, hold this piece.
    ///
    /// # Panics
    /// If they do not.
    fn check(&self, piece: Piece, place: Ppa, n: u32) {
        check(self.pages, piece, place, self.mark(place, n));
    }
}

/// Checks that a flash unit at `place` with this mark holds this piece.
#[inline]
fn check(pages: &Pages, piece: Piece, place: Ppa, mark: Option<u32>) {
    let right = mark.is_some_and(|mark| pages.names(place, mark, piece));
    assert!(right, "{piece:?} was read at {place}, but the mark of that page is {mark:?}");
}

/// Proof that the content of a map unit is in SRAM: it was read from flash, or the directory says that it was never
/// written, so that all of its entries are unmapped. It names the place, and so the copy of the unit.
///
/// It stands for the SRAM buffer with the content, so it can not be copied.
#[cfg_attr(feature = "explore", derive(Clone, Hash))]
#[derive(PartialEq, Eq, Debug)]
pub struct Loaded {
    unit: MapUnit,
    /// Packed; 0 = never written.
    place: u32,
}

impl Loaded {
    /// The place that [`Loaded::assumed`] names.
    #[cfg(any(test, feature = "testing"))]
    pub const ASSUMED_PLACE: Ppa = Ppa(0);

    /// A proof without read for the copy that the directory names, for the segment cache and [`Truth`](super::Truth).
    /// The caller documents why it is right.
    #[inline]
    pub(super) fn by_argument(directory: &Directory, unit: MapUnit) -> Loaded {
        Expected::new(directory, unit).claim()
    }

    /// The value of a place in the segment cache that holds nothing.
    pub(super) const NOTHING: Loaded = Loaded { unit: MapUnit(0), place: 0 };

    /// The same proof once more: the content is copied to another buffer.
    #[inline]
    pub(super) fn copied(&self) -> Loaded {
        Loaded { unit: self.unit, place: self.place }
    }

    /// The unit in this buffer has been changed, and been programmed at `place`.
    pub(super) fn rewritten(&mut self, place: Ppa) {
        self.place = Ppa::pack(Some(place));
    }

    /// A proof without read, for tests of code that uses loaded units.
    #[cfg(any(test, feature = "testing"))]
    pub fn assumed(unit: MapUnit) -> Loaded {
        Loaded { unit, place: Ppa::pack(Some(Loaded::ASSUMED_PLACE)) }
    }

    /// The map unit.
    #[inline]
    pub fn unit(&self) -> MapUnit {
        self.unit
    }

    /// The place of the copy; `None` if the unit was never written.
    #[inline]
    pub fn place(&self) -> Option<Ppa> {
        Ppa::unpack(self.place)
    }
}

/// A map unit, and its place according to the directory.
#[cfg_attr(feature = "explore", derive(Clone, Hash))]
#[derive(PartialEq, Eq, Debug)]
pub struct Expected {
    unit: MapUnit,
    /// Packed; 0 = never written.
    place: u32,
}

impl Expected {
    /// Looks the unit up in the directory.
    #[inline]
    pub fn new(directory: &Directory, unit: MapUnit) -> Expected {
        Expected { unit, place: Ppa::pack(directory.place(Piece::of(unit))) }
    }

    /// The map unit.
    #[inline]
    pub fn unit(&self) -> MapUnit {
        self.unit
    }

    /// Its place; `None` if it was never written.
    #[inline]
    pub fn place(&self) -> Option<Ppa> {
        Ppa::unpack(self.place)
    }

    #[inline]
    fn claim(&self) -> Loaded {
        Loaded { unit: self.unit, place: self.place }
    }

    /// The proof for the unit, if a read covers its `flash_units`, or the one that it shares.
    ///
    /// # Panics
    /// If the read shows something else.
    #[inline]
    pub fn arrived(&self, sight: &Sight, flash_units: u32) -> Option<Loaded> {
        let place = self.place().filter(|&ppa| sight.read.has_read(ppa, flash_units))?;
        sight.check(Piece::of(self.unit), place, flash_units);
        Some(self.claim())
    }

    /// The proof for the unit, if this read of an exclusive job covers it.
    ///
    /// # Panics
    /// If the read shows something else.
    #[inline]
    pub fn arrived_with(&self, reads: &JobReads, read: JobRead, flash_units: u32, pages: &Pages) -> Option<Loaded> {
        let place = self.place()?;
        reads.check(read, Piece::of(self.unit), place..place.offset(flash_units), pages).then(|| self.claim())
    }

    /// The proof for the unit, if reads of recovery cover it.
    ///
    /// # Panics
    /// If the reads show something else.
    pub fn among(&self, reads: &PiecesRead, flash_units: u32, pages: &Pages) -> Option<Loaded> {
        let place = self.place().filter(|&ppa| reads.covers(ppa, flash_units))?;
        (0..flash_units).for_each(|i| {
            let mark = reads.spare(place.offset(i)).map(|spare| spare.lpa);
            check(pages, Piece::of(self.unit), place.offset(i), mark);
        });
        Some(self.claim())
    }

    /// The proof for a unit that was never written; it needs no read.
    #[inline]
    pub fn unwritten(&self) -> Option<Loaded> {
        (self.place == 0).then(|| self.claim())
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

    /// Marks the units that a completed read covers. `directory` is that of now.
    ///
    /// # Panics
    /// If the read brings nothing, or shows something else at a place that the directory still names.
    #[inline]
    pub fn arrive(&mut self, sight: &Sight, flash_units: u32, directory: &Directory) {
        let mut brought = 0;
        for (i, expected) in self.expected().enumerate() {
            let covered = expected.place().is_some_and(|ppa| sight.read.has_read(ppa, flash_units));
            // A copy that has been replaced since may have been erased before it was read.
            if covered && expected == Expected::new(directory, expected.unit) {
                sight.check(Piece::of(expected.unit), Ppa(expected.place - 1), flash_units);
            }
            brought |= u8::from(covered) << i;
        }
        assert!(brought & !self.arrived != 0, "{:?} brings nothing of {self:?}", sight.read);
        self.arrived |= brought;
    }

    /// The proofs for all units, whose reads are done. `directory` is that of now: if a unit was programmed elsewhere
    /// while it was read, firmware has the newer copy in SRAM, from where it was programmed, and hands that over.
    ///
    /// # Panics
    /// If one is not.
    #[inline]
    pub fn loaded(&self, directory: &Directory) -> LoadedSet {
        let mut set = LoadedSet::default();
        for (i, unit) in self.units.iter().enumerate() {
            assert!(self.arrived >> i & 1 != 0, "{unit} has not been read: {self:?}");
            set.units[i] = Expected::new(directory, unit).claim();
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
        LoadedSet { units: [const { Loaded::NOTHING }; MOST_UNITS], n: 0 }
    }
}

impl LoadedSet {
    /// All proofs, in order.
    pub fn iter(&self) -> impl Iterator<Item = &Loaded> {
        self.units[..usize::from(self.n)].iter()
    }

    /// The proof for a unit, if the load has read it.
    #[inline]
    pub fn get(&self, unit: MapUnit) -> Option<&Loaded> {
        self.iter().find(|loaded| loaded.unit == unit)
    }
}

/// Completed reads of metadata by recovery.
#[cfg_attr(feature = "explore", derive(Clone, Hash))]
#[derive(Debug, Default)]
pub struct PiecesRead {
    /// The spare area of each unit; `None` if it has none that can be read.
    spares: BTreeMap<Ppa, Option<Spare>>,
}

impl PiecesRead {
    /// Reads of these units, whose spare areas have these marks.
    #[cfg(any(test, feature = "testing"))]
    pub fn in_test(units: &[(Ppa, u32)]) -> PiecesRead {
        let spare = |mark| Spare { lpa: mark, stamp: 0, version: 0 };
        PiecesRead { spares: units.iter().map(|&(ppa, mark)| (ppa, Some(spare(mark)))).collect() }
    }

    /// Adds a completed read.
    pub fn add(&mut self, sight: &Sight) {
        if let (Work::Read { ppa, units }, false) = (sight.read.work(), sight.read.failed()) {
            self.spares.extend((0..units).map(|i| (ppa.offset(i), sight.nand.spare(sight.read, i))));
        }
    }

    /// Sabotage: forgets what a unit has shown.
    pub fn forget(&mut self, ppa: Ppa) {
        self.spares.insert(ppa, None);
    }

    /// True if these `n` units have been read.
    pub fn covers(&self, ppa: Ppa, n: u32) -> bool {
        (0..n).all(|i| self.spares.contains_key(&ppa.offset(i)))
    }

    /// The spare area of a unit, if it has been read and has one.
    pub fn spare(&self, ppa: Ppa) -> Option<Spare> {
        self.spares.get(&ppa).copied().flatten()
    }

    /// True if the unit at `place` has been read and holds this piece, which is no map unit.
    pub fn shows(&self, piece: Piece, place: Ppa) -> bool {
        self.spare(place).is_some_and(|spare| spare.lpa == piece.0)
    }
}

/// Reads of an exclusive job, by the number that [`JobReads::begin`] gives.
#[cfg_attr(feature = "explore", derive(Clone, Hash))]
#[derive(Debug, Default)]
pub struct JobReads {
    /// Units of each read; empty while it is under way.
    reads: Vec<UnitsRead>,
}

/// Row units that a completed read has read: `n` from `ppa` on. For one of metadata, the mark of all of them.
#[derive(Clone, Copy, Hash, Debug)]
struct UnitsRead {
    ppa: Ppa,
    n: u32,
    mark: Option<u32>,
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
        self.reads.push(UnitsRead { ppa: Ppa(0), n: 0, mark: None });
        JobRead(self.reads.len() as u32 - 1)
    }

    /// A read is done. A failed one covers nothing. `metadata` is true if it has read metadata.
    #[inline(always)] // A map flush does little else.
    pub fn complete(&mut self, read: JobRead, sight: &Sight, metadata: bool) {
        if let (Work::Read { ppa, units }, false) = (sight.read.work(), sight.read.failed()) {
            let mark = if metadata { sight.mark(ppa, units) } else { None };
            self.reads[read.0 as usize] = UnitsRead { ppa, n: units, mark };
        }
    }

    /// True if the read is done and has read exactly these units, or more.
    ///
    /// # Panics
    /// If the read shows something else than this piece.
    #[inline]
    fn check(&self, read: JobRead, piece: Piece, units: std::ops::Range<Ppa>, pages: &Pages) -> bool {
        let Some(read) = self.reads.get(read.0 as usize) else { return false };
        let covered = read.ppa <= units.start && units.end.0 <= read.ppa.0 + read.n;
        if covered {
            check(pages, piece, units.start, read.mark);
        }
        covered
    }

    /// True if the read at position `at`, or one after it, has read this piece at `place`. Moves `at` there. Pieces
    /// have to be asked for in the order in which they were read.
    pub fn shows_next(&self, at: &mut usize, piece: Piece, place: Ppa, pages: &Pages) -> bool {
        while self.reads.get(*at).is_some_and(|read| read.ppa != place) {
            *at += 1;
        }
        let mark = self.reads.get(*at).and_then(|read| read.mark);
        mark.is_some_and(|mark| pages.names(place, mark, piece))
    }

    /// Checks what [`JobReads::shows_next`] tells.
    ///
    /// # Panics
    /// If the piece has not been read at `place`, or the read shows something else.
    pub fn check_next(&self, at: &mut usize, piece: Piece, place: Ppa, pages: &Pages) {
        assert!(self.shows_next(at, piece, place, pages), "the read of {piece:?} at {place} shows something else");
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
    /// of it.
    #[cfg(any(test, feature = "testing"))]
    pub fn in_test(piece: Piece, place: Ppa) -> Programmed {
        use nand::{Cause, Geometry, Nand, Op, Priority, Spare};
        use units::{Seq, SimTime};
        // Each unit is the first of its block, so that any can be programmed.
        let geometry = Geometry {
            channels: 32,
            dies_per_channel: 1,
            superblock_dies: 32,
            planes: 1,
            units_per_page: 1,
            pages_per_block: 1,
            word_line_pages: 1,
            data_superblocks: 0,
            meta_superblocks: place.0 / 32 + 1,
        };
        let mut nand = Nand::new(geometry, crate::testing::small().timing);
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
