//! Packets of a file, unpacked where they are compressed.

use std::io::Read;

use flate2::read::ZlibDecoder;

use super::wire::{CUT, Damage, Message, Value};
use crate::TraceError;
use crate::formats::frame::Frame;
use crate::trace::TraceFile;

/// `Trace.packet`.
const PACKET: u64 = 1;

/// The first byte of a file: key of a packet.
const PACKET_KEY: u8 = 0x0a;

/// `TracePacket.compressed_packets` and `.zstd_compressed_packets`.
const COMPRESSED: u64 = 50;
const ZSTD: u64 = 133;

/// Most bytes of a packet, and of what is compressed in one: Perfetto compresses about half a megabyte at a time.
const MOST_PACKET: u64 = 1 << 26;

/// Most packets of the beginning that recognition looks at.
const FIRST_PACKETS: usize = 8;

/// Whether a file begins with packets: whole messages, one of which has a field that every recording has.
pub(super) fn fits(head: &[u8]) -> bool {
    if head.first() != Some(&PACKET_KEY) {
        return false;
    }
    let mut rest = Message(head);
    let mut known = false;
    for packets in 0..FIRST_PACKETS {
        match rest.field() {
            Ok(Some((PACKET, Value::Bytes(packet)))) => {
                let wrong = Message(packet).fields(|number, value| known |= is_usual(number, value)).is_err();
                if wrong {
                    return false;
                }
            }
            Ok(Some(_)) => return false,
            Ok(None) => return known,
            // The head may end inside a packet; a first one that long is known by the key of its first field.
            Err(damage) if packets == 0 => return damage == CUT && begins_as_packet(head),
            Err(damage) => return known && damage == CUT,
        }
    }
    known
}

/// Fields that stand in every recording, with their kinds: ftrace events, process tree, clocks, time, configuration,
/// system information, id of the writer, compressed packets, synchronisation marker.
fn is_usual(number: u64, value: Value<'_>) -> bool {
    match value {
        Value::Bytes(_) => matches!(number, 1 | 2 | 6 | 9 | 33 | 36 | 45 | COMPRESSED | ZSTD),
        Value::Number(_) => matches!(number, 3 | 8 | 10 | 13 | 41 | 58),
    }
}

/// Key of a packet, its length, and a key of a field of a packet that is itself a message.
fn begins_as_packet(head: &[u8]) -> bool {
    let inside = head.iter().skip(1).position(|byte| byte & 0x80 == 0).map(|at| &head[at + 2..]);
    let key = inside.and_then(|inside| Message(inside).key().ok());
    key.is_some_and(|(number, is_bytes)| is_bytes && is_usual(number, Value::Bytes(&[])))
}

/// What stands at the beginning of these bytes: a packet has its key, and is not longer than one that is unpacked.
pub(in crate::formats) fn frame(bytes: &[u8]) -> Frame {
    match bytes.first() {
        None => Frame::Unfinished,
        Some(&PACKET_KEY) => match Message(&bytes[1..]).length() {
            Ok((_, length)) if length > MOST_PACKET => Frame::Wrong,
            Ok((header, length)) => {
                let whole = 1 + header + length as usize;
                if whole <= bytes.len() { Frame::Whole(whole) } else { Frame::Unfinished }
            }
            Err(damage) if damage == CUT => Frame::Unfinished,
            Err(_) => Frame::Wrong,
        },
        Some(_) => Frame::Wrong,
    }
}

/// The next packet of a file; `None` at its end.
fn next<'a>(rest: &mut Message<'a>) -> Result<Option<&'a [u8]>, Damage> {
    let Some(&key) = rest.0.first() else { return Ok(None) };
    if key != PACKET_KEY {
        return Err("it does not begin as a packet");
    }
    if Message(&rest.0[1..]).length()?.1 > MOST_PACKET {
        return Err("it is longer than 64 MiB");
    }
    Ok(rest.field()?.map(|(_, value)| value.bytes()))
}

/// Hands every packet of a file to `each`. Gives the place of a packet within which the file ends, if there is one
/// before it.
///
/// # Errors
/// [`TraceError::Packet`], with number and place of the packet in the file.
pub(super) fn packets(
    file: &TraceFile,
    mut each: impl FnMut(Message<'_>) -> Result<(), Damage>,
) -> Result<Option<String>, TraceError> {
    let mut rest = Message(&file.bytes);
    for number in 1.. {
        if number > 1 && !rest.0.is_empty() && frame(rest.0) == Frame::Unfinished {
            return Ok(Some(format!("{}: packet {number}", file.name)));
        }
        let offset = (file.bytes.len() - rest.0.len()) as u64;
        let mut packet = || match next(&mut rest)? {
            None => Ok(false),
            Some(packet) => unpacked(packet, &mut each).map(|()| true),
        };
        let more = packet().map_err(|problem: Damage| TraceError::Packet {
            file: file.name.clone(),
            packet: number,
            offset,
            problem,
        })?;
        if !more {
            break;
        }
    }
    Ok(None)
}

/// Hands on a packet, or the packets that are compressed in it. These are not compressed again.
fn unpacked(packet: &[u8], each: &mut impl FnMut(Message<'_>) -> Result<(), Damage>) -> Result<(), Damage> {
    let mut compressed = None;
    Message(packet).fields(|number, value| {
        if number == COMPRESSED || number == ZSTD {
            compressed = Some((number, value.bytes()));
        }
    })?;
    match compressed {
        None => each(Message(packet)),
        Some((method, compressed)) => {
            let mut plain = Vec::new();
            let most = MOST_PACKET + 1;
            let unpacking = match method {
                ZSTD => zstd::Decoder::new(compressed).and_then(|decoder| decoder.take(most).read_to_end(&mut plain)),
                _ => ZlibDecoder::new(compressed).take(most).read_to_end(&mut plain),
            };
            unpacking.map_err(|_| "its compressed packets are damaged")?;
            if plain.len() as u64 > MOST_PACKET {
                return Err("its compressed packets unpack to more than 64 MiB");
            }
            Message(&plain).try_fields(|number, value| match (number, value) {
                (PACKET, Value::Bytes(packet)) => each(Message(packet)),
                _ => Ok(()),
            })
        }
    }
}
