//! Aged states: the same device from a file as made anew, and clear errors for everything else.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use files::trial::Trial;
use files::{Files, Simulated};
use ufsim_lab::{LabError, RunResult, Spec, age, age_header, schemes, simulate};

const AGE: &str = "rw=randwrite bs=4k iodepth=8 size=120m io_size=70m";

fn folder(name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::create_dir_all(&folder).expect("a folder for the test's files");
    folder
}

fn job(folder: &Path) -> String {
    let path = folder.join("job.fio");
    std::fs::write(&path, "[j]\nrw=randrw\nbs=4k\niodepth=4\nsize=40m\nio_size=24m\n").expect("a job file");
    path.to_string_lossy().into_owned()
}

fn spec(scheme: &str, workload: &str) -> Spec {
    Spec { profile: "tiny".into(), age: Some(AGE.into()), verify: true, ..Spec::new(scheme, workload) }
}

fn run(spec: &Spec) -> Result<RunResult, LabError> {
    simulate(spec, &mut |_| ControlFlow::Continue(()))
}

fn aged(spec: &Spec) -> Vec<u8> {
    let aged = age(spec, &mut |_| ControlFlow::Continue(())).expect("a device that ages");
    let mut bytes = Vec::new();
    aged.write(&mut bytes).expect("memory takes everything");
    bytes
}

fn key(spec: &Spec) -> String {
    age_header(spec).expect("a state that can be made").key()
}

/// A run on the state that `maker` makes.
fn on_state_of(maker: &Spec, run: &Spec, path: &Path) -> Spec {
    let aged = age(maker, &mut |_| ControlFlow::Continue(())).expect("a device that ages");
    aged.save(path).expect("a file");
    Spec { age: None, from: Some(path.to_string_lossy().into_owned()), ..run.clone() }
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
        let from = on_state_of(&anew, &anew, &path);
        let (anew, from) = (run(&anew).expect("a run"), run(&from).expect("a run"));
        assert_eq!(comparable(anew.clone()), comparable(from), "{scheme} {segment_kib}");
        assert!(anew.counters.device["gc_victims"] > 0, "{scheme}: the state is not aged");
    }
}

#[test]
fn ageing_twice_gives_the_same_file() {
    for scheme in ["hpb", "hp-ufs"] {
        let (first, second) = (aged(&spec(scheme, "")), aged(&spec(scheme, "")));
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
    std::fs::write(&path, aged(&spec("ufs", ""))).expect("a file");
    let from = Spec { age: None, from: Some(path.to_string_lossy().into_owned()), ..spec("ufs", &workload) };
    let with = |key: &str, value: u32| Spec { set: [(key.to_owned(), value.into())].into(), ..from.clone() };
    let (slow, fast) = (with("nand.tlc_read_us", 500), with("nand.tlc_read_us", 10));
    assert!(run(&slow).expect("a run").iops < run(&fast).expect("a run").iops);
    let hpb = Spec { scheme: "hpb".into(), ..from.clone() };
    assert!(run(&hpb).is_ok(), "a booster above the same mapping scheme");
}

#[test]
fn a_state_is_shared_by_runs_that_differ_in_conditions() {
    let folder = folder("shared");
    let workload = job(&folder);
    let plain = spec("ufs", &workload);
    let path = folder.join("ufs.state");
    let slow = Spec { set: [("nand.tlc_program_us".to_owned(), 3000.into())].into(), ..plain.clone() };
    let free = Spec { set: [("what_if.free".to_owned(), "gc".into())].into(), ..plain.clone() };
    let memory = Spec { scheme: "hpb".into(), host_memory_mib: Some(3.into()), ..plain.clone() };
    let row = Spec { scheduler: Some("row".into()), ..plain.clone() };
    for (run_spec, then) in [
        (&plain, vec![]),
        (&slow, vec![("nand.tlc_program_us", "550")]),
        (&free, vec![("what_if.free", "\"nothing\"")]),
        (&memory, vec![("booster", "none"), ("host.memory_mib", "1")]),
        (&row, vec![("scheduler", "noop")]),
    ] {
        assert_eq!(key(run_spec), key(&plain));
        let anew = run(run_spec).expect("a run");
        let kept = run(&on_state_of(&plain, run_spec, &path)).expect("a run");
        assert_eq!(comparable(anew.clone()), comparable(kept), "{run_spec:?}");
        let told: Vec<(&str, &str)> = anew.setup.aged_with.iter().map(|(k, v)| (k.as_str(), v.as_str())).collect();
        assert_eq!(told, then);
    }
    assert!(run(&slow).expect("a run").iops < run(&plain).expect("a run").iops, "the run itself has the new time");
    for (name, value) in [("sram.pool_kib", 384), ("gc.units_per_step", 32), ("log.entries", 160)] {
        let other = Spec { set: [(name.to_owned(), value.into())].into(), ..plain.clone() };
        assert_ne!(key(&other), key(&plain), "{name}");
        assert!(run(&other).expect("a run").setup.aged_with.is_empty(), "it ages with the value, too");
    }
}

#[test]
fn wrong_files_and_wishes_are_told() {
    let folder = folder("wrong");
    let workload = job(&folder);
    let whole = aged(&spec("ufs", ""));
    let error = |name: &str, bytes: &[u8], change: &dyn Fn(&mut Spec)| {
        let path = folder.join(name);
        std::fs::write(&path, bytes).expect("a file");
        let mut from = Spec { age: None, from: Some(path.to_string_lossy().into_owned()), ..spec("ufs", &workload) };
        change(&mut from);
        match run(&from) {
            Err(LabError::State(text) | LabError::Config(text)) => text,
            other => panic!("{name}: {other:?}"),
        }
    };
    let same = |_: &mut Spec| ();
    let mut flipped = whole.clone();
    // In the checksum.
    *flipped.last_mut().expect("a file has bytes") ^= 4;
    for (name, bytes, told) in [
        ("cut.state", &whole[..whole.len() - 100], "the file is damaged or was cut short"),
        ("flipped.state", &flipped[..], "the file is damaged or was cut short"),
        ("text.state", b"hello", "begins with \"hello\": must begin with \"ufsim aged state 1\""),
    ] {
        let text = error(name, bytes, &same);
        assert!(text.contains(told) && text.contains(name), "{text}");
    }
    // Anywhere else, what is told may also be a length or a value that cannot be.
    for part in 1..8 {
        let mut damaged = whole.clone();
        damaged[whole.len() * part / 8] ^= 4;
        let text = error("damaged.state", &damaged, &same);
        assert!(text.contains("damaged.state"), "part {part}: {text}");
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
    assert!(matches!(run(&missing), Err(LabError::State(text)) if text.starts_with("nowhere.state: ")));
    let options = Spec { age: Some("rw=sideways size=1m".into()), ..spec("ufs", &workload) };
    let Err(LabError::Config(text)) = run(&options) else { panic!("{options:?} runs") };
    assert!(text.starts_with("age: options") && text.contains("sideways"), "{text}");
}

/// Kills, a full disk and one that fails, at each operation: the state before is there or the new one.
#[test]
fn a_state_is_never_half_written() {
    let state = |seed| {
        let age = Some("rw=randwrite bs=4k size=4m io_size=4m".into());
        let spec = Spec { age, seed, ..spec("ufs", "") };
        ufsim_lab::age(&spec, &mut |_| ControlFlow::Continue(())).expect("a device that ages")
    };
    let (old, new) = (state(1), state(2));
    let path = Path::new("/cache/x.state");
    let save = |disk: &dyn Files| new.save_to(disk, path).map_err(|error| error.to_string());
    let before = || {
        let disk = Simulated::new();
        disk.make_directory("/cache");
        old.save_to(&disk, path).expect("room");
        disk
    };
    let tried = Trial::of(&before, &save).run().unwrap();
    assert!(tried.changes >= 4 && tried.stopped > 1000, "{tried:?}");
    let foreign = Simulated::new();
    foreign.put("/store", b"ufsim store v1\n");
    let refused = new.save_to(&foreign, Path::new("/store")).unwrap_err();
    let told = "/store: is no aged state of ufsim: not replaced";
    assert!(matches!(&refused, LabError::Output(text) if text == told), "{refused}");
}
