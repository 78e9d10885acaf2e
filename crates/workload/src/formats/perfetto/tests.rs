use super::*;
use crate::{Format, Session, Trace, TraceOptions, WorkOp};

/// A message of fields.
#[derive(Clone, Default)]
struct Build(Vec<u8>);

impl Build {
    fn varint(mut self, mut value: u64) -> Build {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
        self
    }

    fn number(self, field: u64, value: u64) -> Build {
        self.varint(field << 3).varint(value)
    }

    fn text(self, field: u64, value: impl AsRef<[u8]>) -> Build {
        let mut built = self.varint(field << 3 | 2).varint(value.as_ref().len() as u64);
        built.0.extend_from_slice(value.as_ref());
        built
    }

    fn message(self, field: u64, value: Build) -> Build {
        self.text(field, value.0)
    }
}

fn new() -> Build {
    Build::default()
}

/// A packet of ftrace events: nanoseconds, thread, field and body.
fn bundle(events: &[(u64, u64, u64, Build)]) -> Build {
    let event = |(time, thread, field, body): &(u64, u64, u64, Build)| {
        new().number(1, *time).number(2, *thread).message(*field, body.clone())
    };
    let bundle = events.iter().fold(new().number(1, 0), |bundle, e| bundle.message(2, event(e)));
    new().message(1, bundle)
}

fn file(packets: &[Build]) -> Vec<u8> {
    packets.iter().fold(new(), |trace, packet| trace.message(1, packet.clone())).0
}

fn zlib(bytes: &[u8]) -> Vec<u8> {
    let mut packed = Vec::new();
    let mut encoder = flate2::read::ZlibEncoder::new(bytes, flate2::Compression::fast());
    std::io::Read::read_to_end(&mut encoder, &mut packed).unwrap();
    packed
}

fn parse(bytes: Vec<u8>) -> Result<Trace, TraceError> {
    let options = TraceOptions { format: Some(Format::Perfetto), ..TraceOptions::default() };
    Trace::parse("t", vec![TraceFile::new("t", bytes)], &options)
}

/// The device 259:5 as user space numbers it.
const DEV: u64 = 259 << 8 | 5;

fn issue(sector: u64, rwbs: &str) -> Build {
    new().number(1, DEV).number(2, sector).number(3, 8).number(4, 4096).text(5, rwbs).text(6, "comm")
}

fn complete(sector: u64, rwbs: &str) -> Build {
    new().number(1, DEV).number(2, sector).number(3, 8).number(4, 0).text(5, rwbs)
}

#[test]
fn bundles_are_put_in_order_of_time_and_packets_unpacked() {
    let (first, second) = (
        bundle(&[(5000, 7, 125, complete(80, "R")), (6000, 7, 45, issue(8, "WFS"))]),
        bundle(&[(1000, 7, 45, issue(80, "R"))]),
    );
    let plain = file(&[first.clone(), second.clone()]);
    let packed = file(&[first, new().text(50, zlib(&file(&[second])))]);
    assert_eq!(Format::recognise(&plain), Some(Format::Perfetto));
    assert_eq!(Format::recognise(&packed), Some(Format::Perfetto));
    let trace = parse(plain).unwrap();
    assert_eq!(trace, parse(packed).unwrap());
    let of: Vec<_> =
        trace.requests.iter().map(|r| (r.op, r.sector, r.arrival.0, r.phone_latency.map(|l| l.0))).collect();
    assert_eq!(of, [(WorkOp::Read, 80, 0, Some(4000)), (WorkOp::Write, 8, 5000, None)]);
    assert!(trace.requests[1].flags.fua && trace.requests[1].flags.sync);
    assert_eq!((trace.devices[0].name.as_str(), trace.processes[0].as_str()), ("259:5", "comm"));
}

#[test]
fn events_that_perfetto_does_not_know_are_read_by_their_names() {
    let field = |name: &str, value: Build| Build([new().text(1, name).0, value.0].concat());
    let text = |value: &str| new().text(3, value);
    let number = |value: u64| new().number(5, value);
    let block = [
        ("dev", number(DEV)),
        ("sector", number(80)),
        ("nr_sector", number(8)),
        ("rwbs", text("R")),
        ("comm", text("me")),
    ];
    let ufs = |stage: u64| {
        [
            ("dev_name", text("host")),
            ("str_t", number(stage)),
            ("tag", number(3)),
            ("lba", number(11)),
            ("transfer_len", new().number(4, 4096)),
            ("opcode", number(0x2a)),
        ]
    };
    let generic = |name: &str, fields: &[(&str, Build)]| {
        fields.iter().fold(new().text(1, name), |event, (name, value)| event.message(2, field(name, value.clone())))
    };
    let commands = bundle(&[
        (10, 7, 327, generic("ufshcd_command", &ufs(0))),
        (20, 7, 327, generic("ufshcd_command", &ufs(1))),
        (20, 7, 327, generic("ufshcd_command", &ufs(3))),
        (30, 7, 327, generic("something", &[])),
        (5, 1, 4, new().text(1, "idle").number(2, 0).text(5, "writer").number(6, 7)),
    ]);
    let trace = parse(file(&[commands])).unwrap();
    let r = &trace.requests[0];
    assert_eq!((r.op, r.sector, r.bytes, r.phone_latency), (WorkOp::Write, 88, 4096, Some(units::Nanos(10))));
    assert_eq!((trace.processes[0].as_str(), trace.devices[0].name.as_str()), ("writer", "host"));
    let trace = parse(file(&[bundle(&[(10, 7, 327, generic("block_rq_issue", &block))])])).unwrap();
    assert_eq!((trace.requests[0].sector, trace.processes[0].as_str()), (80, "me"));
}

#[test]
fn names_of_threads_come_from_trees_and_switches() {
    let command =
        |tag: u64| new().text(1, "host").number(4, 9).number(5, 0x28).number(7, tag).number(8, 4096).number(10, 0);
    let process = new().number(1, 100).number(2, 1).text(3, "com.example.app").text(3, "--argument");
    let thread = |tid: u64, name: &str| new().number(1, tid).text(2, name).number(3, 100);
    let tree = new().number(8, 1).message(2, new().message(1, process).message(2, thread(101, "Worker")));
    let sched = new().text(5, "kswapd").text(5, "binder").text(3, [55, 66]).text(6, [1, 0]);
    let switches = new().message(1, new().message(4, sched));
    let commands: Vec<_> = [100, 101, 55, 66, 77].iter().map(|&tid| (tid * 10, tid, 406, command(tid))).collect();
    let trace = parse(file(&[tree, switches, bundle(&commands)])).unwrap();
    let mut names: Vec<_> = trace.requests.iter().map(|r| trace.processes[usize::from(r.process.0)].as_str()).collect();
    names.sort_unstable();
    assert_eq!(names, ["Worker", "binder", "com.example.app", "kswapd", "pid 77"]);
}

#[test]
fn a_session_has_whole_names_and_kills() {
    let marker = |text: &str| new().number(1, 1).text(2, text);
    let tree = |name: &str| new().message(2, new().message(1, new().number(1, 100).text(3, name)));
    let rename = new().number(1, 100).text(2, "zygote64").text(3, ".example.mailer");
    let score = new().text(1, ".example.mailer").number(2, 900).number(3, 100);
    let bundle = bundle(&[
        (1000, 100, 45, issue(8, "R")),
        (2000, 100, 236, rename),
        (3000, 5, 3, marker("S|5|launching: com.example.mailer|0\n")),
        (4000, 5, 326, score),
        (5000, 5, 334, new().number(1, 100)),
        (6000, 5, 3, marker("S|5|launching: com.example.mailer|1\n")),
    ]);
    let bytes = file(&[tree("com.example.mailer"), bundle]);
    let session = Session::parse("t", vec![TraceFile::new("t", bytes)], &TraceOptions::default()).unwrap();
    assert_eq!(
        session.launches.iter().map(|launch| (launch.at.0, launch.cold)).collect::<Vec<_>>(),
        [(2000, false), (5000, true)]
    );
    let kill = &session.kills[0];
    assert_eq!((kill.app.as_str(), kill.at.0, kill.adj), ("com.example.mailer", 4000, Some(900)));
    assert_eq!(session.trace.requests[0].process.0, 0, "the request is the app's");
}

#[test]
fn a_recording_without_requests_says_what_to_record() {
    let switches = bundle(&[(10, 7, 4, new().text(1, "a")), (20, 7, 4, new().text(1, "a"))]);
    assert_eq!(
        parse(file(&[switches])).unwrap_err().to_string(),
        "t: no requests among 2 events (sched_switch 2); format perfetto needs ftrace_events block/block_rq_issue, \
         best with block/block_rq_complete, or ufs/ufshcd_command in the configuration of linux.ftrace"
    );
}

#[test]
fn damage_is_told_with_packet_and_place() {
    let good = bundle(&[(10, 7, 45, issue(8, "R"))]);
    let start = file(std::slice::from_ref(&good));
    let at = start.len();
    let bad = |packet: Build| parse([start.clone(), file(&[packet])].concat()).unwrap_err().to_string();
    let damaged = |told: &str| format!("t: packet 2 at byte offset {at}: {told}");
    assert_eq!(bad(new().text(133, "no zstd")), damaged("its compressed packets are damaged"));
    assert_eq!(bad(new().text(50, "no zlib")), damaged("its compressed packets are damaged"));
    assert_eq!(bad(new().text(50, zlib(&[0x0a, 9]))), damaged("it is cut off"));
    let bomb = zlib(&vec![0; (1 << 26) + 1]);
    assert_eq!(bad(new().text(50, bomb)), damaged("its compressed packets unpack to more than 64 MiB"));
    assert_eq!(
        bad(bundle(&[(10, 7, 45, issue(8, "Q"))])),
        damaged("rwbs of a block event has other letters than the kernel's")
    );
    let far = new().number(1, u64::MAX).text(5, "R");
    assert_eq!(
        bad(bundle(&[(10, 7, 45, far)])),
        damaged("the device of a block event has a number that Linux does not use")
    );
    let foreign = [start.clone(), vec![0x12, 1, 1]].concat();
    assert_eq!(parse(foreign).unwrap_err().to_string(), damaged("it does not begin as a packet"));
    let whole = [start.clone(), file(&[good])].concat();
    let cut = parse(whole[..whole.len() - 1].to_vec()).unwrap();
    let told = "t: packet 2: the file ends within it: cut off, what stands before it is read";
    assert!(cut.requests.len() == 1 && cut.report.warnings().contains(&told.to_owned()), "{:?}", cut.report.warnings());
}

#[test]
fn packets_that_are_compressed_by_zstd_are_read() {
    let packets = file(&[bundle(&[(10, 7, 45, issue(8, "R"))])]);
    let compressed = zstd::encode_all(&packets[..], 1).unwrap();
    let trace = parse(file(&[new().text(133, compressed)])).unwrap();
    assert_eq!(trace.requests, parse(packets).unwrap().requests);
}

#[test]
fn other_binary_files_are_no_recordings() {
    for bytes in [&b"\n\x03abc"[..], b"\n", b"", b"\n\x00", &[0; 64], b"\n\nDear diary,\nthis is no trace\n"] {
        assert_ne!(Format::recognise(bytes), Some(Format::Perfetto), "{bytes:?}");
    }
}
