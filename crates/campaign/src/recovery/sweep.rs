//! Recovery of a device whose log blocks hold a given number of pages of a given number of segments.
//!
//! The profile's own limits do not let all of these numbers come about ([`super::worst_cut`]), so the sweep has other
//! ones, from the first write to the cut:
//!
//! - Eleven log blocks. Writeback starts two below the limit, and is to leave all pages of eight to recovery.
//! - A host that may cache all segments, but gives up what nothing has used for a second (Sec. III-F). So segments are
//!   written back in the order of their use, which is not that of their numbers, as soon as writes pause, and none
//!   are while they go on.

use ftl::DeviceStats;
use host::RequestOp;
use units::Lpa;

use super::{SEGMENTS, rig};
use crate::rig::Rig;
use crate::rng::Rng;

/// Pages of eight log blocks of 16 MiB.
pub const PAGES: u32 = 32_768;
/// Writes between two pauses of the filling.
const BETWEEN_PAUSES: u32 = 8_192;
/// Writes that are outstanding at a time.
const DEPTH: usize = 16;

/// A device that has recovered from a power cut. At the cut its log blocks held `pages` pages of `segments` segments,
/// and every segment was on flash, in an order that looks random.
///
/// With `parts`, segments are written in parts of so many KiB. Tables then lie beside the SRAM pool, as in the authors'
/// prototype: those of small parts leave no segment cache otherwise.
///
/// # Panics
/// If `segments` is not in 1..=32768, `pages` not in `segments`..=32768, or `parts` neither 1, 2 nor 4.
pub fn recovered(segments: u32, pages: u32, parts: Option<u32>) -> Rig {
    assert!((1..=SEGMENTS).contains(&segments), "{segments} segments: must be 1..={SEGMENTS}");
    assert!((segments..=PAGES).contains(&pages), "{pages} pages: must be {segments}..={PAGES}");
    let mut rig = filled(parts);
    for i in 0..pages {
        let lpa = Lpa((i % segments) * 1024 + i / segments + 512);
        rig.submit(RequestOp::Write { fua: false }, lpa, 1, DEPTH);
    }
    rig.submit(RequestOp::Flush, Lpa(0), 0, 1);
    rig.wait();
    rig.cut_and_recover(&mut Rng::new(1), 0);
    rig
}

/// A device whose segments are all on flash. It has no log blocks: it lost power when recovery had nothing to do.
fn filled(parts: Option<u32>) -> Rig {
    let mut settings = vec!["log.max_log_blocks=11", "host.memory_mib=\"unlimited\"", "scheme.hp-ufs.unused_ms=1000"];
    let kib = parts.unwrap_or(4);
    let in_parts = format!("scheme.*.segment_kib={kib}");
    if parts.is_some() {
        settings.extend(["sram.covers=\"pool\"", &in_parts]);
    }
    let mut rig = rig(&settings);
    let parts = SEGMENTS * 4 / kib;
    for i in 0..parts {
        let lpa = Lpa(i.wrapping_mul(20_011) % parts * (256 * kib));
        rig.submit(RequestOp::Write { fua: false }, lpa, 1, DEPTH);
        if (i + 1) % BETWEEN_PAUSES == 0 {
            rig.rest();
        }
    }
    rig.cut_and_recover(&mut Rng::new(1), 0);
    assert_eq!(rig.device().stats().recovery_segments, 0, "the host has written all segments back");
    rig.attach();
    rig
}

/// Counters of the device after that recovery.
///
/// # Panics
/// See [`recovered`].
pub fn recovery(segments: u32, pages: u32, parts: Option<u32>) -> DeviceStats {
    recovered(segments, pages, parts).device().stats()
}
