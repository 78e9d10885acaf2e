//! Memory of the guest.

/// An address is not the guest's.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NotGuest;

/// Memory of the guest, lent for a call. What lies outside is refused and never touched, also in part.
pub trait GuestMemory {
    /// Copies bytes from an address on.
    ///
    /// # Errors
    /// If not all of them are the guest's.
    fn read(&self, at: u64, into: &mut [u8]) -> Result<(), NotGuest>;

    /// Copies bytes to an address on.
    ///
    /// # Errors
    /// If not all of them are the guest's.
    fn write(&mut self, at: u64, from: &[u8]) -> Result<(), NotGuest>;
}

/// Memory that begins at address 0.
impl GuestMemory for [u8] {
    fn read(&self, at: u64, into: &mut [u8]) -> Result<(), NotGuest> {
        let found = range(at, into.len()).and_then(|range| self.get(range)).ok_or(NotGuest)?;
        into.copy_from_slice(found);
        Ok(())
    }

    fn write(&mut self, at: u64, from: &[u8]) -> Result<(), NotGuest> {
        let found = range(at, from.len()).and_then(|range| self.get_mut(range)).ok_or(NotGuest)?;
        found.copy_from_slice(from);
        Ok(())
    }
}

fn range(at: u64, len: usize) -> Option<std::ops::Range<usize>> {
    let begin = usize::try_from(at).ok()?;
    Some(begin..begin.checked_add(len)?)
}
