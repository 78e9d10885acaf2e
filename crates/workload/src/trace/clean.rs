//! Rules that take out of a trace what its recording has put in, or make of it what a model wants. None is applied
//! unless it is asked for.

use std::fmt;

use serde::{Serialize, Serializer};
use units::{Nanos, SimTime, UNIT_BYTES};

use super::TraceError;
use super::records::{Names, TraceRecord};
use crate::{SECTOR_BYTES, WorkOp};

/// Two identical requests less than this apart may be one, issued twice.
const TWICE: Nanos = Nanos(5_000_000);

/// A longer silence joins two captures.
const CAPTURE_GAP: Nanos = Nanos(1_000_000_000_000);

/// Sectors of a page. Packed commands of eMMC carry whole pages, and a header.
const PAGE_SECTORS: u64 = UNIT_BYTES / SECTOR_BYTES;

units::kinds! {
    /// A rule that takes out of a trace what its recording has put in.
    pub CleanRule {
        /// Of two identical adjacent requests less than 5 ms apart, the second from a kworker, the second is removed:
        /// the first was issued, found the link asleep, and was issued again (MobileBlockIOTraces).
        Duplicates = "duplicates";
        /// A time without requests of more than 1000 s joins two captures: it is removed.
        Gaps = "gaps";
        /// Lengths are cut to a multiple of 8 sectors, at least 8: a packed eMMC command has sectors more than its data
        /// (Zhou et al., IISWC 2015).
        Packed = "packed";
        /// Reads and writes are widened to whole pages of 4 KiB, as by models that count pages (MAP+, eqs. 3 to 6): a
        /// write of a part of a page then needs no read of the rest.
        Pages = "pages";
    }
}

impl CleanRule {
    /// The rule of a name.
    ///
    /// # Errors
    /// [`TraceError::BadRule`], with the names there are.
    pub fn named(name: &str) -> Result<CleanRule, TraceError> {
        let unknown = || TraceError::BadRule { value: name.into(), allowed: CleanRule::NAMES.join(", ") };
        CleanRule::from_name(name).ok_or_else(unknown)
    }

    /// Applies the rule to records in order of time.
    pub(super) fn apply(self, records: &mut Vec<TraceRecord>, names: &Names) -> Cleaned {
        match self {
            CleanRule::Duplicates => duplicates(records, names),
            CleanRule::Gaps => gaps(records),
            CleanRule::Packed => packed(records),
            CleanRule::Pages => pages(records),
        }
    }
}

/// What a rule has done.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct Cleaned {
    /// The rule.
    #[serde(serialize_with = "name_of")]
    pub rule: CleanRule,
    /// Requests removed, shortened or widened, or gaps cut.
    pub count: u64,
    /// Bytes removed with them, or added.
    pub bytes: u64,
    /// Time removed with them.
    #[serde(rename = "seconds", serialize_with = "super::report::seconds")]
    pub time: Nanos,
}

fn name_of<S: Serializer>(rule: &CleanRule, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(rule.name())
}

impl Cleaned {
    fn none(rule: CleanRule) -> Cleaned {
        Cleaned { rule, count: 0, bytes: 0, time: Nanos::ZERO }
    }
}

impl fmt::Display for Cleaned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Cleaned { rule, count, bytes, time } = self;
        let name = rule.name();
        match rule {
            CleanRule::Duplicates => {
                write!(f, "clean {name}: {count} requests that were issued twice ({bytes} bytes) removed")
            }
            CleanRule::Gaps => {
                write!(f, "clean {name}: {count} gaps of more than 1000 s cut, {:.3} s in all", time.0 as f64 / 1e9)
            }
            CleanRule::Packed => {
                write!(f, "clean {name}: {count} requests cut to a multiple of 8 sectors, by {bytes} bytes")
            }
            CleanRule::Pages => write!(f, "clean {name}: {count} requests widened to whole pages, by {bytes} bytes"),
        }
    }
}

/// Each is compared with the one before it in the file, whether that was removed or not.
fn duplicates(records: &mut Vec<TraceRecord>, names: &Names) -> Cleaned {
    let mut cleaned = Cleaned::none(CleanRule::Duplicates);
    let mut before: Option<TraceRecord> = None;
    records.retain(|record| {
        let second = before.is_some_and(|first| is_again(&first, record)) && names.is_kworker(record.request.process);
        before = Some(*record);
        if second {
            cleaned.count += 1;
            cleaned.bytes = cleaned.bytes.saturating_add(record.request.bytes);
        }
        !second
    });
    cleaned
}

fn is_again(first: &TraceRecord, second: &TraceRecord) -> bool {
    let what = |r: &TraceRecord| (r.device, r.request.op, r.request.sector, r.request.bytes);
    what(first) == what(second) && second.request.arrival.since(first.request.arrival) < TWICE
}

fn gaps(records: &mut [TraceRecord]) -> Cleaned {
    let mut cleaned = Cleaned::none(CleanRule::Gaps);
    let mut before: Option<SimTime> = None;
    for record in records {
        let recorded = record.request.arrival;
        let gap = before.map_or(Nanos::ZERO, |before| recorded.since(before));
        before = Some(recorded);
        if gap > CAPTURE_GAP {
            cleaned.count += 1;
            cleaned.time = Nanos(cleaned.time.0 + gap.0);
        }
        record.request.arrival = SimTime(recorded.0 - cleaned.time.0);
    }
    cleaned
}

/// A sentence about times without requests that the rule `gaps` would remove.
pub(super) fn long_gaps(records: &[TraceRecord]) -> Option<String> {
    let gap = |pair: &[TraceRecord]| pair[1].request.arrival.since(pair[0].request.arrival);
    let long: Vec<Nanos> = records.windows(2).map(gap).filter(|gap| *gap > CAPTURE_GAP).collect();
    let longest = long.iter().max()?.as_secs_f64();
    let count = long.len();
    Some(format!("{count} gaps of more than 1000 s, the longest of {longest:.0} s: --clean gaps removes them"))
}

fn packed(records: &mut [TraceRecord]) -> Cleaned {
    let mut cleaned = Cleaned::none(CleanRule::Packed);
    let page = PAGE_SECTORS * SECTOR_BYTES;
    for request in records.iter_mut().map(|record| &mut record.request).filter(|r| r.bytes > page) {
        let more = request.bytes % page;
        cleaned.count += u64::from(more > 0);
        cleaned.bytes = cleaned.bytes.saturating_add(more);
        request.bytes -= more;
    }
    cleaned
}

/// Ranges of devices begin at whole pages, so a page of a device is one of the replay.
fn pages(records: &mut [TraceRecord]) -> Cleaned {
    let mut cleaned = Cleaned::none(CleanRule::Pages);
    let data = |op| matches!(op, WorkOp::Read | WorkOp::Write);
    for request in records.iter_mut().map(|record| &mut record.request).filter(|r| data(r.op)) {
        let before = request.sector % PAGE_SECTORS * SECTOR_BYTES;
        let wide = before.saturating_add(request.bytes).checked_next_multiple_of(UNIT_BYTES);
        let bytes = wide.unwrap_or(request.bytes);
        cleaned.count += u64::from(bytes > request.bytes);
        cleaned.bytes = cleaned.bytes.saturating_add(bytes - request.bytes);
        request.sector -= if wide.is_some() { before / SECTOR_BYTES } else { 0 };
        request.bytes = bytes;
    }
    cleaned
}
