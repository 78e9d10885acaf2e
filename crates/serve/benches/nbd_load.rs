//! A lean NBD client that keeps random reads of 4 KiB under way, to measure servers rather than clients:
//!
//! `nbd_load --fill SOCKET EXPORT MIB` writes the first `MIB` of the export, each block with its number.
//!
//! `nbd_load SOCKET EXPORT MIB DEPTH SECONDS [RATE]` reads blocks of them at random for `SECONDS`, with `DEPTH`
//! requests under way at a time, and at most `RATE` a second if that is given. Every block has to have its number.
//! Prints a line of JSON. `cargo bench` without arguments does nothing: `make bench-device` uses it.
//!
//! `nbd_load --bare SECONDS RATE` connects to nothing. A thread sends blocks at given moments to another one, as the
//! simplest of servers would, and prints by how much it was late: what a machine makes of that.

#![expect(clippy::disallowed_types, reason = "it measures the wall clock")]

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

const BLOCK: usize = 4096;
const BLOCKS_OF_MIB: u64 = 256;
const REPLY: usize = 16 + BLOCK;
/// Blocks of each write that fills.
const PIECE: usize = 64;
const READ: u16 = 0;
const WRITE: u16 = 1;

struct Client {
    stream: UnixStream,
    /// Requests that have not been sent.
    out: Vec<u8>,
    /// What has come, up to `filled`.
    buffer: Vec<u8>,
    filled: usize,
}

impl Client {
    /// Connects to an export, by the oldest way of doing so, which every server knows.
    fn connect(socket: &str, export: &str) -> std::io::Result<Client> {
        let mut stream = UnixStream::connect(socket)?;
        let mut greeting = [0; 18];
        stream.read_exact(&mut greeting)?;
        assert_eq!(&greeting[..16], b"NBDMAGICIHAVEOPT", "no server of NBD");
        let mut hello = 3u32.to_be_bytes().to_vec();
        hello.extend(b"IHAVEOPT");
        hello.extend(1u32.to_be_bytes());
        hello.extend((export.len() as u32).to_be_bytes());
        hello.extend(export.as_bytes());
        stream.write_all(&hello)?;
        stream.read_exact(&mut [0; 10])?;
        Ok(Client { stream, out: Vec::new(), buffer: vec![0; 64 * REPLY], filled: 0 })
    }

    fn ask(&mut self, kind: u16, block: u64, blocks: usize) {
        self.out.extend(0x2560_9513_u32.to_be_bytes());
        self.out.extend([0, 0]);
        self.out.extend(kind.to_be_bytes());
        self.out.extend(block.to_be_bytes());
        self.out.extend((block * BLOCK as u64).to_be_bytes());
        self.out.extend(((blocks * BLOCK) as u32).to_be_bytes());
    }

    fn send(&mut self) -> std::io::Result<()> {
        self.stream.write_all(&self.out)?;
        self.out.clear();
        Ok(())
    }

    /// Fills the first blocks, each with its number.
    fn fill(&mut self, blocks: u64) -> std::io::Result<()> {
        for first in (0..blocks).step_by(PIECE) {
            self.ask(WRITE, first, PIECE);
            for block in first..first + PIECE as u64 {
                self.out.extend(block.to_be_bytes().repeat(BLOCK / 8));
            }
            self.send()?;
            let mut reply = [0; 16];
            self.stream.read_exact(&mut reply)?;
            assert_eq!(reply[4..8], [0; 4], "a write failed");
        }
        Ok(())
    }

    /// Waits for replies to reads, and checks them. Gives how many have come.
    fn replies(&mut self) -> std::io::Result<usize> {
        let mut whole = 0;
        while whole == 0 {
            let got = self.stream.read(&mut self.buffer[self.filled..])?;
            assert!(got > 0, "the server has left");
            self.filled += got;
            whole = self.filled / REPLY;
        }
        for reply in self.buffer[..whole * REPLY].chunks_exact(REPLY) {
            assert_eq!(reply[..8], [0x67, 0x44, 0x66, 0x98, 0, 0, 0, 0], "a read failed");
            assert!(reply[8..16] == reply[16..24] && reply[8..16] == reply[REPLY - 8..], "wrong data");
        }
        self.buffer.copy_within(whole * REPLY..self.filled, 0);
        self.filled -= whole * REPLY;
        Ok(whole)
    }
}

/// When requests may be sent.
struct Rate {
    began: Instant,
    per_second: Option<f64>,
}

impl Rate {
    /// Requests that may have been sent by now; waits for the first of them, if none is `under_way`.
    fn allowed(&self, sent: u64, under_way: u64) -> u64 {
        let Some(rate) = self.per_second else { return u64::MAX };
        let allowed = |at: Duration| (at.as_secs_f64() * rate) as u64 + 1;
        if under_way == 0 {
            let due = Duration::from_secs_f64(sent as f64 / rate);
            while self.began.elapsed() < due {
                std::thread::yield_now();
            }
        }
        allowed(self.began.elapsed())
    }
}

/// Sends a block at each of `rate` moments a second to a thread that waits for it, and does nothing else. Prints by how
/// much it was late when they had been sent.
fn bare(seconds: f64, rate: f64) -> std::io::Result<()> {
    let (mut from, mut to) = UnixStream::pair()?;
    let mut late: Vec<u128> = Vec::new();
    std::thread::scope(|scope| {
        scope.spawn(move || while to.read(&mut [0; REPLY]).is_ok_and(|got| got > 0) {});
        let began = Instant::now();
        for number in 0..(seconds * rate) as u64 {
            let due = began + Duration::from_secs_f64(number as f64 / rate);
            while Instant::now() < due {
                std::hint::spin_loop();
            }
            from.write_all(&[0; REPLY])?;
            late.push(due.elapsed().as_nanos());
        }
        from.shutdown(std::net::Shutdown::Both)
    })?;
    late.sort_unstable();
    let [p50, p99, p999] = [0.5, 0.99, 0.999].map(|share| late[(share * late.len() as f64) as usize]);
    println!("{{\"p50_ns\": {p50}, \"p99_ns\": {p99}, \"p999_ns\": {p999}}}");
    Ok(())
}

fn main() -> std::io::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    if arguments.is_empty() {
        println!(
            "usage: nbd_load SOCKET EXPORT MIB DEPTH SECONDS [RATE], --fill SOCKET EXPORT MIB, --bare SECONDS RATE"
        );
        return Ok(());
    }
    let number = |at: usize| arguments[at].parse::<f64>().unwrap_or_else(|_| panic!("no number: {}", arguments[at]));
    if arguments[0] == "--bare" {
        return bare(number(1), number(2));
    }
    if arguments[0] == "--fill" {
        return Client::connect(&arguments[1], &arguments[2])?.fill(number(3) as u64 * BLOCKS_OF_MIB);
    }
    let (blocks, depth, seconds) = (number(2) as u64 * BLOCKS_OF_MIB, number(3) as u64, number(4));
    let mut client = Client::connect(&arguments[0], &arguments[1])?;
    let rate = Rate { began: Instant::now(), per_second: arguments.get(5).map(|_| number(5)) };
    let (mut sent, mut done, mut random) = (0u64, 0u64, 0x9e37_79b9_7f4a_7c15_u64);
    while rate.began.elapsed().as_secs_f64() < seconds || sent > done {
        let stopping = rate.began.elapsed().as_secs_f64() >= seconds;
        let allowed = if stopping { sent } else { rate.allowed(sent, sent - done) };
        while sent - done < depth && sent < allowed {
            // xorshift64: enough to spread reads.
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            client.ask(READ, random % blocks, 1);
            sent += 1;
        }
        client.send()?;
        if sent > done {
            done += client.replies()? as u64;
        }
    }
    let took = rate.began.elapsed().as_secs_f64();
    println!("{{\"reads\": {done}, \"seconds\": {took:.3}, \"iops\": {:.0}}}", done as f64 / took);
    Ok(())
}
