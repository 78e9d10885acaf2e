//! Sockets: Unix ones, and TCP on the loopback.

use std::io;
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Mode, fchmod};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SendFlags, SocketAddrUnix, SocketFlags, SocketType, bind, listen, send, socket_with};

use crate::wire::Wire;

/// Connections that wait to be accepted.
const BACKLOG: i32 = 128;
/// Nobody but the owner may connect.
const PRIVATE: u32 = 0o600;

/// A connection.
#[derive(Debug)]
pub enum Stream {
    Unix(UnixStream),
    Tcp(TcpStream),
}

impl AsFd for Stream {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Stream::Unix(stream) => stream.as_fd(),
            Stream::Tcp(stream) => stream.as_fd(),
        }
    }
}

impl Stream {
    /// Reads what has come; waits if nothing has. None at the end.
    ///
    /// # Errors
    /// If the connection has broken.
    pub fn read(&self, bytes: &mut [u8]) -> io::Result<usize> {
        loop {
            match rustix::io::read(self, &mut *bytes) {
                Err(Errno::INTR) => {}
                read => return Ok(read?),
            }
        }
    }

    /// Waits until there is room for more bytes, or the connection has broken.
    pub fn wait_for_room(&self) {
        let mut polled = [PollFd::new(self, PollFlags::OUT)];
        // A poll that fails is as one that has come too early: the next try to send tells.
        let _ = poll(&mut polled, None);
    }

    fn shutdown(&self, how: Shutdown) {
        // What has ended already stays so.
        let _ = match self {
            Stream::Unix(stream) => stream.shutdown(how),
            Stream::Tcp(stream) => stream.shutdown(how),
        };
    }
}

impl Wire for Stream {
    fn send_now(&self, bytes: &[u8]) -> io::Result<usize> {
        let mut sent = 0;
        while sent < bytes.len() {
            match send(self, &bytes[sent..], SendFlags::DONTWAIT | SendFlags::NOSIGNAL) {
                Ok(more) => sent += more,
                Err(Errno::AGAIN) => break,
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(sent)
    }

    fn end_reading(&self) {
        self.shutdown(Shutdown::Read);
    }

    fn close(&self) {
        self.shutdown(Shutdown::Both);
    }
}

/// The name of a Unix socket, which is removed with it, unless it has become another's.
#[derive(Debug)]
struct Name {
    path: PathBuf,
    identity: (u64, u64),
}

impl Drop for Name {
    fn drop(&mut self) {
        if identity(&self.path).is_ok_and(|now| now == self.identity) {
            // Whoever has removed it in this moment has done the same.
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

fn identity(path: &Path) -> io::Result<(u64, u64)> {
    let found = std::fs::symlink_metadata(path)?;
    Ok((found.dev(), found.ino()))
}

/// Waits for connections.
#[derive(Debug)]
pub struct Listener {
    kind: Kind,
    /// Of a Unix socket.
    _name: Option<Name>,
}

#[derive(Debug)]
enum Kind {
    Unix(UnixListener),
    Tcp(TcpListener),
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match &self.kind {
            Kind::Unix(listener) => listener.as_fd(),
            Kind::Tcp(listener) => listener.as_fd(),
        }
    }
}

impl Listener {
    /// A Unix socket at a path, for the owner alone, whatever the umask. A socket that nobody listens at any more is
    /// replaced; anything else there is not.
    ///
    /// # Errors
    /// If something else is there, or it cannot be made.
    pub fn unix(path: &Path) -> io::Result<Listener> {
        use std::os::unix::fs::FileTypeExt;
        let found = std::fs::symlink_metadata(path).ok().map(|found| found.file_type());
        match found {
            Some(kind) if kind.is_socket() => match UnixStream::connect(path) {
                Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => std::fs::remove_file(path)?,
                _ => return Err(io::Error::other("another server listens there")),
            },
            Some(_) => return Err(io::Error::other("there is something that is no socket; it is not replaced")),
            None => {}
        }
        let address = SocketAddrUnix::new(path)?;
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
        // Linux gives the file the mode of the socket less the umask, so there is no moment in which others can
        // connect. Elsewhere the mode is that of the umask until it is set below.
        let _ = fchmod(&socket, Mode::from_raw_mode(PRIVATE));
        bind(&socket, &address)?;
        let name = Name { path: path.into(), identity: identity(path)? };
        std::fs::set_permissions(path, PermissionsExt::from_mode(PRIVATE))?;
        listen(&socket, BACKLOG)?;
        Ok(Listener { kind: Kind::Unix(UnixListener::from(socket)), _name: Some(name) })
    }

    /// A TCP port.
    ///
    /// # Errors
    /// If it is taken.
    pub fn tcp(address: SocketAddr) -> io::Result<Listener> {
        let listener = TcpListener::bind(address)?;
        listener.set_nonblocking(true)?;
        Ok(Listener { kind: Kind::Tcp(listener), _name: None })
    }

    /// The next connection; `None` if none waits.
    ///
    /// # Errors
    /// Too many open files, or a client that has gone before it was accepted.
    pub fn accept(&self) -> io::Result<Option<Stream>> {
        let accepted = match &self.kind {
            Kind::Unix(listener) => listener.accept().and_then(|(stream, _)| {
                stream.set_nonblocking(false)?;
                Ok(Stream::Unix(stream))
            }),
            Kind::Tcp(listener) => listener.accept().and_then(|(stream, _)| {
                stream.set_nonblocking(false)?;
                stream.set_nodelay(true)?;
                Ok(Stream::Tcp(stream))
            }),
        };
        match accepted {
            Ok(stream) => Ok(Some(stream)),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The port that TCP has got.
    pub fn port(&self) -> Option<u16> {
        match &self.kind {
            Kind::Unix(_) => None,
            Kind::Tcp(listener) => listener.local_addr().ok().map(|address| address.port()),
        }
    }
}

/// Waits until a connection comes to one of the listeners, or `woken` has something to read, or for a time.
pub fn wait_for_any(listeners: &[&Listener], woken: &UnixStream, most: std::time::Duration) {
    let mut polled: Vec<PollFd<'_>> = listeners.iter().map(|listener| PollFd::new(*listener, PollFlags::IN)).collect();
    polled.push(PollFd::new(woken, PollFlags::IN));
    let most = Timespec { tv_sec: most.as_secs() as _, tv_nsec: most.subsec_nanos() as _ };
    // A poll that fails is as one that has come too early.
    let _ = poll(&mut polled, Some(&most));
}
