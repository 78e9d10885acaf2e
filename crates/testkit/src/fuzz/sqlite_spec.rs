//! Input: text. It is read as a SQLite workload. An accepted one can be laid out on a device, or says why not.

use sqlite_load::SqliteSpec;

pub(super) fn run(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    match SqliteSpec::parse(text, "fuzzed.toml") {
        Ok(spec) => {
            let _ = (spec.geometry(), spec.think(), spec.transaction_time(), spec.call_time(), spec.may_lose());
            for units in [0, 1 << 12, 1 << 20, u32::MAX] {
                let _ = spec.check_capacity(units);
            }
        }
        Err(error) => assert!(!error.to_string().trim().is_empty()),
    }
}
