//! Aged states: the same device from a file as made anew, and clear errors for everything else.

use std::ops::ControlFlow;
use std::path::PathBuf;

use ufsim_lab::{Aged, LabError, RunResult, Spec, age, schemes, simulate};

const AGE: &str = "rw=randwrite bs=4k iodepth=8 size=120m io_size=400m";

fn folder(name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::create_dir_all(&folder).expect("a folder for the test's files");
    folder
}

fn job(folder: &std::path::Path) -> String {
    let path = folder.join("job.fio");
    std::fs::write(&path, "[j]\nrw=randrw\nbs=4k\niodepth=4\nsize=40m\nio_size=24m\n").expect("a job file");
    path.to_string_lossy().into_owned()
}

fn spec(scheme: &str, workload: &str) -> Spec {
    Spec { profile: "tiny".into(), age: Some(AGE.into()), ..Spec::new(scheme, workload) }
}

fn run(spec: &Spec) -> Result<RunResult, LabError> {
    simulate(spec, &mut |_| ControlFlow::Continue(()))
}

fn aged(spec: &Spec) -> (Aged, Vec<u8>) {
    let folder = folder("bytes");
    let path = folder.join(format!("{}.state", spec.scheme));
    let (aged, header) = age(spec, &mut |_| ControlFlow::Continue(())).expect("a device that ages");
    aged.save(&path, &header).expect("a file");
    (aged, std::fs::read(&path).expect("the file"))
}

fn comparable(mut result: RunResult) -> RunResult {
    result.wall_seconds = 0.0;
    result.requests_per_wall_second = 0.0;
    result.flash_ops_per_wall_second = 0.0;
    result
}

#[test]
fn a_run_on_a_file_gives_the_bytes_of_a_run_that_ages_first() {
    let folder = folder("equal");
    let workload = job(&folder);
    let whole = schemes().iter().map(|preset| (preset.name, 4));
    for (scheme, segment_kib) in whole.chain([("ufs", 1), ("hp-ufs", 1), ("hp-ufs", 2)]) {
        let mut anew = spec(scheme, &workload);
        anew.set.insert("scheme.*.segment_kib".into(), segment_kib.into());
        let path = folder.join(format!("{scheme}-{segment_kib}.state"));
        let (aged, header) = age(&anew, &mut |_| ControlFlow::Continue(())).expect("a device that ages");
        aged.save(&path, &header).expect("a file");
        let from = Spec { age: None, from: Some(path.to_string_lossy().into_owned()), ..anew.clone() };
        let (anew, from) = (run(&anew).expect("a run"), run(&from).expect("a run"));
        assert_eq!(comparable(anew.clone()), comparable(from), "{scheme} {segment_kib}");
        assert!(anew.counters.device["gc_victims"] > 0, "{scheme}: the state is not aged");
    }
}

#[test]
fn ageing_twice_gives_the_same_file() {
    for scheme in ["hpb", "hp-ufs"] {
        let (_, first) = aged(&spec(scheme, ""));
        let (_, second) = aged(&spec(scheme, ""));
        assert!(first == second, "{scheme}: two files differ");
    }
}

#[test]
fn an_aged_device_is_slower_than_a_new_one() {
    let folder = folder("slower");
    let path = folder.join("write.fio");
    std::fs::write(&path, "[j]\nrw=randwrite\nbs=4k\niodepth=4\nsize=40m\nio_size=24m\n").expect("a job file");
    let aged = spec("ufs", &path.to_string_lossy());
    let new = Spec { age: None, ..aged.clone() };
    let (aged, new) = (run(&aged).expect("a run"), run(&new).expect("a run"));
    assert!(aged.iops < new.iops, "{} against {}", aged.iops, new.iops);
    assert_eq!((new.setup.age, aged.setup.age.is_some()), (None, true));
}

#[test]
fn a_state_serves_profiles_that_differ_in_what_is_not_on_flash() {
    let folder = folder("sweep");
    let workload = job(&folder);
    let path = folder.join("ufs.state");
    std::fs::write(&path, aged(&spec("ufs", "")).1).expect("a file");
    let from = Spec { age: None, from: Some(path.to_string_lossy().into_owned()), ..spec("ufs", &workload) };
    let with = |key: &str, value: u32| Spec { set: [(key.to_owned(), value.into())].into(), ..from.clone() };
    let (slow, fast) = (with("nand.tlc_read_us", 500), with("nand.tlc_read_us", 10));
    assert!(run(&slow).expect("a run").iops < run(&fast).expect("a run").iops);
    let hpb = Spec { scheme: "hpb".into(), ..from.clone() };
    assert!(run(&hpb).is_ok(), "a booster above the same mapping scheme");
}

#[test]
fn wrong_files_and_wishes_are_told() {
    let folder = folder("wrong");
    let workload = job(&folder);
    let whole = aged(&spec("ufs", "")).1;
    let error = |name: &str, bytes: &[u8], change: &dyn Fn(&mut Spec)| {
        let path = folder.join(name);
        std::fs::write(&path, bytes).expect("a file");
        let mut from = Spec { age: None, from: Some(path.to_string_lossy().into_owned()), ..spec("ufs", &workload) };
        change(&mut from);
        match run(&from) {
            Err(LabError::Config(text)) => text,
            other => panic!("{name}: {other:?}"),
        }
    };
    let same = |_: &mut Spec| ();
    let mut flipped = whole.clone();
    let middle = flipped.len() / 2;
    flipped[middle] ^= 4;
    for (name, bytes, told) in [
        ("cut.state", &whole[..whole.len() - 100], "the file is damaged or was cut short"),
        ("flipped.state", &flipped[..], "the file is damaged or was cut short"),
        ("text.state", b"hello", "begins with \"hello\": must begin with \"ufsim aged state 1\""),
    ] {
        let text = error(name, bytes, &same);
        assert!(text.contains(told) && text.contains(name), "{text}");
    }
    let text = error("mapping.state", &whole, &|spec| spec.scheme = "hp-ufs".into());
    assert!(text.contains("mapping = \"segment-log\": the run needs \"hp-ufs\""), "{text}");
    let text = error("shape.state", &whole, &|spec| {
        spec.set.insert("nand.data_superblocks".into(), 300.into());
    });
    assert!(text.contains("nand.data_superblocks = ") && text.contains("the run's profile tiny has 300"), "{text}");
    let text = error("parts.state", &whole, &|spec| {
        spec.set.insert("scheme.*.segment_kib".into(), 1.into());
    });
    assert!(
        text.contains("scheme.segment-log.segment_kib = 4") && text.contains("the run's profile tiny has 1"),
        "{text}"
    );
    let text = error("both.state", &whole, &|spec| spec.age = Some(AGE.into()));
    assert!(text.contains("only one of them can be given"), "{text}");
    let other_version = String::from_utf8_lossy(&whole[..60]).into_owned();
    assert!(other_version.contains(ufsim_lab::VERSION), "{other_version}");
    let missing = Spec { age: None, from: Some("nowhere.state".into()), ..spec("ufs", &workload) };
    assert!(matches!(run(&missing), Err(LabError::Config(text)) if text.starts_with("nowhere.state: ")));
    let options = Spec { age: Some("rw=sideways size=1m".into()), ..spec("ufs", &workload) };
    let Err(LabError::Config(text)) = run(&options) else { panic!("{options:?} runs") };
    assert!(text.starts_with("age: options") && text.contains("sideways"), "{text}");
}
