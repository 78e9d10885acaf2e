//! What a table in DRAM takes.

use crate::kit::tiny;
use ftl::{Device, MappingKind};

/// DRAM: 4096 entries of 4 bytes, a bit for each of 28 superblocks of 256 units, and for each superblock a count of 2
/// bytes. SRAM: the pool of 96 buffers, and 8 bytes for each superblock.
#[test]
fn dram_holds_table_bitmap_and_counts() {
    let stats = Device::new(tiny(), MappingKind::of::<ufsim_schemes::Ideal>()).stats();
    assert_eq!(stats.device_dram_bytes, 4096 * 4 + 28 * 256 / 8 + 28 * 2);
    assert_eq!(stats.sram_bytes, 96 * 4096 + 28 * 8);
}
