use super::*;
use crate::ProcessId;

fn parse(text: &str, options: &TraceOptions) -> Result<Trace, TraceError> {
    Trace::parse("t", vec![TraceFile::new("t", text.into())], options)
}

const HEADER: &str = "time_ns,op,device,sector,bytes,flags,latency_ns,process";

/// Lines of `time_ms op sector sectors process`.
fn trace(lines: &[(u64, &str, u64, u64, &str)], clean: &[CleanRule]) -> Trace {
    let line = |(ms, op, sector, sectors, process): &(u64, &str, u64, u64, &str)| {
        format!("{},{op},8:0,{sector},{},,,{process}\n", ms * 1_000_000, sectors * 512)
    };
    let text = format!("{HEADER}\n{}", lines.iter().map(line).collect::<String>());
    parse(&text, &TraceOptions { clean: clean.to_vec(), ..TraceOptions::default() }).unwrap()
}

#[test]
fn a_request_issued_twice_is_one() {
    let lines = [
        (0, "write", 8, 8, "app"),
        (4, "write", 8, 8, "kworker/1"),
        (8, "write", 8, 8, "kworker/1"),
        (13, "write", 8, 8, "kworker/1"),
        (14, "write", 8, 16, "kworker/1"),
        (15, "read", 8, 16, "kworker/1"),
        (16, "read", 8, 16, "app"),
    ];
    let cleaned = trace(&lines, &[CleanRule::Duplicates]);
    let times: Vec<_> = cleaned.requests.iter().map(|r| r.arrival.0 / 1_000_000).collect();
    assert_eq!(times, [0, 13, 14, 15, 16], "less than 5 ms apart, the same, and from a kworker");
    assert_eq!(cleaned.report.cleaned[0].count, 2);
    let warning = "clean duplicates: 2 requests that were issued twice (8192 bytes) removed";
    assert!(cleaned.report.warnings().contains(&warning.to_owned()));
    assert_eq!(trace(&lines, &[]).report.requests, 7);
}

#[test]
fn a_long_gap_is_cut() {
    let lines = [
        (0, "read", 0, 8, "a"),
        (1_000_000, "read", 8, 8, "a"),
        (2_000_001, "read", 8, 8, "a"),
        (2_000_011, "read", 8, 8, "a"),
    ];
    let cleaned = trace(&lines, &[CleanRule::Gaps]);
    let times: Vec<_> = cleaned.requests.iter().map(|r| r.arrival.0 / 1_000_000).collect();
    assert_eq!(times, [0, 1_000_000, 1_000_000, 1_000_010]);
    assert_eq!(cleaned.report.cleaned[0].to_string(), "clean gaps: 1 gaps of more than 1000 s cut, 1000.001 s in all");
    assert!(cleaned.report.hints.is_empty());
    let hint = "1 gaps of more than 1000 s, the longest of 1000 s: --clean gaps removes them";
    assert_eq!(trace(&lines, &[]).report.warnings(), [hint]);
}

#[test]
fn a_clock_that_steps_back_is_told_with_its_place() {
    let lines =
        [(9000, "read", 0, 8, "a"), (8100, "read", 8, 8, "a"), (50, "read", 8, 8, "a"), (60, "read", 8, 8, "a")];
    let hint = "t: line 4: the clock steps back by 8.050 s; if a second recording begins there, split the file: \
                requests are put in one order of time";
    assert!(trace(&lines, &[]).report.warnings().contains(&hint.to_owned()));
    // Less than a second is the disorder of several CPUs.
    assert!(trace(&lines[..2], &[]).report.hints.is_empty());
}

#[test]
fn packed_lengths_lose_their_header() {
    let cleaned =
        trace(&[(0, "write", 0, 65, "a"), (1, "write", 0, 8, "a"), (2, "write", 0, 3, "a")], &[CleanRule::Packed]);
    assert_eq!(cleaned.requests.iter().map(|r| r.bytes / 512).collect::<Vec<_>>(), [64, 8, 3]);
    assert_eq!(
        cleaned.report.cleaned[0].to_string(),
        "clean packed: 1 requests cut to a multiple of 8 sectors, by 512 bytes"
    );
    assert_eq!(cleaned.report.unaligned, 1, "counted after cleaning");
}

#[test]
fn pages_are_whole_and_need_no_read_of_their_rest() {
    let lines = [(0, "write", 7, 2, "a"), (1, "read", 9, 1, "a"), (2, "write", 8, 8, "a"), (3, "write", 17, 16, "a")];
    let cleaned = trace(&lines, &[CleanRule::Pages]);
    let places: Vec<_> = cleaned.requests.iter().map(|r| (r.sector, r.bytes / 512)).collect();
    assert_eq!(places, [(0, 16), (8, 8), (8, 8), (16, 24)]);
    assert_eq!(cleaned.report.cleaned[0].to_string(), "clean pages: 3 requests widened to whole pages, by 14848 bytes");
    assert_eq!((cleaned.report.unaligned, cleaned.report.merge_reads), (0, 0));
}

#[test]
fn records_out_of_order_are_put_in_order_and_counted() {
    let t = trace(&[(5, "read", 0, 8, "a"), (3, "read", 8, 8, "a"), (9, "read", 16, 8, "a")], &[]);
    assert_eq!(t.requests.iter().map(|r| r.sector).collect::<Vec<_>>(), [8, 0, 16]);
    assert_eq!(t.report.out_of_order, 1);
    assert_eq!(t.report.warnings(), ["1 events were earlier than the one before them: put in order"]);
    assert_eq!(t.requests[0].process, ProcessId(0));
}

#[test]
fn a_rate_that_no_device_has_names_the_unit_that_the_file_may_have() {
    // 1000 requests, one per millisecond, in ticks of 1 ns where the format has 100 ns ticks of the year 2007.
    let line = |i: u64| format!("{},usr,0,Read,4096,4096,10\n", 128_166_372_003_061_629 + i * 10_000_000_000_000);
    let slow: String = (0..1000).map(line).collect();
    let told = parse(&slow, &TraceOptions::default()).unwrap().report.implausible.unwrap();
    assert!(
        told.starts_with("the times imply 0.000 requests/s, which no device has: 1000 requests in 999000000"),
        "{told}"
    );
    let fast: String = (0..1000).map(|i| format!("{i} 0 {} 8 1\n", i * 8)).collect();
    let told = parse(&fast, &TraceOptions::default()).unwrap().report.implausible.unwrap();
    assert_eq!(
        told,
        "the times imply 1000000000.000 requests/s, which no device has: 1000 requests in 0.000000999 s with the 1 ns \
         of format mqsim; in units of 1 ms it would be 1000.000 requests/s"
    );
    let usual: String = (0..1000).map(|i| format!("{} 0 {} 8 1\n", i * 100_000, i * 8)).collect();
    assert_eq!(parse(&usual, &TraceOptions::default()).unwrap().report.implausible, None);
}

#[test]
fn requests_of_nothing_are_none() {
    let t = parse("0,8,0,r,0.0\n0,8,512,r,1.0\n", &TraceOptions::default()).unwrap();
    assert_eq!((t.requests.len(), t.report.ignored_queue_events), (1, 1));
    assert!(t.report.warnings().contains(&"1 queue events that are no block requests were ignored".to_owned()));
}

#[test]
fn stacked_devices_are_chosen() {
    let text = "proces,device,rw_flag,sector,size,timestamp\na-1,8388608,W,8,8,1.0\nb-2,8388609,R,16,8,2.0\n";
    let error = parse(text, &TraceOptions::default()).unwrap_err().to_string();
    assert_eq!(error, "t: requests of several devices (8:0, 8:1); choose one with `device`");
    let options = TraceOptions { device: Some("8:1".into()), ..TraceOptions::default() };
    let chosen = parse(text, &options).unwrap();
    assert_eq!((chosen.requests.len(), chosen.requests[0].sector), (1, 16));
    assert_eq!(chosen.report.other_device_events, 1);
}

#[test]
fn numbers_of_a_trace_follow_from_its_requests() {
    let lines = [
        (0, "read", 0, 8, "a"),
        (1000, "read", 8, 8, "a"),
        (1001, "write", 16, 16, "a"),
        (1002, "write", 100, 4, "a"),
        (3000, "read", 8, 8, "a"),
    ];
    let stats = trace(&lines, &[]).stats();
    assert_eq!((stats.write_ratio, stats.sequential_ratio), (0.4, 0.4));
    assert_eq!(stats.mean_bytes, 44.0 * 512.0 / 5.0);
    assert_eq!(
        (stats.footprint_bytes, stats.read_footprint_bytes, stats.write_footprint_bytes),
        (5 << 12, 3 << 12, 3 << 12)
    );
    assert_eq!((stats.read_lengths.p50, stats.write_lengths.p50, stats.write_lengths.max), (4096, 2048, 8192));
    assert_eq!(stats.peak_to_mean, 1.8, "3 in the second second, of 5 in 3 s");
    assert!((stats.requests_per_second - 4.0 / 3.0).abs() < 1e-12);
    let (gaps, mean) = ([1000.0, 1.0, 1.0, 1998.0], 750.0);
    let deviation = (gaps.iter().map(|g| (g - mean) * (g - mean)).sum::<f64>() / 4.0_f64).sqrt();
    assert!((stats.interarrival_variation - deviation / mean).abs() < 1e-9);
}

#[test]
fn whatever_stops_a_conversion_the_old_file_is_there_or_the_new_one() {
    let [old, new] = [8, 16].map(|sectors| trace(&[(0, "read", 0, sectors, "a"), (1, "write", 0, 8, "a")], &[]));
    let path = Path::new("/t.csv");
    let before = || {
        let disk = ::files::Simulated::new();
        old.write_to(&disk, Format::Csv, path).unwrap();
        disk
    };
    for format in Format::ALL.iter().copied().filter(|format| format.can_be_written()) {
        let convert =
            |disk: &dyn ::files::Files| new.write_to(disk, format, path).map(drop).map_err(|error| error.to_string());
        ::files::trial::Trial::of(&before, &convert).run().unwrap();
    }
    let disk = ::files::Simulated::new();
    disk.put(path, b"ufsim store v1\n\0 and more");
    let error = new.write_to(&disk, Format::Csv, path).unwrap_err().to_string();
    assert_eq!(error, "/t.csv: is no trace that could be written anew: not replaced");
}

#[test]
fn a_written_file_is_whole_or_not_there() {
    let directory = std::env::temp_dir().join(format!("ufsim-trace-write-{}", std::process::id()));
    std::fs::create_dir_all(&directory).unwrap();
    let t = trace(&[(0, "read", 0, 8, "a"), (1, "flush", 0, 0, "a"), (2, "trim", 0, 8, "a")], &[]);
    let path = directory.join("out.spc");
    let lost = t.write(Format::Spc, &path).unwrap();
    assert_eq!(
        lost,
        [
            "1 flushes left out",
            "1 trims left out",
            "1 requests without the name of their process",
            "1 devices known by number, not by name",
        ]
    );
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "0,0,4096,r,0.000000000\n");
    assert_eq!(std::fs::read_dir(&directory).unwrap().count(), 1, "no temporary file is left");
    let error = t.write(Format::Spc, &directory.join("none/out.spc")).unwrap_err().to_string();
    assert!(error.contains("none/out.spc: No such file"), "{error}");
    std::fs::remove_dir_all(&directory).unwrap();
}
