//! Protocols between host and device beyond plain UFS.

/// A family of extensions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Protocol {
    /// None.
    Plain,
    /// Host performance booster: the host keeps entries that the device has sealed.
    Hpb,
    /// HP-UFS: the host keeps the mapping.
    HpUfs,
}
