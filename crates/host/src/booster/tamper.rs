//! Test support: a look into a booster's tables, and false entries in them. The host is not trusted (HPB 2017 Sec. 2.2.5), so
//! tests falsify what it keeps.

use units::{Lpa, Ppa, Superblock};

use super::AnyBooster;

/// What tests ask. By default a booster holds nothing that could be looked at.
pub(crate) trait Tamper {
    /// Overwrites the cached address of an LPA, but nothing derived from it. False if it is not cached.
    fn tamper(&mut self, _lpa: Lpa, _ppa: Option<Ppa>) -> bool {
        false
    }

    /// The cached address of an LPA.
    fn mapping(&self, _lpa: Lpa) -> Option<Option<Ppa>> {
        None
    }

    /// Overwrites the cached sealed entry of an LPA. False if it is not cached.
    fn tamper_sealed(&mut self, _lpa: Lpa, _entry: u64) -> bool {
        false
    }

    /// The cached sealed entry of an LPA.
    fn sealed(&self, _lpa: Lpa) -> Option<u64> {
        None
    }

    /// Valid page count and bitmap of a block.
    fn validity(&self, _block: Superblock) -> Option<(u32, Box<[u64]>)> {
        None
    }
}

impl Tamper for AnyBooster {
    fn tamper(&mut self, lpa: Lpa, ppa: Option<Ppa>) -> bool {
        with_booster!(self, b => b.tamper(lpa, ppa))
    }

    fn mapping(&self, lpa: Lpa) -> Option<Option<Ppa>> {
        with_booster!(self, b => b.mapping(lpa))
    }

    fn tamper_sealed(&mut self, lpa: Lpa, entry: u64) -> bool {
        with_booster!(self, b => b.tamper_sealed(lpa, entry))
    }

    fn sealed(&self, lpa: Lpa) -> Option<u64> {
        with_booster!(self, b => b.sealed(lpa))
    }

    fn validity(&self, block: Superblock) -> Option<(u32, Box<[u64]>)> {
        with_booster!(self, b => b.validity(block))
    }
}
