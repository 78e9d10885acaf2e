//! `hp-ufs` seen from a host without a driver.

// The other test uses the rest of it.
#[allow(dead_code)]
mod kit;

use kit::{Bench, tiny};
use ufs::{Content, DataIn, Notice, Op};
use ufsim_device::MappingKind;
use units::{Lpa, Ppa};

/// Writes once and gives the place that the device tells.
fn write(bench: &mut Bench, lpa: Lpa) -> Ppa {
    bench.send(Op::Write { lpa, len: 1, fua: true });
    bench.settle();
    match bench.responses.last().expect("a write is answered").piggyback.notice {
        Notice::Entry(entry) => entry.ppa.expect("a write has a place"),
        other => panic!("no entry came with the response, but {other:?}"),
    }
}

/// What the device itself still knows to be newer wins over a stale address: the host has not said that it has applied
/// the entry, so the entry is in the log.
#[test]
fn a_stale_address_loses_against_the_log() {
    let mut bench = Bench::new(tiny(), MappingKind::HpUfs);
    let lpa = Lpa(5);
    let old = write(&mut bench, lpa);
    let new = write(&mut bench, lpa);
    assert_ne!(old, new);
    for ppa in [old, new] {
        bench.send(Op::MappedRead { lpa, len: 1, ppa: Some(ppa) });
        bench.settle();
        let data = &bench.responses.last().expect("a read is answered").data;
        assert_eq!(*data, DataIn::One(Some(Content { lpa, stamp: 2 })), "read at {ppa}");
    }
    assert_eq!(bench.device.stats().log_hits, 2);
}
