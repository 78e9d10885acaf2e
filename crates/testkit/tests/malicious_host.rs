//! A host that sends anything: every command is well formed, none has to make sense. Whatever comes, the device does not
//! panic, its sums hold, it answers every read, and it never gives one address the data of another.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use device::{Device, DeviceEvent, MappingKind, registered_mappings};
use lab::profile::Profile;
use proptest::prelude::*;
use ufs::{BitmapFor, Command, Content, DataIn, DataOut, Op, Tag};
use units::{Lpa, Nanos, Ppa, SegmentId, Seq, SimTime, Superblock};

/// Numbers that lie inside, at the border of, or far outside whatever range they are used in.
fn number(limit: u32) -> impl Strategy<Value = u32> {
    prop_oneof![
        8 => 0..limit,
        1 => (0..4u32).prop_map(move |n| limit.saturating_sub(2).wrapping_add(n)),
        1 => Just(u32::MAX),
        1 => any::<u32>(),
    ]
}

fn length() -> impl Strategy<Value = u32> {
    prop_oneof![8 => 1..20u32, 1 => Just(0u32), 1 => number(70_000)]
}

#[derive(Clone, Copy, Debug)]
struct Sizes {
    units: u32,
    blocks: u32,
    pages: u32,
}

fn op(s: Sizes) -> impl Strategy<Value = Op> {
    let lpa = || number(s.units).prop_map(Lpa);
    let ppa = prop::option::of(number(s.pages).prop_map(Ppa));
    let segment = || number(s.units.div_ceil(1024)).prop_map(SegmentId);
    prop_oneof![
        4 => (lpa(), length()).prop_map(|(lpa, len)| Op::Read { lpa, len }),
        2 => (lpa(), length(), any::<u64>()).prop_map(|(lpa, len, entry)| Op::HpbRead { lpa, len, entry }),
        4 => (lpa(), length(), ppa).prop_map(|(lpa, len, ppa)| Op::MappedRead { lpa, len, ppa }),
        8 => (lpa(), length(), any::<bool>()).prop_map(|(lpa, len, fua)| Op::Write { lpa, len, fua }),
        1 => Just(Op::Flush),
        1 => (lpa(), length()).prop_map(|(lpa, len)| Op::Unmap { lpa, len }),
        1 => number(8).prop_map(|group| Op::HpbReadBuffer { group }),
        2 => segment().prop_map(|segment| Op::SegmentRead { segment }),
        3 => segment().prop_map(|segment| Op::SegmentWrite { segment }),
        2 => Just(Op::EntryTransfer),
        2 => (number(s.blocks), any::<bool>()).prop_map(|(block, wear)| Op::ValidBitmap {
            block: Superblock(block),
            reason: if wear { BitmapFor::WearLevelling } else { BitmapFor::Gc },
        }),
    ]
}

fn data(s: Sizes) -> impl Strategy<Value = DataOut> {
    prop_oneof![
        6 => (1..1000u32).prop_map(DataOut::Stamp),
        1 => Just(DataOut::None),
        2 => (number(s.pages), any::<u32>()).prop_map(|(first, step)| {
            let entry = |i: usize| first.wrapping_add((i as u32).wrapping_mul(step % 7));
            DataOut::Segment(Box::new(std::array::from_fn(entry)))
        }),
        2 => prop::collection::vec(any::<u64>(), 0..10).prop_map(|words| DataOut::Bitmap(words.into())),
        1 => any::<u64>().prop_map(|word| DataOut::Bitmap(vec![word; 4].into())),
    ]
}

#[derive(Clone, Debug)]
struct Step {
    command: Command,
    /// Time since the last command.
    pause: u64,
}

fn step(s: Sizes) -> impl Strategy<Value = Step> {
    let tag = (0..40u8).prop_map(Tag);
    let seq = prop_oneof![4 => (0..3000u64).prop_map(Seq), 1 => Just(Seq(u64::from(u32::MAX)))];
    let freed = prop::option::weighted(0.2, number(s.blocks).prop_map(Superblock));
    let pause = prop_oneof![3 => 0..3_000u64, 1 => 0..2_000_000u64];
    (tag, op(s), seq, freed, data(s), pause).prop_map(|(tag, op, host_seq, freed, data, pause)| Step {
        command: Command { tag, op, host_seq, freed, data },
        pause,
    })
}

struct World {
    device: Device,
    now: SimTime,
    queue: BinaryHeap<Reverse<(SimTime, u64)>>,
    events: Vec<DeviceEvent>,
    /// What is under way by tag.
    under_way: [Option<Op>; 256],
}

impl World {
    fn drain(&mut self) {
        let effects = self.device.effects();
        for (at, event) in effects.wakes.drain(..) {
            self.queue.push(Reverse((at, self.events.len() as u64)));
            self.events.push(event);
        }
        let responses: Vec<_> = effects.responses.drain(..).collect();
        for (_, response) in responses {
            let op = self.under_way[usize::from(response.tag.0)].take().expect("a response answers a command");
            let (Op::Read { lpa, .. } | Op::HpbRead { lpa, .. } | Op::MappedRead { lpa, .. }) = op else { continue };
            let own = |i: usize, c: Option<Content>| c.is_none_or(|c| c.lpa == lpa.offset(i as u32));
            match &response.data {
                DataIn::One(content) => assert!(own(0, *content), "{op:?} gave {content:?}"),
                DataIn::Many(contents) => {
                    let foreign = contents.iter().enumerate().find(|(i, c)| !own(*i, **c));
                    assert!(foreign.is_none(), "{op:?} gave {foreign:?}");
                }
                _ => {}
            }
        }
    }

    fn run_until(&mut self, until: SimTime) {
        while let Some(&Reverse((at, event))) = self.queue.peek()
            && at <= until
        {
            self.queue.pop();
            self.now = at;
            self.device.wake(at, self.events[event as usize]);
            self.drain();
        }
        self.now = until;
    }

    fn send(&mut self, command: Command) {
        // The device drops a command whose tag is in use.
        self.under_way[usize::from(command.tag.0)].get_or_insert(command.op);
        self.device.command(self.now, command);
        self.drain();
    }
}

fn sizes() -> (Profile, Sizes) {
    let profile = Profile::load("tiny", &[]).expect("an embedded profile");
    let info = Device::new(profile.device_config([3, 5]), MappingKind::Ideal).info();
    let pages = info.superblocks * info.superblock_units;
    // A few addresses, so that they meet; a third of the superblocks are reached in a run.
    (profile, Sizes { units: info.capacity_units.min(6000), blocks: 40, pages: pages.min(20_000) })
}

fn endure(kind: MappingKind, steps: &[Step]) {
    let (profile, _) = sizes();
    let device = Device::new(profile.device_config([3, 5]), kind);
    let under_way = [const { None }; 256];
    let mut world = World { device, now: SimTime::START, queue: BinaryHeap::new(), events: Vec::new(), under_way };
    for step in steps {
        world.run_until(world.now + Nanos(step.pause));
        world.send(step.command.clone());
    }
    world.run_until(world.now + Nanos::from_millis(100_000));
    world.device.check();
    let waiting: Vec<&Op> = world.under_way.iter().flatten().collect();
    // A device whose mapping the host keeps stands still for a host that does not take its entries.
    let hopeless =
        |op: &&&Op| kind == MappingKind::HpUfs && matches!(op, Op::Write { .. } | Op::Unmap { .. } | Op::Flush);
    let unanswered: Vec<_> = waiting.iter().filter(|op| !hopeless(op)).collect();
    assert!(unanswered.is_empty(), "never answered: {unanswered:?}");
}

macro_rules! malicious {
    ($($(#[$doc:meta])* $name:literal => $variant:ident: $scheme:ty;)*) => {
        #[allow(non_snake_case)]
        mod device_endures {
            use super::*;

            $(proptest! {
                #![proptest_config(ProptestConfig { cases: 100, ..ProptestConfig::default() })]
                #[test]
                fn $variant(steps in prop::collection::vec(step(sizes().1), 1..400)) {
                    endure(MappingKind::$variant, &steps);
                }
            })*
        }
    };
}
registered_mappings!(malicious);
