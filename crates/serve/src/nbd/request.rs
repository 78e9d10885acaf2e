//! Requests of the transmission.

use super::handshake::{Agreed, Form};
use super::input::Input;
use super::{BLOCK, MAX_PAYLOAD, Offer, Violation, errno, u16_at, u32_at, u64_at};

const MAGIC: u32 = 0x2560_9513;
const EXTENDED_MAGIC: u32 = 0x21e4_1c71;
/// A longer payload than this is not even skipped.
const MAX_SKIPPED: u64 = 2 * MAX_PAYLOAD;

mod flag {
    pub const FUA: u16 = 1;
    pub const NO_HOLE: u16 = 1 << 1;
    pub const DF: u16 = 1 << 2;
    pub const REQ_ONE: u16 = 1 << 3;
    pub const FAST_ZERO: u16 = 1 << 4;
    pub const PAYLOAD_LEN: u16 = 1 << 5;
}

const READ: u16 = 0;
const WRITE: u16 = 1;
const DISC: u16 = 2;
const FLUSH: u16 = 3;
const TRIM: u16 = 4;
const WRITE_ZEROES: u16 = 6;
const BLOCK_STATUS: u16 = 7;

/// What a request asks for. Offsets and lengths are multiples of the block and lie on the device.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Wish {
    Read {
        len: u32,
    },
    Write {
        data: Vec<u8>,
        fua: bool,
    },
    Flush,
    Trim {
        len: u64,
        fua: bool,
    },
    /// Zeroes that are to be allocated.
    Zeroes {
        len: u32,
        fua: bool,
    },
    BlockStatus {
        len: u64,
        one: bool,
    },
    /// Nothing: it is refused with an error number, and why.
    Refused(u32, &'static str),
}

/// A request.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Request {
    /// The client's number.
    pub cookie: u64,
    /// Offset in bytes.
    pub offset: u64,
    pub wish: Wish,
}

/// A request's header as it came.
#[derive(Clone, Copy, Debug)]
pub struct Header {
    flags: u16,
    kind: u16,
    cookie: u64,
    offset: u64,
    len: u64,
}

impl Header {
    /// Bytes of memory that the request needs: for its payload, or for the data of its reply.
    pub fn bytes(&self) -> usize {
        let long = matches!(self.kind, READ | WRITE | WRITE_ZEROES) && self.len <= MAX_PAYLOAD;
        // Zeroes that need not be allocated are a trim.
        let trims = self.kind == WRITE_ZEROES && self.flags & flag::NO_HOLE == 0;
        if long && !trims { self.len as usize } else { 0 }
    }

    /// The client says that it leaves.
    pub fn leaves(&self) -> bool {
        self.kind == DISC
    }
}

/// Reads the header of the next request, if it is there.
///
/// # Errors
/// A violation of the protocol; the connection has to be closed.
pub fn read_header(input: &mut Input, form: Form) -> Result<Option<Header>, Violation> {
    let (magic, size) = if form == Form::Extended { (EXTENDED_MAGIC, 32) } else { (MAGIC, 28) };
    let Some(header) = input.available().get(..size) else { return Ok(None) };
    if u32_at(header, 0) != magic {
        return Err(Violation::told(format!("bad magic of a request: {:#010x}", u32_at(header, 0))));
    }
    let len = if form == Form::Extended { u64_at(header, 24) } else { u32_at(header, 24).into() };
    let (flags, kind) = (u16_at(header, 4), u16_at(header, 6));
    let (cookie, offset) = (u64_at(header, 8), u64_at(header, 16));
    input.take(size);
    Ok(Some(Header { flags, kind, cookie, offset, len }))
}

/// What follows a header has to be taken in. False if nothing follows, or it is of no interest.
///
/// # Errors
/// A violation of the protocol; the connection has to be closed.
pub fn begin_payload(input: &mut Input, header: &Header, form: Form) -> Result<bool, Violation> {
    let &Header { flags, kind, len, .. } = header;
    // A write has a payload, also if it does not say so, as those of some clients with extended headers.
    let carries = kind == WRITE || form == Form::Extended && flags & flag::PAYLOAD_LEN != 0;
    if !carries {
        return Ok(false);
    }
    if len > MAX_SKIPPED {
        return Err(Violation::told(format!("a payload of {len} bytes")));
    }
    let wanted = kind == WRITE && len <= MAX_PAYLOAD;
    if wanted {
        input.begin_payload(len as usize);
    } else {
        input.skip(len);
    }
    Ok(wanted)
}

/// What a request asks for, with its payload.
pub fn request(header: &Header, payload: Vec<u8>, offer: &Offer, agreed: &Agreed) -> Request {
    let wish = match refusal(header, offer, agreed) {
        Some((error, why)) => Wish::Refused(error, why),
        None => wish(header, payload),
    };
    Request { cookie: header.cookie, offset: header.offset, wish }
}

/// The error number and the reason, if a request cannot be done.
fn refusal(header: &Header, offer: &Offer, agreed: &Agreed) -> Option<(u32, &'static str)> {
    let &Header { flags, kind, offset, len, .. } = header;
    let payload_flag = if agreed.form == Form::Extended && kind == WRITE { flag::PAYLOAD_LEN } else { 0 };
    let allowed = payload_flag
        | match kind {
            READ => flag::DF | flag::FUA,
            WRITE | TRIM | FLUSH => flag::FUA,
            WRITE_ZEROES => flag::FUA | flag::NO_HOLE | flag::FAST_ZERO,
            BLOCK_STATUS => flag::REQ_ONE | flag::FUA,
            _ => return Some((errno::EINVAL, "unknown command")),
        };
    if flags & !allowed != 0 {
        return Some((errno::EINVAL, "flags that do not go with the command"));
    }
    if kind == FLUSH {
        let empty = offset == 0 && len == 0;
        return (!empty).then_some((errno::EINVAL, "a flush has no range"));
    }
    let changes = matches!(kind, WRITE | TRIM | WRITE_ZEROES);
    if changes && offer.read_only {
        return Some((errno::EPERM, "the export is read-only"));
    }
    if len == 0 || !offset.is_multiple_of(BLOCK) || !len.is_multiple_of(BLOCK) {
        return Some((errno::EINVAL, "offset and length must be multiples of 4096, and the length not 0"));
    }
    if offset.checked_add(len).is_none_or(|end| end > offer.size) {
        let error = if kind == WRITE || kind == WRITE_ZEROES { errno::ENOSPC } else { errno::EINVAL };
        return Some((error, "beyond the end of the device"));
    }
    let allocates = kind == WRITE_ZEROES && flags & flag::NO_HOLE != 0;
    if allocates && flags & flag::FAST_ZERO != 0 {
        return Some((errno::ENOTSUP, "zeroes that are allocated are not fast"));
    }
    if (matches!(kind, READ | WRITE) || allocates) && len > MAX_PAYLOAD {
        return Some((errno::EINVAL, "longer than 32 MiB"));
    }
    (kind == BLOCK_STATUS && !agreed.allocation).then_some((errno::EINVAL, "no metadata context was chosen"))
}

fn wish(header: &Header, data: Vec<u8>) -> Wish {
    let &Header { flags, kind, len, .. } = header;
    let fua = flags & flag::FUA != 0;
    match kind {
        READ => Wish::Read { len: len as u32 },
        WRITE => Wish::Write { data, fua },
        FLUSH => Wish::Flush,
        WRITE_ZEROES if flags & flag::NO_HOLE != 0 => Wish::Zeroes { len: len as u32, fua },
        TRIM | WRITE_ZEROES => Wish::Trim { len, fua },
        _ => Wish::BlockStatus { len, one: flags & flag::REQ_ONE != 0 },
    }
}
