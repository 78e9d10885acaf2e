//! The keys of a profile: one table that makes the structs, the checks and the documentation.

use serde::{Deserialize, Serialize};

/// One key of a profile.
#[derive(Clone, Copy, Debug)]
pub struct Field {
    /// Table that the key stands in.
    pub section: &'static str,
    /// Name, with its unit as a suffix.
    pub key: &'static str,
    /// What it means.
    pub doc: &'static str,
    /// What it may hold.
    pub kind: Kind,
}

/// What a key may hold.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Words for people.
    Text,
    /// `true` or `false`.
    Switch,
    /// An integer, bounds included.
    Count { min: u32, max: u32 },
    /// An integer, bounds included, or one word.
    CountOr { min: u32, max: u32, word: &'static str },
    /// One of some words.
    Choice { words: &'static [&'static str] },
}

impl Kind {
    /// The allowed values, as an error message and the documentation name them.
    pub fn allowed(self) -> String {
        match self {
            Kind::Text => "a non-empty string".into(),
            Kind::Switch => "true or false".into(),
            Kind::Count { min, max } => format!("{min}..={max}"),
            Kind::CountOr { min, max, word } => format!("{min}..={max} or \"{word}\""),
            Kind::Choice { words } => format!("one of \"{}\"", words.join("\", \"")),
        }
    }

    /// True if `value` has the right type and lies in the range.
    pub fn admits(self, value: &toml::Value) -> bool {
        let inside =
            |min: u32, max: u32| value.as_integer().is_some_and(|n| (i64::from(min)..=i64::from(max)).contains(&n));
        match self {
            Kind::Text => value.as_str().is_some_and(|s| !s.trim().is_empty()),
            Kind::Switch => value.is_bool(),
            Kind::Count { min, max } => inside(min, max),
            Kind::CountOr { min, max, word } => inside(min, max) || value.as_str() == Some(word),
            Kind::Choice { words } => value.as_str().is_some_and(|word| words.contains(&word)),
        }
    }

    /// True if the value needs a source: words for people do not.
    pub fn needs_source(self) -> bool {
        self != Kind::Text
    }
}

/// The value of a [`Kind::CountOr`] key.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(untagged)]
pub enum CountOr {
    /// The integer.
    Count(u32),
    /// The word.
    Word(String),
}

impl CountOr {
    /// The integer; `None` stands for the word.
    pub fn count(&self) -> Option<u32> {
        match self {
            CountOr::Count(n) => Some(*n),
            CountOr::Word(_) => None,
        }
    }
}

macro_rules! rust_type {
    (text) => {
        String
    };
    (switch) => {
        bool
    };
    (count) => {
        u32
    };
    (count_or) => {
        CountOr
    };
    (choice) => {
        String
    };
}

macro_rules! kind {
    (text) => {
        Kind::Text
    };
    (switch) => {
        Kind::Switch
    };
    (count $min:literal to $max:literal) => {
        Kind::Count { min: $min, max: $max }
    };
    (count_or $word:literal $min:literal to $max:literal) => {
        Kind::CountOr { min: $min, max: $max, word: $word }
    };
    (choice $($word:literal)+) => {
        Kind::Choice { words: &[$($word),+] }
    };
}

macro_rules! sections {
    ($(
        $(#[doc = $section_doc:literal])*
        $section:ident: $Section:ident {
            $( $(#[doc = $doc:literal])* $key:ident: $kind:ident $( ( $($range:tt)* ) )?, )*
        }
    )*) => {
        $(
            $(#[doc = $section_doc])*
            #[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
            #[serde(deny_unknown_fields)]
            pub struct $Section {
                $( $(#[doc = $doc])* pub $key: rust_type!($kind), )*
            }
        )*

        /// A device profile, as its file says it. Every value is inside its range.
        #[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
        #[serde(deny_unknown_fields)]
        pub struct Values {
            $( $(#[doc = $section_doc])* pub $section: $Section, )*
        }

        /// The sections in the order of the documentation, with what they are about.
        pub const SECTIONS: &[(&str, &str)] = &[
            $( (stringify!($section), concat!($($section_doc),*)), )*
        ];

        /// Every key of a profile.
        pub const FIELDS: &[Field] = &[
            $( $( Field {
                section: stringify!($section),
                key: stringify!($key),
                doc: concat!($($doc),*),
                kind: kind!($kind $( $($range)* )?),
            }, )* )*
        ];
    };
}

sections! {
    /// The device as a whole.
    device: Device {
        /// Name in reports.
        name: text,
        /// What the profile models, in one line.
        summary: text,
        /// Addressable capacity.
        capacity_mib: count(16 to 4194304),
    }
    /// Flash: shape and cell times.
    nand: NandSection {
        /// Channels; die d is on channel d modulo this.
        channels: count(1 to 32),
        /// Dies on each channel.
        dies_per_channel: count(1 to 16),
        /// Planes of a die that read and program together.
        planes: count(1 to 4),
        /// Page size of one plane; must be a power of two.
        page_kib: count(4 to 32),
        /// Pages of a block.
        pages_per_block: count(4 to 4096),
        /// Superblocks for user data. One superblock is a block on every plane of every die.
        data_superblocks: count(20 to 1048576),
        /// Superblocks for metadata, in SLC mode.
        meta_superblocks: count(3 to 65534),
        /// SLC: page read time (tR).
        slc_read_us: count(1 to 100000),
        /// SLC: page program time (tPROG).
        slc_program_us: count(1 to 100000),
        /// SLC: block erase time (tBERS).
        slc_erase_us: count(1 to 1000000),
        /// Data cells (MLC, TLC): page read time (tR).
        tlc_read_us: count(1 to 100000),
        /// Data cells (MLC, TLC): page program time (tPROG).
        tlc_program_us: count(1 to 100000),
        /// Data cells (MLC, TLC): block erase time (tBERS).
        tlc_erase_us: count(1 to 1000000),
        /// Rate of a channel; 0 = transfers take no time.
        transfer_mib_per_s: count(0 to 16384),
        /// A read of the page that the die sensed last skips tR.
        page_register: switch,
    }
    /// The firmware's one thread.
    firmware: Firmware {
        /// Time spent on each command.
        command_ns: count(0 to 1000000),
        /// Buffered write data that has waited this long is programmed even if its row is not full.
        idle_flush_us: count(10 to 10000000),
    }
    /// SRAM inside the controller.
    sram: Sram {
        /// The pool shared by write data, L2P segments, GC and operations in flight.
        pool_kib: count(128 to 262136),
        /// At most this much of the pool holds L2P segments.
        segment_cache_kib: count(4 to 262136),
        /// Mapping segment-log: what stands in segment_cache_kib, whole segments or single entries of 4 bytes.
        cached: choice("segments" "entries"),
        /// Part of the pool that host data may never take.
        reserve_kib: count(4 to 65536),
        /// Writes are acknowledged only after their program, as if each had FUA.
        write_through: switch,
    }
    /// Mappings segment-log and hp-ufs: what an L2P segment of 4 KiB is written to flash in.
    map: Map {
        /// Size of the parts, 1, 2 or 4. Only those with changes are written, several to a page; the directory has a place for each.
        segment_kib: count(1 to 4),
    }
    /// Mappings dftl and cdftl: the cached mapping table, in SRAM beside the pool.
    cmt: Cmt {
        /// All of it. cdftl: half of it, but at least one page, holds translation pages. "unlimited" holds the whole table.
        cache_kib: count_or("unlimited" 4 to 2097152),
        /// Bytes of an entry, 4 or 8; a translation page has 4 KiB.
        entry_bytes: count(4 to 8),
        /// After this time without commands changed entries are written back, until a command comes.
        background_us: count_or("never" 0 to 10000000),
    }
    /// Mappings base-dftl, mini-page and msftl: the mapping cache and its flush. The cache has room for a flush's entries of 16 bytes.
    msftl: Msftl {
        /// Mapping base-dftl: size of a translation page, 4, 8 or 16; at most a page on every plane.
        page_kib: count(4 to 16),
        /// Mapping msftl: size of a mapping segment in bytes, 1024 or 2048.
        segment_bytes: count(1024 to 2048),
        /// User and GC data written from one mapping flush to the next.
        flush_mib: count(1 to 64),
    }
    /// The L2P log buffer and the log blocks.
    log: Log {
        /// Capacity in entries of 16 bytes.
        entries: count(64 to 65535),
        /// Mapping segment-log: a map flush starts above this many entries.
        flush_above_entries: count(32 to 65535),
        /// Mapping hp-ufs: more entries than this not yet handed to the host raise the multi-entry hint.
        handover_above_entries: count(1 to 65535),
        /// Mapping hp-ufs: no GC step while the log holds this many entries.
        gc_pause_at_entries: count(1 to 65535),
        /// Mapping hp-ufs: superblocks whose mappings may be missing from flash.
        max_log_blocks: count(2 to 255),
    }
    /// Garbage collection; thresholds count free data superblocks.
    gc: Gc {
        /// What a written unit pays for: "searched", a searched unit, as in the HP-UFS authors' prototype, or "gained", as much
        /// search as frees a unit, by the victim's valid pages.
        pace: choice("searched" "gained"),
        /// GC runs while fewer superblocks than this are free.
        start_superblocks: count(4 to 1048576),
        /// Above this writes pay for a third of that, below it for half.
        relaxed_superblocks: count(3 to 1048576),
        /// At or below this writes pay for all of it; with pace = "gained" for twice as much from halfway down to the reserve.
        hurried_superblocks: count(2 to 1048576),
        /// At or below this host writes wait and GC runs without pacing.
        reserve_superblocks: count(2 to 65536),
        /// With pace = "searched": written units that earn one GC step. With "gained": units that a step copies at most, at least a row.
        units_per_step: count(1 to 1048576),
    }
    /// Wear levelling.
    wear: Wear {
        /// Starts when erase counts differ by more than this.
        spread_erases: count(2 to 1000000),
    }
    /// Flash operations that fail, out of a million of their kind; which ones follows from the seed of the run.
    faults: FaultSection {
        /// Reads that cannot be corrected: the request ends with an error, the firmware's own reads are repeated.
        read_per_million: count(0 to 100000),
        /// Programs: what they carried is programmed elsewhere, the superblock is given up when it is empty.
        program_per_million: count(0 to 100000),
        /// Erases of the share of one die: the superblock is given up.
        erase_per_million: count(0 to 100000),
    }
    /// Questions that no device can answer: what would be without some of its work.
    what_if: WhatIf {
        /// Flash operations that take no time, though they are done and counted: "nothing", "gc" (of data: search, reads, programs), or
        /// "mapping" (reads and programs of the mapping table, and the search for valid pages). A result says so.
        free: choice("nothing" "gc" "mapping"),
    }
    /// HPB on the device's side.
    hpb: Hpb {
        /// L2P entries per group (HPB 2.0: subregion); 512 or a multiple of 1024.
        group_entries: count(512 to 65536),
        /// Groups whose changes can be delivered entry by entry; others must be read again as a whole.
        tracked_groups: count(0 to 65535),
        /// Changed entries that may wait for a response to carry them.
        pending_entries: count(1 to 65535),
        /// Firmware time to seal an entry, or to check a seal.
        seal_ns: count(0 to 1000000),
        /// HPB 2.0: groups in a region.
        region_groups: count(1 to 256),
        /// HPB 2.0: longest HPB READ (bMAX_DATA_SIZE_FOR_HPB_SINGLE_CMD + 1).
        max_read_blocks: count(1 to 255),
        /// HPB 2.0: who decides what the host caches (bHPBControl); boosters foam and hpbvalve always decide themselves.
        control: choice("host" "device"),
        /// With control = "device": map reads for a group after which it is recommended.
        recommend_after_reads: count(1 to 255),
        /// With control = "device": regions that the host may keep (wLUMaxActiveHPBRegions).
        max_active_regions: count(1 to 65535),
    }
    /// Boosters hpb-linux, foam and hpbvalve: the parameters of the Linux driver, by their names in sysfs (hpb_params).
    hpb_params: HpbParamsSection {
        /// Reads of a subregion after which it is fetched.
        activation_thld: count(1 to 65535),
        /// When a region has more reads than a subregion has entries, all counts are divided by 2 to the power of this.
        normalization_factor: count(1 to 16),
        /// hpb-linux: a region needs so many reads to replace another one.
        eviction_thld_enter: count(1 to 1048576),
        /// hpb-linux: a region with more reads than this is not replaced.
        eviction_thld_exit: count(0 to 1048576),
        /// Time without reads that counts as one expiry.
        read_timeout_ms: count(1 to 1000000),
        /// Expiries after which entries are dropped.
        read_timeout_expiries: count(1 to 1000000),
        /// Time between two looks at the timeouts.
        timeout_polling_interval_ms: count(1 to 1000000),
        /// Fetches under way at a time.
        inflight_map_req: count(1 to 32),
    }
    /// Booster hpbvalve: what it remembers of apps.
    hpbvalve: HpbvalveSection {
        /// Apps with profile lists.
        profile_apps: count(1 to 1000),
        /// All profile lists together.
        profile_kib: count(1 to 1048576),
    }
    /// The link between host and device.
    link: LinkSection {
        /// Rate of UPIUs from host to device; 0 = no time on the wire.
        down_mib_per_s: count(0 to 65536),
        /// Rate of UPIUs from device to host; 0 = no time on the wire.
        up_mib_per_s: count(0 to 65536),
        /// From the last byte of a message on the wire to its handling at the other end.
        upiu_ns: count(0 to 1000000),
    }
    /// The host's driver.
    host: HostSection {
        /// Commands in flight.
        tags: count(2 to 32),
        /// Tags kept for the driver's own commands.
        internal_tags: count(1 to 31),
        /// Largest transfer of one command.
        max_transfer_kib: count(4 to 4096),
        /// Host DRAM for cached L2P entries.
        memory_mib: count_or("unlimited" 1 to 65536),
        /// HP-UFS: entries of the reorder buffer.
        reorder_entries: count(64 to 1048576),
        /// HPB: a wanted group is read after this time at the latest, or only when the device is idle.
        hpb_max_defer_us: count_or("idle-only" 0 to 10000000),
        /// Boosters hpb-linux and foam: memory that they take from boot on, used or not (ufshpb_host_map_kbytes); "all" of memory_mib.
        hpb_reserved_mib: count_or("all" 0 to 65536),
        /// HPB: groups are also read at boot and when the device reports a change; otherwise only when a read misses.
        hpb_eager: switch,
        /// HPB: idle means that no user command has been outstanding for this long.
        hpb_idle_us: count(1 to 10000000),
    }
    /// The host's I/O scheduler; noop has no settings.
    sched: Sched {
        /// Requests that it may choose from; others wait before it in order.
        queue: count(1 to 1024),
        /// A request that has waited in its queue for so long goes before its turn; mq-deadline has its own times.
        deadline_us: count(0 to 10000000),
        /// How it knows what the device's mapping cache holds: from the simulator, by a vendor command, or by simulating an LRU cache.
        cache_knowledge: choice("full" "poll" "lru"),
        /// With cache_knowledge = "poll": requests between two queries.
        poll_requests: count(1 to 1000000),
        /// With cache_knowledge = "lru": L2P entries that the mapping cache is believed to have.
        cache_entries: count(1 to 268435456),
        /// The device is told of a batch of requests before they come, and reads their translation page once.
        batch_notice: switch,
        /// The firmware spends the time of one command on all requests of an announced batch, up to 63 (eMMC 5.0 packed commands).
        packed_commands: switch,
    }
}

/// The unit that a key's suffix names, for the documentation.
fn unit_of(key: &str) -> &'static str {
    const SUFFIXES: &[(&str, &str)] = &[
        ("_mib_per_s", "MiB/s"),
        ("_mib", "MiB"),
        ("_kib", "KiB"),
        ("_us", "us"),
        ("_ns", "ns"),
        ("_entries", "entries"),
        ("_superblocks", "superblocks"),
        ("_erases", "erases"),
        ("_ms", "ms"),
    ];
    SUFFIXES.iter().find(|(suffix, _)| key.ends_with(suffix)).map_or("", |(_, unit)| unit)
}

/// The documentation of every key, as Markdown.
pub fn schema_markdown() -> String {
    let mut text = String::from(
        "# Profile keys\n\n\
         A profile is a TOML file that makes one device, its link and its driver. Every key below must stand in it; \
         any other key is an error. Two more tables, `[sources]` and `[assumed]`, say where each value comes from: \
         every key but `device.name` and `device.summary` stands in exactly one of them, as \
         `\"section.key\" = \"paper and section\"` or `\"section.key\" = \"reason for the choice\"`.\n\n\
         `--set section.key=value` replaces a value for one run.\n\n\
         This page is generated by `cargo run -p ufsim-lab --example bless`; a test fails when it is out of date.\n",
    );
    for (section, about) in SECTIONS {
        text += &format!("\n## `[{section}]`\n\n{}\n\n", about.trim());
        text += "| key | allowed | unit | meaning |\n|---|---|---|---|\n";
        for field in FIELDS.iter().filter(|f| f.section == *section) {
            let (allowed, unit) = (field.kind.allowed(), unit_of(field.key));
            text += &format!("| `{}` | {allowed} | {unit} | {} |\n", field.key, field.doc.trim());
        }
    }
    text
}
