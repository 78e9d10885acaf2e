//! Which data are hot: written again soon.
//!
//! A counter for each region of the address space counts writes. All counters are halved when the mean has become too
//! large, so old writes fade (Hsieh, Kuo, Chang, "Efficient Identification of Hot Data for Flash Memory Storage
//! Systems", ACM Transactions on Storage 2(1), 2006, whose counters stand in a hash table). A region is hot while it is
//! written more than twice as often as the mean: a threshold that no skew and no size of the device moves. A write that
//! goes on where the last one ended does not count: data that come in a sequence are written once.
//!
//! A mean of 16 to 32 keeps chance out: where all regions are written alike, none of them has twice the mean by more
//! than 6 standard deviations.

use units::Lpa;

/// Times the mean above which a region is hot.
const HOT_TIMES: u64 = 2;
/// All counters are halved at this mean, so it is between half of that and that. Before the first time nothing is hot.
const MOST_MEAN: u64 = 32;

/// Writes of each region of the address space, as they fade.
#[cfg_attr(feature = "explore", derive(Clone, Hash))]
#[derive(Debug)]
pub struct Heat {
    region_units: u32,
    counts: Vec<u8>,
    sum: u64,
    /// The counters have been halved.
    warm: bool,
    /// Where a write that goes on in sequence would be.
    next: Lpa,
}

impl Heat {
    /// Nothing has been written. `region_units` must not be 0.
    pub fn new(region_units: u32, capacity_units: u32) -> Heat {
        let regions = capacity_units.div_ceil(region_units) as usize;
        Heat { region_units, counts: vec![0; regions], sum: 0, warm: false, next: Lpa(0) }
    }

    /// Counts a write of the host. True if its region is hot.
    pub fn written(&mut self, lpa: Lpa) -> bool {
        let goes_on = std::mem::replace(&mut self.next, lpa.offset(1)) == lpa;
        let count = &mut self.counts[(lpa.0 / self.region_units) as usize];
        if !goes_on && *count < u8::MAX {
            *count += 1;
            self.sum += 1;
            if self.sum >= MOST_MEAN * self.counts.len() as u64 {
                self.warm = true;
                self.counts.iter_mut().for_each(|count| *count /= 2);
                self.sum = self.counts.iter().map(|&count| u64::from(count)).sum();
            }
        }
        self.is_hot(lpa)
    }

    /// True if the region of an address is hot.
    pub fn is_hot(&self, lpa: Lpa) -> bool {
        let count = u64::from(self.counts[(lpa.0 / self.region_units) as usize]);
        self.warm && count * self.counts.len() as u64 > HOT_TIMES * self.sum
    }

    /// Bytes of SRAM.
    pub fn table_bytes(&self) -> u64 {
        self.counts.len() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Writes that do not follow each other.
    fn write(heat: &mut Heat, lpas: impl Iterator<Item = u32>) -> usize {
        lpas.filter(|&lpa| {
            heat.next = Lpa(u32::MAX);
            heat.written(Lpa(lpa))
        })
        .count()
    }

    /// Ten regions of 4 units, each of them written 16 times in the mean.
    fn warm() -> Heat {
        let mut heat = Heat::new(4, 38);
        assert_eq!(write(&mut heat, (0..320).map(|i| i % 10 * 4)), 0);
        assert!(heat.warm && heat.counts == [16; 10], "{heat:?}");
        heat
    }

    #[test]
    fn a_region_is_hot_above_twice_the_mean() {
        let mut heat = warm();
        // 16 + n of 160 + n: more than a fifth from n = 21 on.
        assert_eq!(write(&mut heat, (0..20).map(|_| 7)), 0);
        assert!(heat.written(Lpa(7)), "37 of 181");
        assert!(heat.is_hot(Lpa(4)) && !heat.is_hot(Lpa(8)), "the region, and only it");
        write(&mut heat, (0..4).map(|_| 20));
        assert!(!heat.is_hot(Lpa(7)), "37 of 185");
        assert_eq!(heat.table_bytes(), 10, "a byte for each region, the short one included");
    }

    #[test]
    fn nothing_is_hot_before_the_counters_were_halved() {
        let mut heat = Heat::new(4, 38);
        assert_eq!(write(&mut heat, (0..200).map(|_| 7)), 0);
        assert!(write(&mut heat, (0..200).map(|i| i % 10 * 4)) > 0);
    }

    #[test]
    fn what_is_written_no_more_grows_cold() {
        let mut heat = warm();
        write(&mut heat, (0..150).map(|_| 0));
        assert!(heat.is_hot(Lpa(0)));
        write(&mut heat, (0..1_000).map(|i| 4 + i % 34));
        assert!(!heat.is_hot(Lpa(0)), "{heat:?}");
    }

    #[test]
    fn a_sequence_counts_once() {
        let mut heat = warm();
        let sum = heat.sum;
        for lpa in 12..22 {
            heat.written(Lpa(lpa));
        }
        assert_eq!((heat.sum, heat.counts[3]), (sum + 1, 17));
    }

    #[test]
    fn counters_that_are_full_stay_hot_and_the_sum_is_theirs() {
        let mut heat = Heat::new(1, 64);
        write(&mut heat, (0..64 * 32).map(|i| i % 64));
        write(&mut heat, (0..5_000).map(|_| 3));
        assert!(heat.is_hot(Lpa(3)) && heat.counts[3] > 100);
        assert_eq!(heat.sum, heat.counts.iter().map(|&count| u64::from(count)).sum::<u64>());
    }
}
