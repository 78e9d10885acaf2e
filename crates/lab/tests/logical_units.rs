//! Logical units: parts of one device, of which workloads address what they name.

use std::ops::ControlFlow;

use serde_json::json;
use ufsim_lab::{LabError, RunResult, Spec, simulate};

fn run(spec: &Spec) -> Result<RunResult, LabError> {
    simulate(spec, &mut |_| ControlFlow::Continue(()))
}

fn told(spec: &Spec) -> String {
    run(spec).expect_err("it cannot be done").to_string()
}

/// A device of 128 MiB with units of 64, 32 and 32 MiB, each of whole HPB regions of 32 MiB.
fn three(scheme: &str, workload: &str) -> Spec {
    let mut spec =
        Spec { profile: "tiny".into(), precondition: "none".into(), verify: true, ..Spec::new(scheme, workload) };
    spec.set.insert("device.further_lus_mib".into(), json!("32,32"));
    spec
}

fn units_read_back(spec: &Spec) -> u64 {
    run(spec).expect("nothing fails").verified.expect("it was asked for").data_units
}

#[test]
fn jobs_on_several_disks_write_what_each_of_them_names() {
    let job = |name: &str, size: &str| format!("[{name}]\nfilename=/dev/{name}\nrw=randwrite\nbs=4k\nsize={size}\n");
    for scheme in ["ufs", "hp-ufs", "hpb", "ideal"] {
        let file = std::env::temp_dir().join(format!("ufsim-disks-{scheme}-{}.fio", std::process::id()));
        std::fs::write(&file, job("sda", "1m") + &job("sdb", "2m") + &job("sdc", "100%")).expect("a temporary file");
        let spec = three(scheme, &file.display().to_string());
        assert_eq!(units_read_back(&spec), (1 + 2 + 32) * 256, "{scheme}");
        std::fs::remove_file(file).expect("it is there");
    }
}

#[test]
fn what_names_no_disk_lies_on_the_first_unit_and_ends_with_it() {
    let whole = |text: &str| three("ufs", text);
    assert_eq!(units_read_back(&whole("rw=write bs=64k size=64m")), 64 * 256);
    assert!(told(&whole("rw=write bs=64k size=65m")).contains("bytes 0 to 68157440 of the device, which has 67108864"));
    let aged = Spec { age: Some("100% full".into()), ..whole("rw=read bs=4k size=64k") };
    assert_eq!(units_read_back(&aged), 64 * 256, "words of age are of the first unit");
    let aged = Spec { age: Some("filename=/dev/sdb rw=write size=100% bs=64k".into()), ..aged };
    assert_eq!(units_read_back(&aged), 32 * 256, "and a job ages what it names");
}

#[test]
fn no_hpb_region_lies_in_two_units() {
    let mut spec = three("hpb", "rw=read bs=4k size=64k");
    assert!(run(&spec).is_ok());
    spec.set.insert("device.further_lus_mib".into(), json!("32,28"));
    assert_eq!(
        told(&spec),
        "profile tiny: device.further_lus_mib = [32, 28]: must be sizes with which every unit begins at a multiple of \
         32 MiB, an HPB region of \"segment-log\"; unit 1 begins at 68 MiB"
    );
    spec.scheme = "ufs".into();
    assert!(run(&spec).is_ok(), "nobody has regions");
}
