//! What the codec asks of a set of commands: SCSI's, HPB's, those of HP-UFS and MAP+.

use units::Seq;

use super::bytes::Reader;
use super::data::Payload;
use super::error::{DecodeError, EncodeError};
use crate::command::Op;
use crate::data::{DataIn, DataOut};
use crate::info::DeviceInfo;

/// The bytes of a set's commands and of their data. Operations are those of the set.
pub(super) trait SetCodec {
    /// Its operation codes, for an error.
    fn opcodes(&self, info: &DeviceInfo) -> &'static str;

    /// Most bytes that a command may read, as its CDB says; 0 for one that reads nothing.
    fn bytes_in(&self, op: &Op, info: &DeviceInfo) -> Result<u32, EncodeError>;

    /// The data that a command sends.
    fn out(&self, op: &Op, data: &DataOut) -> Result<Payload, EncodeError> {
        match data {
            DataOut::None => Ok(Payload::exact(Vec::new())),
            _ => Err(EncodeError::Data { op: op.name(), allowed: "no data" }),
        }
    }

    /// The CDB of a command that sends or may read so many `bytes`.
    fn cdb(&self, op: &Op, data: &DataOut, bytes: u32, info: &DeviceInfo) -> Result<[u8; 16], EncodeError>;

    /// The command of a CDB and the length of its data; `None` for an operation code of another set.
    fn decode_cdb(&self, cdb: Reader<'_>, info: &DeviceInfo) -> Result<Option<(Op, u32)>, DecodeError>;

    /// The command, with what its data say of it, and its data, of which the CDB expects so many bytes.
    fn decode_out(
        &self,
        op: Op,
        _cdb: Reader<'_>,
        payload: &Payload,
        _expected: usize,
    ) -> Result<(Op, DataOut), DecodeError> {
        payload.expect(0, false).map(|_| (op, DataOut::None))
    }

    /// The data of a response that has some; `None` if the command reads none of this kind.
    fn data_in(&self, op: &Op, data: &DataIn, info: &DeviceInfo) -> Result<Option<Payload>, EncodeError>;

    /// Inverse of [`SetCodec::data_in`]; `None` if the response is to have no data. `good`: its status is GOOD.
    fn decode_in(
        &self,
        op: &Op,
        payload: &Payload,
        good: bool,
        info: &DeviceInfo,
        near: Seq,
    ) -> Result<Option<DataIn>, DecodeError>;
}
