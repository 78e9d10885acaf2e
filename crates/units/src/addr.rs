//! Addresses and sequence numbers.

use std::fmt;

use crate::SEGMENT_ENTRIES;

/// Logical page address: the number of a 4 KiB unit as the host sees it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Lpa(pub u32);

impl Lpa {
    /// The L2P segment that maps this address.
    #[inline]
    pub fn segment(self) -> SegmentId {
        SegmentId(self.0 / SEGMENT_ENTRIES)
    }

    /// Position of this address inside its segment, `0..1024`.
    #[inline]
    pub fn slot(self) -> usize {
        (self.0 % SEGMENT_ENTRIES) as usize
    }

    /// The address `n` units later.
    #[inline]
    pub fn offset(self, n: u32) -> Lpa {
        Lpa(self.0 + n)
    }

    /// Array index.
    #[inline]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// Physical page address: the number of a 4 KiB unit on flash, in superblock fill order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Ppa(pub u32);

impl Ppa {
    /// The address `n` units later in fill order.
    #[inline]
    pub fn offset(self, n: u32) -> Ppa {
        Ppa(self.0 + n)
    }

    /// Array index.
    #[inline]
    pub fn index(self) -> usize {
        self.0 as usize
    }

    /// The four bytes of an L2P entry: 0 means unmapped, any other value is the address plus one. Used wherever a table
    /// of optional addresses is stored or sent, because a zeroed table is then an empty one.
    #[inline]
    pub fn pack(ppa: Option<Ppa>) -> u32 {
        ppa.map_or(0, |p| p.0 + 1)
    }

    /// Inverse of [`Ppa::pack`].
    #[inline]
    pub fn unpack(raw: u32) -> Option<Ppa> {
        raw.checked_sub(1).map(Ppa)
    }
}

/// Number of an L2P segment.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct SegmentId(pub u32);

impl SegmentId {
    /// First address that the segment maps.
    #[inline]
    pub fn first_lpa(self) -> Lpa {
        Lpa(self.0 * SEGMENT_ENTRIES)
    }

    /// Array index.
    #[inline]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// Number of a map unit: the part of the mapping table that one piece of metadata holds. With HP-UFS that is an L2P
/// segment or a part of one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct MapUnit(pub u32);

impl MapUnit {
    /// Array index.
    #[inline]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// Number of a superblock; data superblocks come first, metadata superblocks after them.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Superblock(pub u32);

impl Superblock {
    /// Array index.
    #[inline]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// Sequence number of an L2P change. Every 4 KiB unit placed on flash and every trim takes the next one (HP-UFS Sec.
/// III-A). The first change has number 1, so 0 means "before everything".
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Seq(pub u64);

impl Seq {
    /// The low 32 bits, as commands and responses carry them.
    #[inline]
    pub fn wire(self) -> u32 {
        self.0 as u32
    }

    /// The full number with these low 32 bits. `near` is any number within 2^31 of it.
    #[inline]
    pub fn from_wire(low: u32, near: Seq) -> Seq {
        let delta = low.wrapping_sub(near.0 as u32) as i32;
        Seq(near.0.wrapping_add_signed(i64::from(delta)))
    }

    /// The number `n` changes later.
    #[inline]
    pub fn plus(self, n: u32) -> Seq {
        Seq(self.0 + u64::from(n))
    }
}

macro_rules! display_number {
    ($($name:ident: $prefix:literal),*) => {$(
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!($prefix, " {}"), self.0)
            }
        }
    )*};
}
display_number!(
    Lpa: "LPA", Ppa: "PPA", SegmentId: "segment", MapUnit: "map unit", Superblock: "superblock", Seq: "sequence number"
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packing_keeps_unmapped_apart_from_address_zero() {
        assert_eq!(Ppa::pack(None), 0);
        for raw in [0, 1, 77, u32::MAX - 1] {
            assert_eq!(Ppa::unpack(Ppa::pack(Some(Ppa(raw)))), Some(Ppa(raw)));
        }
    }

    #[test]
    fn sequence_numbers_survive_the_wrap_of_their_wire_form() {
        for (full, near) in [(5, 3), (3, 5), (1 << 32, (1 << 32) - 9), ((1 << 32) - 9, (1 << 32) + 100)] {
            assert_eq!(Seq::from_wire(Seq(full).wire(), Seq(near)), Seq(full));
        }
    }

    #[test]
    fn an_lpa_knows_its_segment() {
        assert_eq!(Lpa(2049).segment(), SegmentId(2));
        assert_eq!(Lpa(2049).slot(), 1);
        assert_eq!(SegmentId(2).first_lpa(), Lpa(2048));
    }
}
