//! Large zeroed tables, prefetches of their entries, and pages that take memory while they hold something.
//!
//! A simulated device has a few tables of hundreds of megabytes that are read and written at random, one entry per 4
//! KiB of flash. Untouched parts must cost no memory, so the operating system zeroes them. With pages of 4 KiB every
//! access would miss the processor's TLB, so the tables ask for huge pages.

mod pages;

use std::sync::atomic::{AtomicU32, AtomicU64};

pub use pages::{PAGE, Pages};

/// `n` zeroes. A page takes memory when it is first touched, except in a table below 1 MiB. The list may have more
/// capacity than items.
pub fn zeroed<T: Zero>(n: usize) -> Vec<T> {
    let bytes = n * size_of::<T>();
    let mut table = T::zeroes(if bytes < MIN_FRESH_BYTES { n } else { n.max(FRESH_BYTES / size_of::<T>()) });
    table.truncate(n);
    advise(&table);
    table
}

/// A smaller table may as well be made of recycled memory.
const MIN_FRESH_BYTES: usize = 1 << 20;

/// A block of this size is always fresh from the operating system, which has zeroed it, and what lies beyond the table
/// is never touched. A smaller one may be recycled: glibc raises its `M_MMAP_THRESHOLD` up to 32 MiB when such blocks
/// are freed. Then zeroing would touch all of the table.
const FRESH_BYTES: usize = 33 << 20;

/// An empty list with room for `n` items. What has not been used takes no memory.
pub fn with_room<T>(n: usize) -> Vec<T> {
    let mut list = Vec::with_capacity(n);
    advise(list.spare_capacity_mut());
    list
}

/// `n` atomic zeroes, which can be shared.
pub fn zeroed_atomics<A: Atomic>(n: usize) -> Vec<A> {
    let mut table = std::mem::ManuallyDrop::new(zeroed::<A::Plain>(n));
    // SAFETY: `Atomic` promises that the two types are interchangeable, and nobody else has the table.
    unsafe { Vec::from_raw_parts(table.as_mut_ptr().cast(), table.len(), table.capacity()) }
}

/// Types that a shared table may have.
///
/// # Safety
/// The type must have the size, the alignment and the representation of `Plain`.
pub unsafe trait Atomic {
    /// The plain type.
    type Plain: Zero;
}

// SAFETY: the standard library guarantees this except for the alignment, which is asserted below.
unsafe impl Atomic for AtomicU32 {
    type Plain = u32;
}

// SAFETY: as above.
unsafe impl Atomic for AtomicU64 {
    type Plain = u64;
}

const _: () = assert!(align_of::<AtomicU32>() == align_of::<u32>() && align_of::<AtomicU64>() == align_of::<u64>());

/// Types that a table may have. Implemented by type, because only a literal zero of a primitive type is allocated
/// without being written.
pub trait Zero: Sized {
    /// `n` zeroes.
    fn zeroes(n: usize) -> Vec<Self>;
}

macro_rules! zero {
    ($($t:ty = $zero:expr),*) => {$(impl Zero for $t {
        fn zeroes(n: usize) -> Vec<$t> {
            vec![$zero; n]
        }
    })*};
}
zero!(u8 = 0, u16 = 0, u32 = 0, u64 = 0, [u32; 2] = [0; 2]);

/// A smaller table needs no huge pages: it fits the TLB.
#[cfg(target_os = "linux")]
const MIN_HUGE_BYTES: usize = 4 << 20;

/// Asks for huge pages. This is only a hint; no result depends on it.
#[cfg(target_os = "linux")]
fn advise<T>(table: &[T]) {
    // From the page in which the table begins: the allocator's note of the size lies before the table in a fresh block,
    // and a table that begins just behind the border of a huge page would lose that huge page. The system refuses the
    // advice where its pages are larger than these.
    let start = table.as_ptr() as usize / PAGE * PAGE;
    let end = (table.as_ptr() as usize + size_of_val(table)) / PAGE * PAGE;
    if size_of_val(table) < MIN_HUGE_BYTES {
        return;
    }
    // SAFETY: these are pages of an allocation that is alive, and MADV_HUGEPAGE changes no contents.
    unsafe {
        libc::madvise(start as *mut libc::c_void, end - start, libc::MADV_HUGEPAGE);
    }
}

#[cfg(not(target_os = "linux"))]
fn advise<T>(_: &[T]) {}

/// Prefetches an entry that will be needed soon. A random access misses every cache of the processor; a prefetch in
/// time avoids the wait.
#[inline]
pub fn prefetch<T>(entry: &T) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a prefetch only hints; it neither reads nor writes, and the address is that of a live value.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(entry).cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = entry;
}

#[cfg(test)]
mod tests {
    #[test]
    fn shared_tables_are_zero_and_keep_what_is_stored() {
        use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};
        for n in [0, 1, 3 << 20] {
            let (narrow, wide): (Vec<AtomicU32>, Vec<AtomicU64>) = (super::zeroed_atomics(n), super::zeroed_atomics(n));
            assert_eq!((narrow.len(), wide.len()), (n, n));
            assert!(narrow.iter().all(|x| x.load(Relaxed) == 0) && wide.iter().all(|x| x.load(Relaxed) == 0));
            if let Some(last) = wide.last() {
                last.store(u64::MAX, Relaxed);
                assert_eq!(wide[n - 1].load(Relaxed), u64::MAX);
            }
        }
    }

    #[test]
    fn lists_with_room_do_not_move() {
        for n in [0, 1, 3 << 20] {
            let mut list = super::with_room::<u32>(n);
            let start = list.as_ptr();
            list.extend(0..n as u32);
            assert_eq!((list.as_ptr(), list.len()), (start, n));
        }
    }

    #[test]
    fn tables_of_any_size_are_zero() {
        for n in [0, 1, 1000, 3 << 20] {
            let table = super::zeroed::<u32>(n);
            assert_eq!(table.len(), n);
            assert!(table.iter().all(|&x| x == 0));
        }
    }

    /// What is larger than any `M_MMAP_THRESHOLD` is never made of recycled memory.
    #[test]
    fn the_block_of_a_table_that_is_neither_small_nor_huge_is_one_that_the_operating_system_zeroes() {
        let bytes = |n| super::zeroed::<u64>(n).capacity() * 8;
        assert_eq!(bytes(1000), 8000);
        assert!([1 << 17, 1 << 20, 5 << 20].map(bytes).iter().all(|&block| block > 32 << 20));
    }
}
