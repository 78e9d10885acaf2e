//! A report in the form of fio's JSON output, for tools that read that.
//!
//! Only what a simulation has is filled in: there is no CPU use, no submission latency and no disk statistics.

use std::collections::BTreeMap;

use hdrhistogram::Histogram;
use serde_json::{Map, Value, json};

use crate::report::result::{GroupResult, KindOverTime, KindResult, RunResult};
use crate::report::{FIO_BORDERS, FIO_LAST};

/// The report as `fio --output-format=json` prints it (fio 3.x). Rates are in KiB/s and B/s, run times in
/// milliseconds, latencies in nanoseconds. There is no time stamp: equal runs give equal documents.
pub fn fio_json(result: &RunResult) -> Value {
    json!({
        "fio version": format!("fio-3.0 (ufsim {})", result.setup.version),
        "global options": {},
        "jobs": result.groups.iter().enumerate().map(|(id, group)| job(id, group, result)).collect::<Vec<_>>(),
    })
}

fn job(id: usize, group: &GroupResult, result: &RunResult) -> Value {
    let over_time = |kind: &str| {
        // Intervals are those of all groups together.
        let alone = result.groups.len() == 1;
        result.over_time.kinds.get(kind).filter(|_| alone).map(|found| (found, result.over_time.interval_ns))
    };
    let directed = |kind: &str| direction(group.kinds.get(kind), over_time(kind));
    let [latency_ns, latency_us, latency_ms] = latency_shares(&group.latency_bins);
    let longest = group.kinds.values().map(|k| k.runtime_ns).max().unwrap_or(0);
    json!({
        "jobname": group.name,
        "groupid": id,
        "error": 0,
        "elapsed": longest.div_ceil(1_000_000_000),
        "job_runtime": longest / 1_000_000,
        "job options": group.options,
        "read": directed("read"),
        "write": directed("write"),
        "trim": directed("trim"),
        "sync": sync(group.kinds.get("flush")),
        "latency_ns": latency_ns,
        "latency_us": latency_us,
        "latency_ms": latency_ms,
        "usr_cpu": 0.0,
        "sys_cpu": 0.0,
    })
}

/// Requests by the bins of fio's `json+`: latencies below 128 ns have one each, and each power of two above 64, of
/// equal width. A bin is named by its middle (fio's `stat.h`).
pub fn fine_bins(latencies: &Histogram<u64>) -> Vec<(u64, u64)> {
    let mut bins: BTreeMap<u64, u64> = BTreeMap::new();
    for step in latencies.iter_recorded() {
        *bins.entry(middle_of_bin(step.value_iterated_to())).or_default() += step.count_since_last_iteration();
    }
    bins.into_iter().collect()
}

/// Bins of each power of two, as a power of two.
const BITS: u32 = 6;

fn middle_of_bin(ns: u64) -> u64 {
    let width = ns.checked_ilog2().unwrap_or(0).saturating_sub(BITS);
    let first = ns >> width << width;
    if width == 0 { ns } else { first + (1 << (width - 1)) }
}

/// Per cent of the requests in each of fio's bins, which it has by nanoseconds, microseconds and milliseconds.
fn latency_shares(bins: &[(u64, u64)]) -> [Value; 3] {
    let all: u64 = bins.iter().map(|(_, count)| count).sum();
    let share = |border: u64| {
        let count = bins.iter().find(|(known, _)| *known == border).map_or(0, |(_, count)| *count);
        if all == 0 { 0.0 } else { count as f64 * 100.0 / all as f64 }
    };
    let unit = |ns: u64| FIO_BORDERS.into_iter().map(move |border| (border.to_string(), share(border * ns).into()));
    let last = [("2000".to_owned(), share(FIO_LAST).into()), (">=2000".to_owned(), share(u64::MAX).into())];
    let ms: Map<String, Value> = unit(1_000_000).chain(last).collect();
    [Value::Object(unit(1).collect()), Value::Object(unit(1_000).collect()), ms.into()]
}

/// Least, largest, mean and standard deviation of a rate over intervals. The last interval, which ends with the run, is
/// left out where there are others.
struct Samples {
    least: f64,
    most: f64,
    mean: f64,
    deviation: f64,
    count: usize,
}

impl Samples {
    fn of(amounts: &[u64], interval_ns: u64) -> Samples {
        let whole = if amounts.len() > 1 { &amounts[..amounts.len() - 1] } else { amounts };
        let rates: Vec<f64> = whole.iter().map(|&amount| amount as f64 * 1e9 / interval_ns as f64).collect();
        let n = rates.len().max(1) as f64;
        // `sum` of nothing is -0.
        let mean = rates.iter().fold(0.0, |sum, rate| sum + rate) / n;
        let squares: f64 = rates.iter().map(|rate| (rate - mean).powi(2)).sum();
        Samples {
            least: rates.iter().copied().reduce(f64::min).unwrap_or(0.0),
            most: rates.iter().copied().reduce(f64::max).unwrap_or(0.0),
            mean,
            deviation: if rates.len() > 1 { (squares / (n - 1.0)).sqrt() } else { 0.0 },
            count: rates.len(),
        }
    }
}

fn direction(kind: Option<&KindResult>, over_time: Option<(&KindOverTime, u64)>) -> Value {
    let samples = |of: fn(&KindOverTime) -> &[u64]| {
        over_time.map_or(Samples::of(&[], 1), |(kind, interval_ns)| Samples::of(of(kind), interval_ns))
    };
    let (iops, bw) = (samples(|kind| &kind.requests), samples(|kind| &kind.bytes));
    let kib = |bytes: f64| bytes / 1024.0;
    let bytes = kind.map_or(0, |k| k.bytes);
    let ios = kind.map_or(0, |k| k.latency_ns.count);
    let runtime_ns = kind.map_or(0, |k| k.runtime_ns);
    let per_second = |amount: u64| if runtime_ns == 0 { 0.0 } else { amount as f64 * 1e9 / runtime_ns as f64 };
    json!({
        "io_bytes": bytes,
        "io_kbytes": bytes / 1024,
        "bw_bytes": per_second(bytes) as u64,
        "bw": (per_second(bytes) / 1024.0) as u64,
        "iops": per_second(ios),
        "iops_min": iops.least,
        "iops_max": iops.most,
        "iops_mean": iops.mean,
        "iops_stddev": iops.deviation,
        "iops_samples": iops.count,
        "bw_min": kib(bw.least) as u64,
        "bw_max": kib(bw.most) as u64,
        "bw_agg": 100.0,
        "bw_mean": kib(bw.mean),
        "bw_dev": kib(bw.deviation),
        "bw_samples": bw.count,
        "runtime": runtime_ns / 1_000_000,
        "total_ios": ios,
        "short_ios": 0,
        "drop_ios": 0,
        "slat_ns": { "min": 0, "max": 0, "mean": 0.0, "stddev": 0.0, "N": 0 },
        "clat_ns": latency(kind, true),
        "lat_ns": latency(kind, false),
    })
}

fn sync(kind: Option<&KindResult>) -> Value {
    json!({ "total_ios": kind.map_or(0, |k| k.latency_ns.count), "lat_ns": latency(kind, true) })
}

fn latency(kind: Option<&KindResult>, percentiles: bool) -> Value {
    let l = kind.map(|k| k.latency_ns).unwrap_or_default();
    let mut object = Map::new();
    object.insert("min".into(), l.min.into());
    object.insert("max".into(), l.max.into());
    object.insert("mean".into(), l.mean.into());
    object.insert("stddev".into(), l.stddev.into());
    object.insert("N".into(), l.count.into());
    if let Some(kind) = kind.filter(|_| percentiles) {
        object.insert("percentile".into(), json!(kind.percentile_ns));
        if !kind.bins.is_empty() {
            let bins = kind.bins.iter().map(|(ns, count)| (ns.to_string(), json!(count)));
            object.insert("bins".into(), Value::Object(bins.collect()));
        }
    }
    object.into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::result::Latency;

    #[test]
    fn a_direction_has_fios_units() {
        let kind = KindResult {
            bytes: 8 << 20,
            runtime_ns: 2_000_000_000,
            latency_ns: Latency { count: 2048, mean: 5.5, min: 1, max: 9, ..Latency::default() },
            percentile_ns: [("99.000000".to_owned(), 8)].into(),
            bins: vec![(129, 2047), (2080, 1)],
        };
        let value = direction(Some(&kind), None);
        assert_eq!(value["bw"], 4096);
        assert_eq!(value["bw_bytes"], 4 << 20);
        assert_eq!(value["iops"], 1024.0);
        assert_eq!(value["runtime"], 2000);
        assert_eq!(value["clat_ns"]["percentile"]["99.000000"], 8);
        assert_eq!(value["clat_ns"]["bins"], json!({"129": 2047, "2080": 1}));
        assert!(value["lat_ns"].get("percentile").is_none());
        let nothing = direction(None, None);
        assert_eq!(nothing["total_ios"], 0);
        assert!(!nothing.to_string().contains("-0"), "{nothing}");
    }

    #[test]
    fn latencies_fall_into_fios_bins() {
        let [ns, us, ms] = latency_shares(&[(1_000, 1), (2_000, 2), (750_000, 5), (2_000_000_000, 1), (u64::MAX, 1)]);
        assert_eq!((&ns["1000"], &us["2"], &us["750"]), (&json!(10.0), &json!(20.0), &json!(50.0)));
        assert_eq!((&ms["2000"], &ms[">=2000"], &ms["4"]), (&json!(10.0), &json!(10.0), &json!(0.0)));
        assert_eq!([ns, us, ms].map(|unit| unit.as_object().expect("bins").len()), [10, 10, 12]);
        assert_eq!(latency_shares(&[])[0]["2"], 0.0);
    }

    #[test]
    fn fine_bins_have_fios_middles() {
        // Values of fio 3.33's own output: 64 bins of a power of two, each told by its middle.
        let all = [(5, 5), (127, 127), (128, 129), (131, 131), (4096, 4128), (4159, 4128), (4160, 4192)];
        all.into_iter().for_each(|(ns, middle)| assert_eq!(middle_of_bin(ns), middle, "{ns}"));
    }

    #[test]
    fn rates_are_those_of_whole_intervals() {
        let kind = KindOverTime { requests: vec![10, 30, 20, 1], bytes: vec![4096; 4], ..KindOverTime::default() };
        let value = direction(None, Some((&kind, 500_000_000)));
        assert_eq!(value["iops_min"], 20.0);
        assert_eq!(value["iops_max"], 60.0);
        assert_eq!(value["iops_mean"], 40.0);
        assert_eq!(value["iops_stddev"], 20.0);
        assert_eq!(
            (&value["iops_samples"], &value["bw_mean"], &value["bw_dev"]),
            (&json!(3), &json!(8.0), &json!(0.0))
        );
        assert_eq!(direction(None, None)["iops_samples"], 0, "of several groups nobody has kept intervals");
    }
}
