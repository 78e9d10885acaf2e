//! The columns of a log of requests that is kept in memory.

use ufs::Status;
use units::SimTime;
use workload::report::columns::{Cell, Column, column};
use workload::{Flags, WorkRequest};

use crate::records::{Entry, Records};
use crate::stages::Stage;

/// Stands in the column `outcome` for requests without one, after the outcomes in the order of
/// [`workload::ReadOutcome`].
const NO_OUTCOME: u8 = 3;

/// A row for each record, with times in nanoseconds from `start` on.
pub(crate) fn log_columns(records: &Records, start: SimTime) -> Vec<Column> {
    let mut columns = plain_columns(records.entries(), start);
    let mut stages: [Vec<u64>; Stage::COLUMNS.len()] = std::array::from_fn(|_| vec![0; records.len()]);
    records.each_time(|row, stage, time| stages[stage][row] += time.0);
    columns.extend(Stage::COLUMNS.into_iter().zip(stages).map(|(name, times)| column(name, times.into_iter())));
    columns
}

/// All columns but those of the stages.
fn plain_columns(entries: &[Entry], start: SimTime) -> Vec<Column> {
    fn of<C: Cell>(name: &'static str, entries: &[Entry], value: impl Fn(&Entry) -> C) -> Column {
        column(name, entries.iter().map(value))
    }
    let mut columns = request_columns(entries.iter().map(|entry| &entry.request), start);
    let waited = |entry: &Entry| entry.dispatched.map_or(f64::NAN, |at| at.since(entry.request.arrival).0 as f64);
    columns.extend([
        of("lba_units", entries, |entry| entry.lpa.0),
        of("units", entries, |entry| entry.len),
        of("completion_ns", entries, |entry| entry.completed.since(start).0),
        of("latency_ns", entries, |entry| entry.latency().0),
        of("waiting_ns", entries, waited),
        of("measured", entries, |entry| u8::from(entry.measured)),
        of("failed", entries, |entry| u8::from(entry.status != Status::Good)),
        of("outcome", entries, |entry| entry.outcome.map_or(NO_OUTCOME, |outcome| outcome as u8)),
    ]);
    columns
}

/// What a workload says of its requests, in columns: times in nanoseconds from `start` on. Flags are bits in the order
/// of [`Flags`]; a recorded latency that is not known is NaN.
pub(crate) fn request_columns<'a>(
    requests: impl Iterator<Item = &'a WorkRequest> + Clone,
    start: SimTime,
) -> Vec<Column> {
    let recorded = |request: &WorkRequest| request.phone_latency.map_or(f64::NAN, |latency| latency.0 as f64);
    vec![
        column("arrival_ns", requests.clone().map(|request| request.arrival.since(start).0)),
        column("kind", requests.clone().map(|request| request.op as u8)),
        column("sector", requests.clone().map(|request| request.sector)),
        column("bytes", requests.clone().map(|request| request.bytes)),
        column("flags", requests.clone().map(|request| bits(request.flags))),
        column("process", requests.clone().map(|request| request.process.0)),
        column("file", requests.clone().map(|request| request.stream.0)),
        column("line", requests.clone().map(|request| request.line)),
        column("recorded_ns", requests.map(recorded)),
    ]
}

fn bits(flags: Flags) -> u8 {
    let Flags { fua, sync, meta, readahead, preflush } = flags;
    [fua, sync, meta, readahead, preflush].iter().rev().fold(0, |bits, &flag| bits << 1 | u8::from(flag))
}

#[cfg(test)]
mod tests {
    use workload::ReadOutcome;

    use super::*;

    #[test]
    fn flags_are_bits_in_the_order_of_their_declaration() {
        let none = Flags::default();
        for (flags, expected) in [
            (none, 0),
            (Flags { fua: true, ..none }, 1),
            (Flags { sync: true, ..none }, 2),
            (Flags { meta: true, ..none }, 4),
            (Flags { readahead: true, ..none }, 8),
            (Flags { preflush: true, ..none }, 16),
        ] {
            assert_eq!(bits(flags), expected, "{flags:?}");
        }
        assert!((ReadOutcome::Map as u8) < NO_OUTCOME);
    }
}
