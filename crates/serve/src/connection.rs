//! A connection as a machine: bytes of the client come in, requests go to the engine, replies leave by the outbox. It
//! has no thread: who reads the socket, or a simulation, calls [`Connection::turn`].

use std::io::ErrorKind;
use std::sync::Arc;

use attach::{Ask, Mailbox};

use crate::house::{Exported, House, Member};
use crate::nbd::handshake::{Agreed, Talk, Turn};
use crate::nbd::input::Input;
use crate::nbd::reply::Told;
use crate::nbd::request::{Header, Request, Wish, begin_payload, read_header, request};
use crate::nbd::{BLOCK, Violation, errno};
use crate::outbox::Outbox;

/// Requests that go to the engine together.
const BATCH: usize = 64;
/// Blocks that a reply about their status covers at most, and its runs.
const STATUS_BLOCKS: u64 = 1 << 18;
const STATUS_RUNS: usize = 4096;

/// What a connection waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Waits {
    /// More bytes of the client.
    Bytes,
    /// Room: its client has to take replies, or others have to. Or it has been broken off.
    Room,
    /// Nothing: it has ended. Replies may still be on their way.
    Over,
}

/// A request whose header is there.
enum Next {
    /// Nothing.
    None,
    /// It waits for room.
    Reserving(Header),
    /// It waits for its payload.
    Filling(Header),
}

/// What follows the handshake.
struct Serving {
    agreed: Agreed,
    /// The epoch in which the client has begun.
    epoch: u64,
    next: Next,
}

/// A connection.
pub struct Connection {
    house: Arc<House>,
    /// Its place among all connections, which ends with it.
    member: Member,
    outbox: Arc<Outbox>,
    mailbox: Arc<dyn Mailbox>,
    input: Input,
    talk: Talk,
    serving: Option<Serving>,
    /// The epoch in which its handshake ended.
    epoch: Option<u64>,
    batch: Vec<(u64, Ask)>,
    over: bool,
}

impl Connection {
    pub(crate) fn new(house: Arc<House>, member: Member, outbox: Arc<Outbox>) -> Connection {
        outbox.say(crate::nbd::handshake::greeting());
        Connection {
            house,
            member,
            mailbox: outbox.clone(),
            outbox,
            input: Input::default(),
            talk: Talk::default(),
            serving: None,
            epoch: None,
            batch: Vec::new(),
            over: false,
        }
    }

    /// Where bytes of the client go; the number of those that have come, to [`Connection::received`].
    pub fn space(&mut self) -> &mut [u8] {
        self.input.space()
    }

    /// So many bytes have come; none if the client sends no more.
    pub fn received(&mut self, count: usize) {
        self.input.filled(count);
        if let Some(Serving { next: Next::Filling(_), .. }) = self.serving {
            self.outbox.fills(true);
        }
    }

    /// The epoch of its host, once the handshake is over.
    pub fn epoch(&self) -> Option<u64> {
        self.epoch
    }

    /// What is on its way out.
    pub fn outbox(&self) -> &Arc<Outbox> {
        &self.outbox
    }

    /// Does what can be done with the bytes that have come.
    pub fn turn(&mut self) -> Waits {
        if self.over {
            return Waits::Over;
        }
        let waits = self.advance();
        self.send();
        match waits {
            Ok(Waits::Over) => self.end(),
            Ok(waits) if !self.outbox.is_broken() => return waits,
            Ok(_) => self.end(),
            Err(violation) => {
                self.house.note(&format!("connection {}: closed: {violation}", self.member.number()));
                self.end();
            }
        }
        Waits::Over
    }

    /// No request follows; those under way are answered.
    fn end(&mut self) {
        self.over = true;
        let unused = match self.serving.take().map(|serving| serving.next) {
            Some(Next::Filling(header)) => header.bytes(),
            _ => 0,
        };
        self.outbox.end(unused);
    }

    fn advance(&mut self) -> Result<Waits, Violation> {
        loop {
            let waits = if self.serving.is_some() { self.request()? } else { self.option()? };
            if let Some(waits) = waits {
                return Ok(waits);
            }
        }
    }

    /// What the connection waits for if no more bytes are there than were looked at.
    fn needs(&self) -> Result<Waits, Violation> {
        match self.input.is_ended() {
            false => Ok(Waits::Bytes),
            // A client may go without a word, but not within a request.
            true if self.input.is_between() => Ok(Waits::Over),
            true => Err(Violation::Io(ErrorKind::UnexpectedEof.into())),
        }
    }

    /// A step of the handshake.
    fn option(&mut self) -> Result<Option<Waits>, Violation> {
        // A client that reads no replies gets no more of them.
        if !self.outbox.is_empty() {
            return Ok(Some(if self.outbox.is_broken() { Waits::Over } else { Waits::Room }));
        }
        let mut words = Vec::new();
        let turn = self.talk.turn(&mut self.input, self.house.offers(), &mut words)?;
        let begins = if let Turn::Begin(agreed) = turn { Some(agreed) } else { None };
        if let Some(agreed) = begins {
            let export = self.house.export(agreed.export);
            // Before the client learns that it can begin: what it does afterwards belongs to this epoch.
            let epoch = export.sender.epoch();
            self.outbox.agreed(agreed.form, export.lateness.clone());
            self.member.begins(agreed.export, epoch);
            if export.sender.epoch() != epoch {
                // Who looked for hosts of the old epoch has not found this one.
                self.outbox.lose_power();
            }
            self.epoch = Some(epoch);
            self.serving = Some(Serving { agreed, epoch, next: Next::None });
        }
        if !words.is_empty() {
            self.outbox.say(words);
        }
        match turn {
            Turn::Needs => self.needs().map(Some),
            Turn::Next | Turn::Begin(_) => Ok(None),
            Turn::Gone => Ok(Some(Waits::Over)),
        }
    }

    /// A step towards the next request.
    fn request(&mut self) -> Result<Option<Waits>, Violation> {
        let serving = self.serving.as_mut().expect("the handshake is over");
        let form = serving.agreed.form;
        match std::mem::replace(&mut serving.next, Next::None) {
            Next::None => {
                let Some(header) = read_header(&mut self.input, form)? else { return self.needs().map(Some) };
                if header.leaves() {
                    return Ok(Some(Waits::Over));
                }
                serving.next = Next::Reserving(header);
            }
            Next::Reserving(header) => {
                if !self.outbox.reserve(header.bytes()) {
                    serving.next = Next::Reserving(header);
                    return Ok(Some(Waits::Room));
                }
                serving.next = Next::Filling(header);
                if !begin_payload(&mut self.input, &header, form)? {
                    self.take(&header, Vec::new());
                }
            }
            Next::Filling(header) => match self.input.payload() {
                Some(payload) => {
                    self.outbox.fills(false);
                    self.take(&header, payload);
                }
                None => {
                    serving.next = Next::Filling(header);
                    return self.needs().map(Some);
                }
            },
        }
        Ok(None)
    }

    /// A request is whole.
    fn take(&mut self, header: &Header, payload: Vec<u8>) {
        let Some(serving) = &mut self.serving else { return };
        serving.next = Next::None;
        let agreed = serving.agreed;
        let offer = &self.house.export(agreed.export).offer;
        let Request { cookie, offset, wish } = request(header, payload, offer, &agreed);
        let first = (offset / BLOCK) as u32;
        let units = |len: u64| (len / BLOCK) as u32;
        let number = self.outbox.enter(cookie, offset, header.bytes(), matches!(wish, Wish::Read { .. }));
        let ask = match wish {
            Wish::Read { len } => Ask::Read { first, len: units(len.into()) },
            Wish::Write { data, fua } => Ask::Write { first, data, fua },
            Wish::Zeroes { len, fua } => Ask::Write { first, data: vec![0; len as usize], fua },
            Wish::Trim { len, fua } => Ask::Trim { first, len: units(len), fua },
            Wish::Flush => Ask::Flush,
            Wish::BlockStatus { len, one } => {
                self.send();
                return self.block_status(number, first, (len, one));
            }
            Wish::Refused(error, why) => return self.outbox.reply(number, Told::Error(error, why.into())),
        };
        self.batch.push((number, ask));
        if self.batch.len() >= BATCH {
            self.send();
        }
    }

    fn exported(&self) -> Option<(&Exported, u64)> {
        let serving = self.serving.as_ref()?;
        Some((self.house.export(serving.agreed.export), serving.epoch))
    }

    /// Hands the requests that have come to the engine.
    fn send(&mut self) {
        if self.batch.is_empty() {
            return;
        }
        let batch = std::mem::take(&mut self.batch);
        let numbers: Vec<u64> = batch.iter().map(|(number, _)| *number).collect();
        let (export, epoch) = self.exported().expect("requests follow the handshake");
        if export.sender.ask(batch, epoch, &self.mailbox).is_err() {
            numbers.into_iter().for_each(|number| self.outbox.reply(number, gone()));
            self.outbox.break_off();
        }
    }

    fn block_status(&self, number: u64, first: u32, (len, one): (u64, bool)) {
        let (export, epoch) = self.exported().expect("requests follow the handshake");
        let units = (len / BLOCK).min(STATUS_BLOCKS) as u32;
        let most = if one { 1 } else { STATUS_RUNS };
        let outbox = self.outbox.clone();
        let sent = export.sender.task(move |engine, at| {
            if engine.epoch() != epoch {
                return outbox.reply(number, Told::Error(errno::ESHUTDOWN, "the power was cut".into()));
            }
            engine.run_until(at);
            let runs = engine.extents(first, units, most);
            let told = runs.into_iter().map(|(units, hole)| (u64::from(units) * BLOCK, hole)).collect();
            outbox.reply(number, Told::Status(told));
        });
        if sent.is_err() {
            self.outbox.reply(number, gone());
        }
    }
}

fn gone() -> Told {
    Told::Error(errno::ESHUTDOWN, "the device is gone".into())
}

// A reply about a status fits into the lengths of structured replies.
const _: () = assert!(STATUS_BLOCKS * BLOCK <= u32::MAX as u64);
