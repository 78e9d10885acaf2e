use super::*;

const A: TaskId = TaskId(1);
const B: TaskId = TaskId(2);

const READ: Cost = Cost {
    submit: Nanos(100),
    submit_page: Nanos(10),
    delay: Nanos(1000),
    complete: Nanos(40),
    complete_page: Nanos(3),
};

fn config() -> BlockConfig {
    let write = Cost { submit: Nanos(200), submit_page: Nanos(50), complete: Nanos(20), ..Cost::default() };
    BlockConfig { costs: [READ, write, Cost::default(), Cost::default()], ..BlockConfig::default() }
}

fn request(id: u32, task: TaskId, kind: WorkKind, pages: u32) -> BlockRequest {
    BlockRequest { id, task, kind, pages }
}

fn read(id: u32, task: TaskId) -> BlockRequest {
    request(id, task, WorkKind::Read, 1)
}

/// A block layer on a device that takes the same time for everything, and a log of what happens when.
struct Rig {
    block: Block,
    device: u64,
    /// Responses to come: when, and to which request.
    responses: BTreeSet<(u64, u32)>,
    arrivals: Vec<(u64, BlockRequest)>,
    log: Vec<(u64, Step)>,
}

impl Rig {
    fn new(config: BlockConfig, device: u64, arrivals: &[(u64, BlockRequest)]) -> Rig {
        let arrivals = arrivals.iter().rev().copied().collect();
        Rig { block: Block::new(config), device, responses: BTreeSet::new(), arrivals, log: Vec::new() }
    }

    fn run(mut self) -> Rig {
        loop {
            let arrival = self.arrivals.last().map(|arrival| arrival.0);
            let response = self.responses.first().map(|response| response.0);
            let wake = self.block.next_wake().map(|at| at.0);
            let Some(now) = [arrival, response, wake].into_iter().flatten().min() else { return self };
            while let Some(response) = self.responses.first().copied().filter(|response| response.0 == now) {
                self.responses.remove(&response);
                self.block.completed(SimTime(now), response.1);
            }
            self.take(now);
            while let Some((_, request)) = self.arrivals.pop_if(|arrival| arrival.0 == now) {
                self.block.submit(SimTime(now), request);
            }
            self.take(now);
        }
    }

    fn take(&mut self, now: u64) {
        while let Some(step) = self.block.next(SimTime(now)) {
            self.log.push((now, step));
            if let Step::ToDriver(id) = step {
                self.responses.insert((now + self.device, id));
            }
        }
    }

    /// When a request went to the driver, and when it ended.
    fn times(&self, id: u32) -> (u64, u64) {
        let at = |step| self.log.iter().find(|logged| logged.1 == step).expect("it happened").0;
        (at(Step::ToDriver(id)), at(Step::Ends(id)))
    }
}

#[test]
fn a_request_takes_the_time_of_its_path() {
    for (kind, pages, submits, after) in [
        (WorkKind::Read, 1, 110, 1000 + 43),
        (WorkKind::Read, 5, 150, 1000 + 55),
        (WorkKind::Write, 2, 300, 20),
        (WorkKind::Metadata, 2, 0, 0),
        (WorkKind::Other, 0, 0, 0),
    ] {
        let rig = Rig::new(config(), 7, &[(50, request(0, A, kind, pages))]).run();
        assert_eq!(rig.times(0), (50 + submits, 50 + submits + 7 + after), "{kind:?}");
    }
}

#[test]
fn a_task_submits_one_request_after_another_and_tasks_do_so_side_by_side() {
    let rig = Rig::new(config(), 7, &[(0, read(0, A)), (0, read(1, A)), (0, read(2, B))]).run();
    // Completions are handled one after another: two at 1117, each of 43.
    assert_eq!((rig.times(0), rig.times(2)), ((110, 1160), (110, 1203)));
    assert_eq!(rig.times(1), (220, 1270));
    let account = rig.block.account();
    assert_eq!((account.requests, account.batches, account.inside_peak), (3, 2, 3));
    assert_eq!((account.submit_ns[0], account.complete_ns[0], account.delay_ns), (330, 129, 3000));
    // The second of a task waits for the first, and a completion for another.
    assert_eq!(account.queued_ns, 110 + 43);
}

#[test]
fn tasks_wait_for_a_processor_and_take_turns() {
    let arrivals = [(0, read(0, A)), (0, read(1, A)), (0, read(2, B))];
    let rig = Rig::new(BlockConfig { processors: Some(1), ..config() }, 0, &arrivals).run();
    // A, B, A; then the completions, which come 1000 later.
    assert_eq!([0, 2, 1].map(|id| rig.times(id)), [(110, 1153), (220, 1263), (330, 1373)]);
    let rig = Rig::new(BlockConfig { processors: Some(2), ..config() }, 0, &arrivals).run();
    assert_eq!([0, 2, 1].map(|id| rig.times(id).0), [110, 110, 220], "the first task, the other on processor 0");
}

#[test]
fn an_interrupt_waits_for_what_its_processor_does_but_goes_before_waiting_tasks() {
    let cost = Cost { submit: Nanos(100), complete: Nanos(10), ..Cost::default() };
    let one = BlockConfig { processors: Some(1), costs: [cost; 4], ..BlockConfig::default() };
    let arrivals = [(0, read(0, A)), (0, read(1, A)), (0, read(2, A))];
    let rig = Rig::new(one, 50, &arrivals).run();
    // The first response comes at 150, in the middle of the second submission.
    assert_eq!(rig.times(0), (100, 210));
    assert_eq!((rig.times(1), rig.times(2)), ((200, 320), (310, 370)));
}

#[test]
fn who_finds_no_place_waits_before_the_queue() {
    let free = Cost { complete: Nanos(5), ..Cost::default() };
    let two = BlockConfig { nr_requests: Some(2), costs: [free; 4], ..BlockConfig::default() };
    let arrivals = [(0, read(0, A)), (1, read(1, A)), (2, read(2, A)), (3, read(3, A)), (4, read(4, B))];
    let rig = Rig::new(two, 100, &arrivals).run();
    // 0 ends at 105 and 2 gets in; 3 comes then, behind 4, which gets in when 1 ends. Completions take turns.
    let comes: Vec<_> = rig.log.iter().filter(|logged| matches!(logged.1, Step::Comes(_))).collect();
    assert_eq!(comes, [&(105, Step::Comes(3))]);
    let ends = [0, 1, 2, 4, 3].map(|id| rig.times(id));
    assert_eq!(ends, [(0, 105), (1, 110), (105, 210), (110, 215), (210, 315)]);
    let account = rig.block.account();
    assert_eq!((account.waited_requests, account.waited_ns), (3, 103 + 106 + 105));
    assert_eq!((account.late_requests, account.late_ns, account.inside_peak), (1, 102, 2));
}

#[test]
fn a_processor_that_was_idle_for_long_takes_time_to_wake() {
    let cost = Cost { submit: Nanos(100), complete: Nanos(10), ..Cost::default() };
    let idle = Some(IdleConfig { after: Nanos(1000), wake: Nanos(77) });
    let config = BlockConfig { processors: Some(2), costs: [cost; 4], idle, ..BlockConfig::default() };
    let arrivals = [(1000, read(0, A)), (2163, read(1, A)), (3000, read(2, A))];
    let rig = Rig::new(config, 50, &arrivals).run();
    // Both processors sleep. Processor 0 is free from 1314 on, so at 2313 it has been for 999.
    assert_eq!(rig.times(0), (1177, 1177 + 50 + 77 + 10));
    assert_eq!(rig.times(1), (2263, 2263 + 50 + 10));
    assert_eq!(rig.times(2), (3100, 3160));
    let account = rig.block.account();
    assert_eq!((account.processor_wakes, account.processor_wake_ns), (2, 154));
    // One nanosecond later it sleeps again.
    let rig = Rig::new(config, 50, &[(1000, read(0, A)), (2164, read(1, A))]).run();
    assert_eq!(rig.times(1), (2264, 2264 + 50 + 77 + 10));
}

#[test]
fn a_stall_holds_up_what_is_being_done_and_what_comes() {
    let cost = Cost { submit: Nanos(100), complete: Nanos(10), ..Cost::default() };
    let stalls = |after| {
        let (after, length) = ((Nanos(after), Nanos(after)), (Nanos(1000), Nanos(1000)));
        Some(StallConfig { percent: 100, pause: Nanos(5000), after, length })
    };
    let run = |after, arrivals: &[(u64, BlockRequest)]| {
        let config = BlockConfig { costs: [cost; 4], stalls: stalls(after), ..BlockConfig::default() };
        Rig::new(config, 500, arrivals).run()
    };
    // In the submission, while the device works, in the completion.
    assert_eq!(run(40, &[(0, read(0, A))]).times(0), (1100, 1610));
    assert_eq!(run(200, &[(0, read(0, A))]).times(0), (100, 1210));
    assert_eq!(run(605, &[(0, read(0, A))]).times(0), (100, 1610));
    // It has ended before: the next request is in the same burst, and comes within the stall.
    let two = run(700, &[(0, read(0, A)), (900, read(1, A))]);
    assert_eq!((two.times(0), two.times(1)), ((100, 610), (1800, 2310)));
    assert_eq!((two.block.account().stalls, two.block.account().stall_ns), (1, 1000));
    // The next burst has one of its own.
    assert_eq!(run(40, &[(0, read(0, A)), (9000, read(1, A))]).block.account().stalls, 2);
}

#[test]
fn what_takes_the_processor_delays_completions_of_writes() {
    let cost = Cost { complete: Nanos(10), ..Cost::default() };
    let preempt = Some(PreemptConfig { per_million: 1_000_000, length: (Nanos(358), Nanos(358)) });
    let config = BlockConfig { costs: [cost; 4], preempt, ..BlockConfig::default() };
    let rig = Rig::new(config, 0, &[(0, read(0, A)), (0, request(1, A, WorkKind::Write, 1))]).run();
    assert_eq!((rig.times(0).1, rig.times(1).1), (10, 378));
    assert_eq!((rig.block.account().preemptions, rig.block.account().preempted_ns), (1, 358));
}

#[test]
fn the_luck_of_a_request_does_not_hang_on_what_others_draw() {
    let cost = Cost { complete: Nanos(10), ..Cost::default() };
    let preempt = Some(PreemptConfig { per_million: 500_000, length: (Nanos(1), Nanos(5000)) });
    let config = BlockConfig { costs: [cost; 4], preempt, seed: 3, ..BlockConfig::default() };
    // Only writes draw. Every second request is one, and the others are of this kind.
    let took = |other: WorkKind| {
        let kind = |id: u32| if id % 2 == 1 { WorkKind::Write } else { other };
        let all: Vec<_> = (0..80).map(|id| (u64::from(id) * 10_000, request(id, A, kind(id), 1))).collect();
        let rig = Rig::new(config, 0, &all).run();
        (1..80).step_by(2).map(|id| rig.times(id).1 - u64::from(id) * 10_000).collect::<Vec<_>>()
    };
    assert_eq!(took(WorkKind::Read), took(WorkKind::Write));
    assert!(took(WorkKind::Read).iter().any(|&ns| ns > 10) && took(WorkKind::Read).contains(&10));
}

mod at_random {
    use proptest::prelude::*;

    use super::*;

    fn any_cost() -> impl Strategy<Value = Cost> {
        (0u64..300, 0u64..30, 0u64..500, 0u64..300, 0u64..30).prop_map(
            |(submit, submit_page, delay, complete, complete_page)| Cost {
                submit: Nanos(submit),
                submit_page: Nanos(submit_page),
                delay: Nanos(delay),
                complete: Nanos(complete),
                complete_page: Nanos(complete_page),
            },
        )
    }

    proptest! {
        /// However many requests come, no more are inside than the bound says, and before the queue there is one of
        /// each task at most; each of them goes to the driver once and ends once, those of a task in order.
        #[test]
        fn nothing_grows_beyond_its_bound(
            limit in 1u32..20,
            processors in prop::option::of(1u16..4),
            costs in prop::array::uniform4(any_cost()),
            // From single requests to many at once.
            steps in prop::collection::vec((0u64..200, 0u32..4, 0usize..4, 0u32..40), 1..300),
            device in 0u64..2000,
            stalls in any::<bool>(),
            idle in any::<bool>(),
        ) {
            let stalls = stalls.then_some(StallConfig {
                percent: 50,
                pause: Nanos(100),
                after: (Nanos(10), Nanos(900)),
                length: (Nanos(1), Nanos(5000)),
            });
            let idle = idle.then_some(IdleConfig { after: Nanos(300), wake: Nanos(90) });
            let config = BlockConfig {
                nr_requests: Some(limit), processors, costs, idle, stalls, ..BlockConfig::default()
            };
            let mut now = 0;
            let arrivals: Vec<_> = (0..).zip(&steps).map(|(id, &(gap, task, kind, pages))| {
                now += if gap < 120 { 0 } else { gap };
                (now, request(id, TaskId(task), WorkKind::ALL[kind], pages))
            }).collect();
            let rig = Rig::new(config, device, &arrivals).run();
            let account = rig.block.account();
            prop_assert!(account.inside_peak <= limit.into());
            prop_assert_eq!((rig.block.gate.inside(), rig.block.gate.sleeping()), (0, 0));
            let mut inside = 0;
            let mut last = [None; 4];
            for (at, step) in &rig.log {
                match *step {
                    Step::ToDriver(id) => {
                        inside += 1;
                        let task = arrivals[id as usize].1.task.0 as usize;
                        prop_assert!(last[task] < Some(id), "the order of a task");
                        last[task] = Some(id);
                        let (came, request) = arrivals[id as usize];
                        let cost = costs[request.kind as usize];
                        prop_assert!(*at >= came + cost.submission(request.pages).0);
                    }
                    Step::Ends(_) => inside -= 1,
                    Step::Comes(_) => {}
                }
                prop_assert!(inside <= limit as i32);
            }
            let ended = rig.log.iter().filter(|logged| matches!(logged.1, Step::Ends(_))).count();
            prop_assert_eq!(ended, arrivals.len());
            let again = Rig::new(config, device, &arrivals).run();
            prop_assert_eq!(again.log, rig.log);
        }
    }
}

/// `n` reads of as many tasks at once; the time until all have ended.
fn all_ended(config: BlockConfig, n: u32) -> u64 {
    let arrivals: Vec<_> = (0..n).map(|id| (0, read(id, TaskId(id)))).collect();
    Rig::new(config, 7, &arrivals).run().log.last().expect("it ended").0
}

/// With a processor for each task the interrupts are the bottleneck: n completions of q queues end after n / q of them.
#[test]
fn completions_take_turns_on_the_processors_of_their_queues() {
    const TASKS: u64 = 48;
    for queues in [1, 2, 3, 8, 16] {
        let config = BlockConfig { queues, ..config() };
        let before = 110 + 7 + 1000;
        assert_eq!(all_ended(config, TASKS as u32), before + 43 * TASKS.div_ceil(queues.into()), "{queues} queues");
    }
}

/// Tasks that always have work on p processors, of which each has a queue: p requests in the time of a submission and a
/// completion. With one queue no more than one in the time of a completion.
#[test]
fn throughput_is_that_of_all_processors_or_of_the_one_that_handles_interrupts() {
    const READS: u64 = 4_000;
    let cost = Cost { submit: Nanos(100), complete: Nanos(300), ..Cost::default() };
    for (processors, queues) in [(4, 1), (4, 2), (4, 4), (8, 8)] {
        let costs = [cost; 4];
        let config = BlockConfig { processors: Some(processors), queues, costs, ..BlockConfig::default() };
        let took = all_ended(config, READS as u32);
        let all = READS * 400 / u64::from(processors);
        let interrupts = READS * 300 / u64::from(queues);
        let expected = all.max(interrupts);
        assert!(took.abs_diff(expected) <= 400, "{processors} processors, {queues} queues: {took}, {expected}");
    }
}

#[test]
fn a_request_is_completed_where_its_queue_is() {
    // Two processors with a queue each. The second task works on processor 0 for long when the first read returns.
    let arrivals = [(0, read(0, A)), (100, request(1, B, WorkKind::Write, 40))];
    let two = |queues| BlockConfig { processors: Some(2), queues, ..config() };
    let write = 200 + 40 * 50;
    assert_eq!(Rig::new(two(1), 7, &arrivals).run().times(0).1, 100 + write + 43, "processor 0 is busy");
    assert_eq!(Rig::new(two(2), 7, &arrivals).run().times(0), (110, 110 + 7 + 1000 + 43), "the read came from 1");
}
