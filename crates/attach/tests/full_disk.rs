//! An engine whose store is in a file on a disk that is full at times: what was promised outlives the process.

use crate::disk::{Failing, MemoryDisk, page};
use crate::engine::Shared;
use lab::{Machine, Spec};
use ufsim_attach::{Answer, ArrivalLog, Ask, Engine, Failure, FileStore, UNIT};
use units::Nanos;
use workload::Rng;

fn machine(scheme: &str) -> Machine {
    Spec { profile: "tiny".into(), ..Spec::new(scheme, "") }.resolve().expect("a machine")
}

/// An engine on what a disk has.
fn opened(scheme: &str, disk: &MemoryDisk) -> Engine {
    let machine = machine(scheme);
    let store = FileStore::on(disk.clone(), machine.profile.capacity_units()).expect("the store is whole");
    Engine::new(&machine, 7, Box::new(store)).expect("the profile's own settings")
}

const FULL: Failing = Failing { after: 0, count: usize::MAX, torn: 0, torn_later: 0 };

fn answer(engine: &mut Engine, ask: Ask) -> Result<Vec<u8>, Failure> {
    while engine.answer().is_some() {}
    engine.submit(engine.now(), 1, ask);
    while engine.outstanding() > 0 {
        engine.step();
    }
    let Answer { result, .. } = engine.answer().expect("one answer");
    result
}

fn read(engine: &mut Engine, unit: u32) -> Result<u64, Failure> {
    let data = answer(engine, Ask::Read { first: unit, len: 1 })?;
    let value = u64::from_le_bytes(data[..8].try_into().expect("eight bytes"));
    assert_eq!(data, page(value), "a unit is of one write");
    Ok(value)
}

fn write(unit: u32, value: u64, fua: bool) -> Ask {
    Ask::Write { first: unit, data: page(value).to_vec(), fua }
}

/// What a read after a power cut has shown, the end of the process does not take back.
#[test]
fn a_trim_that_a_read_has_shown_does_not_come_back() {
    let mut shown = 0;
    for scheme in ["ufs", "hpb", "hp-ufs"] {
        for trims in [0, 1, 5000] {
            let disk = MemoryDisk::default();
            let mut engine = opened(scheme, &disk);
            answer(&mut engine, write(3, 5, false)).expect("the disk has room");
            answer(&mut engine, Ask::Flush).expect("the disk has room");
            disk.fail(FULL);
            answer(&mut engine, Ask::Trim { first: 3, len: 1, fua: false }).expect("nothing is promised yet");
            // The device makes it lasting with a flush, or when there are many.
            for unit in 0..trims {
                answer(&mut engine, Ask::Trim { first: 10 + unit % 100, len: 1, fua: false }).expect("as before");
            }
            if trims == 0 {
                assert_eq!(answer(&mut engine, Ask::Flush), Err(Failure::NoSpace));
            }
            engine.cut(engine.now());
            let before = read(&mut engine, 3);
            // Neither does a map of what holds zeroes tell more.
            let hole = engine.extents(3, 1, 1)[0].1;
            drop(engine);
            disk.fail(Failing::default());
            let mut engine = opened(scheme, &disk);
            let after = read(&mut engine, 3).expect("the store is whole");
            assert!(before.is_err() || before == Ok(after), "{scheme}: {before:?}, and then {after}");
            assert!(!hole || after == 0, "{scheme}: a hole, and then {after}");
            shown += u32::from(before == Err(Failure::NoSpace));
        }
    }
    assert!(shown > 0, "no trim has survived the cut, so nothing was tested");
}

#[test]
fn a_read_of_what_no_cut_has_decided_is_not_refused() {
    let disk = MemoryDisk::default();
    let mut engine = opened("hp-ufs", &disk);
    answer(&mut engine, write(3, 5, true)).expect("the disk has room");
    engine.cut(engine.now());
    assert_eq!(read(&mut engine, 3), Ok(5));
    disk.fail(FULL);
    assert_eq!(answer(&mut engine, Ask::Trim { first: 3, len: 1, fua: true }), Err(Failure::NoSpace));
    assert_eq!(read(&mut engine, 3), Ok(0));
}

#[test]
fn a_read_that_was_refused_succeeds_when_there_is_room() {
    let disk = MemoryDisk::default();
    let mut engine = opened("hp-ufs", &disk);
    answer(&mut engine, write(3, 5, true)).expect("the disk has room");
    disk.fail(FULL);
    assert_eq!(answer(&mut engine, write(3, 6, true)), Err(Failure::NoSpace));
    assert_eq!(read(&mut engine, 3), Ok(6), "without a cut, a read promises nothing");
    engine.cut(engine.now());
    assert_eq!(read(&mut engine, 3), Err(Failure::NoSpace));
    assert_eq!(answer(&mut engine, Ask::Trim { first: 9, len: 1, fua: true }), Err(Failure::NoSpace));
    assert_eq!(answer(&mut engine, Ask::Flush), Err(Failure::NoSpace));
    disk.fail(Failing::default());
    assert_eq!(read(&mut engine, 3), Ok(6));
    drop(engine);
    assert_eq!(read(&mut opened("hp-ufs", &disk), 3), Ok(6));
}

/// What never came to the device does not come to it in a replay, which has room.
#[test]
fn a_replay_leaves_out_what_was_refused_for_want_of_space() {
    let (disk, log) = (MemoryDisk::default(), Shared::default());
    let mut engine = opened("ufs", &disk);
    engine.log_arrivals(ArrivalLog::new(Box::new(log.clone())).expect("memory"));
    answer(&mut engine, write(3, 5, true)).expect("the disk has room");
    disk.fail(FULL);
    assert_eq!(answer(&mut engine, write(4, 6, true)), Err(Failure::NoSpace), "the device has it, the store not");
    for unit in 10..20 {
        assert_eq!(answer(&mut engine, write(unit, 7, false)), Err(Failure::NoSpace));
    }
    disk.fail(Failing::default());
    answer(&mut engine, write(5, 8, true)).expect("the disk has room again");
    let stats = engine.stats();
    let mut again = opened("ufs", &MemoryDisk::default());
    assert!(again.replay(&log.bytes()[..], || true).expect("a log of arrivals"));
    let repeated = again.stats();
    assert_eq!(repeated.digest, stats.digest);
    assert_eq!(repeated.requests["write"].failed, 10, "of those that came to the device none fails");
}

/// The store may have kept what it has refused. If zeroes are promised instead, it must not come back.
#[test]
fn what_was_refused_and_then_trimmed_does_not_come_back() {
    let mut refused = 0;
    for torn in [0, 40, UNIT] {
        for after in 0..6 {
            let disk = MemoryDisk::default();
            let mut engine = opened("ufs", &disk);
            disk.fail(Failing { after, count: 2, torn, torn_later: 0 });
            if answer(&mut engine, write(3, 5, true)).is_ok() {
                continue;
            }
            refused += 1;
            answer(&mut engine, Ask::Trim { first: 3, len: 1, fua: true }).expect("there is room again");
            drop(engine);
            assert_eq!(read(&mut opened("ufs", &disk), 3), Ok(0), "{after} writes, {torn} bytes");
        }
    }
    assert!(refused >= 6, "{refused}");
}

/// A value that a unit may hold.
#[derive(Clone, Copy, Debug)]
struct May {
    value: u64,
    acked: bool,
    /// Of before the last cut, or end of the process.
    old: bool,
}

/// What a client knows of a unit: the values that it may hold, the oldest first.
#[derive(Clone, Debug)]
struct Known(Vec<May>);

impl Known {
    /// The last acknowledged value is durable.
    fn flushed(&mut self) {
        let last = self.0.iter().rposition(|may| may.acked).unwrap_or(0);
        self.0.drain(..last);
    }

    fn cut(&mut self) {
        self.0.iter_mut().for_each(|may| (may.acked, may.old) = (false, true));
    }

    fn read(&mut self, value: u64, case: &str) {
        let found = self.0.iter().rposition(|may| may.value == value);
        let found = found.unwrap_or_else(|| panic!("{case}: {value}, not one of {:?}", self.0));
        if self.0[found].old {
            let seen = May { acked: true, ..self.0[found] };
            self.0.retain(|may| !may.old);
            self.0.insert(0, seen);
        }
    }
}

struct Client {
    scheme: &'static str,
    disk: MemoryDisk,
    engine: Engine,
    known: Vec<Known>,
    rng: Rng,
    case: String,
    refused: u32,
}

const UNITS: u64 = 8;

impl Client {
    fn new(scheme: &'static str, seed: u64) -> Client {
        let disk = MemoryDisk::default();
        let engine = opened(scheme, &disk);
        let known = vec![Known(vec![May { value: 0, acked: true, old: false }]); UNITS as usize];
        let case = format!("{scheme}, seed {seed}");
        Client { scheme, disk, engine, known, rng: Rng::from_seed(seed), case, refused: 0 }
    }

    fn change(&mut self, unit: usize, value: u64, fua: bool) {
        let ask = match value {
            0 => Ask::Trim { first: unit as u32, len: 1, fua },
            _ => write(unit as u32, value, fua),
        };
        let acked = answer(&mut self.engine, ask).is_ok();
        self.known[unit].0.push(May { value, acked, old: false });
        if acked && fua {
            self.known[unit].flushed();
        }
    }

    fn read(&mut self, unit: usize) {
        match read(&mut self.engine, unit as u32) {
            Ok(value) => self.known[unit].read(value, &self.case),
            Err(_) => self.refused += 1,
        }
    }

    fn turn(&mut self, value: u64) {
        let (unit, fua) = (self.rng.below(UNITS) as usize, self.rng.below(3) == 0);
        match self.rng.below(40) {
            0..10 => self.change(unit, value, fua),
            10..17 => self.change(unit, 0, fua),
            17..20 => {
                if answer(&mut self.engine, Ask::Flush).is_ok() {
                    self.known.iter_mut().for_each(Known::flushed);
                }
            }
            20..28 => self.read(unit),
            28..30 => self.engine.run_until(self.engine.now() + Nanos(100_000_000)),
            30..33 => {
                let torn = self.rng.below(100) as usize;
                let count = [1, 3, usize::MAX][self.rng.below(3) as usize];
                let after = self.rng.below(4) as usize;
                self.disk.fail(Failing { after, count, torn, torn_later: 0 });
            }
            33..35 => self.disk.fail(Failing::default()),
            35..37 => {
                self.engine.cut(self.engine.now());
                self.known.iter_mut().for_each(Known::cut);
            }
            37 => {
                self.engine = opened(self.scheme, &self.disk);
                self.known.iter_mut().for_each(Known::cut);
            }
            _ => (0..UNITS as usize).for_each(|unit| self.read(unit)),
        }
    }
}

#[test]
fn promises_outlive_cuts_ends_of_the_process_and_full_disks() {
    let mut refused = 0;
    for seed in 0..24 {
        let mut client = Client::new(["ufs", "hpb", "hp-ufs"][seed as usize % 3], seed);
        (1..=250).for_each(|value| client.turn(value));
        refused += client.refused;
    }
    assert!(refused > 20, "only {refused} reads were refused");
}
