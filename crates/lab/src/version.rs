//! Which simulator this is.

/// Version of the simulator, and the fingerprint of the code that decides what it does.
pub const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), "+", env!("UFSIM_SOURCES"));
