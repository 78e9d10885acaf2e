//! Names of threads and processes, and texts by number.

use std::collections::BTreeMap;

use super::wire::{Damage, Message};

/// Who bears a thread's or a process's number. The last name that is told holds: numbers are seldom used again within
/// one recording.
#[derive(Default)]
pub(crate) struct Names {
    /// First words of command lines.
    processes: BTreeMap<u32, String>,
    /// Processes of threads.
    owners: BTreeMap<u32, u32>,
    /// Names that the kernel has for threads.
    comms: BTreeMap<u32, String>,
}

impl Names {
    pub(super) fn process(&mut self, pid: u32, name: &[u8]) {
        self.processes.insert(pid, String::from_utf8_lossy(name).into_owned());
    }

    pub(super) fn belongs(&mut self, tid: u32, process: u32) {
        if process != 0 {
            self.owners.insert(tid, process);
        }
    }

    pub(super) fn comm(&mut self, tid: u32, name: &[u8]) {
        let is_known = self.comms.get(&tid).is_some_and(|known| known.as_bytes() == name);
        if !name.is_empty() && !is_known {
            self.comms.insert(tid, String::from_utf8_lossy(name).into_owned());
        }
    }

    /// Names of the threads that a CPU has switched to, in the compact form of `sched_switch`: a table of names, and
    /// for each switch a thread and the number of its name.
    pub(super) fn compact_sched(&mut self, body: &[u8]) -> Result<(), Damage> {
        let (mut table, mut threads, mut indices) = (Vec::new(), Vec::new(), Vec::new());
        Message(body).fields(|number, value| match number {
            5 => table.push(value.bytes()),
            3 => threads.extend(value.packed()),
            6 => indices.extend(value.packed()),
            _ => {}
        })?;
        for (tid, index) in threads.into_iter().zip(indices) {
            if let Some(name) = usize::try_from(index).ok().and_then(|index| table.get(index)) {
                self.comm(tid as u32, name);
            }
        }
        Ok(())
    }

    /// The process of a thread: itself, if nothing else is told.
    pub fn process_of(&self, tid: u32) -> u32 {
        self.owners.get(&tid).copied().unwrap_or(tid)
    }

    /// What to call a thread.
    pub fn thread(&self, tid: u32) -> String {
        let name = self.comms.get(&tid).or_else(|| self.processes.get(&self.process_of(tid)));
        name.cloned().unwrap_or_else(|| if tid == 0 { "swapper".into() } else { format!("pid {tid}") })
    }
}

/// Texts, each once; number 0 is the empty one.
#[derive(Default)]
pub(super) struct Texts {
    numbers: BTreeMap<Vec<u8>, u32>,
    list: Vec<String>,
}

impl Texts {
    pub fn number(&mut self, text: &[u8]) -> u32 {
        if text.is_empty() {
            return 0;
        }
        if let Some(&number) = self.numbers.get(text) {
            return number;
        }
        self.list.push(String::from_utf8_lossy(text).into_owned());
        let number = self.list.len() as u32;
        self.numbers.insert(text.to_vec(), number);
        number
    }

    pub fn get(&self, number: u32) -> Option<&str> {
        self.list.get((number as usize).checked_sub(1)?).map(String::as_str)
    }
}
