//! Memory that another process has mapped, too.
#![allow(unsafe_code)]

use std::io;
use std::os::fd::AsFd;
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicU32, Ordering};

use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};

/// A mapping of a file that others may change at any time. So it is only copied from and to, and words are atomics.
#[derive(Debug)]
pub struct Shared {
    base: NonNull<u8>,
    len: usize,
}

// SAFETY: the mapping belongs to the process, not to a thread, and nobody keeps references into it.
unsafe impl Send for Shared {}

impl Shared {
    /// Maps the first bytes of a file.
    ///
    /// # Errors
    /// What the operating system says.
    pub fn map(file: impl AsFd, len: usize) -> io::Result<Shared> {
        // SAFETY: a new mapping at a place that the kernel chooses; a fresh one aliases nothing of this process.
        let base =
            unsafe { mmap(ptr::null_mut(), len, ProtFlags::READ | ProtFlags::WRITE, MapFlags::SHARED, file, 0)? };
        Ok(Shared { base: NonNull::new(base.cast()).ok_or(io::ErrorKind::OutOfMemory)?, len })
    }

    /// Its length in bytes.
    pub fn len(&self) -> usize {
        self.len
    }

    fn check(&self, at: usize, len: usize) {
        let inside = at.checked_add(len).is_some_and(|end| end <= self.len);
        assert!(inside, "bytes {at}+{len} of a mapping of {}", self.len);
    }

    /// Copies bytes out.
    ///
    /// # Panics
    /// If they are not within it.
    pub fn read(&self, at: usize, into: &mut [u8]) {
        self.check(at, into.len());
        // SAFETY: both ranges are valid, and `into` is no part of the mapping, as no reference into it is given out.
        unsafe { ptr::copy_nonoverlapping(self.base.as_ptr().add(at), into.as_mut_ptr(), into.len()) }
    }

    /// Copies bytes in.
    ///
    /// # Panics
    /// If they are not within it.
    pub fn write(&self, at: usize, from: &[u8]) {
        self.check(at, from.len());
        // SAFETY: as in `read`.
        unsafe { ptr::copy_nonoverlapping(from.as_ptr(), self.base.as_ptr().add(at), from.len()) }
    }

    /// An aligned word.
    ///
    /// # Panics
    /// If it is not within it, or not aligned.
    pub fn word(&self, at: usize) -> &AtomicU32 {
        self.check(at, 4);
        assert!(at.is_multiple_of(4), "a word at {at}");
        // SAFETY: valid and aligned for the life of `self`, and only accessed as an atomic while both sides are live.
        unsafe { AtomicU32::from_ptr(self.base.as_ptr().add(at).cast()) }
    }

    /// The value of a word.
    pub fn get(&self, at: usize) -> u32 {
        self.word(at).load(Ordering::Relaxed)
    }

    /// The value of two words.
    pub fn get_u64(&self, at: usize) -> u64 {
        u64::from(self.get(at)) | u64::from(self.get(at + 4)) << 32
    }

    /// Sets two words.
    pub fn set_u64(&self, at: usize, value: u64) {
        self.word(at).store(value as u32, Ordering::Relaxed);
        self.word(at + 4).store((value >> 32) as u32, Ordering::Relaxed);
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        // SAFETY: the mapping was made by `map`, and nobody has a reference into it any more.
        let _ = unsafe { munmap(self.base.as_ptr().cast(), self.len) };
    }
}
