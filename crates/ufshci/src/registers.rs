//! The registers (JESD223D clause 5) and their bits.

/// Bytes of the register space.
pub const BYTES: u32 = 0x100;

/// Host controller capabilities.
pub const CAP: u32 = 0x00;
/// UFSHCI version.
pub const VER: u32 = 0x08;
/// Interrupt status; a 1 that is written clears the bit.
pub const IS: u32 = 0x20;
/// Interrupt enable.
pub const IE: u32 = 0x24;
/// Host controller status.
pub const HCS: u32 = 0x30;
/// Host controller enable.
pub const HCE: u32 = 0x34;
/// UTP transfer request interrupt aggregation control. It is kept and changes nothing: every command interrupts.
pub const UTRIACR: u32 = 0x4C;
/// Transfer request list base address.
pub const UTRLBA: u32 = 0x50;
/// Its upper half.
pub const UTRLBAU: u32 = 0x54;
/// Transfer request doorbell.
pub const UTRLDBR: u32 = 0x58;
/// Transfer request list clear; a 0 that is written clears the slot.
pub const UTRLCLR: u32 = 0x5C;
/// Transfer request list run-stop.
pub const UTRLRSR: u32 = 0x60;
/// Task management list base address.
pub const UTMRLBA: u32 = 0x70;
/// Its upper half.
pub const UTMRLBAU: u32 = 0x74;
/// Task management doorbell.
pub const UTMRLDBR: u32 = 0x78;
/// Task management list clear.
pub const UTMRLCLR: u32 = 0x7C;
/// Task management list run-stop.
pub const UTMRLRSR: u32 = 0x80;
/// UIC command.
pub const UICCMD: u32 = 0x90;
/// UIC command argument 1: attribute and selector.
pub const UCMDARG1: u32 = 0x94;
/// UIC command argument 2: result code.
pub const UCMDARG2: u32 = 0x98;
/// UIC command argument 3: value.
pub const UCMDARG3: u32 = 0x9C;
/// Power of the device: whatever is written switches it off and on. The standard leaves C0h to FFh to vendors.
pub const POWER: u32 = 0xC0;

/// Transfer request slots.
pub const SLOTS: u8 = 32;
/// Task management slots.
pub const TASK_SLOTS: u8 = 8;

/// CAP: 32 slots, 8 task slots, addresses of 64 bits.
pub const CAPABILITIES: u32 = (SLOTS as u32 - 1) | (TASK_SLOTS as u32 - 1) << 16 | 1 << 24;
/// VER: 3.0.
pub const VERSION: u32 = 0x0300;

/// IS: transfer request completed.
pub const UTRCS: u32 = 1;
/// IS: power mode status.
pub const UPMS: u32 = 1 << 4;
/// IS: hibernate exit status.
pub const UHXS: u32 = 1 << 5;
/// IS: hibernate enter status.
pub const UHES: u32 = 1 << 6;
/// IS: link startup by the other side.
pub const ULSS: u32 = 1 << 8;
/// IS: task management request completed.
pub const UTMRCS: u32 = 1 << 9;
/// IS: UIC command completed.
pub const UCCS: u32 = 1 << 10;
/// IS: system bus fatal error.
pub const SBFES: u32 = 1 << 17;
/// IS: all bits that this controller sets.
pub const IS_BITS: u32 = UTRCS | UPMS | UHXS | UHES | ULSS | UTMRCS | UCCS | SBFES;

/// HCS: device present.
pub const DP: u32 = 1;
/// HCS: transfer request list ready, task management list ready, UIC command ready.
pub const READY: u32 = 0b1110;
/// HCS: status of the last change of the power mode: "local", that is success for the one who asked.
pub const PWR_LOCAL: u32 = 1 << 8;
