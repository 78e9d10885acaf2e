//! A disk for tests: a volatile write cache in front of a medium, and power that can be cut.

use std::cell::RefCell;
use std::rc::Rc;

use units::{Lpa, Nanos, SimTime};
use workload::Rng;

use crate::block::{Block, Disk, Halted, Image, Io};
use crate::versions::Versions;

/// Requests to a disk.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counts {
    pub reads: u64,
    pub units_read: u64,
    pub writes: u64,
    pub units_written: u64,
    /// Flushes, including those of barriers.
    pub flushes: u64,
    /// Writes with flush and FUA.
    pub barriers: u64,
}

impl Counts {
    /// The counts since `before`.
    pub fn since(self, before: Counts) -> Counts {
        Counts {
            reads: self.reads - before.reads,
            units_read: self.units_read - before.units_read,
            writes: self.writes - before.writes,
            units_written: self.units_written - before.units_written,
            flushes: self.flushes - before.flushes,
            barriers: self.barriers - before.barriers,
        }
    }
}

#[derive(Debug, Default)]
struct Ram {
    versions: Versions,
    counts: Counts,
    now: u64,
    /// Number of moments so far at which the power could have been cut.
    moments: u64,
    /// Number of such moments before it is cut.
    budget: Option<u64>,
    off: bool,
}

/// A handle to the disk. The test has one, the volume another.
#[derive(Clone, Debug, Default)]
pub struct RamDisk(Rc<RefCell<Ram>>);

impl RamDisk {
    /// A disk with these contents, all of them durable.
    pub fn with(image: &Image) -> RamDisk {
        let disk = RamDisk::default();
        {
            let mut ram = disk.0.borrow_mut();
            for (lpa, block) in image.blocks() {
                ram.versions.write(lpa, std::slice::from_ref(block));
            }
            ram.versions.flushed();
        }
        disk
    }

    /// Cuts the power after `moments` more moments.
    pub fn cut_after(&self, moments: u64) {
        self.0.borrow_mut().budget = Some(moments);
    }

    /// Number of moments so far: one in every request, two in a barrier.
    pub fn moments(&self) -> u64 {
        self.0.borrow().moments
    }

    /// The disk as reads see it.
    pub fn latest(&self) -> Image {
        self.0.borrow().versions.latest_image()
    }

    pub fn counts(&self) -> Counts {
        self.0.borrow().counts
    }

    pub fn pass(&self, time: Nanos) {
        self.0.borrow_mut().now += time.0;
    }

    /// Cuts the power. Each unit then holds any of the versions that it may hold.
    pub fn after_cut(&self, rng: &mut Rng) -> Image {
        let mut ram = self.0.borrow_mut();
        ram.off = true;
        // In some cases the whole cache is lost or nothing of it; more often a part.
        let keep = rng.below(4);
        let choices: Vec<(Lpa, Vec<u32>)> =
            ram.versions.possible().map(|(lpa, numbers)| (lpa, numbers.collect())).collect();
        let mut chosen = choices.into_iter().map(|(lpa, numbers)| {
            let last = numbers.len() as u64 - 1;
            let index = match keep {
                0 => 0,
                1 => last,
                _ => rng.below(last + 1),
            };
            (lpa, numbers[index as usize])
        });
        ram.versions
            .image(|lpa| {
                let (asked, number) = chosen.next().expect("image and possible list the same units");
                assert_eq!(asked, lpa);
                number
            })
            .expect("a possible version")
    }
}

impl Ram {
    /// False if the power is cut now.
    fn spend(&mut self) -> bool {
        self.moments += 1;
        match &mut self.budget {
            Some(0) => self.off = true,
            Some(left) => *left -= 1,
            None => {}
        }
        !self.off
    }

    fn one(&mut self, io: Io, data: &mut Vec<Block>) -> Result<(), Halted> {
        self.now += 100_000;
        if io.is_barrier() {
            if !self.spend() {
                return Err(Halted);
            }
            self.counts.flushes += 1;
            self.versions.flushed();
        }
        match io {
            Io::Read { first, count } => {
                self.counts.reads += 1;
                self.counts.units_read += u64::from(count);
                data.extend((0..count).map(|i| self.versions.latest(first.offset(i))));
            }
            Io::Write { first, blocks, barrier, .. } => {
                self.counts.writes += 1;
                self.counts.units_written += blocks.len() as u64;
                self.versions.write(first, &blocks);
                if barrier {
                    self.counts.barriers += 1;
                    if !self.spend() {
                        return Err(Halted);
                    }
                    self.versions.durable(first, blocks.len() as u32);
                }
            }
            Io::Flush => {}
        }
        Ok(())
    }
}

impl Disk for RamDisk {
    fn run(&mut self, batch: Vec<Io>) -> Result<Vec<Block>, Halted> {
        let mut ram = self.0.borrow_mut();
        assert!(batch.len() == 1 || !batch.iter().any(Io::is_barrier), "a barrier is alone in its batch");
        if ram.off {
            return Err(Halted);
        }
        let mut data = Vec::new();
        for io in batch {
            // A request that is under way at the cut may have taken effect.
            let cut = !io.is_barrier() && !ram.spend();
            ram.one(io, &mut data)?;
            if cut {
                return Err(Halted);
            }
        }
        Ok(data)
    }

    fn now(&self) -> SimTime {
        SimTime(self.0.borrow().now)
    }

    fn pass(&mut self, time: Nanos) {
        RamDisk::pass(self, time);
    }
}

/// Requests of a part of a test.
pub(crate) fn asked(disk: &RamDisk, action: impl FnOnce()) -> Counts {
    let before = disk.counts();
    action();
    disk.counts().since(before)
}

/// Expected requests of a part of a test.
pub(crate) fn counts(writes: u64, units_written: u64, flushes: u64, barriers: u64) -> Counts {
    Counts { writes, units_written, flushes, barriers, ..Counts::default() }
}
