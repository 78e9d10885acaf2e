use std::fs;
use std::io::Write;
use std::path::PathBuf;

use flate2::Compression;
use flate2::write::GzEncoder;
use proptest::prelude::*;
use units::{Nanos, SimTime};

use crate::{Format, ProcessId, StreamId, Trace, TraceError, TraceFile, TraceOptions, WorkOp};

const READ: u32 = 1;
const WRITE: u32 = 1 << 1;
const FLUSH: u32 = 1 << 2;
const SYNC: u32 = 1 << 3;
const QUEUE: u32 = 1 << 4;
const NOTIFY: u32 = 1 << 10;
const AHEAD: u32 = 1 << 11;
const META: u32 = 1 << 12;
const DISCARD: u32 = 1 << 13;
const FUA: u32 = 1 << 15;
const Q: u32 = 1;
const C: u32 = 8;
const DEVICE: u32 = 253 << 20 | 5;

/// One event before it is encoded.
#[derive(Clone, Debug)]
struct Record {
    time: u64,
    sequence: u32,
    sector: u64,
    bytes: u32,
    action: u32,
    pid: u32,
    device: u32,
    cpu: u32,
    payload: Vec<u8>,
}

fn event(time: u64, action: u32, category: u32, sector: u64, bytes: u32) -> Record {
    Record {
        time,
        sequence: 0,
        sector,
        bytes,
        action: action | category << 16,
        pid: 7,
        device: DEVICE,
        cpu: 0,
        payload: vec![],
    }
}

fn note(time: u64, pid: u32, name: &str) -> Record {
    Record { pid, payload: name.bytes().chain([0, b'x']).collect(), ..event(time, 0, NOTIFY, 0, 0) }
}

fn encode(records: &[Record], big_endian: bool) -> Vec<u8> {
    let mut out = Vec::new();
    let mut sequences = [0; 2];
    for r in records {
        let sequence = &mut sequences[r.cpu as usize];
        if r.action >> 16 & NOTIFY == 0 {
            *sequence += 1 + r.sequence;
        }
        let mut put = |bytes: &[u8]| {
            if big_endian { out.extend(bytes.iter().rev()) } else { out.extend(bytes) }
        };
        put(&0x6561_7407_u32.to_le_bytes());
        put(&sequence.to_le_bytes());
        put(&r.time.to_le_bytes());
        put(&r.sector.to_le_bytes());
        [r.bytes, r.action, r.pid, r.device, r.cpu].iter().for_each(|n| put(&n.to_le_bytes()));
        put(&0_u16.to_le_bytes());
        put(&(r.payload.len() as u16).to_le_bytes());
        out.extend(&r.payload);
    }
    out
}

/// The format is given, so that damaged files reach the reader.
fn options(device: Option<&str>) -> TraceOptions {
    TraceOptions { format: Some(Format::Blktrace), device: device.map(Into::into), clean: vec![] }
}

fn parse_files(files: Vec<Vec<u8>>, options: &TraceOptions) -> Result<Trace, TraceError> {
    let files = files.into_iter().enumerate();
    let files = files.map(|(n, bytes)| TraceFile::new(format!("t/trace.{n}"), bytes)).collect();
    Trace::parse("t", files, options)
}

fn parse_one(bytes: Vec<u8>) -> Result<Trace, TraceError> {
    parse_files(vec![bytes], &options(None))
}

fn sample() -> Vec<Record> {
    vec![
        note(100, 7, "reader"),
        event(110, Q, READ | AHEAD | QUEUE, 80, 4096),
        event(120, Q, WRITE | SYNC | META | QUEUE, 160, 8192),
        event(130, Q, WRITE | FLUSH | FUA | QUEUE, 240, 4096),
        event(140, Q, WRITE | FLUSH | QUEUE, u64::MAX, 0),
        event(150, Q, DISCARD | WRITE | QUEUE, 320, 65536),
        event(160, 7, WRITE, 160, 8192),
        event(170, C, READ, 80, 4096),
        event(190, C, WRITE | SYNC | META, 160, 8192),
    ]
}

#[test]
fn both_byte_orders_give_the_same_requests() {
    let little = parse_one(encode(&sample(), false)).unwrap();
    assert_eq!(little, parse_one(encode(&sample(), true)).unwrap());
    let ops: Vec<_> = little.requests.iter().map(|r| r.op).collect();
    assert_eq!(ops, [WorkOp::Read, WorkOp::Write, WorkOp::Write, WorkOp::Flush, WorkOp::Trim]);
    let [read, write, barrier, flush, _] = little.requests[..] else { panic!("five requests") };
    assert_eq!((read.arrival, read.sector, read.bytes, read.line), (SimTime(0), 80, 4096, 2));
    assert_eq!(write.arrival, SimTime(10));
    assert!(read.flags.readahead && !read.flags.sync);
    assert!(write.flags.sync && write.flags.meta && !write.flags.fua && !write.flags.preflush);
    assert!(barrier.flags.fua && barrier.flags.preflush);
    assert_eq!((flush.sector, flush.bytes, flush.flags.preflush), (0, 0, false));
    assert_eq!((read.phone_latency, write.phone_latency), (Some(Nanos(60)), Some(Nanos(70))));
    assert_eq!(little.processes[usize::from(read.process.0)], "reader");
}

#[test]
fn the_report_counts_everything() {
    let mut records = sample();
    records[3].sequence = 4;
    records.push(event(200, C, READ, 4000, 512));
    records.push(event(205, 0, NOTIFY, 0, 0));
    records.last_mut().unwrap().action = 1 | NOTIFY << 16;
    let trace = parse_one(encode(&records, false)).unwrap();
    let report = &trace.report;
    assert_eq!((report.files, report.events, report.queue_events, report.complete_events), (1, 11, 5, 3));
    assert_eq!((report.process_notes, report.other_notes, report.ignored_events), (1, 1, 1));
    assert_eq!((report.requests, report.reads, report.writes, report.flushes, report.trims), (5, 1, 2, 1, 1));
    assert_eq!((report.read_bytes, report.write_bytes, report.trim_bytes), (4096, 12288, 65536));
    assert_eq!((report.fua, report.preflushes, report.sequence_gaps), (1, 1, 4));
    assert_eq!((report.unmatched_requests, report.unmatched_completions), (3, 1));
    assert_eq!((report.duration, report.unaligned), (Nanos(40), 0));
    assert_eq!(trace.devices[0].name, "253:5");
}

#[test]
fn files_are_merged_by_time_and_ties_keep_the_order_of_files() {
    let first = encode(&[event(5, Q, READ, 8, 4096), event(9, Q, READ, 16, 4096)], false);
    let second = encode(&[event(3, Q, READ, 24, 4096), event(9, Q, READ, 32, 4096)], false);
    let trace = parse_files(vec![first, second], &options(None)).unwrap();
    let order: Vec<_> = trace.requests.iter().map(|r| (r.arrival.0, r.sector, r.stream, r.line)).collect();
    let (a, b) = (StreamId(0), StreamId(1));
    assert_eq!(order, [(0, 24, b, 1), (2, 8, a, 1), (6, 16, a, 2), (6, 32, b, 2)]);
}

#[test]
fn a_merged_completion_answers_every_request_inside_it() {
    let records = [
        event(1, Q, WRITE, 0, 4096),
        event(2, Q, WRITE, 8, 4096),
        event(3, Q, WRITE, 8, 4096),
        event(4, Q, WRITE, 16, 4096),
        event(10, C, WRITE, 8, 4096),
        event(20, C, WRITE, 0, 12288),
        event(30, C, WRITE, 0, 12288),
    ];
    let trace = parse_one(encode(&records, false)).unwrap();
    let latencies: Vec<_> = trace.requests.iter().map(|r| r.phone_latency.map(|l| l.0)).collect();
    assert_eq!(latencies, [Some(19), Some(8), Some(17), Some(16)]);
    assert_eq!(trace.report.unmatched_completions, 1);
}

#[test]
fn process_names_are_learnt_and_shared() {
    let pid = |pid, mut r: Record| {
        r.pid = pid;
        r
    };
    let records = [
        pid(1, event(1, Q, READ, 0, 4096)),
        note(2, 2, "a"),
        note(3, 3, "a"),
        pid(2, event(4, Q, READ, 0, 4096)),
        pid(3, event(5, Q, READ, 0, 4096)),
        note(6, 1, "b"),
        pid(1, event(7, Q, READ, 0, 4096)),
    ];
    let trace = parse_one(encode(&records, false)).unwrap();
    assert_eq!(trace.processes, ["pid 1", "a", "b"]);
    let ids: Vec<_> = trace.requests.iter().map(|r| r.process).collect();
    assert_eq!(ids, [0, 1, 1, 2].map(ProcessId));
}

#[test]
fn of_several_devices_one_is_chosen() {
    let mut other = event(2, Q, READ, 8, 4096);
    other.device = 8 << 20 | 1;
    let bytes = encode(&[event(1, Q, READ, 0, 4096), other], false);
    let choose = |device| parse_files(vec![bytes.clone()], &options(device));
    assert_eq!(
        choose(None).unwrap_err().to_string(),
        "t: requests of several devices (8:1, 253:5); choose one with `device`"
    );
    assert_eq!(
        choose(Some("1:2")).unwrap_err().to_string(),
        "t: no requests of device 1:2; the trace has requests of: 8:1, 253:5"
    );
    let trace = choose(Some("8:1")).unwrap();
    assert_eq!((trace.requests.len(), trace.requests[0].sector), (1, 8));
    assert_eq!(trace.report.other_device_events, 1);
}

fn message(bytes: Vec<u8>) -> String {
    parse_one(bytes).unwrap_err().to_string()
}

#[test]
fn damaged_files_are_named_with_the_offset() {
    let good = encode(&sample(), false);
    let first = 48 + 8;
    assert_eq!(
        message(good[..first + 20].to_vec()),
        "t: no requests among 1 events; cut off at t/trace.0: event 2; format blktrace needs queue events (Q) or issue \
         events (D)"
    );
    assert_eq!(
        message(good[..50].to_vec()),
        "t/trace.0: event 1 at byte offset 0 is cut off: it needs 56 bytes, the file has 50"
    );
    let mut bad = good.clone();
    bad[first + 3] = 0;
    assert_eq!(
        message(bad),
        "t/trace.0: event 2 at byte offset 56 begins with 0x00617407, not with the blktrace magic 0x65617407"
    );
    let mut new = good.clone();
    new[first] = 8;
    assert_eq!(message(new), "t/trace.0: event 2 at byte offset 56 has blktrace version 8; allowed is 7");
    assert!(message(b"time_ns,device,lba\n".to_vec()).contains("begins with 0x656d6974"));
    let none = |events: u8| {
        format!("t: no requests among {events} events; format blktrace needs queue events (Q) or issue events (D)")
    };
    assert_eq!(message(Vec::new()), none(0));
    assert_eq!(message(encode(&[note(1, 1, "x")], false)), none(1));
    let far = encode(&[event(1, Q, READ, 1 << 40, 512)], false);
    assert_eq!(
        message(far),
        "t/trace.0: event 1: sector 1099511627776 with 512 bytes ends beyond 16 TiB, the most that is modelled"
    );
}

#[test]
fn a_recording_of_issue_events_alone_has_requests() {
    let issue = |time, sector| event(time, 7, READ, sector, 4096);
    let trace = parse_one(encode(&[issue(1, 8), issue(5, 16), event(9, C, READ, 8, 4096)], false)).unwrap();
    assert_eq!(trace.requests.iter().map(|r| r.sector).collect::<Vec<_>>(), [8, 16]);
    assert_eq!(trace.requests[0].phone_latency, Some(Nanos(8)));
    assert_eq!(trace.report.recorded, crate::trace::Recorded::Below);
    let both = parse_one(encode(&[event(1, Q, READ, 8, 4096), issue(5, 8)], false)).unwrap();
    assert_eq!((both.requests.len(), both.report.ignored_events), (1, 1), "a queue event tells more");
}

#[test]
fn the_events_of_several_cpus_in_one_file_are_numbered_by_cpu() {
    let of = |cpu, missing, time| Record { cpu, sequence: missing, ..event(time, Q, READ, 8 * time, 4096) };
    let gaps = |events: &[Record]| parse_one(encode(events, false)).unwrap().report.sequence_gaps;
    assert_eq!(gaps(&[of(0, 0, 1), of(1, 900, 2), of(0, 0, 3), of(1, 0, 4)]), 0);
    assert_eq!(gaps(&[of(0, 0, 1), of(1, 900, 2), of(0, 2, 3)]), 2);
}

#[test]
fn a_file_that_ends_within_an_event_gives_those_before_it() {
    let whole = encode(&[event(1, Q, READ, 8, 4096), event(2, Q, READ, 16, 4096)], false);
    for end in 49..96 {
        let trace = parse_one(whole[..end].to_vec()).unwrap();
        assert_eq!(trace.requests.len(), 1);
        let told = "t/trace.0: event 2: the file ends within it: cut off, what stands before it is read";
        assert!(trace.report.warnings().contains(&told.to_owned()), "{:?}", trace.report.warnings());
    }
}

#[test]
fn a_time_that_no_clock_counts_up_to_is_named() {
    let read = |time| event(time, Q, READ, 8, 4096);
    let most = 1 << 62;
    assert_eq!(parse_one(encode(&[read(5), read(5 + most)], false)).unwrap().duration(), Nanos(most));
    assert_eq!(
        message(encode(&[read(5), read(9), read(6 + most)], false)),
        "t/trace.0: event 3: its time is 4611686018427387905 ns after the first request; allowed are at most \
         4611686018427387904 ns"
    );
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn gzip_files_are_unpacked_and_damaged_ones_named() {
    let plain = encode(&sample(), false);
    let packed = gzip(&plain);
    assert_eq!(parse_one(packed.clone()).unwrap(), parse_one(plain).unwrap());
    let mut damaged = packed;
    damaged[12] ^= 0xff;
    assert!(message(damaged).starts_with("t/trace.0: damaged gzip data: "));
}

/// A directory of its own that is removed at the end.
struct Directory(PathBuf);

impl Directory {
    fn new(name: &str) -> Directory {
        let path = std::env::temp_dir().join(format!("ufsim-blktrace-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Directory(path)
    }
    fn put(&self, name: &str, bytes: &[u8]) {
        fs::write(self.0.join(name), bytes).unwrap();
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn a_directory_is_read_in_the_order_of_its_cpus() {
    let directory = Directory::new("order");
    let at = |sector| encode(&[event(9, Q, READ, sector, 4096)], false);
    directory.put("trace.10", &at(80));
    directory.put("trace.2", &at(16));
    directory.put("sda.blktrace.0.gz", &gzip(&at(0)));
    directory.put("README", b"no trace");
    directory.put("trace.txt", b"no trace");
    let options = options(None);
    let trace = Trace::read(&directory.0, &options).unwrap();
    assert_eq!(trace.requests.iter().map(|r| r.sector).collect::<Vec<_>>(), [0, 16, 80]);
    assert!(trace.files[0].ends_with("sda.blktrace.0.gz"), "{:?}", trace.files);
    assert_eq!(Trace::read(&directory.0.join("trace.2"), &options).unwrap().requests.len(), 1);
    directory.put("trace.2.gz", &gzip(&at(16)));
    let error = Trace::read(&directory.0, &options).unwrap_err().to_string();
    assert!(error.contains("trace.2: is there a second time in compressed form"), "{error}");
}

#[test]
fn a_file_that_is_missing_between_others_is_told() {
    let directory = Directory::new("gap");
    let at = |sector| encode(&[event(9, Q, READ, sector, 4096)], false);
    let warnings = || Trace::read(&directory.0, &options(None)).unwrap().report.warnings();
    directory.put("sda.blktrace.0", &at(0));
    directory.put("sda.blktrace.1.gz", &gzip(&at(8)));
    assert_eq!(warnings(), [""; 0]);
    directory.put("sda.blktrace.4", &at(16));
    directory.put("sdb.blktrace.0", &at(24));
    assert_eq!(
        warnings(),
        ["files of CPUs are missing (sda.blktrace.2, sda.blktrace.3): what these CPUs did is not in the trace"]
    );
    directory.put("sdb.blktrace.60", &at(24));
    let told = warnings().remove(0);
    assert!(told.contains("sdb.blktrace.6, and more): "), "{told}");
    // One file by itself is what was asked for.
    let one = Trace::read(&directory.0.join("sda.blktrace.4"), &options(None)).unwrap();
    assert_eq!(one.report.warnings(), [""; 0]);
}

#[test]
fn missing_things_are_named() {
    let directory = Directory::new("missing");
    let options = options(None);
    let error = Trace::read(&directory.0, &options).unwrap_err().to_string();
    assert!(error.contains("no trace files; expected names like trace.0 or sda.blktrace.0"), "{error}");
    let error = Trace::read(&directory.0.join("none"), &options).unwrap_err().to_string();
    assert!(error.contains("none: "), "{error}");
}

proptest! {
    #[test]
    fn arbitrary_bytes_do_not_panic(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        let _ = parse_one(bytes);
    }

    #[test]
    fn mutated_traces_do_not_panic(
        big_endian: bool,
        changes in prop::collection::vec((0_usize..440, any::<u8>()), 0..12),
        end in 0_usize..500,
        packed: bool,
    ) {
        let mut bytes = encode(&sample(), big_endian);
        if packed {
            bytes = gzip(&bytes);
        }
        let length = bytes.len();
        changes.iter().for_each(|&(at, value)| bytes[at % length] = value);
        bytes.truncate(end.max(1));
        if let Ok(trace) = parse_one(bytes) {
            // What was accepted is usable.
            prop_assert!(trace.touched_footprint().units() <= 1 << 32);
            prop_assert!(trace.requests.windows(2).all(|w| w[0].arrival <= w[1].arrival));
            let _ = trace.check_capacity(1000);
        }
    }
}
