//! The process of a guest.

use std::fs::File;
use std::io::{self, IoSliceMut};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram, UnixStream};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use rustix::fs::MemfdFlags;
use rustix::io::{Errno, FdFlags};
use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, recvmsg};
use rustix::process::{Pid, Signal, kill_process_group};
use rustix::thread::{CpuSet, sched_getaffinity, sched_getcpu, sched_setaffinity};
use thiserror::Error;
use units::{Nanos, SimTime};

use crate::page::{self, Asked, Page};
use crate::ram::Ram;

/// First bytes of the guest's greeting.
const MAGIC: u32 = 0x7366_6375;
/// Version of the protocol.
const VERSION: u32 = 4;
/// Bytes of the greeting: magic, version, first byte and size of the memory.
const HELLO_BYTES: usize = 24;
/// A kernel looks for its device in its first second, on a busy machine within some.
const GREETS_WITHIN: Duration = Duration::from_secs(60);
/// What the guest's clock says at the beginning: 2020-01-01.
const CLOCK_NS: u64 = 1_577_836_800_000_000_000;
/// Bytes of the console that an error tells.
const CONSOLE_TAIL: usize = 1500;

/// What processors cost; nothing is the default.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Cost {
    /// Of a system call, in ns.
    pub syscall_ns: u32,
    /// Of an access to a register, in ns.
    pub access_ns: u32,
    /// Of a page (4 KiB) that is copied between a program and the kernel, in ns.
    pub page_ns: u32,
}

/// What is booted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Boot {
    /// The kernel.
    pub kernel: PathBuf,
    /// Folder of the run: the guest's `initrd` is there, it writes into `out`, and its console is the file `console`.
    pub folder: PathBuf,
    /// Memory of the guest in MiB.
    pub memory_mib: u32,
    /// Decides the random numbers of the guest.
    pub seed: u64,
    /// What processors cost.
    pub cost: Cost,
    /// More words of the kernel's command line: parameters of drivers.
    pub parameters: Vec<String>,
}

/// Why a guest has not done its work.
#[derive(Debug, Error)]
pub enum GuestError {
    /// The operating system has said no.
    #[error("{what}: {error}")]
    Io { what: &'static str, error: io::Error },
    /// The guest speaks another protocol.
    #[error("the guest's kernel does not fit this version of ufsim: {0}; build it again with make linux")]
    Unfit(String),
    /// Its process has ended by itself.
    #[error("the guest has died ({status}); the end of its console:\n{console}")]
    Died { status: String, console: String },
}

fn io_error(what: &'static str) -> impl Fn(io::Error) -> GuestError {
    move |error| GuestError::Io { what, error }
}

fn errno(what: &'static str) -> impl Fn(Errno) -> GuestError {
    move |error| GuestError::Io { what, error: error.into() }
}

/// A guest that runs.
#[derive(Debug)]
pub struct Guest {
    process: Process,
    page: Page,
    /// Its memory.
    pub ram: Ram,
    boot: Boot,
    /// Both ends live as long as this does.
    _socket: UnixStream,
}

impl Guest {
    /// Starts a guest, up to its greeting.
    ///
    /// # Errors
    /// If it cannot be started, or ends before.
    pub fn start(boot: &Boot) -> Result<Guest, GuestError> {
        let page_file = rustix::fs::memfd_create("ufsim page", MemfdFlags::empty()).map_err(errno("shared page"))?;
        rustix::fs::ftruncate(&page_file, page::BYTES as u64).map_err(errno("shared page"))?;
        let page = Page::map(&page_file).map_err(io_error("shared page"))?;
        let (socket, theirs) = UnixStream::pair().map_err(io_error("socket"))?;
        let theirs = OwnedFd::from(theirs);
        rustix::io::fcntl_setfd(&theirs, FdFlags::empty()).map_err(errno("socket"))?;
        let mut process = Process::start(boot, &page_file, theirs)?;
        let (memory, first, bytes) = match greeting(&socket, GREETS_WITHIN) {
            Err(GuestError::Io { .. }) => return Err(died(boot, process.child.wait())),
            greeted => greeted?,
        };
        let ram = Ram::map(&memory, first, bytes).map_err(io_error("memory of the guest"))?;
        Ok(Guest { process, page, ram, boot: boot.clone(), _socket: socket })
    }

    /// Waits for a while until the guest gives the turn; `None` if it has not.
    ///
    /// # Errors
    /// If it dies, or says what the protocol does not have.
    pub fn turn(&mut self) -> Result<Option<Asked>, GuestError> {
        if !self.page.wait().map_err(io_error("futex"))? {
            let ended = self.process.child.try_wait().map_err(io_error("the guest's process"))?;
            return ended.map_or(Ok(None), |status| Err(died(&self.boot, Ok(status))));
        }
        match self.page.asked() {
            Asked::Unknown(op) => Err(GuestError::Unfit(format!("it asks for {op}"))),
            asked => Ok(Some(asked)),
        }
    }

    /// Gives the turn back.
    pub fn answer(&self, registers: &[u32], line: bool, next: Option<SimTime>, within: Nanos, ahead: Option<SimTime>) {
        self.page.answer(registers, line, next, within, ahead);
    }

    /// Waits for its end after it has halted.
    ///
    /// # Errors
    /// If it has ended in another way.
    pub fn end(mut self) -> Result<(), GuestError> {
        match self.process.child.wait() {
            Ok(status) if status.success() => Ok(()),
            other => Err(died(&self.boot, other)),
        }
    }

    /// Leaves it to the process of which this one is a copy.
    pub fn leave(mut self) {
        self.process.processor.give_back();
        std::mem::forget(self);
    }
}

/// A guest's process. When this is dropped, its power is off.
#[derive(Debug)]
struct Process {
    child: Child,
    /// Ends the guest when this process is gone.
    watcher: Option<Child>,
    processor: OneProcessor,
}

impl Process {
    fn start(boot: &Boot, page: &OwnedFd, socket: OwnedFd) -> Result<Process, GuestError> {
        let mut command = command(boot, page, &socket)?;
        let processor = OneProcessor::taken()?;
        let child = command.spawn().map_err(io_error("setarch (package util-linux)"))?;
        // Only the guest has its end, so that its death is seen there.
        drop(socket);
        let mut process = Process { child, watcher: None, processor };
        process.watcher = Some(watcher(&process.child).map_err(io_error("sh"))?);
        Ok(process)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if let Some(watcher) = &mut self.watcher {
            let _ = watcher.kill();
            let _ = watcher.wait();
        }
        if !matches!(self.child.try_wait(), Ok(Some(_))) {
            kill(&mut self.child);
        }
    }
}

/// This thread keeps to one processor, which the guest inherits: both sides take turns, so a second one would only make
/// them wait longer. Guests side by side have one each, as long as there are enough. When this is dropped, the thread
/// has all of its processors again.
#[derive(Debug)]
struct OneProcessor {
    before: CpuSet,
    /// Shows the others that the processor is taken, until the last process that has it is gone.
    mark: Option<UnixDatagram>,
}

impl OneProcessor {
    fn taken() -> Result<OneProcessor, GuestError> {
        let before = sched_getaffinity(None).map_err(errno("processors"))?;
        let here = sched_getcpu();
        let others = (0..CpuSet::MAX_CPU).filter(|&cpu| before.is_set(cpu));
        let free = std::iter::once(here).chain(others).find_map(|cpu| Some((cpu, mark(cpu)?)));
        let (cpu, mark) = free.map_or((here, None), |(cpu, mark)| (cpu, Some(mark)));
        let mut one = CpuSet::new();
        one.set(cpu);
        sched_setaffinity(None, &one).map_err(errno("processors"))?;
        Ok(OneProcessor { before, mark })
    }

    fn give_back(&mut self) {
        let _ = sched_setaffinity(None, &self.before);
        self.mark = None;
    }
}

impl Drop for OneProcessor {
    fn drop(&mut self) {
        self.give_back();
    }
}

/// The name of a processor, which only one process on this machine can have; `None` if another one has it.
fn mark(cpu: usize) -> Option<UnixDatagram> {
    let name = SocketAddr::from_abstract_name(format!("ufsim guest on processor {cpu}")).ok()?;
    UnixDatagram::bind_addr(&name).ok()
}

fn command(boot: &Boot, page: &OwnedFd, socket: &OwnedFd) -> Result<Command, GuestError> {
    let console = File::create(boot.folder.join("console")).map_err(io_error("console"))?;
    let mut command = Command::new("setarch");
    // Without random places in memory; the first words of the command line decide the guest's random numbers.
    command.args(["x86_64", "-R"]).arg(&boot.kernel).arg(format!("mem={}M", boot.memory_mib));
    command.args(["initrd=initrd", "hostfs=.", "con=none", "con0=fd:0,fd:1", "time-travel=inf-cpu"]);
    command.arg(format!("time-travel-start={CLOCK_NS}"));
    if boot.cost != Cost::default() {
        command.arg(format!("ufsim_syscall_ns={}", boot.cost.syscall_ns));
        command.arg(format!("ufsim_access_ns={}", boot.cost.access_ns));
        command.arg(format!("ufsim_page_ns={}", boot.cost.page_ns));
    }
    command.args(&boot.parameters);
    command.env_clear().env("PATH", "/usr/bin:/bin").env("TMPDIR", "/dev/shm").env("HOME", ".");
    // Processes of the guest have none of what this library would register for theirs.
    command.env("GLIBC_TUNABLES", "glibc.pthread.rseq=0");
    command.env("UFSIM_SEED", boot.seed.to_string());
    command.env("UFSIM_PAGE_FD", page.as_raw_fd().to_string());
    command.env("UFSIM_SOCKET_FD", socket.as_raw_fd().to_string());
    command.current_dir(&boot.folder);
    let second = console.try_clone().map_err(io_error("console"))?;
    command.stdin(Stdio::null()).stdout(console).stderr(second).process_group(0);
    Ok(command)
}

/// A process that waits for the end of this one, and then ends the guest. By itself the guest finds out in its next
/// turn, and a program that computes gives none.
fn watcher(guest: &Child) -> io::Result<Child> {
    let mut command = Command::new("/bin/sh");
    command.args(["-c", "read -r _; kill -s KILL -- \"-$0\""]).arg(guest.id().to_string());
    command.env_clear().current_dir("/").process_group(0);
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()
}

/// The greeting, with the guest's memory.
fn greeting(socket: &UnixStream, within: Duration) -> Result<(OwnedFd, u64, u64), GuestError> {
    socket.set_read_timeout(Some(within)).map_err(io_error("greeting"))?;
    let mut bytes = [0; HELLO_BYTES];
    let mut space = [std::mem::MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let mut parts = [IoSliceMut::new(&mut bytes)];
    let got = recvmsg(socket, &mut parts, &mut control, RecvFlags::empty()).map_err(|error| match error {
        Errno::AGAIN => GuestError::Unfit(format!("it has not looked for its device within {within:?}")),
        other => errno("greeting")(other),
    })?;
    if got.bytes == 0 {
        return Err(GuestError::Io { what: "greeting", error: io::ErrorKind::UnexpectedEof.into() });
    }
    let mut memory = None;
    for message in control.drain() {
        if let RecvAncillaryMessage::ScmRights(mut files) = message {
            memory = files.next();
        }
    }
    let word = |at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
    let long = |at: usize| u64::from(word(at)) | u64::from(word(at + 4)) << 32;
    match memory {
        Some(memory) if got.bytes == HELLO_BYTES && word(0) == MAGIC && word(4) == VERSION => {
            Ok((memory, long(8), long(16)))
        }
        _ => Err(GuestError::Unfit(format!("it says version {} of the protocol, and this is {VERSION}", word(4)))),
    }
}

/// Ends a guest and the processes that it has made for its own.
fn kill(child: &mut Child) {
    if let Some(group) = Pid::from_raw(child.id() as i32) {
        let _ = kill_process_group(group, Signal::KILL);
    }
    let _ = child.kill();
    let _ = child.wait();
}

fn died(boot: &Boot, status: io::Result<ExitStatus>) -> GuestError {
    let status = match status {
        Ok(status) => status.signal().map_or_else(|| status.to_string(), |signal| format!("signal {signal}")),
        Err(error) => error.to_string(),
    };
    let text = std::fs::read(boot.folder.join("console")).unwrap_or_default();
    let tail = &text[text.len().saturating_sub(CONSOLE_TAIL)..];
    GuestError::Died { status, console: String::from_utf8_lossy(tail).into_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn boot(kernel: &str, folder: PathBuf) -> Boot {
        Boot { kernel: kernel.into(), folder, memory_mib: 64, seed: 1, cost: Cost::default(), parameters: Vec::new() }
    }

    /// Neither a folder that is not there nor a program that does not greet leaves this thread on one processor.
    #[test]
    fn a_guest_that_does_not_start_leaves_the_thread_its_processors() {
        let folder = std::env::temp_dir().join(format!("ufsim-boot-{}", std::process::id()));
        std::fs::create_dir(&folder).unwrap();
        let before = sched_getaffinity(None).unwrap();
        let refused = Guest::start(&boot("/bin/false", "no such folder".into())).unwrap_err();
        assert!(matches!(refused, GuestError::Io { what: "console", .. }), "{refused}");
        let died = Guest::start(&boot("/bin/false", folder.clone())).unwrap_err();
        assert!(matches!(&died, GuestError::Died { status, .. } if status == "exit status: 1"), "{died}");
        assert_eq!(sched_getaffinity(None).unwrap(), before);
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_guest_that_does_not_greet_is_not_waited_for() {
        let (ours, _theirs) = UnixStream::pair().unwrap();
        let refused = greeting(&ours, Duration::from_millis(1)).unwrap_err().to_string();
        assert!(refused.contains("it has not looked for its device within 1ms; build it again"), "{refused}");
    }

    /// A processor that no machine has stands for one that no other guest takes meanwhile.
    #[test]
    fn a_processor_is_one_guest_s_until_that_has_ended() {
        let first = mark(CpuSet::MAX_CPU).unwrap();
        assert!(mark(CpuSet::MAX_CPU).is_none());
        drop(first);
        assert!(mark(CpuSet::MAX_CPU).is_some());
    }

    /// More guests than processors: each that found one free has it for itself, the others share.
    #[test]
    fn guests_side_by_side_have_different_processors() {
        let all = sched_getaffinity(None).unwrap();
        let take = || {
            let one = (OneProcessor::taken().unwrap(), sched_getcpu());
            sched_setaffinity(None, &all).unwrap();
            one
        };
        let taken: Vec<_> = (0..=all.count()).map(|_| take()).collect();
        let alone: Vec<_> = taken.iter().filter(|(one, _)| one.mark.is_some()).map(|&(_, cpu)| cpu).collect();
        assert_eq!(alone.iter().collect::<std::collections::BTreeSet<_>>().len(), alone.len(), "{alone:?}");
        assert!(taken.iter().any(|(one, _)| one.mark.is_none()));
    }
}
