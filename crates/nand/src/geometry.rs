//! Sizes of the flash array and the arithmetic of physical page addresses.

use std::hash::{Hash, Hasher};
use std::ops::Range;

use params::ParamError;
use units::{Ppa, Superblock, UNIT_KIB};

/// The kind of a superblock's cells. It decides the cell timing.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum CellType {
    /// One bit per cell: metadata superblocks.
    Slc,
    /// Three bits per cell: superblocks with user data.
    Tlc,
}

params::params! {
    /// Shape of the flash: `[nand]`.
    pub GeometryParams {
        /// Channels; die d is on channel d modulo this.
        channels: count(1 to 32), fixed;
        /// Dies on each channel.
        dies_per_channel: count(1 to 16), fixed;
        /// Planes of a die that read and program together.
        planes: count(1 to 6), fixed;
        /// Page size of one plane; must be a power of two.
        page_kib: count(4 to 32), fixed;
        /// Pages of a block.
        pages_per_block: count(4 to 4096), fixed;
        /// Pages of a word line that one program writes at once, on every plane (one-shot programming). The controller
        /// collects so much in SRAM for each program, and fills it up if less is to be written now.
        word_line_pages: count(1 to 4) = 1, "a program writes a page on every plane", fixed;
        /// Superblocks for user data. One superblock is a block on every plane of every die, or of superblock.dies. A
        /// share is over-provisioning: so much more flash than device.capacity_mib, rounded up.
        data_superblocks: amount(20 to 1048576 of "device.capacity_mib"), fixed;
        /// Superblocks for metadata, in SLC mode.
        meta_superblocks: count(3 to 65534), fixed;
    }
}

params::params! {
    /// Superblocks: what is filled, collected and erased as one.
    pub SuperblockParams {
        /// Dies of a superblock: all of them, or a group of so many. Groups take turns by the superblock's number. On
        /// fewer dies GC collects less at a time, and data is written more slowly.
        dies: count_or("all" 1 to 512) = "all", "striped over the whole array", fixed;
    }
}

/// Most that a program writes: three pages of 16 KiB on six planes.
const MOST_ROW_KIB: u32 = 288;
/// The same in units.
pub(crate) const MOST_ROW_UNITS: u32 = MOST_ROW_KIB / UNIT_KIB;

/// Sizes of the flash array. Each counts items of the next smaller kind.
///
/// A superblock spans all dies, or a group of them. Of `n` groups, superblock `s` lies on group `s % n`.
///
/// Physical page addresses run in fill order. Consecutive addresses go to every plane of a die, then to the next die of
/// the superblock, then to the next page: `ppa = superblock * superblock_units + page * stripe_units + (die -
/// first_die) * row_units + plane * units_per_page + unit`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Geometry {
    /// Channels; die `d` is on channel `d % channels`.
    pub channels: u32,
    /// Dies on each channel.
    pub dies_per_channel: u32,
    /// Dies that a superblock spans; divides the number of dies.
    pub superblock_dies: u32,
    /// Planes in a die; all planes of a die work together.
    pub planes: u32,
    /// 4 KiB units in a page of one plane.
    pub units_per_page: u32,
    /// Pages in a block of one plane, or word lines, if a program writes several pages at once.
    pub pages_per_block: u32,
    /// Pages that a program writes at once on every plane. With more than one, `planes` counts each of them: a row is a
    /// word line of all planes, its first page on each plane, then its second.
    pub word_line_pages: u32,
    /// Superblocks for user data (TLC), numbered from 0.
    pub data_superblocks: u32,
    /// Superblocks for metadata (SLC), numbered after those for data.
    pub meta_superblocks: u32,
}

impl GeometryParams {
    /// The array that they describe.
    pub fn geometry(&self, superblock: &SuperblockParams) -> Geometry {
        Geometry {
            channels: self.channels,
            dies_per_channel: self.dies_per_channel,
            superblock_dies: superblock.dies.count().unwrap_or(self.channels * self.dies_per_channel),
            planes: self.planes * self.word_line_pages,
            units_per_page: self.page_kib / UNIT_KIB,
            pages_per_block: self.pages_per_block / self.word_line_pages,
            word_line_pages: self.word_line_pages,
            data_superblocks: self.data_superblocks,
            meta_superblocks: self.meta_superblocks,
        }
    }

    /// Refuses what does not fit together.
    ///
    /// # Errors
    /// Names the key, its value and the allowed range.
    pub fn check(&self, superblock: &SuperblockParams) -> Result<(), ParamError> {
        let g = self.geometry(superblock);
        if !self.page_kib.is_power_of_two() {
            let allowed = "a power of two, 4, 8, 16 or 32";
            return Err(ParamError::must_be("nand", "page_kib", &self.page_kib.into(), allowed));
        }
        let row_kib = g.row_units() * UNIT_KIB;
        if !self.pages_per_block.is_multiple_of(self.word_line_pages) || row_kib > MOST_ROW_KIB {
            let allowed = format!(
                "a divisor of nand.pages_per_block = {}, with which a program has at most {MOST_ROW_KIB} KiB on its \
                 planes (here {row_kib})",
                self.pages_per_block
            );
            return Err(ParamError::must_be("nand", "word_line_pages", &self.word_line_pages.into(), allowed));
        }
        if !g.dies().is_multiple_of(g.superblock_dies) {
            let allowed = format!("\"all\" or a divisor of {}, nand.channels x nand.dies_per_channel", g.dies());
            return Err(ParamError::must_be("superblock", "dies", &g.superblock_dies.into(), allowed));
        }
        let (superblocks, units) =
            (u64::from(g.data_superblocks + g.meta_superblocks), u64::from(g.superblock_units()));
        let most = u64::from(u32::MAX) - 2;
        if superblocks * units > most {
            let allowed = format!("at most {}: physical addresses have 32 bits", most / units);
            return Err(ParamError::must_be("nand", "data_superblocks", &g.data_superblocks.into(), allowed));
        }
        Ok(())
    }
}

impl Geometry {
    /// Dies in the array.
    #[inline]
    pub fn dies(&self) -> u32 {
        self.channels * self.dies_per_channel
    }

    /// Units in a row: what a die programs at once, on all planes.
    #[inline]
    pub fn row_units(&self) -> u32 {
        self.planes * self.units_per_page
    }

    /// Units that a die senses at once: one page on every plane.
    #[inline]
    pub fn sense_units(&self) -> u32 {
        self.row_units() / self.word_line_pages
    }

    /// Units of which a program of these cells is a multiple: a page of a plane, or a whole word line of data cells.
    #[inline]
    pub fn program_units(&self, cell: CellType) -> u32 {
        if self.word_line_pages > 1 && cell == CellType::Tlc { self.row_units() } else { self.units_per_page }
    }

    /// Units in a stripe, one row on every die of a superblock.
    #[inline]
    pub fn stripe_units(&self) -> u32 {
        self.superblock_dies * self.row_units()
    }

    /// Groups of dies that a superblock may lie on.
    #[inline]
    pub fn die_groups(&self) -> u32 {
        self.dies() / self.superblock_dies
    }

    /// The dies of a superblock.
    #[inline]
    pub fn dies_of(&self, superblock: Superblock) -> Range<u32> {
        let first = superblock.0 % self.die_groups() * self.superblock_dies;
        first..first + self.superblock_dies
    }

    /// Units in a superblock.
    #[inline]
    pub fn superblock_units(&self) -> u32 {
        self.stripe_units() * self.pages_per_block
    }

    /// Superblocks of both kinds.
    #[inline]
    pub fn superblocks(&self) -> u32 {
        self.data_superblocks + self.meta_superblocks
    }

    /// Units in the array.
    #[inline]
    pub fn total_units(&self) -> u32 {
        self.superblocks() * self.superblock_units()
    }

    /// Units in the array. `None` if a size is zero, the groups of dies are not equal, a superblock has more than 2^31
    /// units, or the addresses do not fit the four bytes of an L2P entry (which needs one value for "unmapped"). The
    /// other functions are valid for geometries that pass this check. Either metadata or data superblocks may be
    /// missing, but not both.
    pub fn checked_total_units(&self) -> Option<u32> {
        let dies = self.channels.checked_mul(self.dies_per_channel)?;
        if self.superblock_dies == 0 || !dies.is_multiple_of(self.superblock_dies) {
            return None;
        }
        let sizes = [self.superblock_dies, self.planes, self.units_per_page, self.pages_per_block];
        let superblocks = self.data_superblocks.checked_add(self.meta_superblocks)?;
        let total = sizes.into_iter().try_fold(superblocks, u32::checked_mul)?;
        let fits = total > 0 && total < u32::MAX - 1 && total / superblocks <= MOST_DIVISOR;
        (dies > 0 && fits).then_some(total)
    }

    /// The superblock of an address.
    #[inline]
    pub fn superblock_of(&self, ppa: Ppa) -> Superblock {
        Superblock(ppa.0 / self.superblock_units())
    }

    /// The first address of a superblock.
    #[inline]
    pub fn first_ppa(&self, superblock: Superblock) -> Ppa {
        Ppa(superblock.0 * self.superblock_units())
    }

    /// Position of an address in its superblock, `0..superblock_units`.
    #[inline]
    pub fn offset_in_superblock(&self, ppa: Ppa) -> u32 {
        ppa.0 % self.superblock_units()
    }

    /// The die of an address.
    #[inline]
    pub fn die_of(&self, ppa: Ppa) -> u32 {
        self.dies_of(self.superblock_of(ppa)).start + ppa.0 % self.stripe_units() / self.row_units()
    }

    /// The first address of the row that holds an address.
    #[inline]
    pub fn row_start(&self, ppa: Ppa) -> Ppa {
        Ppa(ppa.0 - ppa.0 % self.row_units())
    }

    /// Units from an address to the end of its row, including the address: `1..=row_units`.
    #[inline]
    pub fn units_left_in_row(&self, ppa: Ppa) -> u32 {
        self.row_units() - ppa.0 % self.row_units()
    }

    /// The cell type of a superblock.
    #[inline]
    pub fn cell(&self, superblock: Superblock) -> CellType {
        if superblock.0 < self.data_superblocks { CellType::Tlc } else { CellType::Slc }
    }

    /// The same sizes with precomputed divisions.
    ///
    /// # Panics
    /// If [`Geometry::checked_total_units`] gives `None`.
    pub fn layout(&self) -> Layout {
        Layout::new(*self)
    }
}

/// Position of an address in the array.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Place {
    /// Superblock.
    pub superblock: Superblock,
    /// Page in each block of the superblock, `0..pages_per_block`.
    pub page: u32,
    /// Die, one of those of the superblock.
    pub die: u32,
    /// Plane in the die, `0..planes`.
    pub plane: u32,
    /// Unit in the plane's page, `0..units_per_page`.
    pub unit: u32,
}

/// A [`Geometry`] with precomputed divisions, for code that decomposes addresses for every request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Layout {
    geometry: Geometry,
    total_units: u32,
    superblock: Divider,
    stripe: Divider,
    row: Divider,
    page: Divider,
    groups: Divider,
    /// Blocks, each of one plane, in a superblock.
    superblock_blocks: u32,
}

impl Layout {
    fn new(geometry: Geometry) -> Layout {
        let Some(total_units) = geometry.checked_total_units() else {
            panic!("geometry has a zero size, unequal groups of dies or more than 2^32 - 3 units: {geometry:?}");
        };
        Layout {
            geometry,
            total_units,
            superblock: Divider::new(geometry.superblock_units()),
            stripe: Divider::new(geometry.stripe_units()),
            row: Divider::new(geometry.row_units()),
            page: Divider::new(geometry.units_per_page),
            groups: Divider::new(geometry.die_groups()),
            superblock_blocks: geometry.superblock_dies * geometry.planes,
        }
    }

    /// The sizes.
    #[inline]
    pub fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    /// Units in the array.
    #[inline]
    pub fn total_units(&self) -> u32 {
        self.total_units
    }

    /// Units in a superblock.
    #[inline]
    pub fn superblock_units(&self) -> u32 {
        self.superblock.by
    }

    /// Units in a stripe.
    #[inline]
    pub fn stripe_units(&self) -> u32 {
        self.stripe.by
    }

    /// Units in a row.
    #[inline]
    pub fn row_units(&self) -> u32 {
        self.row.by
    }

    /// See [`Geometry::superblock_of`].
    #[inline]
    pub fn superblock_of(&self, ppa: Ppa) -> Superblock {
        Superblock(self.superblock.div_rem(ppa.0).0)
    }

    /// See [`Geometry::first_ppa`].
    #[inline]
    pub fn first_ppa(&self, superblock: Superblock) -> Ppa {
        Ppa(superblock.0 * self.superblock.by)
    }

    /// See [`Geometry::offset_in_superblock`].
    #[inline]
    pub fn offset_in_superblock(&self, ppa: Ppa) -> u32 {
        self.superblock.div_rem(ppa.0).1
    }

    /// See [`Geometry::die_of`].
    #[inline]
    pub fn die_of(&self, ppa: Ppa) -> u32 {
        let in_group = self.row.div_rem(self.stripe.div_rem(ppa.0).1).0;
        if self.groups.by == 1 { in_group } else { self.first_die(self.superblock_of(ppa)) + in_group }
    }

    #[inline]
    fn first_die(&self, superblock: Superblock) -> u32 {
        match self.groups.by {
            1 => 0,
            _ => self.groups.div_rem(superblock.0).1 * self.geometry.superblock_dies,
        }
    }

    /// See [`Geometry::dies_of`].
    #[inline]
    pub fn dies_of(&self, superblock: Superblock) -> Range<u32> {
        let first = self.first_die(superblock);
        first..first + self.geometry.superblock_dies
    }

    /// See [`Geometry::row_start`].
    #[inline]
    pub fn row_start(&self, ppa: Ppa) -> Ppa {
        Ppa(ppa.0 - self.row.div_rem(ppa.0).1)
    }

    /// See [`Geometry::units_left_in_row`].
    #[inline]
    pub fn units_left_in_row(&self, ppa: Ppa) -> u32 {
        self.row.by - self.row.div_rem(ppa.0).1
    }

    /// Decomposes an address.
    #[inline]
    pub fn place(&self, ppa: Ppa) -> Place {
        let (superblock, rest) = self.superblock.div_rem(ppa.0);
        let (page, rest) = self.stripe.div_rem(rest);
        let (in_group, rest) = self.row.div_rem(rest);
        let (plane, unit) = self.page.div_rem(rest);
        let superblock = Superblock(superblock);
        Place { superblock, page, die: self.first_die(superblock) + in_group, plane, unit }
    }

    /// Composes an address; inverse of [`Layout::place`].
    #[inline]
    pub fn ppa(&self, at: Place) -> Ppa {
        let row = at.page * self.stripe.by + (at.die - self.first_die(at.superblock)) * self.row.by;
        Ppa(at.superblock.0 * self.superblock.by + row + at.plane * self.page.by + at.unit)
    }

    /// Number of the plane page of an address, and the position of the address in it.
    #[inline]
    pub(crate) fn plane_page(&self, ppa: Ppa) -> (usize, u32) {
        let (page, unit) = self.page.div_rem(ppa.0);
        (page as usize, unit)
    }

    /// Number of the block (of one plane) that has an address, and the page in it.
    #[inline]
    pub(crate) fn block_and_page(&self, ppa: Ppa) -> (usize, u32) {
        let (superblock, rest) = self.superblock.div_rem(ppa.0);
        let (page, rest) = self.stripe.div_rem(rest);
        // Dies of a superblock follow each other, and so do the planes of a die.
        ((superblock * self.superblock_blocks + self.page.div_rem(rest).0) as usize, page)
    }

    /// Number of the block (of one plane) at a place.
    #[inline]
    pub(crate) fn block(&self, superblock: Superblock, die: u32, plane: u32) -> usize {
        self.die_block(superblock, die) * self.geometry.planes as usize + plane as usize
    }

    /// Numbers of the groups of blocks of a superblock, by die.
    #[inline]
    pub(crate) fn die_blocks(&self, superblock: Superblock) -> Range<usize> {
        let dies = self.geometry.superblock_dies as usize;
        superblock.index() * dies..(superblock.index() + 1) * dies
    }

    /// Number of the group of blocks that a die erases together.
    #[inline]
    pub(crate) fn die_block(&self, superblock: Superblock, die: u32) -> usize {
        let in_group = die - self.first_die(superblock);
        superblock.index() * self.geometry.superblock_dies as usize + in_group as usize
    }
}

/// Most that a [`Divider`] divides by.
const MOST_DIVISOR: u32 = 1 << 31;

/// Division by a number that is fixed at run time: one multiplication by its reciprocal.
///
/// Let `d` be the divisor, at most 2^31, and `c` be `2^63 / d`, rounded up. The quotient of any `n` below 2^32 is
/// `n * c / 2^63`, rounded down: that exceeds `n / d` by less than `n / 2^63`, which is less than `1 / d`, and the next
/// whole number is at least so far away.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Divider {
    by: u32,
    /// The reciprocal `c`.
    reciprocal: u64,
}

impl Divider {
    fn new(by: u32) -> Divider {
        Divider { by, reciprocal: (1u64 << 63).div_ceil(u64::from(by)) }
    }

    #[inline]
    fn div_rem(self, n: u32) -> (u32, u32) {
        // The product of twice `n`: its quotient by 2^64 is there without a shift.
        let quotient = ((u128::from(2 * u64::from(n)) * u128::from(self.reciprocal)) >> 64) as u32;
        (quotient, n - quotient * self.by)
    }
}

/// The sizes of an array never change, so they are no part of its state.
impl Hash for Layout {
    fn hash<H: Hasher>(&self, _: &mut H) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_divider_divides() {
        let around = |n: u32| [n.saturating_sub(1), n, n.saturating_add(1)];
        let some = [0, 1, 3, 5, 7, 12, 48, 1 << 10, 9216, 65_537, 1 << 20, 0x5555_5555, 1 << 31, u32::MAX];
        for by in some.into_iter().flat_map(around).filter(|by| (1..=MOST_DIVISOR).contains(by)) {
            let divider = Divider::new(by);
            let multiples = [1, 2, 3, 1000, u32::MAX / by].map(|n| by.saturating_mul(n));
            for n in some.into_iter().chain(multiples).flat_map(around) {
                assert_eq!(divider.div_rem(n), (n / by, n % by), "{n} / {by}");
            }
        }
    }

    /// The prototype's array, scaled down in superblocks.
    const HP_UFS: Geometry = Geometry {
        channels: 8,
        dies_per_channel: 1,
        superblock_dies: 8,
        planes: 2,
        units_per_page: 4,
        pages_per_block: 64,
        word_line_pages: 1,
        data_superblocks: 3,
        meta_superblocks: 2,
    };
    const ODD: Geometry = Geometry {
        channels: 3,
        dies_per_channel: 2,
        superblock_dies: 6,
        planes: 3,
        units_per_page: 5,
        pages_per_block: 7,
        word_line_pages: 1,
        data_superblocks: 2,
        meta_superblocks: 1,
    };
    /// Superblocks of two dies, in three groups.
    const NARROW: Geometry = Geometry { superblock_dies: 2, data_superblocks: 7, ..ODD };

    #[test]
    fn the_prototype_has_the_sizes_of_the_paper() {
        assert_eq!((HP_UFS.row_units(), HP_UFS.stripe_units()), (8, 64));
        assert_eq!((HP_UFS.superblock_units(), HP_UFS.total_units()), (4096, 5 * 4096));
        assert_eq!(HP_UFS.checked_total_units(), Some(5 * 4096));
    }

    #[test]
    fn addresses_count_in_fill_order_and_survive_the_round_trip() {
        for geometry in [HP_UFS, ODD, NARROW] {
            let layout = geometry.layout();
            let mut next = 0;
            for superblock in 0..geometry.superblocks() {
                let sizes = [geometry.pages_per_block, geometry.superblock_dies, geometry.planes];
                let count = sizes.iter().product::<u32>() * geometry.units_per_page;
                for n in 0..count {
                    let unit = n % geometry.units_per_page;
                    let plane = n / geometry.units_per_page % geometry.planes;
                    let first = superblock % geometry.die_groups() * geometry.superblock_dies;
                    let die = first + n / geometry.row_units() % geometry.superblock_dies;
                    let page = n / geometry.row_units() / geometry.superblock_dies;
                    let place = Place { superblock: Superblock(superblock), page, die, plane, unit };
                    assert_eq!(layout.ppa(place), Ppa(next));
                    assert_eq!(layout.place(Ppa(next)), place);
                    next += 1;
                }
            }
            assert_eq!(next, geometry.total_units());
        }
    }

    #[test]
    fn precomputed_arithmetic_equals_the_plain_one() {
        for geometry in [HP_UFS, ODD, NARROW] {
            let layout = geometry.layout();
            for ppa in (0..geometry.total_units()).map(Ppa) {
                let place = layout.place(ppa);
                assert_eq!(geometry.superblock_of(ppa), place.superblock);
                assert_eq!(layout.superblock_of(ppa), place.superblock);
                let block = layout.block(place.superblock, place.die, place.plane);
                assert_eq!(layout.block_and_page(ppa), (block, place.page));
                assert_eq!(geometry.die_of(ppa), place.die);
                assert_eq!(layout.die_of(ppa), place.die);
                assert_eq!(geometry.dies_of(place.superblock), layout.dies_of(place.superblock));
                let row = layout.ppa(Place { plane: 0, unit: 0, ..place });
                assert_eq!((geometry.row_start(ppa), layout.row_start(ppa)), (row, row));
                let left = geometry.row_units() - (ppa.0 - row.0);
                assert_eq!(geometry.units_left_in_row(ppa), left);
                assert_eq!(layout.units_left_in_row(ppa), left);
                let first = geometry.first_ppa(place.superblock);
                assert_eq!(first, layout.first_ppa(place.superblock));
                assert_eq!(geometry.offset_in_superblock(ppa), ppa.0 - first.0);
                assert_eq!(layout.offset_in_superblock(ppa), ppa.0 - first.0);
            }
        }
    }

    /// MSFTL Table 1: 9 MiB are one block of one chip. Neighbours in number lie on different chips, and all blocks of a
    /// chip count.
    #[test]
    fn narrow_superblocks_take_turns_on_the_groups_of_dies() {
        let dies: Vec<_> = (0..4).map(|n| NARROW.dies_of(Superblock(n))).collect();
        assert_eq!(dies, [0..2, 2..4, 4..6, 0..2]);
        assert_eq!((NARROW.stripe_units(), NARROW.superblock_units()), (2 * 15, 2 * 15 * 7));
        let mut numbers: Vec<_> = (0..6)
            .flat_map(|n| NARROW.dies_of(Superblock(n)).map(move |die| (n, die)))
            .map(|(n, die)| NARROW.layout().die_block(Superblock(n), die))
            .collect();
        numbers.dedup();
        assert_eq!(numbers, (0..12).collect::<Vec<_>>());
        assert_eq!(HP_UFS.dies_of(Superblock(2)), 0..8);
    }

    #[test]
    fn metadata_superblocks_follow_the_data_and_are_slc() {
        let cells: Vec<_> = (0..5).map(|n| HP_UFS.cell(Superblock(n))).collect();
        use CellType::{Slc, Tlc};
        assert_eq!(cells, [Tlc, Tlc, Tlc, Slc, Slc]);
    }

    #[test]
    fn sizes_that_do_not_fit_are_refused() {
        assert_eq!(Geometry { planes: 0, ..HP_UFS }.checked_total_units(), None);
        for superblock_dies in [0, 3, 16] {
            assert_eq!(Geometry { superblock_dies, ..HP_UFS }.checked_total_units(), None);
        }
        let none = Geometry { data_superblocks: 0, meta_superblocks: 0, ..HP_UFS };
        assert_eq!(none.checked_total_units(), None);
        // 2^20 superblocks of 2^12 units are exactly 2^32 units.
        let full = Geometry { data_superblocks: 1 << 20, meta_superblocks: 0, ..HP_UFS };
        assert_eq!(full.checked_total_units(), None);
        let fits = Geometry { data_superblocks: (1 << 20) - 1, ..full };
        assert_eq!(fits.checked_total_units(), Some(u32::MAX - 4095));
        let one = Geometry { pages_per_block: 1 << 25, data_superblocks: 1, ..full };
        assert_eq!(one.checked_total_units(), Some(1 << 31));
        assert_eq!(Geometry { pages_per_block: one.pages_per_block + 1, ..one }.checked_total_units(), None);
    }
}
