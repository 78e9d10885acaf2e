//! Timelines and series change nothing in a run, whatever the scheme.

#[allow(dead_code, reason = "other tests use the rest")]
use std::io::{self, Write};
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex};

use ufsim_lab::{LabError, Observe, RowSink, SeriesTo, Spec, TimelineTo, Window, schemes, simulate, simulate_observed};

/// A file in memory.
#[derive(Clone, Default)]
struct Kept(Arc<Mutex<Vec<u8>>>);

impl Write for Kept {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().expect("nobody panics with the lock").write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A device that has no room.
struct Full;

impl Write for Full {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        Err(io::Error::from(io::ErrorKind::StorageFull))
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn spec(scheme: &str) -> Spec {
    let job = "rw=randrw rwmixread=40 bs=16k iodepth=8 size=64m io_size=24m fsync=64";
    Spec { profile: "tiny".into(), ..Spec::new(scheme, job) }
}

fn timeline(out: Box<dyn Write + Send>, most: u64) -> Option<TimelineTo> {
    Some(TimelineTo { out, window: Window::ALL, most, name: "run".into() })
}

fn series(sink: RowSink) -> Option<SeriesTo> {
    Some(SeriesTo::new("1ms", sink).expect("a step"))
}

#[test]
fn an_observed_run_is_the_same() {
    let go = &mut |_| ControlFlow::Continue(());
    for scheme in schemes() {
        let (file, rows) = (Kept::default(), Arc::new(Mutex::new(0)));
        let counted = Arc::clone(&rows);
        let count: RowSink = Box::new(move |columns| {
            *counted.lock().expect("nobody panics with the lock") += columns[0].bytes.len() / 8;
            ControlFlow::Continue(())
        });
        let observe = Observe {
            timeline: timeline(Box::new(file.clone()), 1_000_000),
            series: series(count),
            ..Observe::default()
        };
        let observed = simulate_observed(&spec(scheme.name), observe, go).expect("nothing fails").result;
        let alone = simulate(&spec(scheme.name), go).expect("nothing fails");
        assert_eq!(observed.digest, alone.digest, "{}", scheme.name);
        assert_eq!(observed.warnings, alone.warnings, "{}", scheme.name);
        let milliseconds = (alone.sim_seconds * 1e3).ceil() as usize;
        assert!(rows.lock().unwrap().abs_diff(milliseconds) <= 1, "{}", scheme.name);
        assert!(file.0.lock().unwrap().len() > 100_000, "{}", scheme.name);
    }
}

#[test]
fn a_timeline_that_can_not_be_written_does_not_cost_the_result() {
    let observe = Observe { timeline: timeline(Box::new(Full), 1_000_000), ..Observe::default() };
    let ran = simulate_observed(&spec("ufs"), observe, &mut |_| ControlFlow::Continue(())).expect("it goes on");
    assert!(ran.unwritten.is_some_and(|why| why == io::Error::from(io::ErrorKind::StorageFull).to_string()));
    let alone = simulate(&spec("ufs"), &mut |_| ControlFlow::Continue(())).expect("nothing fails");
    assert_eq!(ran.result.digest, alone.digest);
}

#[test]
fn whoever_takes_a_series_may_stop_the_run() {
    let observe = Observe { series: series(Box::new(|_| ControlFlow::Break(()))), ..Observe::default() };
    let spec = Spec { workload: "rw=randread bs=4k size=64m io_size=1g".into(), ..spec("ideal") };
    let error = simulate_observed(&spec, observe, &mut |_| ControlFlow::Continue(())).expect_err("stopped");
    assert!(matches!(error, LabError::Interrupted), "{error:?}");
}
