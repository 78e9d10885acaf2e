//! How values lie in the pages of a Parquet file: the encodings of its format that a log uses.
//!
//! - **Differences** (`DELTA_BINARY_PACKED`): whole numbers as what each differs from the one before, less the smallest
//!   difference of a block, in as few bits as the largest of a miniblock needs. Times come one after another, so that
//!   they take two bytes and not eight.
//! - **Places** (`RLE`): small numbers, such as places in a list of words: one number and how often it comes, or all
//!   of them in few bits.
//! - **Streams** (`BYTE_STREAM_SPLIT`): the first bytes of all numbers, then the second, and so on: bytes that are
//!   alike lie beside each other.

use super::thrift::{varint, zigzag};

/// Values of a miniblock, which are packed with the same width.
const MINI: usize = 32;
/// Miniblocks of a block, which has one smallest difference.
const MINIS: usize = 4;
const BLOCK: usize = MINI * MINIS;

/// Whole numbers by their differences.
pub(super) fn differences(values: &[u64], to: &mut Vec<u8>) {
    let Some(&first) = values.first() else { return };
    [BLOCK, MINIS, values.len()].iter().for_each(|&number| varint(to, number as u64));
    varint(to, zigzag(first as i64));
    let mut steps = [0_i64; BLOCK];
    let mut from = 0;
    while from + 1 < values.len() {
        let block = &values[from..values.len().min(from + BLOCK + 1)];
        for (step, pair) in steps.iter_mut().zip(block.windows(2)) {
            *step = pair[1].wrapping_sub(pair[0]) as i64;
        }
        put_block(&mut steps, block.len() - 1, to);
        from += BLOCK;
    }
}

/// The first `len` of these differences. The rest of the block counts as the smallest of them, so that it takes no
/// bits.
fn put_block(steps: &mut [i64; BLOCK], len: usize, to: &mut Vec<u8>) {
    let least = steps[..len].iter().copied().min().unwrap_or_default();
    steps[len..].fill(least);
    varint(to, zigzag(least));
    let over = steps.map(|step| step.wrapping_sub(least) as u64);
    let (minis, _) = over.as_chunks::<MINI>();
    let widths: [u8; MINIS] = std::array::from_fn(|at| width(minis[at].iter().fold(0, |bits, &value| bits | value)));
    to.extend_from_slice(&widths);
    for (mini, &width) in minis.iter().zip(&widths) {
        put_bits(mini, width.into(), to);
    }
}

/// Bits that a number takes.
fn width(value: u64) -> u8 {
    (u64::BITS - value.leading_zeros()) as u8
}

/// Numbers of so many bits, one after another, lowest bits first.
fn put_bits(values: &[u64; MINI], width: usize, to: &mut Vec<u8>) {
    // Room for the widest, so that only the end of what is written has to be found.
    let mut bytes = [[0; size_of::<u64>()]; MINI];
    PACKERS[width](values, &mut bytes);
    to.extend_from_slice(&bytes.as_flattened()[..MINI / 8 * width]);
}

/// Packs numbers of a width.
type Pack = fn(&[u64; MINI], &mut [[u8; size_of::<u64>()]; MINI]);

macro_rules! of_widths {
    ($($width:literal)*) => { [$(pack_of::<$width>),*] };
}

/// By width: with a width that is known, the compiler knows where each number comes.
#[rustfmt::skip]
const PACKERS: [Pack; 65] = of_widths!(
    0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32
    33 34 35 36 37 38 39 40 41 42 43 44 45 46 47 48 49 50 51 52 53 54 55 56 57 58 59 60 61 62 63 64
);

fn pack_of<const WIDTH: u32>(values: &[u64; MINI], words: &mut [[u8; size_of::<u64>()]; MINI]) {
    let (mut word, mut filled, mut at) = (0_u64, 0, 0);
    for &value in values.iter().filter(|_| WIDTH > 0) {
        word |= value << filled;
        filled += WIDTH;
        if filled >= u64::BITS {
            words[at] = word.to_le_bytes();
            at += 1;
            filled -= u64::BITS;
            word = if filled == 0 { 0 } else { value >> (WIDTH - filled) };
        }
    }
    if filled > 0 {
        words[at] = word.to_le_bytes();
    }
}

/// Small numbers, all of which fit so many bits.
pub(super) fn places(values: &[u16], width: u8, to: &mut Vec<u8>) {
    let Some(&first) = values.first() else { return };
    if values.iter().all(|&value| value == first) {
        return run(values.len(), first, width, to);
    }
    // Groups of eight, the last of which is filled up.
    varint(to, (values.len().div_ceil(8) as u64) << 1 | 1);
    for some in values.chunks(MINI) {
        let mut all = [0; MINI];
        all.iter_mut().zip(some).for_each(|(to, &value)| *to = value.into());
        let begin = to.len();
        put_bits(&all, width.into(), to);
        to.truncate(begin + some.len().div_ceil(8) * usize::from(width));
    }
}

/// The same small number so many times.
pub(super) fn run(times: usize, value: u16, width: u8, to: &mut Vec<u8>) {
    varint(to, (times as u64) << 1);
    to.extend_from_slice(&value.to_le_bytes()[..usize::from(width.div_ceil(8))]);
}

/// Bits that the places in a list up to this one take.
pub(super) fn width_of_place(last: u16) -> u8 {
    width(last.into())
}

/// Yes or no, a bit for each.
pub(super) fn switches(values: &[bool], to: &mut Vec<u8>) {
    let byte = |some: &[bool]| some.iter().rev().fold(0, |bits, &value| bits << 1 | u8::from(value));
    to.extend(values.chunks(8).map(byte));
}

/// Numbers byte by byte.
pub(super) fn streams(values: &[f64], to: &mut Vec<u8>) {
    for byte in 0..size_of::<f64>() {
        to.extend(values.iter().map(|value| (value.to_bits() >> (8 * byte)) as u8));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_have_the_bytes_of_the_format() {
        // The examples of the format: 1 to 5 differ by 1 and take no bits.
        let mut to = Vec::new();
        differences(&[1, 2, 3, 4, 5], &mut to);
        assert_eq!(to, [0x80, 1, 4, 5, 2, 2, 0, 0, 0, 0]);
        // 7, 5, 3, 1, 2, 3, 4, 5: differences -2 -2 -2 1 1 1 1, less -2: 0 0 0 3 3 3 3 of two bits.
        to.clear();
        differences(&[7, 5, 3, 1, 2, 3, 4, 5], &mut to);
        assert_eq!(to[..10], [0x80, 1, 4, 8, 14, 3, 2, 0, 0, 0]);
        assert_eq!(to[10..], [0xc0, 0x3f, 0, 0, 0, 0, 0, 0]);
    }

    #[test]
    fn places_are_one_number_or_packed() {
        let mut to = Vec::new();
        places(&[1; 300], 1, &mut to);
        assert_eq!(to, [0xd8, 4, 1]);
        to.clear();
        places(&[0, 1, 2, 3, 4, 5, 6, 7, 1], 3, &mut to);
        assert_eq!(to, [5, 0x88, 0xc6, 0xfa, 1, 0, 0]);
        to.clear();
        run(2, 0, 0, &mut to);
        assert_eq!((&to[..], width_of_place(0), width_of_place(4)), (&[4][..], 0, 3));
    }

    #[test]
    fn switches_and_streams() {
        let mut to = Vec::new();
        switches(&[true, false, false, true, false, false, false, false, true], &mut to);
        assert_eq!(to, [9, 1]);
        to.clear();
        streams(&[1.0, -0.0], &mut to);
        assert_eq!(to, [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xf0, 0, 0x3f, 0x80]);
    }
}
