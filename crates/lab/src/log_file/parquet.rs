//! A Parquet file that grows: its columns, their pages, row groups, and the footer that tells where they are.
//!
//! Values of a column come in parts; each part is a page. The pages of a column wait until the row group is complete,
//! because they have to lie beside each other in the file. They are packed and compressed then already, so that a row
//! group takes little memory.
//!
//! Most columns of a log have the same value in each row, and others are packed so densely that to compress them takes
//! time and saves nothing. So the page of a constant part is made once and copied as long as nothing changes, and the
//! first page of a row group tells whether the others are to be compressed.

use std::io;

use zstd::bulk::Compressor;

use super::pack;
use super::thrift::{self, Fields};

const MAGIC: &[u8; 4] = b"PAR1";
/// What a file says of who has made it.
const MADE_BY: &[u8] = concat!("ufsim version ", env!("CARGO_PKG_VERSION")).as_bytes();
/// The fastest of the usual levels.
const LEVEL: i32 = 1;
/// A page that gets no smaller than this share of what it was is not worth it, in hundredths.
const WORTH: usize = 90;

// Numbers of the format.
const PLAIN: i32 = 0;
const RLE: i32 = 3;
const DIFFERENCES: i32 = 5;
const RLE_DICTIONARY: i32 = 8;
const STREAMS: i32 = 9;
const UNCOMPRESSED: i32 = 0;
const ZSTD: i32 = 6;
const DATA_PAGE: i32 = 0;
const DICTIONARY_PAGE: i32 = 2;

/// What a column holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    /// Whole numbers.
    Whole,
    /// Numbers, or none.
    Real,
    /// Yes or no.
    Switch,
    /// Words of a list, or none.
    Word,
}

impl Kind {
    fn physical(self) -> i32 {
        match self {
            Kind::Switch => 0,
            Kind::Whole => 2,
            Kind::Real => 5,
            Kind::Word => 6,
        }
    }

    fn is_optional(self) -> bool {
        matches!(self, Kind::Real | Kind::Word)
    }

    fn encoding(self) -> i32 {
        match self {
            Kind::Whole => DIFFERENCES,
            Kind::Real => STREAMS,
            Kind::Switch => PLAIN,
            Kind::Word => RLE_DICTIONARY,
        }
    }
}

/// A page, and how long it was before it was compressed; both with its header.
#[derive(Clone, Default, Debug)]
struct Pages {
    bytes: Vec<u8>,
    plain_len: usize,
}

impl Pages {
    fn add(&mut self, more: &Pages) {
        self.bytes.extend_from_slice(&more.bytes);
        self.plain_len += more.plain_len;
    }

    fn clear(&mut self) {
        self.bytes.clear();
        self.plain_len = 0;
    }
}

/// A column, and its pages of the row group that is being made.
#[derive(Debug)]
struct Column {
    name: String,
    kind: Kind,
    pages: Pages,
    /// Length of the first of them if it has the words that the others name, else 0.
    words_len: usize,
    /// Whether the pages of this row group are compressed, once that is known.
    compressed: Option<bool>,
    /// The last page whose values were all the same: their bits, how many, whether it was compressed.
    constant: Option<(u64, usize, bool)>,
    constant_page: Pages,
    /// Smallest and largest value, of columns that tell them.
    range: Option<(u64, u64)>,
    has_range: bool,
}

/// A column of a row group that is in the file.
#[derive(Debug)]
struct Chunk {
    /// Where its first page is, which has words if the column is of words.
    at: usize,
    /// Where its first page with values is.
    data_at: usize,
    len: usize,
    plain_len: usize,
    compressed: bool,
    range: Option<(u64, u64)>,
}

#[derive(Debug)]
struct RowGroup {
    rows: usize,
    chunks: Vec<Chunk>,
}

/// A file that is being made. What belongs to it next is in [`File::out`] until it is taken.
#[derive(Debug)]
pub(super) struct File {
    columns: Vec<Column>,
    groups: Vec<RowGroup>,
    packer: Packer,
    /// Bytes that have not been taken, and where in the file they begin.
    out: Vec<u8>,
    written: usize,
}

impl File {
    /// A file without rows, of columns: whether row groups tell the smallest and largest value, the name, the kind.
    pub(super) fn new(columns: impl Iterator<Item = (bool, String, Kind)>) -> io::Result<File> {
        let column = |(has_range, name, kind)| Column {
            name,
            kind,
            pages: Pages::default(),
            words_len: 0,
            compressed: None,
            constant: None,
            constant_page: Pages::default(),
            range: None,
            has_range,
        };
        let (columns, packer) = (columns.map(column).collect(), Packer::new()?);
        Ok(File { columns, groups: Vec::new(), packer, out: MAGIC.to_vec(), written: 0 })
    }

    /// Takes what has to be put to the end of the file.
    pub(super) fn take(&mut self) -> Vec<u8> {
        self.written += self.out.len();
        std::mem::take(&mut self.out)
    }

    /// The next values of a column of whole numbers.
    pub(super) fn whole(&mut self, column: usize, values: &[u64]) -> io::Result<()> {
        let Some(&first) = values.first() else { return Ok(()) };
        let to = &mut self.columns[column];
        if to.has_range {
            let (low, high) = to.range.unwrap_or((first, first));
            let range = values.iter().fold((low, high), |(low, high), &value| (low.min(value), high.max(value)));
            to.range = Some(range);
        }
        let constant = values.iter().all(|&value| value == first).then_some(first);
        to.page(&mut self.packer, values.len(), constant, |to| pack::differences(values, to))
    }

    /// The next values of a column of whole numbers, all of which are 0.
    pub(super) fn zeros(&mut self, column: usize, times: usize) -> io::Result<()> {
        self.columns[column].page(&mut self.packer, times, Some(0), |to| pack::differences(&vec![0; times], to))
    }

    /// The next values of a column of numbers; what is not a number is none.
    pub(super) fn real(&mut self, column: usize, values: &[f64]) -> io::Result<()> {
        let first = values.first().copied().unwrap_or_default();
        let constant = values.iter().all(|value| value.to_bits() == first.to_bits()).then_some(first.to_bits());
        self.columns[column].page(&mut self.packer, values.len(), constant, |to| {
            put_levels(values.iter().map(|value| !value.is_nan()), values.len(), to);
            match values.iter().any(|value| value.is_nan()) {
                true => pack::streams(&values.iter().copied().filter(|v| !v.is_nan()).collect::<Vec<_>>(), to),
                false => pack::streams(values, to),
            }
        })
    }

    /// The next values of a column of switches.
    pub(super) fn switch(&mut self, column: usize, values: &[bool]) -> io::Result<()> {
        let first = values.first().copied().unwrap_or_default();
        let constant = values.iter().all(|&value| value == first).then_some(u64::from(first));
        self.columns[column].page(&mut self.packer, values.len(), constant, |to| pack::switches(values, to))
    }

    /// All values of a column of words in this row group, as places in a list of words; a place behind the last is
    /// none.
    pub(super) fn words<T: AsRef<str>>(&mut self, column: usize, places: &[u16], words: &[T]) -> io::Result<()> {
        let to = &mut self.columns[column];
        let is_word = |place: u16| usize::from(place) < words.len();
        let mut dictionary = Vec::new();
        for word in words {
            dictionary.extend_from_slice(&(word.as_ref().len() as u32).to_le_bytes());
            dictionary.extend_from_slice(word.as_ref().as_bytes());
        }
        to.compressed = Some(true);
        let page = Header { kind: DICTIONARY_PAGE, values: words.len(), encoding: PLAIN };
        self.packer.page(&page, &dictionary, true, &mut to.pages)?;
        to.words_len = to.pages.bytes.len();
        to.page(&mut self.packer, places.len(), None, |to| {
            put_levels(places.iter().map(|&place| is_word(place)), places.len(), to);
            let there: Vec<u16> = places.iter().copied().filter(|&place| is_word(place)).collect();
            let width = pack::width_of_place(there.iter().copied().max().unwrap_or_default());
            to.push(width);
            pack::places(&there, width, to);
        })
    }

    /// Ends a row group: puts the pages of all columns, each of which has so many values, to the end of the file.
    pub(super) fn end_group(&mut self, rows: usize) {
        let mut chunks = Vec::with_capacity(self.columns.len());
        for column in &mut self.columns {
            let at = self.written + self.out.len();
            chunks.push(Chunk {
                at,
                data_at: at + std::mem::take(&mut column.words_len),
                len: column.pages.bytes.len(),
                plain_len: column.pages.plain_len,
                compressed: column.compressed.take().unwrap_or(false),
                range: column.range.take(),
            });
            self.out.extend_from_slice(&column.pages.bytes);
            column.pages.clear();
        }
        self.groups.push(RowGroup { rows, chunks });
    }

    /// Ends the file. `about` is what it says of itself, by keys.
    pub(super) fn end(&mut self, about: &[(Vec<u8>, Vec<u8>)]) {
        let begin = self.out.len();
        let mut out = std::mem::take(&mut self.out);
        thrift::write(&mut out, |file| {
            file.int(1, 2);
            self.put_schema(file);
            file.long(3, self.groups.iter().map(|group| group.rows).sum());
            file.structs(4, &self.groups, |group, to| self.put_group(group, to));
            file.structs(5, about, |(key, value), to| {
                to.bytes(1, key);
                to.bytes(2, value);
            });
            file.bytes(6, MADE_BY);
            // Numbers are compared as their types say; without this nobody may use the ranges.
            file.structs(7, &self.columns, |_, order| order.inside(1, |_| {}));
        });
        let len = (out.len() - begin) as u32;
        out.extend_from_slice(&len.to_le_bytes());
        out.extend_from_slice(MAGIC);
        self.out = out;
    }

    fn put_schema(&self, file: &mut Fields<'_>) {
        let elements: Vec<Option<&Column>> = std::iter::once(None).chain(self.columns.iter().map(Some)).collect();
        file.structs(2, &elements, |element, to| match element {
            None => {
                to.bytes(4, b"schema");
                to.int(5, self.columns.len() as i32);
            }
            Some(column) => {
                to.int(1, column.kind.physical());
                to.int(3, i32::from(column.kind.is_optional()));
                to.bytes(4, column.name.as_bytes());
                match column.kind {
                    Kind::Whole => {
                        to.int(6, 14);
                        to.inside(10, |logical| {
                            logical.inside(10, |integer| {
                                integer.byte(1, 64);
                                integer.flag(2, false);
                            });
                        });
                    }
                    Kind::Word => {
                        to.int(6, 0);
                        to.inside(10, |logical| logical.inside(1, |_| {}));
                    }
                    Kind::Real | Kind::Switch => {}
                }
            }
        });
    }

    fn put_group(&self, group: &RowGroup, to: &mut Fields<'_>) {
        let columns: Vec<_> = self.columns.iter().zip(&group.chunks).collect();
        to.structs(1, &columns, |(column, chunk), to| {
            to.long(2, 0);
            to.inside(3, |about| put_chunk(column, chunk, group.rows, about));
        });
        to.long(2, group.chunks.iter().map(|chunk| chunk.plain_len).sum());
        to.long(3, group.rows);
    }
}

fn put_chunk(column: &Column, chunk: &Chunk, rows: usize, to: &mut Fields<'_>) {
    to.int(1, column.kind.physical());
    // That of the words, of what says which values there are, and of the values.
    to.ints(2, &[PLAIN, RLE, column.kind.encoding()]);
    to.text_alone(3, &column.name);
    to.int(4, if chunk.compressed { ZSTD } else { UNCOMPRESSED });
    to.long(5, rows);
    to.long(6, chunk.plain_len);
    to.long(7, chunk.len);
    to.long(9, chunk.data_at);
    if chunk.data_at > chunk.at {
        to.long(11, chunk.at);
    }
    if let Some((least, most)) = chunk.range {
        to.inside(12, |range| {
            range.long(3, 0);
            range.bytes(5, &most.to_le_bytes());
            range.bytes(6, &least.to_le_bytes());
        });
    }
}

/// Which of so many values there are: a bit for each. `true` means that there is one.
fn put_levels(there: impl Iterator<Item = bool> + Clone, values: usize, to: &mut Vec<u8>) {
    let begin = to.len();
    to.extend_from_slice(&[0; 4]);
    let all: Vec<u16> = there.map(u16::from).collect();
    debug_assert_eq!(all.len(), values);
    pack::places(&all, 1, to);
    let len = (to.len() - begin - 4) as u32;
    to[begin..begin + 4].copy_from_slice(&len.to_le_bytes());
}

impl Column {
    /// Adds a page of so many values, which `write` writes. `constant` is the bits of the value if all are the same.
    fn page(
        &mut self,
        packer: &mut Packer,
        values: usize,
        constant: Option<u64>,
        write: impl FnOnce(&mut Vec<u8>),
    ) -> io::Result<()> {
        let kind = Header { kind: DATA_PAGE, values, encoding: self.kind.encoding() };
        if let Some(bits) = constant {
            // Where it does not matter, the first page of a row group does not decide for the others.
            let compressed = self.compressed.unwrap_or(true);
            if self.constant != Some((bits, values, compressed)) {
                self.constant = Some((bits, values, compressed));
                self.constant_page.clear();
                let plain = packer.plain(write);
                packer.page(&kind, &plain, compressed, &mut self.constant_page)?;
                packer.plain = plain;
            }
            self.compressed = Some(compressed);
            self.pages.add(&self.constant_page);
            return Ok(());
        }
        let plain = packer.plain(write);
        let compressed = match self.compressed {
            Some(compressed) => compressed,
            None => packer.gains(&plain)?,
        };
        self.compressed = Some(compressed);
        packer.page(&kind, &plain, compressed, &mut self.pages)?;
        packer.plain = plain;
        Ok(())
    }
}

/// What the header of a page says.
struct Header {
    kind: i32,
    values: usize,
    encoding: i32,
}

/// Makes pages, in memory that it keeps.
struct Packer {
    compressor: Compressor<'static>,
    plain: Vec<u8>,
    packed: Vec<u8>,
}

impl std::fmt::Debug for Packer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Packer")
    }
}

impl Packer {
    fn new() -> io::Result<Packer> {
        Ok(Packer { compressor: Compressor::new(LEVEL)?, plain: Vec::new(), packed: Vec::new() })
    }

    /// What `write` writes, in memory that goes back to `self.plain`.
    fn plain(&mut self, write: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
        let mut plain = std::mem::take(&mut self.plain);
        plain.clear();
        write(&mut plain);
        plain
    }

    fn compress(&mut self, plain: &[u8]) -> io::Result<()> {
        self.packed.clear();
        self.packed.reserve(zstd::zstd_safe::compress_bound(plain.len()));
        self.compressor.compress_to_buffer(plain, &mut self.packed).map(drop)
    }

    /// True if compressing is worth it.
    fn gains(&mut self, plain: &[u8]) -> io::Result<bool> {
        self.compress(plain)?;
        Ok(self.packed.len() * 100 < plain.len() * WORTH)
    }

    /// Adds a page.
    fn page(&mut self, about: &Header, plain: &[u8], compressed: bool, to: &mut Pages) -> io::Result<()> {
        if compressed {
            self.compress(plain)?;
        }
        let body = if compressed { &self.packed } else { plain };
        let begin = to.bytes.len();
        thrift::write(&mut to.bytes, |page| {
            page.int(1, about.kind);
            page.int(2, plain.len() as i32);
            page.int(3, body.len() as i32);
            let values = about.values as i32;
            if about.kind == DICTIONARY_PAGE {
                page.inside(7, |words| {
                    words.int(1, values);
                    words.int(2, about.encoding);
                });
            } else {
                page.inside(5, |data| {
                    data.int(1, values);
                    data.int(2, about.encoding);
                    // How it says which values there are.
                    data.int(3, RLE);
                    data.int(4, RLE);
                });
            }
        });
        to.plain_len += to.bytes.len() - begin + plain.len();
        to.bytes.extend_from_slice(body);
        Ok(())
    }
}
