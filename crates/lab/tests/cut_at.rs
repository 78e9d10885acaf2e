//! A run that ends with a power cut: what is measured ends there, and the recovery is told.

use std::ops::ControlFlow;

use ufsim_lab::{LabError, RunResult, Spec, simulate};

fn run(spec: &Spec) -> Result<RunResult, LabError> {
    simulate(spec, &mut |_| ControlFlow::Continue(()))
}

fn spec(scheme: &str, cut_at: Option<&str>) -> Spec {
    let job = "rw=randwrite bs=4k size=64m iodepth=8 io_size=64m";
    Spec { profile: "tiny".into(), cut_at: cut_at.map(Into::into), ..Spec::new(scheme, job) }
}

#[test]
fn a_cut_ends_the_run_and_every_scheme_recovers() {
    for preset in ufsim_lab::schemes() {
        let whole = run(&spec(preset.name, None)).expect("nothing fails");
        let cut = run(&spec(preset.name, Some("20ms"))).expect("nothing fails");
        let told = cut.power_cut.as_ref().expect("the power was cut");
        assert_eq!((told.at_ns, told.outstanding), (20_000_000, 8), "{}", preset.name);
        assert!(cut.completed < whole.completed && cut.sim_seconds <= 0.02, "{}", preset.name);
        assert_eq!(told.parts_ns.values().sum::<u64>(), told.ready_ns, "{}: the parts add up", preset.name);
        assert!(told.ready_ns > 0 && told.flash["read"] > 0, "{}: {told:?}", preset.name);
        assert_eq!(run(&spec(preset.name, Some("20ms"))).expect("nothing fails").power_cut, cut.power_cut);
        assert_eq!(whole.power_cut, None);
    }
}

/// Recovery looks at the first page of each die that a metadata superblock has, and at no other.
#[test]
fn recovery_reads_as_many_first_pages_as_superblocks_have_dies() {
    let first_pages = |dies: u64| {
        let keys = [
            ("superblock.dies", dies),
            ("nand.pages_per_block", 4),
            ("nand.page_kib", 32),
            ("nand.channels", 8),
            ("nand.data_superblocks", 5600 / dies),
            ("nand.meta_superblocks", 320 / dies),
            ("sram.pool_kib", 4096),
            ("sram.reserve_kib", 2048),
        ];
        let mut spec = spec("ufs", Some("20ms"));
        spec.set = keys.map(|(key, number)| (key.to_owned(), number.into())).into();
        let told = run(&spec).expect("nothing fails").power_cut.expect("the power was cut");
        told.flash["read"]
    };
    let [one, all] = [1, 8].map(first_pages);
    assert!(one.abs_diff(all) < 160, "320 blocks begin with a page, but it takes {one} reads in place of {all}");
}

#[test]
fn a_run_that_ends_before_says_so() {
    let result = run(&spec("ufs", Some("10min"))).expect("nothing fails");
    assert_eq!(result.power_cut, None);
    assert!(result.warnings.contains(&"the power was not cut: the run ended before cut_at".to_owned()));
    assert_eq!(result.digest, run(&spec("ufs", None)).expect("nothing fails").digest);
}

#[test]
fn wrong_times_and_a_read_back_are_refused() {
    for (spec, told) in [
        (spec("ufs", Some("soon")), "cut_at = \"soon\": must be a time such as 2s, 150ms or 1min"),
        (Spec { verify: true, ..spec("ufs", Some("1s")) }, "verify (--verify) has no effect with cut_at"),
    ] {
        let error = run(&spec).expect_err("refused").to_string();
        assert!(error.contains(told), "{error}");
    }
}
