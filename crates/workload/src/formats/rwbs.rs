//! The letters by which Linux tells what a request does (`blk_fill_rwbs` in `kernel/trace/blktrace.c`, and `fill_rwbs`
//! in blkparse): F before the operation for a flush, the operation, then F for FUA, A, S and M.

use crate::{Flags, WorkOp};

/// What the letters say.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Rwbs {
    /// `None` for what moves no data and discards none.
    op: Option<WorkOp>,
    flags: Flags,
}

impl Rwbs {
    /// Reads the letters; `None` if they are others.
    pub fn parse(text: &[u8]) -> Option<Rwbs> {
        let before = text.iter().take_while(|&&b| b == b'F').count();
        let mut flags = Flags { preflush: before > 0, ..Flags::default() };
        let mut rest = &text[before..];
        let op = match rest.first() {
            Some(b'R') => Some(WorkOp::Read),
            Some(b'W') => Some(WorkOp::Write),
            Some(b'D') => Some(WorkOp::Trim),
            Some(b'N') => None,
            // Only F: a flush command as the device gets it.
            None | Some(b'A' | b'S' | b'M') if before > 0 => None,
            _ => return None,
        };
        if rest.first().is_some_and(|b| b"RWDN".contains(b)) {
            rest = &rest[1..];
        }
        for letter in rest {
            match letter {
                b'F' => flags.fua = true,
                b'A' => flags.readahead = true,
                b'S' => flags.sync = true,
                b'M' => flags.meta = true,
                // Secure erase (DE) and atomic writes (U): the model has no other kind of either.
                b'E' | b'U' => {}
                _ => return None,
            }
        }
        Some(Rwbs { op, flags })
    }

    /// Operation and flags of a request of a length; `None` if it is no block request.
    pub fn request(self, bytes: u64) -> Option<(WorkOp, Flags)> {
        match self.op {
            _ if bytes == 0 => self.flags.preflush.then_some((WorkOp::Flush, Flags { preflush: false, ..self.flags })),
            Some(op) => Some((op, self.flags)),
            None => None,
        }
    }

    /// What a completion of these letters completes: an empty one completes a flush.
    pub fn completes(self, bytes: u64) -> WorkOp {
        if bytes == 0 { WorkOp::Flush } else { self.op.unwrap_or(WorkOp::Flush) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(text: &str, bytes: u64) -> Option<(WorkOp, String)> {
        let (op, f) = Rwbs::parse(text.as_bytes())?.request(bytes)?;
        let set = [(f.preflush, 'p'), (f.fua, 'f'), (f.sync, 's'), (f.meta, 'm'), (f.readahead, 'a')];
        Some((op, set.iter().filter(|(set, _)| *set).map(|(_, c)| *c).collect()))
    }

    #[test]
    fn the_letters_of_the_kernel_are_read() {
        for (text, bytes, expected) in [
            ("R", 512, Some((WorkOp::Read, ""))),
            ("RAM", 512, Some((WorkOp::Read, "ma"))),
            ("FWFS", 512, Some((WorkOp::Write, "pfs"))),
            ("WFS", 512, Some((WorkOp::Write, "fs"))),
            ("FWS", 0, Some((WorkOp::Flush, "s"))),
            ("FF", 0, Some((WorkOp::Flush, ""))),
            ("FN", 0, Some((WorkOp::Flush, ""))),
            ("DS", 512, Some((WorkOp::Trim, "s"))),
            ("DE", 512, Some((WorkOp::Trim, ""))),
            ("WS", 0, None),
            ("N", 512, None),
            ("X", 512, None),
            ("RX", 512, None),
            ("", 512, None),
        ] {
            assert_eq!(said(text, bytes), expected.map(|(op, set)| (op, set.to_owned())), "{text}");
        }
    }
}
