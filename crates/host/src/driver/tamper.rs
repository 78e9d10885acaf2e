//! For tests of the driver: changes that an untrusted host could make to its own tables (HPB 2017 Sec. 2.2.5).

use units::{Lpa, Ppa, Superblock};

use super::Driver;
use crate::booster::{BlockValidity, Tamper};

/// For tests: the host is not trusted (HPB 2017 Sec. 2.2.5), so tests read its tables and falsify them.
impl Driver {
    /// `hp-ufs`: overwrites the cached address of an LPA, but neither bitmap nor counts. False if it is not cached.
    pub fn tamper(&mut self, lpa: Lpa, ppa: Option<Ppa>) -> bool {
        self.booster.tamper(lpa, ppa)
    }

    /// HPB: overwrites the cached sealed entry of an LPA. False if its group is not cached.
    pub fn tamper_sealed(&mut self, lpa: Lpa, entry: u64) -> bool {
        self.booster.tamper_sealed(lpa, entry)
    }

    /// HPB: the cached sealed entry of an LPA; 0 means that none is known.
    pub fn sealed(&self, lpa: Lpa) -> Option<u64> {
        self.booster.sealed(lpa)
    }

    /// `hp-ufs`: the cached address of an LPA; `None` if its segment is not cached.
    pub fn mapping(&self, lpa: Lpa) -> Option<Option<Ppa>> {
        self.booster.mapping(lpa)
    }

    /// `hp-ufs`: valid page count and bitmap of a block.
    pub fn validity(&self, block: Superblock) -> Option<BlockValidity> {
        self.booster.validity(block)
    }
}
