//! SQLite as a workload: what a run reports of it.

use std::ops::ControlFlow;

use ufsim_lab::{LabError, RunResult, Spec, simulate};

fn run(name: &str, options: &str, scheme: &str) -> Result<RunResult, LabError> {
    let path = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&path, format!("[sqlite]\n{options}\n")).expect("a specification");
    let spec = Spec { profile: "tiny".into(), verify: true, ..Spec::new(scheme, &path.to_string_lossy()) };
    simulate(&spec, &mut |_| ControlFlow::Continue(()))
}

#[test]
fn operations_are_reported_with_their_latencies() {
    let result = run("report.toml", "transactions = 50\nfill_rows = 100\nvolume_mib = 16", "hp-ufs").expect("a run");
    let names: Vec<&str> = result.operations.iter().map(|o| o.name.as_str()).collect();
    assert_eq!(names, ["insert", "update", "delete", "select"]);
    assert_eq!(result.setup.replay, "sqlite");
    let insert = &result.operations[0];
    assert_eq!(insert.latency_ns.count, 50);
    // A transaction waits for some programs of 550 us, one after another, and for no more than a few dozen of them.
    assert!((500e3..20e6).contains(&insert.latency_ns.mean), "{insert:?}");
    assert!(insert.latency_ns.p50 <= insert.latency_ns.p999 && insert.latency_ns.p999 <= insert.latency_ns.max);
    let together = insert.latency_ns.mean * 50.0;
    // No think time, but the kernel's own writes between transactions are in nobody's latency.
    assert!((1.0..1.05).contains(&(insert.duration_ns as f64 / together)), "{insert:?}");
    assert!(insert.requests["flushes"] >= 50 && insert.requests["reads"] < 10, "{insert:?}");
}

#[test]
fn what_sqlite_cannot_do_is_an_error() {
    for (name, options, told) in [
        ("full.toml", "fill_rows = 20000\nvalue_bytes = 1000\nvolume_mib = 16", "database or disk is full"),
        ("large.toml", "volume_mib = 4096", "sqlite.volume_mib = 4096: must be 16..=128"),
        ("key.toml", "volume = 3", "sqlite.volume = 3: unknown key"),
    ] {
        match run(name, options, "ufs") {
            Err(LabError::Config(text)) => assert!(text.contains(told) && text.contains(name), "{text}"),
            other => panic!("{name}: {other:?}"),
        }
    }
}
