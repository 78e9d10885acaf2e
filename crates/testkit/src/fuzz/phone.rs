//! Input: text or a recording of Perfetto. What is no text or has block events is read as a session of a phone, other
//! text as a scenario. A phone made from an accepted one takes its first steps, with a driver that gives random
//! answers.

use android::recorded::scenario_of;
use android::{Phone, Scenario};
use units::SimTime;
use workload::{DriverCall, Next, Session, Source, TraceFile, TraceOptions};

/// Units of the device.
const UNITS: u32 = 5_000;
/// Scenarios with more reads than this in their lists are valid, but slow to lay out.
const MOST_READS: f64 = 20_000.0;
/// Number of steps of a phone.
const STEPS: u32 = 3_000;

pub(super) fn run(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return session(bytes) };
    if text.contains("block_rq") || text.contains("ufshcd") {
        session(bytes);
    } else if !text.contains("recorded") && !text.contains("trace") {
        // The input could name any file as recording or trace.
        scenario(text);
    }
}

fn session(bytes: &[u8]) {
    let file = TraceFile::new("fuzzed.txt", bytes.to_vec());
    match Session::parse("fuzzed.txt", vec![file], &TraceOptions::default()) {
        Ok(session) => {
            let text = scenario_of(&session, "fuzzed.csv");
            let parsed: Result<toml::Table, _> = text.parse();
            assert!(parsed.is_ok(), "no TOML: {text}");
            let others = session.trace.processes.len() - 1;
            assert!(session.trace.requests.iter().all(|r| usize::from(r.process.0) <= others));
        }
        Err(error) => assert!(!error.to_string().trim().is_empty()),
    }
}

fn scenario(text: &str) {
    let scenario = match Scenario::parse(text, "fuzzed.toml") {
        Ok(scenario) => scenario,
        Err(error) => return assert!(error.to_string().starts_with("fuzzed.toml: "), "{error}"),
    };
    let seconds = scenario.use_time.as_secs_f64();
    let reads = |app: &android::App| {
        let run = app.run.reads_per_s.max(app.run.writes_per_s) * seconds;
        f64::from(app.cold.reads) + f64::from(app.loading.map_or(0, |loading| loading.reads)) + run
    };
    if scenario.apps.iter().map(reads).sum::<f64>() > MOST_READS || scenario.apps.len() > 20 {
        return;
    }
    let Ok(phone) = Phone::new(&scenario, UNITS, 1, 0) else { return };
    drive(phone);
}

/// Reads complete only when nothing else can happen. The driver holds little, and gives back more than it holds.
fn drive(mut phone: Phone) {
    let (mut now, mut outstanding) = (SimTime(0), Vec::new());
    for _ in 0..STEPS {
        match phone.next(now) {
            Next::Request(issued) => {
                let (lpa, len) = issued.request.units();
                assert!(len > 0 && lpa.0 + len <= UNITS, "{lpa} + {len}");
                outstanding.push(issued.ticket);
            }
            Next::Driver(DriverCall::Memory) => phone.answered(1 << 20, now),
            Next::Driver(DriverCall::Reclaim(_, bytes)) => phone.answered(bytes / 2, now),
            Next::Driver(_) => phone.answered(0, now),
            Next::Wait(at) => {
                assert!(at > now);
                now = at;
                outstanding.drain(..).for_each(|ticket| phone.completed(ticket, now));
            }
            Next::Blocked => panic!("a phone has always something before it"),
            Next::Done => return,
        }
    }
}
