//! A machine that ages and is not switched off: what its host knows stays, and several runs may begin with it.

use std::ops::ControlFlow;

use ufsim_lab::{LabError, LeftOn, RunResult, Spec, schemes, simulate};

const AGE: &str = "rw=randwrite bs=4k iodepth=8 size=120m io_size=40m";
const READS: &str = "rw=randread bs=4k iodepth=4 size=40m io_size=8m";

fn spec(scheme: &str) -> Spec {
    let (age, host_memory_mib) = (Some(AGE.into()), Some("unlimited".into()));
    Spec { profile: "tiny".into(), age, stay_on: true, host_memory_mib, verify: true, ..Spec::new(scheme, READS) }
}

fn run(spec: &Spec) -> RunResult {
    simulate(spec, &mut |_| ControlFlow::Continue(())).expect("a run")
}

fn left_on(aged: &Spec, run: &Spec) -> Result<RunResult, LabError> {
    LeftOn::age(aged, &mut |_| ControlFlow::Continue(()))?.simulate(run, &mut |_| ControlFlow::Continue(()))
}

fn comparable(mut result: RunResult) -> RunResult {
    result.wall_seconds = 0.0;
    result.requests_per_wall_second = 0.0;
    result.flash_ops_per_wall_second = 0.0;
    result
}

#[test]
fn a_run_on_a_machine_that_was_left_on_is_that_of_one_that_ages_first() {
    for preset in schemes() {
        let spec = spec(preset.name);
        let left = left_on(&spec, &spec).expect("a run");
        assert_eq!(comparable(run(&spec)), comparable(left.clone()), "{}", preset.name);
        assert!(left.setup.stay_on && left.setup.aged_with.is_empty() && left.setup.age.is_some(), "{:?}", left.setup);
        assert_eq!(left.completed, 2048, "{}: what aged it is not counted", preset.name);
    }
}

#[test]
fn memory_of_the_host_is_warm() {
    let fetched = |spec: &Spec| run(spec).counters.host["segment_reads"];
    let warm = Spec { precondition: "none".into(), ..spec("hp-ufs") };
    let cold = Spec { stay_on: false, ..warm.clone() };
    assert_eq!(fetched(&warm), 0, "it has seen every segment, and nothing is evicted");
    assert!(fetched(&cold) > 0);
}

#[test]
fn what_has_no_machine_that_is_on_is_refused() {
    let new = Spec { age: None, ..spec("ufs") };
    let from = Spec { from: Some("a.state".into()), ..new.clone() };
    for wrong in [new, from] {
        let error = simulate(&wrong, &mut |_| ControlFlow::Continue(())).expect_err("nothing has aged");
        assert!(
            matches!(&error, LabError::Option(text) if text.contains("--stay-on (stay_on) has no effect")),
            "{error:?}"
        );
    }
    let spec = spec("ufs");
    let other = Spec { seed: 2, ..spec.clone() };
    let error = left_on(&spec, &other).expect_err("another seed ages another machine");
    assert!(error.to_string().contains("another machine"), "{error}");
    let off = Spec { stay_on: false, ..spec };
    assert!(left_on(&off, &off).is_err());
}
