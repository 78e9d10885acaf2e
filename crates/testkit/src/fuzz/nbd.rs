//! Input: what a client sends, from its flags on.

use std::io::{self, Read, Write};

use serve::nbd::handshake::handshake;
use serve::nbd::request::{Wish, read_request};
use serve::nbd::{BLOCK, MAX_PAYLOAD, Offer};

const SIZE: u64 = 1 << 30;

/// A client that says what it says, whatever the answer.
struct Client<'a> {
    says: &'a [u8],
}

impl Read for Client<'_> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        self.says.read(bytes)
    }
}

impl Write for Client<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

pub(super) fn run(bytes: &[u8]) {
    let offer = |name: &str, read_only| Offer { name: name.into(), description: String::new(), size: SIZE, read_only };
    let offers = [offer("ufs", false), offer("hp-ufs", true)];
    let mut client = Client { says: bytes };
    let Ok(Some(agreed)) = handshake(&mut client, &offers) else { return };
    let offer = &offers[agreed.export];
    while let Ok(Some(request)) = read_request(&mut client, offer, &agreed) {
        let (len, changes) = match &request.wish {
            Wish::Refused(error, why) => {
                assert!(*error != 0 && !why.is_empty());
                continue;
            }
            Wish::Flush => continue,
            Wish::Read { len } => (u64::from(*len), false),
            Wish::Zeroes { len, .. } => (u64::from(*len), true),
            Wish::Write { data, .. } => (data.len() as u64, true),
            Wish::Trim { len, .. } => (*len, true),
            Wish::BlockStatus { len, .. } => {
                assert!(agreed.allocation);
                (*len, false)
            }
        };
        assert!(len > 0 && len % BLOCK == 0 && request.offset % BLOCK == 0, "{request:?}");
        assert!(request.offset + len <= SIZE, "beyond the end: {} + {len}", request.offset);
        assert!(!(changes && offer.read_only), "a change of what is read-only");
        let payload = matches!(request.wish, Wish::Read { .. } | Wish::Write { .. } | Wish::Zeroes { .. });
        assert!(!payload || len <= MAX_PAYLOAD);
    }
}
