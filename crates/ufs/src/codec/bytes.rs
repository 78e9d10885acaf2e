//! Checked access to big-endian fields.

use std::ops::RangeInclusive;

use units::Seq;

use super::error::{Allowed, DecodeError, Part};

/// A part of a message. Every access is checked, so no bytes can make the codec panic.
#[derive(Clone, Copy)]
pub(super) struct Reader<'a> {
    bytes: &'a [u8],
    /// Offset of the part in the message, for errors.
    base: usize,
    part: Part,
}

impl<'a> Reader<'a> {
    pub(super) fn message(bytes: &'a [u8]) -> Self {
        Reader { bytes, base: 0, part: Part::Message }
    }

    pub(super) fn data(bytes: &'a [u8]) -> Self {
        Reader { bytes, base: 0, part: Part::Data }
    }

    pub(super) fn len(&self) -> usize {
        self.bytes.len()
    }

    /// The rest of the part, from `at` on.
    pub(super) fn tail(&self, at: usize) -> Reader<'a> {
        let at = at.min(self.bytes.len());
        Reader { bytes: &self.bytes[at..], base: self.base + at, part: self.part }
    }

    pub(super) fn slice(&self, at: usize, len: usize, field: &'static str) -> Result<&'a [u8], DecodeError> {
        at.checked_add(len).and_then(|end| self.bytes.get(at..end)).ok_or_else(|| {
            let there = self.bytes.len().saturating_sub(at) as u64;
            self.fault(at, field, there, Allowed::Rule("more bytes: the message is cut off here"))
        })
    }

    fn array<const N: usize>(&self, at: usize, field: &'static str) -> Result<[u8; N], DecodeError> {
        let mut array = [0; N];
        array.copy_from_slice(self.slice(at, N, field)?);
        Ok(array)
    }

    pub(super) fn u8(&self, at: usize, field: &'static str) -> Result<u8, DecodeError> {
        self.array(at, field).map(|[byte]| byte)
    }

    pub(super) fn u16(&self, at: usize, field: &'static str) -> Result<u16, DecodeError> {
        self.array(at, field).map(u16::from_be_bytes)
    }

    pub(super) fn u24(&self, at: usize, field: &'static str) -> Result<u32, DecodeError> {
        self.array(at, field).map(|[a, b, c]| u32::from_be_bytes([0, a, b, c]))
    }

    pub(super) fn u32(&self, at: usize, field: &'static str) -> Result<u32, DecodeError> {
        self.array(at, field).map(u32::from_be_bytes)
    }

    pub(super) fn u64(&self, at: usize, field: &'static str) -> Result<u64, DecodeError> {
        self.array(at, field).map(u64::from_be_bytes)
    }

    pub(super) fn fault(&self, at: usize, field: &'static str, value: u64, allowed: Allowed) -> DecodeError {
        DecodeError { field, offset: self.base + at, part: self.part, value, allowed }
    }

    /// Refuses any value but `want`.
    pub(super) fn exactly(&self, at: usize, field: &'static str, value: u64, want: u64) -> Result<(), DecodeError> {
        if value == want {
            return Ok(());
        }
        Err(self.fault(at, field, value, Allowed::Exactly(want)))
    }

    /// Refuses values outside `allowed`.
    pub(super) fn range(
        &self,
        at: usize,
        field: &'static str,
        value: u64,
        allowed: RangeInclusive<u64>,
    ) -> Result<(), DecodeError> {
        if allowed.contains(&value) {
            return Ok(());
        }
        let (min, max) = allowed.into_inner();
        Err(self.fault(at, field, value, Allowed::Range { min, max }))
    }

    /// Refuses reserved bytes that are not 0.
    pub(super) fn zeroes(&self, from: usize, to: usize) -> Result<(), DecodeError> {
        for at in from..to {
            self.exactly(at, "reserved", u64::from(self.u8(at, "reserved")?), 0)?;
        }
        Ok(())
    }

    /// The sequence number whose low 32 bits are at `at`; it lies near a number that the reader knows. Numbers before 0
    /// or after the last are refused.
    pub(super) fn seq(&self, at: usize, near: Seq) -> Result<Seq, DecodeError> {
        let low = self.u32(at, "sequence number")?;
        let seq = Seq::from_wire(low, near);
        if seq.0.abs_diff(near.0) > 1 << 31 {
            let rule = Allowed::Rule("within 2^31 of the number that the reader knows, and not before 0");
            return Err(self.fault(at, "sequence number", u64::from(low), rule));
        }
        Ok(seq)
    }
}
