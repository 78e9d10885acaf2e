//! Every kind of error that a profile can have, and the profiles that come along.

use super::*;

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
    assert_eq!(error_of(&with_line("planes", "planes = 0"), &[]), "profile p.toml: nand.planes = 0: must be 1..=4");
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
        (with_line("planes", "planes = \"two\""), "nand.planes = \"two\": must be 1..=4"),
        (with_line("planes", "planes = 2.5"), "nand.planes = 2.5: must be 1..=4"),
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
    assert_eq!(missing, "profile p.toml: nand.planes is missing: must be 1..=4");
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
    assert!(!set(&["nand.page_register=false"]).nand.page_register);
    assert_eq!(error_of(HP_UFS, &["nand.planes=9"]), "profile p.toml: nand.planes = 9: must be 1..=4");
    assert!(
        error_of(HP_UFS, &["nand.plains=2"]).starts_with("profile p.toml: nand.plains = 2: unknown key, must be one")
    );
    let no_section = error_of(HP_UFS, &["planes=2"]);
    assert_eq!(no_section, "profile p.toml: planes = 2: unknown key, must have the form section.key");
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
        (&["device.capacity_mib=131070"], "device.capacity_mib = 131070: must be a multiple of 4"),
        (&["sram.pool_kib=1534"], "sram.pool_kib = 1534: must be a multiple of 4"),
        (&["sram.pool_kib=1084"], "sram.segment_cache_kib = 1088: must be below sram.pool_kib = 1084"),
        (&["sram.pool_kib=1300"], "sram.pool_kib = 1300: must be at least 1376"),
        (&["sram.reserve_kib=60"], "sram.reserve_kib = 60: must be at least 64: two rows of 8 units"),
        (&["log.flush_above_entries=1536"], "log.flush_above_entries = 1536: must be below log.entries = 1536"),
        (&["log.flush_above_entries=1530"], "must be at least a row of 8 units below log.entries = 1536"),
        (&["host.reorder_entries=64"], "log.entries = 1536: must be at most host.reorder_entries = 64 and 2048"),
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
        (&["hpb.group_entries=1500"], "hpb.group_entries = 1500: must be 512 or a multiple of 1024"),
        (&["host.internal_tags=31", "host.tags=31"], "host.internal_tags = 31: must be below host.tags = 31"),
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
    assert_eq!(
        error,
        "profile pixel: no such profile: must be one of hp-ufs, hp-ufs-1tib, emmc-map-plus, hpb, hpbvalve, msftl, tiny, or the path of a file"
    );
    assert!(
        Profile::load("no/such.toml", &[]).unwrap_err().to_string().starts_with("profile no/such.toml: cannot be read")
    );
}

#[test]
fn the_mapping_cache_must_hold_what_its_scheme_needs() {
    assert_eq!(error_of(HP_UFS, &["cmt.entry_bytes=5"]), "profile p.toml: cmt.entry_bytes = 5: must be 4 or 8");
    let fits = |cache: &str, mapping| {
        let set = [parse_override(&format!("cmt.cache_kib={cache}")).unwrap()];
        Profile::load("emmc-map-plus", &set).unwrap().check_mapping(mapping).map_err(|e| e.to_string())
    };
    use device::MappingKind::{Cdftl, Dftl, Ideal};
    assert_eq!((fits("4", Dftl), fits("4", Ideal), fits("8", Cdftl)), (Ok(()), Ok(()), Ok(())));
    assert_eq!((fits("\"unlimited\"", Dftl), fits("\"unlimited\"", Cdftl)), (Ok(()), Ok(())));
    assert_eq!(
        fits("4", Cdftl).unwrap_err(),
        "profile emmc-map-plus: cmt.cache_kib = 4: must be at least 8 for mapping = \"cdftl\", with sram.pool_kib = 128"
    );
}

#[test]
fn segments_in_parts_must_have_room() {
    assert_eq!(error_of(HP_UFS, &["map.segment_kib=3"]), "profile p.toml: map.segment_kib = 3: must be 1, 2 or 4");
    let fits = |profile: &str, set: &[&str], mapping| {
        let set: Vec<_> = set.iter().map(|text| parse_override(text).unwrap()).collect();
        Profile::load(profile, &set).unwrap().check_mapping(mapping).map_err(|e| e.to_string())
    };
    use device::MappingKind::{HpUfs, Ideal, SegmentLog};
    for kib in ["map.segment_kib=1", "map.segment_kib=2", "map.segment_kib=4"] {
        for mapping in [HpUfs, SegmentLog, Ideal] {
            assert_eq!(fits("hp-ufs", &[kib], mapping), Ok(()));
        }
    }
    // The bitmaps of 9472 superblocks take four pages each instead of one.
    let few = ["nand.meta_superblocks=16", "map.segment_kib=1"];
    assert_eq!((fits("hp-ufs", &few[..1], SegmentLog), fits("hp-ufs", &few, HpUfs)), (Ok(()), Ok(())));
    let told = fits("hp-ufs", &few, SegmentLog).unwrap_err();
    assert!(told.starts_with("profile hp-ufs: nand.meta_superblocks = 16: must be at least 23 for "), "{told}");
    // Rows of two units: what other checks ask for, two rows, does not hold four parts.
    let small = [
        "device.capacity_mib=16",
        "nand.channels=2",
        "nand.page_kib=4",
        "nand.data_superblocks=96",
        "sram.reserve_kib=16",
        "map.segment_kib=1",
    ];
    assert_eq!((fits("tiny", &small[..5], HpUfs), fits("tiny", &small, SegmentLog)), (Ok(()), Ok(())));
    assert_eq!(
        fits("tiny", &small, HpUfs).unwrap_err(),
        "profile tiny: sram.reserve_kib = 16: must be at least 32 for map.segment_kib = 1: a row and a segment's parts"
    );
}

#[test]
fn the_device_of_map_plus_has_the_papers_numbers() {
    let config = Profile::load("emmc-map-plus", &[]).unwrap().device_config([1, 2]);
    assert_eq!((config.mappings.Dftl.cache_kib.count(), config.mappings.Dftl.entry_bytes), (Some(16), 8));
    for cell in [config.timing.slc, config.timing.tlc] {
        assert_eq!((cell.read.0, cell.program.0), (35_000, 350_000));
    }
    assert!(config.write_through && !config.timing.page_register);
}
