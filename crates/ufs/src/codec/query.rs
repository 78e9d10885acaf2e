//! NOP and QUERY UPIUs.
//!
//! Big-endian; JESD220E clauses 10.7.8 to 10.7.12. Bytes 0-11 are the basic header, see [`super::upiu`].
//!
//! # QUERY REQUEST and QUERY RESPONSE, 32 bytes and a data segment
//! | offset | size | meaning |
//! |---|---|---|
//! | 0 | 1 | 16h request, 36h response |
//! | 3 | 1 | task tag |
//! | 5 | 1 | function: 01h standard read, 81h standard write |
//! | 6 | 1 | response: 0 or why not |
//! | 10 | 2 | data segment length, of descriptors |
//! | 12 | 4 | operation code, IDN, index, selector |
//! | 18 | 2 | length of a descriptor |
//! | 20 | 4 | value of an attribute; of a flag in byte 23 |
//! | 32 | n | descriptor |
//!
//! # NOP OUT and NOP IN, 32 bytes
//! 00h and 20h; only the task tag has a meaning.

use super::bytes::Reader;
use super::error::DecodeError;
use super::upiu::UPIU_BYTES;
use crate::command::Tag;

/// Transaction code of NOP OUT.
pub const NOP_OUT: u8 = 0x00;
/// Transaction code of QUERY REQUEST.
pub const QUERY_REQUEST: u8 = 0x16;
const NOP_IN: u8 = 0x20;
const QUERY_RESPONSE: u8 = 0x36;

/// A QUERY REQUEST.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct QueryRequest {
    /// Task tag.
    pub tag: Tag,
    /// 01h standard read, 81h standard write.
    pub function: u8,
    /// What to do: 1 and 2 read and write a descriptor, 3 and 4 an attribute, 5 to 8 read, set, clear, toggle a flag.
    pub opcode: u8,
    /// Which descriptor, attribute or flag.
    pub idn: u8,
    /// Of several, for instance the logical unit.
    pub index: u8,
    /// Of several of an index.
    pub selector: u8,
    /// Most bytes of a descriptor.
    pub length: u16,
    /// Value of an attribute.
    pub value: u32,
    /// A descriptor to be written.
    pub data: Vec<u8>,
}

impl QueryRequest {
    /// Decodes a QUERY REQUEST at the start of `bytes`.
    ///
    /// # Errors
    /// The message is cut off.
    pub fn decode(bytes: &[u8]) -> Result<QueryRequest, DecodeError> {
        let upiu = Reader::message(bytes);
        let len = usize::from(upiu.u16(10, "data segment length")?);
        Ok(QueryRequest {
            tag: Tag(upiu.u8(3, "task tag")?),
            function: upiu.u8(5, "query function")?,
            opcode: upiu.u8(12, "query opcode")?,
            idn: upiu.u8(13, "IDN")?,
            index: upiu.u8(14, "index")?,
            selector: upiu.u8(15, "selector")?,
            length: upiu.u16(18, "length")?,
            value: upiu.u32(20, "value")?,
            data: upiu.slice(UPIU_BYTES, len, "data segment")?.to_vec(),
        })
    }

    /// The QUERY RESPONSE: 32 bytes, then a descriptor. `response` is 0 for success (JESD220E Table 10.34).
    pub fn respond(&self, response: u8, value: u32, descriptor: &[u8]) -> Vec<u8> {
        let mut bytes = vec![0; UPIU_BYTES];
        (bytes[0], bytes[3], bytes[5], bytes[6]) = (QUERY_RESPONSE, self.tag.0, self.function, response);
        let len = descriptor.len() as u16;
        bytes[10..12].copy_from_slice(&len.to_be_bytes());
        bytes[12..16].copy_from_slice(&[self.opcode, self.idn, self.index, self.selector]);
        bytes[18..20].copy_from_slice(&len.to_be_bytes());
        bytes[20..24].copy_from_slice(&value.to_be_bytes());
        bytes.extend_from_slice(descriptor);
        bytes
    }
}

/// The answer to a NOP OUT.
pub fn nop_in(tag: Tag) -> Vec<u8> {
    let mut bytes = vec![0; UPIU_BYTES];
    (bytes[0], bytes[3]) = (NOP_IN, tag.0);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_is_read_and_answered_field_by_field() {
        let mut bytes = vec![0; 36];
        (bytes[0], bytes[3], bytes[5], bytes[11]) = (QUERY_REQUEST, 9, 0x81, 4);
        bytes[12..24].copy_from_slice(&[2, 1, 3, 5, 0, 0, 1, 4, 0, 0, 2, 7]);
        bytes[32..].copy_from_slice(b"data");
        let query = QueryRequest::decode(&bytes).unwrap();
        let data = b"data".to_vec();
        let (opcode, idn, index, selector) = (2, 1, 3, 5);
        let function = 0x81;
        let wanted =
            QueryRequest { tag: Tag(9), function, opcode, idn, index, selector, length: 260, value: 519, data };
        assert_eq!(query, wanted);
        let answer = query.respond(0xFD, 0x0102_0304, b"abc");
        assert_eq!(answer[..12], [0x36, 0, 0, 9, 0, 0x81, 0xFD, 0, 0, 0, 0, 3]);
        assert_eq!(answer[12..24], [2, 1, 3, 5, 0, 0, 0, 3, 1, 2, 3, 4]);
        assert_eq!(answer[32..], *b"abc");
        assert!(QueryRequest::decode(&bytes[..35]).is_err(), "its data is cut off");
    }
}
