//! Descriptors of the device, which a driver reads when it attaches.

use std::hash::{Hash, Hasher};

use crate::victims::Victims;

/// Bytes of a sealed HPB entry.
pub const SEALED_ENTRY_BYTES: u32 = 8;

/// Bytes of a plain HPB entry.
pub const PLAIN_ENTRY_BYTES: u32 = 4;

/// Sizes that the host needs. Counts are in 4 KiB units unless stated otherwise.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DeviceInfo {
    /// Addressable capacity (unit descriptor qLogicalBlockCount).
    pub capacity_units: u32,
    /// Data superblocks, the range of HP-UFS block numbers.
    pub superblocks: u32,
    /// Units in a superblock, the number of bits in a valid page bitmap.
    pub superblock_units: u32,
    /// L2P entries per HPB group (HPB 2017 Sec. 3.2: 4096), which HPB 2.0 calls a subregion (bHPBSubRegionSize).
    pub hpb_group_entries: u32,
    /// Bytes of an HPB entry: 8 as in the standard, where the device seals it, or 4, a bare packed PPA (HPB 2017 Sec.
    /// 3.1).
    pub hpb_entry_bytes: u32,
    /// HPB 2.0: subregions in a region (bHPBRegionSize), at least 1.
    pub hpb_region_groups: u32,
    /// HPB 2.0: longest HPB READ in 4 KiB units (bMAX_DATA_SIZE_FOR_HPB_SINGLE_CMD plus one), 1..=255.
    pub hpb_max_blocks: u32,
    /// HPB 2.0: true if the device recommends what to activate (bHPBControl); else the host decides.
    pub hpb_device_control: bool,
    /// L2P entries in a translation page, at least 1: addresses whose mappings one flash read brings together (MAP+
    /// Sec. V-B). A vendor descriptor; the unit descriptors of JESD220 have no field for it.
    pub map_page_entries: u32,
    /// L2P entries that the device's mapping cache holds, at least 1: all that a host has to know to simulate it (MAP+
    /// Sec. V-D.1). Another vendor descriptor.
    pub map_cache_entries: u32,
    /// How the device wants victims chosen, of a host that names them (HP-UFS). Another vendor descriptor.
    pub victims: Victims,
}

impl DeviceInfo {
    /// A device of 4 GiB, of which examples and tests say what they change.
    pub const USUAL: DeviceInfo = DeviceInfo {
        capacity_units: 1 << 20,
        superblocks: 256,
        superblock_units: 4096,
        hpb_group_entries: 4096,
        hpb_entry_bytes: SEALED_ENTRY_BYTES,
        hpb_region_groups: 1,
        hpb_max_blocks: 128,
        hpb_device_control: false,
        map_page_entries: units::SEGMENT_ENTRIES,
        map_cache_entries: 2048,
        victims: Victims::GREEDY,
    };

    /// True if HPB entries are bare addresses, which a host can read (HPB 2017 Sec. 3.1).
    pub fn has_plain_entries(&self) -> bool {
        self.hpb_entry_bytes == PLAIN_ENTRY_BYTES
    }

    /// Number of HPB groups, or subregions.
    pub fn hpb_groups(&self) -> u32 {
        self.capacity_units.div_ceil(self.hpb_group_entries)
    }

    /// Number of HPB regions.
    pub fn hpb_regions(&self) -> u32 {
        self.hpb_groups().div_ceil(self.hpb_region_groups)
    }

    /// Number of L2P segments.
    pub fn segments(&self) -> u32 {
        self.capacity_units.div_ceil(units::SEGMENT_ENTRIES)
    }
}

/// Descriptors never change, so they are no part of the state of a system.
impl Hash for DeviceInfo {
    fn hash<H: Hasher>(&self, _: &mut H) {}
}
