//! What a client has sent and nobody has read yet. It is filled from outside, so that parsers wait for nothing.

/// Bytes that are taken in at once.
const ROOM: usize = 256 << 10;
/// A payload that lacks so many bytes is filled directly.
const DIRECT: usize = 32 << 10;

/// A payload on its way.
#[derive(Default, Debug)]
struct Payload {
    bytes: Vec<u8>,
    filled: usize,
}

/// Bytes of a client, in their order.
#[derive(Debug)]
pub struct Input {
    bytes: Vec<u8>,
    begin: usize,
    end: usize,
    /// So many of the next bytes are of no interest.
    skipped: u64,
    payload: Option<Payload>,
    /// The client sends no more.
    ended: bool,
}

impl Default for Input {
    fn default() -> Input {
        Input { bytes: vec![0; ROOM], begin: 0, end: 0, skipped: 0, payload: None, ended: false }
    }
}

impl Input {
    /// Where the next bytes go; never empty.
    pub fn space(&mut self) -> &mut [u8] {
        if let Some(payload) = &mut self.payload
            && payload.bytes.len() - payload.filled >= DIRECT
        {
            return &mut payload.bytes[payload.filled..];
        }
        if self.begin > 0 {
            self.bytes.copy_within(self.begin..self.end, 0);
            (self.begin, self.end) = (0, self.end - self.begin);
        }
        assert!(self.end < ROOM, "parsers take what they have before they ask for more");
        &mut self.bytes[self.end..]
    }

    /// So many bytes have come; none at the end.
    pub fn filled(&mut self, count: usize) {
        if count == 0 {
            self.ended = true;
            return;
        }
        match &mut self.payload {
            Some(payload) if payload.bytes.len() - payload.filled >= DIRECT => payload.filled += count,
            _ => self.end += count,
        }
        self.settle();
    }

    /// Takes in bytes of any number, as [`Input::space`] and [`Input::filled`] do piece by piece.
    pub fn extend(&mut self, mut bytes: &[u8]) -> usize {
        let space = self.space();
        let count = space.len().min(bytes.len());
        let taken = bytes.split_off(..count).expect("there are so many");
        space[..count].copy_from_slice(taken);
        if count > 0 {
            self.filled(count);
        }
        count
    }

    /// Forgets what is skipped, and moves what belongs to the payload.
    fn settle(&mut self) {
        let gone = self.skipped.min((self.end - self.begin) as u64);
        self.skipped -= gone;
        self.begin += gone as usize;
        if let Some(payload) = &mut self.payload {
            let count = (payload.bytes.len() - payload.filled).min(self.end - self.begin);
            payload.bytes[payload.filled..][..count].copy_from_slice(&self.bytes[self.begin..][..count]);
            payload.filled += count;
            self.begin += count;
        }
    }

    /// What can be read now; nothing while bytes are skipped.
    pub fn available(&self) -> &[u8] {
        if self.skipped > 0 { &[] } else { &self.bytes[self.begin..self.end] }
    }

    /// So many available bytes have been read.
    pub fn take(&mut self, count: usize) {
        assert!(count <= self.available().len(), "they are there");
        self.begin += count;
    }

    /// The next bytes are of no interest.
    pub fn skip(&mut self, count: u64) {
        self.skipped += count;
        self.settle();
    }

    /// The next bytes are a payload of this length.
    pub fn begin_payload(&mut self, len: usize) {
        self.payload = Some(Payload { bytes: vec![0; len], filled: 0 });
        self.settle();
    }

    /// The payload, once it is whole.
    pub fn payload(&mut self) -> Option<Vec<u8>> {
        let payload = self.payload.take_if(|payload| payload.filled == payload.bytes.len())?;
        Some(payload.bytes)
    }

    /// The client sends no more.
    pub fn is_ended(&self) -> bool {
        self.ended
    }

    /// Nothing is there, and nothing is missing.
    pub fn is_between(&self) -> bool {
        self.begin == self.end && self.skipped == 0 && self.payload.is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The same bytes in pieces of any length: headers of two bytes, then a payload, then bytes to skip.
    #[test]
    fn pieces_of_any_length_make_the_same() {
        let sent: Vec<u8> = (0..400_000).map(|at: u32| (at % 251) as u8).collect();
        for piece in [1, 7, 4096, 100_000, 400_000] {
            let mut input = Input::default();
            let mut rest = &sent[..];
            let mut more = |input: &mut Input| {
                let count = piece.min(rest.len()).min(input.space().len());
                let (now, later) = rest.split_at(count);
                rest = later;
                input.space()[..count].copy_from_slice(now);
                input.filled(count);
            };
            while input.available().len() < 2 {
                more(&mut input);
            }
            assert_eq!(input.available()[..2], sent[..2]);
            input.take(2);
            input.begin_payload(300_000);
            let payload = loop {
                match input.payload() {
                    Some(payload) => break payload,
                    None => more(&mut input),
                }
            };
            assert!(payload == sent[2..300_002], "pieces of {piece}");
            input.skip(50_000);
            while input.available().is_empty() {
                more(&mut input);
            }
            assert_eq!(input.available()[0], sent[350_002], "pieces of {piece}");
        }
    }
}
