//! The model as a [`Source`] of reads.

use std::collections::VecDeque;

use units::{Lpa, Nanos, SimTime, UNIT_BYTES};

use super::file::File;
use super::runs::Runs;
use super::spec::{Access, LlmSpec};
use crate::described::DescriptionError;
use crate::report::{LlmReport, Operations, Report};
use crate::rng::named_stream;
use crate::source::LATEST;
use crate::{
    Flags, Footprint, GroupId, GroupInfo, Issued, Next, Progress, Source, StreamId, Ticket, Tickets, WorkOp,
    WorkRequest,
};

const LOADING: GroupId = GroupId(0);
const DECODING: GroupId = GroupId(1);

/// A read under way: its step and its thread.
struct Reading {
    step: u64,
    thread: usize,
    bytes: u64,
}

/// A read that is to be issued.
struct Wanted {
    step: u64,
    first: Lpa,
    units: u32,
}

/// A thread that reads.
#[derive(Clone, Default)]
struct Thread {
    outstanding: u32,
    /// From when on it may issue its next read.
    free_at: SimTime,
}

/// What the processors do.
enum State {
    /// Nothing yet: the first call begins.
    New,
    /// What stays in memory is read; since when.
    Loading(SimTime),
    /// The next step waits for its reads; since when.
    Waiting(SimTime),
    /// The next step is computed until then.
    Computing(SimTime),
    /// All tokens are there.
    Ended,
}

/// A language model whose weights are on flash. Steps are numbered from 0 on; loading is one before them.
pub struct LlmSource {
    spec: LlmSpec,
    file: File,
    runs: Runs,
    state: State,
    /// Steps that have been computed, and whose reads are known.
    computed: u64,
    planned: u64,
    /// Reads that steps from `computed` on lack.
    lacking: VecDeque<u32>,
    wanted: VecDeque<Wanted>,
    threads: Vec<Thread>,
    tickets: Tickets<Reading>,
    groups: Vec<GroupInfo>,
    report: LlmReport,
    /// When each token began, and how long it took.
    called: Vec<SimTime>,
    latencies_ns: Vec<u64>,
    line: u64,
    progress: Progress,
}

impl LlmSource {
    /// Lays the model out on a device of so many units of 4 KiB; `origin` names its file in errors.
    ///
    /// # Errors
    /// If it does not fit.
    pub fn new(spec: &LlmSpec, origin: &str, capacity_units: u32, seed: u64) -> Result<LlmSource, DescriptionError> {
        let file = File::new(spec, capacity_units, seed).map_err(|problem| DescriptionError::of(origin, &problem))?;
        let group = |name: &str, measured| GroupInfo { name: name.into(), measured, options: Default::default() };
        Ok(LlmSource {
            file,
            runs: Runs::new(spec, named_stream(seed, "llm activations", 0)),
            state: State::New,
            computed: 0,
            planned: 0,
            lacking: VecDeque::new(),
            wanted: VecDeque::new(),
            threads: vec![Thread::default(); spec.threads as usize],
            tickets: Tickets::new(),
            groups: vec![group("load", false), group("decode", true)],
            report: LlmReport::default(),
            called: Vec::new(),
            latencies_ns: Vec::new(),
            line: 0,
            progress: Progress::default(),
            spec: spec.clone(),
        })
    }

    fn steps(&self) -> u64 {
        u64::from(self.spec.tokens) * u64::from(self.spec.layers)
    }

    /// Goes on as far as the reads that have completed allow.
    fn advance(&mut self, now: SimTime) {
        loop {
            match self.state {
                State::New => {
                    self.state = State::Loading(now);
                    self.plan_loading();
                }
                State::Loading(since) if self.lacking[0] == 0 => {
                    self.lacking.pop_front();
                    self.report.load_ns = now.since(since).0;
                    self.next_step(now);
                }
                State::Waiting(since) if self.lacking[0] == 0 => {
                    self.report.waiting_ns += now.since(since).0;
                    self.state = State::Computing(now + self.spec.compute());
                }
                State::Computing(end) if end <= now => {
                    self.lacking.pop_front();
                    self.computed += 1;
                    if self.computed.is_multiple_of(self.spec.layers.into()) {
                        let began = *self.called.last().expect("a step belongs to a token");
                        self.latencies_ns.push(end.since(began).0);
                    }
                    self.next_step(end);
                }
                _ => return,
            }
        }
    }

    /// Begins to wait for the next step's reads; plans those that are known by now.
    fn next_step(&mut self, now: SimTime) {
        if self.computed == self.steps() {
            self.state = State::Ended;
            return;
        }
        if self.computed.is_multiple_of(self.spec.layers.into()) {
            self.called.push(now);
        }
        let known = (self.computed + 1 + u64::from(self.spec.prefetch_layers)).min(self.steps());
        while self.planned < known {
            self.plan(self.planned);
            self.planned += 1;
        }
        self.state = State::Waiting(now);
    }

    /// What stays in memory is read in order.
    fn plan_loading(&mut self) {
        self.report.load_bytes = self.spec.loaded_bytes();
        let units = (self.spec.loaded_bytes() / UNIT_BYTES) as u32;
        self.lacking.push_back(0);
        self.want(0, 0, units);
    }

    /// The reads of a step.
    fn plan(&mut self, step: u64) {
        self.lacking.push_back(0);
        let layer = step % u64::from(self.spec.layers);
        let begin = self.spec.loaded_bytes() + layer * self.spec.layer_bytes();
        let bundles = self.spec.on_flash();
        let mut runs = Vec::new();
        self.runs.draw(bundles, |first, count| runs.push((u64::from(first), u64::from(count))));
        for &(_, count) in &runs {
            self.report.runs += 1;
            self.report.bundles += count;
            self.report.longest_run = self.report.longest_run.max(count);
        }
        // Bundles side by side, or each matrix by itself.
        let (areas, width) = match self.spec.bundled {
            true => (1, self.spec.bundle_bytes()),
            false => (self.spec.rows.into(), self.spec.row_bytes.into()),
        };
        // What is loaded is in memory.
        let mut done = (self.spec.loaded_bytes() / UNIT_BYTES) as u32;
        for area in 0..areas {
            for &(first, count) in &runs {
                let at = begin + (area * u64::from(bundles) + first) * width;
                done = self.plan_run(step, at, at + count * width, done);
            }
        }
    }

    /// Reads the bytes of a run, widened to units, without the units before `done`, which are under way already; what
    /// is under way then.
    fn plan_run(&mut self, step: u64, from: u64, to: u64, done: u32) -> u32 {
        let first = ((from / UNIT_BYTES) as u32).max(done);
        let end = to.div_ceil(UNIT_BYTES) as u32;
        match self.spec.access {
            _ if first >= end => done,
            Access::Read => {
                self.want(step, first, end - first);
                end
            }
            Access::Mapped => self.plan_faults(step, first, end, done),
        }
    }

    /// Each fault reads around its page, half of it before: what is there already is left out.
    fn plan_faults(&mut self, step: u64, first: u32, end: u32, mut done: u32) -> u32 {
        let around = self.spec.readahead_kib / 4;
        let mut page = first;
        while page < end {
            let from = page.saturating_sub(around / 2).max(done);
            let to = (page.saturating_sub(around / 2) + around).min(self.file.units());
            self.want(step, from, to - from);
            done = to;
            page = to;
        }
        done
    }

    /// Wants a range of the file for a step.
    fn want(&mut self, step: u64, first: u32, units: u32) {
        let before = self.wanted.len();
        let wanted = &mut self.wanted;
        let most = self.spec.request_kib / 4;
        self.file.parts(first, units, most, |first, units| wanted.push_back(Wanted { step, first, units }));
        *self.lacking.back_mut().expect("of this step") += (self.wanted.len() - before) as u32;
    }

    fn is_loading(&self) -> bool {
        matches!(self.state, State::Loading(_))
    }

    /// The next read, if a thread can issue it now; else when one can.
    fn issue(&mut self, now: SimTime) -> Result<Issued, Option<SimTime>> {
        let Some(wanted) = self.wanted.front() else { return Err(None) };
        let mapped = self.spec.access == Access::Mapped && !self.is_loading();
        let depth = if mapped { 1 } else { self.spec.depth };
        let open = self.threads.iter().enumerate().filter(|(_, thread)| thread.outstanding < depth);
        let (number, free_at) = open.map(|(n, t)| (n, t.free_at)).min_by_key(|&(_, at)| at).ok_or(None)?;
        if free_at > now {
            return Err(Some(free_at));
        }
        let thread = &mut self.threads[number];
        thread.outstanding += 1;
        thread.free_at = now + Nanos(self.spec.request_ns.into());
        let bytes = u64::from(wanted.units) * UNIT_BYTES;
        let ticket = self.tickets.issue(Reading { step: wanted.step, thread: number, bytes });
        self.line += 1;
        let request = WorkRequest {
            arrival: now,
            bytes,
            line: self.line,
            flags: Flags { sync: true, readahead: mapped, ..Flags::default() },
            stream: StreamId(number as u16),
            ..WorkRequest::plain(WorkOp::Read, wanted.first.0.into(), 0)
        };
        self.wanted.pop_front();
        let measured = !self.is_loading();
        if measured {
            self.report.reads += 1;
            self.report.read_bytes += bytes;
        }
        Ok(Issued { ticket, group: if measured { DECODING } else { LOADING }, measured, request })
    }
}

impl Source for LlmSource {
    fn next(&mut self, now: SimTime) -> Next {
        self.advance(now);
        let issued = self.issue(now);
        let thread_free = match issued {
            Ok(issued) => return Next::Request(issued),
            Err(at) => at,
        };
        let computed = match self.state {
            State::Ended => return Next::Done,
            State::Computing(end) => Some(end),
            _ => None,
        };
        match thread_free.into_iter().chain(computed).min() {
            Some(at) => Next::Wait(at.min(LATEST)),
            None => Next::Blocked,
        }
    }

    fn completed(&mut self, ticket: Ticket, now: SimTime) {
        let reading = self.tickets.complete(ticket);
        self.threads[reading.thread].outstanding -= 1;
        self.progress.done += reading.bytes;
        // Loading goes by the name of step 0, and nothing else is under way then.
        self.lacking[(reading.step - self.computed) as usize] -= 1;
        self.advance(now);
    }

    fn coming(&self) -> Option<Lpa> {
        self.wanted.front().map(|wanted| wanted.first)
    }

    fn progress(&self) -> Progress {
        self.progress
    }

    fn groups(&self) -> &[GroupInfo] {
        &self.groups
    }

    fn footprint(&self) -> Footprint {
        self.file.footprint()
    }

    fn preconditioning_ranges(&self) -> Footprint {
        self.file.footprint()
    }

    fn report(&mut self) -> Report {
        let latencies_ns = std::mem::take(&mut self.latencies_ns);
        self.report.tokens = latencies_ns.len() as u64;
        self.report.decode_ns = latencies_ns.iter().sum();
        let tokens = Operations {
            name: "token".into(),
            programs: 1,
            duration: Nanos(self.report.decode_ns),
            requests: vec![("reads", self.report.reads), ("units_read", self.report.read_bytes / UNIT_BYTES)],
            called: std::mem::take(&mut self.called),
            latencies_ns,
        };
        Report { operations: vec![tokens], llm: Some(self.report), ..Report::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A device that completes each read after `read_us`, all beside each other, and what the model made of it.
    fn decoded(lines: &str, read_us: u64) -> (Vec<(u64, Issued)>, LlmReport, Vec<u64>) {
        let small = "layers = 4\nbundles = 256\nother_mib = 1\ncompute_us = 100\ntokens = 3\n";
        let at_once = if lines.contains("request_ns") { "" } else { "request_ns = 0\n" };
        let spec = LlmSpec::parse(&format!("[llm]\n{small}{at_once}{lines}"), "x").unwrap();
        let mut source = LlmSource::new(&spec, "x", 1 << 14, 7).unwrap();
        let (mut now, mut under_way, mut reads) = (SimTime(0), VecDeque::new(), Vec::new());
        loop {
            let until = match source.next(now) {
                Next::Request(issued) => {
                    under_way.push_back((now + Nanos::from_micros(read_us), issued.ticket));
                    reads.push((now.0, issued));
                    continue;
                }
                Next::Wait(at) => Some(at),
                Next::Blocked => None,
                Next::Done => break,
                other @ Next::Driver(_) => panic!("{other:?}"),
            };
            let first = under_way.front().map(|&(at, _)| at);
            now = first.into_iter().chain(until).min().expect("something goes on");
            if first == Some(now) {
                source.completed(under_way.pop_front().expect("one is under way").1, now);
            }
        }
        assert!(under_way.is_empty());
        let report = source.report();
        let latencies = report.operations[0].latencies_ns.clone();
        (reads, report.llm.expect("a model"), latencies)
    }

    #[test]
    fn a_layer_waits_for_its_reads_and_the_next_for_its_computation() {
        // All at once: 12 steps of a read and a computation.
        let (reads, report, latencies) = decoded("depth = 1024\nactive_percent = 100", 50);
        assert_eq!((report.tokens, report.decode_ns, report.waiting_ns), (3, 12 * 150_000, 12 * 50_000));
        assert_eq!(latencies, [600_000; 3]);
        // Half of 256 bundles of 4 KiB are one read of 512 KiB.
        assert_eq!((report.reads, report.read_bytes, report.longest_run), (12, 12 << 19, 128));
        // A MiB and half of the bundles of four layers.
        assert_eq!((report.load_bytes, report.load_ns), (3 << 20, 50_000));
        assert!(reads.iter().filter(|(_, issued)| !issued.measured).map(|(_, i)| i.request.bytes).eq([1 << 19; 6]));
        assert_eq!(decoded("active_percent = 100\nmemory_percent = 100", 50).1.decode_ns, 12 * 100_000);
    }

    #[test]
    fn prefetching_hides_reads_behind_computation() {
        let waiting = |lines: &str, read_us| decoded(&format!("active_percent = 100\n{lines}"), read_us).1.waiting_ns;
        // Only the first is waited for, if the others take no longer than computing.
        assert_eq!(waiting("prefetch_layers = 1", 50), 50_000);
        // Reads of 150 us: two layers ahead they are issued 200 us before they are needed, but for the second step.
        assert_eq!((waiting("", 150), waiting("prefetch_layers = 2", 150)), (12 * 150_000, 150_000));
    }

    #[test]
    fn threads_take_time_for_each_read_and_have_so_many_outstanding() {
        let small = "active_percent = 100\nrequest_kib = 4\n";
        // 128 reads, one at a time.
        assert_eq!(decoded(&format!("{small}depth = 1"), 10).1.waiting_ns, 12 * 128 * 10_000);
        assert_eq!(decoded(&format!("{small}depth = 2\nthreads = 2"), 10).1.waiting_ns, 12 * 32 * 10_000);
        // A read every 4 us, whatever the device can do; the last takes its time.
        let (reads, report, _) = decoded(&format!("{small}depth = 1024\nrequest_ns = 4000"), 10);
        assert_eq!(report.waiting_ns, 12 * (127 * 4_000 + 10_000));
        assert!(reads.windows(2).all(|pair| pair[1].0 - pair[0].0 >= 4_000));
    }

    /// Without bundles there are as many runs in each matrix, of half the length: twice the reads.
    #[test]
    fn rows_that_lie_apart_are_read_apart() {
        let lines = "row_bytes = 4096\nactive_percent = 10\n";
        let (_, bundled, _) = decoded(lines, 10);
        let (_, apart, _) = decoded(&format!("{lines}bundled = false"), 10);
        assert_eq!((apart.runs, apart.reads, apart.read_bytes), (bundled.runs, 2 * bundled.reads, bundled.read_bytes));
        // Rows of half a unit are widened to one.
        let (_, widened, _) = decoded("active_percent = 10\nbundled = false", 10);
        assert!(widened.read_bytes > widened.bundles * 4096 * 3 / 2, "{widened:?}");
    }

    #[test]
    fn a_mapped_file_faults_page_by_page_and_reads_around() {
        let (reads, alone, _) = decoded("access = \"mapped\"\nreadahead_kib = 4\nactive_percent = 10", 10);
        let faults = || reads.iter().filter(|(_, issued)| issued.measured);
        assert!(faults().all(|(_, issued)| issued.request.bytes == 4096 && issued.request.flags.readahead));
        // One at a time, a unit for each bundle.
        assert_eq!((alone.reads, alone.waiting_ns), (alone.bundles, alone.bundles * 10_000));
        let (reads, around, _) = decoded("access = \"mapped\"\nactive_percent = 10", 10);
        assert!(around.reads < alone.reads / 2 && around.read_bytes > alone.read_bytes, "{around:?}");
        assert!(reads.iter().all(|(_, issued)| issued.request.units().1 <= 128));
    }

    #[test]
    fn one_seed_gives_one_sequence() {
        let reads = || decoded("", 10).0.iter().map(|(at, issued)| (*at, issued.request)).collect::<Vec<_>>();
        assert_eq!(reads(), reads());
    }
}
