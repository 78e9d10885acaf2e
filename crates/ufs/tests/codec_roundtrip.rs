//! Every message is decoded from its bytes unchanged; no bytes make the codec panic; bytes and link agree on lengths.

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

use ufsim_ufs::codec::hpufs::MAX_TRANSFER_ENTRIES;
use ufsim_ufs::codec::{decode_command, decode_response, encode_command, encode_response};
use ufsim_ufs::*;
use units::{Lpa, Ppa, SegmentId, Seq, Superblock};

/// The largest device that addresses allow, so that every group exists.
const INFO: DeviceInfo =
    DeviceInfo { capacity_units: u32::MAX, superblocks: 65535, superblock_units: 65536, ..DeviceInfo::USUAL };

fn lpa() -> impl Strategy<Value = Lpa> {
    any::<u32>().prop_map(Lpa)
}

fn blocks() -> impl Strategy<Value = u32> {
    prop_oneof![1u32..=64, Just(0), Just(65535)]
}

fn superblock() -> impl Strategy<Value = Superblock> {
    prop_oneof![0..MAX_SUPERBLOCKS, Just(MAX_SUPERBLOCKS - 1)].prop_map(Superblock)
}

fn ppa() -> impl Strategy<Value = Option<Ppa>> {
    option::of(prop_oneof![0..u32::MAX, Just(u32::MAX - 1)].prop_map(Ppa))
}

fn image() -> impl Strategy<Value = Box<SegmentImage>> {
    vec(any::<u32>(), 1024).prop_map(|entries| entries.into_boxed_slice().try_into().unwrap())
}

fn run() -> impl Strategy<Value = LpaRun> {
    (0..u32::MAX, 1u32..5000).prop_map(|(lpa, len)| LpaRun { lpa: Lpa(lpa), len: len.min(u32::MAX - lpa) })
}

/// An operation with data from the host, and the data.
fn sending() -> impl Strategy<Value = (Op, DataOut)> {
    let write = (lpa(), blocks(), any::<bool>(), any::<u32>()).prop_map(|(lpa, len, fua, stamp)| {
        let data = if len == 0 { DataOut::None } else { DataOut::Stamp(stamp) };
        (Op::Write { lpa, len, fua }, data)
    });
    let segment = (any::<u32>(), option::of(image())).prop_map(|(segment, image)| {
        (
            Op::SegmentWrite { segment: SegmentId(segment) },
            image.map_or(DataOut::None, |image| DataOut::Segment(SegmentState::of(&image))),
        )
    });
    let parts = (any::<u32>(), image(), 1u8..15).prop_map(|(segment, image, bits)| {
        let quarters = Quarters::new(bits).unwrap();
        let data = DataOut::SegmentParts(quarters, quarters.of(&image));
        (Op::SegmentWrite { segment: SegmentId(segment) }, data)
    });
    let reason = prop_oneof![Just(BitmapFor::Gc), Just(BitmapFor::WearLevelling)];
    // 5000 words need two DATA OUT UPIUs.
    let words = prop_oneof![vec(any::<u64>(), 0..70), vec(any::<u64>(), 5000)];
    let bitmap = (superblock(), reason, words).prop_map(|(block, reason, words)| {
        (Op::ValidBitmap { block, reason }, DataOut::Bitmap(words.into_boxed_slice()))
    });
    // 1024 runs fill a notice.
    let runs = prop_oneof![vec(run(), 1..20), vec(run(), 1024)];
    let notice = (any::<bool>(), any::<bool>(), any::<u32>(), runs).prop_map(|(write, packed, requests, runs)| {
        (Op::BatchNotice { write, packed, requests }, DataOut::Runs(runs.into_boxed_slice()))
    });
    prop_oneof![write, segment, parts, bitmap, notice]
}

/// An operation without data to the device.
fn asking() -> impl Strategy<Value = Op> {
    prop_oneof![
        (lpa(), blocks()).prop_map(|(lpa, len)| Op::Read { lpa, len }),
        (lpa(), 0u32..=255, any::<u64>()).prop_map(|(lpa, len, entry)| Op::HpbRead { lpa, len, entry }),
        (lpa(), blocks(), ppa()).prop_map(|(lpa, len, ppa)| Op::MappedRead { lpa, len, ppa }),
        Just(Op::Flush),
        (lpa(), any::<u32>()).prop_map(|(lpa, len)| Op::Unmap { lpa, len }),
        (0u32..65536).prop_map(|group| Op::HpbReadBuffer { group }),
        (0u32..65536).prop_map(|region| Op::HpbInactivate { region }),
        any::<u32>().prop_map(|segment| Op::SegmentRead { segment: SegmentId(segment) }),
        Just(Op::EntryTransfer),
        Just(Op::EntriesAgain),
        Just(Op::CacheQuery),
    ]
}

/// A number that the reader knows. The numbers in the message are at most 2^31 away.
fn near() -> impl Strategy<Value = Seq> {
    prop_oneof![0u64..1000, (1u64 << 31) + 1..1 << 60, Just(1 << 32)].prop_map(Seq)
}

fn close_to(near: Seq) -> impl Strategy<Value = Seq> {
    let low = near.0.saturating_sub(1 << 31).max(1);
    (low..near.0 + (1 << 31)).prop_map(Seq)
}

fn command() -> impl Strategy<Value = (Command, Seq)> {
    let what = prop_oneof![sending(), asking().prop_map(|op| (op, DataOut::None))];
    let seq = near().prop_flat_map(|near| (prop_oneof![Just(Seq(0)), close_to(near)], Just(near)));
    (any::<u8>(), what, seq, option::of(superblock())).prop_map(|(tag, (op, data), (host_seq, near), freed)| {
        let freed = freed.filter(|_| !matches!(op, Op::MappedRead { .. }));
        // Sequence number 0 is encoded as itself only without an extension or near 0.
        let needs = freed.is_some() || matches!(op, Op::MappedRead { .. });
        let host_seq = if host_seq.0 == 0 && needs { near } else { host_seq };
        (Command { tag: Tag(tag), op, host_seq, freed, data }, near)
    })
}

fn entry(near: Seq) -> impl Strategy<Value = L2pEntry> {
    let source = option::of(superblock());
    (1u32..=32, any::<u32>(), any::<u32>(), any::<bool>(), close_to(near), source).prop_map(
        |(len, lpa, ppa, mapped, seq, source)| {
            let lpa = Lpa(lpa);
            let slot = (lpa.slot() as u32).min(1024 - len);
            let lpa = lpa.segment().first_lpa().offset(slot);
            let ppa = mapped.then_some(Ppa(ppa.min(u32::MAX - len)));
            L2pEntry { lpa, ppa, len: len as u8, seq, source }
        },
    )
}

fn contents() -> impl Strategy<Value = Vec<Option<Content>>> {
    let unit = || option::of((lpa(), 1u32..).prop_map(|(lpa, stamp)| Content { lpa, stamp }));
    // 5000 stand-ins need two DATA IN UPIUs.
    prop_oneof![vec(unit(), 1..20), vec(unit(), 5000)]
}

/// A command, and data that answers it.
fn answer(near: Seq) -> impl Strategy<Value = (Op, DataIn)> {
    let unmapped = |len| Op::Read { lpa: Lpa(1), len };
    let read = (contents(), 0u32..5).prop_map(move |(mut units, missing)| {
        let op = unmapped(units.len() as u32 + missing);
        let data = if units.len() == 1 { DataIn::One(units.remove(0)) } else { DataIn::Many(units) };
        (op, data)
    });
    let mapped = option::of((lpa(), 1u32..)).prop_map(|unit| {
        let op = Op::MappedRead { lpa: Lpa(3), len: 1, ppa: None };
        (op, DataIn::One(unit.map(|(lpa, stamp)| Content { lpa, stamp })))
    });
    let hpb = Just((Op::HpbRead { lpa: Lpa(3), len: 1, entry: 2 }, DataIn::One(None)));
    let segment = image().prop_map(|image| (Op::SegmentRead { segment: SegmentId(2) }, DataIn::Segment(image.into())));
    let count = prop_oneof![0usize..20, Just(MAX_TRANSFER_ENTRIES as usize)];
    let entries = count.prop_flat_map(move |n| vec(entry(near), n));
    let entries = entries.prop_map(|entries| (Op::EntryTransfer, DataIn::Entries(entries)));
    let sealed = prop_oneof![vec(any::<u64>(), 0..20), vec(any::<u64>(), 4096)];
    let sealed = sealed.prop_map(|entries| (Op::HpbReadBuffer { group: 4 }, DataIn::Sealed(entries)));
    // 16384 runs need four DATA IN UPIUs.
    let runs = prop_oneof![vec(run(), 0..20), vec(run(), 16_384)];
    let runs = runs.prop_map(|runs| (Op::CacheQuery, DataIn::Runs(runs)));
    let nothing = prop_oneof![
        Just(Op::Flush),
        Just(unmapped(8)),
        Just(unmapped(0)),
        Just(Op::SegmentRead { segment: SegmentId(1) }),
        Just(Op::SegmentWrite { segment: SegmentId(1) }),
        Just(Op::Write { lpa: Lpa(1), len: 1, fua: false }),
    ];
    prop_oneof![read, mapped, hpb, segment, entries, sealed, runs, nothing.prop_map(|op| (op, DataIn::None))]
}

fn status() -> impl Strategy<Value = Status> {
    use ufsim_ufs::Status::*;
    let failed = [OutOfRange, InvalidField, UnrecoveredRead, WriteProtected];
    prop_oneof![3 => Just(Good), 4 => prop::sample::select(failed.to_vec())]
}

/// Any recommendation except a single subregion to activate, which is a dirty group.
fn recommendation() -> impl Strategy<Value = Recommendation> {
    let some = |most: usize| vec(0u32..65536, 0..=most);
    (some(2), some(2)).prop_filter("a dirty group", |(a, i)| (a.len(), i.len()) != (1, 0)).prop_map(|(a, i)| {
        let two = |list: Vec<u32>| [list.first().copied(), list.get(1).copied()];
        Recommendation { activate: two(a), inactivate: two(i) }
    })
}

fn response() -> impl Strategy<Value = (Response, Op, Seq)> {
    let hpb = prop_oneof![
        Just(HpbNotice::None),
        (0u32..65536).prop_map(HpbNotice::DirtyGroup),
        recommendation().prop_map(HpbNotice::Recommend),
        (lpa(), any::<u64>()).prop_map(|(lpa, entry)| HpbNotice::Entry { lpa, entry }),
    ];
    near().prop_flat_map(move |near| {
        let notice = prop_oneof![
            Just(Notice::None),
            entry(near).prop_map(Notice::Entry),
            any::<u32>().prop_map(|segment| Notice::WriteSegment(SegmentId(segment))),
            superblock().prop_map(Notice::BitmapOf),
        ];
        let piggyback = (notice, any::<bool>(), any::<bool>(), any::<bool>()).prop_map(
            |(notice, want_entries, want_victim, works_when_idle)| PiggyBack {
                notice,
                want_entries,
                want_victim,
                works_when_idle,
            },
        );
        (any::<u8>(), status(), answer(near), hpb.clone(), piggyback).prop_map(
            move |(tag, status, (op, mut data), hpb, piggyback)| {
                // An empty list and no data have the same bytes; they are decoded as a list if the command succeeded.
                let empty = matches!(&data, DataIn::Entries(e) if e.is_empty())
                    || matches!(&data, DataIn::Sealed(s) if s.is_empty())
                    || matches!(&data, DataIn::Runs(r) if r.is_empty());
                if empty && status != Status::Good {
                    data = DataIn::None;
                }
                (Response { tag: Tag(tag), status, data, hpb, piggyback }, op, near)
            },
        )
    })
}

/// Length of the DATA UPIUs for `bytes` of data.
fn upius(bytes: u64) -> u64 {
    bytes + bytes.div_ceil(32768) * 32
}

proptest! {
    #[test]
    fn commands_come_back((command, near) in command()) {
        let mut bytes = Vec::new();
        encode_command(&command, &INFO, &mut bytes).unwrap();
        prop_assert_eq!(&decode_command(&bytes, &INFO, near).unwrap(), &command);
        // 36 bytes of stand-in instead of the user data.
        let (stand_in, real) = match command.op {
            Op::Write { len: len @ 1.., .. } => (upius(4), upius(u64::from(len) * 4096)),
            _ => (0, 0),
        };
        prop_assert_eq!(wire_bytes(&command), bytes.len() as u64 - stand_in + real);
    }

    #[test]
    fn responses_come_back((response, op, near) in response()) {
        let mut bytes = Vec::new();
        encode_response(&response, &op, &INFO, &mut bytes).unwrap();
        prop_assert_eq!(&decode_response(&bytes, &INFO, near, &op).unwrap(), &response);
        let units = match &response.data {
            DataIn::One(_) => 1,
            DataIn::Many(units) => units.len() as u64,
            _ => 0,
        };
        let real = bytes.len() as u64 - upius(units * 8) + upius(units * 4096);
        prop_assert_eq!(wire_bytes_response(&response), real);
    }

    #[test]
    fn arbitrary_bytes_do_not_panic(bytes in vec(any::<u8>(), 0..200), near in any::<u64>(), op in asking()) {
        let _ = decode_command(&bytes, &INFO, Seq(near));
        let _ = decode_response(&bytes, &INFO, Seq(near), &op);
    }

    /// Damaged commands are refused, or decoded as commands that can be encoded.
    #[test]
    fn damaged_commands_do_not_panic(
        (command, near) in command(), at in any::<prop::sample::Index>(), value in any::<u8>(), cut in 0usize..40,
    ) {
        let mut bytes = Vec::new();
        encode_command(&command, &INFO, &mut bytes).unwrap();
        // Most bytes of a long message are data; damage matters only at the beginning.
        let head = bytes.len().min(100);
        bytes[at.index(head)] = value;
        if let Ok(decoded) = decode_command(&bytes, &INFO, near) {
            let mut again = Vec::new();
            prop_assert!(encode_command(&decoded, &INFO, &mut again).is_ok());
        }
        bytes.truncate(bytes.len().saturating_sub(cut));
        let _ = decode_command(&bytes, &INFO, Seq(u64::MAX - near.0));
    }

    /// Damaged responses are refused, or decoded as responses that can be encoded.
    #[test]
    fn damaged_responses_do_not_panic(
        (response, op, near) in response(), at in any::<prop::sample::Index>(), value in any::<u8>(), cut in 0usize..40,
    ) {
        let mut bytes = Vec::new();
        encode_response(&response, &op, &INFO, &mut bytes).unwrap();
        let tail = bytes.len().min(100);
        let first = bytes.len() - tail;
        bytes[first + at.index(tail)] = value;
        if let Ok(decoded) = decode_response(&bytes, &INFO, near, &op) {
            let mut again = Vec::new();
            prop_assert!(encode_response(&decoded, &op, &INFO, &mut again).is_ok());
        }
        bytes.truncate(bytes.len().saturating_sub(cut));
        let _ = decode_response(&bytes, &INFO, Seq(u64::MAX - near.0), &op);
    }
}
