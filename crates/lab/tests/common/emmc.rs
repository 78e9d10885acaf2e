//! A small relative of MAP+'s device.

use ufsim_lab::Spec;

/// Pages of one of its superblocks.
pub const BLOCK_PAGES: u32 = 256;

/// A run on it: 1 GiB with superblocks of 1 MiB, without background flushes.
pub fn small(scheme: &str) -> Spec {
    let mut spec = Spec::new(scheme, "generated");
    (spec.profile, spec.precondition, spec.verify) = ("emmc-map-plus".into(), "touched".into(), true);
    let sizes = [
        ("device.capacity_mib", 1024),
        ("nand.pages_per_block", BLOCK_PAGES),
        ("nand.data_superblocks", 1200),
        ("nand.meta_superblocks", 1000),
        ("gc.start_superblocks", 40),
        ("gc.relaxed_superblocks", 30),
        ("gc.hurried_superblocks", 20),
    ];
    spec.set = sizes.map(|(key, value)| (key.to_owned(), value.into())).into();
    spec.set.insert("scheme.*.background_us".into(), "never".into());
    spec
}
