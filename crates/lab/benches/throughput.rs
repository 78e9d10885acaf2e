//! How fast the simulator is and how much memory it takes.
//!
//! `cargo bench -p ufsim-lab` runs every case, `cargo bench -p ufsim-lab -- NAME...` those whose names contain one of
//! the words; `--list` prints the names, `--case NAME` runs one in this process. Each case runs in a process of its
//! own, so that the peak of its memory is its own. Wall-clock rates leave preconditioning out.
//!
//! `make bench` repeats the cases and keeps what it measures as JSON, `python -m tools bench pairs` compares two builds
//! of this program. Both read the rows that are printed here.

use std::ops::ControlFlow;
use std::process::Command;

use ufsim_lab::{LogPart, Logging, Observe, RunResult, Spec, Workload, simulate_observed, simulate_workload};
use workload::fio::JobFile;

struct Case {
    name: &'static str,
    scheme: &'static str,
    profile: &'static str,
    precondition: &'static str,
    /// Host memory instead of the profile's.
    memory: Option<&'static str>,
    /// Options of one fio job, or a job file.
    job: &'static str,
    /// With a log of all requests. It is handed over and dropped, so that only noting it is measured.
    logged: bool,
}

const RANDOM_WRITE: &str = "rw=randwrite bs=4k iodepth=8 size=16g";
const RANDOM_READ: &str = "rw=randread bs=4k iodepth=8 size=16g";

/// Random writes over most of the device.
const AGEING: &str = "rw=randwrite bs=4k iodepth=16 size=100g";
/// GC with copies from everywhere: random writes over most of the device, which is full.
const GC_DEVICE: &str = "rw=randwrite bs=4k iodepth=16 size=106g io_size=30g";
/// GC as in HP-UFS Fig. 7: random writes in 16 GiB of a device that is full.
const GC_RANGE: &str = "
[fill]
; ufsim: warmup
rw=write
bs=512k
iodepth=8
size=90g
[age]
; ufsim: warmup
stonewall
filename=range
rw=randwrite
bs=4k
iodepth=8
size=16g
io_size=40g
[gc]
stonewall
filename=range
rw=randwrite
bs=4k
iodepth=8
size=16g
io_size=16g
";

const fn case(name: &'static str, scheme: &'static str, precondition: &'static str, job: &'static str) -> Case {
    Case { name, scheme, profile: "hp-ufs", precondition, memory: None, job, logged: false }
}

const fn logged(name: &'static str, scheme: &'static str, precondition: &'static str, job: &'static str) -> Case {
    Case { logged: true, ..case(name, scheme, precondition, job) }
}

const CASES: &[Case] = &[
    case("randwrite-16g-hp-ufs", "hp-ufs", "none", RANDOM_WRITE),
    case("randwrite-16g-ideal", "ideal", "none", RANDOM_WRITE),
    case("randwrite-16g-ufs", "ufs", "none", RANDOM_WRITE),
    case("randwrite-16g-hpb", "hpb", "none", RANDOM_WRITE),
    case("randwrite-16g-dftl", "dftl", "none", RANDOM_WRITE),
    case("randwrite-16g-cdftl", "cdftl", "none", RANDOM_WRITE),
    case("randwrite-16g-tpftl", "tpftl", "none", RANDOM_WRITE),
    case("randwrite-16g-sftl", "sftl", "none", RANDOM_WRITE),
    case("randread-16g-hp-ufs", "hp-ufs", "footprint", RANDOM_READ),
    case("randread-16g-ideal", "ideal", "footprint", RANDOM_READ),
    case("randread-16g-ufs", "ufs", "footprint", RANDOM_READ),
    case("randread-16g-hpb", "hpb", "footprint", RANDOM_READ),
    case("randread-16g-dftl", "dftl", "footprint", RANDOM_READ),
    case("randread-16g-cdftl", "cdftl", "footprint", RANDOM_READ),
    case("randread-16g-tpftl", "tpftl", "footprint", RANDOM_READ),
    case("randread-16g-sftl", "sftl", "footprint", RANDOM_READ),
    logged("logged-randwrite-hp-ufs", "hp-ufs", "none", RANDOM_WRITE),
    logged("logged-randread-hp-ufs", "hp-ufs", "footprint", RANDOM_READ),
    logged("logged-randread-ufs", "ufs", "footprint", RANDOM_READ),
    case("precondition-100g", "hp-ufs", "none", "rw=write bs=4k iodepth=16 size=100g"),
    case("ageing-100g-hp-ufs", "hp-ufs", "none", AGEING),
    case("ageing-100g-ideal", "ideal", "none", AGEING),
    Case { memory: Some("unlimited"), ..case("gc-device-hp-ufs", "hp-ufs", "touched", GC_DEVICE) },
    case("gc-device-ideal", "ideal", "touched", GC_DEVICE),
    case("gc-device-ufs", "ufs", "touched", GC_DEVICE),
    case("gc-device-dftl", "dftl", "touched", GC_DEVICE),
    case("gc-device-cdftl", "cdftl", "touched", GC_DEVICE),
    case("gc-device-tpftl", "tpftl", "touched", GC_DEVICE),
    case("gc-device-sftl", "sftl", "touched", GC_DEVICE),
    case("gc-range-hp-ufs", "hp-ufs", "none", GC_RANGE),
    case("gc-range-ideal", "ideal", "none", GC_RANGE),
    case("full-128g", "hp-ufs", "none", "rw=write bs=512k iodepth=8 size=128g"),
    Case { profile: "hp-ufs-1tib", ..case("full-1t", "hp-ufs", "none", "rw=write bs=512k iodepth=8 size=1024g") },
];

fn main() {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    if let [flag, name] = &words[..]
        && flag == "--case"
    {
        let case = CASES.iter().find(|c| c.name == name).expect("a case of this name");
        println!("{}", row(case, &run(case)));
        return;
    }
    if words == ["--list"] {
        CASES.iter().for_each(|case| println!("{}", case.name));
        return;
    }
    println!(
        "{:<22} {:>10} {:>13} {:>13} {:>8} {:>9} {:>9}",
        "case", "requests", "requests/s", "flash ops/s", "wall s", "simulated", "peak MiB"
    );
    let this = std::env::current_exe().expect("the path of this program");
    let mut failed = 0;
    for case in CASES.iter().filter(|c| words.is_empty() || words.iter().any(|w| c.name.contains(w))) {
        let status = Command::new(&this).args(["--case", case.name]).status().expect("a child process");
        failed += i32::from(!status.success());
    }
    std::process::exit(failed);
}

fn run(case: &Case) -> RunResult {
    let mut spec = Spec::new(case.scheme, case.name);
    (spec.profile, spec.precondition) = (case.profile.into(), case.precondition.into());
    let profile = spec.resolve().expect("a valid specification").profile;
    if let Some(memory) = case.memory {
        spec.set.insert("host.memory_mib".into(), memory.into());
    }
    if case.logged {
        spec.workload = case.job.into();
        let sink = Box::new(|_: LogPart| ControlFlow::Continue(()));
        let observe = Observe::logging(Logging::Parts(1 << 13, sink));
        let ran = simulate_observed(&spec, observe, &mut |_| ControlFlow::Continue(()));
        return ran.expect("a run without errors").result;
    }
    let text = match case.job.contains('[') {
        true => case.job.to_owned(),
        false => format!("[bench]\n{}\n", case.job.replace(' ', "\n")),
    };
    let jobs = JobFile::parse(&text, case.name).expect("a valid job");
    let source = jobs.bind(profile.capacity_units(), spec.seed).expect("a job that fits the device");
    let workload = Workload::generated(Box::new(source));
    simulate_workload(&spec, workload, &mut |_| ControlFlow::Continue(())).expect("a run without errors")
}

fn row(case: &Case, result: &RunResult) -> String {
    format!(
        "{:<22} {:>10} {:>13.0} {:>13.0} {:>8.2} {:>7.1} s {:>9}",
        case.name,
        result.submitted,
        result.requests_per_wall_second,
        result.flash_ops_per_wall_second,
        result.wall_seconds,
        result.sim_seconds,
        peak_mib().map_or("?".into(), |mib| mib.to_string()),
    )
}

/// Largest resident memory of this process so far; Linux only.
fn peak_mib() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    let kib: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kib / 1024)
}
