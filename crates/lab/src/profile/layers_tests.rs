//! Profiles that extend others: what holds, where it comes from, and what is refused.

use std::fs;
use std::path::PathBuf;

use super::*;

/// A folder that is gone with the value.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("ufsim-profiles-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    /// Writes a file and gives its path.
    fn put(&self, name: &str, text: &str) -> String {
        let path = self.0.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path.to_str().unwrap().into()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

const SLOWER: &str =
    "extends = \"hp-ufs\"\n[nand]\ntlc_read_us = 90\n[assumed]\n\"nand.tlc_read_us\" = \"slower cells\"\n";

fn parse(text: &str) -> Result<Profile, String> {
    Profile::parse("p.toml", text, &[]).map_err(|error| error.to_string())
}

/// The keys that two profiles have different values of.
fn differing(a: &Values, b: &Values) -> Vec<String> {
    let (a, b) = (a.tables(), b.tables());
    let of = |root: &Table, section: &str, key: &str| names::table_of(root, section).unwrap().get(key).cloned();
    let mut differing = Vec::new();
    for (section, table) in names::tables_in(&a).unwrap() {
        let keys = table.keys().filter(|key| of(&a, &section, key) != of(&b, &section, key));
        differing.extend(keys.map(|key| format!("{section}.{key}")));
    }
    differing
}

#[test]
fn a_variant_has_its_parents_values_and_its_own() {
    let (own, parent) = (parse(SLOWER).unwrap(), Profile::load("hp-ufs", &[]).unwrap());
    assert_eq!(differing(&own.values, &parent.values), ["nand.tlc_read_us"]);
    assert_eq!(own.values.nand.timing.tlc_read_us.all(), [90]);
    assert_eq!(own.origin, "p.toml");
}

#[test]
fn the_large_device_differs_from_the_papers_in_seven_values() {
    let (large, parent) = (Profile::load("hp-ufs-1tib", &[]).unwrap(), Profile::load("hp-ufs", &[]).unwrap());
    let mut keys = differing(&large.values, &parent.values);
    keys.sort();
    assert_eq!(
        keys,
        [
            "device.capacity_mib",
            "device.name",
            "device.summary",
            "host.memory_mib",
            "nand.dies_per_channel",
            "nand.pages_per_block",
            "sram.covers"
        ]
    );
    let v = &large.values;
    assert_eq!(
        (v.device.capacity_mib, v.nand.geometry.dies_per_channel, v.nand.geometry.pages_per_block),
        (1 << 20, 2, 256)
    );
    assert_eq!(
        (v.nand.geometry.data_superblocks, v.host.memory_mib.count(), v.gc.start_superblocks),
        (9472, Some(160), 2400)
    );
}

#[test]
fn a_source_is_asked_for_where_a_value_differs_and_only_there() {
    let asked = parse("extends = \"hp-ufs\"\n[nand]\ntlc_read_us = 90").unwrap_err();
    assert_eq!(
        asked,
        "profile p.toml: nand.tlc_read_us = 90: differs from 60 in hp-ufs, so it must have its source in [sources] or \
         its reason in [assumed]"
    );
    // The same value again, and the default of a scheme.
    for same in ["[nand]\ntlc_read_us = 60", "[scheme.dftl]\ncache_kib = 1_088", "[device]\nname = \"Mine\""] {
        parse(&format!("extends = \"hp-ufs\"\n{same}")).unwrap();
    }
    let asked = parse("extends = \"hp-ufs\"\n[scheme.dftl]\ncache_kib = 16").unwrap_err();
    assert!(asked.contains("scheme.dftl.cache_kib = 16: differs from 1088 in hp-ufs, so it must"), "{asked}");
    let inherited = parse("extends = \"hp-ufs\"\n[assumed]\n\"nand.planes\" = \"two\"").unwrap_err();
    assert_eq!(inherited, "profile p.toml: [assumed] \"nand.planes\": this profile has no such key");
    let twice = parse(&format!("{SLOWER}[sources]\n\"nand.tlc_read_us\" = \"a book\"")).unwrap_err();
    assert!(twice.contains("nand.tlc_read_us: stands both in [sources] and in [assumed]"), "{twice}");
}

#[test]
fn chains_are_followed_through_files() {
    let folder = Folder::new("chain");
    folder.put("base.toml", SLOWER);
    folder.put("variants/fast.toml", "extends = \"../base.toml\"\n[firmware]\ncommand_ns = 1_000\n");
    let last =
        "extends = \"fast.toml\"\n[nand]\ntlc_read_us = 30\n[sources]\n\"nand.tlc_read_us\" = \"a data sheet\"\n";
    let path = folder.put("variants/last.toml", last);
    let told = Description::load(&path, &[]).unwrap();
    assert_eq!(told.profile().values.nand.timing.tlc_read_us.all(), [30]);
    let json: serde_json::Value = serde_json::from_str(&told.to_json()).unwrap();
    let chain: Vec<&str> = json["extends"].as_array().unwrap().iter().map(|name| name.as_str().unwrap()).collect();
    assert_eq!(chain.len(), 3);
    assert!(chain[0].ends_with("variants/fast.toml") && chain[1].ends_with("base.toml") && chain[2] == "hp-ufs");
    let values = json["values"].as_array().unwrap();
    let of = |key: &str| values.iter().find(|value| value["key"] == key).unwrap();
    assert_eq!(
        (&of("nand.tlc_read_us")["source"], &of("nand.tlc_read_us")["assumed"]),
        (&"a data sheet".into(), &false.into())
    );
    assert_eq!(of("nand.planes")["profile"], "hp-ufs");
    // What stands in a file between is told with that file.
    folder.put("base.toml", "extends = \"hp-ufs\"\n[nand]\nplanes = 9\n");
    let wrong = Profile::load(&path, &[]).unwrap_err();
    assert!(wrong.profile.ends_with("base.toml") && wrong.problem == "nand.planes = 9: must be 1..=6", "{wrong}");
}

#[test]
fn circles_and_missing_parents_are_refused() {
    let folder = Folder::new("circle");
    folder.put("a.toml", "extends = \"b.toml\"\n");
    folder.put("b.toml", "extends = \"./c.toml\"\n");
    let path = folder.put("c.toml", "extends = \"../c-link/a.toml\"\n");
    let itself = folder.put("self.toml", "extends = \"self.toml\"\n");
    let told = Profile::load(&itself, &[]).unwrap_err().to_string();
    assert!(told.contains("extends = \"self.toml\": goes round: "), "{told}");
    let missing = Profile::load(&path, &[]).unwrap_err().to_string();
    assert!(
        missing.contains("c.toml: extends = \"../c-link/a.toml\": ") && missing.contains("cannot be read"),
        "{missing}"
    );
    let path = folder.put("c.toml", "extends = \"a.toml\"\n");
    let round = Profile::load(&path, &[]).unwrap_err().to_string();
    assert!(
        round.contains("b.toml: extends = \"./c.toml\": goes round: ") && round.matches(" -> ").count() == 3,
        "{round}"
    );
    let unknown = parse("extends = \"pixel\"").unwrap_err();
    assert!(
        unknown.starts_with("profile p.toml: extends = \"pixel\": no such profile: must be one of hp-ufs, "),
        "{unknown}"
    );
    // A text that stands in no file names no files.
    assert!(parse("extends = \"/etc/passwd\"").unwrap_err().contains("no such profile"));
    for wrong in ["extends = 7", "extends = \"\"", "extends = [\"hp-ufs\"]"] {
        let told = parse(wrong).unwrap_err();
        assert!(told.contains("must be the name of a profile or the path of a file"), "{told}");
    }
}

#[test]
fn a_file_with_nothing_in_it_says_so() {
    for text in ["", "\n# a comment\n", "\u{feff}"] {
        let told = parse(text).unwrap_err();
        assert!(
            told.starts_with("profile p.toml: there is nothing in it: a profile has extends = \"hp-ufs\""),
            "{told}"
        );
    }
    assert!(parse("[sources]\n").unwrap_err().contains("device.name is missing"));
    let misspelt = parse("extend = \"hp-ufs\"").unwrap_err();
    assert!(misspelt.contains("extend = \"hp-ufs\": unknown key, only extends may stand before"), "{misspelt}");
}

#[test]
fn a_mark_of_byte_order_is_no_text() {
    assert_eq!(parse(&format!("\u{feff}{SLOWER}")).unwrap().values, parse(SLOWER).unwrap().values);
}

#[test]
fn files_that_are_no_profiles_are_not_swallowed() {
    let folder = Folder::new("large");
    let path = folder.put("large.toml", &"#".repeat((16 << 20) + 1));
    let told = Profile::load(&path, &[]).unwrap_err().to_string();
    assert!(told.contains("large.toml: cannot be read: has more than 16777216 bytes"), "{told}");
    fs::write(&path, b"extends = \"\xff\"").unwrap();
    let told = Profile::load(&path, &[]).unwrap_err().to_string();
    assert!(told.ends_with("cannot be read: line 1: no text in UTF-8"), "{told}");
    #[cfg(unix)]
    assert!(Profile::load("/dev/zero", &[]).unwrap_err().to_string().contains("has more than"));
}

#[test]
fn one_file_says_the_same_as_all_of_them() {
    let folder = Folder::new("flat");
    let path = folder.put("slower.toml", SLOWER);
    let set = [parse_override("scheme.*.cache_kib=16").unwrap(), parse_override("nand.planes=2").unwrap()];
    for (name, set) in [("tiny", &set[..0]), ("hp-ufs-1tib", &set[..0]), (path.as_str(), &set[..])] {
        let told = Description::load(name, set).unwrap();
        let flat = Profile::parse("flat.toml", &told.to_toml(), &[]).unwrap();
        assert_eq!(flat.values, told.profile().values, "{name}");
    }
    let text = Description::load(&path, &set).unwrap().to_toml();
    assert!(text.contains("\"nand.planes\" = \"set for this run\"") && !text.contains("extends ="), "{text}");
}

#[test]
fn numbers_in_a_wrong_form_are_told_the_right_one() {
    for (value, told) in [
        ("\"50\"", "nand.tlc_read_us = \"50\": must be 1..=100000, an integer or a list of up to 4: write 50"),
        ("50.0", "nand.tlc_read_us = 50.0: must be 1..=100000, an integer or a list of up to 4: write 50"),
        ("50.5", "nand.tlc_read_us = 50.5: must be 1..=100000, an integer or a list of up to 4"),
    ] {
        let text = SLOWER.replace("90", value);
        assert_eq!(parse(&text).unwrap_err(), format!("profile p.toml: {told}"));
        let set = [parse_override(&format!("nand.tlc_read_us={value}")).unwrap()];
        let told = format!("profile hp-ufs: {told}");
        assert_eq!(Profile::load("hp-ufs", &set).unwrap_err().to_string(), told);
    }
}

#[test]
fn everything_that_is_wrong_is_said_at_once() {
    let told = |text: &str| Profile::parse("p.toml", text, &[]).unwrap_err().problem;
    let keys = told("extends = \"tiny\"\n[nand]\nplane = 1\ndice = 2\nplanes = 2\n[gcc]\nx = 1\n");
    assert!(
        keys.contains("unknown section [gcc]") && keys.contains("; nand.dice = 2: unknown key, plane as well"),
        "{keys}"
    );
    let values = told(
        "extends = \"tiny\"\n[nand]\nplanes = 99\ndies_per_channel = 0\n[sources]\n\"nand.planes\" = \"x\"\n\
         \"nand.dies_per_channel\" = \"x\"\n",
    );
    assert!(values.contains("nand.planes = 99: must be") && values.contains("nand.dies_per_channel = 0: "), "{values}");
}

#[test]
fn a_value_that_is_not_the_profiles_own_is_said_to_be_inherited() {
    let text = "extends = \"tiny\"\n[device]\ncapacity_mib = 512\n[sources]\n\"device.capacity_mib\" = \"x\"\n";
    let problem = Profile::parse("p.toml", text, &[]).unwrap_err().problem;
    assert!(problem.contains(" is inherited from tiny)"), "{problem}");
}
