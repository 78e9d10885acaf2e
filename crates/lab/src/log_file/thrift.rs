//! Thrift's compact protocol, as far as the headers of a Parquet file need it: structs are written, never read.

/// What comes before a field or an element: its type.
const TRUE: u8 = 1;
const FALSE: u8 = 2;
const BYTE: u8 = 3;
const I32: u8 = 5;
const I64: u8 = 6;
const BINARY: u8 = 8;
const LIST: u8 = 9;
const STRUCT: u8 = 12;

/// A struct that is being written: its fields, in ascending order of their numbers.
pub(super) struct Fields<'a> {
    to: &'a mut Vec<u8>,
    last: u8,
}

/// Writes a struct.
pub(super) fn write(to: &mut Vec<u8>, fields: impl FnOnce(&mut Fields<'_>)) {
    fields(&mut Fields { to, last: 0 });
    to.push(0);
}

/// Writes a number, seven bits a byte.
pub(super) fn varint(to: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        to.push(value as u8 | 0x80);
        value >>= 7;
    }
    to.push(value as u8);
}

/// A signed number as an unsigned one that is small if the number is near zero.
pub(super) fn zigzag(value: i64) -> u64 {
    (value << 1 ^ value >> 63) as u64
}

impl Fields<'_> {
    /// Begins a field. The short form is enough: no header of a file leaves out fifteen fields.
    fn begin(&mut self, field: u8, kind: u8) {
        debug_assert!(field > self.last && field - self.last < 16, "field {field} after {}", self.last);
        self.to.push((field - self.last) << 4 | kind);
        self.last = field;
    }

    /// A number of 32 bits.
    pub(super) fn int(&mut self, field: u8, value: i32) {
        self.begin(field, I32);
        varint(self.to, zigzag(value.into()));
    }

    /// A count or a place in the file, which has 64 bits.
    pub(super) fn long(&mut self, field: u8, value: usize) {
        self.begin(field, I64);
        varint(self.to, zigzag(value as i64));
    }

    /// A number of 8 bits.
    pub(super) fn byte(&mut self, field: u8, value: u8) {
        self.begin(field, BYTE);
        self.to.push(value);
    }

    /// Yes or no.
    pub(super) fn flag(&mut self, field: u8, value: bool) {
        self.begin(field, if value { TRUE } else { FALSE });
    }

    /// Text or bytes.
    pub(super) fn bytes(&mut self, field: u8, value: &[u8]) {
        self.begin(field, BINARY);
        put_bytes(self.to, value);
    }

    /// A struct in this one.
    pub(super) fn inside(&mut self, field: u8, fields: impl FnOnce(&mut Fields<'_>)) {
        self.begin(field, STRUCT);
        write(self.to, fields);
    }

    /// Structs, made of items.
    pub(super) fn structs<T>(&mut self, field: u8, items: &[T], mut one: impl FnMut(&T, &mut Fields<'_>)) {
        self.list(field, STRUCT, items.len());
        items.iter().for_each(|item| write(self.to, |fields| one(item, fields)));
    }

    /// Numbers of 32 bits.
    pub(super) fn ints(&mut self, field: u8, values: &[i32]) {
        self.list(field, I32, values.len());
        values.iter().for_each(|&value| varint(self.to, zigzag(value.into())));
    }

    /// One text in a list.
    pub(super) fn text_alone(&mut self, field: u8, text: &str) {
        self.list(field, BINARY, 1);
        put_bytes(self.to, text.as_bytes());
    }

    fn list(&mut self, field: u8, kind: u8, len: usize) {
        self.begin(field, LIST);
        match len {
            0..15 => self.to.push((len as u8) << 4 | kind),
            _ => {
                self.to.push(0xf0 | kind);
                varint(self.to, len as u64);
            }
        }
    }
}

fn put_bytes(to: &mut Vec<u8>, value: &[u8]) {
    varint(to, value.len() as u64);
    to.extend_from_slice(value);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_struct_has_the_bytes_of_the_protocol() {
        let mut to = Vec::new();
        write(&mut to, |fields| {
            fields.int(1, -3);
            fields.long(3, 300);
            fields.bytes(4, b"ab");
            fields.flag(6, true);
            fields.flag(7, false);
            fields.inside(8, |inner| inner.byte(1, 64));
            fields.ints(9, &[0, 5]);
            fields.structs(10, &[(); 15], |(), _| {});
        });
        let expected = [
            &[0x15, 5, 0x26, 0xd8, 4, 0x18, 2][..],
            b"ab",
            &[0x21, 0x12, 0x1c, 0x13, 64, 0, 0x19, 0x25, 0, 10, 0x19, 0xfc, 15],
            &[0; 15],
            &[0],
        ];
        assert_eq!(to, expected.concat());
    }
}
