//! What a job file takes from elsewhere: variables, included files, logs.

use std::collections::BTreeMap;
use std::path::Path;

use super::*;
use crate::fio::{ConfigError, Surroundings};
use crate::{TraceError, TraceFile};
use units::Lpa;

/// Variables and files that a test makes up.
#[derive(Default)]
struct MadeUp {
    variables: BTreeMap<&'static str, &'static str>,
    files: BTreeMap<&'static str, String>,
}

impl MadeUp {
    fn with(mut self, path: &'static str, text: &str) -> MadeUp {
        self.files.insert(path, text.into());
        self
    }

    fn parse(&self, text: &str) -> Result<JobFile, ConfigError> {
        JobFile::parse_in(text, "jobs/t.fio", self)
    }

    fn refused(&self, text: &str) -> String {
        self.parse(text).and_then(|file| file.bind(UNITS, 1).map(drop)).unwrap_err().to_string()
    }

    fn run(&self, text: &str) -> Vec<Issued> {
        run_for(&mut self.parse(text).unwrap().bind(UNITS, 1).unwrap(), 100_000).0
    }
}

impl Surroundings for MadeUp {
    fn variable(&self, name: &str) -> Option<String> {
        self.variables.get(name).map(|&value| value.to_owned())
    }

    fn text(&self, path: &Path) -> Result<String, String> {
        self.files.get(path.to_str().unwrap()).cloned().ok_or_else(|| "no such file".into())
    }

    fn log(&self, path: &Path) -> Result<TraceFile, TraceError> {
        let name = path.display().to_string();
        match self.files.get(name.as_str()) {
            Some(text) => Ok(TraceFile::new(name, text.clone().into())),
            None => Err(TraceError::Io { file: name, source: std::io::ErrorKind::NotFound.into() }),
        }
    }
}

#[test]
fn variables_come_from_the_environment_and_are_told() {
    let around = MadeUp {
        variables: [("SIZE", "16k"), ("K", "k"), ("EMPTY", ""), ("LINES", "a\nb")].into(),
        ..MadeUp::default()
    };
    let file = around.parse("[a]\nrw=write\nsize=${SIZE}${EMPTY}\nbs=4${K}\n").unwrap();
    assert_eq!(units_of(&run_for(&mut file.bind(UNITS, 1).unwrap(), 100).0), [0, 1, 2, 3]);
    assert_eq!(file.whole(), Some("[a]\nrw=write\nsize=16k\nbs=4k\n"));
    let told: Vec<String> = file.warnings().iter().map(ToString::to_string).collect();
    assert_eq!(told[0], "line 3: option \"size\": ${SIZE} is \"16k\" in the environment");
    assert_eq!((told.len(), file.warnings()[0].fio_can), (3, false));
    // A value may hold what is no value anywhere else.
    assert_eq!(
        around.refused("[a]\nsize=${NONE}\n"),
        "jobs/t.fio:2: size=\"${NONE}\": the environment has no variable \"NONE\"; set it"
    );
    assert_eq!(
        around.refused("[a]\nsize=${SIZE\n"),
        "jobs/t.fio:2: \"${SIZE\" is not understood; expected a variable as ${NAME}"
    );
    for value in ["${}", "$${EMPTY}{K}"] {
        assert!(around.refused(&format!("[a]\nsize={value}\n")).contains("a variable as ${NAME}"), "{value}");
    }
    assert!(around.refused("[a]\nname=${LINES}\n").contains("a variable of one line"));
    assert!(refused("[a]\nsize=${SIZE}\n").contains("no variable \"SIZE\""), "a job that is read by itself");
    assert_eq!(around.parse("[a]\nsize=1m\n").unwrap().whole(), None);
}

#[test]
fn included_options_belong_to_the_section_that_includes_them() {
    let around = MadeUp::default()
        .with("jobs/common.fio", "\u{feff}; shared\nrw=write\ninclude deep/er.fio\n")
        .with("jobs/deep/er.fio", "bs=8k\ninclude ../last.fio")
        .with("jobs/last.fio", "size=16k");
    let text = "[global]\ninclude common.fio\n[a]\n[b]\ninclude ./last.fio ; again\nsize=8k\n";
    let issued = around.run(text);
    assert_eq!(ops_of(&issued), "www");
    assert_eq!(units_of(&issued), [0, 4, 2]);
    let whole = around.parse(text).unwrap();
    assert_eq!(
        whole.whole(),
        Some("[global]\n; shared\nrw=write\nbs=8k\nsize=16k\n[a]\n[b]\nsize=16k\nsize=8k\n"),
        "it stands for itself"
    );
    let again = run(whole.whole().unwrap());
    assert_eq!(units_of(&again), [0, 4, 2]);
}

#[test]
fn what_cannot_be_included_is_named_with_file_and_line() {
    let around = MadeUp::default()
        .with("jobs/self.fio", "bs=4k\ninclude ./self.fio\n")
        .with("jobs/x.fio", "include y.fio\n")
        .with("jobs/y.fio", "\ninclude x.fio\n")
        .with("jobs/section.fio", "bs=4k\n[b]\n")
        .with("jobs/bad.fio", "\nbs=5\n")
        .with("jobs/warn.fio", "\nioengine=libaio\n")
        .with("jobs/twice.fio", &"; a long comment, again and again\n".repeat(1 << 14));
    let told = |line: &str| around.refused(&format!("[a]\nsize=1m\n{line}\n"));
    assert_eq!(told("include none.fio"), "jobs/t.fio:3: include none.fio: jobs/none.fio: no such file");
    assert_eq!(
        told("include self.fio"),
        "jobs/self.fio:2: include ./self.fio: includes itself: jobs/t.fio -> jobs/self.fio -> jobs/self.fio"
    );
    assert!(told("include x.fio").starts_with("jobs/y.fio:2: include x.fio: includes itself: jobs/t.fio -> "));
    assert!(told("include t.fio").contains("includes itself: jobs/t.fio -> jobs/t.fio"));
    let section = "jobs/section.fio:2: \"[b]\" is not understood; expected no section, but options: the file is \
                   included into one";
    assert_eq!(told("include section.fio"), section);
    assert!(told("include bad.fio").starts_with("jobs/bad.fio:2: bs=\"5\" is not allowed"));
    assert!(told(&"include twice.fio\n".repeat(3)).contains("the files included have more than 1048576 bytes"));
    assert_eq!(
        around.refused("include bad.fio\n[a]\n"),
        "jobs/t.fio:1: \"include\" is not understood; expected [name] before the first option"
    );
    // Behind a file that is included, lines are again those of the job file.
    assert!(told("include warn.fio\nbs=5").starts_with("jobs/t.fio:4: bs=\"5\""));
    let warning = around.parse("[a]\nsize=1m\ninclude warn.fio\n").unwrap().warnings()[0].to_string();
    assert!(warning.starts_with("jobs/warn.fio: line 2: option \"ioengine\": "), "{warning}");
    let deep = (0..20).fold(MadeUp::default(), |around, n| {
        let name: &'static str = format!("jobs/{n}").leak();
        around.with(name, &format!("include {}\n", n + 1))
    });
    assert!(deep.refused("[a]\ninclude 0\n").ends_with("more than 16 files inside of each other"));
}

const LOG: &str = "fio version 2 iolog\n/dev/a add\n/dev/b add\n/dev/a open\n/dev/a write 8192 4096\n\
                   /dev/b read 0 16384\n/dev/a wait 50 0\n/dev/a trim 4096 4096\n/dev/a sync 0 0\n\
                   /dev/b read 4096 512\n/dev/a close\n";

fn with_log() -> MadeUp {
    MadeUp::default().with("jobs/l.log", LOG)
}

#[test]
fn a_log_is_replayed_in_its_order_at_its_times() {
    let text = "[a]\nread_iolog=l.log\niodepth=8\nrw=randwrite\nbs=64k\n[b]\nrw=write\nsize=8k\nstonewall\n";
    let issued = with_log().run(text);
    // /dev/a has 12 KiB, /dev/b 16 KiB behind it, then the file of job b.
    let places: Vec<_> = issued.iter().map(|i| (i.request.sector * 512, i.request.bytes)).collect();
    assert_eq!(ops_of(&issued), "wrtfrww");
    assert_eq!(
        places,
        [(8192, 4096), (12288, 16384), (4096, 4096), (0, 0), (16384, 512), (28672, 4096), (32768, 4096)]
    );
    // The flush waits for the write only; what follows waits for the flush, which takes 1 us.
    assert_eq!(times_of(&issued)[..5], [0, 0, 50, 50, 51]);
    let source = with_log().parse(text).unwrap().bind(UNITS, 1).unwrap();
    let range = |first, count| crate::UnitRange { first: Lpa(first), count };
    assert_eq!(source.footprint().ranges(), [range(3, 4)]);
    assert_eq!(source.preconditioning_ranges().ranges(), [range(1, 8)]);
    assert_eq!(source.progress().total, Some(4096 + 16384 + 4096 + 512 + 8192));
}

#[test]
fn what_holds_for_a_log_is_depth_loops_time_and_no_stall() {
    let run = |options: &str| with_log().run(&format!("[a]\nread_iolog=l.log\n{options}\n"));
    assert_eq!(times_of(&run("iodepth=1")), [0, 1, 50, 51, 52]);
    assert_eq!(times_of(&run("iodepth=1\nreplay_no_stall=1")), [0, 1, 2, 3, 4]);
    assert_eq!(ops_of(&run("iodepth=1\nloops=2\nreplay_no_stall")), "wrtfrwrtfr");
    assert_eq!(times_of(&run("iodepth=8\nloops=2"))[5..], [51, 51, 101, 101, 102]);
    assert_eq!(times_of(&run("iodepth=8\nruntime=20us")), [0, 0]);
    assert_eq!(run("iodepth=1\nruntime=9us\ntime_based\nreplay_no_stall").len(), 9);
    let measured: Vec<_> = run("iodepth=8\nramp_time=10us").iter().map(|i| i.measured).collect();
    assert_eq!(measured, [false, false, true, true, true]);
    // Every clone replays all of it, on the same files.
    assert_eq!(units_of(&run("iodepth=1\nnumjobs=2\nreplay_no_stall"))[..4], [2, 2, 3, 3]);
}

#[test]
fn a_log_in_version_3_has_its_times_in_every_line() {
    let log = "fio version 3 iolog\n0 f add\n0 f open\n7 f read 0 4096\n9 f write 4096 4096\n30 f close\n";
    let around = MadeUp::default().with("jobs/l.log", log);
    assert_eq!(times_of(&around.run("[a]\nread_iolog=l.log\niodepth=4\n")), [7, 9]);
}

#[test]
fn logs_that_cannot_be_replayed_are_named() {
    let told = |log: &str| MadeUp::default().with("jobs/l.log", log).refused("[a]\nread_iolog=l.log\n[b]\nsize=4k\n");
    assert_eq!(
        told("junk\n"),
        "jobs/t.fio:1: job \"a\": read_iolog: jobs/l.log: line 1, column 1: not the first line of an iolog; allowed: \
         fio version 2 iolog, or 3"
    );
    assert!(told("").ends_with("jobs/l.log: has no accesses"));
    assert!(told("fio version 2 iolog\nf add\nf sync 0 0\n").ends_with("has no accesses"));
    assert!(told("fio version 2 iolog\nf read 0 2147483648\n").ends_with("allowed are 1073741824"));
    let beyond = told("fio version 2 iolog\nf read 4398046511104 4096\n");
    assert!(beyond.contains("job \"a\" needs bytes 0 to 4398046515200 of the device"), "{beyond}");
    let beyond = told("fio version 2 iolog\nf read 18446744073709551615 4096\n");
    assert!(beyond.contains("of the device, which has"), "{beyond}");
    assert!(MadeUp::default().refused("[a]\nread_iolog=none\n").contains("read_iolog: jobs/none: "));
    assert!(refused("[a]\nread_iolog=none\n").contains("a job that is read by itself has no logs"));
}

/// What ages a device decides the name of its state: other contents of a log make another text.
#[test]
fn the_whole_text_tells_logs_apart() {
    let whole = |log: &str| {
        let around = MadeUp::default().with("jobs/l.log", log);
        around.parse("[a]\nread_iolog=l.log\n").unwrap().whole().unwrap().to_owned()
    };
    let other = LOG.replace("8192 4096", "4096 4096");
    assert_ne!(whole(LOG), whole(&other));
    assert_eq!(whole(LOG), whole(LOG));
    assert!(whole(LOG).starts_with("[a]\nread_iolog=l.log\n; l.log: 5 accesses, digest "), "{}", whole(LOG));
}

#[test]
fn clones_replay_the_logs_of_a_list_in_turn() {
    let other = "fio version 2 iolog\nf add\nf open\nf read 0 8192\n";
    let around = MadeUp::default().with("jobs/l.log", LOG).with("jobs/m.log", other);
    let issued = around.run("[a]\nread_iolog=l.log:m.log\nnumjobs=3\nreplay_no_stall=1\n");
    let alone = |log: &str| around.run(&format!("[a]\nread_iolog={log}\nreplay_no_stall=1\n")).len();
    assert_eq!(issued.len(), 2 * alone("l.log") + alone("m.log"));
}
