//! Input: what a client sends, from its flags on.

use serve::nbd::handshake::{Talk, Turn};
use serve::nbd::input::Input;
use serve::nbd::request::{Wish, begin_payload, read_header, request};
use serve::nbd::{BLOCK, MAX_PAYLOAD, Offer};

const SIZE: u64 = 1 << 30;

pub(super) fn run(bytes: &[u8]) {
    let offer = |name: &str, read_only| Offer { name: name.into(), description: String::new(), size: SIZE, read_only };
    let offers = [offer("ufs", false), offer("hp-ufs", true)];
    let (mut input, mut rest) = (Input::default(), bytes);
    // False when the client has said everything.
    let mut more = |input: &mut Input| {
        let taken = input.extend(rest);
        rest = &rest[taken..];
        taken > 0
    };
    let mut talk = Talk::default();
    let agreed = loop {
        match talk.turn(&mut input, &offers, &mut Vec::new()) {
            Ok(Turn::Begin(agreed)) => break agreed,
            Ok(Turn::Next) => {}
            Ok(Turn::Needs) if more(&mut input) => {}
            Ok(Turn::Needs | Turn::Gone) | Err(_) => return,
        }
    };
    let offer = &offers[agreed.export];
    loop {
        let header = match read_header(&mut input, agreed.form) {
            Ok(Some(header)) if !header.leaves() => header,
            Ok(None) if more(&mut input) => continue,
            Ok(_) | Err(_) => return,
        };
        let mut payload = Vec::new();
        match begin_payload(&mut input, &header, agreed.form) {
            Ok(false) => {}
            Ok(true) => loop {
                if let Some(whole) = input.payload() {
                    payload = whole;
                    break;
                }
                if !more(&mut input) {
                    return;
                }
            },
            Err(_) => return,
        }
        let request = request(&header, payload, offer, &agreed);
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
        assert!(len > 0 && len % BLOCK == 0 && request.offset.is_multiple_of(BLOCK), "{request:?}");
        assert!(request.offset + len <= SIZE, "beyond the end: {} + {len}", request.offset);
        assert!(!(changes && offer.read_only), "a change of what is read-only");
        let payload = matches!(request.wish, Wish::Read { .. } | Wish::Write { .. } | Wish::Zeroes { .. });
        assert!(!payload || len <= MAX_PAYLOAD);
    }
}
