//! The wire format of protocol buffers, as far as a timeline needs it:
//! <https://protobuf.dev/programming-guides/encoding>.

/// A message that is being written: its fields one after another.
#[derive(Clone, Default, Debug)]
pub(super) struct Message(Vec<u8>);

/// Wire types.
const VARINT: u64 = 0;
const FIXED_64: u64 = 1;
const LENGTH: u64 = 2;

impl Message {
    /// Its bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// Makes it empty, and keeps its memory.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// A field of an integer type without sign, of an enumeration, or of a number with sign that is not negative.
    pub fn number(&mut self, field: u64, value: u64) {
        self.varint(field << 3 | VARINT);
        self.varint(value);
    }

    /// A field of type `fixed64`.
    pub fn fixed(&mut self, field: u64, value: u64) {
        self.varint(field << 3 | FIXED_64);
        self.0.extend(value.to_le_bytes());
    }

    /// A field of type `string`.
    pub fn text(&mut self, field: u64, text: &str) {
        self.data(field, text.as_bytes());
    }

    /// A field that is a message.
    pub fn message(&mut self, field: u64, message: &Message) {
        self.data(field, message.bytes());
    }

    /// The same, written in place by `fill`.
    pub fn nested(&mut self, field: u64, fill: impl FnOnce(&mut Message)) {
        let mut inner = Message::default();
        fill(&mut inner);
        self.message(field, &inner);
    }

    fn data(&mut self, field: u64, data: &[u8]) {
        self.varint(field << 3 | LENGTH);
        self.varint(data.len() as u64);
        self.0.extend(data);
    }

    /// Seven bits in each byte, the lowest first; the highest bit says that more follow.
    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_as_in_the_specification_of_the_format() {
        let mut message = Message::default();
        // The examples "08 96 01" and "12 07 74 65 73 74 69 6e 67" of the specification.
        message.number(1, 150);
        message.text(2, "testing");
        assert_eq!(message.bytes(), b"\x08\x96\x01\x12\x07testing");
        message.clear();
        message.nested(3, |inner| inner.number(1, 150));
        assert_eq!(message.bytes(), b"\x1a\x03\x08\x96\x01");
        message.clear();
        message.fixed(16, 1);
        message.number(1, u64::MAX);
        assert_eq!(message.bytes()[..10], [0x81, 0x01, 1, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(message.bytes().len(), 10 + 1 + 10);
    }
}
