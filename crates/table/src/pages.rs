//! Pages of 4 KiB that take memory only while they hold something.

/// Bytes of a page.
pub const PAGE: usize = 4096;

/// A fixed number of pages, zero at first. A page takes memory from its first write on, until it is given back.
#[derive(Debug)]
pub struct Pages {
    /// One page more than asked for, so that pages begin where those of the operating system do.
    bytes: Vec<u8>,
    first: usize,
    count: usize,
}

impl Pages {
    /// So many pages of zeroes. It should be tens of megabytes, which the allocator takes from the operating system.
    pub fn zeroed(count: usize) -> Pages {
        let bytes = vec![0u8; (count + 1) * PAGE];
        let first = bytes.as_ptr().align_offset(PAGE);
        let pages = Pages { bytes, first, count };
        // With huge pages a page that is written to would take hundreds of others with it.
        pages.advise(0..count, Advice::Small);
        pages
    }

    /// A page.
    ///
    /// # Panics
    /// If there are fewer.
    pub fn get(&self, at: usize) -> &[u8; PAGE] {
        self.range(at).try_into().expect("a range of a page")
    }

    /// A page, to be written to.
    ///
    /// # Panics
    /// If there are fewer.
    pub fn get_mut(&mut self, at: usize) -> &mut [u8; PAGE] {
        assert!(at < self.count, "page {at} of {}", self.count);
        let begin = self.first + at * PAGE;
        (&mut self.bytes[begin..begin + PAGE]).try_into().expect("a range of a page")
    }

    /// Makes a page zero, and gives its memory back.
    ///
    /// # Panics
    /// If there are fewer.
    pub fn clear(&mut self, at: usize) {
        if !self.advise(at..at + 1, Advice::Drop) {
            self.get_mut(at).fill(0);
        }
    }

    fn range(&self, at: usize) -> &[u8] {
        assert!(at < self.count, "page {at} of {}", self.count);
        let begin = self.first + at * PAGE;
        &self.bytes[begin..begin + PAGE]
    }

    /// True if the operating system has taken the advice. [`Advice::Drop`] must only be given by who may change pages.
    #[cfg(target_os = "linux")]
    fn advise(&self, pages: std::ops::Range<usize>, advice: Advice) -> bool {
        assert!(pages.end <= self.count, "page {} of {}", pages.end, self.count);
        let advice = match advice {
            Advice::Small => libc::MADV_NOHUGEPAGE,
            Advice::Drop => libc::MADV_DONTNEED,
        };
        let begin = self.bytes.as_ptr() as usize + self.first + pages.start * PAGE;
        // SAFETY: the range lies inside an allocation that is alive and begins where a page of 4 KiB does. On a machine
        // with larger pages the call fails, and nothing has changed. Memory of the allocator is private and anonymous,
        // so what is dropped reads as zeroes; `clear` has it to itself.
        unsafe { libc::madvise(begin as *mut libc::c_void, pages.len() * PAGE, advice) == 0 }
    }

    #[cfg(not(target_os = "linux"))]
    fn advise(&self, _: std::ops::Range<usize>, _: Advice) -> bool {
        false
    }
}

/// What the operating system is told about pages.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Advice {
    /// No huge pages.
    Small,
    /// Zero, and without memory.
    Drop,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_zero_until_they_are_written_and_when_they_are_cleared() {
        let mut pages = Pages::zeroed(5000);
        for at in [0, 1, 2, 4999] {
            assert_eq!(pages.get(at), &[0; PAGE]);
            assert_eq!(pages.get(at).as_ptr().align_offset(PAGE), 0);
            pages.get_mut(at).fill(at as u8 + 1);
        }
        pages.clear(1);
        pages.clear(7);
        let found = [0, 1, 2, 7, 4999].map(|at| pages.get(at)[PAGE - 1]);
        assert_eq!(found, [1, 0, 3, 0, 136]);
    }

    #[test]
    #[should_panic(expected = "page 3 of 3")]
    fn there_are_no_others() {
        Pages::zeroed(3).clear(2);
        Pages::zeroed(3).get(3);
    }
}
