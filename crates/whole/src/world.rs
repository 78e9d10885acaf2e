//! The world around a server, step by step: read [`World::step`] first.

use std::sync::PoisonError;
use std::time::Duration;

use attach::Turn;
use campaign::Rng;
use files::{Fault, Files, Simulated};
use ledger::Span;
use serve::{HANDSHAKE, Places};
use units::Lpa;

use crate::case::{Case, Left};
use crate::client::Client;
use crate::judge::{Judge, UNITS};
use crate::process::{Answer, CLIENTS, LOG, Process, Refusal, STORE, Setting};
use crate::report::Report;
use crate::rogue::{Rogue, Way};

/// Somebody's file, which is none of a server's.
const NOTES: &str = "/d/saves/notes";
const DIARY: &[u8] = b"Dear diary, this is no store.\n";
/// Rounds in which everything has to be answered when nothing disturbs any more.
const CALM: usize = 4000;
/// Events of the engine in such a round.
const MANY: usize = 4096;
/// The most that a case is disturbed.
const TEMPERS: u32 = 8;
/// Time that passes in a step at most, but for the long ones.
const MOMENT_NS: u32 = 200_000;

pub struct World {
    dice: Rng,
    setting: Setting,
    left: Left,
    /// In this world the disk lies.
    lies: bool,
    /// The disk has lied since the store was last opened.
    lied: bool,
    /// The disk has failed.
    failed: bool,
    process: Option<Process>,
    /// Servers so far.
    lives: u64,
    /// The first server keeps a log.
    logs: bool,
    epoch: u64,
    judge: Judge,
    clients: Vec<Client>,
    rogues: Vec<Rogue>,
    answer: Option<Answer>,
    connections: u64,
    /// How much disturbs, of [`TEMPERS`].
    temper: u32,
    /// Before this step the disk does as it is told, and no process is killed.
    peace: u64,
    pub report: Report,
    /// What has happened last, in words, if somebody wants to know.
    pub told: Option<Vec<String>>,
}

type Broken = Result<(), String>;

impl World {
    /// A world before its first step.
    pub fn new(case: &Case, setting: Setting) -> World {
        let mut dice = Rng::new(case.seed);
        let disk = &setting.disk;
        disk.make_directory("/d/saves");
        disk.put(NOTES, DIARY);
        disk.set_umask([0, 0o022, 0o077][dice.below(3) as usize]);
        let lies = dice.below(5) == 0 && !case.left.has("lies");
        let logs = dice.below(2) == 0;
        let temper = [1, 3, TEMPERS][dice.below(3) as usize];
        let peace = [0, 0, 1500][dice.below(3) as usize];
        World {
            dice,
            setting,
            left: case.left.clone(),
            lies,
            lied: false,
            failed: false,
            process: None,
            lives: 0,
            logs,
            epoch: 0,
            judge: Judge::new(),
            clients: Vec::new(),
            rogues: Vec::new(),
            answer: None,
            connections: 0,
            temper,
            peace,
            report: Report { scheme: case.preset().name, ..Report::default() },
            told: None,
        }
    }

    fn disk(&self) -> &Simulated {
        &self.setting.disk
    }

    fn tell(&mut self, what: impl FnOnce() -> String) {
        if let Some(told) = &mut self.told {
            told.push(what());
        }
    }

    fn below(&mut self, n: u32) -> u32 {
        self.dice.below(n)
    }

    fn one_in(&mut self, n: u32) -> bool {
        self.dice.below(n) == 0
    }

    /// One thing happens.
    ///
    /// # Errors
    /// A promise that has been broken.
    pub fn step(&mut self) -> Broken {
        self.report.steps += 1;
        let pause = u64::from(self.below(MOMENT_NS));
        self.setting.time.pass(pause);
        match self.below(1000) {
            0..250 => self.engine_goes_on()?,
            250..500 => (0..4).for_each(|_| self.link_goes_on()),
            500..580 => (0..4).for_each(|_| self.room()),
            580..700 => self.client_acts(),
            700..860 => self.clients_receive()?,
            860..900 => self.client_comes()?,
            900..920 => self.rogue_acts()?,
            // The rest disturbs; how often, is a matter of the case.
            number if self.temper > self.below(TEMPERS) => self.disturbance(number)?,
            _ => self.client_acts(),
        }
        self.look()
    }

    fn disturbance(&mut self, number: u32) -> Broken {
        match number {
            920..926 => self.client_leaves(),
            926..936 => self.rogue_acts()?,
            936..950 => self.control(),
            950..960 => self.long_pause(),
            960..980 => self.disk_fails(),
            980..990 => self.process_is_killed(),
            _ => self.disk_is_mended(),
        }
        Ok(())
    }

    /// What has come of a step.
    fn look(&mut self) -> Broken {
        if self.process.is_some() && self.disk().is_killed() {
            self.died();
        }
        if self.disk().bytes(NOTES).as_deref() != Some(DIARY) {
            return Err(format!("{NOTES} is destroyed"));
        }
        if let Some(process) = &self.process {
            process.check_memory()?;
            let (epoch, quits) = (process.epoch(), process.is_quitting());
            if epoch != self.epoch {
                self.epoch = epoch;
                self.hosts_die(&process.greeting());
                self.report.end("power cut");
            }
            if quits {
                self.process_ends()?;
            }
        } else {
            self.start()?;
        }
        self.bury();
        Ok(())
    }

    /// The device has lost its power, and with it all hosts but those that are still in their handshake.
    fn hosts_die(&mut self, greeting: &[u64]) {
        let hosts: Vec<u64> = self.clients.iter().map(|client| client.number).collect();
        let dead: Vec<u64> = hosts.into_iter().filter(|number| !greeting.contains(number)).collect();
        self.tell(|| format!("the power is gone, and hosts {dead:?}"));
        self.judge.power_cut(dead);
    }

    /// Clients whose connection is over go.
    fn bury(&mut self) {
        let judge = &mut self.judge;
        let report = &mut self.report;
        self.clients.retain(|client| {
            let over = client.line.is_over();
            if over {
                judge.left(client.number);
                report.requests += client.answered;
            }
            !over
        });
        self.rogues.retain(|rogue| !rogue.line.is_over());
    }

    fn engine_goes_on(&mut self) -> Broken {
        let most = 1 << self.below(9);
        match self.process.as_mut().map(|process| process.engine_goes_on(most)) {
            Some(Turn::Ended(_)) => Err("the engine has ended, and nobody has asked for it".into()),
            _ => Ok(()),
        }
    }

    fn link_goes_on(&mut self) {
        let most = 1 << self.below(17);
        if let Some((process, at)) = self.some_link() {
            process.link_goes_on(at, most);
        }
    }

    fn room(&mut self) {
        let buffer = 1 << (4 + self.below(13));
        if let Some((process, at)) = self.some_link() {
            process.room(at, buffer);
        }
    }

    fn some_link(&mut self) -> Option<(&mut Process, usize)> {
        let links = self.process.as_ref()?.links() as u32;
        let at = if links > 0 { self.dice.below(links) as usize } else { return None };
        Some((self.process.as_mut()?, at))
    }

    fn some_client(&mut self) -> Option<usize> {
        let clients = self.clients.len() as u32;
        (clients > 0).then(|| self.dice.below(clients) as usize)
    }

    fn client_acts(&mut self) {
        let Some(at) = self.some_client() else { return };
        for _ in 0..1 + self.below(4) {
            self.clients[at].act(&mut self.dice, &mut self.judge);
        }
    }

    fn clients_receive(&mut self) -> Broken {
        for at in 0..self.clients.len() {
            let most = 1 << self.below(17);
            self.clients[at].receive(most, &mut self.judge)?;
        }
        Ok(())
    }

    fn client_comes(&mut self) -> Broken {
        if self.clients.len() >= 3 {
            return Ok(());
        }
        self.connections += 1;
        let number = self.connections;
        if let Some(process) = &mut self.process
            && let Some(line) = process.connect(number)?
        {
            self.clients.push(Client::new(number, line));
        }
        Ok(())
    }

    fn client_leaves(&mut self) {
        let Some(at) = self.some_client() else { return };
        if self.one_in(2) {
            return self.clients[at].say_goodbye();
        }
        let client = self.clients.swap_remove(at);
        client.line.leave();
        self.judge.left(client.number);
        self.report.requests += client.answered;
        self.report.fault("client that goes without a word");
    }

    fn rogue_acts(&mut self) -> Broken {
        if self.left.has("rogues") {
            return Ok(());
        }
        if self.rogues.len() < CLIENTS + 2 && self.one_in(3) {
            let way = Way::ALL[self.dice.below(Way::ALL.len() as u32) as usize];
            self.connections += 1;
            let number = self.connections;
            if let Some(process) = &mut self.process
                && let Some(line) = process.connect(number)?
            {
                self.report.fault(way.name());
                self.rogues.push(Rogue::new(line, way));
            }
        } else if !self.rogues.is_empty() {
            let at = self.dice.below(self.rogues.len() as u32) as usize;
            self.rogues[at].act(&mut self.dice);
            if self.one_in(30) {
                self.rogues.swap_remove(at).line.leave();
            }
        }
        Ok(())
    }

    fn control(&mut self) {
        if self.left.has("control") {
            return;
        }
        // As ufsim ctl: one command at a time.
        if self.answer.as_ref().is_some_and(|answer| answer.lock().unwrap_or_else(PoisonError::into_inner).is_none())
            && !self.one_in(4)
        {
            return;
        }
        let number = self.below(4);
        let (what, line) = match self.below(14) {
            0..5 => ("cut", r#"{"do":"cut"}"#.to_owned()),
            5..7 => ("stats", r#"{"do":"stats"}"#.to_owned()),
            7..9 => ("change of host memory", format!(r#"{{"do":"memory","mib":{}}}"#, 1 + number)),
            9..11 => ("flash that fails", format!(r#"{{"do":"faults","read":{}}}"#, number * 1000)),
            11 => ("saved state", format!(r#"{{"do":"save","path":"/d/saves/{number}"}}"#)),
            12 => ("saved state over another file", format!(r#"{{"do":"save","path":"{NOTES}"}}"#)),
            _ if self.report.steps >= self.peace && self.one_in(3) => ("end by command", r#"{"do":"quit"}"#.to_owned()),
            _ => ("no command", "cut now, please".to_owned()),
        };
        let Some(process) = &mut self.process else { return };
        self.answer = Some(process.control(&line));
        self.report.fault(what);
        self.tell(|| line);
    }

    /// Longer than anybody may be silent.
    fn long_pause(&mut self) {
        let ns = if self.one_in(4) { HANDSHAKE.as_nanos() as u64 } else { u64::from(self.below(1 << 28)) };
        self.setting.time.pass(ns);
        let full = self.one_in(2);
        self.setting.margin.full.store(full, std::sync::atomic::Ordering::Relaxed);
        if let Some(process) = &self.process {
            process.tick();
        }
    }

    fn disk_fails(&mut self) {
        if self.left.has("disk") || self.report.steps < self.peace {
            return;
        }
        let next = self.disk().changes() + u64::from(self.below(12));
        let torn = self.below(5000) as usize;
        let to = u64::from(self.below(64)) * 4096;
        let (name, fault) = match self.below(if self.lies { 9 } else { 5 }) {
            0 | 1 => {
                let room = u64::from(self.below(20_000));
                self.disk().set_room(Some(room));
                self.failed = true;
                return self.report.fault("full disk");
            }
            2 => ("failed operation of the disk", Fault::Fails { torn }),
            3 => ("disk that fails for good", Fault::Broken),
            4 => ("kill within an operation of the disk", Fault::Kill { torn }),
            5 | 6 => ("lost write", Fault::Lost),
            7 => ("misdirected write", Fault::Misdirected { to }),
            _ => ("repeated write", Fault::Repeated { after: u64::from(self.below(4)) }),
        };
        let lies = matches!(fault, Fault::Lost | Fault::Misdirected { .. } | Fault::Repeated { .. });
        self.lied |= lies;
        self.failed |= !lies;
        self.disk().plan(next, fault);
        self.report.fault(name);
        self.tell(|| format!("{name} at operation {next}"));
    }

    fn disk_is_mended(&mut self) {
        self.disk().heal();
    }

    fn process_is_killed(&mut self) {
        if !self.left.has("kills") && self.report.steps >= self.peace {
            self.disk().kill();
        }
    }

    /// The process has died.
    fn died(&mut self) {
        let Some(process) = self.process.take() else { return };
        self.hosts_die(&[]);
        process.die();
        self.answer = None;
        self.report.end("killed process");
    }

    /// An ordinary end, in which anything can happen, too.
    fn process_ends(&mut self) -> Broken {
        self.tell(|| "the process ends".into());
        let Some(process) = &mut self.process else { return Ok(()) };
        if !process.is_told() {
            return Err("the server is to end, and who waits for connections is not told".into());
        }
        process.end_reading();
        for _ in 0..200 {
            self.round()?;
            match &self.process {
                Some(process) if process.links() > 0 => {}
                _ => break,
            }
        }
        let Some(process) = &mut self.process else { return Ok(()) };
        process.close_all();
        let ended = self.engine_ends()?;
        if self.disk().is_killed() {
            self.died();
            return Ok(());
        }
        // Replies that are on their way count, too: they were given.
        let Some(process) = self.process.take() else { return Ok(()) };
        if ended {
            self.judge.closed();
        }
        self.hosts_die(&[]);
        process.die();
        self.answer = None;
        self.report.end(if ended { "ordinary end" } else { "end without room for everything" });
        Ok(())
    }

    /// The engine goes on to its end. False if the store could not be closed.
    fn engine_ends(&mut self) -> Result<bool, String> {
        for _ in 0..CALM {
            let Some(process) = &mut self.process else { return Ok(false) };
            match process.engine_goes_on(MANY) {
                Turn::Ended(result) => return Ok(result.is_ok()),
                turn => self.pass(&turn),
            }
        }
        Err("the engine does not end".into())
    }

    /// Time passes until the engine has something to do.
    fn pass(&self, turn: &Turn) {
        let time = &self.setting.time;
        let now = attach::Wall::now(&**time);
        let due = if let Turn::Until(Some(due)) = turn { due.since(now) } else { Duration::ZERO };
        time.pass((due.as_nanos() as u64).max(1000));
    }

    /// A server starts, if it can.
    fn start(&mut self) -> Broken {
        self.disk().revive();
        if self.lies && self.lives > 0 && self.one_in(6) {
            self.damage();
        }
        if self.one_in(3) {
            self.unwise_start()?;
        }
        let log = self.logs && self.lives == 0;
        let started = Process::start(&self.setting, log);
        if let Err(refusal) = &started {
            self.tell(|| format!("no server starts: {refusal:?}"));
        }
        match started {
            Ok(process) => {
                self.lives += 1;
                self.epoch = process.epoch();
                self.process = Some(process);
                self.check_modes(log)?;
                if self.lives == 2 && self.logs {
                    self.repeat_log()?;
                }
                Ok(())
            }
            // A damaged head is none of a store.
            Err(Refusal::Damaged(_) | Refusal::Place(_)) if self.lied && !self.disk().is_killed() => {
                self.report.fault("damaged store that was refused");
                self.disk().heal();
                self.disk().remove(STORE.as_ref()).map_err(|error| error.to_string())?;
                self.lied = false;
                self.judge.forget();
                // They still have replies about what was lost.
                self.report.requests += self.clients.drain(..).map(|client| client.answered).sum::<u64>();
                Ok(())
            }
            Err(Refusal::Damaged(what)) => Err(format!("a store that nothing has damaged is refused: {what}")),
            Err(Refusal::Place(error)) if error.error.raw_os_error().is_none() && !self.is_disturbed() => {
                Err(format!("a server does not start: {error}"))
            }
            Err(Refusal::Place(_) | Refusal::Disk(_)) => {
                // The disk has failed: somebody mends it.
                self.disk().heal();
                self.remove_half_log();
                Ok(())
            }
        }
    }

    /// True if the disk has failed, or does.
    fn is_disturbed(&self) -> bool {
        self.failed || self.disk().is_killed()
    }

    /// A start that failed may leave a log that begins another.
    fn remove_half_log(&self) {
        if self.lives == 0 {
            // It is there, or not.
            let _ = self.disk().remove(LOG.as_ref());
        }
    }

    /// Bits of the store flip while no process uses it.
    fn damage(&mut self) {
        let Some(bytes) = self.disk().bytes(STORE).map(|bytes| bytes.len() as u32).filter(|len| *len > 0) else {
            return;
        };
        let (at, bits) = (self.below(bytes), 1 << self.below(8));
        self.disk().heal();
        self.disk().damage(STORE, at.into(), bits);
        self.lied = true;
        self.report.fault("flipped bits");
    }

    /// Somebody names the wrong files. Nothing may come of it.
    fn unwise_start(&mut self) -> Broken {
        let path = |name: &str| Some(name.into());
        let sabotage = self.setting.sabotage;
        let some = [STORE, NOTES, LOG][self.below(3) as usize];
        let (store, log) = match self.below(3) {
            0 => (None, path(some)),
            1 => (path(if some == STORE { NOTES } else { some }), None),
            _ => (path(STORE), path(STORE)),
        };
        let before: Vec<_> = [STORE, NOTES, LOG].map(|name| self.disk().bytes(name)).into();
        if [STORE, LOG].iter().any(|name| self.disk().bytes(name).is_none_or(|bytes| bytes.is_empty())) {
            // What is not there, or is empty, is of every kind.
            return Ok(());
        }
        let places = Places { store, log, overwrite: self.one_in(2) && some != LOG, sockets: Vec::new(), sabotage };
        self.report.fault("unwise start");
        drop(self.setting.engine(&places));
        let after: Vec<_> = [STORE, NOTES, LOG].map(|name| self.disk().bytes(name)).into();
        for ((name, before), after) in [STORE, NOTES, LOG].iter().zip(before).zip(after) {
            if before != after {
                return Err(format!("{name} is destroyed by a start with {places:?}"));
            }
        }
        Ok(())
    }

    fn check_modes(&self, log: bool) -> Broken {
        for name in [STORE].into_iter().chain(log.then_some(LOG)) {
            let mode = self.disk().about(name.as_ref()).ok().flatten().map_or(0, |about| about.mode);
            if mode & 0o077 != 0 {
                return Err(format!("{name} has mode {mode:o}: others can read it"));
            }
        }
        Ok(())
    }

    /// The log of the first server is repeated, as far as it has come.
    fn repeat_log(&mut self) -> Broken {
        let Some(log) = self.disk().bytes(LOG) else { return Ok(()) };
        let mut engine = self.setting.engine(&Places::default()).map_err(|why| format!("{why:?}"))?;
        self.report.fault("log that is repeated");
        match engine.replay(&log[..], || true) {
            Ok(_) => Ok(()),
            Err(_) if self.lied => Ok(()),
            Err(error) => Err(format!("the log is not repeated: {error}")),
        }
    }

    /// Everybody does what can be done, once.
    fn round(&mut self) -> Broken {
        let Some(process) = &mut self.process else { return Ok(()) };
        for at in (0..process.links()).rev() {
            process.room(at, 1 << 20);
            process.link_goes_on(at, 1 << 20);
        }
        let turn = process.engine_goes_on(MANY);
        self.pass(&turn);
        for client in &mut self.clients {
            client.receive(1 << 20, &mut self.judge)?;
        }
        if self.disk().is_killed() {
            self.died();
        }
        self.bury();
        Ok(())
    }

    /// Nothing disturbs any more: everything has to be answered, and to be what was promised.
    ///
    /// # Errors
    /// A promise that has been broken.
    pub fn finish(&mut self) -> Broken {
        self.disk().heal();
        self.tell(|| "nothing disturbs any more".into());
        self.calm("requests are not answered", |world| {
            world.clients.iter().all(|client| client.under_way() == 0 || !client.is_serving())
        })?;
        // They would take the places of those who read everything.
        self.rogues.drain(..).for_each(|rogue| rogue.line.leave());
        self.calm("clients that have gone keep their places", |world| {
            world.process.as_ref().is_some_and(|process| process.links() <= world.clients.len())
        })?;
        self.read_everything()?;
        if let Some(process) = &mut self.process {
            process.control(r#"{"do":"quit"}"#);
        }
        self.look()?;
        for _ in 0..8 {
            if self.process.is_some() {
                break;
            }
            self.start()?;
        }
        self.read_everything()?;
        self.report.requests += self.clients.iter().map(|client| client.answered).sum::<u64>();
        self.report.checked = self.judge.checked;
        Ok(())
    }

    /// Clients misbehave for a while, and one that does not is beside them.
    ///
    /// # Errors
    /// A promise that has been broken, or a request of that client that is not answered.
    pub fn abuse(&mut self, time: Duration) -> Broken {
        let begin = attach::Wall::now(&*self.setting.time);
        while attach::Wall::now(&*self.setting.time).since(begin) < time {
            self.report.steps += 1;
            self.look()?;
            self.client_comes()?;
            (0..4).try_for_each(|_| self.rogue_acts())?;
            self.long_pause();
            self.client_acts();
            self.calm("requests beside clients that misbehave are not answered", |world| {
                world.clients.iter().all(|client| client.under_way() == 0)
            })?;
        }
        self.finish()
    }

    fn calm(&mut self, what: &str, mut done: impl FnMut(&World) -> bool) -> Broken {
        for _ in 0..CALM {
            self.round()?;
            if let Some(process) = &self.process {
                process.tick();
            }
            self.look()?;
            if done(self) {
                return Ok(());
            }
        }
        Err(format!("{what}, although nothing disturbs any more"))
    }

    fn read_everything(&mut self) -> Broken {
        self.connections += 1;
        let number = self.connections;
        let Some(process) = &mut self.process else { return Err("no server starts".into()) };
        let line = process.connect(number)?.ok_or("a client is sent away, although nothing disturbs any more")?;
        self.clients.push(Client::new(number, line));
        self.calm("a client gets no answer", |world| {
            world.clients.iter().any(|client| client.number == number && client.is_serving())
        })?;
        for first in (0..UNITS).step_by(8) {
            let span = Span { lpa: Lpa(first), len: 8 };
            let reader = self.clients.iter_mut().find(|client| client.number == number);
            reader.ok_or("a client was sent away")?.read(span, &mut self.judge);
        }
        self.calm("reads are not answered", |world| {
            world.clients.iter().all(|client| client.number != number || client.under_way() == 0)
        })
    }
}
