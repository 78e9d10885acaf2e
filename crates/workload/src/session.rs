//! A session on a phone: its block requests with the process behind each, launches of apps, and kills.
//!
//! Read from ftrace text (ftrace itself, atrace, or Perfetto's systrace export) with
//! - block events, as format `ftrace` has them;
//! - the process of each thread: `comm-pid (tgid) [cpu]`, which ftrace prints with the option `record-tgid`;
//! - launches: the markers `launching: PACKAGE` or `launchingActivity#N:...:PACKAGE` that Android's activity manager
//!   writes in the atrace category `am`; where there are none, a process whose `oom_score_adj` becomes 0 (event
//!   `oom:oom_score_adj_update`);
//! - kills: `oom:mark_victim`, `lowmemorykiller:lowmemory_kill`, and lmkd's counter `kill_one_process`.
//!
//! A process is known by the `comm` of its main thread, the last 15 characters of its package's name.

use std::collections::BTreeMap;
use std::path::Path;

use units::Nanos;

use crate::formats::text::{Line, find, lines};
use crate::trace::files;
use crate::{Format, ProcessId, Trace, TraceError, TraceFile, TraceOptions};

/// Linux keeps so many characters of a thread's name.
const COMM: usize = 15;
/// Who reads for nobody in particular: threads of the kernel, and what cannot be told.
const OTHERS: &str = "others";

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
        Session::parse(&path.display().to_string(), files::load(path, Some(Format::Ftrace))?, options)
    }

    /// Reads the contents of a file.
    ///
    /// # Errors
    /// See [`Session::read`].
    pub fn parse(name: &str, mut files: Vec<TraceFile>, options: &TraceOptions) -> Result<Session, TraceError> {
        let options = TraceOptions { format: Some(Format::Ftrace), ..options.clone() };
        files.iter_mut().try_for_each(TraceFile::unpack)?;
        let mut trace = Trace::parse(name, files.clone(), &options)?;
        let mut reader = Reader::new(start_of(&trace, &files)?);
        let mut owners: BTreeMap<(u16, u64), u32> = BTreeMap::new();
        for (number, file) in (0..).zip(&files) {
            for line in lines(&file.name, &file.bytes) {
                let Some(head) = Head::of(line)? else { continue };
                owners.insert((number, line.number), head.process);
                reader.event(line, &head)?;
            }
        }
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

/// Recorded time of the first request: of its insertion, if the trace has that.
fn start_of(trace: &Trace, files: &[TraceFile]) -> Result<u64, TraceError> {
    let first = &trace.requests[0];
    let (file, device) = (usize::from(first.stream.0), trace.on_device(first));
    let place = format!(" {} + ", device.1);
    let mut earliest = None;
    for line in lines(&files[file].name, &files[file].bytes) {
        if line.number > first.line {
            break;
        }
        let is_own = line.number == first.line || find(line.text, b": block_rq_insert: ").is_some();
        if is_own
            && find(line.text, place.as_bytes()).is_some()
            && let Some(head) = Head::of(line)?
        {
            earliest = Some(earliest.map_or(head.time, |time: u64| time.min(head.time)));
        }
    }
    Ok(earliest.unwrap_or(0))
}

/// What stands at the beginning of a line: who, when, which event.
struct Head<'a> {
    /// Process id, or that of the thread if the trace does not tell processes.
    process: u32,
    thread: u32,
    comm: &'a str,
    time: u64,
    event: &'a str,
    /// Where the event's own text begins.
    body: usize,
}

impl<'a> Head<'a> {
    /// `comm-pid (tgid) [cpu] flags time: event: ...`, the part in parentheses optional.
    fn of(line: Line<'a>) -> Result<Option<Head<'a>>, TraceError> {
        if line.text.starts_with(b"#") {
            return Ok(None);
        }
        let Some((who_end, cpu_end)) = cpu_of(line.text) else { return Ok(None) };
        let Some(colon) = find(&line.text[cpu_end..], b": ").map(|at| cpu_end + at) else { return Ok(None) };
        let time_at = line.text[..colon].iter().rposition(u8::is_ascii_whitespace).map_or(0, |space| space + 1);
        let time = line.field(time_at..colon, "time").seconds()?;
        let event_end = find(&line.text[colon + 2..], b":").map_or(line.text.len(), |at| colon + 2 + at);
        let body = (event_end + 2).min(line.text.len());
        let (Ok(event), Ok(who)) =
            (std::str::from_utf8(&line.text[colon + 2..event_end]), std::str::from_utf8(&line.text[..who_end]))
        else {
            return Ok(None);
        };
        let Some((comm, thread, process)) = who_of(who) else { return Ok(None) };
        Ok(Some(Head { process: process.unwrap_or(thread), thread, comm, time, event, body }))
    }
}

/// Where `[cpu]` begins and ends.
fn cpu_of(text: &[u8]) -> Option<(usize, usize)> {
    let mut at = 0;
    loop {
        let open = at + find(&text[at..], b" [")? + 1;
        let digits = text[open + 1..].iter().take_while(|b| b.is_ascii_digit()).count();
        let close = open + 1 + digits;
        if digits > 0 && text.get(close) == Some(&b']') {
            return Some((open, close + 1));
        }
        at = open;
    }
}

/// Name, thread and, if it is told, process of `comm-pid (tgid)`.
fn who_of(text: &str) -> Option<(&str, u32, Option<u32>)> {
    let text = text.trim();
    let (thread, process) = match text.rsplit_once('(') {
        Some((thread, rest)) if rest.ends_with(')') => (thread.trim_end(), rest[..rest.len() - 1].trim().parse().ok()),
        _ => (text, None),
    };
    let (comm, pid) = thread.rsplit_once('-')?;
    Some((comm.trim(), pid.parse().ok()?, process))
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

    fn event(&mut self, line: Line<'_>, head: &Head<'_>) -> Result<(), TraceError> {
        if head.thread == head.process && head.comm != "<...>" {
            self.names.insert(head.process, head.comm.into());
            self.alive.insert(head.comm.into(), head.process);
        }
        let body = String::from_utf8_lossy(&line.text[head.body..]);
        let at = Nanos(head.time.saturating_sub(self.start));
        match head.event {
            "tracing_mark_write" | "print" | "0" => self.marker(body.trim(), at),
            "oom_score_adj_update" => self.score(line, head, at)?,
            "mark_victim" | "lowmemory_kill" => {
                let pid = value(line, head, "pid")?;
                self.kill(pid as u32, at);
            }
            _ => {}
        }
        Ok(())
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

    fn score(&mut self, line: Line<'_>, head: &Head<'_>, at: Nanos) -> Result<(), TraceError> {
        let (pid, adj) = (value(line, head, "pid")? as u32, value(line, head, "oom_score_adj")?);
        let body = String::from_utf8_lossy(&line.text[head.body..]).into_owned();
        let comm = body.split("comm=").nth(1).and_then(|rest| rest.split(" oom_score_adj").next());
        let comm = comm.map_or_else(|| self.names.get(&pid).cloned(), |comm| Some(comm.trim().to_owned()));
        let before = self.scores.insert(pid, adj);
        let Some(comm) = comm else { return Ok(()) };
        let known = self.alive.insert(comm.clone(), pid);
        self.names.insert(pid, comm.clone());
        let again = self.scored.last().is_some_and(|last| last.app == comm);
        if adj == 0 && before != Some(0) && !again {
            self.scored.push(SessionLaunch { app: comm, at, launched: None, cold: known.is_none() });
        }
        Ok(())
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
        let file = TraceFile { name: "t.txt".into(), bytes: format!("{HEAD}{text}").into_bytes() };
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
            ("2400 + 16", "2400 - 16", "line 7, column 92: + is '-'"),
        ] {
            let error = parse(&SESSION.replace(from, to)).unwrap_err().to_string();
            assert!(error.contains(told), "{to}: {error}");
        }
    }

    #[test]
    fn threads_with_odd_names_are_understood() {
        assert_eq!(who_of("  Binder:1350_A-1400  ( 1350)"), Some(("Binder:1350_A", 1400, Some(1350))));
        assert_eq!(who_of("a-b c-7 (-----)"), Some(("a-b c", 7, None)));
        assert_eq!(who_of("kworker/0:1-9"), Some(("kworker/0:1", 9, None)));
        assert_eq!(who_of("nobody"), None);
    }
}
