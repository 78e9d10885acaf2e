//! Numbers of a fixed size.

/// A number that a table may hold.
pub trait Number: Copy + Default + PartialEq {
    /// Its size in bytes.
    const BYTES: u8;

    /// Appends it to `out`, little endian.
    fn put(self, out: &mut Vec<u8>);

    /// The number in [`Number::BYTES`] bytes.
    fn get(bytes: &[u8]) -> Self;
}

macro_rules! numbers {
    ($($t:ty),*) => {$(impl Number for $t {
        const BYTES: u8 = size_of::<$t>() as u8;

        #[inline]
        fn put(self, out: &mut Vec<u8>) {
            out.extend_from_slice(&self.to_le_bytes());
        }

        #[inline]
        fn get(bytes: &[u8]) -> $t {
            <$t>::from_le_bytes(bytes.try_into().expect("a number is cut out in its size"))
        }
    })*};
}
numbers!(u8, u16, u32, u64);
