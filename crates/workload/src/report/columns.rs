//! Logs as columns of numbers, as numpy takes them.

/// A column of a log.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Column {
    /// Its name.
    pub name: &'static str,
    /// Its type as numpy spells it; it ends with the bytes that a value takes.
    pub dtype: &'static str,
    /// Its values, little-endian.
    pub bytes: Vec<u8>,
}

impl Column {
    /// Bytes that a value takes.
    pub fn width(&self) -> usize {
        let digit = self.dtype.bytes().last().expect("a type has a name");
        usize::from(digit - b'0')
    }
}

/// A number of a column.
pub trait Cell: Copy {
    /// Its type as numpy spells it.
    const DTYPE: &'static str;

    /// Adds its bytes, little-endian.
    fn put(self, to: &mut Vec<u8>);
}

macro_rules! cells {
    ($($type:ty = $dtype:literal),*) => {
        $(
            impl Cell for $type {
                const DTYPE: &'static str = $dtype;

                #[inline]
                fn put(self, to: &mut Vec<u8>) {
                    to.extend_from_slice(&self.to_le_bytes());
                }
            }
        )*
    };
}

cells!(u64 = "<u8", u32 = "<u4", u16 = "<u2", u8 = "u1", f64 = "<f8");

/// A column of these values.
pub fn column<C: Cell>(name: &'static str, values: impl Iterator<Item = C>) -> Column {
    let mut bytes = Vec::with_capacity(values.size_hint().0 * size_of::<C>());
    values.for_each(|value| value.put(&mut bytes));
    Column { name, dtype: C::DTYPE, bytes }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_has_its_values_in_the_order_of_numpys_type() {
        let made = column("x", [1_u16, 0x0203].into_iter());
        assert_eq!((made.name, made.dtype, &made.bytes[..]), ("x", "<u2", &[1, 0, 3, 2][..]));
        assert_eq!((made.width(), column("x", [0_u8].into_iter()).width()), (2, 1));
        assert_eq!(column("y", [-0.0_f64].into_iter()).bytes[7], 0x80);
    }
}
