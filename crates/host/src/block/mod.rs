//! The host's block layer and processors, between workload and driver: what a phone's storage waits for above the
//! driver. All of it is optional.
//!
//! ```text
//!   task --> [ before the queue ] --> submission --> driver --> link ... --> delay --> completion --> task
//!              no place inside?      by the task,                                    by processor 0,
//!              (nr_requests)         on a processor                                  an interrupt
//! ```
//!
//! # Glossary
//! - **task**: a thread that asks for storage. It submits its requests one after another.
//! - **inside**: what has a place among the `nr_requests` of the block layer, from there to the end of its completion
//!   work: one pool for reads, writes and the rest.
//! - **before the queue**: where a task sleeps that has found no place (`gate.rs`).
//! - **submission**: what the task does until the driver has the request: mapping of pages, encryption, the command.
//! - **completion**: what is done after the last response: the interrupt, decryption, waking who waits.
//! - **processor**: does one thing at a time (`processors.rs`).
//! - **stall**: nothing goes on, because the frequency changes (`stalls.rs`).
//! - **page**: 4 KiB of a request.
//!
//! # Contract
//! [`Block`] owns no clock. It is told when a task hands over a request ([`Block::submit`]) and when the driver has
//! completed one ([`Block::completed`]). After either, and at [`Block::next_wake`], the caller takes [`Step`]s until
//! there is none: which request goes to the driver now, which one ends now. Every request that was handed over goes to
//! the driver once and ends once; those of one task go to the driver in order.
//!
//! # Chance
//! What is drawn for a request hangs on the seed and on how many were handed over before it, and on nothing else. So
//! the n-th request of a workload has the same luck under every scheme (common random numbers), and what differs
//! between two schemes is not their luck.

mod account;
mod config;
mod cost;
mod gate;
mod processors;
mod stalls;

use std::collections::{BTreeSet, VecDeque};

use units::{Dice, Nanos, SimTime};

pub use account::BlockAccount;
pub use config::{BlockConfig, HostTimeParams, IdleConfig, PreemptConfig};
pub use cost::{Cost, WorkKind};
pub use stalls::StallConfig;

use gate::{Admitted, Gate};
use processors::{Job, Processors, Stage};
use stalls::Stalls;

/// Name of a task.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct TaskId(pub u32);

/// A request as the block layer sees it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BlockRequest {
    /// The caller's number; small, and not used by another request inside.
    pub id: u32,
    /// Who asks.
    pub task: TaskId,
    /// What for.
    pub kind: WorkKind,
    /// Pages of 4 KiB.
    pub pages: u32,
}

/// What the caller has to do now.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
    /// This request comes to the queue only now: its task has slept before it. Its latency counts from now on.
    Comes(u32),
    /// The driver gets this request.
    ToDriver(u32),
    /// This request has ended.
    Ends(u32),
}

/// Of a request that is inside, or waits for that.
#[derive(Clone, Copy, Debug)]
struct Entry {
    request: BlockRequest,
    /// How many were handed over before it.
    number: u64,
    handed_over: SimTime,
    /// The processor that has submitted it.
    submitted_by: usize,
}

/// The block layer.
#[derive(Clone, Debug)]
pub struct Block {
    config: BlockConfig,
    /// By number.
    entries: Vec<Option<Entry>>,
    /// Handed over and not ended.
    outstanding: u32,
    gate: Gate,
    processors: Processors,
    stalls: Option<Stalls>,
    /// Responses whose completion work will be asked for: when, in which order, which request.
    delayed: BTreeSet<(SimTime, u64, u32)>,
    responses: u64,
    steps: VecDeque<Step>,
    last_batch: Option<(SimTime, TaskId)>,
    account: BlockAccount,
}

impl Block {
    /// A block layer without requests.
    pub fn new(config: BlockConfig) -> Block {
        Block {
            entries: Vec::new(),
            outstanding: 0,
            gate: Gate::new(config.nr_requests),
            processors: Processors::new(config.processors, config.queues, config.idle),
            stalls: config.stalls.map(|stalls| Stalls::new(stalls, config.seed)),
            delayed: BTreeSet::new(),
            responses: 0,
            steps: VecDeque::new(),
            last_batch: None,
            account: BlockAccount::default(),
            config,
        }
    }

    /// A task hands over a request.
    ///
    /// # Panics
    /// If a request of the same number has not ended.
    pub fn submit(&mut self, now: SimTime, request: BlockRequest) {
        let number = self.account.requests;
        if self.outstanding == 0
            && let Some(stalls) = &mut self.stalls
        {
            stalls.begin(now, number);
        }
        self.outstanding += 1;
        self.account.requests += 1;
        if self.last_batch.replace((now, request.task)) != Some((now, request.task)) {
            self.account.batches += 1;
        }
        let place = request.id as usize;
        if self.entries.len() <= place {
            self.entries.resize(place + 1, None);
        }
        let before = self.entries[place].replace(Entry { request, number, handed_over: now, submitted_by: 0 });
        assert!(before.is_none(), "request {} was handed over twice", request.id);
        self.gate.come(now, request.task, request.id);
        self.admit(now);
    }

    /// The driver has completed a request.
    ///
    /// # Panics
    /// If no such request is inside.
    pub fn completed(&mut self, now: SimTime, id: u32) {
        let delay = self.cost(id).delay;
        self.account.delay_ns += delay.0;
        self.responses += 1;
        self.delayed.insert((now + delay, self.responses, id));
    }

    /// What has to be done now; `None`: nothing before [`Block::next_wake`], or a call.
    pub fn next(&mut self, now: SimTime) -> Option<Step> {
        loop {
            if let Some(step) = self.steps.pop_front() {
                return Some(step);
            }
            if !self.advance(now) {
                return None;
            }
        }
    }

    /// When [`Block::next`] has something to say, if nothing is called before.
    pub fn next_wake(&self) -> Option<SimTime> {
        let stall = self.stalls.as_ref().and_then(Stalls::next).filter(|_| self.outstanding > 0);
        let delayed = self.delayed.first().map(|&(at, _, _)| at);
        [stall, delayed, self.processors.next_end()].into_iter().flatten().min()
    }

    /// What has been done so far.
    pub fn account(&self) -> BlockAccount {
        let delays = self.processors.delays;
        BlockAccount {
            queued_ns: delays.queued_ns,
            processor_wakes: delays.wakes,
            processor_wake_ns: delays.wake_ns,
            ..self.account
        }
    }

    fn entry(&self, id: u32) -> Entry {
        self.entries[id as usize].expect("the request has not ended")
    }

    fn cost(&self, id: u32) -> Cost {
        self.config.costs[self.entry(id).request.kind as usize]
    }

    /// Does one thing that is due; false if nothing is.
    fn advance(&mut self, now: SimTime) -> bool {
        self.stall(now);
        self.processors.start(now);
        if let Some((job, processor)) = self.processors.ended(now) {
            match job.stage {
                Stage::Submission => {
                    let entry = self.entries[job.id as usize].as_mut().expect("the request has not ended");
                    entry.submitted_by = processor;
                    self.steps.push_back(Step::ToDriver(job.id));
                }
                Stage::Completion => self.end(now, job.id),
            }
            return true;
        }
        let due = self.delayed.first().copied().filter(|&(at, _, _)| at <= now);
        if let Some((at, number, id)) = due {
            self.delayed.remove(&(at, number, id));
            let takes = self.completion(id);
            let job = Job { id, stage: Stage::Completion, takes, since: now };
            self.processors.interrupt(job, self.entry(id).submitted_by);
        }
        due.is_some()
    }

    /// Begins a stall that is due.
    fn stall(&mut self, now: SimTime) {
        if let Some(stall) = self.stalls.as_mut().and_then(|stalls| stalls.take(now)) {
            self.processors.halt(stall.at, stall.length);
            self.account.stalls += 1;
            self.account.stall_ns += stall.length.0;
        }
    }

    /// Processor time of a completion.
    fn completion(&mut self, id: u32) -> Nanos {
        let Entry { request: BlockRequest { kind, pages, .. }, number, .. } = self.entry(id);
        let mut takes = self.cost(id).completion(pages);
        let mut dice = Dice::of(self.config.seed, number);
        self.account.complete_ns[kind as usize] += takes.0;
        if let Some(PreemptConfig { per_million, length }) = self.config.preempt
            && matches!(kind, WorkKind::Write | WorkKind::Metadata)
            && dice.happens(per_million, 1_000_000)
        {
            let taken = dice.between(length.0.0, length.1.0);
            self.account.preemptions += 1;
            self.account.preempted_ns += taken;
            takes += Nanos(taken);
        }
        takes
    }

    /// Lets in whoever finds a place.
    fn admit(&mut self, now: SimTime) {
        while let Some((Admitted { id, since }, next)) = self.gate.admit(now) {
            let BlockRequest { task, kind, pages, .. } = self.entry(id).request;
            self.account.waited_requests += u64::from(since < now);
            self.account.waited_ns += now.since(since).0;
            self.account.inside_peak = self.account.inside_peak.max(self.gate.inside().into());
            let takes = self.cost(id).submission(pages);
            self.account.submit_ns[kind as usize] += takes.0;
            self.processors.task(task, Job { id, stage: Stage::Submission, takes, since: now });
            if let Some(next) = next {
                self.account.late_requests += 1;
                self.account.late_ns += now.since(self.entry(next).handed_over).0;
                self.steps.push_back(Step::Comes(next));
            }
        }
    }

    fn end(&mut self, now: SimTime, id: u32) {
        self.entries[id as usize] = None;
        self.outstanding -= 1;
        if self.outstanding == 0
            && let Some(stalls) = &mut self.stalls
        {
            stalls.end(now);
        }
        self.steps.push_back(Step::Ends(id));
        self.gate.leave();
        self.admit(now);
    }
}

#[cfg(test)]
mod tests;
