//! Tries a writer of files on a simulated disk: killed at every changing operation, with room for every number of
//! bytes, with every operation failing.
//!
//! A finding is a text that names the file and how to repeat it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;
use std::path::{Path, PathBuf};

use crate::simulated::{Fault, Simulated};
use crate::{Files, is_unfinished};

/// A writer of files, and what it is asked of.
pub struct Trial<'a> {
    /// A disk as it is before the writer begins, each time the same.
    pub before: &'a dyn Fn() -> Simulated,
    /// The writer.
    pub write: &'a dyn Fn(&dyn Files) -> Result<(), String>,
    /// What else has to hold of the disk, in whatever way the writer has ended.
    pub sound: &'a dyn Fn(&Simulated) -> Result<(), String>,
    /// What a file may hold when the writer was stopped, beside the old and the new.
    pub meanwhile: &'a dyn Fn(&Path, &[u8]) -> bool,
}

impl<'a> Trial<'a> {
    /// A trial of a writer whose files do not depend on each other.
    pub fn of(before: &'a dyn Fn() -> Simulated, write: &'a dyn Fn(&dyn Files) -> Result<(), String>) -> Trial<'a> {
        Trial { before, write, sound: &|_| Ok(()), meanwhile: &|_, _| false }
    }
}

/// What has been tried.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Tried {
    /// Changing operations of the writer.
    pub changes: u64,
    /// Ways in which it was stopped.
    pub stopped: u64,
}

/// All files but unfinished ones, by path.
type Results = BTreeMap<PathBuf, Vec<u8>>;

/// Sizes of a disk that are tried, at most.
const MOST_ROOMS: u64 = 2000;
/// First bytes of a write that arrive when it is interrupted.
const TORN: [usize; 4] = [0, 1, 512, usize::MAX];

impl Trial<'_> {
    /// Tries everything.
    ///
    /// # Errors
    /// The first finding.
    pub fn run(&self) -> Result<Tried, String> {
        let disk = (self.before)();
        let begin = disk.changes();
        let old = results(&disk);
        (self.write)(&disk).map_err(|error| format!("the writer fails on a disk without faults: {error}"))?;
        let new = results(&disk);
        (self.sound)(&disk).map_err(|finding| format!("on a disk without faults: {finding}"))?;
        let both = Both { old, new, meanwhile: self.meanwhile };
        let changes = disk.changes() - begin;
        let mut stopped = 0;
        for nth in begin..begin + changes {
            for torn in TORN {
                self.killed(&both, nth, torn).map_err(at(format_args!("killed at change {nth}, torn at {torn}")))?;
                self.failed(&both, |disk| disk.plan(nth, Fault::Fails { torn }))
                    .map_err(at(format_args!("change {nth} fails, torn at {torn}")))?;
                stopped += 2;
            }
            self.broken(&both, nth).map_err(at(format_args!("changes fail from {nth} on")))?;
        }
        let bytes: u64 = both.new.values().map(|bytes| bytes.len() as u64).sum();
        for room in (0..bytes).step_by(bytes.div_ceil(MOST_ROOMS).max(1) as usize) {
            self.failed(&both, |disk| disk.set_room(Some(room))).map_err(at(format_args!("room for {room} bytes")))?;
            stopped += 1;
        }
        Ok(Tried { changes, stopped: stopped + changes })
    }

    /// A kill leaves the old or the new, and the next writer finds nothing in its way.
    fn killed(&self, both: &Both<'_>, nth: u64, torn: usize) -> Result<(), String> {
        let disk = (self.before)();
        disk.plan(nth, Fault::Kill { torn });
        let ended = (self.write)(&disk);
        if !disk.is_killed() {
            return Err("the writer does not do the same each time".into());
        }
        disk.revive();
        if ended.is_ok() {
            // Killed when all was done, but for what need not succeed.
            both.has_new(&disk)?;
        }
        both.whole(&disk)?;
        (self.sound)(&disk)?;
        (self.write)(&disk).map_err(|error| format!("the next writer fails: {error}"))?;
        both.is_new(&disk).map_err(|finding| format!("after the next writer: {finding}"))
    }

    /// After an error the old is there, and nothing else.
    fn failed(&self, both: &Both<'_>, prepare: impl Fn(&Simulated)) -> Result<(), String> {
        let disk = (self.before)();
        let there: BTreeSet<PathBuf> = disk.paths().into_iter().collect();
        prepare(&disk);
        let ended = (self.write)(&disk);
        both.whole(&disk)?;
        (self.sound)(&disk)?;
        let known = |path: &PathBuf| there.contains(path) || both.new.contains_key(path);
        let allowed = |path: &PathBuf| disk.bytes(path).is_some_and(|bytes| (self.meanwhile)(path, &bytes));
        if let Some(path) = disk.paths().into_iter().find(|path| !known(path) && !allowed(path)) {
            return Err(format!("{}: is left", path.display()));
        }
        // Not all that fails is an error, such as removing what was left behind.
        if ended.is_ok() { both.has_new(&disk) } else { Ok(()) }
    }

    /// The same if nothing can be removed either: then only the names tell what is unfinished.
    fn broken(&self, both: &Both<'_>, nth: u64) -> Result<(), String> {
        let disk = (self.before)();
        disk.plan(nth, Fault::Broken);
        if (self.write)(&disk).is_ok() {
            both.has_new(&disk)?;
        }
        both.whole(&disk)?;
        (self.sound)(&disk)
    }
}

/// What may be there.
struct Both<'a> {
    old: Results,
    new: Results,
    meanwhile: &'a dyn Fn(&Path, &[u8]) -> bool,
}

impl Both<'_> {
    /// Each file is as before or as after.
    fn whole(&self, disk: &Simulated) -> Result<(), String> {
        let found = results(disk);
        for path in self.old.keys().chain(self.new.keys()).chain(found.keys()) {
            let now = found.get(path);
            let allowed = now.is_some_and(|bytes| (self.meanwhile)(path, bytes));
            if now != self.old.get(path) && now != self.new.get(path) && !allowed {
                let told =
                    now.map_or("is gone".into(), |bytes| format!("has {} bytes, and is none of both", bytes.len()));
                return Err(format!("{}: {told}", path.display()));
            }
        }
        Ok(())
    }

    /// All files are as after, and nothing is unfinished.
    fn is_new(&self, disk: &Simulated) -> Result<(), String> {
        let unfinished = |path: &PathBuf| path.file_name().is_some_and(is_unfinished);
        match disk.paths().iter().find(|path| unfinished(path)) {
            Some(left) => Err(format!("{}: is left", left.display())),
            None if results(disk) != self.new => Err("the files are not the new ones".into()),
            None => Ok(()),
        }
    }

    /// All files are as after, if not all that was there meanwhile could be removed.
    fn has_new(&self, disk: &Simulated) -> Result<(), String> {
        let mut found = results(disk);
        found.retain(|path, bytes| self.new.contains_key(path) || !(self.meanwhile)(path, bytes));
        if found == self.new { Ok(()) } else { Err("the writer says that it has written".into()) }
    }
}

fn results(disk: &Simulated) -> Results {
    let finished = disk.paths().into_iter().filter(|path| !path.file_name().is_some_and(is_unfinished));
    finished.filter_map(|path| disk.bytes(&path).map(|bytes| (path, bytes))).collect()
}

fn at(how: impl Display) -> impl FnOnce(String) -> String {
    move |finding| format!("{how}: {finding}")
}
