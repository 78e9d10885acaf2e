//! The handshake: fixed newstyle, as the server.

use super::input::Input;
use super::{BLOCK, MAX_PAYLOAD, Offer, Violation, u16_at, u32_at, u64_at};

const NBDMAGIC: u64 = 0x4e42_444d_4147_4943;
const IHAVEOPT: u64 = 0x4948_4156_454f_5054;
const REPLY_MAGIC: u64 = 0x0003_e889_0455_65a9;
const FIXED_NEWSTYLE: u16 = 1;
const NO_ZEROES: u16 = 2;

/// Longer data of an option is not looked at.
const MAX_OPTION: u32 = 64 << 10;
/// Longer data of an option is not even skipped.
const MAX_SKIPPED: u32 = 16 << 20;
/// A client that has not decided after so many options never will.
const MAX_OPTIONS: u32 = 256;
/// Names are at most so long.
const MAX_NAME: u32 = 4096;

mod option {
    pub const EXPORT_NAME: u32 = 1;
    pub const ABORT: u32 = 2;
    pub const LIST: u32 = 3;
    pub const INFO: u32 = 6;
    pub const GO: u32 = 7;
    pub const STRUCTURED_REPLY: u32 = 8;
    pub const LIST_META_CONTEXT: u32 = 9;
    pub const SET_META_CONTEXT: u32 = 10;
    pub const EXTENDED_HEADERS: u32 = 11;
}

mod rep {
    pub const ACK: u32 = 1;
    pub const SERVER: u32 = 2;
    pub const INFO: u32 = 3;
    pub const META_CONTEXT: u32 = 4;
    const ERROR: u32 = 1 << 31;
    pub const ERR_UNSUP: u32 = ERROR + 1;
    pub const ERR_INVALID: u32 = ERROR + 3;
    pub const ERR_UNKNOWN: u32 = ERROR + 6;
    pub const ERR_TOO_BIG: u32 = ERROR + 9;
    pub const ERR_EXT_HEADER_REQD: u32 = ERROR + 10;
}

mod info {
    pub const EXPORT: u16 = 0;
    pub const NAME: u16 = 1;
    pub const DESCRIPTION: u16 = 2;
    pub const BLOCK_SIZE: u16 = 3;
}

/// The number of the context `base:allocation` on every connection.
pub const ALLOCATION_ID: u32 = 1;
const ALLOCATION: &str = "base:allocation";

/// How replies look.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Form {
    /// A header for each request, and the data of reads.
    #[default]
    Simple,
    /// Chunks.
    Structured,
    /// Chunks with 64-bit lengths, for requests with 64-bit lengths.
    Extended,
}

/// What client and server have agreed on.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Agreed {
    /// Position of the export among those offered.
    pub export: usize,
    /// How replies look.
    pub form: Form,
    /// The client may ask for `base:allocation`.
    pub allocation: bool,
}

/// What the client's bytes have led to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Turn {
    /// More bytes have to come.
    Needs,
    /// An option has been answered.
    Next,
    /// Transmission begins.
    Begin(Agreed),
    /// The client wanted no more than to ask.
    Gone,
}

/// How far a handshake has come.
#[derive(Default, Debug)]
pub struct Talk {
    /// The client has told its flags.
    greeted: bool,
    no_zeroes: bool,
    form: Form,
    /// The export for which the client has chosen `base:allocation`.
    allocation_of: Option<usize>,
    options: u32,
}

/// What the server says first.
pub fn greeting() -> Vec<u8> {
    let mut greeting = Vec::with_capacity(18);
    greeting.extend(NBDMAGIC.to_be_bytes());
    greeting.extend(IHAVEOPT.to_be_bytes());
    greeting.extend((FIXED_NEWSTYLE | NO_ZEROES).to_be_bytes());
    greeting
}

impl Talk {
    /// Answers the next option, if it is there; replies are appended to `out`.
    ///
    /// # Errors
    /// A violation of the protocol; the connection has to be closed.
    pub fn turn(&mut self, input: &mut Input, offers: &[Offer], out: &mut Vec<u8>) -> Result<Turn, Violation> {
        if !self.greeted {
            let Some(flags) = input.available().first_chunk() else { return Ok(Turn::Needs) };
            self.flags(u32::from_be_bytes(*flags))?;
            input.take(4);
        }
        Answering { offers, talk: self, out }.turn(input)
    }

    fn flags(&mut self, flags: u32) -> Result<(), Violation> {
        let known = u32::from(FIXED_NEWSTYLE | NO_ZEROES);
        if flags & !known != 0 {
            return Err(Violation::told(format!("unknown client flags {flags:#x}")));
        }
        self.greeted = true;
        self.no_zeroes = flags & u32::from(NO_ZEROES) != 0;
        Ok(())
    }
}

/// An option that is being answered.
struct Answering<'a> {
    talk: &'a mut Talk,
    offers: &'a [Offer],
    /// What is to be sent to the client.
    out: &'a mut Vec<u8>,
}

impl Answering<'_> {
    fn turn(&mut self, input: &mut Input) -> Result<Turn, Violation> {
        let bytes = input.available();
        if bytes.len() < 16 {
            return Ok(Turn::Needs);
        }
        if u64_at(bytes, 0) != IHAVEOPT {
            return Err(Violation::told(format!("bad magic of an option: {:#018x}", u64_at(bytes, 0))));
        }
        let (option, len) = (u32_at(bytes, 8), u32_at(bytes, 12));
        if len > MAX_SKIPPED {
            return Err(Violation::told(format!("option {option} of {len} bytes")));
        }
        if len <= MAX_OPTION && bytes.len() < 16 + len as usize {
            return Ok(Turn::Needs);
        }
        if self.talk.options == MAX_OPTIONS {
            return Err(Violation::told(format!("more than {MAX_OPTIONS} options")));
        }
        self.talk.options += 1;
        if len > MAX_OPTION {
            input.take(16);
            input.skip(len.into());
            self.reply(option, rep::ERR_TOO_BIG, b"");
            return Ok(Turn::Next);
        }
        let data = bytes[16..16 + len as usize].to_vec();
        input.take(16 + len as usize);
        self.answer(option, &data)
    }

    fn answer(&mut self, option: u32, data: &[u8]) -> Result<Turn, Violation> {
        match option {
            option::EXPORT_NAME => return self.export_name(data),
            option::ABORT => {
                self.reply(option, rep::ACK, b"");
                return Ok(Turn::Gone);
            }
            option::INFO | option::GO => return self.info_or_go(option, data),
            option::LIST if data.is_empty() => self.list(option),
            option::STRUCTURED_REPLY if data.is_empty() && self.talk.form == Form::Extended => {
                self.reply(option, rep::ERR_EXT_HEADER_REQD, b"extended headers are agreed on");
            }
            option::STRUCTURED_REPLY if data.is_empty() => {
                self.talk.form = Form::Structured;
                self.reply(option, rep::ACK, b"");
            }
            option::EXTENDED_HEADERS if data.is_empty() => {
                self.talk.form = Form::Extended;
                self.reply(option, rep::ACK, b"");
            }
            option::LIST | option::STRUCTURED_REPLY | option::EXTENDED_HEADERS => {
                self.reply(option, rep::ERR_INVALID, b"this option has no data");
            }
            option::LIST_META_CONTEXT | option::SET_META_CONTEXT => self.meta_context(option, data),
            _ => self.reply(option, rep::ERR_UNSUP, b""),
        }
        Ok(Turn::Next)
    }

    fn find(&self, name: &[u8]) -> Option<usize> {
        if name.is_empty() { Some(0) } else { self.offers.iter().position(|offer| offer.name.as_bytes() == name) }
    }

    fn agreed(&self, export: usize) -> Agreed {
        let allocation = self.talk.allocation_of == Some(export);
        Agreed { export, form: self.talk.form, allocation }
    }

    /// The old way to begin: errors can only be told by closing the connection.
    fn export_name(&mut self, name: &[u8]) -> Result<Turn, Violation> {
        let Some(export) = self.find(name) else {
            return Err(Violation::told(format!("no export {:?}", String::from_utf8_lossy(name))));
        };
        let offer = &self.offers[export];
        let mut reply = offer.size.to_be_bytes().to_vec();
        reply.extend(offer.flags().to_be_bytes());
        if !self.talk.no_zeroes {
            reply.extend([0; 124]);
        }
        self.out.extend(reply);
        Ok(Turn::Begin(self.agreed(export)))
    }

    fn info_or_go(&mut self, option: u32, data: &[u8]) -> Result<Turn, Violation> {
        let Some((name, wanted)) = name_and_rest(data)
            .filter(|(_, rest)| rest.len() >= 2 && rest.len() == 2 + 2 * usize::from(u16_at(rest, 0)))
        else {
            self.reply(option, rep::ERR_INVALID, b"lengths within the option contradict each other");
            return Ok(Turn::Next);
        };
        let Some(export) = self.find(name) else {
            self.reply(option, rep::ERR_UNKNOWN, b"no such export");
            return Ok(Turn::Next);
        };
        let offer = self.offers[export].clone();
        let mut about = info::EXPORT.to_be_bytes().to_vec();
        about.extend(offer.size.to_be_bytes());
        about.extend(offer.flags().to_be_bytes());
        self.reply(option, rep::INFO, &about);
        let wanted = wanted[2..].chunks_exact(2).map(|kind| u16_at(kind, 0));
        // Block sizes are told in any case: they differ from what a client would assume.
        for kind in wanted.filter(|kind| *kind != info::BLOCK_SIZE).chain([info::BLOCK_SIZE]) {
            let mut told = kind.to_be_bytes().to_vec();
            match kind {
                info::NAME => told.extend(offer.name.as_bytes()),
                info::DESCRIPTION => told.extend(offer.description.as_bytes()),
                info::BLOCK_SIZE => {
                    let sizes = [BLOCK, BLOCK, MAX_PAYLOAD];
                    told.extend(sizes.into_iter().flat_map(|size| (size as u32).to_be_bytes()));
                }
                _ => continue,
            }
            self.reply(option, rep::INFO, &told);
        }
        self.reply(option, rep::ACK, b"");
        Ok(if option == option::GO { Turn::Begin(self.agreed(export)) } else { Turn::Next })
    }

    fn list(&mut self, option: u32) {
        for offer in self.offers {
            let mut told = (offer.name.len() as u32).to_be_bytes().to_vec();
            told.extend(offer.name.as_bytes());
            told.extend(offer.description.as_bytes());
            self.reply(option, rep::SERVER, &told);
        }
        self.reply(option, rep::ACK, b"")
    }

    fn meta_context(&mut self, option: u32, data: &[u8]) {
        let set = option == option::SET_META_CONTEXT;
        let Some((name, queries)) = name_and_rest(data).and_then(|(name, rest)| Some((name, queries(rest)?))) else {
            return self.reply(option, rep::ERR_INVALID, b"lengths within the option contradict each other");
        };
        if self.talk.form == Form::Simple {
            return self.reply(option, rep::ERR_INVALID, b"structured replies have to be agreed on first");
        }
        let Some(export) = self.find(name) else {
            return self.reply(option, rep::ERR_UNKNOWN, b"no such export");
        };
        let all = !set && queries.is_empty();
        let chosen = all || queries.iter().any(|query| *query == ALLOCATION.as_bytes() || (!set && *query == b"base:"));
        if set {
            self.talk.allocation_of = chosen.then_some(export);
        }
        if chosen {
            let mut told = if set { ALLOCATION_ID } else { 0 }.to_be_bytes().to_vec();
            told.extend(ALLOCATION.as_bytes());
            self.reply(option, rep::META_CONTEXT, &told);
        }
        self.reply(option, rep::ACK, b"")
    }

    fn reply(&mut self, option: u32, kind: u32, data: &[u8]) {
        self.out.extend(REPLY_MAGIC.to_be_bytes());
        for field in [option, kind, data.len() as u32] {
            self.out.extend(field.to_be_bytes());
        }
        self.out.extend(data);
    }
}

/// A name with its length before it, and what follows.
fn name_and_rest(data: &[u8]) -> Option<(&[u8], &[u8])> {
    let (len, rest) = data.split_at_checked(4)?;
    let len = u32_at(len, 0);
    if len > MAX_NAME { None } else { rest.split_at_checked(len as usize) }
}

/// Queries with their number before them.
fn queries(data: &[u8]) -> Option<Vec<&[u8]>> {
    let (count, mut rest) = data.split_at_checked(4)?;
    let mut queries = Vec::new();
    for _ in 0..u32_at(count, 0) {
        let (query, next) = name_and_rest(rest)?;
        queries.push(query);
        rest = next;
    }
    rest.is_empty().then_some(queries)
}
