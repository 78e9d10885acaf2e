//! A report in the form of fio's JSON output, for tools that read that.
//!
//! Only what a simulation has is filled in: there is no CPU use, no submission latency and no disk statistics.

use serde_json::{Map, Value, json};

use crate::result::{GroupResult, KindResult, RunResult};

/// The report as `fio --output-format=json` prints it (fio 3.x). Rates are in KiB/s and B/s, run times in
/// milliseconds, latencies in nanoseconds. There is no time stamp: equal runs give equal documents.
pub fn fio_json(result: &RunResult) -> Value {
    json!({
        "fio version": format!("fio-3.0 (ufsim {})", result.setup.version),
        "global options": {},
        "jobs": result.groups.iter().enumerate().map(|(id, group)| job(id, group)).collect::<Vec<_>>(),
    })
}

fn job(id: usize, group: &GroupResult) -> Value {
    let longest = group.kinds.values().map(|k| k.runtime_ns).max().unwrap_or(0);
    json!({
        "jobname": group.name,
        "groupid": id,
        "error": 0,
        "elapsed": longest.div_ceil(1_000_000_000),
        "job_runtime": longest / 1_000_000,
        "job options": {},
        "read": direction(group.kinds.get("read")),
        "write": direction(group.kinds.get("write")),
        "trim": direction(group.kinds.get("trim")),
        "sync": sync(group.kinds.get("flush")),
    })
}

fn direction(kind: Option<&KindResult>) -> Value {
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
    }
    object.into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::result::Latency;

    #[test]
    fn a_direction_has_fios_units() {
        let kind = KindResult {
            bytes: 8 << 20,
            runtime_ns: 2_000_000_000,
            latency_ns: Latency { count: 2048, mean: 5.5, min: 1, max: 9, ..Latency::default() },
            percentile_ns: [("99.000000".to_owned(), 8)].into(),
        };
        let value = direction(Some(&kind));
        assert_eq!(value["bw"], 4096);
        assert_eq!(value["bw_bytes"], 4 << 20);
        assert_eq!(value["iops"], 1024.0);
        assert_eq!(value["runtime"], 2000);
        assert_eq!(value["clat_ns"]["percentile"]["99.000000"], 8);
        assert!(value["lat_ns"].get("percentile").is_none());
        assert_eq!(direction(None)["total_ios"], 0);
    }
}
