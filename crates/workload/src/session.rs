//! A session on a phone: its block requests with the process behind each, launches of apps, and kills.
//!
//! Read from ftrace text (ftrace itself, atrace, or Perfetto's systrace export) or a recording of Perfetto with
//! - block or UFS events, as formats `ftrace` and `perfetto` have them;
//! - the process of each thread: `comm-pid (tgid) [cpu]`, which ftrace prints with the option `record-tgid`, or
//!   Perfetto's process trees (data source `linux.process_stats`);
//! - launches: the markers `launching: PACKAGE` or `launchingActivity#N:...:PACKAGE` that Android's activity manager
//!   writes in the atrace category `am`; where there are none, a process whose `oom_score_adj` becomes 0 (event
//!   `oom:oom_score_adj_update`);
//! - kills: `oom:mark_victim`, `lowmemorykiller:lowmemory_kill`, and lmkd's counter `kill_one_process`.
//!
//! A process is known by its command line in a process tree, or by the `comm` of its main thread, the last 15
//! characters of its package's name.

use std::collections::BTreeMap;
use std::path::Path;

use units::Nanos;

use crate::formats::ftrace::head::Head;
use crate::formats::perfetto::{Recording, What};
use crate::formats::text::{Line, find, lines};
use crate::trace::files;
use crate::{Format, ProcessId, Trace, TraceError, TraceFile, TraceOptions};

/// Linux keeps so many characters of a thread's name.
const COMM: usize = 15;
/// Who reads for nobody in particular: threads of the kernel, and what cannot be told.
const OTHERS: &str = "others";

/// Processes by file and line or event.
type Owners = BTreeMap<(u16, u64), u32>;

/// An app came to the foreground.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SessionLaunch {
    /// The app's name: its package if a marker tells it, else its process.
    pub app: String,
    /// When, from the first block request.
    pub at: Nanos,
    /// When its first frame was there, if a marker tells it.
    pub launched: Option<Nanos>,
    /// Its process was not there before.
    pub cold: bool,
}

/// A process was killed for memory.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SessionKill {
    /// The app's name.
    pub app: String,
    /// When, from the first block request; 0 for what came before.
    pub at: Nanos,
    /// Its `oom_score_adj`, if an event tells it.
    pub adj: Option<i64>,
}

/// What happened on a phone.
#[derive(Clone, PartialEq, Debug)]
pub struct Session {
    /// Its requests; the processes are the apps of `launches`, and one for all others.
    pub trace: Trace,
    /// Launches in order of time.
    pub launches: Vec<SessionLaunch>,
    /// Kills in order of time.
    pub kills: Vec<SessionKill>,
}

impl Session {
    /// Reads a file.
    ///
    /// # Errors
    /// [`TraceError`], naming file, line and column; also if there are no launches.
    pub fn read(path: &Path, options: &TraceOptions) -> Result<Session, TraceError> {
        Session::parse(&path.display().to_string(), files::load(path, None)?, options)
    }

    /// Reads the contents of a file.
    ///
    /// # Errors
    /// See [`Session::read`].
    pub fn parse(name: &str, mut files: Vec<TraceFile>, options: &TraceOptions) -> Result<Session, TraceError> {
        files.iter_mut().try_for_each(TraceFile::unpack)?;
        let is_perfetto = files.iter().any(|file| Format::recognise(&file.bytes) == Some(Format::Perfetto));
        let format = if is_perfetto { Format::Perfetto } else { Format::Ftrace };
        let mut trace = Trace::parse(name, files.clone(), &TraceOptions { format: Some(format), ..options.clone() })?;
        let mut reader = Reader::new(trace.report.start.0);
        let owners = if is_perfetto { read_perfetto } else { read_text }(&files, &mut reader)?;
        let (launches, kills) = reader.finish();
        if launches.is_empty() {
            return Err(TraceError::NoLaunches { name: name.into() });
        }
        let apps: Vec<String> = distinct(&launches);
        for request in &mut trace.requests {
            let process = owners.get(&(request.stream.0, request.line)).and_then(|pid| reader.names.get(pid));
            let index = process.and_then(|name| apps.iter().position(|app| is_process_of(name, app)));
            request.process = ProcessId(index.unwrap_or(apps.len()) as u16);
        }
        trace.processes = apps.into_iter().chain([OTHERS.to_owned()]).collect();
        Ok(Session { trace, launches, kills })
    }
}

/// The apps of launches, in the order in which they came.
fn distinct(launches: &[SessionLaunch]) -> Vec<String> {
    let mut apps: Vec<String> = Vec::new();
    for launch in launches {
        if !apps.contains(&launch.app) {
            apps.push(launch.app.clone());
        }
    }
    apps
}

/// Whether a process, by its shortened name, belongs to an app.
fn is_process_of(comm: &str, app: &str) -> bool {
    comm == app || (comm.len() == COMM && app.ends_with(comm))
}

/// What a recording tells of a process besides its requests.
enum Told<'a> {
    /// It is there, and this is its name.
    Named(&'a str),
    /// A marker of atrace.
    Marker(&'a str),
    /// Its place in the order of who is killed first.
    Score {
        pid: u32,
        adj: i64,
        comm: Option<&'a str>,
    },
    Kill(u32),
}

/// Hands everything that is told to a reader, and returns the process behind each line or event.
fn read_text(files: &[TraceFile], reader: &mut Reader) -> Result<Owners, TraceError> {
    let mut owners = Owners::new();
    for (number, file) in (0..).zip(files) {
        for line in lines(&file.name, &file.bytes) {
            let Some(head) = Head::of(line)? else { continue };
            owners.insert((number, line.number), head.process);
            if head.thread == head.process && head.comm != "<...>" {
                reader.told(head.time, head.process, Told::Named(head.comm));
            }
            let body = String::from_utf8_lossy(&line.text[head.body..]);
            let told = match head.event {
                "tracing_mark_write" | "print" | "0" => Told::Marker(body.trim()),
                "oom_score_adj_update" => {
                    let comm = body.split("comm=").nth(1).and_then(|rest| rest.split(" oom_score_adj").next());
                    let (pid, adj) = (value(line, &head, "pid")? as u32, value(line, &head, "oom_score_adj")?);
                    Told::Score { pid, adj, comm: comm.map(str::trim) }
                }
                "mark_victim" | "lowmemory_kill" => Told::Kill(value(line, &head, "pid")? as u32),
                _ => continue,
            };
            reader.told(head.time, head.process, told);
        }
    }
    Ok(owners)
}

/// The same of recordings of Perfetto.
fn read_perfetto(files: &[TraceFile], reader: &mut Reader) -> Result<Owners, TraceError> {
    let mut owners = Owners::new();
    for (number, file) in (0..).zip(files) {
        let recording = Recording::read(file)?;
        let text = |number| recording.text(number).unwrap_or_default();
        for event in &recording.events {
            let process = recording.names.process_of(event.thread);
            let told = match event.what {
                What::Block(_) | What::Ufs(_) => {
                    owners.insert((number, event.number), process);
                    continue;
                }
                What::Named { pid, name } if recording.names.process_of(pid) == pid => Told::Named(text(name)),
                What::Named { .. } => continue,
                What::Marker(marker) => Told::Marker(text(marker).trim()),
                What::Score { pid, adj, comm } => Told::Score { pid, adj, comm: recording.text(comm) },
                What::Kill(pid) => Told::Kill(pid),
            };
            reader.told(event.time, process, told);
        }
    }
    Ok(owners)
}

struct Reader {
    start: u64,
    /// `comm` of main threads.
    names: BTreeMap<u32, String>,
    scores: BTreeMap<u32, i64>,
    /// Processes that have done something, by name, and not been killed since.
    alive: BTreeMap<String, u32>,
    marked: Vec<SessionLaunch>,
    scored: Vec<SessionLaunch>,
    kills: Vec<SessionKill>,
}

impl Reader {
    fn new(start: u64) -> Reader {
        Reader {
            start,
            names: BTreeMap::new(),
            scores: BTreeMap::new(),
            alive: BTreeMap::new(),
            marked: Vec::new(),
            scored: Vec::new(),
            kills: Vec::new(),
        }
    }

    fn told(&mut self, time: u64, process: u32, told: Told<'_>) {
        let at = Nanos(time.saturating_sub(self.start));
        match told {
            Told::Named(name) => self.named(process, name),
            Told::Marker(text) => self.marker(text, at),
            Told::Score { pid, adj, comm } => self.score(pid, adj, comm, at),
            Told::Kill(pid) => self.kill(pid, at),
        }
    }

    /// A process is there. The whole name of an app is not replaced by the end of it that Linux keeps.
    fn named(&mut self, pid: u32, name: &str) {
        let known = self.names.get(&pid).cloned();
        if known.as_ref().is_some_and(|known| known != name && is_process_of(name, known)) {
            return;
        }
        if let Some(known) = known.filter(|known| known != name && self.alive.get(known) == Some(&pid)) {
            self.alive.remove(&known);
        }
        self.names.insert(pid, name.into());
        self.alive.insert(name.into(), pid);
    }

    /// An atrace marker: `S|pid|launching: PACKAGE|cookie`, `F|...`, `B|pid|...`, `C|pid|counter|value`.
    fn marker(&mut self, text: &str, at: Nanos) {
        let mut fields = text.splitn(4, '|');
        let (kind, _pid, name) = (fields.next(), fields.next(), fields.next().unwrap_or_default().trim());
        let last = fields.next().map(str::trim);
        if let Some(package) = name.strip_prefix("launching: ") {
            match kind {
                Some("S" | "B") => self.launch(package, at),
                Some("F") => self.launched(package, at),
                _ => {}
            }
        } else if name.starts_with("launchingActivity#") {
            // Since Android 10: launchingActivity#7:PACKAGE while it lasts, launchingActivity#7:completed:PACKAGE at
            // its end.
            match (name.contains(":completed"), name.rsplit(':').next().filter(|p| p.contains('.'))) {
                (true, Some(package)) => self.launched(package, at),
                (false, Some(package)) if matches!(kind, Some("S" | "B" | "I")) => self.launch(package, at),
                _ => {}
            }
        } else if name == "kill_one_process"
            && let Some(pid) = last.and_then(|value| value.parse().ok()).filter(|&pid| pid > 0)
        {
            self.kill(pid, at);
        }
    }

    fn launch(&mut self, package: &str, at: Nanos) {
        let cold = !self.alive.keys().any(|comm| is_process_of(comm, package));
        self.marked.push(SessionLaunch { app: package.into(), at, launched: None, cold });
    }

    fn launched(&mut self, package: &str, at: Nanos) {
        if let Some(launch) = self.marked.iter_mut().rev().find(|launch| launch.app == package) {
            launch.launched.get_or_insert(at);
        }
    }

    fn score(&mut self, pid: u32, adj: i64, comm: Option<&str>, at: Nanos) {
        let known = self.names.get(&pid).cloned();
        let comm = match (comm, known) {
            (Some(comm), Some(known)) if is_process_of(comm, &known) => Some(known),
            (Some(comm), _) => Some(comm.to_owned()),
            (None, known) => known,
        };
        let before = self.scores.insert(pid, adj);
        let Some(comm) = comm else { return };
        let known = self.alive.insert(comm.clone(), pid);
        self.names.insert(pid, comm.clone());
        let again = self.scored.last().is_some_and(|last| last.app == comm);
        if adj == 0 && before != Some(0) && !again {
            self.scored.push(SessionLaunch { app: comm, at, launched: None, cold: known.is_none() });
        }
    }

    /// One kill is told by several events.
    fn kill(&mut self, pid: u32, at: Nanos) {
        let Some(app) = self.names.get(&pid).cloned() else { return };
        if self.alive.remove(&app).is_some() {
            let adj = self.scores.remove(&pid);
            self.kills.push(SessionKill { app, at, adj });
        }
    }

    /// Launches, by markers if there are any, and kills under the names of apps.
    fn finish(&mut self) -> (Vec<SessionLaunch>, Vec<SessionKill>) {
        let mut launches = std::mem::take(if self.marked.is_empty() { &mut self.scored } else { &mut self.marked });
        let mut kills = std::mem::take(&mut self.kills);
        // Names go into files: a damaged one must not end its line there.
        let names = launches.iter_mut().map(|l| &mut l.app).chain(kills.iter_mut().map(|k| &mut k.app));
        names.for_each(|name| *name = name.replace(char::is_control, "_"));
        let apps = distinct(&launches);
        for kill in &mut kills {
            if let Some(app) = apps.iter().find(|app| is_process_of(&kill.app, app)) {
                kill.app.clone_from(app);
            }
        }
        (launches, kills)
    }
}

/// The number behind `key=`.
fn value(line: Line<'_>, head: &Head<'_>, key: &'static str) -> Result<i64, TraceError> {
    let wanted = format!("{key}=");
    let Some(at) = find(&line.text[head.body..], wanted.as_bytes()) else {
        return Err(line.error(head.body, format!("{} has no {wanted}NUMBER", head.event)));
    };
    let from = head.body + at + wanted.len();
    let length = line.text[from..].iter().take_while(|b| b.is_ascii_digit() || **b == b'-').count();
    let field = line.field(from..from + length, key);
    field.string().parse().map_err(|_| field.wrong("a whole number"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "# tracer: nop\n";

    fn parse(text: &str) -> Result<Session, TraceError> {
        let file = TraceFile::new("t.txt", format!("{HEAD}{text}").into_bytes());
        Session::parse("t.txt", vec![file], &TraceOptions::default())
    }

    const SESSION: &str = "\
   system_server-1200  ( 1200) [002] ....   100.000000: tracing_mark_write: S|1200|launching: com.example.mailer|0
          mailer-2000  ( 2000) [003] d..2   100.010000: block_rq_issue: 259,5 RA 4096 () 800 + 8 [mailer]
          mailer-2000  ( 2000) [003] d..2   100.010500: block_rq_complete: 259,5 RA () 800 + 8 [0]
 com.example.mai-2001  (-----) [001] d..2   100.020000: block_rq_issue: 259,5 R 4096 () 1600 + 8 [x]
 m.example.mailer-x
  RenderThread-2002  ( 2003) [001] d..2   100.030000: block_rq_issue: 259,5 R 8192 () 2400 + 16 [RenderThread]
  .example.mailer-2003  ( 2003) [001] d..2   100.031000: block_rq_issue: 259,5 R 4096 () 3200 + 8 [.example.mailer]
   system_server-1200  ( 1200) [002] ....   100.500000: tracing_mark_write: F|1200|launching: com.example.mailer|0
   kworker/u16:3-77    (   77) [000] d..2   101.000000: block_rq_issue: 259,5 W 4096 () 4000 + 8 [kworker/u16:3]
            lmkd-500   (  500) [000] ....   102.000000: oom_score_adj_update: pid=2003 comm=.example.mailer oom_score_adj=900
            lmkd-500   (  500) [000] ....   102.100000: mark_victim: pid=2003
            lmkd-500   (  500) [000] ....   102.100100: tracing_mark_write: C|500|kill_one_process|2003
   system_server-1200  ( 1200) [002] ....   103.000000: tracing_mark_write: S|1200|launching: com.example.mailer|1
";

    #[test]
    fn a_session_has_launches_kills_and_the_process_behind_each_request() {
        let session = parse(SESSION).unwrap();
        let ms = Nanos::from_millis;
        let app = "com.example.mailer".to_owned();
        let launch = |at, launched| SessionLaunch { app: app.clone(), at, launched, cold: true };
        assert_eq!(session.launches, [launch(Nanos(0), Some(ms(490))), launch(ms(2990), None)]);
        assert_eq!(session.kills, [SessionKill { app: app.clone(), at: ms(2090), adj: Some(900) }]);
        assert_eq!(session.trace.processes, [app, "others".to_owned()]);
        let owners: Vec<u16> = session.trace.requests.iter().map(|r| r.process.0).collect();
        assert_eq!(owners, [1, 1, 0, 0, 1], "threads count for their process");
    }

    #[test]
    fn scores_tell_launches_where_no_marker_does() {
        let text: String = SESSION.lines().filter(|l| !l.contains("launching")).map(|l| format!("{l}\n")).collect();
        let update =
            "lmkd-500 (500) [000] .... 101.5: oom_score_adj_update: pid=2003 comm=.example.mailer oom_score_adj=0\n";
        let session = parse(&format!("{update}{text}")).unwrap();
        let expected =
            SessionLaunch { app: ".example.mailer".into(), at: Nanos::from_millis(1490), launched: None, cold: true };
        assert_eq!(session.launches, [expected]);
    }

    #[test]
    fn what_is_wrong_is_told_with_line_and_column() {
        let none: String = SESSION.lines().filter(|l| l.contains("block")).map(|l| format!("{l}\n")).collect();
        assert!(parse(&none).unwrap_err().to_string().contains("t.txt: no launch of an app"));
        for (from, to, told) in [
            ("102.100000", "102.x", "line 12, column 45: time is '102.x'; allowed: seconds"),
            ("victim: pid=2003", "victim: uid=2003", "line 12, column 70: mark_victim has no pid=NUMBER"),
            ("adj=900", "adj=x", "line 11, column 123: oom_score_adj is ''; allowed: a whole number"),
        ] {
            let error = parse(&SESSION.replace(from, to)).unwrap_err().to_string();
            assert!(error.contains(told), "{to}: {error}");
        }
    }
}
