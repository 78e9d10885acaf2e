//! Logical units: their numbers, and which have yet to tell that they were reset.

/// The unit that has the medium.
pub const UNIT: u8 = 0x00;
/// Well-known units as UPIUs name them (JESD220E clause 10.8.5): REPORT LUNS, boot, RPMB, UFS device.
const REPORT_LUNS: u8 = 0x81;
const BOOT: u8 = 0xB0;
const RPMB: u8 = 0xC4;
pub const DEVICE: u8 = 0xD0;
/// All that there are.
pub const UNITS: [u8; 5] = [UNIT, REPORT_LUNS, BOOT, RPMB, DEVICE];

/// Units that have yet to tell that they were reset. After power-on that are all (SAM-5 clause 5.14).
#[derive(Clone, Copy, Debug)]
pub struct Attention([bool; UNITS.len()]);

impl Default for Attention {
    fn default() -> Attention {
        Attention([true; UNITS.len()])
    }
}

impl Attention {
    /// A unit has been reset.
    pub fn raise(&mut self, lun: u8) {
        if let Some(at) = UNITS.iter().position(|&unit| unit == lun) {
            self.0[at] = true;
        }
    }

    /// True once after each reset of a unit.
    pub fn take(&mut self, lun: u8) -> bool {
        UNITS.iter().position(|&unit| unit == lun).is_some_and(|at| std::mem::take(&mut self.0[at]))
    }
}
