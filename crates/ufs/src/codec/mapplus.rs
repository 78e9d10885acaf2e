//! MAP+: two commands by which a host's I/O scheduler asks what the device's mapping cache holds, and announces
//! batches.
//!
//! MAP+ Sec. V-D asks for a vendor command that retrieves "the LPNs of all cached mapping entries" and for one that
//! notifies the device "to load necessary mapping entries in the translation page associated with an I/O batch". It
//! gives neither bytes nor operation codes; these are chosen here. Big-endian.
//!
//! # Commands, 10 bytes, in the range that SPC-4 leaves to vendors
//! | command | 0 | 1 | 2-5 | 6-8 | 9-15 | data |
//! |---|---|---|---|---|---|---|
//! | cache query | C4h | 0 | 0 | allocation length, 131072 | 0 | in: 0 to 16384 runs |
//! | batch notice | C5h | bit 0: 1 the batch writes; bit 1: packed | requests in the batch | parameter list length |
//! 0 | out: 1 to 1024 runs |
//!
//! # Run of logical blocks, 8 bytes
//! | offset | size | meaning |
//! |---|---|---|
//! | 0 | 4 | first LPA |
//! | 4 | 4 | blocks, at least 1; the run ends within 32-bit addresses |

use units::{Lpa, Seq};

use super::bytes::Reader;
use super::data::Payload;
use super::error::{Allowed, DecodeError, EncodeError};
use super::set::SetCodec;
use crate::command::Op;
use crate::data::{DataIn, DataOut, LpaRun};
use crate::info::DeviceInfo;

/// Operation code of the cache query.
pub const CACHE_QUERY: u8 = 0xC4;
/// Operation code of the batch notice.
pub const BATCH_NOTICE: u8 = 0xC5;

/// Most runs in the answer to a cache query: every entry of a cache of 128 KiB, the largest of MAP+ Sec. V-D, at 8
/// bytes per entry. A device with more runs leaves some out.
pub const MAX_CACHED_RUNS: u32 = 16_384;

/// Most runs in a batch notice: one for each request of the longest pending queue.
pub const MAX_BATCH_RUNS: u32 = 1_024;

const CACHE_QUERY_BYTES: u32 = MAX_CACHED_RUNS * LpaRun::BYTES as u32;

const WRITES: u8 = 0x01;
const PACKED: u8 = 0x02;

/// The two commands.
pub(super) struct MapPlus;

impl SetCodec for MapPlus {
    fn opcodes(&self, _: &DeviceInfo) -> &'static str {
        "C4h, C5h"
    }

    fn bytes_in(&self, op: &Op, _: &DeviceInfo) -> Result<u32, EncodeError> {
        Ok(if *op == Op::CacheQuery { CACHE_QUERY_BYTES } else { 0 })
    }

    fn out(&self, op: &Op, data: &DataOut) -> Result<Payload, EncodeError> {
        match (op, data) {
            (Op::BatchNotice { .. }, DataOut::Runs(list)) => {
                let (len, max) = (list.len() as u64, u64::from(MAX_BATCH_RUNS));
                if len == 0 {
                    return Err(EncodeError::Value {
                        field: "runs",
                        value: 0,
                        allowed: Allowed::Range { min: 1, max },
                    });
                }
                runs(list, MAX_BATCH_RUNS).map(Payload::exact)
            }
            (Op::BatchNotice { .. }, _) => Err(EncodeError::Data { op: op.name(), allowed: "runs" }),
            (_, DataOut::None) => Ok(Payload::exact(Vec::new())),
            _ => Err(EncodeError::Data { op: op.name(), allowed: "no data" }),
        }
    }

    fn cdb(&self, op: &Op, _: &DataOut, bytes: u32, _: &DeviceInfo) -> Result<[u8; 16], EncodeError> {
        let mut cdb = [0; 16];
        cdb[0] = CACHE_QUERY;
        if let Op::BatchNotice { write, packed, requests } = *op {
            cdb[0] = BATCH_NOTICE;
            cdb[1] = if write { WRITES } else { 0 } | if packed { PACKED } else { 0 };
            cdb[2..6].copy_from_slice(&requests.to_be_bytes());
        }
        cdb[6..9].copy_from_slice(&bytes.to_be_bytes()[1..]);
        Ok(cdb)
    }

    fn decode_cdb(&self, cdb: Reader<'_>, _: &DeviceInfo) -> Result<Option<(Op, u32)>, DecodeError> {
        let opcode = cdb.u8(0, "operation code")?;
        if opcode != CACHE_QUERY && opcode != BATCH_NOTICE {
            return Ok(None);
        }
        let flags = cdb.u8(1, "flags")?;
        let requests = cdb.u32(2, "requests in the batch")?;
        let bytes = cdb.u24(6, "data length")?;
        cdb.zeroes(9, 16)?;
        if opcode == CACHE_QUERY {
            cdb.zeroes(1, 6)?;
            cdb.exactly(6, "data length", u64::from(bytes), u64::from(CACHE_QUERY_BYTES))?;
            return Ok(Some((Op::CacheQuery, bytes)));
        }
        cdb.range(1, "flags", u64::from(flags), 0..=u64::from(WRITES | PACKED))?;
        let runs = bytes / LpaRun::BYTES as u32;
        if !bytes.is_multiple_of(LpaRun::BYTES as u32) || !(1..=MAX_BATCH_RUNS).contains(&runs) {
            let rule = Allowed::Rule("8 for each of 1 to 1024 runs");
            return Err(cdb.fault(6, "data length", u64::from(bytes), rule));
        }
        let op = Op::BatchNotice { write: flags & WRITES != 0, packed: flags & PACKED != 0, requests };
        Ok(Some((op, bytes)))
    }

    fn decode_out(
        &self,
        op: Op,
        _: Reader<'_>,
        payload: &Payload,
        expected: usize,
    ) -> Result<(Op, DataOut), DecodeError> {
        if op == Op::CacheQuery {
            return payload.expect(0, false).map(|_| (op, DataOut::None));
        }
        payload.expect(expected, false)?;
        Ok((op, DataOut::Runs(payload.each(LpaRun::BYTES, decode_run)?.into())))
    }

    fn data_in(&self, op: &Op, data: &DataIn, _: &DeviceInfo) -> Result<Option<Payload>, EncodeError> {
        match (op, data) {
            (Op::CacheQuery, DataIn::Runs(list)) => Ok(Some(Payload::exact(runs(list, MAX_CACHED_RUNS)?))),
            _ => Ok(None),
        }
    }

    fn decode_in(
        &self,
        op: &Op,
        payload: &Payload,
        good: bool,
        _: &DeviceInfo,
        _: Seq,
    ) -> Result<Option<DataIn>, DecodeError> {
        if *op != Op::CacheQuery || !good && payload.bytes.is_empty() {
            return Ok(None);
        }
        payload.kind(false)?;
        payload.each(LpaRun::BYTES, decode_run).map(|runs| Some(DataIn::Runs(runs)))
    }
}

/// The bytes of runs, of which at most `max` are allowed.
fn runs(runs: &[LpaRun], max: u32) -> Result<Vec<u8>, EncodeError> {
    EncodeError::limit("runs", runs.len() as u64, u64::from(max))?;
    let mut bytes = Vec::with_capacity(runs.len() * LpaRun::BYTES);
    for run in runs {
        let most = u64::from(u32::MAX) - u64::from(run.lpa.0);
        if !(1..=most).contains(&u64::from(run.len)) {
            let allowed = Allowed::Range { min: 1, max: most };
            return Err(EncodeError::Value { field: "blocks of a run", value: u64::from(run.len), allowed });
        }
        bytes.extend_from_slice(&run.lpa.0.to_be_bytes());
        bytes.extend_from_slice(&run.len.to_be_bytes());
    }
    Ok(bytes)
}

/// The run at the start of `bytes`.
fn decode_run(bytes: Reader<'_>) -> Result<LpaRun, DecodeError> {
    let lpa = Lpa(bytes.u32(0, "first LPA of a run")?);
    let len = bytes.u32(4, "blocks of a run")?;
    bytes.range(4, "blocks of a run", u64::from(len), 1..=u64::from(u32::MAX - lpa.0))?;
    Ok(LpaRun { lpa, len })
}
