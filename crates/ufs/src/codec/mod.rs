//! The bytes of commands and responses on a UFS link.
//!
//! The simulator itself passes [`Command`] and [`Response`] as values. Encoding them shows that all information that
//! host and device exchange fits the fields of the papers and the standards. It also allows connecting either side to
//! real hardware or software.
//!
//! | module | content |
//! |---|---|
//! | [`upiu`] | COMMAND, DATA OUT, DATA IN, RESPONSE UPIUs, sense data |
//! | [`scsi`] | SCSI commands |
//! | [`hpb`] | HPB commands and notices |
//! | [`hpufs`] | command extension, piggyback and commands of HP-UFS |
//! | [`mapplus`] | cache query and batch notice of MAP+ |
//! | [`data`] | what DATA UPIUs carry |
//! | [`query`] | NOP and QUERY UPIUs |
//! | [`task`] | TASK MANAGEMENT UPIUs |
//!
//! A command is a COMMAND UPIU and its DATA OUT UPIUs; a response is its DATA IN UPIUs and a RESPONSE UPIU.
//!
//! Some values have no encoding of their own and are decoded in their plain form. [`DataIn::Many`] of one unit is
//! decoded as [`DataIn::One`], of none as [`DataIn::None`]. Missing data of a successful entry transfer, HPB READ
//! BUFFER or cache query is decoded as an empty list.
//!
//! ```
//! use ufsim_ufs::codec::{decode_command, encode_command};
//! use ufsim_ufs::{Command, DataOut, DeviceInfo, Op, Tag};
//! use units::{Lpa, Ppa, Seq};
//!
//! let info = DeviceInfo::USUAL;
//! let op = Op::MappedRead { lpa: Lpa(7), len: 1, ppa: Some(Ppa(41)) };
//! let command = Command { tag: Tag(3), op, host_seq: Seq(99), freed: None, data: DataOut::None };
//! let mut bytes = Vec::new();
//! encode_command(&command, &info, &mut bytes).unwrap();
//! assert_eq!(bytes[32..], [0, 0, 0, 42, 0, 0, 0, 99]);
//! assert_eq!(decode_command(&bytes, &info, Seq(90)).unwrap(), command);
//! ```

mod bytes;
pub mod data;
mod error;
pub mod hpb;
pub mod hpufs;
pub mod mapplus;
pub mod query;
pub mod scsi;
mod set;
pub mod task;
pub mod upiu;

use units::Seq;

use crate::command::{Command, CommandSet, Op};
use crate::data::{DataIn, DataOut};
use crate::info::DeviceInfo;
use crate::response::{Response, Status};
use bytes::Reader;
use data::Payload;
use hpufs::{CommandExtension, ExtensionAddress};
use set::SetCodec;
use upiu::{CommandUpiu, Direction, ResponseUpiu};

pub use error::{Allowed, DecodeError, EncodeError, Part};

const SETS: [&dyn SetCodec; 4] = [&scsi::Scsi, &hpb::Hpb, &hpufs::HpUfs, &mapplus::MapPlus];

/// The set of an operation.
fn set_of(op: &Op) -> &'static dyn SetCodec {
    SETS[match op.set() {
        CommandSet::Scsi => 0,
        CommandSet::Hpb => 1,
        CommandSet::HpUfs => 2,
        CommandSet::MapPlus => 3,
    }]
}

/// Decodes a CDB: the command and the length of its data.
fn decode_cdb(cdb: Reader<'_>, info: &DeviceInfo) -> Result<(Op, u32), DecodeError> {
    for set in SETS {
        if let Some(found) = set.decode_cdb(cdb, info)? {
            return Ok(found);
        }
    }
    let opcode = cdb.u8(0, "operation code")?;
    let allowed = Allowed::Opcodes(SETS.map(|set| set.opcodes(info)));
    Err(cdb.fault(0, "operation code", u64::from(opcode), allowed))
}

/// Appends the bytes of a command: COMMAND UPIU, then DATA OUT UPIUs. `info` gives the size of HPB groups.
///
/// # Errors
/// A value does not fit its field, or the data is not what the operation takes; `out` is unchanged.
pub fn encode_command(command: &Command, info: &DeviceInfo, out: &mut Vec<u8>) -> Result<(), EncodeError> {
    let Command { op, data, .. } = command;
    let set = set_of(op);
    let payload = set.out(op, data)?;
    let expected_bytes = (command.data_bytes() as u32).max(set.bytes_in(op, info)?);
    let cdb = set.cdb(op, data, expected_bytes, info)?;
    let direction = direction(op, expected_bytes, info);
    let extension = CommandExtension::of(command)?;
    CommandUpiu { tag: command.tag, direction, expected_bytes, cdb, extension }.encode(out)?;
    upiu::push_data(out, upiu::DATA_OUT, command.tag, &payload);
    Ok(())
}

/// Decodes a command that fills `bytes`. `info` says how HPB groups are numbered. `near` is a sequence number that the
/// device knows to be within 2^31 of the host's, for instance its own latest.
///
/// # Errors
/// The first field that no command of this model has. The function does not panic for any bytes.
pub fn decode_command(bytes: &[u8], info: &DeviceInfo, near: Seq) -> Result<Command, DecodeError> {
    let message = Reader::message(bytes);
    let (upiu, at) = CommandUpiu::decode(bytes)?;
    let (op, expected) = decode_cdb(message.tail(16), info)?;
    check_transfer(message, &upiu, &op, expected, info)?;
    let (tag, payload, end) = upiu::take_data(message, at, upiu::DATA_OUT)?;
    if let Some(tag) = tag {
        message.exactly(at + 3, "task tag", u64::from(tag.0), u64::from(upiu.tag.0))?;
    }
    message.exactly(end, "bytes after the last UPIU", (message.len() - end) as u64, 0)?;
    let (op, data) = set_of(&op).decode_out(op, message.tail(16), &payload, expected as usize)?;
    whole(message, &upiu, op, data, near)
}

/// Decodes a COMMAND UPIU whose data lies elsewhere, as that of a host controller does: `payload` are the bytes that it
/// sends. Those of a WRITE are only counted: inside the simulator a stamp stands for them, which the caller knows.
///
/// # Errors
/// See [`decode_command`].
pub fn decode_with_payload(bytes: &[u8], payload: &[u8], info: &DeviceInfo, near: Seq) -> Result<Command, DecodeError> {
    let message = Reader::message(bytes);
    let (upiu, _) = CommandUpiu::decode(bytes)?;
    let (op, expected) = decode_cdb(message.tail(16), info)?;
    check_transfer(message, &upiu, &op, expected, info)?;
    let (op, data) = match op {
        Op::Write { .. } => {
            message.exactly(12, "bytes of data", payload.len() as u64, u64::from(expected))?;
            (op, DataOut::None)
        }
        _ => {
            let payload = Payload::exact(payload.to_vec());
            set_of(&op).decode_out(op, message.tail(16), &payload, expected as usize)?
        }
    };
    whole(message, &upiu, op, data, near)
}

/// A command, with what its extension adds.
fn whole(
    message: Reader<'_>,
    upiu: &CommandUpiu,
    mut op: Op,
    data: DataOut,
    near: Seq,
) -> Result<Command, DecodeError> {
    let mut freed = None;
    let mut host_seq = Seq::default();
    if let Some(extension) = upiu.extension {
        host_seq = message.seq(36, near)?;
        match (extension.address, op) {
            (ExtensionAddress::Freed(block), _) => freed = block,
            (ExtensionAddress::Mapped(ppa), Op::Read { lpa, len }) => op = Op::MappedRead { lpa, len, ppa },
            (ExtensionAddress::Mapped(_), _) => {
                let rule = Allowed::Rule("28h: only READ(10) goes with command set type 9h");
                return Err(message.fault(16, "operation code", u64::from(upiu.cdb[0]), rule));
            }
        }
    }
    Ok(Command { tag: upiu.tag, op, host_seq, freed, data })
}

/// Where a command's data go, if it has so many bytes.
fn direction(op: &Op, bytes: u32, info: &DeviceInfo) -> Direction {
    match (bytes, set_of(op).bytes_in(op, info)) {
        (0, _) => Direction::None,
        (_, Ok(0)) => Direction::Out,
        _ => Direction::In,
    }
}

/// Refuses a COMMAND UPIU whose flags or expected length contradict its CDB.
fn check_transfer(
    message: Reader<'_>,
    upiu: &CommandUpiu,
    op: &Op,
    expected: u32,
    info: &DeviceInfo,
) -> Result<(), DecodeError> {
    let field = "expected data transfer length";
    message.exactly(12, field, u64::from(upiu.expected_bytes), u64::from(expected))?;
    if expected > 0 && upiu.direction != direction(op, expected, info) {
        let rule = Allowed::Rule("R for commands that read, W for commands that write");
        let flags = u64::from(message.u8(1, "flags")?);
        return Err(message.fault(1, "flags", flags, rule));
    }
    Ok(())
}

/// Appends the bytes of a response to `op`: DATA IN UPIUs, then the RESPONSE UPIU. `info` gives the size of HPB groups.
///
/// # Errors
/// A value does not fit its field, there is more data than the operation asks for, or data of another kind; `out` is
/// unchanged.
pub fn encode_response(response: &Response, op: &Op, info: &DeviceInfo, out: &mut Vec<u8>) -> Result<(), EncodeError> {
    let expected = u64::from(set_of(op).bytes_in(op, info)?);
    let (payload, real) = (data_in(op, &response.data, info)?, response.data.bytes());
    EncodeError::limit("bytes of data", real, expected)?;
    let start = out.len();
    upiu::push_data(out, upiu::DATA_IN, response.tag, &payload);
    let upiu = ResponseUpiu {
        tag: response.tag,
        status: response.status,
        residual: (expected - real) as u32,
        hpb: response.hpb,
        piggyback: response.piggyback,
    };
    upiu.encode(info, out).inspect_err(|_| out.truncate(start))
}

/// The logical units of a response: that of its command, and that of which its HPB notice tells.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Luns {
    /// Of the command.
    pub command: u8,
    /// Of the notice, if there is one.
    pub notice: u8,
}

/// The RESPONSE UPIU to `op` and the bytes of its data, for a host controller that puts these elsewhere. `user` are the
/// blocks of a READ that succeeded. Addresses in all of them are those of the unit `luns`.
///
/// # Errors
/// See [`encode_response`].
pub fn encode_with_payload(
    response: &Response,
    op: &Op,
    user: Vec<u8>,
    info: &DeviceInfo,
    luns: Luns,
) -> Result<(Vec<u8>, Vec<u8>), EncodeError> {
    let expected = u64::from(set_of(op).bytes_in(op, info)?);
    let data = if op.is_user() { user } else { data_in(op, &response.data, info)?.bytes };
    EncodeError::limit("bytes of data", data.len() as u64, expected)?;
    let residual = (expected - data.len() as u64) as u32;
    let Response { tag, status, hpb, piggyback, .. } = *response;
    let mut upiu = Vec::new();
    ResponseUpiu { tag, status, residual, hpb, piggyback }.encode(info, &mut upiu)?;
    upiu::name_units(&mut upiu, luns);
    Ok((upiu, data))
}

/// Decodes a response to `expected` that fills `bytes`. `info` says how HPB groups are numbered. `near` is a sequence
/// number that the host knows to be within 2^31 of the device's, for instance the host sequence number.
///
/// # Errors
/// The first field that no response to this operation has. The function does not panic for any bytes.
pub fn decode_response(bytes: &[u8], info: &DeviceInfo, near: Seq, expected: &Op) -> Result<Response, DecodeError> {
    let message = Reader::message(bytes);
    let (tag, payload, at) = upiu::take_data(message, 0, upiu::DATA_IN)?;
    let last = message.tail(at);
    let upiu = ResponseUpiu::read(last, info, near)?;
    if let Some(tag) = tag {
        message.exactly(3, "task tag", u64::from(tag.0), u64::from(upiu.tag.0))?;
    }
    check_residual(last, expected, info, &payload, upiu.residual)?;
    let data: DataIn = decode_in(expected, &payload, upiu.status, info, near)?;
    Ok(Response { tag: upiu.tag, status: upiu.status, data, hpb: upiu.hpb, piggyback: upiu.piggyback })
}

/// Refuses a residual that does not complete the data to the length that the host asked for.
fn check_residual(
    last: Reader<'_>,
    op: &Op,
    info: &DeviceInfo,
    payload: &Payload,
    residual: u32,
) -> Result<(), DecodeError> {
    let real = data::real_bytes(payload.bytes.len(), payload.stand_in);
    let max = set_of(op).bytes_in(op, info).map_or(0, u64::from);
    if real > max {
        return Err(last.fault(0, "bytes of data before the response", real, Allowed::Range { min: 0, max }));
    }
    last.exactly(12, "residual transfer count", u64::from(residual), max - real)
}

/// The data of a response to `op`.
fn data_in(op: &Op, data: &DataIn, info: &DeviceInfo) -> Result<Payload, EncodeError> {
    match data {
        DataIn::None => Ok(Payload::exact(Vec::new())),
        data => set_of(op)
            .data_in(op, data, info)?
            .ok_or(EncodeError::Data { op: op.name(), allowed: "data of the kind that it reads, or none" }),
    }
}

/// Inverse of [`data_in`].
fn decode_in(op: &Op, payload: &Payload, status: Status, info: &DeviceInfo, near: Seq) -> Result<DataIn, DecodeError> {
    let good = status == Status::Good;
    match set_of(op).decode_in(op, payload, good, info, near)? {
        Some(data) => Ok(data),
        None => payload.expect(0, false).map(|_| DataIn::None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_sets_have_an_operation_code_in_common() {
        for opcode in 0..=u8::MAX {
            let mut cdb = [0; 16];
            cdb[0] = opcode;
            let taken =
                SETS.iter().filter(|set| !matches!(set.decode_cdb(Reader::message(&cdb), &hpb::tests::INFO), Ok(None)));
            assert!(taken.count() <= 1, "{opcode:02X}h");
        }
    }
}
