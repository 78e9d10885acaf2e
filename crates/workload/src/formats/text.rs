//! Lines and fields of text files, and the errors that name them.

use crate::TraceError;
use crate::text_file::bytes_without_mark;

/// One line of a text file, without its end.
#[derive(Clone, Copy)]
pub(crate) struct Line<'a> {
    pub file: &'a str,
    /// From 1.
    pub number: u64,
    pub text: &'a [u8],
}

/// The lines of a file, the empty ones left out, and the byte order mark at its beginning.
pub(crate) fn lines<'a>(file: &'a str, bytes: &'a [u8]) -> impl Iterator<Item = Line<'a>> {
    let numbered = (1..).zip(bytes_without_mark(bytes).split(|&b| b == b'\n'));
    numbered.filter_map(move |(number, text)| {
        let text = text.strip_suffix(b"\r").unwrap_or(text);
        (!text.trim_ascii().is_empty()).then_some(Line { file, number, text })
    })
}

/// Where one finds `part` in `text`.
pub(crate) fn find(text: &[u8], part: &[u8]) -> Option<usize> {
    text.windows(part.len()).position(|window| window == part)
}

impl<'a> Line<'a> {
    /// True if it is the last line of its file, and has no end: whoever wrote it may have been stopped within it.
    pub fn is_cut(self, file: &[u8]) -> bool {
        self.text.as_ptr_range().end == file.as_ptr_range().end
    }

    /// Where it is.
    pub fn place(self) -> String {
        format!("{}: line {}", self.file, self.number)
    }

    /// Fields with a separator between.
    pub fn separated(self, separator: u8) -> Fields<'a> {
        Fields { line: self, at: 0, separator: Some(separator) }
    }

    /// Fields with any white space between.
    pub fn words(self) -> Fields<'a> {
        Fields { line: self, at: 0, separator: None }
    }

    /// Fields with any white space between, from a byte of the line on.
    pub fn words_from(self, at: usize) -> Fields<'a> {
        Fields { line: self, at, separator: None }
    }

    /// A part of the line as a field.
    pub fn field(self, range: std::ops::Range<usize>, what: &'static str) -> Field<'a> {
        Field { line: self, at: range.start, text: &self.text[range], what }
    }

    /// An error at a byte of the line, counted from 0.
    pub fn error(self, at: usize, problem: String) -> TraceError {
        TraceError::Line { file: self.file.into(), line: self.number, column: at as u64 + 1, problem }
    }
}

/// The fields of a line, from left to right.
#[derive(Clone, Copy)]
pub(crate) struct Fields<'a> {
    line: Line<'a>,
    at: usize,
    separator: Option<u8>,
}

impl<'a> Fields<'a> {
    /// The byte of the line up to which fields have been taken.
    pub fn at(&self) -> usize {
        self.at
    }

    /// The next field, which has to be there.
    pub fn need(&mut self, what: &'static str) -> Result<Field<'a>, TraceError> {
        self.optional(what).ok_or_else(|| {
            let end = self.line.text.trim_ascii_end().len();
            self.line.error(end, format!("the line ends where the {what} is expected"))
        })
    }

    /// The next field, if there is one.
    pub fn optional(&mut self, what: &'static str) -> Option<Field<'a>> {
        let text = self.line.text;
        if self.separator.is_none() {
            self.at += text.get(self.at..)?.iter().take_while(|b| b.is_ascii_whitespace()).count();
        }
        let rest = text.get(self.at..).filter(|rest| !rest.is_empty() || self.separator.is_some())?;
        let ends = |b: &u8| self.separator.map_or(b.is_ascii_whitespace(), |separator| *b == separator);
        let length = rest.iter().position(ends).unwrap_or(rest.len());
        let at = self.at;
        // One past the end of the line says that the last field is taken, even an empty one.
        self.at += length + 1;
        Some(Field { line: self.line, at, text: &rest[..length], what })
    }

    /// Everything that is left of the line: a field that may hold separators.
    pub fn rest(&mut self, what: &'static str) -> Result<Field<'a>, TraceError> {
        let first = self.need(what)?;
        let text = &self.line.text[first.at..];
        self.at = self.line.text.len() + 1;
        Ok(Field { text, ..first })
    }

    /// Nothing may be left.
    pub fn end(&mut self) -> Result<(), TraceError> {
        match self.optional("end of the line") {
            Some(field) => Err(field.wrong("nothing: the line has too many fields")),
            None => Ok(()),
        }
    }
}

/// A part of a line.
#[derive(Clone, Copy)]
pub(crate) struct Field<'a> {
    line: Line<'a>,
    at: usize,
    pub text: &'a [u8],
    what: &'static str,
}

impl<'a> Field<'a> {
    /// An error that names the field, its value and what is allowed.
    pub fn wrong(self, allowed: &str) -> TraceError {
        let shown: String = String::from_utf8_lossy(self.text).chars().take(40).collect();
        self.line.error(self.at, format!("{} is '{shown}'; allowed: {allowed}", self.what))
    }

    /// The same field under another name.
    pub fn named(self, what: &'static str) -> Field<'a> {
        Field { what, ..self }
    }

    /// The field without what stands at its end.
    pub fn without(self, end: &[u8]) -> Field<'a> {
        Field { text: self.text.strip_suffix(end).unwrap_or(self.text), ..self }
    }

    /// The bytes from here to the end of a later field of the line.
    pub fn until(self, last: Field<'a>) -> &'a [u8] {
        &self.line.text[self.at..last.at + last.text.len()]
    }

    /// The text, wrong bytes replaced.
    pub fn string(self) -> std::borrow::Cow<'a, str> {
        String::from_utf8_lossy(self.text)
    }

    /// A whole number, spaces around it ignored.
    pub fn number(self) -> Result<u64, TraceError> {
        self.number_below(u64::MAX)
    }

    /// A whole number of at most `most`. Tables of floating point numbers write `3000.0`.
    pub fn number_below(self, most: u64) -> Result<u64, TraceError> {
        let text = self.text.trim_ascii();
        let point = text.iter().position(|&b| b == b'.').filter(|&at| text[at + 1..].iter().all(|&b| b == b'0'));
        let digits = &text[..point.unwrap_or(text.len())];
        digits_of(digits).filter(|&n| n <= most).ok_or_else(|| self.wrong(&format!("a whole number from 0 to {most}")))
    }

    /// Decimal seconds in nanoseconds, rounded.
    pub fn seconds(self) -> Result<u64, TraceError> {
        decimal_ns(self.text.trim_ascii())
            .ok_or_else(|| self.wrong("seconds from 0 to 18446744073 as a decimal number, such as 12.345678"))
    }

    /// Sectors of 512 B in bytes. What no device has is told when the address is known.
    pub fn sectors(self) -> Result<u64, TraceError> {
        Ok(self.number()?.saturating_mul(crate::SECTOR_BYTES))
    }
}

fn digits_of(digits: &[u8]) -> Option<u64> {
    let digit = |b: u8| b.is_ascii_digit().then(|| u64::from(b - b'0'));
    let add = |n: u64, b: &u8| n.checked_mul(10)?.checked_add(digit(*b)?);
    if digits.is_empty() { None } else { digits.iter().try_fold(0, add) }
}

fn decimal_ns(text: &[u8]) -> Option<u64> {
    let point = text.iter().position(|&b| b == b'.').unwrap_or(text.len());
    let fraction = text.get(point + 1..).unwrap_or_default();
    if !fraction.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let nine = |n: u64, i: usize| n * 10 + fraction.get(i).map_or(0, |b| u64::from(b - b'0'));
    // Sums of floating point numbers, as some tools print them, have digits beyond the nanosecond.
    let round = u64::from(fraction.get(9).is_some_and(|&b| b >= b'5'));
    let ns = (0..9).fold(0, nine) + round;
    digits_of(&text[..point])?.checked_mul(1_000_000_000)?.checked_add(ns)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(text: &[u8]) -> Line<'_> {
        Line { file: "f", number: 3, text }
    }

    #[test]
    fn fields_know_their_columns() {
        let mut fields = line(b"ab,,c").separated(b',');
        let columns: Vec<_> = std::iter::from_fn(|| fields.optional("x")).map(|f| (f.at, f.text)).collect();
        assert_eq!(columns, [(0, &b"ab"[..]), (3, b""), (4, b"c")]);
        let mut words = line(b"  ab   c ").words();
        let columns: Vec<_> = std::iter::from_fn(|| words.optional("x")).map(|f| (f.at, f.text)).collect();
        assert_eq!(columns, [(2, &b"ab"[..]), (7, b"c")]);
        let mut short = line(b"7 ").words();
        assert_eq!(short.need("time").unwrap().text, b"7");
        let error = short.need("sector").err().unwrap().to_string();
        assert_eq!(error, "f: line 3, column 2: the line ends where the sector is expected");
    }

    #[test]
    fn seconds_are_exact_to_the_nanosecond() {
        for (text, ns) in [
            ("0", Some(0)),
            ("146.173670", Some(146_173_670_000)),
            ("48750.608267999996", Some(48_750_608_268_000)),
            ("0.9999999999", Some(1_000_000_000)),
            ("12.", Some(12_000_000_000)),
            (".5", None),
            ("1e3", None),
            ("-1", None),
            ("1.5x", None),
            ("99999999999", None),
        ] {
            assert_eq!(decimal_ns(text.as_bytes()), ns, "{text}");
        }
    }

    #[test]
    fn numbers_have_a_range() {
        let field = line(b"x 18446744073709551616").words();
        let mut fields = field;
        let error = fields.need("size").unwrap().number().unwrap_err().to_string();
        assert_eq!(error, "f: line 3, column 1: size is 'x'; allowed: a whole number from 0 to 18446744073709551615");
        assert!(fields.need("size").unwrap().number().is_err());
    }

    #[test]
    fn whole_numbers_may_be_written_as_floating_point_numbers() {
        let of = |text: &str| line(text.as_bytes()).words().need("size").unwrap().number().ok();
        let texts = ["3000.0", "7.", "0.000", "7.5", ".0", "1.0.0", "1e3"];
        assert_eq!(texts.map(of), [Some(3000), Some(7), Some(0), None, None, None, None]);
    }
}
