//! Cases of the power-cut campaign for one scheme: `cargo run -p ufsim-campaign --example cases -- SCHEME COUNT`.

use std::process::ExitCode;

use ufsim_campaign::{CIRCUMSTANCES, Case, MOMENTS, Report};

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let (Some(scheme), Some(count)) = (arguments.next(), arguments.next().and_then(|count| count.parse().ok())) else {
        eprintln!("usage: cases SCHEME COUNT");
        return ExitCode::from(2);
    };
    let mut all = Report::default();
    let mut cases = 0;
    for case in Case::of_scheme(&scheme).take(count) {
        match case.run(&|_| ()) {
            Ok(report) => all.add(&report),
            Err(failure) => {
                eprintln!(
                    "{} of {}: {}\n{}",
                    failure.case,
                    failure.scheme,
                    failure.what,
                    failure.case.told().join("\n")
                );
                return ExitCode::FAILURE;
            }
        }
        cases += 1;
    }
    let counts = MOMENTS.iter().zip(all.moments).chain(CIRCUMSTANCES.iter().zip(all.circumstances));
    let moments: Vec<String> = counts.map(|(name, n)| format!("{name} {n}")).collect();
    println!("{scheme}: {cases} cases, {} power cuts ({})", all.cuts, moments.join(", "));
    match cases {
        0 => ExitCode::FAILURE,
        _ => ExitCode::SUCCESS,
    }
}
