//! Replies of the transmission, as bytes.

use super::handshake::{ALLOCATION_ID, Form};

const SIMPLE_MAGIC: u32 = 0x6744_6698;
const STRUCTURED_MAGIC: u32 = 0x668e_33ef;
const EXTENDED_MAGIC: u32 = 0x6e8a_278c;
const DONE: u16 = 1;

mod chunk {
    pub const NONE: u16 = 0;
    pub const OFFSET_DATA: u16 = 1;
    pub const BLOCK_STATUS: u16 = 5;
    pub const BLOCK_STATUS_EXT: u16 = 6;
    pub const ERROR: u16 = (1 << 15) + 1;
}

/// Flags of `base:allocation`: nothing is allocated, and it reads as zeroes.
const HOLE_AND_ZERO: u32 = 3;

/// A reply.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Told {
    /// It is done.
    Done,
    /// Data of a read.
    Data(Vec<u8>),
    /// Runs of blocks: length in bytes, and whether it is a hole.
    Status(Vec<(u64, bool)>),
    /// It was not done: error number and reason.
    Error(u32, String),
}

/// A reply, and the request that it answers.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Reply {
    /// The client's number of the request.
    pub cookie: u64,
    /// The request's offset.
    pub offset: u64,
    pub told: Told,
}

impl Reply {
    /// Appends its bytes.
    pub fn write(&self, form: Form, out: &mut Vec<u8>) {
        if form == Form::Simple {
            let error = if let Told::Error(error, _) = &self.told { *error } else { 0 };
            out.extend(SIMPLE_MAGIC.to_be_bytes());
            out.extend(error.to_be_bytes());
            out.extend(self.cookie.to_be_bytes());
            if let Told::Data(data) = &self.told {
                out.extend_from_slice(data);
            }
            return;
        }
        match &self.told {
            Told::Done => self.header(form, chunk::NONE, 0, out),
            Told::Data(data) => {
                self.header(form, chunk::OFFSET_DATA, 8 + data.len(), out);
                out.extend(self.offset.to_be_bytes());
                out.extend_from_slice(data);
            }
            Told::Status(runs) if form == Form::Extended => {
                self.header(form, chunk::BLOCK_STATUS_EXT, 8 + 16 * runs.len(), out);
                out.extend(ALLOCATION_ID.to_be_bytes());
                out.extend((runs.len() as u32).to_be_bytes());
                for &(len, hole) in runs {
                    out.extend(len.to_be_bytes());
                    out.extend(u64::from(if hole { HOLE_AND_ZERO } else { 0 }).to_be_bytes());
                }
            }
            Told::Status(runs) => {
                self.header(form, chunk::BLOCK_STATUS, 4 + 8 * runs.len(), out);
                out.extend(ALLOCATION_ID.to_be_bytes());
                for &(len, hole) in runs {
                    out.extend((len as u32).to_be_bytes());
                    out.extend(if hole { HOLE_AND_ZERO } else { 0 }.to_be_bytes());
                }
            }
            Told::Error(error, why) => {
                self.header(form, chunk::ERROR, 6 + why.len(), out);
                out.extend(error.to_be_bytes());
                out.extend((why.len() as u16).to_be_bytes());
                out.extend(why.as_bytes());
            }
        }
    }

    fn header(&self, form: Form, kind: u16, len: usize, out: &mut Vec<u8>) {
        let magic = if form == Form::Extended { EXTENDED_MAGIC } else { STRUCTURED_MAGIC };
        out.extend(magic.to_be_bytes());
        out.extend(DONE.to_be_bytes());
        out.extend(kind.to_be_bytes());
        out.extend(self.cookie.to_be_bytes());
        if form == Form::Extended {
            out.extend(self.offset.to_be_bytes());
            out.extend((len as u64).to_be_bytes());
        } else {
            out.extend((len as u32).to_be_bytes());
        }
    }
}
