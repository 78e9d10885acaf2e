//! What to do with a trace that ends beyond the device.

use workload::Trace;

use crate::profile::{EMBEDDED, Profile};

/// The smallest profile that is large enough, and whether folding helps.
pub(crate) fn advice(trace: &Trace, capacity_units: u32) -> String {
    let needed = trace.end_units();
    let room = |name: &'static str| Some((Profile::load(name, &[]).ok()?.capacity_units(), name));
    let enough = EMBEDDED.iter().filter_map(|(name, _)| room(name)).filter(|(units, _)| u64::from(*units) >= needed);
    // Of equals, the first in the list.
    let profile = match enough.min_by_key(|(units, _)| *units) {
        Some((_, name)) => format!("--profile {name} is large enough"),
        None => "no profile that comes with ufsim is large enough".into(),
    };
    let fold = match trace.clone().fold(capacity_units) {
        Ok(()) => "--fold puts the ranges with requests side by side, which fit",
        Err(_) => "with --fold it would not fit either",
    };
    format!("{profile}; {fold}")
}

#[cfg(test)]
mod tests {
    use workload::{TraceFile, TraceOptions};

    use super::*;

    #[test]
    fn a_profile_or_folding_is_proposed() {
        let of = |mib: &[u64]| {
            let line = |mib: &u64| format!("0 0 {} 8 1\n", mib * 2048);
            let bytes = mib.iter().map(line).collect::<String>().into_bytes();
            let file = TraceFile::new("t", bytes);
            advice(&Trace::parse("t", vec![file], &TraceOptions::default()).unwrap(), 16 * 256)
        };
        let gib = 1024;
        let fits = "--fold puts the ranges with requests side by side, which fit";
        assert_eq!(of(&[300 * gib]), format!("--profile ufs-4.0-512 is large enough; {fits}"));
        assert_eq!(of(&[600 * gib]), format!("--profile ufs-4.1-1tb is large enough; {fits}"));
        assert_eq!(of(&[3000 * gib]), format!("no profile that comes with ufsim is large enough; {fits}"));
        let many: Vec<u64> = (0..17).map(|i| i * 100).collect();
        let all = of(&many);
        assert!(all.ends_with("is large enough; with --fold it would not fit either"), "{all}");
    }
}
