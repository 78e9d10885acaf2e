//! A trace of a larger device on a smaller one.
//!
//! The addresses of the trace are cut into ranges of one size, aligned to it. Ranges that no request touches are left
//! out; the others keep their order and lie side by side from address 0 on. So two addresses that differ stay
//! different, a request stays one, and everything within a range stays where it was beside each other: a unit of
//! mapping that is no larger than the range covers the same addresses as before.
//!
//! Of the sizes 64, 32, ... 1 MiB the largest is taken with which the trace fits. If it does not fit with 1 MiB, it is
//! refused.

use units::UNIT_BYTES;

use super::{Folded, Trace, TraceError};
use crate::{SECTOR_BYTES, WorkOp, WorkRequest};

/// Sizes of ranges in MiB, in the order in which they are tried.
const SIZES_MIB: [u64; 7] = [64, 32, 16, 8, 4, 2, 1];

const MIB_SECTORS: u64 = (1 << 20) / SECTOR_BYTES;

impl Trace {
    /// Moves the ranges that requests touch side by side, if the trace does not fit a device of `capacity_units`.
    /// Afterwards the addresses of its devices are no longer theirs, so it has one device.
    ///
    /// # Errors
    /// [`TraceError::FoldTooLarge`] if the ranges do not fit.
    pub fn fold(&mut self, capacity_units: u32) -> Result<(), TraceError> {
        let capacity = u64::from(capacity_units) * (UNIT_BYTES / SECTOR_BYTES);
        let before = end_of(&self.requests);
        if before <= capacity {
            return Ok(());
        }
        let mut touched = 0;
        for granule_mib in SIZES_MIB {
            let ranges = Ranges::of(&self.requests, granule_mib * MIB_SECTORS);
            touched = ranges.count();
            let after = self.requests.iter().map(|r| ranges.end(r)).max().unwrap_or(0);
            if after > capacity {
                continue;
            }
            for request in self.requests.iter_mut().filter(|r| r.op != WorkOp::Flush) {
                request.sector = ranges.place(request.sector);
            }
            let mib = |sectors: u64| sectors.div_ceil(MIB_SECTORS);
            let folded = Folded { granule_mib, ranges: touched, from_mib: mib(before), to_mib: mib(after) };
            self.report.folded = Some(folded);
            self.be_one_device(after);
            return Ok(());
        }
        Err(TraceError::FoldTooLarge {
            name: self.name.clone(),
            granule_mib: 1,
            touched_mib: touched,
            capacity_mib: capacity / MIB_SECTORS,
        })
    }

    fn be_one_device(&mut self, sectors: u64) {
        let names: Vec<_> = self.devices.iter().map(|device| device.name.clone()).collect();
        let requests = self.devices.iter().map(|device| device.requests).sum();
        self.devices = vec![super::TraceDevice { name: names.join("+"), first_sector: 0, sectors, requests }];
    }
}

/// One past the last sector that requests touch.
fn end_of(requests: &[WorkRequest]) -> u64 {
    requests.iter().filter(|r| r.op != WorkOp::Flush).map(|r| r.sector + sectors(r)).max().unwrap_or(0)
}

fn sectors(request: &WorkRequest) -> u64 {
    request.bytes.div_ceil(SECTOR_BYTES)
}

/// Ranges that requests touch, joined where they lie side by side; ascending.
struct Ranges {
    size: u64,
    runs: Vec<Run>,
}

#[derive(Clone, Copy)]
struct Run {
    first: u64,
    /// One past the last.
    end: u64,
    /// Touched ranges before it.
    before: u64,
}

impl Ranges {
    fn of(requests: &[WorkRequest], size: u64) -> Ranges {
        let with_data = requests.iter().filter(|r| r.op != WorkOp::Flush);
        let span = |r: &WorkRequest| (r.sector / size, (r.sector + sectors(r).max(1) - 1) / size + 1);
        let mut spans: Vec<(u64, u64)> = with_data.map(span).collect();
        spans.sort_unstable();
        let mut runs: Vec<Run> = Vec::new();
        for (first, end) in spans {
            match runs.last_mut() {
                Some(run) if first <= run.end => run.end = run.end.max(end),
                last => {
                    let before = last.map_or(0, |run| run.before + run.end - run.first);
                    runs.push(Run { first, end, before });
                }
            }
        }
        Ranges { size, runs }
    }

    /// How many ranges are touched.
    fn count(&self) -> u64 {
        self.runs.last().map_or(0, |run| run.before + run.end - run.first)
    }

    /// Where a sector of a touched range comes to lie.
    fn place(&self, sector: u64) -> u64 {
        let range = sector / self.size;
        let run = self.runs[self.runs.partition_point(|run| run.end <= range)];
        (run.before + range - run.first) * self.size + sector % self.size
    }

    /// Where a request ends. All ranges that it touches are there, so they lie behind each other.
    fn end(&self, request: &WorkRequest) -> u64 {
        if request.op == WorkOp::Flush { 0 } else { self.place(request.sector) + sectors(request) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{TraceFile, TraceOptions};

    const MIB_UNITS: u32 = 256;

    /// A trace of reads at MiB with lengths in KiB.
    fn trace(places: &[(u64, u64)]) -> Trace {
        let line = |(i, (mib, kib)): (usize, &(u64, u64))| format!("{i},read,d,{},{},,,\n", mib * 2048 + 8, kib * 1024);
        let lines: String = places.iter().enumerate().map(line).collect();
        let text = format!(
            "time_ns,op,device,sector,bytes,flags,latency_ns,process\n{lines}{},flush,d,0,0,,,\n",
            places.len()
        );
        Trace::parse("t", vec![TraceFile::new("t", text.into())], &TraceOptions::default()).unwrap()
    }

    fn places(trace: &Trace) -> Vec<u64> {
        trace.requests.iter().map(|r| r.sector).collect()
    }

    #[test]
    fn touched_ranges_lie_side_by_side_in_their_order() {
        let mut far = trace(&[(900_000, 4), (70, 4), (500_063, 2048), (900_001, 4)]);
        far.fold(5 * 64 * MIB_UNITS).unwrap();
        // Ranges of 64 MiB: number 1 holds MiB 70, number 7813 begins at MiB 500_032, number 14062 at 899_968.
        let expected = Folded { granule_mib: 64, ranges: 3, from_mib: 900_002, to_mib: 2 * 64 + 34 };
        assert_eq!(far.report.folded, Some(expected));
        assert_eq!(places(&far), [(128 + 32) * 2048 + 8, 6 * 2048 + 8, (64 + 31) * 2048 + 8, (128 + 33) * 2048 + 8, 0]);
        assert!(far.check_capacity(5 * 64 * MIB_UNITS).is_ok());
        assert_eq!((far.devices.len(), far.devices[0].requests), (1, 5));
        assert!(far.report.warnings().iter().any(|told| told.starts_with("folded: 3 ranges of 64 MiB with requests")));
    }

    #[test]
    fn a_request_over_ranges_stays_one_and_small_devices_take_small_ranges() {
        // The read of 3 MiB touches four ranges of 1 MiB.
        let mut far = trace(&[(1001, 3072), (5000, 4)]);
        far.fold(5 * MIB_UNITS).unwrap();
        assert_eq!(far.report.folded.map(|f| (f.granule_mib, f.ranges, f.to_mib)), Some((1, 5, 5)));
        assert_eq!(places(&far), [8, 4 * 2048 + 8, 0]);
    }

    #[test]
    fn what_fits_is_left_alone_and_what_cannot_fit_is_refused() {
        let mut near = trace(&[(3, 4), (9, 4)]);
        near.fold(10 * MIB_UNITS).unwrap();
        assert_eq!((near.report.folded, places(&near)), (None, vec![3 * 2048 + 8, 9 * 2048 + 8, 0]));
        let error = trace(&[(3, 4), (9, 4), (20, 4)]).fold(2 * MIB_UNITS).unwrap_err().to_string();
        assert_eq!(
            error,
            "t: does not fit even if folded: its requests touch 3 MiB in ranges of 1 MiB, the device has 2 MiB"
        );
    }
}
