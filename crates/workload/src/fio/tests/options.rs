//! Every option: how it is refused, and that it is taken.

use super::*;
use crate::fio::options::{Options, Outcome};

fn bad(line: &str, allowed: &str) {
    let (key, value) = line.split_once('=').unwrap();
    assert_eq!(
        refused(&format!("[a]\nsize=1m\n{line}\n")),
        format!("t.fio:3: {key}={value:?} is not allowed; allowed: {allowed}"),
    );
}

#[test]
fn bad_values_name_line_key_value_and_range() {
    let rw = "read, write, rw, readwrite, trim or trimwrite, optionally with a colon and the bytes to leave out after \
              each request (-8k goes back), or randread, randwrite, randrw, randtrim or randtrimwrite, optionally with \
              a colon and how many requests follow each other from a place on";
    bad("rw=randwritetrim", rw);
    bad("rw=read:100", rw);
    bad("readwrite=x", rw);
    let sizes = "one to three (read, write, trim) sizes or ranges such as 4k-64k, from 512 to 1g, each a multiple of \
                 512; separated by commas; an empty one stays as it was (what a page cache makes of smaller writes are \
                 pages: bs=4k)";
    bad("bs=511", sizes);
    bad("bsrange=4k-", sizes);
    bad("blocksize_range=4k-9k-", sizes);
    bad("blocksize=,,", sizes);
    let split = "size/percentage:size/percentage... with sizes from 512 to 1g in multiples of 512 and percentages \
                 that add up to 100 at most; up to three lists (read, write, trim) separated by commas";
    bad("bssplit=4k/101", split);
    let amount = "a number of bytes (suffixes k, m, g, t, p) or a percentage from 1% to 100%";
    bad("size=0%", amount);
    bad("io_size=x", amount);
    let place = "a number of bytes (suffixes k, m, g, t, p) or a percentage from 0% to 100%";
    bad("offset=101%", place);
    bad("offset_increment=-1", place);
    let engine = "an engine of fio that reads and writes blocks (cpuio, net, netsplice, exec, ftruncate, mtd, http and \
                  those of files and directories do not)";
    bad("ioengine=filecreate", engine);
    let bytes = "a number of bytes, optionally with k, m, g, t or p (1024-based; ki, mi, ... are 1000-based as in fio)";
    bad("filesize=50%", bytes);
    bad("iodepth=0", "a whole number from 1 to 65536");
    bad("numjobs=65536", "a whole number from 1 to 65535");
    let percent = "a whole number from 0 to 100";
    bad("rwmixread=101", percent);
    bad("rwmixwrite=x", percent);
    let switch = "0, 1, true or false";
    for key in ["randrepeat", "norandommap", "end_fsync", "direct", "buffered", "time_based", "stonewall", "new_group"]
    {
        bad(&format!("{key}=2"), switch);
    }
    bad("group_reporting=x", switch);
    let count = "a whole number from 0 to 4294967295";
    for key in ["fsync", "fdatasync", "write_barrier", "number_ios"] {
        bad(&format!("{key}=-1"), count);
    }
    let positive = "a whole number from 1 to 4294967295";
    bad("loops=0", positive);
    bad("thinktime_blocks=0", positive);
    let time = "a time below 2^62 ns (146 years), optionally with us, ms, s, m, h or d";
    for key in ["runtime", "thinktime", "startdelay", "ramp_time"] {
        bad(&format!("{key}=1w"), time);
    }
    let rate = "one to three (read, write, trim) requests per second from 1 to 1000000000, optionally with k, m or g \
                (1024-based as in fio), separated by commas";
    bad("rate_iops=0", rate);
    bad("rate_iops=1,2,3,4", rate);
    let bandwidth = "one to three (read, write, trim) bandwidths in bytes per second from 1 to 1p, with the suffixes \
                     of bytes; separated by commas";
    bad("rate=0", bandwidth);
    bad("rate=2p", bandwidth);
    bad("nrfiles=0", "a whole number from 1 to 1048576");
    bad("nr_files=1048577", "a whole number from 1 to 1048576");
    let service = "roundrobin, sequential or random, each also with :N for N requests to a file at a time";
    bad("file_service_type=roundrobin:0", service);
    bad("file_service_type=all", service);
    bad("read_iolog=", "paths of fio iologs, separated by colons (a colon in a path is \\:)");
    bad("replay_no_stall=2", "0, 1, true or false");
    let distribution = "random, zipf:theta (theta above 0, at most 10, not 1), pareto:h (0 < h < 1), normal:deviation \
                        (above 0 to 100 per cent), each also with :centre (0 to 1, where the most frequent block \
                        lies), zoned:requests/blocks:... (per cent, each adding up to 100) or \
                        zoned_abs:requests/bytes:...";
    bad("random_distribution=zipf:1", distribution);
    bad("randseed=-1", "a whole number from 0 to 18446744073709551615");
    bad("kb_base=1000", "1024");
    bad("name=", "a name that is not empty");
    bad("filename=a::b", "names of files, separated by colons (a colon in a name is \\:)");
}

#[test]
fn unknown_options_and_foreign_lines_are_named() {
    assert_eq!(refused("[a]\nsize=1m\nio_sise=4k\n"), "t.fio:3: unknown option \"io_sise\"; did you mean \"io_size\"?");
    assert_eq!(
        refused("bs=4k\n[a]\nsize=1m\n"),
        "t.fio:1: \"bs\" is not understood; expected [name] before the first option"
    );
    assert_eq!(refused("[a\nsize=1m\n"), "t.fio:1: \"[a\" is not understood; expected [name]");
    assert_eq!(refused("[global]\nbs=4k\n"), "t.fio: no job: expected at least one section besides [global]");
    assert_eq!(
        refused("[a]\n; ufsim: warm\nsize=1m\n"),
        "t.fio:2: \"ufsim: warm\" is not understood; expected \"; ufsim: warmup\" inside of a section"
    );
    let long = refused(&format!("[a]\n{}=1\n", "é".repeat(500)));
    assert!(long.len() < 200 && !long.contains('\n'), "{long}");
}

#[test]
fn options_that_do_nothing_here_are_warned_about() {
    let text = "[a]\nsize=1m\nioengine=libaio\ndirectory=/mnt\nrefill_buffers\nzonemode=zbd\ndirect=0\nioengine=psync\n\
                direct=1\nbuffered=0\nkb_base=1024\nfile_service_type=zipf:1.2\n";
    let file = JobFile::parse(text, "t.fio").unwrap();
    let found: Vec<_> = file.warnings().iter().map(|w| (w.line, w.key.as_str(), w.fio_can)).collect();
    assert_eq!(
        found,
        [
            (3, "ioengine", false),
            (4, "directory", false),
            (5, "refill_buffers", false),
            (6, "zonemode", false),
            (7, "direct", true),
            (8, "ioengine", false),
            (12, "file_service_type", true)
        ]
    );
    let message = "line 5: option \"refill_buffers\": has no meaning on a simulated device and is ignored";
    assert_eq!(file.warnings()[2].to_string(), message);
    let message = "line 12: option \"file_service_type\": is not modelled: files take turns (roundrobin); ufsim linux \
                   runs fio itself";
    assert_eq!(file.warnings()[6].to_string(), message);
}

#[test]
fn a_job_without_an_end_makes_one_pass() {
    let text = "[global]\ntime_based\n[a]\nsize=8k\n";
    let file = JobFile::parse(text, "t.fio").unwrap();
    let message = "line 3: option \"time_based\": needs runtime; without it the job makes one pass, as in fio";
    assert_eq!(file.warnings().iter().map(ToString::to_string).collect::<Vec<_>>(), [message]);
    assert_eq!(run(text).len(), 2);
}

#[test]
fn the_lists_of_known_options_name_none_that_is_taken() {
    let names = known::CHANGES_REQUESTS.iter().chain(known::NO_EFFECT).chain(known::OF_ENGINES);
    for name in names {
        let mut options = Options::default();
        let outcome = options.set(name, "1");
        assert!(matches!(outcome, Ok(Outcome::Remark(..))), "{name}: {outcome:?}");
    }
}

#[test]
fn globals_hold_for_the_jobs_below_them_and_comments_are_skipped() {
    let text =
        "# c\n; c\n[a]\nsize=8k\n[GLOBAL]\nrw=write ; to the end\nsize=16k\n[b]\n[c]\nsize=4k # less\nrw = read\n";
    let issued = run(text);
    assert_eq!(ops_of(&issued), "rwrrwww");
    assert_eq!(issued.iter().map(|i| i.request.line).collect::<Vec<_>>(), [3, 8, 9, 3, 8, 8, 8]);
}

#[test]
fn jobs_that_cannot_run_are_named() {
    assert_eq!(refused("[a]\nrw=read\n"), "t.fio:1: job \"a\": needs size= (or filename= for a file that has a size)");
    assert_eq!(
        refused("[a]\nsize=1m\nrate=,1m\nrate_iops=100\n"),
        "t.fio:1: job \"a\": rate and rate_iops exclude each other"
    );
    assert_eq!(
        refused("[a]\nsize=12k\nnrfiles=4\n"),
        "t.fio:1: job \"a\": a block of 4096 bytes does not fit into 3072 bytes (size / 4 files)"
    );
    assert_eq!(
        refused("[a]\nsize=64k\nnrfiles=600000\n[b]\nsize=4k\nnrfiles=600000\n"),
        "t.fio:4: job \"b\": has file number 1200000; at most 1048576 are allowed"
    );
    assert_eq!(
        refused("[a]\nsize=8k\nbs=16k\n"),
        "t.fio:1: job \"a\": a block of 16384 bytes does not fit into 8192 bytes (size less offset)"
    );
    assert_eq!(refused("[a]\nsize=1m\noffset=100\n"), "t.fio:1: job \"a\": offset 100 is no multiple of 512");
    assert_eq!(
        refused("[a]\nsize=1m\n[b]\nfilename=f\n"),
        "t.fio:3: job \"b\": needs size=: no job gives file \"f\" a size"
    );
    assert_eq!(refused("[a]\nsize=1m\nio_size=0\n"), "t.fio:1: job \"a\": has nothing to do: io_size is 0 bytes");
    assert_eq!(
        refused("[a]\nsize=512m\n[b]\nname=big\nnumjobs=2\nsize=300m\n"),
        "t.fio:3: job \"big\" needs bytes 851443712 to 1166016512 of the device, which has 1073741824 \
         (262144 units of 4 KiB)"
    );
    assert_eq!(
        refused("[a]\nsize=4k\nnumjobs=65000\n[b]\nsize=4k\nnumjobs=600\n"),
        "t.fio:4: job \"b\": is clone number 65600; at most 65536 are allowed"
    );
}
