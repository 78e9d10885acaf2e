//! Every kind of error that a profile can have, and the profiles that come along.

use std::collections::BTreeSet;

use ftl::Device;
use ufs::Protocol;

use super::*;
use crate::stack::system::SystemSpec;

const HP_UFS: &str = EMBEDDED[0].1;

fn error_of(text: &str, overrides: &[&str]) -> String {
    let overrides: Vec<_> = overrides.iter().map(|o| parse_override(o).unwrap()).collect();
    Profile::parse("p.toml", text, &overrides).unwrap_err().to_string()
}

/// The text with one line replaced.
fn with_line(key: &str, line: &str) -> String {
    let mut found = 0;
    let lines: Vec<String> = HP_UFS
        .lines()
        .map(|l| {
            let hit = l.split(" = ").next() == Some(key);
            found += usize::from(hit);
            if hit { line.to_owned() } else { l.to_owned() }
        })
        .collect();
    assert_eq!(found, 1, "{key} must be in the profile once");
    lines.join("\n")
}

#[test]
fn every_embedded_profile_is_valid() {
    for (name, _) in EMBEDDED {
        let profile = Profile::load(name, &[]).unwrap();
        assert!(!profile.values.device.name.is_empty());
        assert!(profile.device_config([1, 2]).geometry.checked_total_units().is_some());
    }
}

#[test]
fn the_papers_device_has_the_papers_numbers() {
    let config = Profile::load("hp-ufs", &[]).unwrap().device_config([1, 2]);
    assert_eq!(config.capacity_units, 32 << 20);
    assert_eq!(config.geometry.superblock_units(), 4096);
    assert_eq!((config.geometry.data_superblocks, config.geometry.meta_superblocks), (74 * 128, 128));
    assert_eq!((config.sram.pool, config.sram.segment_cache), (384, 272));
    assert_eq!((config.timing.tlc.program.0, config.timing.slc.read.0), (550_000, 25_000));
    let big = Profile::load("hp-ufs-1tib", &[]).unwrap().device_config([1, 2]);
    assert_eq!(big.capacity_units, 256 << 20);
}

#[test]
fn a_value_out_of_range_names_key_value_and_range() {
    assert_eq!(error_of(&with_line("planes", "planes = 0"), &[]), "profile p.toml: nand.planes = 0: must be 1..=6");
    assert_eq!(
        error_of(&with_line("memory_mib", "memory_mib = 0"), &[]),
        "profile p.toml: host.memory_mib = 0: must be 1..=65536 or \"unlimited\""
    );
    assert_eq!(
        error_of(HP_UFS, &["firmware.command_ns=-5"]),
        "profile p.toml: firmware.command_ns = -5: must be 0..=1000000"
    );
}

#[test]
fn a_wrong_type_names_key_value_and_type() {
    for (text, told) in [
        (with_line("planes", "planes = \"two\""), "nand.planes = \"two\": must be 1..=6, an integer"),
        (with_line("planes", "planes = 2.5"), "nand.planes = 2.5: must be 1..=6, an integer"),
        (with_line("page_register", "page_register = 1"), "nand.page_register = 1: must be true or false"),
        (with_line("name", "name = 7"), "device.name = 7: must be a non-empty string"),
        (
            with_line("memory_mib", "memory_mib = \"all\""),
            "host.memory_mib = \"all\": must be 1..=65536 or \"unlimited\"",
        ),
    ] {
        assert_eq!(error_of(&text, &[]), format!("profile p.toml: {told}"));
    }
}

#[test]
fn unknown_and_missing_keys_are_named() {
    let unknown = error_of(&with_line("planes", "plains = 2"), &[]);
    assert!(
        unknown.starts_with("profile p.toml: nand.plains = 2: unknown key, must be one of channels, "),
        "{unknown}"
    );
    let missing = error_of(&with_line("planes", ""), &[]);
    assert_eq!(missing, "profile p.toml: nand.planes is missing: must be 1..=6");
    let section = error_of(&HP_UFS.replace("[wear]", "[tear]"), &[]);
    assert!(section.starts_with("profile p.toml: unknown section [tear]: must be one of device, nand"), "{section}");
    let not_a_table = error_of(&format!("wear = 3\n{}", HP_UFS.replace("[wear]\nspread_erases = 64", "")), &[]);
    assert_eq!(not_a_table, "profile p.toml: wear = 3: must be a table");
}

#[test]
fn a_syntax_error_names_its_line() {
    let text = with_line("planes", "planes = = 2");
    let line = 1 + text[..text.find("planes = =").unwrap()].matches('\n').count();
    assert!(error_of(&text, &[]).starts_with(&format!("profile p.toml: line {line}: ")), "{}", error_of(&text, &[]));
}

#[test]
fn every_value_has_exactly_one_origin() {
    let without = error_of(&with_line("\"nand.planes\"", ""), &[]);
    assert_eq!(without, "profile p.toml: nand.planes: must have its source in [sources] or its reason in [assumed]");
    let twice = error_of(&HP_UFS.replace("[assumed]", "[assumed]\n\"nand.planes\" = \"a guess\""), &[]);
    assert_eq!(twice, "profile p.toml: nand.planes: stands both in [sources] and in [assumed], must be in one");
    let unknown = error_of(&HP_UFS.replace("[assumed]", "[assumed]\n\"nand.wings\" = \"none\""), &[]);
    assert_eq!(unknown, "profile p.toml: [assumed] \"nand.wings\": no such key in a profile");
    let empty = error_of(&with_line("\"nand.planes\"", "\"nand.planes\" = \" \""), &[]);
    assert_eq!(empty, "profile p.toml: [sources] \"nand.planes\" = \" \": must be a non-empty string");
}

#[test]
fn overrides_replace_values_and_are_checked_alike() {
    let set = |o: &[&str]| {
        let overrides: Vec<_> = o.iter().map(|o| parse_override(o).unwrap()).collect();
        Profile::load("hp-ufs", &overrides).unwrap().values
    };
    assert_eq!(set(&["host.memory_mib=unlimited"]).host.memory_mib.count(), None);
    assert_eq!(set(&["host.memory_mib = 5"]).host.memory_mib.count(), Some(5));
    assert!(!set(&["nand.page_register=false"]).nand.timing.page_register);
    assert_eq!(error_of(HP_UFS, &["nand.planes=9"]), "profile p.toml: nand.planes = 9: must be 1..=6");
    assert!(
        error_of(HP_UFS, &["nand.plains=2"]).starts_with("profile p.toml: nand.plains = 2: unknown key, must be one")
    );
    let no_section = error_of(HP_UFS, &["planes=2"]);
    assert_eq!(
        no_section,
        "profile p.toml: planes = 2: unknown key, must have the form section.key or scheme.NAME.key"
    );
    assert!(parse_override("nand.planes").unwrap_err().to_string().contains("must have the form section.key=value"));
}

#[test]
fn values_must_fit_each_other() {
    for (overrides, told) in [
        (&["nand.page_kib=12"][..], "nand.page_kib = 12: must be a power of two, 4, 8, 16 or 32"),
        (&["nand.data_superblocks=8208"], "nand.data_superblocks = 8208: must be at least 8438"),
        (&["nand.data_superblocks=65536"], "nand.data_superblocks = 65536: must be at most 65535"),
        (&["nand.pages_per_block=4096", "nand.channels=32"], "nand.data_superblocks = 9472: must be at most"),
        (&["nand.meta_superblocks=11"], "nand.meta_superblocks = 11: must be at least 15"),
        (&["device.further_lus_mib=6"], "device.further_lus_mib = 6: must be multiples of 4, the reach of a segment"),
        (&["device.further_lus_mib=4,0"], "device.further_lus_mib = [4, 0]: must be 0, or capacities without a 0"),
        (
            &["device.further_lus_mib=131052,8"],
            "device.further_lus_mib = [131052, 8]: must be at most 131056 in all: of 131072 MiB, unit 0",
        ),
        (&["device.further_lus_mib=4,4,4,4,4,4,4,4"], "must be 0..=4194304, an integer or a list of up to 7"),
        (&["slc.dedicated_lu=0"], "slc.dedicated_lu = 0: must be \"none\" without slc.write_booster"),
        (
            &["slc.superblocks=40", "slc.write_booster=true", "slc.dedicated_lu=2", "device.further_lus_mib=8"],
            "slc.dedicated_lu = 2: must be \"none\" or 0..=1, a logical unit that device.further_lus_mib = [8] makes",
        ),
        (
            &["slc.superblocks=40", "slc.write_booster=true", "slc.dedicated_lu=0", "gc.hot_region_kib=1024"],
            "slc.dedicated_lu = 0: must be \"none\" with gc.hot_region_kib: data are parted in one way only",
        ),
        (
            &["slc.superblocks=40", "slc.write_booster=true", "slc.dedicated_lu=0", "sram.pool_kib=1376"],
            "sram.pool_kib = 1376: must be at least 1408: sram.segment_cache_kib, sram.reserve_kib, three rows, with",
        ),
        (&["device.capacity_mib=131070"], "device.capacity_mib = 131070: must be a multiple of 4"),
        (&["sram.pool_kib=1534"], "sram.pool_kib = 1534: must be a multiple of 4"),
        (&["sram.pool_kib=1084"], "sram.segment_cache_kib = 1088: must be below sram.pool_kib = 1084"),
        (&["sram.pool_kib=1300"], "sram.pool_kib = 1300: must be at least 1376"),
        (&["sram.reserve_kib=60"], "sram.reserve_kib = 60: must be at least 64: two rows of 8 units"),
        (
            &["nand.pages_per_block=4", "nand.channels=1", "nand.data_superblocks=60000", "device.capacity_mib=4096"],
            "nand.pages_per_block = 4: must be so many that a snapshot of the directory",
        ),
        (&["gc.relaxed_superblocks=2400"], "gc.relaxed_superblocks = 2400: must be below gc.start_superblocks = 2400"),
        (&["gc.hurried_superblocks=1800"], "gc.hurried_superblocks = 1800: must be below gc.relaxed_superblocks"),
        (&["gc.reserve_superblocks=600"], "gc.reserve_superblocks = 600: must be below gc.hurried_superblocks = 600"),
        (
            &["gc.pace=gained", "gc.units_per_step=7"],
            "gc.units_per_step = 7: must be at least a row of 8 units with gc.pace = \"gained\"",
        ),
        (&["gc.pace=greedy"], "must be one of \"searched\", \"gained\""),
        (&["host.internal_tags=31", "host.tags=31"], "host.internal_tags = 31: must be below host.tags = 31"),
        (&["host.tags=257"], "host.tags = 257: must be 2..=256"),
        (
            &["host_time.queues=3", "host_time.processors=2"],
            "host_time.queues = 3: must be at most host_time.processors = 2",
        ),
        (&["nand.planes=7"], "nand.planes = 7: must be 1..=6"),
        (
            &["nand.planes=6", "nand.page_kib=16", "nand.word_line_pages=4"],
            "nand.word_line_pages = 4: must be a divisor of nand.pages_per_block = 64, with which a program has at \
             most 288 KiB on its planes (here 384)",
        ),
        (&["gc.hot_region_kib=1022"], "gc.hot_region_kib = 1022: must be \"none\" or a multiple of 4"),
        (&["device.capacity_mib=1024", "gc.hot_region_kib=262148"], "must be \"none\" or at most 262144, a quarter"),
        (&["gc.hot_region_kib=1024", "log.max_log_blocks=4"], "log.max_log_blocks = 4: must be at least 5 with gc.hot"),
        (
            &["gc.hot_region_kib=1024", "sram.reserve_kib=124"],
            "sram.reserve_kib = 124: must be at least 128: four rows, with gc.hot_region_kib, of 8 units",
        ),
        (&["host.max_transfer_kib=510"], "host.max_transfer_kib = 510: must be a multiple of 4"),
    ] {
        let parsed: Vec<_> = overrides.iter().map(|o| parse_override(o).unwrap()).collect();
        match Profile::load("hp-ufs", &parsed) {
            Ok(_) => panic!("{overrides:?} was accepted"),
            Err(e) => assert!(e.to_string().contains(told), "{overrides:?}: {e}"),
        }
    }
}

#[test]
fn an_unknown_profile_says_which_there_are() {
    let error = Profile::load("pixel", &[]).unwrap_err().to_string();
    let names: Vec<&str> = EMBEDDED.iter().map(|(name, _)| *name).collect();
    assert_eq!(
        error,
        format!("profile pixel: no such profile: must be one of {}, or the path of a file", names.join(", "))
    );
    assert!(
        Profile::load("no/such.toml", &[]).unwrap_err().to_string().starts_with("profile no/such.toml: cannot be read")
    );
}

/// What is said of a scheme with these values.
fn fits(profile: &str, set: &[&str], scheme: &str) -> Result<(), String> {
    let set: Vec<_> = set.iter().map(|text| parse_override(text).unwrap()).collect();
    let parts = SystemSpec::preset(scheme).resolve().unwrap();
    let profile = Profile::load(profile, &set).map_err(|e| e.to_string())?;
    profile.check_parts(parts).map_err(|e| e.to_string())
}

/// Buffers of the pool and KiB of tables, in a system of HP-UFS Table I.
fn sram_of(scheme: &str, covers: &str) -> (u16, u64) {
    let set = [parse_override(&format!("sram.covers={covers}")).unwrap()];
    let profile = Profile::load("hp-ufs", &set).unwrap();
    let parts = SystemSpec::preset(scheme).resolve().unwrap();
    profile.check_parts(parts).unwrap();
    let config = profile.device_of(parts, [1, 2]);
    assert_eq!(config.sram.pool - config.sram.segment_cache, 384 - 272, "the rest of the pool keeps its size");
    let (pool, device) = (config.sram.pool, Device::new(config, parts.mapping));
    let tables = device.table_bytes(parts.booster.speaks() == Protocol::Hpb);
    assert_eq!(device.stats().sram_bytes, u64::from(pool) * 4096 + device.stats().sram_table_bytes);
    (pool, tables.div_ceil(1024))
}

/// HP-UFS Table I: 1.5 MB of SRAM, either of buffers or in all.
///
/// Tables, in bytes: 16 for each of 1536 log entries; 4 for the place of each of 32,768 segments, 9472 segment bitmaps,
/// 32 journal pages and a few records, and 4 for the number of each segment; 8 for each superblock. UFS and HPB count
/// valid pages, 2 for each superblock. HPB has state and epoch of 32,768 groups, 2 bits and 4 bytes, 256 changes of 8
/// bytes, and a segment that is being sent. HP-UFS has 10 bitmaps of log blocks, 8 + 4096 each, and 4 for each
/// superblock. Ideal has its tables in DRAM.
#[test]
fn tables_are_beside_the_pool_or_take_their_part_of_it() {
    for (scheme, tables) in [("ufs", 410), ("hpb", 552), ("hp-ufs", 469), ("ideal", 74)] {
        assert_eq!(sram_of(scheme, "pool"), (384, tables), "{scheme}");
        let (pool, with) = sram_of(scheme, "all");
        assert_eq!(with, tables, "{scheme}");
        let all = 4 * u64::from(pool) + tables;
        assert!((1533..=1536).contains(&all), "{scheme}: {all} KiB");
    }
    let refused = fits("hp-ufs", &["sram.covers=all", "sram.segment_cache_kib=408"], "ufs").unwrap_err();
    let told = "must be above 412, the tables of \"segment-log\" in SRAM, which sram.covers = \"all\" takes from it";
    assert!(refused.ends_with(told), "{refused}");
}

/// The 1.5 MB of Table I hold every scheme's pool, tables, and cache of its own.
#[test]
fn no_scheme_takes_more_sram_than_the_profile_has() {
    let profile = Profile::load("hp-ufs", &[]).unwrap();
    for preset in crate::stack::system::schemes() {
        let parts = SystemSpec::preset(preset.name).resolve().unwrap();
        profile.check_parts(parts).unwrap();
        let device = Device::new(profile.device_of(parts, [1, 2]), parts.mapping);
        let asks = parts.booster.speaks() == Protocol::Hpb;
        let all = device.stats().sram_bytes - device.table_bytes(false) + device.table_bytes(asks);
        assert!((1530 * 1024..=1536 * 1024).contains(&all), "{}: {all} bytes", preset.name);
    }
}

/// Its own cache takes the place of the segment cache: 1088 KiB without the tables, in whole buffers.
#[test]
fn a_cache_of_its_own_lies_in_the_pool() {
    for (scheme, kib) in [("dftl", 1088), ("tpftl", 1088), ("sftl", 1088), ("cdftl", 64)] {
        let set = parse_override(&format!("scheme.{scheme}.cache_kib={kib}")).unwrap();
        let profile = Profile::load("hp-ufs", &[set]).unwrap();
        let parts = SystemSpec::preset(scheme).resolve().unwrap();
        let config = profile.device_of(parts, [1, 2]);
        let device = Device::new(config.clone(), parts.mapping);
        let cache = device.own_cache_bytes();
        assert!(cache <= 4096 * u64::from(config.sram.segment_cache), "{scheme}: {cache}");
        let left = 384 - config.sram.pool - cache.div_ceil(4096) as u16;
        assert_eq!(config.sram.segment_cache, 272 - left, "{scheme}: the tables take {left} buffers");
        let expected = if kib == 64 { 64 * 1024 } else { 4096 * u64::from(config.sram.segment_cache) };
        assert!((expected - 4096..=expected).contains(&cache), "{scheme}: {cache} of {expected} bytes");
    }
    let told = fits("hp-ufs", &["scheme.dftl.cache_kib=4", "sram.pool_kib=8192"], "dftl").unwrap_err();
    assert!(told.contains("scheme.dftl.cache_kib = 4: must be at least "), "{told}");
}

#[test]
fn schemes_check_what_they_need_of_the_device() {
    for (set, scheme, told) in [
        (
            "scheme.segment-log.flush_above_entries=1536",
            "ufs",
            "flush_above_entries = 1536: must be below log.entries = 1536",
        ),
        (
            "scheme.segment-log.flush_above_entries=1530",
            "ufs",
            "must be at least a row of 8 units below log.entries = 1536",
        ),
        (
            "scheme.hp-ufs.gc_pause_at_entries=1530",
            "hp-ufs",
            "must be at least a row of 8 units below log.entries = 1536",
        ),
        (
            "scheme.hp-ufs.reorder_entries=64",
            "hp-ufs",
            "log.entries = 1536: must be at most scheme.hp-ufs.reorder_entries = 64 and 2048",
        ),
        (
            "scheme.segment-log.hpb_group_entries=1500",
            "hpb",
            "scheme.segment-log.hpb_group_entries = 1500: must be 512 or a multiple of 1024",
        ),
    ] {
        let error = fits("hp-ufs", &[set], scheme).unwrap_err();
        assert!(error.contains(told), "{set}: {error}");
        assert_eq!(fits("hp-ufs", &[set], "ideal"), Ok(()), "{set}");
    }
}

#[test]
fn every_preset_runs_on_every_embedded_profile() {
    for (profile, _) in EMBEDDED {
        for preset in crate::stack::system::schemes() {
            assert_eq!(fits(profile, &[], preset.name), Ok(()), "{}", preset.name);
        }
    }
}

#[test]
fn the_mapping_cache_must_hold_what_its_scheme_needs() {
    assert_eq!(
        error_of(HP_UFS, &["scheme.dftl.entry_bytes=5"]),
        "profile p.toml: scheme.dftl.entry_bytes = 5: must be 4 or 8"
    );
    let fits = |cache: &str, scheme| fits("emmc-map-plus", &[&format!("scheme.*.cache_kib={cache}")], scheme);
    assert_eq!((fits("4", "dftl"), fits("4", "ideal"), fits("8", "cdftl")), (Ok(()), Ok(()), Ok(())));
    assert_eq!((fits("\"unlimited\"", "dftl"), fits("\"unlimited\"", "cdftl")), (Ok(()), Ok(())));
    assert_eq!(
        fits("4", "cdftl").unwrap_err(),
        "profile emmc-map-plus: scheme.cdftl.cache_kib = 4: must be at least 8 with sram.pool_kib = 128"
    );
}

#[test]
fn segments_in_parts_must_have_room() {
    for kib in ["scheme.*.segment_kib=1", "scheme.*.segment_kib=2", "scheme.*.segment_kib=4"] {
        for scheme in ["hp-ufs", "ufs", "ideal"] {
            assert_eq!(fits("hp-ufs", &[kib, "sram.covers=pool"], scheme), Ok(()));
        }
    }
    // The bitmaps of 9472 superblocks take four pages each instead of one.
    let few = ["sram.covers=pool", "nand.meta_superblocks=16", "scheme.*.segment_kib=1"];
    assert_eq!((fits("hp-ufs", &few[..2], "ufs"), fits("hp-ufs", &few, "hp-ufs")), (Ok(()), Ok(())));
    let told = fits("hp-ufs", &few, "ufs").unwrap_err();
    assert!(told.starts_with("profile hp-ufs: nand.meta_superblocks = 16: must be at least 23 for "), "{told}");
    // Rows of two units: what other checks ask for, two rows, does not hold four parts.
    let small = [
        "device.capacity_mib=16",
        "nand.channels=2",
        "nand.page_kib=4",
        "nand.data_superblocks=96",
        "sram.reserve_kib=16",
        "scheme.*.segment_kib=1",
    ];
    assert_eq!((fits("tiny", &small[..5], "hp-ufs"), fits("tiny", &small, "ufs")), (Ok(()), Ok(())));
    let told = fits("tiny", &small, "hp-ufs").unwrap_err();
    assert!(told.starts_with("profile tiny: sram.reserve_kib = 16: must be at least 32 for "), "{told}");
}

#[test]
fn a_scheme_has_the_keys_of_all_its_parts_and_none_twice() {
    for scheme in schemes() {
        let keys: BTreeSet<&str> = scheme.fields.iter().map(|field| field.key).collect();
        assert_eq!(keys.len(), scheme.fields.len(), "{}: a key is declared by two parts of this name", scheme.name);
        for field in &scheme.fields {
            let default = field.default.unwrap_or_else(|| panic!("{}.{} has no default", scheme.name, field.key));
            assert!(field.kind.admits(&default.value()), "{}.{}: {default:?}", scheme.name, field.key);
            assert!(!field.doc.is_empty() && !field.source.is_empty(), "{}.{}", scheme.name, field.key);
        }
    }
}

#[test]
fn schemes_are_set_one_by_one_or_together() {
    let set = |text: &str| Profile::load("hp-ufs", &[parse_override(text).unwrap()]).unwrap().values.mappings;
    let one = set("scheme.dftl.cache_kib=16");
    assert_eq!(
        (
            one.get::<schemes::Dftl>().single.common.cache_kib.count(),
            one.get::<schemes::Cdftl>().single.common.cache_kib.count()
        ),
        (Some(16), Some(1088))
    );
    let all = set("scheme.*.cache_kib=16");
    assert_eq!(
        (
            all.get::<schemes::Dftl>().single.common.cache_kib.count(),
            all.get::<schemes::Cdftl>().single.common.cache_kib.count()
        ),
        (Some(16), Some(16))
    );
    for (set, told) in [
        ("scheme.dftl.cashe_kib=16", "scheme.dftl.cashe_kib = 16: unknown key, must be one of cache_kib, entry_bytes"),
        ("scheme.*.cashe_kib=16", "scheme.*.cashe_kib = 16: unknown key, no scheme has it"),
        ("scheme.dftwo.cache_kib=16", "unknown section [scheme.dftwo]: must be one of segment-log, hp-ufs, "),
        ("scheme.dftl.cache_kib=3", "scheme.dftl.cache_kib = 3: must be 4..=2097152 or \"unlimited\""),
    ] {
        let error = error_of(HP_UFS, &[set]);
        assert!(error.contains(told), "{error}");
    }
}

#[test]
fn a_profile_names_what_differs_with_its_source() {
    let with = |lines: &str| format!("{HP_UFS}\n[scheme.dftl]\ncache_kib = 16\n{lines}");
    let unexplained = error_of(&with(""), &[]);
    assert!(unexplained.contains("scheme.dftl.cache_kib: must have its source in [sources] or"), "{unexplained}");
    let text = HP_UFS
        .replace("[assumed]", "[scheme.dftl]\ncache_kib = 16\n\n[assumed]\n\"scheme.dftl.cache_kib\" = \"a guess\"");
    let profile = Profile::parse("p.toml", &text, &[]).unwrap();
    assert_eq!(profile.values.mappings.get::<schemes::Dftl>().single.common.cache_kib.count(), Some(16));
    let absent = error_of(&HP_UFS.replace("[assumed]", "[assumed]\n\"scheme.dftl.cache_kib\" = \"a guess\""), &[]);
    assert_eq!(absent, "profile p.toml: [assumed] \"scheme.dftl.cache_kib\": this profile has no such key");
    let table = error_of(&format!("{HP_UFS}\n[scheme.dftwo]\n"), &[]);
    assert!(table.contains("unknown section [scheme.dftwo]: must be one of segment-log, "), "{table}");
}

#[test]
fn all_keys_are_listed_as_json() {
    let keys: serde_json::Value = serde_json::from_str(&keys_json()).unwrap();
    let find = |name: &str| keys.as_array().unwrap().iter().find(|key| key["key"] == name).unwrap().clone();
    let cache = find("scheme.dftl.cache_kib");
    assert_eq!((cache["default"].as_u64(), cache["unit"].as_str()), (Some(1088), Some("KiB")));
    assert_eq!((find("nand.planes")["default"].is_null(), &find("nand.planes")["allowed"]), (true, &"1..=6".into()));
}

#[test]
fn the_device_of_map_plus_has_the_papers_numbers() {
    let config = Profile::load("emmc-map-plus", &[]).unwrap().device_config([1, 2]);
    assert_eq!(
        (
            config.mappings.get::<schemes::Dftl>().single.common.cache_kib.count(),
            config.mappings.get::<schemes::Dftl>().single.common.entry_bytes
        ),
        (Some(16), 8)
    );
    for cell in [config.timing.slc, config.timing.tlc] {
        assert_eq!((cell.read.0, cell.program.0), (35_000, 350_000));
    }
    assert!(config.write_through && !config.timing.page_register);
}

/// A scheme is what its paper describes, on every device, unless the profile or the run knows better.
#[test]
fn a_booster_brings_what_its_paper_says() {
    let published = |profile: &str, scheme: &str, set: &[&str]| {
        let set: Vec<Override> = set.iter().map(|text| parse_override(text).unwrap()).collect();
        let parts = crate::stack::system::SystemSpec::preset(scheme).resolve().unwrap();
        let own = *Profile::load(profile, &set).unwrap().for_parts(parts).values.mappings.get::<schemes::SegmentLog>();
        (own.hpb_group_entries, own.hpb_entry.name(), own.hpb_tracked_groups)
    };
    assert_eq!(published("hp-ufs", "hpb", &[]), (4096, "plain", 64));
    assert_eq!(published("hp-ufs", "hpb-linux", &[]), (1024, "sealed", 0), "entries of the standard");
    assert_eq!(published("hpbvalve", "hpbvalve", &[]), (512, "sealed", 64), "entries of the standard");
    assert_eq!(published("hpbvalve", "hpb", &[]), (512, "plain", 64), "the profile names its groups");
    let set = ["scheme.segment-log.hpb_entry=sealed", "scheme.*.hpb_tracked_groups=0"];
    assert_eq!(published("hp-ufs", "hpb", &set), (4096, "sealed", 0));
    let eager = Profile::load("hp-ufs", &[]).unwrap().values.boosters.Hpb;
    assert_eq!((eager.eager, eager.max_defer_us.count()), (true, None), "groups are read at boot and in idle time");
}

#[test]
fn a_preset_brings_its_parameters_unless_the_profile_or_the_run_names_them() {
    let flushes = |scheme: &str, set: &[&str]| {
        let set: Vec<Override> = set.iter().map(|text| parse_override(text).unwrap()).collect();
        let parts = crate::stack::system::SystemSpec::preset(scheme).resolve().unwrap();
        let own = *Profile::load("hp-ufs", &set).unwrap().for_parts(parts).values.mappings.get::<schemes::SegmentLog>();
        (own.flush_mode.name(), own.flush_order.name(), own.hpb_group_entries)
    };
    assert_eq!(flushes("hpb", &[]), ("rounds", "log", 4096));
    assert_eq!(flushes("hpb-tuned", &[]), ("pipelined", "address", 4096), "beside what the booster's paper says");
    assert_eq!(flushes("ufs-tuned", &["scheme.*.flush_order=log"]), ("pipelined", "log", 1024));
}

/// papers/hp-ufs/flush-search.json is what `make flush-search` has tried in this profile.
#[test]
fn tuned_presets_are_what_the_search_has_found() {
    let own = |scheme: &str, set: &[String]| {
        let set: Vec<Override> = set.iter().map(|text| parse_override(text).unwrap()).collect();
        let parts = SystemSpec::preset(scheme).resolve().unwrap();
        format!(
            "{:?}",
            Profile::load("hp-ufs", &set).unwrap().for_parts(parts).values.mappings.get::<schemes::SegmentLog>()
        )
    };
    let kept = concat!(env!("CARGO_MANIFEST_DIR"), "/../../papers/hp-ufs/flush-search.json");
    let search: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(kept).unwrap()).unwrap();
    for scheme in ["ufs", "hpb"] {
        let best = search["schemes"][scheme]["best"]["settings"].as_object().unwrap();
        assert_eq!(best.len(), 5, "{best:?}");
        let set: Vec<String> = best.iter().map(|(key, value)| format!("{key}={value}")).collect();
        assert_eq!(own(&format!("{scheme}-tuned"), &[]), own(scheme, &set), "{scheme}");
    }
}
