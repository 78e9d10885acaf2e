//! The memory of a guest.

use std::io;
use std::os::fd::OwnedFd;

use ufshci::{GuestMemory, NotGuest};

use crate::shared::Shared;

/// Memory of a guest. An address of a DMA is an offset in it. Its beginning is the image of the kernel, which lies
/// elsewhere: nothing can be read or written there.
#[derive(Debug)]
pub struct Ram {
    shared: Shared,
    first: u64,
}

impl Ram {
    /// Maps it. It is the guest's from `first` on.
    ///
    /// # Errors
    /// What the operating system says, or sizes that make no sense.
    pub fn map(file: &OwnedFd, first: u64, bytes: u64) -> io::Result<Ram> {
        let len = usize::try_from(bytes).map_err(|_| io::ErrorKind::InvalidData)?;
        let there = rustix::fs::fstat(file)?.st_size as u64;
        if first >= bytes || bytes > there {
            let told = format!("memory from {first:x}h to {bytes:x}h of a file of {there:x}h bytes");
            return Err(io::Error::new(io::ErrorKind::InvalidData, told));
        }
        Ok(Ram { shared: Shared::map(file, len)?, first })
    }

    fn place(&self, at: u64, len: usize) -> Result<usize, NotGuest> {
        let end = at.checked_add(len as u64).ok_or(NotGuest)?;
        if at < self.first || end > self.shared.len() as u64 { Err(NotGuest) } else { Ok(at as usize) }
    }
}

impl GuestMemory for Ram {
    fn read(&self, at: u64, into: &mut [u8]) -> Result<(), NotGuest> {
        let at = self.place(at, into.len())?;
        self.shared.read(at, into);
        Ok(())
    }

    fn write(&mut self, at: u64, from: &[u8]) -> Result<(), NotGuest> {
        let at = self.place(at, from.len())?;
        self.shared.write(at, from);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use rustix::fs::{MemfdFlags, ftruncate, memfd_create};

    use super::*;

    #[test]
    fn only_what_is_the_guests_is_reached() {
        let file = memfd_create("ram", MemfdFlags::empty()).unwrap();
        ftruncate(&file, 3 * 4096).unwrap();
        let mut ram = Ram::map(&file, 4096, 3 * 4096).unwrap();
        ram.write(4096, &[1, 2, 3]).unwrap();
        let mut bytes = [0; 3];
        ram.read(4096, &mut bytes).unwrap();
        assert_eq!(bytes, [1, 2, 3]);
        for at in [0, 4095, 3 * 4096 - 2, u64::MAX - 1] {
            assert_eq!((ram.write(at, &bytes), ram.read(at, &mut [0; 3])), (Err(NotGuest), Err(NotGuest)), "at {at}");
        }
        for (first, bytes) in [(4096, 4 * 4096), (8192, 8192)] {
            Ram::map(&file, first, bytes).unwrap_err();
        }
    }
}
