//! The engine against a model that knows bytes: under every preset, with requests that overlap, trims, flushes, FUA and
//! power cuts.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex};

use lab::aged::Header;
use lab::{Aged, Machine, Spec, schemes, simulate};
use nand::Faults;
use ufsim_attach::{ArrivalLog, Ask, Engine, Failure, MemoryStore, UNIT};
use units::{Nanos, SimTime};
use workload::Rng;

const SPAN: u64 = 400;

fn machine(scheme: &str) -> Machine {
    Spec { profile: "tiny".into(), ..Spec::new(scheme, "") }.resolve().expect("a machine")
}

fn engine(scheme: &str) -> Engine {
    Engine::new(&machine(scheme), 7, Box::new(MemoryStore::new())).expect("the profile's own settings")
}

/// Values of units: a unit holds its value eight bytes after eight bytes; 0 is zeroes.
fn page(value: u64) -> Vec<u8> {
    value.to_le_bytes().repeat(UNIT / 8)
}

fn value(page: &[u8]) -> u64 {
    let value = u64::from_le_bytes(page[..8].try_into().expect("eight bytes"));
    assert_eq!(page, self::page(value), "a unit is of one write");
    value
}

/// What each unit may hold.
#[derive(Default)]
struct Model {
    /// Since the last flush that has ended, the values from the one that was durable on.
    since_flush: BTreeMap<u32, Vec<u64>>,
    /// Since nothing was under way.
    since_rest: BTreeMap<u32, Vec<u64>>,
}

impl Model {
    fn of(map: &BTreeMap<u32, Vec<u64>>, unit: u32) -> Vec<u64> {
        map.get(&unit).cloned().unwrap_or_else(|| vec![0])
    }

    fn change(&mut self, unit: u32, value: u64) {
        for map in [&mut self.since_flush, &mut self.since_rest] {
            map.entry(unit).or_insert_with(|| vec![0]).push(value);
        }
    }

    /// Of each unit only the last value is left.
    fn settle(map: &mut BTreeMap<u32, Vec<u64>>) {
        map.values_mut().for_each(|values| drop(values.drain(..values.len() - 1)));
    }
}

struct Bench {
    engine: Engine,
    model: Model,
    rng: Rng,
    /// Reads under way: token, first unit.
    reads: BTreeMap<u64, u32>,
    token: u64,
    last_value: u64,
    at: SimTime,
}

impl Bench {
    fn new(scheme: &str, seed: u64) -> Bench {
        let engine = engine(scheme);
        let at = engine.now();
        let rng = Rng::from_seed(seed);
        Bench { engine, model: Model::default(), rng, reads: BTreeMap::new(), token: 0, last_value: 0, at }
    }

    fn range(&mut self) -> (u32, u32) {
        let len = if self.rng.below(4) == 0 { 1 + self.rng.below(40) } else { 1 };
        (self.rng.below(SPAN - len) as u32, len as u32)
    }

    fn ask(&mut self) {
        let (first, len) = self.range();
        let fua = self.rng.below(10) == 0;
        let ask = match self.rng.below(100) {
            0..50 => {
                self.last_value += 1;
                let value = self.last_value;
                (first..first + len).for_each(|unit| self.model.change(unit, value));
                Ask::Write { first, data: page(value).repeat(len as usize), fua }
            }
            50..60 => {
                (first..first + len).for_each(|unit| self.model.change(unit, 0));
                Ask::Trim { first, len, fua }
            }
            60..65 => Ask::Flush,
            _ => {
                self.reads.insert(self.token, first);
                Ask::Read { first, len }
            }
        };
        self.at = self.at + Nanos(self.rng.below(100_000));
        self.engine.submit(self.at, self.token, ask);
        self.token += 1;
        self.take(None);
    }

    /// Checks what has ended. After a cut reads may also give what is given.
    fn take(&mut self, also: Option<&BTreeMap<u32, Vec<u64>>>) {
        while let Some(answer) = self.engine.answer() {
            let Some(first) = self.reads.remove(&answer.token) else { continue };
            let Ok(data) = answer.result else { continue };
            for (unit, page) in (first..).zip(data.chunks(UNIT)) {
                let (got, allowed) = (value(page), Model::of(also.unwrap_or(&self.model.since_rest), unit));
                assert!(allowed.contains(&got), "unit {unit} gave {got}, not one of {allowed:?}");
            }
        }
    }

    fn rest(&mut self) {
        while self.engine.outstanding() > 0 {
            self.engine.step();
            self.take(None);
        }
        Model::settle(&mut self.model.since_rest);
    }

    fn flush(&mut self) {
        self.engine.submit(self.at, u64::MAX - 1, Ask::Flush);
        self.rest();
        Model::settle(&mut self.model.since_flush);
    }

    /// Cuts the power. Then every unit holds one of the values that it may hold, twice the same.
    fn cut(&mut self) {
        self.engine.cut(self.at);
        self.take(None);
        self.reads.clear();
        let mut found = BTreeMap::new();
        for unit in 0..SPAN as u32 {
            self.engine.submit(self.at, u64::from(unit), Ask::Read { first: unit, len: 1 });
        }
        while self.engine.outstanding() > 0 {
            self.engine.step();
        }
        while let Some(answer) = self.engine.answer() {
            let (unit, got) = (answer.token as u32, value(&answer.result.expect("a read")));
            let allowed = Model::of(&self.model.since_flush, unit);
            assert!(allowed.contains(&got), "after a cut unit {unit} holds {got}, not one of {allowed:?}");
            found.insert(unit, vec![got]);
        }
        self.model = Model { since_flush: found.clone(), since_rest: found };
    }
}

#[test]
fn every_preset_gives_back_the_bytes_that_were_written() {
    for preset in schemes() {
        let mut bench = Bench::new(preset.name, 11);
        for round in 0..6 {
            (0..120).for_each(|_| bench.ask());
            match round % 3 {
                0 => bench.rest(),
                1 => bench.flush(),
                _ => bench.cut(),
            }
        }
        assert!(bench.engine.stats().checked_units > 1000, "{}", preset.name);
    }
}

#[test]
fn many_cuts_lose_nothing_that_was_flushed() {
    for seed in 0..12 {
        let mut bench = Bench::new(["ufs", "hpb", "hp-ufs"][seed as usize % 3], seed);
        for _ in 0..5 {
            (0..40).for_each(|_| bench.ask());
            bench.flush();
            let more = bench.rng.below(60);
            (0..more).for_each(|_| bench.ask());
            bench.cut();
        }
        assert_eq!(bench.engine.stats().cuts, 5);
    }
}

fn faults(read: u32, program: u32) -> Faults {
    Faults { read_per_million: read, program_per_million: program, ..Faults::default() }
}

#[test]
fn reads_that_fail_give_no_data_and_lose_none() {
    for scheme in ["ufs", "hpb", "hp-ufs"] {
        let mut bench = Bench::new(scheme, 3);
        for _ in 0..4 {
            bench.engine.set_faults(bench.at, faults(100_000, 0));
            (0..200).for_each(|_| bench.ask());
            bench.rest();
            bench.engine.set_faults(bench.at, Faults::default());
            bench.flush();
            bench.cut();
        }
        let stats = bench.engine.stats();
        assert!(stats.requests["read"].failed > 10, "{scheme}: {}", stats.requests["read"].failed);
        assert_eq!(stats.requests["write"].failed, 0);
    }
}

/// A device whose superblocks are worn out is read-only: it refuses writes in words, and keeps what it has.
#[test]
fn programs_that_fail_end_in_a_device_that_only_reads() {
    let mut engine = engine("hp-ufs");
    engine.set_faults(SimTime::START, faults(0, 100_000));
    let mut kept = BTreeMap::new();
    let refused = (1..100_000u64).find(|&token| {
        let first = (token % 300) as u32;
        engine.submit(engine.now(), token, Ask::Write { first, data: page(token), fua: true });
        while engine.is_busy() {
            engine.step();
        }
        let answer = engine.answer().expect("one answer");
        if answer.result.is_ok() {
            kept.insert(first, token);
        }
        answer.result.is_err_and(|failure| failure == Failure::ReadOnly)
    });
    assert!(refused.is_some(), "it never wore out");
    for (first, token) in kept {
        engine.submit(engine.now(), token, Ask::Read { first, len: 1 });
        while engine.is_busy() {
            engine.step();
        }
        let answer = engine.answer().expect("one answer");
        assert_eq!(value(&answer.result.expect("a read")), token);
    }
}

/// What waits for a full row is only in SRAM.
#[test]
fn a_cut_takes_what_was_not_flushed_and_leaves_what_was() {
    for (fua, held) in [(false, 0), (true, 5)] {
        let mut engine = engine("hp-ufs");
        engine.submit(SimTime::START, 1, Ask::Write { first: 3, data: page(5), fua });
        while engine.answers() == 0 {
            engine.step();
        }
        engine.cut(engine.now());
        engine.submit(engine.now(), 2, Ask::Read { first: 3, len: 1 });
        while engine.is_busy() {
            engine.step();
        }
        let last = std::iter::from_fn(|| engine.answer()).last().expect("the read");
        assert_eq!(value(&last.result.expect("a read")), held, "fua: {fua}");
    }
}

#[test]
fn requests_under_way_fail_at_a_cut_and_later_ones_wait_for_the_recovery() {
    let mut engine = engine("ufs");
    engine.submit(SimTime::START, 1, Ask::Write { first: 0, data: page(1), fua: true });
    engine.cut(SimTime(10));
    assert!(!engine.is_ready());
    engine.submit(SimTime(20), 2, Ask::Read { first: 0, len: 1 });
    while engine.is_busy() {
        engine.step();
    }
    let answers: Vec<_> = std::iter::from_fn(|| engine.answer()).collect();
    assert_eq!((answers[0].token, &answers[0].result), (1, &Err(Failure::PowerCut)));
    assert_eq!(answers[1].token, 2);
    let recovery = engine.last_recovery();
    assert!(recovery > Nanos::ZERO && answers[1].latency > recovery, "{recovery:?} {:?}", answers[1]);
}

#[test]
fn what_reaches_beyond_the_device_is_refused() {
    let mut engine = engine("ufs");
    let end = engine.units();
    let write = |first, bytes: usize| Ask::Write { first, data: vec![1; bytes], fua: false };
    let wrong = [
        Ask::Read { first: end, len: 1 },
        Ask::Read { first: end - 1, len: 2 },
        Ask::Read { first: u32::MAX, len: u32::MAX },
        Ask::Read { first: 3, len: 0 },
        Ask::Trim { first: 1, len: u32::MAX, fua: true },
        write(end, UNIT),
        write(0, 512),
        write(0, 0),
    ];
    for ask in wrong {
        engine.submit(SimTime::START, 9, ask.clone());
        let answer = engine.answer().expect("it is refused at once");
        assert_eq!(answer.result, Err(Failure::OutOfRange), "{ask:?}");
    }
    assert_eq!(engine.outstanding(), 0);
}

/// Arrivals decide everything, however the time between them is passed.
#[test]
fn the_same_arrivals_give_the_same_digest() {
    let digest = |pieces: u64| {
        let mut engine = engine("hp-ufs");
        let mut rng = Rng::from_seed(3);
        let mut at = 0;
        for token in 0..2000 {
            let next = at + rng.below(60_000);
            (1..=pieces).for_each(|i| engine.run_until(SimTime(at + (next - at) * i / (pieces + 1))));
            at = next;
            let first = rng.below(5000) as u32;
            match rng.below(3) {
                0 => engine.submit(SimTime(at), token, Ask::Write { first, data: page(token), fua: false }),
                _ => engine.submit(SimTime(at), token, Ask::Read { first, len: 4 }),
            }
        }
        while engine.outstanding() > 0 {
            engine.step();
        }
        let answers: VecDeque<_> = std::iter::from_fn(|| engine.answer()).map(|a| (a.token, a.at)).collect();
        (engine.digest(), answers)
    };
    let (first, again) = (digest(0), digest(5));
    assert_eq!(first, again);
    let tokens: BTreeSet<u64> = first.1.iter().map(|(token, _)| *token).collect();
    assert_eq!(tokens.len(), 2000);
}

/// Without a flush, data leaves memory as soon as it is on flash.
#[test]
fn what_is_kept_in_memory_is_what_the_device_buffers() {
    let mut engine = engine("ufs");
    for token in 0..20_000 {
        let first = (token * 37 % 3000) as u32;
        engine.submit(engine.now(), token, Ask::Write { first, data: page(token + 1), fua: false });
        while engine.outstanding() > 8 {
            engine.step();
        }
    }
    let pending = engine.stats().pending_units;
    assert!(pending < 4000, "{pending} versions are pending");
}

/// The driver that the cut has surprised has requests that it never sent; they are no more.
#[test]
fn memory_that_changes_during_a_recovery_wakes_no_lost_request() {
    let mut engine = engine("hp-ufs");
    for token in 0..100 {
        engine.submit(SimTime::START, token, Ask::Write { first: token as u32, data: page(1), fua: true });
    }
    engine.cut(SimTime(5));
    engine.set_memory(SimTime(6), 1 << 16).expect("a limit that will do");
    assert!(!engine.is_ready(), "recovering");
    assert!(engine.set_memory(SimTime(7), 1).is_err(), "too small");
    engine.submit(SimTime(8), 100, Ask::Flush);
    while engine.is_busy() {
        engine.step();
    }
    let answers: Vec<_> = std::iter::from_fn(|| engine.answer()).collect();
    assert_eq!(answers.len(), 101);
    assert!(answers[..100].iter().all(|answer| answer.result == Err(Failure::PowerCut)));
    assert_eq!(answers[100].result, Ok(Vec::new()));
    assert_eq!(engine.stats().host["dram_bytes_limit"], 1 << 16);
}

#[test]
fn memory_can_be_changed_and_a_limit_that_is_too_small_is_refused() {
    let mut engine = engine("hp-ufs");
    assert!(engine.set_memory(SimTime(5), 1 << 20).is_ok());
    assert!(engine.set_memory(SimTime(6), 1).is_err());
}

/// A sink that the test can look at.
/// Where a log goes that is looked at later.
#[derive(Clone, Default)]
pub struct Shared(Arc<Mutex<Vec<u8>>>);

impl Shared {
    pub fn bytes(&self) -> Vec<u8> {
        self.0.lock().expect("one thread").clone()
    }
}

impl std::io::Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().expect("one thread").extend(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_log_of_arrivals_repeats_the_run() {
    for scheme in ["ufs", "hp-ufs"] {
        let written = Shared::default();
        let mut bench = Bench::new(scheme, 5);
        let log = ArrivalLog::new(Box::new(written.clone())).expect("memory");
        bench.engine.log_arrivals(log);
        (0..200).for_each(|_| bench.ask());
        bench.cut();
        bench.at = bench.engine.now();
        bench.engine.set_memory(bench.at, 1 << 20).expect("a limit that will do");
        // One after the other, and nothing between them in the log.
        for _ in 0..2 {
            assert!(bench.engine.save(bench.at, Box::new(|device, _| device)));
            while bench.engine.is_saving() {
                bench.engine.step();
            }
            bench.at = bench.engine.now();
        }
        bench.engine.set_faults(bench.at, faults(20_000, 0));
        (0..200).for_each(|_| bench.ask());
        bench.rest();
        let stats = bench.engine.stats();
        assert!(stats.requests["read"].failed > 0);
        bench.engine.close().expect("memory");
        let log = written.bytes();
        let mut again = engine(scheme);
        assert!(again.replay(&log[..], || true).expect("it was just written"));
        let repeated = again.stats();
        assert_eq!(repeated.digest, stats.digest, "{scheme}");
        assert_eq!((repeated.requests, repeated.cuts), (stats.requests, 1));
        let text = String::from_utf8(log).expect("CSV");
        let wrong = engine(scheme).replay(text.replacen("live", "live,1", 1).as_bytes(), || true);
        assert_eq!(wrong.expect_err("a field too many").to_string(), "line 2: must be a request of a log of arrivals");
    }
}

/// Saves the state now, while requests are under way, and reads everything back in a run that begins with it.
fn saved_and_read_back(engine: &mut Engine, scheme: &str) -> u64 {
    let path = std::env::temp_dir().join(format!("ufsim-attach-{}-{scheme}.state", std::process::id()));
    let from = path.to_str().expect("a plain name").to_owned();
    let spec = Spec { profile: "tiny".into(), verify: true, from: Some(from), seed: 7, ..Spec::new(scheme, READS) };
    let header = Header::new(&spec, &machine(scheme), "a test");
    let written = Arc::new(Mutex::new(false));
    let told = written.clone();
    let asked = engine.save(
        engine.now(),
        Box::new(move |device, oracle| {
            let aged = Aged::new(device, oracle, header);
            aged.save(&path).expect("room for a small file");
            *told.lock().expect("one thread") = true;
            aged.into_device()
        }),
    );
    assert!(asked);
    while !*written.lock().expect("one thread") {
        assert!(!engine.save(engine.now(), Box::new(|device, _| device)), "one at a time");
        engine.step();
    }
    let result = simulate(&spec, &mut |_| ControlFlow::Continue(()));
    std::fs::remove_file(spec.from.expect("just given")).expect("just written");
    result.expect("a run of what was saved").verified.expect("it was asked for").data_units
}

const READS: &str = "rw=randread bs=4k size=1m number_ios=20";

#[test]
fn a_saved_state_is_one_that_runs_begin_with() {
    for preset in schemes() {
        let mut bench = Bench::new(preset.name, 21);
        (0..150).for_each(|_| bench.ask());
        bench.cut();
        (0..60).for_each(|_| bench.ask());
        // What this cut has left nobody looks at before the state is saved.
        bench.engine.cut(bench.at);
        while bench.engine.answer().is_some() {}
        bench.reads.clear();
        for token in 0..40 {
            let first = 3 * (token as u32 % 20);
            bench.engine.submit(bench.engine.now(), token, Ask::Write { first, data: page(9), fua: false });
        }
        let units = saved_and_read_back(&mut bench.engine, preset.name);
        assert!((200..=SPAN).contains(&units), "{}: {units} units were read back", preset.name);
    }
}

#[test]
fn requests_that_come_while_a_state_is_saved_wait_and_lose_nothing() {
    for scheme in ["ufs", "hpb", "hp-ufs", "dftl"] {
        let mut bench = Bench::new(scheme, 4);
        for _ in 0..5 {
            (0..40).for_each(|_| bench.ask());
            assert!(bench.engine.save(bench.at, Box::new(|device, _| device)));
            (0..40).for_each(|_| bench.ask());
            bench.rest();
            assert!(bench.engine.last_recovery() > Nanos::ZERO);
        }
        assert_eq!(bench.engine.stats().cuts, 0);
        let waiting = bench.engine.outstanding();
        assert!(bench.engine.save(bench.at, Box::new(|_, _| panic!("the power was cut before"))));
        assert_eq!(bench.engine.outstanding(), waiting + 1, "the flush");
        bench.cut();
        bench.flush();
    }
}
