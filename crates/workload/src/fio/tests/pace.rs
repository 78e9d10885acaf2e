//! When requests are issued: depth, stages, flushes, rates, pauses, time limits; and how they are grouped.

use super::*;
use crate::{GroupId, GroupInfo};

#[test]
fn iodepth_many_are_outstanding() {
    let mut source = bind("[a]\nrw=write\nsize=1m\niodepth=3\n");
    let now = SimTime(0);
    let tickets: Vec<_> = std::iter::from_fn(|| match source.next(now) {
        Next::Request(i) => Some(i.ticket),
        other => {
            assert_eq!(other, Next::Blocked);
            None
        }
    })
    .collect();
    assert_eq!(tickets, [Ticket(0), Ticket(1), Ticket(2)]);
    source.completed(Ticket(1), SimTime(9));
    assert!(matches!(source.next(SimTime(9)), Next::Request(i) if i.ticket == Ticket(1)));
    assert_eq!(source.next(SimTime(9)), Next::Blocked);
}

#[test]
fn a_synchronous_engine_has_depth_one() {
    let mut source = bind("[a]\nrw=write\nsize=1m\niodepth=3\nioengine=psync\n");
    assert!(matches!(source.next(SimTime(0)), Next::Request(_)));
    assert_eq!(source.next(SimTime(0)), Next::Blocked);
}

#[test]
#[should_panic(expected = "not outstanding")]
fn completing_what_was_never_issued_is_our_bug() {
    bind("[a]\nsize=1m\n").completed(Ticket(0), SimTime(0));
}

#[test]
fn clones_take_turns() {
    let issued = run("[a]\nrw=write\nsize=8k\nnumjobs=2\niodepth=2\n");
    assert_eq!(issued.iter().map(|i| i.request.stream.0).collect::<Vec<_>>(), [0, 1, 0, 1]);
}

#[test]
fn fsync_waits_for_the_writes_and_holds_everything_back() {
    for key in ["fsync", "fdatasync"] {
        let issued = run(&format!("[a]\nrw=write\nsize=20k\niodepth=8\n{key}=2\n"));
        assert_eq!(ops_of(&issued), "wwfwwfw");
        // Latency is 1 us: the flush comes when the writes are done, the next writes when the flush is.
        assert_eq!(times_of(&issued), [0, 0, 1, 2, 2, 3, 4]);
    }
}

#[test]
fn fsync_counts_only_writes_and_needs_a_free_place() {
    let issued = run("[a]\nrw=randrw\nsize=4m\nfsync=1\niodepth=4\n");
    let ops = ops_of(&issued);
    let writes = ops.matches('w').count();
    assert_eq!((ops.matches('f').count(), ops.matches("wf").count()), (writes, writes));
    let outstanding_at_once = issued.windows(5).filter(|w| w[0].request.arrival == w[4].request.arrival);
    assert_eq!(outstanding_at_once.count(), 0);
}

#[test]
fn end_fsync_ends_each_loop_once() {
    assert_eq!(ops_of(&run("[a]\nrw=write\nsize=8k\nend_fsync=1\nloops=2\n")), "wwfwwf");
    assert_eq!(ops_of(&run("[a]\nrw=write\nsize=8k\nend_fsync=1\nfsync=2\n")), "wwf");
    assert_eq!(ops_of(&run("[a]\nrw=read\nsize=8k\nend_fsync=1\n")), "rr");
    let issued = run("[a]\nrw=write\nsize=80k\nend_fsync=1\nruntime=3us\ntime_based\n");
    assert_eq!(ops_of(&issued), "wwwf");
}

#[test]
fn barriers_are_preflush_and_fua() {
    let issued = run("[a]\nrw=write\nsize=16k\nwrite_barrier=2\n");
    let flags: Vec<_> = issued.iter().map(|i| (i.request.flags.preflush, i.request.flags.fua)).collect();
    assert_eq!(flags, [(false, false), (true, true), (false, false), (true, true)]);
}

#[test]
fn stonewall_waits_for_completions_of_all_jobs_above() {
    let issued = run("[a]\nrw=write\nsize=8k\n[b]\nrw=write\nsize=16k\n[c]\nstonewall\nsize=4k\n[d]\nsize=4k\n");
    assert_eq!(ops_of(&issued), "wwwwwwrr");
    assert_eq!(times_of(&issued), [0, 0, 1, 1, 2, 3, 4, 4]);
}

#[test]
fn start_delays_count_from_the_start_of_the_run() {
    let issued =
        run("[a]\nsize=4k\nstartdelay=10us\n[b]\nstonewall\nsize=4k\nstartdelay=5us\n[c]\nsize=4k\nstart_delay=30us\n");
    assert_eq!(times_of(&issued), [10, 11, 30]);
}

#[test]
fn rate_iops_paces_and_makes_up_for_lateness() {
    // 250000 per second is one in 4 us.
    assert_eq!(times_of(&run("[a]\nsize=16k\nrate_iops=250000\n")), [0, 4, 8, 12]);
    // Twice as fast as a device of 1 us answers: the depth limits.
    assert_eq!(times_of(&run("[a]\nsize=16k\nrate_iops=2000000\n")), [0, 1, 2, 3]);
    // Directions are paced each for itself.
    let issued = run("[a]\nrw=randrw\nsize=400k\nrate_iops=100000,200000\niodepth=8\n");
    for (op, gap) in [(WorkOp::Read, 10), (WorkOp::Write, 5)] {
        let of_op: Vec<_> = issued.iter().filter(|i| i.request.op == op).copied().collect();
        for (n, time) in times_of(&of_op).into_iter().enumerate() {
            assert!(time >= n as u64 * gap, "{op:?} {n} at {time}");
        }
    }
}

/// Independent of how the worker counts: request n is due when the bytes before it have taken their time.
#[test]
fn rate_paces_bytes_of_each_direction() {
    // 4096 bytes at 512,000,000 per second take 8 us.
    assert_eq!(times_of(&run("[a]\nsize=16k\nrate=512000000\n")), [0, 8, 16, 24]);
    // Large blocks take longer: 4 KiB per us, first of 8, then of what a range gives.
    let issued = run("[a]\nrw=randrw\nsize=4m\nio_size=1m\nbsrange=4k-64k\nrate=4096000000,2048000000\niodepth=64\n");
    for (op, us_per_unit) in [(WorkOp::Read, 1), (WorkOp::Write, 2)] {
        let of_op: Vec<_> = issued.iter().filter(|i| i.request.op == op).copied().collect();
        assert!(of_op.len() > 5);
        let mut before = 0;
        for (i, time) in of_op.iter().zip(times_of(&of_op)) {
            assert!(time >= before / 4096 * us_per_unit, "{op:?} at {time} after {before} bytes");
            before += i.request.bytes;
        }
    }
    // Only writes are limited: reads go as fast as the device.
    assert_eq!(times_of(&run("[a]\nrw=read\nsize=16k\nrate=,1k\n")), [0, 1, 2, 3]);
    assert_eq!(times_of(&run("[a]\nrw=write\nsize=8k\nrate=,4096000\n")), [0, 1000]);
    // The largest rate and amount do not overflow.
    assert_eq!(times_of(&run("[a]\nsize=16k\nrate=1p\n")), [0, 1, 2, 3]);
}

#[test]
fn ramp_time_is_not_measured_and_sizes_count_from_the_start() {
    let measured = |text: &str| -> Vec<bool> { run(text).iter().map(|i| i.measured).collect() };
    let marks = |measured: &[bool]| (measured.iter().filter(|m| !**m).count(), measured.iter().filter(|m| **m).count());
    // The device answers in 1 us: 5 requests in the ramp time, then for the run time.
    let timed = measured("[a]\nrw=randread\nsize=4m\nramp_time=5us\nruntime=20us\ntime_based\n");
    assert_eq!(marks(&timed), (5, 20));
    assert!(timed.is_sorted(), "measured from one moment on");
    // Of ten requests (fio 3.33: of 1000 at 500 a second and one second of ramp 499 are measured).
    assert_eq!(marks(&measured("[a]\nrw=write\nsize=40k\nramp_time=4us\n")), (4, 6));
    assert_eq!(marks(&measured("[a]\nrw=randwrite\nsize=4m\nio_size=40k\nramp_time=4us\n")), (4, 6));
    assert_eq!(marks(&measured("[a]\nrw=write\nsize=40k\nramp_time=4us\nnumber_ios=6\n")), (4, 6));
    // It counts from the start of the job, and only for the job that has it.
    let text = "[a]\nrw=write\nsize=16k\nstartdelay=10us\nramp_time=2us\n[b]\nrw=read\nsize=8k\n";
    let issued = run(text);
    assert_eq!(times_of(&issued), [0, 1, 10, 11, 12, 13]);
    assert_eq!(issued.iter().map(|i| i.measured).collect::<Vec<_>>(), [true, true, false, false, true, true]);
    // A rate begins anew: request n is due n times 10 us behind the ramp time.
    let issued = run("[a]\nrw=write\nsize=16k\nrate_iops=100000\nramp_time=25us\n");
    assert_eq!(times_of(&issued), [0, 10, 20, 30]);
    assert_eq!(issued.iter().position(|i| i.measured), Some(3));
    assert_eq!(bind("[a]\nsize=16k\nramp_time=1us\n").progress().total, None);
}

#[test]
fn a_run_that_ends_in_its_ramp_time_has_measured_nothing() {
    let verdict = |text: &str| {
        let mut source = bind(text);
        run_for(&mut source, 1000);
        source.verdict()
    };
    let Err(crate::Fault::Wish(told)) = verdict("[a]\nsize=16k\nramp_time=1s\n") else {
        panic!("something was measured")
    };
    assert!(told.starts_with("every job ended within its ramp_time"), "{told}");
    assert_eq!(verdict("[a]\nsize=16k\nramp_time=3us\n"), Ok(()));
    assert_eq!(verdict("[a]\nsize=16k\nramp_time=1s\n[b]\nsize=4k\n"), Ok(()));
    assert_eq!(verdict("[a]\n; ufsim: warmup\nsize=16k\n"), Ok(()), "nothing was to be measured");
}

#[test]
fn thinktime_begins_when_nothing_is_outstanding() {
    assert_eq!(times_of(&run("[a]\nsize=12k\nthinktime=5\n")), [0, 6, 12]);
    let issued = run("[a]\nsize=16k\nthinktime=5us\nthinktime_blocks=2\niodepth=4\n");
    assert_eq!(times_of(&issued), [0, 0, 6, 6]);
}

#[test]
fn runtime_ends_a_job_and_time_based_fills_it() {
    assert_eq!(run("[a]\nrw=write\nsize=8k\nruntime=100us\n").len(), 2);
    assert_eq!(units_of(&run("[a]\nrw=write\nsize=80k\nruntime=3us\n")), [0, 1, 2]);
    assert_eq!(units_of(&run("[a]\nrw=write\nsize=8k\nruntime=5us\ntime_based\n")), [0, 1, 0, 1, 0]);
    let mut units = units_of(&run("[a]\nrw=randwrite\nsize=40k\nruntime=20us\ntime_based\n"));
    assert_ne!(units[..10], units[10..], "a time-based job draws a new map");
    units.sort_unstable();
    assert_eq!(units, (0..20).map(|i| i / 2).collect::<Vec<_>>());
    // A pause does not outlast the run time.
    let mut source = bind("[a]\nsize=8k\nruntime=10us\nthinktime=1s\n");
    assert_eq!(run_for(&mut source, 10).1, SimTime(5000 + 10_000));
}

#[test]
fn the_total_is_known_unless_time_decides() {
    let total = |text: &str| bind(text).progress().total;
    assert_eq!(total("[a]\nsize=10k\n[b]\nsize=64k\nio_size=10k\nloops=2\n"), Some(8192 + 2 * 12288));
    assert_eq!(total("[a]\nsize=8k\nruntime=1\n"), None);
    assert_eq!(total("[a]\nsize=8k\nio_size=18446744073709551615\n"), None, "rounded up, it has no 64 bits");
    assert_eq!(total("[a]\nsize=8k\nnumber_ios=1\n"), None);
}

#[test]
fn groups_follow_fio() {
    let names = |groups: &[GroupInfo]| groups.iter().map(|group| group.name.clone()).collect::<Vec<_>>();
    let mut source = bind("[global]\nsize=8k\n[a]\nnumjobs=2\nblocksize=8k\n[b]\nrw=randread\niodepth=4\n");
    assert_eq!(names(source.groups()), ["a.0", "a.1", "b"]);
    let told = |group: usize, option: &str| source.groups()[group].options[option].clone();
    let of_a = ["rw", "bs", "blocksize", "iodepth", "numjobs", "size"].map(|option| told(1, option));
    assert_eq!(of_a, ["read", "8k", "8k", "1", "2", "8k"]);
    assert_eq!(["rw", "bs", "iodepth", "numjobs"].map(|option| told(2, option)), ["randread", "4k", "4", "1"]);
    assert_eq!(source.processes(), ["a.0", "a.1", "b"]);
    let (issued, _) = run_for(&mut source, 10);
    assert_eq!(issued.iter().map(|i| i.group).collect::<Vec<_>>(), [0, 1, 2, 2].map(GroupId));
    let text = "[global]\ngroup_reporting\nsize=4k\n[a]\nnumjobs=2\n[b]\nname=bee\n[c]\nnew_group\n[d]\nstonewall\n";
    assert_eq!(names(bind(text).groups()), ["a", "c", "d"]);
}

#[test]
fn warm_up_is_marked() {
    let mut source = bind("[w]\n; ufsim: warmup\nrw=write\nsize=8k\n[m]\nstonewall\nsize=4k\n");
    let (issued, _) = run_for(&mut source, 10);
    assert_eq!(issued.iter().map(|i| i.measured).collect::<Vec<_>>(), [false, false, true]);
    assert_eq!(source.groups().iter().map(|g| g.measured).collect::<Vec<_>>(), [false, true]);
}

/// The clock of a run has 64 bits, and times of its own are added to those of the source.
#[test]
fn pauses_end_with_the_clock() {
    let mut source = bind("[a]\nsize=1m\nthinktime=50000d\n[b]\nstonewall\nsize=8k\nruntime=9s\nstartdelay=53375d\n");
    let mut now = SimTime(5000);
    let mut requests = 0;
    loop {
        match source.next(now) {
            Next::Request(issued) => {
                requests += 1;
                source.completed(issued.ticket, now);
            }
            Next::Wait(time) => {
                assert!(time > now && time.0 <= 1 << 62, "{time}");
                now = time;
            }
            Next::Blocked | Next::Driver(_) => panic!("nothing is outstanding"),
            Next::Done => break,
        }
    }
    // Of the first job at 0 and after one pause of 137 years; the second one has no time left.
    assert_eq!(requests, 2);
}

/// fio 3.33 makes 85 reads and 43 writes in 0.66 s: a direction that is ahead of its rate waits, and the other goes on.
#[test]
fn a_mix_with_two_rates_goes_on_with_the_direction_that_is_due() {
    let mut source = bind("[a]\nrw=rw\nbs=4k\nsize=512k\nrate=512k,256k\n");
    let (issued, ended) = run_for(&mut source, 1000);
    let reads = ops_of(&issued).matches('r').count();
    assert!((84..=86).contains(&reads) && issued.len() == 128, "{reads} reads");
    assert!((0.64..0.68).contains(&(ended.0 as f64 / 1e9)), "{ended:?}");
}
