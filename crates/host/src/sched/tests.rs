//! Tests that every registered scheduler must pass.

use ufs::LpaRun;
use units::{AppId, Lpa, Nanos};

use super::pending::writes;
use super::*;
use crate::request::RequestOp;
use params::Owners;

const WRITE: RequestOp = RequestOp::Write { fua: false };
const PAGE: u32 = 64;

/// Even addresses are cached.
struct Even;

impl CacheView for Even {
    fn cached(&self, lpa: Lpa, _len: u32) -> bool {
        lpa.0.is_multiple_of(2)
    }
}

fn part(request: u32, op: RequestOp, lpa: u32, len: u32) -> Part {
    Part { request, op, lpa: Lpa(lpa), len, app: AppId::SYSTEM, counted: false, pinned: false }
}

fn scheduler(kind: SchedulerKind, queue: u16) -> AnyScheduler {
    let mut all = SchedulerParams::default();
    all.set("*", "queue", u32::from(queue)).expect("queues of so many are allowed");
    AnyScheduler::of_kind(kind, &all, PAGE)
}

/// The counter of this name; 0 if the scheduler has none.
fn count(scheduler: &AnyScheduler, name: &str) -> u64 {
    scheduler.counted().into_iter().filter(|(counter, _)| counter.name == name).map(|(_, value)| value).sum()
}

/// Repeatable random numbers.
struct Random(u32);

impl Random {
    fn below(&mut self, n: u32) -> u32 {
        self.0 = self.0.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        ((u64::from(self.0) * u64::from(n)) >> 32) as u32
    }

    fn part(&mut self, request: u32, span: u32) -> Part {
        let (lpa, len) = (self.below(span), 1 + self.below(6));
        match self.below(20) {
            0 => part(request, RequestOp::Flush, 0, 1),
            1 => part(request, RequestOp::Unmap, lpa, len),
            2 => part(request, RequestOp::Write { fua: true }, lpa, len),
            3..9 => part(request, WRITE, lpa, len),
            _ => part(request, RequestOp::Read, lpa, len),
        }
    }
}

/// Adds and takes parts at random. Gives them in the order in which they were sent. `queue` parts are visible.
fn churn(kind: SchedulerKind, queue: u16, span: u32, seed: u32) -> Vec<Part> {
    let mut scheduler = scheduler(kind, queue);
    let (mut random, mut sent, mut submitted, mut now) = (Random(seed), Vec::new(), 0, SimTime::START);
    while submitted < 4_000 || sent.len() < submitted as usize {
        now = now + Nanos(u64::from(random.below(200_000)));
        if submitted < 4_000 && random.below(2) == 0 {
            for _ in 0..1 + random.below(30) {
                scheduler.push(random.part(submitted, span));
                submitted += 1;
            }
        }
        scheduler.admit(now, &Even);
        for _ in 0..random.below(30) {
            if random.below(2) == 0 {
                let _ = scheduler.open_batch(now);
            }
            sent.extend(scheduler.pop(now, &Even));
        }
    }
    assert_eq!(scheduler.pop(now, &Even), None);
    sent
}

pub fn every_part_comes_back_once(kind: SchedulerKind) {
    for (queue, span) in [(1, 300), (7, 40), (128, 1_000), (128, 100_000), (1024, 500)] {
        let mut seen: Vec<u32> = churn(kind, queue, span, 3).iter().map(|p| p.request).collect();
        seen.sort_unstable();
        assert!(seen.iter().copied().eq(0..seen.len() as u32), "{} with {queue} visible", kind.name());
    }
}

pub fn overlapping_parts_keep_their_order(kind: SchedulerKind) {
    let mut overtakings = 0;
    for (queue, span) in [(7, 40), (128, 200), (128, 3_000)] {
        let sent: Vec<Part> = churn(kind, queue, span, 5).into_iter().filter(|p| p.op != RequestOp::Flush).collect();
        for (i, late) in sent.iter().enumerate() {
            for early in sent[i + 1..].iter().filter(|early| early.request < late.request) {
                overtakings += 1;
                let overlap = late.lpa.0 < early.lpa.0 + early.len && early.lpa.0 < late.lpa.0 + late.len;
                let conflict = overlap && (writes(late.op) || writes(early.op));
                assert!(!conflict, "{}: {late:?} overtook {early:?}", kind.name());
            }
        }
    }
    assert_eq!(overtakings > 0, kind != SchedulerKind::Noop, "{}", kind.name());
}

/// Parts arrive faster than they are sent, and all of them have priority over one part: another direction, cached,
/// small, dense. Once that part is due, only parts that were pending already, or that one earlier choice has selected,
/// may go before it.
pub fn nothing_starves(kind: SchedulerKind) {
    let patience = if kind == SchedulerKind::MqDeadline { 5_000 } else { 10 };
    let queue = 32;
    for (victim, others) in [(WRITE, RequestOp::Read), (RequestOp::Read, WRITE), (RequestOp::Read, RequestOp::Read)] {
        let mut scheduler = scheduler(kind, queue);
        scheduler.push(part(0, victim, 100_001, 9));
        let (mut now, mut request, mut pops_when_due) = (SimTime::START, 0, 0);
        for step in 0.. {
            while request < 2 * step {
                request += 1;
                scheduler.push(part(request, others, 2 * (request % 40_000), 1));
            }
            now = now + Nanos::from_micros(100 * patience / 10);
            scheduler.admit(now, &Even);
            if scheduler.pop(now, &Even).is_some_and(|sent| sent.request == 0) {
                break;
            }
            pops_when_due += u32::from(now >= SimTime::START + Nanos::from_millis(patience));
            assert!(pops_when_due <= 2 * u32::from(queue), "{}: {victim:?} starves", kind.name());
        }
    }
}

pub fn a_flush_waits_for_nothing_that_came_later(kind: SchedulerKind) {
    let sent = churn(kind, 16, 300, 8);
    for (i, flush) in sent.iter().enumerate().filter(|(_, p)| p.op == RequestOp::Flush) {
        assert!(sent[..i].iter().all(|p| p.request < flush.request), "{}: {flush:?} was overtaken", kind.name());
    }
}

/// A batch is announced once, before its first part, and exactly its parts follow. All begin in one translation page,
/// and the run of one that reaches into the next page is announced for both.
pub fn a_batch_is_announced_as_it_is_sent(kind: SchedulerKind) {
    let mut scheduler = scheduler(kind, 128);
    let mut random = Random(4);
    (0..600).for_each(|i| scheduler.push(part(i, RequestOp::Read, 1 + 2 * random.below(1_000), 1 + random.below(9))));
    scheduler.admit(SimTime::START, &Even);
    let (mut left, mut batches, mut both) = (0, 0, 0);
    let mut announced: Box<[LpaRun]> = Box::default();
    for _ in 0..600 {
        let opened = scheduler.open_batch(SimTime::START);
        assert_eq!(scheduler.open_batch(SimTime::START), None, "announced twice");
        if let Some(batch) = opened {
            assert_eq!(left, 0, "a batch begins within another");
            assert!(!batch.write && batch.requests > 0);
            let page = |lpa: Lpa| lpa.0 / PAGE;
            let first = page(batch.runs[0].lpa);
            let begins = |run: &LpaRun| page(run.lpa) == first && page(Lpa(run.end().0 - 1)) <= first + 1;
            both += u32::from(batch.runs.iter().any(|run| page(Lpa(run.end().0 - 1)) > first));
            assert!(batch.runs.iter().all(begins) && batch.runs.is_sorted_by(|a, b| a.end() < b.lpa), "{batch:?}");
            (left, announced, batches) = (batch.requests, batch.runs, batches + 1);
        }
        let sent = scheduler.pop(SimTime::START, &Even).expect("600 parts were pushed");
        if left > 0 {
            left -= 1;
            let inside = |run: &LpaRun| run.lpa <= sent.lpa && sent.lpa.0 + sent.len <= run.end().0;
            assert!(announced.iter().any(inside), "{sent:?} was not announced");
        }
    }
    let makes_batches =
        matches!(kind, SchedulerKind::Rb | SchedulerKind::Bs | SchedulerKind::Map | SchedulerKind::MapPlus);
    assert_eq!((batches > 0, both > 0), (makes_batches, makes_batches), "{}", kind.name());
    assert_eq!(count(&scheduler, "sched_batches"), batches);
}

#[test]
fn names_lead_back_to_their_schedulers() {
    for (&kind, &name) in SchedulerKind::ALL.iter().zip(SchedulerKind::NAMES) {
        assert_eq!(kind.name(), name);
        assert_eq!(SchedulerKind::from_name(name), Some(kind));
    }
    let asking: Vec<&str> = SchedulerKind::ALL.iter().filter(|k| k.queries_cache()).map(|k| k.name()).collect();
    assert_eq!(asking, ["hp", "map", "map-plus"]);
    assert_eq!(SchedulerKind::from_name("elevator"), None);
}

/// The order in which these parts are sent if all are pending at time 0.
fn order(kind: SchedulerKind, parts: &[(RequestOp, u32, u32)]) -> Vec<u32> {
    let mut scheduler = scheduler(kind, 128);
    for (&(op, lpa, len), request) in parts.iter().zip(0..) {
        scheduler.push(part(request, op, lpa, len));
    }
    scheduler.admit(SimTime::START, &Even);
    std::iter::from_fn(|| scheduler.pop(SimTime::START, &Even)).map(|p| p.request).collect()
}

#[test]
fn each_has_its_own_order() {
    const READ: RequestOp = RequestOp::Read;
    // Misses have odd addresses; translation pages have 64 entries.
    let parts = [
        (WRITE, 1, 4),
        (WRITE, 1000, 1),
        (READ, 501, 8),
        (READ, 67, 4),
        (READ, 64, 2),
        (WRITE, 5, 1),
        (READ, 505 + 64, 1),
        (READ, 71, 1),
    ];
    assert_eq!(order(SchedulerKind::Noop, &parts), [0, 1, 2, 3, 4, 5, 6, 7]);
    assert_eq!(order(SchedulerKind::Row, &parts), [2, 0, 3, 1, 4, 5, 6, 7]);
    assert_eq!(order(SchedulerKind::Amphibian, &parts), [6, 1, 7, 5, 4, 0, 3, 2]);
    assert_eq!(order(SchedulerKind::Hp, &parts), [4, 1, 2, 0, 3, 5, 6, 7]);
    assert_eq!(order(SchedulerKind::Rb, &parts), [2, 0, 5, 3, 4, 7, 1, 6]);
    assert_eq!(order(SchedulerKind::Bs, &parts), [6, 1, 3, 4, 7, 0, 5, 2]);
    assert_eq!(order(SchedulerKind::Map, &parts), [4, 1, 2, 0, 5, 3, 7, 6]);
    assert_eq!(order(SchedulerKind::MapPlus, &parts), [4, 1, 6, 0, 5, 3, 7, 2]);
    assert_eq!(order(SchedulerKind::MqDeadline, &parts), [4, 3, 7, 2, 6, 0, 5, 1]);
}

#[test]
fn mq_deadline_reads_twice_before_it_writes_and_goes_in_batches() {
    let reads = (0..50).map(|i| (RequestOp::Read, i * 10, 1));
    let writes = (0..20).map(|i| (WRITE, 5_000 + i * 10, 1));
    let order = order(SchedulerKind::MqDeadline, &reads.chain(writes).collect::<Vec<_>>());
    let batches: Vec<Vec<u32>> = order.chunk_by(|a, b| (*a < 50) == (*b < 50)).map(<[u32]>::to_vec).collect();
    let lengths: Vec<usize> = batches.iter().map(Vec::len).collect();
    assert_eq!(lengths, [32, 16, 18, 4], "two batches of 16 reads, one of 16 writes, the rest");
}

#[test]
fn due_parts_go_after_each_request_or_batch() {
    let mut scheduler = scheduler(SchedulerKind::Map, 128);
    let at = |ms| SimTime::START + Nanos::from_millis(ms);
    for (request, lpa) in [(0, 101), (1, 301)] {
        scheduler.push(part(request, RequestOp::Read, lpa, 1));
    }
    scheduler.admit(at(0), &Even);
    for (request, lpa) in [(2, 2), (3, 4), (4, 401), (5, 403)] {
        scheduler.push(part(request, RequestOp::Read, lpa, 1));
    }
    scheduler.admit(at(5), &Even);
    let mut pop = |ms| scheduler.pop(at(ms), &Even).map(|p| p.request);
    // First a hit; then both due parts, before the other hit. The batch is not interrupted.
    assert_eq!([pop(9), pop(10), pop(10), pop(10)], [Some(2), Some(0), Some(1), Some(3)]);
    assert_eq!([pop(11), pop(30), pop(30)], [Some(4), Some(5), None]);
    assert_eq!(["sched_due", "sched_prioritised", "sched_overtaking"].map(|name| count(&scheduler, name)), [2, 3, 1]);
}

/// "The batch grouping operations are not affected by the deadline" (MAP+ Sec. VI-B.3).
#[test]
fn a_due_part_takes_its_batch_with_it() {
    // Told that it goes alone, it leaves the other part of its page behind, for a batch of its own.
    let due_first = |with_batch: bool| {
        let mut all = SchedulerParams::default();
        all.set("*", "queue", 128_u32).expect("queues of so many are allowed");
        all.set("*", "due_batch", with_batch).expect("a switch");
        let mut scheduler = AnyScheduler::of_kind(SchedulerKind::MapPlus, &all, PAGE);
        let at = |ms| SimTime::START + Nanos::from_millis(ms);
        scheduler.push(part(0, RequestOp::Read, 101, 9));
        scheduler.admit(at(0), &Even);
        for (request, lpa) in [(1, 301), (2, 303), (3, 121)] {
            scheduler.push(part(request, RequestOp::Read, lpa, 1));
        }
        scheduler.admit(at(5), &Even);
        let opened = scheduler.open_batch(at(10)).map(|batch| batch.requests);
        let order: Vec<_> = std::iter::from_fn(|| scheduler.pop(at(10), &Even).map(|p| p.request)).collect();
        (opened, order, ["sched_due", "sched_batches"].map(|name| count(&scheduler, name)))
    };
    assert_eq!(due_first(true), (Some(2), vec![0, 3, 1, 2], [1, 2]));
    assert_eq!(due_first(false), (None, vec![0, 3, 1, 2], [1, 2]));
}
