//! Input: a byte that chooses the mapping scheme and its size of segment parts, a byte for flash faults, and steps. A
//! step is a byte for its kind, a byte for the pause before it, and its arguments: a command with a tag, or a power
//! cut.

use std::sync::OnceLock;

use ftl::DeviceConfig;
use nand::Faults;
use ufs::{BitmapFor, Command, DataOut, LpaRun, Op, Quarters, SegmentState, Tag};
use units::{Lpa, Nanos, Ppa, SegmentId, Seq, Superblock};

use super::input::Input;
use crate::hostile::Hostile;
use campaign::Rng;

use crate::small_profile;

/// Limits the time of one input.
const MOST_STEPS: usize = 400;

fn config() -> &'static DeviceConfig {
    static CONFIG: OnceLock<DeviceConfig> = OnceLock::new();
    CONFIG.get_or_init(|| small_profile().device_config([3, 5]))
}

pub(super) fn run(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    let scheme = input.u8();
    let kind = schemes::all()[usize::from(scheme) % schemes::all().len()];
    let segment_kib = [4, 1, 2][usize::from(scheme) / schemes::all().len() % 3];
    let entry = ["sealed", "plain"][usize::from(scheme) / schemes::all().len() / 3 % 2];
    let faults = match input.u8() {
        n if n < 192 => Faults::default(),
        n => {
            Faults { seed: n.into(), program_per_million: 20_000, erase_per_million: 20_000, read_per_million: 10_000 }
        }
    };
    let mut config = DeviceConfig { faults, ..config().clone() };
    config.mappings.set("*", "segment_kib", segment_kib).expect("schemes with segments have it");
    config.mappings.set("*", "hpb_entry", entry).expect("what is published to an HPB host has it");
    let mut host = Host { sizes: Sizes::of(&config), device: Hostile::new(config, kind) };
    for _ in 0..MOST_STEPS {
        if input.is_empty() {
            break;
        }
        host.step(&mut input);
    }
    host.device.end();
}

/// Sizes of the device, because most numbers should be inside it.
struct Sizes {
    units: u32,
    blocks: u32,
    pages: u32,
    block_units: u32,
}

impl Sizes {
    fn of(config: &DeviceConfig) -> Sizes {
        let g = config.geometry;
        let block_units = g.superblock_units();
        let pages = g.data_superblocks * block_units;
        Sizes { units: config.capacity_units, blocks: g.data_superblocks, pages, block_units }
    }
}

/// A number below `limit`, near it, or any number.
fn number(input: &mut Input<'_>, limit: u32) -> u32 {
    match input.u16() {
        n @ 0xff00.. => limit.wrapping_sub(2).wrapping_add(u32::from(n & 3)),
        0xfe00..=0xfeff => input.u32(),
        n => u32::from(n) % limit,
    }
}

/// A length: usually short; a byte of 240 and more gives any length.
fn length(input: &mut Input<'_>) -> u32 {
    match input.u8() {
        n @ 0..200 => u32::from(n % 20),
        n @ 200..240 => u32::from(n - 199) * 16,
        _ => number(input, 70_000),
    }
}

/// A pause: up to 31 times a power of ten from 1 ns to 10 ms.
fn pause(input: &mut Input<'_>) -> Nanos {
    let code = input.u8();
    Nanos(u64::from(code & 31) * 10_u64.pow(u32::from(code >> 5)))
}

/// A host that knows what the device has told it, and may lie about it.
struct Host {
    device: Hostile,
    sizes: Sizes,
}

impl Host {
    fn step(&mut self, input: &mut Input<'_>) {
        let kind = input.u8();
        self.device.pause(pause(input));
        if kind == u8::MAX {
            let mut rng = Rng::new(input.u16().into());
            return self.device.power_cut(&mut |n| rng.below(n));
        }
        let tag = Tag(input.u8() % 40);
        let op = self.op(kind, input);
        let (host_seq, freed) = (self.host_seq(input), self.freed(input));
        let data = self.data(&op, input);
        self.device.send(Command { tag, op, host_seq, freed, data });
    }

    fn op(&self, kind: u8, input: &mut Input<'_>) -> Op {
        let s = &self.sizes;
        let lpa = |input: &mut Input<'_>| Lpa(number(input, s.units));
        let segment = |input: &mut Input<'_>| SegmentId(number(input, s.units.div_ceil(units::SEGMENT_ENTRIES)));
        match kind % 16 {
            0 | 1 => Op::Read { lpa: lpa(input), len: length(input) },
            2 => Op::HpbRead { lpa: lpa(input), len: length(input), entry: self.entry(input) },
            3 => {
                let ppa = Some(number(input, s.pages)).filter(|ppa| ppa % 7 != 0).map(Ppa);
                Op::MappedRead { lpa: lpa(input), len: length(input), ppa }
            }
            4..=7 => Op::Write { lpa: lpa(input), len: length(input), fua: kind & 16 != 0 },
            8 => Op::Flush,
            9 => Op::Unmap { lpa: lpa(input), len: length(input) },
            10 if kind & 48 == 48 => Op::HpbInactivate { region: number(input, 8) },
            10 => Op::HpbReadBuffer { group: number(input, 8) },
            11 => Op::SegmentRead { segment: segment(input) },
            12 | 13 => Op::SegmentWrite { segment: segment(input) },
            14 if kind & 48 == 16 => Op::CacheQuery,
            14 if kind & 48 == 48 => {
                let requests = u32::from(input.u8());
                Op::BatchNotice { write: kind & 64 != 0, packed: kind & 128 != 0, requests }
            }
            14 if kind & 64 != 0 => Op::EntriesAgain,
            14 => Op::EntryTransfer,
            _ => {
                let reason = if kind & 16 == 0 { BitmapFor::Gc } else { BitmapFor::WearLevelling };
                Op::ValidBitmap { block: Superblock(number(input, s.blocks)), reason }
            }
        }
    }

    /// An HPB entry of the device, perhaps of another address or an old one, or any number.
    fn entry(&self, input: &mut Input<'_>) -> u64 {
        match input.u8() {
            n @ 0..224 => self.device.published(n.into()).unwrap_or(0),
            n @ 224..240 => (u64::from(n) - 224) << 8 | u64::from(input.u8()),
            _ => input.u64(),
        }
    }

    /// The last sequence number that the device has told, a number near it, or any number.
    fn host_seq(&self, input: &mut Input<'_>) -> Seq {
        let told = self.device.told();
        match input.u8() {
            0..128 => told,
            n @ 128..192 => Seq(told.0.saturating_sub(u64::from(n - 127))),
            n @ 192..224 => told.plus(u32::from(n - 191)),
            n @ 224..248 => Seq(u64::from(n - 224)),
            248..252 => Seq(u64::from(u32::MAX)),
            _ => Seq(input.u64()),
        }
    }

    fn freed(&self, input: &mut Input<'_>) -> Option<Superblock> {
        (input.u8() >= 208).then(|| Superblock(number(input, self.sizes.blocks)))
    }

    /// Usually the kind of data that the operation takes.
    fn data(&self, op: &Op, input: &mut Input<'_>) -> DataOut {
        let style = input.u8();
        let expected_kind = match op {
            Op::Write { .. } => 0,
            Op::SegmentWrite { .. } => 1,
            Op::ValidBitmap { .. } => 2,
            Op::BatchNotice { .. } => 4,
            _ => 3,
        };
        let kind = if style < 240 { expected_kind } else { style % 5 };
        match kind {
            0 => DataOut::Stamp(1 + u32::from(style)),
            1 if style & 1 == 0 => {
                let (first, step) = (number(input, self.sizes.pages), u32::from(style >> 1 & 7));
                let image = Box::new(std::array::from_fn(|i| first.wrapping_add(i as u32 * step)));
                match Quarters::new(style >> 4) {
                    Some(quarters) if style & 2 != 0 => DataOut::SegmentParts(quarters, quarters.of(&image)),
                    _ => DataOut::Segment(SegmentState::of(&image)),
                }
            }
            2 => {
                let words = self.sizes.block_units.div_ceil(64) as usize + usize::from(style == 239);
                DataOut::Bitmap(vec![input.u64(); words].into())
            }
            4 => {
                // Usually in one segment.
                let first = Lpa(number(input, self.sizes.units));
                let run =
                    |i: u8| LpaRun { lpa: Lpa(first.0.wrapping_add(u32::from(i) * 5)), len: u32::from(style % 8) };
                DataOut::Runs((0..style % 16).map(run).collect())
            }
            _ => DataOut::None,
        }
    }
}
