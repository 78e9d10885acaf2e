//! Input: text. It is read as a language model, and as a fragmentation loop. An accepted one that fits a small device
//! issues its first requests there, or says why it does not fit.

use units::{Nanos, SimTime};
use workload::{DescriptionError, FragmentationSource, FragmentationSpec, LlmSource, LlmSpec, Next, Source};

/// A device of 64 MiB.
const UNITS: u32 = 1 << 14;
/// Steps of a source that is accepted.
const STEPS: u32 = 2000;

pub(super) fn run(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let model = LlmSpec::parse(text, "fuzzed.toml").and_then(|spec| LlmSource::new(&spec, "fuzzed.toml", UNITS, 1));
    driven(model);
    let loops = FragmentationSpec::parse(text, "fuzzed.toml");
    driven(loops.and_then(|spec| FragmentationSource::new(&spec, "fuzzed.toml", UNITS)));
}

/// Completes requests in order, each a microsecond after its issue at the earliest.
fn driven(source: Result<impl Source, DescriptionError>) {
    let mut source = match source {
        Ok(source) => source,
        Err(error) => return assert!(error.to_string().starts_with("fuzzed.toml: ")),
    };
    let (mut now, mut under_way) = (SimTime(0), std::collections::VecDeque::new());
    for _ in 0..STEPS {
        match source.next(now) {
            Next::Request(issued) => {
                assert!(issued.request.sector + issued.request.bytes.div_ceil(512) <= u64::from(UNITS) * 8);
                under_way.push_back(issued.ticket);
            }
            Next::Wait(at) if under_way.is_empty() => {
                assert!(at > now, "a wait has an end that is to come");
                now = at;
            }
            Next::Wait(_) | Next::Blocked => {
                now = now + Nanos(1000);
                source.completed(under_way.pop_front().expect("it waits for something"), now);
            }
            Next::Driver(_) => unreachable!("only phones speak to drivers"),
            Next::Done => break,
        }
    }
    while let Some(ticket) = under_way.pop_front() {
        source.completed(ticket, now);
    }
    let _ = source.report();
}
