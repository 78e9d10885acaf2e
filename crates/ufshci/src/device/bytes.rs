//! Bytes of descriptors.

/// Puts big-endian bytes at a place.
pub fn put(bytes: &mut [u8], at: usize, value: &[u8]) {
    bytes[at..at + value.len()].copy_from_slice(value);
}
