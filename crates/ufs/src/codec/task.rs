//! TASK MANAGEMENT UPIUs.
//!
//! Big-endian; JESD220E clauses 10.7.6 and 10.7.7. Bytes 0-11 are the basic header, see [`super::upiu`].
//!
//! | offset | size | request, 04h | response, 24h |
//! |---|---|---|---|
//! | 2 | 1 | LUN | the same |
//! | 3 | 1 | task tag of the request itself | the same |
//! | 5 | 1 | function | 0 |
//! | 12 | 4 | LUN | service response |
//! | 16 | 4 | task tag of the command that is meant | 0 |

use super::bytes::Reader;
use super::error::DecodeError;
use super::upiu::UPIU_BYTES;

/// Transaction code of a TASK MANAGEMENT REQUEST.
pub const TASK_REQUEST: u8 = 0x04;
const TASK_RESPONSE: u8 = 0x24;

/// A TASK MANAGEMENT REQUEST.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TaskRequest {
    /// Task tag of the request.
    pub tag: u8,
    /// What to do: 01h ABORT TASK, 02h ABORT TASK SET, 04h CLEAR TASK SET, 08h LOGICAL UNIT RESET, 80h QUERY TASK, 81h
    /// QUERY TASK SET.
    pub function: u8,
    /// The logical unit.
    pub lun: u8,
    /// Task tag of the command that is meant.
    pub task: u32,
}

impl TaskRequest {
    /// Decodes a TASK MANAGEMENT REQUEST at the start of `bytes`.
    ///
    /// # Errors
    /// It is another UPIU, or cut off.
    pub fn decode(bytes: &[u8]) -> Result<TaskRequest, DecodeError> {
        let upiu = Reader::message(bytes);
        let kind = upiu.u8(0, "transaction type")?;
        upiu.exactly(0, "transaction type", u64::from(kind), u64::from(TASK_REQUEST))?;
        Ok(TaskRequest {
            tag: upiu.u8(3, "task tag")?,
            function: upiu.u8(5, "task management function")?,
            lun: upiu.u32(12, "LUN").map(|lun| lun as u8)?,
            task: upiu.u32(16, "task tag of the command")?,
        })
    }

    /// The response with a service response: 0 complete, 4 not supported, 8 succeeded, 9 incorrect LUN.
    pub fn respond(&self, service: u8) -> [u8; UPIU_BYTES] {
        let mut bytes = [0; UPIU_BYTES];
        (bytes[0], bytes[2], bytes[3], bytes[15]) = (TASK_RESPONSE, self.lun, self.tag, service);
        bytes
    }
}
