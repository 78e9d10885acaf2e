//! Text files of people: job files, profiles, scenarios.

use std::fs::File;
use std::io::Read;
use std::path::Path;

/// Largest text file. Those that people write have kilobytes; a scenario made of a long trace has megabytes.
const MOST_BYTES: u64 = 16 << 20;

/// What some editors put at the beginning of a text in UTF-8.
const BYTE_ORDER_MARK: &str = "\u{feff}";

/// The text of a file in UTF-8, without a byte order mark.
///
/// # Errors
/// Why it cannot be read, without its path: the operating system's answer, too large, no UTF-8.
pub fn text_file(path: &Path) -> Result<String, String> {
    text(File::open(path).map_err(|error| error.to_string())?)
}

/// The same for anything that can be read. At most [`MOST_BYTES`] and one are taken.
fn text(from: impl Read) -> Result<String, String> {
    let mut bytes = Vec::new();
    from.take(MOST_BYTES + 1).read_to_end(&mut bytes).map_err(|error| error.to_string())?;
    if bytes.len() as u64 > MOST_BYTES {
        return Err(format!("has more than {MOST_BYTES} bytes; a job file, profile or scenario has less"));
    }
    if let Some(text) = from_utf16(&bytes) {
        return Ok(text);
    }
    let text = String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        let line = 1 + error.as_bytes()[..at].iter().filter(|&&b| b == b'\n').count();
        format!("line {line}: no text in UTF-8")
    })?;
    Ok(without_mark(&text).to_owned())
}

/// Whether a text begins with a byte order mark of UTF-16, as editors and shells of Windows write it.
pub(crate) fn is_utf16(bytes: &[u8]) -> bool {
    bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff])
}

/// The text of a file in UTF-16, if it is one; what is no character of it is replaced.
pub(crate) fn from_utf16(bytes: &[u8]) -> Option<String> {
    let (mark, rest) = bytes.split_at_checked(2)?;
    let of: fn([u8; 2]) -> u16 = match mark {
        [0xff, 0xfe] => u16::from_le_bytes,
        [0xfe, 0xff] => u16::from_be_bytes,
        _ => return None,
    };
    let units = rest.chunks_exact(2).map(|pair| of([pair[0], pair[1]]));
    Some(char::decode_utf16(units).map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER)).collect())
}

/// A text without the byte order mark.
pub(crate) fn without_mark(text: &str) -> &str {
    text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text)
}

/// The bytes of a text without the byte order mark.
pub(crate) fn bytes_without_mark(bytes: &[u8]) -> &[u8] {
    bytes.strip_prefix(BYTE_ORDER_MARK.as_bytes()).unwrap_or(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_without_an_end_is_refused_after_the_largest_text() {
        let mut endless = crate::endless::Endless::new(b"[a]\nrw=read\n");
        assert!(text(&mut endless).unwrap_err().starts_with("has more than 16777216 bytes"));
        assert!(endless.taken <= MOST_BYTES + 1, "{}", endless.taken);
        let zeros = text_file(Path::new("/dev/zero"));
        assert!(zeros.unwrap_err().starts_with("has more than"));
    }

    #[test]
    fn a_byte_order_mark_is_no_text_and_utf_16_is_read() {
        assert_eq!(text(&b"\xef\xbb\xbf[a]\n"[..]).unwrap(), "[a]\n");
        assert_eq!(text(&b"[a]\nrw=\xff\n"[..]).unwrap_err(), "line 2: no text in UTF-8");
        for text16 in [&b"\xff\xfe[\0a\0]\0"[..], b"\xfe\xff\0[\0a\0]"] {
            assert_eq!(text(text16).unwrap(), "[a]", "UTF-16 is read");
        }
    }
}
