//! The wire format of protocol buffers: fields with a number and a value, one after another.

/// Why bytes are no message.
pub(super) type Damage = &'static str;

/// The value of a field. Strings, bytes and messages look alike.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Value<'a> {
    Number(u64),
    Bytes(&'a [u8]),
}

impl<'a> Value<'a> {
    /// An integer of any kind; 0 for what is none.
    pub fn number(self) -> u64 {
        match self {
            Value::Number(number) => number,
            Value::Bytes(_) => 0,
        }
    }

    /// The bytes of a string or message; none for a number.
    pub fn bytes(self) -> &'a [u8] {
        match self {
            Value::Bytes(bytes) => bytes,
            Value::Number(_) => &[],
        }
    }

    /// Integers that stand one after another without keys (`packed`).
    pub fn packed(self) -> impl Iterator<Item = u64> + 'a {
        let mut rest = Message(self.bytes());
        std::iter::from_fn(move || if rest.0.is_empty() { None } else { rest.varint().ok() })
    }
}

/// The fields of a message that are left.
#[derive(Clone, Copy)]
pub(super) struct Message<'a>(pub &'a [u8]);

impl<'a> Message<'a> {
    /// Number and value of the next field; `None` at the end.
    pub fn field(&mut self) -> Result<Option<(u64, Value<'a>)>, Damage> {
        if self.0.is_empty() {
            return Ok(None);
        }
        let key = self.varint()?;
        let value = match key & 7 {
            0 => Value::Number(self.varint()?),
            1 => Value::Number(u64::from_le_bytes(self.array()?)),
            2 => {
                let length = self.varint()?;
                Value::Bytes(self.take(usize::try_from(length).map_err(|_| CUT)?)?)
            }
            5 => Value::Number(u32::from_le_bytes(self.array()?).into()),
            _ => return Err("a field has a wire type that protocol buffers no longer have"),
        };
        match key >> 3 {
            0 => Err("a field has the number 0"),
            number => Ok(Some((number, value))),
        }
    }

    /// Hands every field to `each`.
    pub fn fields(mut self, mut each: impl FnMut(u64, Value<'a>)) -> Result<(), Damage> {
        while let Some((number, value)) = self.field()? {
            each(number, value);
        }
        Ok(())
    }

    /// The same, until `each` finds something wrong.
    pub fn try_fields(mut self, mut each: impl FnMut(u64, Value<'a>) -> Result<(), Damage>) -> Result<(), Damage> {
        while let Some((number, value)) = self.field()? {
            each(number, value)?;
        }
        Ok(())
    }

    /// Number of the first field, and whether it has bytes.
    pub fn key(mut self) -> Result<(u64, bool), Damage> {
        self.varint().map(|key| (key >> 3, key & 7 == 2))
    }

    /// An integer that stands here, and how many bytes it takes.
    pub fn length(mut self) -> Result<(usize, u64), Damage> {
        let before = self.0.len();
        let length = self.varint()?;
        Ok((before - self.0.len(), length))
    }

    fn varint(&mut self) -> Result<u64, Damage> {
        let mut value = 0;
        for (at, &byte) in self.0.iter().take(10).enumerate() {
            value |= u64::from(byte & 0x7f) << (7 * at);
            if byte & 0x80 == 0 {
                self.0 = &self.0[at + 1..];
                return Ok(value);
            }
        }
        Err(if self.0.len() < 10 { CUT } else { "an integer has more than ten bytes" })
    }

    fn take(&mut self, length: usize) -> Result<&'a [u8], Damage> {
        let (taken, rest) = self.0.split_at_checked(length).ok_or(CUT)?;
        self.0 = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Damage> {
        self.take(N).map(|bytes| bytes.try_into().expect("as many as taken"))
    }
}

pub(super) const CUT: Damage = "it is cut off";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_kinds_of_fields_are_read() {
        let bytes =
            [&[0x08, 0xac, 0x02, 0x12, 2][..], b"hi", &[0x1d, 1, 0, 0, 0, 0x21, 2, 0, 0, 0, 0, 0, 0, 0]].concat();
        let mut message = Message(&bytes);
        let fields: Vec<_> = std::iter::from_fn(|| message.field().unwrap()).collect();
        let number = Value::Number;
        assert_eq!(fields, [(1, number(300)), (2, Value::Bytes(b"hi")), (3, number(1)), (4, number(2))]);
        assert_eq!(Value::Bytes(&[1, 0xac, 2, 3]).packed().collect::<Vec<_>>(), [1, 300, 3]);
        assert_eq!((Value::Bytes(b"x").number(), number(3).bytes()), (0, &b""[..]));
    }

    #[test]
    fn damaged_fields_are_told() {
        for (bytes, told) in [
            (&[0x08][..], CUT),
            (&[0x12, 3, 1], CUT),
            (&[0x0d, 1, 2], CUT),
            (&[0x0b], "a field has a wire type that protocol buffers no longer have"),
            (&[0x00, 1], "a field has the number 0"),
            (&[0x08, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1], "an integer has more than ten bytes"),
        ] {
            assert_eq!(Message(bytes).field(), Err(told), "{bytes:?}");
        }
    }
}
