//! The long search: `make explore`. Prints progress, and then a table; writes the numbers as JSON.

use std::sync::Mutex;
// The front may read the clock; the search itself only asks whether to go on.
#[allow(clippy::disallowed_types)]
use std::time::Instant;

use explore::scope::{Left, SCHEMES, Scope, beyond, levels, mapping};
use explore::search::{Report, explore};
use ftl::Sabotage;
use serde_json::{Value, json};
use ufsim_explore as explore;

const USAGE: &str = "ufsim-explore [--seconds N] [--cores N] [--json FILE]
  --seconds N  time for everything (900)
  --cores N    searches at a time (2)
  --json FILE  the result as JSON
  --scheme S   only this mapping scheme";

/// What the command line asks for.
struct Asked {
    seconds: f64,
    cores: usize,
    json: Option<String>,
    schemes: Vec<&'static str>,
}

fn main() {
    let asked = asked(std::env::args().skip(1)).unwrap_or_else(|problem| {
        eprintln!("{problem}\n{USAGE}");
        std::process::exit(2);
    });
    // A broken promise is a panic, and the report has its message.
    std::panic::set_hook(Box::new(|_| {}));
    let rows = search_all(&asked);
    print_table(&rows);
    if let Some(path) = &asked.json {
        let rows: Vec<Value> = rows.iter().map(Row::json).collect();
        let text =
            serde_json::to_string_pretty(&json!({ "searches": rows, "beyond": beyonds() })).expect("values of our own");
        std::fs::write(path, text + "\n").unwrap_or_else(|error| panic!("{path}: {error}"));
    }
    if rows.iter().any(Row::is_defect) {
        std::process::exit(1);
    }
}

fn asked(mut args: impl Iterator<Item = String>) -> Result<Asked, String> {
    let mut asked = Asked { seconds: 900.0, cores: 2, json: None, schemes: SCHEMES.into() };
    while let Some(name) = args.next() {
        let value = args.next().ok_or_else(|| format!("{name} needs a value"))?;
        let wrong = || format!("{name} {value}: must be a number above 0");
        match name.as_str() {
            "--seconds" => asked.seconds = value.parse().ok().filter(|n| *n > 0.0).ok_or_else(wrong)?,
            "--cores" => asked.cores = value.parse().ok().filter(|n| *n > 0).ok_or_else(wrong)?,
            "--json" => asked.json = Some(value),
            "--scheme" => {
                asked.schemes.retain(|scheme| *scheme == value);
                if asked.schemes.is_empty() {
                    return Err(format!("--scheme {value}: must be one of {}", SCHEMES.join(", ")));
                }
            }
            _ => return Err(format!("{name} is unknown")),
        }
    }
    Ok(asked)
}

/// The sabotages that are not searched for, with the reason.
fn beyonds() -> Vec<Value> {
    let all = Sabotage::ALL.iter().filter_map(|&sabotage| Some((sabotage.name(), beyond(sabotage)?)));
    all.map(|(name, why)| json!({ "sabotage": name, "why": why })).collect()
}

/// One search and its result.
struct Row {
    scheme: &'static str,
    sabotage: Option<Sabotage>,
    report: Report,
    seconds: f64,
}

impl Row {
    /// True if a device that was not made to break a promise has broken one.
    fn is_defect(&self) -> bool {
        self.sabotage.is_none() && self.report.failure.is_some()
    }

    fn json(&self) -> Value {
        let Report { states, steps, cuts, surveys, depth, complete, failure } = &self.report;
        let level = |left: Left| json!({ "requests": left.requests, "cuts": left.cuts });
        let failure = failure.as_ref().map(|f| {
            let steps: Vec<String> = f.steps.iter().map(|step| format!("{step:?}")).collect();
            json!({ "what": f.what, "start": f.start, "level": level(f.level), "steps": steps })
        });
        let complete: Vec<Value> =
            complete.iter().map(|&(left, states)| json!({ "level": level(left), "states": states })).collect();
        json!({
            "scheme": self.scheme, "sabotage": self.sabotage.map(Sabotage::name), "states": states, "steps": steps,
            "cuts": cuts, "surveys": surveys, "depth": depth, "complete": complete, "seconds": self.seconds,
            "failure": failure,
        })
    }
}

/// What is searched: a scheme, as it is or with a sabotage.
type Job = (&'static str, Option<Sabotage>);

/// Part of the time after which a sabotage has not been found.
const SABOTAGE_SHARE: f64 = 0.01;

/// Searches every scheme with each sabotage, and then, for as long as there is time, as it is.
#[allow(clippy::disallowed_types)]
fn search_all(asked: &Asked) -> Vec<Row> {
    let began = Instant::now();
    let concerned = |scheme| {
        let all = Sabotage::ALL.iter().copied();
        all.filter(move |sabotage| sabotage.concerns(mapping(scheme)) && beyond(*sabotage).is_none())
    };
    let sabotages = asked.schemes.iter().flat_map(|&scheme| concerned(scheme).map(move |found| (scheme, Some(found))));
    let each = SABOTAGE_SHARE * asked.seconds * asked.cores as f64;
    let mut rows = searched(sabotages.collect(), asked.cores, each);
    let schemes: Vec<Job> = asked.schemes.iter().map(|&scheme| (scheme, None)).collect();
    let rounds = schemes.len().div_ceil(asked.cores) as f64;
    let each = (asked.seconds - began.elapsed().as_secs_f64()) / rounds;
    rows.extend(searched(schemes, asked.cores, each));
    let place = |row: &Row| SCHEMES.iter().position(|scheme| *scheme == row.scheme);
    let number = |row: &Row| row.sabotage;
    rows.sort_by_key(|row| (number(row), place(row)));
    rows
}

/// The results of searches that take `each` seconds at most, as many at a time as there are cores.
fn searched(jobs: Vec<Job>, cores: usize, each: f64) -> Vec<Row> {
    let (jobs, rows) = (Mutex::new(jobs), Mutex::new(Vec::new()));
    std::thread::scope(|threads| {
        for _ in 0..cores {
            threads.spawn(|| {
                loop {
                    let next = jobs.lock().expect("no search panics").pop();
                    let Some((scheme, sabotage)) = next else { return };
                    let row = search(scheme, sabotage, each);
                    rows.lock().expect("no search panics").push(row);
                }
            });
        }
    });
    rows.into_inner().expect("no search panics")
}

#[allow(clippy::disallowed_types)]
fn search(scheme: &'static str, sabotage: Option<Sabotage>, seconds: f64) -> Row {
    let began = Instant::now();
    let mut told = 0.0;
    let mut go_on = |report: &Report| {
        let elapsed = began.elapsed().as_secs_f64();
        if elapsed - told > 20.0 {
            told = elapsed;
            eprintln!("{scheme}: {} states in {elapsed:.0} s, depth {}", report.states, report.depth);
        }
        elapsed < seconds
    };
    let most = if sabotage.is_some() { 100_000 } else { 2_000_000 };
    let mut searched = Report::default();
    for scope in Scope::narrow(scheme).into_iter().map(|narrow| Scope { most: narrow.most.min(most / 4), ..narrow }) {
        searched.add(explore(&Scope { sabotage, ..scope }, &mut go_on));
        if searched.failure.is_some() {
            break;
        }
    }
    let mut report = Report::default();
    if searched.failure.is_none() {
        let scope = Scope { most, sabotage, ..Scope::new(scheme, levels()) };
        report = explore(&scope, &mut go_on);
    }
    report.add(searched);
    Row { scheme, sabotage, report, seconds: began.elapsed().as_secs_f64() }
}

fn print_table(rows: &[Row]) {
    println!(
        "{:10} {:18} {:>12} {:>12} {:>10} {:>6} {:>7}  result",
        "scheme", "sabotage", "states", "steps", "cuts", "depth", "s"
    );
    for row in rows {
        let Report { states, steps, cuts, depth, complete, failure, .. } = &row.report;
        let sabotage = row.sabotage.map_or("-", Sabotage::name);
        let result = match failure {
            Some(failure) => format!("found in {} steps: {}", failure.steps.len(), failure.what),
            None => {
                let levels = complete
                    .iter()
                    .map(|(left, states)| format!("{} requests, {} cuts: {states}", left.requests, left.cuts));
                levels.collect::<Vec<_>>().join("; ")
            }
        };
        println!(
            "{:10} {sabotage:18} {states:12} {steps:12} {cuts:10} {depth:6} {:7.1}  {result}",
            row.scheme, row.seconds
        );
    }
}
