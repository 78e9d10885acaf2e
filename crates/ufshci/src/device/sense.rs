//! Why a SCSI command is refused (SPC-4 clause 4.5).

/// Sense key and additional sense code.
pub type Sense = (u8, u8);

/// ILLEGAL REQUEST, invalid command operation code.
pub const INVALID_OPCODE: Sense = (0x05, 0x20);
/// ILLEGAL REQUEST, logical block address out of range.
pub const OUT_OF_RANGE: Sense = (0x05, 0x21);
/// ILLEGAL REQUEST, invalid field in CDB.
pub const INVALID_FIELD: Sense = (0x05, 0x24);
/// ILLEGAL REQUEST, logical unit not supported.
pub const NO_UNIT: Sense = (0x05, 0x25);
/// UNIT ATTENTION, power on, reset, or bus device reset occurred.
pub const RESET_OCCURRED: Sense = (0x06, 0x29);
/// NOT READY, becoming ready.
pub const BECOMING_READY: Sense = (0x02, 0x04);
