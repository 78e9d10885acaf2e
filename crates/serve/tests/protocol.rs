//! The server against bytes made by hand.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use attach::{Engine, MemoryStore, Pace};
use lab::Spec;
use lab::aged::Header;
use ufsim_serve::{Command, Export, Options, Server};

const BLOCK: usize = 4096;
const READ: u16 = 0;
const WRITE: u16 = 1;
const DISC: u16 = 2;
const FLUSH: u16 = 3;
const TRIM: u16 = 4;
const ZEROES: u16 = 6;
const STATUS: u16 = 7;
const EINVAL: u32 = 22;

/// A server that ends with the test.
struct Bench {
    server: Option<Server>,
    socket: PathBuf,
}

impl Bench {
    fn new(read_only: bool, pace: Pace) -> Bench {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let socket = std::env::temp_dir().join(format!("ufsim-test-{}-{number}", std::process::id()));
        let export = |scheme: &str| {
            let spec = Spec { profile: "tiny".into(), ..Spec::new(scheme, "") };
            let machine = spec.resolve().expect("a machine");
            let engine = Engine::new(&machine, 1, Box::new(MemoryStore::new()));
            let header = Header::new(&spec, &machine, "a test");
            let (name, description) = (scheme.to_owned(), "a device".to_owned());
            Export { name, description, read_only, header, engine: engine.expect("the profile's own settings") }
        };
        let saves = std::env::temp_dir();
        let options = Options { socket: socket.clone(), tcp_port: None, control: None, saves, clients: 200, pace };
        let server = Server::start(vec![export("ufs"), export("hp-ufs")], &options).expect("a free socket");
        Bench { server: Some(server), socket }
    }

    fn connect(&self) -> Client {
        let stream = UnixStream::connect(&self.socket).expect("the server listens");
        stream.set_read_timeout(Some(Duration::from_secs(60))).expect("a socket has timeouts");
        Client { stream, extended: false }
    }

    /// A client in transmission, on the first export.
    fn begun(&self, options: &[u32]) -> Client {
        let mut client = self.connect();
        client.greet(3);
        for &option in options {
            client.option(option, b"");
            assert_eq!(client.reply().1, 1, "acknowledged");
        }
        client.extended = options.contains(&11);
        client.go("");
        client
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        let ended = self.server.take().expect("it ends once").end();
        assert!(ended.is_ok(), "{ended:?}");
        assert!(!self.socket.exists(), "the socket is removed");
    }
}

struct Client {
    stream: UnixStream,
    extended: bool,
}

impl Client {
    fn bytes<const N: usize>(&mut self) -> [u8; N] {
        let mut bytes = [0; N];
        self.stream.read_exact(&mut bytes).expect("the server goes on");
        bytes
    }

    fn many(&mut self, len: usize) -> Vec<u8> {
        let mut bytes = vec![0; len];
        self.stream.read_exact(&mut bytes).expect("the server goes on");
        bytes
    }

    fn u32(&mut self) -> u32 {
        u32::from_be_bytes(self.bytes())
    }

    fn u64(&mut self) -> u64 {
        u64::from_be_bytes(self.bytes())
    }

    fn greet(&mut self, flags: u32) {
        assert_eq!(&self.bytes::<16>(), b"NBDMAGICIHAVEOPT");
        assert_eq!(self.bytes::<2>(), [0, 3]);
        self.send(&flags.to_be_bytes());
    }

    fn send(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).expect("the server takes it");
    }

    fn option(&mut self, option: u32, data: &[u8]) {
        let mut bytes = b"IHAVEOPT".to_vec();
        bytes.extend(option.to_be_bytes());
        bytes.extend((data.len() as u32).to_be_bytes());
        bytes.extend(data);
        self.send(&bytes);
    }

    /// Option, type and data of a reply to an option.
    fn reply(&mut self) -> (u32, u32, Vec<u8>) {
        assert_eq!(self.u64(), 0x3_e889_0455_65a9);
        let (option, kind, len) = (self.u32(), self.u32(), self.u32());
        (option, kind, self.many(len as usize))
    }

    /// GO for an export: its size and flags.
    fn go(&mut self, name: &str) -> (u64, u16) {
        self.option(7, &named(name, &[0, 0]));
        let (_, kind, info) = self.reply();
        assert_eq!((kind, &info[..2]), (3, &[0, 0][..]), "information about the export");
        let (_, kind, blocks) = self.reply();
        assert_eq!((kind, &blocks[..6]), (3, &[0, 3, 0, 0, 16, 0][..]), "the smallest block has 4096 bytes");
        assert_eq!(self.reply().1, 1);
        (u64::from_be_bytes(info[2..10].try_into().unwrap()), u16::from_be_bytes([info[10], info[11]]))
    }

    fn request(&mut self, kind: u16, flags: u16, cookie: u64, range: (u64, u64), data: &[u8]) {
        let magic: u32 = if self.extended { 0x21e4_1c71 } else { 0x2560_9513 };
        let flags = if self.extended && kind == WRITE { flags | 32 } else { flags };
        let mut bytes = magic.to_be_bytes().to_vec();
        bytes.extend(flags.to_be_bytes());
        bytes.extend(kind.to_be_bytes());
        bytes.extend(cookie.to_be_bytes());
        bytes.extend(range.0.to_be_bytes());
        if self.extended {
            bytes.extend(range.1.to_be_bytes())
        } else {
            bytes.extend((range.1 as u32).to_be_bytes())
        }
        bytes.extend(data);
        self.send(&bytes);
    }

    /// A simple reply without data: cookie and error.
    fn simple(&mut self) -> (u64, u32) {
        assert_eq!(self.u32(), 0x6744_6698);
        let error = self.u32();
        (self.u64(), error)
    }

    /// A chunk, the last one of its reply: type, cookie, payload.
    fn chunk(&mut self) -> (u16, u64, Vec<u8>) {
        let magic = if self.extended { 0x6e8a_278c } else { 0x668e_33ef };
        assert_eq!(self.u32(), magic);
        assert_eq!(self.bytes::<2>(), [0, 1], "the last one");
        let kind = u16::from_be_bytes(self.bytes());
        let cookie = self.u64();
        let len = if self.extended { (self.u64(), self.u64()).1 } else { self.u32().into() };
        (kind, cookie, self.many(len as usize))
    }

    /// The server has closed the connection.
    fn is_closed(&mut self) -> bool {
        let mut rest = Vec::new();
        self.stream.read_to_end(&mut rest).is_ok()
    }

    fn works(&mut self) {
        self.request(READ, 0, 99, (0, BLOCK as u64), b"");
        assert_eq!(self.simple(), (99, 0));
        self.many(BLOCK);
    }
}

fn named(name: &str, rest: &[u8]) -> Vec<u8> {
    [&(name.len() as u32).to_be_bytes(), name.as_bytes(), rest].concat()
}

#[test]
fn exports_are_listed_and_found_by_name() {
    let bench = Bench::new(false, Pace::Free);
    let mut client = bench.connect();
    client.greet(1);
    client.option(3, b"");
    for name in ["ufs", "hp-ufs"] {
        let (option, kind, data) = client.reply();
        assert_eq!((option, kind), (3, 2));
        assert_eq!(data, named(name, b"a device"));
    }
    assert_eq!(client.reply().1, 1);
    client.option(7, &named("nobody", &[0, 0]));
    assert_eq!(client.reply().1, (1 << 31) + 6, "unknown");
    client.option(99, b"xyz");
    assert_eq!(client.reply().1, (1 << 31) + 1, "unsupported");
    client.option(7, &[0, 0, 0, 9]);
    assert_eq!(client.reply().1, (1 << 31) + 3, "invalid");
    client.option(3, &vec![0; 100_000]);
    assert_eq!(client.reply().1, (1 << 31) + 9, "too big");
    let (size, flags) = client.go("hp-ufs");
    assert!(size > 0 && size.is_multiple_of(4096) && flags & 1 == 1 && flags & 2 == 0);
    client.works();
}

#[test]
fn the_old_way_to_begin_works() {
    let bench = Bench::new(true, Pace::Free);
    let mut client = bench.connect();
    client.greet(1);
    client.option(1, b"ufs");
    let (size, flags) = (client.u64(), u16::from_be_bytes(client.bytes()));
    assert!(size > 0 && flags & 2 == 2, "it is read-only");
    assert_eq!(client.bytes::<124>(), [0; 124]);
    client.works();
    client.request(WRITE, 0, 5, (0, BLOCK as u64), &[1; BLOCK]);
    assert_eq!(client.simple(), (5, 1), "EPERM");
    client.works();
    client.request(DISC, 0, 0, (0, 0), b"");
    assert!(client.is_closed());
}

#[test]
fn data_comes_back_in_each_form_of_replies() {
    let bench = Bench::new(false, Pace::Free);
    for (byte, options) in [(1, &[][..]), (2, &[8]), (3, &[11])] {
        let mut client = bench.begun(options);
        let data = vec![byte; 3 * BLOCK];
        client.request(WRITE, 1, 7, (8192, data.len() as u64), &data);
        client.request(FLUSH, 0, 8, (0, 0), b"");
        client.request(TRIM, 1, 9, (12288, 4096), b"");
        client.request(ZEROES, 2, 10, (16384, 4096), b"");
        for cookie in 7..=10 {
            if options.is_empty() {
                let (got, error) = client.simple();
                assert!((7..=10).contains(&got) && error == 0, "{cookie}");
            } else {
                let (kind, got, payload) = client.chunk();
                assert!(kind == 0 && (7..=10).contains(&got) && payload.is_empty(), "{kind} {got}");
            }
        }
        let expected = [&data[..BLOCK], &[0; 2 * BLOCK]].concat();
        client.request(READ, 0, 11, (8192, data.len() as u64), b"");
        let got = if options.is_empty() {
            assert_eq!(client.simple(), (11, 0));
            client.many(data.len())
        } else {
            let (kind, cookie, payload) = client.chunk();
            assert_eq!((kind, cookie, &payload[..8]), (1, 11, &8192u64.to_be_bytes()[..]));
            payload[8..].to_vec()
        };
        assert!(got == expected, "form {byte}");
    }
}

#[test]
fn allocation_is_told() {
    let bench = Bench::new(false, Pace::Free);
    for extended in [false, true] {
        let mut client = bench.connect();
        client.greet(3);
        client.option(10, &named("ufs", &[&1u32.to_be_bytes()[..], &named("base:allocation", b"")].concat()));
        assert_eq!(client.reply().1, (1 << 31) + 3, "not with simple replies");
        client.option(if extended { 11 } else { 8 }, b"");
        assert_eq!(client.reply().1, 1);
        client.option(10, &named("ufs", &[&1u32.to_be_bytes()[..], &named("base:allocation", b"")].concat()));
        assert_eq!(client.reply(), (10, 4, [&1u32.to_be_bytes()[..], b"base:allocation"].concat()));
        assert_eq!(client.reply().1, 1);
        client.extended = extended;
        client.go("ufs");
        client.request(WRITE, 1, 1, (4096, 4096), &[7; BLOCK]);
        client.chunk();
        client.request(STATUS, 0, 2, (0, 16384), b"");
        let (kind, _, payload) = client.chunk();
        assert_eq!(kind, if extended { 6 } else { 5 });
        let run = |len: u64, flags: u64| match extended {
            true => [len.to_be_bytes(), flags.to_be_bytes()].concat(),
            false => [(len as u32).to_be_bytes(), (flags as u32).to_be_bytes()].concat(),
        };
        let head = if extended { vec![0, 0, 0, 1, 0, 0, 0, 3] } else { vec![0, 0, 0, 1] };
        assert_eq!(payload, [head, run(4096, 3), run(4096, 0), run(8192, 3)].concat());
    }
}

#[test]
fn what_cannot_be_done_gets_the_error_that_the_specification_names() {
    let bench = Bench::new(false, Pace::Free);
    let mut client = bench.begun(&[]);
    let size = bench_size(&bench);
    for (kind, flags, range, error) in [
        (READ, 0, (512, 4096), EINVAL),
        (READ, 0, (0, 100), EINVAL),
        (READ, 0, (0, 0), EINVAL),
        (READ, 0, (size, 4096), EINVAL),
        (READ, 0, (u64::MAX - 4095, 4096), EINVAL),
        (READ, 0, (0, 64 << 20), EINVAL),
        (READ, 1 << 9, (0, 4096), EINVAL),
        (TRIM, 0, (size - 4096, 8192), EINVAL),
        (ZEROES, 0, (size, 4096), 28),
        (ZEROES, 2 | 16, (0, 4096), 95),
        (FLUSH, 0, (0, 4096), EINVAL),
        (STATUS, 0, (0, 4096), EINVAL),
        (5, 0, (0, 4096), EINVAL),
        (77, 0, (0, 4096), EINVAL),
    ] {
        client.request(kind, flags, 3, range, b"");
        assert_eq!(client.simple(), (3, error), "{kind} {flags} {range:?}");
    }
    client.request(WRITE, 0, 4, (size, 4096), &[1; BLOCK]);
    assert_eq!(client.simple(), (4, 28), "ENOSPC");
    client.request(WRITE, 0, 5, (0, 100), &[1; 100]);
    assert_eq!(client.simple(), (5, EINVAL));
    let long = vec![1; (32 << 20) + 4096];
    client.request(WRITE, 0, 6, (0, long.len() as u64), &long);
    assert_eq!(client.simple(), (6, EINVAL));
    client.works();
}

fn bench_size(bench: &Bench) -> u64 {
    let mut client = bench.connect();
    client.greet(3);
    client.go("ufs").0
}

#[test]
fn a_violation_ends_its_connection_and_no_other() {
    let bench = Bench::new(false, Pace::Free);
    let mut other = bench.begun(&[]);
    let mut client = bench.connect();
    client.greet(1 << 7);
    assert!(client.is_closed(), "unknown flags");
    let mut client = bench.connect();
    client.greet(3);
    client.send(b"GET / HTTP/1.1\r\n\r\n");
    assert!(client.is_closed(), "no option");
    let mut client = bench.begun(&[]);
    client.send(&[0x55; 28]);
    assert!(client.is_closed(), "bad magic");
    let mut client = bench.begun(&[]);
    client.request(WRITE, 0, 1, (0, 0xffff_f000), b"");
    assert!(client.is_closed(), "a payload of 4 GiB");
    let mut client = bench.begun(&[]);
    client.request(WRITE, 0, 1, (0, 4096), &[1; 100]);
    drop(client);
    for options in [0, 1, 5, 17] {
        let mut client = bench.connect();
        client.send(&vec![0; options]);
        drop(client);
    }
    other.works();
    bench.begun(&[]).works();
}

#[test]
fn many_requests_are_under_way_and_many_clients() {
    let bench = Bench::new(false, Pace::Free);
    let mut clients: Vec<_> = (0..40).map(|_| bench.begun(&[])).collect();
    for (i, client) in clients.iter_mut().enumerate() {
        for j in 0..20 {
            let block = (20 * i + j) as u64;
            client.request(WRITE, 0, block, (block * 4096, 4096), &[i as u8 + 1; BLOCK]);
        }
    }
    for client in &mut clients {
        (0..20).for_each(|_| assert_eq!(client.simple().1, 0));
    }
    for (i, client) in clients.iter_mut().enumerate().rev() {
        client.request(READ, 0, 1, (20 * i as u64 * 4096, 20 * 4096), b"");
        assert_eq!(client.simple(), (1, 0));
        assert!(client.many(20 * BLOCK).iter().all(|&byte| byte == i as u8 + 1));
    }
}

/// A client that never reads its replies holds up nobody else, nor the end of the server.
#[test]
fn a_client_that_takes_no_replies_holds_up_nobody() {
    let bench = Bench::new(false, Pace::Free);
    let mut greedy = bench.begun(&[]);
    greedy.stream.set_write_timeout(Some(Duration::from_millis(200))).expect("a socket has timeouts");
    let request = {
        let mut bytes = 0x2560_9513u32.to_be_bytes().to_vec();
        bytes.extend([0; 12]);
        bytes.extend([0; 8]);
        bytes.extend((1u32 << 20).to_be_bytes());
        bytes
    };
    for _ in 0..20_000 {
        if greedy.stream.write_all(&request).is_err() {
            break;
        }
    }
    bench.begun(&[]).works();
    drop(greedy);
}

#[test]
fn a_power_cut_ends_connections_and_keeps_what_was_flushed() {
    let bench = Bench::new(false, Pace::Free);
    let mut client = bench.begun(&[]);
    client.request(WRITE, 1, 1, (0, 4096), &[9; BLOCK]);
    assert_eq!(client.simple(), (1, 0));
    client.request(WRITE, 0, 2, (4096, 4096), &[9; BLOCK]);
    assert_eq!(client.simple(), (2, 0));
    let server = bench.server.as_ref().expect("it has not ended");
    let reply =
        serde_json::to_value(server.handle().control(Command::Cut { export: Some("ufs".into()) }).expect("it goes on"))
            .expect("JSON");
    assert!(reply["recovery_ns"]["ufs"].as_u64().is_some_and(|took| took > 0), "{reply}");
    assert!(client.is_closed());
    let mut client = bench.begun(&[]);
    client.request(READ, 0, 3, (0, 8192), b"");
    assert_eq!(client.simple(), (3, 0));
    let data = client.many(2 * BLOCK);
    assert!(data[..BLOCK] == [9; BLOCK] && data[BLOCK..] == [0; BLOCK], "what was in SRAM alone is lost");
}

#[expect(clippy::disallowed_types, reason = "the clock of the wall is what is tested")]
fn now() -> std::time::Instant {
    std::time::Instant::now()
}

/// On the real clock a reply takes the simulated time, and not less.
#[test]
fn replies_take_their_time_on_the_real_clock() {
    let bench = Bench::new(false, Pace::Real { speed: 0.01 });
    let mut client = bench.begun(&[]);
    let began = now();
    client.request(WRITE, 1, 1, (0, 4096), &[9; BLOCK]);
    assert_eq!(client.simple(), (1, 0));
    let took = began.elapsed();
    let server = bench.server.as_ref().expect("it has not ended");
    let stats = serde_json::to_value(
        server.handle().control(Command::Stats { export: Some("ufs".into()) }).expect("it goes on"),
    )
    .expect("JSON");
    let stats = &stats["exports"]["ufs"];
    let simulated = stats["requests"]["write"]["latency"]["max_ns"].as_u64().expect("a latency");
    assert!(took.as_nanos() as u64 >= simulated * 99, "{took:?} for {simulated} ns at a hundredth of the speed");
    assert_eq!((&stats["requests"]["write"]["done"], &stats["connections"]), (&1.into(), &1.into()), "{stats}");
    assert!(stats["lateness"]["max_ns"].as_u64().is_some(), "{stats}");
}

/// A client may send a part of a request and wait for the replies to those before it.
#[test]
fn half_a_request_holds_up_no_reply() {
    let bench = Bench::new(false, Pace::Free);
    let mut client = bench.begun(&[]);
    let mut bytes = Vec::new();
    for (kind, cookie) in [(READ, 1u64), (WRITE, 2)] {
        bytes.extend(0x2560_9513u32.to_be_bytes());
        bytes.extend([0, 0]);
        bytes.extend(kind.to_be_bytes());
        bytes.extend(cookie.to_be_bytes());
        bytes.extend(0u64.to_be_bytes());
        bytes.extend(4096u32.to_be_bytes());
    }
    client.send(&[&bytes[..], &[5; 100]].concat());
    assert_eq!(client.simple(), (1, 0));
    client.many(BLOCK);
    client.send(&[5; BLOCK - 100]);
    assert_eq!(client.simple(), (2, 0));
}
