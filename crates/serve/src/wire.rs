//! The server's side of a connection, which is lent: a socket, or that of a simulation.

use std::io;

/// Where replies go.
pub trait Wire: Send + Sync {
    /// Sends as much as the other side takes without waiting. Gives the number of bytes.
    ///
    /// # Errors
    /// If the other side takes no more.
    fn send_now(&self, bytes: &[u8]) -> io::Result<usize>;

    /// Reads end, as if the client had said all; replies still go.
    fn end_reading(&self);

    /// Ends both directions. What has been sent arrives.
    fn close(&self);
}
