//! A disk in memory that fails as it is told.

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::io::Errno;

use crate::disk::{Disk, Inode};
use crate::{About, Access, File, Files, Sort};

const PRIVATE: u32 = 0o600;
const SHARED: u32 = 0o666;
const UMASK: u32 = 0o022;

/// A disk in memory, and the process that uses it. Clones share it.
///
/// It has no clock and no dice: what fails, and when, says whoever drives it, with [`Simulated::plan`] and
/// [`Simulated::set_room`]. Symbolic links are only known as the last part of a path.
#[derive(Clone, Default)]
pub struct Simulated {
    state: Arc<Mutex<State>>,
}

/// What happens at a changing operation instead.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fault {
    /// The process ends: of a write the first bytes arrive, of any other operation nothing.
    Kill {
        /// Bytes that arrive.
        torn: usize,
    },
    /// The disk says that it has failed (EIO).
    Fails {
        /// Bytes of a write that arrive all the same.
        torn: usize,
    },
    /// The same, and every changing operation from then on.
    Broken,
    /// The disk says that it has written, and has not.
    Lost,
    /// The bytes go to another place of the same file.
    Misdirected {
        /// Where they go.
        to: u64,
    },
    /// The bytes are written, and once more after some other writes.
    Repeated {
        /// Writes between.
        after: u64,
    },
}

/// Operations that change the disk.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Change {
    /// Of a new file.
    Create,
    /// Of bytes.
    Write,
    /// Of a length.
    Cut,
    /// Waiting for the disk.
    Sync,
    /// Of a name to another one.
    Rename,
    /// Of a name.
    Remove,
}

#[derive(Default)]
struct State {
    disk: Disk,
    umask: Option<u32>,
    /// Number of the process. Handles of an earlier one are dead.
    process: u64,
    killed: bool,
    broken: bool,
    handles: u64,
    /// By number of the changing operation.
    plan: BTreeMap<u64, Fault>,
    done: BTreeMap<Change, u64>,
    /// What is to be written again, and after how many writes.
    repeats: Vec<(u64, Inode, Vec<u8>, u64)>,
}

impl Simulated {
    /// An empty disk, which has room for everything.
    pub fn new() -> Simulated {
        Simulated::default()
    }

    /// Lets something happen at the changing operation with number `nth`, which [`Simulated::changes`] counts. Faults
    /// of writes wait for the next write.
    pub fn plan(&self, nth: u64, fault: Fault) {
        self.state().plan.insert(nth, fault);
    }

    /// Bytes that can still be written, of all files; `None` for any number. Removed files give theirs back.
    pub fn set_room(&self, bytes: Option<u64>) {
        self.state().disk.room = bytes;
    }

    /// The bits that are taken from the mode of new files.
    pub fn set_umask(&self, umask: u32) {
        self.state().umask = Some(umask);
    }

    /// Takes away all faults that have not happened, and mends the disk.
    pub fn heal(&self) {
        let mut state = self.state();
        state.plan.clear();
        state.repeats.clear();
        state.broken = false;
        state.disk.room = None;
    }

    /// Ends the process as if it were killed now.
    pub fn kill(&self) {
        self.state().killed = true;
    }

    /// True if the process has been killed: all that it still tries fails, and changes nothing.
    pub fn is_killed(&self) -> bool {
        self.state().killed
    }

    /// A new process: the disk is as it was left; locks and handles of the old one are gone.
    pub fn revive(&self) {
        let mut state = self.state();
        state.killed = false;
        state.process += 1;
        state.repeats.clear();
        state.disk.all_closed();
    }

    /// Changing operations so far.
    pub fn changes(&self) -> u64 {
        self.state().done.values().sum()
    }

    /// The same by what they were.
    pub fn counts(&self) -> Vec<(Change, u64)> {
        self.state().done.iter().map(|(&change, &count)| (change, count)).collect()
    }

    /// Makes a directory and those that it lies in. No operation of the process.
    ///
    /// # Panics
    /// If something else is there.
    pub fn make_directory(&self, path: impl AsRef<Path>) {
        let mut state = self.state();
        let mut above: Vec<_> = path.as_ref().ancestors().filter(|path| path.parent().is_some()).collect();
        above.reverse();
        for directory in above {
            match state.disk.find(directory) {
                Ok(found) => assert_eq!(state.disk.about(found).sort, Sort::Directory, "{}", directory.display()),
                Err(_) => drop(state.disk.make(directory, Sort::Directory, 0o755)),
            }
        }
    }

    /// Puts a file with these bytes where nothing is. No operation of the process.
    ///
    /// # Panics
    /// If that is not possible.
    pub fn put(&self, path: impl AsRef<Path>, bytes: &[u8]) {
        let mut state = self.state();
        let made = state.disk.make(path.as_ref(), Sort::Regular, 0o644);
        let inode = made.unwrap_or_else(|error| panic!("{}: {error}", path.as_ref().display()));
        state.disk.write(inode, bytes, 0).expect("there is room");
    }

    /// Puts something else where nothing is. No operation of the process.
    ///
    /// # Panics
    /// If that is not possible.
    pub fn plant(&self, path: impl AsRef<Path>, sort: Sort) {
        let made = self.state().disk.make(path.as_ref(), sort, 0o777);
        made.unwrap_or_else(|error| panic!("{}: {error}", path.as_ref().display()));
    }

    /// Flips bits of a byte, as age does.
    ///
    /// # Panics
    /// If there is no such byte.
    pub fn damage(&self, path: impl AsRef<Path>, at: u64, bits: u8) {
        let mut state = self.state();
        let inode = state.disk.find(path.as_ref()).expect("the file is there");
        let mut byte = [0];
        state.disk.read(inode, &mut byte, at).expect("the byte is there");
        state.disk.write(inode, &[byte[0] ^ bits], at).expect("there is room for what is there");
    }

    /// The bytes of a file; `None` if there is none.
    pub fn bytes(&self, path: impl AsRef<Path>) -> Option<Vec<u8>> {
        let state = self.state();
        let inode = state.disk.find(path.as_ref()).ok()?;
        let about = state.disk.about(inode);
        let mut bytes = vec![0; about.len as usize];
        state.disk.read(inode, &mut bytes, 0).expect("all bytes are there");
        (about.sort == Sort::Regular).then_some(bytes)
    }

    /// Everything that has a name, but the root.
    pub fn paths(&self) -> Vec<PathBuf> {
        self.state().disk.names().cloned().collect()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // A writer that panics leaves what a killed one leaves.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn handle(&self, state: &mut State, inode: Inode, writable: bool) -> Box<dyn File> {
        state.disk.opened(inode);
        state.handles += 1;
        Box::new(Handle { disk: self.clone(), inode, process: state.process, number: state.handles, writable })
    }
}

impl State {
    /// Fails if the process does not live.
    fn lives(&self, process: u64) -> io::Result<()> {
        if self.killed || process != self.process {
            return Err(io::Error::other("the process was killed"));
        }
        Ok(())
    }

    /// Counts an operation that changes the disk, and tells what happens instead.
    fn begin(&mut self, change: Change) -> io::Result<Option<Fault>> {
        self.lives(self.process)?;
        let number: u64 = self.done.values().sum();
        *self.done.entry(change).or_default() += 1;
        if self.broken {
            return Err(Errno::IO.into());
        }
        let Some(fault) = self.plan.remove(&number) else { return Ok(None) };
        match fault {
            Fault::Kill { .. } => self.killed = true,
            Fault::Broken => self.broken = true,
            Fault::Fails { .. } => {}
            // These are of writes.
            _ if change != Change::Write => {
                self.plan.entry(number + 1).or_insert(fault);
                return Ok(None);
            }
            _ => {}
        }
        Ok(Some(fault))
    }

    /// The same for operations that happen as a whole or not at all.
    fn whole(&mut self, change: Change) -> io::Result<()> {
        match self.begin(change)? {
            None => Ok(()),
            Some(Fault::Kill { .. }) => self.lives(self.process),
            Some(_) => Err(Errno::IO.into()),
        }
    }

    fn write(&mut self, inode: Inode, bytes: &[u8], at: u64) -> io::Result<()> {
        let fault = self.begin(Change::Write)?;
        self.repeat()?;
        match fault {
            None => self.disk.write(inode, bytes, at),
            Some(Fault::Kill { torn }) => {
                // The first error counts: there is nobody left who could be told that the disk is full.
                let _ = self.disk.write(inode, &bytes[..torn.min(bytes.len())], at);
                self.lives(self.process)
            }
            Some(Fault::Fails { torn }) => {
                self.disk.write(inode, &bytes[..torn.min(bytes.len())], at)?;
                Err(Errno::IO.into())
            }
            Some(Fault::Broken) => Err(Errno::IO.into()),
            Some(Fault::Lost) => Ok(()),
            Some(Fault::Misdirected { to }) => self.disk.write(inode, bytes, to),
            Some(Fault::Repeated { after }) => {
                self.repeats.push((after, inode, bytes.to_vec(), at));
                self.disk.write(inode, bytes, at)
            }
        }
    }

    /// Writes again what is due, before the next write.
    fn repeat(&mut self) -> io::Result<()> {
        let (due, later): (Vec<_>, Vec<_>) = std::mem::take(&mut self.repeats).into_iter().partition(|one| one.0 == 0);
        self.repeats = later.into_iter().map(|(after, inode, bytes, at)| (after - 1, inode, bytes, at)).collect();
        due.into_iter().try_for_each(|(_, inode, bytes, at)| self.disk.write(inode, &bytes, at))
    }
}

impl Files for Simulated {
    fn about(&self, path: &Path) -> io::Result<Option<About>> {
        let state = self.state();
        state.lives(state.process)?;
        Ok(state.disk.find(path).ok().map(|inode| state.disk.about(inode)))
    }

    fn create_new(&self, path: &Path, access: Access) -> io::Result<Box<dyn File>> {
        let mut state = self.state();
        state.whole(Change::Create)?;
        let mode = if access == Access::Private { PRIVATE } else { SHARED & !state.umask.unwrap_or(UMASK) };
        let inode = state.disk.make(path, Sort::Regular, mode)?;
        Ok(self.handle(&mut state, inode, true))
    }

    fn open(&self, path: &Path, writable: bool) -> io::Result<Box<dyn File>> {
        let mut state = self.state();
        state.lives(state.process)?;
        let inode = state.disk.find(path)?;
        state.disk.about(inode).sort.only_regular()?;
        Ok(self.handle(&mut state, inode, writable))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut state = self.state();
        state.whole(Change::Rename)?;
        state.disk.rename(from, to)
    }

    fn rename_new(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut state = self.state();
        state.whole(Change::Rename)?;
        if state.disk.find(to).is_ok() {
            return Err(Errno::EXIST.into());
        }
        state.disk.rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        let mut state = self.state();
        state.whole(Change::Remove)?;
        state.disk.remove(path)
    }
}

impl fmt::Debug for Simulated {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Simulated({:?})", self.paths())
    }
}

/// An open file.
#[derive(Debug)]
struct Handle {
    disk: Simulated,
    inode: Inode,
    process: u64,
    number: u64,
    writable: bool,
}

impl Handle {
    /// The state, as long as the process lives that has opened the file.
    fn state(&self) -> io::Result<MutexGuard<'_, State>> {
        let state = self.disk.state();
        state.lives(self.process)?;
        Ok(state)
    }

    fn to_change(&self) -> io::Result<MutexGuard<'_, State>> {
        let state = self.state()?;
        if self.writable { Ok(state) } else { Err(Errno::BADF.into()) }
    }
}

impl File for Handle {
    fn about(&self) -> io::Result<About> {
        Ok(self.state()?.disk.about(self.inode))
    }

    fn read_at(&self, bytes: &mut [u8], at: u64) -> io::Result<()> {
        self.state()?.disk.read(self.inode, bytes, at)
    }

    fn write_at(&self, bytes: &[u8], at: u64) -> io::Result<()> {
        self.to_change()?.write(self.inode, bytes, at)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        let mut state = self.to_change()?;
        state.whole(Change::Cut)?;
        state.disk.cut(self.inode, len);
        Ok(())
    }

    fn sync(&self) -> io::Result<()> {
        self.state()?.whole(Change::Sync)
    }

    fn try_lock(&self) -> io::Result<bool> {
        Ok(self.state()?.disk.lock(self.inode, self.number))
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        let mut state = self.disk.state();
        // A new process has closed the files of the old one.
        if self.process == state.process {
            state.disk.closed(self.inode, self.number);
        }
    }
}
