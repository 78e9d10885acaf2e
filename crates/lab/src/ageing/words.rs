//! The age of a device in words, relative to its capacity: "used", or "85% full, 40% overwritten".
//!
//! A share of the device is written from end to end, as files are; then so much of that is overwritten in pieces of 4
//! KiB, anywhere, as databases and settings do.

use units::{UNIT_BYTES, UNIT_KIB};

/// What words stand for others. "full" is about as much as `jobs/used-phone.fio` writes to a Pixel 4.
const SHORT: [(&str, &str); 2] = [("used", "85% full, 40% overwritten"), ("full", "97% full, 70% overwritten")];
/// What is said of words that are none.
pub(crate) const ALLOWED: &str = "fresh, used, full, or such as '85% full, 40% overwritten'";
/// Files are written in pieces of this.
const PIECE_UNITS: u64 = 128;

/// The fio job that these words stand for on a device of this capacity; `None` if they are no such words.
///
/// # Errors
/// A share that is out of range.
pub(crate) fn job_of(words: &str, capacity_units: u32) -> Option<Result<String, String>> {
    let long = SHORT.iter().find(|(short, _)| *short == words.trim()).map_or(words, |(_, long)| long);
    let (full, overwritten) = long.split_once(',').unwrap_or((long, "0% overwritten"));
    let (full, overwritten) = (share(full, "full")?, share(overwritten, "overwritten")?);
    if !(full > 0.0 && full <= 100.0 && overwritten <= 10_000.0) {
        let told = "must be more than 0% and at most 100% full, and at most 10000% overwritten";
        return Some(Err(format!("age = \"{words}\": {told}")));
    }
    let pieces = (f64::from(capacity_units) * full / 100.0) as u64 / PIECE_UNITS;
    let kib = |units: f64| units as u64 * u64::from(UNIT_KIB);
    let files = pieces.max(1) * PIECE_UNITS;
    let again = kib(files as f64 * overwritten / 100.0);
    let files = kib(files as f64);
    let mut job = format!("[files]\nrw=write\nbs=512k\nfilename=data\nsize={files}k\niodepth=8\n");
    if again > 0 {
        job += &format!(
            "[overwritten]\nstonewall\nrw=randwrite\nbs={UNIT_BYTES}\nfilename=data\nsize={files}k\nio_size={again}k\n\
             norandommap\nrandrepeat=0\niodepth=16\n"
        );
    }
    Some(Ok(job))
}

/// The number before "% WORD".
fn share(text: &str, word: &str) -> Option<f64> {
    let number: f64 = text.trim().strip_suffix(word)?.trim_end().strip_suffix('%')?.trim_end().parse().ok()?;
    (number.is_finite() && number >= 0.0).then_some(number)
}

#[cfg(test)]
mod tests {
    use workload::fio::JobFile;

    use super::*;

    /// 1 GiB.
    const CAPACITY: u32 = 262_144;

    fn made(words: &str) -> String {
        job_of(words, CAPACITY).expect("they are words").expect("in range")
    }

    #[test]
    fn words_are_shares_of_the_device() {
        assert_eq!(made("used"), made("85% full, 40% overwritten"));
        let job = made("85 % full,40% overwritten");
        assert!(job.contains("size=890880k\n"), "85% of 1 GiB in whole pieces of 512 KiB: {job}");
        assert!(job.contains("io_size=356352k\n"), "40% of that: {job}");
        assert!(JobFile::parse(&job, "age").is_ok_and(|job| job.is_random()));
        let sequential = made("50.5% full");
        assert!(!sequential.contains("randwrite"));
        assert!(JobFile::parse(&sequential, "age").is_ok_and(|job| !job.is_random()));
        assert!(made("0.0001% full").contains("size=512k\n"), "a piece at least");
    }

    #[test]
    fn other_words_are_none_and_shares_have_a_range() {
        for words in ["", "old", "85", "85%", "full, 85%", "x% full", "-1% full", "85% full, 40%", "rw=write size=1g"] {
            assert_eq!(job_of(words, CAPACITY), None, "{words}");
        }
        for words in ["101% full", "0% full", "50% full, 10001% overwritten"] {
            assert!(job_of(words, CAPACITY).is_some_and(|job| job.is_err()), "{words}");
        }
    }
}
