//! Records as columns of numbers, as numpy takes them.
//!
//! A kind of record has a table of its columns, each declared once by [`column!`](crate::column): name, type, unit,
//! meaning, and what gives its value. Arrays in memory, files, frames and documentation are made from the table.

/// A column as it is declared, of records `R`.
#[derive(Clone, Copy, Debug)]
pub struct Declared<R> {
    /// Its name.
    pub name: &'static str,
    /// Its type as pandas spells it.
    pub dtype: &'static str,
    /// Its unit; empty if there is none.
    pub unit: &'static str,
    /// What it means.
    pub meaning: &'static str,
    /// Of a column of words: all of them, in the order of their places, if they are the same in every run.
    pub words: &'static [&'static str],
    /// Its type as numpy spells it.
    pub numpy: &'static str,
    /// Adds the values of some records, little-endian.
    pub fill: fn(&[R], &mut Vec<u8>),
}

/// Declares a column: `column!("name": u64, "unit", "meaning", |record| value)`. Types are those that implement
/// [`Cell`]; a [`Word`] may be followed by `in` and the list of all words.
#[macro_export]
macro_rules! column {
    (@words) => { &[] };
    (@words $words:expr) => { &$words };
    ($name:literal : $cell:ident $(in $words:expr)?, $unit:expr, $meaning:expr, |$record:ident| $value:expr) => {
        $crate::report::columns::Declared {
            name: $name,
            dtype: <$cell as $crate::report::columns::Cell>::DTYPE,
            unit: $unit,
            meaning: $meaning,
            words: $crate::column!(@words $($words)?),
            numpy: <$cell as $crate::report::columns::Cell>::NUMPY,
            fill: |records, to| {
                records.iter().for_each(|$record| <$cell as $crate::report::columns::Cell>::put($value, to));
            },
        }
    };
}

/// A column of some records.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Column {
    /// Its name.
    pub name: &'static str,
    /// Its type as numpy spells it.
    pub numpy: &'static str,
    /// Its values, little-endian.
    pub bytes: Vec<u8>,
}

/// Records that are turned into columns at a time: as many as stay in the nearest cache of a processor.
const BLOCK: usize = 64;

/// Some records as columns.
pub fn columns<'a, R: 'a>(
    declared: impl IntoIterator<Item = &'a Declared<R>>,
    mut records: impl Iterator<Item = R>,
) -> Vec<Column> {
    let declared: Vec<_> = declared.into_iter().collect();
    let new = |of: &&Declared<R>| Column { name: of.name, numpy: of.numpy, bytes: Vec::new() };
    let mut columns: Vec<Column> = declared.iter().map(new).collect();
    let mut block = Vec::with_capacity(BLOCK);
    loop {
        block.clear();
        block.extend(records.by_ref().take(BLOCK));
        if block.is_empty() {
            return columns;
        }
        declared.iter().zip(&mut columns).for_each(|(of, column)| (of.fill)(&block, &mut column.bytes));
    }
}

/// A value of a column.
pub trait Cell: Copy {
    /// The type of its column as pandas spells it.
    const DTYPE: &'static str;
    /// The same as numpy spells it.
    const NUMPY: &'static str;

    /// Adds its bytes, little-endian.
    fn put(self, to: &mut Vec<u8>);
}

/// A place in a list of words; none is stored as the largest number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Word(pub Option<u16>);

macro_rules! cells {
    ($($type:ty = $dtype:literal $numpy:literal, $value:ident => $number:expr;)*) => {
        $(
            impl Cell for $type {
                const DTYPE: &'static str = $dtype;
                const NUMPY: &'static str = $numpy;

                #[inline]
                fn put(self, to: &mut Vec<u8>) {
                    let $value = self;
                    to.extend_from_slice(&$number.to_le_bytes());
                }
            }
        )*
    };
}

cells! {
    u64 = "uint64" "<u8", number => number;
    u32 = "uint32" "<u4", number => number;
    f64 = "float64" "<f8", number => number;
    bool = "bool" "?", is => u8::from(is);
    Word = "category" "<u2", word => word.0.unwrap_or(u16::MAX);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_have_the_values_of_all_records_in_the_order_of_numpys_types() {
        let declared: [Declared<u16>; 3] = [
            column!("number": u32, "B", "a number", |record| u32::from(*record)),
            column!("odd": bool, "", "whether it is odd", |record| record % 2 == 1),
            column!("word": Word in ["zero", "one"], "", "its name", |record| Word((*record < 2).then_some(*record))),
        ];
        assert_eq!(
            declared.each_ref().map(|of| (of.name, of.dtype)),
            [("number", "uint32"), ("odd", "bool"), ("word", "category")]
        );
        assert_eq!((declared[0].words, declared[2].words), (&[][..], &["zero", "one"][..]));
        let count = 2 * BLOCK as u16 + 1;
        let [number, odd, word] = &columns(&declared, 0..count)[..] else { panic!("three columns") };
        assert_eq!((number.numpy, &number.bytes[..8]), ("<u4", &[0, 0, 0, 0, 1, 0, 0, 0][..]));
        assert_eq!((number.bytes.len(), odd.bytes.len()), (4 * usize::from(count), usize::from(count)));
        assert_eq!((&odd.bytes[..3], &word.bytes[..6]), (&[0, 1, 0][..], &[0, 0, 1, 0, 0xff, 0xff][..]));
    }
}
