//! Generated workloads: every scheme runs them, and the oracle finds what they wrote.

use std::ops::ControlFlow;

use ufsim_lab::trace::{TraceInfo, TraceSpec, convert_trace};
use ufsim_lab::{LabError, RunResult, Spec, schemes, simulate};

fn run(spec: &Spec) -> Result<RunResult, LabError> {
    simulate(spec, &mut |_| ControlFlow::Continue(()))
}

/// A file in the tests' directory.
fn file(name: &str, text: &str) -> String {
    let path = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&path, text).expect("a description");
    path.display().to_string()
}

/// A bundled workload on the paper's device, replayed as the paper's authors do.
fn bundled(name: &str, scheme: &str) -> Spec {
    let job = format!("{}/../../papers/hp-ufs/jobs/f9-{name}.toml", env!("CARGO_MANIFEST_DIR"));
    let closed = Some("closed".to_owned());
    Spec { replay: closed, depth: Some(8), per_cpu_streams: true, verify: true, ..Spec::new(scheme, &job) }
}

/// Everything that a description can say, small: it is folded onto the tiny device.
const EVERYTHING: &str = "
[generated]
seconds = 2
volume_mib = 1_024
[activity.files]
kib = 12_000
[activity.databases]
kib = 8_000
sync = true
commit_kib = 40
rewrite_percent = 60
hot_kib = 800
[activity.old]
does = \"read\"
kib = 16_000
request_kib = 64
segment_percent = 90
discard_kib = 2_000
";

/// Units of 4 KiB that the workload has written and not discarded.
fn kept(spec: &Spec) -> u64 {
    let info =
        TraceInfo::of(&TraceSpec { path: spec.workload.clone(), ..TraceSpec::default() }).expect("a description");
    info.stats.write_footprint_bytes / 4096
}

#[test]
fn every_scheme_runs_what_a_description_can_say() {
    let workload = file("everything.toml", EVERYTHING);
    for preset in schemes() {
        for replay in ["timed", "closed"] {
            let mut spec = Spec { fold: true, verify: true, ..Spec::new(preset.name, &workload) };
            (spec.profile, spec.replay) = ("tiny".into(), Some(replay.into()));
            let result = run(&spec).unwrap_or_else(|error| panic!("{} {replay}: {error}", preset.name));
            let verified = result.verified.expect("it was asked for");
            assert_eq!((result.failed, result.setup.replay.as_str()), (0, replay), "{}", preset.name);
            assert_eq!(verified.data_units, kept(&spec), "{} {replay}", preset.name);
            assert_eq!(verified.trimmed_units, 16_000 / 4, "{} {replay}", preset.name);
        }
    }
}

#[test]
fn every_scheme_of_the_paper_runs_the_bundled_workloads() {
    for name in
        ["clash-royale", "instagram", "maps", "youtube", "camera-video", "play-video", "app-install", "app-update"]
    {
        let completed: Vec<u64> = ["ufs", "hpb", "hp-ufs", "ideal"]
            .iter()
            .map(|scheme| {
                let spec = bundled(name, scheme);
                let result = run(&spec).unwrap_or_else(|error| panic!("{name} {scheme}: {error}"));
                assert!(result.verified.is_some_and(|verified| verified.data_units >= kept(&spec)), "{name} {scheme}");
                assert_eq!(result.failed, 0, "{name} {scheme}");
                result.completed
            })
            .collect();
        assert!(completed.iter().all(|count| *count == completed[0]), "{name}: {completed:?}");
    }
}

#[test]
fn every_scheme_runs_a_bundled_workload() {
    for preset in schemes() {
        let result = run(&bundled("youtube", preset.name)).unwrap_or_else(|error| panic!("{}: {error}", preset.name));
        assert_eq!(result.failed, 0, "{}", preset.name);
    }
}

#[test]
fn seed_and_times_make_the_run() {
    let spec = bundled("youtube", "hp-ufs");
    let of = |spec: &Spec| run(spec).expect("a run");
    assert_eq!(of(&spec).digest, of(&spec).digest);
    let other = of(&Spec { seed: 2, ..spec.clone() });
    assert_ne!(of(&spec).digest, other.digest);
    assert!(!other.warnings.iter().any(|warning| warning.contains("seed")), "{:?}", other.warnings);
    let timed = of(&Spec { replay: None, depth: None, per_cpu_streams: false, ..spec.clone() });
    assert_eq!((timed.setup.replay.as_str(), timed.sim_seconds.round()), ("timed", 300.0));
    let twice = of(&Spec { repeat: Some(2), ..spec.clone() });
    assert_eq!(twice.completed, 2 * of(&spec).completed);
}

fn told(result: Result<RunResult, LabError>) -> String {
    match result {
        Err(LabError::Config(text) | LabError::Option(text)) => text,
        other => panic!("expected an error in the input, got {other:?}"),
    }
}

#[test]
fn wrong_descriptions_and_options_are_one_error() {
    let wrong = file("wrong.toml", "[generated]\n[activity.a]\nkib = 5\n");
    assert!(told(run(&Spec::new("ufs", &wrong))).ends_with("activity.a.kib = 5: must be a multiple of 4"));
    let large = Spec { profile: "tiny".into(), ..bundled("youtube", "ufs") };
    let told_large = told(run(&large));
    let allowed = "generated.volume_mib = 51200: must be at most 128, the size of the device; or --fold puts";
    assert!(told_large.contains(allowed), "{told_large}");
    let cleaned = Spec { clean: vec!["gaps".into()], ..bundled("youtube", "ufs") };
    assert_eq!(told(run(&cleaned)), "--clean (clean) has no effect on a generated workload; it is for traces");
}

#[test]
fn what_is_in_a_description_can_be_told_and_written_as_a_trace() {
    let path = bundled("play-video", "ufs").workload;
    let spec = TraceSpec { path: path.clone(), ..TraceSpec::default() };
    let info = TraceInfo::of(&spec).expect("a description");
    assert_eq!(
        (info.format, info.report.read_bytes, info.report.write_bytes),
        ("generated", 1_782_000 << 10, 17_000 << 10)
    );
    assert_eq!(info.report.origin, [format!("generated from {path} under seed 1")]);
    let out = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("play-video.csv");
    let converted = convert_trace(&spec, &out, "csv").expect("a file");
    assert_eq!((converted.from, converted.requests), ("generated", info.report.requests));
    let again = TraceInfo::of(&TraceSpec { path: out.display().to_string(), ..TraceSpec::default() }).expect("a trace");
    assert_eq!(again.stats, info.stats);
    let error = TraceInfo::of(&TraceSpec { format: Some("csv".into()), ..spec }).expect_err("no format");
    assert!(
        error.to_string().ends_with("is generated: there is no format, device or cleaning rule to choose"),
        "{error}"
    );
}
