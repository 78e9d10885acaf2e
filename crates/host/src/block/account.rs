//! What the block layer and the processors have done.

use super::cost::WorkKind;

/// Kinds of request.
const KINDS: usize = WorkKind::ALL.len();

/// Counts, and times in nanoseconds, since the beginning.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct BlockAccount {
    /// Requests that tasks have handed over; what is merged is one.
    pub requests: u64,
    /// Times that a task handed over requests, one or several at once.
    pub batches: u64,
    /// Largest number of requests inside.
    pub inside_peak: u64,
    /// Requests whose task had to wait for a place before the queue.
    pub waited_requests: u64,
    /// The sum of these waits.
    pub waited_ns: u64,
    /// Requests that came late, because their task was waiting so with an earlier one.
    pub late_requests: u64,
    /// By how much, in all.
    pub late_ns: u64,
    /// Processor time of submissions by kind.
    pub submit_ns: [u64; KINDS],
    /// Processor time of completions by kind.
    pub complete_ns: [u64; KINDS],
    /// Delays between responses and their completion work.
    pub delay_ns: u64,
    /// Time for which work waited for a processor, or for the work of its task before it.
    pub queued_ns: u64,
    /// Wakes of processors.
    pub processor_wakes: u64,
    /// What they took.
    pub processor_wake_ns: u64,
    /// Stalls of the processors.
    pub stalls: u64,
    /// What they took.
    pub stall_ns: u64,
    /// Completions of writes that found their processor taken.
    pub preemptions: u64,
    /// For how long, in all.
    pub preempted_ns: u64,
}

impl BlockAccount {
    /// What was added since `earlier`; a peak stays.
    #[must_use]
    pub fn since(&self, earlier: &BlockAccount) -> BlockAccount {
        let less = |now: [u64; KINDS], then: [u64; KINDS]| std::array::from_fn(|kind| now[kind] - then[kind]);
        BlockAccount {
            requests: self.requests - earlier.requests,
            batches: self.batches - earlier.batches,
            inside_peak: self.inside_peak,
            waited_requests: self.waited_requests - earlier.waited_requests,
            waited_ns: self.waited_ns - earlier.waited_ns,
            late_requests: self.late_requests - earlier.late_requests,
            late_ns: self.late_ns - earlier.late_ns,
            submit_ns: less(self.submit_ns, earlier.submit_ns),
            complete_ns: less(self.complete_ns, earlier.complete_ns),
            delay_ns: self.delay_ns - earlier.delay_ns,
            queued_ns: self.queued_ns - earlier.queued_ns,
            processor_wakes: self.processor_wakes - earlier.processor_wakes,
            processor_wake_ns: self.processor_wake_ns - earlier.processor_wake_ns,
            stalls: self.stalls - earlier.stalls,
            stall_ns: self.stall_ns - earlier.stall_ns,
            preemptions: self.preemptions - earlier.preemptions,
            preempted_ns: self.preempted_ns - earlier.preempted_ns,
        }
    }
}
