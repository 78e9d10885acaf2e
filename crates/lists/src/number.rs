//! Types of slot numbers.

/// A type for the numbers of slots and anchors.
pub trait SlotNumber: Copy + Eq + std::fmt::Debug {
    /// Number of its values.
    const COUNT: usize;

    /// The number `at`, which must be below `COUNT`.
    fn new(at: usize) -> Self;

    /// The number as an index.
    fn index(self) -> usize;
}

macro_rules! slot_numbers {
    ($($number:ty)+) => {
        $(impl SlotNumber for $number {
            const COUNT: usize = 1 << <$number>::BITS;

            #[inline(always)]
            fn new(at: usize) -> $number {
                at as $number
            }

            #[inline(always)]
            fn index(self) -> usize {
                self as usize
            }
        })+
    };
}

slot_numbers!(u16 u32);
