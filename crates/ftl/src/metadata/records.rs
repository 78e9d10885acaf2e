//! Writing records of log blocks to flash.

use std::sync::Arc;

use units::Superblock;

use crate::knowledge::Record;
use crate::space::blocks::{Blocks, Stream};

/// Records being programmed. Two places are used in turn.
#[cfg_attr(feature = "explore", derive(Clone, Hash))]
#[derive(Debug, Default)]
pub struct Records {
    /// Number of the last record begun, and of the last one on flash.
    begun: u64,
    durable: u64,
    /// Number of the record that each stream's open superblock needs on flash.
    needs: [u64; Stream::COUNT],
    programming: [Option<Arc<Record>>; 2],
    parts: [usize; 2],
}

impl Records {
    /// State after a power cut: numbers continue after `number`.
    pub fn resume(&mut self, number: u64) {
        *self = Records { begun: number, durable: number, ..Records::default() };
    }

    /// True if another record can be begun. False while its place is being programmed.
    pub fn ready(&self) -> bool {
        self.programming[Records::slot(self.begun + 1)].is_none()
    }

    fn slot(number: u64) -> usize {
        (number % 2) as usize
    }

    /// Begins a record. Gives its place.
    pub fn begin(&mut self, stream: Option<Stream>, log_blocks: Vec<Superblock>, blocks: &Blocks) -> usize {
        let (free, bad) = (blocks.states().free_bits().to_vec(), blocks.states().bad_bits().to_vec());
        let slc = blocks.slc().bits().to_vec();
        assert!(self.ready(), "a record of log blocks is begun while its place is being programmed");
        self.begun += 1;
        let slot = Records::slot(self.begun);
        self.programming[slot] = Some(Arc::new(Record { number: self.begun, log_blocks, free, bad, slc }));
        if let Some(stream) = stream {
            self.needs[stream as usize] = self.begun;
        }
        slot
    }

    /// Sets the number of parts in which a record is programmed.
    pub fn expect(&mut self, slot: usize, parts: usize) {
        self.parts[slot] = parts;
    }

    /// A part is on flash. Gives the record.
    pub fn part_written(&mut self, slot: usize) -> Arc<Record> {
        self.parts[slot] -= 1;
        let record = Arc::clone(self.programming[slot].as_ref().expect("a record is programmed part by part"));
        if self.parts[slot] == 0 {
            self.programming[slot] = None;
            self.durable = self.durable.max(record.number);
        }
        record
    }

    /// True if the open superblock of the stream is in a record on flash.
    #[inline]
    pub fn recorded(&self, stream: Stream) -> bool {
        self.durable >= self.needs[stream as usize]
    }
}

#[cfg(test)]
mod tests {
    use nand::Geometry;

    use super::*;
    use crate::slc_config::SlcConfig;

    #[test]
    fn a_stream_waits_for_all_parts_of_its_record() {
        let geometry = Geometry {
            channels: 1,
            dies_per_channel: 1,
            superblock_dies: 1,
            planes: 1,
            units_per_page: 1,
            pages_per_block: 4,
            word_line_pages: 1,
            data_superblocks: 8,
            meta_superblocks: 1,
        };
        let blocks = Blocks::new(geometry.layout(), SlcConfig::NONE);
        let mut records = Records::default();
        assert!(records.recorded(Stream::Host));
        let slot = records.begin(Some(Stream::Host), vec![Superblock(3)], &blocks);
        records.expect(slot, 2);
        let other = records.begin(Some(Stream::Gc), vec![Superblock(3), Superblock(4)], &blocks);
        records.expect(other, 2);
        assert!(slot != other && !records.ready());
        assert_eq!(records.part_written(slot).number, 1);
        assert!(!records.recorded(Stream::Host));
        assert_eq!(records.part_written(slot).number, 1);
        assert!(records.recorded(Stream::Host) && !records.recorded(Stream::Gc) && records.ready());
    }
}
