//! A phone around simulated devices.

use std::ops::ControlFlow;
use std::path::PathBuf;

use android::report::{PhoneReport, Use};
use ufsim_lab::{LabError, Ran, RunResult, Spec, simulate, simulate_phone};

/// A scenario in a file of its own, which stays for the run.
fn scenario(name: &str, text: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("ufsim-{}-{name}.toml", std::process::id()));
    std::fs::write(&path, text).unwrap();
    path
}

/// Three small apps on little memory, so that the killer has work within seconds.
const SMALL: &str = include_str!("../../../samples/phone/small.toml");

fn run(path: &std::path::Path, scheme: &str, profile: &str) -> RunResult {
    let mut spec = Spec::new(scheme, path.to_str().unwrap());
    (spec.profile, spec.verify) = (profile.into(), true);
    simulate(&spec, &mut |_| ControlFlow::Continue(())).unwrap()
}

fn report(result: &RunResult) -> &PhoneReport {
    result.phone.as_ref().unwrap()
}

fn of<'a>(report: &'a PhoneReport, app: &'a str, cold: bool) -> impl Iterator<Item = &'a Use> {
    report.uses.iter().filter(move |u| u.app == app && u.cold == cold)
}

#[test]
fn a_launch_is_computing_and_waiting_whatever_the_scheme() {
    let path = scenario("launch", SMALL);
    for scheme in ["ufs", "foam", "hpbvalve", "ideal"] {
        let result = run(&path, scheme, "tiny");
        let report = report(&result);
        assert_eq!(report.uses.len(), 12, "{scheme}");
        for u in &report.uses {
            assert_eq!(u.launch_ns, u.compute_ns + u.blocked_ns + u.stalled_ns, "{scheme}: {u:?}");
            assert!(u.blocked_ns > 0 && u.duration_ns >= 3_000_000_000, "{scheme}: {u:?}");
            assert_eq!(u.loading_ns.is_some(), u.cold && u.app == "game", "{scheme}: {u:?}");
        }
        let killed = report.kills.iter().filter(|kill| !kill.spared).count();
        assert!(killed > 0, "{scheme}: 580 MiB of apps and 160 of services do not fit into 600");
        for sample in &report.timeline {
            let all =
                sample.system_bytes + sample.apps_bytes + sample.cache_bytes + sample.hpb_bytes + sample.free_bytes;
            assert_eq!(all, report.effective_bytes, "{scheme}");
        }
        let reads =
            |u: &Use| u.launch_reads.reads + u.loading_reads.reads + u.run_reads.reads + u.background_reads.reads;
        let logged: u64 = report.uses.iter().map(reads).sum();
        let all = result.latency_ns.read.unwrap().count;
        // Services read before the first launch, too.
        assert!(logged <= all && logged + 60 > all, "{scheme}: {logged} of {all}");
    }
    std::fs::remove_file(path).unwrap();
}

#[test]
fn where_mappings_come_from_is_told_by_read() {
    let path = scenario("outcome", SMALL);
    let sums = |scheme: &str| {
        let result = run(&path, scheme, "tiny");
        let all = report(&result).uses.iter().flat_map(|u| [u.launch_reads, u.loading_reads, u.run_reads]);
        all.fold((0, 0, 0), |sum, r| (sum.0 + r.host, sum.1 + r.sram, sum.2 + r.map))
    };
    let (host, _, map) = sums("ideal");
    assert_eq!((host, map), (0, 0));
    let (host, _, map) = sums("ufs");
    assert!(host == 0 && map > 0);
    assert!(sums("hpbvalve").0 > 0);
    std::fs::remove_file(path).unwrap();
}

#[test]
fn the_same_scenario_gives_the_same_bytes_and_the_log_changes_nothing() {
    let path = scenario("same", SMALL);
    let mut spec = Spec::new("hpbvalve", path.to_str().unwrap());
    (spec.profile, spec.verify) = ("tiny".into(), true);
    let go = |keep| simulate_phone(&spec, keep, &mut |_| ControlFlow::Continue(())).unwrap();
    let (Ran { result: one, reads: none, .. }, Ran { result: two, reads: log, .. }) = (go(false), go(true));
    assert_eq!((&one.digest, &one.phone), (&two.digest, &two.phone));
    assert!(none.is_none());
    let log = log.unwrap();
    assert_eq!(log.len() as u64, two.latency_ns.read.unwrap().count);
    let background = log.iter().filter(|read| read.phase == 3).count() as u64;
    assert_eq!(background, report(&two).background.iter().map(|r| r.reads).sum::<u64>());
    spec.seed = 2;
    let other = simulate_phone(&spec, false, &mut |_| ControlFlow::Continue(())).unwrap().result;
    assert_ne!(other.phone, two.phone);
    std::fs::remove_file(path).unwrap();
}

/// HPBvalve Table 1 on a device that has all mappings. The file's times count `io.nominal_read_us` for each read, 33
/// us: a read of a cold launch takes 18 us from the page register, where two of three find their page, and up to 70
/// without it. A warm launch picks single reads out of the list, which seldom find it. So the times of the table come
/// back to within 8 us for each read of a cold launch (3.5% of CR's, 2.7% of IG's) and 40 us for each of a warm one.
#[test]
fn table_1_comes_back_from_an_ideal_device() {
    let text = "[phone]\napps = [\"AP\", \"CR\", \"UB\", \"IG\"]\nsequence = [\"AP\", \"CR\", \"UB\", \"IG\"]\n\
                rounds = 2\nuse_s = 15\nservices = 0\n[io]\nfresh_share = 0\n";
    let path = scenario("table1", text);
    let mut spec = Spec::new("ideal", path.to_str().unwrap());
    spec.profile = "hpbvalve".into();
    // The device with a sixteenth of its pages, which takes less time to set up.
    spec.set.insert("device.capacity_mib".into(), 65_536.into());
    spec.set.insert("nand.pages_per_block".into(), 32.into());
    // No memory is short, so that nothing is killed and no file leaves the page cache.
    let result = simulate(&spec, &mut |_| ControlFlow::Continue(())).unwrap();
    let report = report(&result);
    assert!(report.kills.is_empty());
    for (app, cold_ms, cold_reads, warm_ms, warm_reads) in [
        ("AP", 2188.6, 2164, 352.6, 250),
        ("CR", 668.4, 2879, 239.0, 217),
        ("UB", 563.0, 60, 366.4, 28),
        ("IG", 1245.1, 4224, 482.3, 349),
    ] {
        for (cold, ms, reads) in [(true, cold_ms, cold_reads), (false, warm_ms, warm_reads)] {
            let u = of(report, app, cold).next().unwrap();
            let measured = u.launch_ns as f64 / 1e6;
            let tolerance_ms = reads as f64 * if cold { 0.008 } else { 0.040 };
            assert!((measured - ms).abs() < tolerance_ms + 1.0, "{app}: {measured} ms, in the table {ms}");
            assert_eq!(u.launch_reads.reads, reads, "{app}");
        }
        let [cold, warm] = [true, false].map(|cold| of(report, app, cold).next().unwrap().launch_ns);
        assert!(cold > warm);
    }
    std::fs::remove_file(path).unwrap();
}

/// A spec on profile `hpbvalve` with a device of 64 GiB, whose table takes 128 MiB of host memory.
fn on_hpbvalve(path: &std::path::Path, scheme: &str) -> Spec {
    let mut spec = Spec::new(scheme, path.to_str().unwrap());
    (spec.profile, spec.verify) = ("hpbvalve".into(), true);
    spec.set.insert("device.capacity_mib".into(), 65_536.into());
    spec.set.insert("nand.pages_per_block".into(), 32.into());
    spec
}

/// HPBvalve Sec. 5.3: HPB may grow to the whole table, also if that is more than the system has. A phone that has less
/// gives what it has, and apps and system keep theirs.
#[test]
fn the_whole_table_may_be_cached_as_far_as_the_phone_has_memory() {
    const MIB: u64 = 1 << 20;
    let small = SMALL.replace("system_mib = 300", "system_mib = 100");
    for (name, effective, fits) in [("whole", 900, true), ("part", 540, false)] {
        let path = scenario(name, &small.replace("effective_mib = 900", &format!("effective_mib = {effective}")));
        for (scheme, reserved) in [("foam", true), ("hpb-linux", true), ("foam", false), ("hpbvalve", false)] {
            let mut spec = on_hpbvalve(&path, scheme);
            spec.host_memory_mib = Some("unlimited".into());
            if reserved {
                spec.set.insert(format!("scheme.{scheme}.reserved_mib"), "all".into());
            }
            let result = simulate(&spec, &mut |_| ControlFlow::Continue(())).unwrap();
            let report = report(&result);
            let most = report.timeline.iter().map(|sample| sample.hpb_bytes).max().unwrap();
            let least_system = report.timeline.iter().map(|sample| sample.system_bytes).min().unwrap();
            if reserved {
                assert_eq!(report.timeline[0].hpb_bytes, 128 * MIB, "{scheme}: it is there at boot");
            }
            assert!(least_system > 98 * MIB, "{scheme}: the system keeps {least_system}");
            assert!(fits || !report.kills.is_empty(), "{scheme} with {most}");
            assert!(most > MIB / 2, "{scheme} takes {most}");
        }
        std::fs::remove_file(path).unwrap();
    }
}

/// HPBvalve Fig. 17: UFS+HPB takes memory as it caches, and frees what its timer drops, without regard to pressure.
#[test]
fn hpb_takes_memory_as_it_caches_and_frees_it_by_its_timer() {
    let path = scenario("timer", SMALL);
    for scheme in ["foam", "hpb-linux"] {
        let mut spec = on_hpbvalve(&path, scheme);
        spec.set.insert(format!("scheme.{scheme}.activation_thld"), 1.into());
        spec.set.insert(format!("scheme.{scheme}.read_timeout_expiries"), 2.into());
        let hpb = |spec: &Spec| {
            let result = simulate(spec, &mut |_| ControlFlow::Continue(())).unwrap();
            report(&result).timeline.iter().map(|sample| (sample.hpb_bytes, sample.pressure)).collect::<Vec<_>>()
        };
        let steps = |samples: &[(u64, f64)], up: bool| {
            let pair = |pair: &&[(u64, f64)]| if up { pair[1].0 > pair[0].0 } else { pair[1].0 < pair[0].0 };
            samples.windows(2).filter(pair).map(|pair| pair[1].1).collect::<Vec<f64>>()
        };
        assert!(hpb(&spec).iter().all(|&(bytes, _)| bytes == 2 << 20), "{scheme}: Linux's reserve does for it");
        spec.set.insert(format!("scheme.{scheme}.reserved_mib"), 0.into());
        let by_timer = hpb(&spec);
        assert!(steps(&by_timer, true).len() > 5 && steps(&by_timer, false).len() > 5, "{scheme}: {by_timer:?}");
        assert!(steps(&by_timer, true).iter().any(|&pressure| pressure > 0.0), "{scheme} grows under pressure, too");
        spec.set.insert(format!("scheme.{scheme}.read_timeout_expiries"), 1_000_000.into());
        // Linux also drops regions that are not read any more when it divides its counts.
        assert!(scheme != "foam" || steps(&hpb(&spec), false).is_empty(), "{scheme}: nothing else frees it");
        spec.set.insert(format!("scheme.{scheme}.reserved_mib"), "all".into());
        assert!(hpb(&spec).iter().all(|&(bytes, _)| bytes == 128 << 20), "{scheme}: from boot on");
    }
    std::fs::remove_file(path).unwrap();
}

#[test]
fn what_does_not_fit_is_told() {
    let config = |path: &PathBuf, scheme: &str| {
        let mut spec = Spec::new(scheme, path.to_str().unwrap());
        spec.profile = "hpbvalve".into();
        match simulate_phone(&spec, false, &mut |_| ControlFlow::Continue(())) {
            Err(LabError::Config(text)) => text,
            Err(other) => panic!("expected a configuration error, got {other:?}"),
            Ok(_) => panic!("it fits"),
        }
    };
    let path = scenario("wrong", "[sqlite]\n");
    assert!(config(&path, "ufs").contains("is no scenario of a phone: it must be TOML with a table [phone]"));
    let path = scenario("wrong", "[fone]\n");
    assert!(config(&path, "ufs").contains("is no workload: it must have a table [phone]"));
    let path = scenario("wrong", "[phone]\napps = [\n# [phone]\nx");
    assert!(config(&path, "ufs").contains("line 4: "), "{}", config(&path, "ufs"));
    let path = scenario("wrong", "[phone]\napps = [\"UB\"]\n[recorded]\ntrace = \"nowhere.csv\"\n");
    assert!(config(&path, "ufs").contains("line 3: recorded.use is missing"));
    std::fs::remove_file(path).unwrap();
}
