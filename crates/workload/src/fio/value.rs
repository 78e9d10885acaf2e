//! Values of options as fio writes them.

use units::Nanos;

use super::options::{After, Amount, BlockSizes, Distribution, FileOrder, FileService, Law, Rw, SizeShare};
use crate::source::LATEST;
use crate::zones::Zone;

/// What a value may be, for the message about one that is not.
pub(super) type Allowed = &'static str;

/// The parsed value, or what would have been allowed.
pub(super) type Parsed<T> = Result<T, Allowed>;

pub(super) const BYTES: Allowed =
    "a number of bytes, optionally with k, m, g, t or p (1024-based; ki, mi, ... are 1000-based as in fio)";
pub(super) const AMOUNT: Allowed = "a number of bytes (suffixes k, m, g, t, p) or a percentage from 1% to 100%";
const PLACE: Allowed = "a number of bytes (suffixes k, m, g, t, p) or a percentage from 0% to 100%";
pub(super) const BLOCK_SIZE: Allowed = "one to three (read, write, trim) sizes or ranges such as 4k-64k, from 512 to \
                                        1g, each a multiple of 512; separated by commas; an empty one \
                                        stays as it was (what a page cache makes of smaller writes are pages: bs=4k)";
const SPLIT: Allowed = "size/percentage:size/percentage... with sizes from 512 to 1g in multiples of 512 and \
                        percentages that add up to 100 at most; up to three lists (read, write, trim) separated by \
                        commas";
const BOOL: Allowed = "0, 1, true or false";
const DURATION: Allowed = "a time below 2^62 ns (146 years), optionally with us, ms, s, m, h or d";
const RW: Allowed = "read, write, rw, readwrite, trim or trimwrite, optionally with a colon and the bytes to leave out \
                     after each request (-8k goes back), or randread, randwrite, randrw, randtrim or randtrimwrite, \
                     optionally with a colon and how many requests follow each other from a place on";
const DISTRIBUTION: Allowed = "random, zipf:theta (theta above 0, at most 10, not 1), pareto:h (0 < h < 1), \
                               normal:deviation (above 0 to 100 per cent), each also with :centre (0 to 1, where the \
                               most frequent block lies), zoned:requests/blocks:... (per cent, each adding up to 100) \
                               or zoned_abs:requests/bytes:...";

const MAX_BLOCK: u64 = 1 << 30;

/// A whole number in a range; `allowed` names the range.
pub(super) fn integer(text: &str, range: std::ops::RangeInclusive<u64>, allowed: Allowed) -> Parsed<u64> {
    let number = match text.strip_prefix("0x") {
        Some(hex) => u64::from_str_radix(hex, 16).ok(),
        None if text.bytes().all(|b| b.is_ascii_digit()) => text.parse().ok(),
        None => None,
    };
    number.filter(|n| range.contains(n)).ok_or(allowed)
}

/// A switch. A bare option means yes.
pub(super) fn switch(text: &str) -> Parsed<bool> {
    match text {
        "1" | "true" | "" => Ok(true),
        "0" | "false" => Ok(false),
        _ => Err(BOOL),
    }
}

/// A number of bytes.
pub(super) fn bytes(text: &str) -> Parsed<u64> {
    let lower = text.to_ascii_lowercase();
    if lower.starts_with("0x") {
        return integer(&lower, 0..=u64::MAX, BYTES);
    }
    let split = lower.find(|c: char| !c.is_ascii_digit()).unwrap_or(lower.len());
    let (digits, suffix) = lower.split_at(split);
    let number: u64 = digits.parse().map_err(|_| BYTES)?;
    let suffix = suffix.strip_suffix('b').unwrap_or(suffix);
    let (letter, base) = match suffix.strip_suffix('i') {
        Some(letter) => (letter, 1000_u64),
        None => (suffix, 1024),
    };
    let power = match letter {
        "" if base == 1024 => 0,
        "k" => 1,
        "m" => 2,
        "g" => 3,
        "t" => 4,
        "p" => 5,
        _ => return Err(BYTES),
    };
    number.checked_mul(base.pow(power)).ok_or(BYTES)
}

/// Bytes or a percentage: a size.
pub(super) fn amount(text: &str) -> Parsed<Amount> {
    share(text, 1, AMOUNT)
}

/// The same for a place, which may be 0%.
pub(super) fn place(text: &str) -> Parsed<Amount> {
    share(text, 0, PLACE)
}

fn share(text: &str, least: u64, allowed: Allowed) -> Parsed<Amount> {
    match text.strip_suffix('%') {
        Some(number) => Ok(Amount::Percent(integer(number, least..=100, allowed)? as u32)),
        None => bytes(text).map(Amount::Bytes).map_err(|_| allowed),
    }
}

/// A time; a bare number counts in `unit`.
pub(super) fn duration(text: &str, unit: Nanos) -> Parsed<Nanos> {
    let split = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (digits, suffix) = text.split_at(split);
    let number: u64 = digits.parse().map_err(|_| DURATION)?;
    let nanos = match suffix.to_ascii_lowercase().as_str() {
        "" => unit.0,
        "us" | "usec" => 1_000,
        "ms" | "msec" => 1_000_000,
        "s" | "sec" => 1_000_000_000,
        "m" => 60_000_000_000,
        "h" => 3_600_000_000_000,
        "d" => 86_400_000_000_000,
        _ => return Err(DURATION),
    };
    number.checked_mul(nanos).filter(|&n| n < LATEST.0).map(Nanos).ok_or(DURATION)
}

/// Up to three values for reads, writes and trims; a missing one is like the one before it, as in fio.
fn per_direction<T: Clone>(text: &str, allowed: Allowed, parse: impl Fn(&str) -> Parsed<T>) -> Parsed<[T; 3]> {
    let mut parts = text.split(',');
    let mut value = parse(parts.next().unwrap_or_default().trim())?;
    let first = value.clone();
    let mut next = || -> Parsed<T> {
        if let Some(part) = parts.next() {
            value = parse(part.trim())?;
        }
        Ok(value.clone())
    };
    let all = [first, next()?, next()?];
    if parts.next().is_some() { Err(allowed) } else { Ok(all) }
}

fn block(text: &str, allowed: Allowed) -> Parsed<u64> {
    let size = bytes(text).map_err(|_| allowed)?;
    let fits = (512..=MAX_BLOCK).contains(&size) && size.is_multiple_of(512);
    if fits { Ok(size) } else { Err(allowed) }
}

/// `bs` and `bsrange`. A range whose ends are in the wrong order is turned round, and what is left empty stays as it
/// was, as in fio.
pub(super) fn block_sizes(text: &str, before: &[BlockSizes; 3]) -> Parsed<[BlockSizes; 3]> {
    let given = per_direction(text, BLOCK_SIZE, |part| {
        if part.is_empty() {
            return Ok(None);
        }
        let Some((a, b)) = part.split_once(['-', ':']) else {
            return block(part, BLOCK_SIZE).map(BlockSizes::fixed).map(Some);
        };
        let (smallest, largest) = (block(a.trim(), BLOCK_SIZE)?, block(b.trim(), BLOCK_SIZE)?);
        let (smallest, largest) = (smallest.min(largest), smallest.max(largest));
        let range = BlockSizes::Range { smallest, largest };
        Ok(Some(if smallest == largest { BlockSizes::fixed(smallest) } else { range }))
    })?;
    if given.iter().all(Option::is_none) {
        return Err(BLOCK_SIZE);
    }
    let mut sizes = before.clone();
    for (size, given) in sizes.iter_mut().zip(given) {
        if let Some(given) = given {
            *size = given;
        }
    }
    Ok(sizes)
}

/// `bssplit`.
pub(super) fn block_split(text: &str) -> Parsed<[BlockSizes; 3]> {
    per_direction(text, SPLIT, |part| one_split(part).map(BlockSizes::Split))
}

/// Shares without a percentage, or with 0, divide evenly what the others leave. If there are none, fio gives the rest
/// to the largest share, to the last of several.
fn one_split(text: &str) -> Parsed<Vec<SizeShare>> {
    let mut shares = Vec::new();
    let (mut sum, mut open) = (0, 0);
    for part in text.split(':') {
        let (size, percent) = part.split_once('/').unwrap_or((part, ""));
        let percent = match percent.trim_end_matches('%') {
            "" => None,
            number => Some(integer(number, 0..=100, SPLIT)? as u32).filter(|&percent| percent > 0),
        };
        open += u32::from(percent.is_none());
        sum += percent.unwrap_or(0);
        shares.push((block(size, SPLIT)?, percent));
        if sum > 100 || shares.len() > 64 {
            return Err(SPLIT);
        }
    }
    let mut left = 100 - sum;
    if open == 0 {
        // The last of equal ones.
        let largest = shares.iter_mut().filter_map(|(_, percent)| percent.as_mut()).max();
        *largest.expect("a split has a share") += left;
    }
    let mut result = Vec::new();
    for (bytes, percent) in shares {
        let percent = percent.unwrap_or_else(|| {
            let share = left / open;
            (left, open) = (left - share, open - 1);
            share
        });
        if percent > 0 {
            result.push(SizeShare { bytes, percent });
        }
    }
    Ok(result)
}

/// `rate_iops`; 0 is unlimited.
pub(super) fn rates(text: &str) -> Parsed<[u64; 3]> {
    const ALLOWED: Allowed = "one to three (read, write, trim) requests per second from 1 to 1000000000, optionally \
                              with k, m or g (1024-based as in fio), separated by commas";
    per_direction(text, ALLOWED, |part| match part {
        "" => Ok(0),
        _ => bytes(part).ok().filter(|rate| (1..=1_000_000_000).contains(rate)).ok_or(ALLOWED),
    })
}

/// Per cent by direction.
pub(super) fn percents(text: &str) -> Parsed<[u64; 3]> {
    const ALLOWED: Allowed = "one to three (read, write, trim) whole numbers from 0 to 100, separated by commas";
    per_direction(text, ALLOWED, |part| integer(part.trim_end_matches('%'), 0..=100, ALLOWED))
}

/// `rate`; 0 is unlimited.
pub(super) fn bandwidths(text: &str) -> Parsed<[u64; 3]> {
    const ALLOWED: Allowed = "one to three (read, write, trim) bandwidths in bytes per second from 1 to 1p, with the \
                              suffixes of bytes; separated by commas";
    per_direction(text, ALLOWED, |part| match part {
        "" => Ok(0),
        _ => bytes(part).ok().filter(|rate| (1..=1 << 50).contains(rate)).ok_or(ALLOWED),
    })
}

/// `filename`: names between colons; `\:` is a colon in a name.
pub(super) fn file_names(text: &str) -> Option<Vec<String>> {
    let mut names = vec![String::new()];
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        let name = names.last_mut().expect("at least one");
        match letter {
            '\\' if letters.peek() == Some(&':') => name.extend(letters.next()),
            ':' => names.push(String::new()),
            _ => name.push(letter),
        }
    }
    names.iter().all(|name| !name.is_empty()).then_some(names)
}

/// `file_service_type`.
pub(super) fn file_service(text: &str) -> Parsed<FileService> {
    const ALLOWED: Allowed = "roundrobin, sequential or random, each also with :N for N requests to a file at a time";
    let (name, run) = text.split_once(':').unwrap_or((text, "1"));
    let order = match name {
        "roundrobin" => FileOrder::RoundRobin,
        "sequential" => FileOrder::Sequential,
        "random" => FileOrder::Random,
        _ => return Err(ALLOWED),
    };
    Ok(FileService { order, run: integer(run, 1..=u64::from(u32::MAX), ALLOWED)? })
}

/// Whether a `file_service_type` is one of those that fio has and this crate has not.
pub(super) fn is_skewed_service(text: &str) -> bool {
    let name = text.split(':').next().unwrap_or_default();
    ["zipf", "pareto", "normal", "gauss"].contains(&name)
}

/// `rw`.
pub(super) fn rw(text: &str) -> Parsed<Rw> {
    let (text, behind) = text.split_once(':').map_or((text, None), |(text, behind)| (text, Some(behind)));
    let (random, what) = match text.strip_prefix("rand") {
        Some(what) => (true, what),
        None => (false, text),
    };
    let after = match behind {
        None => After::Plain,
        Some(number) if random => After::Run(integer(number, 1..=u64::from(u32::MAX), RW)? as u32),
        Some(amount) => {
            let (sign, amount) = amount.strip_prefix('-').map_or((1, amount), |amount| (-1, amount));
            let skipped = bytes(amount).ok().and_then(|n| i64::try_from(n).ok()).filter(|n| n % 512 == 0);
            After::Skip(sign * skipped.ok_or(RW)?)
        }
    };
    let [read, write, trim] = match what {
        "read" => [true, false, false],
        "write" => [false, true, false],
        "rw" => [true, true, false],
        "readwrite" if !random => [true, true, false],
        "trim" => [false, false, true],
        "trimwrite" => [false, true, true],
        _ => return Err(RW),
    };
    Ok(Rw { read, write, trim, random, after })
}

/// `random_distribution`.
pub(super) fn distribution(text: &str) -> Parsed<Distribution> {
    let (name, rest) = text.split_once(':').unwrap_or((text, ""));
    if name == "zoned" {
        return zones(rest).map(Distribution::Zoned);
    }
    if name == "zoned_abs" {
        return zones_of_bytes(rest).map(Distribution::ZonedBytes);
    }
    let (number, centre) = rest.split_once(':').map_or((rest, None), |(number, centre)| (number, Some(centre)));
    let between = |text: &str| text.parse().ok().filter(|c| (0.0..=1.0).contains(c)).ok_or(DISTRIBUTION);
    let centre = centre.map(between).transpose()?;
    // fio's defaults for a missing parameter: theta 1.1, h 0.2; a normal deviation has none.
    let parameter = |default: Option<f64>, fits: &dyn Fn(f64) -> bool| {
        let value = if number.is_empty() { default } else { number.parse().ok() };
        value.filter(|&v| fits(v)).ok_or(DISTRIBUTION)
    };
    let law = match name {
        "random" if rest.is_empty() => return Ok(Distribution::Random),
        "zipf" => Law::Zipf(parameter(Some(1.1), &|v| (0.001..=10.0).contains(&v) && (v - 1.0).abs() > 1e-6)?),
        "pareto" => Law::Pareto(parameter(Some(0.2), &|v| (0.000_001..=0.999_999).contains(&v))?),
        "normal" => Law::Normal(parameter(None, &|v| v > 0.0 && v <= 100.0)?),
        _ => return Err(DISTRIBUTION),
    };
    Ok(Distribution::Skewed(law, centre))
}

/// The zones of `zoned_abs`: shares of the requests, and bytes.
fn zones_of_bytes(text: &str) -> Parsed<Vec<(u32, u64)>> {
    let zone = |part: &str| {
        let (requests, size) = part.split_once('/').ok_or(DISTRIBUTION)?;
        let size = bytes(size).ok().filter(|&bytes| bytes > 0).ok_or(DISTRIBUTION)?;
        Ok((integer(requests, 0..=100, DISTRIBUTION)? as u32, size))
    };
    let zones: Vec<(u32, u64)> = text.split(':').map(zone).collect::<Parsed<_>>()?;
    let sum: u32 = zones.iter().map(|(requests, _)| requests).sum();
    if sum == 100 && zones.len() <= 256 { Ok(zones) } else { Err(DISTRIBUTION) }
}

/// The zones of `zoned`. fio lets shares be left out and differ by direction; here all are given, and for all.
fn zones(text: &str) -> Parsed<Vec<Zone>> {
    let percent = |text: &str| integer(text, 0..=100, DISTRIBUTION).map(|value| value as u32);
    let mut zones = Vec::new();
    for part in text.split(':') {
        let (requests, blocks) = part.split_once('/').ok_or(DISTRIBUTION)?;
        zones.push(Zone { requests: percent(requests)?, blocks: percent(blocks)? });
    }
    let sums = zones.iter().fold((0, 0), |sum, zone| (sum.0 + zone.requests, sum.1 + zone.blocks));
    // A zone without blocks can have no requests.
    let possible = zones.iter().all(|zone| zone.blocks > 0 || zone.requests == 0);
    if sums == (100, 100) && possible && zones.len() <= 256 { Ok(zones) } else { Err(DISTRIBUTION) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_follow_fio() {
        for (text, value) in [
            ("512", 512),
            ("4k", 4096),
            ("4K", 4096),
            ("4kb", 4096),
            ("4ki", 4000),
            ("4kib", 4000),
            ("1m", 1 << 20),
            ("2g", 2 << 30),
            ("1t", 1 << 40),
            ("1p", 1 << 50),
            ("0x1000", 4096),
            ("7b", 7),
        ] {
            assert_eq!(bytes(text), Ok(value), "{text}");
        }
        for text in ["", "k", "4q", "-1", "4 k", "i", "7i", "99999999999999999999", "9999999p", "0xg", "${SIZE}"] {
            assert_eq!(bytes(text), Err(BYTES), "{text}");
        }
    }

    #[test]
    fn times_follow_fio() {
        let second = Nanos(1_000_000_000);
        for (text, value) in
            [("5", 5_000_000_000), ("5s", 5_000_000_000), ("7ms", 7_000_000), ("9us", 9_000), ("2m", 120_000_000_000)]
        {
            assert_eq!(duration(text, second), Ok(Nanos(value)), "{text}");
        }
        assert_eq!(duration("3", Nanos(1000)), Ok(Nanos(3000)));
        for text in ["", "s", "1y", "-1", "99999999999d"] {
            assert_eq!(duration(text, second), Err(DURATION), "{text}");
        }
    }

    #[test]
    fn later_directions_inherit() {
        let block_sizes = |text| block_sizes(text, &[1024; 3].map(BlockSizes::fixed));
        for (text, sizes) in [
            ("4k", [4096; 3]),
            ("4k,8k", [4096, 8192, 8192]),
            ("4k,8k,512", [4096, 8192, 512]),
            (",8k", [1024, 8192, 8192]),
            ("8k,", [8192, 1024, 1024]),
            ("4k,,8k", [4096, 1024, 8192]),
        ] {
            assert_eq!(block_sizes(text), Ok(sizes.map(BlockSizes::fixed)), "{text}");
        }
        for text in ["", ",", ",,", "100", "513", "2g", "4k,4k,4k,4k", "4k-", "-4k", "4k-100", "4k-2g", "4k-8k-16k"] {
            assert_eq!(block_sizes(text), Err(BLOCK_SIZE), "{text}");
        }
    }

    #[test]
    fn what_follows_a_request_stands_behind_a_colon() {
        for (text, after) in [
            ("read", After::Plain),
            ("read:8k", After::Skip(8192)),
            ("write:-256k", After::Skip(-262_144)),
            ("trimwrite:0", After::Skip(0)),
            ("randread:8", After::Run(8)),
            ("randtrimwrite:1", After::Run(1)),
        ] {
            assert_eq!(rw(text).map(|rw| rw.after), Ok(after), "{text}");
        }
        let both = rw("trimwrite").unwrap();
        assert!((both.read, both.write, both.trim, both.random) == (false, true, true, false) && both.trims_first());
        for text in ["read:", "read:x", "read:100", "randread:0", "randread:-1", "randread:4k", "writetrim", "randrw:"]
        {
            assert_eq!(rw(text), Err(RW), "{text}");
        }
    }

    #[test]
    fn splits_add_up() {
        let share = |bytes, percent| SizeShare { bytes, percent };
        let [read, write, trim] = block_split("4k/10:64k/90,8k/:16k/").unwrap();
        assert_eq!(read, BlockSizes::Split(vec![share(4096, 10), share(65536, 90)]));
        assert_eq!(write, BlockSizes::Split(vec![share(8192, 50), share(16384, 50)]));
        assert_eq!(trim, write);
        let shares = one_split("4k/50:8k/:16k/:32k/").unwrap();
        assert_eq!(shares.iter().map(|s| s.percent).collect::<Vec<_>>(), [50, 16, 17, 17]);
        for (text, percents) in [
            ("4k/1", vec![100]),
            ("4k/30:8k/30", vec![30, 70]),
            ("4k/10:8k/40:16k/20", vec![10, 70, 20]),
            ("4k/0:8k/40:16k/20", vec![40, 40, 20]),
        ] {
            let shares = one_split(text).unwrap();
            assert_eq!(shares.iter().map(|share| share.percent).collect::<Vec<_>>(), percents, "{text}");
        }
        for text in ["4k/60:8k/60", "4k/x", "", "4k/101", "100/100"] {
            assert_eq!(block_split(text), Err(SPLIT), "{text}");
        }
    }

    #[test]
    fn ranges_have_two_ends() {
        let range = |smallest, largest| BlockSizes::Range { smallest, largest };
        for (text, [read, write, trim]) in [
            ("4k-16k", [range(4096, 16384), range(4096, 16384), range(4096, 16384)]),
            ("16k-4k", [range(4096, 16384), range(4096, 16384), range(4096, 16384)]),
            ("1k:4k,2k-8k", [range(1024, 4096), range(2048, 8192), range(2048, 8192)]),
            ("4k-4k,512,1m-2m", [BlockSizes::fixed(4096), BlockSizes::fixed(512), range(1 << 20, 2 << 20)]),
        ] {
            assert_eq!(block_sizes(text, &[512; 3].map(BlockSizes::fixed)), Ok([read, write, trim]), "{text}");
        }
    }

    #[test]
    fn bandwidths_leave_directions_unlimited() {
        assert_eq!(bandwidths("1m"), Ok([1 << 20; 3]));
        assert_eq!(bandwidths("1m,500k"), Ok([1 << 20, 512_000, 512_000]));
        assert_eq!(bandwidths(",500k"), Ok([0, 512_000, 512_000]));
        assert_eq!(bandwidths("500k,"), Ok([512_000, 0, 0]));
        for text in ["0", "2p", "x", "1m,1m,1m,1m", "-1"] {
            assert!(bandwidths(text).is_err(), "{text}");
        }
    }

    #[test]
    fn file_names_stand_between_colons() {
        let names = |text| file_names(text).map(|names| names.join(" "));
        assert_eq!(names("/dev/sda:/dev/sdb").as_deref(), Some("/dev/sda /dev/sdb"));
        assert_eq!(names("/dev/foo@3,0\\:c").as_deref(), Some("/dev/foo@3,0:c"));
        assert_eq!(names("a\\b").as_deref(), Some("a\\b"));
        for text in ["", ":", "a:", ":a", "a::b"] {
            assert_eq!(file_names(text), None, "{text}");
        }
    }

    #[test]
    fn distributions_have_ranges() {
        let skewed = |law, centre| Ok(Distribution::Skewed(law, centre));
        assert_eq!(distribution("zipf"), skewed(Law::Zipf(1.1), None));
        assert_eq!(distribution("zipf:0.5"), skewed(Law::Zipf(0.5), None));
        assert_eq!(distribution("zipf:1.2:0.5"), skewed(Law::Zipf(1.2), Some(0.5)));
        assert_eq!(distribution("pareto:0.3:1"), skewed(Law::Pareto(0.3), Some(1.0)));
        assert_eq!(distribution("normal:20"), skewed(Law::Normal(20.0), None));
        let bytes = vec![(60, 4 << 20), (40, 8 << 20)];
        assert_eq!(distribution("zoned_abs:60/4m:40/8m"), Ok(Distribution::ZonedBytes(bytes)));
        let zone = |requests, blocks| Zone { requests, blocks };
        assert_eq!(distribution("zoned:90/10:10/90"), Ok(Distribution::Zoned(vec![zone(90, 10), zone(10, 90)])));
        let zoned =
            ["zoned", "zoned:90/10", "zoned:90/10:10/91", "zoned:90:10", "zoned:50/0:50/100", "zoned:-1/0:101/100"];
        for text in [
            "zipf:1",
            "zipf:0",
            "zipf:nan",
            "zipf:11",
            "pareto:1",
            "pareto:0",
            "normal",
            "normal:0",
            "normal:101",
            "x",
            "zipf:1.2:2",
            "zipf:1.2:",
            "random:1",
            "zoned_abs:60/4m",
            "zoned_abs:100/0",
            "zoned_abs:100",
        ]
        .into_iter()
        .chain(zoned)
        {
            assert_eq!(distribution(text), Err(DISTRIBUTION), "{text}");
        }
    }
}
