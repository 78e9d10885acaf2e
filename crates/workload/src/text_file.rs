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
    let text = String::from_utf8(bytes).map_err(|error| {
        let bytes = error.as_bytes();
        let hint = if bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]) { "UTF-16, " } else { "" };
        let at = error.utf8_error().valid_up_to();
        let line = 1 + bytes[..at].iter().filter(|&&b| b == b'\n').count();
        format!("line {line}: {hint}no text in UTF-8")
    })?;
    Ok(without_mark(&text).to_owned())
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
    fn a_byte_order_mark_is_no_text_and_other_encodings_are_named() {
        assert_eq!(text(&b"\xef\xbb\xbf[a]\n"[..]).unwrap(), "[a]\n");
        assert_eq!(text(&b"[a]\nrw=\xff\n"[..]).unwrap_err(), "line 2: no text in UTF-8");
        assert_eq!(text(&b"\xff\xfe[\0a\0"[..]).unwrap_err(), "line 1: UTF-16, no text in UTF-8");
    }
}
