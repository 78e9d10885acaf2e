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
    let error = parse(&both, &TraceOptions::default()).unwrap_err().to_string();
    assert_eq!(error, "t: requests of several devices (179:0, ufs); choose one with `device`");
    let chosen = |name: &str| {
        parse(&both, &TraceOptions { device: Some(name.into()), ..TraceOptions::default() }).unwrap().requests.len()
    };
    assert_eq!((chosen("179:0"), chosen("ufs")), (3, 1));
}

#[test]
fn lost_events_of_a_text_are_counted() {
    let text = sample(Format::Ftrace).to_owned() + "CPU:3 [LOST 12 EVENTS]\n";
    let trace = parse(&text, &TraceOptions::default()).unwrap();
    assert_eq!(trace.report.sequence_gaps, 12);
}
