//! Where requests go: files, regions, patterns, sizes, repetition.

use super::*;
use crate::{StreamId, UnitRange};
use units::{LogicalUnits, Lpa};

#[test]
fn files_lie_one_after_another_and_clones_have_their_own() {
    let issued =
        run("[a]\nrw=write\nsize=8k\nnumjobs=2\n[b]\nrw=read\nsize=4608\nbs=512\nnumber_ios=1\n[c]\nsize=4k\n");
    let mut units = units_of(&issued);
    units.sort_unstable();
    // The file of b has 4608 bytes; c begins on the next 4 KiB border.
    assert_eq!(units, [0, 1, 2, 3, 4, 6]);
}

#[test]
fn a_file_name_shares_the_file() {
    let issued =
        run("[global]\nfilename=f\n[a]\nsize=8k\nrw=write\n[b]\nstonewall\nrw=read\n[c]\nstonewall\noffset=4k\n");
    assert_eq!((units_of(&issued), ops_of(&issued).as_str()), (vec![0, 1, 0, 1, 1], "wwrrr"));
}

#[test]
fn without_any_size_the_only_file_is_the_device() {
    let mut source = bind("[a]\nfilename=/dev/sda\nrw=randread\n");
    assert_eq!(source.footprint().ranges(), [UnitRange { first: Lpa(0), count: UNITS }]);
    assert_eq!(run_for(&mut source, 10).0.len(), 10);
}

#[test]
fn percentages_are_of_the_device_or_of_the_size() {
    let ranges = |text| bind(text).preconditioning_ranges().ranges().to_vec();
    let range = |first, count| vec![UnitRange { first: Lpa(first), count }];
    assert_eq!(ranges("[a]\nsize=25%\n"), range(0, UNITS / 4));
    assert_eq!(ranges("[a]\nsize=25%\noffset=50%\n"), range(UNITS / 2, UNITS / 4));
    assert_eq!(ranges("[a]\nsize=40k\noffset=50%\n"), range(5, 10));
    assert_eq!(ranges("[a]\nfilesize=40k\noffset=50%\n"), range(5, 5));
    assert_eq!(ranges("[a]\nfilename=f\nsize=8k\nnumjobs=2\noffset_increment=16k\n").len(), 2);
}

/// Three logical units: 0 to 99, 100 to 149, 150 to 159.
fn bound(text: &str) -> Result<FioSource, ConfigError> {
    JobFile::parse(text, "t.fio").unwrap().bind_to(LogicalUnits::of(160, &[50, 10]), 1)
}

#[test]
fn names_of_disks_are_logical_units_where_there_are_several() {
    let ranges = |text| -> Vec<(u32, u32)> {
        let touched = bound(text).unwrap().preconditioning_ranges();
        touched.ranges().iter().map(|range| (range.first.0, range.count)).collect()
    };
    assert_eq!(ranges("[a]\nfilename=/dev/sda\n"), [(0, 100)]);
    assert_eq!(ranges("[a]\nfilename=/dev/sdb\nsize=8k\noffset=4k\n"), [(101, 2)]);
    assert_eq!(ranges("[a]\nfilename=/dev/sdb\nsize=50%\n"), [(100, 25)], "a share is of the disk");
    assert_eq!(ranges("[a]\nfilename=/dev/sdb\nrw=write\n[b]\nsize=8k\n"), [(0, 2), (100, 50)]);
    assert_eq!(ranges("[a]\nfilename=/dev/sdc:f\nsize=16k\n[b]\nsize=4k\n"), [(0, 3), (150, 2)]);
    let one = bind("[a]\nfilename=/dev/sdb\nsize=8k\n").preconditioning_ranges();
    assert_eq!(one.ranges()[0].first, Lpa(0), "of one unit, a name is only a name");
}

#[test]
fn nothing_lies_beyond_a_logical_unit() {
    let refused = |text| bound(text).unwrap_err().to_string();
    assert_eq!(
        refused("[a]\nfilename=/dev/sdd\n"),
        "t.fio:1: job \"a\": /dev/sdd is not there: the logical units are /dev/sda to /dev/sdc"
    );
    let too_large = |text, end, units: u64| {
        let told = format!("0 to {end} of the device, which has {} ({units} units of 4 KiB)", units * 4096);
        assert!(refused(text).ends_with(&told), "{}", refused(text));
    };
    too_large("[a]\nsize=404k\n", 404 * 1024, 100);
    too_large("[a]\nfilename=/dev/sdc\nsize=44k\n", 44 * 1024, 10);
    // What lies on the first unit beside all of it has no room.
    assert!(refused("[a]\nfilename=/dev/sda\n[b]\nsize=4k\n").contains("bytes 409600 to 413696"));
}

#[test]
fn footprint_is_what_is_read() {
    let source = bind("[w]\nrw=randwrite\nsize=16k\n[r]\nrw=randrw\nsize=4608\nbs=512\n[s]\nrw=trim\nsize=4k\n");
    assert_eq!(source.footprint().ranges(), [UnitRange { first: Lpa(4), count: 2 }]);
    assert_eq!(source.preconditioning_ranges().ranges(), [UnitRange { first: Lpa(0), count: 7 }]);
}

#[test]
fn sequential_jobs_go_on_and_mixed_directions_each_for_themselves() {
    assert_eq!(units_of(&run("[a]\nrw=write\nsize=16k\noffset=4k\n")), [1, 2, 3, 4]);
    assert_eq!(ops_of(&run("[a]\nrw=trim\nsize=12k\n")), "ttt");
    let issued = run("[a]\nrw=rw\nsize=400k\nio_size=200k\n");
    for op in [WorkOp::Read, WorkOp::Write] {
        let units: Vec<_> = issued.iter().filter(|i| i.request.op == op).map(|i| i.request.units().0.0).collect();
        assert_eq!(units, (0..units.len() as u32).collect::<Vec<_>>());
    }
}

#[test]
fn the_tail_that_holds_no_whole_block_is_left_out() {
    assert_eq!(run("[a]\nrw=write\nsize=10k\n").len(), 2);
    assert_eq!(run("[a]\nrw=randwrite\nsize=10k\n").len(), 2);
    // But an io_size that is no multiple is rounded up, as in fio.
    assert_eq!(run("[a]\nrw=write\nsize=64k\nio_size=10k\n").len(), 3);
}

#[test]
fn small_blocks_are_issued_as_they_are() {
    let issued = run("[a]\nrw=write\nsize=2k\nbs=512\n");
    let sectors: Vec<_> = issued.iter().map(|i| (i.request.sector, i.request.bytes)).collect();
    assert_eq!(sectors, [(0, 512), (1, 512), (2, 512), (3, 512)]);
}

#[test]
fn the_random_map_covers_every_block_exactly_once() {
    for mode in ["randread", "randwrite", "randrw", "randtrim"] {
        let issued = run(&format!("[a]\nrw={mode}\nsize=4004k\niodepth=7\n"));
        let mut units = units_of(&issued);
        assert!(units.windows(2).filter(|w| w[1] == w[0] + 1).count() < 20, "{mode} is not random");
        units.sort_unstable();
        assert_eq!(units, (0..1001).collect::<Vec<_>>(), "{mode}");
    }
}

/// As far as it tells: a guess would do no harm to results, but cost the memory accesses that it should save.
#[test]
fn a_random_map_tells_where_its_next_request_will_be() {
    for rest in ["rw=randread", "rw=randwrite\noffset=8m", "rw=randread\nbs=16k"] {
        let mut source = bind(&format!("[a]\nsize=4m\niodepth=1024\n{rest}\n"));
        run_for(&mut source, 1);
        let mut told = 0;
        while let Some(coming) = source.coming() {
            let (issued, _) = run_for(&mut source, 1);
            assert_eq!(issued[0].request.units().0, coming, "{rest}");
            told += 1;
        }
        assert_eq!(told, if rest.ends_with("16k") { 255 } else { 1023 }, "{rest}");
    }
    let mut source = bind("[a]\nrw=randread\nsize=4m\niodepth=1024\nnorandommap\n");
    run_for(&mut source, 1);
    assert_eq!(source.coming(), None);
}

#[test]
fn without_the_map_blocks_repeat() {
    let mut units = units_of(&run("[a]\nrw=randwrite\nsize=4000k\nnorandommap\n"));
    assert_eq!(units.len(), 1000);
    units.sort_unstable();
    units.dedup();
    // 1000 (1 - 1/e) = 632 different ones are expected, with a standard deviation of 10.
    assert!((580..690).contains(&units.len()), "{}", units.len());
}

#[test]
fn skewed_jobs_have_hot_blocks() {
    let hottest = |law: &str| {
        let units = units_of(&run(&format!("[a]\nrw=randwrite\nsize=4m\nio_size=80m\n{law}")));
        assert_eq!(units.len(), 20480);
        let mut counts = vec![0; 1024];
        units.iter().for_each(|&u| counts[u as usize] += 1);
        counts.into_iter().max().unwrap()
    };
    // Uniform draws of 20 per block stay below 50; zipf:1.2 gives its first rank 20480/4.34 = 4700.
    assert!(hottest("norandommap\n") < 50);
    assert!((4300..5100).contains(&hottest("random_distribution=zipf:1.2\n")));
    // Pareto's first of n blocks has n^(-1/7.2) = 38 % of all.
    assert!((7300..8400).contains(&hottest("random_distribution=pareto:0.2\n")));
    // The middle of a normal distribution with 5 %: 20480 / (51.2 sqrt(2 pi)) = 160.
    assert!((130..230).contains(&hottest("random_distribution=normal:5\n")));
}

#[test]
fn zones_take_their_shares_of_requests_and_blocks() {
    let units = units_of(&run("[a]\nrw=randwrite\nsize=4m\nio_size=80m\nrandom_distribution=zoned:90/10:10/90\n"));
    let first_tenth = units.iter().filter(|&&u| u < 102).count() as f64 / units.len() as f64;
    // Of 20480 requests; five standard deviations are 0.0105.
    assert!((first_tenth - 0.9).abs() < 0.0105, "{first_tenth}");
}

#[test]
fn block_sizes_follow_their_direction_and_split() {
    let issued = run("[a]\nrw=randrw\nsize=64m\nio_size=16m\nbs=4k,8k\n");
    for i in &issued {
        let expected = if i.request.op == WorkOp::Read { 4096 } else { 8192 };
        assert_eq!(i.request.bytes, expected);
    }
    let issued = run("[a]\nrw=randread\nsize=64m\nio_size=32m\nbssplit=4k/75:64k/25\n");
    let large = issued.iter().filter(|i| i.request.bytes == 65536).count();
    let share = large as f64 / issued.len() as f64;
    assert!((0.2..0.3).contains(&share), "{share}");
    assert!(issued.iter().all(|i| i.request.sector * 512 + i.request.bytes <= 64 << 20));
}

#[test]
fn the_mix_has_its_share() {
    let reads = |mix: &str| {
        let issued = run(&format!("[a]\nrw=randrw\nsize=40m\n{mix}\n"));
        issued.iter().filter(|i| i.request.op == WorkOp::Read).count() as f64 / issued.len() as f64
    };
    assert!((0.67..0.73).contains(&reads("rwmixread=70")));
    assert!((0.27..0.33).contains(&reads("rwmixwrite=70")));
    assert!((0.47..0.53).contains(&reads("bs=4k")));
    assert_eq!(reads("rwmixread=100"), 1.0);
}

#[test]
fn io_size_limits_or_extends_and_loops_repeat() {
    assert_eq!(units_of(&run("[a]\nrw=write\nsize=16k\nio_size=8k\n")), [0, 1]);
    assert_eq!(units_of(&run("[a]\nrw=write\nsize=16k\nio_size=50%\n")), [0, 1]);
    assert_eq!(units_of(&run("[a]\nrw=write\nsize=8k\nio_size=24k\n")), [0, 1, 0, 1, 0, 1]);
    assert_eq!(units_of(&run("[a]\nrw=write\nfilesize=8k\nsize=12k\n")), [0, 1]);
    assert_eq!(units_of(&run("[a]\nrw=write\nsize=8k\nloops=2\n")), [0, 1, 0, 1]);
    assert_eq!(units_of(&run("[a]\nrw=write\nsize=80k\nnumber_ios=2\n")), [0, 1]);
}

#[test]
fn randrepeat_repeats_over_runs_and_loops_and_seeds_change_it() {
    let order = |option: &str, seed| {
        let text = format!("[a]\nrw=randwrite\nsize=400k\nloops=2\n{option}\n");
        let mut source = JobFile::parse(&text, "t.fio").unwrap().bind(UNITS, seed).unwrap();
        let units = units_of(&run_for(&mut source, 1000).0);
        assert_eq!(units.len(), 200);
        units
    };
    assert_ne!(order("", 1), order("", 2));
    assert_eq!(order("", 1)[..100], order("", 1)[100..]);
    assert_ne!(order("", 1), order("randseed=7", 1));
    assert_eq!(order("randseed=7", 2), order("randseed=8", 1));
    assert_eq!(order("randrepeat=0", 1), order("randrepeat=0", 1));
    assert_ne!(order("randrepeat=0", 1), order("randrepeat=0", 2));
    assert_ne!(order("randrepeat=0", 1)[..100], order("randrepeat=0", 1)[100..]);
}

#[test]
fn a_job_is_random_if_places_directions_or_sizes_are_drawn() {
    let random = |options: &str| JobFile::parse(&format!("[a]\nsize=4m\n{options}\n"), "t.fio").unwrap().is_random();
    for options in ["rw=randread", "rw=rw", "rw=write\nbssplit=4k/50:8k/50"] {
        assert!(random(options), "{options}");
    }
    assert!(!random("rw=write"));
    assert!(!random("rw=read\nbssplit=4k/100"));
}

#[test]
fn clones_and_namesakes_differ_and_other_jobs_do_not_matter() {
    let of_stream = |text: &str, stream| {
        let issued = run(text);
        let begin = issued.iter().filter(|i| i.request.stream == StreamId(stream)).map(|i| i.request.units().0.0);
        let all: Vec<u32> = begin.collect();
        let first = *all.iter().min().unwrap();
        all.into_iter().map(|u| u - first).collect::<Vec<_>>()
    };
    let two = "[a]\nrw=randwrite\nsize=400k\nnumjobs=2\n[a]\nrw=randwrite\nsize=400k\n";
    assert_ne!(of_stream(two, 0), of_stream(two, 1));
    assert_ne!(of_stream(two, 0), of_stream(two, 2));
    let other = "[z]\nrw=randread\nsize=4m\n[a]\nrw=randwrite\nsize=400k\n";
    assert_eq!(of_stream(two, 0), of_stream(other, 1));
}

/// fio draws `smallest + largest * u`, cut to a multiple of the smallest size and to the largest.
#[test]
fn sizes_of_a_range_are_multiples_as_likely_as_in_fio() {
    for (range, expected) in [
        ("bsrange=4k-16k", &[(4096, 0.25), (8192, 0.25), (12288, 0.25), (16384, 0.25)][..]),
        ("blocksize_range=16k:4k", &[(4096, 0.25), (8192, 0.25), (12288, 0.25), (16384, 0.25)]),
        ("bs=4k-10k", &[(4096, 0.4), (8192, 0.4), (10240, 0.2)]),
        ("bsrange=3k-6k", &[(3072, 0.5), (6144, 0.5)]),
    ] {
        let issued = run(&format!("[a]\nrw=randread\nsize=512m\nnorandommap\nnumber_ios=20000\n{range}\n"));
        let mut counts = std::collections::BTreeMap::new();
        issued.iter().for_each(|i| *counts.entry(i.request.bytes).or_insert(0) += 1);
        assert_eq!(counts.len(), expected.len(), "{range}: {counts:?}");
        for (bytes, share) in expected {
            // Five standard deviations of 20000 draws are at most 0.018.
            let got = f64::from(counts[bytes]) / 20000.0;
            assert!((got - share).abs() < 0.018, "{range}: {got} of {bytes}");
        }
    }
}

#[test]
fn a_range_holds_for_its_direction_and_ends_with_the_smallest_size() {
    let issued = run("[a]\nrw=randrw\nsize=64m\nio_size=8m\nbsrange=4k-8k,64k-128k\n");
    for i in &issued {
        let allowed: &[u64] = if i.request.op == WorkOp::Read { &[4096, 8192] } else { &[65536, 131_072] };
        assert!(allowed.contains(&i.request.bytes), "{i:?}");
    }
    // A sequential job goes on without gaps to the last unit.
    let issued = run("[a]\nrw=write\nsize=1m\nbsrange=4k-64k\n");
    let mut end = 0;
    for i in &issued {
        assert_eq!(i.request.sector * 512, end);
        end += i.request.bytes;
    }
    assert_eq!(end, 1 << 20);
}

/// Numbers of the files, in units of 16 KiB, and the place in each.
fn files_of(text: &str) -> Vec<(u32, u32)> {
    units_of(&run(text)).into_iter().map(|unit| (unit / 4, unit % 4)).collect()
}

#[test]
fn several_files_share_the_size_and_take_turns() {
    let text = "[a]\nrw=write\nsize=48k\nnrfiles=3\n";
    let order = [0, 1, 2, 3].into_iter().flat_map(|place| [(0, place), (1, place), (2, place)]).collect::<Vec<_>>();
    assert_eq!(files_of(text), order);
    let by_two = files_of(&format!("{text}file_service_type=roundrobin:2\n"));
    assert_eq!(by_two[..6], [(0, 0), (0, 1), (1, 0), (1, 1), (2, 0), (2, 1)]);
    let one_by_one = files_of(&format!("{text}file_service_type=sequential\n"));
    assert_eq!(one_by_one, (0..12).map(|n| (n / 4, n % 4)).collect::<Vec<_>>());
    let mut random = files_of(&format!("{text}file_service_type=random\n"));
    assert_ne!(random, order);
    assert!((0..3).all(|file| random.iter().filter(|r| r.0 == file).is_sorted()), "each in its order: {random:?}");
    random.sort_unstable();
    assert_eq!(random, one_by_one, "each place once");
}

#[test]
fn random_jobs_cover_every_file_and_loops_begin_anew() {
    let text = "[a]\nrw=randwrite\nsize=160k\nnr_files=10\nloops=2\niodepth=4\n";
    let units = units_of(&run(text));
    assert_eq!(units.len(), 80);
    for half in units.chunks(40) {
        let mut sorted = half.to_vec();
        sorted.sort_unstable();
        assert_eq!(sorted, (0..40).collect::<Vec<_>>());
        let served: Vec<u32> = half.iter().map(|unit| unit / 4).collect();
        assert_eq!(served, (0..40).map(|n| n % 10).collect::<Vec<_>>(), "round robin");
    }
}

#[test]
fn files_have_a_size_of_their_own_or_names_to_share() {
    // filesize is that of each file; size is what is to be done.
    let issued = run("[a]\nrw=write\nfilesize=8k\nnrfiles=3\nsize=16k\n");
    assert_eq!(units_of(&issued), [0, 2, 4, 1]);
    let source = bind("[a]\nrw=write\nfilesize=8k\nnrfiles=3\nsize=16k\n");
    assert_eq!(source.preconditioning_ranges().ranges(), [UnitRange { first: Lpa(0), count: 6 }]);
    // A list of names counts instead of nrfiles, and others know the files by these names.
    let issued = run("[a]\nrw=write\nsize=16k\nfilename=f:g\nnrfiles=7\n[b]\nstonewall\nrw=read\nfilename=g\n");
    assert_eq!((ops_of(&issued).as_str(), units_of(&issued)), ("wwwwrr", vec![0, 2, 1, 3, 2, 3]));
    // Clones have their own.
    assert_eq!(units_of(&run("[a]\nrw=write\nsize=8k\nnrfiles=2\nnumjobs=2\n")), [0, 2, 1, 3]);
    // What is not used up by a random choice comes again when time goes on.
    let issued = run("[a]\nrw=randwrite\nsize=16k\nnrfiles=4\ntime_based\nruntime=100us\n");
    assert_eq!(issued.len(), 100);
}

#[test]
fn offsets_are_in_each_file() {
    let source = bind("[a]\nrw=write\nsize=16k\nnrfiles=2\noffset=4k\n");
    let range = |first, count| UnitRange { first: Lpa(first), count };
    assert_eq!(source.preconditioning_ranges().ranges(), [range(1, 2), range(4, 2)]);
}

/// Units as fio 3.33 with its null engine writes them to a log (`--write_iolog`).
#[test]
fn requests_that_leave_bytes_out_go_on_at_the_other_end() {
    for (text, units) in [
        ("rw=write:4k\nsize=64k", vec![0, 2, 4, 6, 8, 10, 12, 14, 0, 2, 4, 6, 8, 10, 12, 14]),
        ("rw=read:-8k\nsize=32k", vec![0, 6, 5, 4, 3, 2, 1, 0]),
        ("rw=read:-64k\nbs=32k\nsize=16m\noffset=8m\nio_size=128k\n", vec![6128, 6120, 6112, 6104]),
    ] {
        assert_eq!(units_of(&run(&format!("[a]\n{text}\n"))), units, "{text}");
    }
    let mixed = run("[a]\nrw=rw:4k\nsize=64k\n");
    let of = |op| mixed.iter().filter(move |i| i.request.op == op).map(|i| i.request.units().0.0);
    for op in [WorkOp::Read, WorkOp::Write] {
        assert!(of(op).zip((0..).map(|n| n * 2 % 16)).all(|(unit, expected)| unit == expected), "{op:?}");
    }
}

#[test]
fn random_places_begin_runs_of_requests() {
    let units = units_of(&run("[a]\nrw=randread:8\nsize=1m\n"));
    assert_eq!(units.len(), 256);
    let follows = units.windows(2).filter(|pair| pair[1] == pair[0] + 1).count();
    // Seven of eight follow; a run ends early at the end of the file.
    assert!((256 * 7 / 8 - 40..=256 * 7 / 8 + 8).contains(&follows), "{follows}");
    assert_eq!(units_of(&run("[a]\nrw=randread:1\nsize=1m\n")), units_of(&run("[a]\nrw=randread\nsize=1m\n")));
}

#[test]
fn some_requests_go_to_random_places_and_the_others_follow() {
    for percent in [0, 30, 100] {
        let units = units_of(&run(&format!("[a]\nrw=randwrite\nsize=64m\nnorandommap\npercentage_random={percent}\n")));
        let follows = units.windows(2).filter(|pair| pair[1] == pair[0] + 1).count() as f64;
        // Of n pairs a share p follows; five deviations of sqrt(n p (1 - p)). The end of the file sends some elsewhere.
        let (n, p) = (units.len() as f64 - 1.0, 1.0 - f64::from(percent) / 100.0);
        assert!((follows - n * p).abs() <= 5.0 * (n * p * (1.0 - p)).sqrt() + 16.0, "{percent}: {follows} of {n}");
    }
    let of_reads = run("[a]\nrw=randrw\nsize=4m\nnorandommap\npercentage_random=0,100\n");
    let reads: Vec<_> = of_reads.iter().filter(|i| i.request.op == WorkOp::Read).collect();
    assert!(
        reads.windows(2).all(|pair| pair[1].request.sector == pair[0].request.sector + 8),
        "reads follow each other"
    );
}

#[test]
fn every_trim_is_followed_by_a_write_of_its_place() {
    for text in
        ["rw=trimwrite", "rw=randtrimwrite", "rw=trimwrite\nbssplit=4k/50:16k/50", "rw=randtrimwrite\noffset=8m"]
    {
        let issued = run(&format!("[a]\n{text}\nsize=128k\n"));
        assert_eq!(ops_of(&issued), "tw".repeat(issued.len() / 2), "{text}");
        let trimmed: u64 = issued.iter().step_by(2).map(|i| i.request.bytes).sum();
        assert_eq!(trimmed, 128 << 10, "{text}");
        for pair in issued.chunks(2) {
            assert_eq!(
                (pair[0].request.sector, pair[0].request.bytes),
                (pair[1].request.sector, pair[1].request.bytes)
            );
        }
    }
    let mut units = units_of(&run("[a]\nrw=randtrimwrite\nsize=64k\n"));
    units.sort_unstable();
    assert_eq!(units, (0..16).flat_map(|n| [n, n]).collect::<Vec<_>>(), "every block once");
}

#[test]
fn the_most_frequent_block_lies_at_the_centre() {
    let hottest = |distribution: &str| {
        let text = format!("[a]\nrw=randread\nsize=8m\nnorandommap\nrandom_distribution={distribution}\n");
        let mut counts = [0; 2048];
        units_of(&run(&text)).into_iter().for_each(|unit| counts[unit as usize] += 1);
        (0..2048).max_by_key(|&unit| counts[unit]).unwrap()
    };
    for (centre, unit) in [("0", 0), ("0.5", 1024), ("1", 2047)] {
        assert_eq!(hottest(&format!("zipf:1.2:{centre}")), unit);
        assert_eq!(hottest(&format!("pareto:0.2:{centre}")), unit);
    }
}

#[test]
fn zones_may_be_said_in_bytes() {
    let text = "[a]\nrw=randwrite\nsize=64m\nnorandommap\nrandom_distribution=zoned_abs:60/4m:30/8m:10/20m\n";
    let units = units_of(&run(text));
    let share = |range: std::ops::Range<u32>| {
        units.iter().filter(|unit| range.contains(unit)).count() as f64 / units.len() as f64
    };
    // Of 16,384 requests a share of 0.6 has a standard deviation of 0.004.
    assert!((share(0..1024) - 0.6).abs() < 0.02 && (share(1024..3072) - 0.3).abs() < 0.02);
    assert!((share(3072..8192) - 0.1).abs() < 0.02, "nothing lies behind the zones");
}

/// Numbers of fio 3.33: offsets are rounded up and sizes down to whole blocks, of the file if it has a size.
#[test]
fn percentages_are_whole_blocks_of_the_file() {
    let first = |text: &str| {
        let issued = run(&format!("[a]\nrw=write\nbs=64k\n{text}\n"));
        (issued[0].request.sector * 512, issued.len())
    };
    assert_eq!(first("filesize=1m\nsize=50%"), (0, 8));
    assert_eq!(first("filesize=1m\nsize=4m"), (0, 16));
    assert_eq!(first("filesize=1m\nsize=256k"), (0, 4));
    // 13% of 1 GiB are 2129.9 blocks, 37% of it 6062.08.
    assert_eq!(first("size=37%\noffset=13%"), (2130 * 65536, 6062));
}

#[test]
fn clones_share_files_whose_names_do_not_tell_them_apart() {
    let end = |format: &str| {
        let text = format!("[a]\nrw=read\nnumjobs=3\nnrfiles=2\nsize=64k\nfilename_format={format}\n");
        units_of(&run(&text)).into_iter().max().unwrap() + 1
    };
    assert_eq!(end("readers.$filenum"), 16);
    assert_eq!(end("$jobname.$filenum.$jobnum"), 48);
    assert_eq!(end("one"), 8);
}
