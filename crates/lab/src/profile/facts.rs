//! What follows from the values of a profile: sizes, shares, and how its memories are divided.
//!
//! Every fact is declared once, with its formula; `ufsim profiles NAME` and docs/device-facts.md are made from that.

use units::{SEGMENT_ENTRIES, UNIT_BYTES};

use super::Profile;
use super::ceilings::{LIMITS, PATTERNS, SYMBOLS};

/// Bytes of an entry of the mapping table.
const ENTRY_BYTES: u64 = 4;
/// Bytes of an entry of the log.
const LOG_ENTRY_BYTES: u64 = 16;
const KIB: u64 = 1024;
const MIB: u64 = 1024 * KIB;

/// Something that follows from a profile.
#[derive(Clone, Copy, Debug)]
pub struct Fact {
    /// Its name; the unit is its suffix. A `ratio` is a share of 1.
    pub name: &'static str,
    /// What it is.
    pub about: &'static str,
    /// How it is computed, from keys of the profile and other facts.
    pub formula: &'static str,
    value: fn(&Profile) -> Option<f64>,
}

impl Fact {
    /// Its value; `None` where there is no limit.
    pub fn of(&self, profile: &Profile) -> Option<f64> {
        (self.value)(profile)
    }
}

/// Everything that follows from a profile but how fast it is.
pub const FACTS: &[Fact] = &[
    Fact {
        name: "dies",
        about: "Dies that work at the same time.",
        formula: "nand.channels x nand.dies_per_channel",
        value: |p| some(p.geometry().dies()),
    },
    Fact {
        name: "row_bytes",
        about: "A row: what one die programs at once, and senses a page on every plane at a time.",
        formula: "nand.planes x nand.page_kib x nand.word_line_pages x 1024",
        value: |p| bytes(row_bytes(p)),
    },
    Fact {
        name: "superblock_bytes",
        about: "A superblock: a block on every plane of each of its dies. It is filled, collected and erased as one.",
        formula: "superblock.dies x row_bytes x nand.pages_per_block / nand.word_line_pages",
        value: |p| bytes(superblock_bytes(p)),
    },
    Fact {
        name: "raw_bytes",
        about: "Raw capacity: flash for user data.",
        formula: "nand.data_superblocks x superblock_bytes",
        value: |p| bytes(raw_bytes(p)),
    },
    Fact {
        name: "metadata_bytes",
        about: "Flash for the mapping table and other metadata, in SLC mode.",
        formula: "nand.meta_superblocks x superblock_bytes",
        value: |p| bytes(u64::from(p.values.nand.geometry.meta_superblocks) * superblock_bytes(p)),
    },
    Fact {
        name: "usable_bytes",
        about: "Usable capacity: what the host can address.",
        formula: "device.capacity_mib x 1048576, less WriteBooster with slc.user_space = \"reduced\"",
        value: |p| bytes(usable_bytes(p)),
    },
    Fact {
        name: "overprovision_ratio",
        about: "Over-provisioning: flash for user data beyond the usable capacity, as a share of it.",
        formula: "raw_bytes / usable_bytes - 1",
        value: |p| Some(raw_bytes(p) as f64 / usable_bytes(p) as f64 - 1.0),
    },
    Fact {
        name: "l2p_table_bytes",
        about: "The whole L2P table: 4 bytes for each unit of 4 KiB.",
        formula: "usable_bytes / 4096 x 4",
        value: |p| bytes(table_bytes(p)),
    },
    Fact {
        name: "l2p_segments",
        about: "L2P segments of 1024 entries, 4 KiB each.",
        formula: "usable_bytes / 4194304",
        value: |p| bytes(u64::from(p.capacity_units()).div_ceil(SEGMENT_ENTRIES.into())),
    },
    Fact {
        name: "l2p_in_sram_ratio",
        about: "Share of the table that the segment cache holds at most.",
        formula: "sram_segments_bytes / l2p_table_bytes, at most 1",
        value: |p| Some(share(sram(p.values.sram.segment_cache_kib), table_bytes(p))),
    },
    Fact {
        name: "l2p_in_host_ratio",
        about: "Share of the table that the host may hold, with entries of 4 bytes; sealed ones of HPB take 8.",
        formula: "host.memory_mib x 1048576 / l2p_table_bytes, at most 1",
        value: |p| {
            let limit = p.values.host.memory_mib.count();
            Some(limit.map_or(1.0, |mib| share(u64::from(mib) * MIB, table_bytes(p))))
        },
    },
    Fact {
        name: "sram_pool_bytes",
        about: "SRAM that is shared by write data, L2P segments, GC and operations under way; with sram.covers = \
                \"all\", tables included.",
        formula: "sram.pool_kib x 1024",
        value: |p| bytes(sram(p.values.sram.pool_kib)),
    },
    Fact {
        name: "sram_segments_bytes",
        about: "Part of the pool that L2P segments take at most, with sram.covers = \"all\" together with tables. They \
                give way to any other use.",
        formula: "sram.segment_cache_kib x 1024",
        value: |p| bytes(sram(p.values.sram.segment_cache_kib)),
    },
    Fact {
        name: "sram_reserve_bytes",
        about: "Part of the pool that write data never takes, so that map flushes and GC can go on.",
        formula: "sram.reserve_kib x 1024",
        value: |p| bytes(sram(p.values.sram.reserve_kib)),
    },
    Fact {
        name: "sram_write_bytes",
        about: "Part of the pool that write data takes at most, when no segment is kept.",
        formula: "sram_pool_bytes - sram_reserve_bytes",
        value: |p| bytes(sram(p.values.sram.pool_kib - p.values.sram.reserve_kib)),
    },
    Fact {
        name: "log_bytes",
        about: "SRAM of the log of new mappings, one of the tables: 16 bytes for each entry.",
        formula: "log.entries x 16",
        value: |p| bytes(u64::from(p.values.log.entries) * LOG_ENTRY_BYTES),
    },
    Fact {
        name: "user_commands",
        about: "Commands of the user that are under way at most.",
        formula: "host.tags - host.internal_tags",
        value: |p| some(p.values.host.tags - p.values.host.internal_tags),
    },
];

fn some(count: u32) -> Option<f64> {
    Some(count.into())
}

/// Sizes stay below 2^53 bytes, where floats are exact.
fn bytes(bytes: u64) -> Option<f64> {
    Some(bytes as f64)
}

fn share(part: u64, whole: u64) -> f64 {
    (part as f64 / whole as f64).min(1.0)
}

fn sram(kib: u32) -> u64 {
    u64::from(kib) * KIB
}

fn row_bytes(p: &Profile) -> u64 {
    u64::from(p.geometry().row_units()) * UNIT_BYTES
}

fn superblock_bytes(p: &Profile) -> u64 {
    u64::from(p.geometry().superblock_units()) * UNIT_BYTES
}

fn raw_bytes(p: &Profile) -> u64 {
    u64::from(p.values.nand.geometry.data_superblocks) * superblock_bytes(p)
}

fn usable_bytes(p: &Profile) -> u64 {
    u64::from(p.values.capacity_mib()) * MIB
}

fn table_bytes(p: &Profile) -> u64 {
    u64::from(p.capacity_units()) * ENTRY_BYTES
}

/// Every fact with its formula, as Markdown.
pub fn facts_markdown() -> String {
    let mut text = String::from(
        "# What follows from a profile\n\n\
         `ufsim profiles NAME` prints these facts of a profile, of a built-in one or of a file; with `--json` they \
         stand under the names below. `--set section.key=value` tells what they would be with another value.\n\n\
         This page is generated by `cargo run -p ufsim-lab --example bless`; a test fails when it is out of date.\n\n\
         ## Sizes and shares\n\n| fact | meaning | formula |\n|---|---|---|\n",
    );
    for fact in FACTS {
        text += &format!("| `{}` | {} | {} |\n", fact.name, fact.about, fact.formula);
    }
    let patterns: Vec<String> = PATTERNS.iter().map(|pattern| format!("`{}`", pattern.name)).collect();
    text += &format!(
        "\n## Ceilings\n\nHow fast a device can be at most, for {}. Sequential requests have `host.max_transfer_kib` \
         and follow one another, random ones have 4 KiB, anywhere. Each part of the system sets a limit of its own, in \
         requests per second; the lowest one holds. No simulated device exceeds it, whatever its scheme, and a test \
         sees to that: `ideal`, which does no mapping I/O, reaches most of it. Left out is what depends on the mapping \
         scheme and on the past of the device: reads and writes of the mapping table, GC, erases. Data in SRAM is left \
         out, too: the first writes of a burst only have to fit the write buffer, `sram_write_bytes`.\n\n\
         | limit | requests per second | why |\n|---|---|---|\n",
        patterns.join(", ")
    );
    for limit in LIMITS {
        text += &format!("| `{}` | {} | {} |\n", limit.name, limit.formula, limit.about);
    }
    text += "\n| symbol | meaning |\n|---|---|\n";
    for (symbol, meaning) in SYMBOLS {
        text += &format!("| {symbol} | {meaning} |\n");
    }
    text + "\nA rate of 0 in a profile means that transfers take no time; then the limit is `null`.\n"
}
