//! What a device holds after a power cut.

use ufs::{DataOut, Op, SegmentState};
use units::{Lpa, Ppa, SegmentId, Seq, Superblock};

use crate::config::{EngineConfig, LogConfig};
use crate::engine::core::Job;
use crate::engine::in_tests::{Bench, ROW, UNITS, config};
use crate::gc::{PageCopy, Phase};
use crate::mapping::{schemes, small};
use crate::seat::Placement;
use crate::sram::Owner;

/// A device that keeps no log block longer than it has to, and the segment that its host keeps.
struct HostAndDevice {
    device: Bench<schemes::HpUfs>,
    segment: Box<[u32; 1024]>,
    applied: u64,
}

impl HostAndDevice {
    fn new() -> HostAndDevice {
        let cfg = EngineConfig { log: LogConfig { max_log_blocks: 2, ..small::config().log }, ..config(6) };
        let device = Bench::new(cfg, &small::params().HpUfs);
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
    let device = &mut both.device.fw;
    assert!(device.core.sram.take(Owner::Gc, ROW as u16));
    for lpa in (0..ROW).map(Lpa) {
        device.gc.keep(PageCopy { lpa, stamp: 1, version: lpa.0 + 1, source: Superblock(0) });
    }
    device.core.begin_job(Job::Gc);
    device.gc.begin_step(0);
    device.gc.phase = Phase::Program;
    both.device.settle();
    let device = &both.device.fw;
    assert_eq!(device.stats().gc_units_programmed, u64::from(ROW));
    assert_eq!(device.map.log_blocks(&device.core), [2, 3].map(Superblock));

    let device = both.device.cut();
    let pages = device.fw.core.meta.pages();
    let found: Vec<_> = (0..=ROW).map(|lpa| pages.inspect(Lpa(lpa)).0).collect();
    let copy = Ppa(3 * UNITS);
    let replaced = (1..=ROW).map(|lpa| Ppa(UNITS + lpa - 1));
    assert_eq!(found, std::iter::once(copy).chain(replaced).map(Some).collect::<Vec<_>>());
}
