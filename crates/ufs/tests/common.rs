//! A device, and messages with it as bytes.

use ufsim_ufs::codec::{encode_command, encode_response};
use ufsim_ufs::*;
use units::Seq;

pub const INFO: DeviceInfo =
    DeviceInfo { capacity_units: 10_000, superblocks: 100, superblock_units: 128, ..DeviceInfo::USUAL };

pub fn command(op: Op) -> Command {
    Command { tag: Tag(0x1F), op, host_seq: Seq(0), freed: None, data: DataOut::None }
}

pub fn bytes_of(command: &Command) -> Vec<u8> {
    let mut bytes = Vec::new();
    encode_command(command, &INFO, &mut bytes).unwrap();
    bytes
}

pub fn good(data: DataIn) -> Response {
    let (hpb, piggyback) = (HpbNotice::None, PiggyBack::default());
    Response { tag: Tag(0x1F), status: Status::Good, data, hpb, piggyback }
}

pub fn response_bytes(response: &Response, op: &Op) -> Vec<u8> {
    let mut bytes = Vec::new();
    encode_response(response, op, &INFO, &mut bytes).unwrap();
    bytes
}
