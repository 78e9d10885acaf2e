//! What two mapping flushes of `mini-page` cost, on the bare device.

use std::collections::BTreeMap;

use crate::kit::{Bench, tiny};
use ftl::{DeviceConfig, MappingKind, SramConfig};
use ufs::Op;
use units::Lpa;

/// A flush follows 256 units of data. Translation pages have 1024 entries and take a unit of 4 KiB; four are
/// programmed together. Nothing stays in SRAM.
#[test]
fn two_flushes_cost_what_follows_from_their_addresses() {
    let cfg = tiny();
    let sram = SramConfig { segment_cache: 0, ..cfg.sram };
    let mut bench =
        Bench::new(DeviceConfig { sram, write_through: true, ..cfg }, MappingKind::of::<ufsim_schemes::MiniPage>());
    let mut write = |first: u32, n: u32| {
        for lpa in (first..first + n).step_by(16) {
            bench.send(Op::Write { lpa: Lpa(lpa), len: 16, fua: false });
            bench.settle();
        }
        bench.device.scheme_counters().into_iter().map(|(counter, value)| (counter.name, value)).collect()
    };
    // The first translation page, which was never written. Two superblocks of 256 units are opened in all, with a
    // record each. The metadata superblock begins with a snapshot.
    let mut expected = BTreeMap::from([
        ("pmt_flush_units", 4),
        ("pmt_moved_units", 0),
        ("pmt_directory_units", 4),
        ("pmt_bookkeeping_units", 4),
        ("pmt_flush_reads", 0),
        ("pmt_early_flushes", 0),
        ("pmt_pieces_written", 1),
        ("pmt_entries_written", 1024),
        ("pmt_entries_changed", 256),
        ("pmt_directory_bytes", 4 * 4),
    ]);
    let counters: BTreeMap<&str, u64> = write(0, 256);
    assert_eq!(counters, expected);
    // Half of it again, which is read, and a part of the second one.
    let _: BTreeMap<&str, u64> = write(0, 128);
    let counters: BTreeMap<&str, u64> = write(1024, 128);
    for (name, more) in [
        ("pmt_flush_units", 4),
        ("pmt_bookkeeping_units", 4),
        ("pmt_flush_reads", 1),
        ("pmt_pieces_written", 2),
        ("pmt_entries_written", 2 * 1024),
        ("pmt_entries_changed", 256),
    ] {
        *expected.get_mut(name).expect("a counter") += more;
    }
    assert_eq!(counters, expected);
}
