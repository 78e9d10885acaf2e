//! Enum dispatch of [`Tamper`], which tests use.

use units::{Lpa, Ppa, Superblock};

use super::AnyBooster;
use super::seat::{BlockValidity, Tamper};

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

    fn validity(&self, block: Superblock) -> Option<BlockValidity> {
        with_booster!(self, b => b.validity(block))
    }
}
