//! How the bytes of a trace come in: never more of them than one file may have, and none behind a record that is no
//! record. A file that never ends (`/dev/zero`, a compressed one that unpacks to zeros) is refused at its beginning.

use std::io::{self, Read};

use flate2::read::MultiGzDecoder;
use liblzma::read::XzDecoder;
use liblzma::stream::{CONCATENATED, Stream};

use super::{Format, TraceError, TraceFile};
use crate::formats::HEAD_BYTES;
use crate::formats::frame::{Frame, Framing};
use crate::text_file::is_utf16;

/// Largest file, unpacked if it is compressed.
const MAX_FILE_BYTES: usize = 1 << 32;

/// Longest line of a text: events of ftrace have some hundred bytes.
const MAX_LINE_BYTES: usize = 1 << 20;

/// Bytes that are taken at a time.
const CHUNK_BYTES: usize = 1 << 16;

/// Most memory that unpacking takes: `xz -9` needs 65 MiB.
const XZ_MEMORY_BYTES: u64 = 1 << 28;

const GZIP_MAGIC: &[u8] = &[0x1f, 0x8b];
const XZ_MAGIC: &[u8] = b"\xfd7zXZ\0";
const ZSTD_MAGIC: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd];

/// Whether these bytes begin a compressed file.
fn is_packed(head: &[u8]) -> bool {
    [GZIP_MAGIC, XZ_MAGIC, ZSTD_MAGIC].iter().any(|magic| head.starts_with(magic))
}

impl TraceFile {
    /// Unpacks the contents, if they are compressed, or UTF-16.
    pub(crate) fn unpack(&mut self) -> Result<(), TraceError> {
        if is_packed(&self.bytes) || is_utf16(&self.bytes) {
            *self = take_in(&self.name, self.bytes.as_slice(), Expected::default())?;
        }
        Ok(())
    }
}

/// Takes a file in, unpacked if it is compressed by gzip, xz or zstd. One that ends too early, as that of a recording
/// that was killed or of a copy that was broken off, is what could be unpacked of it.
///
/// # Errors
/// [`TraceError::Io`], [`TraceError::Compressed`], [`TraceError::TooLarge`], [`TraceError::Line`] for a line that is
/// too long.
pub(super) fn take_in(name: &str, mut from: impl Read, expected: Expected) -> Result<TraceFile, TraceError> {
    let io = |source| TraceError::Io { file: name.to_owned(), source };
    let mut head = Vec::new();
    from.by_ref().take(CHUNK_BYTES as u64).read_to_end(&mut head).map_err(io)?;
    let damaged = |method| {
        move |error: io::Error| TraceError::Compressed { file: name.to_owned(), method, reason: error.to_string() }
    };
    let bytes = if is_packed(&head) { 0 } else { expected.bytes };
    let intake = Intake { name, expected: Expected { bytes, ..expected }, most: MAX_FILE_BYTES };
    let taken = if head.starts_with(GZIP_MAGIC) {
        intake.all(MultiGzDecoder::new(head.chain(from)), damaged("gzip"))
    } else if head.starts_with(XZ_MAGIC) {
        let stream = Stream::new_stream_decoder(XZ_MEMORY_BYTES, CONCATENATED).map_err(io::Error::from);
        let stream = stream.map_err(damaged("xz"))?;
        intake.all(XzDecoder::new_stream(io::BufReader::new(head.chain(from)), stream), damaged("xz"))
    } else if head.starts_with(ZSTD_MAGIC) {
        intake.all(zstd::Decoder::new(head.chain(from)).map_err(damaged("zstd"))?, damaged("zstd"))
    } else {
        intake.all(head.chain(from), io)
    };
    let (mut bytes, cut) = taken?;
    if let Some(text) = crate::text_file::from_utf16(&bytes) {
        bytes = text.into_bytes();
    }
    Ok(TraceFile { name: name.to_owned(), bytes, cut })
}

/// What is known of a file before it is read.
#[derive(Clone, Copy, Default)]
pub(super) struct Expected {
    /// What it must have; otherwise what its beginning shows.
    pub format: Option<Format>,
    /// A file whose beginning shows nothing is of no use: no more than the beginning is taken.
    pub recognised: bool,
    /// Bytes to make room for; there may be more or fewer.
    pub bytes: u64,
}

/// A file that is taken in.
struct Intake<'a> {
    name: &'a str,
    expected: Expected,
    /// Most bytes.
    most: usize,
}

impl Intake<'_> {
    /// Takes everything, as long as it can be right. Behind a record that is none nothing more is taken: the format's
    /// reader says what is wrong there. True if compressed data end too early: of a text, whole lines are taken then.
    fn all(
        &self,
        mut from: impl Read,
        failed: impl Fn(io::Error) -> TraceError,
    ) -> Result<(Vec<u8>, bool), TraceError> {
        let mut bytes = Vec::with_capacity(self.most.min(self.expected.bytes as usize));
        let mut framing = None;
        // Bytes that belong to whole records, and lines among them.
        let (mut checked, mut lines) = (0, 0);
        loop {
            let before = bytes.len();
            let ended = match from.by_ref().take(CHUNK_BYTES as u64).read_to_end(&mut bytes) {
                Ok(0) => return Ok((bytes, false)),
                Ok(_) => false,
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof && !bytes.is_empty() => true,
                Err(error) => return Err(failed(error)),
            };
            let taken = bytes.len() - before;
            if bytes.len() > self.most {
                return Err(TraceError::TooLarge { file: self.name.to_owned(), most: self.most as u64 });
            }
            if framing.is_none() {
                // A chunk is as long as the beginning by which a format is recognised.
                let format = self.expected.format.or_else(|| Format::recognise(&bytes));
                let known = format.is_some() || is_utf16(&bytes);
                if !known && self.expected.recognised {
                    return Ok((bytes, ended));
                }
                framing = Some(format.map_or(Framing::Lines, Format::framing));
            }
            match framing.as_ref().expect("just chosen") {
                Framing::Lines => {
                    let new = &bytes[bytes.len() - taken..];
                    if let Some(end) = new.iter().rposition(|&b| b == b'\n') {
                        checked = bytes.len() - taken + end + 1;
                        lines += new.iter().filter(|&&b| b == b'\n').count() as u64;
                    }
                    if bytes.len() - checked > MAX_LINE_BYTES {
                        return Err(self.too_long(lines + 1));
                    }
                }
                Framing::Records(next) => loop {
                    match next(&bytes[checked..]) {
                        Frame::Whole(length) => checked += length,
                        Frame::Unfinished => break,
                        Frame::Wrong => return Ok((bytes, ended)),
                    }
                },
            }
            if ended {
                if matches!(framing, Some(Framing::Lines)) {
                    bytes.truncate(checked);
                }
                return Ok((bytes, true));
            }
        }
    }

    fn too_long(&self, line: u64) -> TraceError {
        let problem = format!("the line has no end within {MAX_LINE_BYTES} bytes; this is no text of a trace");
        TraceError::Line { file: self.name.to_owned(), line, column: 1, problem }
    }
}

const _: () = assert!(CHUNK_BYTES >= HEAD_BYTES);

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;
    use crate::endless::Endless;
    use crate::{Trace, TraceOptions};

    /// The longest line, the chunk in which it is noticed, and the beginning.
    const MOST_TAKEN: u64 = (MAX_LINE_BYTES + 2 * CHUNK_BYTES) as u64;

    /// What reading an endless repetition of `bytes` ends with, once at most so much was taken.
    fn refused(bytes: &[u8], format: Option<Format>, most_taken: u64) -> String {
        let mut endless = Endless::new(bytes);
        let outcome = take_in("t", &mut endless, Expected { format, recognised: true, bytes: 0 });
        assert!(endless.taken <= most_taken, "{format:?}: {} bytes taken", endless.taken);
        let options = TraceOptions { format, ..TraceOptions::default() };
        let error = outcome.and_then(|file| Trace::parse("t", vec![file], &options)).unwrap_err().to_string();
        assert!(error.starts_with("t: ") && error.len() < 300 && !error.contains('\n'), "{error}");
        error
    }

    #[test]
    fn zeros_and_a_line_without_an_end_are_refused_in_every_format() {
        for format in Format::ALL.iter().copied().map(Some).chain([None]) {
            for bytes in [&b"\0"[..], b"1", b"a,b ", b"0,read,"] {
                refused(bytes, format, MOST_TAKEN);
            }
        }
        assert!(refused(b"\0", None, MOST_TAKEN).starts_with("t: no trace format fits its beginning"));
        let told = "t: line 1, column 1: the line has no end within 1048576 bytes; this is no text of a trace";
        assert_eq!(refused(b"\0", Some(Format::Csv), MOST_TAKEN), told);
        let told = "t: event 1 at byte offset 0 begins with 0x00000000, not with the blktrace magic 0x65617407";
        assert_eq!(refused(b"\0", Some(Format::Blktrace), CHUNK_BYTES as u64 * 2), told);
    }

    #[test]
    fn a_packet_or_line_that_grows_without_an_end_is_refused() {
        // A packet that says that it has 2^40 bytes, and one that has 63 MiB of a field that says so as well.
        let told = refused(&[0x0a, 0x80, 0x80, 0x80, 0x80, 0x80, 0x20], Some(Format::Perfetto), MOST_TAKEN);
        assert_eq!(told, "t: packet 1 at byte offset 0: it is longer than 64 MiB");
        refused(&[0x0a, 0x80, 0x80, 0x80, 0x1f], Some(Format::Perfetto), (64 << 20) + MOST_TAKEN);
        let command = b": ufshcd_command: send_req: ufs: tag: 0, DB: 0x0, ";
        refused(command, Some(Format::Ftrace), MOST_TAKEN);
    }

    #[test]
    fn a_device_that_never_ends_is_refused() {
        for format in Format::ALL {
            let options = TraceOptions { format: Some(*format), ..TraceOptions::default() };
            let error = Trace::read(std::path::Path::new("/dev/zero"), &options).unwrap_err();
            assert!(error.to_string().starts_with("/dev/zero: "), "{error}");
        }
        assert!(Trace::read(std::path::Path::new("/dev/zero"), &TraceOptions::default()).is_err());
    }

    /// Zeros, compressed without an end: more packed bytes come as long as they are asked for.
    #[test]
    fn compressed_zeros_are_refused_in_every_format() {
        let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
        let mut xz = liblzma::write::XzEncoder::new(Vec::new(), 0);
        for _ in 0..16 {
            gzip.write_all(&[0; 1 << 20]).unwrap();
            xz.write_all(&[0; 1 << 20]).unwrap();
        }
        // Members one after another are one file.
        for packed in [gzip.finish().unwrap(), xz.finish().unwrap()] {
            for format in Format::ALL.iter().copied().map(Some).chain([None]) {
                refused(&packed, format, MOST_TAKEN);
            }
        }
    }

    /// Right records without an end come up to the largest file, and no further.
    #[test]
    fn right_records_without_an_end_are_refused_at_the_largest_file() {
        let most = 1 << 20;
        let mut event = [0; 48];
        event[..4].copy_from_slice(&0x6561_7407_u32.to_le_bytes());
        let mut scsi = [0; 40];
        (scsi[0], scsi[3]) = (0x28, 2);
        for (bytes, format) in [
            (&b"0,read,8:0,8,4096,,,a\n"[..], Format::Csv),
            (b"8,0 0 1 0.000000001 7 Q R 8 + 8 [a]\n", Format::Blkparse),
            (&event, Format::Blktrace),
            (&[0x0a, 2, 0x40, 7], Format::Perfetto),
            (&scsi, Format::Vscsi),
        ] {
            let mut endless = Endless::new(bytes);
            let intake = Intake { name: "t", expected: Expected { format: Some(format), ..Expected::default() }, most };
            let error = intake.all(&mut endless, |_| unreachable!()).unwrap_err().to_string();
            assert_eq!(error, "t: has more than 1048576 bytes; read a part of it, or a file with fewer events");
            assert!(endless.taken <= (most + CHUNK_BYTES) as u64, "{}", endless.taken);
        }
    }

    #[test]
    fn what_stands_behind_a_damaged_record_is_not_taken() {
        let mut bytes = vec![0; 48 * 10];
        bytes.chunks_mut(48).for_each(|event| event[..4].copy_from_slice(&0x6561_7407_u32.to_le_bytes()));
        bytes.extend(b"junk");
        let mut from = bytes.chain(Endless::new(&[7]));
        let expected = Expected { format: Some(Format::Blktrace), ..Expected::default() };
        let error = take_in("t", &mut from, expected).and_then(|file| {
            assert!(file.bytes.len() <= 2 * CHUNK_BYTES);
            Trace::parse("t", vec![file], &TraceOptions::default())
        });
        assert!(error.unwrap_err().to_string().starts_with("t: event 11 at byte offset 480 begins with"));
    }
}
