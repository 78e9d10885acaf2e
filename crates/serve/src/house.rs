//! What all connections of a server share: exports, who is here, limits, and memory. It has no sockets, no threads and
//! no clock of its own.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use attach::{Hole, Moment, Pace, Sender, Wall};
use files::Files;
use lab::aged::Header;

use crate::budget::{Budget, Memory};
use crate::connection::Connection;
use crate::control::Caller;
use crate::nbd::Offer;
use crate::notes::Notes;
use crate::outbox::{Lateness, Outbox};
use crate::wire::Wire;

/// A client has so long for its handshake.
pub const HANDSHAKE: Duration = Duration::from_secs(10);
/// A client that has neither taken nor sent for so long what memory is held for is closed, if others want the memory,
/// or if it has said that it leaves.
pub const STALLED: Duration = Duration::from_secs(10);
/// Control connections at a time.
const MAX_CONTROLS: usize = 32;

/// An export that is served.
pub struct Exported {
    pub offer: Offer,
    pub header: Header,
    pub sender: Sender,
    pub pace: Pace,
    pub lateness: Lateness,
}

/// What a house is lent, and its rules.
pub struct Rules {
    /// Clients at a time.
    pub clients: usize,
    /// The folder below which control connections may have states saved.
    pub saves: PathBuf,
    /// Memory for requests under way and replies.
    pub memory: Memory,
    /// Where states are saved.
    pub files: Arc<dyn Files>,
    pub wall: Arc<dyn Wall>,
    pub notes: Arc<dyn Notes>,
    /// Tells who waits for connections that the server ends.
    pub ends: Box<dyn Fn() + Send + Sync>,
    /// A promise to be broken.
    pub sabotage: Option<Hole>,
}

/// Who is here.
enum Guest {
    Client {
        outbox: Arc<Outbox>,
        /// The export and the epoch, once the handshake is over.
        chosen: Option<(usize, u64)>,
    },
    Control {
        wire: Arc<dyn Wire>,
        /// A command is being done.
        busy: bool,
    },
}

struct Entry {
    guest: Guest,
    /// When it has come; of control connections, when the last command has ended.
    since: Moment,
}

impl Entry {
    fn is_client(&self) -> bool {
        matches!(self.guest, Guest::Client { .. })
    }

    /// True if it may be sent away for who comes: clients before the end of their handshake; whoever uses the control
    /// socket, and those first whose command has been answered.
    fn makes_room(&self) -> bool {
        matches!(self.guest, Guest::Client { chosen: None, .. } | Guest::Control { .. })
    }

    /// The lowest goes first.
    fn rank(&self) -> (bool, Moment) {
        (matches!(self.guest, Guest::Control { busy: true, .. }), self.since)
    }

    fn end(&self) {
        match &self.guest {
            Guest::Client { outbox, .. } => outbox.break_off(),
            Guest::Control { wire, .. } => wire.close(),
        }
    }
}

#[derive(Default)]
struct Register {
    guests: BTreeMap<u64, Entry>,
    /// Connections so far.
    numbers: u64,
}

/// What all connections share.
pub struct House {
    exports: Vec<Exported>,
    offers: Vec<Offer>,
    rules: Rules,
    budget: Arc<Budget>,
    register: Mutex<Register>,
    quits: Mutex<bool>,
    changed: Condvar,
}

/// The place of a connection in the register; it ends with it.
pub struct Member {
    house: Arc<House>,
    number: u64,
}

impl Drop for Member {
    fn drop(&mut self) {
        self.house.register().guests.remove(&self.number);
    }
}

impl Member {
    /// Counts connections.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// The handshake of a client is over.
    pub fn begins(&self, export: usize, epoch: u64) {
        if let Some(Entry { guest: Guest::Client { chosen, .. }, .. }) =
            self.house.register().guests.get_mut(&self.number)
        {
            *chosen = Some((export, epoch));
        }
    }

    /// A command of a control connection begins or ends.
    pub fn is_busy(&self, is_busy: bool) {
        let now = self.house.rules.wall.now();
        if let Some(Entry { guest: Guest::Control { busy, .. }, since }) =
            self.house.register().guests.get_mut(&self.number)
        {
            (*busy, *since) = (is_busy, now);
        }
    }
}

impl House {
    /// A house with exports.
    pub fn new(exports: Vec<Exported>, rules: Rules) -> Arc<House> {
        let memory = match rules.sabotage {
            Some(Hole::EndlessMemory) => Memory { share: usize::MAX, pool: usize::MAX, most: usize::MAX },
            _ => rules.memory,
        };
        let offers = exports.iter().map(|export| export.offer.clone()).collect();
        Arc::new(House {
            exports,
            offers,
            budget: Arc::new(Budget::new(memory)),
            rules,
            register: Mutex::default(),
            quits: Mutex::default(),
            changed: Condvar::new(),
        })
    }

    fn register(&self) -> MutexGuard<'_, Register> {
        self.register.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn exports(&self) -> &[Exported] {
        &self.exports
    }

    pub fn export(&self, at: usize) -> &Exported {
        &self.exports[at]
    }

    pub fn offers(&self) -> &[Offer] {
        &self.offers
    }

    pub fn budget(&self) -> &Budget {
        &self.budget
    }

    fn is_broken(&self, hole: Hole) -> bool {
        self.rules.sabotage == Some(hole)
    }

    pub fn note(&self, text: &str) {
        let noted = self.rules.notes.note(text);
        assert!(noted.is_ok() || !self.is_broken(Hole::LoudNotes), "no place for remarks");
    }

    pub fn files(&self) -> &Arc<dyn Files> {
        &self.rules.files
    }

    /// The folder below which control connections may have states saved.
    pub fn saves(&self) -> &Path {
        &self.rules.saves
    }

    /// A client has connected. `None`, and it is sent away, if there are too many; who has not ended a handshake goes
    /// first, so silent clients keep nobody out.
    pub fn admit(self: &Arc<House>, wire: Arc<dyn Wire>) -> Option<Connection> {
        let outbox = Arc::new(Outbox::new(wire.clone(), self.budget.clone(), self.rules.wall.clone()));
        let guest = Guest::Client { outbox: outbox.clone(), chosen: None };
        match self.enter(guest, self.rules.clients) {
            Some(member) => Some(Connection::new(self.clone(), member, outbox)),
            None => {
                self.note(&format!("a client was sent away: there are {}", self.rules.clients));
                wire.close();
                None
            }
        }
    }

    /// Somebody has connected to the control socket. If there are too many, the one that has waited for longest goes.
    pub fn admit_control(self: &Arc<House>, wire: Arc<dyn Wire>) -> Option<Caller> {
        let member = self.enter(Guest::Control { wire, busy: false }, MAX_CONTROLS)?;
        Some(Caller::new(self.clone(), member))
    }

    fn enter(self: &Arc<House>, guest: Guest, most: usize) -> Option<Member> {
        let entry = Entry { guest, since: self.rules.wall.now() };
        let mut register = self.register();
        let alike = register.guests.iter().filter(|(_, other)| other.is_client() == entry.is_client());
        let crowded = alike.clone().count() >= most;
        let first = alike.filter(|(_, other)| other.makes_room()).min_by_key(|(_, other)| other.rank());
        let leaves = first.map(|(number, _)| *number).filter(|_| crowded && !self.is_broken(Hole::SilentClients));
        if crowded && leaves.is_none() {
            return None;
        }
        let gone = leaves.and_then(|number| register.guests.remove(&number));
        let number = register.numbers;
        register.numbers += 1;
        register.guests.insert(number, entry);
        drop(register);
        if let Some(gone) = gone {
            self.note("a connection made room for another one");
            gone.end();
        }
        Some(Member { house: self.clone(), number })
    }

    /// There is no room for another connection, for want of files that may be open: a client that has not ended its
    /// handshake goes.
    pub fn make_room(&self) {
        let waiting = self.clients(|_, chosen| chosen.is_none()).next();
        if let Some((_, outbox)) = waiting {
            outbox.break_off();
        }
    }

    /// Looks after those who take too long. To be called now and then.
    pub fn tick(&self) {
        let now = self.rules.wall.now();
        let wanted = self.budget.is_wanted();
        let late = |entry: &Entry| match &entry.guest {
            Guest::Client { chosen: None, .. } if self.is_broken(Hole::SilentClients) => false,
            Guest::Client { chosen: None, .. } => now.since(entry.since) >= HANDSHAKE,
            Guest::Client { outbox, .. } => outbox.is_stalled(STALLED, wanted),
            Guest::Control { .. } => false,
        };
        let outboxes: Vec<_> = self.clients(|entry, _| late(entry)).collect();
        for (number, outbox) in outboxes {
            self.note(&format!("connection {number}: closed: it took too long"));
            outbox.break_off();
        }
    }

    /// Clients for which a condition holds.
    fn clients(
        &self,
        holds: impl Fn(&Entry, Option<(usize, u64)>) -> bool,
    ) -> impl Iterator<Item = (u64, Arc<Outbox>)> {
        let register = self.register();
        let found: Vec<_> = register
            .guests
            .iter()
            .filter_map(|(&number, entry)| match &entry.guest {
                Guest::Client { outbox, chosen } if holds(entry, *chosen) => Some((number, outbox.clone())),
                _ => None,
            })
            .collect();
        found.into_iter()
    }

    /// Clients of an export.
    pub fn clients_of(&self, export: usize) -> usize {
        self.clients(|_, chosen| chosen.is_some_and(|(of, _)| of == export)).count()
    }

    /// The power of an export has been cut: an epoch has begun, and hosts of older ones are gone.
    pub fn power_lost(&self, export: usize, epoch: u64) {
        if self.is_broken(Hole::DeadHosts) {
            let of_export = |chosen: Option<(usize, u64)>| chosen.is_some_and(|(of, _)| of == export);
            return self.clients(|_, chosen| of_export(chosen)).for_each(|(_, outbox)| outbox.end_reading());
        }
        let old = |chosen: Option<(usize, u64)>| chosen.is_some_and(|(of, began)| of == export && began < epoch);
        self.clients(|_, chosen| old(chosen)).for_each(|(_, outbox)| outbox.lose_power());
    }

    /// The server is to end.
    pub fn quit(&self) {
        *self.quits.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.changed.notify_all();
        if !self.is_broken(Hole::ForgottenDoor) {
            (self.rules.ends)();
        }
    }

    /// True if the server is to end.
    pub fn is_quitting(&self) -> bool {
        *self.quits.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until the server is to end, for a time at most. True if it is.
    pub fn wait_for_quit(&self, most: Duration) -> bool {
        let quits = self.quits.lock().unwrap_or_else(PoisonError::into_inner);
        let quits = self.changed.wait_timeout_while(quits, most, |quits| !*quits);
        *quits.unwrap_or_else(PoisonError::into_inner).0
    }

    /// No more is read from anybody; what is under way is answered.
    pub fn end_reading(&self) {
        for entry in self.register().guests.values() {
            match &entry.guest {
                Guest::Client { outbox, .. } => outbox.end_reading(),
                Guest::Control { wire, .. } => wire.end_reading(),
            }
        }
    }

    /// All connections end now.
    pub fn close_all(&self) {
        let wires: Vec<_> = self.clients(|_, _| true).collect();
        wires.into_iter().for_each(|(_, outbox)| outbox.break_off());
        for entry in self.register().guests.values().filter(|entry| !entry.is_client()) {
            entry.end();
        }
    }

    /// True if nobody is here.
    pub fn is_empty(&self) -> bool {
        self.register().guests.is_empty()
    }
}
