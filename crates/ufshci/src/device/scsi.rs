//! SCSI commands about the logical units, which need no flash (SPC-4, SBC-3; JESD220E clause 11.3).

use ufs::DeviceInfo;
use units::UNIT_BYTES;

use super::Device;
use super::descriptors::REVISION;
use super::logical_units::{DEVICE, Placed};
use super::query::POWER_MODE;
use super::sense::{BECOMING_READY, INVALID_FIELD, INVALID_OPCODE, NO_UNIT, OUT_OF_RANGE, RESET_OCCURRED, Sense};

const TEST_UNIT_READY: u8 = 0x00;
const REQUEST_SENSE: u8 = 0x03;
const READ_6: u8 = 0x08;
const WRITE_6: u8 = 0x0A;
const INQUIRY: u8 = 0x12;
const MODE_SENSE_6: u8 = 0x1A;
const START_STOP_UNIT: u8 = 0x1B;
const SEND_DIAGNOSTIC: u8 = 0x1D;
const READ_CAPACITY_10: u8 = 0x25;
const READ_10: u8 = 0x28;
const WRITE_10: u8 = 0x2A;
const VERIFY_10: u8 = 0x2F;
const PRE_FETCH_10: u8 = 0x34;
const SYNCHRONIZE_CACHE_10: u8 = 0x35;
const MODE_SENSE_10: u8 = 0x5A;
const READ_16: u8 = 0x88;
const WRITE_16: u8 = 0x8A;
const SYNCHRONIZE_CACHE_16: u8 = 0x91;
const SERVICE_ACTION_IN_16: u8 = 0x9E;
const REPORT_LUNS_COMMAND: u8 = 0xA0;

/// Who does a command.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Scsi {
    /// The medium, with this CDB.
    Medium([u8; 16]),
    /// The device has done it; data for the host.
    Done(Vec<u8>),
    /// The device refuses it.
    Refused(Sense),
}

impl Device {
    /// Does a command, or says that it is the medium's. `ready` is false while the device recovers.
    pub fn scsi(&mut self, lun: u8, cdb: &[u8; 16], info: &DeviceInfo, ready: bool) -> Scsi {
        match self.local(lun, cdb, info) {
            Some(done) => done.map_or_else(Scsi::Refused, Scsi::Done),
            None if !ready => Scsi::Refused(BECOMING_READY),
            None => short_form(cdb, info).map_or(Scsi::Refused(OUT_OF_RANGE), Scsi::Medium),
        }
    }

    /// `None` for a command of the medium.
    fn local(&mut self, lun: u8, cdb: &[u8; 16], info: &DeviceInfo) -> Option<Result<Vec<u8>, Sense>> {
        let there = self.has_unit(lun);
        let unit = self.unit(lun, info).map(|Placed { info, .. }| info);
        // SPC-4 clause 5.13: these three are done all the same, and REQUEST SENSE is how it may be asked for.
        if !matches!(cdb[0], INQUIRY | REPORT_LUNS_COMMAND | REQUEST_SENSE) && there && self.attention.take(lun) {
            return Some(Err(RESET_OCCURRED));
        }
        let done = match (cdb[0], &unit) {
            (INQUIRY, _) => self.inquiry(there, unit.is_none(), cdb),
            (REPORT_LUNS_COMMAND, _) => {
                Ok(cut(&report_luns(self.description.logical_units.count()), be32(&cdb[6..10])))
            }
            (REQUEST_SENSE, _) => Ok(cut(&self.request_sense(lun), cdb[4].into())),
            _ if !there => Err(NO_UNIT),
            (TEST_UNIT_READY | SEND_DIAGNOSTIC, _) => Ok(Vec::new()),
            (START_STOP_UNIT, _) => Ok(self.start_stop(lun, cdb)),
            (_, None) => Err(INVALID_OPCODE),
            (READ_CAPACITY_10, Some(info)) => Ok(capacity_10(info)),
            (SERVICE_ACTION_IN_16, Some(info)) if cdb[1] & 0x1F == 0x10 => {
                Ok(cut(&capacity_16(info), be32(&cdb[10..14])))
            }
            (MODE_SENSE_6, _) => mode_sense(cdb, 4).map(|pages| cut(&pages, cdb[4].into())),
            (MODE_SENSE_10, _) => {
                mode_sense(cdb, 8).map(|pages| cut(&pages, u32::from(cdb[7]) << 8 | u32::from(cdb[8])))
            }
            (VERIFY_10 | PRE_FETCH_10, Some(info)) => within(cdb, info),
            // Those of other drivers than Linux's, of HPB and of vendors are the codec's to know.
            (opcode, _) if is_known(opcode) => return None,
            _ => Err(INVALID_OPCODE),
        };
        Some(done)
    }

    /// SPC-4 clause 6.39: what a unit has yet to tell, or nothing, in fixed format.
    fn request_sense(&mut self, lun: u8) -> [u8; 18] {
        let (key, asc) = if self.has_unit(lun) && self.attention.take(lun) { RESET_OCCURRED } else { (0, 0) };
        let mut data = [0; 18];
        (data[0], data[2], data[7], data[12]) = (0x70, key, 10, asc);
        data
    }

    /// SPC-4 clauses 6.6, 7.8; SBC-3 clause 6.5.
    fn inquiry(&self, there: bool, well_known: bool, cdb: &[u8; 16]) -> Result<Vec<u8>, Sense> {
        let kind = match (there, well_known) {
            (false, _) => 0x7F,
            (true, true) => 0x1E,
            (true, false) => 0x00,
        };
        let allocated = u32::from(cdb[3]) << 8 | u32::from(cdb[4]);
        if cdb[1] & 1 == 0 {
            let mut data = vec![kind, 0, 6, 2, 31, 0, 0, 2];
            data.extend(padded(&self.description.vendor, 8));
            data.extend(padded(&self.description.product, 16));
            data.extend(padded(REVISION, 4));
            return Ok(cut(&data, allocated));
        }
        let page: Vec<u8> = match cdb[2] {
            0x00 if well_known => vec![0x00],
            0x00 => vec![0x00, 0xB0, 0xB1, 0xB2],
            0xB0 if !well_known => block_limits(),
            0xB1 if !well_known => [&[0, 1][..], &[0; 58]].concat(), // no rotation
            0xB2 if !well_known => vec![0, 0x84, 2, 0],              // UNMAP, zeroes after it, thin
            _ => return Err(INVALID_FIELD),
        };
        let header = [kind, cdb[2], 0, page.len() as u8];
        Ok(cut(&[&header[..], &page].concat(), allocated))
    }

    /// Power modes of the whole device (JESD220E clause 7.4.2).
    fn start_stop(&mut self, lun: u8, cdb: &[u8; 16]) -> Vec<u8> {
        let mode = match cdb[4] >> 4 {
            1 => Some(0x11), // active
            2 => Some(0x22), // sleep
            3 => Some(0x33), // power-down
            4 => Some(0x44), // deep sleep
            _ => None,
        };
        if let (DEVICE, Some(mode)) = (lun, mode) {
            self.attributes.set(POWER_MODE, mode);
        }
        Vec::new()
    }
}

fn is_known(opcode: u8) -> bool {
    let blocks = [READ_6, WRITE_6, READ_10, WRITE_10, READ_16, WRITE_16, SYNCHRONIZE_CACHE_10, SYNCHRONIZE_CACHE_16];
    blocks.contains(&opcode) || matches!(opcode, 0x42 | 0xC0..=0xC5 | 0xF8..=0xFA)
}

/// Reads and writes in the form of ten bytes, which the codec knows; others as they are. `None` if an address does not
/// fit it.
fn short_form(cdb: &[u8; 16], info: &DeviceInfo) -> Option<[u8; 16]> {
    let form = |opcode: u8, flags: u8, lba: u32, len: u16| {
        let mut short = [0; 16];
        (short[0], short[1]) = (opcode, flags);
        short[2..6].copy_from_slice(&lba.to_be_bytes());
        short[7..9].copy_from_slice(&len.to_be_bytes());
        short
    };
    let of_6 = |opcode| {
        let lba = u32::from_be_bytes([0, cdb[1] & 0x1F, cdb[2], cdb[3]]);
        let len = if cdb[4] == 0 { 256 } else { cdb[4].into() };
        Some(form(opcode, 0, lba, len))
    };
    let of_16 = |opcode, flags| {
        let upper = be32(&cdb[2..6]);
        let len = u16::try_from(be32(&cdb[10..14])).ok()?;
        (upper == 0).then(|| form(opcode, flags, be32(&cdb[6..10]), len))
    };
    // Protection information is not there; DPO and FUA are looked at later.
    let flags = cdb[1] & 0x18;
    match cdb[0] {
        READ_6 => of_6(READ_10),
        WRITE_6 => of_6(WRITE_10),
        READ_10 | WRITE_10 => Some(form(cdb[0], flags, be32(&cdb[2..6]), u16::from_be_bytes([cdb[7], cdb[8]]))),
        // The paper of 2017 has its plain entries there.
        READ_16 if !info.has_plain_entries() => of_16(READ_10, flags),
        WRITE_16 => of_16(WRITE_10, flags),
        // All of the unit, whatever part was asked for.
        SYNCHRONIZE_CACHE_10 | SYNCHRONIZE_CACHE_16 => Some(form(SYNCHRONIZE_CACHE_10, 0, 0, 0)),
        _ => Some(*cdb),
    }
}

fn within(cdb: &[u8; 16], info: &DeviceInfo) -> Result<Vec<u8>, Sense> {
    let len = u16::from_be_bytes([cdb[7], cdb[8]]);
    let end = u64::from(be32(&cdb[2..6])) + u64::from(len);
    if end <= u64::from(info.capacity_units) { Ok(Vec::new()) } else { Err(OUT_OF_RANGE) }
}

/// SPC-4 clause 6.33: eight bytes for each unit, with single-level numbers.
fn report_luns(count: u8) -> Vec<u8> {
    let mut list = vec![0, 0, 0, 8 * count, 0, 0, 0, 0];
    list.extend((0..count).flat_map(|lun| [0, lun, 0, 0, 0, 0, 0, 0]));
    list
}

fn capacity_10(info: &DeviceInfo) -> Vec<u8> {
    [(info.capacity_units - 1).to_be_bytes(), (UNIT_BYTES as u32).to_be_bytes()].concat()
}

/// SBC-3 clause 5.16.
fn capacity_16(info: &DeviceInfo) -> [u8; 32] {
    let mut data = [0; 32];
    data[..8].copy_from_slice(&u64::from(info.capacity_units - 1).to_be_bytes());
    data[8..12].copy_from_slice(&(UNIT_BYTES as u32).to_be_bytes());
    data[14] = 0xC0; // thin, and unmapped blocks read as zeroes
    data
}

/// SBC-3 clause 6.5.3: UNMAP of any length, one descriptor (the codec has one).
fn block_limits() -> Vec<u8> {
    let mut page = vec![0; 60];
    page[16..20].copy_from_slice(&u32::MAX.to_be_bytes());
    page[20..24].copy_from_slice(&1_u32.to_be_bytes());
    page[24..28].copy_from_slice(&1_u32.to_be_bytes());
    page
}

/// SPC-4 clause 6.11: the caching page (write cache on) and the control page, behind a header that announces FUA.
fn mode_sense(cdb: &[u8; 16], header: usize) -> Result<Vec<u8>, Sense> {
    let mut caching = [0; 20];
    (caching[0], caching[1], caching[2]) = (0x08, 18, 0x04);
    let mut control = [0; 12];
    (control[0], control[1]) = (0x0A, 10);
    // What can be changed: nothing.
    let changeable = cdb[2] >> 6 == 1;
    if changeable {
        caching[2] = 0;
    }
    let pages = match cdb[2] & 0x3F {
        0x08 => caching.to_vec(),
        0x0A => control.to_vec(),
        0x3F => [&caching[..], &control].concat(),
        _ => return Err(INVALID_FIELD),
    };
    let mut data = vec![0; header];
    match header {
        4 => (data[0], data[2]) = ((pages.len() + 3) as u8, 0x10),
        _ => (data[1], data[3]) = ((pages.len() + 6) as u8, 0x10),
    }
    data.extend(pages);
    Ok(data)
}

fn be32(bytes: &[u8]) -> u32 {
    bytes.iter().fold(0, |value, &byte| value << 8 | u32::from(byte))
}

fn cut(data: &[u8], allocated: u32) -> Vec<u8> {
    data[..data.len().min(allocated as usize)].to_vec()
}

fn padded(text: &str, len: usize) -> Vec<u8> {
    let printable = |c: char| if c.is_ascii_graphic() { c as u8 } else { b' ' };
    let mut bytes: Vec<u8> = text.chars().map(printable).take(len).collect();
    bytes.resize(len, b' ');
    bytes
}
