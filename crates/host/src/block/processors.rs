//! The host's processors, and who works on them.
//!
//! - A task works on one processor at a time, on its requests in their order.
//! - Interrupts are handled by processor 0, before tasks that wait for it. What has begun is not interrupted.
//! - Of several hardware queues each has a processor for its interrupt, from 0 on.
//! - A task that has work takes the first processor that is free, processor 0 last. Tasks that find none wait in the
//!   order in which they got work; after each request the next task gets the processor.
//! - A processor that was idle for long sleeps, and takes time to wake.

use std::collections::{BTreeMap, VecDeque};

use units::{Nanos, SimTime};

use super::TaskId;
use super::config::IdleConfig;

/// What is done for a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Stage {
    /// The task hands it to the driver.
    Submission,
    /// The processor of the interrupt ends it.
    Completion,
}

/// Work for a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Job {
    pub id: u32,
    pub stage: Stage,
    /// Processor time.
    pub takes: Nanos,
    /// Since when it could be done.
    pub since: SimTime,
}

/// A processor.
#[derive(Clone, Debug)]
struct Processor {
    /// What it does, for which task if not for an interrupt, and until when.
    at_work: Option<(Job, Option<TaskId>, SimTime)>,
    idle_since: SimTime,
}

/// What the processors have been doing besides their jobs.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Delays {
    pub wakes: u64,
    pub wake_ns: u64,
    pub queued_ns: u64,
}

/// All processors.
#[derive(Clone, Debug)]
pub(super) struct Processors {
    all: Vec<Processor>,
    /// As many as there is work for.
    unlimited: bool,
    idle: Option<IdleConfig>,
    /// Completions by hardware queue; that of number n is handled by processor n.
    interrupts: Vec<VecDeque<Job>>,
    /// Work of tasks that have any.
    tasks: BTreeMap<TaskId, VecDeque<Job>>,
    /// Of these, those that work on no processor, in the order in which they want one.
    ready: VecDeque<TaskId>,
    /// Nothing begins before.
    halted_until: SimTime,
    pub delays: Delays,
}

const IDLE: Processor = Processor { at_work: None, idle_since: SimTime::START };

impl Processors {
    /// So many processors, or as many as there is work for; so many hardware queues.
    pub fn new(count: Option<u16>, queues: u16, idle: Option<IdleConfig>) -> Processors {
        Processors {
            all: vec![IDLE; count.unwrap_or(1).max(1).into()],
            unlimited: count.is_none(),
            idle,
            interrupts: vec![VecDeque::new(); queues.into()],
            tasks: BTreeMap::new(),
            ready: VecDeque::new(),
            halted_until: SimTime::START,
            delays: Delays::default(),
        }
    }

    /// A task has work.
    pub fn task(&mut self, task: TaskId, job: Job) {
        let queue = self.tasks.entry(task).or_insert_with(|| {
            self.ready.push_back(task);
            VecDeque::new()
        });
        queue.push_back(job);
    }

    /// An interrupt has to be handled: that of the queue into which this processor put the request.
    pub fn interrupt(&mut self, job: Job, submitted_by: usize) {
        let queue = submitted_by % self.interrupts.len();
        self.interrupts[queue].push_back(job);
    }

    /// Puts work on processors that are free.
    pub fn start(&mut self, now: SimTime) {
        for number in 0..self.interrupts.len().min(self.all.len()) {
            if self.all[number].at_work.is_none()
                && let Some(job) = self.interrupts[number].pop_front()
            {
                self.begin(now, number, job, None);
            }
        }
        while let Some(&task) = self.ready.front() {
            let Some(free) = self.free() else { return };
            self.ready.pop_front();
            let job = self.tasks.get_mut(&task).and_then(VecDeque::pop_front).expect("a ready task has work");
            self.begin(now, free, job, Some(task));
        }
    }

    /// A free processor for a task.
    fn free(&mut self) -> Option<usize> {
        let free = (1..self.all.len()).find(|&number| self.all[number].at_work.is_none());
        if free.is_none() && self.unlimited {
            self.all.push(IDLE);
            return Some(self.all.len() - 1);
        }
        free.or_else(|| self.all[0].at_work.is_none().then_some(0))
    }

    fn begin(&mut self, now: SimTime, number: usize, job: Job, task: Option<TaskId>) {
        let start = now.max(self.halted_until);
        let processor = &mut self.all[number];
        let mut takes = job.takes;
        if let Some(idle) = self.idle
            && start.since(processor.idle_since) >= idle.after
        {
            takes += idle.wake;
            self.delays.wakes += 1;
            self.delays.wake_ns += idle.wake.0;
        }
        self.delays.queued_ns += now.since(job.since).0;
        processor.at_work = Some((job, task, start + takes));
    }

    /// When the first of what is being done ends.
    pub fn next_end(&self) -> Option<SimTime> {
        self.all.iter().filter_map(|processor| processor.at_work).map(|(_, _, end)| end).min()
    }

    /// What has ended by now, and the number of its processor: the earliest first, of several that on the lowest.
    pub fn ended(&mut self, now: SimTime) -> Option<(Job, usize)> {
        let end = self.next_end().filter(|&end| end <= now)?;
        let number = self.all.iter().position(|processor| processor.at_work.is_some_and(|work| work.2 == end))?;
        let processor = &mut self.all[number];
        processor.idle_since = end;
        let (job, task, _) = processor.at_work.take()?;
        if let Some(task) = task {
            match self.tasks.get(&task).is_some_and(|queue| queue.is_empty()) {
                true => drop(self.tasks.remove(&task)),
                false => self.ready.push_back(task),
            }
        }
        Some((job, number))
    }

    /// All processors stand still for so long from `at` on.
    pub fn halt(&mut self, at: SimTime, length: Nanos) {
        self.halted_until = at + length;
        for (_, _, end) in self.all.iter_mut().filter_map(|processor| processor.at_work.as_mut()) {
            *end = *end + length;
        }
    }
}
