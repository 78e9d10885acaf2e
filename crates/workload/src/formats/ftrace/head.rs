//! The beginning of a line: who, when, which event.
//!
//! | tool | line |
//! |---|---|
//! | ftrace, atrace | `comm-tid (tgid) [cpu] flags time: event: fields`; `(tgid)` and flags may be missing |
//! | trace-cmd report | `comm-tid [cpu] flags time: event:   fields` |
//! | perf script | `comm tid [cpu] time: system:event: fields`, or `pid/tid` for `tid` |

use std::borrow::Cow;
use std::ops::Range;

use super::super::text::{Field, Line, find};
use crate::TraceError;

/// The event of a line.
#[derive(Clone, Copy)]
pub(crate) struct Event<'a> {
    pub line: Line<'a>,
    /// Where the colon stands that ends the time.
    colon: usize,
    /// Its name, without that of its system.
    pub name: &'a [u8],
    /// Where its fields begin.
    pub body: usize,
}

impl<'a> Event<'a> {
    /// The event of a line: the first name between `: ` and a colon. What stands before is the time.
    pub fn of(line: Line<'a>) -> Option<Event<'a>> {
        let mut from = 0;
        loop {
            let colon = from + find(&line.text[from..], b": ")?;
            if ends_with_time(&line.text[..colon])
                && let Some(name) = name_at(line.text, colon + 1)
            {
                return Some(Event { line, colon, name: &line.text[name.clone()], body: name.end + 1 });
            }
            from = colon + 2;
        }
    }

    /// When, in nanoseconds.
    pub fn time(self) -> Result<u64, TraceError> {
        let before = &self.line.text[..self.colon];
        let from = before.iter().rposition(u8::is_ascii_whitespace).map_or(0, |space| space + 1);
        self.line.field(from..self.colon, "time").seconds()
    }

    /// True if it is an event of a bio: it is printed without length and command.
    pub fn is_bio(self) -> bool {
        self.name.starts_with(b"block_bio_")
    }

    /// The value of a field that is printed as `name=value`, up to the next such field.
    pub fn value(self, name: &'static str) -> Result<Field<'a>, TraceError> {
        let body = &self.line.text[self.body..];
        let key = format!(" {name}=");
        let Some(at) = find(body, key.as_bytes()).map(|at| at + key.len()) else {
            return Err(self.line.error(self.body, format!("{} has no {name}=", String::from_utf8_lossy(self.name))));
        };
        let ends = |at: usize| {
            let word = body[at + 1..].iter().take_while(|b| b.is_ascii_alphanumeric() || **b == b'_').count();
            body[at] == b' ' && word > 0 && body.get(at + 1 + word) == Some(&b'=')
        };
        let end = (at..body.len()).find(|&at| ends(at)).unwrap_or(body.trim_ascii_end().len().max(at));
        Ok(self.line.field(self.body + at..self.body + end, name))
    }

    /// The name of the thread, without its number.
    pub fn comm(self) -> Cow<'a, str> {
        let who = cpu_of(&self.line.text[..self.colon]).map_or(0, |(start, _)| start);
        let text = std::str::from_utf8(&self.line.text[..who]).ok().and_then(who_of);
        text.map_or(Cow::Borrowed("?"), |(comm, _, _)| Cow::Borrowed(comm))
    }
}

/// True if the last word is a time: names of threads may have colons of their own.
fn ends_with_time(text: &[u8]) -> bool {
    let word = text.rsplit(u8::is_ascii_whitespace).next().unwrap_or_default();
    let is_number = |word: &[u8]| word.iter().all(u8::is_ascii_digit);
    word.first().is_some_and(u8::is_ascii_digit) && (is_number(word) || word.iter().any(|b| b".,".contains(b)))
}

/// Where the name of an event stands: words with colons between and one behind; the last is meant. perf may print a
/// period before.
fn name_at(text: &[u8], from: usize) -> Option<Range<usize>> {
    let spaces = |from: usize| text[from..].iter().take_while(|b| b.is_ascii_whitespace()).count();
    let mut start = from + spaces(from);
    let period = text[start..].iter().take_while(|b| b.is_ascii_digit()).count();
    if period > 0 && spaces(start + period) > 0 {
        start += period + spaces(start + period);
    }
    loop {
        let is_word = |b: &&u8| b.is_ascii_alphanumeric() || **b == b'_';
        let end = start + text[start..].iter().take_while(is_word).count();
        if end == start || text.get(end) != Some(&b':') {
            return None;
        }
        // perf: the system comes first, and nothing stands between.
        let next = end + 1;
        let more = text[next..].iter().take_while(is_word).count();
        if more == 0 || text.get(next + more) != Some(&b':') {
            return Some(start..end);
        }
        start = next;
    }
}

/// Events that a line says were lost: `CPU:3 [LOST 12 EVENTS]`, or `CPU:3 [12 EVENTS DROPPED]` of trace-cmd.
pub(super) fn dropped(line: Line<'_>) -> u64 {
    if !line.text.trim_ascii_start().starts_with(b"CPU:") {
        return 0;
    }
    let text = String::from_utf8_lossy(line.text);
    let inner = text.split_once('[').and_then(|(_, rest)| rest.split_once(']')).map_or("", |(inner, _)| inner);
    let number = match inner.split(' ').collect::<Vec<_>>()[..] {
        ["LOST", number, "EVENTS"] | [number, "EVENTS", "DROPPED"] => number,
        _ => return 0,
    };
    number.parse().unwrap_or(0)
}

/// Who, when and which event, for readers of other events than those of requests.
pub(crate) struct Head<'a> {
    /// Process id, or that of the thread if the trace does not tell processes.
    pub process: u32,
    pub thread: u32,
    pub comm: &'a str,
    pub time: u64,
    pub event: &'a str,
    /// Where the event's own text begins.
    pub body: usize,
}

impl<'a> Head<'a> {
    /// The head of a line that has one.
    pub fn of(line: Line<'a>) -> Result<Option<Head<'a>>, TraceError> {
        if line.text.starts_with(b"#") {
            return Ok(None);
        }
        let mut colons = (0..line.text.len()).filter(|&at| line.text[at..].starts_with(b": "));
        let Some(colon) = colons.find(|&at| ends_with_time(&line.text[..at])) else { return Ok(None) };
        let Some((who_end, _)) = cpu_of(&line.text[..colon]) else { return Ok(None) };
        let Ok(who) = std::str::from_utf8(&line.text[..who_end]) else { return Ok(None) };
        let Some((comm, thread, process)) = who_of(who) else { return Ok(None) };
        let time_at = line.text[..colon].iter().rposition(u8::is_ascii_whitespace).map_or(0, |space| space + 1);
        let time = line.field(time_at..colon, "time").seconds()?;
        let name = name_at(line.text, colon + 1).unwrap_or(colon + 1..colon + 1);
        let Ok(event) = std::str::from_utf8(&line.text[name.clone()]) else { return Ok(None) };
        let behind = line.text.get(name.end + 1..).unwrap_or_default();
        let body = line.text.len() - behind.trim_ascii_start().len();
        Ok(Some(Head { process: process.unwrap_or(thread), thread, comm, time, event, body }))
    }
}

/// Where `[cpu]` begins and ends in what stands before an event: the last of that form.
fn cpu_of(text: &[u8]) -> Option<(usize, usize)> {
    (1..text.len()).rev().filter(|&open| text[open] == b'[' && text[open - 1] == b' ').find_map(|open| {
        let digits = text[open + 1..].iter().take_while(|b| b.is_ascii_digit()).count();
        let close = open + 1 + digits;
        (digits > 0 && text.get(close) == Some(&b']')).then_some((open, close + 1))
    })
}

/// Name, thread and, if it is told, process of `comm-tid (tgid)`, `comm tid` or `comm pid/tid`.
fn who_of(text: &str) -> Option<(&str, u32, Option<u32>)> {
    let text = text.trim();
    let (thread, process) = match text.rsplit_once('(') {
        Some((thread, rest)) if rest.ends_with(')') => (thread.trim_end(), rest[..rest.len() - 1].trim().parse().ok()),
        _ => (text, None),
    };
    let spaced =
        || thread.rsplit_once(char::is_whitespace).filter(|(_, ids)| ids.starts_with(|c: char| c.is_ascii_digit()));
    if let Some((comm, ids)) = spaced() {
        let mut numbers = ids.splitn(2, '/').map(|id| id.parse().ok());
        match (numbers.next().flatten(), numbers.next()) {
            (Some(tid), None) => return Some((comm.trim(), tid, process)),
            (Some(pid), Some(Some(tid))) => return Some((comm.trim(), tid, Some(pid))),
            _ => {}
        }
    }
    let (comm, tid) = thread.rsplit_once('-')?;
    Some((comm.trim(), tid.parse().ok()?, process))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(text: &str) -> Option<(String, u64, String)> {
        let event = Event::of(Line { file: "f", number: 1, text: text.as_bytes() })?;
        Some((String::from_utf8_lossy(event.name).into_owned(), event.time().ok()?, event.comm().into_owned()))
    }

    #[test]
    fn lines_of_all_tools_have_an_event() {
        let told = |name: &str, comm: &str| Some((name.to_owned(), 146_173_670_000, comm.to_owned()));
        for (text, expected) in [
            ("  sh-12  [001] d..2   146.173670: block_rq_issue: 8,0 R", told("block_rq_issue", "sh")),
            ("  a b-12 (  12) [001] 146.173670: sched_switch: x", told("sched_switch", "a b")),
            ("  highpool[392]-7 [002] d.h1. 146.173670: x: y: z", told("x", "highpool[392]")),
            ("kworker/0:1H-80 [008]   146.173670: block_rq_issue:       8,0 R", told("block_rq_issue", "kworker/0:1H")),
            ("my [001] a: b 8 + 1)-4 (-----) [002] d..1 146.173670: x: y", told("x", "my [001] a: b 8 + 1)")),
            ("sh   12 [001]   146.173670:     1     block:x: 8,0 R", told("x", "sh")),
            ("sh   12 [001]   146.173670:    block:block_rq_issue: 8,0 R", told("block_rq_issue", "sh")),
            ("my sh 12/13 [001] 146.173670: ufs:ufshcd_command: send_req: 0:0", told("ufshcd_command", "my sh")),
            ("CPU:3 [LOST 12 EVENTS]", None),
            ("no time: at all: here", None),
        ] {
            assert_eq!(event(text), expected, "{text}");
        }
    }

    #[test]
    fn lost_events_are_counted() {
        let of = |text: &str| dropped(Line { file: "f", number: 1, text: text.as_bytes() });
        let lines = ["CPU:3 [LOST 12 EVENTS]", "CPU:0 [7 EVENTS DROPPED]", "CPU 0 is empty", "CPU:1 [LOST x EVENTS]"];
        assert_eq!(lines.map(of), [12, 7, 0, 0]);
    }

    #[test]
    fn threads_with_odd_names_are_understood() {
        assert_eq!(who_of("  Binder:1350_A-1400  ( 1350)"), Some(("Binder:1350_A", 1400, Some(1350))));
        assert_eq!(who_of("a-b c-7 (-----)"), Some(("a-b c", 7, None)));
        assert_eq!(who_of("kworker/0:1-9"), Some(("kworker/0:1", 9, None)));
        assert_eq!(who_of("kworker/0:1H   123"), Some(("kworker/0:1H", 123, None)));
        assert_eq!(who_of("my app 12/13"), Some(("my app", 13, Some(12))));
        assert_eq!(who_of("my 2nd-13"), Some(("my 2nd", 13, None)));
        assert_eq!(who_of("nobody"), None);
    }
}
