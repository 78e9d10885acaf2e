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

use units::Lpa;

use super::bytes::Reader;
use super::error::{Allowed, DecodeError, EncodeError};
use crate::command::Op;
use crate::data::LpaRun;

/// Operation code of the cache query.
pub const CACHE_QUERY: u8 = 0xC4;
/// Operation code of the batch notice.
pub const BATCH_NOTICE: u8 = 0xC5;

/// Bytes of a run.
pub const RUN_BYTES: usize = 8;

/// Most runs in the answer to a cache query: every entry of a cache of 128 KiB, the largest of MAP+ Sec. V-D, at 8
/// bytes per entry. A device with more runs leaves some out.
pub const MAX_CACHED_RUNS: u32 = 16_384;

/// Most runs in a batch notice: one for each request of the longest pending queue.
pub const MAX_BATCH_RUNS: u32 = 1_024;

pub(super) const CACHE_QUERY_BYTES: u32 = MAX_CACHED_RUNS * RUN_BYTES as u32;

const WRITES: u8 = 0x01;
const PACKED: u8 = 0x02;

/// The CDB of one of the two commands; `bytes` is the length of its data.
pub(super) fn cdb(op: &Op, bytes: u32) -> [u8; 16] {
    let mut cdb = [0; 16];
    cdb[0] = CACHE_QUERY;
    if let Op::BatchNotice { write, packed, requests } = *op {
        cdb[0] = BATCH_NOTICE;
        cdb[1] = if write { WRITES } else { 0 } | if packed { PACKED } else { 0 };
        cdb[2..6].copy_from_slice(&requests.to_be_bytes());
    }
    cdb[6..9].copy_from_slice(&bytes.to_be_bytes()[1..]);
    cdb
}

/// Decodes a CDB of MAP+ and the length of its data; `None` for other operation codes.
pub(super) fn decode_cdb(cdb: Reader<'_>) -> Result<Option<(Op, u32)>, DecodeError> {
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
    let runs = bytes / RUN_BYTES as u32;
    if !bytes.is_multiple_of(RUN_BYTES as u32) || !(1..=MAX_BATCH_RUNS).contains(&runs) {
        let rule = Allowed::Rule("8 for each of 1 to 1024 runs");
        return Err(cdb.fault(6, "data length", u64::from(bytes), rule));
    }
    let op = Op::BatchNotice { write: flags & WRITES != 0, packed: flags & PACKED != 0, requests };
    Ok(Some((op, bytes)))
}

/// The bytes of runs, of which at most `max` are allowed.
pub(super) fn runs(runs: &[LpaRun], max: u32) -> Result<Vec<u8>, EncodeError> {
    EncodeError::limit("runs", runs.len() as u64, u64::from(max))?;
    let mut bytes = Vec::with_capacity(runs.len() * RUN_BYTES);
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
pub(super) fn decode_run(bytes: Reader<'_>) -> Result<LpaRun, DecodeError> {
    let lpa = Lpa(bytes.u32(0, "first LPA of a run")?);
    let len = bytes.u32(4, "blocks of a run")?;
    bytes.range(4, "blocks of a run", u64::from(len), 1..=u64::from(u32::MAX - lpa.0))?;
    Ok(LpaRun { lpa, len })
}
