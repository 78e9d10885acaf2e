use proptest::prelude::*;
use units::Nanos;

use super::*;
use crate::{CleanRule, TraceOptions};

/// A file in every text format; the list of formats sees to it that none is missing.
pub(super) fn sample(format: Format) -> &'static str {
    match format {
        Format::Blktrace | Format::Perfetto | Format::Vscsi => unreachable!("not a text"),
        Format::Blkparse => {
            "  8,0    0        1     0.000000000  4162  Q   R 5120 + 8 [fio]\n\
             8,0    0        2     0.000001500  4162  G   R 5120 + 8 [fio]\n\
             8,0    0        3     0.000200000     0  C   R 5120 + 8 [0]\n\
             8,0    1        4     0.001000000   301  Q FWFS 904 + 8 [jbd2/sda-8]\n\
             8,0    1        5     0.001500000   301  Q FWS [jbd2/sda-8]\n\
             8,0    1        6     0.002000000     0  C  WFS 904 + 8 [0]\n\
             8,0    1        7     0.003000000   301  Q   D 4096 + 64 [fstrim]\n\
             8,0    0        0     0.003100000     0  m   N a message\n\
             CPU0 (8,0):\n Reads Queued:           1,        4KiB\n"
        }
        Format::Ftrace => {
            "# tracer: nop\n#\n\
             <...>-12    [001] d..2   146.173670: block_rq_insert: 179,0 R 0 () 414240 + 8 [my sh]\n\
             sh-12    [001] d..2   146.173680: sched_switch: prev_comm=sh\n\
             <...>-11    [000] ...1   146.174173: block_rq_complete: 179,0 RA () 414240 + 16 [0]\n\
             jbd2-13    [000] d..2   147.137551: block_rq_insert: 179,0 FWFS 0 () 4529384 + 8 [jbd2]\n\
             jbd2-13    [000] d..2   147.137600: block_rq_insert: 179,0 FWS 0 () 0 + 0 [jbd2]\n\
             <...>-11    [000] ...1   147.138462: block_rq_complete: 179,0 WFS () 4529384 + 8 [0]\n\
             <...>-11    [000] d..2   147.138466: block_rq_complete: 179,0 WFS () 4529384 + 0 [0]\n\
             <...>-11    [000] d..2   147.139000: block_rq_complete: 179,0 WS () 0 + 0 [0]\n"
        }
        Format::Iolog => {
            "fio version 2 iolog\n/dev/sda add\n/dev/sda open\n/dev/sda write 0 4096\n/dev/sda wait 1500 0\n\
             /dev/sda read 8192 4096\n/dev/sda datasync 4096 0\n/dev/sda trim 8192 65536\n/dev/sda close\n"
        }
        Format::Mobile => {
            "proces,device,rw_flag,sector,size,timestamp\nThread-3-21454,8388608,W,65006504,8,832636.2457430001\n\
             kworker/u16:6-22931,8388608,W,65006504,8,832636.2467310001\n\
             <...>-2230,8388608,R,4495120,240,834642.0457060001\n"
        }
        Format::Nexus5 => {
            "4043872\t\t97\t\t49664\t\t5\t\t10.168065791\t\t10.168307510\t\t10.168322874\t\t10.171732249\n\
             4043968\t\t8\t\t4096\t\t0\t\t10.171915740\t\t10.172014854\t\t10.172024750\t\t10.172760844\n"
        }
        Format::Biosnoop => {
            "TIME(s)     COMM           PID    DISK    T SECTOR     BYTES  QUE(ms) LAT(ms)\n\
             0.000000    my app         4101   sda     W 204800     8192   0.100 0.91\n\
             0.000350    reader-b       4102   sda     R 8192       4096   0.000 0.22\n"
        }
        Format::Systor17 => {
            "Timestamp,Response,IOType,LUN,Offset,Size\n1456135200.013118000,0.001,W,0,4096,4096\n\
             1456135200.113118000,,R,0,8192,4096\n"
        }
        Format::Alibaba => "7,W,1048576000,16384,1700000000000100\n9,R,4194304000,4096,1700000000001500\n",
        Format::Tencent => "1538323200,12910952,128,0,1063\n1538323200,6338688,8,1,1627\n",
        Format::Msr => {
            "128166372003061629,usr,0,Read,7014609920,24576,41286\r\n\
             128166372016382155,usr,0,Write,1317441536,8192,1963\r\n\
             128166372016382165,usr,1,Write,1000,100,7\r\n"
        }
        Format::Spc => "0,303567,3584,w,0.000000\n1,55590,3072,r,0.000001,more\n0,303574,3584,W,0.026214\n",
        Format::Mqsim => "11413000 10 657728 16 1\n11565000 2 31244784 64 0\n",
        Format::Csv => {
            "time_ns,op,device,sector,bytes,flags,latency_ns,process\n5,read,sd,80,4096,sync|meta,1000,a, b\n\
             15,write,sd,8,4096,fua|preflush|readahead,,c\n25,flush,sd,0,0,,,c\n35,trim,sd,3,8192,,7,\n"
        }
    }
}

fn is_text(format: Format) -> bool {
    !matches!(format, Format::Blktrace | Format::Perfetto | Format::Vscsi)
}

fn texts() -> impl Iterator<Item = Format> {
    Format::ALL.iter().copied().filter(|format| is_text(*format))
}

pub(super) fn parse(text: &str, options: &TraceOptions) -> Result<Trace, TraceError> {
    Trace::parse("t", vec![TraceFile::new("t", text.into())], options)
}

fn forced(format: Format) -> TraceOptions {
    TraceOptions { format: Some(format), ..TraceOptions::default() }
}

/// Operation, sector, bytes and arrival of every request.
pub(super) fn requests(trace: &Trace) -> Vec<(WorkOp, u64, u64, u64)> {
    trace.requests.iter().map(|r| (r.op, r.sector, r.bytes, r.arrival.0)).collect()
}

#[test]
fn every_format_is_recognised_and_no_other_fits() {
    for format in texts() {
        let text = sample(format);
        assert_eq!(Format::recognise(text.as_bytes()), Some(format));
        assert_eq!(Format::named(format.name()).unwrap(), format);
        let trace = parse(text, &TraceOptions::default()).unwrap();
        assert_eq!((trace.format, requests(&trace)), (format, requests(&parse(text, &forced(format)).unwrap())));
        for other in texts().filter(|other| *other != format) {
            assert_ne!(
                parse(text, &forced(other)).ok().map(|t| t.requests.len()),
                Some(trace.requests.len()),
                "{other:?}"
            );
        }
    }
    let error = parse("Dear diary,\n", &TraceOptions::default()).unwrap_err().to_string();
    assert!(
        error.contains(
            "t: no trace format fits its beginning; tried blktrace, perfetto, vscsi, blkparse, ftrace, iolog,"
        ),
        "{error}"
    );
}

#[test]
fn samples_give_the_requests_that_stand_in_them() {
    use WorkOp::{Flush, Read, Trim, Write};
    let of = |format| parse(sample(format), &TraceOptions::default()).unwrap();
    let us = 1000;
    let blkparse = of(Format::Blkparse);
    let expected = [
        (Read, 5120, 4096, 0),
        (Write, 904, 4096, 1000 * us),
        (Flush, 0, 0, 1500 * us),
        (Trim, 4096, 32768, 3000 * us),
    ];
    assert_eq!(requests(&blkparse), expected);
    assert!(blkparse.requests[1].flags.fua && blkparse.requests[1].flags.preflush);
    assert_eq!(blkparse.requests[1].phone_latency, Some(Nanos(1000 * us)));
    assert_eq!(blkparse.processes, ["fio", "jbd2/sda-8", "fstrim"]);
    assert_eq!((blkparse.report.ignored_events, blkparse.report.unmatched_requests), (2, 2));

    let ftrace = of(Format::Ftrace);
    let expected = [(Read, 414_240, 8192, 0), (Write, 4_529_384, 4096, 963_881 * us), (Flush, 0, 0, 963_930 * us)];
    assert_eq!(requests(&ftrace), expected, "the read grew by merging");
    assert_eq!(ftrace.processes, ["my sh", "jbd2"]);
    assert_eq!((ftrace.report.grown, ftrace.report.unmatched_completions), (1, 0));
    let latencies: Vec<_> = ftrace.requests.iter().map(|r| r.phone_latency.unwrap().0 / us).collect();
    assert_eq!(latencies, [503, 911, 1400]);

    let iolog =
        [(Write, 0, 4096, 0), (Read, 16, 4096, 1500 * us), (Flush, 0, 0, 1500 * us), (Trim, 16, 65536, 1500 * us)];
    assert_eq!(requests(&of(Format::Iolog)), iolog);

    let mobile = of(Format::Mobile);
    assert_eq!(
        requests(&mobile)[1..],
        [(Write, 65_006_504, 4096, 988_000), (Read, 4_495_120, 122_880, 2_005_799_963_000)]
    );
    assert_eq!((mobile.devices[0].name.as_str(), mobile.processes[0].as_str()), ("8:0", "Thread-3"));

    let nexus = of(Format::Nexus5);
    assert_eq!(requests(&nexus), [(Write, 4_043_872, 49664, 0), (Read, 4_043_968, 4096, 3_849_949)]);
    assert_eq!(nexus.requests[0].phone_latency, Some(Nanos(3_666_458)));

    let csv = of(Format::Csv);
    assert_eq!(requests(&csv), [(Read, 80, 4096, 0), (Write, 8, 4096, 10), (Flush, 0, 0, 20), (Trim, 3, 8192, 30)]);
    assert_eq!(csv.processes, ["a, b", "c", ""]);
    assert!(csv.requests[0].flags.sync && csv.requests[0].flags.meta && csv.requests[1].flags.readahead);
}

#[test]
fn volumes_lie_one_after_another_and_keep_their_alignment() {
    use WorkOp::{Read, Write};
    let msr = parse(sample(Format::Msr), &TraceOptions::default()).unwrap();
    // usr.0 ends at byte 7014634496, in MiB 6690.
    let second = 6690 * 2048;
    let expected = [
        (Read, 13_700_410, 24576, 0),
        (Write, 2_573_128, 8192, 1_332_052_600),
        (Write, second + 1, 100 + 488, 1_332_053_600),
    ];
    assert_eq!(requests(&msr), expected, "a request that begins inside a sector begins with the sector");
    assert_eq!(msr.requests[0].phone_latency, Some(Nanos(4_128_600)));
    let unknown = parse("1,usr,0,Read,0,4096,0\n", &forced(Format::Msr));
    assert_eq!(unknown.unwrap().requests[0].phone_latency, None, "nothing takes less than a tick");
    let places: Vec<_> = msr.devices.iter().map(|d| (d.name.as_str(), d.first_sector, d.requests)).collect();
    assert_eq!(places, [("usr.0", 0, 2), ("usr.1", second, 1)]);

    // Device 2 comes before device 10, although it is named later.
    let mqsim = parse(sample(Format::Mqsim), &TraceOptions::default()).unwrap();
    assert_eq!(mqsim.devices.iter().map(|d| d.name.as_str()).collect::<Vec<_>>(), ["2", "10"]);
    assert_eq!(mqsim.requests[0].sector, 657_728 + mqsim.devices[1].first_sector);
    let only = TraceOptions { device: Some("10".into()), ..TraceOptions::default() };
    assert_eq!(requests(&parse(sample(Format::Mqsim), &only).unwrap()), [(Read, 657_728, 8192, 0)]);

    let spc = parse(sample(Format::Spc), &TraceOptions::default()).unwrap();
    assert_eq!(
        (spc.report.unaligned, spc.report.partial_writes, spc.report.merge_reads),
        (3, 2, 2),
        "the reads of both ends lie side by side"
    );
    assert_eq!(spc.report.widened_bytes, 3 * 8192 - 2 * 3584 - 3072);
}

#[test]
fn requests_that_grew_share_what_completed() {
    let text = "\
        a-7 [000] .... 10.000010: block_rq_insert: 8,0 R 0 () 96 + 8 [fio]\n\
        a-7 [000] .... 10.000020: block_rq_insert: 8,0 R 0 () 120 + 8 [fio]\n\
        <idle>-0 [000] .... 10.000090: block_rq_complete: 8,0 RA () 80 + 56 [0]\n";
    let trace = parse(text, &TraceOptions::default()).unwrap();
    assert_eq!(requests(&trace), [(WorkOp::Read, 80, 40 * 512, 0), (WorkOp::Read, 120, 16 * 512, 10_000)]);
    assert_eq!((trace.report.grown, trace.report.unmatched_completions), (2, 0));
}

#[test]
fn tables_of_data_centres_and_of_biosnoop_are_read() {
    use WorkOp::{Read, Write};
    let of = |format| parse(sample(format), &TraceOptions::default()).unwrap();
    let us = 1000;
    let biosnoop = of(Format::Biosnoop);
    let expected = [(Write, 204_800, 8192, 0), (Read, 8192, 4096, (350 - 220 + 1010) * us)];
    assert_eq!(
        (requests(&biosnoop), &biosnoop.processes[..]),
        (expected.into(), &["my app", "reader-b"].map(Into::into)[..])
    );
    assert_eq!(biosnoop.requests[0].phone_latency, Some(Nanos(1010 * us)));
    let marked =
        sample(Format::Mobile).replacen("<...>", "\"preconditioning_ended\"\n<...>", 1).replace("proces,", "process,");
    let marked = parse(&marked, &TraceOptions::default()).unwrap();
    assert_eq!(
        marked.requests,
        parse(&sample(Format::Mobile).replacen("<...>", "\n<...>", 1), &TraceOptions::default())
            .map_or(vec![], |t| t.requests)
    );
    let iosnoop = "Tracing block I/O. Ctrl-C to end.\n\
                   STARTs         ENDs           COMM         PID    TYPE DEV      BLOCK        BYTES     LATms\n\
                   100.000100     100.000900     jbd2/sda 8   120    WS   8,0      2048         4096       0.80\n";
    let iosnoop = parse(iosnoop, &TraceOptions::default()).unwrap();
    assert_eq!((requests(&iosnoop), &*iosnoop.processes[0]), (vec![(Write, 2048, 4096, 0)], "jbd2/sda 8"));
    assert_eq!(iosnoop.requests[0].phone_latency, Some(Nanos(800 * us)));
    let without =
        "Attaching 2 probes...\nTIME(ms)     DISK    COMM     PID    LAT(ms)\n611   nvme0n1 bash   4179       10\n";
    let error = parse(without, &TraceOptions::default()).unwrap_err().to_string();
    let told =
        "t: line 2, column 1: the table has no column T: its requests cannot be repeated; biosnoop of bcc has one";
    assert_eq!(error, told);
    let systor = of(Format::Systor17);
    assert_eq!(requests(&systor), [(Write, 8, 4096, 0), (Read, 16, 4096, 100_000 * us)]);
    assert_eq!(systor.requests.iter().map(|r| r.phone_latency).collect::<Vec<_>>(), [Some(Nanos(1000 * us)), None]);
    let alibaba = of(Format::Alibaba);
    assert_eq!(
        alibaba.requests.iter().map(|r| (r.op, r.bytes, r.arrival.0)).collect::<Vec<_>>(),
        [(Write, 16384, 0), (Read, 4096, 1400 * us)]
    );
    let tencent = of(Format::Tencent);
    assert_eq!(tencent.requests.iter().map(|r| (r.op, r.bytes)).collect::<Vec<_>>(), [(Read, 65536), (Write, 4096)]);
}

#[test]
fn an_issued_request_began_when_it_was_inserted_and_is_issued_once() {
    let text = "\
        a-7 [000] .... 10.000010: block_rq_insert: 8,0 WS 4096 () 80 + 8 [fio]\n\
        a-7 [000] .... 10.000020: block_rq_issue: 8,0 WS 4096 () 80 + 8 none,0,0 [kworker/0:1H]\n\
        a-7 [000] .... 10.000025: block_rq_requeue: 8,0 WS () 80 + 8 [0]\n\
        a-7 [000] .... 10.000040: block_rq_issue: 8,0 WS 4096 () 80 + 8 [kworker/0:1H]\n\
        <idle>-0 [000] .... 10.000090: block_rq_complete: 8,0 WS () 80 + 8 [0]\n\
        smartd-9 [000] .... 10.000100: block_rq_issue: 8,0 N 512 (85 08 0e) 0 + 1 [smartd]\n\
        b-9 [000] .... 10.000110: block_rq_issue: 8,0 FF 0 () 0 + 0 [b]\n";
    let trace = parse(text, &TraceOptions::default()).unwrap();
    assert_eq!(requests(&trace), [(WorkOp::Write, 80, 4096, 0), (WorkOp::Flush, 0, 0, 100_000)]);
    assert_eq!(trace.requests[0].phone_latency, Some(Nanos(80_000)));
    assert_eq!(trace.report.ignored_queue_events, 1);
}

#[test]
fn a_byte_order_mark_is_no_part_of_the_text() {
    for format in texts() {
        let text = format!("\u{feff}{}", sample(format));
        let trace = parse(&text, &TraceOptions::default()).unwrap();
        let plain = parse(sample(format), &TraceOptions::default()).unwrap();
        assert_eq!((trace.format, trace.requests), (format, plain.requests), "{format:?}");
    }
}

#[test]
fn a_wrong_line_is_named_with_its_column() {
    let replaced = |format, from: &str, to: &str| {
        let text = sample(format);
        assert!(text.contains(from), "{from}");
        match parse(&text.replacen(from, to, 1), &forced(format)) {
            Err(error) => error.to_string(),
            // Texts of the kernel hold many kinds of events: one that cannot be read is left out, and told.
            Ok(trace) => {
                let (count, first) = trace.report.unreadable.expect("something is wrong");
                assert_eq!(count, 1);
                first
            }
        }
    };
    let mut wrong = Vec::new();
    for (format, from, to, told) in [
        (Format::Blkparse, "904 + 8", "904 x 8", "line 4, column 53: + is 'x'; allowed: + between"),
        (Format::Blkparse, "Q FWFS", "Q XWFS", "line 4, column 44: rwbs is 'XWFS'; allowed: the kernel's letters"),
        (Format::Blkparse, "0.000001500", "0.1.5", "line 2, column 23: time is '0.1.5'; allowed: seconds"),
        (Format::Ftrace, "147.137551", "147,137551", "line 6, column 25: time is '147,137551'; allowed: seconds"),
        (Format::Ftrace, "179,0 FWFS", "179:0 FWFS", "line 6, column 54: device is '179:0'; allowed: major,minor"),
        (Format::Ftrace, "+ 16 [0]", "+", "line 5, column 77: the line ends where the number of sectors is expected"),
        (
            Format::Ftrace,
            "block_rq_insert: 179,0 R 0 () 414240 + 8 [my sh]",
            "ufshcd_command: send_req: ufs: tag: 0, DB: 0x0, size: 4k, IS: 0, LBA: 1, opcode: 0x28",
            "line 3, column 92: size is '4k'; allowed: a whole number from 0 to 4294967295",
        ),
        (
            Format::Ftrace,
            "block_rq_insert: 179,0 R 0 () 414240 + 8 [my sh]",
            "ufshcd_command: send_req: ufs: tag: 0, DB: 0x0, size: 4096, IS: 0, LBA: 1, opcode: READ",
            "line 3, column 121: opcode is 'READ'; allowed: the first byte of a command, such as 0x28",
        ),
        (
            Format::Ftrace,
            "block_rq_insert: 179,0 R 0 () 414240 + 8 [my sh]",
            "ufshcd_command: send_req: ufs: tag: 0, DB: 0x0",
            "line 3, column 84: ufshcd_command has no opcode:",
        ),
        (Format::Iolog, "version 2", "version 4", "line 1, column 1: not the first line of an iolog"),
        (Format::Iolog, "read 8192", "reed 8192", "line 6, column 10: action is 'reed'; allowed: read, write, trim"),
        (
            Format::Iolog,
            "wait 1500",
            "wait -1",
            "line 5, column 15: time to wait, in microseconds is '-1'; allowed: a whole",
        ),
        (Format::Mobile, "8388608,R", "8388608,X", "line 4, column 20: rw flag is 'X'; allowed: R, W or D"),
        (
            Format::Mobile,
            ",240,",
            ",",
            "line 4, column 30: size in sectors is '834642.0457060001'; allowed: a whole number",
        ),
        (Format::Nexus5, "49664", "4966", "line 1, column 14: size in bytes is '4966'; allowed: 512 times the size"),
        (
            Format::Nexus5,
            "10.172760844",
            "9",
            "line 2, column 64: time when finished is '9'; allowed: a time that is not",
        ),
        (Format::Msr, "Write,1317", "Trim,1317", "line 2, column 26: type is 'Trim'; allowed: Read or Write"),
        (Format::Msr, ",1963", "", "line 2, column 47: the line ends where the response time is expected"),
        (
            Format::Msr,
            ",1963",
            ",1963,9",
            "line 2, column 53: end of the line is '9'; allowed: nothing: the line has too many",
        ),
        (Format::Spc, ",r,", ",q,", "line 2, column 14: opcode is 'q'; allowed: r, R, w or W"),
        (Format::Mqsim, "64 0", "64 2", "line 2, column 24: type is '2'; allowed: 1 (read) or 0 (write)"),
        (
            Format::Csv,
            "trim,",
            "discard,",
            "line 5, column 4: operation is 'discard'; allowed: read, write, flush, trim",
        ),
        (
            Format::Csv,
            "fua|",
            "fue|",
            "line 3, column 20: flags is 'fue|preflush|readahead'; allowed: any of fua, sync",
        ),
    ] {
        let error = replaced(format, from, to);
        if !error.starts_with(&format!("t: {told}")) {
            wrong.push(format!("{format:?}: {error}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn what_stands_before_a_cut_is_read_and_the_cut_is_told() {
    for format in texts() {
        let text = sample(format).trim_end();
        let cut = &text[..text.len() - 3];
        let (whole, last) = cut.rsplit_once('\n').expect("several lines");
        let number = whole.lines().count() + 1;
        let (Ok(before), Ok(found)) = (parse(whole, &forced(format)), parse(cut, &forced(format))) else {
            panic!("{format:?}: {last}");
        };
        // What is left of a line may be right.
        let read =
            |trace: &Trace| (trace.requests.len() as u64, trace.report.complete_events, trace.report.ignored_events);
        if read(&found) != read(&before) {
            continue;
        }
        let told = found.report.warnings().join("; ");
        let counted = found.report.unreadable.is_some() || found.report.unmatched_requests > 0;
        assert!(counted || told.contains(&format!("t: line {number}: the file ends within it")), "{format:?}: {told}");
        assert_eq!(requests(&found), requests(&before), "{format:?}");
    }
}

#[test]
fn utf_16_is_read_in_every_format_of_text() {
    for format in texts() {
        let wide = |to: fn(u16) -> [u8; 2]| {
            "\u{feff}".encode_utf16().chain(sample(format).encode_utf16()).flat_map(to).collect::<Vec<u8>>()
        };
        for bytes in [wide(u16::to_le_bytes), wide(u16::to_be_bytes)] {
            let trace = Trace::parse("t", vec![TraceFile::new("t", bytes)], &TraceOptions::default());
            let plain = parse(sample(format), &TraceOptions::default()).unwrap();
            assert_eq!(requests(&trace.unwrap()), requests(&plain), "{format:?}");
        }
    }
}

#[test]
fn another_header_of_our_own_format_names_the_column() {
    let header = "time_ns,op,device,sector,bytes,flags,latency_ns,process";
    for (first, told) in [
        (format!("{header},extra"), "line 1, column 57: further column is 'extra'; allowed: none: the header is"),
        (header.replace("device", "disk"), "line 1, column 12: column is 'disk'; allowed: device, as the header is"),
        (header.replace(",process", ""), "line 1, column 48: the header is incomplete; allowed: time_ns"),
    ] {
        let error = parse(&format!("{first}\n0,write,,8,4096,,,p,1\n"), &TraceOptions::default()).unwrap_err();
        assert!(error.to_string().starts_with(&format!("t: {told}")), "{error}");
    }
}

#[test]
fn a_text_without_requests_is_an_error() {
    for (format, text, told) in [
        (Format::Iolog, "fio version 3 iolog\n0 f add\n", "t: no requests among 1 events"),
        (
            Format::Ftrace,
            "# tracer: nop\n x-1 [000] .... 1.0: sched_switch: a\n x-1 [000] .... 1.0: irq_handler_exit: a\n\
             x-1 [000] .... 2.0: sched_switch: b\n",
            "t: no requests among 3 events (sched_switch 2, irq_handler_exit 1); format ftrace needs events \
             block_rq_issue or block_rq_insert, best with block_rq_complete, or ufshcd_command, block_io_start, \
             scsi_dispatch_cmd_start or block_bio_queue",
        ),
        (Format::Mobile, "proces,device,rw_flag,sector,size,timestamp\n", "t: no requests among 0 events"),
    ] {
        assert_eq!(parse(text, &TraceOptions::default()).unwrap_err().to_string(), told, "{format:?}");
    }
    assert_eq!(parse("", &TraceOptions::default()).unwrap_err().to_string(), "t: no requests among 0 events");
}

#[test]
fn packed_files_are_read_directly() {
    let plain = sample(Format::Spc);
    let mut xz = Vec::new();
    io::Read::read_to_end(&mut liblzma::read::XzEncoder::new(plain.as_bytes(), 6), &mut xz).unwrap();
    let read = |bytes: Vec<u8>| Trace::parse("t", vec![TraceFile::new("t", bytes)], &TraceOptions::default());
    assert_eq!(read(xz.clone()).unwrap(), parse(plain, &TraceOptions::default()).unwrap());
    let zstd = zstd::encode_all(plain.as_bytes(), 1).unwrap();
    assert_eq!(
        read([zstd.clone(), zstd].concat()).unwrap(),
        parse(&plain.repeat(2), &TraceOptions::default()).unwrap()
    );
    let mut damaged = xz;
    damaged[20] ^= 0xff;
    let error = read(damaged).unwrap_err().to_string();
    assert!(error.starts_with("t: damaged xz data: "), "{error}");
}

#[test]
fn packed_files_that_end_too_early_are_read_as_far_as_they_go() {
    let header = "time_ns,op,device,sector,bytes,flags,latency_ns,process\n".to_owned();
    let line = |at: u64| format!("{},read,a,{},4096,,,p\n", 1000 * at, at.wrapping_mul(0x9e37_79b9) % 1_000_003 * 8);
    let plain = header + &(0..100_000).map(line).collect::<String>();
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    io::Write::write_all(&mut gzip, plain.as_bytes()).unwrap();
    let mut xz = Vec::new();
    io::Read::read_to_end(&mut liblzma::read::XzEncoder::new(plain.as_bytes(), 1), &mut xz).unwrap();
    let whole = parse(&plain, &TraceOptions::default()).unwrap();
    for packed in [gzip.finish().unwrap(), xz, zstd::encode_all(plain.as_bytes(), 1).unwrap()] {
        let file = TraceFile::new("t", packed[..packed.len() / 2].to_vec());
        let cut = Trace::parse("t", vec![file], &TraceOptions::default()).unwrap();
        assert!(cut.requests.len() > 10_000 && whole.requests.starts_with(&cut.requests), "{}", cut.requests.len());
        let told = "t: its compressed data end too early: what could be unpacked of it is read";
        assert!(cut.report.warnings().contains(&told.to_owned()), "{:?}", cut.report.warnings());
    }
}

#[test]
fn formats_that_are_only_read_are_not_written() {
    let trace = parse(sample(Format::Spc), &TraceOptions::default()).unwrap();
    assert_eq!(
        trace.to_bytes(Format::Nexus5).unwrap_err().to_string(),
        "format = \"nexus5\": must be one of iolog, msr, spc, mqsim, csv"
    );
    let flush =
        parse("time_ns,op,device,sector,bytes,flags,latency_ns,process\n0,flush,a,0,0,,,x\n", &forced(Format::Csv));
    assert_eq!(flush.unwrap().to_bytes(Format::Msr).unwrap_err().to_string(), "t as msr: no requests among 1 events");
}

/// A trace of up to three devices in our own format.
fn traces() -> impl Strategy<Value = String> {
    let line = (0_u64..1 << 40, 0..4_usize, 0..3_u8, 0_u64..1 << 30, 1_u64..1 << 20, 0..32_u8, 0_u64..1 << 40);
    prop::collection::vec(line, 1..40).prop_map(|lines| {
        let mut text = "time_ns,op,device,sector,bytes,flags,latency_ns,process\n".to_owned();
        for (time, op, device, sector, bytes, flags, latency) in lines {
            let (sector, bytes) = if op == 2 { (0, 0) } else { (sector, bytes) };
            let names = ["fua", "sync", "meta", "readahead", "preflush"];
            let set: Vec<_> = (0..5).filter(|bit| flags >> bit & 1 == 1).map(|bit| names[bit]).collect();
            let op = WorkOp::NAMES[op];
            text += &format!("{time},{op},disk {device},{sector},{bytes},{},{latency},p{flags}\n", set.join("|"));
        }
        text
    })
}

proptest! {
    #[test]
    fn what_is_written_is_read_again(text in traces()) {
        let trace = parse(&text, &TraceOptions::default()).unwrap();
        for format in texts().filter(|format| format.can_be_written()) {
            let carries = format.carries().unwrap();
            let kept: Vec<_> = trace.requests.iter().filter(|r| match r.op {
                WorkOp::Flush => carries.flushes,
                WorkOp::Trim => carries.trims,
                _ => true,
            }).collect();
            let Ok(bytes) = trace.to_bytes(format) else {
                prop_assert!(kept.is_empty());
                continue;
            };
            let head = &bytes[..bytes.len().min(::files::HEAD)];
            let replaceable = Format::recognise(head).is_some_and(Format::can_be_written);
            prop_assert!(replaceable, "{}: the next conversion would refuse to replace it", format.name());
            let again = parse(&String::from_utf8(bytes).unwrap(), &forced(format)).unwrap();
            prop_assert_eq!(again.requests.len(), kept.len());
            let first = kept[0].arrival.0 / carries.tick_ns;
            for (r, k) in again.requests.iter().zip(&kept) {
                prop_assert_eq!(r.arrival.0, (k.arrival.0 / carries.tick_ns - first) * carries.tick_ns);
                let bytes = if carries.whole_sectors { k.bytes.next_multiple_of(512) } else { k.bytes };
                prop_assert_eq!((r.op, r.bytes), (k.op, bytes));
                prop_assert_eq!(again.on_device(r).1, trace.on_device(k).1);
                if carries.flags {
                    prop_assert_eq!(r.flags, k.flags);
                }
                if carries.latency {
                    let tick = carries.tick_ns;
                    prop_assert_eq!(r.phone_latency, k.phone_latency.map(|l| Nanos(l.0 / tick * tick)));
                }
                if carries.processes {
                    let name = |t: &Trace, r: &WorkRequest| t.processes[usize::from(r.process.0)].clone();
                    prop_assert_eq!(name(&again, r), name(&trace, k));
                }
            }
        }
    }

    #[test]
    fn damaged_texts_do_not_panic(
        which in 0..Format::ALL.len(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..8),
    ) {
        let format = Format::ALL[which];
        if is_text(format) {
            let mut bytes = sample(format).as_bytes().to_vec();
            changes.iter().for_each(|(at, value)| *at.get_mut(&mut bytes) = *value);
            let options = TraceOptions { clean: CleanRule::ALL.to_vec(), ..forced(format) };
            let file = TraceFile::new("t", bytes);
            let _ = Trace::parse("t", vec![file], &options);
        }
    }
}

#[test]
fn a_byte_order_mark_belongs_to_no_line() {
    for format in texts() {
        let marked = format!("\u{feff}{}", sample(format));
        let requests = |text: &str, given| {
            let options = TraceOptions { format: given, ..TraceOptions::default() };
            Trace::parse("t", vec![TraceFile::new("t", text.into())], &options).unwrap().requests
        };
        let plain = requests(sample(format), None);
        assert_eq!(requests(&marked, None), plain, "{format:?} recognised");
        assert_eq!(requests(&marked, Some(format)), plain, "{format:?} named");
    }
}
