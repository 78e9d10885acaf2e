//! The server: sockets and threads around a [`House`].
//!
//! A thread accepts connections and looks after the house now and then. Each client has a thread that reads, and one
//! that waits for room on the wire when the client does not take its replies at once.

use std::io::Write;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread::JoinHandle;
use std::time::Duration;

use attach::{EndError, Engine, Pace, Promise, RealWall, Runner, Wall};
use lab::aged::Header;
use thiserror::Error;

use crate::budget::Memory;
use crate::connection::{Connection, Waits};
use crate::control::{self, Caller, Command, MAX_LINE, Reply};
use crate::house::{Exported, House, Rules};
use crate::nbd::Offer;
use crate::notes::{Notes, StandardError};
use crate::outbox::Lateness;
use crate::stream::{Listener, Stream, wait_for_any};
use crate::wire::Wire;

/// Stack of a thread.
const STACK: usize = 256 << 10;
/// Clients that take no replies have so long at the end of the server.
const PATIENCE: Duration = Duration::from_secs(5);
/// Between two looks after the house.
const TICK: Duration = Duration::from_millis(250);
/// Between two looks whether everybody has gone.
const LOOK: Duration = Duration::from_millis(2);

/// A device to be served.
pub struct Export {
    /// The name that clients ask for.
    pub name: String,
    /// A line about it.
    pub description: String,
    /// Writes and trims are refused.
    pub read_only: bool,
    /// What files of its aged state say about themselves.
    pub header: Header,
    /// The device.
    pub engine: Engine,
}

/// How to serve.
#[derive(Clone, PartialEq, Debug)]
pub struct Options {
    /// The Unix socket of the exports.
    pub socket: PathBuf,
    /// A TCP port on the loopback as well, for all users of this machine; 0 for any.
    pub tcp_port: Option<u16>,
    /// The control socket.
    pub control: Option<PathBuf>,
    /// The folder below which the control socket may have states saved.
    pub saves: PathBuf,
    /// Clients at a time.
    pub clients: usize,
    /// The clock of all exports.
    pub pace: Pace,
}

/// Why there is no server, or why it has not ended in an ordinary way.
#[derive(Debug, Error)]
pub enum ServeError {
    /// A socket could not be made.
    #[error("{0}: {1}")]
    Socket(String, std::io::Error),
    /// There is no thread.
    #[error("no thread: {0}")]
    Thread(std::io::Error),
    /// A device has stopped.
    #[error("{0}")]
    Device(#[from] EndError),
}

/// Starts a thread.
fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> std::io::Result<JoinHandle<()>> {
    std::thread::Builder::new().name(name.into()).stack_size(STACK).spawn(work)
}

/// Threads of connections.
#[derive(Clone, Default)]
struct Threads(Arc<Mutex<Vec<JoinHandle<()>>>>);

impl Threads {
    fn spawn(&self, name: &str, work: impl FnOnce() + Send + 'static) -> std::io::Result<()> {
        let thread = spawn(name, work)?;
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|thread| !thread.is_finished());
        all.push(thread);
        Ok(())
    }

    fn join(&self) {
        let all = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        for thread in all {
            // What a panic of it has to say has been said.
            let _ = thread.join();
        }
    }
}

/// A running server.
pub struct Server {
    house: Arc<House>,
    runners: Vec<Runner>,
    accepting: JoinHandle<()>,
    threads: Threads,
    port: Option<u16>,
}

/// Where connections come from.
struct Doors {
    clients: Vec<Listener>,
    control: Option<Listener>,
    woken: UnixStream,
}

impl Server {
    /// Starts to serve. Clients can connect when this returns.
    ///
    /// # Errors
    /// If a socket cannot be made.
    ///
    /// # Panics
    /// Without any export.
    pub fn start(exports: Vec<Export>, options: &Options) -> Result<Server, ServeError> {
        assert!(!exports.is_empty(), "a server has exports");
        let mut clients = vec![at_path(&options.socket)?];
        if let Some(port) = options.tcp_port {
            let address = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port);
            clients.push(Listener::tcp(address).map_err(|error| ServeError::Socket(address.to_string(), error))?);
        }
        let port = clients.iter().find_map(Listener::port);
        let control = options.control.as_deref().map(at_path).transpose()?;
        let (waking, woken) = UnixStream::pair().map_err(ServeError::Thread)?;
        waking.set_nonblocking(true).map_err(ServeError::Thread)?;
        let wall: Arc<dyn Wall> = Arc::new(RealWall::start());
        let notes: Arc<dyn Notes> = Arc::new(StandardError::start().map_err(ServeError::Thread)?);
        let (exported, runners) = start_all(exports, options.pace, &wall)?;
        let rules = Rules {
            clients: options.clients,
            saves: options.saves.clone(),
            memory: Memory::default(),
            files: Arc::new(files::Real),
            wall,
            notes,
            // A byte that cannot be sent waits behind others, which wake as well.
            ends: Box::new(move || drop((&waking).write(&[0]))),
            sabotage: None,
        };
        let house = House::new(exported, rules);
        let threads = Threads::default();
        let (of_thread, starts) = (house.clone(), threads.clone());
        let doors = Doors { clients, control, woken };
        let accepting = spawn("ufsim accept", move || accept(&of_thread, &doors, &starts));
        let accepting = accepting.map_err(ServeError::Thread)?;
        Ok(Server { house, runners, accepting, threads, port })
    }

    /// The TCP port, if there is one.
    pub fn port(&self) -> Option<u16> {
        self.port
    }

    /// For other threads.
    pub fn handle(&self) -> Handle {
        Handle(self.house.clone())
    }

    /// Ends in an ordinary way: requests under way are answered, everything comes to flash, stores are closed.
    ///
    /// # Errors
    /// If a device has stopped before, or its store could not be closed.
    pub fn end(self) -> Result<(), ServeError> {
        let Server { house, runners, accepting, threads, .. } = self;
        house.quit();
        let _ = accepting.join();
        house.end_reading();
        for _ in 0..PATIENCE.as_millis() / LOOK.as_millis() {
            if house.is_empty() {
                break;
            }
            std::thread::sleep(LOOK);
        }
        house.close_all();
        // Before the threads, one of which may wait for a device that recovers.
        let ended: Vec<_> = runners.into_iter().map(Runner::end).collect();
        threads.join();
        Ok(ended.into_iter().collect::<Result<(), EndError>>()?)
    }
}

/// What threads can do with a server at the same time.
#[derive(Clone)]
pub struct Handle(Arc<House>);

impl Handle {
    /// Waits until the server is to end, or a device has stopped, or the time is over. False if it goes on.
    pub fn wait(&self, most: Duration) -> bool {
        let mut left = most;
        loop {
            let is_gone = self.0.exports().iter().any(|export| export.sender.is_gone());
            let short = left.min(Duration::from_millis(100));
            if is_gone || self.0.wait_for_quit(short) {
                return true;
            }
            left -= short;
            if left.is_zero() {
                return false;
            }
        }
    }

    /// Does a command of the control socket, and waits for its reply.
    ///
    /// # Errors
    /// If the server has ended meanwhile.
    pub fn control(&self, command: Command) -> Result<Reply, mpsc::RecvError> {
        let (reply, told) = promised();
        control::run(command, &self.0, reply);
        told.recv()
    }
}

/// A promise to somebody who waits.
fn promised() -> (Promise<Reply>, mpsc::Receiver<Reply>) {
    let (tell, told) = mpsc::channel();
    let reply = Promise::new(move |reply: Option<Reply>| {
        // Nobody may wait any more.
        let _ = reply.map(|reply| tell.send(reply));
    });
    (reply, told)
}

fn at_path(path: &Path) -> Result<Listener, ServeError> {
    Listener::unix(path).map_err(|error| ServeError::Socket(path.display().to_string(), error))
}

fn start_all(
    exports: Vec<Export>,
    pace: Pace,
    wall: &Arc<dyn Wall>,
) -> Result<(Vec<Exported>, Vec<Runner>), ServeError> {
    let (mut exported, mut runners) = (Vec::new(), Vec::new());
    for Export { name, description, read_only, header, engine } in exports {
        let size = u64::from(engine.units()) * attach::UNIT as u64;
        let runner = Runner::start(engine, pace, wall.clone()).map_err(ServeError::Thread)?;
        let offer = Offer { name, description, size, read_only };
        let lateness = Lateness::default();
        exported.push(Exported { offer, header, sender: runner.sender(), pace, lateness });
        runners.push(runner);
    }
    Ok((exported, runners))
}

/// Takes connections in until the server is to end.
fn accept(house: &Arc<House>, doors: &Doors, threads: &Threads) {
    let all: Vec<&Listener> = doors.clients.iter().chain(&doors.control).collect();
    while !house.is_quitting() {
        wait_for_any(&all, &doors.woken, TICK);
        house.tick();
        for listener in &doors.clients {
            take_in(house, listener, |stream| begin_client(house, stream, threads));
        }
        if let Some(control) = &doors.control {
            take_in(house, control, |stream| begin_control(house, stream, threads));
        }
    }
}

fn take_in(house: &House, listener: &Listener, begin: impl Fn(Arc<Stream>) -> std::io::Result<()>) {
    loop {
        match listener.accept() {
            Ok(Some(stream)) => {
                // Without a thread the connection ends, as the client sees.
                let _ = begin(Arc::new(stream));
            }
            Ok(None) => return,
            Err(_) => {
                house.make_room();
                std::thread::sleep(Duration::from_millis(10));
                return;
            }
        }
    }
}

fn begin_client(house: &Arc<House>, stream: Arc<Stream>, threads: &Threads) -> std::io::Result<()> {
    let Some(mut connection) = house.admit(stream.clone()) else { return Ok(()) };
    let (outbox, writing) = (connection.outbox().clone(), stream.clone());
    let house = house.clone();
    threads.spawn("ufsim replies", move || {
        while outbox.wait_until_stuck() {
            writing.wait_for_room();
            outbox.go_on();
        }
    })?;
    threads.spawn("ufsim connection", move || {
        // At its end, however it comes, nobody waits for replies any more.
        let ends = Ends(connection.outbox().clone());
        read_client(&house, &mut connection, &stream);
        ends.0.wait_until_over();
    })
}

/// Ends a connection when its thread ends, also by a panic.
struct Ends(Arc<crate::outbox::Outbox>);

impl Drop for Ends {
    fn drop(&mut self) {
        self.0.break_off();
    }
}

fn read_client(house: &House, connection: &mut Connection, stream: &Stream) {
    loop {
        let freed = house.budget().freed();
        match connection.turn() {
            Waits::Bytes => match stream.read(connection.space()) {
                Ok(count) => connection.received(count),
                Err(_) => return connection.outbox().break_off(),
            },
            Waits::Room => house.budget().wait(freed),
            Waits::Over => return,
        }
    }
}

fn begin_control(house: &Arc<House>, stream: Arc<Stream>, threads: &Threads) -> std::io::Result<()> {
    let Some(caller) = house.admit_control(stream.clone()) else { return Ok(()) };
    threads.spawn("ufsim control", move || {
        talk(&caller, &stream);
        stream.close();
    })
}

/// Does commands until the client leaves.
fn talk(caller: &Caller, stream: &Stream) {
    let mut bytes = Vec::new();
    let mut more = vec![0; 4096];
    loop {
        while let Some(end) = bytes.iter().position(|&byte| byte == b'\n') {
            let line: Vec<u8> = bytes.drain(..=end).collect();
            if !answer(caller, &line, stream) {
                return;
            }
        }
        match stream.read(&mut more) {
            Ok(count) if count > 0 && bytes.len() + count <= MAX_LINE => bytes.extend(&more[..count]),
            Ok(0) | Err(_) => return,
            Ok(_) => {
                let _ = answer(caller, b"too long", stream);
                return;
            }
        }
    }
}

/// False if the client has gone.
fn answer(caller: &Caller, line: &[u8], stream: &Stream) -> bool {
    let (reply, told) = promised();
    caller.line(line, reply);
    let Ok(reply) = told.recv() else { return false };
    let line = reply.line();
    let mut sent = 0;
    while sent < line.len() {
        match stream.send_now(&line[sent..]) {
            Ok(0) => stream.wait_for_room(),
            Ok(more) => sent += more,
            Err(_) => return false,
        }
    }
    true
}
