//! UIC commands (JESD223D clause 5.6, UniPro 1.8): a link that comes up at once and takes every power mode.

use crate::registers::{DP, PWR_LOCAL, UHES, UHXS, UPMS};

const DME_GET: u8 = 0x01;
const DME_SET: u8 = 0x02;
const DME_PEER_GET: u8 = 0x03;
const DME_PEER_SET: u8 = 0x04;
const DME_POWERON: u8 = 0x10;
const DME_POWEROFF: u8 = 0x11;
const DME_ENABLE: u8 = 0x12;
const DME_RESET: u8 = 0x14;
const DME_ENDPOINT_RESET: u8 = 0x15;
const DME_LINK_STARTUP: u8 = 0x16;
/// The link hibernates.
pub const DME_HIBER_ENTER: u8 = 0x17;
/// It is up again.
pub const DME_HIBER_EXIT: u8 = 0x18;

/// PA_PWRMode: setting it changes the power mode of the link.
const PA_PWRMODE: u16 = 0x1571;
/// Result: the attribute does not exist, or the command.
const FAILURE: u32 = 0x01;

/// Attributes that are not 0 at first, with their values (Linux needs lanes and gears).
const AT_FIRST: [(u16, u32); 8] = [
    (0x1520, 2), // PA_AvailTxDataLanes
    (0x1540, 2), // PA_AvailRxDataLanes
    (0x1561, 2), // PA_ConnectedTxDataLanes
    (0x1581, 2), // PA_ConnectedRxDataLanes
    (0x1568, 4), // PA_TxGear
    (0x1583, 4), // PA_RxGear
    (0x1586, 7), // PA_MaxRxPWMGear
    (0x1587, 4), // PA_MaxRxHSGear
];
/// Most attributes that are remembered for each side; more than UniPro has are not kept.
const MOST: usize = 512;

/// What a UIC command comes to.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Outcome {
    /// For argument 2: 0 is success.
    pub result: u32,
    /// For argument 3, of a command that reads.
    pub value: Option<u32>,
    /// Bits of HCS that are set.
    pub status: u32,
    /// Bits of IS beside the end of the command.
    pub interrupts: u32,
}

/// The two ends of the link.
#[derive(Clone, Default, Debug)]
pub struct Link {
    /// Attributes of this side and of the other that were set.
    attributes: [Vec<(u16, u32)>; 2],
}

impl Link {
    /// Does a command.
    pub fn execute(&mut self, command: u8, argument: u32, value: u32) -> Outcome {
        let attribute = (argument >> 16) as u16;
        match command {
            DME_GET => Outcome { value: Some(self.get(0, attribute)), ..Outcome::default() },
            DME_PEER_GET => Outcome { value: Some(self.get(1, attribute)), ..Outcome::default() },
            DME_SET => {
                self.set(0, attribute, value);
                match attribute {
                    PA_PWRMODE => Outcome { status: PWR_LOCAL, interrupts: UPMS, ..Outcome::default() },
                    _ => Outcome::default(),
                }
            }
            DME_PEER_SET => {
                self.set(1, attribute, value);
                Outcome::default()
            }
            DME_RESET | DME_POWEROFF => {
                *self = Link::default();
                Outcome::default()
            }
            DME_POWERON | DME_ENABLE | DME_ENDPOINT_RESET => Outcome::default(),
            DME_LINK_STARTUP => Outcome { status: DP, ..Outcome::default() },
            DME_HIBER_ENTER => Outcome { status: PWR_LOCAL, interrupts: UHES, ..Outcome::default() },
            DME_HIBER_EXIT => Outcome { status: PWR_LOCAL, interrupts: UHXS, ..Outcome::default() },
            _ => Outcome { result: FAILURE, ..Outcome::default() },
        }
    }

    fn get(&self, side: usize, attribute: u16) -> u32 {
        let found = |list: &[(u16, u32)]| list.iter().find(|(one, _)| *one == attribute).map(|&(_, value)| value);
        found(&self.attributes[side]).or_else(|| found(&AT_FIRST)).unwrap_or(0)
    }

    fn set(&mut self, side: usize, attribute: u16, value: u32) {
        let list = &mut self.attributes[side];
        match list.iter().position(|(one, _)| *one == attribute) {
            Some(at) => list[at].1 = value,
            None if list.len() < MOST => list.push((attribute, value)),
            None => {}
        }
    }
}
