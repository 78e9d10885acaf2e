//! Ten thousand damaged copies of stores. Each is refused, or whole.

use std::io::ErrorKind;

use crate::disk::{MemoryDisk, change, get};
use ufsim_attach::FileStore;
use workload::Rng;

const UNITS: u32 = 300;
const PAGE: usize = 4096;
/// Where table and slots begin.
const TABLE: usize = 2 * PAGE;
const DATA: usize = TABLE + 2 * PAGE;

/// A store at a moment: between two changes, or in the middle of one.
struct Moment {
    bytes: Vec<u8>,
    /// What each unit holds.
    model: Vec<u64>,
    /// What one unit may hold as well.
    or: Option<(usize, u64)>,
}

impl Moment {
    fn allows(&self, found: &[u64]) -> bool {
        let mut pairs = found.iter().zip(&self.model).enumerate();
        pairs.all(|(unit, (got, old))| got == old || self.or == Some((unit, *got)))
    }
}

/// The life of a store.
struct Life {
    disk: MemoryDisk,
    /// After each change: writes so far, and what each unit holds.
    changes: Vec<(usize, Vec<u64>)>,
    /// In order.
    moments: Vec<Moment>,
}

fn life(seed: u64, rng: &mut Rng) -> Life {
    let disk = MemoryDisk::default();
    let mut store = FileStore::on(disk.clone(), UNITS).expect("an empty disk");
    let mut model = vec![0; UNITS as usize];
    let (mut changes, mut moments) = (Vec::new(), Vec::new());
    let held = 20 + rng.below(80);
    for value in 1..=300 {
        let unit = rng.below(held) as usize * 3;
        let new = if rng.below(5) == 0 { 0 } else { seed << 32 | value };
        let before = disk.writes();
        change(&mut store, unit as u32, new).expect("memory");
        let (old, after) = (model.clone(), disk.writes());
        model[unit] = new;
        changes.push((after, model.clone()));
        if rng.below(12) == 0 || value == 300 {
            moments.push(Moment { bytes: disk.bytes(), model: model.clone(), or: None });
        } else if rng.below(20) == 0 && after > before {
            let writes = before + rng.below((after - before) as u64) as usize;
            moments.push(Moment { bytes: disk.after(writes), model: old, or: Some((unit, new)) });
        }
    }
    Life { disk, changes, moments }
}

impl Life {
    /// True if units hold what they once held, and nothing that came later has left a trace but in one slot at most,
    /// whose data counted for nothing then. Of that nothing in a file can tell.
    fn is_put_back(&self, bytes: &[u8], found: &[u64]) -> bool {
        let mut then = self.changes.iter().filter(|(_, model)| model == found);
        then.any(|(writes, _)| {
            let different = different(bytes, &self.disk.after(*writes));
            different.iter().filter(|&&page| page * PAGE >= DATA).count() <= 1
        })
    }
}

/// How copies are damaged.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    CutShort,
    ZeroedRange,
    ZeroedEntry,
    ZeroedPage,
    FlippedBits,
    FlippedBitOfEntry,
    OlderRange,
    OlderPages,
    OlderTable,
    LostPages,
    MisdirectedPage,
    Noise,
}

const KINDS: [Kind; 12] = [
    Kind::CutShort,
    Kind::ZeroedRange,
    Kind::ZeroedEntry,
    Kind::ZeroedPage,
    Kind::FlippedBits,
    Kind::FlippedBitOfEntry,
    Kind::OlderRange,
    Kind::OlderPages,
    Kind::OlderTable,
    Kind::LostPages,
    Kind::MisdirectedPage,
    Kind::Noise,
];

/// A part of something of this length, often short.
fn part(rng: &mut Rng, len: usize) -> std::ops::Range<usize> {
    let begin = rng.below(len as u64) as usize;
    let most = [16, 600, 3 * PAGE, len][rng.below(4) as usize];
    begin..(begin + 1 + rng.below(most as u64) as usize).min(len)
}

fn pages(rng: &mut Rng, len: usize) -> std::ops::Range<usize> {
    let pages = len.div_ceil(PAGE) as u64;
    let (begin, most) = (rng.below(pages), [1, 4, pages][rng.below(3) as usize]);
    let end = (begin + 1 + rng.below(most)).min(pages);
    begin as usize * PAGE..(end as usize * PAGE).min(len)
}

fn older(bytes: &mut [u8], old: &[u8], range: std::ops::Range<usize>) {
    for at in range {
        bytes[at] = old.get(at).copied().unwrap_or(0);
    }
}

fn damage(kind: Kind, bytes: &mut Vec<u8>, old: &[u8], rng: &mut Rng) {
    let len = bytes.len();
    match kind {
        Kind::CutShort => bytes.truncate(1 + rng.below(len as u64 - 1) as usize),
        Kind::ZeroedRange => bytes[part(rng, len)].fill(0),
        Kind::ZeroedEntry => {
            let at = TABLE + 16 * rng.below((UNITS / 6).into()) as usize;
            bytes[at..at + 16].fill(0);
        }
        Kind::ZeroedPage => bytes[pages(rng, len)].fill(0),
        Kind::FlippedBits => {
            for _ in 0..=rng.below(3) {
                bytes[rng.below(len as u64) as usize] ^= 1 << rng.below(8);
            }
        }
        Kind::FlippedBitOfEntry => bytes[TABLE + rng.below(16 * u64::from(UNITS / 6)) as usize] ^= 1 << rng.below(8),
        Kind::OlderRange => older(bytes, old, part(rng, len)),
        Kind::OlderPages => older(bytes, old, pages(rng, len)),
        Kind::OlderTable => older(bytes, old, rng.below(3) as usize * PAGE..DATA),
        Kind::LostPages => {
            let likely = [1, 5, 9][rng.below(3) as usize];
            for begin in (0..len).step_by(PAGE) {
                if rng.below(10) < likely {
                    older(bytes, old, begin..(begin + PAGE).min(len));
                }
            }
        }
        Kind::MisdirectedPage => {
            let from = rng.below((len / PAGE) as u64) as usize * PAGE;
            // Half of them hit what is not data.
            let end = [DATA, len][rng.below(2) as usize];
            let to = rng.below(end as u64) as usize / PAGE * PAGE;
            bytes.copy_within(from..from + PAGE, to.min(len - PAGE));
        }
        Kind::Noise => bytes[part(rng, len)].iter_mut().for_each(|byte| *byte = rng.below(256) as u8),
    }
}

/// Pages in which two files differ.
fn different(one: &[u8], other: &[u8]) -> Vec<usize> {
    let page = |bytes: &[u8], number: usize| {
        let mut page = [0; PAGE];
        let there = &bytes[bytes.len().min(number * PAGE)..bytes.len().min((number + 1) * PAGE)];
        page[..there.len()].copy_from_slice(there);
        page
    };
    let pages = 0..one.len().max(other.len()).div_ceil(PAGE);
    pages.filter(|&number| page(one, number) != page(other, number)).collect()
}

#[derive(Default, Debug)]
struct Tally {
    refused: [u32; KINDS.len()],
    whole: [u32; KINDS.len()],
    /// Copies that were put back to an earlier state.
    earlier: u32,
}

/// Damages copies of a moment and opens them.
fn copies(count: u32, seed: u64, tally: &mut Tally) {
    let mut rng = Rng::from_seed(seed);
    let life = life(seed, &mut rng);
    let moments = &life.moments;
    for number in 0..count {
        let at = 1 + rng.below(moments.len() as u64 - 1) as usize;
        let (now, old) = (&moments[at], &moments[rng.below(at as u64) as usize]);
        let kind = KINDS[number as usize % KINDS.len()];
        let case = format!("seed {seed}, copy {number}, {kind:?}");
        let mut bytes = now.bytes.clone();
        damage(kind, &mut bytes, &old.bytes, &mut rng);
        let disk = MemoryDisk::of(bytes.clone());
        let mut store = match FileStore::on(disk.clone(), UNITS) {
            Ok(store) => store,
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::InvalidData, "{case}: {error}");
                assert!(disk.bytes() == bytes, "{case}: what is refused stays as it is");
                assert!(bytes != now.bytes, "{case}: it was not damaged, and refused: {error}");
                tally.refused[kind as usize] += 1;
                continue;
            }
        };
        let found: Vec<u64> = (0..UNITS).map(|unit| get(&mut store, unit)).collect();
        if now.allows(&found) {
            tally.whole[kind as usize] += 1;
            continue;
        }
        assert!(life.is_put_back(&bytes, &found), "{case}: opened, and not whole");
        tally.earlier += 1;
    }
}

#[test]
fn ten_thousand_damaged_copies_are_refused_or_whole() {
    let mut tally = Tally::default();
    (0..40).for_each(|seed| copies(252, seed, &mut tally));
    let opened: u32 = tally.refused.iter().chain(&tally.whole).sum();
    assert_eq!(opened + tally.earlier, 40 * 252);
    assert!(tally.refused.iter().all(|&refused| refused > 300), "{tally:?}");
    assert!(tally.whole.iter().sum::<u32>() > 500, "not all is refused: {tally:?}");
    assert!(tally.earlier < 50, "{tally:?}");
}

/// Both may be lost writes. Data and entry fit each other, and no unit is missing: only the digest tells.
#[test]
fn an_older_entry_with_its_older_data_is_refused() {
    let disk = MemoryDisk::default();
    let mut store = FileStore::on(disk.clone(), UNITS).expect("an empty disk");
    // Unit 1 comes to slot 0, unit 2 to slot 1, then each to slot 2 and back.
    [(1, 10), (2, 20)].into_iter().for_each(|(unit, value)| change(&mut store, unit, value).expect("memory"));
    let old = disk.bytes();
    let later = [(1, 11), (1, 12), (2, 21), (2, 22)];
    later.into_iter().for_each(|(unit, value)| change(&mut store, unit, value).expect("memory"));
    let mut bytes = disk.bytes();
    older(&mut bytes, &old, TABLE..TABLE + 16);
    older(&mut bytes, &old, DATA..DATA + PAGE);
    let error = FileStore::on(MemoryDisk::of(bytes), UNITS).map(drop).expect_err("it is older");
    assert!(error.to_string().starts_with("is damaged: its table is not the one that was written last; "), "{error}");
}

/// A damaged entry may name a unit that the device has not got.
#[test]
fn no_unit_is_named_that_is_none() {
    let disk = MemoryDisk::default();
    let mut store = FileStore::on(disk.clone(), UNITS).expect("an empty disk");
    (1..=6).for_each(|unit| change(&mut store, unit, 9).expect("memory"));
    let mut bytes = disk.bytes();
    // The first entry is no longer among the changes that the record repeats.
    bytes[TABLE..TABLE + 4].fill(0x7e);
    let error = FileStore::on(MemoryDisk::of(bytes), UNITS).map(drop).expect_err("it is damaged").to_string();
    assert!(error.contains("1 of 6 units are lost, which the table does not name; "), "{error}");
}

/// Heads and table as they once were fit each other. But data has come to slots that were free.
#[test]
fn an_older_table_is_refused_for_the_data_that_came_later() {
    let disk = MemoryDisk::default();
    let mut store = FileStore::on(disk.clone(), UNITS).expect("an empty disk");
    (1..=6).for_each(|unit| change(&mut store, unit, 9).expect("memory"));
    (1..=3).for_each(|unit| change(&mut store, unit, 0).expect("memory"));
    // The next data goes where no data was; that after it into free slots.
    change(&mut store, 7, 9).expect("memory");
    let old = disk.bytes();
    (10..=12).for_each(|unit| change(&mut store, unit, 8).expect("memory"));
    let mut bytes = disk.bytes();
    older(&mut bytes, &old, 0..DATA);
    let error = FileStore::on(MemoryDisk::of(bytes), UNITS).map(drop).expect_err("it is older");
    assert!(error.to_string().starts_with("is damaged: 2 free slots are not what they were; "), "{error}");
}
