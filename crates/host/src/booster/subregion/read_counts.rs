//! Counts of reads by subregion: the fetch policy that `foam` and `hpbvalve` share with Linux (HPBvalve Sec. 4.3: the
//! HPB manager "measures reference counts of LBAs and fetches L2P entries that have a large number of reads").

use super::params::SubregionParams;

/// Reads of each subregion since it was written or dropped last, normalized.
#[derive(Clone, Hash)]
pub(crate) struct ReadCounts {
    threshold: u32,
    /// When a count exceeds this, all counts are divided.
    most: u32,
    shift: u8,
    reads: Vec<u32>,
    /// Subregions that may have reads, each once.
    counted: Vec<u32>,
    is_counted: Vec<bool>,
}

impl ReadCounts {
    /// All counts are 0.
    pub fn new(groups: u32, params: &SubregionParams, group_entries: u32) -> ReadCounts {
        ReadCounts {
            threshold: params.activation_thld,
            most: group_entries,
            shift: params.normalization_factor as u8,
            reads: vec![0; groups as usize],
            counted: Vec::new(),
            is_counted: vec![false; groups as usize],
        }
    }

    /// Counts a read. True if the subregion has been read often enough to fetch it.
    pub fn read(&mut self, group: u32) -> bool {
        let reads = &mut self.reads[group as usize];
        *reads += 1;
        let reads = *reads;
        if !std::mem::replace(&mut self.is_counted[group as usize], true) {
            self.counted.push(group);
        }
        if reads > self.most.max(self.threshold) {
            self.normalize();
        }
        reads >= self.threshold
    }

    /// The subregion has been written or dropped.
    pub fn reset(&mut self, group: u32) {
        self.reads[group as usize] = 0;
    }

    fn normalize(&mut self) {
        let (reads, is_counted, shift) = (&mut self.reads, &mut self.is_counted, self.shift);
        self.counted.retain(|&group| {
            reads[group as usize] >>= shift;
            is_counted[group as usize] = reads[group as usize] > 0;
            is_counted[group as usize]
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn enough_reads_without_a_write_between_them() {
        let mut counts = ReadCounts::new(4, &SubregionParams { activation_thld: 3, ..SubregionParams::default() }, 512);
        let three = |counts: &mut ReadCounts| [(); 3].map(|()| counts.read(1));
        assert_eq!(three(&mut counts), [false, false, true]);
        assert_eq!(three(&mut counts), [true; 3]);
        counts.reset(1);
        assert_eq!(three(&mut counts), [false, false, true]);
        assert!(!counts.read(2));
    }

    #[test]
    fn counts_are_divided_when_one_is_large() {
        let mut counts = ReadCounts::new(4, &SubregionParams { activation_thld: 8, ..SubregionParams::default() }, 16);
        (0..9).for_each(|_| {
            counts.read(0);
        });
        counts.read(1);
        (0..16).for_each(|_| {
            counts.read(2);
        });
        assert_eq!(counts.reads, [9, 1, 16, 0]);
        counts.read(2);
        assert_eq!((counts.reads.as_slice(), counts.counted.as_slice()), ([4, 0, 8, 0].as_slice(), [0, 2].as_slice()));
    }
}
