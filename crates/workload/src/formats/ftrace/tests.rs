use super::super::tests::{parse, requests, sample};
use crate::{Format, TraceOptions, WorkOp};

#[test]
fn lines_of_trace_cmd_and_perf_are_those_of_ftrace() {
    let text = sample(Format::Ftrace);
    let expected = parse(text, &TraceOptions::default()).unwrap();
    let trace_cmd = text.replace("block_rq_insert:", "block_rq_insert:     ").replace("# tracer: nop\n#\n", "cpus=8\n");
    let perf = text.replace(": block_rq_", ":    block:block_rq_").replace("-1", "   1").replace(" d..2 ", " ");
    for other in [trace_cmd, perf] {
        let trace = parse(&other, &TraceOptions::default()).unwrap();
        assert_eq!((trace.format, requests(&trace)), (Format::Ftrace, requests(&expected)), "{other}");
    }
}

/// A line of `ufshcd_command` by its seconds and the rest.
fn ufs(seconds: &str, rest: &str) -> String {
    format!("   kworker/0:1H-80   [000] d..1. {seconds}: ufshcd_command: {rest}\n")
}

#[test]
fn ufs_commands_of_all_kernels_are_read() {
    use WorkOp::{Flush, Read, Trim, Write};
    let qualcomm = |stage: &str, tag: u8, cmd: &str, lba: u64, size: u64| {
        format!(
            "624000.ufshc: {stage:>14}: tag: {tag:<2} cmd: {cmd} lba: {lba:<9} size: {size:<7} DB: 0x1        IS: 0x0"
        )
    };
    let mainline = |stage: &str, tag: u8, opcode: &str, lba: &str, size: &str| {
        format!("{stage}: 1d84000.ufshc: tag: {tag}, DB: 0x1, size: {size}, IS: 0, LBA: {lba}, opcode: {opcode}")
    };
    let newest = |stage: &str, tag: u8, opcode: &str, lba: &str, size: &str| {
        let rest = mainline(stage, tag, opcode, lba, size).replace("1d84000.ufshc", "0:0:0:0");
        format!("{rest} (X), group_id: 0x0, hwq_id: 7")
    };
    let old = ufs("1.000000", &qualcomm("send", 0, "0x2a", 800, 4096))
        + &ufs("1.000300", &qualcomm("complete", 0, "0x2a", 800, 4096))
        + &ufs("1.000400", &qualcomm("dev_cmd_send", 31, "0x0", 0, 0));
    let lost = u64::MAX.to_string();
    let v5_4 = ufs("1.000000", &mainline("send", 0, "0x28", "1600", "8192"))
        + &ufs("1.000010", &mainline("send", 1, "0x35", &lost, "-1"))
        + &ufs("1.000020", &mainline("send", 2, "0x42", &lost, "-1"))
        + &ufs("1.000200", &mainline("complete", 0, "0x28", &lost, "8192"))
        + &ufs("1.000900", &mainline("complete", 1, "0x35", &lost, "-1"))
        + &ufs("1.001000", &mainline("complete", 7, "0x28", "8", "8192"));
    let v6_6 = ufs("1.000000", &newest("send_req", 0, "0x88", "201", "8192"))
        + &ufs("1.000010", &newest("send_req", 1, "0x42", "300", "40960"))
        + &ufs("1.000020", &newest("send_req", 2, "0xf8", "8", "4096"))
        + &ufs("1.000030", &newest("send_req", 3, "0x1b", "0", "-1"))
        + &ufs("1.000040", &newest("query_send", 4, "0x0", "0", "-1"))
        + &ufs("1.000050", &newest("dev_complete", 4, "0x0", "0", "-1"))
        + &ufs("1.000100", &newest("complete_rsp", 2, "0xf8", "8", "4096"))
        + &ufs("1.000200", &newest("complete_rsp", 0, "0x88", "201", "8192"));
    let us = 1000;
    for (text, expected, latencies, sectors, ignored) in [
        (old, vec![(Write, 800, 4096, 0)], vec![Some(300)], 1, 0),
        (v5_4, vec![(Read, 1600, 8192, 0), (Flush, 0, 0, 10 * us)], vec![Some(200), Some(890)], 1, 1),
        (
            v6_6,
            vec![(Read, 1608, 8192, 0), (Trim, 2400, 40960, 10 * us), (Read, 64, 4096, 20 * us)],
            vec![Some(200), None, Some(80)],
            0,
            1,
        ),
    ] {
        let trace = parse(&text, &TraceOptions::default()).unwrap();
        assert_eq!((trace.format, requests(&trace)), (Format::Ftrace, expected), "{text}");
        let found: Vec<_> = trace.requests.iter().map(|r| r.phone_latency.map(|l| l.0 / us)).collect();
        assert_eq!(found, latencies, "{text}");
        let report = &trace.report;
        assert_eq!((report.hints.len(), report.ignored_queue_events), (sectors, ignored), "{text}");
        assert_eq!(trace.processes, ["kworker/0:1H"]);
    }
}

#[test]
fn commands_without_length_are_told_and_units_that_force_access_are_seen() {
    let send = |seconds: &str, tag: u8, opcode: &str, lba: u64, size: i64| {
        let fields =
            format!("tag: {tag}, DB: 0x0, size: {size}, IS: 0, LBA: {lba}, opcode: {opcode} (X), group_id: 0x0");
        ufs(seconds, &format!("send_req: ufs: {fields}"))
    };
    let upiu = |tag: u8, cdb: &str| {
        let header = format!("HDR:01 20 00 {tag:02x} 00 00 00 00 00 00 00 00");
        format!(" a-1 [000] .... 1.0: ufshcd_upiu: send_req: ufs: {header}, CDB:{cdb} 00 00 00 07 00 00 01 00\n")
    };
    let text = send("1.0", 0, "0x8a", 0, -1)
        + &upiu(17, "2a 08")
        + &send("2.0", 17, "0x2a", 7, 4096)
        + &upiu(18, "2a 00")
        + &send("3.0", 18, "0x2a", 9, 4096);
    let trace = parse(&text, &TraceOptions::default()).unwrap();
    assert_eq!(trace.requests.iter().map(|r| r.flags.fua).collect::<Vec<_>>(), [true, false]);
    assert_eq!((trace.report.without_length, trace.report.ignored_queue_events), (1, 1));
    let told = "1 commands whose events tell no length (as READ(16) before Linux 6.12) were left out";
    assert_eq!(trace.report.warnings(), [told]);
}

#[test]
fn block_devices_stand_above_the_ufs_host() {
    let both = sample(Format::Ftrace).to_owned()
        + &ufs("147.2", "send_req: ufs: tag: 0, DB: 0x0, size: 4096, IS: 0, LBA: 1, opcode: 0x28 (X), group_id: 0x0");
    let trace = parse(&both, &TraceOptions::default()).unwrap();
    assert_eq!((trace.requests.len(), &*trace.devices[0].name), (3, "179:0"));
    let told = "of 179:0, ufs, block device 179:0 is read: the others are taken for what is below it";
    assert!(trace.report.warnings().contains(&told.to_owned()), "{:?}", trace.report.warnings());
    let another = both.clone() + " b-9 [000] .... 150.0: block_rq_insert: 8,0 W 4096 () 0 + 8 [b]\n";
    let error = parse(&another, &TraceOptions::default()).unwrap_err().to_string();
    assert_eq!(error, "t: requests of several devices (8:0, 179:0, ufs); choose one with `device`");
    let chosen = |name: &str| {
        parse(&both, &TraceOptions { device: Some(name.into()), ..TraceOptions::default() }).unwrap().requests.len()
    };
    assert_eq!((chosen("179:0"), chosen("ufs")), (3, 1));
}

/// Requests, latencies in us, and how many events could not be read.
type Told = (Vec<(WorkOp, u64, u64, u64)>, Vec<Option<u64>>, u64);

fn told(text: &str) -> Told {
    let trace = parse(text, &TraceOptions::default()).unwrap();
    let latencies = trace.requests.iter().map(|r| r.phone_latency.map(|l| l.0 / 1000)).collect();
    (requests(&trace), latencies, trace.report.unreadable.map_or(0, |(count, _)| count))
}

#[test]
fn a_line_that_a_tool_could_not_format_is_counted_and_the_rest_is_read() {
    let text = " a-1 [002] .... 1.000100: block_rq_issue:   179,0 R 4096 () 2048 + 8 [a]\n \
                a-1 [002] .... 1.000110: block_rq_issue:   [FAILED TO PARSE] dev=187695104 sector=4096 rwbs=WS\n \
                a-1 [002] .... 1.000120: sched_wakeup:     [FAILED TO PARSE] comm=worker pid=77\n \
                a-1 [002] .... 1.000350: block_rq_complete: 179,0 R () 2048 + 8 [0]\n";
    assert_eq!(told(text), (vec![(WorkOp::Read, 2048, 4096, 0)], vec![Some(250)], 1));
}

#[test]
fn requests_that_are_only_accounted_and_bios_are_read_where_nothing_tells_more() {
    let accounted = " p-1 [000] d..1 1.000100: block_io_start: 8,0 W 4096 () 2048 + 8 be,4,0 [p]\n \
                     p-1 [000] d..1 1.000300: block_io_done: 8,0 W 0 () 2048 + 8 be,4,0 [p]\n";
    let one = (vec![(WorkOp::Write, 2048, 4096, 0)], vec![Some(200)], 0);
    assert_eq!(told(accounted), one);
    let bios = " w-1 (1) [000] ..... 1.000100: block_bio_queue: 252,0 WS 2048 + 8 [w]\n \
                w-1 (1) [000] ..... 1.000300: block_bio_complete: 252,0 WS 2048 + 8 [0]\n";
    assert_eq!(told(bios), one);
    assert_eq!(told(&(accounted.to_owned() + bios)), one, "bios are the same requests further up");
    let issued = accounted
        .replace("block_io_start", "block_rq_issue")
        .replace("block_io_done: 8,0 W 0 ()", "block_rq_complete: 8,0 W ()");
    assert_eq!(told(&(issued + accounted + bios)), one);
}

#[test]
fn the_text_that_perfetto_exports_is_read() {
    let text = " k/0:1H-80 (   80) [000] .... 12.345678: block_rq_issue: dev=8388608 sector=1000 nr_sector=8 \
                bytes=4096 rwbs=R comm=k/0:1H x cmd=\n \
                k/0:1H-80 (   80) [000] .... 12.345978: block_rq_complete: dev=8388608 sector=1000 nr_sector=8 \
                errors=0 rwbs=R cmd=\n";
    assert_eq!(told(text), (vec![(WorkOp::Read, 1000, 4096, 0)], vec![Some(300)], 0));
    let trace = parse(text, &TraceOptions::default()).unwrap();
    assert_eq!((&*trace.devices[0].name, &*trace.processes[0]), ("8:0", "k/0:1H x"));
    let command = |time: &str, stage: u8| {
        ufs(
            time,
            &format!(
                "dev_name=1d84000.ufshc doorbell=1 intr=0 lba=2001 opcode=42 tag=3 transfer_len=4096 \
                            group_id=0 str_t={stage}"
            ),
        )
    };
    let text = command("1.000000", 0) + &command("1.000400", 1) + &command("1.000500", 3);
    assert_eq!(told(&text), (vec![(WorkOp::Write, 16008, 4096, 0)], vec![Some(400)], 0));
}

#[test]
fn a_kernel_that_leaves_the_host_out_is_understood() {
    let command = |time: &str, stage: &str| {
        let rest =
            "tag: 0, DB: 0x1 (UPIU Software), size: 4096, LBA: 12345678, opcode: 0x2a, group_id: 0x00, hwq_id: 0";
        ufs(time, &format!("{stage}: {rest}"))
    };
    let text = command("1.000000", "send_req") + &command("1.001000", "complete_rsp");
    assert_eq!(told(&text), (vec![(WorkOp::Write, 8 * 12_345_678, 4096, 0)], vec![Some(1000)], 0));
}

#[test]
fn a_request_that_completes_in_pieces_has_the_latency_of_the_last() {
    let text = " p-1 [000] d..1 1.000100: block_rq_issue: 8,0 W 16384 () 2048 + 32 [p]\n \
                p-1 [000] d..1 1.000200: block_rq_complete: 8,0 W () 2048 + 8 [0]\n \
                p-1 [000] d..1 1.000500: block_rq_complete: 8,0 W () 2056 + 24 [0]\n";
    assert_eq!(told(text), (vec![(WorkOp::Write, 2048, 16384, 0)], vec![Some(400)], 0));
}

#[test]
fn names_of_threads_may_look_like_anything() {
    let names = ["my [001] app", "tmux: srv-1", "a: b+c 8 + 1)", "copy thr"];
    let line = |(at, name): (u64, &&str)| {
        format!("  {name}-4{at}  (-----) [002] d..1   812.00{at}: block_rq_issue: 8,0 R 4096 () {at}8 + 8 [{name}]\n")
    };
    let trace = parse(&(1..).zip(&names).map(line).collect::<String>(), &TraceOptions::default()).unwrap();
    assert_eq!((trace.requests.len(), &trace.processes[..]), (4, &names.map(String::from)[..]));
}

#[test]
fn commands_of_scsi_are_read_where_nothing_tells_more() {
    let command = |time: &str, stage: &str, tag: &str, command: &str| {
        format!(
            " k/0:1H-80 [000] .... {time}: scsi_dispatch_cmd_{stage}: host_no=0 channel=0 id=0 lun=3 data_sgl=1 \
             prot_sgl=0 prot_op=SCSI_PROT_NORMAL {tag}cmnd=({command})\n"
        )
    };
    let read = "READ_10 lba=1001 txlen=2 protect=0 raw=28 08 00 00 03 e9 00 00 02 00";
    let flush = "SYNCHRONIZE_CACHE - raw=35 00 00 00 00 00 00 00 00 00";
    for tag in ["driver_tag=7 scheduler_tag=9 ", "tag=7 ", ""] {
        let text = command("1.000100", "start", tag, read)
            + &command("1.000350", "done", tag, read)
            + &command("1.000400", "start", tag, flush)
            + &command("1.000700", "done", tag, flush);
        let blocks = vec![(WorkOp::Read, 8008, 8192, 0), (WorkOp::Flush, 0, 0, 300_000)];
        assert_eq!(told(&text), (blocks, vec![Some(250), Some(300)], 0), "{tag}");
        let trace = parse(&text, &TraceOptions::default()).unwrap();
        assert!(trace.requests[0].flags.fua && &*trace.devices[0].name == "0:0:0:3");
        assert!(trace.report.warnings().iter().any(|w| w.starts_with("blocks of 0:0:0:3 are taken for 4 KiB")));
    }
    let page = |at: u64| {
        command("2.0", "start", "", &format!("WRITE_10 lba={} txlen=16 protect=0 raw=2a 00 00 00", 8 * at))
            + &command("2.1", "done", "", &format!("WRITE_10 lba={} txlen=16 protect=0 raw=2a 00 00 00", 8 * at))
    };
    let (sectors, _, _) = told(&(0..9).map(|at| page(9 * at)).collect::<String>());
    assert_eq!(sectors[1], (WorkOp::Write, 72, 8192, 0), "pages of a disk with sectors of 512 B");
}

#[test]
fn what_a_probe_has_printed_is_read() {
    let one = (vec![(WorkOp::Write, 2048, 4096, 0)], vec![None], 0);
    for line in ["8388608 WS 2048 8", "dev=8388608, rwbs=WS, sector=2048, nr=8", "dev: 8,0 op: WS at: 2048 len: 8"] {
        let text =
            format!(" p-1 [000] d..1 1.000100: bpf_trace_printk: {line}\n p-1 [000] d..1 1.2: bpf_trace_printk: hi\n");
        assert_eq!(told(&text), one, "{line}");
    }
}

#[test]
fn lost_events_of_a_text_are_counted() {
    let text = sample(Format::Ftrace).to_owned() + "CPU:3 [LOST 12 EVENTS]\n";
    let trace = parse(&text, &TraceOptions::default()).unwrap();
    assert_eq!(trace.report.sequence_gaps, 12);
}
