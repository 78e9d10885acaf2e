//! A server process without threads: whoever drives it says which part of it goes on next.

use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use attach::{Desk, Engine, FileStore, Hole, MemoryStore, Moment, Pace, Promise, Store, StoreError, Turn, Wall};
use files::{FileError, Simulated};
use lab::Machine;
use lab::aged::Header;
use serve::nbd::Offer;
use serve::{Caller, Connection, Exported, House, Lateness, Memory, Notes, Places, Reply, Rules, Waits, Wire};

use crate::wire::Line;

/// Clients at a time.
pub const CLIENTS: usize = 6;
/// Memory of the server: little, so that its limits are reached.
pub const MEMORY: Memory = Memory { share: 64 << 10, pool: 512 << 10, most: 256 << 10 };
/// The name of its store.
pub const STORE: &str = "/d/store";
/// The name of its log.
pub const LOG: &str = "/d/log";
/// Where states may be saved.
pub const SAVES: &str = "/d/saves";

/// The clock of the simulated world.
#[derive(Default)]
pub struct Time(AtomicU64);

impl Time {
    /// Lets time pass.
    pub fn pass(&self, ns: u64) {
        self.0.fetch_add(ns, Ordering::Relaxed);
    }
}

impl Wall for Time {
    fn now(&self) -> Moment {
        Moment(self.0.load(Ordering::Relaxed))
    }
}

/// Remarks, which cannot always be written.
#[derive(Default)]
pub struct Margin {
    pub full: AtomicBool,
}

impl Notes for Margin {
    fn note(&self, _: &str) -> io::Result<()> {
        if self.full.load(Ordering::Relaxed) { Err(ErrorKind::BrokenPipe.into()) } else { Ok(()) }
    }
}

/// What a process is started with, whenever it is.
#[derive(Clone)]
pub struct Setting {
    pub machine: Arc<Machine>,
    pub header: Header,
    pub seed: u64,
    pub pace: Pace,
    pub sabotage: Option<Hole>,
    pub disk: Simulated,
    pub time: Arc<Time>,
    pub margin: Arc<Margin>,
}

/// A connection on the server's side.
struct Link {
    number: u64,
    line: Arc<Line>,
    connection: Connection,
    waits: Waits,
}

/// The reply to a command, once it is there.
pub type Answer = Arc<Mutex<Option<Reply>>>;

/// A running server.
pub struct Process {
    setting: Setting,
    house: Arc<House>,
    desk: Desk,
    links: Vec<Link>,
    /// Who uses the control socket.
    caller: Option<Caller>,
    /// Who waits for connections has been told that the server ends.
    told: Arc<AtomicBool>,
}

/// Why there is no process.
#[derive(Debug)]
pub enum Refusal {
    /// The store is damaged.
    Damaged(String),
    /// A file may not be used so.
    Place(FileError),
    /// The disk has failed.
    Disk(#[expect(dead_code, reason = "told in failures")] io::Error),
}

impl Setting {
    /// A store on the disk.
    fn store(&self, path: &Path) -> Result<Box<dyn Store>, Refusal> {
        match FileStore::sabotaged(&self.disk, path, self.machine.profile.capacity_units(), self.sabotage) {
            Ok(store) => Ok(Box::new(store)),
            Err(StoreError::Unfit { what, .. }) => Err(Refusal::Damaged(what)),
            Err(StoreError::Io { error, .. } | StoreError::Unwritten { error, .. }) => Err(Refusal::Disk(error)),
        }
    }

    /// An engine with the files that are asked for, in the order in which the program opens them.
    ///
    /// # Errors
    /// Why there is none.
    pub fn engine(&self, places: &Places) -> Result<Engine, Refusal> {
        places.check(&self.disk).map_err(Refusal::Place)?;
        let store = match &places.store {
            Some(path) => self.store(path)?,
            None => Box::new(MemoryStore::new()),
        };
        let mut engine = Engine::new(&self.machine, self.seed, store).expect("the profile's own settings");
        engine.sabotage(self.sabotage);
        places.begin_log(&self.disk, &mut engine).map_err(Refusal::Place)?;
        Ok(engine)
    }

    /// Where the files of a server lie.
    pub fn places(&self, log: bool) -> Places {
        let sockets = ["/d/socket", "/d/control"].map(PathBuf::from).to_vec();
        let log = log.then(|| LOG.into());
        Places { store: Some(STORE.into()), log, overwrite: false, sockets, sabotage: self.sabotage }
    }
}

impl Process {
    /// Starts a server.
    ///
    /// # Errors
    /// Why it refuses.
    pub fn start(setting: &Setting, log: bool) -> Result<Process, Refusal> {
        let engine = setting.engine(&setting.places(log))?;
        let size = u64::from(engine.units()) * attach::UNIT as u64;
        let desk = Desk::new(engine, setting.pace, setting.time.clone());
        let offer = Offer { name: "device".into(), description: String::new(), size, read_only: false };
        let lateness = Lateness::default();
        let export =
            Exported { offer, header: setting.header.clone(), sender: desk.sender(), pace: setting.pace, lateness };
        let told = Arc::new(AtomicBool::new(false));
        let tells = told.clone();
        let rules = Rules {
            clients: CLIENTS,
            saves: SAVES.into(),
            memory: MEMORY,
            files: Arc::new(setting.disk.clone()),
            wall: setting.time.clone(),
            notes: setting.margin.clone(),
            ends: Box::new(move || tells.store(true, Ordering::Relaxed)),
            sabotage: setting.sabotage,
        };
        let house = House::new(vec![export], rules);
        Ok(Process { setting: setting.clone(), house, desk, links: Vec::new(), caller: None, told })
    }

    /// The epoch of its device.
    pub fn epoch(&self) -> u64 {
        self.desk.sender().epoch()
    }

    /// Connections in their handshake.
    pub fn greeting(&self) -> Vec<u64> {
        let greeting = |link: &&Link| link.connection.epoch().is_none();
        self.links.iter().filter(greeting).map(|link| link.number).collect()
    }

    /// A client connects.
    ///
    /// # Errors
    /// If it is sent away although there is room.
    pub fn connect(&mut self, number: u64) -> Result<Option<Arc<Line>>, String> {
        let line = Line::new(self.setting.disk.clone());
        line.set_buffer(4096);
        let busy = self.links.iter().filter(|link| link.connection.epoch().is_some()).count();
        match self.house.admit(line.clone()) {
            Some(connection) => {
                self.links.push(Link { number, line: line.clone(), connection, waits: Waits::Bytes });
                Ok(Some(line))
            }
            None if busy < CLIENTS => Err(format!("a client is sent away, and only {busy} have ended their handshake")),
            None => Ok(None),
        }
    }

    /// Connections that have not ended.
    pub fn links(&self) -> usize {
        self.links.len()
    }

    /// The engine goes on, for so many events at most.
    pub fn engine_goes_on(&mut self, most: usize) -> Turn {
        self.desk.turn(most)
    }

    /// A connection reads so many bytes at most, and does what can be done with them.
    pub fn link_goes_on(&mut self, at: usize, most: usize) {
        let link = &mut self.links[at];
        if link.waits == Waits::Bytes {
            let space = link.connection.space();
            match link.line.read(space, most) {
                Some(count) => link.connection.received(count),
                None if !link.connection.outbox().is_broken() => return,
                None => {}
            }
        }
        link.waits = link.connection.turn();
        if link.waits == Waits::Over && link.connection.outbox().is_over() {
            drop(self.links.swap_remove(at));
        }
    }

    /// There is room again for bytes to the client of a connection.
    pub fn room(&mut self, at: usize, buffer: usize) {
        self.links[at].line.set_buffer(buffer);
        self.links[at].connection.outbox().go_on();
    }

    /// Does a line of the control socket.
    pub fn control(&mut self, line: &str) -> Answer {
        let caller = self.caller.take().or_else(|| self.house.admit_control(Line::new(self.setting.disk.clone())));
        let answer = Answer::default();
        if let Some(caller) = caller {
            let of = answer.clone();
            let told = Promise::new(move |reply: Option<Reply>| {
                *of.lock().unwrap_or_else(PoisonError::into_inner) = reply;
            });
            caller.line(line.as_bytes(), told);
            self.caller = Some(caller);
        }
        answer
    }

    /// Looks after those who take too long.
    pub fn tick(&self) {
        self.house.tick();
    }

    /// True if a command has ended it.
    pub fn is_quitting(&self) -> bool {
        self.house.is_quitting()
    }

    /// Bytes of all connections that wait for clients are within the budget.
    ///
    /// # Errors
    /// If they are not.
    pub fn check_memory(&self) -> Result<(), String> {
        let held: usize = self.links.iter().map(|link| link.connection.outbox().bytes()).sum();
        let most = MEMORY.pool + MEMORY.share * self.links.len();
        if held > most { Err(format!("{held} bytes are kept for clients, and {most} are allowed")) } else { Ok(()) }
    }

    /// True if who waits for connections has been told that the server ends.
    pub fn is_told(&self) -> bool {
        self.told.load(Ordering::Relaxed)
    }

    /// No more is read from anybody.
    pub fn end_reading(&self) {
        self.house.end_reading();
    }

    /// All connections end, and then the engine does.
    pub fn close_all(&mut self) {
        self.house.close_all();
        self.desk.end();
    }

    /// The process has died: all its connections are gone.
    pub fn die(self) {
        for link in &self.links {
            link.line.die();
            link.line.close();
        }
    }
}
