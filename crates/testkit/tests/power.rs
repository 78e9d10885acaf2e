//! Power cuts at any moment: everything durable is still there, nothing is torn, and no old version returns.

use campaign::{Case, Report, Rig, Rng};
use ftl::Sabotage;
use host::RequestOp;
use ufsim_testkit::small_profile;
use units::{Lpa, Nanos};

/// The sum of these cases.
fn cases(seeds: std::ops::Range<u64>) -> Report {
    let mut total = Report::default();
    for seed in seeds {
        let report =
            Case::new(seed).run(&|_| ()).unwrap_or_else(|failure| panic!("{}: {}", failure.case, failure.what));
        total.add(&report);
    }
    total
}

#[test]
fn every_scheme_keeps_its_promises_and_every_moment_is_met() {
    assert_eq!(cases(0..208).missed(), Vec::<&str>::new());
}

/// What is left of a failing case can be read, and its text repeats it.
#[test]
fn a_failing_case_shrinks_to_a_handful_of_requests() {
    for sabotage in [Sabotage::FlushAtOnce, Sabotage::FuaAtOnce, Sabotage::ForgetTrims] {
        let failures = (0..).filter_map(|seed| Case { sabotage: Some(sabotage), ..Case::new(seed) }.run(&|_| ()).err());
        for failure in failures.take(3) {
            let acts = failure.case.told();
            assert!(acts.len() <= 10, "{}: {acts:#?}", failure.case);
            let again: Case = failure.case.to_string().parse().expect("the text of a case");
            assert_eq!(again, failure.case);
            let told = again.run_as_it_is().expect_err("it fails again").what;
            assert_eq!(told, failure.what);
            assert!(
                Case { sabotage: None, ..again }.run_as_it_is().is_ok(),
                "the device is sound without its sabotage"
            );
        }
    }
}

/// No flush has covered the trim, so the trim may be lost. Then the data that it removed must return, because that had
/// been flushed, and no older version. So the record of superblocks for recovery must not omit one because of such a
/// trim.
#[test]
fn a_lost_trim_brings_back_what_it_took_away() {
    const WRITE: RequestOp = RequestOp::Write { fua: false };
    for preset in lab::schemes() {
        for opened in 0..6 {
            let mut rig = Rig::new(&small_profile(), preset.parts, Nanos::from_micros(5));
            let victims = |rig: &mut Rig, op| (0..8).for_each(|i| rig.submit(op, Lpa(64 * i), 4, 8));
            let others = |rig: &mut Rig, n: u32| (0..n).for_each(|i| rig.submit(WRITE, Lpa(2000 + 4 * i % 1000), 4, 8));
            victims(&mut rig, WRITE);
            others(&mut rig, 375);
            victims(&mut rig, WRITE);
            rig.submit(RequestOp::Flush, Lpa(0), 0, 8);
            rig.wait();
            victims(&mut rig, RequestOp::Unmap);
            // Opens superblocks, each with a new record.
            others(&mut rig, 10 * opened);
            rig.wait();
            rig.power_cut(&mut Rng::new(1), 0);
        }
    }
}
