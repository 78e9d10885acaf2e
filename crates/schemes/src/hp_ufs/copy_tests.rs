//! What the engine makes of this scheme: writebacks that a host has sent, and copies that are programmed late.

use ftl::testing::{Bench, ROW, UNITS, config};
use ftl::{EngineConfig, LogConfig};
use ufs::{DataOut, Op, SegmentState};
use units::{Lpa, Ppa, SegmentId, Seq, Superblock};

use super::HpUfs;
use crate::small;

/// A device that keeps no log block longer than it has to, and the segment that its host keeps.
struct HostAndDevice {
    device: Bench<HpUfs>,
    segment: Box<[u32; 1024]>,
    applied: u64,
}

impl HostAndDevice {
    fn new() -> HostAndDevice {
        let cfg = EngineConfig { log: LogConfig { max_log_blocks: 2, ..small::config().log }, ..config(6) };
        let device = Bench::new(cfg, &small::params::<HpUfs>());
        HostAndDevice { device, segment: Box::new([0; 1024]), applied: 0 }
    }

    fn send(&mut self, op: Op, data: DataOut) {
        self.device.send(op, data, Seq(self.applied));
        self.device.settle();
    }

    /// Fills superblock `sb` with the addresses from `first` on.
    fn write(&mut self, sb: u32, first: u32) {
        self.send(Op::Write { lpa: Lpa(first), len: UNITS, fua: false }, DataOut::Stamp(1));
        (0..UNITS).for_each(|i| self.segment[(first + i) as usize] = Ppa::pack(Some(Ppa(sb * UNITS + i))));
        self.applied += u64::from(UNITS);
    }

    /// The segment on flash gets all changes.
    fn write_back(&mut self) {
        let data = DataOut::Segment(SegmentState::of(&self.segment));
        self.send(Op::SegmentWrite { segment: SegmentId(0) }, data);
    }
}

/// GC has read a row of pages of superblock 0, with the addresses from 0 on. All of them but the first have been
/// written again before their copies are programmed. What replaced them is in the segment, and in no log block any
/// more.
#[test]
fn a_copy_programmed_late_does_not_replace_what_was_written_meanwhile() {
    let mut both = HostAndDevice::new();
    for (sb, first) in [(0, 0), (1, 1)] {
        both.write(sb, first);
        both.write_back();
    }
    both.write(2, 100);
    both.device.keep_copies(ROW);
    both.device.program_waiting_copies();
    assert_eq!(both.device.counts().1, u64::from(ROW));
    let (map, core) = both.device.scheme();
    assert_eq!(ftl::seat::Placement::log_blocks(map, core), [2, 3].map(Superblock));

    let device = both.device.cut();
    let core = device.scheme().1;
    let found: Vec<_> = (0..=ROW).map(|lpa| core.inspect(Lpa(lpa)).0).collect();
    let copy = Ppa(3 * UNITS);
    let replaced = (1..=ROW).map(|lpa| Ppa(UNITS + lpa - 1));
    assert_eq!(found, std::iter::once(copy).chain(replaced).map(Some).collect::<Vec<_>>());
}

#[test]
fn a_segment_is_written_back_only_if_a_host_has_sent_it() {
    let mut bench: Bench<HpUfs> = Bench::new(config(6), &small::params::<HpUfs>());
    let mut is_seen_to_write = |op, data, host_seq| {
        bench.send(op, data, Seq(host_seq));
        bench.go_on();
        let mut seen = bench.moment().writeback;
        while bench.step() {
            seen |= bench.moment().writeback;
        }
        assert!(!bench.moment().writeback && bench.counts().0 == 0, "nothing is under way");
        seen
    };
    assert!(!is_seen_to_write(Op::Write { lpa: Lpa(0), len: UNITS, fua: false }, DataOut::Stamp(1), 0));
    let data = DataOut::Segment(SegmentState::of(&[7; 1024]));
    assert!(is_seen_to_write(Op::SegmentWrite { segment: SegmentId(0) }, data, UNITS.into()));
}
