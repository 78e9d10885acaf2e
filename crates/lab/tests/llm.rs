//! A language model and a fragmentation loop as workloads: what a run reports of them.

use std::ops::ControlFlow;

use ufsim_lab::{LabError, RunResult, Spec, simulate};

fn run(workload: &str, change: impl FnOnce(Spec) -> Spec) -> Result<RunResult, LabError> {
    let spec = Spec { profile: "tiny".into(), verify: true, ..Spec::new("ufs", workload) };
    simulate(&change(spec), &mut |_| ControlFlow::Continue(()))
}

const MODEL: &str = "[llm]\nlayers = 4\nbundles = 1024\nother_mib = 4\ncompute_us = 500\ntokens = 5\n";

#[test]
fn a_model_reports_what_its_tokens_took() {
    let result = run(MODEL, |spec| spec).expect("a run");
    let llm = result.llm.expect("a model");
    assert_eq!((result.setup.replay.as_str(), llm.tokens, llm.load_bytes), ("llm", 5, 12 << 20));
    // 4 layers of 512 bundles of 4 KiB on flash, a quarter active: 512 units a token, within a tenth.
    assert!((llm.bytes_per_token / (512.0 * 4096.0) - 1.0).abs() < 0.1, "{llm:?}");
    assert_eq!(result.bytes["read"] as f64, llm.bytes_per_token * 5.0, "loading is not measured");
    // Computing takes 2 ms of a token; the rest is I/O.
    let token = &result.operations[0];
    assert_eq!((token.name.as_str(), token.latency_ns.count), ("token", 5));
    let seconds = 1.0 / llm.tokens_per_s;
    assert!(((1.0 - llm.io_share) * seconds / 2e-3 - 1.0).abs() < 1e-9, "{llm:?}");
    assert!(llm.io_share > 0.1 && llm.tokens_per_joule.is_none(), "{llm:?}");
    assert!((1.2..1.5).contains(&llm.mean_run), "{llm:?}");
}

#[test]
fn a_profile_with_power_states_tells_tokens_for_each_joule() {
    let told = run(MODEL, |spec| Spec { profile: "pixel4".into(), verify: false, ..spec }).expect("a run");
    let power = told.power.expect("power states");
    let tokens_per_joule = told.llm.and_then(|llm| llm.tokens_per_joule).expect("energy");
    assert!((tokens_per_joule * power.energy.total_uj / 5e6 - 1.0).abs() < 1e-9);
}

#[test]
fn another_seed_is_another_text_and_the_same_seed_the_same() {
    let digest = |seed| run(MODEL, |spec| Spec { seed, ..spec }).expect("a run").digest;
    assert_eq!(digest(1), digest(1));
    assert_ne!(digest(1), digest(2));
}

/// Whatever the layout and access, the tokens are decoded, and all data are right.
#[test]
fn models_are_read_in_every_way() {
    for lines in [
        "layout = \"aged\"\nvolume_mib = 96",
        "access = \"mapped\"\nthreads = 4",
        "bundled = false\nprefetch_layers = 2\nrun_hundredths = 310\nlongest_run = 100",
        "memory_percent = 100",
    ] {
        let result = run(&format!("{MODEL}{lines}"), |spec| Spec { scheme: "hp-ufs".into(), ..spec }).expect("a run");
        assert_eq!(result.llm.expect("a model").tokens, 5, "{lines}");
    }
}

#[test]
fn a_fragmentation_loop_reports_its_rounds() {
    let lines = "[fragmentation]\nfiles = 64\nlarge_mib = 4\nleast_free_segments = 16\nrounds = 12\n";
    let result = run(lines, |spec| spec).expect("a run");
    assert_eq!((result.setup.replay.as_str(), result.fragmentation.len()), ("fragmentation", 12));
    let last = result.fragmentation[11];
    assert_eq!((result.fragmentation[0].pieces, last.pieces >= 16), (1, true), "{:?}", result.fragmentation);
    assert!(result.fragmentation.iter().all(|round| round.write_mb_per_s > 1.0 && round.read_mb_per_s > 1.0));
    let names: Vec<&str> = result.operations.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(names, ["large write", "large read"]);
    assert!(!result.drawn.contains(&"workload".to_owned()), "{:?}", result.drawn);
}

#[test]
fn what_does_not_fit_is_an_error_in_one_line() {
    for (workload, told) in [
        ("[llm]\nlayer = 3\n", "options: llm.layer = 3: unknown key, must be one of "),
        ("[llm]\nother_mib = 200\n", "options: llm.layers = 32: the model has "),
        ("[fragmentation]\nfiles = 4\n", "options: fragmentation.rounds = 90: the files take "),
        ("[llm]\n[fragmentation]\n", "options: fragmentation: unknown table, must be [llm]"),
        ("nowhere/llm.toml", "nowhere/llm.toml: "),
    ] {
        let error = run(workload, |spec| spec).expect_err(workload).to_string();
        assert!(error.contains(told) && !error.contains('\n'), "{error}");
    }
    let error = run(MODEL, |spec| Spec { depth: Some(8), ..spec }).expect_err("no replay").to_string();
    assert!(error.contains("--depth (depth) has no effect on a language model"), "{error}");
}
