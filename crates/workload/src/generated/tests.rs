use std::collections::BTreeSet;

use params::Params;

use super::*;
use crate::{Flags, WorkOp};

fn parse(text: &str) -> Result<Generated, GeneratedError> {
    Generated::parse(text, "x.toml")
}

fn trace(text: &str) -> Trace {
    parse(text).expect(text).trace("x", 1).expect(text)
}

/// Name and text of a description, and the MB read and written of Table III.
type Bundled = (&'static str, &'static str, Option<(u64, u64)>);

/// The workloads of HP-UFS Table III that come with the program. The paper says nothing of the last two's volumes.
const BUNDLED: [Bundled; 8] = [
    ("clash-royale", include_str!("../../../../papers/hp-ufs/jobs/f9-clash-royale.toml"), Some((7, 90))),
    ("instagram", include_str!("../../../../papers/hp-ufs/jobs/f9-instagram.toml"), Some((3, 236))),
    ("maps", include_str!("../../../../papers/hp-ufs/jobs/f9-maps.toml"), Some((27, 93))),
    ("youtube", include_str!("../../../../papers/hp-ufs/jobs/f9-youtube.toml"), Some((5, 111))),
    ("camera-video", include_str!("../../../../papers/hp-ufs/jobs/f9-camera-video.toml"), Some((13, 1729))),
    ("play-video", include_str!("../../../../papers/hp-ufs/jobs/f9-play-video.toml"), Some((1782, 17))),
    ("app-install", include_str!("../../../../papers/hp-ufs/jobs/f9-app-install.toml"), None),
    ("app-update", include_str!("../../../../papers/hp-ufs/jobs/f9-app-update.toml"), None),
];

/// Units that requests touch.
fn touched<'a>(requests: impl Iterator<Item = &'a WorkRequest>) -> u64 {
    crate::Footprint::from_ranges(requests.map(WorkRequest::units)).units()
}

/// Table III rounds to MB, and descriptions take what it prints, in its MB of 1000 KiB: with these, and with no other
/// unit, it has the volumes of the recorded traces but for one misprint (14,260 and 82,856 KiB of X are "14 / 83").
#[test]
fn bundled_workloads_have_the_volumes_of_table_iii() {
    for (name, text, volumes) in BUNDLED {
        let generated = Generated::parse(text, name).unwrap_or_else(|error| panic!("{error}"));
        let trace = generated.trace(name, 1).unwrap();
        let counted = (trace.report.read_bytes, trace.report.write_bytes);
        if let Some((read, written)) = volumes {
            assert_eq!(counted, (read * 1_024_000, written * 1_024_000), "{name}");
        }
        // The share of writes is that of bytes, for reads and writes are of one size on an aged volume, but for some
        // long pieces, by which a share of requests may differ: 3298 of 61,030.
        let by_bytes = counted.1 as f64 / (counted.0 + counted.1) as f64;
        let by_requests = trace.report.writes as f64 / (trace.report.reads + trace.report.writes) as f64;
        assert!((by_bytes - by_requests).abs() < 3298.0 / 61_030.0, "{name}: {by_bytes} {by_requests}");
        assert_eq!(trace.report.unaligned, 0, "{name}");
        assert!(text.contains("[sources]") && text.contains("[assumed]"), "{name} says where its numbers come from");
    }
}

/// Requests are pieces of the volume, with 10.1 KiB on average. Ends of segments cut some, and commits have 4 KiB.
#[test]
fn bundled_workloads_have_requests_as_small_as_the_phone_had() {
    for (name, text, _) in BUNDLED {
        let trace = Generated::parse(text, name).unwrap().trace(name, 1).unwrap();
        for (op, count, bytes) in [
            (WorkOp::Read, trace.report.reads, trace.report.read_bytes),
            (WorkOp::Write, trace.report.writes, trace.report.write_bytes),
        ] {
            let mean = bytes as f64 / 1024.0 / count.max(1) as f64;
            // Four standard deviations; a single request has one of 20 KiB.
            let chance = 4.0 * 20.0 / (count.max(1) as f64).sqrt();
            assert!(count == 0 || (mean - 9.9).abs() < 0.4 + chance, "{name} {op:?}: {mean} KiB of {count}");
        }
    }
}

/// Shares that were measured, in thousandths as descriptions quote them; a volume is a multiple of 4 KiB.
#[test]
fn bundled_workloads_have_the_shares_that_they_name() {
    let kib = |name: &str, wanted: &str| {
        let (_, text, _) = BUNDLED.iter().find(|(known, _, _)| *known == name).expect(name);
        let generated = Generated::parse(text, name).unwrap();
        generated.activities.iter().find(|activity| activity.name == wanted).expect(wanted).params.kib
    };
    // Telegram's installation on a Pixel 6a wrote 143,540 KiB; there are eight apps.
    let installed = 8 * 143_540;
    for (name, activity, thousandths, of_kib) in [
        ("clash-royale", "databases", 249, 90_000),
        ("maps", "databases", 249, 93_000),
        ("youtube", "databases", 249, 111_000),
        ("play-video", "databases", 249, 17_000),
        ("instagram", "databases", 291, 236_000),
        ("app-install", "compiled", 126, installed),
        ("app-install", "installer", 130, installed),
        ("app-update", "compiled", 126, installed),
        ("app-update", "installer", 130, installed),
    ] {
        let off = kib(name, activity).abs_diff(of_kib * thousandths / 1000);
        assert!(off <= 4, "{name} {activity}: off by {off} KiB");
    }
    assert!(kib("camera-video", "databases").abs_diff(9_364 * 300 / 161) <= 4);
    for name in ["app-install", "app-update"] {
        let all: u32 = ["packages", "compiled", "installer"].iter().map(|activity| kib(name, activity)).sum();
        assert_eq!(all, installed, "{name}");
    }
    assert_eq!(kib("app-update", "old-packages"), kib("app-update", "packages"));
}

#[test]
fn the_job_file_has_every_key_with_its_default() {
    let text = include_str!("../../../../jobs/generated.toml");
    let file: params::Table = text.parse().unwrap();
    let given = |table: &params::Value| table.as_table().unwrap().keys().cloned().collect::<BTreeSet<String>>();
    let all =
        |fields: Vec<params::Field>| fields.iter().map(|field| field.key.to_owned()).collect::<BTreeSet<String>>();
    assert_eq!(given(&file["generated"]), all(<spec::Common as Params>::fields()));
    let activities = &file["activity"];
    let both = &given(&activities["writer"]) | &given(&activities["reader"]);
    assert_eq!(both, all(<spec::ActivityParams as Params>::fields()));
    let short = "[generated]\n[activity.reader]\ndoes = \"read\"\nkib = 4_000\n[activity.writer]\nkib = 40_000";
    assert_eq!(parse(text), parse(short));
}

#[test]
fn one_seed_gives_one_trace_and_another_seed_another() {
    for (name, text, _) in BUNDLED {
        let generated = Generated::parse(text, name).unwrap();
        let of = |seed| generated.trace(name, seed).unwrap();
        assert_eq!(of(1).requests, of(1).requests, "{name}");
        assert_ne!(of(1).requests, of(2).requests, "{name}");
    }
}

#[test]
fn what_is_written_is_new_but_for_rewrites_which_stay_among_the_hot() {
    let text =
        |percent| format!("[generated]\n[activity.db]\nkib = 40_000\nrewrite_percent = {percent}\nhot_kib = 400");
    let new = trace(&text(0));
    assert_eq!(touched(new.requests.iter()), 10_000);
    let rewriting = trace(&text(50));
    let first_writes = touched(rewriting.requests.iter());
    // Exact but for the last piece.
    assert!((5_000 - 169..=5_000 + 169).contains(&first_writes), "{first_writes}");
    let mut seen = BTreeSet::new();
    let mut again = BTreeSet::new();
    for request in &rewriting.requests {
        let (first, count) = request.units();
        for unit in first.0..first.0 + count {
            if !seen.insert(unit) {
                again.insert(unit);
            }
        }
    }
    // The last hot piece may be longer than what was left of 100 units.
    assert!((90..=100 + 169).contains(&again.len()), "{}", again.len());
}

#[test]
fn commits_come_at_their_interval_and_count_as_writes() {
    let made = trace("[generated]\n[activity.db]\nkib = 4_000\ncommit_kib = 40\nsync = true");
    assert_eq!((made.report.fua, made.report.preflushes, made.report.write_bytes), (100, 100, 4_000 << 10));
    let commit = Flags { fua: true, preflush: true, sync: true, ..Flags::default() };
    let mut since = 0;
    for request in &made.requests {
        since += request.bytes >> 10;
        if request.flags == commit {
            assert_eq!((request.bytes, since), (4096, 40));
            since = 0;
        } else {
            assert_eq!(request.flags, Flags { sync: true, ..Flags::default() });
        }
    }
}

#[test]
fn reads_are_read_once_and_discarded_where_they_are_to_be() {
    let made =
        trace("[generated]\n[activity.old]\ndoes = \"read\"\nkib = 40_000\ndiscard_kib = 8_000\nrequest_kib = 16");
    let of = |op| made.requests.iter().filter(move |r: &&WorkRequest| r.op == op);
    assert_eq!((touched(of(WorkOp::Read)), touched(of(WorkOp::Trim))), (10_000, 10_000));
    assert!(of(WorkOp::Read).all(|r| r.bytes <= 16 << 10 && r.flags.readahead));
    let mut left: i64 = 0;
    for request in &made.requests {
        left += if request.op == WorkOp::Read { request.bytes as i64 } else { -(request.bytes as i64) };
        assert!((0..8_016 << 10).contains(&left), "{left} bytes are read and not discarded");
    }
    assert_eq!(left, 0);
}

#[test]
fn activities_go_side_by_side_in_time_on_all_processors() {
    let reads = "does = \"read\"\nkib = 4_000";
    let common = "seconds = 100\nprocessors = 3";
    let made = trace(&format!("[generated]\n{common}\n[activity.a]\nkib = 40_000\n[activity.b]\n{reads}"));
    assert_eq!((made.processes.as_slice(), made.files.len()), (["a".to_owned(), "b".to_owned()].as_slice(), 3));
    let half = made.requests.iter().filter(|r| r.arrival.0 < 50_000_000_000);
    let of = |number| half.clone().filter(|r| r.process.0 == number).map(|r| r.bytes).sum::<u64>() >> 10;
    // A burst of 144 KiB more or less, with a long piece at its end.
    assert!((19_700..=20_300).contains(&of(0)) && (1_700..=2_300).contains(&of(1)), "{} {}", of(0), of(1));
    assert!(made.requests.is_sorted_by_key(|r| r.arrival));
    assert!(made.report.duration.as_secs_f64() > 99.0 && made.requests[0].arrival == SimTime::START);
    let streams: BTreeSet<u16> = made.requests.iter().map(|r| r.stream.0).collect();
    assert_eq!(streams, BTreeSet::from([0, 1, 2]));
}

#[test]
fn a_fresh_volume_gives_large_requests() {
    let made =
        trace("[generated]\nlayout = \"fresh\"\n[activity.video]\nkib = 40_960\nrequest_kib = 512\nburst_kib = 4096");
    assert_eq!((made.report.writes, made.report.write_bytes), (80, 40 << 20));
}

#[test]
fn wrong_descriptions_are_named_with_what_is_allowed() {
    for (text, told) in [
        ("[generated", "x.toml: line 1: "),
        ("[activity.a]\nkib = 4", "x.toml: there is no table [generated]"),
        ("[generated]", "x.toml: there is no table [activity.NAME]"),
        ("[generated]\nseconds = 0\n[activity.a]\nkib = 4", "generated.seconds = 0: must be 1..=86400"),
        ("[generated]\n[activity.a]\nsync = true", "activity.a.kib is missing: must be 4..=16777216"),
        ("[generated]\n[activity.a]\nkib = 6", "activity.a.kib = 6: must be a multiple of 4"),
        ("[generated]\n[activity.a]\nkib = 8\nrequest_kib = 5", "activity.a.request_kib = 5: must be a multiple of 4"),
        (
            "[generated]\n[activity.a]\nkib = 4\nrite = 1",
            "activity.a.rite = 1: unknown key, must be one of does, kib, ",
        ),
        (
            "[generated]\n[activity.a]\nkib = 4\ndiscard_kib = 8",
            "activity.a.discard_kib = 8: has no effect on an activity that writes",
        ),
        (
            "[generated]\n[activity.a]\nkib = 4\ndoes = \"read\"\nsync = true",
            "activity.a.sync = true: has no effect on an activity that reads",
        ),
        ("[generated]\n[activity.a]\ndoes = \"trim\"", "must be one of \"write\", \"read\""),
        ("[generated]\n[activity]\na = 4", "activity.a: must be a table"),
        ("[generated]\n[app]", "x.toml: app: unknown table, must be [generated], [activity.NAME]"),
        (
            "[generated]\n[activity.a]\nkib = 16_777_216\n[activity.b]\nkib = 4",
            "the activities take 16777220 KiB together: must be at most 16777216",
        ),
        (
            "[generated]\nseconds = 9\n[activity.a]\nkib = 4\n[sources]\n\"activity.a.kib\" = \"x\"",
            "generated.seconds stands 0 times in [sources] and [assumed]: must be once",
        ),
        (
            "[generated]\n[activity.a]\nkib = 4\n[assumed]\n\"activity.a.kib\" = \"x\"\n\"activity.b.kib\" = \"x\"",
            "activity.b.kib stands in [sources] or [assumed], but has no value",
        ),
    ] {
        let error = parse(text).expect_err(text).to_string();
        assert!(error.contains(told), "{text}: {error}");
    }
    let small = parse("[generated]\nvolume_mib = 16\n[activity.a]\nkib = 20_000").unwrap();
    let told = "x.toml: generated.volume_mib = 16: too small for what the activities write and read";
    assert_eq!(small.trace("x", 1).unwrap_err().to_string(), told);
}
