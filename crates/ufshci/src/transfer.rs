//! Descriptors of the transfer request list and what they point to (JESD223D clause 6.1).

use ufs::codec::upiu::UPIU_BYTES;

use crate::memory::{GuestMemory, NotGuest};

/// Bytes of a UTRD.
pub const UTRD_BYTES: u64 = 32;
/// Where the overall command status stands in it.
const OCS_AT: u64 = 8;
/// Bytes of an entry of a PRDT.
const PRDT_ENTRY_BYTES: u64 = 16;
/// Most bytes of an entry: its length has 18 bits and is one less.
const PRDT_LENGTH_BITS: u32 = 0x3_FFFF;
/// Most bytes of a request UPIU, the longest descriptor included.
const MOST_REQUEST: usize = UPIU_BYTES + 256;

/// Overall command status (JESD223D Table 32).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ocs {
    Success = 0,
    InvalidCommandTable = 1,
    InvalidPrdt = 2,
    MismatchDataSize = 3,
    MismatchResponseSize = 4,
}

/// A transfer request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Utrd {
    at: u64,
    table: u64,
    response_at: u64,
    response_bytes: usize,
    prdt_at: u64,
    prdt_entries: u64,
    /// It interrupts also when it succeeds.
    pub interrupts: bool,
}

impl Utrd {
    /// Reads the UTRD at an address.
    ///
    /// # Errors
    /// If that is not the guest's.
    pub fn read<G: GuestMemory + ?Sized>(memory: &G, at: u64) -> Result<Utrd, NotGuest> {
        let mut bytes = [0; UTRD_BYTES as usize];
        memory.read(at, &mut bytes)?;
        let word = |i: usize| u32::from_le_bytes([bytes[i], bytes[i + 1], bytes[i + 2], bytes[i + 3]]);
        let half = |i: usize| u64::from(u16::from_le_bytes([bytes[i], bytes[i + 1]]));
        let table = u64::from(word(16) & !0x7F) | u64::from(word(20)) << 32;
        Ok(Utrd {
            at,
            table,
            response_at: table.wrapping_add(4 * half(26)),
            response_bytes: 4 * half(24) as usize,
            prdt_at: table.wrapping_add(4 * half(30)),
            prdt_entries: half(28),
            interrupts: word(0) & 1 << 24 != 0,
        })
    }

    /// The request UPIU with its data segment.
    ///
    /// # Errors
    /// If it is not the guest's.
    pub fn request<G: GuestMemory + ?Sized>(&self, memory: &G) -> Result<Vec<u8>, NotGuest> {
        let mut upiu = vec![0; MOST_REQUEST];
        // What comes after the first part is there if the table is as long as the standard wants it.
        let (head, segment) = upiu.split_at_mut(UPIU_BYTES);
        memory.read(self.table, head)?;
        if memory.read(self.table.wrapping_add(UPIU_BYTES as u64), segment).is_err() {
            upiu.truncate(UPIU_BYTES);
        }
        Ok(upiu)
    }

    /// Where data lies: addresses and lengths that make up so many bytes.
    ///
    /// # Errors
    /// If they are too few, or the table is not the guest's.
    fn pieces<G: GuestMemory + ?Sized>(&self, memory: &G, bytes: usize) -> Result<Vec<(u64, usize)>, Ocs> {
        let (mut pieces, mut left) = (Vec::new(), bytes);
        for i in 0..self.prdt_entries {
            if left == 0 {
                break;
            }
            let mut entry = [0; PRDT_ENTRY_BYTES as usize];
            let at = self.prdt_at.wrapping_add(i * PRDT_ENTRY_BYTES);
            memory.read(at, &mut entry).map_err(|NotGuest| Ocs::InvalidPrdt)?;
            let address = u64::from_le_bytes(entry[..8].try_into().unwrap_or_default());
            let length = u32::from_le_bytes(entry[12..].try_into().unwrap_or_default());
            let piece = ((length & PRDT_LENGTH_BITS) as usize + 1).min(left);
            pieces.push((address, piece));
            left -= piece;
        }
        if left == 0 { Ok(pieces) } else { Err(Ocs::MismatchDataSize) }
    }

    /// Checks that there is room for so many bytes.
    ///
    /// # Errors
    /// If there is not, or the table is not the guest's.
    pub fn check_room<G: GuestMemory + ?Sized>(&self, memory: &G, bytes: usize) -> Result<(), Ocs> {
        self.pieces(memory, bytes).map(drop)
    }

    /// The first bytes of what the guest sends.
    ///
    /// # Errors
    /// If they are too few, or not the guest's.
    pub fn gather<G: GuestMemory + ?Sized>(&self, memory: &G, bytes: usize) -> Result<Vec<u8>, Ocs> {
        let mut data = vec![0; bytes];
        let mut rest = &mut data[..];
        for (at, piece) in self.pieces(memory, bytes)? {
            let (part, after) = rest.split_at_mut(piece);
            memory.read(at, part).map_err(|NotGuest| Ocs::InvalidPrdt)?;
            rest = after;
        }
        Ok(data)
    }

    fn scatter<G: GuestMemory + ?Sized>(&self, memory: &mut G, data: &[u8]) -> Result<(), Ocs> {
        let mut rest = data;
        for (at, piece) in self.pieces(memory, data.len())? {
            let (part, after) = rest.split_at(piece);
            memory.write(at, part).map_err(|NotGuest| Ocs::InvalidPrdt)?;
            rest = after;
        }
        Ok(())
    }

    /// Puts data and response UPIU where they belong.
    ///
    /// # Errors
    /// If there is no place for them.
    pub fn respond<G: GuestMemory + ?Sized>(&self, memory: &mut G, upiu: &[u8], data: &[u8]) -> Result<(), Ocs> {
        self.scatter(memory, data)?;
        if upiu.len() > self.response_bytes {
            return Err(Ocs::MismatchResponseSize);
        }
        memory.write(self.response_at, upiu).map_err(|NotGuest| Ocs::InvalidCommandTable)
    }

    /// Writes the overall command status.
    ///
    /// # Errors
    /// If the list is not the guest's any more.
    pub fn set_status<G: GuestMemory + ?Sized>(&self, memory: &mut G, status: Ocs) -> Result<(), NotGuest> {
        memory.write(self.at.wrapping_add(OCS_AT), &[status as u8])
    }
}
