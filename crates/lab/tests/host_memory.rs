//! Host memory that changes while a workload runs: by a plan, and by the pressure of a phone.

use std::ops::ControlFlow;

use serde_json::Value;
use ufsim_lab::{LabError, RunResult, Spec, simulate};

fn run(spec: &Spec) -> Result<RunResult, LabError> {
    simulate(spec, &mut |_| ControlFlow::Continue(()))
}

/// Random reads of 1 GiB, whose table takes 1 MiB, or 2 MiB of sealed entries (boosters of HPB 2.0). There is no idle
/// time, so `hpb` reads groups on a miss.
fn reads(scheme: &str, memory: impl Into<Value>) -> RunResult {
    let mut spec = Spec::new(scheme, "rw=randread bs=4k size=1g io_size=96m iodepth=8");
    spec.host_memory_mib = Some(memory.into());
    for (key, value) in [("activation_thld", 1), ("timeout_polling_interval_ms", 1), ("inflight_map_req", 32)] {
        spec.set.insert(format!("scheme.*.{key}"), value.into());
    }
    if !matches!(scheme, "foam" | "hpb-linux") {
        spec.set.clear();
    }
    if scheme == "hpb" {
        let sealed = ("scheme.segment-log.hpb_entry", Value::from("sealed"));
        for (key, value) in [sealed, ("scheme.hpb.max_defer_us", 0.into()), ("scheme.hpb.eager", false.into())] {
            spec.set.insert(key.into(), value);
        }
    }
    run(&spec).unwrap_or_else(|error| panic!("{scheme}: {error}"))
}

#[test]
fn a_plan_takes_memory_away_and_gives_it_back() {
    for scheme in ["hp-ufs", "hpb", "hpb-linux", "foam"] {
        let misses = |result: &RunResult| result.counters.host["booster_misses"];
        let much = reads(scheme, 16);
        let little = reads(scheme, 1);
        let changed = reads(scheme, "16, 100ms=1");
        let back = reads(scheme, "16,100ms=1,110ms=16");
        assert!(misses(&much) < misses(&changed), "{scheme}");
        assert!(misses(&changed) < misses(&little), "{scheme}: it had much memory at first");
        // Linux fetches a subregion only once between two writes to it, so memory that comes back stays empty.
        let refills = scheme != "hpb-linux";
        assert!(misses(&much) < misses(&back), "{scheme}");
        assert_eq!(misses(&back) < misses(&changed), refills, "{scheme}");
        assert!(changed.host_dram.mappings <= 1 << 20, "{scheme}: {:?}", changed.host_dram);
        assert_eq!(changed.setup.host_memory_mib.as_deref(), Some("16, 100ms=1"));
        assert_eq!((much.setup.host_memory_mib, changed.setup.set["host.memory_mib"].as_str()), (None, "16"));
        assert!(changed.warnings.is_empty(), "{:?}", changed.warnings);
        assert_ne!(changed.digest, much.digest, "{scheme}");
    }
}

#[test]
fn a_plan_without_changes_to_come_is_told() {
    let result = reads("hp-ufs", "16,500min=1");
    assert_eq!(result.warnings, ["--host-memory (host_memory_mib): the run ended before the last change"]);
    assert_eq!(result.digest, reads("hp-ufs", 16).digest);
}

/// What has to be written back before it can be dropped takes commands, and flash operations that the run is charged.
#[test]
fn memory_with_changes_is_written_back_first() {
    let write = |memory: Value| {
        let mut spec = Spec::new("hp-ufs", "rw=randwrite bs=4k size=4g io_size=24m iodepth=8");
        (spec.precondition, spec.host_memory_mib, spec.verify) = ("none".into(), Some(memory), true);
        run(&spec).unwrap()
    };
    let (stays, shrinks) = (write(16.into()), write("16,10ms=1".into()));
    let writebacks = |result: &RunResult| result.counters.host["segment_writebacks_evict"];
    assert_eq!(writebacks(&stays), 0);
    assert!(writebacks(&shrinks) > 100, "{}", writebacks(&shrinks));
    assert!(shrinks.waf.map > stays.waf.map);
}

#[test]
fn a_limit_that_the_booster_can_not_work_with_is_refused() {
    let mut spec = Spec::new("hpb-linux", "rw=randread bs=4k size=64m");
    spec.host_memory_mib = Some("4,1s=1".into());
    spec.set.insert("scheme.segment-log.hpb_group_entries".into(), 65_536.into());
    spec.set.insert("scheme.segment-log.hpb_region_groups".into(), 4.into());
    let Err(LabError::Config(told)) = run(&spec) else { panic!("it was accepted") };
    assert!(told.contains("memory_limit_bytes = 1048576: must be 2097152 to"), "{told}");
}

/// A phone that is short of memory gets some back, from the boosters that are set to do so.
#[test]
fn a_phone_gets_memory_back() {
    let path = std::env::temp_dir().join(format!("ufsim-{}-pressure.toml", std::process::id()));
    std::fs::write(&path, include_str!("../../../samples/phone/small.toml")).unwrap();
    for (scheme, by_default) in [("hp-ufs", true), ("hpb", false), ("foam", false)] {
        let falls = |shrinks: Option<bool>| {
            let mut spec = Spec::new(scheme, path.to_str().unwrap());
            (spec.profile, spec.verify) = ("tiny".into(), true);
            let mut set = |key: &str, value: Value| spec.set.insert(format!("scheme.{scheme}.{key}"), value);
            if scheme == "foam" {
                set("reserved_mib", 0.into());
                set("activation_thld", 1.into());
            }
            if let Some(shrinks) = shrinks {
                set("shrinks", shrinks.into());
            }
            let result = run(&spec).unwrap();
            let timeline = result.phone.unwrap().timeline;
            let falls = timeline.windows(2).filter(|pair| pair[1].hpb_bytes < pair[0].hpb_bytes).count();
            (falls, result.digest)
        };
        assert!(falls(Some(true)).0 > falls(Some(false)).0, "{scheme}");
        assert_eq!(falls(None), falls(Some(by_default)), "{scheme}");
    }
    std::fs::remove_file(path).unwrap();
}
