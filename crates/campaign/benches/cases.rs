//! Speed of the campaign: cases and power cuts per second of a processor's time, which other processes hardly
//! influence. Linux only.
//!
//! `cargo bench -p ufsim-campaign` goes through ten cases of each scheme; a number behind `--` is that of cases of each
//! scheme, and a name that of the only scheme.

use lab::schemes;
use ufsim_campaign::{Case, Report};

fn main() {
    let mut arguments: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with("--")).collect();
    let count = arguments.iter().position(|word| word.parse::<usize>().is_ok()).map(|at| arguments.remove(at));
    let count = count.and_then(|count| count.parse().ok()).unwrap_or(10);
    let chosen = |name: &str| arguments.is_empty() || arguments.iter().any(|word| word == name);
    let (mut all, mut seconds, mut cases) = (Report::default(), 0.0, 0);
    for preset in schemes().iter().filter(|preset| chosen(preset.name)) {
        let (mut report, start) = (Report::default(), processor_seconds());
        for case in Case::of_scheme(preset.name).take(count) {
            report.add(&case.run_as_it_is().unwrap_or_else(|failure| panic!("{}: {}", failure.case, failure.what)));
        }
        let took = processor_seconds() - start;
        print_row(preset.name, count, report.cuts, took);
        all.add(&report);
        (seconds, cases) = (seconds + took, cases + count);
    }
    print_row("all", cases, all.cuts, seconds);
}

/// Processor time of this process.
fn processor_seconds() -> f64 {
    let text = std::fs::read_to_string("/proc/self/schedstat").expect("a Linux kernel with schedstat");
    let field = text.split_whitespace().next().and_then(|field| field.parse::<u64>().ok());
    field.expect("the first field of schedstat is a time") as f64 / 1e9
}

fn print_row(name: &str, cases: usize, cuts: u32, seconds: f64) {
    let (cases_per_s, cuts_per_s) = (cases as f64 / seconds, f64::from(cuts) / seconds);
    println!("{name:<18} {cases_per_s:>8.1} cases/s {cuts_per_s:>9.1} power cuts/s");
}
