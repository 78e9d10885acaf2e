//! What `segment-log` declares: its parameters and counters.

use units::Nanos;

use super::pipeline::Mode;
use super::runs::FirstLevel;
use super::updates::Order;
use ftl::{CleanFrom, DirtyFrom, HpbConfig};

units::kinds! {
    /// What the segment cache holds.
    pub Cached {
        /// Whole segments.
        Segments = "segments";
        /// Single entries of 4 bytes.
        Entries = "entries";
        /// Whole segments, in the bytes that what was learned of their entries takes (LeaFTL).
        Learned = "learned";
    }
}

units::kinds! {
    /// Order in which the units of a row are programmed.
    pub RowOrder {
        /// That in which the host has written them, or in which the reads of GC have ended.
        Arrival = "arrival";
        /// That of their addresses.
        Address = "address";
    }
}

units::kinds! {
    /// Which segments a valid page search reads.
    pub SearchReads {
        /// Those of all pages that the victim's segment bitmap names.
        Named = "named";
        /// Those of the pages that are copied, as if a valid page bitmap were at hand: a wrong model, to compare with.
        Copied = "copied";
    }
}

units::kinds! {
    /// What an entry of HPB is.
    pub HpbEntry {
        /// The bare address in 4 bytes, for booster hpb.
        Plain = "plain";
        /// 8 bytes that prove where and when they were made.
        Sealed = "sealed";
    }
}

units::kinds! {
    /// Who decides what a host with HPB 2.0 caches.
    pub HpbControl {
        /// The host.
        Host = "host";
        /// The device recommends.
        Device = "device";
    }
}

params::params! {
    /// `segment-log`: how the mapping is cached, logged and flushed, and what is published to an HPB host.
    pub SegmentLogParams {
        /// Size of the parts that an L2P segment of 4 KiB is written in. Only parts with changes are written, several
        /// to a page; the directory has a place for each.
        segment_kib: one_of(1 2 4) = 4,
            "HP-UFS Sec. II-A: an L2P segment has 4 KB; smaller parts are an option of this project, after MSFTL Sec. \
            3.1", fixed;
        /// What the first level of the table, in SRAM, says of a segment or a part of one.
        first_level: choice(FirstLevel) = Places,
            "HP-UFS authors' prototype: places of segments; \"runs\" are the compressed mapping of conventional UFS in \
            \"Unleashing Zoned UFS\", FAST 2026, Sec. 2";
        /// Contents of the segment cache (sram.segment_cache_kib).
        cached: choice(Cached) = Segments, "HP-UFS authors' prototype: L2P segments";
        /// With cached = "learned": pages by which a prediction may miss. 0: none does.
        learned_gamma: count(0 to 16) = 0, "assumed: exact; LeaFTL, ASPLOS 2023, evaluates 0, 1, 4 and 16";
        /// With cached = "learned": what the host writes before learned segments are compacted.
        learned_compact_mib: count_or("never" 1 to 1048576) = 1000,
            "LeaFTL's published code: after every 1000 MiB written";
        /// Order in which the units of a row, of host data or of copies, are programmed.
        row_order: choice(RowOrder) = Arrival,
            "HP-UFS authors' prototype; LeaFTL, ASPLOS 2023, sorts its write buffer by address";
        /// A map flush starts above this many log entries.
        flush_above_entries: count(32 to 65535) = 1408, "HP-UFS authors' prototype: 1408";
        /// How a map flush proceeds.
        flush_mode: choice(Mode) = Rounds,
            "HP-UFS authors' prototype: a map flush stops everything else, and takes 272 segments at a time";
        /// Order in which a map flush takes the map units with changes.
        flush_order: choice(Order) = Log, "assumed: the prototype goes through its log";
        /// Buffers of 4 KiB in which a "pipelined" or "background" flush works; "rounds" takes as many as the segment
        /// cache has.
        flush_buffers: count(1 to 65535) = 64,
            "assumed: two rows of 32 units, or eight of 8, one for each die of the HP-UFS paper's device";
        /// Segments that a valid page search reads.
        search_reads: choice(SearchReads) = Named,
            "HP-UFS Sec. II-C: all L2P segments of the victim's segment bitmap are read";
        /// HPB: L2P entries per group (HPB 2.0: subregion); 512 or a multiple of 1024.
        hpb_group_entries: count(512 to 65536) = 1024,
            "assumed: HPB 2.0 leaves the size of a subregion to the device; here one L2P segment, as the HPB driver of \
            HP-UFS Sec. II-A reads on a miss";
        /// HPB: what an entry is.
        hpb_entry: choice(HpbEntry) = Sealed,
            "JESD220-3A, as Linux 6.1 has it: an entry has 8 bytes, which the host cannot make by itself";
        /// HPB: groups whose changes can be delivered entry by entry; others must be read again as a whole.
        hpb_tracked_groups: count(0 to 65535) = 0,
            "JESD220-3A: a device recommends subregions, and delivers no entry by itself; HP-UFS Sec. II-B: whenever a \
            mapping changes, HPB invalidates the cached segment";
        /// HPB: changed entries that may wait for a response to carry them.
        hpb_pending_entries: count(1 to 65535) = 256,
            "assumed: the 2017 paper gives no size; 256 entries of 8 B are 2 KiB";
        /// HPB: when a write makes its group dirty.
        hpb_dirty_from: choice(DirtyFrom) = Program,
            "assumed: until a page is programmed it is read from the write buffer; HPB 2017 Sec. 3.2: the device marks \
            a bit when it processes host writes";
        /// HPB, plain entries: when a group is clean again after responses have carried its changes.
        hpb_clean_from: choice(CleanFrom) = NextCommand,
            "assumed: commands with older entries may be under way until the host has handled the response; HPB 2017 \
            Sec. 3.2: the bit is cleared when the host fetches the entry via response";
        /// HPB: firmware time to seal an entry, or to check a seal. Plain entries take none.
        hpb_seal_ns: count(0 to 1000000) = 50,
            "assumed: HPB 2017 Sec. 2.2.5 describes a seal and leaves it out of the prototype; SipHash-1-3 of 16 bytes \
            takes about 20 ns on a desktop processor, with which firmware.command_ns counts, and the rest is the table \
            look-up";
        /// HPB 2.0: groups in a region.
        hpb_region_groups: count(1 to 256) = 1, "assumed: HPB 2017 knows groups and no regions";
        /// HPB 2.0: longest HPB READ (bMAX_DATA_SIZE_FOR_HPB_SINGLE_CMD + 1).
        hpb_max_read_blocks: count(1 to 255) = 128, "assumed: as host.max_transfer_kib; the paper gives no limit";
        /// HPB 2.0: who decides what the host caches (bHPBControl); boosters foam and hpbvalve always decide
        /// themselves.
        hpb_control: choice(HpbControl) = Host,
            "assumed: the HP-UFS paper's host decides; its device only reports changes";
        /// With hpb_control = "device": map reads for a group after which it is recommended.
        hpb_recommend_after_reads: count(1 to 255) = 8, "assumed: as activation_thld of Linux 6.1";
        /// With hpb_control = "device": regions that the host may keep (wLUMaxActiveHPBRegions).
        hpb_max_active_regions: count(1 to 65535) = 8192,
            "assumed: as many as 256 MiB of host memory hold in hpbvalve.toml";
    }
}

impl SegmentLogParams {
    /// What is published to an HPB host.
    pub fn hpb(&self) -> HpbConfig {
        HpbConfig {
            group_entries: self.hpb_group_entries,
            sealed: self.hpb_entry == HpbEntry::Sealed,
            tracked_groups: self.hpb_tracked_groups as u16,
            pending_entries: self.hpb_pending_entries as u16,
            dirty_from: self.hpb_dirty_from,
            clean_from: self.hpb_clean_from,
            seal_cost: if self.hpb_entry == HpbEntry::Sealed { Nanos(self.hpb_seal_ns.into()) } else { Nanos::ZERO },
            region_groups: self.hpb_region_groups,
            max_blocks: self.hpb_max_read_blocks as u8,
            recommend_after: (self.hpb_control == HpbControl::Device).then_some(self.hpb_recommend_after_reads as u8),
            max_active_regions: self.hpb_max_active_regions as u16,
        }
    }
}

units::counters! {
    /// What `segment-log` counts.
    SegmentLogCounters
    /// Lookups that the first level answered, because the data of the map unit lie together (`first_level=runs`).
    run_hits,
    /// Map units that map flushes and valid page searches did not read for the same reason.
    run_reads_saved,
    /// Map units whose data lie together now.
    run_map_units: gauge,
    /// Lookups that an approximate segment answered (`cached=learned` with `learned_gamma`).
    learned_predictions,
    /// Reads of a wrong page that followed from these.
    learned_mispredictions,
    /// Map units that map flushes and valid page searches did not read, because they were learned exactly.
    learned_reads_saved,
    /// Map units that the cache has learned now.
    learned_map_units: gauge,
    /// Bytes of SRAM that these take.
    learned_bytes: gauge,
    /// Learned segments in them.
    learned_segments: gauge,
    /// Groups of 256 addresses in them that are plain tables, because these are smaller.
    learned_plain_groups: gauge,
}
