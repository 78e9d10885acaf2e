//! A connection: its thread reads requests; another one writes replies that the client does not take at once.

use std::io::BufReader;
use std::net::Shutdown;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use attach::{Ask, Mailbox};

use crate::nbd::handshake::handshake;
use crate::nbd::reply::Told;
use crate::nbd::request::{Request, Wish, has_request, read_request};
use crate::nbd::{BLOCK, Violation, errno};
use crate::outbox::Outbox;
use crate::server::{Chosen, Exported, spawn};
use crate::stream::Stream;

/// Bytes that are read at once.
const BUFFER: usize = 256 << 10;
/// Requests that go to the engine together.
const BATCH: usize = 64;
/// Blocks that a reply about their status covers at most, and its runs.
const STATUS_BLOCKS: u64 = 1 << 18;
const STATUS_RUNS: usize = 4096;

/// Serves a client to its end.
///
/// # Errors
/// Why the connection had to be closed.
pub fn serve(mut stream: Stream, exports: &[Exported], chosen: &Chosen) -> Result<(), Violation> {
    let offers: Vec<_> = exports.iter().map(|export| export.offer.clone()).collect();
    let Some(agreed) = handshake(&mut stream, &offers)? else { return Ok(()) };
    chosen.store(agreed.export, Ordering::Release);
    let export = &exports[agreed.export];
    let outbox = Arc::new(Outbox::new(stream.try_clone()?, agreed.form, export.lateness.clone()));
    let mut writing = stream.try_clone()?;
    let of_writer = outbox.clone();
    let writer = spawn("ufsim replies", move || {
        of_writer.write_to(&mut writing);
        writing.shutdown(Shutdown::Both);
    })?;
    let mut requests = Requests { export, mailbox: outbox.clone(), outbox: outbox.clone(), batch: Vec::new() };
    let mut reading = BufReader::with_capacity(BUFFER, &mut stream);
    let read = (|| {
        while let Some(request) = read_request(&mut reading, &export.offer, &agreed)? {
            requests.take(request);
            let more = has_request(reading.buffer(), agreed.form);
            if (requests.batch.len() >= BATCH || !more) && !requests.send() {
                break;
            }
            if outbox.is_broken() {
                break;
            }
        }
        Ok(())
    })();
    requests.send();
    outbox.end();
    let _ = writer.join();
    read
}

/// Requests on their way to the engine.
struct Requests<'a> {
    export: &'a Exported,
    outbox: Arc<Outbox>,
    mailbox: Arc<dyn Mailbox>,
    batch: Vec<(u64, Ask)>,
}

impl Requests<'_> {
    fn take(&mut self, request: Request) {
        let Request { cookie, offset, wish } = request;
        let first = (offset / BLOCK) as u32;
        let units = |len: u64| (len / BLOCK) as u32;
        let bytes = match &wish {
            Wish::Read { len } | Wish::Zeroes { len, .. } => *len as usize,
            Wish::Write { data, .. } => data.len(),
            _ => 0,
        };
        if !self.outbox.has_room(bytes) {
            self.send();
        }
        let number = self.outbox.enter(cookie, offset, bytes, matches!(wish, Wish::Read { .. }));
        let ask = match wish {
            Wish::Read { len } => Ask::Read { first, len: units(len.into()) },
            Wish::Write { data, fua } => Ask::Write { first, data, fua },
            Wish::Zeroes { len, fua } => Ask::Write { first, data: vec![0; len as usize], fua },
            Wish::Trim { len, fua } => Ask::Trim { first, len: units(len), fua },
            Wish::Flush => Ask::Flush,
            Wish::BlockStatus { len, one } => {
                self.send();
                return self.block_status(number, first, len, one);
            }
            Wish::Refused(error, why) => return self.outbox.reply(number, Told::Error(error, why.into())),
        };
        self.batch.push((number, ask));
    }

    /// False if the engine has ended.
    fn send(&mut self) -> bool {
        if self.batch.is_empty() {
            return true;
        }
        let batch = std::mem::take(&mut self.batch);
        let numbers: Vec<u64> = batch.iter().map(|(number, _)| *number).collect();
        let sent = self.export.sender.ask(batch, &self.mailbox);
        if sent.is_err() {
            numbers.into_iter().for_each(|number| self.outbox.reply(number, gone()));
        }
        sent.is_ok()
    }

    fn block_status(&self, number: u64, first: u32, len: u64, one: bool) {
        let units = (len / BLOCK).min(STATUS_BLOCKS) as u32;
        let most = if one { 1 } else { STATUS_RUNS };
        let runs = self.export.sender.with(move |engine, at| {
            engine.run_until(at);
            engine.extents(first, units, most)
        });
        let told = runs.map_or_else(
            |_| gone(),
            |runs| Told::Status(runs.into_iter().map(|(units, hole)| (u64::from(units) * BLOCK, hole)).collect()),
        );
        self.outbox.reply(number, told);
    }
}

fn gone() -> Told {
    Told::Error(errno::ESHUTDOWN, "the device is gone".into())
}

// A reply about a status fits into the lengths of structured replies.
const _: () = assert!(STATUS_BLOCKS * BLOCK <= u32::MAX as u64);
