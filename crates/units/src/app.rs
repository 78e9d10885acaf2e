//! Apps as the issuers of requests.

/// An app as the block layer knows it: its UID, here a small number (HPBvalve Sec. 5.2: "every I/O request holds its
/// caller UID").
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct AppId(pub u16);

impl AppId {
    /// The operating system itself, and the issuer of all requests if apps are not known.
    pub const SYSTEM: AppId = AppId(0);

    /// Array index.
    #[inline]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}
