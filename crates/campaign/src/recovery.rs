//! Duration of recovery on the device of the HP-UFS paper (Fig. 11), when its log blocks hold a given number of pages
//! of a given number of segments.

use device::DeviceStats;
use host::RequestOp;
use lab::profile::{Profile, parse_override};
use lab::schemes;
use units::{Lpa, Nanos};

use crate::rig::Rig;
use crate::rng::Rng;

/// Segments of the paper's device.
pub const SEGMENTS: u32 = 32_768;
/// Pages of eight log blocks of 16 MiB.
pub const PAGES: u32 = 32_768;

/// A new HP-UFS device of 128 GiB with this limit of log blocks, which writes segments in parts of `segment_kib` KiB.
pub fn rig(log_blocks: u32, segment_kib: u32) -> Rig {
    let set = [
        format!("log.max_log_blocks={log_blocks}"),
        format!("scheme.*.segment_kib={segment_kib}"),
        "host.memory_mib=\"unlimited\"".into(),
    ];
    let set: Vec<_> = set.iter().map(|text| parse_override(text).expect("a well formed override")).collect();
    let profile = Profile::load("hp-ufs", &set).expect("an embedded profile");
    let preset = schemes().iter().find(|p| p.name == "hp-ufs").expect("a preset");
    Rig::new(&profile, preset.parts, Nanos::from_micros(1))
}

/// A device that has recovered from a power cut. At the cut its log blocks held `pages` pages of `segments` segments.
///
/// Every segment, or every part of one, is on flash, in random order, as a host with little memory has written them
/// back.
///
/// # Panics
/// If `segments` is not in 1..=32768, `pages` not in `segments`..=32768, or `segment_kib` neither 1, 2 nor 4.
pub fn recovered(segments: u32, pages: u32, segment_kib: u32) -> Rig {
    assert!((1..=SEGMENTS).contains(&segments), "{segments} segments: must be 1..={SEGMENTS}");
    assert!((segments..=PAGES).contains(&pages), "{pages} pages: must be {segments}..={PAGES}");
    // Writeback starts two log blocks below the limit; without it, all pages of eight blocks need recovery.
    let mut rig = rig(11, segment_kib);
    let parts = SEGMENTS * 4 / segment_kib;
    assert!(rig.shrink(8 << 20), "a limit above the least");
    for i in 0..parts {
        let lpa = Lpa(i.wrapping_mul(20_011) % parts * (256 * segment_kib));
        rig.submit(RequestOp::Write { fua: false }, lpa, 1, 16);
    }
    rig.cut_and_recover(&mut Rng::new(1), 0);
    rig.attach();
    for i in 0..pages {
        let lpa = Lpa((i % segments) * 1024 + i / segments + 512);
        rig.submit(RequestOp::Write { fua: false }, lpa, 1, 16);
    }
    rig.submit(RequestOp::Flush, Lpa(0), 0, 1);
    rig.wait();
    rig.cut_and_recover(&mut Rng::new(1), 0);
    rig
}

/// Counters of the device after that recovery.
///
/// # Panics
/// See [`recovered`].
pub fn recovery(segments: u32, pages: u32, segment_kib: u32) -> DeviceStats {
    recovered(segments, pages, segment_kib).device().stats()
}
