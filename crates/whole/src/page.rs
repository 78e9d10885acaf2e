//! What clients write: the number of the write and the unit, all over a page, so that a byte of another one shows.

/// Bytes of a unit.
pub const BYTES: usize = attach::UNIT;

/// The page of a unit.
pub fn of(number: u32, unit: u32) -> [u8; BYTES] {
    let word = (u64::from(number) << 32 | u64::from(unit)).to_le_bytes();
    let mut page = [0; BYTES];
    page.chunks_exact_mut(word.len()).for_each(|chunk| chunk.copy_from_slice(&word));
    page
}

/// The number of the write that has made a page; 0 for zeroes.
///
/// # Errors
/// If it is not the page of that unit, whole.
pub fn number_of(page: &[u8], unit: u32) -> Result<u32, String> {
    if page.iter().all(|&byte| byte == 0) {
        return Ok(0);
    }
    let word = u64::from_le_bytes(page[..8].try_into().expect("eight bytes"));
    let number = (word >> 32) as u32;
    if page == of(number, unit) { Ok(number) } else { Err(format!("unit {unit} has bytes that nobody wrote there")) }
}
