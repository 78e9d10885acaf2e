//! The server: exports, sockets, and the threads of connections.

#![expect(clippy::disallowed_types, reason = "a server waits for a time")]

use std::net::{IpAddr, Ipv4Addr, Shutdown, SocketAddr};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use attach::{EndError, Engine, Pace, Runner, Sender};
use lab::aged::Header;
use thiserror::Error;

use crate::connection;
use crate::control::{self, Command, Reply};
use crate::nbd::Offer;
use crate::outbox::Lateness;
use crate::stream::{Listener, Stream};

/// Connections at a time.
const MAX_CONNECTIONS: usize = 1000;
/// Stack of a thread.
const STACK: usize = 256 << 10;
/// Clients that take no replies have so long at the end of the server.
const PATIENCE: Duration = Duration::from_secs(5);

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
    /// A TCP port on the loopback as well; 0 for any.
    pub tcp_port: Option<u16>,
    /// The control socket.
    pub control: Option<PathBuf>,
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

/// An export that is served.
pub struct Exported {
    pub offer: Offer,
    pub header: Header,
    pub sender: Sender,
    pub lateness: Lateness,
}

/// A connection, so that it can be ended.
struct Open {
    stream: Stream,
    thread: Option<JoinHandle<()>>,
    done: Arc<AtomicBool>,
    export: Chosen,
}

/// The position of the export that a connection is about; [`UNDECIDED`] before the end of its handshake.
pub type Chosen = Arc<AtomicUsize>;
const UNDECIDED: usize = usize::MAX;

/// What all threads share.
pub struct Shared {
    pub exports: Vec<Exported>,
    open: Mutex<Vec<Open>>,
    quits: Mutex<bool>,
    changed: Condvar,
    accepted: AtomicU64,
}

pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Starts a thread.
pub fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> std::io::Result<JoinHandle<()>> {
    std::thread::Builder::new().name(name.into()).stack_size(STACK).spawn(work)
}

impl Shared {
    /// The server is to end.
    pub fn quit(&self) {
        *lock(&self.quits) = true;
        self.changed.notify_all();
    }

    fn is_quitting(&self) -> bool {
        *lock(&self.quits)
    }

    /// Clients of an export.
    pub fn connections_of(&self, name: &str) -> usize {
        self.of(name, |_| {})
    }

    /// No request of a client of an export comes any more; what is under way is answered.
    pub fn disconnect(&self, name: &str) {
        self.of(name, |open| open.stream.shutdown(Shutdown::Read));
    }

    /// Does something with each connection of an export. Gives their number.
    fn of(&self, name: &str, act: impl FnMut(&Open)) -> usize {
        let open = lock(&self.open);
        let at = self.exports.iter().position(|export| export.offer.name == name);
        let of_export = |open: &&Open| Some(open.export.load(Ordering::Acquire)) == at;
        let alive = |open: &&Open| !open.done.load(Ordering::Acquire);
        open.iter().filter(alive).filter(of_export).map(act).count()
    }

    fn forget_ended(&self) {
        lock(&self.open).retain_mut(|open| {
            let done = open.done.load(Ordering::Acquire);
            if let Some(thread) = open.thread.take_if(|_| done) {
                let _ = thread.join();
            }
            !done
        });
    }
}

/// A running server.
pub struct Server {
    shared: Arc<Shared>,
    runners: Vec<Runner>,
    listening: Vec<JoinHandle<()>>,
    /// Files of sockets, to be removed.
    files: Vec<PathBuf>,
    port: Option<u16>,
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
        let mut listeners = vec![at_path(&options.socket)?];
        let mut files = vec![options.socket.clone()];
        if let Some(port) = options.tcp_port {
            let address = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port);
            let listener = Listener::tcp(address).map_err(|error| ServeError::Socket(address.to_string(), error))?;
            listeners.push(listener);
        }
        let port = listeners.iter().find_map(Listener::port);
        let control = options.control.as_deref().map(at_path).transpose()?;
        files.extend(options.control.clone());
        let (exported, runners) = start_all(exports, options.pace)?;
        let shared = Arc::new(Shared {
            exports: exported,
            open: Mutex::default(),
            quits: Mutex::default(),
            changed: Condvar::new(),
            accepted: AtomicU64::new(0),
        });
        let mut server = Server { shared, runners, listening: Vec::new(), files, port };
        for listener in listeners {
            server.listen(listener, |shared, stream, chosen| {
                connection::serve(stream, &shared.exports, chosen).map_err(|violation| violation.to_string())
            })?;
        }
        if let Some(control) = control {
            server.listen(control, |shared, stream, _| {
                control::serve(stream, shared).map_err(|error| format!("control: {error}"))
            })?;
        }
        Ok(server)
    }

    fn listen(
        &mut self,
        listener: Listener,
        serve: impl Fn(&Shared, Stream, &Chosen) -> Result<(), String> + Copy + Send + Sync + 'static,
    ) -> Result<(), ServeError> {
        let shared = self.shared.clone();
        let thread = spawn("ufsim accept", move || {
            loop {
                let accepted = listener.accept();
                if shared.is_quitting() {
                    return;
                }
                shared.forget_ended();
                match accepted {
                    Ok(stream) => take_in(&shared, stream, serve),
                    // Too many open files, or a client that has gone before it was accepted.
                    Err(_) => std::thread::sleep(Duration::from_millis(10)),
                }
            }
        });
        self.listening.push(thread.map_err(ServeError::Thread)?);
        Ok(())
    }

    /// The TCP port, if there is one.
    pub fn port(&self) -> Option<u16> {
        self.port
    }

    /// For other threads.
    pub fn handle(&self) -> Handle {
        Handle(self.shared.clone())
    }

    /// Ends in an ordinary way: requests under way are answered, everything comes to flash, stores are closed.
    ///
    /// # Errors
    /// If a device has stopped before, or its store could not be closed.
    pub fn end(self) -> Result<(), ServeError> {
        let Server { shared, runners, listening, files, port } = self;
        shared.quit();
        // Whoever waits for connections looks whether to go on when one comes.
        for file in &files {
            drop(std::os::unix::net::UnixStream::connect(file));
        }
        if let Some(port) = port {
            drop(std::net::TcpStream::connect((Ipv4Addr::LOCALHOST, port)));
        }
        for thread in listening {
            let _ = thread.join();
        }
        let open = std::mem::take(&mut *lock(&shared.open));
        open.iter().for_each(|open| open.stream.shutdown(Shutdown::Read));
        let end = Instant::now() + PATIENCE;
        while open.iter().any(|open| !open.done.load(Ordering::Acquire)) && Instant::now() < end {
            std::thread::sleep(Duration::from_millis(2));
        }
        for Open { stream, thread, .. } in open {
            stream.shutdown(Shutdown::Both);
            thread.map(|thread| thread.join().ok());
        }
        files.iter().for_each(|file| drop(std::fs::remove_file(file)));
        let ended: Vec<_> = runners.into_iter().map(Runner::end).collect();
        Ok(ended.into_iter().collect::<Result<(), EndError>>()?)
    }
}

/// What threads can do with a server at the same time.
#[derive(Clone)]
pub struct Handle(Arc<Shared>);

impl Handle {
    /// Waits until the server is to end, or a device has stopped, or the time is over. False if it goes on.
    pub fn wait(&self, most: Duration) -> bool {
        let end = Instant::now() + most;
        let mut quits = lock(&self.0.quits);
        while !*quits {
            if self.0.exports.iter().any(|export| export.sender.is_gone()) {
                return true;
            }
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            let short = left.min(Duration::from_millis(100));
            quits = self.0.changed.wait_timeout(quits, short).unwrap_or_else(PoisonError::into_inner).0;
        }
        true
    }

    /// Does a command of the control socket.
    pub fn control(&self, command: &Command) -> Reply {
        control::run(command, &self.0)
    }
}

fn at_path(path: &std::path::Path) -> Result<Listener, ServeError> {
    Listener::unix(path).map_err(|error| ServeError::Socket(path.display().to_string(), error))
}

fn start_all(exports: Vec<Export>, pace: Pace) -> Result<(Vec<Exported>, Vec<Runner>), ServeError> {
    let (mut exported, mut runners) = (Vec::new(), Vec::new());
    for Export { name, description, read_only, header, engine } in exports {
        let size = u64::from(engine.units()) * attach::UNIT as u64;
        let runner = Runner::start(engine, pace).map_err(ServeError::Thread)?;
        let offer = Offer { name, description, size, read_only };
        let lateness = Lateness::default();
        exported.push(Exported { offer, header, sender: runner.sender(), lateness });
        runners.push(runner);
    }
    Ok((exported, runners))
}

/// Gives a connection a thread.
fn take_in(
    shared: &Arc<Shared>,
    stream: Stream,
    serve: impl Fn(&Shared, Stream, &Chosen) -> Result<(), String> + Send + 'static,
) {
    let number = shared.accepted.fetch_add(1, Ordering::Relaxed);
    let (Ok(of_list), Ok(closing)) = (stream.try_clone(), stream.try_clone()) else { return };
    let (done, export) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(UNDECIDED)));
    let mut open = lock(&shared.open);
    if open.len() >= MAX_CONNECTIONS {
        eprintln!("ufsim: note: connection {number}: refused, there are {MAX_CONNECTIONS}");
        return;
    }
    let (of_thread, ended, chosen) = (shared.clone(), done.clone(), export.clone());
    let thread = spawn("ufsim connection", move || {
        if let Err(reason) = serve(&of_thread, stream, &chosen) {
            eprintln!("ufsim: note: connection {number}: closed: {reason}");
        }
        closing.shutdown(Shutdown::Both);
        ended.store(true, Ordering::Release);
    });
    if let Ok(thread) = thread {
        open.push(Open { stream: of_list, thread: Some(thread), done, export });
    }
}
