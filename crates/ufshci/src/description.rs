//! What a device says about itself that the simulation does not know.

use units::{LogicalUnits, Nanos};

/// Names of a device, and the times of what never reaches its flash.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Description {
    /// Vendor, at most 8 characters.
    pub vendor: String,
    /// Product, at most 16 characters.
    pub product: String,
    /// Its logical units, which together have all of its addresses.
    pub logical_units: LogicalUnits,
    /// The one whose buffer WriteBooster is; `None`: all share it.
    pub boosted_lun: Option<u8>,
    /// The device announces HPB 2.0, if it can.
    pub hpb: bool,
    /// The device describes itself as one of HP-UFS.
    pub hp_ufs: bool,
    /// From a command that needs no flash to its answer.
    pub answer_time: Nanos,
    /// From a UIC command to its end.
    pub uic_time: Nanos,
}
