//! What follows from profiles, against numbers that stand in the papers or can be computed by hand.

use super::ceilings::LIMITS;
use super::facts::FACTS;
use super::*;

fn profile(name: &str, set: &[&str]) -> Profile {
    let set: Vec<_> = set.iter().map(|text| parse_override(text).unwrap()).collect();
    Profile::load(name, &set).unwrap()
}

fn fact(name: &str, profile: &Profile) -> f64 {
    FACTS.iter().find(|fact| fact.name == name).unwrap().of(profile).unwrap()
}

/// Requests per second by limit, of one pattern.
fn limits(profile: &Profile, pattern: &str) -> Vec<(&'static str, Option<f64>)> {
    let ceiling = profile.ceilings().into_iter().find(|ceiling| ceiling.pattern.name == pattern).unwrap();
    LIMITS.iter().zip(ceiling.by).map(|(limit, rate)| (limit.name, rate)).collect()
}

#[test]
fn the_papers_device_has_its_sizes() {
    let p = profile("hp-ufs", &[]);
    const MIB: f64 = 1048576.0;
    for (name, value) in [
        ("dies", 8.0),
        ("row_bytes", 32.0 * 1024.0),
        ("superblock_bytes", 16.0 * MIB),
        ("raw_bytes", 148.0 * 1024.0 * MIB),
        ("usable_bytes", 128.0 * 1024.0 * MIB),
        ("overprovision_ratio", 0.15625),
        ("l2p_table_bytes", 128.0 * MIB),
        ("l2p_segments", 32768.0),
        ("l2p_in_sram_ratio", 1088.0 / (128.0 * 1024.0)),
        ("l2p_in_host_ratio", 0.15625),
        ("sram_write_bytes", 1344.0 * 1024.0),
        ("log_bytes", 24.0 * 1024.0),
        ("user_commands", 24.0),
    ] {
        assert_eq!(fact(name, &p), value, "{name}");
    }
    assert_eq!(fact("l2p_in_host_ratio", &profile("msftl", &[])), 1.0);
}

#[test]
fn ceilings_are_what_the_formulas_say() {
    let p = profile("hp-ufs", &[]);
    // 8 dies sense a row in 60 us, or program one of 8 units in 550 us; a request has 16 rows.
    let die = |pattern| limits(&p, pattern)[2];
    assert_eq!(die("random_read"), ("die", Some(8e9 / 60_000.0)));
    assert_eq!(die("sequential_read"), ("die", Some(8e9 / (16.0 * 60_000.0))));
    assert_eq!(die("random_write"), ("die", Some(8e9 * 8.0 / 550_000.0)));
    assert_eq!(limits(&p, "random_read")[1], ("channel", None), "transfers take no time");
    assert_eq!(limits(&p, "random_read")[3], ("firmware", Some(1e6)));
    // 32 bytes down; 4096 and two headers of 32 up, at 2306.867.. bytes per us, rounded to 2307.
    let up = (4160.0_f64 * 1000.0 / 2307.0).ceil();
    assert_eq!(limits(&p, "random_read")[0], ("link", Some(1e9 / up)));
    let down = (32.0_f64 * 1000.0 / 2307.0).ceil();
    let least = down + up + 2.0 * 500.0 + 1000.0 + 60_000.0;
    assert_eq!(limits(&p, "random_read")[4], ("tags", Some(24e9 / least)));
    assert_eq!(limits(&p, "random_write")[4], ("tags", Some(24e9 / (least - 60_000.0))));
}

#[test]
fn transfers_and_written_through_writes_count() {
    let p = profile("hpb", &["nand.transfer_mib_per_s=400"]);
    // 419 bytes per us; two channels, four dies, rows of 8 units.
    let (unit, row) = ((4096.0_f64 * 1000.0 / 419.0).ceil(), (32768.0_f64 * 1000.0 / 419.0).ceil());
    assert_eq!(limits(&p, "random_read")[1], ("channel", Some(2e9 / unit)));
    assert_eq!(limits(&p, "random_read")[2], ("die", Some(4e9 / (70_000.0 + unit))));
    assert_eq!(limits(&p, "sequential_write")[1], ("channel", Some(2e9 / (16.0 * row))));
    assert_eq!(limits(&p, "sequential_write")[2], ("die", Some(4e9 / (16.0 * (900_000.0 + row)))));
    // One request at a time: 1 us of firmware and the cells' time, nothing on the link.
    let emmc = profile("emmc-map-plus", &[]);
    assert_eq!(limits(&emmc, "random_write")[4], ("tags", Some(1e9 / 351_000.0)));
    assert_eq!(limits(&emmc, "random_read")[4], ("tags", Some(1e9 / 36_000.0)));
    assert_eq!(limits(&emmc, "random_read")[0], ("link", None));
}

#[test]
fn every_profile_can_be_described() {
    for (name, _) in EMBEDDED {
        let text = Description::load(name, &[]).unwrap().to_json();
        let told: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(told["facts"].as_object().unwrap().len(), FACTS.len());
        for (pattern, ceiling) in told["ceilings"].as_object().unwrap() {
            let by = ceiling["requests_per_s_by"].as_object().unwrap();
            let lowest = by.values().filter_map(serde_json::Value::as_f64).fold(f64::INFINITY, f64::min);
            assert_eq!(ceiling["requests_per_s"].as_f64(), Some(lowest), "{name} {pattern}");
            assert_eq!(by[ceiling["limited_by"].as_str().unwrap()].as_f64(), Some(lowest), "{name} {pattern}");
        }
        assert!(told["schemes"].as_object().unwrap().values().all(serde_json::Value::is_null), "{name}");
        for value in told["values"].as_array().unwrap() {
            let text = ["device.name", "device.summary"].contains(&value["key"].as_str().unwrap());
            assert_eq!(value["source"].is_null(), text, "{value}");
        }
    }
    let small = Description::load("emmc-map-plus", &[parse_override("scheme.cdftl.cache_kib=4").unwrap()]).unwrap();
    let told: serde_json::Value = serde_json::from_str(&small.to_json()).unwrap();
    assert!(told["schemes"]["cdftl"].as_str().unwrap().contains("must be at least 8"), "{}", told["schemes"]);
}
